"""Regressor: joint torques as a linear function of the bodies' inertial parameters, tau = Y θ.

Per body θ = (m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz), inertia about the body origin in body axes.

| symbol | meaning | frame |
|---|---|---|
| w, dw, acc | motion of the body, gravity counted as an acceleration of the world | body |
| U | [dw]x + [w]x² | body |
| l, r | motion of a joint velocity as felt by the body: velocity of its origin, angular velocity | body |

    force = m acc + U (m c),   moment = (m c) x acc + I dw + w x I w           (1)
    Y[d, m] = l · acc,   Y[d, m c_k] = l · U_k + r · (e_k x acc)               (2)
    Y[d, I_jk] = r · (∂I/∂I_jk dw) + (r x w) · (∂I/∂I_jk w)                    (3)

Armature, friction and springs are not part of it. Source: Atkeson, An and Hollerbach 1986. Cost O(N depth).
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.kinematics import outward_acceleration, outward_velocity, start_velocity
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import (
    ZERO,
    acceleration_matrix,
    add,
    column,
    cross,
    dot,
    multiply,
    negative,
    rotate_back,
    transpose,
)
from setsu.kernels.world_motion import FRAME_FIELDS, outward_columns, outward_frame, start_frame

__all__ = ["regressor"]


def _start(world: Any) -> None:
    world.dw = ZERO
    world.acc = negative(world.gravity)


def _body_motion(link: Any) -> None:
    B = multiply(link.R, transpose(link.axes))
    link.B, link.w_body, link.dw_body, link.acc_body = (
        B,
        rotate_back(B, link.w),
        rotate_back(B, link.dw),
        rotate_back(B, link.acc),
    )


def _row(link: Any, d: Any) -> None:
    B, w, dw, acc = link.B, link.w_body, link.dw_body, link.acc_body
    U = acceleration_matrix(w, dw)
    S = d.S
    left = rotate_back(B, add(S[:3], cross(S[3:], link.x)))
    r = rotate_back(B, S[3:])
    ax = cross(acc, r)  # r · (e_k x acc) = e_k · (acc x r)
    rw = cross(r, w)
    d.Y[link] = (
        dot(left, acc),
        *(dot(left, column(U, k)) + ax[k] for k in range(3)),  # (2)
        r[0] * dw[0] + rw[0] * w[0],  # (3)
        r[0] * dw[1] + r[1] * dw[0] + rw[0] * w[1] + rw[1] * w[0],
        r[1] * dw[1] + rw[1] * w[1],
        r[0] * dw[2] + r[2] * dw[0] + rw[0] * w[2] + rw[2] * w[0],
        r[1] * dw[2] + r[2] * dw[1] + rw[1] * w[2] + rw[2] * w[1],
        r[2] * dw[2] + rw[2] * w[2],
    )


def regressor() -> Kernel:
    """(nv, 10 bodies) matrix, row by row."""
    steps = (outward_frame, outward_columns, outward_velocity, outward_acceleration, _body_motion)
    return Kernel(
        name="regressor",
        inputs=(Array("q", "q"), Array("v", "v"), Array("a", "v")),
        outputs=(Array("Y", "dof_body", 10),),
        phases=(
            start_frame,
            start_velocity,
            _start,
            Loop("links", steps),
            Loop("links", (Loop("link_dofs", (_row,)),)),
        ),
        link_fields={
            **FRAME_FIELDS, "w": 3, "v_origin": 3, "dw": 3, "acc": 3, "B": 9, "w_body": 3, "dw_body": 3, "acc_body": 3,
        },
        dof_fields={"S": 6},
    )  # fmt: skip
