"""The study of closed loops: references agree with simulations, peers converge to them, reports tell all of it."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import setsu
from setsu.benchmarks.dynamics import LeftOut
from setsu.benchmarks.engines import NotMeasuredError
from setsu.benchmarks.loops import GrowthPoint, LoopRow, LoopStudy, OrderPoint
from setsu.benchmarks.loops_problems import (
    SAMPLING,
    bricard_problem,
    four_bar_problem,
    governor_problem,
    motion_of_states,
    slider_crank_problem,
)
from setsu.benchmarks.loops_report import (
    loop_goals,
    loop_growth,
    loop_tables,
    observed_orders,
    write_loop_plots,
    write_loops_json,
)
from setsu.benchmarks.machine import Machine

ROW = LoopRow("Bricard", 10.0, "Setsu", "rkn4", 1e-2, 7e-9, 5e-9, 3e-9, 1e-15, 5000.0, 1e-14)
STUDY = LoopStudy(
    Machine("a processor", 2, True, False, "Linux x86_64", "3.11.0"),
    {"Setsu": "0.1.0", "Pinocchio": "4.1.0"},
    {"Exudyn": "exudyn cannot be imported"},
    (LeftOut("MuJoCo (implicit, 0.01 s)", "slider-crank", "unstable"),),
    (
        ROW,
        replace(ROW, way="rk8", position_error=2e-9),
        replace(ROW, engine="Pinocchio", way="RK4, gain 0.2/h", position_error=1e-3, microseconds=100.0),
        replace(ROW, engine="Exudyn", way="generalised alpha", constraint_error=None, energy_error=None),
    ),
    (*(OrderPoint("rkn4", h, 1e3 * h**4) for h in (1e-2, 5e-3)), OrderPoint("rk8", 1e-2, 1e-14)),
    tuple(GrowthPoint("Setsu", n, 20.0 * n**2) for n in (1, 10, 100)),
)


@pytest.mark.parametrize("problem", [four_bar_problem(), slider_crank_problem()], ids=lambda problem: problem.name)
def test_scalar_references_equal_the_constrained_motion(problem) -> None:
    """One degree of freedom: s'' = -(J' s'²/2 + V') / J gives what the constrained equations give."""
    points, own_error = problem.reference(0.1)
    assert own_error < 1e-13
    for m, v, places in (
        (problem.mechanism, problem.velocity, problem.points),
        (problem.tree, problem.tree_velocity, problem.tree_points),
    ):
        rec = setsu.simulate(m, m.neutral(), v, 0.1, SAMPLING, integrator="rk8")
        motion = motion_of_states(m, places, rec.q, rec.v, 10, 1.0)
        assert np.abs(motion.points - points).max() < 1e-12
        assert np.ptp(motion.energy) < 1e-12


@pytest.mark.parametrize(
    ("engine", "way", "tolerance"), [("pinocchio_loops", "RK4, gain 0.2/h", 1e-8), ("mujoco_loops", "RK4", 1e-5)]
)
@pytest.mark.parametrize("make", [four_bar_problem, bricard_problem, slider_crank_problem])
def test_peers_follow_the_reference(engine: str, way: str, tolerance: float, make) -> None:
    """Independent programs reach the same positions as far as their own ways allow."""
    problem = make()
    points, _ = problem.reference(0.1)
    motion = import_module(f"setsu.benchmarks.engines.{engine}").run(problem, way, 1e-3, 0.1)
    assert motion.points.shape == points.shape
    assert np.abs(motion.points - points).max() < tolerance
    assert motion.constraint_error < tolerance  # not rounding: peers relax their loops


def test_a_peer_follows_the_governor() -> None:
    """At a step short enough for an explicit method."""
    problem = governor_problem()
    points, own_error = problem.reference(0.1)
    assert own_error < 1e-13
    motion = import_module("setsu.benchmarks.engines.mujoco_loops").run(problem, "RK4", 1e-4, 0.1)
    assert np.abs(motion.points - points).max() < 1e-12  # not rounding: error of the peer's method


def test_pinocchio_leaves_springs_between_bodies_out() -> None:
    engine = import_module("setsu.benchmarks.engines.pinocchio_loops")
    with pytest.raises(NotMeasuredError, match="springs"):
        engine.run(governor_problem(), "RK4, gain 0.2/h", 1e-3, 0.1)


def test_a_motion_that_runs_away_is_said_to() -> None:
    problem = bricard_problem()
    q = np.zeros((3, 5))
    q[1:, 2] = np.nan
    with pytest.raises(NotMeasuredError, match=r"t = 0\.01 s"):
        motion_of_states(problem.tree, problem.tree_points, q, np.zeros((3, 5)), 2, 1.0)


def test_orders_and_growth_are_slopes() -> None:
    """Error 1e3 h⁴ has order 4, errors at rounding have none; time 20 N² grows with exponent 2."""
    assert observed_orders(STUDY) == pytest.approx({"rkn4": 4.0})
    assert loop_growth(STUDY) == pytest.approx({"Setsu": 2.0})


def test_goals_compare_accuracy_and_speed() -> None:
    met = {goal.what: goal.met for goal in loop_goals(STUDY)}
    assert met == {
        "Bricard, rkn4, 0.01 s: position error (m)": True,
        "Bricard, rk8, 0.01 s: position error (m)": False,
        "slider-crank, order of rkn4": True,
        "Bricard, 0.01 s, time of an rk4 step: Pinocchio / ours": False,
        "exponent of cost against number of loops": False,
    }


def test_goals_of_the_stiff_governor() -> None:
    row = replace(ROW, problem="stiff governor", way="radau", step=1e-3, position_error=1e-12, energy_error=None)
    met = {goal.what: goal.met for goal in loop_goals(replace(STUDY, rows=(row,), orders=(), growth=()))}
    assert met == {
        "stiff governor, radau, 0.001 s: position error (m)": True,
        "stiff governor, radau, 0.001 s: µs a step": False,
    }


def test_tables_fit_100_columns_and_tell_what_is_missing() -> None:
    screen = Console(file=io.StringIO(), width=100)
    screen.print(loop_tables(STUDY))
    text = screen.file.getvalue()  # type: ignore[attr-defined]
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "…" not in text, "nothing is cut off"
    assert "missing: Exudyn" in text
    assert "left out: MuJoCo (implicit, 0.01 s) on slider-crank: unstable" in text
    assert "N^2.0" in text


def test_json_and_plots_are_written(tmp_path: Path) -> None:
    write_loops_json(STUDY, tmp_path / "loops.json")
    data = json.loads((tmp_path / "loops.json").read_text())
    assert len(data["rows"]) == len(STUDY.rows)
    assert data["growth_exponents"]["Setsu"] == pytest.approx(2.0)
    for path in write_loop_plots(STUDY, tmp_path):
        assert path.stat().st_size > 5000


def test_a_ring_of_links_moves_as_in_mujoco(tmp_path):
    import mujoco

    from setsu.benchmarks.loops_robots import ring_text

    (tmp_path / "ring.xml").write_text(ring_text(12))
    m = setsu.load(tmp_path / "ring.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "ring.xml"))
    assert (m.nv, len(m.loops)) == (model.nv, 1) == (6 + 11, 1)
    q = setsu.close_loops(m, m.neutral())
    np.testing.assert_allclose(q, m.neutral(), atol=1e-12)
    # Hinges that share one plane: the ring keeps its shape in free fall.
    r = setsu.simulate(m, q, np.zeros(m.nv), 0.1, 1e-3, integrator="rk4")
    np.testing.assert_allclose(r.q[-1][7:], q[7:], atol=1e-12)


def test_models_without_the_robots_are_refused(tmp_path):
    from setsu.benchmarks.loops_robots import measure_robots

    with pytest.raises(setsu.InputError, match=r"has no robotiq_2f85/2f85\.xml"):
        measure_robots(tmp_path)
