"""Contact forces by sweeps, one contact at a time with the others held: slow, and hard to lead astray.

A contact alone moves by x = B f + b with B (3, 3). It is open when b_n >= 0; it sticks when f = -B⁺ b lies in the cone
of friction; it slides with its given direction by f_n = -b_n / (B_nn - K B_n·d); and it starts to slide by the
direction d that its own acceleration takes,

    f_n(φ) = -b_n / (B_nn - K B_nt·d(φ)),  x_t(φ) = b_t + f_n(φ) (B_tn - K B_tt d(φ)),
    d(φ) × x_t(φ) = 0,  d(φ)·x_t(φ) > 0                                                                 (1)

found by looking round the circle and halving. Sweeps over all contacts repeat until nothing changes; the modes found
are then good guesses for an exact solution.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.contact_problem import Booleans, ContactProblem
from setsu.constraints.stacked import Floats, dot, length_of, times

__all__ = ["sweep_contacts"]

_ANGLES = 64
_BRACKETS = 3
_HALVINGS = 40


def sweep_contacts(problem: ContactProblem, sweeps: int) -> Floats:
    """Return forces (N, c, 3) of c contacts in N states after a number of sweeps."""
    B, b, friction, bilateral, slides = problem
    count, c = slides.shape
    force = np.zeros((count, c, 3))
    x = b.copy()
    for _ in range(sweeps):
        largest = 0.0
        for k in range(c):
            own = B[:, k, :, k, :]
            rest = x[:, k] - times(own, force[:, k])
            new = _one_contact(own, rest, float(friction[k]), bool(bilateral[k]), slides[:, k])
            change = new - force[:, k]
            x += np.einsum("nkij,nj->nki", B[:, :, :, k, :], change)
            force[:, k] = new
            largest = max(largest, float(np.abs(change).max(initial=0.0)))
        if largest <= 1e-13 * float(np.abs(force).max(initial=0.0)):
            break
    return force


def _one_contact(B: Floats, b: Floats, K: float, bilateral: bool, slides: Booleans) -> Floats:
    """Force (N, 3) of one contact under x = B f + b."""
    scale = np.trace(B, axis1=-2, axis2=-1)
    scale = np.where(scale > 0.0, scale, 1.0)
    sign = np.where(b[:, 0] > 0.0, -1.0, 1.0) if bilateral else np.ones(len(b))
    along_t1 = np.broadcast_to(np.array([1.0, 0.0]), (len(b), 2))
    sliding = _sliding(B, b, K * sign, along_t1)
    inverse = np.asarray(np.linalg.pinv(B / scale[:, None, None], rcond=1e-12), dtype=np.float64)
    sticking = -times(inverse, b / scale[:, None])
    normal = sticking[:, 0] if not bilateral else np.abs(sticking[:, 0])
    holds = (normal >= 0.0) & (length_of(sticking[:, 1:]) <= K * normal)
    force = np.where(slides[:, None], sliding, sticking)
    opens = np.zeros(len(b), dtype=bool) if bilateral else b[:, 0] >= 0.0
    # Looking round the circle takes far longer than all else.
    starts = ~slides & ~holds & ~opens
    if starts.any():
        B, b, K_start = B[starts], b[starts], K * sign[starts]
        force[starts] = _sliding(B, b, K_start, _starting_direction(B, b, K_start))
    if not bilateral:
        force = np.where((opens | (force[:, 0] < 0.0))[:, None], 0.0, force)
    return force


def _sliding(B: Floats, b: Floats, K: Floats, d: Floats) -> Floats:
    """Force (N, 3) of sliding along d (N, 2)."""
    stiffness = B[:, 0, 0] - K * dot(B[:, 0, 1:], d)
    usable = np.abs(stiffness) > 1e-14 * np.abs(B[:, 0, 0])
    normal = np.where(usable, -b[:, 0] / np.where(usable, stiffness, 1.0), 0.0)
    return np.concatenate([normal[:, None], -(K * normal)[:, None] * d], axis=-1)


def _starting_direction(B: Floats, b: Floats, K: Floats) -> Floats:
    """Direction (N, 2) that solves (1); that of the free acceleration where there is none."""

    def turn(angle: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """d × x_t for angles (N, m), and whether force and motion there are possible."""
        d = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        stiffness = B[:, None, 0, 0] - K[:, None] * np.einsum("nj,nmj->nm", B[:, 0, 1:], d)
        normal = -b[:, None, 0] / np.where(np.abs(stiffness) > 0.0, stiffness, 1.0)
        pushed = B[:, None, 1:, 0] - K[:, None, None] * np.einsum("nij,nmj->nmi", B[:, 1:, 1:], d)
        x = b[:, None, 1:] + normal[..., None] * pushed
        side = d[..., 0] * x[..., 1] - d[..., 1] * x[..., 0]
        return side, (normal * np.sign(K)[:, None] >= 0.0) & (dot(d, x) >= 0.0)

    grid = np.broadcast_to(np.linspace(-np.pi, np.pi, _ANGLES + 1), (len(b), _ANGLES + 1))
    side, possible = turn(grid)
    brackets = (side[:, :-1] * side[:, 1:] <= 0.0) & (possible[:, :-1] | possible[:, 1:])
    # At most a few brackets are of use; a pole of f_n makes one without a zero.
    which = np.argsort(~brackets, axis=-1, kind="stable")[:, :_BRACKETS]
    low, high = np.take_along_axis(grid, which, axis=-1), np.take_along_axis(grid, which + 1, axis=-1)
    side_low = np.take_along_axis(side, which, axis=-1)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        side_middle = turn(middle)[0]
        left = side_low * side_middle <= 0.0
        low, high = np.where(left, low, middle), np.where(left, middle, high)
        side_low = np.where(left, side_low, side_middle)
    angle = 0.5 * (low + high)
    side, possible = turn(angle)
    size = length_of(b)[:, None]
    found = np.take_along_axis(brackets, which, axis=-1) & possible & (np.abs(side) <= 1e-6 * size)
    chosen = np.take_along_axis(angle, np.argmax(found, axis=-1)[:, None], axis=-1)[:, 0]
    away = np.arctan2(b[:, 2], b[:, 1])
    chosen = np.where(found.any(axis=-1), chosen, away)
    return np.stack([np.cos(chosen), np.sin(chosen)], axis=-1)
