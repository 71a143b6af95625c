"""Velocities that keep all loops, couplings and contacts, near velocities that do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints.contact import SurfaceContact
from setsu.constraints.massless import refuse_unheld_motion
from setsu.constraints.redundancy import redundancy
from setsu.constraints.states import checked_arrays, velocity_indices
from setsu.constraints.system import ConstraintSystem, constraint_system
from setsu.dynamics import mass_matrix
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.simulation.mass_metric import MassMetric

__all__ = ["consistent_velocity"]

Floats = NDArray[np.float64]


def consistent_velocity(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    contacts: Sequence[SurfaceContact] = (),
    fixed: Sequence[str] = (),
) -> Floats:
    """Return the velocity (..., nv) nearest to v in the metric of the mass matrix that keeps every constraint.

    Args:
        q, v: coordinates (..., nq) that satisfy the constraints, velocities (..., nv).
        contacts: SurfaceContact records whose points shall stay on their surfaces.
        fixed: joints whose velocities are kept as given, for example those that are driven.

    Raises:
        InputError: the velocities of the fixed joints contradict the constraints; a motion that nothing holds moves no
            mass, so that no velocity is the nearest.

    >>> import setsu
    >>> m = setsu.sample_mechanisms.four_bar()
    >>> v = setsu.consistent_velocity(m, m.neutral(), [1.0, 0.0, 0.0], fixed=["crank"])
    >>> float(v[0].round(12))
    1.0
    """
    arrays = (("q", q, (mechanism.nq,)), ("v", v, (mechanism.nv,))) if isinstance(mechanism, Mechanism) else ()
    taken, batch = checked_arrays("consistent_velocity", mechanism, arrays)
    system = constraint_system(mechanism, contacts)
    states, wishes = (np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in taken)
    found = [_nearest(system, start, wanted, fixed) for start, wanted in zip(states, wishes, strict=True)]
    return np.array(found).reshape(*batch, mechanism.nv)


def _nearest(system: ConstraintSystem, start: Floats, wanted: Floats, fixed: Sequence[str]) -> Floats:
    mechanism = system.mechanism
    G, _ = system.jacobian_and_error(start)
    G = G[np.concatenate([redundancy(system).kept, np.ones(len(system.contacts), dtype=bool)])]
    kept = velocity_indices(mechanism, fixed, "consistent_velocity fixed")
    rows = np.concatenate([G, np.eye(mechanism.nv)[kept]])
    target = np.concatenate([np.zeros(len(G)), wanted[kept]])
    M = mass_matrix(mechanism, start)
    refuse_unheld_motion(mechanism, "consistent_velocity", M, rows)
    found = wanted + MassMetric(M, rows).nearest(target - rows @ wanted)
    missed = float(np.abs(rows @ found - target).max(initial=0.0))
    if missed > 1e-9 * (1.0 + float(np.abs(wanted).max(initial=0.0))):
        raise InputError(
            f"consistent_velocity: the velocities of {', '.join(fixed) or 'no joint'} contradict the constraints of "
            f"{mechanism.name} by {missed:.3g}; expected fixed joints that can move independently"
        )
    return found
