"""Springs between points, tendons, gravity compensation and fluid drag, as wrenches on the bodies.

| symbol | meaning | unit | frame |
|---|---|---|---|
| R_w, x_w, w_w, v_w | rotation, origin, angular velocity, velocity of the origin of a link | -, m, rad/s, m/s | world |
| coordinate, rate, along | of a joint of one velocity; the wrench at its origin that is its unit force | | world |
| r | of a piece of a line: from its end on body a to its end on body b | m | world |
| external | force and moment on a link at its origin, as the kernels take external wrenches | N, N m | world |

A line is a spring between points (one piece) or a tendon (pieces between points, and joint coordinates):

    l = Σ factor |r| + Σ factor coordinate,   dl its rate                          (1)
    tension = stiffness (l - rest) + damping dl,   rest the nearer end of the slack range, l - rest = 0 within it   (2)
    a piece pulls its ends together by tension x factor; a joint feels -tension x factor       (3)
    energy = ½ stiffness (l - rest)²                                               (4)

A push acts on one link at a point, with v, w the velocity of the point (less the wind) and of the link in its axes:

    force = lift - (d_v + D_v |v|) v,   moment = -(d_w + D_w |w|) w                 (5)
    energy = -lift · position                                                      (6)
    power of the drag = force · velocity of the point + moment · w                 (7)

At |r| = 0 the direction n = r / |r| is undefined. A line of one piece with rest = 0 (or stiffness = 0) has a limit
there, that of the points which come together along their relative velocity, and so n dl = factor dr/dt:

    pull = factor² damping dr/dt                                                   (8)
    power of its damper = -factor² damping |dr/dt|²                                (9)

Every other line pulls nowhere at |r| = 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from setsu.kernels.joints import joint_motion, joint_pose
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import (
    IDENTITY,
    ZERO,
    Scalar,
    Vector,
    Z,
    add,
    cross,
    dot,
    multiply,
    rotate,
    rotate_back,
    scale,
    select_negative,
    square_root,
    sub,
)
from setsu.mechanism.tables import Kind

__all__ = [
    "ENERGY_FIELDS",
    "absolute",
    "along_joint",
    "coincide",
    "direction",
    "element_energy",
    "element_power",
    "joint_coordinate",
    "spring_wrenches",
    "start_coordinates",
    "stretch_of",
    "with_force_elements",
]


def with_force_elements(kernel: Kernel, applied: bool = False) -> Kernel:
    """Let the elements act in a kernel that takes external wrenches; with `applied`, further wrenches are given."""
    inputs = tuple(array for array in kernel.inputs if array.name != "external")
    return replace(
        kernel,
        name=f"{kernel.name}_{'applied_' if applied else ''}springs",
        inputs=(*inputs, Array("applied", "body", 6)) if applied else inputs,
        link_fields={**kernel.link_fields, **_FIELDS},
        phases=(*(_ACT_WITH_APPLIED if applied else _ACT), *kernel.phases),
    )


def _start(world: Any) -> None:
    world.R_w, world.external = IDENTITY, (0.0,) * 6
    world.x_w = world.w_w = world.v_w = ZERO
    world.along, world.coordinate, world.rate = (0.0,) * 6, 0.0, 0.0


def _motion(link: Any) -> None:
    parent = link.parent
    R, p = joint_pose(link)
    vj, wj = joint_motion(link, link.v)
    d = rotate(parent.R_w, p)
    R_w = multiply(parent.R_w, R)
    link.x_w = add(parent.x_w, d)
    link.w_w = add(parent.w_w, rotate(R_w, wj))
    link.v_w = add(add(parent.v_w, cross(parent.w_w, d)), rotate(R_w, vj))
    link.R_w = R_w
    link.along = along_joint(link, R_w)
    link.coordinate, link.rate = joint_coordinate(link), _joint_rate(link)


_SINGLE = (Kind.REVOLUTE, Kind.PRISMATIC, Kind.HELICAL)


def along_joint(link: Any, R: tuple) -> tuple:
    """Wrench at the link origin, world axes, that does the work of a unit force of the joint; of one velocity only."""
    if link.kind not in _SINGLE:
        return (0.0,) * 6
    axis = rotate(R, Z)
    return (*axis, *ZERO) if link.kind == Kind.PRISMATIC else (*ZERO, *axis)


def joint_coordinate(link: Any) -> Scalar:
    """Coordinate of a joint that has one, else 0."""
    return link.q if link.kind in _SINGLE else 0.0


def _joint_rate(link: Any) -> Scalar:
    return link.v if link.kind in _SINGLE else 0.0


def _take_nothing(link: Any) -> None:
    link.external = (0.0,) * 6


def _take_applied(link: Any) -> None:
    link.external = scale(link.applied, link.is_body)


def _start_line(line: Any) -> None:
    line.world.line_length = line.world.line_rate = 0.0


def _measure(line: Any, piece: Any) -> None:
    a, b, world = piece.a, piece.b, line.world
    arm_a, arm_b = rotate(a.R_w, piece.position_a), rotate(b.R_w, piece.position_b)
    n, length, _ = direction(sub(add(b.x_w, arm_b), add(a.x_w, arm_a)))
    velocity_a, velocity_b = (add(end.v_w, cross(end.w_w, arm)) for end, arm in ((a, arm_a), (b, arm_b)))
    rate = dot(n, sub(velocity_b, velocity_a))
    world.line_length = world.line_length + piece.element_factor * length + piece.element_joint * b.coordinate  # (1)
    world.line_rate = world.line_rate + piece.element_pull * rate + piece.element_joint * b.rate


def stretch_of(line: Any, length: Scalar) -> Scalar:
    """How far a line is beyond its slack range; negative below it."""
    below, beyond = length - line.line_lower, length - line.line_upper
    return select_negative(below, below, select_negative(-beyond, beyond, 0.0))


def _tighten(line: Any) -> None:
    world = line.world
    stretch = stretch_of(line, world.line_length)
    world.tension = line.line_stiffness * stretch + line.line_damping * world.line_rate  # (2)


def _pull(line: Any, piece: Any) -> None:
    a, b, tension = piece.a, piece.b, line.world.tension
    arm_a, arm_b = rotate(a.R_w, piece.position_a), rotate(b.R_w, piece.position_b)
    n, _, inverse = direction(sub(add(b.x_w, arm_b), add(a.x_w, arm_a)))
    apart = sub(add(b.v_w, cross(b.w_w, arm_b)), add(a.v_w, cross(a.w_w, arm_a)))
    at_once = line.line_damping * (piece.element_pull * piece.element_pull) * coincide(piece, inverse)
    force = add(scale(n, piece.element_pull * tension), scale(apart, at_once))  # (8)
    drive = scale(b.along, piece.element_joint * tension)
    moved = add(drive[3:], cross(sub(b.x_w, a.x_w), drive[:3]))
    on_a = (*add(force, drive[:3]), *add(cross(arm_a, force), moved))
    on_b = (*add(force, drive[:3]), *add(cross(arm_b, force), drive[3:]))
    a.external = add(a.external, on_a)  # (3)
    b.external = sub(b.external, on_b)


def coincide(piece: Any, inverse: Scalar) -> Scalar:
    """1 where the points of a piece with a limit (8) come together: the reciprocal of its length is 0 then. Else 0."""
    return select_negative(-inverse, 0.0, piece.element_round)


def absolute(x: Scalar) -> Scalar:
    """|x|."""
    return select_negative(x, -x, x)


def _drag(push: Any, R: tuple, v: Vector, w: Vector) -> tuple[Vector, Vector]:
    """Force and moment of the fluid, world axes (5)."""
    drag = push.push_drag
    v, w = rotate_back(R, sub(v, push.push_wind)), rotate_back(R, w)
    force = tuple(-((drag[0] + drag[2 + k] * absolute(v[k])) * v[k]) for k in range(3))
    moment = tuple(-((drag[1] + drag[5 + k] * absolute(w[k])) * w[k]) for k in range(3))
    return rotate(R, force), rotate(R, moment)  # type: ignore[arg-type]


def _push(push: Any) -> None:
    a = push.a
    arm = rotate(a.R_w, push.position_a)
    R = multiply(a.R_w, push.rotation_a)
    drag, moment = _drag(push, R, add(a.v_w, cross(a.w_w, arm)), a.w_w)
    force = add(push.push_lift, drag)
    a.external = add(a.external, (*force, *add(moment, cross(arm, force))))


def spring_wrenches() -> Kernel:
    """Wrenches of all elements on the bodies at their origins, world axes, (bodies, 6)."""
    return Kernel(
        name="spring_wrenches",
        inputs=(Array("q", "q"), Array("v", "v")),
        outputs=(Array("wrenches", "body", 6),),
        phases=(*_ACT, Loop("links", (_give,))),
        link_fields=_FIELDS,
    )


def _give(link: Any) -> None:
    link.wrenches = link.external


def _start_power(world: Any) -> None:
    world.total = 0.0


def _add_power_at_once(line: Any, piece: Any) -> None:
    a, b, world = piece.a, piece.b, line.world
    arm_a, arm_b = rotate(a.R_w, piece.position_a), rotate(b.R_w, piece.position_b)
    inverse = direction(sub(add(b.x_w, arm_b), add(a.x_w, arm_a)))[2]
    apart = sub(add(b.v_w, cross(b.w_w, arm_b)), add(a.v_w, cross(a.w_w, arm_a)))
    at_once = line.line_damping * (piece.element_pull * piece.element_pull) * coincide(piece, inverse)
    world.total = world.total - at_once * dot(apart, apart)  # (9)


def _add_line_power(line: Any) -> None:
    world = line.world
    world.total = world.total - line.line_damping * (world.line_rate * world.line_rate)


def _add_push_power(push: Any) -> None:
    a = push.a
    v = add(a.v_w, cross(a.w_w, rotate(a.R_w, push.position_a)))
    force, moment = _drag(push, multiply(a.R_w, push.rotation_a), v, a.w_w)
    push.world.total = push.world.total + dot(force, v) + dot(moment, a.w_w)  # (7)


def _give_power(world: Any) -> None:
    world.power = world.total


def element_power() -> Kernel:
    """Power of the dampers of lines and of the drag (W): what the elements do besides storing energy."""
    measured = Loop("lines", (_start_line, Loop("pieces", (_measure, _add_power_at_once)), _add_line_power))
    return Kernel(
        name="element_power",
        inputs=(Array("q", "q"), Array("v", "v")),
        outputs=(Array("power", "total"),),
        phases=(
            _start,
            _start_power,
            Loop("links", (_motion,)),
            measured,
            Loop("pushes", (_add_push_power,)),
            _give_power,
        ),
        link_fields={**_FIELDS, "total": 1},
    )


_FIELDS = {
    "R_w": 9,
    "x_w": 3,
    "w_w": 3,
    "v_w": 3,
    "external": 6,
    "along": 6,
    "coordinate": 1,
    "rate": 1,
    "line_length": 1,
    "line_rate": 1,
    "tension": 1,
}
_ELEMENTS = (
    Loop("lines", (_start_line, Loop("pieces", (_measure,)), _tighten, Loop("pieces", (_pull,)))),
    Loop("pushes", (_push,)),
)
_ACT = (_start, Loop("links", (_motion, _take_nothing)), *_ELEMENTS)
_ACT_WITH_APPLIED = (_start, Loop("links", (_motion, _take_applied)), *_ELEMENTS)


# For the energy, from the links' R and x.
ENERGY_FIELDS = {"coordinate": 1, "line_length": 1}


def start_coordinates(world: Any) -> None:
    """The world has no joint."""
    world.coordinate = 0.0


def _start_length(line: Any) -> None:
    line.world.line_length = 0.0


def _measure_length(line: Any, piece: Any) -> None:
    a, b, world = piece.a, piece.b, line.world
    x_a, x_b = add(a.x, rotate(a.R, piece.position_a)), add(b.x, rotate(b.R, piece.position_b))
    length = direction(sub(x_b, x_a))[1]
    world.line_length = world.line_length + piece.element_factor * length + piece.element_joint * b.coordinate


def _add_line_energy(line: Any) -> None:
    stretch = stretch_of(line, line.world.line_length)
    line.world.total = line.world.total + 0.5 * line.line_stiffness * (stretch * stretch)  # (4)


def _add_lift_energy(push: Any) -> None:
    position = add(push.a.x, rotate(push.a.R, push.position_a))
    push.world.total = push.world.total - dot(push.push_lift, position)  # (6)


def element_energy() -> tuple[Loop, Loop]:
    """Phases that add the energy of lines and lifts to the world's total."""
    return (
        Loop("lines", (_start_length, Loop("pieces", (_measure_length,)), _add_line_energy)),
        Loop("pushes", (_add_lift_energy,)),
    )


def direction(r: Vector) -> tuple[Vector, Scalar, Scalar]:
    """Unit vector along r, its length and the reciprocal of it; zero, zero and zero where r is."""
    square = dot(r, r)
    if isinstance(square, float) and square < 1e-300:
        return ZERO, 0.0, 0.0  # known while code is made: such a division has no symbol
    length = square_root(square)
    inverse = select_negative(square - 1e-300, 0.0, 1.0 / length)
    return scale(r, inverse), length, inverse
