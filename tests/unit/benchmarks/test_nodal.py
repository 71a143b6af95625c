"""The study of nodal inverse dynamics: goals follow from its rows, both methods agree, the command knows it."""

import json
from pathlib import Path

import pytest

from setsu.benchmarks.machine import describe_machine
from setsu.benchmarks.nodal import NodalRow, NodalStudy, measure_nodal, nodal_goals, nodal_tables, write_nodal_plots
from setsu.command_line import main


def study(*rows: NodalRow) -> NodalStudy:
    return NodalStudy(describe_machine(), rows)


def test_the_goal_is_three_times_newton_euler_on_the_panda() -> None:
    slow, quick = (NodalRow("panda", 9, 10_000, time, 100.0, 1e-6) for time in (301.0, 299.0))
    assert [goal.met for goal in nodal_goals(study(slow))] == [False]
    assert [goal.met for goal in nodal_goals(study(quick))] == [True]
    assert nodal_goals(study(NodalRow("ur5", 6, 10_000, 1.0, 1.0, 0.0))) == []


@pytest.mark.slow
def test_errors_fall_with_the_square_of_the_steps_and_plots_are_written(tmp_path: Path) -> None:
    found = measure_nodal(quick=True)
    for name in {row.robot for row in found.rows}:
        errors = [row.difference for row in found.rows if row.robot == name]
        assert errors[0] / errors[1] > 50.0
    assert write_nodal_plots(found, tmp_path)[0].stat().st_size > 10_000
    assert nodal_tables(found).renderables


@pytest.mark.slow
def test_the_command_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--only", "nodal", "--quick", "--out", str(tmp_path)]) == 0
    data = json.loads((tmp_path / "nodal.json").read_text())
    assert {row["robot"] for row in data["rows"]} == {"two_link", "ur5", "panda"}
    assert "Newton-Euler" in capsys.readouterr().out
