"""Stretches of a run without Python: constant torques, an explicit method with fixed step, no event on the way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import native_function
from setsu.mechanism import Free, Spherical
from setsu.simulation import rk4, rk8
from setsu.simulation.chart import SERIES
from setsu.simulation.constrained_motion import ConstrainedMotion
from setsu.simulation.integrators import Driver
from setsu.simulation.motion import Evaluation, FreeMotion

__all__ = ["Stretch", "Taken"]

Floats = NDArray[np.float64]

_TABLEAUS = {"rk4": rk4.TABLEAU, "rk8": rk8.TABLEAU, "semi_implicit": None}


@dataclass(frozen=True)
class Taken:
    """Steps taken: how many, the state after them, what was recorded, works (4) and projection summed up (J)."""

    count: int
    end: Evaluation
    records: Any
    totals: Floats


class Stretch:
    """Compiled steps of one motion with one integrator."""

    def __init__(self, motion: FreeMotion | ConstrainedMotion, integrator: str) -> None:
        self.motion, self._tableau = motion, _TABLEAUS[integrator]

    @staticmethod
    def possible(motion: Any, driver: Driver) -> bool:
        """Tell whether steps of this kind can be taken in compiled code."""
        return (
            driver.integrator in _TABLEAUS and not motion.torque.depends_on_state and not motion.mechanism.has_bearings
        )

    @cached_property
    def _stages(self) -> tuple[Any, tuple[Any, ...]]:
        """Method and work space, and what must be kept alive."""
        from setsu.simulation.compiled_stages import Stages

        m, state = self.motion.mechanism, self.motion.space.state
        q0, phi, point = np.zeros(m.nq), np.zeros(m.nv), np.zeros(m.nq)
        move = native_function(m, "integrate").bind([q0, phi], [point])
        separate = native_function(m, "difference").bind([q0, state.q], [phi])
        pairs = list(zip(m.moving, m.v_slices, strict=True))
        count = 0 if self._tableau is None else len(self._tableau.b)
        stages = Stages(
            A=np.zeros((0, 0)) if self._tableau is None else self._tableau.A,
            E=np.zeros((0, 0)) if self._tableau is None else self._tableau.shifts,
            b=np.zeros(0) if self._tableau is None else self._tableau.b,
            rotations=np.array([w.start for b, w in pairs if isinstance(b.joint, Spherical)], dtype=np.int64),
            motions=np.array([w.start for b, w in pairs if isinstance(b.joint, Free)], dtype=np.int64),
            series=np.array(SERIES),
            q0=q0,
            v0=np.zeros(m.nv),
            phi=phi,
            point=point,
            slopes=np.zeros((count, 2 * m.nv + 4)),
            total=np.zeros(2 * m.nv + 4),
            scratch=np.zeros((4, 6)),
            move=move.handle,
            separate=separate.handle,
            most=np.zeros(1, dtype=np.int64),
        )
        return stages, (move, separate)

    def go(self, start: Evaluation, times: Floats, first: int, every: int) -> Taken:
        """Take steps along `times` (s), whose first is that of `start`; step n counts from `first` on."""
        from setsu.simulation.compiled_stages import Records

        motion, stages = self.motion, self._stages[0]
        space = motion.load(start.q, start.v)
        space.work.tau[:], space.work.a[:], space.work.powers[:] = start.torque, start.acceleration, start.powers
        steps = np.diff(times)
        rows = sum((first + n) % every == 0 for n in range(len(steps)))
        m = motion.mechanism
        contacts, dry, loop_rows = motion.record_widths()
        records = Records(
            q=np.empty((rows, m.nq)),
            v=np.empty((rows, m.nv)),
            a=np.empty((rows, m.nv)),
            normal_force=np.empty((rows, contacts)),
            friction_force=np.empty((rows, contacts, 3)),
            dry_force=np.empty((rows, dry)),
            multiplier=np.empty((rows, loop_rows)),
            numbers=np.empty((rows, 8)),
            totals=np.zeros(5),
        )
        count, status = motion.run_steps(stages, records, steps, first, every)
        kept = sum((first + n) % every == 0 for n in range(count))
        if not count:
            return Taken(0, start, records, records.totals)
        time = float(times[count])
        if status == -1:
            end = motion.gathered(time, space.state.q.copy(), space.state.v.copy(), start.torque)
        else:
            # The step after these is not to be kept: its start is where they end.
            end = motion.evaluate(time, stages.q0.copy(), stages.v0.copy())
        return Taken(
            count, end, Records(*[array[:kept] for array in records[:-1]], totals=records.totals), records.totals
        )
