"""A general arm by its Denavit-Hartenberg table, with inertias that have no symmetry, and robots from files."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pinocchio

import setsu

# Modified rows: alpha, a, theta, d, joint.
TABLES = {
    "general 6R": [(0, 0, 0, 0.1, "revolute"), (0.7, 0.2, 0, 0.3, "revolute"), (-1.1, 0.3, 0, 0.1, "revolute"),
                   (0.5, 0.1, 0, 0.2, "revolute"), (1.3, 0.15, 0, 0.1, "revolute"), (-0.4, 0.2, 0, 0.1, "revolute")],
}  # fmt: skip


def dh_robot(name: str, gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)) -> setsu.Mechanism:
    """Return a robot of the tables above."""
    rng = np.random.default_rng(1)
    rows = [
        setsu.DHRow(
            alpha=alpha,
            a=a,
            theta=theta,
            d=d,
            joint=joint,
            mass=float(rng.uniform(0.5, 2.0)),
            center_of_mass=0.1 * rng.standard_normal(3),
            inertia=np.diag([0.05, 0.06, 0.07]),
        )
        for alpha, a, theta, d, joint in TABLES[name]
    ]
    return setsu.from_dh(rows, name=name, gravity=gravity)


def example_robot(path: str) -> setsu.Mechanism:
    """Return a robot of the package example-robot-data."""
    roots = (folder / "share" / "example-robot-data" / "robots" for folder in Path(pinocchio.__file__).parents)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)
        return setsu.load(next(root for root in roots if root.is_dir()) / path)
