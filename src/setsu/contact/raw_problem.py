"""A contact problem given as a matrix: u = W λ + b with Coulomb friction, as published collections hold them.

| symbol | meaning | unit |
|---|---|---|
| W, b | velocities at the contacts for unit impulses (Delassus matrix), and without impulses | 1/kg, m/s |
| λ, u | impulses and velocities: normal, two tangents per contact | N s, m/s |
| K, μ, ρ | friction cone |λ_t| <= μ λ_n; friction coefficient; 3 / tr W_ii | |

    u = W λ + b,   K* ∋ u + μ |u_t| n  ⟂  λ ∈ K                               (1)
    residual = max |λ - Π_K(λ - ρ (u + μ |u_t| n))| / max ρ |b|               (2)
    D⁻¹ W D⁻¹ = V Vᵀ,  D = sqrt(tr W_ii / 3)                                  (3)  rank of W: size of x

Contacts that W does not couple are solved apart. V comes from the eigenvalues above rounding; the residual is measured
with W itself. Source: (1) De Saxcé and Feng 1998; cone_solver.py says how. Cost: O(rank³) per round.
Refuses W that is not symmetric and positive semidefinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.contact.orthonormal_rows import padded
from setsu.errors import InputError
from setsu.spatial import real_array

__all__ = ["ContactSolution", "solve"]

Floats = NDArray[np.float64]

# Of max |W|: how unsymmetric it may be. Of the largest eigenvalue: how negative another may be.
_UNSYMMETRIC, _NEGATIVE = 1e-9, 1e-9
# Of tr W_ii / 3: compliance that rounds work with; it changes their way, not where they end.
_DAMPING = 1e-9


@dataclass(frozen=True)
class ContactSolution:
    """Impulses of a contact problem and how well they solve it.

    impulses, velocities: as b was given, (3n,) or (n, 3), N s and m/s: normal, two tangents per contact.
    residual: natural map in parts of the largest impulse that a contact alone would need, raw_problem.py (2).
    rounds: linear systems solved, for the island that took most; converged: residual <= tolerance.
    """

    impulses: Floats
    velocities: Floats
    residual: float
    rounds: int
    converged: bool


def solve(W: Any, b: ArrayLike, friction: ArrayLike, tolerance: float = 1e-8) -> ContactSolution:
    """Solve a contact problem with Coulomb friction for its impulses.

    W (3n, 3n): velocities at the contacts for unit impulses, 1/kg, symmetric and positive semidefinite; dense or
    scipy.sparse. b (3n,) or (n, 3): velocities without impulses, m/s. Three numbers per contact, the normal first.
    friction: coefficient, one or (n,). tolerance: residual that counts as converged.

    Always ends. Where `converged` is False the impulses lie in their cones and solve the convex problem instead, which
    lets sliding contacts separate; a problem without solution ends like that.

    >>> r = solve(np.eye(3), [-1.0, 0.2, 0.0], 0.5)
    >>> r.impulses.round(6), r.converged
    (array([ 1. , -0.2,  0. ]), True)
    """
    matrix = _matrix(W)
    free = _velocities(b, len(matrix))
    n = free.size // 3
    mu = _friction(friction, n)
    if not (isinstance(tolerance, int | float) and 0.0 < tolerance < 1.0):
        raise InputError(f"solve: tolerance: expected a number between 0 and 1, got {tolerance!r}")
    b3 = free.reshape(n, 3)
    trace = (
        np.trace(matrix.reshape(n, 3, n, 3)[np.arange(n), :, np.arange(n), :], axis1=1, axis2=2) if n else np.zeros(0)
    )
    scale = _scales(trace)
    impulses, rounds = np.zeros((n, 3)), 0
    for island in _islands(matrix, n):
        rows = (3 * island[:, None] + np.arange(3)).ravel()
        part = matrix[np.ix_(rows, rows)]
        impulses[island], more = _solve_island(part, b3[island], mu[island], scale[island], float(tolerance))
        rounds = max(rounds, more)
    velocities = (matrix @ impulses.ravel() + free.ravel()).reshape(n, 3)
    residual = _residual(impulses, velocities, b3, mu, scale)
    return ContactSolution(
        impulses.reshape(free.shape), velocities.reshape(free.shape), residual, rounds, residual <= tolerance
    )


def _matrix(W: Any) -> Floats:
    """W as a dense symmetric array, checked."""
    given = W.toarray() if hasattr(W, "toarray") else W
    try:
        matrix = real_array(given)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"solve: W: expected a matrix of numbers, got {W!r:.80}") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) % 3:
        raise InputError(f"solve: W: expected a square matrix with three rows per contact, got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise InputError(f"solve: W[{row}, {column}] is {matrix[row, column]}; expected finite numbers")
    difference = np.abs(matrix - matrix.T)
    if difference.size and difference.max() > _UNSYMMETRIC * np.abs(matrix).max():
        row, column = np.unravel_index(difference.argmax(), difference.shape)
        raise InputError(
            f"solve: W is not symmetric: W[{row}, {column}] = {matrix[row, column]:.9g}, "
            f"W[{column}, {row}] = {matrix[column, row]:.9g}. Velocities for impulses are K M⁻¹ Kᵀ with one Jacobian K."
        )
    return 0.5 * (matrix + matrix.T)


def _velocities(b: ArrayLike, rows: int) -> Floats:
    try:
        free = real_array(b)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"solve: b: expected numbers, got {b!r:.80}") from None
    if free.shape not in ((rows,), (rows // 3, 3)):
        raise InputError(
            f"solve: b: expected shape ({rows},) or ({rows // 3}, 3), as W has {rows} rows, got {free.shape}"
        )
    if not np.isfinite(free).all():
        raise InputError(f"solve: b has {int((~np.isfinite(free)).sum())} entries that are not finite")
    return free


def _friction(friction: ArrayLike, n: int) -> Floats:
    try:
        mu = real_array(friction)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"solve: friction: expected numbers, got {friction!r:.80}") from None
    if mu.shape not in ((), (n,)):
        raise InputError(f"solve: friction: expected one number or shape ({n},), got {mu.shape}")
    mu = np.broadcast_to(mu, (n,)).copy()
    bad = ~(np.isfinite(mu) & (mu >= 0.0))
    if bad.any():
        raise InputError(
            f"solve: friction of contact {bad.argmax()} is {mu[bad.argmax()]}; expected a finite number >= 0"
        )
    return mu


def _scales(trace: Floats) -> Floats:
    """ρ per contact; a contact that nothing moves takes that of the others."""
    if (trace < 0.0).any():
        raise InputError(
            f"solve: W is not positive semidefinite: the block of contact {trace.argmin()} has negative trace"
        )
    moved = trace > 0.0
    typical = float(np.median(trace[moved])) if moved.any() else 3.0
    return 3.0 / np.where(moved, trace, typical)


def _islands(matrix: Floats, n: int) -> list[NDArray[np.int64]]:
    """Contacts that W couples, directly or over others, in order."""
    coupled = (matrix.reshape(n, 3, n, 3) != 0.0).any(axis=(1, 3))
    left, islands = np.ones(n, dtype=bool), []
    for first in range(n):
        if not left[first]:
            continue
        island = np.zeros(n, dtype=bool)
        front = np.array([first])
        while len(front):
            island[front] = True
            front = np.flatnonzero(coupled[front].any(axis=0) & ~island)
        left &= ~island
        islands.append(np.flatnonzero(island))
    return islands


def _root(matrix: Floats, scale: Floats) -> Floats:
    """V D of (3): (rows, rank)."""
    D = np.repeat(1.0 / np.sqrt(scale), 3)
    values, vectors = np.linalg.eigh(matrix / np.outer(D, D))
    largest = max(float(values[-1]), 0.0)
    if values[0] < -_NEGATIVE * max(largest, 1.0):
        raise InputError(
            f"solve: W is not positive semidefinite: its smallest eigenvalue is {values[0]:.3g} where the largest is "
            f"{largest:.3g} (each contact scaled to trace 3). Velocities for impulses are K M⁻¹ Kᵀ."
        )
    kept = values > len(values) * np.finfo(float).eps * largest
    return D[:, None] * vectors[:, kept] * np.sqrt(values[kept])


def _solve_island(matrix: Floats, b: Floats, mu: Floats, scale: Floats, tolerance: float) -> tuple[Floats, int]:
    from setsu.contact.cone_problem import MOST_ROUNDS, make_cone_problem, solve_given

    n, root = len(b), _root(matrix, scale)
    rank = root.shape[1]
    workspace = make_cone_problem(n, 1, rank, rank)
    p = workspace.fields
    width = padded(rank)
    p.counts[:] = n, 1, width, n
    p.side[:, 1] = -1
    p.node_size[0], p.node_width[0] = rank, width
    p.jacobian_start[:, 0] = 3 * width * np.arange(n)
    p.jacobian[: 3 * n * width].reshape(3 * n, width)[:, :rank] = root
    p.free[:], p.friction[:], p.scale[:] = b, mu, scale
    damping = _DAMPING * float(np.mean(1.0 / scale))
    given: Any = solve_given  # compiled: takes the workspace of a ConeProblem
    _, rounds, _ = given(workspace, 0.0, damping, 0.01 * tolerance, tolerance, MOST_ROUNDS)
    impulses = p.impulse[:n].copy()
    return (impulses if np.isfinite(impulses).all() else np.zeros((n, 3))), int(rounds)


def _residual(impulses: Floats, velocities: Floats, b: Floats, mu: Floats, scale: Floats) -> float:
    """(2)."""
    largest = float((scale[:, None] * np.abs(b)).max(initial=0.0))
    if largest == 0.0:
        return 0.0 if not impulses.any() else math.inf
    raised = velocities.copy()
    raised[:, 0] += mu * np.hypot(velocities[:, 1], velocities[:, 2])
    z = impulses - scale[:, None] * raised
    r = np.hypot(z[:, 1], z[:, 2])
    inside, outside = r <= mu * z[:, 0], mu * r <= -z[:, 0]
    normal = np.where(inside, z[:, 0], (z[:, 0] + mu * r) / (1.0 + mu * mu))
    along = np.where(inside, 1.0, mu * normal / np.where(r > 0.0, r, 1.0))
    projected = np.where(outside[:, None], 0.0, np.stack([normal, along * z[:, 1], along * z[:, 2]], axis=1))
    return float(np.abs(impulses - projected).max() / largest)
