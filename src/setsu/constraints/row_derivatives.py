"""How the rows of loops, couplings and surface contacts change with coordinates and velocities.

World axes. Per loop: p the place of B's origin, which body b carries; u, w velocity of that point and angular velocity
relative to body a; c = (φ, ν) a row as a wrench at p, turning with body a. With Γ = A_b - A_a - V_a x V_b about the
world's origin, moved to p,

    rate = φ·u + ν·w,   r = G a + γ = φ·(Γ_p + w x u) + ν·Γ_a                                            (1)
    ∂φ = θ_a x φ,  ∂ν = θ_a x ν + (what the relative rotation changes: universal, spherical joints)     (2)

θ_a rotation of body a along a direction; ∂V, ∂A from MotionDerivatives. A wrench W = (F, N) at p with the coefficients
of its rows held changes as its rows do. Contacts: p on the body, n, C normal and curvature of the surface there,

    ∂n = (1 - n nᵀ) C ∂p,   r_n = n·acceleration + u·C u                                                 (3)

Directions, an axis of length 2 nv, are along the coordinates first, then along the velocities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from setsu.constraints.loop_joints import BALL, CROSS
from setsu.constraints.stacked import Floats, cross, dot, times
from setsu.constraints.system import ConstraintSystem, Linearisation
from setsu.dynamics.motion_derivatives import MotionDerivatives, cross_motion

__all__ = ["ContactDerivatives", "LoopDerivatives", "coupling_derivatives", "loop_derivatives"]


class LoopDerivatives(NamedTuple):
    """Derivatives at N states of the rows of loops, then of their free axes, K = k + f of them.

    rate, acceleration: (N, K, 2 nv). row: of each row as a wrench about the world's origin, (N, K, 2 nv, 6).
    wrench: of each loop's wrench about the world's origin with the coefficients of rows and axes held, (N, L, 2 nv, 6).
    """

    rate: Floats
    acceleration: Floats
    row: Floats
    wrench: Floats


def loop_derivatives(
    system: ConstraintSystem,
    rows: Linearisation,
    motion: MotionDerivatives,
    pins: Floats,
    coefficients: Floats,
) -> LoopDerivatives:
    """Return the derivatives of all rows and free axes of loops.

    pins: (N, L, 3) places of the joints. coefficients: (N, K) of the rows, then forces along the free axes.
    """
    t = system.loops
    a, b = t.body_a, t.body_b
    of = np.concatenate([t.row_loop, t.free_loop])
    D_a, D_b = motion.displacement(a), motion.displacement(b)
    dV_a, dV_b = motion.velocity(a), motion.velocity(b)
    dA = motion.acceleration(b) - motion.acceleration(a)
    V_a, V_b = motion.V[:, a], motion.V[:, b]
    p = pins[:, :, None]
    theta, turn = D_a[..., 3:], D_b[..., 3:] - D_a[..., 3:]
    dp = D_b[..., :3] + cross(D_b[..., 3:], p)

    relative, change = V_b - V_a, dV_b - dV_a
    w, dw = relative[..., None, 3:], change[..., 3:]
    u = relative[..., None, :3] + cross(w, p)
    du = change[..., :3] + cross(dw, p) + cross(w, dp)
    gamma = (motion.A[:, b] - motion.A[:, a] - cross_motion(V_a, V_b))[:, :, None]
    dgamma = dA - cross_motion(dV_a, V_b[:, :, None]) - cross_motion(V_a[:, :, None], dV_b)
    g = gamma[..., :3] + cross(gamma[..., 3:], p) + cross(w, u)
    dg = dgamma[..., :3] + cross(dgamma[..., 3:], p) + cross(gamma[..., 3:], dp) + cross(dw, u) + cross(w, du)

    wrench = np.concatenate([rows.loop_wrench, rows.free_wrench], axis=1)
    force, moment = wrench[:, :, None, :3], wrench[:, :, None, 3:]
    dforce = cross(theta[:, of], force)
    own, swing, dswing = _own_turning(system, rows, turn, w, dw - cross(theta, w))
    dmoment = cross(theta[:, of], moment) + own
    # (1); `swing` is the rate at which a row turns against body a.
    rate = dot(dforce, u[:, of]) + dot(force, du[:, of]) + dot(dmoment, w[:, of]) + dot(moment, dw[:, of])
    acceleration = dot(dforce, g[:, of]) + dot(force, dg[:, of])
    acceleration += dot(dmoment, gamma[:, of, :, 3:]) + dot(moment, dgamma[:, of, :, 3:])
    swing = swing[:, :, None]
    acceleration += dot(cross(theta[:, of], swing) + dswing, w[:, of]) + dot(swing, dw[:, of])

    about = dmoment + cross(dp[:, of], force) + cross(p[:, of], dforce)
    row = np.concatenate([np.broadcast_to(dforce, about.shape), about], axis=-1)
    loops = (np.arange(len(a))[:, None] == of).astype(np.float64)
    weighted = row * coefficients[..., None, None]
    total = np.tensordot(loops, weighted, axes=(1, 1)).swapaxes(0, 1)
    return LoopDerivatives(rate, acceleration, row, total)


def _own_turning(
    system: ConstraintSystem, rows: Linearisation, turn: Floats, w: Floats, dw: Floats
) -> tuple[Floats, Floats, Floats]:
    """How rows of universal and axes of spherical loop joints turn against body a.

    turn: relative rotation along directions (N, L, 2 nv, 3). w: relative angular velocity (N, L, 1, 3). dw: its change
    seen from body a. Returns ∂ν (N, K, 2 nv, 3), the rate ν' of rows (N, K, 3) and ∂ν' (N, K, 2 nv, 3).
    """
    t, k = system.loops, system.n_loop_rows
    count = k + len(t.free_loop)
    N, _, directions, _ = turn.shape
    own, dswing = np.zeros((N, count, directions, 3)), np.zeros((N, count, directions, 3))
    swing = np.zeros((N, count, 3))
    for axis in np.flatnonzero(t.free_kind == BALL):
        loop, nu = t.free_loop[axis], rows.free_wrench[:, axis, None, 3:]
        own[:, k + axis] = cross(turn[:, loop], nu)
        # ν' = w x ν does no work against w, and its change with the row neither.
        swing[:, k + axis] = cross(w[:, loop], nu)[:, 0]
        dswing[:, k + axis] = cross(dw[:, loop], nu) + cross(w[:, loop], own[:, k + axis])
    R_A = rows.loop_poses.rotation_a
    for row in np.flatnonzero(t.row_kind == CROSS):
        loop = t.row_loop[row]
        first = t.free_start[loop]
        A1 = times(R_A[:, loop], t.axis[loop])[:, None]
        B2 = times(R_A[:, loop], times(rows.loop_poses.turn[:, loop], t.second_axis[loop]))[:, None]
        normal = cross(A1, B2)
        s = np.maximum(np.sqrt(dot(normal, normal)), 1e-9)[..., None]
        n, c = normal / s, dot(A1, B2)[..., None]
        dB = cross(turn[:, loop], B2)
        dn = _unit_change(n, s, cross(A1, dB))
        rate = cross(A1, cross(w[:, loop], B2))
        drate = cross(A1, cross(dw[:, loop], B2) + cross(w[:, loop], dB))
        along = dot(n, rate)[..., None]
        swung = (rate - n * along) / s
        own[:, row], swing[:, row] = dn, swung[:, 0]
        dalong = dot(dn, rate)[..., None] + dot(n, drate)[..., None]
        dswing[:, row] = (drate - dn * along - n * dalong) / s - swung * dot(n, cross(A1, dB))[..., None] / s
        dc, square = dot(A1, dB)[..., None], s * s
        first_axis, second_axis = (A1 - c * B2) / square, (B2 - c * A1) / square
        growth = 2.0 * c * dc / square
        own[:, k + first] = (-dc * B2 - c * dB) / square + growth * first_axis
        own[:, k + first + 1] = (dB - dc * A1) / square + growth * second_axis
    return own, swing, dswing


def _unit_change(n: Floats, length: Floats, change: Floats) -> Floats:
    """Change of the direction n of a vector of some length that changes."""
    return (change - n * dot(n, change)[..., None]) / length


def coupling_derivatives(system: ConstraintSystem, q: Floats, v: Floats, a: Floats) -> tuple[Floats, Floats]:
    """Return derivatives of G a + γ of the couplings (N, n, 2 nv), and P'' (N, n) with ∂G = -P'' A ⊗ A."""
    c, nv = system.couplings, system.mechanism.nv
    result = np.zeros((len(q), len(c.linear), 2 * nv))
    if c.is_linear:
        return result, np.zeros(result.shape[:-1])
    bend, bend_rate = c.curvatures(q)
    rate = v @ c.argument.T
    result[..., :nv] = -(bend * (a @ c.argument.T) + bend_rate * rate**2)[..., None] * c.argument
    result[..., nv:] = -2.0 * (bend * rate)[..., None] * c.argument
    return result, bend


class ContactDerivatives:
    """Derivatives of surface contacts at N states; `acceleration` of the points (N, c, 3) is G a + γ of them.

    dp, dn, du, dacceleration: (N, c, 2 nv, 3). bent: u·C u, (N, c). drow: of the normal rows, (N, c, 2 nv).
    """

    def __init__(
        self, system: ConstraintSystem, rows: Linearisation, motion: MotionDerivatives, origins: Floats, a: Floats
    ) -> None:
        bodies = system.contact_body
        self.point = origins[:, bodies] + rows.contact_arm
        self.acceleration = times(rows.contact_jacobian, a[:, None]) + rows.contact_velocity_term
        n, u0 = rows.normal[:, :, None], rows.contact_velocity[:, :, None]
        D, dV, dA = motion.displacement(bodies), motion.velocity(bodies), motion.acceleration(bodies)
        V, A = motion.V[:, bodies, None], motion.A[:, bodies, None]
        p, w = self.point[:, :, None], V[..., 3:]
        self.dp = D[..., :3] + cross(D[..., 3:], p)
        self.du = dV[..., :3] + cross(dV[..., 3:], p) + cross(w, self.dp)
        self.dacceleration = (
            dA[..., :3] + cross(dA[..., 3:], p) + cross(A[..., 3:], self.dp)
            + cross(dV[..., 3:], u0) + cross(w, self.du)
        )  # fmt: skip
        count = len(system.contacts)
        C, T = np.zeros((len(a), count, 3, 3)), np.zeros((len(a), count, 3, 3, 3))
        for k, contact in enumerate(system.contacts):
            _, _, C[:, k], slope = contact.surface.frame(self.point[:, k], f'contact "{contact.name}"')
            T[:, k] = contact.surface.third(self.point[:, k]) / slope[:, None, None, None]
        bend = np.matmul(self.dp, C)
        along = dot(n, bend)[..., None]
        self.dn = bend - n * along  # (3)
        u = rows.contact_velocity
        Cu = times(C, u)
        self.bent = dot(u, Cu)
        turning = np.einsum("ncijk,nci,ncj,ncdk->ncd", T, u, u, self.dp) - self.bent[..., None] * along[..., 0]
        self.drow = dot(self.dn, self.acceleration[:, :, None]) + dot(n, self.dacceleration)
        self.drow += 2.0 * dot(Cu[:, :, None], self.du) + turning
