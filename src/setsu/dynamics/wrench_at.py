"""The wrench that passes through any joint, weld or mount: what the base's side exerts on the far side.

| symbol | meaning | unit | frame |
|---|---|---|---|
| D | the declared body that has the frame; everything declared beyond its joint or weld is the far side | | |
| F | bodies welded to D, D included: one rigid piece | | |
| C | moving bodies whose joints stand on F | | |
| m, h, I | mass, first moment and inertia of F about the origin o of D | kg, kg m, kg m² | world |
| w, dw, acc | angular velocity and acceleration of D, acceleration of o | | world |
| W_c | wrench through the joint of c (`joint_wrenches`), moved to o | N, N m | world |
| E | wrenches on F from outside: springs, tendons, fluid, loops, contacts, given ones; moved to o | N, N m | world |

    D moves against its parent:   W = W_D                                                             (1)
    D is welded:   W = (m (acc - g) + dw x h + w x (w x h),  h x (acc - g) + I dw + w x I w)
                       + Σ_C W_c - Σ E                                                                (2)

Source: Newton and Euler for the rigid piece F. Cost that of `joint_wrenches`, whatever the number of welds.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import require_mechanism
from setsu.dynamics.element_wrenches import element_wrenches
from setsu.dynamics.equations import joint_wrenches
from setsu.dynamics.frames import frame_acceleration, frame_pose, frame_velocity
from setsu.dynamics.numbers import finite_array
from setsu.dynamics.wrenches import (
    Attached,
    ExternalWrenches,
    attached_by_name,
    frame_origin,
    moved,
    poses_for,
    rows_of,
)
from setsu.errors import InputError, ModelWarning
from setsu.mechanism import WORLD, Fixed, Mechanism
from setsu.spatial import inertia_about_origin

__all__ = ["loops_attached", "welded_piece", "wrench_at", "wrench_through"]

Floats = NDArray[np.float64]


def wrench_at(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    frame: str,
    external_wrenches: ExternalWrenches | None = None,
    *,
    axes: str = "frame",
    loop_wrench: ArrayLike | None = None,
) -> Floats:
    """Return the wrench through the weld, mount or joint that carries a frame, (..., 6): force (N), moment (N m).

    Args:
        q, v, a: coordinates (..., nq), velocities (..., nv), accelerations (..., nv).
        frame: one of `mechanism.frame_names`: a tool behind a flange, a sensor's mount, the root link on the floor. For
            a site, the joint or weld of the body that has it.
        external_wrenches: array (..., n_bodies, 6) on the moving bodies themselves, before any weld; or a dict frame
            name -> (..., 6) at that frame's origin, on the declared body of that name. World axes.
        axes: of the result, "frame" or "world".
        loop_wrench: forces in the loops (..., n_loops, 6), as `constrained_dynamics` gives them: the motion alone does
            not determine them. Without it a loop that spans the cut counts as open, with a ModelWarning.

    Returns:
        What the base's side exerts on the far side, at the frame's origin.

    >>> import setsu
    >>> m = setsu.sample_mechanisms.planar_arm(2)
    >>> rest = ([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    >>> (0.0 - setsu.wrench_at(m, *rest, "tip", {"tip": [0, 0, -5.0, 0, 0, 0]}))[:3].tolist()
    [0.0, 0.0, -5.0]
    """
    require_mechanism(mechanism, "wrench_at")
    m = mechanism
    _require_carried(m, frame)
    attached: list[Attached] = []
    rows: Any = None
    if isinstance(external_wrenches, Mapping):
        attached += attached_by_name(m, "wrench_at", q, external_wrenches)
    elif external_wrenches is not None:
        rows = finite_array(external_wrenches, (m.n_bodies, 6), "wrench_at: external_wrenches")
    if loop_wrench is not None:
        attached += loops_attached(m, q, finite_array(loop_wrench, (len(m.loops), 6), "wrench_at: loop_wrench"))
    else:
        _warn_of_loops(m, m.declared_body(frame))
    if attached:
        more = rows_of(m, attached, poses_for(m, "wrench_at", q))
        rows = more if rows is None else rows + more
    through = joint_wrenches(m, q, v, a, rows, "world")
    return wrench_through(m, q, v, a, frame, through, attached, axes=axes)


def wrench_through(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    frame: str,
    through: Floats,
    attached: Iterable[Attached],
    *,
    axes: str = "frame",
) -> Floats:
    """Return `wrench_at` from what passes through the joints and acts on declared bodies.

    through: (..., n_bodies, 6) by each parent on its body at the body origin, world axes, everything counted.
    attached: forces on declared bodies but for springs and other force elements, which are found here.
    """
    m = mechanism
    if axes not in ("world", "frame"):
        raise InputError(f'wrench_at: axes: expected "frame" or "world", got {axes!r}')
    piece, poses = welded_piece(m, frame), poses_for(m, "wrench_at", q)
    body, at = m.declared_body(frame), frame_origin(poses, m.frame(frame))
    if not piece:
        index = m.frame(body).body
        wrench = moved(through[..., index, :], at - poses[..., index, :3, 3])  # (1)
    else:
        wrench = _inertia_wrench(m, piece, body, q, v, a)
        wrench = moved(wrench, at - frame_origin(poses, m.frame(body)))
        for index, child in enumerate(m.moving):
            if child.parent in piece:
                wrench = wrench + moved(through[..., index, :], at - poses[..., index, :3, 3])
        for one in (*attached, *element_wrenches(m, q, v, piece)):
            if one.body in piece:
                wrench = wrench - moved(one.wrench, at - one.point)  # (2)
    if axes == "frame":
        R = frame_pose(m, q, frame)[..., :3, :3]
        turned = np.einsum("...ji,...kj->...ki", R, wrench.reshape(*wrench.shape[:-1], 2, 3))
        wrench = turned.reshape(*turned.shape[:-2], 6)
    return np.array(wrench)


def loops_attached(mechanism: Mechanism, q: ArrayLike, loop_wrench: Floats) -> list[Attached]:
    """Return the forces of loops on their two bodies; loop_wrench (..., n_loops, 6) by body_a on body_b."""
    m, found = mechanism, []
    for k, loop in enumerate(m.loops):
        T = frame_pose(m, q, loop.body_b)
        joint = T[..., :3, :3] @ np.array(loop.pose_b.translation, dtype=np.float64) + T[..., :3, 3]
        wrench = loop_wrench[..., k, :]
        found += [Attached(loop.body_b, wrench, joint), Attached(loop.body_a, -wrench, joint)]
    return found


def _require_carried(m: Mechanism, frame: str) -> None:
    m.frame(frame)
    if frame == WORLD or m.declared_body(frame) == WORLD:
        raise InputError(f"wrench_at: expected a frame that a body of {m.name} has, got {frame!r}: nothing carries it")


def welded_piece(mechanism: Mechanism, frame: str) -> set[str]:
    """Return the declared bodies welded together beyond the weld that carries a frame; none behind a moving joint."""
    _require_carried(mechanism, frame)
    body = mechanism.declared_body(frame)
    return _welded(mechanism, body) if isinstance(mechanism.bodies_by_name[body].joint, Fixed) else set()


def _welded(m: Mechanism, body: str) -> set[str]:
    """F: the declared bodies welded to a body, on its far side."""
    piece = {body}
    for other in m.bodies:
        if isinstance(other.joint, Fixed) and other.parent in piece:
            piece.add(other.name)
    return piece


def _far_side(m: Mechanism, body: str) -> set[str]:
    far = {body}
    for other in m.bodies:
        if other.parent in far:
            far.add(other.name)
    return far


def _warn_of_loops(m: Mechanism, body: str) -> None:
    if not m.loops:
        return
    far = _far_side(m, body)
    spanning = [loop.name for loop in m.loops if (loop.body_a in far) != (loop.body_b in far)]
    if spanning:
        warnings.warn(
            f'wrench_at "{body}": loop {", ".join(spanning)} joins both sides of the cut and counts as open here; give '
            "loop_wrench, or use constrained_dynamics(...).wrench_at",
            ModelWarning,
            stacklevel=3,
        )


def _inertia_wrench(m: Mechanism, piece: set[str], body: str, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Floats:
    """What the motion of the welded bodies needs against gravity, world axes, at the origin of `body` (2)."""
    mass, h, inertia = 0.0, np.zeros(3), np.zeros((3, 3))
    back = np.linalg.inv(m.frame(body).pose.matrix)
    for name in piece:
        part, T = m.bodies_by_name[name], back @ m.frame(name).pose.matrix
        R = T[:3, :3]
        c = R @ np.array(part.center_of_mass, dtype=np.float64) + T[:3, 3]
        mass += part.mass
        h += part.mass * c
        inertia += inertia_about_origin(part.mass, c, R @ part.inertia_matrix @ R.T)
    R = frame_pose(m, q, body)[..., :3, :3]
    w = frame_velocity(m, q, v, body)[..., 3:]
    motion = frame_acceleration(m, q, v, a, body)
    acc, dw = motion[..., :3] - np.array(m.gravity), motion[..., 3:]
    h = R @ h
    I = R @ inertia @ np.swapaxes(R, -1, -2)  # noqa: E741
    times = lambda vector: np.einsum("...ij,...j->...i", I, vector)  # noqa: E731
    force = mass * acc + np.cross(dw, h) + np.cross(w, np.cross(w, h))
    moment = np.cross(h, acc) + times(dw) + np.cross(w, times(w))
    return np.concatenate(np.broadcast_arrays(force, moment), axis=-1)
