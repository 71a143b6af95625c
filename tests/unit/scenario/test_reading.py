"""Scenario files are read strictly: every problem at once, with its line, the value and what was expected."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import setsu
from setsu import scenario
from setsu.scenario.reading import as_data
from setsu.scenario.toml_lines import key_lines

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "scenarios"
SCENARIOS = [path for path in sorted(EXAMPLES.glob("*.toml")) if "[model]" in path.read_text()]

BROKEN = """\
[model]
sample = "four_bar"
gravty = [0, 0, -1]
[start.q]
crank = "a"
[torque]
kind = "constnt"
[[contacts]]
body = "x"
surface = { kind = "plane", ofset = 1 }
[[events]]
kind = "open_loop"
loop = "pin"
time = -1
[simulation]
step = 0
record_every = 1.5
integrator = "rk5"
"""


def problems(text: str) -> tuple[str, ...]:
    """All problems of a text, reading and preparing it."""
    with pytest.raises(setsu.ModelFileError) as caught:
        scenario.prepare(scenario.parse(text, name="s.toml"))
    return caught.value.problems


def test_every_problem_is_named_with_its_line() -> None:
    assert problems(BROKEN) == (
        's.toml:3: model.gravty: unknown key (did you mean "gravity"?)',
        "s.toml:5: start.q.crank: expected a number or a list, got 'a'",
        "s.toml:7: torque.kind: expected a known kind, got 'constnt' (did you mean \"constant\"?)",
        's.toml:10: contacts.0.surface.ofset: unknown key (did you mean "offset"?)',
        "s.toml:14: events.0.time: expected a number >= 0.0, got -1",
        "s.toml:15: simulation.duration: missing; it is required",
        "s.toml:16: simulation.step: expected a number > 0.0, got 0",
        "s.toml:17: simulation.record_every: expected a whole number, got 1.5",
        "s.toml:18: simulation.integrator: expected one of default, rk4, rkn4, semi_implicit, rk8, adaptive, radau, "
        "time_stepping, got 'rk5'",
    )


HEAD = '[model]\nsample = "planar_arm"\n'
TAIL = "\n[simulation]\nduration = 0.1\n"


@pytest.mark.parametrize(
    ("middle", "expected"),
    [
        ("[model.bodies.lnk1]\nmass = 1", "s.toml:3: model.bodies.lnk1: unknown body 'lnk1' (did you mean \"link1\""),
        ("[start.q]\njoint3 = 1", "s.toml:4: start.q.joint3: unknown joint 'joint3'"),
        ("[start.v]\njoint1 = [1, 2]", "s.toml:4: start.v.joint1: expected 1 numbers, got 2"),
        ('[torque]\nkind = "constant"\nvalues.a = 1', "s.toml:5: torque.values.a: unknown joint"),
        ('[torque]\nkind = "expression"\nvalues.joint1 = "b + 1"', "unknown name 'b'"),
        ('[torque]\nkind = "expression"\nvalues.joint1 = "__import__(1)"', "is not allowed; allowed are numbers"),
        ('[torque]\nkind = "expression"\nvalues.joint1 = "t +"', "cannot read 't +'"),
        ('[torque]\nkind = "joint_feedback"\nstiffness = { joint1 = -1 }', "not negative"),
        ('[[contacts]]\nbody = "hand"\nsurface.kind = "plane"', "s.toml:4: contacts.0.body: unknown body 'hand'"),
        (
            '[[events]]\nkind = "open_loop"\nloop = "pin"\ntime = 9',
            "s.toml:6: events.0.time: expected a time up to 0.1",
        ),
        ("[start]\nq.joint1 = nan", "expected finite numbers, got nan"),
        ("[start]\nfixed = ['x']", "s.toml:4: start.fixed: unknown joint 'x'"),
        (
            "[torque]",
            "expected a known kind, got nothing (known: none, constant, expression, actuators",
        ),
        ("[start]\nq = 3", "s.toml:4: start.q: expected a table, got 3"),
        ("[start\nq = 3", "s.toml:3: not valid TOML"),
    ],
    ids=lambda text: text.splitlines()[-1][:40],
)
def test_a_wrong_name_or_value_is_told(middle: str, expected: str) -> None:
    assert any(expected in problem for problem in problems(HEAD + middle + TAIL))


def test_the_model_is_one_file_or_one_sample() -> None:
    assert "either file or sample" in problems("[model]\n[simulation]\nduration = 1")[0]
    assert 'did you mean "pendulum"' in problems('[model]\nsample = "pendulm"\n[simulation]\nduration = 1')[0]
    many = 'model.sample = "pendulum"\nmodel.sample_arguments = [1, 2, 3, 4, 5, 6, 7, 8]\nsimulation.duration = 1'
    assert "too many positional arguments in pendulum(" in problems(many)[0]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_examples_are_sound_and_survive_a_round_trip(path: Path) -> None:
    read = scenario.load(path)
    assert scenario.prepare(read).mechanism.nv > 0
    assert scenario.parse(as_data(read), path.parent, read.origin.name) == read


def test_lines_of_keys_are_those_a_person_counts() -> None:
    text = (
        'a = 1\n[b.c]\nd = [\n  "]", # [\n  2,\n]\n"e f" = """\n[x]\n"""\n[[g]]\nh = 1\n[g.i]\nj = 1\n[[g]]\nh.k = 2\n'
    )
    lines = key_lines(text)
    assert lines == {
        ("a",): 1, ("b", "c"): 2, ("b", "c", "d"): 3, ("b", "c", "e f"): 7, ("g", 0): 10, ("g", 0, "h"): 11,
        ("g", 0, "i"): 12, ("g", 0, "i", "j"): 13, ("g", 1): 14, ("g", 1, "h"): 15, ("g", 1, "h", "k"): 15,
    }  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_mutilated_file_gives_anything_but_a_readable_error(data: st.DataObject) -> None:
    text = (EXAMPLES / "reach.toml").read_text()
    at = data.draw(st.integers(0, len(text) - 1))
    piece = data.draw(st.sampled_from(["", "\n", '"', "[", "]", "=", "nan", "-1", "1e999", "\0", "é", "{}", "true"]))
    length = data.draw(st.integers(0, 30))
    with contextlib.suppress(setsu.SetsuError):
        scenario.prepare(scenario.parse(text[:at] + piece + text[at + length :], EXAMPLES))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[start]\nfixed = ['joint1']", "start.fixed: has no effect; expected close_loops"),
        ("[start]\nvelocity_spread = 0.1", "start.velocity_spread: has no effect; expected a seed"),
        ("[environment]\nheight = 0.5", "environment.height: has no effect; expected floor"),
        ("[environment]\nslope = 0.5", "environment.slope: has no effect; expected floor"),
        ("[torque]\nkind = 'expression'\nparameters = { t = 1.0 }", "torque.parameters.t: has no effect"),
        ("[torque]\nkind = 'expression'\nparameters = { a = 1.0 }", "torque.parameters.a: has no effect: no formula"),
        ("[start]\nclose_loops = true", "start.close_loops: has no effect: pendulum has neither loops nor couplings"),
        ("simulation.joint_stops = true", "simulation.joint_stops: has no effect: no joint of pendulum has limits"),
        (
            "[torque]\nkind = 'joint_feedback'\ntarget = { joint1 = 0.5 }",
            "torque.target.joint1: has no effect; expected a",
        ),
        ("[output]\nplots = ['q', 'speed']", "output.plots.1: unknown quantity 'speed'"),
        (
            "[torque]\nkind = 'expression'\nvalues = { joint1 = 'sin(t)' }\nparameters = { sin = 1.0 }",
            "torque.parameters.sin: has no effect",
        ),
        ("[start]\nseed = 3\nq = { joint1 = 0.5 }", "start.seed: has no effect"),
        ("[model.joints.joint1]\nspring_rest = 0.5", "model.joints.joint1.spring_rest: has no effect"),
        ("[model.material]\nrestitution = 0.5", "model.material: has no effect"),
    ],
)
def test_settings_without_effect_are_refused_with_their_line(text: str, expected: str) -> None:
    start = "simulation.duration = 0.1\n" if "[model" not in text else ""
    head = (
        f"{start}model.sample = 'pendulum'\n"
        if start
        else "[simulation]\nduration = 0.1\n[model]\nsample = 'pendulum'\n"
    )
    found = problems(head + text)
    assert any(expected in problem for problem in found), found
    assert all(problem.startswith("s.toml:") for problem in found)


def test_tolerance_and_gains_without_effect_are_refused() -> None:
    assert (
        "simulation.tolerance: has no effect"
        in problems("[model]\nsample = 'pendulum'\n[simulation]\nduration = 0.1\ntolerance = 1e-6\nintegrator = 'rk4'")[
            0
        ]
    )
    found = problems(
        "[model]\nsample = 'floating_box'\n[simulation]\nduration = 0.1\n"
        "[torque]\nkind = 'joint_feedback'\nstiffness = 2.0"
    )
    assert "torque.stiffness: has no effect: " in found[0]
    assert "has no joint with one coordinate" in found[0]


def test_gravity_compensation_does_not_lift_a_floating_robot() -> None:
    ready = scenario.prepare(
        scenario.parse(
            {
                "model": {"sample": "quadruped"},
                "torque": {"kind": "joint_feedback", "gravity_compensation": True},
                "simulation": {"duration": 0.01},
            }
        )
    )
    torque = ready.torque(0.0, ready.q0, ready.v0)
    assert (torque[:6] == 0.0).all()
    expected = setsu.gravity_torque(ready.mechanism, ready.q0)
    assert (torque[6:] == expected[6:]).all()
    assert abs(expected[2]) > 1.0
