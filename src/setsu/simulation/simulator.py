"""`Simulator`: worlds that are stepped from outside, one or thousands; `simulate` is a simulator that runs.

A machine moves a block of worlds and returns only to ask (docs/architecture.md); here the answers are given: torques by
the user's function, decisions about structure, room for records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints.contact import SurfaceContact
from setsu.constraints.prescribed import Prescribed
from setsu.contact import Environment, Polygon
from setsu.dynamics.catalogue import fast_function
from setsu.errors import InputError, nearest_names
from setsu.mechanism import Mechanism
from setsu.native.machine_calls import NOTICED, REFUSED, Hold
from setsu.simulation.arguments import checked_threads, chosen_rows, count_worlds, split_duration, states_of, vector
from setsu.simulation.block import Arrays, Block
from setsu.simulation.clock import Ask
from setsu.simulation.crew import Crew
from setsu.simulation.events import CloseLoop, OpenLoop
from setsu.simulation.joint_servo import JointServo
from setsu.simulation.recording import Recording, SimulationStopped
from setsu.simulation.recording_set import make_recording, recorded_times, refuse_memory
from setsu.simulation.saved_simulators import read_simulator, simulator_kind, write_simulator
from setsu.simulation.setting_up import Settings, make_blocks, positive
from setsu.simulation.stability import unstable_loop
from setsu.simulation.step_derivatives import (
    StepDerivatives,
    environment_derivatives,
    refuse_derivatives,
    step_derivatives,
)
from setsu.simulation.torques import Source, TorqueInput, held_torque, law_name
from setsu.spatial import whole_number

__all__ = ["Simulator"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Progress = Callable[[str, float], None]

_ROOM = 512  # rows of records kept in the machine at once
_ONLY = np.zeros(1, dtype=np.int64)  # the world of a block that has one
_PIECE = 500  # steps between which Ctrl-C and progress have their turn


class Simulator:
    """A mechanism that is stepped from outside; with `count` or a list of mechanisms, many worlds at once.

    Args:
        mechanism: what moves; a list [m1, ..., mN] of one topology: worlds that differ in masses, lengths or friction.
        step: s.
        torque: None, an array (nv,) (with worlds also (count, nv)), a function (t, q, v) -> (nv,) or a JointServo, N m
            or N; with worlds a function gets (t, Q, V), t (count,), and gives (count, nv). It acts beside the torques
            given to `step` and `run`.
        contacts, environment, contact_solver, body_contacts, exclude, integrator, tolerance, events, joint_stops,
        baumgarte, record, prescribed: as for `simulate`.
        count: number of worlds; without, arrays have no batch axis.
        threads: how many work on a batch; the numbers do not depend on it.

    >>> import setsu
    >>> sim = setsu.Simulator(setsu.sample_mechanisms.pendulum(), step=0.01)
    >>> sim.reset([1.0], [0.0])
    >>> sim.step(steps=10)
    >>> round(sim.time, 9)
    0.1
    """

    def __init__(
        self,
        mechanism: Mechanism | Sequence[Mechanism],
        step: float = 1e-3,
        torque: TorqueInput | JointServo = None,
        contacts: Sequence[SurfaceContact] = (),
        *,
        environment: Environment | None = None,
        contact_solver: str = "default",
        body_contacts: bool | str = False,
        exclude: Sequence[tuple[str, str]] = (),
        integrator: str | None = None,
        tolerance: float | None = None,
        record: Sequence[str] | None = None,
        events: Sequence[CloseLoop | OpenLoop] = (),
        joint_stops: bool = False,
        baumgarte: float | None = None,
        prescribed: Iterable[Prescribed] = (),
        count: int | None = None,
        threads: int | None = None,
    ) -> None:
        mechanisms = [mechanism] if isinstance(mechanism, Mechanism) else mechanism
        self.settings = Settings.checked(
            mechanisms, step, torque, contacts, environment, contact_solver, body_contacts, exclude, integrator,
            tolerance, record, events, joint_stops, baumgarte, prescribed,
        )  # fmt: skip
        several = not isinstance(mechanism, Mechanism)
        self._batched = several or count is not None
        self._count = count_worlds(count, len(self.settings.mechanisms) if several else None)
        self._threads = checked_threads(threads)
        m = self.mechanism = self.settings.mechanisms[0]
        self._arrays = Arrays(self._count, m)
        self._add, self._nothing = fast_function(m, "integrate"), np.zeros(m.nv)
        self._torque_shapes = ((self._count, m.nv), (m.nv,))[0 if self._batched else 1 :]
        self._source = self._last = self._make_source([self.settings.function_or_array])
        self._blocks: list[Block] = make_blocks(self.settings, self._arrays, self._batched, self._answer_one)
        self._crew = Crew(self._blocks, self._arrays, threads, self._batched, self._source)
        self._present: Recording | None = None
        self._pushing = self._started = False
        # Workspaces of `derivatives`, and the source whose steps are known to have some.
        self._differentiated: dict[Any, Any] = {}
        self._differentiable: Source | None = None
        self._use(self._source)

    # State ---------------------------------------------------------------------------------------------------------

    def reset(self, q: ArrayLike, v: ArrayLike, time: float = 0.0, rows: ArrayLike | None = None) -> None:
        """Set the state, (nq,) and (nv,), or (count, nq) and (count, nv), and the time (s).

        rows: which worlds (a mask or indices); the others stay as they are. A world that had stopped goes on again.
        """
        which, a, m = chosen_rows(rows, self._count, self._batched), self._arrays, self.mechanism
        q_new = states_of(q, m.nq, "q0", len(which), self._batched, m.name)
        v_new = states_of(v, m.nv, "v0", len(which), self._batched, m.name)
        if isinstance(time, bool) or not isinstance(time, int | float | np.floating) or not math.isfinite(time):
            raise InputError(f"Simulator.reset: time: expected a finite number, got {time!r:.80}")
        # Adding nothing scales quaternions to length one.
        add, nothing, place = self._add, self._nothing, slice(None) if rows is None else which
        a.q[place] = add(q_new[0], nothing) if len(q_new) == 1 else add(q_new, np.zeros((len(q_new), m.nv)))
        a.v[place], a.t[place], a.t0[place], a.k[place] = v_new, time, time, 0
        if rows is None and callable(self.settings.function_or_array):  # its gains may have changed
            self._source = self._make_source([self.settings.law], self._source)
            self._use(self._source)
        a.held[place] = self._source.constant[place]
        if self._crew.stops:
            self._crew.stops = {k: why for k, why in self._crew.stops.items() if k not in which}
            a.asked[place] = 0.0  # it may be what stopped them
        for source in {self._source, self._last} if self._source.functions or self._last.functions else ():
            source.forget(which.tolist())
        for block, inside in self._rows_of_blocks(which):
            block.end_pushes(inside)
            block.forget_samples(inside)
            block.reset(inside)
        self._present, self._started = None, True
        self._find_quick_way()

    def _rows_of_blocks(self, which: Ints) -> Iterable[tuple[Block, Ints]]:
        """The blocks that hold these worlds, and their numbers there."""
        if len(self._blocks) == self._count:
            return ((self._blocks[k], _ONLY) for k in which.tolist())
        each = ((block, which[(which >= block.first) & (which < block.first + block.count)]) for block in self._blocks)
        return ((block, inside - block.first) for block, inside in each if inside.size)

    @property
    def time(self) -> Any:
        """Present time, s; (count,) with worlds: of a stopped one, when it stopped."""
        return self._crew.times() if self._batched else float(self._arrays.t[0])

    @property
    def q(self) -> Floats:
        """Present coordinates, (nq,) or (count, nq)."""
        return self._arrays.q.copy() if self._batched else self._arrays.q[0].copy()

    @property
    def v(self) -> Floats:
        """Present velocities, (nv,) or (count, nv)."""
        return self._arrays.v.copy() if self._batched else self._arrays.v[0].copy()

    @property
    def stopped(self) -> dict[int, tuple[float, str]]:
        """Worlds that stopped: number -> (time in s, why)."""
        return dict(self._crew.stops)

    @property
    def events(self) -> Any:
        """What has happened since the reset: a tuple of EventReport; with worlds a tuple of such tuples."""
        each = [tuple(getattr(block, "events", ())) for block in self._blocks for _ in range(block.count)]
        return tuple(each) if self._batched else each[0]

    def __getattr__(self, name: str) -> Any:
        """Quantities of the present state as a recording has them: acceleration, energy, contact_force, ..."""
        if name in PRESENT:
            return self._at_present(name)
        raise AttributeError(f"'Simulator' object has no attribute {name!r}")

    # Stepping ------------------------------------------------------------------------------------------------------

    def step(self, torque: ArrayLike | None = None, steps: int = 1) -> None:
        """Take steps under a torque (nv,) or (count, nv) that is held meanwhile, beside the law of the simulator."""
        self._present = None
        if (ask := self._quick(torque, steps)) != Ask.DONE:
            self._go_on(ask, torque, steps)

    def _go_on(self, ask: int, torque: ArrayLike | None, steps: int) -> None:
        """Finish a step that Python has something to do with."""
        if ask != REFUSED:
            self._blocks[0].notice()
            if ask != NOTICED:
                self._crew.go_on(self._blocks[0], Ask(ask))
                self._end_step()
            return
        self._require_state("step")
        steps = whole_number(steps, "Simulator.step: steps")
        held = self._arrays.held
        if torque is None:
            held[...] = self._source.constant
        else:
            np.add(self._source.constant, self._checked_torque(torque), held)
        for block in self._blocks:
            block.new_torque()
        while self._sampled and steps:
            self._sample()
            part = min(steps, self._steps_to_sample())
            self._crew.advance(part, 0.0, 0, final=False)
            steps -= part
        if steps:
            self._crew.advance(steps, 0.0, 0, final=False)
        self._end_step()

    def _end_step(self) -> None:
        self._end_pushes()
        self._find_quick_way()
        if self._crew.stops and not self._batched:
            self._raise_stopped(None)

    def _find_quick_way(self) -> None:
        """One world that a torque from outside moves goes through one call of its machine."""
        plain = self._started and not (self._batched or self._crew.stops or self._pushing or self._sampled)
        way = self._blocks[0].quick_way(self._source.constant[0]) if plain else None
        self._quick: Hold = way or _no_quick_way

    def derivatives(self, torque: ArrayLike | None = None) -> StepDerivatives:
        """Return the exact derivatives of the next step under a torque (nv,) or (count, nv); nothing moves.

        In tangent coordinates, (nv, nv) or (count, nv, nv): dq_dq, dq_dv, dq_dtau, dv_dq, dv_dv, dv_dtau of the state
        after the step by the present one and the torque. For every integrator of fixed step, through trees, loops
        (along motions that keep them) and couplings; in an environment through contact points at polygons too.

        Raises:
            InputError: surface contacts, joint stops, torque functions, pushes, adaptive steps, bodies that touch each
                other, impacts, and a step in which dry friction or an event changes what moves.

        >>> import setsu
        >>> sim = setsu.Simulator(setsu.sample_mechanisms.pendulum(), step=0.01)
        >>> sim.reset([1.0], [0.0])
        >>> sim.derivatives([0.0]).dq_dv.round(4).tolist()
        [[0.01]]
        """
        self._require_state("derivatives")
        if self._pushing or self._crew.stops or self._differentiable is not self._source:
            refuse_derivatives(self.settings, self._source, self._pushing, self._crew.stops)
            self._differentiable = self._source
        if self.settings.environment is not None:
            torques = self._source.constant if torque is None else self._source.constant + self._checked_torque(torque)
            return environment_derivatives(self.settings, self._blocks, torques, self._differentiated, self._batched)
        a, kept, before = self._arrays, self.save(), (self._arrays.q.copy(), self._arrays.v.copy())
        try:
            self.step(torque)
            return step_derivatives(self.settings, before, a, self._batched)
        finally:
            self.restore(kept)

    def _checked_torque(self, torque: ArrayLike) -> Floats:
        return held_torque(torque, self._torque_shapes)

    def run(
        self,
        duration: float,
        torque: TorqueInput = None,
        record_every: int = 1,
        progress: Progress | None = None,
    ) -> Recording:
        """Go on for `duration` seconds under a torque or law beside that of the simulator; return what happened.

        The last step is shortened when the step does not divide the duration.
        """
        self._require_state("run")
        steps, last = split_duration(positive(duration, "duration"), self.settings.step)
        record_every = whole_number(record_every, "simulate: record_every")
        self._present = None
        source = self._last = self._make_source([self.settings.function_or_array, torque], self._last)
        refuse_memory(self._blocks, self._count, steps // record_every + 2)
        times = recorded_times(self._arrays, self.settings.step, steps, last, record_every, self._crew.stops)
        try:
            self._use(source)
            try:
                self._record(steps, last, record_every, progress or (lambda text, part: None))
            except InputError as problem:
                for block in self._blocks:
                    block.take_records()
                raise SimulationStopped(str(problem), self._recording(times)) from problem
            if not self._batched and self._crew.stops:
                self._raise_stopped(times)
            return self._recording(times)
        finally:
            self._use(self._source)
            self._end_pushes()

    # Saving --------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path | None = None) -> dict[str, Any]:
        """Return all that the worlds are in, for `restore`; with a path also write the whole simulator to a file.

        A torque function with a memory of its own offers `state()` and `set_state(kept)`; otherwise a warning says that
        its memory is not part of what is kept.
        """
        kept: dict[str, Any] = {
            "kind": simulator_kind(self.settings, self._count, self._source.codes),
            "blocks": [block.state() for block in self._blocks],
            "stopped": dict(self._crew.stops),
            "laws": self._source.memories(),
        }
        if path is not None:
            write_simulator(path, self.settings, self._count if self._batched else None, self._threads, kept)
        return kept

    def restore(self, kept: dict[str, Any]) -> None:
        """Go on, bit for bit, from what `save` returned here or in another simulator of the same kind."""
        kind = simulator_kind(self.settings, self._count, self._source.codes)
        if not isinstance(kept, dict) or kept.get("kind") != kind:
            raise InputError(
                "Simulator.restore: expected what `save` returned for a simulator of the same kind (mechanism, "
                f"options, count, sampled laws), got {kept!r:.80}"
            )
        for block, state in zip(self._blocks, kept["blocks"], strict=True):
            block.set_state(state)
        self._source.set_memories(kept["laws"])
        self._crew.stops, self._present, self._started = dict(kept["stopped"]), None, True
        self._pushing = any(block.drive.push.any() for block in self._blocks)
        self._find_quick_way()

    @staticmethod
    def load(path: str | Path) -> Simulator:
        """Read a simulator that `save(path)` wrote; it goes on bit for bit."""
        options, kept = read_simulator(path)
        sim = Simulator(**options)
        sim.restore(kept)
        return sim

    def push(
        self,
        body: str,
        force: ArrayLike,
        point: ArrayLike = (0.0, 0.0, 0.0),
        torque: ArrayLike = (0.0, 0.0, 0.0),
        rows: ArrayLike | None = None,
    ) -> None:
        """Push a body through the next step or run: force (N) at a point of the body (m, its frame), torque (N m).

        World axes; the force stays at the point. Pushes add up; a reset of their worlds forgets them. rows: as there.
        """
        self._require_state("push")
        which = chosen_rows(rows, self._count, self._batched)
        vectors = [vector(value, what) for value, what in ((force, "force"), (point, "point"), (torque, "torque"))]
        if body not in self.mechanism.body_names:
            raise InputError(f"Simulator.push: unknown body {body!r}{nearest_names(body, self.mechanism.body_names)}")
        for block, inside in self._rows_of_blocks(which):
            block.push(self.mechanism.body_names.index(body), inside, *vectors)
        self._pushing, self._present, self._quick = True, None, _no_quick_way

    def _end_pushes(self) -> None:
        for block in self._blocks if self._pushing else ():
            block.end_pushes()
        self._pushing = False

    # Running -------------------------------------------------------------------------------------------------------

    def _make_source(self, given: list[TorqueInput], before: Source | None = None) -> Source:
        s = self.settings
        sensed = s.contacts if s.environment is None else ()
        around = s.environment is not None
        return Source(self.mechanism, self._count, not self._batched, given, sensed, around, before)

    def _use(self, source: Source) -> None:
        """Let a source drive the worlds."""
        self._crew.acting, asks = source, bool(source.functions)
        self._arrays.held[:], self._arrays.asked[:] = source.constant, 0.0
        self._sampled = asks and source.period > 0.0
        for block in self._blocks:
            block.clock.asks[0] = int(asks and not self._sampled)
            block.use_codes(source.codes, self._batched)
            if self._started:
                block.new_torque()
        self._find_quick_way()

    def _answer_one(self, world: int, t: float, q: Floats, v: Floats) -> Floats:
        """The torque of the acting functions, for decisions of one world between steps."""
        a = self._arrays
        if self._sampled:
            return a.asked[world]
        # The others stand at their last accepted states.
        times, configurations, velocities = a.t.copy(), a.q.copy(), a.v.copy()
        times[world], configurations[world], velocities[world] = t, q, v
        return self._crew.acting.answer(times, configurations, velocities)[world]

    def _record(self, steps: int, last: float, every: int, progress: Progress) -> None:
        """Take all steps of a run, with records, in pieces between which Ctrl-C and progress have their turn."""
        for block in self._blocks:
            block.begin_records(min(_ROOM, steps // every + 2))
            block.clock.due[0] = 1
        done, piece = 0, every * max(1, _PIECE // every)
        while done < steps and len(self._crew.stops) < self._count:
            part = min(piece, steps - done)
            ends = done + part == steps
            if self._sampled:
                self._sample()
                part = min(part, self._steps_to_sample())
                ends = done + part == steps
            self._crew.advance(part, last if ends else 0.0, every, final=ends and not self._sampled, before=done)
            done += part
            if self._sampled and ends:
                self._sample()
                self._crew.advance(0, 0.0, every, final=True, before=done)
            progress(f"t = {self._arrays.t[0]:.3g} s", done / steps)
        for block in self._blocks:
            block.take_records()

    def _sample(self) -> None:
        """Ask sampled laws for the torque that acts from now on."""
        a = self._arrays
        a.asked[:] = self._crew.acting.answer(a.t, a.q, a.v)
        for block in self._blocks:
            block.new_torque()

    def _steps_to_sample(self) -> int:
        t, step = float(self._arrays.t[0]), self.settings.step
        return max(1, math.ceil((self._crew.acting.next_change(t) - t) / step - 1e-6))

    # Records -------------------------------------------------------------------------------------------------------

    def _recording(self, times: Floats) -> Recording:
        return make_recording(self.settings, self._blocks, times, self._batched, self.events, self.stopped)

    def _at_present(self, name: str) -> Any:
        """One quantity of the present state."""
        self._require_state(name)
        values = getattr(self.snapshot(), name)
        return values[:, -1] if self._batched else values[-1]

    def snapshot(self) -> Recording:
        """Return the present state alone as a recording, forces included; nothing moves."""
        self._require_state("snapshot")
        if self._present is None:
            states = [block.state() for block in self._blocks]
            for block in self._blocks:
                block.begin_records(1, whole=True)
                block.clock.due[0] = 1
            if self._sampled:
                self._sample()
            self._crew.advance(0, 0.0, 1, final=True)
            for block in self._blocks:
                block.take_records()
            self._present = self._recording(self._arrays.t[:, None].copy())
            for block, state in zip(self._blocks, states, strict=True):
                block.set_state(state)
            self._find_quick_way()
        return self._present

    def imu(self, frame: str) -> Any:
        """What an inertial sensor at a frame reads now, (6,) or (count, 6): see `Recording.imu`."""
        return self.snapshot().imu(frame)[..., -1, :]

    def contact_wrench(self, body: str) -> Any:
        """What the contacts exert on a body now, (6,) or (count, 6): see `Recording.contact_wrench`."""
        return self.snapshot().contact_wrench(body)[..., -1, :]

    def center_of_pressure(self, plane: Polygon | None = None) -> Any:
        """Where contact forces press on a plane now, (3,) or (count, 3): see `Recording.center_of_pressure`."""
        return self.snapshot().center_of_pressure(plane)[..., -1, :]

    def _require_state(self, what: str) -> None:
        if not self._started:
            raise InputError(f"Simulator.{what}: expected a state first: call reset(q, v)")

    def _raise_stopped(self, times: Floats | None) -> None:
        _, why = self._crew.stops[0]
        recording = self._recording(times) if times is not None else None
        laws = [*self._crew.acting.functions, *(code.function for code in self._crew.acting.codes)]
        if recording is not None and laws:
            why += unstable_loop(recording.q, recording.v, " + ".join(map(law_name, laws)))
        raise SimulationStopped(f"simulate: {why}", recording)  # type: ignore[arg-type]


def _no_quick_way(torque: object, steps: object) -> int:
    """What `step` meets where there is more to do than to hold a torque."""
    return REFUSED


# Quantities of the present state that a simulator offers, named as in a recording.
PRESENT = (
    "acceleration", "energy", "constraint_error", "contact_force", "joint_wrenches", "normal_force", "friction_force",
    "loop_wrench", "torque",
)  # fmt: skip
