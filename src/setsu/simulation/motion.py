"""Everything known of one state: acceleration, torque, forces of the constraints, powers of the energy ledger."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import kinetic_energy, potential_energy
from setsu.dynamics.catalogue import native_function
from setsu.mechanism import Mechanism

__all__ = ["Evaluation", "mechanical_energy"]

Floats = NDArray[np.float64]

# Up to so many states are computed one by one, with the same bits: code for vectors takes longer to make.
_FEW = 256


@dataclass(frozen=True)
class Evaluation:
    """One state and what acts in it.

    acceleration, torque (nv,); powers (4,) W of actuators, friction in joints, dampers of point springs, contacts;
    friction_force (n_contacts, 3) N on the mechanism, world axes;
    sliding (n_contacts, 3): sliding velocity of each contact point along its surface, m/s;
    dry_force (n,): friction along the axes of joints with dry friction, N or N m; dry_rate, dry_change: of those that
    slide, their rates and the rates' derivatives;
    guards: numbers that stay positive until an event.
    """

    t: float
    q: Floats
    v: Floats
    acceleration: Floats
    torque: Floats
    powers: Floats
    friction_force: Floats
    sliding: Floats
    dry_force: Floats
    dry_rate: Floats
    dry_change: Floats
    guards: Floats


def mechanical_energy(m: Mechanism, q: Floats, v: Floats) -> Floats:
    """Return kinetic and potential energy, springs included (J), (...)."""
    if q.size > _FEW * m.nq:
        return kinetic_energy(m, q, v) + potential_energy(m, q)
    kinetic, potential = native_function(m, "kinetic_energy"), native_function(m, "potential_energy")
    return kinetic.one_by_one(q, v) + potential.one_by_one(q)
