"""Small studies that the tests of sweeps share, and how to compare stores byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PENDULUM = {"sample": "pendulum"}


def swings(runs: int = 40, chunk: int = 8, duration: float = 0.05, **more: Any) -> dict[str, Any]:
    """A pendulum let go from random states."""
    return {
        "scenario": {
            "model": PENDULUM,
            "simulation": {"duration": duration, "integrator": "semi_implicit", "record_every": 10},
        },
        "sampling": "random",
        "runs": runs,
        "chunk": chunk,
        "parameters": [
            {"path": "start.q.joint1", "name": "angle", "low": -1.0, "high": 1.0},
            {"path": "start.v.joint1", "name": "rate", "mean": 0.0, "deviation": 2.0},
        ],
        **more,
    }


def content(store: Path) -> dict[str, bytes]:
    """Every file of a store with its bytes."""
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}
