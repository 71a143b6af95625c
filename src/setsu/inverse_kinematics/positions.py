"""Postures that reach targets: damped least squares on many problems at once, with bounds and restarts.

| symbol | meaning |
|---|---|
| e, J | weighted errors of tasks and loops (tasks.py), their Jacobian |
| E | ½ eᵀe |
| μ, λ | damping: λ = μ E + 1e-12 falls with the error, so that the end is Newton's |
| A | coordinates at a limit that the step would leave through |

    (JᵀJ + λ 1) dv = Jᵀe   on the coordinates not in A                                          (1)
    dv cut to |dv| <= 1 rad or m and to the limits,   q' = q ⊕ dv                               (2)
    E' < E: accept and lessen μ; else keep q and raise it                                      (3)
    no progress: begin again from the nearest of a few random postures, loops open            (4)

Loops and couplings are rows as tasks are, ten times as heavy: at a solution all errors vanish together, and with them
the loops, to rounding. Where a target is out of reach, the posture of least error is closed by `close_loops`.
Source: Levenberg-Marquardt with a damping that falls with the squared error (Yamashita and Fukushima 2001; Sugihara
2011); bounds as in projected Newton methods (Bertsekas 1982). Cost: one factorisation of size nv per round and problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints import ClosingError, close_loops, loop_error
from setsu.dynamics import difference, integrate
from setsu.dynamics.catalogue import require_mechanism
from setsu.dynamics.numbers import finite_array
from setsu.errors import InputError
from setsu.inverse_kinematics.search_space import CompiledSearch
from setsu.inverse_kinematics.tasks import Tasks, make_tasks
from setsu.mechanism import Mechanism
from setsu.spatial import listed

__all__ = ["InverseKinematics", "damped_step", "inverse_kinematics"]

Floats = NDArray[np.float64]

_ROUNDS = 100  # in one attempt, which ends before where errors fall slowly; many only at singular targets
_PULLED_ROUNDS = 20
_LARGEST_STEP = 1.0
_CANDIDATES = 32
_FIRST = 4  # candidates that are tried at first, then twice as many each time
_WAVES = 64  # of candidates, kept with a mechanism
# Random postures of a caller's own generator with the same seed are others: none is a candidate by accident.
_STREAM = 0x5E75
_LOOPS_CLOSED = 1e-11
_SLOW, _HASTY, _TO_THE_END = (
    (0.98, 6),
    (0.8, 4),
    (1.0 - 1e-12, _ROUNDS),
)  # an attempt ends when the error fell by less than this in so many rounds


@dataclass(frozen=True)
class InverseKinematics:
    """Postures and how well they reach their targets; leading axes are those of the arguments.

    q: (..., nq), the best posture found, within limits and with loops closed. converged: (...), whether every task is
    met within the tolerance. error: (...), largest error of all tasks, m or rad. errors: task -> (...), largest error
    of each. unreached: task -> (...), where it is not met: with targets that contradict each other or the limits, the
    ones that give way. loop_error: (...), largest error of loops and couplings, m or rad. rounds: (...), steps taken.
    """

    q: Floats
    error: Floats
    converged: NDArray[np.bool_]
    errors: Mapping[str, Floats]
    unreached: Mapping[str, NDArray[np.bool_]]
    loop_error: Floats
    rounds: NDArray[np.int64]

    @property
    def infeasible(self) -> tuple[str, ...]:
        """Names of the tasks that some posture does not meet."""
        return tuple(name for name, missed in self.unreached.items() if np.any(missed))


def inverse_kinematics(
    mechanism: Mechanism,
    targets: Mapping[str, Any],
    q0: ArrayLike | None = None,
    limits: bool = True,
    *,
    center_of_mass: ArrayLike | None = None,
    weights: Mapping[str, float] | None = None,
    posture: ArrayLike | None = None,
    posture_weight: float = 1e-2,
    fixed: Iterable[str] = (),
    tolerance: float = 1e-9,
    restarts: int = 60,
    seed: int = 0,
) -> InverseKinematics:
    """Return postures in which frames are where they are wanted.

    Args:
        targets: frame name -> pose (..., 4, 4), position of the frame's origin (..., 3), or a `FrameTarget`.
        q0: posture to begin with (..., nq); when not given, the nearest of the reference configuration and some random
            postures.
        limits: keep joint limits; False: let coordinates take any value.
        center_of_mass: wanted position (..., 3), m.
        weights: task -> weight ("center_of_mass" too), for targets that cannot all be met.
        posture: a posture (..., nq) that pulls with `posture_weight` while targets are sought; they are then met
            exactly from there.
        fixed: joints that keep their coordinates of q0.
        tolerance: largest error of a task, m and rad.
        restarts: how often to begin again from random postures where a search ends without success.
        seed: of these postures.

    Returns:
        Loops and couplings are closed in every posture; `unreached` says which targets are not met.

    >>> import setsu
    >>> m = setsu.sample_mechanisms.planar_arm(3)
    >>> found = setsu.inverse_kinematics(m, {"tip": [0.7, 0.0, 0.5]})
    >>> bool(found.converged), setsu.frame_pose(m, found.q, "tip")[:3, 3].round(9).tolist()
    (True, [0.7, 0.0, 0.5])
    """
    require_mechanism(mechanism, "inverse_kinematics")
    m, what = mechanism, "inverse_kinematics"
    start = _start(m) if q0 is None else finite_array(q0, (m.nq,), f"{what}: q0")
    pull = None if posture is None else finite_array(posture, (m.nq,), f"{what}: posture")
    others = (start.shape[:-1], *(() if pull is None else (pull.shape[:-1],)))
    tasks = make_tasks(m, what, targets, weights, center_of_mass, others)
    search = _Search(tasks, _held(m, fixed), limits, _tolerance(tolerance, what), _whole(seed, f"{what}: seed"))
    q = np.array(np.broadcast_to(start, (*tasks.batch, m.nq))).reshape(-1, m.nq)
    q = search.within_limits(q)
    if pull is not None:
        if q0 is None:
            q = search.within_limits(np.array(np.broadcast_to(pull, (*tasks.batch, m.nq))).reshape(-1, m.nq))
        pull = np.array(np.broadcast_to(pull, (*tasks.batch, m.nq))).reshape(-1, m.nq)
        q = search.pulled(q, pull, float(posture_weight))
    attempts = _whole(restarts, f"{what}: restarts")
    search.best[:] = q  # held joints keep these coordinates
    search.run(q, attempts, choose=q0 is None and pull is None and attempts > 0)
    return search.result()


def _start(m: Mechanism) -> Floats:
    return m.reference_configuration()


def _tolerance(value: float, what: str) -> float:
    if not (isinstance(value, (int, float)) and 1e-13 <= value < np.inf):
        raise InputError(f"{what}: tolerance: expected a number of at least 1e-13, got {value!r}")
    return float(value)


def _whole(value: int, what: str) -> int:
    if not isinstance(value, (int, np.integer)) or value < 0:
        raise InputError(f"{what}: expected a whole number of at least 0, got {value!r}")
    return int(value)


def _held(m: Mechanism, fixed: Iterable[str]) -> NDArray[np.bool_]:
    """Which velocities are held."""
    if isinstance(fixed, str):
        raise InputError(f"inverse_kinematics: fixed: expected a list of joint names, got the text {fixed!r}")
    held = np.zeros(m.nv, dtype=bool)
    for name in listed(fixed, "inverse_kinematics: fixed", "joint names"):
        held[m.v_slices[m.joint_index(name)]] = True
    return held


def damped_step(J: Floats, e: Floats, damping: Floats, free: NDArray[np.bool_] | None = None) -> Floats:
    """Return x (N, n) that makes |J x - e|² + (damping + 1e-12) |x|² least (1).

    J (N, k, n), e (N, k), damping (N,). free (N, n): coordinates that may move; the others stay at 0.
    """
    if free is not None:
        J = J * free[:, None, :]
    transposed = np.swapaxes(J, 1, 2)
    H = transposed @ J
    diagonal = np.arange(J.shape[2])
    H[:, diagonal, diagonal] += (damping + 1e-12)[:, None]
    g = transposed @ e[:, :, None]
    return np.asarray(np.linalg.solve(H, g)[:, :, 0], dtype=np.float64)


class _Search:
    """The problems of one call: where each is, and the best posture of each so far."""

    def __init__(self, tasks: Tasks, held: NDArray[np.bool_], limits: bool, tolerance: float, seed: int) -> None:
        self.tasks, self.m, self.held, self.tolerance, self.seed = tasks, tasks.mechanism, held, tolerance, seed
        m = self.m
        single = [
            (where_v.start + k, where_q.start + k)
            for body, where_q, where_v in zip(m.moving, m.q_slices, m.v_slices, strict=True)
            if body.joint.nq == body.joint.nv
            for k in range(body.joint.nv)
        ]
        self.velocity = np.array([v for v, _ in single], dtype=np.intp)
        self.coordinate = np.array([q for _, q in single], dtype=np.intp)
        self.lower = m.lower[self.velocity] if limits else np.full(len(single), -np.inf)
        self.upper = m.upper[self.velocity] if limits else np.full(len(single), np.inf)
        coordinate, lower, upper = np.full(m.nv, -1), np.full(m.nv, -np.inf), np.full(m.nv, np.inf)
        coordinate[self.velocity], lower[self.velocity], upper[self.velocity] = self.coordinate, self.lower, self.upper
        self.search = CompiledSearch(tasks, held, coordinate, lower, upper)
        self.best, self.done, self.rounds = self.search.best, self.search.done, self.search.rounds

    def within_limits(self, q: Floats) -> Floats:
        q = q.copy()
        free = ~self.held[self.velocity]
        own = self.coordinate[free]
        q[:, own] = np.clip(q[:, own], self.lower[free], self.upper[free])
        return q

    def run(self, q: Floats, restarts: int, choose: bool) -> None:
        """Search from q (count, nq), then from random postures where that fails.

        choose: begin with the nearest of q and some random postures. Every problem chooses from the same ones, so that
        it does not matter which problems are solved together.
        """
        rows, tried = np.arange(self.tasks.count), _FIRST if choose else 1
        # One given start is worth more rounds than one of many.
        patience, candidates = (_HASTY, self._candidates(0)) if choose else (_SLOW, None)
        self.search.run(rows, patience, _ROUNDS, self.tolerance, q, candidates, tried)
        wave = 1
        while restarts > 0 and not self.done.all():
            tried = min(2 * tried, restarts, 4 * _FIRST)
            restarts -= tried
            rows = np.flatnonzero(self.done == 0)
            self.search.run(rows, _HASTY, _ROUNDS, self.tolerance, None, self._candidates(wave), tried)
            wave += 1
        left = np.flatnonzero(self.done == 0)
        if left.size:  # out of reach: the nearest posture found, to the end
            self.search.run(left, _TO_THE_END, _ROUNDS, self.tolerance, self.best[left])

    def _candidates(self, wave: int) -> Floats:
        """Random postures (k, nq) to begin with (4)."""
        known = self.search.drawn
        key = (self.seed, wave, self.lower.tobytes(), self.upper.tobytes())
        if key not in known:
            if len(known) >= _WAVES:
                known.clear()
            known[key] = self._random(_CANDIDATES, np.random.default_rng([_STREAM, self.seed, wave]))
        return known[key]

    def pulled(self, q: Floats, posture: Floats, weight: float) -> Floats:
        """Postures near the wanted one from which the targets are in reach: tasks with a pull towards it."""
        rows = np.arange(len(q))
        for _ in range(_PULLED_ROUNDS):
            e, J, _, _ = self.tasks.evaluate(q, rows)
            away = difference(self.m, q, posture)
            pull = np.broadcast_to(weight * np.eye(self.m.nv), (len(q), self.m.nv, self.m.nv))
            e, J = np.concatenate([e, weight * away], axis=1), np.concatenate([J, pull], axis=1)
            step = self._step(q, e, J, 1e-3 * np.sum(e * e, axis=1))
            q = self._moved(q, step)
            if np.abs(step).max(initial=0.0) < 1e-6:
                break
        return q

    def _step(self, q: Floats, e: Floats, J: Floats, damping: Floats) -> Floats:
        """A step (1), cut (2); coordinates at a limit that it would leave through stay."""
        g = np.einsum("nki,nk->ni", J, e)
        free = np.broadcast_to(~self.held, g.shape).copy()
        at, towards = q[:, self.coordinate], g[:, self.velocity]
        free[:, self.velocity] &= ~((at <= self.lower) & (towards < 0.0) | (at >= self.upper) & (towards > 0.0))
        step = damped_step(J, e, damping, free)
        # A second look: what would leave its range in this step goes to the limit, and the others make up for it.
        wanted = at + step[:, self.velocity]
        out = (wanted < self.lower) | (wanted > self.upper)
        if out.any():
            cut = np.clip(wanted, self.lower, self.upper) - at
            fixed = np.zeros_like(step)
            fixed[:, self.velocity] = np.where(out, cut, 0.0)
            free[:, self.velocity] &= ~out
            rest = e - np.einsum("nki,ni->nk", J, fixed)
            step = fixed + damped_step(J, rest, damping, free)
        largest = np.abs(step).max(axis=1, initial=0.0)
        return step * (_LARGEST_STEP / np.maximum(largest, _LARGEST_STEP))[:, None]

    def _moved(self, q: Floats, step: Floats) -> Floats:
        return self.within_limits(integrate(self.m, q, step, 1.0))

    def _random(self, count: int, rng: np.random.Generator) -> Floats:
        """Postures (count, nq): uniform within limits, quaternions uniform, else about the reference configuration."""
        m = self.m
        q = np.tile(m.reference_configuration(), (count, 1))
        spread = np.where(np.isfinite(self.lower) & np.isfinite(self.upper), 0.0, np.pi)
        middle = q[:, self.coordinate]
        low = np.where(np.isfinite(self.lower), self.lower, middle - spread)
        high = np.where(np.isfinite(self.upper), self.upper, middle + spread)
        q[:, self.coordinate] = low + (high - low) * rng.random(low.shape)
        for body, where in zip(m.moving, m.q_slices, strict=True):
            if body.joint.nq != body.joint.nv:
                turn = rng.standard_normal((count, 4))
                q[:, where.stop - 4 : where.stop] = turn / np.linalg.norm(turn, axis=1, keepdims=True)
                if body.joint.nq == 7:
                    q[:, where.start : where.start + 3] += rng.uniform(-1.0, 1.0, (count, 3))
        if m.loops and count:
            # Loops rarely close from anywhere: half of the postures lie about the reference.
            near = rng.random(count) < 0.5
            home = np.tile(m.reference_configuration(), (int(near.sum()), 1))
            away = 0.5 * rng.standard_normal((len(home), m.nv))
            q[near] = self.within_limits(integrate(m, home, away, 1.0))
        return q

    def result(self) -> InverseKinematics:
        """Postures with closed loops, and what they miss."""
        tasks, m, q = self.tasks, self.m, self.best
        loops, plain = np.zeros(tasks.count), self.search.plain
        if m.loops or m.couplings:
            left = np.flatnonzero(self.done == 0)
            for row in left:
                with suppress(ClosingError):  # `loop_error` of the result says so
                    q[row] = close_loops(m, q[row])
            plain[left] = tasks.errors(q[left], left)
            loops = np.abs(loop_error(m, q)).max(axis=-1, initial=0.0) if tasks.count else loops
        shape = tasks.batch
        errors, unreached = {}, {}
        for name, part in zip(tasks.names, tasks.parts, strict=True):
            worst = np.abs(plain[:, part]).max(axis=1, initial=0.0)
            errors[name] = worst.reshape(shape)[()]
            unreached[name] = (worst > self.tolerance).reshape(shape)[()]
        error = np.abs(plain).max(axis=1, initial=0.0)
        converged = (error <= self.tolerance) & (loops <= 10.0 * _LOOPS_CLOSED)
        return InverseKinematics(
            q=q.reshape(*shape, m.nq),
            error=error.reshape(shape)[()],
            converged=converged.reshape(shape)[()],
            errors=errors,
            unreached=unreached,
            loop_error=loops.reshape(shape)[()],
            rounds=self.rounds.reshape(shape)[()],
        )
