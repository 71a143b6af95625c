"""Forward dynamics by articulated bodies, in world axes at the link origins.

The motion with all joint accelerations zero is computed first and the articulated bodies solve for the rest: no bias
acceleration then enters the inward recursion, which saves a 6x6 product a link.

| symbol | meaning | unit |
|---|---|---|
| d | from the parent's origin to the link's | m |
| w, dw, acc | motion with all joint accelerations zero, acc_0 = -g | rad/s, rad/s², m/s² |
| f, n | force and moment at the link origin the subtree needs for that motion, less external wrenches | N, N m |
| P, H, J | articulated inertia: force = P a + H α, moment = Hᵀ a + J α | kg, kg m, kg m² |
| S = (l, r) | column of the joint in world axes | |
| U, D, u | I S, Sᵀ I S + armature, what is left of the drive's force | |
| da, dα | acceleration of the origin and angular acceleration on top of acc, dw | |

    rigid body: P = m 1, H = -[s]x, J = tr(E) 1 - E, f and n as newton_euler_world.py (1), (2)       (1)
    U = I S,  D = Sᵀ U + armature,  u = tau - friction - Sᵀ (f, n)                                   (2)
    I -= U D⁻¹ Uᵀ,  (f, n) += U D⁻¹ u                                                                (3)
    parent: P += P, H += H - P [d]x, J += J + ([d]x H)ᵀ + [d]x (H - P [d]x), f += f, n += n + d x f  (4)
    a' = (da + dα x d, dα) of the parent;  q̈ = D⁻¹ (u - Uᵀ a');  (da, dα) = a' + S q̈              (5)

Joints with several velocities are eliminated one velocity after the other, as if massless links stood between them.
Source: Featherstone 1983, 2008 ch. 7. Cost O(N).
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.joint_forces import as_scalar_or_tuple, as_tuple, joint_passive
from setsu.kernels.joints import joint_columns, joint_motion, joint_pose
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import (
    IDENTITY,
    ZERO,
    Matrix,
    Symmetric,
    Vector,
    add,
    column,
    cross,
    dot,
    inertia_matrix,
    multiply,
    negative,
    rotate,
    rotate_back,
    scale,
    sub,
    symmetric_times,
    turn_symmetric,
)

__all__ = ["articulated_body"]


def start(world: Any) -> None:
    """The world rests and accelerates against gravity; what arrives there is dropped."""
    world.R = IDENTITY
    world.w = world.dw = world.f = world.n = ZERO
    world.acc = negative(world.gravity)
    world.P = world.J = (0.0,) * 6
    world.H = (0.0,) * 9


def outward(link: Any) -> None:
    """Motion without joint accelerations and the force it needs (1)."""
    parent = link.parent
    R, p = joint_pose(link)
    d = rotate(parent.R, p)
    R = multiply(parent.R, R)
    vj, wj = (rotate(R, part) for part in joint_motion(link, link.v))
    w = add(parent.w, wj)
    dw = add(parent.dw, cross(parent.w, wj))
    acc = add(add(parent.acc, cross(parent.dw, d)), cross(parent.w, cross(parent.w, d)))
    acc = add(acc, cross(add(parent.w, w), vj))
    m = link.mass
    s = rotate(R, link.moment)
    E = turn_symmetric(R, link.second_moment)
    J = inertia_matrix(E)
    link.f = add(add(scale(acc, m), cross(dw, s)), cross(w, cross(w, s)))
    link.n = add(add(cross(s, acc), symmetric_times(J, dw)), cross(w, symmetric_times(J, w)))
    link.P = (m, 0.0, 0.0, m, 0.0, m)
    link.H = (0.0, s[2], -s[1], -s[2], 0.0, s[0], s[1], -s[0], 0.0)
    link.R, link.d, link.w, link.dw, link.acc, link.J = R, d, w, dw, acc, J


def take_external(link: Any) -> None:
    """Subtract the external wrench at the body origin, which is the link origin."""
    wrench = scale(link.external, link.is_body)
    link.f, link.n = sub(link.f, wrench[:3]), sub(link.n, wrench[3:])


def inward(link: Any) -> None:
    """Eliminate the joint, one velocity after the other (2), (3), and hand the articulated body on (4)."""
    P, H, J, f, n = link.P, link.H, link.J, link.f, link.n
    columns = _columns_in_world(link)
    taus, passives, armatures = as_tuple(link.tau), joint_passive(link), as_tuple(link.armature)
    U: list[Any] = list(columns)
    u, inverse = list(taus), list(taus)
    for k in reversed(range(len(columns))):
        linear, angular = columns[k]
        force, moment = _wrench(P, H, J, linear, angular)
        inverse[k] = 1.0 / (dot(linear, force) + dot(angular, moment) + armatures[k])
        u[k] = taus[k] - passives[k] - dot(linear, f) - dot(angular, n)
        force_ratio, moment_ratio = scale(force, inverse[k]), scale(moment, inverse[k])
        P = _less_product(P, force, force_ratio)
        H = sub(H, tuple(a * b for a in force for b in moment_ratio))
        J = _less_product(J, moment, moment_ratio)
        f, n = add(f, scale(force_ratio, u[k])), add(n, scale(moment_ratio, u[k]))
        U[k] = (*force, *moment)
    link.U = as_scalar_or_tuple(tuple(U))
    link.u = as_scalar_or_tuple(tuple(u))
    link.inverse = as_scalar_or_tuple(tuple(inverse))
    _hand_on(link, P, H, J, f, n)


def _columns_in_world(link: Any) -> list[tuple[Vector, Vector]]:
    return [(rotate(link.R, linear), rotate(link.R, angular)) for linear, angular in joint_columns(link)]


def _wrench(P: Symmetric, H: Matrix, J: Symmetric, linear: Vector, angular: Vector) -> tuple[Vector, Vector]:
    """Force and moment of an articulated inertia for a motion."""
    force = add(symmetric_times(P, linear), rotate(H, angular))
    return force, add(rotate_back(H, linear), symmetric_times(J, angular))


def _less_product(S: Symmetric, a: Vector, b: Vector) -> Symmetric:
    """S - a bᵀ for parallel a and b."""
    return (
        S[0] - a[0] * b[0], S[1] - a[0] * b[1], S[2] - a[0] * b[2],
        S[3] - a[1] * b[1], S[4] - a[1] * b[2], S[5] - a[2] * b[2],
    )  # fmt: skip


def _hand_on(link: Any, P: Symmetric, H: Matrix, J: Symmetric, f: Vector, n: Vector) -> None:
    """Move the articulated body to the parent's origin and add it there (4)."""
    parent, d = link.parent, link.d
    # Row by row: row of (P [d]x) is (row of P) x d; column of ([d]x H) is d x (column of H).
    rows = ((P[0], P[1], P[2]), (P[1], P[3], P[4]), (P[2], P[4], P[5]))
    moved = sub(H, tuple(entry for row in rows for entry in cross(row, d)))
    old, new = ([cross(d, column(matrix, j)) for j in range(3)] for matrix in (H, moved))
    parent.P = add(parent.P, P)
    parent.H = add(parent.H, moved)
    parent.J = add(
        parent.J,
        tuple(
            J[k] + new[j][i] + old[i][j] for k, (i, j) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
        ),
    )
    parent.f = add(parent.f, f)
    parent.n = add(parent.n, add(n, cross(d, f)))


def start_solution(world: Any) -> None:
    """The world does not move; from here on the fields f and n hold da and dα, for they are not needed any more."""
    world.f = world.n = ZERO


def outward_solution(link: Any) -> None:
    """Joint accelerations from the base outwards (5)."""
    da, dalpha = add(link.parent.f, cross(link.parent.n, link.d)), link.parent.n
    columns, U = _columns_in_world(link), link.U
    result = []
    for k, (linear, angular) in enumerate(columns):
        Uk = U if len(columns) == 1 else U[k]
        left = as_tuple(link.u)[k] - dot(Uk[:3], da) - dot(Uk[3:], dalpha)
        rate = left * as_tuple(link.inverse)[k]
        da, dalpha = add(da, scale(linear, rate)), add(dalpha, scale(angular, rate))
        result.append(rate)
    link.f, link.n = da, dalpha
    link.a = as_scalar_or_tuple(tuple(result))


def articulated_body(external: bool = False) -> Kernel:
    """Joint accelerations for torques; with `external`, wrenches (bodies, 6) act on the bodies."""
    state = (Array("q", "q"), Array("v", "v"), Array("tau", "v"))
    return Kernel(
        name="articulated_body" + ("_external" if external else ""),
        inputs=(*state, Array("external", "body", 6)) if external else state,
        outputs=(Array("a", "v"),),
        phases=(
            start,
            Loop("links", (outward, take_external) if external else (outward,)),
            Loop("links_down", (inward,)),
            start_solution,
            Loop("links", (outward_solution,)),
        ),
        link_fields={
            "w": 3, "dw": 3, "acc": 3, "R": 9, "d": 3, "f": 3, "n": 3, "P": 6, "H": 9, "J": 6,
        },
        dof_fields={"U": 6, "u": 1, "inverse": 1},
        regrouped=True,
    )  # fmt: skip
