"""Joints that are driven along a prescribed motion in a run: what they are at a time, checked."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.prescribed import Prescribed, driven_joints
from setsu.constraints.ranks import rank_of
from setsu.constraints.redundancy import redundancy
from setsu.constraints.system import ConstraintSystem
from setsu.errors import InputError, ModelWarning
from setsu.mechanism import Mechanism
from setsu.spatial import real_array

__all__ = ["DrivenJoints", "checked_prescribed"]

Floats = NDArray[np.float64]

_LARGEST_OFFSET = 1e-5
"""What q0 and v0 may be off the prescribed motion by (m, rad, per second), and are moved onto it."""
_MISFIT, _IN_A_ROW = 0.2, 5
"""Part of a rate or acceleration by which it may miss the slope, and how often: single jumps are no misfit."""


def checked_prescribed(m: Mechanism, prescribed: Iterable[Prescribed]) -> tuple[Prescribed, ...]:
    """Return the drives of a run; InputError for unknown joints, and for friction that depends on loads."""
    try:
        given = tuple(prescribed)
    except TypeError:
        raise InputError(f"simulate: prescribed: expected setsu.Prescribed records, got {prescribed!r:.80}") from None
    for name in driven_joints(m, given, 0.0, "simulate").names:
        joint = m.moving[m.joint_index(name)].joint
        if joint.has_bearing:
            raise InputError(
                f'simulate: prescribed: joint "{name}" has bearing friction, which acts against the torque of its '
                "drive alone; set it to 0, or give it as coulomb"
            )
    return given


class DrivenJoints:
    """The drives of one world. names; coordinate, velocity (n,): places in q and v; friction (n,): dry, N m or N."""

    def __init__(self, m: Mechanism, prescribed: tuple[Prescribed, ...]) -> None:
        self._prescribed, self._mechanism = prescribed, m
        self.names, self.coordinate, self.velocity, _ = driven_joints(m, prescribed, 0.0, "simulate")
        self.friction = m.coulomb[self.velocity]
        self._before: tuple[float, Floats] | None = None
        self._misfits = np.zeros((len(self.names), 2), dtype=np.int64)

    def __len__(self) -> int:
        return len(self.names)

    def at(self, t: float) -> Floats:
        """Return coordinates, rates and accelerations (n, 3) at a time, s."""
        try:
            motion = real_array([drive.function(t) for drive in self._prescribed])
            if motion.shape == (len(self), 3) and np.isfinite(motion).all():
                self._compare(t, motion)
                return motion
        except (TypeError, ValueError, OverflowError):
            pass
        return driven_joints(self._mechanism, self._prescribed, t, "simulate").motion

    def _compare(self, t: float, motion: Floats) -> None:
        """Warn once of rates and accelerations that are not the slopes of what they belong to."""
        before, self._before = self._before, (t, motion)
        if before is None or t <= before[0] or (self._misfits < 0).all():
            self._before = before if before is not None and t == before[0] else self._before
            return
        dt, (start, end) = t - before[0], (before[1], motion)
        slope = (end[:, :2] - start[:, :2]) / dt
        given = 0.5 * (start[:, 1:] + end[:, 1:])
        given[:, 0] += dt / 12.0 * (start[:, 2] - end[:, 2])
        rounding = 1e-12 * (np.abs(start) + np.abs(end))[:, :2] / dt
        off = np.abs(slope - given) > _MISFIT * np.maximum(np.abs(slope), np.abs(given)) + rounding
        self._misfits = np.where(self._misfits < 0, -1, np.where(off, self._misfits + 1, 0))
        for k, what in zip(*np.nonzero(self._misfits >= _IN_A_ROW), strict=True):
            self._misfits[k] = -1
            name, by = (("rate", "coordinate"), ("acceleration", "rate"))[what]
            warnings.warn(
                f'simulate: prescribed: the {name} of joint "{self.names[k]}" does not fit its {by}: about '
                f"{slope[k, what]:.4g} by the {by} at t = {t:.6g} s, and {given[k, what]:.4g} by its function; torques "
                "and forces follow from what the function returns",
                ModelWarning,
                stacklevel=2,
            )

    def put_into(self, system: ConstraintSystem, t: float) -> None:
        """Let the rows of the drives, the last ones among couplings, say what is prescribed at a time."""
        n, rows = len(self), system.couplings
        rows.offset[-n:], rows.offset_rate[-n:], rows.offset_acceleration[-n:] = -self.at(t).T

    def refuse_start(self, system: ConstraintSystem, t: float, q: Floats, v: Floats) -> None:
        """InputError for a state off the prescribed motion, and for drives that work against each other or loops."""
        place, rate, _ = self.at(t).T
        for k, name in enumerate(self.names):
            q_k, v_k = float(q[self.coordinate[k]]), float(v[self.velocity[k]])
            if abs(q_k - place[k]) > _LARGEST_OFFSET * (1.0 + abs(place[k])):
                raise InputError(
                    f'simulate: q0 of joint "{name}" is {q_k:.9g}, and its prescribed motion is at {place[k]:.9g} at t '
                    f'= {t:g} s; expected the same: see setsu.close_loops(m, q, fixed=["{name}"])'
                )
            if abs(v_k - rate[k]) > _LARGEST_OFFSET * (1.0 + abs(rate[k])):
                raise InputError(
                    f'simulate: v0 of joint "{name}" is {v_k:.9g}, and the rate of its prescribed motion '
                    f'{rate[k]:.9g}; expected the same: see setsu.consistent_velocity(m, q, v, fixed=["{name}"])'
                )
        kept = redundancy(system).kept
        G = system.linearise(q, v).jacobian[: len(kept)] * system.velocity_units
        size = np.linalg.norm(G, axis=1)
        held = (G / np.where(size > 0.0, size, 1.0)[:, None])[kept]
        if rank_of(held) < len(held):
            raise InputError(
                f"simulate: prescribed: {', '.join(self.names)} cannot be driven at once in this configuration: loops, "
                "couplings or another drive tie them; expected at most as many drives as there are freedoms, and a "
                "configuration away from dead points"
            )
