"""The measured signals of all logs as functions of everything unknown, and their linearisation for least squares.

| symbol | meaning |
|---|---|
| β | base parameters (b,) |
| π | unknown parameters of payloads, as far as torques tell them apart |
| fs, vs | Stribeck friction per velocity: sign(v) fs exp(-(|v|/vs)²), N m and rad/s |
| κ | measured signal per torque and joint, the inverse of the drive's gain; 1 when torques are measured |
| d | delay of the torques behind the coordinates, s |

    f = κ (Y[:, B] β + Y_L π + S(vs) fs + known), at the motion d seconds before          (1)
    x = (β, π, fs, log vs, κ, d):  f(x + δ) ≈ f + F δ,   y = measured - f + F x            (2)

With nothing but β and π unknown f is linear and one solution is enough. Otherwise Gauss-Newton: (2) is solved again
until no unknown moves by more than a hundredth of its standard deviation. F is exact but for d, a central difference.
Cost: one regressor per step, three with a delay.
Refuses drive gains without a known payload (their scale is that of all inertias), and of mechanisms with loops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.states import coordinate_names
from setsu.dynamics import inverse_dynamics
from setsu.errors import InputError
from setsu.identification.least_squares import Estimate, Rows, estimate
from setsu.identification.motion import MotionCurves, SmoothMotion
from setsu.identification.payload import SYMBOLS, IdentifiedPayload, Payload
from setsu.identification.torque_model import TorqueModel, driven

__all__ = ["Regression", "Solution"]

Floats = NDArray[np.float64]

# A joint whose velocity is within so many standard deviations of zero may move either way: no Coulomb friction there.
_SURE_OF_SIGN = 3.0
_SURE_OF_DELAY = 0.25
"""Part of a sample's step by which a reversal may be misplaced while the delay is identified."""

_STEPS, _PASSES = 40, 3
_STILL, _NEARLY_STILL = 0.01, 3.0
_LOG_STEP, _DELAY_LIMIT = 0.7, 0.02
_DELAY_STEP = 2e-4
_FRACTIONS = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Stribeck velocities to begin with, as shares of a joint's largest velocity."""

_CLEAR = 3.0
"""Stribeck friction of less than so many σ leaves its velocity open; it is then kept where it is."""

_SHORTEST, _BOUNDED = 0.01, 3.0
_OPEN = 0.5


@dataclass(frozen=True)
class Solution:
    """Unknowns by name, their estimate, the rows they were found with, and the signals they predict.

    x: all unknowns; estimate.parameters are the same. measured, predicted: (T, rows) of all logs one after the other.
    """

    names: tuple[str, ...]
    estimate: Estimate
    rows: list[Rows]
    motion: SmoothMotion
    measured: Floats
    predicted: Floats


class Regression:
    """All logs, and which unknowns there are. robust: weigh rows by Huber's loss."""

    def __init__(
        self,
        model: TorqueModel,
        curves: list[MotionCurves],
        *,
        stribeck: bool = False,
        delay: bool = False,
        gains: bool = False,
        robust: bool = False,
    ) -> None:
        self.model, self.curves, self.robust = model, curves, robust
        self.stribeck, self.gains, self.delay = stribeck, gains, delay
        self.payloads = _payloads(model, [c.motion.payload for c in curves])
        n, nv = len(model.rows), model.mechanism.nv
        if gains and model.freedom.closed:
            raise InputError("identify: drive gains cannot be identified with loops or couplings")
        b, p = len(model.names), sum(len(found.columns) for found in self.payloads)
        self.places = {}
        start = 0
        for what, count in (
            ("base", b), ("payload", p), ("fs", nv * stribeck), ("vs", nv * stribeck), ("signal", n * gains),
            ("delay", int(delay)),
        ):  # fmt: skip
            self.places[what] = slice(start, start + count)
            start += count
        self.size = start
        coordinates = coordinate_names(model.mechanism)
        self.names = (
            *model.names,
            *(name for found in self.payloads for name in found.names),
            *(f"fs_{name}" for name in coordinates if stribeck),
            *(f"log_vs_{name}" for name in coordinates if stribeck),
            *(f"signal_per_torque_{name}" for name in model.rows if gains),
            *(("delay",) if delay else ()),
        )
        # Unknowns that are kept where they are: Stribeck velocities without Stribeck friction.
        self.held = np.zeros(self.size, dtype=bool)
        self._vs_range: tuple[Floats, ...] = (np.zeros(0), np.zeros(0))
        # Samples and sure ones among them, per log, while a descent goes on.
        self._choice: list[tuple[NDArray[np.intp], NDArray[np.bool_]]] = []
        if stribeck:
            free = driven(model.mechanism) == 0.0
            self.held[self.places["fs"]] = free
            self.held[self.places["vs"]] = free

    # -- signals ------------------------------------------------------------------------------------------------

    def start(self) -> Floats:
        """Return unknowns to begin with."""
        x = np.zeros(self.size)
        x[self.places["base"]] = self.model.base_prior
        x[self.places["signal"]] = 1.0
        if self.stribeck:
            fastest = np.max([np.abs(c.at().v).max(axis=0) for c in self.curves], axis=0)
            x[self.places["vs"]] = np.log(np.maximum(0.1 * fastest, 1e-6))
            self._vs_range = tuple(np.log(np.maximum(share * fastest, 1e-9)) for share in (0.005, 0.6))
        return x

    def rows(self, x: Floats) -> tuple[list[Rows], SmoothMotion, Floats, Floats]:
        """Return (2) per joint over all logs, and the joined motion, measured and predicted signals."""
        F, f, y, chosen, motions = [], [], [], [], []
        offset = 0
        shift = float(x[self.places["delay"]][0]) if self.delay else 0.0
        for number, curve in enumerate(self.curves):
            motion = curve.at(shift, self._choice[number][0] if self._choice else None)
            signal, columns = self._log(curve, motion, x)
            if self.delay:
                ahead, behind = (
                    self._log(curve, curve.at(shift + h, motion.samples), x)[0] for h in (_DELAY_STEP, -_DELAY_STEP)
                )
                columns[..., self.places["delay"].start] = (ahead - behind) / (2.0 * _DELAY_STEP)
            F.append(columns)
            f.append(signal)
            y.append(self.model.freedom.reduce_torque(motion.q, motion.tau))
            sure = self._choice[number][1] if self._choice else self._sure(motion)
            chosen.append([np.flatnonzero(sure[:, j]) + offset for j in range(len(self.model.rows))])
            motions.append(motion)
            # Numbers of samples go on behind a gap, so that parts of the time are parts of one log.
            offset += len(motion.time)
        all_F, all_f, all_y = np.concatenate(F), np.concatenate(f), np.concatenate(y)
        rows = []
        for j in range(len(self.model.rows)):
            places = np.concatenate([log[j] for log in chosen])
            W = all_F[places, j]
            rows.append(Rows(W, all_y[places, j] - all_f[places, j] + W @ x, places))
        return rows, _joined(motions), all_y, all_f

    def _log(self, curve: MotionCurves, motion: SmoothMotion, x: Floats) -> tuple[Floats, Floats]:
        """Return f (T, rows) and F (T, rows, unknowns) of one log, but for the delay."""
        model, m = self.model, self.model.mechanism
        full = model.full_regressor(motion.q, motion.v, motion.a)
        total = full[..., model.independent] @ x[self.places["base"]] + _known(model, curve, motion, full)
        F = np.zeros((*total.shape, self.size))
        F[..., self.places["base"]] = full[..., model.independent]
        start = self.places["payload"].start
        for found in self.payloads:
            width = len(found.columns)
            if curve.motion.payload is not None and curve.motion.payload.name == found.payload.name:
                body = full[..., 10 * found.body : 10 * found.body + 10]
                total = total + body @ np.nan_to_num(found.known) + body[..., found.columns] @ x[start : start + width]
                F[..., start : start + width] = body[..., found.columns]
            start += width
        if self.stribeck:
            fs, vs = x[self.places["fs"]], np.exp(x[self.places["vs"]])
            square = (motion.v / vs) ** 2
            shape = np.sign(motion.v) * np.exp(-np.minimum(square, 700.0)) * driven(m)
            S = model.freedom.reduce_rows(motion.q, shape[..., None] * np.eye(m.nv))
            by_velocity = model.freedom.reduce_rows(motion.q, (shape * fs * 2.0 * square)[..., None] * np.eye(m.nv))
            total = total + S @ fs
            F[..., self.places["fs"]], F[..., self.places["vs"]] = S, by_velocity
        if self.gains:
            kappa = x[self.places["signal"]]
            F *= kappa[:, None]
            F[..., self.places["signal"]] = total[..., None] * np.eye(len(kappa))
            total = total * kappa
        return total, F

    def _sure(self, motion: SmoothMotion) -> NDArray[np.bool_]:
        """Samples in which every friction that reaches a row has a sure sign, (T, rows)."""
        model = self.model
        least = _SURE_OF_SIGN * motion.velocity_noise if "coulomb" in model.terms else np.full(model.mechanism.nv, -1.0)
        if self.delay and "coulomb" in model.terms:
            # Where the velocity changes its sign is known only as well as the delay is.
            least = least + _SURE_OF_DELAY * float(np.median(np.diff(motion.time))) * np.abs(motion.a)
        sure = np.asarray((np.abs(motion.v) > least) | (driven(model.mechanism) == 0.0))
        if model.freedom.closed:
            # Friction of any joint reaches every free velocity.
            return np.repeat(np.all(sure, axis=1, keepdims=True), len(model.rows), axis=1)
        return sure

    # -- solution -----------------------------------------------------------------------------------------------

    def solve(self) -> Solution:
        """Return the weighted least-squares solution."""
        x = self.start()
        if self.gains:
            x = self._first_gains(x)
        nonlinear = self.stribeck or self.gains or self.delay
        if self.delay and self.stribeck:
            # The delay first: friction is judged where velocities change their sign.
            friction = np.arange(self.places["fs"].start, self.places["vs"].stop)
            x, _ = self._descend(x, np.setdiff1d(np.flatnonzero(~self.held), friction))
        if self.stribeck:
            x = self._first_stribeck(x)
        moving = np.flatnonzero(~self.held)
        left = np.inf if nonlinear else 0.0
        for _ in range(_PASSES):
            if left > _STILL:
                x, left = self._descend(x, moving)
        if left > _NEARLY_STILL:
            raise InputError(
                f"identify: delay, Stribeck velocities or gains did not settle (still moving by {left:.2g} σ); "
                "identify fewer of them, or give a longer log"
            )
        if self.stribeck:
            # A Stribeck velocity that ended at the edge of what the motion shows is not known: it keeps its value.
            low, high = self._vs_range
            vs = np.arange(self.size)[self.places["vs"]]
            moving = np.setdiff1d(moving, vs[(x[vs] <= low) | (x[vs] >= high)])
        rows = self._reduced(x, moving)
        found = estimate(rows, self.robust)
        if not nonlinear:
            x[moving] = found.parameters
        found = Estimate(x[moving], found.covariance, found.variance, found.correlation)
        if self.gains:
            self._refuse_open_gains(_widened(found, moving, x))
        _, motion, measured, predicted = self.rows(x)
        return Solution(self.names, _widened(found, moving, x), rows, motion, measured, predicted)

    def _descend(self, x: Floats, moving: NDArray[np.intp]) -> tuple[Floats, float]:
        """Gauss-Newton from x on the samples that are sure there; the choice must not move with the delay.

        Returns the unknowns and how far the next step would go, in σ. Where friction changes its sign in a sample the
        misfit has a kink, and may have its minimum there.
        """
        motions = [curve.at(float(x[-1]) if self.delay else 0.0) for curve in self.curves]
        self._choice = [(motion.samples, self._sure(motion)) for motion in motions]
        left = np.inf
        for _ in range(_STEPS):
            found = estimate(self._reduced(x, moving), self.robust)
            step = found.parameters - x[moving]
            left = float(np.max(np.abs(step) / np.maximum(found.std, 1e-300), initial=0.0))
            if left <= _STILL:
                break
            new = self._shortened(x, step, moving, found)
            if np.array_equal(new, x):
                break
            x = new
        self._choice = []
        return x, left

    def _shortened(self, x: Floats, step: Floats, moving: NDArray[np.intp], found: Estimate) -> Floats:
        """Go along a step, less far where Stribeck velocities or the delay would jump or the residual would grow."""
        whole = np.zeros(self.size)
        whole[moving] = step
        share = 1.0
        for what, limit in (("vs", _LOG_STEP), ("delay", _DELAY_LIMIT)):
            largest = float(np.abs(whole[self.places[what]]).max(initial=0.0))
            share = min(share, limit / largest) if largest > limit else share
        before = self._misfit(x, found)
        while True:
            trial = x + share * whole
            if self.stribeck:
                trial[self.places["vs"]] = np.clip(trial[self.places["vs"]], *self._vs_range)
            if self._misfit(trial, found) <= before:
                return trial
            share *= 0.5
            if share < _SHORTEST:
                return x

    def _misfit(self, x: Floats, found: Estimate) -> float:
        """Sum of squared residuals in units of their variance."""
        rows, _, measured, predicted = self.rows(x)
        total = 0.0
        for j, r in enumerate(rows):
            rest = measured[r.samples, j] - predicted[r.samples, j]
            scale = float(np.sqrt(found.variance[j]))
            size = np.abs(rest) / scale
            loss = np.where(size < _BOUNDED, size**2, _BOUNDED**2) if self.robust else size**2
            total += float(np.sum(loss)) / found.correlation[j]
        return total

    def _reduced(self, x: Floats, moving: NDArray[np.intp]) -> list[Rows]:
        rows = self.rows(x)[0]
        if len(moving) == self.size:
            return rows
        held = np.setdiff1d(np.arange(self.size), moving)
        return [Rows(r.W[:, moving], r.y - r.W[:, held] @ x[held], r.samples) for r in rows]

    def _first_gains(self, x: Floats) -> Floats:
        """Y β + Y_L π + known = signal/κ is linear in (β, π, 1/κ): a start for the signals' own errors."""
        inverse = self.places["signal"]
        rows, _, measured, predicted = self.rows(x)
        A, y = [], []
        for j, r in enumerate(rows):
            W = r.W.copy()
            # At κ = 1 the column of κ_j is the torque itself; the signal takes its place on the left.
            W[:, inverse] = 0.0
            W[:, inverse.start + j] = -measured[r.samples, j]
            known = r.y - measured[r.samples, j] - r.W[:, inverse] @ x[inverse]
            # Weights by the size of the mechanism's own torques: by the residual, all zero would be best.
            weight = 1.0 / max(float(np.sqrt(np.mean(predicted[r.samples, j] ** 2))), 1e-300)
            A.append(weight * W)
            y.append(weight * known)
        left = np.concatenate(A)
        moving = np.flatnonzero(np.linalg.norm(left, axis=0) > 0.0)
        size = np.linalg.norm(left[:, moving], axis=0)
        found = np.linalg.lstsq(left[:, moving] / size, np.concatenate(y), rcond=1e-10)[0] / size
        start = x.copy()
        start[moving] = found
        if not np.all(start[inverse] > 0.0):
            raise InputError(
                "identify: the drives' gains do not follow from these logs; expected at least two, one of them with a "
                "payload of known mass, centre and inertia (setsu.Payload), since gains and inertias share one scale"
            )
        start[inverse] = 1.0 / start[inverse]
        return start

    def _refuse_open_gains(self, found: Estimate) -> None:
        """Gains and inertias share one scale: without a known payload it stays open."""
        where = self.places["signal"]
        share = found.std[where] / np.abs(found.parameters[where])
        if not np.all(share < _OPEN):
            j = int(np.argmax(share))
            raise InputError(
                f'identify: the gain of drive "{self.model.rows[j]}" stays open (σ is {100 * share[j]:.0f} % of it); '
                "expected two logs or more, one of them with a payload of known mass, better of known centre and "
                "inertia too (setsu.Payload), since gains and inertias share one scale"
            )

    def _first_stribeck(self, x: Floats) -> Floats:
        """Choose every joint's Stribeck velocity among a few, by the residual of the linear problem."""
        fastest = np.exp(x[self.places["vs"]]) / 0.1
        vs = np.arange(self.size)[self.places["vs"]]
        moving = np.setdiff1d(np.flatnonzero(~self.held), vs)
        best = np.full(len(self.model.rows), np.inf)
        chosen = x.copy()
        for fraction in _FRACTIONS:
            trial = x.copy()
            trial[vs] = np.log(np.maximum(fraction * fastest, 1e-6))
            found = estimate(self._reduced(trial, moving), self.robust)
            for j, velocity in enumerate(self.model.freedom.free):
                if found.variance[j] < best[j]:
                    best[j] = found.variance[j]
                    chosen[vs[velocity]] = trial[vs[velocity]]
        found = estimate(self._reduced(chosen, moving), self.robust)
        chosen[moving] = found.parameters
        std = np.full(self.size, np.inf)
        std[moving] = found.std
        fs = np.arange(self.size)[self.places["fs"]]
        # Without Stribeck friction its velocity is not known: it stays where it is.
        self.held[vs] |= np.abs(chosen[fs]) < _CLEAR * std[fs]
        return chosen

    def identified_payloads(self, found: Estimate) -> tuple[IdentifiedPayload, ...]:
        """Return what was found of every payload, known numbers included."""
        result = []
        start = self.places["payload"].start
        for known in self.payloads:
            width = len(known.columns)
            here = slice(start, start + width)
            given = np.flatnonzero(np.isfinite(known.known))
            names = (*(f"{SYMBOLS[k]}_{known.payload.name}" for k in given), *known.names)
            values = np.concatenate([known.known[given], found.parameters[here]])
            std = np.concatenate([np.zeros(len(given)), found.std[here]])
            result.append(IdentifiedPayload(known.payload, names, values, std))
            start += width
        return tuple(result)


@dataclass(frozen=True)
class _PayloadColumns:
    payload: Payload
    body: int
    known: Floats  # (10,), nan where unknown
    columns: list[int]  # unknown ones that are independent
    names: list[str]


def _payloads(model: TorqueModel, given: list[Payload | None]) -> list[_PayloadColumns]:
    """Return the payloads of all logs, each once, with the unknown parameters that torques can tell apart."""
    result: dict[str, _PayloadColumns] = {}
    for payload in given:
        if payload is None or payload.name in result:
            if payload is not None and result[payload.name].payload != payload:
                raise InputError(f'identify: two different payloads are called "{payload.name}"; give them other names')
            continue
        body, known = payload.moving_body(model.mechanism), payload.known()
        K = model.matrix[:, 10 * body : 10 * body + 10]
        columns: list[int] = []
        basis = np.zeros((0, len(K)))
        dependent: list[int] = []
        for k in np.flatnonzero(np.isnan(known)):
            rest = K[:, k] - basis.T @ (basis @ K[:, k])
            rest = rest - basis.T @ (basis @ rest)
            if np.linalg.norm(rest) > 1e-9 * max(1.0, float(np.linalg.norm(K[:, k]))):
                columns.append(int(k))
                basis = np.vstack([basis, rest / np.linalg.norm(rest)])
            else:
                dependent.append(int(k))
        names = [f"{SYMBOLS[k]}_{payload.name}" for k in columns]
        if columns and dependent:
            shares = np.linalg.lstsq(K[:, columns], K[:, dependent], rcond=None)[0]
            for k, share in zip(dependent, shares.T, strict=True):
                for i in np.flatnonzero(np.abs(share) > 1e-9):
                    factor = "" if abs(abs(share[i]) - 1.0) < 1e-12 else f"{abs(share[i]):.6g}*"
                    names[i] += f" {'-' if share[i] < 0 else '+'} {factor}{SYMBOLS[k]}_{payload.name}"
        result[payload.name] = _PayloadColumns(payload, body, known, columns, names)
    return list(result.values())


def _known(model: TorqueModel, curve: MotionCurves, motion: SmoothMotion, full: Floats) -> Floats:
    """Torques that nothing unknown has a share in: springs, and measured wrenches on the bodies."""
    wrenches = curve.motion.wrenches
    here = None if wrenches is None else wrenches[motion.samples]
    total = inverse_dynamics(model.mechanism, motion.q, motion.v, motion.a, external_wrenches=here)
    return model.freedom.reduce_torque(motion.q, total) - full @ model.prior


def _joined(motions: list[SmoothMotion]) -> SmoothMotion:
    if len(motions) == 1:
        return motions[0]
    times, start = [], 0.0
    for motion in motions:
        times.append(motion.time - motion.time[0] + start)
        start = float(times[-1][-1]) + 10.0 * float(np.median(np.diff(motion.time)))
    return SmoothMotion(
        time=np.concatenate(times),
        q=np.concatenate([motion.q for motion in motions]),
        v=np.concatenate([motion.v for motion in motions]),
        a=np.concatenate([motion.a for motion in motions]),
        tau=np.concatenate([motion.tau for motion in motions]),
        samples=np.arange(sum(len(motion.time) for motion in motions)),
        velocity_noise=np.max([motion.velocity_noise for motion in motions], axis=0),
        position_noise=np.max([motion.position_noise for motion in motions], axis=0),
        knot_distance=max(motion.knot_distance for motion in motions),
    )


def _widened(found: Estimate, moving: NDArray[np.intp], x: Floats) -> Estimate:
    """The estimate with the unknowns that were held, which have no scatter."""
    if len(moving) == len(x):
        return found
    covariance = np.zeros((len(x), len(x)))
    covariance[np.ix_(moving, moving)] = found.covariance
    return Estimate(x.copy(), covariance, found.variance, found.correlation)
