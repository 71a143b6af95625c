"""Linear relations between the columns of a matrix of functions, exactly.

A column of W* holds, row by row, the coefficients of one parameter's share of the energies in fundamental functions.

| symbol | meaning |
|---|---|
| B | coefficient matrix: one row per fundamental function, one column per parameter |
| K | (independent x dependent): B_dependent = B_independent K |

    1. rank and pivot columns of B modulo p = 2^61 - 1, with random values for the symbols        (25)-(27)
    2. as many independent rows, sparse ones first, by the transposed elimination
    3. K from those rows by Gauss-Jordan elimination over the rationals or the field of fractions  (28)
    4. B_dependent = B_independent K checked for every row, exactly

A minor that is not zero modulo p is not zero: the rank is at least that of step 1. Step 4 shows it is no more. Both
together are a proof; chance only decides whether the first attempt succeeds. Source: kawasaki1995, section 3.1.
Cost: rank³ fractions in step 3, one pass over B in step 4.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from setsu.symbolic.flint_package import flint

__all__ = ["PRIME", "Relations", "pivot_columns", "rational_relations", "symbolic_relations"]

PRIME = 2**61 - 1

Row = dict[int, Any]


class Relations:
    """Independent and dependent columns, and K by (independent, dependent); entries that are zero are left out."""

    def __init__(self, independent: list[int], dependent: list[int], factors: dict[tuple[int, int], Any]) -> None:
        self.independent, self.dependent, self.factors = independent, dependent, factors


def pivot_columns(rows: Sequence[Sequence[int]], n_columns: int, order: Sequence[int], prime: int = PRIME) -> list[int]:
    """Return the columns that are independent of those before them in `order`, modulo a prime."""
    nmod_mat = flint().nmod_mat

    if not rows:
        return []
    matrix = nmod_mat(len(rows), n_columns, [row[column] for row in rows for column in order], prime)
    reduced, rank = matrix.rref()
    pivots, row = [], 0
    for place in range(n_columns):
        if row < rank and int(reduced[row, place]) != 0:
            pivots.append(order[place])
            row += 1
    return pivots


def _independent_rows(rows: Sequence[Sequence[int]], columns: Sequence[int], prime: int) -> list[int]:
    transposed = [[row[column] for row in rows] for column in columns]
    return pivot_columns(transposed, len(rows), range(len(rows)), prime)


def rational_relations(rows: list[Row], n_columns: int, order: Sequence[int]) -> Relations:
    """Return the relations of a matrix of rationals (sparse rows of flint `fmpq`), proved on every row."""
    fmpq_mat = flint().fmpq_mat

    rows = sorted(rows, key=len)
    residues = [_residue_row(row, n_columns) for row in rows]
    independent = pivot_columns(residues, n_columns, order)
    dependent = [column for column in order if column not in set(independent)]
    chosen = [rows[k] for k in _independent_rows(residues, independent, PRIME)]
    r = len(independent)
    if r == 0 or not dependent:
        return Relations(independent, dependent, {})
    left = fmpq_mat(r, r, [row.get(column, 0) for row in chosen for column in independent])
    right = fmpq_mat(r, len(dependent), [row.get(column, 0) for row in chosen for column in dependent])
    K = left.solve(right)
    factors = {(independent[i], dependent[j]): K[i, j] for i in range(r) for j in range(len(dependent)) if K[i, j] != 0}
    _verify(rows, dependent, factors, lambda total: total == 0)
    return Relations(independent, dependent, factors)


def _residue_row(row: Row, n_columns: int) -> list[int]:
    result = [0] * n_columns
    for column, value in row.items():
        result[column] = int(value.p) * pow(int(value.q), -1, PRIME) % PRIME
    return result


def _verify(rows: list[Row], dependent: list[int], factors: dict[tuple[int, int], Any], is_zero: Any) -> None:
    by_dependent: dict[int, list[tuple[int, Any]]] = {column: [] for column in dependent}
    for (i, j), value in factors.items():
        by_dependent[j].append((i, value))
    for row in rows:
        for column in dependent:
            total = row.get(column, 0)
            for i, value in by_dependent[column]:
                if i in row:
                    total = total - row[i] * value
            if not is_zero(total):
                raise ArithmeticError("a relation found modulo a prime does not hold exactly")


def symbolic_relations(rows: list[Row], n_columns: int, order: Sequence[int], seed: int = 0) -> Relations:
    """Return the relations of a matrix of polynomials in symbols (flint `fmpq_mpoly`), proved on every row.

    Factors are pairs (numerator, denominator) without a common divisor.
    """
    rows = sorted(rows, key=lambda row: (sum(len(value) for value in row.values()), len(row)))
    generator = random.Random(seed)
    sample = next(iter(rows[0].values())).context() if rows else None
    if sample is None:
        return Relations([], list(order), {})
    point = [generator.randrange(1, PRIME) for _ in range(sample.nvars())]
    residues = [[_residue(row[column], point) if column in row else 0 for column in range(n_columns)] for row in rows]
    independent = pivot_columns(residues, n_columns, order)
    dependent = [column for column in order if column not in set(independent)]
    chosen = [rows[k] for k in _independent_rows(residues, independent, PRIME)]
    one = sample.constant(1)
    factors = _gauss_jordan([dict(row) for row in chosen], independent, dependent, one)
    _verify_fractions(rows, dependent, factors)
    return Relations(independent, dependent, factors)


def _residue(polynomial: Any, point: list[int]) -> int:
    total = 0
    for exponents, coefficient in polynomial.to_dict().items():
        term = int(coefficient.p) * pow(int(coefficient.q), -1, PRIME) % PRIME
        for base, exponent in zip(point, exponents, strict=True):
            if exponent:
                term = term * pow(base, int(exponent), PRIME) % PRIME
        total += term
    return total % PRIME


Fractional = tuple[Any, Any]


def _reduced(numerator: Any, denominator: Any) -> Fractional:
    divisor = numerator.gcd(denominator)
    if not divisor.is_constant():
        numerator, denominator = divmod(numerator, divisor)[0], divmod(denominator, divisor)[0]
    leading = denominator.leading_coefficient()
    return numerator / leading, denominator / leading


def _gauss_jordan(
    rows: list[Row], independent: list[int], dependent: list[int], one: Any
) -> dict[tuple[int, int], Fractional]:
    """Solve for K by elimination on sparse rows of fractions; pivots in rows of few and short entries."""
    work: list[dict[int, Fractional]] = [
        {column: (value, one) for column, value in row.items() if not value.is_zero()} for row in rows
    ]
    wanted = set(independent)
    solved: dict[int, dict[int, Fractional]] = {}
    while work:
        best = min(
            ((row, column) for row in work for column in row if column in wanted),
            key=lambda place: (len(place[0][place[1]][0]) + len(place[0][place[1]][1]), len(place[0])),
        )
        row, pivot = best
        work = [other for other in work if other is not row]
        numerator, denominator = row.pop(pivot)
        row = {column: _reduced(n * denominator, d * numerator) for column, (n, d) in row.items()}
        for other in (*work, *solved.values()):
            if pivot in other:
                factor = other.pop(pivot)
                for column, (n, d) in row.items():
                    old_n, old_d = other.get(column, (one - one, one))
                    new = old_n * d * factor[1] - n * factor[0] * old_d
                    if new.is_zero():
                        other.pop(column, None)
                    else:
                        other[column] = _reduced(new, old_d * d * factor[1])
        solved[pivot] = row
    return {(i, j): row[j] for i, row in solved.items() for j in dependent if j in row}


def _verify_fractions(rows: list[Row], dependent: list[int], factors: dict[tuple[int, int], Fractional]) -> None:
    by_dependent: dict[int, list[tuple[int, Fractional]]] = {column: [] for column in dependent}
    for (i, j), value in factors.items():
        by_dependent[j].append((i, value))
    for row in rows:
        for column in dependent:
            numerator, denominator = row.get(column, 0), 1
            for i, (n, d) in by_dependent[column]:
                if i in row:
                    numerator, denominator = numerator * d - row[i] * n * denominator, denominator * d
            if numerator != 0:
                raise ArithmeticError("a relation found modulo a prime does not hold exactly")


def as_fraction(value: Any) -> Fraction:
    """Return a flint rational as a Python fraction."""
    return Fraction(int(value.p), int(value.q))
