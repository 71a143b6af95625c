"""What the contacts of a run know of each other at one instant: how forces or impulses at one move all of them.

Per contact that touches a basis n, t1, t2, t1 along its sliding; with loops, couplings, joint stops and joints at rest
held, by rows H,

    x = B f + b        accelerations of the contact points under forces f, without contacts b                  (1)
    x = B p + b        velocities after impulses p, before them b                                              (2)
    B = J (M⁻¹ - M⁻¹ Hᵀ (H M⁻¹ Hᵀ)⁻¹ H M⁻¹) Jᵀ                                                                (3)

B (3c, 3c) is the same in both: the laws of contact choose modes for (1) as constraints/contact_forces does, and an
impact of contacts at rest, from velocities instead of accelerations, by the very same laws for (2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.contact_forces import ContactSolution, solve_contacts
from setsu.constraints.held_motion import HeldMotion
from setsu.simulation.constrained_motion import ConstrainedMotion
from setsu.simulation.contact_modes import REST_SPEED, ContactMode, Mode, tangential

__all__ = ["ContactSpace", "contact_basis", "contact_space", "set_modes"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ContactSpace:
    """The c contacts that touch in a state; see the module for the symbols.

    which (c,): their numbers. basis (c, 3, 3): rows n, t1, t2, world axes. J (c, 3, nv). velocity, bias (c, 3): of the
    points along the basis, and their accelerations at zero accelerations of the joints. slides (c,): whether a contact
    slides now. friction, bilateral (c,). held: the rows H, factored.
    """

    which: tuple[int, ...]
    basis: Floats
    J: Floats
    velocity: Floats
    bias: Floats
    slides: NDArray[np.bool_]
    friction: Floats
    bilateral: NDArray[np.bool_]
    held: HeldMotion

    def forces(self, a: Floats) -> ContactSolution:
        """Return forces and modes (1) for accelerations a (nv,) without contacts; see whether they are converged."""
        return self._solved(self.held, self.J @ a + self.bias, self.slides)

    def impulses(self, held: HeldMotion, velocity: Floats) -> ContactSolution:
        """Return impulses and modes (2) from velocities (c, 3) of the points, with other rows held."""
        return self._solved(held, velocity, np.zeros(len(self.which), dtype=bool))

    def _solved(self, held: HeldMotion, b: Floats, slides: NDArray[np.bool_]) -> ContactSolution:
        c = len(self.which)
        Z = held.free_part(held.solve_L(self.J.reshape(3 * c, -1).T))
        B = (Z.T @ Z).reshape(1, c, 3, c, 3)  # (3)
        return solve_contacts(B, b[None], self.friction, self.bilateral, slides[None])


def contact_space(motion: ConstrainedMotion, q: Floats, v: Floats) -> ContactSpace:
    """Return the contacts of a motion that touch in its present modes."""
    modes = list(motion.modes)
    which = tuple(k for k, mode in enumerate(modes) if mode.touches)
    rows = motion.system.linearise(q, v)
    motion.modes[:] = [ContactMode(Mode.FREE)] * len(modes)
    try:
        held, _ = motion.impact_rows(q, v)
    finally:
        motion.modes[:] = modes
    basis = np.array([contact_basis(rows, k, modes[k], motion.rest_speed) for k in which]).reshape(-1, 3, 3)
    chosen = list(which)
    speeds = [float(np.linalg.norm(tangential(rows.contact_velocity[k], rows.normal[k]))) for k in which]
    bias = np.einsum("kij,kj->ki", basis, rows.contact_velocity_term[chosen])
    bias[:, 0] = rows.velocity_term[motion.system.n_held + np.array(chosen, dtype=int)]
    return ContactSpace(
        which=which,
        basis=basis,
        J=basis @ rows.contact_jacobian[chosen],
        velocity=np.einsum("kij,kj->ki", basis, rows.contact_velocity[chosen]),
        bias=bias,
        slides=np.array([modes[k].mode is Mode.SLIDE for k in which]) & (np.array(speeds) > 10.0 * motion.rest_speed),
        friction=motion.system.friction[chosen],
        bilateral=motion.system.bilateral[chosen],
        held=held,
    )


def contact_basis(rows: Any, k: int, mode: ContactMode, rest_speed: float) -> Floats:
    """Return rows n, t1, t2 of a contact, t1 along its sliding where there is any, faster than rest_speed (m/s)."""
    n = rows.normal[k]
    along = tangential(rows.contact_velocity[k], n)
    if np.linalg.norm(along) <= rest_speed:
        along = tangential(mode.direction, n)
    if np.linalg.norm(along) <= REST_SPEED:
        along = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
    t1 = along / np.linalg.norm(along)
    return np.asarray(np.stack([n, t1, np.cross(n, t1)]), dtype=np.float64)


def set_modes(
    motion: ConstrainedMotion, which: Sequence[int], basis: Floats, x: Floats, stays: Any, still: float, q: Floats
) -> None:
    """Give contacts (c,) the modes of their velocities x (c, 3) after impulses: at rest, sliding, or gone.

    stays: (c,) whether one that leaves is kept. still: m/s, the speed that counts as rest.
    """
    for place, k in enumerate(which):
        along = x[place, 1:] @ basis[place, 1:]
        speed = float(np.linalg.norm(along))
        if not stays[place] and x[place, 0] > still:
            motion.modes[k] = ContactMode(Mode.FREE)
        elif speed <= still and motion.contacts[k].friction > 0.0:
            motion.modes[k] = ContactMode(Mode.STICK, anchor=motion.contact_position(k, q))
        else:
            motion.modes[k] = ContactMode(Mode.SLIDE, along / max(speed, motion.rest_speed))
