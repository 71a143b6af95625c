"""Velocities that keep all loops, couplings and contacts, near velocities that do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints.contact import SurfaceContact
from setsu.constraints.held_motion import hold
from setsu.constraints.ranks import EXACT
from setsu.constraints.redundancy import redundancy
from setsu.constraints.stacked import times
from setsu.constraints.states import checked_arrays, velocity_indices
from setsu.constraints.system import constraint_system
from setsu.dynamics import mass_matrix
from setsu.errors import InputError
from setsu.mechanism import Mechanism

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
    start, wanted = (np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in taken)
    kept = velocity_indices(mechanism, fixed, "consistent_velocity fixed")
    G, _ = system.jacobian_and_error(start)
    G = G[:, np.concatenate([redundancy(system).kept, np.ones(len(system.contacts), dtype=bool)])]
    unit = np.broadcast_to(np.eye(mechanism.nv)[kept], (len(start), len(kept), mechanism.nv))
    rows = np.concatenate([G, unit], axis=1)
    target = np.concatenate([np.zeros(G.shape[:2]), wanted[:, kept]], axis=1)
    M = mass_matrix(mechanism, start)
    held = hold(M, rows, np.zeros(target.shape), None, EXACT, mechanism, "consistent_velocity")
    found = wanted + held.acceleration(held.least(target - times(rows, wanted)))
    missed = np.abs(times(rows, found) - target).max(axis=-1, initial=0.0)
    wrong = missed > 1e-9 * (1.0 + np.abs(wanted).max(axis=-1, initial=0.0))
    if wrong.any():
        raise InputError(
            f"consistent_velocity: the velocities of {', '.join(fixed) or 'no joint'} contradict the constraints of "
            f"{mechanism.name} by {missed[np.argmax(wrong)]:.3g}; expected fixed joints that can move independently"
        )
    return found.reshape(*batch, mechanism.nv)
