"""Joint torques as a linear function of what shall be identified: inertias, drive inertia, friction, offset.

| symbol | meaning |
|---|---|
| π | all parameters (P,): 10 per body as in `regressor`, then per velocity Ia, fv, fc, t0 as far as asked for |
| Y(q, v, a) | (nv, P) torques per parameter: regressor, diag(a), diag(v), diag(sign v), 1 |
| B | columns of Y that are linearly independent as functions of the motion, count of them b |
| K | (b, P): the base parameters β = K π are all that torques can tell |

    tau = Y π + known = Y[:, B] K π + known                                   (1)

`known` is what the mechanism says about everything else: springs, and friction that is not asked for. The inertial part
of B and K comes from `minimum_parameters`; each further column is kept if it is no combination of those before it, else
its combination goes into K (the drive inertia of a first joint with a vertical axis joins Izz of its link).    (2)

With loops and couplings, J = ∂v/∂v_free takes the place of the unit matrix: Jᵀ tau = Jᵀ Y π, the constraint forces do
no work and drop out (kawasaki1995, W* = JᵀW_o).                                                          (3)

Cost O(samples · nv · P). Refuses mechanisms without a moving joint and bearings whose friction depends on load.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.states import coordinate_names
from setsu.dynamics import inertial_parameters, inverse_dynamics, regressor
from setsu.dynamics.bearings import refuse_bearings
from setsu.errors import InputError, nearest_names
from setsu.identification.freedom import Freedom, freedom_of
from setsu.mechanism import Free, Mechanism
from setsu.minimum_parameters import MinimumParameters, minimum_parameters
from setsu.minimum_parameters.parameter_names import parameter_names

__all__ = ["TorqueModel", "torque_model"]

Floats = NDArray[np.float64]

FRICTION_TERMS = ("viscous", "coulomb", "offset", "stribeck")
_SYMBOLS = {"drive": "Ia", "viscous": "fv", "coulomb": "fc", "offset": "t0"}
# A column whose part outside the others is below this share of its length is a combination of them.
_DEPENDENT = 1e-9
_STATES_PER_COLUMN = 3


@dataclass(frozen=True)
class TorqueModel:
    """Which parameters there are, which combinations count, and their columns for a motion.

    names: of the base parameters (b,). full_names, prior: of all parameters (P,), and the mechanism's values.
    independent: (b,) their columns in the full regressor. matrix: K (b, P). rows: names of the torque rows.
    """

    mechanism: Mechanism
    freedom: Freedom
    terms: tuple[str, ...]
    names: tuple[str, ...]
    full_names: tuple[str, ...]
    prior: Floats
    independent: NDArray[np.intp]
    matrix: Floats

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the torque rows: joints, or the independent ones of a closed mechanism."""
        return self.freedom.names

    @property
    def labels(self) -> tuple[str, ...]:
        """The names cut short behind their first term, which stands for the combination."""
        return tuple(re.sub(r" [-+] .*", " + …", name) for name in self.names)

    @property
    def n_inertial(self) -> int:
        """Number of inertial parameters, 10 per body."""
        return 10 * self.mechanism.n_bodies

    @cached_property
    def base_prior(self) -> Floats:
        """Base parameters of the mechanism as it is, (b,)."""
        return self.matrix @ self.prior

    def columns_of(self, term: str) -> slice:
        """Where a term ("drive", "viscous", "coulomb", "offset") stands among all parameters."""
        start = self.n_inertial + self.mechanism.nv * self.terms.index(term)
        return slice(start, start + self.mechanism.nv)

    def full_regressor(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """Return Y (T, rows, P)."""
        Y = _full_regressor(self.mechanism, self.terms, q, v, a)
        return self.freedom.reduce_rows(q, Y)

    def regressor(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """Return Y[:, B] (T, rows, b)."""
        return self.full_regressor(q, v, a)[..., self.independent]

    def known_torque(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """Return what the mechanism says about everything that is not identified, (T, rows)."""
        total = self.freedom.reduce_torque(q, inverse_dynamics(self.mechanism, q, v, a))
        return total - self.full_regressor(q, v, a) @ self.prior


def torque_model(mechanism: Mechanism, friction: str, drive_inertia: bool, q: Floats | None = None) -> TorqueModel:
    """Choose the terms and find the base parameters (2).

    q: (nq,) a configuration that tells which way the loops are assembled.
    """
    if mechanism.loops or mechanism.couplings:
        return _torque_model(mechanism, friction, drive_inertia, q)
    return _tree_model(_Same(mechanism), friction, drive_inertia)


class _Same:
    """A mechanism as a key that only itself is equal to: equal ones may differ in named lengths, which models carry."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism

    def __hash__(self) -> int:
        return id(self.mechanism)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.mechanism is self.mechanism


@lru_cache(maxsize=8)
def _tree_model(same: _Same, friction: str, drive_inertia: bool) -> TorqueModel:
    """Kept for a few mechanisms: planning a motion, identifying and validating ask for the same model."""
    return _torque_model(same.mechanism, friction, drive_inertia, None)


def _torque_model(mechanism: Mechanism, friction: str, drive_inertia: bool, q: Floats | None) -> TorqueModel:
    if mechanism.nv == 0:
        raise InputError(f"identify: {mechanism.name} has no moving joint")
    # Friction by load is no linear function of the parameters.
    refuse_bearings(mechanism, "identify")
    words = friction_terms(friction)
    terms = (*(("drive",) if drive_inertia else ()), *(word for word in words if word != "stribeck"))
    names = list(parameter_names(mechanism))
    names += [f"{_SYMBOLS[term]}_{joint}" for term in terms for joint in coordinate_names(mechanism)]
    friction_values = {"drive": mechanism.armature, "viscous": mechanism.damping, "coulomb": mechanism.coulomb}
    prior = [inertial_parameters(mechanism)]
    prior += [friction_values.get(term, np.zeros(mechanism.nv)) * driven(mechanism) for term in terms]
    freedom = freedom_of(mechanism)
    base = minimum_parameters(mechanism, exact=False, q=freedom.closed_near(q))
    independent, K, base_names = _with_terms(mechanism, freedom, terms, names, base)
    return TorqueModel(
        mechanism, freedom, terms, base_names, tuple(names), np.concatenate(prior), independent, K
    )  # fmt: skip


def friction_terms(friction: str) -> tuple[str, ...]:
    """Take apart a text such as "coulomb+viscous"."""
    if not isinstance(friction, str):
        raise InputError(f'identify: friction: expected text such as "coulomb+viscous" or "none", got {friction!r}')
    words = [word.strip() for word in friction.split("+")]
    if words in (["none"], [""]):
        return ()
    for word in words:
        if word not in FRICTION_TERMS:
            raise InputError(f"identify: friction: unknown term {word!r}{nearest_names(word, FRICTION_TERMS)}")
    if "stribeck" in words and "coulomb" not in words:
        raise InputError('identify: friction: "stribeck" is a part of dry friction: expected "coulomb" beside it')
    return tuple(term for term in FRICTION_TERMS if term in words)


def _full_regressor(m: Mechanism, terms: tuple[str, ...], q: Floats, v: Floats, a: Floats) -> Floats:
    parts = {"drive": a, "viscous": v, "coulomb": np.sign(v), "offset": np.ones_like(v)}
    diagonal = np.diag(driven(m))
    return np.concatenate([regressor(m, q, v, a), *(parts[term][..., None] * diagonal for term in terms)], axis=-1)


def driven(m: Mechanism) -> Floats:
    """Return one for velocities that a drive or bearing acts on, zero for those of free bodies, (nv,)."""
    result = np.ones(m.nv)
    for body, where in zip(m.moving, m.v_slices, strict=True):
        if isinstance(body.joint, Free):
            result[where] = 0.0
    return result


def _with_terms(
    m: Mechanism, freedom: Freedom, terms: tuple[str, ...], names: list[str], base: MinimumParameters
) -> tuple[NDArray[np.intp], Floats, tuple[str, ...]]:
    """Add the columns of the terms to the inertial base parameters (2)."""
    rng = np.random.default_rng(0)
    count = len(names)
    samples = _STATES_PER_COLUMN * count // len(freedom.names) + 8
    q, v, a = freedom.random_motion(rng, samples, base.reference)
    Y = freedom.reduce_rows(q, _full_regressor(m, terms, q, v, a)).reshape(-1, count)
    independent = [int(k) for k in base.independent]
    basis = np.linalg.qr(Y[:, independent])[0].T
    dependent: list[int] = []
    for column in range(10 * m.n_bodies, count):
        y = Y[:, column]
        for _ in range(2):
            y = y - basis.T @ (basis @ y)
        length = np.linalg.norm(y)
        if length > _DEPENDENT * np.linalg.norm(Y[:, column]):
            independent.append(column)
            basis = np.vstack([basis, y / length])
        else:
            dependent.append(column)
    K = np.zeros((len(independent), count))
    K[: len(base.independent), : 10 * m.n_bodies] = base.matrix
    K[range(len(base.independent), len(independent)), independent[len(base.independent) :]] = 1.0
    texts = [*base.names, *(names[column] for column in independent[len(base.independent) :])]
    shares = np.linalg.lstsq(Y[:, independent], Y[:, dependent], rcond=None)[0].T
    for column, share in zip(dependent, shares, strict=True):
        share[np.abs(share) < _DEPENDENT * np.abs(share).max(initial=0.0)] = 0.0
        K[:, column] = share
        for k in np.flatnonzero(share):
            texts[k] += f" {'-' if share[k] < 0 else '+'} {_factor(abs(share[k]))}{names[column]}"
    return np.array(independent), K, tuple(texts)


def _factor(value: float) -> str:
    return "" if abs(value - 1.0) < 1e-12 else f"{value:.6g}*"
