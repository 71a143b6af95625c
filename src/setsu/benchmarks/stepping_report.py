"""What the studies of stepping found: rows, files and tables."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from setsu.benchmarks.machine import Machine

__all__ = [
    "ROLLOUT",
    "SIMULATOR",
    "OverheadRow",
    "ResetRow",
    "SteppingRow",
    "SteppingStudy",
    "ThreadsRow",
    "TogetherRow",
    "stepping_as_json",
    "stepping_tables",
    "write_stepping_json",
]

SIMULATOR, ROLLOUT = "simulator", "rollout"


@dataclass(frozen=True)
class SteppingRow:
    """Microseconds of one step of one world, ours and MuJoCo's; worlds, threads: at once."""

    subject: str
    way: str
    ours: float
    mujoco: float
    goal: float
    worlds: int = 1
    threads: int = 1

    @property
    def ratio(self) -> float:
        """MuJoCo's time over ours."""
        return self.mujoco / self.ours


@dataclass(frozen=True)
class TogetherRow:
    """Seconds (wall) of one run, and of two runs in two threads of one process."""

    subject: str
    one: float
    two: float
    goal: float = 1.2

    @property
    def ratio(self) -> float:
        """Time of two runs over that of one: 1 where the interpreter lock is free and so are two cores."""
        return self.two / self.one


@dataclass(frozen=True)
class ThreadsRow:
    """Microseconds (wall) of one step of one world of many, on one thread and on two."""

    subject: str
    worlds: int
    one: float
    two: float
    goal: float = 1.7

    @property
    def ratio(self) -> float:
        """How many times as fast two threads are."""
        return self.one / self.two


@dataclass(frozen=True)
class OverheadRow:
    """Microseconds of one step under a torque held from Python: step by step, and the same steps in one call."""

    subject: str
    stepped: float
    at_once: float
    goal: float = 2.0

    @property
    def overhead(self) -> float:
        """What a call from Python costs beyond the compiled step, µs."""
        return self.stepped - self.at_once


@dataclass(frozen=True)
class ResetRow:
    """Microseconds of `reset`: of one world, and of each of 64."""

    subject: str
    one: float
    of_many: float
    goal: float = 50.0


@dataclass(frozen=True)
class SteppingStudy:
    """Rows of one of the two studies."""

    name: str
    machine: Machine
    versions: dict[str, str]
    rows: tuple[SteppingRow, ...]
    together: tuple[TogetherRow, ...] = ()
    overheads: tuple[OverheadRow, ...] = ()
    resets: tuple[ResetRow, ...] = ()
    threads: tuple[ThreadsRow, ...] = ()


def stepping_as_json(study: SteppingStudy) -> dict[str, Any]:
    """Everything in the study as plain data."""
    rows = [{**asdict(row), "ratio": row.ratio, "met": row.ratio >= row.goal} for row in study.rows]
    together = [{**asdict(row), "ratio": row.ratio, "met": row.ratio <= row.goal} for row in study.together]
    overheads = [{**asdict(row), "overhead": row.overhead, "met": row.overhead <= row.goal} for row in study.overheads]
    resets = [{**asdict(row), "met": max(row.one, row.of_many) <= row.goal} for row in study.resets]
    threads = [{**asdict(row), "ratio": row.ratio, "met": row.ratio >= row.goal} for row in study.threads]
    parts = {"rows": rows, "together": together, "overheads": overheads, "resets": resets, "threads": threads}
    return {**asdict(study), **parts}


def write_stepping_json(study: SteppingStudy, path: Path) -> None:
    """Write the study to a file."""
    import msgspec

    path.write_bytes(msgspec.json.format(msgspec.json.encode(stepping_as_json(study)), indent=1))


def stepping_tables(study: SteppingStudy) -> Any:
    """The table, to print with rich."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    many = study.name == ROLLOUT
    table = Table(title="µs per step of one world")
    table.add_column("subject")
    for title in ("worlds", "threads") if many else ("way",):
        table.add_column(title, justify="right" if many else "left")
    for title in ("Setsu", "MuJoCo", "ratio", "goal"):
        table.add_column(title, justify="right")
    for row in study.rows:
        about = (str(row.worlds), str(row.threads)) if many else (row.way,)
        verdict = "met" if row.ratio >= row.goal else "missed"
        numbers = (f"{row.ours:.3g}", f"{row.mujoco:.3g}", f"{row.ratio:.2f}", f"{row.goal:g} {verdict}")
        table.add_row(row.subject, *about, *numbers)
    parts: list[Any] = [table]
    if study.overheads:
        titles = ("subject", "step by step", "in one call", "overhead", "goal")
        parts.append(
            _small_table(
                "µs per step under a torque held from Python",
                titles,
                [(r.subject, r.stepped, r.at_once, r.overhead, _at_most(r.overhead, r.goal)) for r in study.overheads],
            )
        )
    if study.resets:
        parts.append(
            _small_table(
                "µs per reset of a world",
                ("subject", "one world", "of 64 worlds", "goal"),
                [(r.subject, r.one, r.of_many, _at_most(max(r.one, r.of_many), r.goal)) for r in study.resets],
            )
        )
    if study.together:
        parts.append(
            _small_table(
                "two runs in two threads, s of wall time",
                ("subject", "one run", "two runs", "ratio", "goal"),
                [(r.subject, r.one, r.two, r.ratio, _at_most(r.ratio, r.goal)) for r in study.together],
            )
        )
    if study.threads:
        verdicts = ["met" if row.ratio >= row.goal else "missed" for row in study.threads]
        parts.append(
            _small_table(
                "µs per step of one world, wall time",
                ("subject", "worlds", "one thread", "two threads", "ratio", "goal"),
                [
                    (r.subject, str(r.worlds), r.one, r.two, r.ratio, f"{r.goal:g} {verdict}")
                    for r, verdict in zip(study.threads, verdicts, strict=True)
                ],
            )
        )
    heads = [str(study.machine), ", ".join(f"{k} {v}" for k, v in study.versions.items())]
    if study.machine.busy:
        heads.append(f"{study.machine.load:.1f} of {study.machine.cores} cores were busy with other programs")
    return Group(*map(Text, heads), Text(), *parts)


def _at_most(value: float, goal: float) -> str:
    return f"{goal:g} {'met' if value <= goal else 'missed'}"


def _small_table(title: str, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Any:
    from rich.table import Table

    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="left" if column == "subject" else "right")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, str) else f"{cell:.3g}" for cell in row))
    return table
