"""First derivatives of inverse and forward dynamics, exact.

Derivatives with respect to q are along the joint velocities: for quaternions along body rotations, as `integrate` adds.

| symbol | meaning |
|---|---|
| S, V, A, m, h, E | as in world_motion.py, about O; inertias of subtrees |
| p, G | momentum and matrix of a subtree, B (v, w) = (w x p, G w) (coriolis.py (1)) |
| f | force the subtree needs, f = Σ (I A + V x* I V) |
| X, Y | parent's V x S, and parent's A x S + V x X: how S moves the velocity and the acceleration |
| dS | V x S |

    for e above d's joint:
      ∂tau_e/∂q_d = S_e · (2 B X_d + I Y_d + S_d x* f)                        (1)
      ∂tau_d/∂q_e = 2 (Bᵀ S_d) · X_e + (I S_d) · Y_e                          (2)  also for e in d's joint
      ∂tau_e/∂v_d = S_e · (2 B S_d + I (X_d + dS_d))                          (3)
      ∂tau_d/∂v_e = 2 (Bᵀ S_d) · S_e + (I S_d) · (X_e + dS_e)                 (4)  also for e in d's joint
      ∂tau/∂a = M                                                             (5)
    diagonal: ∂q += stiffness, ∂v += damping, ∂a += armature                  (6)
    forward:  ∂a/∂tau = M⁻¹,  ∂a/∂q = -M⁻¹ ∂tau/∂q,  ∂a/∂v = -M⁻¹ ∂tau/∂v     (7)

In its own joint a column turns with its velocity, which cancels S x* f. Coulomb friction is constant but at v = 0.
Springs between points, tendons, gravity compensation, drag, springs of quaternions: force_element_derivatives.py.
Source: Singh, Russell and Wensing 2022, with B in closed form. Cost O(N depth), forward O(N² depth).
"""

from __future__ import annotations

from typing import Any

from setsu.kernels import force_element_derivatives as element_fields
from setsu.kernels.composite_body import column_forces
from setsu.kernels.coriolis import (
    MOMENTUM_FIELDS,
    gather_momentum,
    momentum_matrix,
    start_momentum,
    times_momentum_matrix,
    times_momentum_matrix_transposed,
)
from setsu.kernels.factorisation import FACTOR, SOLVE
from setsu.kernels.force_element_derivatives import element_derivatives, outward_elements, start_elements
from setsu.kernels.force_elements import with_force_elements
from setsu.kernels.forward_dynamics_composite import (
    MASS_ENTRIES,
    bias_motion,
    gather_force,
    right_hand_side,
    start_motion,
    take_external,
)
from setsu.kernels.joint_forces import as_scalar_or_tuple
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import add, dot, scale
from setsu.kernels.world_motion import (
    BODY_FIELDS,
    FRAME_FIELDS,
    combine,
    cross_force,
    cross_motion,
    each,
    gather_body,
    inertia_about_reference,
    outward_columns,
    outward_frame,
    outward_frame_absolute,
    per_column,
    start_body,
    start_frame,
    times_inertia,
)

__all__ = ["forward_dynamics_derivatives", "inverse_dynamics_derivatives"]


def _full_motion(link: Any) -> None:
    """Velocity, acceleration and force, and how each column moves them."""
    parent = link.parent
    moved = combine(link, link.v)
    V = add(parent.V, moved)
    A = add(add(parent.A, cross_motion(V, moved)), combine(link, link.a))
    link.V, link.A = V, A
    momentum = times_inertia(link.m, link.h, link.E, V)
    link.f = add(times_inertia(link.m, link.h, link.E, A), cross_force(V, momentum))
    link.X = per_column(link, lambda column: cross_motion(parent.V, column))
    link.Y = per_column(
        link,
        lambda column: add(cross_motion(parent.A, column), cross_motion(parent.V, cross_motion(parent.V, column))),
    )
    # X + dS, the only way dS enters
    link.Z = per_column(link, lambda column: add(cross_motion(parent.V, column), cross_motion(V, column)))


def _subtree_products(link: Any) -> None:
    """What the subtree makes of each column; complete when the tips-first loop arrives here."""
    m, h, E, p, G, f = link.m, link.h, link.E, link.p, link.G, link.f
    F, T, by_q, by_v = [], [], [], []
    for S, x, y, z in zip(each(link.S), each(link.X), each(link.Y), each(link.Z), strict=True):
        F.append(times_inertia(m, h, E, S))
        T.append(scale(times_momentum_matrix_transposed(p, G, S), 2.0))
        doubled = scale(times_momentum_matrix(p, G, x), 2.0)
        by_q.append(add(add(doubled, times_inertia(m, h, E, y)), cross_force(S, f)))
        by_v.append(add(scale(times_momentum_matrix(p, G, S), 2.0), times_inertia(m, h, E, z)))
    link.F, link.T, link.by_q, link.by_v = (as_scalar_or_tuple(tuple(values)) for values in (F, T, by_q, by_v))


def _above(d: Any, e: Any) -> None:
    e.dq[d] = dot(e.S, d.by_q)  # (1)
    e.dv[d] = dot(e.S, d.by_v)  # (3)
    e.da[d] = dot(e.S, d.F)  # (5)
    _own(d, e)


def _own(d: Any, e: Any) -> None:
    d.dq[e] = dot(d.T, e.X[3:]) + dot(d.F, e.Y)  # (2)
    d.dv[e] = dot(d.T, e.S[3:]) + dot(d.F, e.Z)  # (4)
    d.da[e] = dot(d.F, e.S)


def _diagonal(d: Any) -> None:
    d.dq[d] = d.dq[d] + d.stiffness  # (6)
    d.dv[d] = d.dv[d] + d.damping
    d.da[d] = d.da[d] + d.armature


_START = (start_frame, start_body, start_momentum, start_motion)


def _outward(springs: bool) -> tuple:
    # Springs join trees: then all use the world origin.
    if springs:
        return (outward_frame_absolute, outward_columns, inertia_about_reference, outward_elements)
    return (outward_frame, outward_columns, inertia_about_reference)


_PAIRS = Loop("dofs", (Loop("above_joint", (_above,)), Loop("joint_dofs", (_own,)), _diagonal))
_LINK_FIELDS = {**FRAME_FIELDS, **BODY_FIELDS, **MOMENTUM_FIELDS, "V": 6, "A": 6, "f": 6}
_DOF_FIELDS = {"S": 6, "X": 6, "Y": 6, "Z": 6, "F": 6, "T": 3, "by_q": 6, "by_v": 6}
_OUTPUTS = (Array("dq", "matrix"), Array("dv", "matrix"))


def inverse_dynamics_derivatives(springs: bool = False) -> Kernel:
    """(nv, nv) derivatives of the torques by q, v and a; with `springs`, also of force elements."""
    return Kernel(
        name="inverse_dynamics_derivatives" + ("_springs" if springs else ""),
        inputs=(Array("q", "q"), Array("v", "v"), Array("a", "v")),
        outputs=(*_OUTPUTS, Array("da", "matrix")),
        phases=(
            *_START,
            *((start_elements,) if springs else ()),
            Loop("links", (*_outward(springs), _full_motion, momentum_matrix)),
            Loop("links_down", (_subtree_products, gather_body, gather_momentum, gather_force)),
            _PAIRS,
            *(element_derivatives(1.0) if springs else ()),
        ),
        link_fields={**_LINK_FIELDS, **(element_fields.LINK_FIELDS if springs else {})},
        dof_fields={**_DOF_FIELDS, **(element_fields.DOF_FIELDS if springs else {})},
        regrouped=True,
        accumulates=springs,
    )


def _keep_acceleration(d: Any) -> None:
    d.a = d.y


def _pair_negative(d: Any, e: Any) -> None:
    e.dq[d] = -dot(e.S, d.by_q)
    e.dv[d] = -dot(e.S, d.by_v)
    _own_negative(d, e)


def _own_negative(d: Any, e: Any) -> None:
    d.dq[e] = -(dot(d.T, e.X[3:]) + dot(d.F, e.Y))
    d.dv[e] = -(dot(d.T, e.S[3:]) + dot(d.F, e.Z))


def _diagonal_negative(d: Any) -> None:
    d.dq[d] = d.dq[d] - d.stiffness
    d.dv[d] = d.dv[d] - d.damping
    d.dtau[d] = 1.0


def _inwards(c: Any, i: Any, j: Any) -> None:
    j.dq[c] = j.dq[c] - i.H[j] * i.dq[c]
    j.dv[c] = j.dv[c] - i.H[j] * i.dv[c]
    j.dtau[c] = j.dtau[c] - i.H[j] * i.dtau[c]


def _divided(c: Any, i: Any) -> None:
    i.dq[c] = i.dq[c] * i.inverse
    i.dv[c] = i.dv[c] * i.inverse
    i.dtau[c] = i.dtau[c] * i.inverse


def _outwards(c: Any, i: Any, j: Any) -> None:
    i.dq[c] = i.dq[c] - i.H[j] * j.dq[c]
    i.dv[c] = i.dv[c] - i.H[j] * j.dv[c]
    i.dtau[c] = i.dtau[c] - i.H[j] * j.dtau[c]


# (7): the factors of M applied to the columns of all three matrices.
_SOLVE_COLUMNS = Loop(
    "dofs",
    (
        Loop("dofs_down", (Loop("strict_ancestors", (_inwards,), of=1),)),
        Loop("dofs", (_divided, Loop("strict_ancestors", (_outwards,), of=1))),
    ),
    light=True,
)


def forward_dynamics_derivatives(springs: bool = False) -> Kernel:
    """(nv, nv) derivatives of the joint accelerations by q, v and tau; with `springs`, force elements act too."""
    kernel = Kernel(
        name="forward_dynamics_derivatives",
        inputs=(Array("q", "q"), Array("v", "v"), Array("tau", "v")),
        outputs=(*_OUTPUTS, Array("dtau", "matrix")),
        phases=(
            *_START,
            *((start_elements,) if springs else ()),
            Loop("links", (*_outward(springs), bias_motion, *((take_external,) if springs else ()))),
            Loop("links_down", (column_forces, right_hand_side, gather_body, gather_force)),
            MASS_ENTRIES,
            FACTOR,
            *SOLVE,
            Loop("dofs", (_keep_acceleration,)),
            # Again with these accelerations, now for the derivatives.
            start_body,
            start_motion,
            Loop("links", (inertia_about_reference, _full_motion, momentum_matrix)),
            Loop("links_down", (_subtree_products, gather_body, gather_momentum, gather_force)),
            Loop(
                "dofs",
                (Loop("above_joint", (_pair_negative,)), Loop("joint_dofs", (_own_negative,)), _diagonal_negative),
            ),
            *(element_derivatives(-1.0) if springs else ()),
            _SOLVE_COLUMNS,
        ),
        link_fields={**_LINK_FIELDS, **(element_fields.LINK_FIELDS if springs else {})},
        dof_fields={
            **_DOF_FIELDS, "a": 1, "y": 1, "ratio": 1, "inverse": 1, **(element_fields.DOF_FIELDS if springs else {}),
        },
        matrices=("H",),
        regrouped=True,
        accumulates=True,
    )  # fmt: skip
    return with_force_elements(kernel) if springs else kernel
