"""The paper's computations and control experiments; each returns a record that tables and figures read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.constraints import ConstrainedDynamics, constrained_dynamics
from setsu.control import Controller, FeedForward, ForceFeedback, ForceSensor, JointFeedback, SampledMotion, Squeeze
from setsu.control import mismatched as wrong_by
from setsu.dynamics import body_poses, inverse_dynamics, point_jacobian
from setsu.mechanism import Mechanism
from setsu.nodal import HeldObject, TipForce, nodal_inverse_dynamics
from setsu.reproduce.isobe2003 import systems
from setsu.reproduce.isobe2003.systems import GRIPS, MOTORS, OBJECT_INERTIA, OBJECT_MASS, Motion
from setsu.simulation import simulate

__all__ = [
    "GRIP",
    "STEPS",
    "Accuracy",
    "GripControl",
    "Steadiness",
    "Tracking",
    "WallTrace",
    "accuracy",
    "grip_control",
    "steadiness",
    "wall_tracing",
]

Floats = NDArray[np.float64]
Progress = Callable[[str, float], None]

GRIP = 0.5
"""Force between the hands (N), as printed."""
PERIOD, DELAY, MASS_ERROR = 0.002, 0.002, 0.1
"""Of the controllers: sampling period and delay (s), relative error of all masses they reckon with."""
STEPS = (25, 50, 100, 200, 400, 800)


@dataclass(frozen=True)
class Accuracy:
    """Torques of a motion by exact Newton-Euler (T, n) and by the nodal schemes at several numbers of steps.

    curves: by number of steps, time (T,) and torque (T, n). errors: by scheme, over the largest torque, at STEPS.
    """

    time: Floats
    exact: Floats
    curves: dict[int, tuple[Floats, Floats]]
    errors: dict[str, Floats]

    def order(self, scheme: str) -> float:
        """Order of a scheme between the two largest numbers of steps."""
        return float(np.log2(self.errors[scheme][-2] / self.errors[scheme][-1]))


def accuracy(m: Mechanism) -> Accuracy:
    """Compare the schemes on sines, and Newmark also on a motion whose acceleration jumps at the start."""
    curves, central, smooth, jumping = {}, [], [], []
    for steps in STEPS:
        motion = systems.waves(m, steps + 1)
        found = nodal_inverse_dynamics(m, motion.time, motion.q)
        curves[steps] = (motion.time, found)
        central.append(_relative(found, _exact(m, motion)))
        # The recurrence needs the rate of the acceleration to be small at the start, or it oscillates for ever.
        sawtooth = nodal_inverse_dynamics(m, motion.time, motion.q, "newmark", v=motion.v, a=motion.a)
        jumping.append(_relative(sawtooth, _exact(m, motion)))
        gentle = _gentle(m, steps + 1)
        smooth.append(_relative(nodal_inverse_dynamics(m, gentle.time, gentle.q, "newmark"), _exact(m, gentle)))
    fine = systems.waves(m, STEPS[-1] + 1)
    errors = {"central": central, "newmark, smooth start": smooth, "newmark, jerk at the start": jumping}
    return Accuracy(fine.time, _exact(m, fine), curves, {key: np.array(value) for key, value in errors.items()})


def _exact(m: Mechanism, motion: Motion) -> Floats:
    return inverse_dynamics(m, motion.q, motion.v, motion.a)


def _relative(found: Floats, exact: Floats) -> float:
    return float(np.abs(found - exact).max() / np.abs(exact).max())


def _gentle(m: Mechanism, samples: int) -> Motion:
    """t⁵ (6 - 5 t): velocity, acceleration, jerk and its rate are zero at the start."""
    t, size = np.linspace(0.0, 1.0, samples), np.linspace(0.5, 1.0, m.nv)
    parts = (6 * t**5 - 5 * t**6, 30 * t**4 - 30 * t**5, 120 * t**3 - 150 * t**4)
    return Motion(t, *(np.outer(part, size) for part in parts))


@dataclass(frozen=True)
class WallTrace:
    """Figs 8-9: time (T,); torques (T, 3) of the dynamics, of the push by a Jacobian, and of both by nodal forces."""

    time: Floats
    dynamics: Floats
    push: Floats
    nodal: Floats

    @property
    def difference(self) -> float:
        """Largest difference between nodal torques and the sum of the others, relative to the largest torque."""
        return _relative(self.nodal, self.dynamics + self.push)


def wall_tracing(steps: int = 400) -> WallTrace:
    """Trace a wall upwards in 4 s while pressing on it with 10 N."""
    m = systems.three_links()
    motion = systems.wall_trace(m, steps + 1)
    force = np.array([10.0, 0.0, 0.0])
    J = point_jacobian(m, motion.q, "link3", (0.3, 0.0, 0.0))
    nodal = nodal_inverse_dynamics(m, motion.time, motion.q, tip_forces={"link3": TipForce((0.3, 0.0, 0.0), force)})
    return WallTrace(motion.time, _exact(m, motion), np.einsum("tij,i->tj", J, force), nodal)


@dataclass(frozen=True)
class Tracking:
    """A simulated experiment: time (T,), angles and targets of the motors (T, 4), their torques (T, 4)."""

    time: Floats
    q: Floats
    target: Floats
    torque: Floats

    @property
    def rms(self) -> float:
        """Root mean square of all angle errors, rad."""
        return float(np.sqrt(np.mean((self.q - self.target) ** 2)))


@dataclass(frozen=True)
class Steadiness:
    """Figs 5-7: torques found for the motion (T, 4); feedback alone, and with feed-forward."""

    time: Floats
    torque: Floats
    feedback: Tracking
    both: Tracking

    @property
    def ratio(self) -> float:
        """RMS error with feed-forward over the one without."""
        return self.both.rms / self.feedback.rms


def steadiness(progress: Progress, seconds: float = 1.5) -> Steadiness:
    """Hold the closed part still while the branch shakes its weight."""
    m = systems.branched_closed_system()
    model = wrong_by(m, MASS_ERROR)
    motion = systems.shaking_branch(m, round(seconds / PERIOD) + 1, seconds)
    columns = [m.joint_index(name) for name in MOTORS]
    feedback = JointFeedback(m, SampledMotion(*_parts(motion)), 10.0, 0.5, 20.0, joints=MOTORS)
    ahead = FeedForward.from_motion(model, motion.time, motion.q, method="nodal", actuated=MOTORS)
    runs = []
    for number, law in enumerate((feedback, feedback + ahead)):
        rec = simulate(
            m, motion.q[0], motion.v[0], seconds, PERIOD, torque=law.sampled(PERIOD, delay=DELAY),
            progress=lambda text, part, number=number: progress(text, 0.5 * (number + part)),
        )  # fmt: skip
        runs.append(Tracking(rec.time, rec.q[:, columns], motion.q[:, columns], rec.torque[:, columns]))
    found = nodal_inverse_dynamics(m, motion.time, motion.q, actuated=MOTORS)
    return Steadiness(motion.time, found[:, columns], *runs)


def _parts(motion: Motion) -> tuple[Floats, Floats, Floats, Floats]:
    return motion.time, motion.q, motion.v, motion.a


@dataclass(frozen=True)
class GripControl:
    """Figs 11-15: two arms swing an object.

    torque (T, 4): found for the motion; force_part (T, 4): what of it is for the grip alone. returned: relative error
    of the accelerations these torques give in the closed mechanism; returned_grip: largest error (N) of the grip then.
    both, feedback: simulated with and without feed-forward; grip, grip_feedback (T,): forces between the hands, N.
    hands: targets of the two hands (T, 2, 2), m.
    """

    time: Floats
    torque: Floats
    force_part: Floats
    returned: float
    returned_grip: float
    both: Tracking
    feedback: Tracking
    grip: Floats
    grip_feedback: Floats
    hands: Floats

    @property
    def ratio(self) -> float:
        """RMS error with feed-forward over the one without."""
        return self.both.rms / self.feedback.rms


def grip_control(progress: Progress, seconds: float = systems.SWING_SECONDS) -> GripControl:
    """Swing the object with position feedback (7), force feedback (8) and feed-forward, and without the last."""
    closed, arms = systems.two_arms_with_object(), systems.two_arms()
    motion = systems.object_swing(round(systems.SWING_SECONDS / PERIOD) + 1)
    motors = Motion(motion.time, motion.q[:, :4], motion.v[:, :4], motion.a[:, :4])
    torque = _hold(arms, motors, GRIP, "given")
    back = constrained_dynamics(closed, motion.q, motion.v, np.column_stack([torque, np.zeros(len(torque))]))
    squeeze = Squeeze(arms, *GRIPS)
    grip_back = _grip(closed, squeeze, back.joint_wrenches, back.loop_wrench, motion.q)

    model = wrong_by(arms, MASS_ERROR)
    planned = _hold(model, motors, GRIP, "central", 1.0 + MASS_ERROR)
    runs, grips = [], []
    for number, ahead in enumerate((FeedForward(motors.time, planned), None)):

        def read(result: ConstrainedDynamics, q: Floats) -> Floats:
            return _grip(closed, squeeze, result.joint_wrenches[None], result.loop_wrench[None], q[None])

        sensor = ForceSensor(closed, measure=read)
        law = JointFeedback(arms, SampledMotion(*_parts(motors)), 10.0, 0.5)
        law = law + ForceFeedback(squeeze, GRIP, sensor, 0.5)
        law = law if ahead is None else law + ahead
        driven = _Motors(law).sampled(PERIOD, delay=DELAY, sensor=sensor, initial=np.append(torque[0], 0.0))
        rec = simulate(
            closed, motion.q[0], motion.v[0], seconds, PERIOD, torque=driven,
            progress=lambda text, part, number=number: progress(text, 0.5 * (number + part)),
        )  # fmt: skip
        runs.append(Tracking(rec.time, rec.q[:, :4], motors.q[: len(rec.time)], rec.torque[:, :4]))
        grips.append(_grip(closed, squeeze, rec.joint_wrenches, rec.loop_wrench, rec.q))
    return GripControl(
        time=motion.time,
        torque=torque,
        force_part=torque - _hold(arms, motors, 0.0, "given"),
        returned=float(np.abs(back.acceleration - motion.a).max() / np.abs(motion.a).max()),
        returned_grip=float(np.abs(grip_back - GRIP).max()),
        both=runs[0],
        feedback=runs[1],
        grip=grips[0],
        grip_feedback=grips[1],
        hands=np.stack([_hand(arms, motors.q, *grip) for grip in GRIPS], axis=1),
    )


class _Motors(Controller):
    """A law of the four motors on the mechanism with the object, whose wrist has none."""

    def __init__(self, law: Controller) -> None:
        self.law = law

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torques of the motors and none for the wrist."""
        return np.append(self.law(t, q[:4], v[:4]), 0.0)


def _hold(arms: Mechanism, motion: Motion, grip: float, scheme: str, heavier: float = 1.0) -> Floats:
    """Torques (T, 4) that move the arms and hold the object between them."""
    thing = HeldObject(heavier * OBJECT_MASS, GRIPS, heavier * OBJECT_INERTIA, grip_force=grip)
    v, a = (motion.v, motion.a) if scheme == "given" else (None, None)
    return nodal_inverse_dynamics(arms, motion.time, motion.q, scheme, v=v, a=a, held_objects=[thing])


def _grip(m: Mechanism, squeeze: Squeeze, joint_wrenches: Floats, loop_wrench: Floats, q: Floats) -> Floats:
    """Force (T,) with which the hands press on the object from both sides, N; wrenches in world axes."""
    u = np.array([squeeze.line(row[:4]) for row in q])
    left, right = joint_wrenches[:, m.body_names.index("object"), :3], loop_wrench[:, 0, :3]
    return 0.5 * np.sum((left - right) * u, axis=1)


def _hand(m: Mechanism, q: Floats, body: str, point: tuple[float, float, float]) -> Floats:
    pose = body_poses(m, q)[:, m.body_names.index(body)]
    return (pose[:, :3, :3] @ np.array(point) + pose[:, :3, 3])[:, :2]
