"""A block of trees without constraints: N worlds in lockstep (tree_machine.py)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import forward_dynamics, joint_wrenches, kinetic_energy, potential_energy
from setsu.dynamics.catalogue import require_mass
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.native.compiled_code import machine
from setsu.native.workspace import Workspace, make
from setsu.simulation.block import Arrays, Block, Failure
from setsu.simulation.clock import BAD_NUMBERS, make_clock, make_drive
from setsu.simulation.lazy_field import NotRecorded
from setsu.simulation.pushes import pushed_torque, pushed_wrenches
from setsu.simulation.recording import EnergyLedger, Recording
from setsu.simulation.sampling import make_sampling
from setsu.simulation.stages import Method, Rows, make_stages
from setsu.simulation.tree_machine import TreeRecords, Unrolling, make_tree_work, run_tree

__all__ = ["TreeBlock"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class TreeBlock(Block):
    """Worlds of one mechanism without constraints under an explicit method of fixed step.

    keep: which of acceleration and works are recorded beside q, v and torque.
    """

    def __init__(
        self, m: Mechanism, arrays: Arrays, first: int, method: Method, step: float, keep: frozenset[str],
        unrolling: Unrolling,
    ) -> None:  # fmt: skip
        super().__init__()
        require_mass(m, "simulate")
        self.mechanism, self.arrays, self.first, self.step, self._keep = m, arrays, first, step, keep
        n = len(arrays.q)
        self.rows = Rows(
            arrays.q, arrays.v, np.zeros((n, m.nv)), np.zeros((n, 4)), arrays.t, np.zeros(n), arrays.t0, arrays.k
        )
        self.clock = make_clock(n, step)
        self.clock.ledger[0] = int("ledger" in keep)
        self.drive = make_drive(arrays.held, arrays.asked, arrays.total, m.nq)
        self.work, kept_work = make_tree_work(m, self.rows, arrays.total)
        self.stages, kept_stages = make_stages(m, method, self.rows)
        self._kept = (kept_work, kept_stages)
        self._unrolling, self._unrolled = unrolling, None
        self._method = Workspace(method)
        self._chunks: list[TreeRecords] = []
        self._pushed = []
        self.sampling = make_sampling((), n, m.nv, 0, None)
        self.begin_records(1)

    def set_run(self, before: int, steps: int, last: float, every: int, final: bool) -> None:
        """Let the next call of the machine take so many steps, after those of the same run before."""
        super().set_run(before, steps, last, every, final)
        if self._unrolled is None and self.count > 1:
            code = self._unrolling.after(steps * self.count)
            if code is not None:
                self._unrolled = code.bind([self.rows.q, self.rows.v, self.arrays.total], [self.rows.a])
                self.work.forward[:] = self._unrolled.handle

    @property
    def q_of_stage(self) -> Floats:
        """Configurations (N, nq) that are evaluated."""
        return self.rows.q

    def workspaces(self) -> Iterable[Workspace]:
        """All workspaces but the records."""
        return self._workspaces

    def begin_records(self, rows: int, whole: bool = False) -> None:
        """Forget all records, and make room for so many at once; whole: of every quantity."""
        of_a, of_works = (rows if name in self._keep else 0 for name in ("acceleration", "ledger"))
        lengths = {"room": rows, "room_a": of_a, "room_works": of_works}
        self.records = make(TreeRecords, lengths | {"N": self.count, "nq": self.mechanism.nq, "nv": self.mechanism.nv})
        self._chunks, self.clock.used[0] = [], 0
        self.rebind()

    def rebind(self) -> None:
        """Make the way into the machine anew, after workspaces have changed."""
        self._workspaces = [
            Workspace(fields) for fields in (self.clock, self.rows, self.drive, self.sampling, self.work, self.stages)
        ]
        self.machine = machine(run_tree, self._method, *self._workspaces, Workspace(self.records))

    @property
    def row_bytes(self) -> int:
        """What a recorded state of all worlds of this block takes, in bytes."""
        return sum(array[:1].nbytes for array in self.records)

    def take_records(self) -> None:
        """Take over the records that the machine has kept."""
        used = int(self.clock.used[0])
        if used:
            self._chunks.append(TreeRecords(*(array[:used].copy() for array in self.records)))
            self.clock.used[0] = 0

    def reset(self, rows: Ints) -> None:
        """Begin anew with the states that stand in the arrays of some rows."""
        self.rows.start[rows] = self.rows.t[rows]
        self.clock.frozen[rows] = 0
        self.work.works[rows] = 0.0
        self.new_torque()

    def answer_failure(self) -> None:
        """Let the worlds whose accelerations are no numbers stand still, and the others go on if there are any."""
        frozen, y = self.clock.frozen, self.rows
        moving = np.flatnonzero(frozen == 0)
        for n in moving:
            try:
                forward_dynamics(self.mechanism, y.q[n], y.v[n], self.arrays.total[n])
            except InputError:
                frozen[n], self.clock.frozen_at[n] = BAD_NUMBERS, y.start[n]
        if frozen.all() or not frozen[moving].any():
            frozen[frozen == 0] = BAD_NUMBERS
            raise Failure(self.reason(0))

    def columns(self, name: str) -> Floats:
        """What was recorded, (T, N, ...)."""
        parts = [getattr(chunk, name) for chunk in self._chunks]
        return parts[0] if len(parts) == 1 else np.concatenate([getattr(self.records, name)[:0], *parts])

    def stacked(self, name: str, times: Floats) -> Floats:
        """What was recorded of all worlds, (N, T, ...)."""
        return self.columns("tau" if name == "torque" else name).swapaxes(0, 1).copy()

    def recording(self, row: int, **names: Any) -> Recording:
        """Return the recording of one world."""
        m, q, v, tau = self.mechanism, *(self.columns(name)[:, row].copy() for name in ("q", "v", "tau"))
        a = self.columns("a")[:, row].copy() if "acceleration" in self._keep else None
        works = self.columns("works")[:, row].T.copy() if "ledger" in self._keep else None
        pushes = self.pushes(row)
        acceleration = (lambda: forward_dynamics(m, q, v, tau + pushed_torque(m, pushes, q))) if a is None else a
        zero = np.zeros(len(q))
        names["time"] = names["time"][: len(q)]

        def energy() -> Floats:
            return kinetic_energy(m, q, v) + potential_energy(m, q)

        def ledger() -> EnergyLedger:
            assert works is not None
            change = energy()
            rest = change - change[0] - works.sum(axis=0)
            return EnergyLedger(*works, projection=zero, impacts=zero, integration=rest)

        return Recording(
            **names,
            q=q,
            v=v,
            acceleration=acceleration,
            torque=tau,
            joint_wrenches=lambda: joint_wrenches(
                m,
                q,
                v,
                acceleration() if callable(acceleration) else acceleration,
                pushed_wrenches(m, pushes, q),
                "world",
            ),
            normal_force=np.zeros((len(q), 0)),
            friction_force=np.zeros((len(q), 0, 3)),
            contact_force=np.zeros((len(q), 0, 3)),
            loop_wrench=np.zeros((len(q), 0, 6)),
            energy=energy,
            constraint_error=zero,
            ledger=NotRecorded("ledger") if works is None else ledger,
            mechanism=m,
        )
