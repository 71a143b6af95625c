"""Inverse dynamics by Newton-Euler in world axes, moments about the link origins.

| symbol | meaning | unit | frame |
|---|---|---|---|
| R, x, w, v_origin, dw, acc | motion as in kinematics.py, gravity as an acceleration of the world | | world |
| m, s, I | mass, first moment, inertia about the link origin | kg, kg m, kg m² | world |
| f, n | force and moment by the parent on the link, at its origin | N, N m | world |

    motion as kinematics.py (1)-(4) with acc_0 = -g                                         yamamoto2022 (1)-(11)
    F = m acc + dw x s + w x (w x s)                                                    (1)  (12), (15)
    N = s x acc + I dw + w x I w                                                        (2)  (16), (18) about the origin
    f_j = F_j + Σ f_k - external,   n_j = N_j + Σ (n_k + (x_k - x_j) x f_k) - external  (3)  (20), (21)
    tau = columns · Rᵀ (f, n) + armature a + friction                                   (4)  (22)

Source: yamamoto2022 section 1.1, 1.2. Cost O(N), about twice that of the link frames.
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.joint_forces import joint_torque
from setsu.kernels.kinematics import outward_acceleration, outward_pose, outward_velocity, start_pose, start_velocity
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import (
    ZERO,
    add,
    cross,
    inertia_times,
    negative,
    rotate,
    rotate_back,
    scale,
    sub,
    turn_symmetric,
)

__all__ = ["inverse_dynamics_world"]


def start_force(world: Any) -> None:
    """Gravity as an acceleration of the world."""
    world.dw = world.f = world.n = ZERO
    world.acc = negative(world.gravity)


def force(link: Any) -> None:
    """Force and moment the motion of the link needs (1), (2)."""
    s = rotate(link.R, link.moment)
    S = turn_symmetric(link.R, link.second_moment)
    w, dw, acc = link.w, link.dw, link.acc
    link.f = add(add(scale(acc, link.mass), cross(dw, s)), cross(w, cross(w, s)))
    link.n = add(add(cross(s, acc), inertia_times(S, dw)), cross(w, inertia_times(S, w)))


def take_external(link: Any) -> None:
    """Subtract the external wrench at the body origin, which is the link origin (3)."""
    wrench = scale(link.external, link.is_body)
    link.f, link.n = sub(link.f, wrench[:3]), sub(link.n, wrench[3:])


def inward(link: Any) -> None:
    """Torque of the joint (4), and what the parent has to carry (3)."""
    link.tau = joint_torque(link, rotate_back(link.R, link.f), rotate_back(link.R, link.n))
    link.parent.f = add(link.parent.f, link.f)
    link.parent.n = add(link.parent.n, add(link.n, cross(sub(link.x, link.parent.x), link.f)))


def inverse_dynamics_world(external: bool = False) -> Kernel:
    """Joint torques for a motion; with `external`, wrenches (bodies, 6) act on the bodies."""
    motion = (outward_pose, outward_velocity, outward_acceleration, force, *((take_external,) if external else ()))
    state = (Array("q", "q"), Array("v", "v"), Array("a", "v"))
    return Kernel(
        name="inverse_dynamics_world" + ("_external" if external else ""),
        inputs=(*state, Array("external", "body", 6)) if external else state,
        outputs=(Array("tau", "v"),),
        phases=(start_pose, start_velocity, start_force, Loop("links", motion), Loop("links_down", (inward,))),
        link_fields={"R": 9, "x": 3, "w": 3, "v_origin": 3, "dw": 3, "acc": 3, "f": 3, "n": 3},
    )
