"""Tasks as environments of Gymnasium (1.0 and later): one world, or a vector of worlds in one batched simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.learning.task import Task
from setsu.learning.worlds import TaskWorlds
from setsu.spatial import whole_number

try:
    import gymnasium
    from gymnasium.utils.seeding import np_random
    from gymnasium.vector import AutoresetMode, VectorEnv
except ImportError:
    raise InputError(
        "setsu.learning: Gymnasium is missing, or older than 1.1; install it by: pip install setsu[learning]"
    ) from None

__all__ = ["SimulatorEnv", "SimulatorVectorEnv"]

Floats = NDArray[np.float64]


def _spaces(task: Task, worlds: TaskWorlds) -> tuple[Any, Any]:
    """Spaces of one world's observations and actions."""
    worlds.reset(np.arange(worlds.count), [np.random.default_rng(0)] * worlds.count)
    seen = np.asarray(task.observe(worlds.state()))
    if seen.ndim != 2 or len(seen) != worlds.count:
        raise InputError(f"Task {task.name}: observe: expected shape ({worlds.count}, n), got {seen.shape}")
    return (
        gymnasium.spaces.Box(-np.inf, np.inf, seen.shape[1:], np.float64),
        gymnasium.spaces.Box(-1.0, 1.0, (task.n_actions,), np.float64),
    )


class SimulatorEnv(gymnasium.Env[Floats, Floats]):
    """One world of a task as a `gymnasium.Env`.

    An episode is terminated where the task says so, or the simulation cannot go on (`info["stopped"]` says why), and
    truncated after `task.duration`.

    >>> env = SimulatorEnv(setsu.learning.arm_pushes_along_wall())  # doctest: +SKIP
    >>> observation, info = env.reset(seed=1)  # doctest: +SKIP
    """

    metadata = {"render_modes": []}  # noqa: RUF012  (as Gymnasium declares it)

    def __init__(self, task: Task, render_mode: str | None = None) -> None:
        if render_mode is not None:
            raise InputError(f"SimulatorEnv: render_mode: expected None, got {render_mode!r}")
        self.task, self.render_mode = task, None
        self.worlds = TaskWorlds(task, 1)
        self.observation_space, self.action_space = _spaces(task, self.worlds)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode; return the observation and an empty dict."""
        super().reset(seed=seed)
        self.worlds.reset(np.arange(1), [self.np_random])
        return self.task.observe(self.worlds.state())[0], {}

    def step(self, action: Floats) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Hold an action for a control period; return observation, reward, terminated, truncated, info."""
        task, worlds = self.task, self.worlds
        worlds.act(_actions(action, (task.n_actions,), "SimulatorEnv")[None])
        state = worlds.state()
        stopped = bool(worlds.stopped[0])
        info = {"stopped": worlds.sim.stopped[0][1]} if stopped else {}
        over = stopped or bool(task.terminated(state)[0])
        late = bool(state.time[0] > task.duration - 0.5 * task.period)
        return task.observe(state)[0], float(task.reward(state)[0]), over, late, info

    def scripted_action(self) -> Floats:
        """What the law of the task does in the present state, (n,)."""
        return _scripted(self.task, self.worlds)[0]


class SimulatorVectorEnv(VectorEnv[Floats, Floats, Any]):
    """Many worlds of a task as a `gymnasium.vector.VectorEnv`, stepped by one batched simulator.

    A world whose episode has ended begins a new one in the next step (autoreset mode NEXT_STEP): its action is ignored
    then, its reward 0. Every world has its own generator: world k of a vector is `SimulatorEnv` with the k-th seed.
    threads: how many work on the worlds; the numbers do not depend on it.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, task: Task, num_envs: int, threads: int | None = None) -> None:
        num_envs = whole_number(num_envs, "SimulatorVectorEnv: num_envs")
        self.task, self.num_envs, self.render_mode = task, num_envs, None
        self.worlds = TaskWorlds(task, num_envs, threads)
        self.single_observation_space, self.single_action_space = _spaces(task, self.worlds)
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)
        self._generators = [np.random.default_rng() for _ in range(num_envs)]
        self._ended = np.zeros(num_envs, dtype=bool)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode in all worlds: seeds seed, seed + 1, ..., or one each."""
        seeds = (
            [None if seed is None else seed + k for k in range(self.num_envs)] if not isinstance(seed, list) else seed
        )
        if len(seeds) != self.num_envs:
            raise InputError(f"SimulatorVectorEnv.reset: seed: expected {self.num_envs} numbers, got {len(seeds)}")
        for k, number in enumerate(seeds):
            if number is not None:
                self._generators[k] = np_random(number)[0]
        self.worlds.reset(np.arange(self.num_envs), self._generators)
        self._ended[:] = False
        return self.task.observe(self.worlds.state()), {}

    def step(self, actions: Floats) -> tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Hold actions (num_envs, n) for a control period; arrays over worlds of what `SimulatorEnv.step` gives."""
        task, worlds, ended = self.task, self.worlds, self._ended.copy()
        worlds.act(_actions(actions, (self.num_envs, task.n_actions), "SimulatorVectorEnv"))
        if ended.any():
            rows = np.flatnonzero(ended)
            worlds.reset(rows, [self._generators[k] for k in rows])
        state, stopped = worlds.state(), worlds.stopped
        over = (np.asarray(task.terminated(state), dtype=bool) | stopped) & ~ended
        late = (state.time > task.duration - 0.5 * task.period) & ~ended
        reward = np.where(ended, 0.0, np.asarray(task.reward(state), dtype=np.float64))
        self._ended = over | late
        return task.observe(state), reward, over, late, {}

    def scripted_action(self) -> Floats:
        """What the law of the task does in the present states, (num_envs, n)."""
        return _scripted(self.task, self.worlds)


def _actions(action: Any, shape: tuple[int, ...], what: str) -> Floats:
    given = np.asarray(action, dtype=np.float64)
    if given.shape != shape or not np.isfinite(given).all():
        raise InputError(f"{what}.step: action: expected finite numbers of shape {shape}, got {action!r:.80}")
    return given


def _scripted(task: Task, worlds: TaskWorlds) -> Floats:
    if task.script is None:
        raise InputError(f"Task {task.name} has no script")
    return task.script(worlds.state())
