"""Minimum dynamic parameters of any mechanism: exact where geometry allows, with a numeric twin.

    1. cut the loops: the tree's parameters θ, ten per body                              kawasaki1995, section 2
    2. independent motions of the assembly branch: q_o(q), J                             (4), (9)
    3. energies of every parameter in fundamental functions: the columns of W*           (14), (15)
    4. relations between the columns, later ones expressed by earlier ones               (18)-(28), Table 1
    5. regroup: σ_j = θ_j + Σ k_j,d θ_d over the dependent d                             (30)-(34)

The columns are walked in an order that keeps what a joint cannot pass on to its parent (MSx, MSy, Ixx, Ixy, Ixz, Iyz,
Izz for an axis along z), so that the printed lists come out. Loops whose closure is linear in the angles
(parallelograms, couplings) are proved as identities of functions; others are sampled on the solutions of the closure
modulo primes, or in floating point where that has no solution in closed form. Source: kawasaki1995.
Cost: below a second of one core for example 3 of the paper and for a seven-joint arm.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import ModelWarning
from setsu.mechanism import Mechanism
from setsu.mechanism.native_text import named_symbols
from setsu.minimum_parameters.assembly_branch import linear_closure, reference_configuration
from setsu.minimum_parameters.coordinates import LinearClosure
from setsu.minimum_parameters.energy_rows import polynomial_rows, residue_rows
from setsu.minimum_parameters.exact_geometry import rational
from setsu.minimum_parameters.field_relations import PRIMES, SPARE, field_relations, relations_from_residues
from setsu.minimum_parameters.linear_relations import (
    Relations,
    as_fraction,
    pivot_columns,
    rational_relations,
    symbolic_relations,
)
from setsu.minimum_parameters.numeric_relations import closed_regressor, numeric_relations, refine
from setsu.minimum_parameters.parameter_names import combination, factor_text, parameter_names
from setsu.minimum_parameters.passing_on import passed_on
from setsu.minimum_parameters.record import MinimumParameters
from setsu.symbolic.trigonometric_polynomials import TooManyTermsError

__all__ = ["analyse"]

Floats = NDArray[np.float64]

_LIMIT = 60_000
"""Terms of a polynomial beyond which the mechanism is taken joint by joint."""

_SEED = 1995


def analyse(
    mechanism: Mechanism, exact: bool, q: ArrayLike | None, order: list[int], function: str
) -> MinimumParameters:
    """Return the minimum parameters with columns walked in a given order; `function` stands in error messages."""
    reference = reference_configuration(mechanism, q, function)
    W = closed_regressor(mechanism, reference, _points(mechanism), _SEED)
    if not exact:
        return _record(mechanism, reference, *_numeric(W, order), "numeric")
    closure = linear_closure(mechanism, reference, _LIMIT)
    if closure is None:
        found = field_relations(mechanism, reference, W, order, _LIMIT)
        if found is None:
            return _record(mechanism, reference, *_numeric(W, order), "numeric")
        K = refine(W, found.independent, found.dependent, _floats(mechanism, found, ()))
        return _record(mechanism, reference, found, (), K, "field")
    relations, symbols, method = _exact_relations(mechanism, closure, order, W)
    K = refine(W, relations.independent, relations.dependent, _floats(mechanism, relations, symbols))
    _compare(mechanism, len(numeric_relations(W, order)[0]), len(relations.independent))
    return _record(mechanism, reference, relations, symbols, K, method)


def _numeric(W: Floats, order: list[int]) -> tuple[Relations, tuple[str, ...], Floats]:
    independent, dependent, K = numeric_relations(W, order)
    factors: dict[tuple[int, int], Any] = {
        (i, j): float(K[a, b]) for a, i in enumerate(independent) for b, j in enumerate(dependent) if K[a, b] != 0.0
    }
    return Relations(independent, dependent, factors), (), K


def _compare(mechanism: Mechanism, numeric: int, exact: int) -> None:
    """Tell when values of the geometry make fewer parameters than names or generic angles do."""
    if numeric != exact:
        named = "names" if named_symbols(mechanism) else "angles that are no right angles, taken as generic"
        warnings.warn(
            f'minimum parameters of "{mechanism.name}": {exact} in exact algebra ({named}), {numeric} by the numeric '
            "rank of its values: they have a special relation; exact=False gives the latter",
            ModelWarning,
            stacklevel=3,
        )


def _points(mechanism: Mechanism) -> int:
    """Enough random points for a full set of rows, with some to spare."""
    return 10 * mechanism.n_bodies // max(1, 2 * min(mechanism.nv, 2)) + 10


def _exact_relations(
    mechanism: Mechanism, closure: LinearClosure, order: list[int], W: Floats
) -> tuple[Relations, tuple[str, ...], str]:
    n = 10 * mechanism.n_bodies
    try:
        B = polynomial_rows(mechanism, closure, _LIMIT)
    except TooManyTermsError:
        return _large(mechanism, closure, order, W)
    if not B.symbols:
        return _as_fractions(rational_relations(B.rows, n, order)), (), "identity"
    return symbolic_relations(B.rows, n, order, _SEED), B.symbols, "identity"


def _large(
    mechanism: Mechanism, closure: LinearClosure, order: list[int], W: Floats
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
    found = relations_from_residues(lambda number: first if number == 0 else rows(number), independent, dependent, W)
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
