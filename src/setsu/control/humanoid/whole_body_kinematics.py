"""Postures of a biped whose centre of mass, torso and feet are where they are wanted, for all instants at once.

Symbols (world axes)
    c, c*        centre of mass, is and wanted, m            R, R*    rotation of a body, is and wanted
    p, p*        middle of a sole, is and wanted, m          dv       step of the coordinates of free joint and legs
    e            all errors of an instant, 18                J        their Jacobian, 18 x (6 + joints of the legs)

Equations
    (1)  e = (c* - c, log(R*_torso Rᵀ_torso), p*_left - p_left, log(R*_left Rᵀ_left), the same of the right foot)
    (2)  J = (A/m, J_ω of the torso, J_v and J_ω of either foot), A the linear part of the centroidal matrix
    (3)  (JᵀJ + λ I) dv = Jᵀe,  λ = 1e-3 eᵀe + 1e-12         damped Newton step, undamped in the limit
    (4)  q = q ⊕ dv                                          on the manifold of rotations

Source: Levenberg-Marquardt with a damping that falls with the squared error, which keeps Newton's order 2 (Yamashita
and Fukushima 2001; for kinematics Sugihara 2011).
Cost: one factorisation of size 6 + legs per instant and round, batches throughout; 5 to 8 rounds.
Refuses: wanted places out of reach, naming the worst sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.control.humanoid.biped import Biped
from setsu.dynamics import center_of_mass, centroidal_matrix, frame_jacobian, integrate
from setsu.errors import InputError

__all__ = ["damped_solution", "posture_errors", "rotation_vector", "solve_postures"]

Floats = NDArray[np.float64]

_TOLERANCE = 1e-11
# Keeps stretched and folded legs, whose Jacobian is singular, from stopping the others; far below what slows Newton.
_DAMPING = 1e-12
_MOST_ROUNDS = 40
_COARSE = 20
_LARGEST_TURN = 0.5


def solve_postures(
    biped: Biped,
    com: ArrayLike,
    feet: ArrayLike,
    torso: ArrayLike | None = None,
    start: ArrayLike | None = None,
) -> Floats:
    """Return coordinates (T, nq) with the wanted centre of mass, torso and soles; arms keep the biped's posture.

    Args:
        com: wanted centre of mass (T, 3), m. feet: wanted middles of the left and right sole (T, 2, 3), m, soles level.
        torso: wanted rotation of the torso (T, 3, 3); upright when not given.
        start: coordinates to begin from, (nq,) or (T, nq); the biped's posture when not given.

    Raises:
        InputError: a wanted place is out of reach.
    """
    com, feet = np.asarray(com, dtype=np.float64), np.asarray(feet, dtype=np.float64)
    if com.ndim != 2 or com.shape[1:] != (3,) or not len(com) or feet.shape != (len(com), 2, 3):
        raise InputError(f"solve_postures: expected com (T, 3) and feet (T, 2, 3), got {com.shape} and {feet.shape}")
    if not (np.isfinite(com).all() and np.isfinite(feet).all()):
        raise InputError("solve_postures: expected finite places of centre of mass and feet")
    torso = np.eye(3) if torso is None else np.asarray(torso, dtype=np.float64)
    if torso.shape not in ((3, 3), (len(com), 3, 3)) or not np.isfinite(torso).all():
        raise InputError(f"solve_postures: torso: expected finite rotations (T, 3, 3), got shape {torso.shape}")
    torso = np.broadcast_to(torso, (len(com), 3, 3))
    everything = np.arange(len(com))
    if start is None:
        # Neighbours are good first guesses: solve some samples, and begin all others from the nearest of them.
        some = np.unique(np.append(everything[::_COARSE], everything[-1]))
        known = _newton(biped, np.tile(biped.start, (len(some), 1)), com, feet, torso, some)
        start = known[np.clip(np.round(everything / _COARSE).astype(int), 0, len(some) - 1)]
    begin, shape = np.asarray(start, dtype=np.float64), (len(com), biped.mechanism.nq)
    if begin.shape not in (shape, shape[1:]) or not np.isfinite(begin).all():
        raise InputError(f"solve_postures: start: expected finite coordinates {shape}, got shape {begin.shape}")
    return _newton(biped, np.array(np.broadcast_to(begin, shape)), com, feet, torso, everything)


def _newton(
    biped: Biped, q: Floats, all_com: Floats, all_feet: Floats, all_torso: Floats, samples: NDArray[np.intp]
) -> Floats:
    """Return the solution for some samples, begun from q (samples, nq)."""
    m = biped.mechanism
    com, feet, torso = all_com[samples], all_feet[samples], all_torso[samples]
    legs = biped.leg_velocities
    squared = np.empty(0)
    for _ in range(_MOST_ROUNDS):
        e, J = posture_errors(biped, q, com, feet, torso)
        squared = np.sum(e * e, axis=1)
        # Rows are scaled alike: radians and metres of a body of this size are of one order.
        if squared.max() <= _TOLERANCE**2:
            return q
        dv = np.zeros((len(q), m.nv))
        dv[:, legs] = damped_solution(J[:, :, legs], e, 1e-3 * squared)  # (3)
        largest = np.abs(dv).max(axis=1)
        dv *= np.minimum(1.0, _LARGEST_TURN / np.maximum(largest, _LARGEST_TURN))[:, None]
        q = integrate(m, q, dv, 1.0)  # (4)
    worst = int(np.argmax(squared))
    raise InputError(
        f"solve_postures: sample {samples[worst]}: centre of mass {com[worst].round(4).tolist()} over soles at "
        f"{feet[worst].round(4).tolist()} is out of reach, missed by {np.sqrt(squared[worst]):.2g} (m, rad)"
    )


def damped_solution(J: Floats, e: Floats, damping: Floats) -> Floats:
    """Return x (T, n) that makes |J x - e|² + (damping + 1e-12) |x|² least, for J (T, k, n), e (T, k), damping (T,)."""
    transposed = np.swapaxes(J, 1, 2)
    H = transposed @ J + (damping + _DAMPING)[:, None, None] * np.eye(J.shape[2])
    return np.asarray(np.linalg.solve(H, transposed @ e[:, :, None])[:, :, 0], dtype=np.float64)


def rotation_vector(R: Floats) -> Floats:
    """Return the rotation vector (..., 3), rad, of rotations (..., 3, 3) by less than half a turn."""
    skew = 0.5 * np.stack(
        [R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], axis=-1
    )
    sine = np.linalg.norm(skew, axis=-1)
    angle = np.arctan2(sine, 0.5 * (np.trace(R, axis1=-2, axis2=-1) - 1.0))
    ratio = np.divide(angle, sine, out=np.ones_like(angle), where=sine > 1e-9)
    return skew * ratio[..., None]


def posture_errors(biped: Biped, q: Floats, com: Floats, feet: Floats, torso: Floats) -> tuple[Floats, Floats]:
    """Return all errors (T, 18) and their Jacobian (T, 18, nv) at coordinates (T, nq): (1), (2)."""
    m = biped.mechanism
    R = biped.pose_of(q, biped.torso)[:, :3, :3]
    errors = [com - center_of_mass(m, q), rotation_vector(torso @ np.swapaxes(R, 1, 2))]
    rows = [centroidal_matrix(m, q)[:, :3] / m.total_mass, frame_jacobian(m, q, biped.torso)[:, 3:]]
    for side, foot in enumerate(biped.feet):
        T = biped.pose_of(q, foot)
        R, center = T[:, :3, :3], biped.sole_centers[side]
        errors += [feet[:, side] - (R @ center + T[:, :3, 3]), rotation_vector(np.swapaxes(R, 1, 2))]
        rows.append(frame_jacobian(m, q, foot, center))
    return np.concatenate(errors, axis=1), np.concatenate(rows, axis=1)
