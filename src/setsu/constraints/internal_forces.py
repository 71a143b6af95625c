"""Forces that redundant constraints leave open: the choice with the least wrenches over all joints.

Where rows are redundant, multipliers x with Gᵀ x = 0 can be added without a change of motion: the mechanism is stressed
against itself, and rigid bodies do not say how much. The choice here makes

    Σ over all joints, those of the tree and those of loops, of |f|² + |n|² / ℓ²                            (1)

least, n the moment at the middle between the joint's two frame origins, ℓ the spread of these middles about their
mean. (1) does not know which joint of a loop was cut, so neither does the result. Bilateral contacts count
with their normal forces.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.held_motion import HeldMotion
from setsu.constraints.stacked import Floats, cross, dot, times, transposed_times
from setsu.constraints.system import ConstraintSystem, ForceGeometry, Linearisation
from setsu.dynamics import body_poses

__all__ = [
    "gather_loop_wrenches",
    "joint_middles",
    "least_internal_forces",
    "left_out_rows_matter",
    "open_directions",
    "subtrees",
]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def gather_loop_wrenches(
    system: ConstraintSystem, rows: Linearisation | ForceGeometry, multipliers: Floats, free_force: Floats
) -> Floats:
    """Return the wrench of each loop on body_b at the joint, (N, n_loops, 6): rows and forces along free axes."""
    t = system.loops
    parts = multipliers[..., : system.n_loop_rows, None] * rows.loop_wrench
    return t.row_owner @ parts + t.free_owner @ (free_force[..., None] * rows.free_wrench)


def least_internal_forces(
    system: ConstraintSystem,
    rows: Linearisation,
    q: Floats,
    open_rows: Floats,
    multipliers: Floats,
    loop_wrench: Floats,
    wrenches: Floats,
    always: Ints,
) -> Floats:
    """Return multipliers (N, n) changed within what redundant rows leave open.

    Args:
        q: (N, nq). open_rows: (N, n, k), multipliers that move nothing: `open_directions`.
        multipliers: (N, n), rows of loops, couplings and contacts `always`.
        loop_wrench: (N, n_loops, 6) on body_b at the joint.
        wrenches: (N, n_bodies, 6) through the tree's joints, world axes.
    """
    k = open_rows.shape[-1]
    if not k or not system.n_loop_rows:
        return multipliers
    middles, arms_tree, arms_loop, poses = joint_middles(system, rows, q)
    spread = middles - middles.mean(axis=1, keepdims=True)
    length = np.sqrt(np.maximum((spread**2).sum(axis=(1, 2)) / middles.shape[1], 1e-300))
    per_row = _row_measures(system, rows, poses, middles, length, always)
    columns = per_row @ open_rows
    present = _measure(wrenches, loop_wrench, arms_tree, arms_loop, length, multipliers[:, system.n_held :])
    # Normal equations: the columns are independent but for those of zeros.
    gram = np.swapaxes(columns, -1, -2) @ columns
    inverse = np.asarray(np.linalg.pinv(gram, rcond=1e-13, hermitian=True), dtype=np.float64)
    return multipliers - times(open_rows, times(inverse, transposed_times(columns, present)))


def left_out_rows_matter(
    system: ConstraintSystem,
    rows: Linearisation | ForceGeometry,
    q: Floats,
    left_out: Bools,
    loop_wrench: Floats,
    wrenches: Floats,
) -> Bools:
    """Return where rows that move nothing could take a share of what the joints carry, (N,): where (1) is not least.

    Args:
        q: (N, nq). left_out: (N, loop rows) those rows, whose multipliers are zero so far.
        loop_wrench, wrenches: as in `least_internal_forces`.
    """
    t = system.loops
    middles, arms_tree, arms_loop, poses = joint_middles(system, rows, q)
    spread = middles - middles.mean(axis=1, keepdims=True)
    square = np.maximum((spread**2).sum(axis=(1, 2)) / middles.shape[1], 1e-300)[:, None]
    below = subtrees(system)
    share = np.concatenate([below[:, t.body_a[t.row_loop]] - below[:, t.body_b[t.row_loop]], t.row_owner])
    joint, row = np.nonzero(share * left_out.any(axis=0))
    force = rows.loop_wrench[:, row, :3]
    arm = _pins(system, rows, poses)[:, t.row_loop[row]] - middles[:, joint]
    moment = rows.loop_wrench[:, row, 3:] + cross(arm, force)
    wrench = np.concatenate([wrenches, loop_wrench], axis=1)
    carried = wrench[..., 3:] + cross(np.concatenate([arms_tree, arms_loop], axis=1), wrench[..., :3])
    along = dot(force, wrench[:, joint, :3]) + dot(moment, carried[:, joint]) / square
    # Half the slope of (1) along each multiplier, against what it would be if nothing cancelled.
    slope = (share[joint, row] * along) @ (row[:, None] == np.arange(len(t.row_loop))).astype(np.float64)
    size = np.sqrt((wrench[..., :3] ** 2).sum(axis=(1, 2)) + (carried**2).sum(axis=(1, 2)) / square[:, 0])
    reach = 1.0 + np.sqrt((arm**2).sum(axis=-1).max(axis=-1, initial=0.0) / square[:, 0])
    return np.any(left_out & (np.abs(slope) > 1e-10 * (size * reach)[:, None]), axis=-1)


def open_directions(held: HeldMotion, left_out: Floats, places: Ints, others: Ints, count: int) -> Floats:
    """Return multipliers (N, count, k) that move nothing; columns of zeros where a state has fewer than others.

    Args:
        held: the factored rows, which stand at `places` among all. left_out: redundant rows (N, r, nv), at `others`.
    """
    N, n = held.scale.shape
    ours = len(places)  # rows behind these are of driven joints
    kept = held.Vt * (held.s_inverse > 0.0)[..., None]
    free = np.eye(n) - np.swapaxes(kept, -1, -2) @ kept
    most = round(float(np.trace(free, axis1=-2, axis2=-1).max(initial=0.0)))
    result = np.zeros((N, count, most + len(others)))
    if most:
        values, vectors = np.linalg.eigh(free)
        chosen = vectors[..., -most:] * (values[..., None, -most:] > 0.5)
        result[:, places, :most] = (chosen / held.scale[..., None])[:, :ours]
    for k, row in enumerate(others):
        # A redundant row is some combination of the kept ones: one unit of it, less that.
        result[:, row, most + k] = 1.0
        result[:, places, most + k] = -held.multipliers(held.solve_L(left_out[..., k, :]))[:, :ours]
    return result


def joint_middles(
    system: ConstraintSystem, rows: Linearisation | ForceGeometry, q: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Middles of all joints (N, joints, 3), the arms from them to body origins and to loop joints, and the poses."""
    m, ends = system.mechanism, rows.loop_poses
    poses = body_poses(m, q)
    origins = poses[..., :3, 3]
    sockets = np.empty(origins.shape)
    for k, body in enumerate(m.moving):
        parent = m.frame(body.parent)
        local = parent.pose.matrix @ np.array([*body.pose.translation, 1.0])
        sockets[:, k] = local[:3] if parent.body < 0 else (poses[:, parent.body] @ local)[:, :3]
    pins = _pins(system, rows, poses)
    travel = times(ends.rotation_a, ends.travel)
    middles = np.concatenate([0.5 * (origins + sockets), pins - 0.5 * travel], axis=1)
    return middles, 0.5 * (origins - sockets), 0.5 * travel, poses


def _pins(system: ConstraintSystem, rows: Linearisation | ForceGeometry, poses: Floats) -> Floats:
    """Places of the loop joints in the world, (N, n_loops, 3)."""
    with_world = np.concatenate([poses[..., :3, 3], np.zeros((len(poses), 1, 3))], axis=1)
    return with_world[:, system.loops.body_b] + rows.loop_poses.arm_b


def _row_measures(
    system: ConstraintSystem, rows: Linearisation, poses: Floats, middles: Floats, length: Floats, always: Ints
) -> Floats:
    """What a unit of each multiplier adds to the vector of `_measure`, (N, 6 joints + contacts, n).

    A parent carries what acts on the subtree of its body: -w on every joint between a loaded body and the world.
    """
    t = system.loops
    below = subtrees(system)
    places = _pins(system, rows, poses)[:, t.row_loop]
    points = rows.contact_arm[:, always] + poses[..., :3, 3][:, system.contact_body[always]]
    force = np.concatenate([rows.loop_wrench[..., :3], rows.normal[:, always]], axis=1)
    turning = np.concatenate([rows.loop_wrench[..., 3:], np.zeros(points.shape)], axis=1)
    moment = turning + cross(np.concatenate([places, points], axis=1), force)  # at the world's origin
    carried = np.concatenate(
        [below[:, t.body_a[t.row_loop]] - below[:, t.body_b[t.row_loop]], -below[:, system.contact_body[always]]],
        axis=1,
    )
    own = np.concatenate([t.row_owner, np.zeros((len(t.names), len(always)))], axis=1)
    share = np.concatenate([carried, own])  # (joints, rows that load bodies)
    at_middle = moment[:, None] - cross(middles[:, :, None], force[:, None])
    both = np.concatenate(
        [np.broadcast_to(force[:, None], at_middle.shape), at_middle / length[:, None, None, None]], -1
    )
    loads = np.moveaxis(share[..., None] * both, -1, 2).reshape(len(force), 6 * len(share), force.shape[1])
    result = np.zeros((len(force), loads.shape[1] + len(always), system.n_held + len(always)))
    loop_rows, contact_rows = np.arange(system.n_loop_rows), system.n_held + np.arange(len(always))
    result[:, : loads.shape[1], np.concatenate([loop_rows, contact_rows])] = loads
    result[:, loads.shape[1] + np.arange(len(always)), contact_rows] = 1.0
    return result


def subtrees(system: ConstraintSystem) -> Floats:
    """Ones (n_bodies, n_bodies + 1) where the second body is the first or moves with it; none for the world, last."""
    m = system.mechanism
    below = np.zeros((m.n_bodies, m.n_bodies + 1))
    for k, body in enumerate(m.moving):
        parent = m.frame(body.parent).body
        if parent >= 0:
            below[:, k] = below[:, parent]
        below[k, k] = 1.0
    return below


def _measure(
    tree: Floats, loops: Floats, arms_tree: Floats, arms_loop: Floats, length: Floats, contacts: Floats
) -> Floats:
    """All forces and moments over ℓ at the joints' middles, (N, 6 joints + contacts): its square is (1)."""
    wrench = np.concatenate([tree, loops], axis=1)
    arms = np.concatenate([arms_tree, arms_loop], axis=1)
    moment = (wrench[..., 3:] + cross(arms, wrench[..., :3])) / length[:, None, None]
    both = np.concatenate([wrench[..., :3], moment], axis=-1)
    return np.concatenate([both.reshape(len(both), 6 * both.shape[1]), contacts], axis=-1)
