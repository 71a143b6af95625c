"""Coriolis matrix C with C v = the velocity part of the bias, and dM/dt - 2 C skew-symmetric.

| symbol | meaning |
|---|---|
| S, V, m, h, E | as in world_motion.py, inertias of subtrees |
| dS | V x S, rate of a column |
| B | ½ ((V x*) I - I (V x) + (I V) x̄*), which for a rigid body is (v, w) -> (w x p, G w) |
| p | linear momentum m V_l + V_a x h |
| G | -[V_a]x E + (h · V_l) 1 - V_l hᵀ |

    B (v, w) = (w x p, G w);  p and G of a subtree are sums over its bodies   (1)
    C[e, d] = S_e · (B S_d + I dS_d)                                          (2)
    C[d, e] = S_d · (B S_e + I dS_e)   for d and all e it rides on, with d's subtree    (3)

Source: Echeandia and Wensing 2021 (factorisation B); the closed form (1) follows with second moments and the identity
[Ea]x b + a x E b + E (a x b) = tr(E) a x b. Cost O(N depth).
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import Scalar, Vector, add, cross, dot, full, rotate, rotate_back, scale
from setsu.kernels.world_motion import (
    BODY_FIELDS,
    FRAME_FIELDS,
    combine,
    cross_motion,
    gather_body,
    inertia_about_reference,
    outward_columns,
    outward_frame,
    per_column,
    start_body,
    start_frame,
    times_inertia,
)

__all__ = [
    "MOMENTUM_FIELDS",
    "coriolis_matrix",
    "gather_momentum",
    "momentum_matrix",
    "start_momentum",
    "times_momentum_matrix",
    "times_momentum_matrix_transposed",
]

MOMENTUM_FIELDS = {"p": 3, "G": 9}


def start_momentum(world: Any) -> None:
    """Nothing gathered yet."""
    world.p, world.G = (0.0,) * 3, (0.0,) * 9


def momentum_matrix(link: Any) -> None:
    """p and G of one body (1)."""
    v, w, h = link.V[:3], link.V[3:], link.h
    E = full(link.E)
    columns = [cross(w, (E[j], E[3 + j], E[6 + j])) for j in range(3)]
    along = dot(h, v)
    link.p = add(scale(v, link.m), cross(w, h))
    link.G = tuple((along if i == j else 0.0) - columns[j][i] - v[i] * h[j] for i in range(3) for j in range(3))


def gather_momentum(link: Any) -> None:
    """Add p and G of the subtree to the parent's."""
    parent = link.parent
    parent.p, parent.G = add(parent.p, link.p), add(parent.G, link.G)


def times_momentum_matrix(p: Vector, G: tuple, motion: tuple) -> tuple[Scalar, ...]:
    """B times a motion (1)."""
    return (*cross(motion[3:], p), *rotate(G, motion[3:]))


def times_momentum_matrix_transposed(p: Vector, G: tuple, motion: tuple) -> Vector:
    """Bᵀ times a motion: angular part only, the linear one is zero."""
    return add(cross(p, motion[:3]), rotate_back(G, motion[3:]))


def _start_rest(world: Any) -> None:
    world.V = (0.0,) * 6


def _velocity(link: Any) -> None:
    link.V = add(link.parent.V, combine(link, link.v))
    link.dS = per_column(link, lambda column: cross_motion(link.V, column))


def _subtree_products(link: Any) -> None:
    m, h, E, p, G, V = link.m, link.h, link.E, link.p, link.G, link.V
    link.F = per_column(link, lambda column: times_inertia(m, h, E, column))
    link.K = per_column(
        link,
        lambda column: add(times_momentum_matrix(p, G, column), times_inertia(m, h, E, cross_motion(V, column))),
    )
    link.T = per_column(link, lambda column: times_momentum_matrix_transposed(p, G, column))


def _upper(d: Any, e: Any) -> None:
    e.C[d] = dot(e.S, d.K)  # (2)


def _lower(d: Any, e: Any) -> None:
    d.C[e] = dot(d.T, e.S[3:]) + dot(d.F, e.dS)  # (3)


def coriolis_matrix() -> Kernel:
    """(nv, nv) Coriolis matrix."""
    return Kernel(
        name="coriolis_matrix",
        inputs=(Array("q", "q"), Array("v", "v")),
        outputs=(Array("C", "matrix"),),
        phases=(
            start_frame,
            start_body,
            start_momentum,
            _start_rest,
            Loop("links", (outward_frame, outward_columns, inertia_about_reference, _velocity, momentum_matrix)),
            Loop("links_down", (_subtree_products, gather_body, gather_momentum)),
            Loop("dofs", (Loop("ancestors", (_upper, _lower)),)),
        ),
        link_fields={**FRAME_FIELDS, **BODY_FIELDS, **MOMENTUM_FIELDS, "V": 6},
        dof_fields={"S": 6, "dS": 6, "F": 6, "K": 6, "T": 3},
    )
