"""The study of nodal inverse dynamics: its time beside the library's own batch Newton-Euler, and its accuracy.

    measure_nodal(quick=True)

isobe2003 reports three times the time of an exact method; at 10,000 time steps of the Panda the goal is at most that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

import setsu
from setsu.benchmarks.goals import Goal
from setsu.benchmarks.machine import Machine, describe_machine
from setsu.benchmarks.subjects import Subject, robot
from setsu.benchmarks.timing import Timed, nanoseconds_per_state

__all__ = [
    "NODAL",
    "NodalRow",
    "NodalStudy",
    "measure_nodal",
    "nodal_as_json",
    "nodal_goals",
    "nodal_tables",
    "write_nodal_json",
    "write_nodal_plots",
]

NODAL = "nodal"
ROBOTS = ("two_link", "ur5", "panda")
STEPS = (100, 1000, 10_000)
LARGEST_RATIO = 3.0

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class NodalRow:
    """Nanoseconds per time step of both methods, and the largest relative difference of their torques."""

    robot: str
    joints: int
    steps: int
    nodal_nanoseconds: float
    newton_euler_nanoseconds: float
    difference: float

    @property
    def ratio(self) -> float:
        """Nodal time over Newton-Euler time."""
        return self.nodal_nanoseconds / self.newton_euler_nanoseconds


@dataclass(frozen=True)
class NodalStudy:
    """Everything a run found out."""

    machine: Machine
    rows: tuple[NodalRow, ...]


def measure_nodal(*, quick: bool = False, progress: Progress = lambda text, part: None) -> NodalStudy:
    """Time both methods on sines in all joints; robots whose files are not installed are left out."""
    rows = []
    found = [subject for subject in map(robot, ROBOTS) if subject is not None]
    for number, subject in enumerate(found):
        m = _load(subject)
        for steps in STEPS:
            progress(f"{subject.name}, {steps} steps", (number + steps / sum(STEPS)) / len(found))
            rows.append(_row(subject.name, m, steps, 10 if quick else 40))
    progress("done", 1.0)
    return NodalStudy(describe_machine(), tuple(rows))


def _load(subject: Subject) -> setsu.Mechanism:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{subject.name}.urdf"
        path.write_text(subject.urdf, encoding="utf-8")
        return setsu.load(path)


def _row(name: str, m: setsu.Mechanism, steps: int, rounds: int) -> NodalRow:
    t = np.linspace(0.0, 2.0, steps)
    rate = np.linspace(1.0, 3.0, m.nv)
    angle = np.outer(t, rate)
    q, v, a = 0.5 * np.sin(angle), 0.5 * rate * np.cos(angle), -0.5 * rate**2 * np.sin(angle)
    exact = setsu.inverse_dynamics(m, q, v, a)
    difference = float(np.abs(setsu.nodal_inverse_dynamics(m, t, q) - exact).max() / np.abs(exact).max())
    times = nanoseconds_per_state(
        [
            Timed(lambda: setsu.nodal_inverse_dynamics(m, t, q), steps),
            Timed(lambda: setsu.inverse_dynamics(m, q, v, a), steps),
        ],
        rounds,
    )
    return NodalRow(name, m.nv, steps, round(times[0], 2), round(times[1], 2), difference)


def nodal_goals(study: NodalStudy) -> list[Goal]:
    """Return the goal on the Panda, when it was measured."""
    return [
        Goal(f"{row.robot}, {row.steps} steps: nodal / Newton-Euler time", LARGEST_RATIO, row.ratio, at_most=True)
        for row in study.rows
        if row.robot == "panda" and row.steps == STEPS[-1]
    ]


def nodal_as_json(study: NodalStudy) -> dict[str, Any]:
    """Everything in the study, ratios and goals, as plain lists and dictionaries."""
    return {
        "machine": asdict(study.machine),
        "rows": [{**asdict(row), "ratio": round(row.ratio, 3)} for row in study.rows],
        "goals": [{**asdict(goal), "met": goal.met} for goal in nodal_goals(study)],
    }


def write_nodal_json(study: NodalStudy, path: Path) -> None:
    """Write the study to a file."""
    import msgspec

    path.write_bytes(msgspec.json.format(msgspec.json.encode(nodal_as_json(study)), indent=1))


def nodal_tables(study: NodalStudy) -> Group:
    """The tables, to print with rich."""
    table = Table()
    for title in ("robot", "joints", "steps", "nodal", "Newton-Euler", "ratio", "difference"):
        table.add_column(title, justify="left" if title == "robot" else "right")
    for row in study.rows:
        table.add_row(
            row.robot, str(row.joints), str(row.steps), f"{row.nodal_nanoseconds:.0f} ns",
            f"{row.newton_euler_nanoseconds:.0f} ns", f"{row.ratio:.2f}", f"{row.difference:.0e}",
        )  # fmt: skip
    lines = [
        f"goal: {goal.what} ≤ {goal.wanted:g}: {goal.reached:.2f}, {'met' if goal.met else 'missed'}"
        for goal in nodal_goals(study)
    ]
    if study.machine.busy:
        lines.append(
            f"{study.machine.load:.1f} of {study.machine.cores} cores were busy: times are worse than they are"
        )
    title = Text("nodal inverse dynamics (central) beside batch Newton-Euler: time per step, relative difference")
    return Group(Text(str(study.machine)), title, table, *map(Text, lines))


def write_nodal_plots(study: NodalStudy, folder: Path) -> list[Path]:
    """Write time per step against the number of steps, log-log; return its path."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.subplots()
    for name in dict.fromkeys(row.robot for row in study.rows):
        rows = [row for row in study.rows if row.robot == name]
        steps = [row.steps for row in rows]
        (line,) = axes.loglog(steps, [row.nodal_nanoseconds for row in rows], "o-", label=f"{name}, nodal")
        axes.loglog(
            steps, [row.newton_euler_nanoseconds for row in rows], "s--", color=line.get_color(),
            label=f"{name}, Newton-Euler",
        )  # fmt: skip
    axes.set(xlabel="time steps in one call", ylabel="time per step (ns)")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize="small")
    path = folder / "nodal.png"
    figure.savefig(path, dpi=130)
    return [path]
