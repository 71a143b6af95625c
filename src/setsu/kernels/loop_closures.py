"""Kinematics of loop joints: where the two halves of each are, how they move, and by which joints.

| symbol | meaning | frame |
|---|---|---|
| A, B | frames of the joint on body a and on body b; they coincide at joint coordinate 0 | |
| r, R | position and rotation of B in A | A |
| u, o | velocity of B's origin as seen from A, angular velocity of B relative to A | A |

    u = R_Aᵀ (v_B - v_A - w_A x (x_B - x_A)),   o = R_Aᵀ (w_B - w_A)                             (1)
    column d: (u, o) for unit velocity d; velocities that move both bodies drop out              (2)
    du/dt at zero joint accelerations
      = R_Aᵀ (a_B - a_A - α_A x r - 2 w_A x (v_B - v_A) + w_A x (w_A x r))                       (3)
    do/dt at zero joint accelerations = R_Aᵀ (α_B - α_A - w_A x w_B)                             (4)

Cost O(N) for the motion, O(depth) per loop joint.
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.kinematics import (
    outward_acceleration,
    outward_pose,
    outward_velocity,
    start_acceleration,
    start_pose,
    start_velocity,
)
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import Matrix, Vector, add, cross, multiply, rotate, rotate_back, scale, sub, transpose
from setsu.kernels.world_motion import outward_columns

__all__ = ["loop_kinematics"]


def _frame(end: Any, rotation: Matrix, position: Vector) -> tuple[Matrix, Vector, Vector]:
    """Rotation and origin of a joint frame in the world, and its arm from the link origin."""
    arm = rotate(end.R, position)
    return multiply(end.R, rotation), add(end.x, arm), arm


def _relative_motion(joint: Any) -> None:
    a, b = joint.a, joint.b
    R_A, x_A, arm_a = _frame(a, joint.rotation_a, joint.position_a)
    R_B, x_B, arm_b = _frame(b, joint.rotation_b, joint.position_b)
    r = sub(x_B, x_A)
    v_A, v_B = (add(end.v_origin, cross(end.w, arm)) for end, arm in ((a, arm_a), (b, arm_b)))
    a_A, a_B = (
        add(add(end.acc, cross(end.dw, arm)), cross(end.w, cross(end.w, arm))) for end, arm in ((a, arm_a), (b, arm_b))
    )
    w = a.w
    apart = sub(v_B, v_A)
    R, p = multiply(transpose(R_A), R_B), rotate_back(R_A, r)
    joint.placement = (*R[0:3], p[0], *R[3:6], p[1], *R[6:9], p[2], 0.0, 0.0, 0.0, 1.0)
    joint.twist = (*rotate_back(R_A, sub(apart, cross(w, r))), *rotate_back(R_A, sub(b.w, w)))  # (1)
    bias = sub(sub(a_B, a_A), cross(a.dw, r))
    bias = add(sub(bias, scale(cross(w, apart), 2.0)), cross(w, cross(w, r)))
    joint.bias = (*rotate_back(R_A, bias), *rotate_back(R_A, sub(sub(b.dw, a.dw), cross(w, b.w))))  # (3), (4)


def _column_at_b(joint: Any, d: Any) -> None:
    joint.loop_J[d] = add(joint.loop_J[d], _seen_from_a(joint, d))  # (2)


def _column_at_a(joint: Any, d: Any) -> None:
    joint.loop_J[d] = sub(joint.loop_J[d], _seen_from_a(joint, d))


def _seen_from_a(joint: Any, d: Any) -> tuple:
    """Motion of B's origin and of its frame by one velocity, in A's axes.

    For a velocity that moves A this is what B's origin would do if it were fixed to A, which is what counts off.
    """
    R_A = multiply(joint.a.R, joint.rotation_a)
    x_B = add(joint.b.x, rotate(joint.b.R, joint.position_b))
    S = d.S
    return (*rotate_back(R_A, add(S[:3], cross(S[3:], x_B))), *rotate_back(R_A, S[3:]))


def loop_kinematics() -> Kernel:
    """Per loop joint: placement of B in A (16, row by row), (u, o), its Jacobian (6, nv), its rate at zero a (6)."""
    return Kernel(
        name="loop_kinematics",
        inputs=(Array("q", "q"), Array("v", "v")),
        outputs=(
            Array("placement", "loop", 16),
            Array("twist", "loop", 6),
            Array("loop_J", "loop_dof", 6),
            Array("bias", "loop", 6),
        ),
        zeros=("a",),
        phases=(
            start_pose,
            start_velocity,
            start_acceleration,
            Loop("links", (outward_pose, outward_velocity, outward_acceleration, outward_columns)),
            Loop(
                "closures",
                (_relative_motion, Loop("b_dofs", (_column_at_b,)), Loop("a_dofs", (_column_at_a,))),
            ),
        ),
        link_fields={"R": 9, "x": 3, "w": 3, "v_origin": 3, "dw": 3, "acc": 3},
        dof_fields={"S": 6},
        accumulates=True,
    )
