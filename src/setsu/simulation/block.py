"""What the simulator asks of a block of worlds, whatever machine moves it."""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import native_function
from setsu.errors import ModelWarning
from setsu.mechanism import Mechanism
from setsu.native.machine_calls import Hold, Machine
from setsu.native.threads import get_threads, pool
from setsu.native.workspace import Workspace
from setsu.simulation.clock import BAD_NUMBERS, BAD_TORQUE, DIVERGED, LAWS, STOPPED, WANTS, Ask, Clock, Drive
from setsu.simulation.pushes import Push
from setsu.simulation.sampling import Sampling, forget_samples, make_sampling

__all__ = ["Arrays", "Block", "Failure", "call_all", "mutable_arrays"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Arrays:
    """State and torques of all N worlds of a simulator; blocks work on rows of them."""

    def __init__(self, count: int, m: Mechanism) -> None:
        nv = m.nv
        self.q, self.v = np.tile(m.neutral(), (count, 1)), np.zeros((count, nv))
        self.t, self.t0, self.k = np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.int64)
        self.held, self.asked, self.total = (np.zeros((count, nv)) for _ in range(3))

    def rows(self, start: int, stop: int) -> Arrays:
        """The rows of some worlds, as views."""
        part = object.__new__(Arrays)
        for name, array in self.__dict__.items():
            setattr(part, name, array[start:stop])
        return part


_ASKS = tuple(Ask)
_NAMELESS: dict[str, Any] = dict.fromkeys(
    ("name", "integrator", "step", "joint_names", "body_names", "velocity_names", "coordinate_names", "contact_names",
     "loop_names"), ()
)  # fmt: skip


class Failure(Exception):  # noqa: N818  (a signal to the simulator, which words it)
    """A world cannot go on."""


class Block(ABC):
    """Worlds that one machine moves: `first` is the number of the first of them in the simulator."""

    clock: Clock
    drive: Drive
    arrays: Arrays
    machine: Machine
    first: int
    mechanism: Mechanism
    _pushed: list[tuple[int, Floats]]
    """Bodies that may be pushed, and where in each world (count, 3), m: one for each slot of `Drive.push`."""
    sampling: Sampling
    sensed = 0
    """How many forces a sampled law may sense."""
    _codes: tuple[Any, ...] = ()

    _held_by: tuple[Machine, Hold] | None = None
    """The machine that was run last by a torque from outside, and how."""

    def __init__(self) -> None:
        self._sampled_before: dict[int, tuple[Any, Sampling, int]] = {}

    @property
    def count(self) -> int:
        """Number of worlds."""
        return len(self.clock.frozen)

    @property
    @abstractmethod
    def q_of_stage(self) -> Floats:
        """Configurations (N, nq) that are evaluated."""

    @abstractmethod
    def rebind(self) -> None:
        """Make the way into the machine anew, after workspaces have changed."""

    @abstractmethod
    def reset(self, rows: Ints) -> None:
        """Begin anew with the states that stand in the arrays of some rows (of this block)."""

    @abstractmethod
    def workspaces(self) -> Iterable[Workspace]:
        """All workspaces."""

    @property
    @abstractmethod
    def row_bytes(self) -> int:
        """What a recorded state of all worlds of this block takes, in bytes."""

    @abstractmethod
    def take_records(self) -> None:
        """Take over the records that the machine has kept, so that there is room again."""

    @abstractmethod
    def begin_records(self, rows: int, whole: bool = False) -> None:
        """Forget all records, and make room for so many at once; whole: of every quantity."""

    @abstractmethod
    def recording(self, row: int, **names: Any) -> Any:
        """Return the recording of one world."""

    def stacked(self, name: str, times: Floats) -> Floats:
        """What was recorded of all worlds of this block, (N, T, ...), at times (N or more, T), s."""
        found = [getattr(self.recording(row, **_NAMELESS, time=times[row]), name) for row in range(self.count)]
        return np.stack(found)

    def answer_event(self) -> None:
        """Decide what happens after an EVENT; Failure when nothing can."""
        raise Failure("an event in a world without constraints")

    def answer_failure(self) -> None:
        """Go on after FAILED if that is possible; Failure says why not."""
        raise Failure(self.reason(0))

    def reason(self, row: int) -> str:
        """Why a world was frozen."""
        t, why = float(self.clock.frozen_at[row]), int(self.clock.frozen[row])
        if why == BAD_TORQUE:
            tau = self.drive.held[row] + self.drive.asked[row]
            bad = np.flatnonzero(~np.isfinite(tau))
            entry = f": entry {bad[0]} is {tau[bad[0]]}, expected finite numbers" if bad.size else " is not finite"
            what = "torque function" if self.clock.asks[0] or self._codes else "torque"
            asked = float(self.arrays.t[row])
            # The clock of a block goes on for its other worlds; the step that failed is then all that is known.
            if asked > t + (1.0 + 1e-9) * float(self.clock.step[0]):
                return f"{what} in the step from t = {t:.9g} s{entry}"
            return f"{what} at t = {asked:.9g} s{entry}"
        if why == DIVERGED:
            speed = np.abs(self.arrays.v[row]).max(initial=0.0)
            return (
                f"at t = {t:.9g} s the motion grows without bound (largest |v| {speed:.3g}); "
                "try a shorter step or radau"
            )
        if why == BAD_NUMBERS:
            return f"at t = {t:.9g} s the state is not finite; expected a shorter step or smaller forces"
        return ""

    def set_run(self, before: int, steps: int, last: float, every: int, final: bool) -> None:
        """Let the next call of the machine take so many steps, after those of the same run before."""
        c = self.clock
        c.done[0], c.target[0], c.last[0], c.every[0], c.final[0] = before, before + steps, last, every, final

    @property
    def is_plain(self) -> bool:
        """Whether steps without records need nothing of Python but torques."""
        return True

    @property
    def watched(self) -> Ints:
        """(1,) not zero when there is something to notice after steps."""
        return self.clock.order  # zero as soon as they have begun

    def notice(self) -> None:
        """Say what was noticed in steps that Python was not asked in, and go on watching."""
        self.watched[0] = 0

    def quick_way(self, constant: Floats) -> Hold | None:
        """Return hold(torque, steps) of native/machine_calls.py, for the only world of a plain block.

        It takes steps without records under the torque beside a constant one (nv,), and returns an Ask.
        """
        if not self.is_plain:
            return None
        if self._held_by is None or self._held_by[0] is not self.machine:
            self._base = np.zeros(len(constant))
            hold = self.machine.holding(self.arrays.held[0], self._base, self.clock.order, self.watched)
            self._held_by = self.machine, hold
        self._base[:] = constant
        return self._held_by[1]

    def new_torque(self) -> None:
        """The torque has changed from outside: the present state is evaluated again before the next step."""
        self.clock.phase[0], self.clock.stage[0], self.clock.answered[0] = WANTS, -1, 0

    def freeze(self) -> None:
        """Let the only world of this block stand still."""
        if not self.clock.frozen[0]:
            self.clock.frozen[0], self.clock.frozen_at[0] = STOPPED, self.arrays.t[0]

    def push(self, body: int, rows: Ints, force: Floats, point: Floats, torque: Floats) -> None:
        """Add a wrench on a body of some worlds: force (N) at a point (m, body frame) and torque (N m), world axes."""
        if self.mechanism.has_bearings:
            warnings.warn(
                f"Simulator.push: bearings of {self.mechanism.name} resist by their load, which leaves pushes out",
                ModelWarning,
                stacklevel=3,
            )
        slot = self._find_push_slot(body, rows, point)
        self._pushed[slot][1][rows] = point
        wrench = self.drive.push[slot].reshape(-1, 6)
        wrench[rows, :3] += force
        wrench[rows, 3:] += torque

    def _find_push_slot(self, body: int, rows: Ints, point: Floats) -> int:
        """The slot where these worlds push a body at this point, or at none yet; a new one if there is none."""
        for slot, (pushed, points) in enumerate(self._pushed):
            idle = ~self.drive.push[slot].reshape(-1, 6)[rows].any(axis=1)
            if pushed == body and (idle | (points[rows] == point).all(axis=1)).all():
                return slot
        self._make_push_slots([*self._pushed, (body, np.zeros((self.count, 3)))])
        return len(self._pushed) - 1

    def _make_push_slots(self, pushed: Sequence[tuple[int, Floats]]) -> None:
        """Have one slot for each body and its points (count, 3), m; wrenches in the slots before are kept."""
        n, nv, d = self.count, self.mechanism.nv, self.drive
        self._pushed = [(body, points.copy()) for body, points in pushed]
        jacobian, push = np.zeros((len(pushed), n, 6 * nv)), np.zeros((len(pushed), 6 * n))
        self._push_kept = [
            native_function(self.mechanism, "frame_jacobian", target=body).bind([self.q_of_stage, points], [out])
            for (body, points), out in zip(self._pushed, jacobian, strict=True)
        ]
        kept = min(len(d.push), len(push))
        push[:kept] = d.push[:kept]
        handles = np.array([call.handle for call in self._push_kept], dtype=np.int64)
        kernels = handles.reshape(len(pushed), d.push_kernels.shape[1])
        self.drive = d._replace(push=push, jacobian=jacobian, push_kernels=kernels)
        self.rebind()

    def end_pushes(self, rows: Ints | slice = slice(None)) -> None:
        """Forget the pushes of some worlds."""
        if self._pushed:
            self.drive.push.reshape(-1, self.count, 6)[:, rows] = 0.0

    def pushes(self, row: int) -> list[Push]:
        """What pushes a world, as the machine adds it up."""
        wrenches = self.drive.push.reshape(-1, self.count, 6)[:, row]
        return [
            Push(body, points[row].copy(), wrench.copy())
            for (body, points), wrench in zip(self._pushed, wrenches, strict=True)
            if wrench.any()
        ]

    def as_it_stands(self) -> Block:
        """This block as recordings read it: later runs, resets and pushes do not change it."""
        kept = copy.copy(self)
        kept._pushed = [(body, points.copy()) for body, points in self._pushed]
        kept.drive = self.drive._replace(push=self.drive.push.copy())
        return kept

    def use_codes(self, codes: Sequence[Any], batched: bool) -> None:
        """Let laws without Python act, those of the simulator first, and no others.

        batched: noise depends on a world's number.
        """
        if [*map(id, self._codes)] == [*map(id, codes)]:
            return
        sampled = [code for code in codes if hasattr(code, "period")]
        steady = [code for code in codes if not hasattr(code, "period")]
        d, m = self.drive, self.mechanism
        d.code[:] = 0
        d.code[: len(steady)] = [code.address for code in steady]
        tables = [(k, table) for k, code in enumerate(steady) for table in code.tables]
        tables += [(LAWS + k, table) for k, code in enumerate(sampled) for table in code.tables]
        listed, knots, numbers = np.zeros((len(tables), 6), dtype=np.int64), 0, 0
        for row, (k, table) in zip(listed, tables, strict=True):
            row[:] = k, knots, len(table.knots), *table.coefficients.shape[1:], numbers
            knots, numbers = knots + len(table.knots), numbers + table.coefficients.size
        widths = [
            sum(table.coefficients.shape[1] for table in code.tables)
            + (code.memory + len(code.sensors) if hasattr(code, "period") else 0)
            for code in codes
        ]
        self.drive = d._replace(
            inputs=np.zeros(1 + m.nq + m.nv + max(widths, default=0)),
            tables=listed,
            knots=np.concatenate([np.zeros(0), *(table.knots for _, table in tables)]),
            coefficients=np.concatenate([np.zeros(0), *(table.coefficients.ravel() for _, table in tables)]),
        )
        for array in (self.drive.tables, self.drive.knots, self.drive.coefficients):
            array.flags.writeable = False  # no part of the state
        self._use_sampled(sampled, self.sensed if any(code.sensors for code in sampled) else 0, batched)
        self._codes = tuple(codes)
        self.rebind()

    def _use_sampled(self, laws: list[Any], sensed: int, batched: bool) -> None:
        """Let these sampled laws act; what those that acted before remember is kept for when they come again."""
        before = [code for code in self._codes if hasattr(code, "period")]
        for k, law in enumerate(before):
            self._sampled_before[id(law.function)] = (law, self.sampling, k)
        worlds = range(self.first, self.first + self.count) if batched else None
        made = make_sampling(laws, self.count, self.mechanism.nv, sensed, worlds)
        for k, law in enumerate(laws):
            known, old, j = self._sampled_before.get(id(law.function), (None, made, k))
            # Gains may have changed since; a law that remembers or waits otherwise begins anew.
            if known is not None and (known.memory, known.period, known.delay) == (law.memory, law.period, law.delay):
                made.taken[k], made.first[k] = old.taken[j], old.first[j]
                made.memory[k, :, : law.memory] = old.memory[j, :, : law.memory]
                ring = int(made.sizes[k, 2]) * self.mechanism.nv
                made.under_way[k, :, :ring] = old.under_way[j, :, :ring]
        self.sampling = made
        self.drive.sampled[:] = made.initial.sum(axis=0)

    def forget_samples(self, rows: Ints) -> None:
        """Let sampled laws begin anew in some rows, before a reset."""
        if not len(self.sampling.code) and not self._sampled_before:
            return
        self.drive.sampled[rows] = self.sampling.initial.sum(axis=0)
        for sampling in (self.sampling, *(old for _, old, _ in self._sampled_before.values())):
            forget_samples(sampling, rows)

    def call(self) -> Ask:
        """Let the machine run until it asks."""
        return _ASKS[self.machine.run()]

    # State ---------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All that a step changes, as copies."""
        return {
            "arrays": [array.copy() for array in self._mutable()],
            "pushed": [(b, p.copy()) for b, p in self._pushed],
        }

    def set_state(self, kept: dict[str, Any]) -> None:
        """Take over the state of a block of the same kind."""
        if [body for body, _ in kept["pushed"]] != [body for body, _ in self._pushed]:
            self._make_push_slots(kept["pushed"])
        for (_, points), (_, values) in zip(self._pushed, kept["pushed"], strict=True):
            points[...] = values
        for array, values in zip(self._mutable(), kept["arrays"], strict=True):
            array[...] = values

    def _mutable(self) -> list[NDArray[Any]]:
        own = [getattr(self.arrays, name) for name in self.arrays.__dict__]
        return [*own, *mutable_arrays(self.workspaces())]


def call_all(blocks: list[Block], threads: int | None) -> list[Ask]:
    """Let machines run until they ask, on several threads where that pays."""
    count = min(threads or get_threads(), len(blocks))
    if count <= 1:
        return [block.call() for block in blocks]
    asks, left = [Ask.DONE] * len(blocks), deque(range(len(blocks)))

    def work(take: Callable[[], int]) -> None:
        while left:
            try:
                k = take()
            except IndexError:  # another thread was quicker
                return
            asks[k] = blocks[k].call()

    # From both ends: most worlds stay with the core that has them in its cache, and no thread waits for a slower one.
    waiting = [pool(count - 1).submit(work, (left.pop, left.popleft)[k % 2]) for k in range(count - 1)]
    work(left.popleft)
    for future in waiting:
        future.result()
    return asks


def mutable_arrays(workspaces: Iterable[Workspace]) -> list[NDArray[Any]]:
    """The arrays of workspaces without handles of kernels, which hold addresses of this very world.

    A workspace inside another one holds nothing from one step to the next.
    """
    found: list[NDArray[Any]] = []
    for workspace in workspaces:
        kinds = type(workspace.fields).__annotations__
        found += [
            array
            for name, array in zip(workspace.fields._fields, workspace.fields, strict=True)
            if kinds[name].__forward_arg__ not in ("Handle", "NestedWorkspace") and array.flags.writeable
        ]
    return found
