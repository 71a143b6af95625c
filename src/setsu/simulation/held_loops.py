"""Loops, couplings and surfaces in a run with an environment: rows of every step, some of which open and close.

Closing is a plastic impact (transitions.py (1), (2)) before the step that follows; contacts answer in that step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.assembly import opening
from setsu.constraints.contact import SurfaceContact
from setsu.constraints.redundancy import redundancy, warn_of_left_out
from setsu.constraints.system import ConstraintSystem, constraint_system
from setsu.dynamics import inverse_dynamics, mass_matrix
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.simulation.events import CloseLoop, EventReport, OpenLoop
from setsu.simulation.loop_joint_forces import LoopJointForces
from setsu.simulation.mass_metric import MassMetric
from setsu.simulation.transitions import LARGEST_START_ERROR
from setsu.simulation.transitions import _joined_here as joined_here

__all__ = ["HeldLoops"]

Floats = NDArray[np.float64]


class HeldLoops:
    """The rows of a contact run; `compiled` is what its steps read."""

    def __init__(self, mechanism: Mechanism, contacts: Sequence[SurfaceContact], open_loops: Iterable[str]) -> None:
        from setsu.contact.held_rows import make_held_rows

        self._mechanism, self._contacts = mechanism, tuple(contacts)
        self._system = constraint_system(mechanism, contacts)
        if LoopJointForces(self._system).exist or self._system.loops.coulomb.any():
            raise InputError(
                "simulate: damping, friction, springs and drives in joints that close loops cannot be combined with an "
                "environment; expected them in joints of the tree (setsu.move_cut moves the cut)"
            )
        self.compiled, self._kept = make_held_rows(self._system)
        self._open = set(open_loops)
        self._mark_open()
        # From which state on which system held, and which of its rows.
        self._periods: list[tuple[float, ConstraintSystem, NDArray[np.bool_]]] = []
        self._remember(0.0)

    @property
    def count(self) -> int:
        """Number of rows."""
        return self._system.n_rows

    def refuse_violations(self, q: Floats, v: Floats) -> None:
        """InputError when a state does not satisfy the closed rows."""
        if not self.count:
            return
        jacobian, error = self._system.jacobian_and_error(q)
        rate = jacobian @ v
        warn_of_left_out(self._system, error, "simulate", 5)
        for row in np.flatnonzero(self._held()):
            if abs(error[row]) > LARGEST_START_ERROR:
                raise InputError(
                    f"simulate: q0 violates {self._system.names[row]}, {opening(self._system, error, int(row))}; "
                    f"expected at most {LARGEST_START_ERROR:g} m or rad: see setsu.close_loops"
                )
            if abs(rate[row]) > LARGEST_START_ERROR * (1.0 + float(np.abs(v).max(initial=0.0))):
                raise InputError(
                    f"simulate: v0 violates {self._system.names[row]} at a rate of {rate[row]:.6g} (m/s or rad/s); "
                    "expected velocities that keep it: see setsu.consistent_velocity"
                )

    def change(self, change: CloseLoop | OpenLoop, t: float, q: Floats, v: Floats) -> EventReport:
        """Close or open a loop at time t (s); the velocity jump of the report is to be added to v."""
        jump, impulse, lost = np.zeros_like(v), np.zeros(0), 0.0
        if isinstance(change, OpenLoop):
            self._open.add(change.name)
        else:
            self._open.discard(change.name)
            if change.here:
                self._join_here(q, change.name)
            self._refuse_gap(change, t, q)
            M, G = mass_matrix(self._mechanism, q), self._system.jacobian_and_error(q)[0][self._held()]
            metric = MassMetric(M, G)
            jump, impulse = -metric.nearest(G @ v), -metric.impulse(G @ v)
            lost = float(0.5 * jump @ M @ jump)
        self._mark_open()
        self._remember(t)
        kind = "open" if isinstance(change, OpenLoop) else "close"
        return EventReport(t, kind, change.name, jump, impulse, lost)

    def errors(self, times: Floats, q: Floats) -> Floats:
        """Return the largest error of the rows that hold at states (T, nq), (T,), m or rad."""
        worst = np.zeros(len(times))
        for which, system, held in self._each_period(times):
            worst[which] = np.abs(system.position_error(q[which])[:, held]).max(axis=1, initial=0.0)
        return worst

    def forces(
        self, times: Floats, q: Floats, v: Floats, a: Floats, torque: Floats, wrench: Floats
    ) -> tuple[Floats, Floats]:
        """Return loop wrenches (T, n_loops, 6), and contact and loop forces as wrenches on bodies (T, n_bodies, 6).

        torque (T, nv): all that acts on the joints. wrench (T, n_bodies, 6): of contacts.
        """
        m = self._mechanism
        loops, external = np.zeros((len(q), len(m.loops), 6)), wrench.copy()
        if not m.loops:
            return loops, external
        missing = inverse_dynamics(m, q, v, a, wrench) - torque
        for which, system, held in self._each_period(times):
            rows, k = system.linearise(q[which], v[which]), system.n_loop_rows
            for place, t in enumerate(np.flatnonzero(which)):
                G = rows.jacobian[place][held]
                multipliers = np.zeros(system.n_rows)
                multipliers[held] = np.linalg.lstsq(G.T, missing[t], rcond=1e-9)[0]
                np.add.at(loops[t], system.loops.row_loop, rows.loop_wrench[place] * multipliers[:k, None])
            none = np.zeros((int(which.sum()), len(system.contacts), 3))
            external[which] += system.body_wrenches(rows, loops[which], none)
        return loops, external

    # -----------------------------------------------------------------------------------------------------------------

    def _closed(self) -> NDArray[np.bool_]:
        """Which rows hold."""
        closed = np.ones(self.count, dtype=bool)
        names = [loop.name for loop in self._mechanism.loops]
        for row, loop in enumerate(self._system.loops.row_loop):
            closed[row] = names[loop] not in self._open
        return closed

    def _held(self) -> NDArray[np.bool_]:
        """Which rows hold and do not follow from others: closed loops are judged as a mechanism of their own."""
        held, m = self._closed(), self._mechanism
        closed = tuple(loop for loop in m.loops if loop.name not in self._open)
        active = constraint_system(replace(m, loops=closed) if self._open else m)
        places = np.flatnonzero(held[: self._system.n_held])
        held[places[~redundancy(active).kept]] = False
        return held

    def _mark_open(self) -> None:
        self.compiled.work.pages.open[:] = ~self._held()

    def _remember(self, t: float) -> None:
        self._periods.append((t, self._system, self._held()))

    def _each_period(self, times: Floats) -> Any:
        """Which of the times belong to each period, its system and the rows that hold in it."""
        starts = [*(period[0] for period in self._periods), np.inf]
        for k, (_, system, held) in enumerate(self._periods):
            which = (times >= starts[k]) & (times < starts[k + 1])
            if which.any():
                yield which, system, held

    def _join_here(self, q: Floats, name: str) -> None:
        self._mechanism = joined_here(self._mechanism, q, name)
        self._system = constraint_system(self._mechanism, self._contacts)
        tables, t = self.compiled.tables.pages, self._system.loops
        tables.rotation_b[:], tables.origin_b[:] = t.rotation_b, t.origin_b

    def _refuse_gap(self, change: CloseLoop, t: float, q: Floats) -> None:
        error = np.where(self._held(), self._system.position_error(q), 0.0)[: self._system.n_loop_rows]
        worst = int(np.abs(error).argmax())
        if abs(error[worst]) > LARGEST_START_ERROR:
            raise InputError(
                f"simulate: CloseLoop at t = {t:.9g} s: {self._system.names[worst]} is open by {error[worst]:.6g} "
                f'(m or rad); expected at most {LARGEST_START_ERROR:g}, or CloseLoop({change.time:g}, "{change.name}", '
                "here=True) to join the bodies where they are"
            )
