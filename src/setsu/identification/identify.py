"""`identify`: from a measured motion to base parameters with standard deviations, and to bodies that can exist."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import require_mechanism
from setsu.errors import InputError
from setsu.identification.fit import Fit, Validation
from setsu.identification.least_squares import Estimate, Rows, essential, estimate, unexcited
from setsu.identification.motion import MeasuredMotion, SmoothMotion, measured_motion, smooth_motion
from setsu.identification.physically_consistent import physically_consistent
from setsu.identification.torque_model import TorqueModel, torque_model
from setsu.mechanism import Mechanism

__all__ = ["identify", "identify_motion"]

Floats = NDArray[np.float64]

# Singular values of the scaled columns below this share of the largest: the motion leaves a combination open.
_WEAKEST = 1e-5
# A joint whose velocity is within so many standard deviations of zero may move either way: no Coulomb friction there.
_SURE_OF_SIGN = 3.0
# A joint has to move by so many standard deviations of its coordinate.
_CLEAR_OF_NOISE = 10.0
_LEAST_RATIO = 2.0
_FOLDS = 5


def identify(
    mechanism: Mechanism,
    time: ArrayLike,
    q: ArrayLike,
    tau: ArrayLike,
    v: ArrayLike | None = None,
    friction: str = "coulomb+viscous",
    *,
    drive_inertia: bool = True,
    knot_distance: float | None = None,
    prior_weight: float = 1.0,
) -> Fit:
    """Return the base parameters that explain measured torques, with standard deviations.

    Args:
        mechanism: geometry, gravity and springs are taken from it as known; its inertias, drive inertias and frictions
            are the prior of the physically consistent parameters. With loops or couplings q and tau hold all joints
            (tau zero where there is no drive).
        time: (T,), s, strictly increasing.
        q: coordinates (T, nq), rad or m.
        tau: torques (T, nv), N m or N.
        v: velocities (T, nv) if they were measured; otherwise they follow from q.
        friction: terms to identify, joined by "+": "viscous", "coulomb", "offset"; or "none".
        drive_inertia: identify the inertia of the drives too, where it can be told from that of the links.
        knot_distance: of the smoothing splines, s; None lets the data choose.
        prior_weight: how much the prior counts for the physically consistent parameters; 1 trusts it to about 100 %.

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
    motion = measured_motion(mechanism, time, q, tau, v)
    return identify_motion(
        mechanism, motion, friction, drive_inertia=drive_inertia, knot_distance=knot_distance, prior_weight=prior_weight
    )


def identify_motion(
    mechanism: Mechanism,
    motion: MeasuredMotion,
    friction: str = "coulomb+viscous",
    *,
    drive_inertia: bool = True,
    knot_distance: float | None = None,
    prior_weight: float = 1.0,
) -> Fit:
    """Do what `identify` does, with a motion that has been read and checked already."""
    if not (isinstance(prior_weight, int | float) and np.isfinite(prior_weight) and prior_weight > 0.0):
        raise InputError(f"identify: prior_weight: expected a positive number, got {prior_weight!r}")
    model = torque_model(mechanism, friction, bool(drive_inertia), motion.q[0])
    smooth = smooth_motion(mechanism, motion, knot_distance)
    _refuse_standing_joints(model, motion.source, smooth)
    joints = _rows(model, smooth)
    condition = _refuse_unexciting(model, motion.source, joints)
    everything = estimate(joints)
    kept, reduced = essential(joints, everything, _LEAST_RATIO)
    measured = model.freedom.reduce_torque(smooth.q, smooth.tau)
    return Fit(
        model=model,
        source=motion.source,
        friction=friction,
        motion=smooth,
        measured=measured,
        parameters=everything.parameters,
        std=everything.std,
        covariance=everything.covariance,
        essential=kept,
        essential_parameters=reduced,
        noise=np.sqrt(everything.variance),
        correlation=everything.correlation,
        condition_number=condition,
        r2=_r2(joints, everything.parameters),
        r2_unseen=_r2_unseen(joints, everything),
        physically_consistent=physically_consistent(model, everything, prior_weight),
    )


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


def _refuse_standing_joints(model: TorqueModel, source: str, motion: SmoothMotion) -> None:
    """A joint that does not stand out from its noise tells nothing about its parameters; name it before the algebra."""
    m = model.mechanism
    span = np.ptp(motion.q, axis=0)
    for name, joint, in_q, in_v in zip(
        m.joint_names, (body.joint for body in m.moving), m.q_slices, m.v_slices, strict=True
    ):
        if joint.nq != joint.nv:
            continue
        still = span[in_q] <= _CLEAR_OF_NOISE * motion.position_noise[in_v] + 1e-12
        if np.any(still):
            raise InputError(
                f'{source}: joint "{name}" does not move (q within {span[in_q][still][0]:.2g} of '
                f"{motion.q[0, in_q][still][0]:.6g}), so that its parameters stay unknown; "
                "move it, or hold it (setsu.lock_joints; --lock on the command line)"
            )


def _rows(model: TorqueModel, motion: SmoothMotion) -> list[Rows]:
    W = model.regressor(motion.q, motion.v, motion.a)
    measured = model.freedom.reduce_torque(motion.q, motion.tau)
    y = measured - model.known_torque(motion.q, motion.v, motion.a)
    least = _SURE_OF_SIGN * motion.velocity_noise if "coulomb" in model.terms else -1.0
    sure = np.asarray(np.abs(motion.v) > least)
    if model.freedom.closed:
        # Friction of any joint reaches every free velocity.
        sure = np.repeat(np.all(sure, axis=1, keepdims=True), len(model.rows), axis=1)
    rows = [np.flatnonzero(sure[:, j]) for j in range(len(model.rows))]
    for name, chosen in zip(model.rows, rows, strict=True):
        if len(chosen) < 10:
            raise InputError(
                f'identify: joint "{name}" moves by no more than the noise of its velocity in all but {len(chosen)} '
                "samples; expected a motion that stands out from the noise"
            )
        if np.ptp(measured[:, model.rows.index(name)]) == 0.0:
            raise InputError(
                f'identify: the torque of joint "{name}" is {measured[0, model.rows.index(name)]:g} throughout; '
                "expected a measured one (is its column the right one?)"
            )
    return [Rows(W[chosen, j], y[chosen, j], chosen) for j, chosen in enumerate(rows)]


def _refuse_unexciting(model: TorqueModel, source: str, joints: list[Rows]) -> float:
    if sum(len(rows.y) for rows in joints) <= len(model.names):
        raise InputError(
            f"{source}: {sum(len(rows.y) for rows in joints)} torques for {len(model.names)} parameters; "
            "expected a longer log"
        )
    condition, open_ones = unexcited(joints, _WEAKEST)
    if open_ones:
        named = [model.labels[k] for k in open_ones]
        listed = ", ".join(named[:6]) + (f" and {len(named) - 6} more" if len(named) > 6 else "")
        whose = sorted({joint for k in open_ones for joint in _joints_of(model, k)})
        raise InputError(
            f"{source}: the motion does not excite the mechanism enough to tell these parameters apart: {listed}; "
            f"concerned {'joint' if len(whose) == 1 else 'joints'}: {', '.join(whose)}. "
            "Move every joint, all at once and in both directions (setsu.excitation_trajectory), "
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


def _r2_unseen(joints: list[Rows], everything: Estimate) -> Floats:
    """R² of five parts of the time, each predicted from the other four with the weights of the whole."""
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
