"""How coordinates and velocities change the accelerations of a loop's rows, along one velocity, in compiled code.

Symbols and equations: row_derivatives.py (1), (2), kernels/motion_columns.py; motions are pairs (linear, angular) about
the world's origin, p the place of the joint. Numbers or lanes.
"""

from __future__ import annotations

from setsu.constraints.compiled_vectors import cross, minus, plus
from setsu.native.control_flow import inline

__all__ = ["change_by_a", "change_by_b", "cross_motion", "relative_motion"]


@inline
def cross_motion(a, b):
    """Motion a x b."""
    return plus(cross(a[1], b[0]), cross(a[0], b[1])), cross(a[1], b[1])


@inline
def _sum(a, b):
    return plus(a[0], b[0]), plus(a[1], b[1])


@inline
def _difference(a, b):
    return minus(a[0], b[0]), minus(a[1], b[1])


@inline
def _negative(a):
    return -a[0], -a[1], -a[2]


@inline
def relative_motion(V_a, V_b, A_a, A_b, p):
    """Angular velocity w and velocity u of body b against body a at p, Γ, and the acceleration Γ_p + w x u."""
    w = minus(V_b[1], V_a[1])
    u = plus(minus(V_b[0], V_a[0]), cross(w, p))
    gamma = _difference(_difference(A_b, A_a), cross_motion(V_a, V_b))
    return w, u, gamma, plus(plus(gamma[0], cross(gamma[1], p)), cross(w, u))


@inline
def change_by_b(S, X, Y, Z, V_a, V_b, A_b, p, w, u, gamma):
    """Changes of linear and angular acceleration by the coordinate, then by the rate, of a velocity that moves b."""
    dV = _sum(cross_motion(S, V_b), X)
    dA = _sum(_sum(cross_motion(S, A_b), cross_motion(X, V_b)), Y)
    dp = plus(S[0], cross(S[1], p))
    dgamma = _difference(dA, cross_motion(V_a, dV))
    du = plus(plus(dV[0], cross(dV[1], p)), cross(w, dp))
    linear = plus(plus(dgamma[0], cross(dgamma[1], p)), cross(gamma[1], dp))
    linear = plus(linear, plus(cross(dV[1], u), cross(w, du)))
    rate = _difference(_sum(cross_motion(S, V_b), Z), cross_motion(V_a, S))
    faster = plus(plus(rate[0], cross(rate[1], p)), plus(cross(S[1], u), cross(w, dp)))
    return linear, dgamma[1], faster, rate[1]


@inline
def change_by_a(S, X, Y, Z, V_a, V_b, A_a, p, w, u, gamma, g):
    """The same of a velocity that moves a, with which the rows turn."""
    dV = _sum(cross_motion(S, V_a), X)
    dA = _sum(_sum(cross_motion(S, A_a), cross_motion(X, V_a)), Y)
    dgamma = _sum(dA, cross_motion(dV, V_b))
    du = plus(dV[0], cross(dV[1], p))
    linear = plus(plus(dgamma[0], cross(dgamma[1], p)), plus(cross(dV[1], u), cross(w, du)))
    rate = _sum(_sum(cross_motion(S, V_a), Z), cross_motion(S, V_b))
    du = plus(S[0], cross(S[1], p))
    faster = plus(plus(rate[0], cross(rate[1], p)), plus(cross(S[1], u), cross(w, du)))
    return (
        minus(cross(g, S[1]), linear), minus(cross(gamma[1], S[1]), dgamma[1]), _negative(faster), _negative(rate[1]),
    )  # fmt: skip
