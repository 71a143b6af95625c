"""Inverse dynamics by Newton-Euler in link frames, with second moments.

| symbol | meaning | unit | frame |
|---|---|---|---|
| R, p | rotation, position of link j in its parent i | -, m | i |
| w, dw | angular velocity, acceleration | rad/s, rad/s² | j |
| acc | acceleration of the link origin, gravity counted as an acceleration of the world | m/s² | j |
| U | [dw]x + [w]x² | 1/s² | j |
| m, s, S | mass, first moment m c, second moments of the link | kg, kg m, kg m² | j |
| f, n | force and moment by the parent on link j, at its origin | N, N m | j |

    w_j   = Rᵀ w_i + wj                                                    (1)  yamamoto2022 (25)
    dw_j  = Rᵀ dw_i + (Rᵀ w_i) x wj + dwj                                  (2)  (27)
    acc_j = Rᵀ (acc_i + U_i p) + vj' + (w_j + Rᵀ w_i) x vj                 (3)  (26)
    F = m acc + U s,   N = s x acc + ∫ r x (U r) dm                        (4)  (28)-(30), about the origin
    f_j = F_j + Σ R f_k - external,  n_j = N_j + Σ (R n_k + p x R f_k) - … (5)  (31), (32)
    tau = columns · (f, n) + armature a + damping v + coulomb sign(v) + stiffness (q - rest)    (6)  (22)

Sources: yamamoto2022 section 1.3; the form with U and S is Khalil's and kawasaki1995's idea of the cheapest
recursion. Cost O(N); with regrouped inertias m = s_z = S_zz = 0 on a revolute link, about 110 fused operations a link.
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.joint_forces import as_scalar_or_tuple, joint_torque
from setsu.kernels.joints import joint_columns, joint_motion, joint_pose, turned
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import (
    IDENTITY,
    ZERO,
    Matrix,
    Scalar,
    Vector,
    acceleration_matrix,
    add,
    column,
    cos_sin,
    cross,
    dot,
    moment_of_acceleration,
    multiply,
    negative,
    rotate,
    rotate_back,
    scale,
    sub,
    unit_axis_of,
)
from setsu.mechanism.tables import Kind

__all__ = [
    "FIELDS",
    "bias_torque",
    "gravity_torque",
    "hand_on",
    "inverse_dynamics_link",
    "joint_wrenches",
    "orientation",
    "origin",
    "outward_bias",
    "start",
    "start_matrix",
]


def start(world: Any) -> None:
    """The world rests and accelerates against gravity."""
    world.w = world.dw = world.f = world.n = ZERO
    world.acc = negative(world.gravity)


def outward(link: Any) -> None:
    """Motion of the link, and the force it needs."""
    p = joint_pose(link)[1]
    w, dw = link.parent.w, link.parent.dw
    # U_i p without U_i: storing the matrix would cost loops more than the products
    _move(link, link.a, add(cross(dw, p), cross(w, cross(w, p))))
    _need(link, acceleration_matrix(link.w, link.dw))


def start_matrix(world: Any) -> None:
    """U of the resting world."""
    world.U = (0.0,) * 9


def outward_specialised(link: Any) -> None:
    """The same for straight-line code, which keeps U: there it costs no memory and saves operations."""
    _outward_straight(link, link.a)


def outward_bias(link: Any) -> None:
    """The same with all joint accelerations zero."""
    _outward_straight(link, 0.0 if link.kind.nv == 1 else (0.0,) * link.kind.nv)


def _outward_straight(link: Any, a: Any) -> None:
    R, p = joint_pose(link)
    _move(link, a, rotate(link.parent.U, p))
    axis = column(R, 2)
    if link.kind == Kind.REVOLUTE and unit_axis_of(axis) is not None:
        third = rotate_back(R, rotate(link.parent.U, axis))
        link.U, link.dw = _matrix_from_parent(link.w, link.dw[2], third)
    else:
        link.U = acceleration_matrix(link.w, link.dw)
    _need(link, link.U)


def _move(link: Any, a: Any, acc_of_origin: Vector) -> None:
    """Motion of the link; `acc_of_origin` is U_i p, the acceleration of its origin relative to the parent's."""
    R, p = joint_pose(link)
    vj, wj = joint_motion(link, link.v)
    dvj, dwj = joint_motion(link, a)
    w_parent = rotate_back(R, link.parent.w)
    w = add(w_parent, wj)  # (1)
    link.dw = add(add(rotate_back(R, link.parent.dw), cross(w_parent, wj)), dwj)  # (2)
    acc = rotate_back(R, add(link.parent.acc, acc_of_origin))
    link.acc = add(add(acc, dvj), cross(add(w, w_parent), vj))  # (3)
    link.w = w
    _keep_pose(link, R, p)


def _need(link: Any, U: Matrix) -> None:
    """Force and moment the motion needs (4)."""
    s = link.moment
    link.f = add(scale(link.acc, link.mass), rotate(U, s))
    link.n = add(cross(s, link.acc), moment_of_acceleration(U, link.second_moment))


# Joints that leave the link origin where it is: p is a constant and needs no field.
_FIXED_ORIGIN = (Kind.REVOLUTE, Kind.SPHERICAL)


def _keep_pose(link: Any, R: Matrix, p: Vector) -> None:
    """Keep what the way back needs of the pose. Of a revolute joint cosine and sine do: twelve products more, but
    seven numbers less per link, which long chains would move through the cache twice."""
    if link.kind == Kind.REVOLUTE:
        link.turn = cos_sin(link.q)
    else:
        link.R = R
    if link.kind not in _FIXED_ORIGIN:
        link.p = p


def orientation(link: Any) -> Matrix:
    """Rotation of the link frame in the parent link frame."""
    return turned(link.rotation, *link.turn) if link.kind == Kind.REVOLUTE else link.R


def origin(link: Any) -> Vector:
    """Position of the link origin in the parent link frame."""
    return link.translation if link.kind in _FIXED_ORIGIN else link.p


def _matrix_from_parent(w: Vector, dw_z: Scalar, third: Vector) -> tuple[Matrix, Vector]:
    """U and dw of a revolute link, given the third column of U.

    Points on the joint axis belong to both links: the column is the parent's matrix times the axis, turned. Where the
    axis is a coordinate axis of the parent this is cheaper than to turn dw and multiply out all of U (kawasaki1995).
    """
    Uxz, Uyz, Uzz = third
    yy, zz = w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    # Uzz = -(xx + yy) gives xx without another product.
    U = (-(yy + zz), xy - dw_z, Uxz, xy + dw_z, Uzz + (yy - zz), Uyz, xz + xz - Uxz, yz + yz - Uyz, Uzz)
    return U, (yz - Uyz, Uxz - xz, dw_z)


def take_external(link: Any) -> None:
    """Subtract the external wrench, given in world axes at the body origin, which is the link origin."""
    R_world = multiply(link.parent.R_world, orientation(link))
    wrench = scale(link.external, link.is_body)
    link.f = sub(link.f, rotate_back(R_world, wrench[:3]))  # (5)
    link.n = sub(link.n, rotate_back(R_world, wrench[3:]))
    link.R_world = R_world


def inward(link: Any) -> None:
    """Torque of the joint, and what the parent has to carry."""
    link.tau = joint_torque(link, link.f, link.n)  # (6)
    hand_on(link)


def hand_on(link: Any) -> None:
    """Add the link's wrench to the parent's (5)."""
    R = orientation(link)
    f = rotate(R, link.f)
    link.parent.f = add(link.parent.f, f)
    link.parent.n = add(link.parent.n, add(rotate(R, link.n), cross(origin(link), f)))


def wrench_in_body_axes(link: Any) -> None:
    """Result of `joint_wrenches`: by the parent on the body at the body origin, body axes."""
    link.wrenches = (*rotate(link.axes, link.f), *rotate(link.axes, link.n))


def inward_gravity(link: Any) -> None:
    """Torque that holds the link against gravity, joint springs left out."""
    columns = joint_columns(link)
    link.tau = as_scalar_or_tuple(tuple(dot(linear, link.f) + dot(angular, link.n) for linear, angular in columns))
    hand_on(link)


def wrench_in_world_axes(link: Any) -> None:
    """The same in world axes."""
    R_world = multiply(link.parent.R_world, orientation(link))
    link.R_world = R_world
    link.wrenches = (*rotate(R_world, link.f), *rotate(R_world, link.n))


FIELDS = {"turn": 2, "R": 9, "w": 3, "dw": 3, "acc": 3, "f": 3, "n": 3, "p": 3}
_STATE = (Array("q", "q"), Array("v", "v"), Array("a", "v"))
_EXTERNAL = Array("external", "body", 6)
_TORQUE = Array("tau", "v")


def _start_turned(world: Any) -> None:
    world.R_world = IDENTITY


def _kernel(
    name: str,
    inward_phases: tuple[Loop, ...],
    *,
    external: bool = False,
    output: Array = _TORQUE,
    regrouped: bool = True,
    zeros: tuple[str, ...] = (),
    world_axes: bool = False,
    specialised: bool = False,
) -> Kernel:
    turned = external or world_axes
    move = outward_specialised if specialised else outward
    state = tuple(array for array in _STATE if array.name not in zeros)
    return Kernel(
        name=name + ("_external" if external else "") + ("_specialised" if specialised else ""),
        inputs=(*state, _EXTERNAL) if external else state,
        outputs=(output,),
        zeros=zeros,
        link_fields={**FIELDS, **({"R_world": 9} if turned else {}), **({"U": 9} if specialised else {})},
        phases=(
            start,
            *((start_matrix,) if specialised else ()),
            *((_start_turned,) if turned else ()),
            Loop("links", (move, take_external) if external else (move,)),
            *inward_phases,
        ),
        passed=("w", "dw", "acc", *(("R_world",) if turned else ())),
        regrouped=regrouped,
        specialised_only=specialised,
    )


def inverse_dynamics_link(external: bool = False, specialised: bool = False) -> Kernel:
    """Joint torques for a motion; with `external`, wrenches (bodies, 6) act on the bodies.

    specialised: the form with the fewest operations in straight-line code.
    """
    phases = (Loop("links_down", (inward,)),)
    return _kernel("inverse_dynamics_link", phases, external=external, specialised=specialised)


def bias_torque(external: bool = False) -> Kernel:
    """Torques with all joint accelerations zero: velocity terms, gravity, friction, joint springs."""
    phases = (Loop("links_down", (inward,)),)
    return _kernel("bias_torque", phases, external=external, zeros=("a",))


def gravity_torque() -> Kernel:
    """Torques that hold the mechanism at rest against gravity."""
    return _kernel("gravity_torque", (Loop("links_down", (inward_gravity,)),), zeros=("v", "a"))


def joint_wrenches(external: bool = False, world_axes: bool = False) -> Kernel:
    """Wrench by the parent on each body at the body origin, body or world axes; true inertias."""
    give = wrench_in_world_axes if world_axes else wrench_in_body_axes
    return _kernel(
        "joint_wrenches_world" if world_axes else "joint_wrenches",
        (Loop("links_down", (hand_on,)), Loop("links", (give,))),
        external=external,
        world_axes=world_axes,
        output=Array("wrenches", "body", 6),
        regrouped=False,
    )
