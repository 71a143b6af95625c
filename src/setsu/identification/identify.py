"""`identify`: from measured motions to base parameters with standard deviations, and to bodies that can exist."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import require_mechanism
from setsu.errors import InputError, ModelWarning, nearest_names
from setsu.identification.alarms import Alarm, checked_kinds, fit_alarms
from setsu.identification.fit import Fit, Further, Validation
from setsu.identification.least_squares import Estimate, Rows, essential, unexcited
from setsu.identification.log_alarms import log_alarms
from setsu.identification.motion import MeasuredMotion, MotionCurves, measured_motion, smooth_motion
from setsu.identification.payload import Payload
from setsu.identification.physically_consistent import PhysicallyConsistent, physically_consistent
from setsu.identification.regression import Regression, Solution
from setsu.identification.torque_model import TorqueModel, driven, friction_terms, torque_model
from setsu.mechanism import Mechanism

__all__ = ["identify", "identify_motion"]

Floats = NDArray[np.float64]

# Singular values of the scaled columns below this share of the largest: the motion leaves a combination open.
_WEAKEST = 1e-5
# A joint has to move by so many standard deviations of its coordinate.
_CLEAR_OF_NOISE = 10.0
_LEAST_RATIO = 2.0
_FOLDS = 5
_LOSSES = ("squares", "huber")


def identify(
    mechanism: Mechanism,
    time: ArrayLike | Sequence[ArrayLike],
    q: ArrayLike | Sequence[ArrayLike],
    tau: ArrayLike | Sequence[ArrayLike],
    v: ArrayLike | Sequence[ArrayLike] | None = None,
    friction: str = "coulomb+viscous",
    *,
    drive_inertia: bool = True,
    knot_distance: float | None = None,
    prior_weight: float = 1.0,
    payload: Payload | Sequence[Payload | None] | None = None,
    external_wrenches: ArrayLike | Sequence[ArrayLike | None] | None = None,
    delay: bool = False,
    drive_gains: bool = False,
    loss: str = "squares",
    accept: Iterable[str] = (),
) -> Fit:
    """Return the base parameters that explain measured torques, with standard deviations.

    Args:
        mechanism: geometry, gravity and springs are taken from it as known; its inertias, drive inertias and frictions
            are the prior of the physically consistent parameters. With loops or couplings q and tau hold all joints
            (tau zero where there is no drive).
        time: (T,), s, strictly increasing. For several logs, lists of arrays: here and in all that follow.
        q: coordinates (T, nq), rad or m.
        tau: torques (T, nv), N m or N; with drive_gains the drives' signals, such as currents. Zero for the six rows
            of a free base.
        v: velocities (T, nv) if they were measured; otherwise they follow from q.
        friction: terms to identify, joined by "+": "viscous", "coulomb", "offset", "stribeck"; or "none".
        drive_inertia: identify the inertia of the drives too, where it can be told from that of the links.
        knot_distance: of the smoothing splines, s; None lets the data choose.
        prior_weight: how much the prior counts for the physically consistent parameters; 1 trusts it to about 100 %.
        payload: what the mechanism carries, known or not; a list with one entry per log, None for an empty hand.
        external_wrenches: (T, n_bodies, 6) measured wrenches on the bodies at their origins, world axes.
        delay: identify by how much torques lag behind coordinates.
        drive_gains: identify torque per signal of every drive; needs a log with a payload of known mass.
        loss: "squares", or "huber", which makes less of outliers.
        accept: kinds of alarms that become notes (`fit.notes`) instead of `fit.alarms`.

    What is wrong with the data is in `fit.alarms` and raised as ModelWarning, one for each.

    Raises:
        InputError: bad arrays or time stamps, by sample; a motion that leaves parameters open, by joint.

    >>> import numpy as np, setsu
    >>> m = setsu.sample_mechanisms.planar_arm(2)
    >>> motion = setsu.excitation_trajectory(m, duration=5.0)
    >>> tau = setsu.inverse_dynamics(m, motion.q, motion.v, motion.a)
    >>> fit = setsu.identify(m, motion.time, motion.q, tau)
    >>> bool((fit.r2 > 0.999).all() and fit.physically_consistent)
    True
    """
    require_mechanism(mechanism, "identify")
    motions = _motions(mechanism, time, q, tau, v, payload, external_wrenches)
    fit = identify_motion(
        mechanism, motions, friction, drive_inertia=drive_inertia, knot_distance=knot_distance,
        prior_weight=prior_weight, delay=delay, drive_gains=drive_gains, loss=loss, accept=accept,
    )  # fmt: skip
    for alarm in fit.alarms:
        warnings.warn(f"identify: {alarm}", ModelWarning, stacklevel=2)
    return fit


def _motions(m: Mechanism, time: Any, q: Any, tau: Any, v: Any, payload: Any, wrenches: Any) -> list[MeasuredMotion]:
    """Take apart several logs."""
    if not (isinstance(time, list | tuple) and len(time) and np.ndim(time[0]) == 1):
        return [measured_motion(m, time, q, tau, v, payload=payload, wrenches=wrenches)]
    parts: list[list[Any]] = []
    for name, value in (("q", q), ("tau", tau), ("v", v), ("payload", payload), ("external_wrenches", wrenches)):
        if value is None or isinstance(value, Payload):
            value = [value] * len(time)
        if not isinstance(value, list | tuple) or len(value) != len(time):
            raise InputError(f"identify: {name}: expected a list of {len(time)} entries, one per log")
        parts.append(list(value))
    return [
        measured_motion(m, t, *entries[:3], source=f"log {k + 1}", payload=entries[3], wrenches=entries[4])
        for k, (t, *entries) in enumerate(zip(time, *parts, strict=True))
    ]


def identify_motion(
    mechanism: Mechanism,
    motions: MeasuredMotion | Sequence[MeasuredMotion],
    friction: str = "coulomb+viscous",
    *,
    drive_inertia: bool = True,
    knot_distance: float | None = None,
    prior_weight: float = 1.0,
    delay: bool = False,
    drive_gains: bool = False,
    loss: str = "squares",
    accept: Iterable[str] = (),
) -> Fit:
    """Do what `identify` does, with motions that have been read and checked already; alarms are not raised."""
    logs = [motions] if isinstance(motions, MeasuredMotion) else list(motions)
    if not (isinstance(prior_weight, int | float) and np.isfinite(prior_weight) and prior_weight > 0.0):
        raise InputError(f"identify: prior_weight: expected a positive number, got {prior_weight!r}")
    if loss not in _LOSSES:
        raise InputError(f"identify: loss: unknown {loss!r}{nearest_names(str(loss), _LOSSES)}")
    accepted = checked_kinds("identify", accept)
    words = friction_terms(friction)
    model = torque_model(mechanism, friction, bool(drive_inertia), logs[0].q[0])
    curves = [MotionCurves(mechanism, motion, knot_distance) for motion in logs]
    alarms = [alarm for curve in curves for alarm in log_alarms(mechanism, curve)]
    try:
        for curve in curves:
            _refuse_standing_still(mechanism, curve)
        if len(curves) == 1:
            _refuse_standing_joints(model, curves[0])
        regression = Regression(
            model, curves, stribeck="stribeck" in words, delay=bool(delay), gains=bool(drive_gains),
            robust=loss == "huber",
        )  # fmt: skip
        condition = _refuse_poor_rows(regression)
        solution = regression.solve()
        base = _base(solution.estimate, len(model.names))
        consistent = physically_consistent(model, base, prior_weight)
    except (InputError, np.linalg.LinAlgError) as error:
        raise InputError(
            "; ".join([str(error), *(f"the log also has an alarm: {alarm}" for alarm in alarms)])
        ) from None
    kept, reduced = essential(_base_rows(solution, len(model.names)), base, _LEAST_RATIO)
    r2 = _r2(solution.rows, _moving(solution))
    r2_consistent = _r2_consistent(solution, consistent)
    alarms += fit_alarms(regression, solution, consistent, r2, r2_consistent)
    return Fit(
        model=model,
        source=" + ".join(motion.source for motion in logs),
        friction=friction,
        motion=solution.motion,
        measured=solution.measured,
        predicted=solution.predicted,
        parameters=base.parameters,
        std=base.std,
        covariance=base.covariance,
        essential=kept,
        essential_parameters=reduced,
        further=_further(regression, solution.estimate),
        payloads=regression.identified_payloads(solution.estimate),
        noise=np.sqrt(solution.estimate.variance),
        correlation=solution.estimate.correlation,
        condition_number=condition,
        r2=r2,
        r2_unseen=_r2_unseen(solution),
        r2_consistent=r2_consistent,
        physically_consistent=consistent,
        alarms=tuple(alarm for alarm in _sorted(alarms) if alarm.kind not in accepted),
        notes=tuple(alarm for alarm in _sorted(alarms) if alarm.kind in accepted),
    )


def _sorted(alarms: list[Alarm]) -> list[Alarm]:
    """One per kind, the first that was found."""
    return list({alarm.kind: alarm for alarm in reversed(alarms)}.values())[::-1]


def _base(found: Estimate, b: int) -> Estimate:
    return Estimate(found.parameters[:b], found.covariance[:b, :b], found.variance, found.correlation)


def _moving(solution: Solution) -> Floats:
    """The unknowns that the rows have columns for: all but those that were held."""
    x = solution.estimate.parameters
    width = solution.rows[0].W.shape[1]
    return x if width == len(x) else x[np.diag(solution.estimate.covariance) > 0.0]


def _base_rows(solution: Solution, b: int) -> list[Rows]:
    """Rows of the base parameters alone, everything else where it was found."""
    x = _moving(solution)
    return [Rows(rows.W[:, :b], rows.y - rows.W[:, b:] @ x[b:], rows.samples) for rows in solution.rows]


def _further(regression: Regression, found: Estimate) -> Further:
    """Unknowns beside base parameters and payloads, in the units a reader expects."""
    names, values, std = [], [], []
    for what, unit in (("fs", "fs"), ("vs", "vs"), ("signal", "gain"), ("delay", "delay")):
        where = regression.places[what]
        for name, value, sigma in zip(regression.names[where], found.parameters[where], found.std[where], strict=True):
            if what == "vs":
                value, sigma = float(np.exp(value)), float(np.exp(value) * sigma)
            elif what == "signal":
                value, sigma = 1.0 / value, sigma / value**2
            suffix = name.split("_", {"fs": 1, "vs": 2, "signal": 3, "delay": 0}[what])[-1]
            names.append(what if what == "delay" else f"{unit}_{suffix}")
            values.append(float(value))
            std.append(float(sigma))
    return Further(tuple(names), np.array(values), np.array(std))


def validate(fit: Fit, time: ArrayLike, q: ArrayLike, tau: ArrayLike, v: ArrayLike | None, parameters: str) -> Any:
    """Compare the predicted torques with those of another motion."""
    return validate_motion(fit, measured_motion(fit.model.mechanism, time, q, tau, v, source="validate"), parameters)


def validate_motion(fit: Fit, motion: MeasuredMotion, parameters: str = "least_squares") -> Validation:
    """Do what `Fit.validate` does, with a motion that has been read and checked already."""
    model = fit.model
    smooth = smooth_motion(model.mechanism, motion, None)
    measured = model.freedom.reduce_torque(smooth.q, smooth.tau)
    predicted = fit.predict(smooth.q, smooth.v, smooth.a, parameters)
    rest = measured - predicted
    spread = np.sum((measured - measured.mean(axis=0)) ** 2, axis=0)
    return Validation(
        source=motion.source,
        time=smooth.time,
        measured=measured,
        predicted=predicted,
        r2=1.0 - np.sum(rest**2, axis=0) / np.maximum(spread, 1e-300),
        rms=np.sqrt(np.mean(rest**2, axis=0)),
    )


def _refuse_standing_still(m: Mechanism, curve: MotionCurves) -> None:
    """A log in which nothing moves says so, before any joint is blamed."""
    motion = curve.at()
    span = [
        np.ptp(motion.q[:, in_q], axis=0).max() - _CLEAR_OF_NOISE * curve.position_noise[in_v].max()
        for in_q, in_v in zip(m.q_slices, m.v_slices, strict=True)
    ]
    if max(span) <= 1e-9:
        raise InputError(
            f"{curve.motion.source}: the mechanism stands still throughout ({len(motion.time)} samples); expected a "
            "motion of all joints (setsu.excitation_trajectory)"
        )


def _refuse_standing_joints(model: TorqueModel, curve: MotionCurves) -> None:
    """A joint that does not stand out from its noise says nothing about its parameters; name it before the algebra."""
    m, motion = model.mechanism, curve.at()
    span = np.ptp(motion.q, axis=0)
    for name, joint, in_q, in_v in zip(
        m.joint_names, (body.joint for body in m.moving), m.q_slices, m.v_slices, strict=True
    ):
        if joint.nq != joint.nv:
            continue
        still = span[in_q] <= _CLEAR_OF_NOISE * motion.position_noise[in_v] + 1e-12
        if np.any(still):
            raise InputError(
                f'{curve.motion.source}: joint "{name}" does not move (q within {span[in_q][still][0]:.2g} of '
                f"{motion.q[0, in_q][still][0]:.6g}), so that its parameters stay unknown; "
                "move it, or hold it (setsu.lock_joints; --lock on the command line)"
            )


def _refuse_poor_rows(regression: Regression) -> float:
    """Refuse rows that cannot be solved, by joint and parameter; return the condition number."""
    model = regression.model
    rows, _, measured, _ = regression.rows(regression.start())
    free = driven(model.mechanism)[model.freedom.free] == 0.0
    for j, name in enumerate(model.rows):
        if len(rows[j].y) < 10:
            raise InputError(
                f'identify: joint "{name}" moves by no more than the noise of its velocity in all but {len(rows[j].y)} '
                "samples; expected a motion that stands out from the noise"
            )
        if np.ptp(measured[:, j]) == 0.0 and not free[j]:
            raise InputError(
                f'identify: the torque of joint "{name}" is {measured[0, j]:g} throughout; '
                "expected a measured one (is its column the right one?)"
            )
    linear = slice(0, regression.places["payload"].stop)
    columns = [Rows(r.W[:, linear], r.y, r.samples) for r in rows]
    return _refuse_unexciting(regression, columns)


def _refuse_unexciting(regression: Regression, joints: list[Rows]) -> float:
    model, source = regression.model, " + ".join(curve.motion.source for curve in regression.curves)
    count = joints[0].W.shape[1]
    if sum(len(rows.y) for rows in joints) <= count:
        raise InputError(
            f"{source}: {sum(len(rows.y) for rows in joints)} torques for {count} parameters; expected a longer log"
        )
    condition, open_ones = unexcited(joints, _WEAKEST)
    if open_ones:
        labels = [*model.labels, *regression.names[len(model.names) :]]
        named = [labels[k] for k in open_ones]
        listed = ", ".join(named[:6]) + (f" and {len(named) - 6} more" if len(named) > 6 else "")
        whose = sorted({joint for k in open_ones if k < len(model.names) for joint in _joints_of(model, k)})
        concerned = f"; concerned {'joint' if len(whose) == 1 else 'joints'}: {', '.join(whose)}" if whose else ""
        raise InputError(
            f"{source}: the motion does not excite the mechanism enough to tell these parameters apart: {listed}"
            f"{concerned}. Move every joint, all at once and in both directions (setsu.excitation_trajectory), "
            "or identify fewer terms"
        )
    return condition


def _joints_of(model: TorqueModel, base: int) -> list[str]:
    m, column = model.mechanism, int(model.independent[base])
    if column < model.n_inertial:
        return [m.joint_names[column // 10]]
    return [model.full_names[column].split("_", 1)[1]]


def _r2(joints: list[Rows], beta: Floats) -> Floats:
    """1 - residual / spread of the torque, per joint."""
    rest = np.array([np.sum((rows.y - rows.W @ beta) ** 2) for rows in joints])
    spread = np.array([np.sum((rows.y - rows.y.mean()) ** 2) for rows in joints])
    return 1.0 - rest / np.maximum(spread, 1e-300)


def _r2_consistent(solution: Solution, consistent: PhysicallyConsistent) -> Floats:
    """R² with the base parameters of bodies that can exist, everything else as it was found."""
    x = _moving(solution).copy()
    x[: len(consistent.base_parameters)] = consistent.base_parameters
    return _r2(solution.rows, x)


def _r2_unseen(solution: Solution) -> Floats:
    """R² of five parts of the time, each predicted from the other four with the weights of the whole."""
    joints, everything = solution.rows, solution.estimate
    last = max(int(rows.samples[-1]) for rows in joints) + 1
    weights = 1.0 / (everything.variance * everything.correlation)
    rest = np.zeros(len(joints))
    for part in range(_FOLDS):
        left_out = [rows.samples * _FOLDS // last == part for rows in joints]
        triples = list(zip(weights, joints, left_out, strict=True))
        A = np.sum([w * (r.gram - r.W[k].T @ r.W[k]) for w, r, k in triples], axis=0)
        right = np.sum([w * (r.right - r.W[k].T @ r.y[k]) for w, r, k in triples], axis=0)
        scale = 1.0 / np.sqrt(np.maximum(np.diag(A), 1e-300))
        # The other parts alone may leave a combination open: the shortest solution then.
        beta = scale * np.linalg.lstsq(A * scale * scale[:, None], scale * right, rcond=1e-12)[0]
        rest += [np.sum((r.y[k] - r.W[k] @ beta) ** 2) for r, k in zip(joints, left_out, strict=True)]
    spread = np.array([np.sum((rows.y - rows.y.mean()) ** 2) for rows in joints])
    return 1.0 - rest / np.maximum(spread, 1e-300)
