"""The study of contact: one step of a humanoid beside MuJoCo, standing and falling, and cost against contact points.

    measure_contact(quick=True)

Both engines get the same bodies, joints, drive inertia and servos (300 N m/rad, 4 N m s/rad, implicit), steps of 1 ms.
Times are for steps alone, detection and solve included, the least of several rounds taken in turn.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.benchmarks.engines.mujoco_contact import MujocoHumanoid
from setsu.benchmarks.machine import Machine, describe_machine
from setsu.simulation.contact_run import ContactRun

__all__ = [
    "CONTACT",
    "ContactRow",
    "ContactStudy",
    "contact_as_json",
    "contact_tables",
    "measure_contact",
    "write_contact_json",
    "write_contact_plots",
]

CONTACT = "contact"
STEP = 1e-3
POINTS = (4, 8, 16, 32, 64, 128, 256)
Floats = NDArray[np.float64]
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class ContactRow:
    """One motion of the humanoid: microseconds per step and largest depth (m), ours and MuJoCo's (None: missing)."""

    motion: str
    contacts: int
    ours: float
    mujoco: float | None
    our_depth: float
    mujoco_depth: float | None

    @property
    def ratio(self) -> float | None:
        """MuJoCo's time over ours."""
        return None if self.mujoco is None else self.mujoco / self.ours


@dataclass(frozen=True)
class ContactStudy:
    """Rows of the humanoid, and microseconds per step of a box standing on so many points."""

    machine: Machine
    rows: tuple[ContactRow, ...]
    growth: tuple[tuple[int, float], ...]


def measure_contact(*, quick: bool = False, progress: Progress | None = None) -> ContactStudy:
    """Measure everything; `quick` takes fewer rounds."""
    tell = progress or (lambda text, part: None)
    rounds = 3 if quick else 10
    m, q = _standing_humanoid()
    try:
        peer: MujocoHumanoid | None = MujocoHumanoid(m, q)
    except ImportError:
        peer = None
    pushed = np.zeros(m.nv)
    pushed[0], pushed[4] = 0.6, 1.0
    servo = setsu.JointServo(300.0, 4.0, q)
    rows = []
    for number, (motion, torque, v, steps) in enumerate(
        (("standing", servo, np.zeros(m.nv), 300), ("falling, limp", None, pushed, 1000))
    ):
        tell(motion, 0.3 * number)
        ours, theirs, run = float("inf"), float("inf"), None
        for _ in range(rounds + 1):  # the first one compiles
            run = ContactRun(
                m, setsu.Environment.floor(), torque, (), STEP, np.linspace(0.0, STEP * steps, steps + 1), 1
            )
            run.begin(q, v)
            ours = min(ours, _seconds(lambda run=run: run.go(lambda text, part: None)) / steps)
            if peer is not None:
                peer.begin(v, driven=torque is not None)
                theirs = min(theirs, _seconds(lambda steps=steps: peer.steps(steps)) / steps)
        assert run is not None
        count = int(run.records.counts[0])
        rows.append(
            ContactRow(
                motion,
                int((run.records.points[:count, :, 6] > 0.0).sum(axis=1).max()),
                1e6 * ours,
                None if peer is None else 1e6 * theirs,
                float(run.records.totals[:count, 4].max()),
                None if peer is None else peer.deepest(v, steps, driven=torque is not None),
            )
        )
    growth = []
    for number, points in enumerate(POINTS):
        tell(f"{points} points", 0.6 + 0.4 * number / len(POINTS))
        growth.append((points, _box_cost(points, rounds)))
    return ContactStudy(describe_machine(), tuple(rows), tuple(growth))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _standing_humanoid() -> tuple[setsu.Mechanism, Floats]:
    m = setsu.sample_mechanisms.hoap1_like()
    q = m.neutral()
    poses = setsu.body_poses(m, q)
    places = [poses[m.frame(p.body).body] @ m.frame(p.body).pose.matrix @ [*p.position, 1.0] for p in m.contact_points]
    q[2] -= min(place[2] for place in places)
    return m, q


def _box_cost(points: int, rounds: int) -> float:
    """Microseconds per step of a box at rest on so many points of its bottom."""
    side = int(np.ceil(np.sqrt(points)))
    grid = [
        (0.4 * (k % side) / max(1, side - 1) - 0.2, 0.4 * (k // side) / max(1, side - 1) - 0.2) for k in range(points)
    ]
    b = setsu.MechanismBuilder("box")
    b.add_body("box", joint=setsu.Free(name="free"), mass=1.0, inertia=np.eye(3) * 0.01)
    m = b.add_contact_points("box", [(x, y, -0.1) for x, y in grid]).build()
    best = float("inf")
    for _ in range(rounds + 1):
        run = ContactRun(m, setsu.Environment.floor(), None, (), STEP, np.linspace(0.0, STEP * 200, 201), 200)
        run.begin(np.array([0, 0, 0.1, 0, 0, 0, 1.0]), np.array([0.3, 0.1, 0, 0, 0, 0.2]))
        best = min(best, _seconds(lambda run=run: run.go(lambda text, part: None)) / 200)
    return 1e6 * best


def contact_as_json(study: ContactStudy) -> dict[str, Any]:
    """Return the study as plain data."""
    return {
        "machine": asdict(study.machine),
        "humanoid": [{**asdict(row), "ratio": row.ratio} for row in study.rows],
        "points": [{"points": points, "microseconds": cost} for points, cost in study.growth],
    }


def write_contact_json(study: ContactStudy, path: Path) -> None:
    """Write the study to a file."""
    path.write_text(json.dumps(contact_as_json(study), indent=1) + "\n", encoding="utf-8")


def contact_tables(study: ContactStudy) -> Any:
    """Return the study as tables to print."""
    from rich.console import Group
    from rich.table import Table

    humanoid = Table(title="Humanoid of 26 DOF, one step of 1 ms", title_justify="left", box=None)
    for head in ("motion", "contacts", "setsu us", "MuJoCo us", "ratio", "depth mm", "MuJoCo depth mm"):
        humanoid.add_column(head, justify="left" if head == "motion" else "right")
    for row in study.rows:
        theirs = ["-", "-"] if row.mujoco is None or row.ratio is None else [f"{row.mujoco:.1f}", f"{row.ratio:.2f}"]
        depth = "-" if row.mujoco_depth is None else f"{1e3 * row.mujoco_depth:.3f}"
        humanoid.add_row(row.motion, str(row.contacts), f"{row.ours:.1f}", *theirs, f"{1e3 * row.our_depth:.6f}", depth)
    growth = Table(title="A sliding box on n points, one step", title_justify="left", box=None)
    growth.add_column("points", justify="right")
    growth.add_column("us", justify="right")
    for points, cost in study.growth:
        growth.add_row(str(points), f"{cost:.2f}")
    return Group(humanoid, growth)


def write_contact_plots(study: ContactStudy, out: Path) -> list[Path]:
    """Draw cost against the number of contact points; needs matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    points, cost = zip(*study.growth, strict=True)
    axes.loglog(points, cost, "o-", label="setsu")
    axes.loglog(points, [cost[0] * n / points[0] for n in points], ":", color="gray", label="linear")
    axes.loglog(points, [cost[0] * (n / points[0]) ** 2 for n in points], "--", color="gray", label="quadratic")
    axes.set_ylim(0.5 * min(cost), 20.0 * max(cost))
    axes.set_xlabel("contact points")
    axes.set_ylabel("time per step (µs)")
    axes.set_title("A sliding box on n points")
    axes.grid(alpha=0.3, which="both")
    axes.legend(frameon=False)
    path = out / "contact_points.png"
    figure.savefig(path, dpi=120)
    return [path]
