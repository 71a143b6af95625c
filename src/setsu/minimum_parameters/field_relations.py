"""Linear relations of the energies' rows on loops whose closure needs roots, by points modulo primes.

    1. rank and pivot columns of the rows at random closed points modulo p = 2^61 - 1
    2. the same rank must come out at real states of the branch meant; when it does not, the closure has several
       branches modulo p as well (a parallelogram and its crossed form), and those that are linear are excluded
    3. K modulo several primes, joined by the Chinese remainder theorem, as fractions where they are short enough and
       agree with floating point; as decimals otherwise

Step 1 is exact up to a chance of about 1e-16 that random points hide a dimension. Source: kawasaki1995 section 3.1 with
points in place of fundamental functions; rational reconstruction after Wang. Cost: rank points per prime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.constraints import ClosingError, close_loops
from setsu.constraints.system import constraint_system
from setsu.dynamics import integrate
from setsu.mechanism import Mechanism
from setsu.minimum_parameters.assembly_branch import free_velocities, independent_velocities, linear_closure
from setsu.minimum_parameters.coordinates import LinearClosure
from setsu.minimum_parameters.field_points import FieldSampler, UnsolvedLoopsError
from setsu.minimum_parameters.linear_relations import PRIME, Relations, pivot_columns
from setsu.minimum_parameters.numeric_relations import ClosedRegressor, numeric_columns
from setsu.minimum_parameters.rational_interpolation import rational_from_residue
from setsu.symbolic.flint_package import flint

__all__ = ["PRIMES", "SPARE", "field_relations", "relations_from_residues", "solved_residues"]

Floats = NDArray[np.float64]

# Two primes: fractions of up to 18 digits above and below come out of them.
PRIMES = (PRIME, 2**61 - 45)
SPARE = 8
_OTHER_STARTS = 24
_AGREES = 1e-6
"""Relative difference of a fraction modulo primes and its floating-point twin."""


def field_relations(
    mechanism: Mechanism, reference: Floats, W: ClosedRegressor, order: Sequence[int], limit: int, wanted: int
) -> Relations | None:
    """Return the relations on the reference's branch, or None for loops without a formula in the field.

    wanted: rank on the branch of real states; None as well when no other comes out in the field.
    """
    try:
        found = _relations(mechanism, reference, W, order, wanted, [])
        if found is None:
            excluded = other_branches(mechanism, reference, limit)
            if excluded:
                found = _relations(mechanism, reference, W, order, wanted, excluded)
    except UnsolvedLoopsError:
        return None
    return found


def _relations(
    mechanism: Mechanism,
    reference: Floats,
    W: ClosedRegressor,
    order: Sequence[int],
    wanted: int,
    excluded: list[LinearClosure],
) -> Relations | None:
    independent_dofs = independent_velocities(free_velocities(constraint_system(mechanism), reference)[0])
    n = 10 * mechanism.n_bodies

    def rows(number: int) -> list[list[int]]:
        sampler = FieldSampler(mechanism, independent_dofs, excluded, PRIMES[number], seed=number)
        return sampler.rows(wanted + SPARE)

    first = rows(0)
    independent = pivot_columns(first, n, order, PRIMES[0])
    if len(independent) != wanted:
        return None
    return relations_from_residues(lambda number: first if number == 0 else rows(number), independent, order, W)


def relations_from_residues(
    rows: Callable[[int], list[list[int]]], preferred: list[int], order: Sequence[int], W: ClosedRegressor
) -> Relations:
    """Return K from rows modulo every prime (given by its number), joined and turned into fractions (step 3).

    preferred: columns that are independent; others take their place where floating point finds these dependent (exact
    geometry is a nearby one, without relations that hold for the floats alone) or K would have large entries.
    """
    independent, K = numeric_columns(W, preferred, order)
    dependent = [column for column in order if column not in set(independent)]
    residues: dict[tuple[int, int], int] = {}
    modulus = 1
    for number, prime in enumerate(PRIMES):
        inverse = pow(modulus, -1, prime)
        found = solved_residues(rows(number), independent, dependent, prime)
        for place in residues.keys() | found.keys():
            old = residues.get(place, 0)
            residues[place] = old + modulus * ((found.get(place, 0) - old) * inverse % prime)
        modulus *= prime
    K = K * W.units[list(dependent)] / W.units[list(independent)][:, None]
    return Relations(independent, dependent, _factors(residues, modulus, K, independent, dependent))


def solved_residues(
    rows: list[list[int]], independent: Sequence[int], dependent: Sequence[int], prime: int
) -> dict[tuple[int, int], int]:
    """Return the entries of K modulo a prime that are not zero; UnsolvedLoopsError for another rank."""
    columns = [*independent, *dependent]
    matrix = flint().nmod_mat(len(rows), len(columns), [row[c] for row in rows for c in columns], prime)
    reduced, rank = matrix.rref()
    if rank != len(independent):
        raise UnsolvedLoopsError("the rank differs between primes")
    r = len(independent)
    entries = reduced.entries()
    width = len(columns)
    return {
        (i, j): int(entry)
        for a, i in enumerate(independent)
        for j, entry in zip(dependent, entries[a * width + r : (a + 1) * width], strict=True)
        if entry != 0
    }


def _factors(
    residues: dict[tuple[int, int], int],
    modulus: int,
    K: Floats,
    independent: Sequence[int],
    dependent: Sequence[int],
) -> dict[tuple[int, int], Any]:
    factors: dict[tuple[int, int], Any] = {}
    for a, i in enumerate(independent):
        for b, j in enumerate(dependent):
            residue, number = residues.get((i, j), 0), float(K[a, b])
            if residue == 0 and abs(number) <= _AGREES:
                continue
            value = rational_from_residue(residue, modulus)
            agrees = value is not None and abs(float(value) - number) <= _AGREES * max(1.0, abs(number))
            factors[i, j] = value if agrees else number
    return factors


def other_branches(mechanism: Mechanism, reference: Floats, limit: int) -> list[LinearClosure]:
    """Return a linear closure found from other starts than the reference: the parallelogram of a crossed one."""
    rng = np.random.default_rng(2)
    found: list[LinearClosure] = []
    for _ in range(_OTHER_STARTS):
        start = integrate(mechanism, reference, 2.0 * rng.standard_normal(mechanism.nv), 1.0)
        try:
            closed = close_loops(mechanism, start, respect_limits=False)
        except ClosingError:
            continue
        closure = linear_closure(mechanism, closed, limit)
        if closure is not None:
            found.append(closure)
            break
    return found
