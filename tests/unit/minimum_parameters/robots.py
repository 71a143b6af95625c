"""A general arm by its Denavit-Hartenberg table, with inertias that have no symmetry, and robots from files.

python tests/unit/minimum_parameters/robots.py      writes benchmarks/parameters/humanoids.md
"""

from __future__ import annotations

import time
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


HUMANOIDS = {
    "iCub": ("icub_description/robots/icub.urdf", 234),
    "Talos with grippers": ("talos_data/robots/talos_full_v2.urdf", 260),
    "Alex with hands": ("alex_description/urdf/alex_psyonic_hands.urdf", 283),
    "G1 with hands": ("g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf", 311),
    "Romeo with hands": ("romeo_description/urdf/romeo.urdf", 385),
}
"""Files of example-robot-data, floating, with the counts that the exact and the numeric method agree on."""


def example_robot(path: str, *, floating_base: bool = False) -> setsu.Mechanism:
    """Return a robot of the package example-robot-data."""
    roots = (folder / "share" / "example-robot-data" / "robots" for folder in Path(pinocchio.__file__).parents)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)
        return setsu.load(next(root for root in roots if root.is_dir()) / path, floating_base=floating_base)


def main() -> int:
    """Write counts and processor times of the humanoids; exit code 1 when one takes more than 5 s."""
    lines = ["| robot | bodies | minimum | method | torque error | processor s |", "|---|---|---|---|---|---|"]
    slowest = 0.0
    for name, (path, _) in HUMANOIDS.items():
        m = example_robot(path, floating_base=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", setsu.ModelWarning)
            start = time.process_time()
            p = setsu.minimum_parameters(m)
            seconds = time.process_time() - start
        slowest = max(slowest, seconds)
        error = p.torque_error(seed=5)
        lines.append(f"| {name} | {m.n_bodies} | {p.count} | {p.method} | {error:.1e} | {seconds:.1f} |")
        print(lines[-1], flush=True)
    target = Path(__file__).parents[3] / "benchmarks" / "parameters" / "humanoids.md"
    target.write_text(
        "# Minimum parameters of humanoids\n\n"
        "Written by `python tests/unit/minimum_parameters/robots.py`: robots of the package example-robot-data on a "
        "free base,\nwith the couplings of their hands.\n\n" + "\n".join(lines) + "\n",
        encoding="utf-8",
    )
    return 0 if slowest <= 5.0 else 1


if __name__ == "__main__":
    raise SystemExit(main())
