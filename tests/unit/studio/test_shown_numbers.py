"""What the studio shows is what the library computes: forces, curves, zero moment point; names are escaped."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import setsu
from setsu.mechanism.velocity_names import coordinate_names
from setsu.studio.colors import hex_color, joint_color
from setsu.studio.plots import Curve, Plot, cursor_style, legend_html, plot_svg, ticks
from setsu.studio.readout import box, forces_table, matrix_picture
from setsu.studio.recorded_plots import GROUPS, plots_of, zero_moment_point
from setsu.studio.state import moment_at_rest, moment_of_recording, welds_of


@pytest.fixture(scope="module")
def recording() -> setsu.Recording:
    return setsu.simulate(setsu.sample_mechanisms.planar_arm(3), [0.3, 0.4, 0.5], np.zeros(3), duration=0.2, step=0.01)


def test_held_still_the_torques_are_those_of_gravity() -> None:
    arm = setsu.sample_mechanisms.puma560()
    q = arm.random_configuration(3)
    held = moment_at_rest(arm, q)
    np.testing.assert_allclose(held.torque, setsu.gravity_torque(arm, q), atol=1e-12)
    # The first joint carries all the weight beyond it.
    weight = sum(body.mass for body in arm.bodies if arm.frame(body.name).body >= 0) * 9.81
    assert np.linalg.norm(held.joint_wrenches[0, :3]) == pytest.approx(weight, rel=1e-9)


def test_let_go_nothing_drives_the_joints() -> None:
    arm = setsu.sample_mechanisms.planar_arm(2)
    q = np.array([0.3, 0.2])
    free = moment_at_rest(arm, q, let_go=True)
    assert not free.torque.any()
    np.testing.assert_allclose(free.acceleration, setsu.forward_dynamics(arm, q, np.zeros(2), np.zeros(2)))


def test_a_recorded_moment_is_the_recorded_one(recording: setsu.Recording) -> None:
    assert recording.mechanism is not None
    moment = moment_of_recording(recording.mechanism, recording, 7)
    assert moment.time == recording.time[7]
    np.testing.assert_array_equal(moment.joint_wrenches, recording.joint_wrenches[7])
    assert moment.kinetic_energy + moment.potential_energy == pytest.approx(recording.energy[7], abs=1e-9)


SENSOR = """<mujoco><worldbody><body name="stand"><geom size=".1" mass="3"/>
<body name="arm"><joint name="j" axis="0 1 0"/><geom pos=".2 0 0" size=".05" mass="2"/>
<body name="sensor" pos=".4 0 0" euler="0 30 0"><geom size=".02" mass=".1"/><body name="tip" pos=".1 0 0"/>
<body name="tool" pos="0 0 .1"><geom size=".03" mass=".5"/></body></body></body></body></worldbody></mujoco>"""


def test_what_passes_through_welds_is_what_wrench_at_says() -> None:
    """At rest, let go, and at every moment of a run; bodies without mass carry nothing and have no arrow."""
    m = setsu.load(text=SENSOR, format="mjcf")
    assert welds_of(m) == ("stand", "sensor", "tool")
    q, zero = np.array([0.3]), np.zeros(1)
    rec = setsu.simulate(m, q, zero, duration=0.05, step=0.01)
    falling = setsu.forward_dynamics(m, q, zero, zero)
    cases = [
        (moment_at_rest(m, q), (q, zero, zero)),
        (moment_at_rest(m, q, let_go=True), (q, zero, falling)),
        (moment_of_recording(m, rec, 3), (rec.q[3], rec.v[3], rec.acceleration[3])),
    ]
    for moment, state in cases:
        known, unknown = moment.weld_wrenches(welds_of(m))
        assert not unknown
        for name, wrench in known.items():
            np.testing.assert_allclose(wrench, setsu.wrench_at(m, *state, name, axes="world"), atol=1e-12)
    at_rest, _ = cases[0][0].weld_wrenches(["tool"])
    np.testing.assert_allclose(at_rest["tool"][:3], [0.0, 0.0, 0.5 * 9.81], atol=1e-12)


def test_loops_count_in_what_passes_through_welds() -> None:
    m = setsu.sample_mechanisms.four_bar()
    q = setsu.close_loops(m, m.neutral() + 0.1)
    b = setsu.MechanismBuilder.of(m)
    b.add_body("plate", m.body_names[-1], mass=0.4)
    m = b.build()
    known, _ = moment_at_rest(m, q).weld_wrenches(["plate"])
    np.testing.assert_allclose(known["plate"][:3], -0.4 * np.array(m.gravity), atol=1e-12)


def test_curves_are_the_recording_in_the_colours_of_their_joints(recording: setsu.Recording) -> None:
    assert recording.mechanism is not None
    groups = plots_of(recording.mechanism, recording)
    assert tuple(groups) == GROUPS
    for k, curve in enumerate(groups["Motion"][0].curves):
        np.testing.assert_array_equal(curve.values, recording.q[:, k])
        assert curve.color == joint_color(k)
    forces = groups["Joint wrenches"][0]
    np.testing.assert_allclose(forces.curves[1].values, np.linalg.norm(recording.joint_wrenches[:, 1, :3], axis=1))
    assert "no contact" in groups["Contact"][0].remark
    energy = groups["Energy"][0].curves
    np.testing.assert_allclose(energy[0].values + energy[1].values, energy[2].values, atol=1e-9)


def test_plots_are_well_formed_and_carry_units(recording: setsu.Recording) -> None:
    assert recording.mechanism is not None
    for plots in plots_of(recording.mechanism, recording).values():
        for plot in plots:
            picture = ET.fromstring(plot_svg(recording.time, plot))
            text = " ".join(picture.itertext())
            assert f"({plot.unit})" in text
            if plot.curves:
                assert "time (s)" in text
                assert hex_color(plot.curves[0].color) in plot_svg(recording.time, plot)


def test_names_from_files_cannot_become_markup() -> None:
    evil = "<img src=x onerror=alert(1)>"
    plot = Plot(evil, "N", (Curve(evil, (0, 0, 0), np.arange(3.0)),))
    builder = setsu.MechanismBuilder("m")
    builder.add_body("b", joint=setsu.Revolute((0, 1, 0), name=evil), mass=1.0, center_of_mass=(0.1, 0, 0))
    m = builder.build()
    shown = [
        plot_svg(np.arange(3.0), plot), legend_html(plot, 1), box("error", evil),
        forces_table(m, moment_at_rest(m, np.zeros(1))), matrix_picture(np.eye(1), coordinate_names(m)),
    ]  # fmt: skip
    assert not any("<img" in text for text in shown)


def test_ticks_are_round_and_inside() -> None:
    for low, high in ((0.0, 1.0), (-3.7, 12.2), (1e-7, 3e-7), (-2e5, 4e6)):
        marks = ticks(low, high, 5)
        assert 2 <= len(marks) <= 11
        assert low - 1e-12 <= marks[0] < marks[-1] <= high * (1 + 1e-9)


def test_the_cursor_stays_inside() -> None:
    assert "--setsu-cursor:0.25000" in cursor_style(0.25)
    assert "--setsu-cursor:1.00000" in cursor_style(7.0)


def test_many_curves_are_thinned_and_it_is_said() -> None:
    curves = tuple(Curve(str(k), (0, 0, 0), np.array([0.0, float(k)])) for k in range(40))
    thinned = Plot("q", "rad", curves).thinned()
    assert [curve.label for curve in thinned.curves] == [str(k) for k in range(28, 40)]
    assert "12 of 40" in thinned.remark


def test_the_zero_moment_point_of_a_box_at_rest_is_below_its_centre_of_mass() -> None:
    """A floating box whose acceleration is zero stands: what holds it acts below its centre of mass."""
    builder = setsu.MechanismBuilder("box")
    builder.add_body("box", joint=setsu.Free(), mass=2.0, center_of_mass=(0.1, -0.2, 0.3), inertia=np.eye(3))
    m = builder.build()
    fall = setsu.simulate(m, m.neutral(), np.zeros(6), duration=0.02, step=0.01)
    free = zero_moment_point(m, fall)
    assert free is not None
    assert np.isnan(free).all()  # nothing presses on a falling box
    import dataclasses

    stands = dataclasses.replace(
        fall, q=np.tile(m.neutral(), (3, 1)), v=np.zeros((3, 6)), acceleration=np.zeros((3, 6))
    )
    point = zero_moment_point(m, stands)
    assert point is not None
    np.testing.assert_allclose(point, np.tile([0.1, -0.2], (3, 1)), atol=1e-12)
