"""Mass matrix and forward dynamics by composite bodies in link frames: the fewest operations once constants are known.

In link frames the zeros and ones of real robots' geometry stay visible, so that straight-line code needs less than half
the operations of the world-axes form (composite_body.py), which in turn suits loops over any mechanism.

| symbol | meaning | frame |
|---|---|---|
| R, p | rotation, position of link j in its parent i | i |
| mc, sc, Ec | mass, first moment, second moments of the subtree about the link origin | j |
| f, n | force and moment of the subtree for unit acceleration of one joint velocity | link reached |

    m_i += m_j,  s_i += R s + m p,  E_i += R E Rᵀ + p (R s)ᵀ + (R s) pᵀ + m p pᵀ     (1)
    f = m l + r x s,   n = s x l + I r   for the column (l, r)                       (2)
    one link down: f <- R f,  n <- R n + p x f;   M[d, e] = columns_e · (f, n)       (3)
    M a = tau - bias, M = Lᵀ D L                                                     (4)

Source: Walker and Orin 1982; the form with second moments and regrouped inertias after kawasaki1995. Cost O(N depth),
with factors O(N depth²). Runs on symbols and numbers only: steps walk up the tree themselves.
"""

from __future__ import annotations

from typing import Any

from setsu.kernels import newton_euler_link
from setsu.kernels.factorisation import FACTOR, SOLVE
from setsu.kernels.joint_forces import as_scalar_or_tuple, as_tuple, joint_passive
from setsu.kernels.joints import joint_columns, joint_pose
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import (
    ZERO,
    Symmetric,
    Vector,
    add,
    cross,
    dot,
    inertia_times,
    rotate,
    scale,
    turn_symmetric,
)

__all__ = ["forward_dynamics_composite_link", "mass_matrix_link"]


def _start(world: Any) -> None:
    world.mc, world.sc, world.Ec = 0.0, ZERO, (0.0,) * 6


def _own_body(link: Any) -> None:
    link.R, link.p = joint_pose(link)
    link.mc, link.sc, link.Ec = link.mass, link.moment, link.second_moment


def _gather(link: Any) -> None:
    """Add the subtree to the parent's (1)."""
    parent, R, p, m = link.parent, link.R, newton_euler_link.origin(link), link.mc
    s = rotate(R, link.sc)
    # p sᵀ + s pᵀ + m p pᵀ = p yᵀ + y pᵀ with y = s + m p / 2
    y = add(s, scale(p, 0.5 * m))
    parent.mc = parent.mc + m
    parent.sc = add(parent.sc, add(s, scale(p, m)))
    parent.Ec = add(parent.Ec, add(turn_symmetric(R, link.Ec), _twice_symmetric(p, y)))


def _twice_symmetric(a: Vector, b: Vector) -> Symmetric:
    """a bᵀ + b aᵀ."""
    return (
        2.0 * (a[0] * b[0]), a[0] * b[1] + a[1] * b[0], a[0] * b[2] + a[2] * b[0],
        2.0 * (a[1] * b[1]), a[1] * b[2] + a[2] * b[1], 2.0 * (a[2] * b[2]),
    )  # fmt: skip


def _entries(matrix: str, both: bool) -> Any:
    """Step that fills the rows of a link's velocities; `both` also the mirrored entries."""

    def walk(link: Any) -> None:
        columns = joint_columns(link)
        for k, (d, (linear, angular)) in enumerate(zip(link.dofs, columns, strict=True)):
            f = add(scale(linear, link.mc), cross(angular, link.sc))  # (2)
            n = add(cross(link.sc, linear), inertia_times(link.Ec, angular))
            armature = as_tuple(link.armature)[k]
            for e, (l_e, r_e) in list(zip(link.dofs, columns, strict=True))[: k + 1]:
                value = dot(l_e, f) + dot(r_e, n)
                put(d, e, value + armature if e.number == d.number else value)
            place = link
            while True:
                f = rotate(place.R, f)  # (3)
                n = add(rotate(place.R, n), cross(newton_euler_link.origin(place), f))
                place = place.parent
                if place.is_world:
                    break
                for e, (l_e, r_e) in zip(place.dofs, joint_columns(place), strict=True):
                    put(d, e, dot(l_e, f) + dot(r_e, n))

    def put(d: Any, e: Any, value: Any) -> None:
        getattr(d, matrix)[e] = value
        if both:
            getattr(e, matrix)[d] = value

    return walk


def _right_hand_side(link: Any) -> None:
    """What is left of the drive's force to accelerate (4)."""
    left = [
        tau - dot(linear, link.f) - dot(angular, link.n) - passive
        for tau, (linear, angular), passive in zip(
            as_tuple(link.tau), joint_columns(link), joint_passive(link), strict=True
        )
    ]
    link.y = as_scalar_or_tuple(tuple(left))


def _give(d: Any) -> None:
    d.a = d.y


_BODY_FIELDS = {"mc": 1, "sc": 3, "Ec": 6}


def mass_matrix_link() -> Kernel:
    """Full symmetric mass matrix, row by row."""
    return Kernel(
        name="mass_matrix_link",
        inputs=(Array("q", "q"),),
        outputs=(Array("M", "matrix"),),
        phases=(
            _start,
            Loop("links", (_own_body,)),
            Loop("links_down", (_gather,)),
            Loop("links", (_entries("M", both=True),)),
        ),
        link_fields={"R": 9, "p": 3, **_BODY_FIELDS},
        regrouped=True,
        specialised_only=True,
    )


def forward_dynamics_composite_link() -> Kernel:
    """Joint accelerations for torques."""
    return Kernel(
        name="forward_dynamics_composite_link",
        inputs=(Array("q", "q"), Array("v", "v"), Array("tau", "v")),
        outputs=(Array("a", "v"),),
        phases=(
            newton_euler_link.start,
            newton_euler_link.start_matrix,
            _start,
            Loop("links", (newton_euler_link.outward_bias, _own_body)),
            Loop("links_down", (_right_hand_side, newton_euler_link.hand_on, _gather)),
            Loop("links", (_entries("H", both=False),)),
            FACTOR,
            *SOLVE,
            Loop("dofs", (_give,)),
        ),
        link_fields={**newton_euler_link.FIELDS, "U": 9, **_BODY_FIELDS},
        dof_fields={"y": 1, "ratio": 1, "inverse": 1},
        matrices=("H",),
        regrouped=True,
        specialised_only=True,
    )
