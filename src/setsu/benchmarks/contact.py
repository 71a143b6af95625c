"""The study of contact: one step of a humanoid beside MuJoCo, standing and falling, and cost against contact points.

    measure_contact(quick=True)

Both engines get the same bodies, joints, drive inertia and servos (300 N m/rad, 4 N m s/rad, implicit), steps of 1 ms.
Times are processor times of steps alone, detection and solve included, nothing recorded, the least of several rounds
taken in turn.
Beside it: a stack of boxes with contacts between bodies (contact_stack.py), scenes of many bodies (contact_scenes.py),
cost against contact points, detection alone (contact_detection.py), other ways to solve the same contact problems
(contact_methods.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.benchmarks.contact_detection import DetectionRow, measure_detection
from setsu.benchmarks.contact_methods import MethodRow, measure_methods
from setsu.benchmarks.contact_stack import StackRow, measure_stack
from setsu.benchmarks.engines.mujoco_contact import MujocoHumanoid
from setsu.benchmarks.machine import Machine, describe_machine
from setsu.benchmarks.timing import processor_seconds

if TYPE_CHECKING:
    from setsu.benchmarks.contact_scenes import SceneRow

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
    """One motion of the humanoid: microseconds per step and largest depth (m), ours and MuJoCo's (None: missing).

    residual, rounds, passes: of our steps, largest and means (contact/certificate.py).
    """

    motion: str
    contacts: int
    ours: float
    mujoco: float | None
    our_depth: float
    mujoco_depth: float | None
    residual: float
    rounds: float
    passes: float

    @property
    def ratio(self) -> float | None:
        """MuJoCo's time over ours."""
        return None if self.mujoco is None else self.mujoco / self.ours


@dataclass(frozen=True)
class ContactStudy:
    """Rows of the humanoid, the stack, scenes, µs per step of a box on so many points, detection, other methods."""

    machine: Machine
    rows: tuple[ContactRow, ...]
    stack: StackRow
    scenes: tuple[SceneRow, ...]
    growth: tuple[tuple[int, float], ...]
    detection: tuple[DetectionRow, ...]
    methods: tuple[MethodRow, ...]


def measure_contact(*, quick: bool = False, progress: Progress | None = None) -> ContactStudy:
    """Measure everything; `quick` takes fewer rounds."""
    tell = progress or (lambda text, part: None)
    rounds = 5 if quick else 30
    m, q = _standing_humanoid()
    try:
        peer: MujocoHumanoid | None = MujocoHumanoid(m, q)
    except ImportError:
        peer = None
    pushed = np.zeros(m.nv)
    pushed[0], pushed[4] = 0.6, 1.0
    servo = setsu.JointServo(300.0, 4.0, q)
    motions = (("standing", servo, np.zeros(m.nv), 300), ("falling, limp", None, pushed, 1000))
    rows = []
    for number, (motion, torque, v, steps) in enumerate(motions):
        tell(motion, 0.25 * number)
        ours, theirs = float("inf"), float("inf")
        _run(m, q, v, torque).step(steps=steps)  # compiles
        for _ in range(rounds):
            sim = _run(m, q, v, torque)
            ours = min(ours, processor_seconds(lambda sim=sim, steps=steps: sim.step(steps=steps)) / steps)
            if peer is not None:
                peer.begin(v, driven=torque is not None)
                theirs = min(theirs, processor_seconds(lambda steps=steps: peer.steps(steps)) / steps)
        kept = _run(m, q, v, torque).run(STEP * steps)
        assert kept.contact_log is not None
        rows.append(
            ContactRow(
                motion,
                int((kept.normal_force > 0.0).sum(axis=1).max()),
                1e6 * ours,
                None if peer is None else 1e6 * theirs,
                float(kept.contact_log.depth.max()),
                None if peer is None else peer.deepest(v, steps, driven=torque is not None),
                float(kept.contact_log.residual.max()),
                float(kept.contact_log.rounds.mean()),
                float(kept.contact_log.passes.mean()),
            )
        )
    tell("stack", 0.5)
    stack = measure_stack(rounds)
    tell("scenes", 0.52)
    # Here and below, since that module is a command of its own, which Python warns of where it is loaded before.
    from setsu.benchmarks.contact_scenes import SCENES, measure_scenes

    scenes = measure_scenes(SCENES[:1] if quick else SCENES, 0.3 if quick else 2.0)
    growth = []
    for number, points in enumerate(POINTS):
        tell(f"{points} points", 0.7 + 0.1 * number / len(POINTS))
        growth.append((points, _box_cost(points, rounds)))
    tell("detection", 0.8)
    detection = measure_detection(10 * rounds)
    tell("methods", 0.85)
    problems = [(name, torque, v, _chosen(name, quick)) for name, torque, v, _ in motions]
    methods = measure_methods(m, problems, q, 10 * rounds)
    return ContactStudy(
        describe_machine(), tuple(rows), stack, tuple(scenes), tuple(growth), tuple(detection), tuple(methods)
    )


def _chosen(motion: str, quick: bool) -> list[int]:
    """After how many steps contact problems are taken from a motion: the fall has its impacts from 200 on."""
    if motion == "standing":
        return [100, 200]
    return list(range(250, 1000, 150 if quick else 50))


def _run(m: setsu.Mechanism, q: Floats, v: Floats, torque: Any) -> setsu.Simulator:
    sim = setsu.Simulator(m, STEP, torque, environment=setsu.Environment.floor())
    sim.reset(q, v)
    return sim


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
        sim = _run(m, np.array([0, 0, 0.1, 0, 0, 0, 1.0]), np.array([0.3, 0.1, 0, 0, 0, 0.2]), None)
        best = min(best, processor_seconds(lambda sim=sim: sim.step(steps=200)) / 200)
    return 1e6 * best


def contact_as_json(study: ContactStudy) -> dict[str, Any]:
    """Return the study as plain data."""
    return {
        "machine": asdict(study.machine),
        "humanoid": [{**asdict(row), "ratio": row.ratio} for row in study.rows],
        "stack": {**asdict(study.stack), "ratio": study.stack.ratio},
        "scenes": [{**asdict(row), "ratio": row.ratio} for row in study.scenes],
        "points": [{"points": points, "microseconds": cost} for points, cost in study.growth],
        "detection": [asdict(row) for row in study.detection],
        "methods": [asdict(row) for row in study.methods],
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
    stack = Table(title="Five boxes on each other, one step of 1 ms", title_justify="left", box=None)
    for head in ("contacts", "setsu us", "with coal us", "MuJoCo us", "ratio", "depth mm", "MuJoCo depth mm"):
        stack.add_column(head, justify="right")
    s = study.stack
    stack.add_row(
        str(s.contacts),
        f"{s.ours:.1f}",
        *(
            "-" if value is None else f"{value:.{digits}f}"
            for value, digits in ((s.coal, 1), (s.mujoco, 1), (s.ratio, 2))
        ),
        f"{1e3 * s.our_depth:.6f}",
        "-" if s.mujoco_depth is None else f"{1e3 * s.mujoco_depth:.3f}",
    )
    growth = Table(title="A sliding box on n points, one step", title_justify="left", box=None)
    growth.add_column("points", justify="right")
    growth.add_column("us", justify="right")
    for points, cost in study.growth:
        growth.add_row(str(points), f"{cost:.2f}")
    detection = Table(title="Detection alone", title_justify="left", box=None)
    for head in ("points", "polygons", "at the ground", "us", "every pair us", "contacts"):
        detection.add_column(head, justify="left" if head == "at the ground" else "right")
    for row in study.detection:
        cells = (row.points, row.polygons, row.near, f"{row.broad_phase:.2f}", f"{row.every_pair:.2f}", row.contacts)
        detection.add_row(*(str(cell) for cell in cells))
    methods = Table(title="The same contact problems, other methods", title_justify="left", box=None)
    for head in ("motion", "method", "start", "problems", "rounds", "us", "solved", "largest residual"):
        methods.add_column(head, justify="left" if head in ("motion", "method", "start") else "right")
    for row in study.methods:
        cells = (f"{row.rounds:.0f}", f"{row.microseconds:.1f}", f"{100 * row.solved:.0f} %", f"{row.residual:.0e}")
        methods.add_row(row.motion, row.method, row.start, str(row.problems), *cells)
    from setsu.benchmarks.contact_scenes import scene_table

    return Group(humanoid, stack, scene_table(study.scenes), growth, detection, methods)


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
