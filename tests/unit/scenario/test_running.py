"""A scenario runs as the call of setsu.simulate that it stands for."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import setsu
from setsu import scenario
from setsu.command_line import main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "scenarios"


def test_the_law_of_joint_feedback() -> None:
    """tau = K (q_d - q) - D v + g(q), cut off at the limit; joints without target are held where they start."""
    ready = scenario.prepare(
        scenario.parse(
            {
                "model": {"sample": "planar_arm"},
                "start": {"q": {"joint1": 0.4}},
                "torque": {
                    "kind": "joint_feedback", "stiffness": {"joint1": 10.0, "joint2": 20.0}, "damping": 2.0,
                    "gravity_compensation": True, "target": {"joint2": "a * t"}, "parameters": {"a": 3.0},
                    "limit": 15.0,
                },
                "simulation": {"duration": 1.0},
            }
        )
    )  # fmt: skip
    q, v = np.array([0.1, -0.2]), np.array([0.5, 1.0])
    wanted = [10.0, 20.0] * (np.array([0.4, 3.0 * 0.5]) - q) - 2.0 * v + setsu.gravity_torque(ready.mechanism, q)
    assert np.allclose(ready.torque(0.5, q, v), np.clip(wanted, -15.0, 15.0), rtol=1e-14)
    assert abs(wanted).max() > 15.0


def test_a_run_is_the_call_it_stands_for() -> None:
    text = """
    [model]
    sample = "pendulum"
    gravity = [0, 0, -3.7]
    [model.joints.joint1]
    damping = 0.3
    [start]
    q.joint1 = 0.7
    v.joint1 = -1.0
    [torque]
    kind = "expression"
    values.joint1 = "2*sin(3*t)*(t < 0.05) + exp(-t)"
    [simulation]
    duration = 0.1
    step = 2e-3
    integrator = "rk8"
    record_every = 5
    """
    rec = scenario.run(scenario.parse(text))
    m = setsu.with_gravity(setsu.sample_mechanisms.pendulum(), (0, 0, -3.7))
    body = m.bodies[0]
    slowed = dataclasses.replace(body, joint=dataclasses.replace(body.joint, damping=0.3))
    damped = dataclasses.replace(m, bodies=(slowed, *m.bodies[1:]))
    same = setsu.simulate(
        damped, [0.7], [-1.0], 0.1, 2e-3, lambda t, q, v: [2 * np.sin(3 * t) * (t < 0.05) + np.exp(-t)],
        integrator="rk8", record_every=5,
    )  # fmt: skip
    assert (rec.q == same.q).all()
    assert (rec.torque == same.torque).all()


def test_a_heavier_body_keeps_its_shape() -> None:
    """Twice the mass: twice the inertia about the same centre of mass."""
    base = scenario.parse('model.sample = "seven_joint_arm"\nsimulation.duration = 1')
    nominal = scenario.prepare(base).mechanism
    heavy = scenario.prepare(scenario.with_values(base, {"model.bodies.link3.mass": 5.0})).mechanism
    before, after = (next(body for body in m.bodies if body.name == "link3") for m in (nominal, heavy))
    assert before.mass == 2.5
    assert after.inertia == tuple(2.0 * moment for moment in before.inertia)
    assert after.center_of_mass == before.center_of_mass


def test_stopping_keeps_what_was_done() -> None:
    read = scenario.parse('model.sample = "pendulum"\nsimulation.duration = 1.0\nsimulation.record_every = 10')
    parts: list[float] = []
    with pytest.raises(setsu.SimulationStopped) as caught:
        scenario.run(read, progress=lambda text, part: parts.append(part), stop=lambda: parts[-1] > 0.05)
    assert 0.05 <= caught.value.recording.time[-1] < 1.0


def test_the_command_writes_a_recording_and_a_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "reach.nc"
    quick = (EXAMPLES / "reach.toml").read_text().replace("duration = 2.0", "duration = 0.1")
    (tmp_path / "reach.toml").write_text(quick)
    assert main(["simulate", str(tmp_path / "reach.toml"), "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    rec = setsu.Recording.load(out)
    assert told["recorded_states"] == len(rec) == 11
    assert told["energy"]["end"] == rec.energy[-1]
    assert {Path(path).name for path in told["written"]} == {"reach.nc", "reach_q.png", "reach_torque.png"}
    assert main(["simulate", str(tmp_path / "reach.toml")]) == 2
    assert "reach.toml:29: output.plots: nowhere to draw them" in capsys.readouterr().err
    assert main(["simulate", str(tmp_path / "reach.toml"), "--plots", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "joint7" in shown
    assert max(map(len, shown.splitlines())) <= 120


def test_a_model_file_lands_on_its_collision_shapes_with_the_material_of_the_scenario() -> None:
    """Weight on the floor, joints within their limits, friction as the scenario says."""
    ready = scenario.prepare(
        scenario.parse(
            {
                "model": {
                    "file": str(EXAMPLES.parent / "models" / "crab.urdf"), "floating_base": True,
                    "material": {"static_friction": 0.9, "kinetic_friction": 0.8},
                },
                "start": {"q": {"root_joint": [0, 0, 0.45, 0, 0, 0, 1]}},
                "environment": {"floor": True, "body_contacts": True},
                "simulation": {"duration": 0.02, "joint_stops": True, "integrator": "semi_implicit"},
            }
        )
    )  # fmt: skip
    m = ready.mechanism
    assert {point.material for point in m.contact_points} == {setsu.Material(0.9, 0.8)}
    assert ready.options["body_contacts"] is True
    assert ready.options["joint_stops"] is True


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["simulate", "nowhere.toml"], "cannot be read (No such file or directory)"),
        (["simulate", str(EXAMPLES / "reach.toml"), "--out", "run.csv"], "ending in .nc, .npz or .mcap"),
        (["simulate", str(EXAMPLES / "reach.toml"), "--out", "nowhere/run.nc"], "a folder that exists"),
        (["simulate", str(EXAMPLES / "swings.toml")], "a study of many runs, expected a scenario"),
        (["sweep", "nowhere.toml"], "cannot be read"),
        (["sweep", str(EXAMPLES / "reach.toml")], "scenario: expected a file name or a table, got nothing"),
    ],
    ids=lambda value: " ".join(value)[-40:] if isinstance(value, list) else "",
)
def test_bad_input_is_one_message_and_code_2(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    told = capsys.readouterr()
    assert expected in told.err
    assert told.out == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("simulation.duration = 1e12\nsimulation.step = 1e-9", "are 1e+21 steps; expected at most"),
        ("simulation.duration = 1e300\nsimulation.step = 1e-300", "are inf steps; expected at most"),
        ("simulation.duration = 1.0\nstart.q = { joint1 = 1e308 }", "q0[0] is 1e+308"),
        ("simulation.duration = 1.0\nmodel.sample_arguments = [100000000]", "<= 2000"),
        ("simulation.duration = 1e400", "expected finite numbers, got inf"),
        (f"simulation.duration = {10**400}", "expected finite numbers"),
    ],
)
def test_numbers_nobody_can_mean_are_refused_at_once(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "huge.toml"
    path.write_text(f'model.sample = "pendulum"\n{text}\n')
    assert main(["simulate", str(path)]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert len(told) < 400
