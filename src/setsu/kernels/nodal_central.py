"""Inverse dynamics from neighbouring samples of a motion: forces of all points of a link by differences of order 2.

| symbol | meaning | unit | frame |
|---|---|---|---|
| q0, q, q1 | coordinates one step before, at, and one step after an instant | | |
| q1, ..., q4 | four further samples, anywhere around q | | |
| rate | 1 / step | 1/s | |
| weights | of these for the first derivative (4) and for the second (4) | 1/s, 1/s² | |
| R, x | rotation and origin of a link at q; with the same digits at the other samples | -, m | world |
| D, acc | second derivatives of R and x by differences | 1/s², m/s² | world |
| m, s, S | mass, first and second moments of the link about its origin | kg, kg m, kg m² | link |
| f, n | force and moment by the parent on the link, at its origin | N, N m | world |

    a point r of the link accelerates with acc + D r                                         (1)
    even steps: u'' = (u1 - 2 u + u0) rate²;  any samples: u'' = Σ_k weight_k (u_k - u)      (2)
    f = m (acc - g) + D s,   n = R s x (acc - g) + Σ_k R_k x (D S)_k   over columns k        (3)  isobe2003 (3)
    f_i += f_j,   n_i += n_j + (x_j - x_i) x f_j                                             (4)  isobe2003 (2), (4)-(6)
    tau = columns · Rᵀ (f, n) + armature q'' + damping q' + coulomb sign(q') + spring        (5)

(3) is the sum over the points of the link, each a node with its own difference, so no angle is taken of a rotation.
Five samples give order 3 however they are spaced. Regrouped inertias would serve (a point on a revolute axis is the
same node of both links), but second differences magnify the rounding of its two places; with true inertias the forces
that `forces=True` gives are those inside the torques, digit by digit. Cost O(N): poses of all samples, once the forces.
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

__all__ = [
    "FORCES",
    "TORQUE",
    "carry_force",
    "give_force",
    "joint_torque",
    "nodal_central",
    "nodal_weighted",
    "point_forces",
    "pose_at",
]

_ONE_COORDINATE = (Kind.REVOLUTE, Kind.PRISMATIC, Kind.HELICAL)


def _start(world: Any) -> None:
    world.R0 = world.R = world.R1 = IDENTITY
    world.x0 = world.x = world.x1 = world.f = world.n = ZERO


def _outward(link: Any) -> None:
    """Poses at three samples, and the force the link's points need."""
    parent = link.parent
    R0, x0 = pose_at(link, parent.R0, parent.x0, link.q0)
    R, x = pose_at(link, parent.R, parent.x, link.q)
    R1, x1 = pose_at(link, parent.R1, parent.x1, link.q1)
    link.R0, link.x0, link.R, link.x, link.R1, link.x1 = R0, x0, R, x, R1, x1
    rate2 = link.rate * link.rate
    D = tuple(((after - at) - (at - before)) * rate2 for before, at, after in zip(R0, R, R1, strict=True))  # (2)
    acc = tuple(((after - at) - (at - before)) * rate2 for before, at, after in zip(x0, x, x1, strict=True))
    point_forces(link, R, D, sub(acc, link.gravity))


def _start_weighted(world: Any) -> None:
    world.R = world.R1 = world.R2 = world.R3 = world.R4 = IDENTITY
    world.x = world.x1 = world.x2 = world.x3 = world.x4 = world.f = world.n = ZERO


def _outward_weighted(link: Any) -> None:
    """The same from any four further samples."""
    parent = link.parent
    R, x = pose_at(link, parent.R, parent.x, link.q)
    R1, x1 = pose_at(link, parent.R1, parent.x1, link.q1)
    R2, x2 = pose_at(link, parent.R2, parent.x2, link.q2)
    R3, x3 = pose_at(link, parent.R3, parent.x3, link.q3)
    R4, x4 = pose_at(link, parent.R4, parent.x4, link.q4)
    link.R, link.x, link.R1, link.x1, link.R2, link.x2 = R, x, R1, x1, R2, x2
    link.R3, link.x3, link.R4, link.x4 = R3, x3, R4, x4
    D = _weighted(link.weights[4:], R, (R1, R2, R3, R4))  # (2)
    acc = _weighted(link.weights[4:], x, (x1, x2, x3, x4))
    point_forces(link, R, D, sub(acc, link.gravity))


def _weighted(weights: tuple, at: tuple, others: tuple) -> tuple:
    """Σ_k weight_k (u_k - u), (2)."""
    total = scale(sub(others[0], at), weights[0])
    for weight, other in zip(weights[1:], others[1:], strict=True):
        total = add(total, scale(sub(other, at), weight))
    return total


def point_forces(link: Any, R: tuple, D: tuple, acc: tuple) -> None:
    """Force and moment of the points of the link (1), (3); acc: of its origin, gravity taken off."""
    f = add(scale(acc, link.mass), rotate(D, link.moment))
    n = cross(rotate(R, link.moment), acc)
    DS = multiply(D, full(link.second_moment))
    for along, turned in zip(_columns(R), _columns(DS), strict=True):
        n = add(n, cross(along, turned))
    link.f, link.n = f, n


def pose_at(link: Any, R_parent: tuple, x_parent: tuple, q: Any) -> tuple[tuple, tuple]:
    """Rotation and origin of the link at coordinates q, from those of its parent."""
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
    joint_torque(link, velocity, scale(sub(after, before), rate * rate))
    carry_force(link)


def _inward_weighted(link: Any) -> None:
    """The same from any four further samples."""
    steps = tuple(_step(link, link.q, other) for other in (link.q1, link.q2, link.q3, link.q4))
    none = (0.0,) * len(steps[0])
    w = link.weights
    joint_torque(link, _weighted(w[:4], none, steps), _weighted(w[4:], none, steps))
    carry_force(link)


def _step(link: Any, q0: Any, q1: Any) -> tuple:
    return as_tuple(joint_step(link.kind, q0, q1))


def joint_torque(link: Any, velocity: tuple, acceleration: tuple) -> None:
    """Torque of the joint (5)."""
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


def carry_force(link: Any) -> None:
    """Force and moment of the link onto its parent (4)."""
    link.parent.f = add(link.parent.f, link.f)
    link.parent.n = add(link.parent.n, add(link.n, cross(sub(link.x, link.parent.x), link.f)))


def give_force(link: Any) -> None:
    """Force and moment of the link's own points, at its origin; links that share a body's joint carry no mass."""
    link.wrenches = (*link.f, *link.n)


TORQUE, FORCES = Array("tau", "v"), Array("wrenches", "body", 6)


def nodal_central(forces: bool = False) -> Kernel:
    """Joint torques at the middle one of three samples; with `forces`, those of the links' points instead."""
    return Kernel(
        name="nodal_central" + ("_forces" if forces else ""),
        inputs=(Array("q0", "q"), Array("q", "q"), Array("q1", "q"), Array("rate", "total")),
        outputs=(FORCES if forces else TORQUE,),
        phases=(_start, Loop("links", (_outward, give_force)))
        if forces
        else (_start, Loop("links", (_outward,)), Loop("links_down", (_inward,))),
        link_fields={"R0": 9, "x0": 3, "R": 9, "x": 3, "R1": 9, "x1": 3, "f": 3, "n": 3},
    )


def nodal_weighted(forces: bool = False) -> Kernel:
    """Joint torques at a sample from four others with weights; with `forces`, those of the links' points instead."""
    poses = {f"{name}{sample}": width for sample in ("", 1, 2, 3, 4) for name, width in (("R", 9), ("x", 3))}
    return Kernel(
        name="nodal_weighted" + ("_forces" if forces else ""),
        inputs=(*(Array(name, "q") for name in ("q", "q1", "q2", "q3", "q4")), Array("weights", "total", 8)),
        outputs=(FORCES if forces else TORQUE,),
        phases=(_start_weighted, Loop("links", (_outward_weighted, give_force)))
        if forces
        else (_start_weighted, Loop("links", (_outward_weighted,)), Loop("links_down", (_inward_weighted,))),
        link_fields={**poses, "f": 3, "n": 3},
    )
