"""Inverse dynamics from neighbouring samples of a motion: forces of all points of a link by differences of order 2.

| symbol | meaning | unit | frame |
|---|---|---|---|
| q0, q, q1 | coordinates one step before, at, and one step after an instant; q2, q3 further steps after | | |
| rate | 1 / step; negative where samples come in reverse order | 1/s | |
| R, x | rotation and origin of a link at q; with the same digits at the other samples | -, m | world |
| D, acc | second differences of R and x over the square of the step | 1/s², m/s² | world |
| m, s, S | mass, first and second moments of the link about its origin | kg, kg m, kg m² | link |
| f, n | force and moment by the parent on the link, at its origin | N, N m | world |

    a point r of the link accelerates with acc + D r                                         (1)
    inside:  u'' = (u1 - 2 u + u0) rate²;  first sample:  u'' = (2 u - 5 u1 + 4 u2 - u3) rate²       (2)
    f = m (acc - g) + D s,   n = R s x (acc - g) + Σ_k R_k x (D S)_k   over columns k        (3)  isobe2003 (3)
    f_i += f_j,   n_i += n_j + (x_j - x_i) x f_j                                             (4)  isobe2003 (2), (4)-(6)
    tau = columns · Rᵀ (f, n) + armature q'' + damping q' + coulomb sign(q') + spring        (5)

(3) is the sum over the points of the link, each a node with its own difference, so no angle is taken of a rotation.
Moving mass along a revolute axis moves it between links without changing a node: regrouped inertias serve.
Order 2 in the step. Cost O(N): poses of all samples in use, once the forces.
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.configuration import joint_step
from setsu.kernels.joint_forces import as_scalar_or_tuple, as_tuple, has_spring, quaternion_spring
from setsu.kernels.joints import joint_columns, joint_pose_at
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import (
    IDENTITY,
    ZERO,
    add,
    column,
    cross,
    dot,
    full,
    multiply,
    rotate,
    rotate_back,
    scale,
    sign,
    sub,
    transpose,
)
from setsu.mechanism.tables import Kind

__all__ = ["nodal_central", "nodal_end"]

_ONE_COORDINATE = (Kind.REVOLUTE, Kind.PRISMATIC, Kind.HELICAL)


def _start(world: Any) -> None:
    world.R0 = world.R = world.R1 = IDENTITY
    world.x0 = world.x = world.x1 = world.f = world.n = ZERO


def _outward(link: Any) -> None:
    """Poses at three samples, and the force the link's points need."""
    parent = link.parent
    R0, x0 = _pose(link, parent.R0, parent.x0, link.q0)
    R, x = _pose(link, parent.R, parent.x, link.q)
    R1, x1 = _pose(link, parent.R1, parent.x1, link.q1)
    link.R0, link.x0, link.R, link.x, link.R1, link.x1 = R0, x0, R, x, R1, x1
    rate2 = link.rate * link.rate
    D = tuple(((after - at) - (at - before)) * rate2 for before, at, after in zip(R0, R, R1, strict=True))  # (2)
    acc = tuple(((after - at) - (at - before)) * rate2 for before, at, after in zip(x0, x, x1, strict=True))
    _need(link, R, D, sub(acc, link.gravity))


def _start_end(world: Any) -> None:
    world.R = world.R1 = world.R2 = world.R3 = IDENTITY
    world.x = world.x1 = world.x2 = world.x3 = world.f = world.n = ZERO


def _outward_end(link: Any) -> None:
    """The same at the first of four samples."""
    parent = link.parent
    R, x = _pose(link, parent.R, parent.x, link.q)
    R1, x1 = _pose(link, parent.R1, parent.x1, link.q1)
    R2, x2 = _pose(link, parent.R2, parent.x2, link.q2)
    R3, x3 = _pose(link, parent.R3, parent.x3, link.q3)
    link.R, link.x, link.R1, link.x1, link.R2, link.x2, link.R3, link.x3 = R, x, R1, x1, R2, x2, R3, x3
    rate2 = link.rate * link.rate
    D = tuple((2.0 * a - 5.0 * b + 4.0 * c - d) * rate2 for a, b, c, d in zip(R, R1, R2, R3, strict=True))  # (2)
    acc = tuple((2.0 * a - 5.0 * b + 4.0 * c - d) * rate2 for a, b, c, d in zip(x, x1, x2, x3, strict=True))
    _need(link, R, D, sub(acc, link.gravity))


def _need(link: Any, R: tuple, D: tuple, acc: tuple) -> None:
    """Force and moment of the points of the link (1), (3); acc: of its origin, gravity taken off."""
    if link.kind == Kind.REVOLUTE:
        # Regrouped: no mass, s_z = S_zz = 0.
        s, S = link.moment, link.second_moment
        f = add(scale(column(D, 0), s[0]), scale(column(D, 1), s[1]))
        arm = add(scale(column(R, 0), s[0]), scale(column(R, 1), s[1]))
        DS = multiply(D, (S[0], S[1], S[2], S[1], S[3], S[4], S[2], S[4], 0.0))
    else:
        f = add(scale(acc, link.mass), rotate(D, link.moment))
        arm = rotate(R, link.moment)
        DS = multiply(D, full(link.second_moment))
    n = cross(arm, acc)
    for along, turned in zip(_columns(R), _columns(DS), strict=True):
        n = add(n, cross(along, turned))
    link.f, link.n = f, n


def _pose(link: Any, R_parent: tuple, x_parent: tuple, q: Any) -> tuple[tuple, tuple]:
    R, p = joint_pose_at(link, q)
    return multiply(R_parent, R), add(x_parent, rotate(R_parent, p))


def _columns(A: tuple) -> tuple[tuple, tuple, tuple]:
    A = transpose(A)
    return A[0:3], A[3:6], A[6:9]


def _inward(link: Any) -> None:
    """Torque of the joint between two steps, and what the parent has to carry."""
    before, after = _step(link, link.q0, link.q), _step(link, link.q, link.q1)
    rate = link.rate
    velocity = scale(add(after, before), 0.5 * rate)
    _carry(link, velocity, scale(sub(after, before), rate * rate))


def _inward_end(link: Any) -> None:
    """The same at the first of four samples."""
    a, b, c = _step(link, link.q, link.q1), _step(link, link.q1, link.q2), _step(link, link.q2, link.q3)
    rate = link.rate
    velocity = tuple((1.875 * x - 1.25 * y + 0.375 * z) * rate for x, y, z in zip(a, b, c, strict=True))
    acceleration = tuple((3.0 * y - 2.0 * x - z) * (rate * rate) for x, y, z in zip(a, b, c, strict=True))
    _carry(link, velocity, acceleration)


def _step(link: Any, q0: Any, q1: Any) -> tuple:
    return as_tuple(joint_step(link.kind, q0, q1))


def _carry(link: Any, velocity: tuple, acceleration: tuple) -> None:
    """Torque of the joint (5); its force and moment onto the parent (4)."""
    f, n = rotate_back(link.R, link.f), rotate_back(link.R, link.n)
    armature, damping, coulomb = as_tuple(link.armature), as_tuple(link.damping), as_tuple(link.coulomb)
    torques = []
    for k, (linear, angular) in enumerate(joint_columns(link)):
        torque = dot(linear, f) + dot(angular, n) + armature[k] * acceleration[k] + damping[k] * velocity[k]
        torques.append(torque + coulomb[k] * sign(velocity[k]) if coulomb[k] != 0.0 else torque)
    if link.kind in _ONE_COORDINATE:
        torques[0] = torques[0] + link.stiffness * (link.q - link.spring_rest)
    elif has_spring(link):
        torques = list(add(tuple(torques), quaternion_spring(link)[0]))
    link.tau = as_scalar_or_tuple(tuple(torques))
    link.parent.f = add(link.parent.f, link.f)
    link.parent.n = add(link.parent.n, add(link.n, cross(sub(link.x, link.parent.x), link.f)))


_RATE, _TAU = Array("rate", "total"), Array("tau", "v")


def nodal_central() -> Kernel:
    """Joint torques at the middle one of three samples."""
    return Kernel(
        name="nodal_central",
        inputs=(Array("q0", "q"), Array("q", "q"), Array("q1", "q"), _RATE),
        outputs=(_TAU,),
        phases=(_start, Loop("links", (_outward,)), Loop("links_down", (_inward,))),
        link_fields={"R0": 9, "x0": 3, "R": 9, "x": 3, "R1": 9, "x1": 3, "f": 3, "n": 3},
        regrouped=True,
    )


def nodal_end() -> Kernel:
    """Joint torques at the first of four samples."""
    poses = {f"{name}{sample}": width for sample in ("", 1, 2, 3) for name, width in (("R", 9), ("x", 3))}
    return Kernel(
        name="nodal_end",
        inputs=(*(Array(name, "q") for name in ("q", "q1", "q2", "q3")), _RATE),
        outputs=(_TAU,),
        phases=(_start_end, Loop("links", (_outward_end,)), Loop("links_down", (_inward_end,))),
        link_fields={**poses, "f": 3, "n": 3},
        regrouped=True,
    )
