"""The study of learning environments: steps per second beside Gymnasium's own MuJoCo environments of like size.

    measure_learning(quick=True)

A step of an environment is one action: both sides take random actions from the same generator, hold each for five steps
of the engine, and begin anew where an episode ends. Ours are the ready tasks of `setsu.learning`. Their peers: for the
biped with closed legs (20 velocities, 10 actions) Humanoid-v5 (23, 17) and Walker2d-v5 (9, 6); for the arm at a wall
(3, 3) Reacher-v5 (4, 2, no contact, two engine steps per action). Vectors: our batched simulator, and Gymnasium's
synchronous vector; both on one thread, processor time, the least of several rounds taken in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import setsu
from setsu.benchmarks.machine import Machine, describe_machine
from setsu.benchmarks.timing import processor_seconds

__all__ = [
    "LEARNING",
    "LearningRow",
    "LearningStudy",
    "learning_as_json",
    "learning_tables",
    "measure_learning",
    "write_learning_json",
]

LEARNING = "learning"
_PEERS = {"biped_stands": ("Humanoid-v5", "Walker2d-v5"), "arm_pushes_along_wall": ("Reacher-v5",)}
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class LearningRow:
    """Steps per second of all worlds together, ours and the peer's, and how many engine steps an action is held."""

    task: str
    peer: str
    worlds: int
    ours: float
    theirs: float
    our_steps: int
    their_steps: int

    @property
    def ratio(self) -> float:
        """Our actions per second over theirs."""
        return self.ours / self.theirs

    @property
    def engine_ratio(self) -> float:
        """Our engine steps per second over theirs."""
        return self.ratio * self.our_steps / self.their_steps


@dataclass(frozen=True)
class LearningStudy:
    """Rows, the machine and versions."""

    machine: Machine
    versions: dict[str, str]
    rows: tuple[LearningRow, ...]


def measure_learning(*, quick: bool = False, progress: Progress = lambda text, part: None) -> LearningStudy:
    """Measure single environments and vectors of sixteen.

    Raises:
        InputError: Gymnasium or MuJoCo is missing.
    """
    try:
        gymnasium, mujoco = import_module("gymnasium"), import_module("mujoco")
    except ImportError:
        raise setsu.InputError("bench learning: needs setsu[learning] and mujoco, which setsu[mjcf] installs") from None
    rounds, steps = (3, 40) if quick else (10, 200)
    pairs = [(task, peer, worlds) for task, peers in _PEERS.items() for peer in peers for worlds in (1, 16)]
    rows = []
    for number, (name, peer, worlds) in enumerate(pairs):
        progress(f"{name}, {peer}, {worlds}", number / len(pairs))
        learning: Any = import_module("setsu.learning")
        task = getattr(learning, name)()
        count = max(5, steps // worlds)
        ours = learning.SimulatorEnv(task) if worlds == 1 else learning.SimulatorVectorEnv(task, worlds, 1)
        theirs = gymnasium.make(peer) if worlds == 1 else gymnasium.make_vec(peer, worlds, vectorization_mode="sync")
        single = theirs.unwrapped if worlds == 1 else theirs.envs[0].unwrapped  # type: ignore[attr-defined]
        best = [float("inf")] * 2
        for env in (ours, theirs):
            _run(env, 2, worlds)
        for _ in range(rounds):
            for k, env in enumerate((ours, theirs)):
                env.reset(seed=0)
                best[k] = min(best[k], processor_seconds(partial(_run, env, count, worlds)))
        our_rate, their_rate = (count * worlds / seconds for seconds in best)
        held = task.control_steps, int(single.frame_skip)
        rows.append(LearningRow(name, peer, worlds, our_rate, their_rate, *held))
        theirs.close()
    progress("done", 1.0)
    versions = {"Setsu": setsu.__version__, "Gymnasium": gymnasium.__version__, "MuJoCo": mujoco.__version__}
    return LearningStudy(describe_machine(), versions, tuple(rows))


def _run(env: Any, steps: int, worlds: int) -> None:
    """Random actions; a single environment begins anew where its episode ends, a vector does so by itself."""
    generator, space = np.random.default_rng(0), env.action_space
    env.reset(seed=0)
    for _ in range(steps):
        action = space.low + (space.high - space.low) * generator.random(space.shape)
        _, _, over, late, _ = env.step(action.astype(space.dtype))
        if worlds == 1 and (over or late):
            env.reset()


def learning_as_json(study: LearningStudy) -> dict[str, Any]:
    """Everything in the study as plain data."""
    rows = [{**asdict(row), "ratio": row.ratio, "engine_ratio": row.engine_ratio} for row in study.rows]
    return {**asdict(study), "rows": rows}


def write_learning_json(study: LearningStudy, path: Path) -> None:
    """Write the study to a file."""
    import msgspec

    path.write_bytes(msgspec.json.format(msgspec.json.encode(learning_as_json(study)), indent=1))


def learning_tables(study: LearningStudy) -> Any:
    """The table, to print with rich."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(title="actions per second, one thread")
    for title in ("task", "peer"):
        table.add_column(title)
    for title in ("worlds", "Setsu", "Gymnasium", "ratio", "in engine steps"):
        table.add_column(title, justify="right")
    for row in study.rows:
        numbers = (f"{row.ours:.0f}", f"{row.theirs:.0f}", f"{row.ratio:.2f}", f"{row.engine_ratio:.2f}")
        table.add_row(row.task, row.peer, str(row.worlds), *numbers)
    heads = [str(study.machine), ", ".join(f"{k} {v}" for k, v in study.versions.items())]
    if study.machine.busy:
        heads.append(f"{study.machine.load:.1f} of {study.machine.cores} cores were busy with other programs")
    return Group(*map(Text, heads), Text(), table)
