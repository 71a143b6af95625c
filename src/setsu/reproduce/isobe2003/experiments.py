"""The paper's computations and control experiments; each returns a record that tables and figures read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from setsu.constraints import ConstrainedDynamics, constrained_dynamics
from setsu.control import Controller, FeedForward, ForceFeedback, ForceSensor, JointFeedback, SampledMotion, Squeeze
from setsu.control import mismatched as wrong_by
from setsu.dynamics import body_poses, inverse_dynamics, point_jacobian
from setsu.errors import InputError
from setsu.mechanism import Cylindrical, Helical, Mechanism, Planar, Prismatic, Revolute, Universal
from setsu.nodal import (
    HeldObject,
    NodalStepper,
    TipForce,
    member_length_matrix,
    nodal_forces,
    nodal_inverse_dynamics,
)
from setsu.reproduce.isobe2003 import systems
from setsu.reproduce.isobe2003.systems import GRIPS, MOTORS, OBJECT_INERTIA, OBJECT_MASS, Motion
from setsu.sample_mechanisms import panda_arm, random_tree, ur10
from setsu.simulation import simulate

__all__ = [
    "AVERAGED",
    "EXACT_START",
    "FIRM_GRIP",
    "FOUND_START",
    "GRIP",
    "STEPS",
    "Accuracy",
    "Costs",
    "GripControl",
    "Noise",
    "Spatial",
    "Steadiness",
    "Tracking",
    "WallTrace",
    "accuracy",
    "costs",
    "grip_control",
    "noise",
    "spatial",
    "steadiness",
    "wall_tracing",
]

Floats = NDArray[np.float64]
Progress = Callable[[str, float], None]

GRIP = 0.5
"""Force between the hands (N), as printed."""
FIRM_GRIP = 1.0
"""Force between hands that can only push (N): 2 μ of it carry the object's weight and more."""
PERIOD, DELAY, MASS_ERROR = 0.002, 0.002, 0.1
"""Of the controllers: sampling period and delay (s), relative error of all masses they reckon with."""
STEPS = (25, 50, 100, 200, 400, 800)
AVERAGED, FOUND_START, EXACT_START = "newmark, averaged", "newmark, start found", "newmark, exact start"
SCHEMES = ("central", AVERAGED, FOUND_START, EXACT_START)
"""The schemes compared: differences, Newmark averaged, and the plain recurrence from two starts."""


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
    """Compare the schemes on sines, which start with velocities and a jerk."""
    curves: dict[int, tuple[Floats, Floats]] = {}
    errors: dict[str, list[float]] = {name: [] for name in SCHEMES}
    for steps in STEPS:
        motion = systems.waves(m, steps + 1)
        exact = _exact(m, motion)
        for name in SCHEMES:
            start = (motion.v, motion.a) if name == EXACT_START else (None, None)
            scheme = "central" if name == "central" else "newmark"
            found = nodal_inverse_dynamics(
                m, motion.time, motion.q, scheme, v=start[0], a=start[1], average=name == AVERAGED
            )
            if name == "central":
                curves[steps] = (motion.time, found)
            errors[name].append(_relative(found, exact))
    fine = systems.waves(m, STEPS[-1] + 1)
    return Accuracy(fine.time, _exact(m, fine), curves, {key: np.array(value) for key, value in errors.items()})


@dataclass(frozen=True)
class Spatial:
    """Schemes on further mechanisms: error at 400 steps and order between 200 and 400, by mechanism and scheme; and the
    largest difference of L T P from the torques, relative.
    """

    errors: dict[str, dict[str, float]]
    orders: dict[str, dict[str, float]]
    lengths: dict[str, float]


def spatial() -> Spatial:
    """Try trees in space: joints of all kinds, sliding ones, arms of the catalogue."""
    makers = {
        "tree of 24 joints, some sliding": lambda: random_tree(5, n_bodies=24, joint_types=[Revolute, Prismatic]),
        "tree of joints with several axes": lambda: random_tree(
            2, n_bodies=8, joint_types=[Revolute, Cylindrical, Universal, Planar, Helical]
        ),
        "UR10": ur10,
        "Panda": panda_arm,
    }
    schemes = {"central": {}, "plain Newmark": {"scheme": "newmark", "average": False}}
    errors: dict[str, dict[str, float]] = {}
    orders: dict[str, dict[str, float]] = {}
    lengths = {}
    for name, make in makers.items():
        m = make()
        motions = [systems.waves(m, steps + 1) for steps in (200, 400)]
        errors[name], orders[name] = {}, {}
        for scheme, options in schemes.items():
            coarse, fine = (
                _relative(nodal_inverse_dynamics(m, each.time, each.q, **options), _exact(m, each)) for each in motions
            )
            errors[name][scheme], orders[name][scheme] = fine, float(np.log2(coarse / fine))
        lengths[name] = _lengths(m, motions[0])
    return Spatial(errors, orders, lengths)


def _lengths(m: Mechanism, motion: Motion) -> float:
    """Largest difference of L T(q) P from the torques, over the largest torque."""
    if any(np.any(part) for part in (m.armature, m.damping, m.coulomb)):
        raise InputError("isobe2003: expected joints without armature and friction")
    L, P = member_length_matrix(m), nodal_forces(m, motion.time, motion.q)
    torque = nodal_inverse_dynamics(m, motion.time, motion.q)
    shown = range(0, len(motion.time), 20)
    found = np.array([L.matrix @ L.transformation(motion.q[k]) @ P[k] for k in shown])
    return float(np.abs(found - torque[list(shown)]).max() / np.abs(torque).max())


@dataclass(frozen=True)
class Costs:
    """Computing time: nodal over exact, 10,000 samples at once, and of one sample of two arms with an object, s.

    same: whether the stepper gave the digits of the batch form.
    """

    ratio: float
    ratio_newmark: float
    sample: float
    same: bool


def costs() -> Costs:
    """Measure what the paper says of its own: three times an exact method, 0.7 ms for a sample of 10 ms."""
    m = systems.three_links()
    motion = systems.waves(m, 10_001)
    exact = _fastest(lambda: inverse_dynamics(m, motion.q, motion.v, motion.a))
    nodal = _fastest(lambda: nodal_inverse_dynamics(m, motion.time, motion.q))
    newmark = _fastest(lambda: nodal_inverse_dynamics(m, motion.time, motion.q, "newmark"))
    arms = systems.two_arms()
    swing = systems.object_swing(401)
    time, q = np.arange(401) * 0.01, np.ascontiguousarray(swing.q[:, :4])
    things = [HeldObject(OBJECT_MASS, GRIPS, OBJECT_INERTIA, grip_force=GRIP)]
    stepper = NodalStepper(arms, 0.01, held_objects=things)
    found, best = [], np.inf
    for row in q:
        start = perf_counter()
        found.append(stepper.torque(row))
        best = min(best, perf_counter() - start) if len(found) > 2 else best
    batch = nodal_inverse_dynamics(arms, time, q, held_objects=things)
    same = bool(np.array_equal(np.array(found)[2:], batch[1:-1]))
    return Costs(nodal / exact, newmark / exact, best, same)


def _fastest(call: Callable[[], object], rounds: int = 15) -> float:
    best = np.inf
    for _ in range(rounds):
        start = perf_counter()
        call()
        best = min(best, perf_counter() - start)
    return float(best)


@dataclass(frozen=True)
class Noise:
    """RMS error (N m) of the torques of a UR10 from samples with noise of 1e-5 rad at 1 kHz, by half-width of the
    filter, and without noise (what the filter itself costs).
    """

    half_widths: tuple[int, ...]
    noisy: tuple[float, ...]
    clean: tuple[float, ...]


def noise() -> Noise:
    """Try the filter for noisy samples."""
    m = ur10()
    motion = systems.waves(m, 1001)
    exact = _exact(m, motion)
    noisy = motion.q + 1e-5 * np.random.default_rng(0).standard_normal(motion.q.shape)
    widths = (0, 2, 5, 10, 20, 40)

    def rms(q: Floats, width: int) -> float:
        inner = slice(50, -50)
        found = nodal_inverse_dynamics(m, motion.time, q, smoothing=width)
        return float(np.sqrt(np.mean((found - exact)[inner] ** 2)))

    return Noise(widths, tuple(rms(noisy, n) for n in widths), tuple(rms(motion.q, n) for n in widths))


def _exact(m: Mechanism, motion: Motion) -> Floats:
    return inverse_dynamics(m, motion.q, motion.v, motion.a)


def _relative(found: Floats, exact: Floats) -> float:
    return float(np.abs(found - exact).max() / np.abs(exact).max())


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
        law = JointFeedback(arms, SampledMotion(*_parts(motors)), 10.0, 0.5, 20.0)
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
