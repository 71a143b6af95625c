"""Derivatives of the forces of springs between points, for derivatives.py.

| symbol | meaning |
|---|---|
| S, X, V | motion of a velocity, parent's V x S, spatial velocity of a link, about the world origin |
| P, J | end of a spring, J_d = S_l + S_a x P its velocity for unit velocity d |
| r, n, l | from end a to end b, its direction and length; F = t n the force on body a, t the tension |
| Q | n (k n + c (1 - n nᵀ) dr/dt / l)ᵀ + t/l (1 - n nᵀ), how F changes with r |

The torques the drives have to give against the springs are tau_d = (J_b - J_a)_d · F.

    ∂(dP/dt)/∂q_e = S_a x dP/dt + X_l + X_a x P                               (1)
    W_e = Q (J_b - J_a)_e + c n (n · ∂(dr/dt)/∂q_e)                           (2)
    ∂tau_d/∂q_e = (J_b - J_a)_d · W_e + F · ∂(J_b - J_a)_d/∂q_e               (3)
    ∂J_d/∂q_e = S_a,e x J_d where e is above d or in its joint, else S_a,d x J_e    (4)
    ∂tau_d/∂v_e = c (n · (J_b - J_a)_d) (n · (J_b - J_a)_e)                   (5)
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.program import Loop
from setsu.kernels.springs import spring_direction
from setsu.kernels.vectors import add, cross, dot, rotate, scale, sub

__all__ = ["DOF_FIELDS", "LINK_FIELDS", "spring_derivatives"]

# Kept with the world while one spring after the other is worked on.
LINK_FIELDS = {
    "P_a": 3,
    "P_b": 3,
    "dP_a": 3,
    "dP_b": 3,
    "pull_direction": 3,
    "pull": 3,
    "by_stretch": 3,
    "across": 1,
    "damper": 1,
}
DOF_FIELDS = {"J_r": 3, "dr": 3, "W": 3}


def _prepare(spring: Any) -> None:
    world = spring.world
    for end, position, name in ((spring.a, spring.position_a, "a"), (spring.b, spring.position_b, "b")):
        P = add(end.x, rotate(end.R, position))
        setattr(world, f"P_{name}", P)
        setattr(world, f"dP_{name}", add(end.V[:3], cross(end.V[3:], P)))
    n, length, inverse = spring_direction(sub(world.P_b, world.P_a))
    apart = sub(world.dP_b, world.dP_a)
    rate = dot(n, apart)
    k, c = spring.tie_stiffness, spring.tie_damping
    tension = k * (length - spring.tie_rest) + c * rate
    world.pull_direction, world.damper, world.pull = n, c, scale(n, tension)
    # Q x = n (by_stretch · x) + across (x - n (n · x))
    world.by_stretch = add(scale(n, k), scale(sub(apart, scale(n, rate)), c * inverse))
    world.across = tension * inverse


def _clear(spring: Any, d: Any) -> None:
    d.J_r = d.dr = (0.0, 0.0, 0.0)


def _end(name: str, sign: float) -> Any:
    """Step that adds one end's part to J_r and to the change of dr/dt (1)."""

    def part(spring: Any, d: Any) -> None:
        P, dP = getattr(d.world, f"P_{name}"), getattr(d.world, f"dP_{name}")
        S, X = d.S, d.X
        d.J_r = add(d.J_r, scale(add(S[:3], cross(S[3:], P)), sign))
        d.dr = add(d.dr, scale(add(cross(S[3:], dP), add(X[:3], cross(X[3:], P))), sign))

    return part


def _change_of_force(spring: Any, e: Any) -> None:
    n, J = e.world.pull_direction, e.J_r
    along = dot(e.world.by_stretch, J) + e.world.damper * dot(n, e.dr)
    e.W = add(scale(n, along), scale(sub(J, scale(n, dot(n, J))), e.world.across))  # (2)


def spring_derivatives(sign: float) -> Loop:
    """Phase that adds sign times the derivatives of the springs' torques to the results dq and dv."""

    def pair(spring: Any, d: Any, e: Any) -> None:
        n = d.world.pull_direction
        d.dq[e] = d.dq[e] + sign * dot(d.J_r, e.W)  # (3)
        d.dv[e] = d.dv[e] + sign * (d.world.damper * (dot(n, d.J_r) * dot(n, e.J_r)))  # (5)

    def bent(name: str, side: float) -> tuple[Loop, Loop]:
        """How F meets the change of one end's columns (4)."""

        def change(d: Any, e: Any) -> Any:
            S = d.S
            J = add(S[:3], cross(S[3:], getattr(d.world, f"P_{name}")))
            return (sign * side) * dot(d.world.pull, cross(e.S[3:], J))

        def above(spring: Any, d: Any, e: Any) -> None:
            value = change(d, e)
            d.dq[e] = d.dq[e] + value
            e.dq[d] = e.dq[d] + value

        def own(spring: Any, d: Any, e: Any) -> None:
            d.dq[e] = d.dq[e] + change(d, e)

        return Loop("above_joint", (above,), of=1), Loop("joint_dofs", (own,), of=1)

    return Loop(
        "springs",
        (
            _prepare,
            Loop("dofs", (_clear,)),
            Loop("a_dofs", (_end("a", -1.0),)),
            Loop("b_dofs", (_end("b", 1.0),)),
            Loop("dofs", (_change_of_force,)),
            Loop("dofs", (Loop("dofs", (pair,)),)),
            Loop("a_dofs", bent("a", -1.0)),
            Loop("b_dofs", bent("b", 1.0)),
        ),
    )
