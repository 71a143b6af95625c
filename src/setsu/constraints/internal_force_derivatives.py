"""How the division of internal forces among redundant loops changes: the derivative of internal_forces.py.

With m(λ) = P λ + p all forces and moments (over ℓ) at the joints' middles and N a basis of multipliers that move
nothing, Gᵀ N = 0, the choice of least |m|² has

    Nᵀ Pᵀ m = 0,  so  Pᵀ m = G η  for some η                                                              (1)
    dλ = dλ_p + N y,   (P N)ᵀ (P N) y = -Nᵀ (Pᵀ dm_p + dPᵀ m - dG η)                                       (2)

dλ_p any change that keeps the motion, dm_p that of the measure with it; -dG η is how N turns. Wrenches about the
world's origin; the measure of a wrench (f, n) at a joint with middle μ is (f, (n - μ x f)/ℓ), and Pᵀ m is the power of
the rows' wrenches against the twists T = (m_f + μ x m_n/ℓ, m_n/ℓ) of the joints that carry them.
Valid along directions that keep the loops closed: along others rows that were redundant contradict each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.constraint_partials import ConstraintPartials, at_points
from setsu.constraints.internal_forces import joint_middles, subtrees
from setsu.constraints.row_derivatives import loop_derivatives
from setsu.constraints.stacked import Floats, cross, dot, times
from setsu.dynamics.motion_derivatives import MotionDerivatives
from setsu.errors import InputError

__all__ = ["divide_internal_forces"]


def divide_internal_forces(
    partials: ConstraintPartials,
    kept: NDArray[np.int64],
    inverse: Floats,
    joint_wrenches: Floats,
    dlambda: Floats,
    da: Floats,
    dloop: Floats,
    others: list[tuple[Floats, NDArray[np.int64]]],
) -> Floats:
    """Return the change of the multipliers (N, n_held, 3 nv) of loops and couplings divided as (2) says.

    Args:
        kept: rows of loops and couplings that the inverse of the held system [[M, -Hᵀ], [H, 0]] begins with.
        joint_wrenches: (N, n_bodies, 6) through the tree's joints at body origins, world axes.
        dlambda: a change of the multipliers that keeps the motion, and da (N, nv, 3 nv) the motion's change.
        dloop: change of the loops' wrenches about the world's origin with it, (N, L, 6, 3 nv).
        others: changes of further wrenches about the world's origin (N, k, 6, 3 nv), and the bodies (k,) they act on.
    """
    system, rows, motion = partials.system, partials.rows, partials.motion
    m, t, k = system.mechanism, system.loops, system.n_loop_rows
    if m.has_force_elements:
        raise InputError(
            f"constrained_dynamics_derivatives: {m.name} has redundant loops and springs between points, tendons or "
            "drag: how internal forces divide is not differentiated for these; expected loops without redundant rows "
            "(for example spherical or universal joints in place of some revolute ones)"
        )
    nv, N = m.nv, len(partials.q)
    left = np.setdiff1d(np.arange(system.n_held), kept)
    combined = inverse[:, nv : nv + len(kept), :nv] @ np.swapaxes(rows.jacobian[:, left], -1, -2)
    choice = np.zeros((N, system.n_held, len(left)))
    choice[:, left, np.arange(len(left))] = 1.0
    choice[:, kept] = combined

    # The measure: which joint carries how much of each loop's wrench, the joints' middles and their spread.
    below = subtrees(system)
    share = np.concatenate([below[:, t.body_a] - below[:, t.body_b], np.eye(len(t.names))])
    middles = joint_middles(system, rows, partials.q)[0]
    dmiddles = _middle_changes(partials, middles)
    spread = middles - middles.mean(axis=1, keepdims=True)
    length = np.sqrt(np.maximum((spread**2).sum(axis=(1, 2)) / middles.shape[1], 1e-300))
    dlength = np.einsum("nji,njdi->nd", spread, dmiddles) / (middles.shape[1] * length[:, None])
    carried = np.concatenate(
        [at_points(joint_wrenches, partials.origins[:, :-1]), at_points(partials.loop_wrench, partials.pins)], axis=1
    )
    present = _measure(carried, middles, length)

    # dm_p: wrenches through tree and loops, then the geometry of the measure.
    by_state, by_acceleration = motion.inertial_forces(partials.poses)
    dtree = np.zeros((N, m.n_bodies, 6, 3 * nv))
    dtree[..., : 2 * nv] = np.swapaxes(by_state, -1, -2)
    dtree += np.swapaxes(by_acceleration, -1, -2) @ da[:, None]
    own = below[:, :-1]
    through = np.tensordot(own, dtree, axes=(1, 1)).swapaxes(0, 1)
    through = through + np.einsum("jl,nlxd->njxd", share[: m.n_bodies], dloop, optimize=True)
    for change, bodies in others:
        through = through - np.einsum("jl,nlxd->njxd", below[:, bodies], change, optimize=True)
    through = np.concatenate([through, dloop], axis=1)
    dm = _measure(np.swapaxes(through, -1, -2), middles[:, :, None], length[:, None])
    moved = cross(dmiddles, carried[:, :, None, :3]) / length[:, None, None, None]
    shrunk = present[:, :, None, 3:] * (dlength / length[:, None])[:, None, :, None]
    dm[:, :, : 2 * nv, 3:] -= moved + shrunk

    # The columns P N, and twists that stand for Pᵀ m.
    c = at_points(rows.loop_wrench, partials.pins[:, t.row_loop])
    per_loop = np.einsum("lr,nrx,nrk->nlkx", t.row_owner, c, choice[:, :k], optimize=True)
    per_joint = np.einsum("jl,nlkx->njkx", share, per_loop, optimize=True)
    columns = _measure(per_joint, middles[:, :, None], length[:, None])
    moment = present[..., 3:] / length[:, None, None]
    twist = np.concatenate([present[..., :3] + cross(middles, moment), moment], axis=-1)
    dmoment = -moment[:, :, None] * (dlength / length[:, None])[:, None, :, None]
    linear = cross(dmiddles, moment[:, :, None]) + cross(middles[:, :, None], dmoment)
    dtwist = np.concatenate([linear, dmoment], axis=-1)
    loop_twist = np.tensordot(share.T, twist, axes=(1, 1)).swapaxes(0, 1)[:, t.row_loop]
    dloop_twist = np.tensordot(share.T, dtwist, axes=(1, 1)).swapaxes(0, 1)[:, t.row_loop]
    turned = np.zeros((N, system.n_held, 2 * nv))
    turned[:, :k] = dot(dloop_twist, c[:, :, None]) + dot(loop_twist[:, :, None], partials.loops.row[:, :k])
    power = np.zeros((N, system.n_held))
    power[:, :k] = dot(loop_twist, c)
    eta = times(inverse[:, :nv, nv : nv + len(kept)], power[:, kept])
    turned[..., :nv] -= _row_turning(partials, eta)

    right = np.einsum("njkx,njdx->nkd", columns, dm, optimize=True)
    right[..., : 2 * nv] += np.swapaxes(choice, -1, -2) @ turned
    flat = np.moveaxis(columns, 2, 3).reshape(N, -1, len(left))
    gram = np.swapaxes(flat, -1, -2) @ flat
    back = np.asarray(np.linalg.pinv(gram, rcond=1e-13, hermitian=True), dtype=np.float64)
    return dlambda - choice @ (back @ right)


def _measure(wrench: Floats, middles: Floats, length: Floats) -> Floats:
    """Force and moment over ℓ at the middles, of wrenches (..., 6) about the world's origin."""
    moment = wrench[..., 3:] - cross(middles, wrench[..., :3])
    return np.concatenate([wrench[..., :3], moment / length[..., None, None]], axis=-1)


def _middle_changes(partials: ConstraintPartials, middles: Floats) -> Floats:
    """How the middles of all joints move, (N, joints, 2 nv, 3): each of its two frames with its body."""
    m, t, motion = partials.system.mechanism, partials.system.loops, partials.motion
    parents = np.array([m.frame(body.parent).body for body in m.moving], dtype=np.int64)
    far = np.concatenate([np.arange(m.n_bodies), t.body_b])
    near = np.concatenate([parents, t.body_a])
    places = np.concatenate([partials.origins[:, :-1], partials.pins], axis=1)
    total = np.zeros((*middles.shape[:2], 2 * m.nv, 3))
    for bodies, points in ((far, places), (near, 2.0 * middles - places)):
        D = motion.displacement(bodies)
        total += 0.5 * (D[..., :3] + cross(D[..., 3:], points[:, :, None]))
    return total


def _row_turning(partials: ConstraintPartials, eta: Floats) -> Floats:
    """Change (N, n_held, nv) of G η along the coordinates for fixed velocities η (N, nv)."""
    system, q = partials.system, partials.q
    nv, k = system.mechanism.nv, system.n_loop_rows
    motion = MotionDerivatives(system.mechanism, q, eta, np.zeros(eta.shape))
    nothing = np.zeros((len(q), k + len(system.loops.free_loop)))
    loops = loop_derivatives(system, partials.rows, motion, partials.pins, nothing).rate[:, :k, :nv]
    A = system.couplings.argument
    bend = np.zeros((len(q), len(A))) if system.couplings.is_linear else system.couplings.curvatures(q)[0]
    couplings = -(bend * (eta @ A.T))[..., None] * A
    return np.concatenate([loops, couplings], axis=1)
