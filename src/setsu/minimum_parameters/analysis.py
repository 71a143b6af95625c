"""Minimum dynamic parameters of any mechanism: exact where geometry allows, with a numeric twin.

    1. cut the loops: the tree's parameters θ, ten per body                              kawasaki1995, section 2
    2. independent motions of the assembly branch: q_o(q), J                             (4), (9)
    3. energies of every parameter in fundamental functions: the columns of W*           (14), (15)
    4. relations between the columns, later ones expressed by earlier ones               (18)-(28), Table 1
    5. regroup: σ_j = θ_j + Σ k_j,d θ_d over the dependent d                             (30)-(34)

The columns are walked in an order that keeps what a joint cannot pass on to its parent (MSx, MSy, Ixx, Ixy, Ixz, Iyz,
Izz for an axis along z), so that the printed lists come out. Loops whose closure is linear in the angles
(parallelograms, couplings) are proved as identities of functions; others are sampled on the solutions of the closure
modulo primes, or in extended precision where these have no closed form. A rank is returned only when two methods agree
or a gap of many digits shows it, and when torques come out to rounding; else the reason is raised.
Source: kawasaki1995.
Cost: below a second of one core for example 3 of the paper and for a seven-joint arm.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints.system import constraint_system
from setsu.errors import InputError, ModelWarning
from setsu.mechanism import Mechanism
from setsu.mechanism.native_text import named_symbols
from setsu.minimum_parameters.assembly_branch import (
    free_velocities,
    independent_velocities,
    linear_closure,
    reference_configuration,
)
from setsu.minimum_parameters.coordinates import LinearClosure
from setsu.minimum_parameters.energy_rows import polynomial_rows, residue_rows
from setsu.minimum_parameters.exact_geometry import rational
from setsu.minimum_parameters.extended_relations import ExtendedRank, extended_relations
from setsu.minimum_parameters.field_relations import PRIMES, SPARE, field_relations, relations_from_residues
from setsu.minimum_parameters.linear_relations import (
    Relations,
    as_fraction,
    pivot_columns,
    rational_relations,
    symbolic_relations,
)
from setsu.minimum_parameters.named_loops import named_factors
from setsu.minimum_parameters.numeric_relations import (
    ClosedRegressor,
    closed_regressor,
    numeric_rank,
    numeric_relations,
    refine,
)
from setsu.minimum_parameters.parameter_names import combination, factor_text, parameter_names
from setsu.minimum_parameters.passing_on import passed_on
from setsu.minimum_parameters.record import MinimumParameters
from setsu.minimum_parameters.rounded_angles import warn_of_rounded_angles
from setsu.symbolic.trigonometric_polynomials import TooManyTermsError

__all__ = ["analyse"]

Floats = NDArray[np.float64]

_LIMIT = 60_000
"""Terms of a polynomial beyond which the mechanism is taken joint by joint."""

_LONGEST_PATH = 10
"""Velocities along a path from which on these polynomials are too long for certain: they are not tried."""

_LARGEST_EXTENDED = 20
"""Bodies up to which the proof is compared with the rank of the values in extended precision, if floats do not tell."""

_SEED = 1995

_ROUNDING = 2e3
"""Rounding errors of a torque allowed before a result is refused, in units of the last place of its largest sum."""


def analyse(
    mechanism: Mechanism, exact: bool, q: ArrayLike | None, order: list[int], function: str
) -> MinimumParameters:
    """Return the minimum parameters with columns walked in a given order; `function` stands in error messages."""
    reference = reference_configuration(mechanism, q, function)
    W = closed_regressor(mechanism, reference, _SEED)
    if exact:
        warn_of_rounded_angles(mechanism)
        found = _exact(mechanism, reference, W, order)
    else:
        found = _numeric(mechanism, reference, W, order)
    error, allowed = _torque_error(found, W)
    if not error <= allowed:
        raise InputError(
            f'minimum_parameters of "{found.mechanism.name}": {found.count} parameters by the method '
            f'"{found.method}" change torques by {error:.1e} of the largest, more than rounding explains '
            f"({allowed:.1e}); the loops come too near a singular position or close only nearly: give another q, or "
            "the geometry with more digits"
        )
    return found


def _exact(mechanism: Mechanism, reference: Floats, W: ClosedRegressor, order: list[int]) -> MinimumParameters:
    closure = linear_closure(mechanism, reference, _LIMIT)
    if closure is not None:
        relations, symbols, method = _exact_relations(mechanism, closure, order, W)
        K = refine(W, relations.independent, relations.dependent, _floats(mechanism, relations, symbols))
        decided = numeric_rank(W)
        if decided is not None:
            _compare(mechanism, decided[0], len(relations.independent))
        elif mechanism.n_bodies <= _LARGEST_EXTENDED:
            values = len(_extended(mechanism, reference, order).relations.independent)
            _compare(mechanism, values, len(relations.independent))
        return _record(mechanism, reference, relations, symbols, K, method)
    decided, extended = numeric_rank(W), None
    if decided is None:
        extended = _extended(mechanism, reference, order)
    wanted = decided[0] if extended is None and decided else len(_given(extended).relations.independent)
    found = field_relations(mechanism, reference, W, order, _LIMIT, wanted)
    if found is not None:
        K = refine(W, found.independent, found.dependent, _floats(mechanism, found, ()))
        dofs = independent_velocities(free_velocities(constraint_system(mechanism), reference)[0])
        named = named_factors(mechanism, dofs, found)
        if named is None:
            _warn_of_special_values(mechanism)
        relations, symbols = named or (found, ())
        return _record(mechanism, reference, relations, symbols, K, "field")
    # No second method has agreed with a rank in floating point: extended precision decides.
    extended = extended or _extended(mechanism, reference, order)
    return _record(mechanism, reference, extended.relations, (), extended.K, "extended")


def _given(found: ExtendedRank | None) -> ExtendedRank:
    assert found is not None
    return found


def _extended(mechanism: Mechanism, reference: Floats, order: list[int]) -> ExtendedRank:
    """Relations in extended precision; the tree's rank bounds the number of states."""
    most = 10 * mechanism.n_bodies
    if mechanism.loops or mechanism.couplings:
        tree = dataclasses.replace(mechanism, loops=(), couplings=())
        decided = numeric_rank(closed_regressor(tree, tree.neutral(), _SEED))
        most = decided[0] if decided else most
    return extended_relations(mechanism, reference, order, most)


def _numeric(mechanism: Mechanism, reference: Floats, W: ClosedRegressor, order: list[int]) -> MinimumParameters:
    decided = numeric_rank(W)
    if decided is None:
        found = _extended(mechanism, reference, order)
        return _record(mechanism, reference, found.relations, (), found.K, "extended")
    rank = decided[0]
    independent, K = numeric_relations(W, order, rank)
    if len(independent) == rank:
        chosen = set(independent)
        dependent = [column for column in order if column not in chosen]
        factors: dict[tuple[int, int], Any] = {
            (i, j): float(K[a, b]) for a, i in enumerate(independent) for b, j in enumerate(dependent) if K[a, b] != 0.0
        }
        result = _record(mechanism, reference, Relations(independent, dependent, factors), (), K, "numeric")
        error, allowed = _torque_error(result, W)
        if error <= allowed or mechanism.n_bodies > _LARGEST_EXTENDED:
            return result
    # Columns that hang together by a small pivot only: K needs more digits than floating point has.
    found = _extended(mechanism, reference, order)
    return _record(mechanism, reference, found.relations, (), found.K, "extended")


def _torque_error(found: MinimumParameters, W: ClosedRegressor) -> tuple[float, float]:
    """Return the relative change of torques by the minimum parameters, and what rounding can explain."""
    # A torque is a sum of as many products as the largest row of the matrix, in units, has weight.
    weight = float((np.abs(found.matrix) * W.units[found.independent][:, None] / W.units).sum(axis=1).max(initial=1.0))
    return found.torque_error(), _ROUNDING * float(np.finfo(np.float64).eps) * weight


def _compare(mechanism: Mechanism, numeric: int, exact: int) -> None:
    """Warn when values of the geometry make fewer parameters than names or generic angles do."""
    if numeric != exact:
        named = "names" if named_symbols(mechanism) else "angles that are no right angles, taken as generic"
        warnings.warn(
            f'minimum parameters of "{mechanism.name}": {exact} in exact algebra ({named}), {numeric} by the numeric '
            "rank of its values: they have a special relation; exact=False gives the latter",
            ModelWarning,
            stacklevel=5,
        )


def _warn_of_special_values(mechanism: Mechanism) -> None:
    warnings.warn(
        f'minimum parameters of "{mechanism.name}": the values of its named lengths have a special relation on this '
        "assembly branch, or several branches meet for others: factors are numbers, not names",
        ModelWarning,
        stacklevel=5,
    )


def _exact_relations(
    mechanism: Mechanism, closure: LinearClosure, order: list[int], W: ClosedRegressor
) -> tuple[Relations, tuple[str, ...], str]:
    n = 10 * mechanism.n_bodies
    if _longest_path(mechanism) > _LONGEST_PATH:
        return _large(mechanism, closure, order, W)
    try:
        B = polynomial_rows(mechanism, closure, _LIMIT)
    except TooManyTermsError:
        return _large(mechanism, closure, order, W)
    if not B.symbols:
        return _as_fractions(rational_relations(B.rows, n, order)), (), "identity"
    return symbolic_relations(B.rows, n, order, _SEED), B.symbols, "identity"


def _longest_path(mechanism: Mechanism) -> int:
    """Most velocities between the world and a body."""
    depth = [0] * mechanism.n_bodies
    for body, declared in enumerate(mechanism.moving):
        parent = mechanism.frame(declared.parent).body
        depth[body] = declared.joint.nv + (depth[parent] if parent >= 0 else 0)
    return max(depth, default=0)


def _large(
    mechanism: Mechanism, closure: LinearClosure, order: list[int], W: ClosedRegressor
) -> tuple[Relations, tuple[str, ...], str]:
    """Return the relations of a mechanism whose polynomials are too long: joint by joint, the rest at points.

    When the columns that joints cannot pass on are independent modulo a prime, the relations of the joints are all.
    """
    expressions = passed_on(mechanism, order)
    kept = [column for column in order if expressions[column] == {column: 1}]
    count = len(kept) + SPARE

    def rows(number: int) -> list[list[int]]:
        return residue_rows(mechanism, closure, count, PRIMES[number], _SEED + number)

    first = rows(0)
    independent = pivot_columns(first, len(order), [*kept, *(c for c in order if expressions[c] != {c: 1})], PRIMES[0])
    dependent = [column for column in order if column not in set(independent)]
    if set(independent) == set(kept):
        factors: dict[tuple[int, int], Any] = {(i, j): k for j in dependent for i, k in expressions[j].items()}
        return Relations(independent, dependent, factors), (), "identity"
    found = relations_from_residues(lambda number: first if number == 0 else rows(number), independent, order, W)
    return found, (), "points"


def _as_fractions(relations: Relations) -> Relations:
    factors = {place: as_fraction(value) for place, value in relations.factors.items()}
    return Relations(relations.independent, relations.dependent, factors)


def _floats(mechanism: Mechanism, relations: Relations, symbols: tuple[str, ...]) -> Floats:
    """Return K as numbers, symbols at their values."""
    values = named_symbols(mechanism)
    point = [
        rational(values[name]) if name in values else Fraction(math.tan(values[name[4:-3]] / 2)) for name in symbols
    ]
    rows = {column: place for place, column in enumerate(relations.independent)}
    columns = {column: place for place, column in enumerate(relations.dependent)}
    K = np.zeros((len(rows), len(columns)))
    for (i, j), value in relations.factors.items():
        number = _at(value[0], point) / _at(value[1], point) if isinstance(value, tuple) else value
        K[rows[i], columns[j]] = float(number)
    return K


def _at(polynomial: Any, point: list[Fraction]) -> Fraction:
    total = Fraction(0)
    for exponents, coefficient in polynomial.to_dict().items():
        term = as_fraction(coefficient)
        for base, exponent in zip(point, exponents, strict=True):
            term *= base ** int(exponent)
        total += term
    return total


def _record(
    mechanism: Mechanism,
    reference: Floats,
    relations: Relations,
    symbols: tuple[str, ...],
    K: Floats,
    method: str,
) -> MinimumParameters:
    names = parameter_names(mechanism)
    texts = {place: factor_text(value, symbols) for place, value in relations.factors.items()}
    # The list reads body by body, each in the order its parameters are kept.
    order = sorted(range(len(relations.independent)), key=lambda k: relations.independent[k] // 10)
    matrix = np.zeros((len(order), len(names)))
    combinations, terms = [], []
    for row, k in enumerate(order):
        i = relations.independent[k]
        others = _others(relations, texts, names, i)
        combinations.append(combination(names[i], others))
        terms.append((("+", names[i]), *others))
        matrix[row, i] = 1.0
        matrix[row, relations.dependent] = K[k]
    matrix.flags.writeable = False
    independent = np.array([relations.independent[k] for k in order], dtype=np.int64)
    independent.flags.writeable = False
    return MinimumParameters(
        mechanism, tuple(combinations), matrix, independent, method, tuple(terms), np.asarray(reference)
    )


def _others(
    relations: Relations, texts: Mapping[tuple[int, int], str], names: tuple[str, ...], i: int
) -> list[tuple[str, str]]:
    return [(texts[i, j], names[j]) for j in sorted(relations.dependent) if (i, j) in texts]
