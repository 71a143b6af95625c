"""Plan a jump on the spot: crouch, push off, fly, land, rise, without spinning.

The centre of mass moves on a vertical line: a polynomial down to the crouch, one from there to the take-off with
acceleration -g at its end (so that the ground's force goes to zero by itself), a parabola, and the same backwards. The
feet leave and meet the ground at rest: they swing up and down in the world while the body flies. In the air nothing
but gravity acts, so angular momentum about the centre of mass stays what it was; the torso pitches a little so that it
is zero all the way, on the ground too, where the zero-moment point then is right below the centre of mass.

Symbols
    L_y          angular momentum about the centre of mass, pitch, kg m²/s
    φ            pitch of the torso, rad; positive leans ahead
    u            velocities that pitch the torso at 1 rad/s, centre of mass and feet at rest

Equations
    (1)  v_0 = g t_f / 2                       speed at take-off for a flight of t_f
    (2)  J u = e_φ                             J of whole_body_kinematics (2)
    (3)  φ <- φ - ∫ L_y / (A_y u) dt           A_y: row of the centroidal matrix; until L_y vanishes

Source: ours. Cost: six solutions of all postures, all but the first from good guesses.
Refuses: heights out of reach, flights shorter than ten samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.control.humanoid.biped import Biped
from setsu.control.humanoid.motion import Motion, planned_motion
from setsu.control.humanoid.smooth_paths import hump, quintic
from setsu.control.humanoid.walking import feet_below_hips
from setsu.control.humanoid.whole_body_kinematics import posture_jacobian, solve_postures
from setsu.dynamics import centroidal_matrix, momentum
from setsu.errors import InputError
from setsu.inverse_kinematics import damped_step

__all__ = ["Jump", "plan_jump"]

Floats = NDArray[np.float64]

_ROUNDS = 5


@dataclass(frozen=True)
class Jump:
    """What jump is wanted.

    Args:
        flight: time in the air, s. height, crouch, take_off: of the centre of mass standing, lowest, leaving, m.
        swing_height: how far the feet are drawn up, m.
        lowering: time to crouch and to rise again, s. standing: time before, s. settling: time after, s.
        sample: time between samples of the plan, s.
    """

    flight: float = 0.2
    height: float = 0.225
    crouch: float = 0.165
    take_off: float = 0.205
    swing_height: float = 0.05
    lowering: float = 0.5
    standing: float = 0.2
    settling: float = 0.6
    sample: float = 1e-3

    def __post_init__(self) -> None:
        for key in self.__dataclass_fields__:
            value = getattr(self, key)
            if not isinstance(value, int | float) or not (math.isfinite(value) and value > 0.0):
                raise InputError(f"Jump {key}: expected a positive number, got {value!r}")
        if self.crouch >= self.take_off:
            raise InputError(f"Jump crouch: expected less than take_off {self.take_off}, got {self.crouch}")
        if self.flight < 10.0 * self.sample:
            raise InputError(f"Jump flight: expected at least ten samples of {self.sample} s, got {self.flight}")

    def speed(self, gravity: float) -> float:
        """Speed of the centre of mass at take-off, m/s, where bodies fall with `gravity`, m/s²."""
        return 0.5 * gravity * self.flight  # (1)

    def push(self, gravity: float) -> float:
        """Time from the crouch to the take-off, s; with it the path has no wiggles."""
        return 2.2 * (self.take_off - self.crouch) / self.speed(gravity)

    def leaving(self, gravity: float) -> float:
        """Time of take-off, s."""
        return self.standing + self.lowering + self.push(gravity)


def plan_jump(biped: Biped, jump: Jump | None = None) -> Motion:
    """Return the motion of a jump on the spot, feet below the hips.

    Raises:
        InputError: heights out of reach of the legs or beyond limits of their joints.

    >>> import setsu
    >>> from setsu.control.humanoid import Biped, Jump, plan_jump
    >>> motion = plan_jump(Biped(setsu.sample_mechanisms.hoap1_like()), Jump(sample=2e-3))
    >>> bool(motion.support.any(axis=1).all())
    False
    """
    jump = Jump() if jump is None else jump
    g = -biped.mechanism.gravity[2]
    time, height, flying = _heights(jump, g)
    feet = np.repeat(feet_below_hips(biped)[None], len(time), axis=0)
    com = np.column_stack([feet[:, :, :2].mean(axis=1), height])
    feet[:, :, 2] += jump.swing_height * hump(time - jump.leaving(g), jump.flight)[:, None]
    support = np.repeat(~flying[:, None], 2, axis=1)
    pitch = np.zeros(len(time))
    q = solve_postures(biped, com, feet)
    motion = planned_motion(biped, time, q, feet, support)
    for _ in range(_ROUNDS):
        pitch -= _running_integral(_pitch_rate(biped, motion), jump.sample)  # (3)
        q = solve_postures(biped, com, feet, _pitched(pitch), start=q)
        motion = planned_motion(biped, time, q, feet, support)
    biped.require_limits(motion.q, "plan_jump")
    return motion


def _heights(jump: Jump, g: float) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return times (T,), heights of the centre of mass (T,) and which samples fly (T,)."""
    push, speed, leaving = jump.push(g), jump.speed(g), jump.leaving(g)
    landing = leaving + jump.flight
    count = round((landing + push + jump.lowering + jump.settling) / jump.sample) + 1
    time = jump.sample * np.arange(count, dtype=np.float64)
    still, down = (jump.height, 0.0, 0.0), (jump.crouch, 0.0, 0.0)
    up, falling = (jump.take_off, speed, -g), (jump.take_off, -speed, -g)
    air = time - leaving
    height = np.select(
        [time < leaving - push, time < leaving, time < landing, time < landing + push],
        [
            quintic(time - jump.standing, jump.lowering, still, down),
            quintic(time - (leaving - push), push, down, up),
            jump.take_off + speed * air - 0.5 * g * air**2,
            quintic(time - landing, push, falling, down),
        ],
        quintic(time - (landing + push), jump.lowering, down, still),
    )
    return time, height, (time > leaving) & (time < landing)


def _pitch_rate(biped: Biped, motion: Motion) -> Floats:
    """Return by how much the torso pitches too fast for L_y = 0, (T,), rad/s: (2), (3)."""
    m, legs = biped.mechanism, biped.leg_velocities
    L_y = momentum(m, motion.q, motion.v)[:, 4]
    J = posture_jacobian(biped, motion.q)
    wanted = np.zeros((len(J), J.shape[1]))
    wanted[:, 4] = 1.0
    u = damped_step(J[:, :, legs], wanted, np.zeros(len(J)))  # (2)
    return L_y / np.sum(centroidal_matrix(m, motion.q)[:, 4, legs] * u, axis=1)


def _pitched(pitch: Floats) -> Floats:
    """Rotations about y (T, 3, 3)."""
    c, s, zero = np.cos(pitch), np.sin(pitch), np.zeros_like(pitch)
    return np.stack([c, zero, s, zero, zero + 1.0, zero, -s, zero, c], axis=1).reshape(-1, 3, 3)


def _running_integral(rate: Floats, step: float) -> Floats:
    """Integral from the first sample to each, by the trapezoidal rule."""
    return np.concatenate([[0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]))]) * step
