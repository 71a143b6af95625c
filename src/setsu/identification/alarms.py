"""Alarms: what is wrong with a log, by name and with the evidence, where a good R² would hide it.

| kind | what it means | evidence |
|---|---|---|
| units | time in ms, angles in degrees | step between samples; share of q·π/180 inside the limits |
| limits | coordinates outside the joints' limits | joint, how far |
| velocity | v is not dq/dt | slope of v over dq/dt per joint |
| sign | torques work against the motion they drive | kinetic energy and friction of the fit; gain by flipping |
| swapped columns | two columns exchanged | how much better the exchanged ones explain each other |
| outliers | single samples far off | how many, the largest in robust σ, when |
| delay | torques lag behind coordinates | delay and its σ by regression on dτ/dt, and of the cross-correlation |
| friction shape | dry friction that falls with speed | Stribeck part and its σ |
| inconsistent | no real bodies explain the data | R² of the consistent parameters beside the free ones, heaviest body |
| unexplained | the residual follows the motion | share of it that functions of q and v explain, whiteness |
| unexplained | a joint's mean torque fits better than the model, and nothing follows the motion | R² |

Alarms about the raw log (units, limits, velocity) do not need a fit and are in `log_alarms.py`. The others compare the
fit with one that has the suspected fault undone, on a few hundred samples: n(n-1) exchanges and 2n flips of small
problems.
Thresholds leave clean logs with white or coloured noise alone: five standard deviations, and an effect that matters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.states import coordinate_names
from setsu.dynamics import mass_matrix
from setsu.errors import InputError, nearest_names
from setsu.identification.least_squares import Rows, correlation_length, robust_scale
from setsu.identification.physically_consistent import PhysicallyConsistent
from setsu.identification.regression import Regression, Solution
from setsu.identification.torque_model import TorqueModel, driven

__all__ = ["KINDS", "Alarm", "checked_kinds", "fit_alarms"]

Floats = NDArray[np.float64]

KINDS = (
    "units", "limits", "velocity", "sign", "swapped columns", "outliers", "delay", "friction shape", "inconsistent",
    "unexplained",
)  # fmt: skip

_SURE = 5.0
_OUTLIER = 7.0
_FEWEST_OUTLIERS = 3
_GAIN = 1.5
"""Sum over joints of log(residual variance) by which an exchange or a flip must be better."""

_FEWEST_SAMPLES = 300
_SHARE = 0.2
_WORSE_THAN_MEAN = -0.1


@dataclass(frozen=True)
class Alarm:
    """One thing that is wrong. kind: one of KINDS. message: for people. evidence: the numbers behind it, by name."""

    kind: str
    message: str
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


def checked_kinds(function: str, kinds: Iterable[str] | str) -> frozenset[str]:
    """Return the kinds to accept; InputError for one that there is not."""
    words = [kinds] if isinstance(kinds, str) else list(kinds)
    plain = {kind.replace(" ", "_"): kind for kind in KINDS} | {kind: kind for kind in KINDS}
    for word in words:
        if word not in plain:
            raise InputError(f"{function}: accept: unknown alarm {word!r}{nearest_names(str(word), KINDS)}")
    return frozenset(plain[word] for word in words)


def fit_alarms(
    regression: Regression, solution: Solution, consistent: PhysicallyConsistent, r2: Floats, r2_consistent: Floats
) -> list[Alarm]:
    """Return what the fit shows."""
    model = regression.model
    columns = [*_sign(regression, solution), *_exchanged(regression, solution)]
    inconsistent = _inconsistent(model, consistent, r2, r2_consistent)
    late, shape = _delay_and_friction(regression, solution)
    if late and not columns:
        # What a delay leaves at reversals looks like outliers and like friction: judge these with the delay undone.
        undone = Regression(
            model, regression.curves, stribeck=regression.stribeck, delay=True, gains=regression.gains,
            robust=regression.robust,
        )  # fmt: skip
        try:
            solution = undone.solve()
            shape = _delay_and_friction(undone, solution)[1]
        except InputError:
            pass
    unexplained = _unexplained(model, solution) or _worse_than_means(model, r2)
    return [*columns, *_outliers(model, solution), *late, *shape, *inconsistent, *unexplained]


def _sign(regression: Regression, solution: Solution) -> list[Alarm]:
    """Energy: vᵀMv of the identified parameters, and friction, must not be negative."""
    model, m = regression.model, regression.model.mechanism
    beta = solution.estimate.parameters[: len(model.names)]
    covariance = solution.estimate.covariance[: len(model.names), : len(model.names)]
    every = max(1, len(solution.motion.time) // 200)
    q, v = solution.motion.q[::every], solution.motion.v[::every]
    still = np.zeros_like(v)
    rows = model.regressor(q, still, v) - model.regressor(q, still, still)
    w = np.einsum("tj,tjb->tb", v[:, model.freedom.free], rows)
    energy = w @ beta
    sigma = np.sqrt(np.einsum("tb,bc,tc->t", w, covariance, w))
    nominal = np.einsum("ti,tij,tj->t", v, mass_matrix(m, q), v)
    # Samples with little motion tell little: those above the median of what the model expects.
    fast = nominal >= np.median(nominal)
    negative = float(np.mean((energy < -_SURE * sigma)[fast]))
    if negative > 0.5:
        return [
            Alarm(
                "sign",
                f"the identified parameters have a negative kinetic energy in {100 * negative:.0f} % of the samples: "
                "are the torques negated, or all coordinates?",
                {"negative_energy": negative},
            )
        ]
    found = []
    for term in ("viscous", "coulomb"):
        if term not in model.terms:
            continue
        columns = range(*model.columns_of(term).indices(model.matrix.shape[1]))
        for column in columns:
            place = np.flatnonzero(model.independent == column)
            if len(place) and beta[place[0]] < -_SURE * max(np.sqrt(covariance[place[0], place[0]]), 1e-300):
                size = float(abs(beta[place[0]])) * (1.0 if term == "coulomb" else float(np.abs(v).max()))
                joint = column - columns.start
                row = np.flatnonzero(model.freedom.free == joint)
                if len(row) and size > 0.02 * float(np.abs(solution.measured[:, row[0]]).max()):
                    found.append((model.full_names[column], float(beta[place[0]])))
    if not found:
        return []
    name, value = min(found, key=lambda entry: entry[1])
    return [
        Alarm(
            "sign",
            f"friction {name} = {value:.3g} would drive its joint: is the sign of its torque or coordinate wrong?",
            {"parameters": dict(found)},
        )
    ]


class _Trials:
    """Fits of one log with its columns flipped or exchanged, on few samples; scores are sums of log(variance)."""

    def __init__(self, model: TorqueModel, solution: Solution) -> None:
        # Enough samples for the parameters, and no more.
        most = max(_FEWEST_SAMPLES, 4 * len(model.names))
        keep = np.arange(0, len(solution.motion.time), max(1, len(solution.motion.time) // most))
        motion = solution.motion
        self.model = model
        self.q, self.v, self.a, self.y = motion.q[keep], motion.v[keep], motion.a[keep], motion.tau[keep]
        self.scale = np.maximum(np.var(self.y, axis=0), 1e-300)
        self._columns = self._made(np.arange(model.mechanism.nv), np.ones(model.mechanism.nv))

    def _made(self, order: NDArray[np.intp], sign: Floats) -> tuple[Floats, Floats]:
        q, v, a = ((table * sign)[:, order] for table in (self.q, self.v, self.a))
        return self.model.regressor(q, v, a), self.model.known_torque(q, v, a)

    def torques(self, order: NDArray[np.intp], sign: Floats) -> float:
        """Score with torques exchanged and flipped."""
        return self._score(*self._columns, (self.y * sign)[:, order], self.scale[order])

    def coordinates(self, order: NDArray[np.intp], sign: Floats) -> float:
        """Score with coordinates exchanged and flipped."""
        return self._score(*self._made(order, sign), self.y, self.scale)

    def _score(self, W: Floats, known: Floats, y: Floats, scale: Floats) -> float:
        weight = 1.0 / np.sqrt(scale)
        A, right = W * weight[:, None], (y - known) * weight
        flat = A.reshape(-1, A.shape[-1])
        size = np.maximum(np.linalg.norm(flat, axis=0), 1e-300)
        gram = (flat / size).T @ (flat / size)
        gram[np.diag_indices_from(gram)] += 1e-12
        x = np.linalg.solve(gram, (flat / size).T @ right.ravel())
        rest = right - (flat / size @ x).reshape(right.shape)
        return float(np.log(np.maximum(np.mean(rest**2, axis=0), 1e-9)).sum())


def _exchanged(regression: Regression, solution: Solution) -> list[Alarm]:
    """Undo exchanges of two columns and flips of one, of torques and of coordinates; does the fit get much better?"""
    model, m = regression.model, regression.model.mechanism
    if model.freedom.closed or m.nq != m.nv or regression.gains or len(regression.curves) > 1:
        return []
    trials, n, names = _Trials(model, solution), m.nv, coordinate_names(m)
    plain, ones = np.arange(n), np.ones(n)
    start = trials.torques(plain, ones)
    found: list[tuple[float, str, str, dict[str, Any]]] = []
    for i in range(n):
        sign = ones.copy()
        sign[i] = -1.0
        for what, score in (("torque", trials.torques), ("coordinate", trials.coordinates)):
            found.append((score(plain, sign), "sign", f'{what} of joint "{names[i]}"', {"joint": names[i]}))
        for j in range(i):
            order = plain.copy()
            order[[i, j]] = j, i
            pair = {"joints": [names[j], names[i]]}
            for what, score in (("torques", trials.torques), ("coordinates", trials.coordinates)):
                text = f'{what} of "{names[j]}" and "{names[i]}"'
                found.append((score(order, ones), "swapped columns", text, pair))
    score, kind, what, evidence = min(found, key=lambda trial: trial[0])
    gain = start - score
    if not gain > _GAIN:
        return []
    verb = "flipped" if kind == "sign" else "exchanged"
    return [
        Alarm(
            kind,
            f"with the {what} {verb} the residual variance falls by a factor of {np.exp(min(gain, 100.0)):.3g}: is the "
            f"{'sign' if kind == 'sign' else 'order of the columns'} right?",
            {**evidence, "gain": gain},
        )
    ]


def _rests(solution: Solution) -> list[Floats]:
    return [rows.y - rows.W @ _of(solution, rows) for rows in solution.rows]


def _of(solution: Solution, rows: Rows) -> Floats:
    x = solution.estimate.parameters
    return x if rows.W.shape[1] == len(x) else x[np.diag(solution.estimate.covariance) > 0.0]


def _log_ends(solution: Solution, rows: Rows) -> NDArray[np.intp]:
    """Places in the rows where another log begins: joined logs have a gap of ten samples between them."""
    time = solution.motion.time
    gaps = np.flatnonzero(np.diff(time) > 7.0 * np.median(np.diff(time))) + 1
    return np.searchsorted(rows.samples, gaps)


def _outliers(model: TorqueModel, solution: Solution) -> list[Alarm]:
    count, worst, when, joint = 0, 0.0, 0.0, ""
    for name, rows, rest in zip(model.rows, solution.rows, _rests(solution), strict=True):
        floor = 1e-9 * float(np.abs(rows.y).max(initial=0.0))
        # Logs have noise of their own: one with a payload has more.
        size = np.concatenate(
            [
                np.abs(part) / max(robust_scale(part), floor, 1e-300)
                for part in np.split(rest, _log_ends(solution, rows))
            ]
        )
        far = size > _OUTLIER
        # A few samples far from the rest, which itself is quiet: a wrong model is wrong everywhere.
        if far.sum() == 0 or far.mean() > 0.03:
            continue
        count += int(far.sum())
        if size.max() > worst:
            worst, joint = float(size.max()), name
            when = float(solution.motion.time[rows.samples[int(np.argmax(size))]])
    if count < _FEWEST_OUTLIERS:
        return []
    return [
        Alarm(
            "outliers",
            f"{count} torques lie beyond {_OUTLIER:g} robust σ, the farthest by {worst:.0f} σ at {when:.4g} s in joint "
            f'"{joint}": remove them, or use loss="huber"',
            {"count": count, "worst": worst, "time": when, "joint": joint},
        )
    ]


def _delay_and_friction(regression: Regression, solution: Solution) -> tuple[list[Alarm], list[Alarm]]:
    """Add a delay and a Stribeck part to every joint's fit; which of them are clear, given the other?"""
    model = regression.model
    if model.freedom.closed or len(regression.curves) > 1:
        return [], []
    motion, time = solution.motion, solution.motion.time
    step = float(np.median(np.diff(time)))
    slope = np.gradient(solution.predicted, time, axis=0)
    base = solution.estimate.parameters
    delays, shapes = [], []
    moving = np.flatnonzero(np.diag(solution.estimate.covariance) > 0.0)
    for j, rows in enumerate(solution.rows):
        velocity = int(model.freedom.free[j])
        if driven(model.mechanism)[velocity] == 0.0:
            continue
        v = motion.v[rows.samples, velocity]
        fastest = float(np.abs(v).max(initial=0.0))
        best: tuple[float, Any] | None = None
        for fraction in (0.02, 0.05, 0.1, 0.2):
            shape = np.sign(v) * np.exp(-np.minimum((v / (fraction * fastest)) ** 2, 700.0))
            extra = [-slope[rows.samples, j], shape]
            W = np.column_stack([rows.W[:, np.linalg.norm(rows.W, axis=0) > 0.0], *extra])
            found = _ordinary(W, rows.y - rows.W @ (base[moving] if rows.W.shape[1] == len(moving) else base))
            if found is not None and (best is None or found[2] < best[0]):
                best = (found[2], (fraction, *found))
        if best is None:
            continue
        fraction, x, sigma, _ = best[1]
        if not regression.delay:
            delays.append((model.rows[j], float(x[-2]), float(sigma[-2])))
        if not regression.stribeck and "coulomb" in model.terms:
            size = float(np.abs(solution.measured[:, j]).max())
            shapes.append((model.rows[j], float(x[-1]), float(sigma[-1]), fraction * fastest, size))
    late, friction = [], []
    if delays:
        weights = np.array([1.0 / max(s, 1e-12) ** 2 for _, _, s in delays])
        common = float(weights @ [d for _, d, _ in delays] / weights.sum())
        sigma = float(1.0 / np.sqrt(weights.sum()))
        if abs(common) > _SURE * sigma and abs(common) > 0.2 * step:
            late.append(
                Alarm(
                    "delay",
                    f"torques lag behind the coordinates by {1e3 * common:.2f} ± {1e3 * sigma:.2f} ms "
                    f"({common / step:.1f} samples): shift them, or identify the delay (delay=True, --delay)",
                    {"delay": common, "std": sigma, "joints": {name: d for name, d, _ in delays}},
                )
            )
    clear = [entry for entry in shapes if abs(entry[1]) > _SURE * entry[2] and abs(entry[1]) > 0.005 * entry[4]]
    if clear:
        name, part, sigma, at, _ = max(clear, key=lambda entry: abs(entry[1]) / max(entry[2], 1e-300))
        friction.append(
            Alarm(
                "friction shape",
                f'dry friction of joint "{name}" {"falls" if part > 0 else "rises"} with speed, by {part:.3g} ± '
                f'{sigma:.2g} from {at:.3g} on: add "+stribeck" to friction',
                {"joint": name, "part": part, "std": sigma, "velocity": at, "joints": [entry[0] for entry in clear]},
            )
        )
    return late, friction


def _ordinary(W: Floats, y: Floats) -> tuple[Floats, Floats, float] | None:
    """Least squares of one joint: solution, σ with autocorrelation, residual variance; None when it is singular."""
    size = np.linalg.norm(W, axis=0)
    if size.min(initial=1.0) == 0.0:
        return None
    scaled = W / size
    gram = scaled.T @ scaled
    values, vectors = np.linalg.eigh(gram)
    # What the joint alone leaves open is left where the whole fit has put it.
    keep = values > 1e-10 * values[-1]
    x = vectors[:, keep] @ ((vectors[:, keep].T @ (scaled.T @ y)) / values[keep])
    rest = y - scaled @ x
    variance = float(rest @ rest) / max(1, len(y) - int(keep.sum()))
    variance = max(variance, (1e-14 * float(np.abs(y).max(initial=0.0)) + 1e-150) ** 2)
    spread = (vectors[:, keep] ** 2 / values[keep]).sum(axis=1)
    # Directions that are not seen do not count as known.
    blind = (vectors[:, ~keep] ** 2).sum(axis=1)
    sigma = np.sqrt(variance * correlation_length(rest) * spread) + np.where(blind > 1e-6, np.inf, 0.0)
    return x / size, sigma / size, variance


def _inconsistent(
    model: TorqueModel, consistent: PhysicallyConsistent, r2: Floats, r2_consistent: Floats
) -> list[Alarm]:
    worst = int(np.argmax(r2 - r2_consistent))
    rest, free = 1.0 - float(r2_consistent[worst]), 1.0 - float(r2[worst])
    prior = model.prior[: model.n_inertial : 10]
    masses = consistent.parameters[::10]
    ratio = masses / np.maximum(prior, 1e-3 * max(float(prior.max(initial=0.0)), 1e-300))
    heavy = int(np.argmax(ratio))
    alarms = []
    if rest > 2.0 * free and rest - free > 0.01:
        alarms.append(
            Alarm(
                "inconsistent",
                f'bodies that can exist explain joint "{model.rows[worst]}" with R² = {r2_consistent[worst]:.4f} only, '
                f"free parameters with {r2[worst]:.4f}: the data contradict the model's geometry, gravity or signs",
                {"joint": model.rows[worst], "r2": float(r2[worst]), "r2_consistent": float(r2_consistent[worst])},
            )
        )
    elif ratio[heavy] > 10.0 and float(masses.sum()) > 3.0 * float(prior.sum()) > 0.0:
        name = model.mechanism.body_names[heavy]
        alarms.append(
            Alarm(
                "inconsistent",
                f'body "{name}" would weigh {masses[heavy]:.3g} kg, {ratio[heavy]:.0f} times the model: check units of '
                "time and torque",
                {"body": name, "mass": float(masses[heavy]), "model": float(prior[heavy])},
            )
        )
    return alarms


def _unexplained(model: TorqueModel, solution: Solution) -> list[Alarm]:
    """Do simple functions of the joint's own motion explain what is left?"""
    found = []
    for j, (rows, rest) in enumerate(zip(solution.rows, _rests(solution), strict=True)):
        velocity = int(model.freedom.free[j])
        if driven(model.mechanism)[velocity] == 0.0 or len(rest) < 100:
            continue
        v = solution.motion.v[rows.samples, velocity]
        q = _coordinate(model, solution.motion.q, velocity)[rows.samples]
        features = np.column_stack(
            [np.ones_like(v), v, v * np.abs(v), v**3, np.abs(v), np.sin(q), np.cos(q), np.sin(2 * q), np.cos(2 * q), q]
        )
        features = features / np.maximum(np.linalg.norm(features, axis=0), 1e-300)
        part = features @ np.linalg.lstsq(features, rest, rcond=1e-10)[0]
        share = float(part @ part) / max(float(rest @ rest), 1e-300)
        length = correlation_length(rest)
        independent = max(len(rest) / length, 1.0)
        # F test with as many samples as are independent.
        chance = features.shape[1] / independent
        size = float(np.sqrt(np.mean(rest**2)) / max(np.abs(solution.measured[:, j]).max(), 1e-300))
        if share > _SHARE and share > 8.0 * chance and size > 1e-4:
            found.append((model.rows[j], share, length))
    if not found:
        return []
    name, share, length = max(found, key=lambda entry: entry[1])
    return [
        Alarm(
            "unexplained",
            f'functions of its own motion explain {100 * share:.0f} % of what is left of the torque of joint "{name}": '
            "the model lacks something (friction, elasticity, offset, a wrong dimension)",
            {"joint": name, "share": share, "correlation": length, "joints": [entry[0] for entry in found]},
        )
    ]


def _worse_than_means(model: TorqueModel, r2: Floats) -> list[Alarm]:
    """Is there a joint whose torque would be predicted better by its mean?"""
    worst = int(np.argmin(r2))
    if not r2[worst] < _WORSE_THAN_MEAN:
        return []
    name = model.rows[worst]
    return [
        Alarm(
            "unexplained",
            f'the fit is worse than the mean torque of joint "{name}" (R² {r2[worst]:.3g}): is its torque in another '
            "unit, or before the gear, or is it not that of this motion?",
            {"joint": name, "r2": float(r2[worst])},
        )
    ]


def _coordinate(model: TorqueModel, q: Floats, velocity: int) -> Floats:
    m = model.mechanism
    for body, in_q, in_v in zip(m.moving, m.q_slices, m.v_slices, strict=True):
        if in_v.start <= velocity < in_v.stop and body.joint.nq == body.joint.nv:
            return q[:, in_q.start + velocity - in_v.start]
    return np.zeros(len(q))
