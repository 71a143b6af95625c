"""Linear relations of the energies' rows at real closed states in a thousand bits, with a gap test.

    1. W at well-spread states of the branch, in balls of a thousand bits (`extended_points`)
    2. elimination with complete pivots: |p1| >= |p2| >= ... fall as singular values do
    3. rank: the pivots above the gap. Where the closure is exact, what lies below are balls around zero of radius
       1e-200; where redundant closure rows hold to η only, everything below must be of that size, everything above
       well beyond it. No such gap: refused, with the numbers
    4. columns in the order of preference, exchanged for better ones while an entry of K, in units, exceeds 100: torques
       from the minimum parameters then lose no digits
    5. K by solving in balls; its entries as fractions where they are short, as decimals otherwise

Step 3 is a proof that the rank is at least what is returned, up to the closure's own error: a ball that does not hold
zero is not zero. That it is no more rests on more states than columns left.
Cost: about one second for a spatial loop of six bodies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.minimum_parameters.assembly_branch import branch_points
from setsu.minimum_parameters.extended_points import ExtendedSampler, UnsolvedPointError
from setsu.minimum_parameters.linear_relations import Relations
from setsu.symbolic.extended_numbers import precision
from setsu.symbolic.flint_package import flint

__all__ = ["ExtendedRank", "extended_relations"]

Floats = NDArray[np.float64]

BITS = 1000
_GAP = 1e3
"""Ratio of the last pivot kept and the first one left that makes a gap."""

_LARGEST_FACTOR = 100.0
_SHORT = 10**12
"""Denominators up to this are read as fractions when thirty more digits agree."""


@dataclass(frozen=True)
class ExtendedRank:
    """Relations, K, and what the rank rests on: last pivot kept, largest entry left, error of redundant rows."""

    relations: Relations
    K: Floats
    kept: float
    left: float
    noise: float


def extended_relations(mechanism: Mechanism, reference: Floats, order: Sequence[int], most: int) -> ExtendedRank:
    """Return the relations of the columns on the reference's branch.

    order: columns by preference. most: a bound of the rank, such as that of the tree; one more state than this is used.

    Raises:
        InputError: no gap, or states that cannot be computed.
    """
    with precision(BITS):
        try:
            sampler = ExtendedSampler(mechanism, reference)
            rows = sampler.rows(branch_points(mechanism, reference, most + 4, seed=7), seed=11)
        except (UnsolvedPointError, ZeroDivisionError) as error:
            raise InputError(f'minimum_parameters of "{mechanism.name}": {error}; give another q') from None
        W = np.array(rows, dtype=object)
        pivots = _complete_pivots(W, _floor(sampler.noise))
        rank = _rank(mechanism, pivots, sampler.noise)
        used = [row for row, _, _ in pivots[:rank]]
        W = W[used]
        units = np.array(sampler.column_units)
        independent, K = _independent_columns(W, list(order), [column for _, column, _ in pivots[:rank]], units)
        dependent = [column for column in order if column not in set(independent)]
        exact = sampler.noise < 1e-100
        factors: dict[tuple[int, int], Any] = {}
        numbers = np.zeros((rank, len(dependent)))
        for a, i in enumerate(independent):
            for b, j in enumerate(dependent):
                value = K[a, b] * float(units[j]) / float(units[i])
                # A factor below the closure's own error is none.
                if abs(K[a, b]).abs_lower() <= max(1e3 * sampler.noise, 1e-60):
                    continue
                factors[i, j] = _factor(value) if exact else float(value.mid())
                numbers[a, b] = float(value.mid())
        kept = pivots[rank - 1][2] if rank else math.inf
        left = pivots[rank][2] if rank < len(pivots) else 0.0
    return ExtendedRank(Relations(independent, dependent, factors), numbers, kept, left, sampler.noise)


def _floor(noise: float) -> float:
    return max(noise * 1e-3, 1e-200)


def _complete_pivots(W: NDArray[np.object_], floor: float) -> list[tuple[int, int, float]]:
    """Return (row, column, size) of pivots, largest first, down to the floor or to balls that hold zero."""
    A = W.copy()
    sizes = np.array([[_size(entry) for entry in row] for row in A])
    result: list[tuple[int, int, float]] = []
    for _ in range(min(A.shape)):
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(sizes)), sizes.shape))
        size = float(sizes[i, j])
        if size <= floor or A[i, j].contains(0):
            if size > 0:
                result.append((i, j, size))
            break
        result.append((i, j, size))
        pivot = A[i] / A[i, j]
        for k in range(len(A)):
            if sizes[k, j] > 0 and k != i:
                A[k] = A[k] - A[k, j] * pivot
                A[k, j] = flint().arb(0)
                sizes[k] = [_size(entry) for entry in A[k]]
        sizes[i] = 0.0
        sizes[:, j] = 0.0
    return result


def _size(entry: Any) -> float:
    return abs(float(entry.mid()))


def _rank(mechanism: Mechanism, pivots: list[tuple[int, int, float]], noise: float) -> int:
    """Return how many pivots lie above the gap (step 3)."""
    sizes = [size for _, _, size in pivots]
    ceiling = max(_GAP * noise, 1e-150)
    above = sum(size > ceiling for size in sizes)
    if above == len(sizes):
        return above
    last, first_left = sizes[above - 1] if above else math.inf, sizes[above]
    if last / first_left < _GAP or last < _GAP * ceiling:
        raise InputError(
            f'minimum_parameters of "{mechanism.name}": the rank cannot be decided. The loops leave redundant closure '
            f"rows open by {noise:.1e} (lengths or angles that only nearly make the linkage movable), and the pivots "
            f"{', '.join(f'{size:.1e}' for size in sizes[max(0, above - 2) : above + 2])} of the columns have no gap "
            f"of {_GAP:g} above {ceiling:.1e}; give the geometry with more digits or as exact values"
        )
    return above


def _independent_columns(
    W: NDArray[np.object_], order: list[int], fallback: list[int], units: Floats
) -> tuple[list[int], NDArray[np.object_]]:
    """Return columns that span W, preferred ones first, and K in units; exchanged while K has entries beyond 100."""
    rank = len(fallback)
    if rank == 0:
        return [], np.zeros((0, len(order)), dtype=object)
    arb_mat = flint().arb_mat
    independent = _preferred(W, order, rank) or fallback

    def solve() -> NDArray[np.object_]:
        dependent = [column for column in order if column not in set(independent)]
        left = arb_mat([[W[k, c] for c in independent] for k in range(rank)])
        right = arb_mat([[W[k, c] for c in dependent] for k in range(rank)])
        if not dependent:
            return np.zeros((rank, 0), dtype=object)
        return np.array(left.solve(right).tolist(), dtype=object).reshape(rank, len(dependent))

    K = solve()
    for _ in range(20 * rank):
        sizes = np.array([[_size(entry) for entry in row] for row in K]).reshape(K.shape)
        if sizes.max(initial=0.0) <= _LARGEST_FACTOR:
            break
        a, b = (int(k) for k in np.unravel_index(int(np.argmax(sizes)), sizes.shape))
        dependent = [column for column in order if column not in set(independent)]
        independent[a] = dependent[b]
        K = solve()
    place = {column: k for k, column in enumerate(order)}
    ranked = sorted(range(rank), key=lambda k: place[independent[k]])
    independent = [independent[k] for k in ranked]
    return independent, solve()


def _preferred(W: NDArray[np.object_], order: list[int], rank: int) -> list[int] | None:
    """Return the first columns of `order` that are independent; None when fewer than `rank` are clearly so."""
    A = W.copy()
    free = list(range(len(A)))
    chosen = []
    for column in order:
        if not free:
            break
        best = max(free, key=lambda k: _size(A[k, column]))
        entry = A[best, column]
        if entry.contains(0) or _size(entry) < 1e-100:
            continue
        chosen.append(column)
        free.remove(best)
        pivot = A[best] / entry
        for k in free:
            if not A[k, column].is_zero():
                A[k] = A[k] - A[k, column] * pivot
    return chosen if len(chosen) == rank else None


def _factor(value: Any) -> Fraction | float:
    """Return a ball as the short fraction it stands for, else as a float."""
    middle = value.mid()
    mantissa, exponent = (int(part) for part in middle.man_exp())
    number = Fraction(mantissa) * Fraction(2) ** exponent
    guess = number.limit_denominator(_SHORT)
    return guess if abs(guess - number) <= Fraction(1, 10**60) * max(1, abs(number)) else float(middle)
