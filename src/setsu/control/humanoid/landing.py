"""Bring a flying biped down on feet below it and turn it upright again, whatever tilt it has picked up in the air.

A jump that leaves the ground with a little spin arrives tilted. While no sole touches, the hips turn the legs against
the measured tilt of the torso, so that the feet come down level and where they were planned. After touch-down the
correction keeps the value it had and fades: a hip that went on yielding to the tilt would let the torso fall over, one
that returns to the plan turns it upright over feet that now stand. Rates are left out of the correction on purpose: in
the air the torso answers every motion of the legs, and leading by its rate makes the loop unstable.

Symbols
    R, R*        rotation of the torso, measured and planned           θ      its tilt off the plan, world axes, rad
    w            1 in flight, falling smoothly to 0 after touch-down

Equations
    (1)  θ = log(R R*ᵀ)                  measured in flight; from touch-down on the value it had there
    (2)  hip pitch <- plan - w θ_y,   hip roll <- plan - w θ_x

Source: ours; the legs-level idea is that of hopping machines (Raibert 1986). Cost: two sweeps of kinematics per call.
Refuses: joints that do not turn about y (pitch) or x (roll); motions without a flight.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from setsu.control.humanoid.motion import Motion
from setsu.control.humanoid.smooth_paths import smooth_step
from setsu.errors import InputError
from setsu.lie_groups import rotation_log

__all__ = ["Landing"]

Floats = NDArray[np.float64]

# How near to the ground a sole counts as touching, m: rigid feet at rest are a rounding above or below it.
_TOUCH = 2e-4


class Landing:
    """Corrects a planned jump by the measured tilt; remembers when the feet met the ground.

    Args:
        motion: of plan_jump.
        hip_pitch, hip_roll: names of the joints of either side that turn the legs about y and x.
        righting: time in which the correction fades after touch-down, s.

    `position` is a reference for a servo, a function (t, q, v). Times of calls go forward; a time before the take-off
    clears the memory.
    """

    def __init__(
        self,
        motion: Motion,
        hip_pitch: tuple[str, str] = ("left_hip_pitch", "right_hip_pitch"),
        hip_roll: tuple[str, str] = ("left_hip_roll", "right_hip_roll"),
        righting: float = 0.3,
    ) -> None:
        m = motion.biped.mechanism
        for names, axis in ((hip_pitch, (0.0, 1.0, 0.0)), (hip_roll, (1.0, 0.0, 0.0))):
            for name in names:
                found = tuple(m.moving[m.joint_index(name)].joint.axis)
                if found != axis:
                    raise InputError(f'Landing: expected joint "{name}" to turn about {axis}, got {found}')
        if not isinstance(righting, int | float) or not (math.isfinite(righting) and righting > 0.0):
            raise InputError(f"Landing righting: expected a positive number of seconds, got {righting!r}")
        flying = np.flatnonzero(~motion.support.any(axis=1))
        if not len(flying):
            raise InputError("Landing: expected a motion with a flight, got one that keeps its feet on the ground")
        self.motion, self.righting = motion, float(righting)
        self._leaving = float(motion.time[flying[0]])
        self._highest = float(motion.time[(flying[0] + flying[-1]) // 2])
        self._pitch = [m.v_slices[m.joint_index(name)].start for name in hip_pitch]
        self._roll = [m.v_slices[m.joint_index(name)].start for name in hip_roll]
        hips = [m.joint_index(name) for name in (*hip_pitch, *hip_roll)]
        self._hips = [(m.q_slices[joint].start, m.v_slices[joint].start) for joint in hips]
        self._tilt = np.zeros(3)
        self.touched: float | None = None
        """Time at which a sole met the ground again, s; None before."""

    def position(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the coordinates (nq,) a servo is to reach with the step that begins at time t at the state q, v."""
        wanted, change = self.motion.position(t).copy(), self.correction(t, q)
        for coordinate, velocity in self._hips:
            wanted[coordinate] += change[velocity]
        return wanted

    def correction(self, t: float, q: Floats) -> Floats:
        """Return what to add to the planned joint coordinates, (nv,), rad, at time t with measured q (nq,)."""
        biped, result = self.motion.biped, np.zeros(self.motion.biped.mechanism.nv)
        if t < self._leaving:
            self.touched = None
            return result
        if self.touched is None and t > self._highest and biped.sole_corners(q)[..., 2].min() <= _TOUCH:
            self.touched = t
        if self.touched is None:
            planned = self.motion.q[self.motion.index(t)]
            R, wanted = (biped.pose_of(at, biped.torso)[:3, :3] for at in (q, planned))
            self._tilt = rotation_log(R @ wanted.T)  # (1)
        since = 0.0 if self.touched is None else t - self.touched
        w = 1.0 - float(smooth_step(np.array(since), self.righting))
        result[self._pitch] = -w * self._tilt[1]  # (2)
        result[self._roll] = -w * self._tilt[0]
        return result
