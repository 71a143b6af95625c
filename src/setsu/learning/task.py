"""What a policy has to do: a mechanism in its world, what it may drive and sees, and what counts. No Gymnasium here.

Functions of a task work on N worlds at once, so that one environment and a vector of them are the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.spatial import whole_number

__all__ = ["Task", "TaskState"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class TaskState:
    """N worlds after an action: time (N,) s since their reset, q (N, nq), v (N, nv), the action (N, n) in [-1, 1].

    contact_force (N, n_points, 3), N, world axes, in the last step before: only for tasks with `feels_forces`, else
    empty.
    """

    time: Floats
    q: Floats
    v: Floats
    action: Floats
    contact_force: Floats


@dataclass(frozen=True)
class Task:
    """A task for `SimulatorEnv` and `SimulatorVectorEnv`.

    Args:
        name: of the task.
        mechanism: what moves.
        n_actions: numbers of an action, each within [-1, 1].
        torque: (q (N, nq), v (N, nv), action (N, n)) -> torques (N, nv) held through a control period, N m or N.
        start: (generator, N) -> q (N, nq), v (N, nv) at a reset.
        observe: state -> observations (N, n_observations).
        reward: state -> (N,).
        terminated: state -> (N,) bool: the task has failed or is done.
        script: state -> actions (N, n) of a law without learning, None where there is none.
        step, control_steps: step of the simulator (s), and how many of them an action is held.
        duration: s, after which an episode is truncated.
        feels_forces: whether contact forces are part of the state; needs an environment.
        options: further ones of the `Simulator`: environment, torque (a JointServo), ...
    """

    name: str
    mechanism: Mechanism
    n_actions: int
    torque: Callable[[Floats, Floats, Floats], Floats]
    start: Callable[[np.random.Generator, int], tuple[Floats, Floats]]
    observe: Callable[[TaskState], Floats]
    reward: Callable[[TaskState], Floats]
    terminated: Callable[[TaskState], Bools]
    script: Callable[[TaskState], Floats] | None = None
    step: float = 2e-3
    control_steps: int = 5
    duration: float = 5.0
    feels_forces: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, least in (("n_actions", 1), ("control_steps", 1)):
            object.__setattr__(self, name, whole_number(getattr(self, name), f"Task {self.name}: {name}", least))
        if not self.step > 0.0 or not self.duration > 0.0:
            raise InputError(
                f"Task {self.name}: step, duration: expected positive seconds, got {self.step!r}, {self.duration!r}"
            )

    @property
    def period(self) -> float:
        """Time between two actions, s."""
        return self.step * self.control_steps
