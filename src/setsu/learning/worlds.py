"""The worlds of a task, N at once, without Gymnasium: reset rows, act, look."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.learning.task import Task, TaskState
from setsu.simulation.contact_world import ContactWorld
from setsu.simulation.simulator import Simulator

__all__ = ["TaskWorlds"]

Floats = NDArray[np.float64]


class TaskWorlds:
    """N worlds of a task in one batched simulator; with threads as given to the simulator."""

    def __init__(self, task: Task, count: int, threads: int | None = None) -> None:
        self.task, self.count = task, count
        self.sim = Simulator(task.mechanism, task.step, count=count, threads=threads, **task.options)
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
        self.sim.reset(q, v, rows=rows)
        self.begun[rows], self.action[rows] = 0.0, 0.0

    def act(self, action: Floats) -> None:
        """Hold an action (N, n), limited to [-1, 1], for a control period."""
        task = self.task
        self.action = np.clip(action, -1.0, 1.0)
        torque = np.asarray(task.torque(self.sim.q, self.sim.v, self.action), dtype=np.float64)
        if torque.shape != (self.count, task.mechanism.nv):
            raise InputError(
                f"Task {task.name}: torque: expected shape {(self.count, task.mechanism.nv)}, got {torque.shape}"
            )
        self.sim.step(torque, steps=task.control_steps)

    def state(self) -> TaskState:
        """The worlds as the functions of the task see them."""
        sim = self.sim
        force = np.zeros((self.count, 0, 3))
        if self.task.feels_forces:
            force = np.stack([block.last_point_forces() for block in self._contact_worlds])
        return TaskState(sim.time - self.begun, sim.q, sim.v, self.action.copy(), force)

    @property
    def stopped(self) -> NDArray[np.bool_]:
        """Worlds (N,) that could not go on: their episodes end."""
        found = np.zeros(self.count, dtype=bool)
        found[list(self.sim.stopped)] = True
        return found
