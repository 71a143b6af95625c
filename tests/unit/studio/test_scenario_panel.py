"""The studio runs what a scenario file says, bit by bit, until somebody changes a setting; then that setting alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import setsu
from setsu import scenario as scenarios
from setsu.command_line import main
from setsu.studio import open_studio
from setsu.studio.application import Studio
from setsu.studio.setting_texts import FROM_FILE
from setsu.studio.uploads import open_file

SCENARIOS = Path(__file__).resolve().parents[3] / "examples" / "scenarios"

STEPS = """
[model]
sample = "floating_box"

[model.material]
static_friction = 0.31
kinetic_friction = 0.17
restitution = 0.2

[start]
q = { free = [-0.1, 0.03, 0.55, 0, 0, 0, 1] }
v = { free = [0.7, 0.1, -0.3, 0.3, 1.1, 0.2] }

[environment]
floor = true
height = -0.05
slope = 0.15
polygons = [
  [[0.4, -1, 0.1], [2, -1, 0.1], [2, 1, 0.1], [0.4, 1, 0.1]],
  [[0.4, 1, -0.2], [0.4, -1, -0.2], [0.4, -1, 0.1], [0.4, 1, 0.1]],
]

[simulation]
duration = 0.3
step = 7e-4
record_every = 3
"""


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    running = open_studio()
    yield running
    running.close()


def run_in_studio(studio: Studio) -> setsu.Recording:
    studio.start_run()
    studio.wait_for_run()
    assert studio.recording is not None
    return studio.recording


def assert_same(one: setsu.Recording, other: setsu.Recording) -> None:
    """Every array of two recordings has the same bits."""
    for entry in fields(one):
        a, b = getattr(one, entry.name), getattr(other, entry.name)
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b, err_msg=entry.name)
    for name in ("name", "integrator", "step", "contact_names", "mechanism", "environment"):
        assert getattr(one, name) == getattr(other, name), name
    assert [(event.time, event.kind, event.name) for event in one.events] == [
        (event.time, event.kind, event.name) for event in other.events
    ]


@pytest.mark.parametrize("name", ["dropped_box", "four_bar", "reach", "wiping", "steps"])
def test_the_studio_runs_what_the_command_runs(studio: Studio, tmp_path: Path, name: str) -> None:
    path = SCENARIOS / f"{name}.toml"
    if name == "steps":
        path = tmp_path / "steps.toml"
        path.write_text(STEPS)
    assert main(["simulate", str(path), "--out", str(tmp_path / "run.npz"), "--json"]) == 0
    expected = setsu.Recording.load(tmp_path / "run.npz")
    studio.open(open_file(path))
    first = run_in_studio(studio)
    assert_same(first, expected)
    # Looking at the run, and showing forces at rest, changes no setting.
    assert studio.replay is not None
    studio.replay.go_to(float(first.time[-1]))
    studio._refresh()
    assert_same(run_in_studio(studio), expected)


def test_a_changed_setting_changes_nothing_else(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "steps.toml"
    path.write_text(STEPS)
    studio.open(open_file(path))
    studio.scenario.duration.value = 0.1
    expected = scenarios.run(scenarios.with_values(scenarios.load(path), {"simulation.duration": 0.1}))
    assert_same(run_in_studio(studio), expected)


def test_start_velocities_of_the_file_are_shown_and_can_be_edited(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "steps.toml"
    path.write_text(STEPS)
    studio.open(open_file(path))
    assert studio.scenario.velocities.value == "free = 0.7 0.1 -0.3 0.3 1.1 0.2"
    studio.scenario.velocities.value = "free = 0.7 0.1 -0.3 0 0 0"
    assert studio.scenario.start.value == FROM_FILE
    changed = scenarios.with_values(scenarios.load(path), {"start.v.free": [0.7, 0.1, -0.3, 0.0, 0.0, 0.0]})
    assert_same(run_in_studio(studio), scenarios.run(changed))


def test_a_pose_moved_by_hand_is_where_the_run_starts(studio: Studio) -> None:
    studio.open(open_file(SCENARIOS / "reach.toml"))
    arm = studio.mechanism
    assert arm is not None
    q = arm.random_configuration(3)
    studio._pose_by_hand("", q)
    studio.scenario.duration.value = 0.02
    np.testing.assert_array_equal(run_in_studio(studio).q[0], q)


def test_friction_changed_in_the_panel_is_that_of_the_run(studio: Studio) -> None:
    # On a slope of 0.2 rad a box at rest stays where tan(0.2) = 0.203 is below the friction, and slides above.
    studio.open_mechanism(setsu.sample_mechanisms.floating_box())
    panel = studio.scenario
    assert panel.ground is not None
    panel.ground.kind.value = "slope"
    panel.duration.value = 0.5
    tilt, half = 0.2, 0.1  # rad, m: the box lies on the slope
    up = half * np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    start = np.array([*up, 0.0, np.sin(tilt / 2), 0.0, np.cos(tilt / 2)])
    moved = []
    for friction in (0.1, 0.5):
        for name in ("static_friction", "kinetic_friction"):
            panel.ground._coefficients[name].value = friction
        studio._pose_by_hand("", start)
        recording = run_in_studio(studio)
        assert recording.mechanism is not None
        assert recording.mechanism.contact_points[0].material.kinetic_friction == friction
        moved.append(float(np.linalg.norm(recording.v[-1, :3])))
    # Sliding: g (sin - mu cos) t.
    assert moved[0] == pytest.approx(9.81 * (np.sin(tilt) - 0.1 * np.cos(tilt)) * 0.5, rel=1e-2)
    assert moved[1] < 1e-6 * moved[0]


def test_joints_of_a_loop_follow_the_one_whose_velocity_was_typed(studio: Studio) -> None:
    studio.open_mechanism(setsu.sample_mechanisms.four_bar())
    studio.scenario.velocities.value = "crank = 2.5"
    studio.scenario.duration.value = 0.02
    recording = run_in_studio(studio)
    assert recording.v[0, 0] == pytest.approx(2.5, abs=1e-12)
    assert np.abs(recording.v[0, 1:]).max() > 0.1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("elbow", "velocities, line 1: got 'elbow', expected joint = value"),
        ("joint2 = fast", "velocities, joint2: expected a number, got 'fast'"),
        ("joint2 = nan", "velocities, joint2: expected a finite number, got 'nan'"),
        ("joint2 = 1\njoint2 = 2", "velocities, line 2: 'joint2' stands there twice"),
        ("jiont2 = 1", "unknown joint 'jiont2'"),
        ("joint2 = 1 2", "expected 1 numbers, got 2"),
    ],
)
def test_velocities_nobody_can_mean_are_refused_in_words(studio: Studio, text: str, message: str) -> None:
    studio.open(open_file(SCENARIOS / "reach.toml"))
    studio.scenario.velocities.value = text
    with pytest.raises(setsu.SetsuError) as problem:
        studio.start_run()
    assert message in str(problem.value)


def test_every_polygon_is_drawn_with_its_normal(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "steps.toml"
    path.write_text(STEPS)
    studio.open(open_file(path))
    assert studio.scene is not None
    layers = studio.scene._layers
    # A slope without end, two polygons, and the edges of these two.
    assert len(layers["ground"]) == 4
    environment = studio.scenario.prepared(studio.pose.q).options["environment"]
    (arrows,) = layers["normals"]
    radius = studio.scene.radius
    for solid, polygon in zip(np.split(arrows.vertices, len(environment.polygons)), environment.polygons, strict=True):
        # Not rounding: pictures are single precision.
        assert np.ptp(solid @ polygon.normal) == pytest.approx(0.15 * radius, rel=1e-5)
        across = solid - np.outer(solid @ polygon.normal, polygon.normal)
        assert np.linalg.norm(across - across.mean(axis=0), axis=1).max() < 0.013 * radius
    assert studio.scenario.ground is not None
    studio.scenario.ground.kind.value = "nothing"
    studio._show_ground()
    assert not layers["ground"]
    assert not layers["normals"]


def test_forces_too_small_to_be_seen_have_no_arrow(studio: Studio) -> None:
    # In free fall nothing passes through any joint.
    box = setsu.sample_mechanisms.floating_box()
    recording = setsu.simulate(box, [0, 0, 2, 0, 0, 0, 1], np.zeros(6), duration=0.02, step=0.01)
    studio.open_mechanism(box)
    studio.set_recording(recording)
    assert studio.scene is not None
    assert not studio.scene.arrows.drawn


def test_arrows_at_welds_appear_with_their_layer(studio: Studio) -> None:
    b = setsu.MechanismBuilder.of(setsu.sample_mechanisms.planar_arm(2))
    b.add_body("tool", "link2", placement=setsu.placement((0.3, 0, 0)), mass=2.0, center_of_mass=(0.2, 0, 0))
    studio.open_mechanism(b.build())
    assert studio.scene is not None
    arrows = studio.scene.arrows
    before = len(arrows.drawn)
    studio.scene.set_visible("welds", True)
    (tool,) = [arrow for arrow in arrows.drawn if arrow.text.startswith("at tool: force")]
    assert tool.text == "at tool: force 19.62 N"
    force = (tool.end - tool.start) * arrows.newton_per_metre[0]
    np.testing.assert_allclose(force, [0.0, 0.0, 2.0 * 9.81], atol=1e-9)
    studio.scene.set_visible("welds", False)
    assert len(arrows.drawn) == before


def test_the_wrench_at_a_frame_is_drawn_when_it_is_chosen(studio: Studio) -> None:
    studio.open_mechanism(setsu.sample_mechanisms.puma560())
    assert studio.scene is not None
    studio.forces.frame.value = "link3"
    studio.forces._choose_frame()
    assert [arrow for arrow in studio.scene.arrows.drawn if arrow.text.startswith("at link3: force")]
    assert "at link3: force" in studio._arrow_data.content
    studio.forces.frame.value = "none"
    studio.forces._choose_frame()
    assert "at link3" not in studio._arrow_data.content


def test_links_are_seen_through_while_something_inside_them_is_shown(studio: Studio) -> None:
    studio.open_mechanism(setsu.sample_mechanisms.puma560())
    assert studio.scene is not None
    links = studio.scene._layers["links"]
    assert all(handle.opacity == 0.35 for handle in links)
    studio.forces.opacity.value = 0.6
    studio.forces._fade()
    assert all(handle.opacity == 0.6 for handle in links)
    for layer in ("forces", "moments"):
        studio.scene.set_visible(layer, False)
    assert all(handle.opacity is None for handle in links)


def test_a_robot_with_drives_holds_its_pose_and_its_stops_on_the_default_run(studio: Studio) -> None:
    """A gripper of two fingers, one of which mimics the other: nothing falls, and nothing passes its stops."""
    b = setsu.MechanismBuilder("gripper")
    b.add_body("arm", joint=setsu.Revolute((0, 1, 0), name="arm", lower=-2.0, upper=2.0, effort_limit=50.0), mass=3.0,
               center_of_mass=(0.3, 0, 0), inertia=np.diag([0.1, 0.1, 0.1]))  # fmt: skip
    for name, side in (("left", 1.0), ("right", -1.0)):
        joint = setsu.Prismatic((0, side, 0), name=name, lower=0.0, upper=0.04, effort_limit=20.0)
        b.add_body(name, "arm", joint, setsu.placement((0.6, 0, 0)), mass=0.05, inertia=np.diag([1e-4] * 3))
    b.add_coupling("mimic", {"left": 1.0, "right": -1.0})
    m = b.build()
    studio.open_mechanism(m)
    assert studio.scenario.torque.value == "hold the start pose"
    assert studio.scenario.stops.value
    studio.scenario.duration.value = 0.5
    studio.start_run()
    studio.wait_for_run()
    assert studio.recording is not None
    run = studio.recording
    assert run.time[-1] == pytest.approx(0.5)
    assert np.abs(run.q - run.q[0]).max() < 1e-3
    assert (run.q >= m.lower - 1e-6).all()
    assert (run.q <= m.upper + 1e-6).all()
    # A pendulum has no drive: it swings.
    studio.open_mechanism(setsu.sample_mechanisms.pendulum())
    assert studio.scenario.torque.value.startswith("none")


def test_a_keyframe_of_the_file_is_a_pose_to_choose(studio: Studio) -> None:
    m = setsu.sample_mechanisms.planar_arm(2)
    m = setsu.MechanismBuilder.of(m).add_keyframe("home", [0.1, 0.2]).add_keyframe("bent", [0.5, -0.7]).build()
    studio.open_mechanism(m)
    np.testing.assert_allclose(studio.pose.q, [0.1, 0.2])  # what the file calls home is where it starts
    studio._keyframe.value = "bent"
    studio._keyframe_chosen()
    np.testing.assert_allclose(studio.pose.q, [0.5, -0.7])
