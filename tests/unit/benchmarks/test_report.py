"""Ratios put like beside like: batch with batch on as many threads, or else with the peer's single call."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from setsu.benchmarks.dynamics import LeftOut, Row, Study
from setsu.benchmarks.goals import goals
from setsu.benchmarks.machine import Machine
from setsu.benchmarks.plots import write_plots
from setsu.benchmarks.ratios import ratios
from setsu.benchmarks.report import tables, write_json

ROW = Row("panda", "robot", 9, "inverse_dynamics", "single", "Setsu", "compiled", 1, 1, 100.0, 0.0)
STUDY = Study(
    Machine("a processor", 2, True, False, "Linux x86_64", "3.11.0"),
    {"Setsu": "0.1.0", "Pinocchio": "4.0"},
    {"Drake": "pydrake cannot be imported"},
    (LeftOut("CasADi", "anymal", "too large"), LeftOut("CasADi", "talos", "too large")),
    (),
    (
        ROW,
        replace(ROW, mode="batch", states=64, nanoseconds=20.0),
        replace(ROW, mode="batch", states=64, threads=2, nanoseconds=10.0),
        replace(ROW, engine="Pinocchio", variant="Python call", nanoseconds=1400.0, difference=2e-16),
        replace(ROW, engine="Pinocchio", variant="C++ loop", mode="batch", states=64, nanoseconds=1000.0),
        replace(ROW, engine="MuJoCo", variant="mj_inverse", nanoseconds=2500.0),
        replace(ROW, engine="MuJoCo", variant="mj_rne", nanoseconds=2000.0),
        replace(ROW, subject="chain_10", group="chain", nv=10, variant="generic"),
        replace(ROW, subject="chain_100", group="chain", nv=100, variant="generic", nanoseconds=1000.0),
    ),
)


def test_ratios_compare_like_with_like() -> None:
    found = {(entry.mode, entry.threads, entry.peer): (entry.peer_variant, entry.ratio) for entry in ratios(STUDY)}
    assert found == {
        ("single", 1, "Pinocchio"): ("Python call", 14.0),
        ("single", 1, "MuJoCo"): ("mj_rne", 20.0),
        ("batch", 1, "Pinocchio"): ("C++ loop", 50.0),
        # MuJoCo has no batch call: its user repeats the single one.
        ("batch", 1, "MuJoCo"): ("mj_rne", 100.0),
    }


def test_tables_fit_100_columns_and_tell_what_is_missing() -> None:
    screen = Console(file=io.StringIO(), width=100)
    screen.print(tables(STUDY))
    text = screen.file.getvalue()  # type: ignore[attr-defined]
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "×50" in text
    assert "no AVX-512" in text
    assert "missing: Drake" in text
    assert "left out: CasADi on anymal, talos: too large" in text
    assert "2.00" in text, "two threads are twice as fast here"


def test_our_times_are_told_without_any_peer() -> None:
    screen = Console(file=io.StringIO(), width=100)
    screen.print(tables(replace(STUDY, rows=(ROW,))))
    assert "100 ns" in screen.file.getvalue()  # type: ignore[attr-defined]


def test_json_and_plots_are_written(tmp_path: Path) -> None:
    write_json(STUDY, tmp_path / "study.json")
    data = json.loads((tmp_path / "study.json").read_text())
    assert len(data["rows"]) == len(STUDY.rows)
    assert data["ratios"][0]["ratio"] == 14.0
    assert [path.name for path in write_plots(STUDY, tmp_path)] == ["inverse_dynamics_chain.png"]
    assert (tmp_path / "inverse_dynamics_chain.png").stat().st_size > 5000


def test_goals_are_read_off_the_ratios() -> None:
    reached = {goal.what: (goal.reached, goal.met) for goal in goals(STUDY)}
    assert reached["panda, inverse dynamics, compiled batch / Pinocchio"] == (50.0, True)
    assert reached["panda, inverse dynamics, compiled batch, one thread / two"] == (2.0, True)
    assert reached["panda, inverse dynamics, compiled single / Pinocchio"] == (14.0, True)
    assert len(reached) == 3
