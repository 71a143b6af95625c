"""Forces that redundant constraints leave open: the choice with the least wrenches over all joints.

Where rows are redundant, multipliers x with Gᵀ x = 0 can be added without a change of motion: the mechanism is stressed
against itself, and rigid bodies do not say how much. The choice here makes

    Σ over all joints, those of the tree and those of loops, of |f|² + |n|² / ℓ²                            (1)

least, n the moment at the middle between the joint's two frame origins, ℓ the spread of these middles about their
mean. (1) does not know which joint of a loop was cut, so neither does the result. Contacts that hold for ever count
with their normal forces.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.held_motion import HeldMotion
from setsu.constraints.stacked import Floats, cross, times
from setsu.constraints.system import ConstraintSystem, Linearisation
from setsu.dynamics import body_poses, joint_wrenches

__all__ = ["gather_loop_wrenches", "least_internal_forces"]


def gather_loop_wrenches(
    system: ConstraintSystem, rows: Linearisation, multipliers: Floats, free_force: Floats
) -> Floats:
    """Return the wrench of each loop on body_b at the joint, (N, n_loops, 6): rows and forces along free axes."""
    t = system.loops
    result = np.zeros((len(multipliers), len(t.names), 6))
    parts = multipliers[:, : system.n_loop_rows, None] * rows.loop_wrench
    free = free_force[..., None] * rows.free_wrench
    for loop in range(len(t.names)):
        result[:, loop] = parts[:, t.row_loop == loop].sum(axis=1) + free[:, t.free_loop == loop].sum(axis=1)
    return result


def least_internal_forces(
    system: ConstraintSystem,
    rows: Linearisation,
    q: Floats,
    held: HeldMotion,
    multipliers: Floats,
    loop_wrench: Floats,
    wrenches: Floats,
    always: NDArray[np.int64],
) -> Floats:
    """Return multipliers (N, n) changed within what redundant rows leave open.

    Args:
        q: (N, nq). held: the factored rows. multipliers: (N, n), rows of loops, couplings and contacts `always`.
        loop_wrench: (N, n_loops, 6) on body_b at the joint.
        wrenches: (N, n_bodies, 6) through the tree's joints, world axes.
    """
    open_rows = _open_directions(held)
    k = open_rows.shape[-1]
    if not k or not system.n_loop_rows:
        return multipliers
    m, count = system.mechanism, len(q)
    cases = np.moveaxis(open_rows, -1, 0)
    still = np.zeros(m.nv)
    at_rest = joint_wrenches(m, q, still, still, frame="world")
    middles, arms_tree, arms_loop = _middles(system, rows, q)
    spread = middles - middles.mean(axis=1, keepdims=True)
    length = np.sqrt(np.maximum((spread**2).sum(axis=(1, 2)) / middles.shape[1], 1e-300))
    columns = np.empty((count, k, 6 * middles.shape[1] + len(always)))
    for case, x in enumerate(cases):
        loops = gather_loop_wrenches(system, rows, x, np.zeros((count, len(system.loops.free_loop))))
        force = np.zeros((count, len(system.contacts), 3))
        force[:, always] = x[:, system.n_held :, None] * rows.normal[:, always]
        loaded = joint_wrenches(m, q, still, still, system.body_wrenches(rows, loops, force), frame="world")
        columns[:, case] = _measure(loaded - at_rest, loops, arms_tree, arms_loop, length, x[:, system.n_held :])
    present = _measure(wrenches, loop_wrench, arms_tree, arms_loop, length, multipliers[:, system.n_held :])
    inverse = np.asarray(np.linalg.pinv(np.swapaxes(columns, -1, -2), rcond=1e-10), dtype=np.float64)
    return multipliers - times(open_rows, times(inverse, present))


def _open_directions(held: HeldMotion) -> Floats:
    """Multipliers (N, n, k) that move nothing; columns of zeros where a state has fewer than others."""
    n = held.Vt.shape[-1]
    kept = held.Vt * (held.s_inverse > 0.0)[..., None]
    free = np.eye(n) - np.swapaxes(kept, -1, -2) @ kept
    most = round(float(np.trace(free, axis1=-2, axis2=-1).max(initial=0.0)))
    if not most:
        return np.zeros((len(held.scale), n, 0))
    values, vectors = np.linalg.eigh(free)
    chosen = vectors[..., -most:] * (values[..., None, -most:] > 0.5)
    return np.asarray(chosen / held.scale[..., None], dtype=np.float64)


def _middles(system: ConstraintSystem, rows: Linearisation, q: Floats) -> tuple[Floats, Floats, Floats]:
    """Middles of all joints (N, joints, 3), and the arms from them to body origins and to loop joints."""
    m, places = system.mechanism, rows.places
    poses = body_poses(m, q)
    origins = poses[..., :3, 3]
    sockets = np.empty(origins.shape)
    for k, body in enumerate(m.moving):
        parent = m.frame(body.parent)
        local = parent.pose.matrix @ np.array([*body.pose.translation, 1.0])
        sockets[:, k] = local[:3] if parent.body < 0 else (poses[:, parent.body] @ local)[:, :3]
    t = system.loops
    with_world = np.concatenate([origins, np.zeros((len(q), 1, 3))], axis=1)
    pins = with_world[:, t.body_b] + places.arm_b
    travel = times(places.rotation_a, places.travel)
    middles = np.concatenate([0.5 * (origins + sockets), pins - 0.5 * travel], axis=1)
    return middles, 0.5 * (origins - sockets), 0.5 * travel


def _measure(
    tree: Floats, loops: Floats, arms_tree: Floats, arms_loop: Floats, length: Floats, contacts: Floats
) -> Floats:
    """All forces and moments over ℓ at the joints' middles, (N, 6 joints + contacts): its square is (1)."""
    wrench = np.concatenate([tree, loops], axis=1)
    arms = np.concatenate([arms_tree, arms_loop], axis=1)
    moment = (wrench[..., 3:] + cross(arms, wrench[..., :3])) / length[:, None, None]
    both = np.concatenate([wrench[..., :3], moment], axis=-1)
    return np.concatenate([both.reshape(len(both), -1), contacts], axis=-1)
