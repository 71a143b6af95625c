"""Drives and minimum parameters of a mechanism whose loops and couplings close linearly.

    q = N u + b                      closure, u independent                        kawasaki1995 (4)
    u_a = N_a u + b_a                coordinates of the actuated joints
    q = D u_a + b - D b_a,  D = N N_a^-1,  τ_a = Dᵀ τ_o                            (9)-(11)

Parallelograms (θ2' = θ2 + θ3 + π) and couplings are of this kind. Inertias are the minimum parameters σ of the closed
mechanism, in place of those they stand for, zeros elsewhere: bodies whose parameters went over to others vanish.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from setsu.constraints import independent_coordinates
from setsu.constraints.states import velocity_indices
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.mechanism.tables import Inertias, Kind, regroup
from setsu.minimum_parameters import MinimumParameters
from setsu.minimum_parameters.assembly_branch import linear_closure
from setsu.native.linear_coordinates import Drives, Form

__all__ = ["actuated_rates", "full_state", "linear_drives", "minimum_inertias", "require_determined"]

Floats = NDArray[np.float64]

_LIMIT = 60_000
_ROUNDING = 1e-12


def actuated_rates(mechanism: Mechanism, actuated: Sequence[str] | None) -> list[int]:
    """Return the velocities of the actuated joints, in the order given; of independent joints when none are named."""
    names = independent_coordinates(mechanism) if actuated is None else actuated
    if isinstance(names, str):
        names = (names,)
    rates = [rate for name in names for rate in velocity_indices(mechanism, [name], "generate: actuated")]
    if len(set(rates)) != len(rates):
        raise InputError(f"generate: actuated: a joint is named twice in {list(names)}")
    return rates


def linear_drives(mechanism: Mechanism, reference: Floats, rates: list[int]) -> Drives | None:
    """Return how all joints follow the actuated ones, None when they do not do so linearly.

    reference: (nq,) configuration on the assembly branch meant.
    Raises an InputError when the actuated joints do not determine the motion, or are more than needed.
    """
    closure = linear_closure(mechanism, reference, _LIMIT)
    if closure is None:
        return None
    N = np.array([[float(entry) for entry in row] for row in closure.matrix])
    b = np.array(closure.offset)
    require_determined(mechanism, N, rates)
    D = np.linalg.solve(N[rates].T, N.T).T
    D = np.where(np.abs(D - np.round(D)) < _ROUNDING, np.round(D), D)
    offset = b - D @ b[rates]
    t = mechanism.tables
    forms: list[Form | None] = []
    for d in range(t.nv):
        single = Kind(t.kind[t.dof_link[d]]).nv == 1
        forms.append(Form.of(enumerate(D[d].tolist()), float(offset[d])) if single else None)
    q: list[int] = []
    for link in dict.fromkeys(int(t.dof_link[d]) for d in rates):
        q += range(int(t.q_index[link]), int(t.q_index[link]) + Kind(t.kind[link]).nq)
    return Drives(tuple(forms), tuple(tuple(row) for row in D.T.tolist()), tuple(q), tuple(rates))


def require_determined(mechanism: Mechanism, motions: Floats, rates: list[int]) -> None:
    """Refuse actuated rates that do not determine the motion, or are more than needed.

    motions: (nv, freedom) rates that the loops allow, in its columns.
    """
    freedom = motions.shape[1]
    if len(rates) != freedom or np.linalg.matrix_rank(motions[rates]) < freedom:
        t = mechanism.tables
        names = [mechanism.joint_names[int(t.body[t.dof_link[d]])] for d in rates]
        raise InputError(
            f"generate: {mechanism.name} has {freedom} degree(s) of freedom; the actuated joints {names} "
            f"({len(rates)} rates) do not determine each of them once"
        )


def minimum_inertias(mechanism: Mechanism, found: MinimumParameters) -> Inertias:
    """Return inertias of the links that hold nothing but the minimum parameters, regrouped."""
    t = mechanism.tables
    mass, moment, second = np.zeros(t.n_links), np.zeros((t.n_links, 3)), np.zeros((t.n_links, 6))
    for link, row in zip(t.body_link, found.full_parameters().reshape(-1, 10), strict=True):
        m, x, y, z, xx, xy, yy, xz, yz, zz = row.tolist()
        A = t.axes[link]
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        E = A.T @ (0.5 * np.trace(inertia) * np.eye(3) - inertia) @ A
        mass[link], moment[link] = m, A.T @ [x, y, z]
        second[link] = E[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    passed = regroup(Inertias(mass, moment, second), t.kind, t.parent, t.rotation, t.translation)
    size = max(float(np.abs(part).max(initial=0.0)) for part in (passed.mass, passed.moment, passed.second_moment))
    # Rounding is no parameter.
    return Inertias(
        *(np.where(np.abs(p) < _ROUNDING * size, 0.0, p) for p in (passed.mass, passed.moment, passed.second_moment))
    )


def full_state(m: Mechanism, drives: Drives, *arrays: Floats) -> list[Floats]:
    """Return coordinates and rates of all joints from those of the actuated ones: q, then v, a as given."""
    t = m.tables
    D = np.array(drives.weights).T
    q = np.zeros((*arrays[0].shape[:-1], m.nq))
    q[..., list(drives.q)] = arrays[0]
    places = drives.places(t)
    for d, form in enumerate(drives.forms):
        if form is not None:
            terms = [factor * arrays[0][..., places[k]] for k, factor in form.terms]
            q[..., int(t.q_index[t.dof_link[d]])] = sum(terms) + form.offset
    return [q, *(rates @ D.T for rates in arrays[1:])]
