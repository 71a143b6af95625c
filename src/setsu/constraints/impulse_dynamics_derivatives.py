"""First derivatives of an impact: velocities and impulses by configuration and velocities before it, exact.

With v', λ, p of `impulse_dynamics`, x = J v and x' = J v' the velocities of the contact points, n their normals,
P = 1 - n nᵀ and s = n·x' + e min(n·x, 0), every contact in its mode,

    M (v' - v) - Gᵀ λ - Jᵀ p = 0,   G v' = 0                                                       (1)
    open: p = 0;   frictionless: n s + P p = 0;   sticking: n s + P x' = 0                          (2)
    sliding: n s + P p + K (n·p) P x'/|P x'| = 0                                                    (3)

is differentiated as it stands; normals turn with the surface where it is curved. Contacts that share impulses in more
than one way (four corners of a box) get the least change; the velocities are unique.
Source: the implicit function theorem; impulse_dynamics.py for the laws.
Cost: per state one pseudoinverse of size nv + rows + 3 contacts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from setsu.constraints.constraint_partials import at_rest, in_motion
from setsu.constraints.contact import SurfaceContact
from setsu.constraints.dense_dynamics import kept_rows
from setsu.constraints.impulse_dynamics import ImpulseDynamics, impulse_dynamics, restitutions
from setsu.constraints.stacked import Floats, dot, times
from setsu.constraints.states import checked_arrays
from setsu.constraints.system import constraint_system
from setsu.dynamics import inverse_dynamics_derivatives
from setsu.dynamics.bearings import refuse_bearings
from setsu.mechanism import Mechanism
from setsu.mechanism.loop_constraints import refuse_loop_constraints

__all__ = ["ImpulseDynamicsDerivatives", "impulse_dynamics_derivatives"]

_NAME = "impulse_dynamics_derivatives"
_AT_LIMIT = 1e-7
_REDUNDANT = 1e-11


@dataclass(frozen=True)
class ImpulseDynamicsDerivatives:
    """Derivatives of `impulse_dynamics`; the last axis is the coordinate or the velocity before the impact, nv each.

    dq, dv: of the velocity after it, (..., nv, nv). normal_impulse_dq, _dv: (..., n_contacts, nv).
    friction_impulse_dq, _dv: (..., n_contacts, 3, nv), world axes. constraint_impulse_dq, _dv: (..., n, nv).
    dynamics: what is differentiated.
    """

    dq: Floats
    dv: Floats
    normal_impulse_dq: Floats
    normal_impulse_dv: Floats
    friction_impulse_dq: Floats
    friction_impulse_dv: Floats
    constraint_impulse_dq: Floats
    constraint_impulse_dv: Floats
    dynamics: ImpulseDynamics


def impulse_dynamics_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    contacts: Iterable[SurfaceContact] = (),
    restitution: float | None = None,
) -> ImpulseDynamicsDerivatives:
    """Return the exact derivatives of velocities and impulses of `impulse_dynamics`, whose arguments these are.

    Contacts stay in their modes: open, sticking or sliding. Under loops, along motions that keep them.

    >>> import setsu
    >>> b = setsu.MechanismBuilder("ball", gravity=(0, 0, -9.81))
    >>> _ = b.add_body("ball", "world", setsu.Prismatic((0, 0, 1)), mass=2.0)
    >>> floor = setsu.SurfaceContact("ball", (0, 0, 0), setsu.Plane((0, 0, 1), 0.0))
    >>> d = impulse_dynamics_derivatives(b.build(), [0.0], [-1.0], [floor], restitution=0.5)
    >>> round(float(d.dv[0, 0]), 9), round(float(d.normal_impulse_dv[0, 0]), 9)
    (-0.5, -3.0)
    """
    m, contacts = mechanism, tuple(contacts)
    found = impulse_dynamics(m, q, v, contacts, restitution)
    refuse_bearings(m, _NAME)
    refuse_loop_constraints(m, _NAME)
    (q, v), batch = checked_arrays(_NAME, m, (("q", q, (m.nq,)), ("v", v, (m.nv,))))
    count, nv = math.prod(batch), m.nv
    q, v = q.reshape(count, m.nq), v.reshape(count, nv)
    system = constraint_system(m, contacts)
    impact = _Impact(system, found, q, v, restitutions(system, restitution, "impulse_dynamics"))
    dv, dp, dconstraint = impact.derivatives()
    n, p, dn = impact.before.normal, impact.impulse, impact.dn
    along = dot(n, p)
    dalong = np.einsum("nci,ncid->ncd", n, dp) + np.einsum("ncid,nci->ncd", dn, p)
    dfriction = dp - n[..., None] * dalong[..., None, :] - along[..., None, None] * dn
    fields = []
    for block in (dv, dalong, dfriction, dconstraint):
        fields += [block[..., :nv].reshape(*batch, *block.shape[1:-1], nv).copy()]
        fields += [block[..., nv:].reshape(*batch, *block.shape[1:-1], nv).copy()]
    return ImpulseDynamicsDerivatives(*fields, dynamics=found)


class _Impact:
    """N impacts and the change of their equations with v', λ and p held."""

    def __init__(self, system: Any, found: ImpulseDynamics, q: Floats, v: Floats, restitution: Floats) -> None:
        self.system, self.q, self.v, self.e = system, q, v, restitution
        N, c = len(q), len(system.contacts)
        held, always = kept_rows(system)
        self.held = held[: len(held) - len(always)]
        self.after = found.velocity.reshape(v.shape)
        self.multipliers = found.constraint_impulse.reshape(N, system.n_held)
        self._before, self._after = in_motion(system, q, v), in_motion(system, q, self.after)
        self.before = self._before.rows
        n = self.before.normal
        normal = found.normal_impulse.reshape(N, c)
        self.impulse = normal[..., None] * n + found.friction_impulse.reshape(N, c, 3)
        rubbing = np.linalg.norm(self.impulse - normal[..., None] * n, axis=-1)
        size = np.abs(normal).max(initial=0.0)
        bilateral = np.broadcast_to(system.bilateral, (N, c))
        friction = np.broadcast_to(system.friction, (N, c))
        self.closed = bilateral | (normal > 1e-14 * size)
        self.slides = self.closed & (friction > 0.0) & (rubbing >= friction * np.abs(normal) * (1.0 - _AT_LIMIT))
        self.smooth = self.closed & (friction == 0.0)
        self.friction = friction
        self.hits = (dot(n, self.before.contact_velocity) < 0.0) & ~bilateral
        self.hits[:, always] = False

    def derivatives(self) -> tuple[Floats, Floats, Floats]:
        """Change of v' (N, nv, d), p (N, c, 3, d) and of the rows' impulses (N, n, d), d = 2 nv: by q, then by v."""
        system, nv, N, c = self.system, self.v.shape[1], len(self.q), len(self.system.contacts)
        m, rows = system.mechanism, self.held
        k = len(rows)
        rest = np.zeros_like(self.v)
        balance = at_rest(system, self.q, self.after - self.v, self.multipliers)
        still = balance.rows
        G, J = still.jacobian[:, rows], still.contact_jacobian.reshape(N, 3 * c, nv)
        M = inverse_dynamics_derivatives(m, self.q, rest, rest).da + system.drive_inertia(still.free_jacobian)
        by_x, by_p, moved = self._laws()
        K, right = np.zeros((N, nv + k + 3 * c, nv + k + 3 * c)), np.zeros((N, nv + k + 3 * c, 2 * nv))
        K[:, :nv, :nv], K[:, :nv, nv : nv + k] = M, -np.swapaxes(G, -1, -2)
        K[:, :nv, nv + k :], K[:, nv : nv + k, :nv] = -np.swapaxes(J, -1, -2), G
        for j in range(c):
            mine = slice(nv + k + 3 * j, nv + k + 3 * j + 3)
            K[:, mine, :nv] = by_x[:, j] @ still.contact_jacobian[:, j]
            K[:, mine, mine] = by_p[:, j]
            right[:, mine] = -moved[:, j]
        none, couplings = np.zeros((N, c, 2 * nv, 3)), self.multipliers[:, system.n_loop_rows :]
        right[:, :nv, :nv] = -balance.balance_changes(self.impulse, none, couplings)[..., :nv]
        right[:, :nv, nv:] = M
        right[:, nv : nv + k, :nv] = -self._after.rate_changes[:, rows, :nv]
        # Rows of the balance and of the laws have different units: scaled to like size before ranks are judged.
        scale = np.abs(K).max(axis=2, keepdims=True, initial=1e-300)
        answer = np.linalg.pinv(K / scale, rcond=_REDUNDANT) @ (right / scale)
        constraint = np.zeros((N, system.n_held, 2 * nv))
        constraint[:, rows] = answer[:, nv : nv + k]
        return answer[:, :nv], answer[:, nv + k :].reshape(N, c, 3, 2 * nv), constraint

    def _laws(self) -> tuple[Floats, Floats, Floats]:
        """Derivatives of (2), (3) by x' and p (N, c, 3, 3), and their change (N, c, 3, 2 nv) with q and v alone."""
        nv, N, c = self.v.shape[1], len(self.q), len(self.system.contacts)
        self.dn = np.zeros((N, c, 3, 2 * nv))
        by_x, by_p, moved = np.zeros((N, c, 3, 3)), np.zeros((N, c, 3, 3)), np.zeros((N, c, 3, 2 * nv))
        if not c:
            return by_x, by_p, moved
        before, after = self._before.contacts, self._after.contacts
        n, p = self.before.normal, self.impulse
        x1, x0 = self._after.rows.contact_velocity, self.before.contact_velocity
        along_v = np.zeros((1, 1, 1, 2 * nv))
        along_v[..., nv:] = 1.0
        # By q both velocities move with the point; by v only that before the impact does.
        dx0, dx1 = np.swapaxes(before.du, -1, -2), np.swapaxes(after.du, -1, -2) * (1.0 - along_v)
        self.dn = dn = np.swapaxes(after.dn, -1, -2) * (1.0 - along_v)
        e = self.e * self.hits
        s = dot(n, x1) + e * dot(n, x0)
        ds = _along(dn, x1 + e[..., None] * x0) + _along(dx1 + e[..., None, None] * dx0, n)
        straight = n[..., None] * ds[..., None, :] + s[..., None, None] * dn
        nn, P = n[..., :, None] * n[..., None, :], np.eye(3) - n[..., :, None] * n[..., None, :]

        def turned(x: Floats) -> Floats:
            """Change of P x with the normal."""
            return -dn * dot(n, x)[..., None, None] - n[..., None] * _along(dn, x)[..., None, :]

        slid = times(P, x1)
        speed = np.linalg.norm(slid, axis=-1)
        safe = np.where(speed > 0.0, speed, 1.0)[..., None]
        u = slid / safe
        pn, K = dot(n, p), self.friction
        across = (np.eye(3) - u[..., :, None] * u[..., None, :]) / safe[..., None]
        press = (K * pn)[..., None, None]
        stick = (straight + turned(x1) + P @ dx1, nn + P, np.zeros((N, c, 3, 3)))
        smooth = (straight + turned(p), nn, P + np.zeros((N, c, 3, 3)))
        slide = (
            straight + turned(p) + (K[..., None] * u)[..., None] * _along(dn, p)[..., None, :]
            + press * (across @ (turned(x1) + P @ dx1)),
            nn + press * (across @ P),
            P + (K[..., None] * u)[..., None] * n[..., None, :],
        )  # fmt: skip
        lifted = (np.zeros_like(moved), np.zeros((N, c, 3, 3)), np.eye(3) + np.zeros((N, c, 3, 3)))
        for target, parts in zip((moved, by_x, by_p), zip(lifted, smooth, slide, stick, strict=True), strict=True):
            masks = (~self.closed, self.smooth, self.slides, self.closed & ~self.smooth & ~self.slides)
            for mask, part in zip(masks, parts, strict=True):
                target[mask] = part[mask]
        return by_x, by_p, moved


def _along(change: Floats, x: Floats) -> Floats:
    """Change (N, c, 3, d) of a vector, along x (N, c, 3): (N, c, d)."""
    return np.einsum("ncid,nci->ncd", change, x)
