"""The engines that are measured, one per file: this library and the peers that are installed.

Each file has a class `Engine` with `name`, `version` and `calls()`. Every engine reads the same URDF file and the same
states and hands results back in this library's order and frames, so that they can be compared before they are timed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["PEERS", "QUANTITIES", "Call", "Engine", "NotMeasuredError", "States", "engine_class", "missing_reason"]

Array = NDArray[np.float64]

QUANTITIES = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
)

# Name, module of this package, and the package whose absence makes the engine missing.
PEERS = {
    "Pinocchio": ("pinocchio_engine", "pinocchio"),
    "MuJoCo": ("mujoco_engine", "mujoco"),
    "Drake": ("drake_engine", "pydrake"),
    "CasADi": ("casadi_engine", "casadi"),
}


class NotMeasuredError(Exception):
    """An engine is left out for a mechanism on purpose; the message says why."""


@dataclass(frozen=True)
class States:
    """States in the order of `joint_names`: q (N, nq), and v, a, tau (N, nv); a free base, if any, comes first."""

    joint_names: tuple[str, ...]
    floating_base: bool
    q: Array
    v: Array
    a: Array
    tau: Array

    @property
    def count(self) -> int:
        """Number of states N."""
        return len(self.q)


@dataclass(frozen=True)
class Call:
    """One way of one engine to compute one quantity.

    mode is "single" (one state per call) or "batch"; `run()` is what is timed and handles `states` states; `result()`
    gives the numbers of the first states for comparison, derivatives stacked as (states, 3, nv, nv).
    """

    quantity: str
    mode: str
    variant: str
    run: Callable[[], object]
    result: Callable[[], Array]
    states: int = 1
    threads: int = 1
    prepare: Callable[[], object] | None = None


class Engine(Protocol):
    """What an engine's file provides."""

    name: str
    version: str

    def __init__(self, urdf: Path, states: States) -> None: ...

    def calls(self) -> list[Call]: ...


def engine_class(name: str) -> type[Engine]:
    """Import the engine of a peer."""
    return import_module(f"setsu.benchmarks.engines.{PEERS[name][0]}").Engine


def missing_reason(name: str) -> str | None:
    """Say why a peer cannot be measured, or None when it can."""
    package = PEERS[name][1]
    try:
        import_module(package)
    except ImportError as problem:
        return f"{package} cannot be imported ({problem})"
    return None
