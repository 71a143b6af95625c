"""Frames: where a body, a link behind fixed joints or a site is, how it moves, and its Jacobian.

A frame is a point and axes fixed on a moving body, or on the world. `axes` turns results and adds nothing to them:
"world" is what Pinocchio calls LOCAL_WORLD_ALIGNED; "frame" the same vectors in the axes of the frame. For both

    velocity = J v,    acceleration = J a + J̇ v                                                        (1)

with the classical acceleration of the point: the second derivative of its position.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import native_function, require_mechanism
from setsu.dynamics.numbers import finite_array
from setsu.elementary import matmul
from setsu.errors import InputError, nearest_names
from setsu.mechanism import Frame, Mechanism

__all__ = [
    "FRAME_FUNCTIONS",
    "frame_acceleration",
    "frame_jacobian",
    "frame_jacobian_rate",
    "frame_pose",
    "frame_velocity",
    "point_jacobian",
    "point_jacobian_rate",
]

Floats = NDArray[np.float64]
_ORIGIN = (0.0, 0.0, 0.0)
_AXES = {"world": "", "frame": " local"}


def frame_pose(mechanism: Mechanism, q: ArrayLike, frame: str) -> Floats:
    """Return the placement of a frame in the world (..., 4, 4) for coordinates (..., nq).

    frame: name of a body, of a link behind fixed joints or of a site, one of `mechanism.frame_names`.

    >>> import setsu
    >>> setsu.frame_pose(setsu.sample_mechanisms.planar_arm(2), [0.0, 0.0], "tip")[:3, 3].tolist()
    [1.0, 0.0, 0.0]
    """
    return _pose(mechanism, q, frame)


def frame_velocity(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    frame: str,
    point: ArrayLike = _ORIGIN,
    *,
    axes: str = "world",
) -> Floats:
    """Return the velocity of a frame (..., 6): of its origin or a point of it (m/s), and angular (rad/s).

    Args:
        q, v: coordinates (..., nq), velocities (..., nv).
        frame: one of `mechanism.frame_names`.
        point: fixed in the frame (..., 3), m.
        axes: of the result, "world" or "frame".
    """
    return _motion(mechanism, "frame_velocity", (q, v), frame, point, axes)


def frame_acceleration(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    frame: str,
    point: ArrayLike = _ORIGIN,
    *,
    axes: str = "world",
) -> Floats:
    """Return the acceleration of a frame (..., 6): second derivative of the position of its origin or a point (m/s²),
    and angular acceleration (rad/s²); gravity is not added. Arguments as of `frame_velocity`."""
    return _motion(mechanism, "frame_acceleration", (q, v, a), frame, point, axes)


def frame_jacobian(
    mechanism: Mechanism,
    q: ArrayLike,
    frame: str | None = None,
    point: ArrayLike = _ORIGIN,
    *,
    axes: str = "world",
    body: str | None = None,
) -> Floats:
    """Return J (..., 6, nv) with `frame_velocity` = J v; `body` is another word for `frame`."""
    return _motion(mechanism, "frame_jacobian", (q,), _one_name("frame_jacobian", frame, body), point, axes)


def frame_jacobian_rate(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    frame: str | None = None,
    point: ArrayLike = _ORIGIN,
    *,
    axes: str = "world",
    body: str | None = None,
) -> Floats:
    """Return J̇ (..., 6, nv) with `frame_acceleration` = J a + J̇ v; `axes` turns the rate of J in world axes."""
    return _motion(mechanism, "frame_jacobian_rate", (q, v), _one_name("frame_jacobian_rate", frame, body), point, axes)


def point_jacobian(mechanism: Mechanism, q: ArrayLike, body: str, point: ArrayLike = _ORIGIN) -> Floats:
    """Return J (..., 3, nv), world axes: velocity of a point fixed on a body = J v.

    Args:
        q: coordinates (..., nq).
        body: name of a body, of a link behind fixed joints or of a site.
        point: in that body's frame (..., 3), m.
    """
    return _motion(mechanism, "point_jacobian", (q,), body, point, "world")


def point_jacobian_rate(
    mechanism: Mechanism, q: ArrayLike, v: ArrayLike, body: str, point: ArrayLike = _ORIGIN
) -> Floats:
    """Return dJ/dt (..., 3, nv), world axes: acceleration of the point = J a + dJ/dt v."""
    return _motion(mechanism, "point_jacobian_rate", (q, v), body, point, "world")


def _one_name(function: str, frame: str | None, body: str | None) -> str:
    if (frame is None) == (body is None):
        raise InputError(f"{function}: expected the name of one frame, got frame={frame!r} and body={body!r}")
    return body if frame is None else frame  # type: ignore[return-value]


def _found(mechanism: Mechanism, function: str, name: str) -> Frame:
    require_mechanism(mechanism, function)
    return mechanism.frame(name)


def _pose(mechanism: Mechanism, q: ArrayLike, name: str, specialised: bool = False) -> Floats:
    frame = _found(mechanism, "frame_pose", name)
    T = frame.pose.matrix
    if frame.body < 0:
        return _still(mechanism, "frame_pose", (q,), (), T)
    function = native_function(mechanism, "frame_pose", specialised=specialised, target=frame.body)
    return function.fast(q, T[:3, 3].copy(), T[:3, :3].ravel())


def _motion(
    mechanism: Mechanism,
    name: str,
    state: tuple[ArrayLike, ...],
    frame_name: str,
    point: ArrayLike,
    axes: str,
    specialised: bool = False,
) -> Floats:
    """Evaluate one of the kernels about a frame: `state`, the point in body axes, and the frame's axes where asked."""
    frame = _found(mechanism, name, frame_name)
    try:
        variant = name + _AXES[axes]
    except (KeyError, TypeError):
        raise InputError(f'{name}: axes: expected "world" or "frame", got {axes!r}') from None
    T = frame.pose.matrix
    R, p = T[:3, :3], T[:3, 3]
    if frame.body < 0:
        empty = np.zeros(_ROWS[name] if "jacobian" not in name else (*_ROWS[name], mechanism.nv))
        return _still(mechanism, name, state, point, empty)
    function = native_function(mechanism, variant, specialised=specialised, target=frame.body)
    turn = (R.ravel(),) if axes == "frame" else ()
    if point is _ORIGIN:
        return function.fast(*state, p.copy(), *turn)
    at = finite_array(point, (3,), f"{name}: point")
    # The kernel knows moving bodies only: carry the point over from the frame.
    return function(*state, matmul(at, R.T) + p, *turn)


_ROWS = {
    "frame_velocity": (6,),
    "frame_acceleration": (6,),
    "frame_jacobian": (6,),
    "frame_jacobian_rate": (6,),
    "point_jacobian": (3,),
    "point_jacobian_rate": (3,),
}


def _still(m: Mechanism, name: str, state: tuple[ArrayLike, ...], point: ArrayLike, value: Floats) -> Floats:
    """What holds for a frame fixed to the world, for every state; the arguments are checked all the same."""
    kinematics = native_function(m, ("body_poses", "body_velocities", "body_accelerations")[len(state) - 1])
    arguments = kinematics.arguments.renamed(name)
    taken, batch = arguments.take(state)
    arguments.require_finite(taken, batch)
    at = finite_array(point, (), f"{name}: point")
    if at.size:
        batch = np.broadcast_shapes(batch, at.shape[:-1])
    return np.array(np.broadcast_to(value, (*batch, *value.shape)))


def _specialised_jacobian(name: str, states: int) -> Any:
    def function(mechanism: Mechanism, *args: Any, axes: str = "world", **named: Any) -> Floats:
        words = ("frame", "body") if name.startswith("frame") else ("body",)
        order = [*("q", "v", "a")[:states], words[0], "point"]
        given = dict(zip(order, args, strict=False))
        for key, value in named.items():
            key = words[0] if key in words else key
            if key not in order or key in given:
                raise InputError(f"{name}: unexpected argument {key!r}{nearest_names(key, order)}")
            given[key] = value
        missing = [key for key in order[:-1] if key not in given]
        if missing or len(args) > len(order):
            raise InputError(f"{name}: expected {', '.join(order)}, got {len(args)} arguments")
        state = tuple(given[key] for key in order[:states])
        return _motion(mechanism, name, state, given[words[0]], given.get("point", _ORIGIN), axes, specialised=True)

    return function


def _specialised_pose(mechanism: Mechanism, q: ArrayLike, frame: str) -> Floats:
    return _pose(mechanism, q, frame, specialised=True)


FRAME_FUNCTIONS: dict[str, Any] = {
    "frame_pose": _specialised_pose,
    "frame_velocity": _specialised_jacobian("frame_velocity", 2),
    "frame_acceleration": _specialised_jacobian("frame_acceleration", 3),
    "frame_jacobian": _specialised_jacobian("frame_jacobian", 1),
    "frame_jacobian_rate": _specialised_jacobian("frame_jacobian_rate", 2),
    "point_jacobian": _specialised_jacobian("point_jacobian", 1),
    "point_jacobian_rate": _specialised_jacobian("point_jacobian_rate", 2),
}
"""The same by code for one mechanism and frame, made when a frame is first asked for."""
