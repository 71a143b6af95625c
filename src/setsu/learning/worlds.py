"""The worlds of a task, N at once, without Gymnasium: reset rows, act, look."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.learning.task import Task, TaskState
from setsu.simulation.contact_world import ContactWorld
from setsu.simulation.recording import SimulationStopped
from setsu.simulation.simulator import Simulator

__all__ = ["TaskWorlds"]

Floats = NDArray[np.float64]
_NO_FORCE = np.zeros((1, 0, 3))


class TaskWorlds:
    """N worlds of a task in one batched simulator; with threads as given to the simulator."""

    def __init__(self, task: Task, count: int, threads: int | None = None) -> None:
        self.task, self.count = task, count
        # One world that is no batch takes the simulator's shortest way into its machine.
        self._single = count == 1
        many = {} if self._single else {"count": count}
        self.sim = Simulator(task.mechanism, task.step, threads=threads, **many, **task.options)
        self._contact_worlds = [block for block in self.sim._blocks if isinstance(block, ContactWorld)]
        if task.feels_forces and len(self._contact_worlds) != count:
            raise InputError(f"Task {task.name}: feels_forces: expected an environment among its options")
        self.begun = np.zeros(count)
        self.action = np.zeros((count, task.n_actions))

    def reset(self, rows: NDArray[np.int64], generators: list[np.random.Generator]) -> None:
        """Begin anew in some worlds, each from its own generator."""
        m = self.task.mechanism
        starts = [self.task.start(generator, 1) for generator in generators]
        q, v = (np.concatenate([np.reshape(start[k], (1, -1)) for start in starts]) for k in range(2))
        if q.shape != (len(rows), m.nq) or v.shape != (len(rows), m.nv):
            raise InputError(
                f"Task {self.task.name}: start: expected q (N, {m.nq}) and v (N, {m.nv}), got {q.shape}, {v.shape}"
            )
        if self._single:
            self.sim.reset(q[0], v[0])
        else:
            self.sim.reset(q, v, rows=rows)
        self.begun[rows], self.action[rows] = 0.0, 0.0

    def act(self, action: Floats) -> None:
        """Hold an action (N, n), limited to [-1, 1], for a control period."""
        task = self.task
        self.action = np.clip(action, -1.0, 1.0)
        q, v = self._state()
        torque = np.asarray(task.torque(q, v, self.action), dtype=np.float64)
        if torque.shape != (self.count, task.mechanism.nv):
            raise InputError(
                f"Task {task.name}: torque: expected shape {(self.count, task.mechanism.nv)}, got {torque.shape}"
            )
        if not self._single:
            self.sim.step(torque, steps=task.control_steps)
        elif not self.sim.stopped:
            with suppress(SimulationStopped):  # `stopped` says so, as of worlds of a batch
                self.sim.step(torque[0], steps=task.control_steps)

    def _state(self) -> tuple[Floats, Floats]:
        """Coordinates (N, nq) and velocities (N, nv)."""
        sim = self.sim
        return (sim.q[None], sim.v[None]) if self._single else (sim.q, sim.v)

    def state(self) -> TaskState:
        """The worlds as the functions of the task see them."""
        force = _NO_FORCE if self._single else np.zeros((self.count, 0, 3))
        if self.task.feels_forces:
            force = np.array([block.last_point_forces() for block in self._contact_worlds])
        return TaskState(self.sim.time - self.begun, *self._state(), self.action.copy(), force)

    @property
    def stopped(self) -> NDArray[np.bool_]:
        """Worlds (N,) that could not go on: their episodes end."""
        found = np.zeros(self.count, dtype=bool)
        stops = self.sim.stopped
        if stops:
            found[list(stops)] = True
        return found
