"""Velocities after an impact: impulses of surface contacts, loops and couplings at one instant.

    M (v' - v) = Gᵀ λ + Σ Jᵀ p,  G v' = 0          rows of loops, couplings and frictionless bilateral contacts    (1)
    x_n' + e x_n >= 0 ⊥ p_n >= 0                   x = J v; e restitution, for contacts that approach (Newton)     (2)
    x_t' = 0 and |p_t| <= K p_n, or p_t = -K p_n x_t'/|x_t'|                                                       (3)

All contacts are one problem: their order does not matter. The laws are those of contact_forces.py for velocities.
Source: J. J. Moreau, Unilateral contact and dry friction in finite freedom dynamics, 1988.
Refuses: open loops, motions without mass, contacts for which no impulses were found.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from setsu.constraints.contact import SurfaceContact, checked_restitution
from setsu.constraints.contact_forces import solve_contacts
from setsu.constraints.dense_dynamics import contact_basis, held_tolerance, kept_rows
from setsu.constraints.held_motion import hold
from setsu.constraints.stacked import Floats, dot, times, transposed_times
from setsu.constraints.states import checked_arrays
from setsu.constraints.system import ConstraintSystem, constraint_system
from setsu.dynamics import mass_matrix
from setsu.dynamics.catalogue import require_mechanism
from setsu.errors import InputError, ModelWarning
from setsu.mechanism import Mechanism

__all__ = ["ImpulseDynamics", "impulse_dynamics", "restitutions"]

_ROUNDING = 1e-9  # of the energy: what may be rounding


def restitutions(system: ConstraintSystem, given: float | None, function: str) -> Floats:
    """Return e of each contact, or the one that is given for all that may release."""
    if given is None:
        return system.contact_rows.restitution
    return np.where(system.bilateral, 0.0, checked_restitution(given, f"{function}: restitution"))


@dataclass(frozen=True)
class ImpulseDynamics:
    """Velocities after an impact, and the impulses on the mechanism, world axes.

    velocity: (..., nv), m/s or rad/s.
    normal_impulse: (..., n_contacts), N s, along the surface normal.
    friction_impulse: (..., n_contacts, 3), N s, tangential to the surface.
    constraint_impulse: (..., n), N s or N m s, of the rows of loops and couplings (`constraint_system(...).names`);
        zero for redundant rows.
    energy_lost: (...,), J.
    """

    velocity: Floats
    normal_impulse: Floats
    friction_impulse: Floats
    constraint_impulse: Floats
    energy_lost: Floats


def impulse_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    contacts: Iterable[SurfaceContact] = (),
    restitution: float | None = None,
) -> ImpulseDynamics:
    """Return velocities and impulses of an impact of all contacts at once, loops and couplings held.

    Args:
        q, v: coordinates (..., nq), velocities before the impact (..., nv).
        contacts: points that touch their surfaces; those that approach hit, those that leave get no impulse.
        restitution: part of the approaching velocity with which contacts leave, from 0 (plastic) to 1, of all contacts
            that may release; that of each contact when not given.

    Where several contacts hit with friction, or bounce apart at different rates, (2) may add energy: `energy_lost` is
    then negative, and a ModelWarning says so. Velocities that break loops or couplings are made to keep them, by the
    same impact.

    >>> import setsu
    >>> b = setsu.MechanismBuilder("ball", gravity=(0, 0, -9.81))
    >>> _ = b.add_body("ball", "world", setsu.Prismatic((0, 0, 1)), mass=2.0)
    >>> floor = setsu.SurfaceContact("ball", (0, 0, 0), setsu.Plane((0, 0, 1), 0.0))
    >>> r = impulse_dynamics(b.build(), [0.0], [-1.0], [floor], restitution=0.5)
    >>> [round(float(number), 9) for number in (r.velocity[0], r.normal_impulse[0], r.energy_lost)]
    [0.5, 3.0, 0.75]
    """
    require_mechanism(mechanism, "impulse_dynamics")
    m = mechanism
    system = constraint_system(m, contacts)
    e = restitutions(system, restitution, "impulse_dynamics")
    (q, v), batch = checked_arrays("impulse_dynamics", m, (("q", q, (m.nq,)), ("v", v, (m.nv,))))
    count = math.prod(batch)
    q, v = q.reshape(count, m.nq), v.reshape(count, m.nv)
    rows = system.linearise(q, v)
    M = mass_matrix(m, q) + system.drive_inertia(rows.free_jacobian)
    held_rows, always = kept_rows(system)
    changing = np.setdiff1d(np.arange(len(system.contacts)), always)
    held = hold(
        M,
        rows.jacobian[..., held_rows, :],
        np.zeros((count, len(held_rows))),
        system.row_size(rows)[..., held_rows, :],
        held_tolerance(system, rows.error),
        m,
        "impulse_dynamics",
    )
    z = transposed_times(held.L, v)
    after = held.free_part(z[..., None])[..., 0]
    pushed, impulse = np.zeros(z.shape), np.zeros((count, len(system.contacts), 3))
    c = len(changing)
    if c and count:
        normal, velocity = rows.normal[:, changing], rows.contact_velocity[:, changing]
        basis, _ = contact_basis(normal, velocity, 0.0)
        J = (basis @ rows.contact_jacobian[:, changing]).reshape(count, 3 * c, m.nv)
        Y, Z, _ = held.responses(J)
        B = (np.swapaxes(Z, -1, -2) @ Z).reshape(count, c, 3, c, 3)
        b = transposed_times(Z, after).reshape(count, c, 3)
        approach = np.minimum(dot(normal, velocity), 0.0)
        b[..., 0] += e[changing] * approach  # (2)
        bilateral = system.bilateral[changing]
        found = solve_contacts(B, b, system.friction[changing], bilateral, np.zeros((count, c), dtype=bool))
        if not found.converged.all():
            state = int(np.argmin(found.converged))
            where = f" in state {[int(i) for i in np.unravel_index(state, batch)]}" if batch else ""
            names = ", ".join(f'"{system.contacts[k].name}"' for k in changing)
            raise InputError(
                f"impulse_dynamics: no impulses of contacts {names} were found{where}; expected smaller friction"
            )
        local = found.force.reshape(count, 3 * c)
        after = after + times(Z, local)
        pushed = times(Y, local)
        impulse[:, changing] = transposed_times(basis, found.force)
    multipliers = held.multipliers(after - z - pushed)
    n_kept = len(held_rows) - len(always)
    constraint = np.zeros((count, system.n_held))
    constraint[:, held_rows[:n_kept]] = multipliers[:, :n_kept]
    impulse[:, always] = multipliers[:, n_kept:, None] * rows.normal[:, always]
    along = dot(impulse, rows.normal)
    velocity = held.acceleration(after)
    kinetic = 0.5 * (dot(v, times(M, v)) - dot(velocity, times(M, velocity)))
    gained = kinetic < -_ROUNDING * dot(v, times(M, v))
    if gained.any():
        warnings.warn(
            f"impulse_dynamics: Newton's law of restitution adds energy in {int(gained.sum())} of {count} impacts, up "
            f"to {-float(kinetic.min()):.6g} J; expected less restitution where contacts with friction hit together",
            ModelWarning,
            stacklevel=2,
        )
    result = (velocity, along, impulse - along[..., None] * rows.normal, constraint, kinetic)
    return ImpulseDynamics(*(array.reshape((*batch, *array.shape[1:])) for array in result))
