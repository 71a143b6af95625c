"""Keep a walk upright: feet go where the body is caught, soles press where the body is pushed back, the torso leans.

| symbol | meaning | unit |
|---|---|---|
| c, ξ, w | centre of mass, capture point c + c'/w, sqrt(g / height): stepping.py | m, m, 1/s |
| p | zero-moment point | m |
| S_i | how far foot i stands from the plan, its height included | m |
| k | clock of the plan: its speed is chosen | |

A sample in four parts.

1. Phase: the plan's clock goes on. A swinging foot that meets the ground early is down, whatever its height; one that
   does not find it goes on down. Wrenches on the feet are found from what the legs did (whole_body_torque.py, (6)).
2. Footstep: S of the swinging foot and the clock's speed by stepping.py. The plan goes on from where it comes down.
3. Body: ξ is brought to the plan's, moved by S:

    e = ξ - ξ_wanted,  p = p_wanted + (1 + gain/w) e,  within the soles on the ground grown by `lean`       (1)
    c'' = c''_planned + w² ((c - c_planned) - (p - p_planned))                                             (2)

   Beyond the soles no ground force can bring about (2): the torso and the arms then turn, as whoever balances on a
   beam turns them.
4. Torques: (2), height, torso, feet and posture as tasks of whole_body_torque.py.

Sources: Englsberger et al. 2015; Kajita et al. 2010, Biped walking stabilization based on linear inverted pendulum
tracking; stepping.py and whole_body_torque.py name theirs.
Refuses: motions without support (jumps), legs of fewer than six joints.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from setsu.control.arguments import nonnegative, positive
from setsu.control.controller import Controller
from setsu.control.humanoid.balance import tilt
from setsu.control.humanoid.biped import Biped
from setsu.control.humanoid.motion import Motion
from setsu.control.humanoid.smooth_paths import smooth_step
from setsu.control.humanoid.stepping import adjusted_footstep, pulled_into
from setsu.control.humanoid.whole_body_torque import BodyState, WholeBodyTorque, body_state, foot_wrenches
from setsu.dynamics import center_of_mass, frame_acceleration, frame_jacobian
from setsu.errors import InputError
from setsu.lie_groups import rotation_log

__all__ = ["Stabiliser"]

Floats = NDArray[np.float64]

# Weights of accelerations: 1 m/s² of the centre of mass, 0.1 rad/s² ...: lengths and angles at an arm of 0.1 m.
_BODY, _HEIGHT, _TORSO, _STANDING, _SWINGING = 10.0, 3.0, 0.003, 1000.0, 10.0
_ARM = 0.01
_LEG_POSTURE, _POSTURE = 1e-4, 1e-3
# Springs and dampers of tasks, 1/s² and 1/s.
_HOLD_HEIGHT, _HOLD_TORSO, _HOLD_FOOT, _HOLD_POSTURE = (100.0, 20.0), (150.0, 22.0), (1600.0, 80.0), (100.0, 20.0)
_STILL = 50.0  # 1/s, how fast a standing foot that moves comes to rest
_SPEEDS = np.array([1.0, 1.25, 1.5, 1.8, 2.2, 2.6, 3.0, 0.8, 0.6, 0.45])  # of the clock, the planned one first
_LAST = 0.03  # s before a foot is down from which its place is kept
_TOUCHED, _SAMPLES = 0.07, 3  # part of the weight on a foot that is down, for so many samples
_SEARCH, _DEEPEST = 0.1, 0.04  # m/s down where the ground should have been; m, then it is taken for down
_FASTEST = 0.6  # m/s, of a change of the footstep
_ANKLE = 0.8  # part of the sole that stepping.py reckons with
_STRAY = 0.015  # m of ξ from where it should be: with more the weight is not yet given to the next foot
_FALLEN = 1.0  # rad of the torso, from which on balance.py calls it a fall
_LEAST = 0.003  # share of the weight of a foot that is unloaded


@dataclass
class _Memory:
    """What changes along a run."""

    time: float = -1.0
    clock: float = 0.0  # samples of the plan
    shift: Floats = field(default_factory=lambda: np.zeros((2, 3)))
    swung: Floats = field(default_factory=lambda: np.zeros(3))  # of the swinging foot now
    weight_from: Floats = field(default_factory=lambda: np.zeros(3))
    body: Floats = field(default_factory=lambda: np.zeros(3))  # S of where the weight is
    speed: float = 1.0  # of the clock
    fallen: bool = False
    touching: int = 0
    searched: float = 0.0  # m
    before: BodyState | None = None
    torque: Floats | None = None


class Stabiliser(Controller):
    """Torques that walk as planned, and go on walking when pushed or when the ground is not as planned.

    Args:
        motion: of plan_walk.
        reach: how far a footstep may be moved from the plan: ahead or back, outwards, inwards, m.
        gain: how fast the capture point comes back, 1/s. lean: (1), m.
        friction: of the ground, that the soles may use.

    What it sees is q and v, all of them; what acts on the feet it finds from them. Its torque is held over a step of
    the run, 1 or 2 ms. `shifts` tells how far either foot stands from the plan.

    >>> import numpy as np, setsu
    >>> from setsu.control.humanoid import Biped, Stabiliser, Walk, plan_walk
    >>> m = setsu.sample_mechanisms.hoap1_like()
    >>> motion = plan_walk(Biped(m), Walk(steps=1, standing=0.1), refinements=0)
    >>> Stabiliser(motion)(0.0, motion.q[0], np.zeros(m.nv)).shape
    (26,)
    """

    memory = ("_memory",)

    def __init__(
        self,
        motion: Motion,
        *,
        reach: tuple[float, float, float] = (0.06, 0.05, 0.0),
        gain: float = 2.0,
        lean: float = 0.04,
        friction: float = 0.5,
    ) -> None:
        if not isinstance(motion, Motion):
            raise InputError(f"Stabiliser: expected the Motion of a plan_walk, got {motion!r:.80}")
        if not motion.support.any(axis=1).all():
            raise InputError("Stabiliser: expected a motion with a foot on the ground at all times, got a flight")
        biped = motion.biped
        for foot, leg in zip(biped.feet, biped.legs, strict=True):
            if len(leg) < 6:
                raise InputError(f"Stabiliser: expected at least six joints to each foot, got {len(leg)} to {foot!r}")
        if not isinstance(reach, tuple) or len(reach) != 3:
            raise InputError(f"Stabiliser reach: expected three lengths (ahead, outwards, inwards), got {reach!r}")
        self.reach = tuple(float(nonnegative(r, "Stabiliser reach")) for r in reach)
        self.gain = float(nonnegative(gain, "Stabiliser gain"))
        self.lean = float(nonnegative(lean, "Stabiliser lean"))
        self.friction = float(positive(friction, "Stabiliser friction"))
        self.motion, self._plan = motion, _Plan(motion)
        self._memory = _Memory()

    @property
    def shifts(self) -> Floats:
        """How far either foot stands from the plan, (2, 3), m."""
        return self._memory.shift.copy()

    @property
    def arrived(self) -> bool:
        """Whether the plan is walked to its end."""
        return self._memory.clock >= self._plan.last

    def forget(self) -> None:
        """Begin as if the law had not been asked."""
        self._memory = _Memory()

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torques (nv,), zero at the free joint."""
        memory = self._memory
        if (
            memory.torque is not None
            and memory.before is not None
            and t == memory.time
            and (q == memory.before.q).all()
        ):
            return memory.torque
        if memory.torque is None or t <= memory.time:
            self._memory = memory = _Memory(time=t - self._plan.step)
        step, memory.time = t - memory.time, t
        if memory.fallen or tilt(self.motion.biped, np.asarray(q)[None])[0] > _FALLEN:
            # Tasks of a walk mean nothing to a body that lies, and ask for torques without bounds: it goes limp.
            memory.fallen, memory.torque = True, np.zeros(len(v))
            return memory.torque
        state = body_state(self.motion.biped, np.array(q), np.array(v))
        k = self._advance(state, step)
        on = self.motion.support[k]
        zmp, wanted = self._standing(state, k) if on.all() else self._stepping(state, k)
        torque = self._torques(state, k, zmp, wanted, step)
        # Where nothing is possible the last torque is no worse than another.
        if torque is None:
            torque = np.zeros(len(v)) if memory.torque is None else memory.torque
        memory.before, memory.torque = state, torque
        return torque

    def _advance(self, state: BodyState, step: float) -> int:
        """Let the clock go on, and feet come down and leave the ground; return the sample of the plan."""
        memory, plan, support = self._memory, self._plan, self.motion.support
        k = round(memory.clock)
        clock = min(memory.clock + memory.speed * step / plan.step, plan.last)
        if support[k].all():
            if not support[round(clock)].all():
                swing = 1 if support[round(clock)][0] else 0
                memory.swung = state.feet[swing][:3, 3] - self.motion.feet[k, swing]
                memory.shift[1 - swing] = state.feet[1 - swing][:3, 3] - self.motion.feet[k, 1 - swing]
                memory.shift[swing] = memory.shift[1 - swing]
                memory.touching, memory.searched = 0, 0.0
        else:
            swing, end = (1 if support[k][0] else 0), int(plan.ends[k])
            if memory.before is not None and memory.torque is not None:
                biped = self.motion.biped
                force = foot_wrenches(biped, memory.before, memory.torque, state.v, step)[swing, 2]
                memory.touching = memory.touching + 1 if force > _TOUCHED * biped.weight else 0
            down = memory.touching >= _SAMPLES or memory.searched > _DEEPEST
            if down and 2 * k > int(plan.begins[k]) + end:
                clock = max(clock, float(end))
                memory.shift[swing] = state.feet[swing][:3, 3] - self.motion.feet[end, swing]
                memory.weight_from = memory.body.copy()
            elif round(clock) >= end:
                clock = end - 1.0
                memory.searched += _SEARCH * step
        memory.clock = clock
        return round(clock)

    def _stepping(self, state: BodyState, k: int) -> tuple[Floats, Floats]:
        """On one foot: choose the next footstep and the clock's speed; return p (2,) and c'' (3,), wanted."""
        memory, plan, motion = self._memory, self._plan, self.motion
        stance = 0 if motion.support[k][0] else 1
        at, yaw = memory.shift[stance], plan.yaw[k, stance]
        memory.body = at.copy()
        turn = np.array([[math.cos(yaw), math.sin(yaw)], [-math.sin(yaw), math.cos(yaw)]])
        left, switch = (plan.ends[k] - k) * plan.step, int(plan.switch[k])
        # The zero-moment point that takes the plan's capture point from now to where the weight goes over.
        grown = math.exp(plan.rate * (switch - k) * plan.step)
        zmp = (plan.capture[switch] - plan.capture[k] * grown) / (1.0 - grown)
        times = left / _SPEEDS + (switch - plan.ends[k]) * plan.step
        half = _ANKLE * 0.5 * np.ptp(motion.biped.soles[stance], axis=0)[:2]
        beside = turn @ (zmp + at[:2] - state.feet[stance][:2, 3])
        ahead, outwards, inwards = self.reach
        aside = (-outwards, inwards) if stance == 0 else (-inwards, outwards)
        reach = np.array([-ahead, aside[0]]), np.array([ahead, aside[1]])
        capture = plan.capture_point(state) - at[:2]
        time = times[0] * memory.speed if left < _LAST else times[0]
        if left > _LAST:
            step = adjusted_footstep(
                turn @ (capture - zmp), np.zeros(2), turn @ (plan.capture[switch] - zmp), times, plan.rate,
                (-half - beside, half - beside), reach,
            )  # fmt: skip
            memory.shift[1 - stance] = at + np.append(turn.T @ step.shift, 0.0)
            memory.speed, time = float(_SPEEDS[step.choice]), float(times[step.choice])
        shift = (memory.shift[1 - stance] - at)[:2]
        aim = zmp + (plan.capture[switch] + shift - zmp) * math.exp(-plan.rate * time)
        return self._pressed(state, k, motion.zmp[k] + at[:2], capture - aim, at[2])

    def _standing(self, state: BodyState, k: int) -> tuple[Floats, Floats]:
        """On both feet: the weight goes over to the next foot when the body is ready; return p (2,) and c'' (3,)."""
        memory, plan, motion = self._memory, self._plan, self.motion
        begin, end = int(plan.begins[k]), int(plan.ends[k])
        if begin > 0:
            following = motion.support[end] if end < len(motion.support) else np.array([True, True])
            goal = memory.shift[following].mean(axis=0)
            over = float(smooth_step(np.array(k - begin), max(2.0 * (plan.switch[k] - begin), 1.0)))
            memory.body = memory.weight_from + (goal - memory.weight_from) * over
            ready = min(1.0, math.exp(-plan.rate * (plan.switch[k] - k) * plan.step))
            aim = plan.capture[k] + (memory.weight_from + (goal - memory.weight_from) * ready)[:2]
        else:
            aim = plan.capture[k] + memory.body[:2]
        error = plan.capture_point(state) - aim
        memory.speed = float(np.clip(2.0 - np.hypot(*error) / _STRAY, 0.0, 1.0))
        # Where the clock is slow the aim is, and what keeps ξ beside it is a zero-moment point nearer to it.
        zmp = aim - memory.speed * (aim - motion.zmp[k] - memory.body[:2])
        return self._pressed(state, k, zmp, error, memory.body[2])

    def _pressed(self, state: BodyState, k: int, zmp: Floats, error: Floats, up: float) -> tuple[Floats, Floats]:
        """Return p (2,) by (1) and c'' (3,) by (2).

        zmp: p_wanted (2,), m; error: e (2,), m; up: how much higher than planned the ground is, m.
        """
        plan, motion = self._plan, self.motion
        corners = [state.corners[i] + state.feet[i][:3, 3] for i in range(2) if motion.support[k][i]]
        zmp = pulled_into(zmp + (1.0 + self.gain / plan.rate) * error, np.concatenate(corners)[:, :2], self.lean)
        moved, rate = state.com - plan.com[k], state.com_jacobian @ state.v - plan.com_rate[k]
        wanted = plan.com_acceleration[k].copy()
        wanted[:2] += plan.rate**2 * (moved[:2] - (zmp - motion.zmp[k]))
        spring, damper = _HOLD_HEIGHT
        wanted[2] += spring * (up - moved[2]) - damper * rate[2]
        return zmp, wanted

    def _torques(self, state: BodyState, k: int, zmp: Floats, wanted: Floats, step: float) -> Floats | None:
        """Return torques (nv,) for p (2,) and c'' (3,), wanted, and feet, torso and posture of the plan."""
        biped, plan, motion = self.motion.biped, self._plan, self.motion
        m, on, v = biped.mechanism, motion.support[k], state.v
        tasks = WholeBodyTorque(biped, state)
        tasks.add(state.com_jacobian, wanted - state.com_bias, np.array([_BODY, _BODY, _HEIGHT]))
        J, bias = _turning_torso(biped, state)
        spring, damper = _HOLD_TORSO
        turn = rotation_log(plan.torso[k] @ state.torso[:3, :3].T)
        tasks.add(J, spring * turn - damper * (J @ v) - bias, _TORSO)
        turning = np.array([1.0, 1.0, 1.0, _ARM, _ARM, _ARM])
        for i in range(2):
            rate = state.jacobians[i] @ v
            if on[i]:
                tasks.add(state.jacobians[i], -_STILL * rate - state.biases[i], _STANDING * turning)
            else:
                aim = self._swing(state, k, i, rate, step)
                tasks.add(state.jacobians[i], aim - state.biases[i], _SWINGING * turning)
        where, single = biped.single_coordinates
        spring, damper = _HOLD_POSTURE
        rows = np.zeros((len(single), m.nv))
        rows[np.arange(len(single)), single] = 1.0
        tasks.add(rows, spring * (motion.q[k][where] - state.q[where]) - damper * v[single], plan.posture_weights)
        shares = np.ones(2)
        if on.all():
            apart = (state.feet[1] - state.feet[0])[:2, 3]
            right = float((zmp - state.feet[0][:2, 3]) @ apart / (apart @ apart))
            shares = np.clip([1.0 - right, right], _LEAST, 1.0)
        return tasks.solve(on, shares, self.friction)

    def _swing(self, state: BodyState, k: int, side: int, rate: Floats, step: float) -> Floats:
        """Acceleration (6,) of the swinging foot: along the plan, moved to where it is to come down."""
        memory, plan = self._memory, self._plan
        left = max((plan.ends[k] - k) * plan.step / memory.speed, 0.02)
        change = np.clip((memory.shift[side] - memory.swung) * 4.0 / left, -_FASTEST, _FASTEST)
        memory.swung = memory.swung + change * step
        velocity = plan.foot_rate[k, side] * memory.speed + change
        goal = self.motion.feet[k, side] + memory.swung
        if memory.searched:
            goal[2] -= memory.searched
            velocity = np.array([0.0, 0.0, -_SEARCH])
        spring, damper = _HOLD_FOOT
        away, turn = goal - state.feet[side][:3, 3], rotation_log(plan.soles[k, side] @ state.feet[side][:3, :3].T)
        linear = plan.foot_acceleration[k, side] * memory.speed**2 + spring * away + damper * (velocity - rate[:3])
        return np.concatenate([linear, spring * turn - damper * rate[3:]])


class _Plan:
    """What is needed of a plan, by sample."""

    def __init__(self, motion: Motion) -> None:
        biped, support = motion.biped, motion.support
        self.step, self.last = float(motion.time[1] - motion.time[0]), len(motion.time) - 1
        self.com = center_of_mass(biped.mechanism, motion.q)
        self.com_rate = np.gradient(self.com, self.step, axis=0)
        self.com_acceleration = np.gradient(self.com_rate, self.step, axis=0)
        # It ends at rest, whatever is left of the motion then.
        self.com_rate[-1], self.com_acceleration[-1] = 0.0, 0.0
        height = np.median(self.com[:, 2] - motion.feet[..., 2].min(axis=1))
        self.rate = math.sqrt(float(np.linalg.norm(biped.mechanism.gravity)) / float(height))
        self.capture = (self.com + self.com_rate / self.rate)[:, :2]
        self.foot_rate = np.gradient(motion.feet, self.step, axis=0)
        self.foot_acceleration = np.gradient(self.foot_rate, self.step, axis=0)
        self.soles = np.stack([biped.pose_of(motion.q, foot)[:, :3, :3] for foot in biped.feet], axis=1)
        self.yaw = np.arctan2(self.soles[..., 1, 0], self.soles[..., 0, 0])
        self.torso = biped.pose_of(motion.q, biped.torso)[:, :3, :3]
        changes = np.flatnonzero((support[1:] != support[:-1]).any(axis=1)) + 1
        bounds = np.concatenate([[0], changes, [len(support)]])
        phase = np.searchsorted(changes, np.arange(len(support)), side="right")
        self.begins, self.ends = bounds[phase], bounds[phase + 1]
        self.switch = self._switches(support, bounds, phase)
        self.posture_weights = _posture_weights(biped)

    def _switches(
        self, support: NDArray[np.bool_], bounds: NDArray[np.intp], phase: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """The sample at which the weight goes over: the middle of this double support, or of the one that comes."""
        usual = [b - a for a, b in itertools.pairwise(bounds[1:-1]) if support[a].all()]
        half = int(np.median(usual)) // 2 if usual else 0
        own = np.where(support.all(axis=1), self.begins, self.ends)
        return np.minimum(own + half, len(support) - 1)

    def capture_point(self, state: BodyState) -> Floats:
        """ξ (2,), m."""
        return state.com[:2] + (state.com_jacobian @ state.v)[:2] / self.rate


def _turning_torso(biped: Biped, state: BodyState) -> tuple[Floats, Floats]:
    """Rows (3, nv) of the torso's angular velocity, world axes, and its acceleration (3,) of a = 0."""
    m = biped.mechanism
    frame = m.frame(biped.torso)
    if frame.body > 0:
        bias = frame_acceleration(m, state.q, state.v, np.zeros(m.nv), biped.torso)
        return frame_jacobian(m, state.q, biped.torso)[3:], bias[3:]
    # The free joint's own: velocities in its axes, so that R ω' is all of the acceleration.
    J = np.zeros((3, m.nv))
    J[:, 3:6] = state.torso[:3, :3] @ frame.pose.matrix[:3, :3].T
    return J, np.zeros(3)


def _posture_weights(biped: Biped) -> Floats:
    """Of the joints with coordinates of their own: legs follow their feet, the others hold the plan's posture."""
    _, single = biped.single_coordinates
    return np.where(np.isin(single, np.concatenate(biped.legs)), _LEG_POSTURE, _POSTURE)
