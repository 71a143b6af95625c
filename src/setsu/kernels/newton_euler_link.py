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
from setsu.kernels.joints import joint_columns, joint_motion, joint_pose
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
    "outward_bias",
    "start",
]


def start(world: Any) -> None:
    """The world rests and accelerates against gravity."""
    world.w = world.dw = world.f = world.n = ZERO
    world.U = (0.0,) * 9
    world.acc = negative(world.gravity)


def outward(link: Any) -> None:
    """Motion of the link, and the force it needs."""
    _outward(link, link.a)


def outward_bias(link: Any) -> None:
    """The same with all joint accelerations zero."""
    _outward(link, 0.0 if link.kind.nv == 1 else (0.0,) * link.kind.nv)


def _outward(link: Any, a: Any) -> None:
    R, p = joint_pose(link)
    vj, wj = joint_motion(link, link.v)
    dvj, dwj = joint_motion(link, a)
    w_parent = rotate_back(R, link.parent.w)
    w = add(w_parent, wj)  # (1)
    dw = add(add(rotate_back(R, link.parent.dw), cross(w_parent, wj)), dwj)  # (2)
    acc = rotate_back(R, add(link.parent.acc, rotate(link.parent.U, p)))
    acc = add(add(acc, dvj), cross(add(w, w_parent), vj))  # (3)
    axis = column(R, 2)
    if link.kind == Kind.REVOLUTE and unit_axis_of(axis) is not None:
        U, dw = _matrix_from_parent(w, dw[2], rotate_back(R, rotate(link.parent.U, axis)))
    else:
        U = acceleration_matrix(w, dw)
    s = link.moment
    link.f = add(scale(acc, link.mass), rotate(U, s))  # (4)
    link.n = add(cross(s, acc), moment_of_acceleration(U, link.second_moment))
    link.R, link.p, link.w, link.dw, link.U, link.acc = R, p, w, dw, U, acc


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
    R_world = multiply(link.parent.R_world, link.R)
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
    f = rotate(link.R, link.f)
    link.parent.f = add(link.parent.f, f)
    link.parent.n = add(link.parent.n, add(rotate(link.R, link.n), cross(link.p, f)))


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
    R_world = multiply(link.parent.R_world, link.R)
    link.R_world = R_world
    link.wrenches = (*rotate(R_world, link.f), *rotate(R_world, link.n))


FIELDS = {"R": 9, "p": 3, "w": 3, "dw": 3, "U": 9, "acc": 3, "f": 3, "n": 3}
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
) -> Kernel:
    state = tuple(array for array in _STATE if array.name not in zeros)
    return Kernel(
        name=name + ("_external" if external else ""),
        inputs=(*state, _EXTERNAL) if external else state,
        outputs=(output,),
        zeros=zeros,
        link_fields={**FIELDS, "R_world": 9},
        phases=(
            start,
            _start_turned,
            Loop("links", (outward, take_external) if external else (outward,)),
            *inward_phases,
        ),
        regrouped=regrouped,
    )


def inverse_dynamics_link(external: bool = False) -> Kernel:
    """Joint torques for a motion; with `external`, wrenches (bodies, 6) act on the bodies."""
    return _kernel("inverse_dynamics_link", (Loop("links_down", (inward,)),), external=external)


def bias_torque() -> Kernel:
    """Torques with all joint accelerations zero: velocity terms, gravity, friction, joint springs."""
    return _kernel("bias_torque", (Loop("links_down", (inward,)),), zeros=("a",))


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
        output=Array("wrenches", "body", 6),
        regrouped=False,
    )
