"""Motions that closed mechanisms are held against, found without the constrained dynamics where that is possible.

With one degree of freedom, coordinate s, the energy is T = J(s) s'²/2 and V(s), so that

    s'' = -(J'(s) s'²/2 + V'(s)) / J(s)                                        (1)

Four-bars whose cranks are parallel:    J, V of a pendulum                     (2)
A crank that may turn all round:        J, V and all positions are Fourier series in s, exact to rounding   (3)
Otherwise: the same simulation with a small step of order 8, checked with the step twice as long.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.kernels.tableaus import RK8 as TABLEAU
from setsu.mechanism import Mechanism

__all__ = ["crank_reference", "four_bar_reference", "refined_reference", "world_points"]

Floats = NDArray[np.float64]
Points = tuple[tuple[str, tuple[float, float, float]], ...]

SUBSTEPS = 16
"""Steps of order 8 between two samples of the scalar equation."""

HARMONICS = 128
REFINED_STEP = 5e-3


def world_points(m: Mechanism, points: Points, poses: Floats) -> Floats:
    """Positions (T, n, 3) of points on bodies whose poses are (T, n_bodies, 4, 4)."""
    return np.stack([(poses[:, m.frame(body).body] @ np.array([*point, 1.0]))[:, :3] for body, point in points], axis=1)


def four_bar_reference(m: Mechanism, n: int, points: Points, duration: float, sampling: float) -> tuple[Floats, float]:
    """N four-bars of unit rods: cranks turn about their ends, couplers move along circles without turning, (2)."""
    inertia, moment = (n + 1) / 3.0 + n, (n + 1) / 2.0 + n
    gravity = -m.gravity[2]

    def angles(substeps: int) -> Floats:
        return _scalar_motion(
            lambda s, rate: moment * gravity * np.sin(s) / inertia, 0.0, 1.0, duration, sampling, substeps
        )[0]

    signs = np.array([1.0 if name.startswith("crank") else -1.0 for name in m.joint_names])
    return _with_own_error(
        lambda substeps: world_points(m, points, setsu.body_poses(m, angles(substeps)[:, None] * signs))
    )


def crank_reference(m: Mechanism, v: Floats, points: Points, duration: float, sampling: float) -> tuple[Floats, float]:
    """One degree of freedom, moved by joint "crank", the first, which can turn all round, (3)."""
    q, unit = m.neutral(), np.zeros(m.nv)
    unit[0] = 1.0
    inertias, potentials, positions = [], [], []
    for angle in np.arange(HARMONICS) * (2.0 * np.pi / HARMONICS):
        q[0] = angle
        q = setsu.close_loops(m, q, fixed=["crank"])
        rate = setsu.consistent_velocity(m, q, unit, fixed=["crank"])
        inertias.append(2.0 * float(setsu.kinetic_energy(m, q, rate)))
        potentials.append(float(setsu.potential_energy(m, q)))
        positions.append(world_points(m, points, setsu.body_poses(m, q)[None])[0].ravel())
    inertia, potential = _Fourier(np.array(inertias)), _Fourier(np.array(potentials))
    series = _Fourier(np.array(positions))

    def acceleration(s: float, rate: float) -> float:  # (1)
        (J, J_slope), (_, V_slope) = inertia(s), potential(s)
        return -float((0.5 * J_slope * rate * rate + V_slope) / J)

    def moved(substeps: int) -> Floats:
        angles, _ = _scalar_motion(acceleration, 0.0, float(v[0]), duration, sampling, substeps)
        return np.array([series(s)[0] for s in angles]).reshape(len(angles), len(points), 3)

    return _with_own_error(moved)


def refined_reference(
    m: Mechanism, v: Floats, points: Points, duration: float, sampling: float, step: float = REFINED_STEP
) -> tuple[Floats, float]:
    """The simulation itself with a small step (s) and order 8."""

    def moved(step: float) -> Floats:
        every = round(sampling / step)
        rec = setsu.simulate(m, m.neutral(), v, duration, step, integrator="rk8", record_every=every)
        return world_points(m, points, setsu.body_poses(m, rec.q))

    fine, coarse = moved(step), moved(2.0 * step)
    return fine, _largest_distance(fine, coarse)


def _with_own_error(moved: Callable[[int], Floats]) -> tuple[Floats, float]:
    """A motion with SUBSTEPS steps per sample, and how far half as many are off."""
    fine = moved(SUBSTEPS)
    return fine, _largest_distance(fine, moved(SUBSTEPS // 2))


def _largest_distance(one: Floats, other: Floats) -> float:
    return float(np.linalg.norm(one - other, axis=-1).max())


class _Fourier:
    """Interpolation of samples (K, ...) of a function with period 2 pi, and its slope."""

    def __init__(self, samples: Floats) -> None:
        self._terms = np.fft.rfft(samples, axis=0) / len(samples)
        self._terms[1:-1] *= 2.0
        self._orders = np.arange(len(self._terms))

    def __call__(self, s: float) -> tuple[Floats, Floats]:
        waves = np.exp(1j * self._orders * s)
        return (waves @ self._terms).real, ((1j * self._orders * waves) @ self._terms).real


def _scalar_motion(
    acceleration: Callable[[float, float], float],
    start: float,
    rate: float,
    duration: float,
    sampling: float,
    substeps: int,
) -> tuple[Floats, Floats]:
    """Integrate s'' = acceleration(s, s') with steps of order 8; return s and s' at multiples of `sampling`."""
    h = sampling / substeps
    state = np.array([start, rate])
    states = [state]
    for _ in range(round(duration / sampling)):
        for _ in range(substeps):
            slopes = np.empty((len(TABLEAU.b), 2))
            for i, row in enumerate(TABLEAU.A):
                s, s_rate = state + h * (row[:i] @ slopes[:i])
                slopes[i] = s_rate, acceleration(float(s), float(s_rate))
            state = state + h * (TABLEAU.b @ slopes)
        states.append(state)
    return np.array(states)[:, 0], np.array(states)[:, 1]
