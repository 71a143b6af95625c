"""Loops, couplings, surfaces and drives in a run with an environment: rows of every step; loops open and close.

Closing is a plastic impact (transitions.py (1), (2)) before the step that follows; contacts answer in that step.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.assembly import opening
from setsu.constraints.bearing_loads import all_bearing_limits
from setsu.constraints.contact import SurfaceContact
from setsu.constraints.dense_dynamics import held_tolerance
from setsu.constraints.held_motion import hold
from setsu.constraints.internal_forces import gather_loop_wrenches, least_internal_forces, open_directions
from setsu.constraints.loop_joint_forces import loop_joint_energy, loop_joint_forces
from setsu.constraints.ranks import EXACT
from setsu.constraints.redundancy import redundancy, warn_of_left_out
from setsu.constraints.system import ConstraintSystem, Linearisation, constraint_system
from setsu.dynamics import joint_wrenches, mass_matrix
from setsu.dynamics.equations import bare_inverse_dynamics
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.simulation.driven_joints import DrivenJoints
from setsu.simulation.events import CloseLoop, EventReport, OpenLoop
from setsu.simulation.joint_friction import without_dry_friction
from setsu.simulation.transitions import LARGEST_START_ERROR, joined_here, refuse_gap

__all__ = ["HeldLoops"]

Floats = NDArray[np.float64]


class _Period(NamedTuple):
    """Rows while nothing opens or closes: which are closed, and which of these hold and do not follow from others."""

    closed: NDArray[np.bool_]
    held: NDArray[np.bool_]


class HeldLoops:
    """The rows of a contact run; `compiled` is what its steps read. stops: whether joints of loops have some."""

    def __init__(
        self,
        mechanism: Mechanism,
        contacts: Sequence[SurfaceContact],
        open_loops: Iterable[str],
        drives: DrivenJoints,
        stops: bool = False,
    ) -> None:
        from setsu.contact.held_rows import make_held_rows

        self._declared = self._mechanism = mechanism
        self._contacts, self._drives, self._smooth = tuple(contacts), drives, without_dry_friction(mechanism)
        self._system = constraint_system(mechanism, contacts)
        bearings = any(loop.joint.has_bearing for loop in mechanism.loops)
        self.compiled, self._kept = make_held_rows(self._system, bearings, stops)
        self._open = set(open_loops)
        self._mark_open()
        # From which state on which system held, and which of its rows.
        self._periods: list[tuple[float, ConstraintSystem, _Period]] = []
        self._remember(-np.inf)

    def restart(self, open_loops: Iterable[str]) -> None:
        """Begin anew with these loops open."""
        if len(self._periods) == 1 and self._open == set(open_loops):
            return
        if self._mechanism is not self._declared:
            self._take(self._declared)
        self._open = set(open_loops)
        self._mark_open()
        self._periods = []
        self._remember(-np.inf)

    def as_they_stand(self) -> HeldLoops:
        """These loops as recordings read them: those that open or close later do not change them."""
        kept = copy.copy(self)
        kept._periods = list(self._periods)
        return kept

    def state(self) -> tuple[Any, ...]:
        """Which loops are open, and where they were joined."""
        return self._mechanism, frozenset(self._open), list(self._periods)

    def set_state(self, kept: tuple[Any, ...]) -> None:
        """Take over the state of the loops of the same mechanism."""
        mechanism, open_loops, periods = kept
        if mechanism.digest != self._mechanism.digest:
            self._take(mechanism)
        self._open, self._periods = set(open_loops), list(periods)
        self._mark_open()

    @property
    def acts_along_axes(self) -> bool:
        """Whether forces act along free axes of joints that close loops, those of stops included."""
        return bool(self.compiled.work.fields.acts[[0, 2]].any())

    def axes(self, q: Floats) -> tuple[Floats, Floats]:
        """Coordinates (f,) of the free axes of joints that close loops, and their rows (f, nv), at q (nq,)."""
        if not self._system.loops.names:
            return np.zeros(0), np.zeros((0, self._mechanism.nv))
        rows = self._system.linearise(q[None], np.zeros((1, self._mechanism.nv)))
        return rows.loop_poses.coordinate[0], rows.free_jacobian[0]

    def prescribe(self, t: float) -> None:
        """Let a step end, at time t (s), where the drives are then."""
        n, tables = len(self._drives), self.compiled.tables.fields
        tables.coupling_offset[-n:] = -self._drives.at(t)[:, 0]
        tables.coupling_acceleration[-n:] = 0.0

    def limits(self, q: Floats, v: Floats, through: Floats, loop_wrench: Floats) -> Floats:
        """Return what bearings resist with (nv + f,), under wrenches as in constraints/bearing_loads.py."""
        return all_bearing_limits(self._system, self._system.linearise(q[None], v[None]), through, loop_wrench)[0]

    @property
    def count(self) -> int:
        """Number of rows."""
        return self._system.n_rows

    def refuse_violations(self, t: float, q: Floats, v: Floats) -> None:
        """InputError when a state at time t (s) does not satisfy the closed rows."""
        if not self.count:
            return
        if len(self._drives):
            self._drives.put_into(self._system, t)
            self._drives.refuse_start(self._system, t, q, v)
        error, rate = self._errors_and_rates(q, v)
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
                self._take(joined_here(self._mechanism, q, change.name))
            refuse_gap(self._system, self._held(), t, q, change)
            if len(self._drives):
                self._drives.put_into(self._system, t)
            M, G = mass_matrix(self._mechanism, q), self._system.jacobian_and_error(q)[0][self._held()]
            rate = self._errors_and_rates(q, v)[1][self._held()]
            held = hold(M, G, rate, None, EXACT, self._mechanism, "simulate")
            jump, impulse = held.acceleration(held.forced_part), held.multipliers(held.forced_part)
            lost = float(0.5 * jump @ M @ jump)
        self._mark_open()
        self._remember(t)
        kind = "open" if isinstance(change, OpenLoop) else "close"
        return EventReport(t, kind, change.name, jump, impulse, lost)

    def errors(self, times: Floats, q: Floats) -> Floats:
        """Return the largest error of the rows that hold at states (T, nq), (T,), m or rad."""
        worst, drives = np.zeros(len(times)), self._drives
        if len(drives) and len(times):
            there = np.array([drives.at(float(t))[:, 0] for t in times])
            worst = np.abs(q[:, drives.coordinate] - there).max(axis=1)
        for which, system, period in self._each_period(times):
            held = period.held & ~self._driven(system)
            if held.any():
                worst[which] = np.maximum(worst[which], np.abs(system.position_error(q[which])[:, held]).max(axis=1))
        return worst

    def energy(self, times: Floats, q: Floats, v: Floats) -> Floats:
        """Return the energy of springs and drives in closed loop joints (J), (T,)."""
        total = np.zeros(len(times))
        if self.compiled.work.fields.acts[1]:
            for which, system, period in self._each_period(times):
                total[which] = loop_joint_energy(system, q[which], v[which], _axes(system, period))
        return total

    def accelerations(self, times: Floats, q: Floats, v: Floats, stepped: Floats) -> Floats:
        """Return accelerations (T, nv) as the rows ask for at the states, from those of the steps that begin there.

        A step holds its rows in its middle: the first after a start takes half of what they ask for.
        """
        m, a = self._mechanism, stepped.copy()
        for which, system, period in self._each_period(times):
            some, places = np.flatnonzero(which), np.flatnonzero(period.held)
            rows = system.linearise(q[some], v[some])
            G, size = rows.jacobian[:, places], system.row_size(rows)[:, places]
            gamma = rows.velocity_term[:, places] + np.einsum("trd,td->tr", G, a[some])
            if len(self._drives):
                prescribed = np.array([self._drives.at(float(t))[:, 2] for t in times[some]])
                gamma[:, self._driven(system)[places]] = a[some][:, self._drives.velocity] - prescribed
            held = hold(mass_matrix(m, q[some]), G, gamma, size, held_tolerance(system, rows.error), m, "simulate")
            a[some] += held.acceleration(held.forced_part)
        return a

    def forces(
        self, times: Floats, q: Floats, v: Floats, a: Floats, torque: Floats, wrench: Floats, dry: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return loop wrenches (T, n_loops, 6), those of contacts and loops on bodies (T, n_bodies, 6), drives (T, n).

        torque (T, nv): all that acts on the joints, dry friction included. wrench (T, n_bodies, 6): of contacts.
        dry (T, f): dry friction along free axes of loops.
        """
        m = self._mechanism
        loops, external, drives = (
            np.zeros((len(q), len(m.loops), 6)),
            wrench.copy(),
            np.zeros((len(q), len(self._drives))),
        )
        if not self.count:
            return loops, external, drives
        missing = bare_inverse_dynamics(self._smooth, q, v, a, wrench) - torque
        for which, system, period in self._each_period(times):
            some = np.flatnonzero(which)
            rows, M = system.linearise(q[some], v[some]), mass_matrix(m, q[some])
            places, others = np.flatnonzero(period.held), np.flatnonzero(period.closed & ~period.held)
            size = system.row_size(rows)[:, places]
            none, tolerance = np.zeros((len(some), len(places))), held_tolerance(system, rows.error)
            held = hold(M, rows.jacobian[:, places], none, size, tolerance, m, "simulate")
            multipliers = np.zeros((len(some), system.n_rows))
            along = np.where(_axes(system, period), dry[some], 0.0)
            if self.acts_along_axes:
                smooth = loop_joint_forces(system, rows, a[some], dry=False)
                along = along + np.where(_axes(system, period), smooth, 0.0)
                missing[some] -= np.einsum("tf,tfd->td", along, rows.free_jacobian)
            multipliers[:, places] = held.multipliers(held.solve_L(missing[some]))
            loop, total = _wrenches(system, rows, multipliers, wrench[some], along)
            through = joint_wrenches(m, q[some], v[some], a[some], total, "world")
            choice = open_directions(held, rows.jacobian[:, others], places, others, system.n_rows)
            contacts = np.arange(len(system.contacts))
            multipliers = least_internal_forces(system, rows, q[some], choice, multipliers, loop, through, contacts)
            loops[some], external[some] = _wrenches(system, rows, multipliers, wrench[some], along)
            drives[some] = multipliers[:, self._driven(system)]
        return loops, external, drives

    # -----------------------------------------------------------------------------------------------------------------

    def _driven(self, system: ConstraintSystem) -> NDArray[np.bool_]:
        """Which rows are those of drives."""
        rows = np.arange(system.n_rows)
        return (rows >= system.n_held - len(self._drives)) & (rows < system.n_held)

    def _errors_and_rates(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Errors and rates of all rows at a state, (n_rows,) each."""
        jacobian, error = self._system.jacobian_and_error(q)
        rate = jacobian @ v
        rate[self._system.n_loop_rows : self._system.n_held] += self._system.couplings.offset_rate
        return error, rate

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
        work = self.compiled.work.fields
        work.open[:] = ~self._held()
        work.axis_closed[:] = _axes(self._system, _Period(self._closed(), self._held()))

    def _remember(self, t: float) -> None:
        self._periods.append((t, self._system, _Period(self._closed(), self._held())))

    def _each_period(self, times: Floats) -> Any:
        """Which of the times belong to each period, its system and its rows."""
        starts = [*(period[0] for period in self._periods), np.inf]
        for k, (_, system, period) in enumerate(self._periods):
            which = (times >= starts[k]) & (times < starts[k + 1])
            if which.any():
                yield which, system, period

    def _take(self, mechanism: Mechanism) -> None:
        """Hold the rows of a mechanism that differs in the frames of its loops alone."""
        self._mechanism = mechanism
        self._system = constraint_system(self._mechanism, self._contacts)
        tables, t = self.compiled.tables.fields, self._system.loops
        tables.rotation_b[:], tables.origin_b[:] = t.rotation_b, t.origin_b


def _axes(system: ConstraintSystem, period: _Period) -> NDArray[np.bool_]:
    """Which free axes belong to closed loops, (f,)."""
    t = system.loops
    closed = np.ones(len(t.names), dtype=bool)
    closed[t.row_loop[~period.closed[: len(t.row_loop)]]] = False
    return closed[t.free_loop]


def _wrenches(
    system: ConstraintSystem, rows: Linearisation, multipliers: Floats, wrench: Floats, along: Floats
) -> tuple[Floats, Floats]:
    """Loop wrenches (T, loops, 6) of multipliers (T, rows) and forces along axes (T, f); all wrenches on bodies."""
    loop = gather_loop_wrenches(system, rows, multipliers, along)
    surfaces = multipliers[:, system.n_held :, None] * rows.normal
    return loop, wrench + system.body_wrenches(rows, loop, surfaces)
