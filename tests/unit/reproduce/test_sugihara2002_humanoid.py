"""sugihara2002: the humanoid walks, falls and jumps by the laws its tables state, in parts short enough for every day.

The whole motions are run by the examples; `-m nightly` runs the reproduction as a user does.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from setsu.contact import Environment
from setsu.control.humanoid import Walk, plan_walk
from setsu.control.humanoid.balance import contact_positions, momentum_error, tilt
from setsu.reproduce import reproduce
from setsu.reproduce.sugihara2002 import humanoid_runs
from setsu.reproduce.sugihara2002.humanoid_figures import jump_figures, walk_figures
from setsu.reproduce.sugihara2002.humanoid_runs import HumanoidRun, flight
from setsu.reproduce.sugihara2002.humanoid_tables import fall_table, jump_table, walk_table
from setsu.simulation import JointServo, simulate


def quiet(text: str, part: float) -> None:
    """Progress nobody looks at."""


@pytest.fixture(scope="module")
def walked() -> HumanoidRun:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(humanoid_runs, "WALK", Walk(steps=2, standing=0.8))
        return humanoid_runs.walk(quiet)


@pytest.fixture(scope="module")
def jumped() -> HumanoidRun:
    return humanoid_runs.jump(quiet)


@pytest.mark.slow
def test_two_steps_keep_every_law_of_the_walk(walked: HumanoidRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("setsu.reproduce.sugihara2002.humanoid_tables.WALK", Walk(steps=2, standing=0.8))
    table = walk_table(walked, walked)
    assert [row.verdict for row in table.rows] == ["agrees"] * len(table.rows), table


@pytest.mark.slow
def test_feet_that_stand_do_not_slip_and_forces_stay_in_their_cones(walked: HumanoidRun) -> None:
    assert walked.motion is not None
    corners = walked.biped.sole_corners(walked.recording.q)
    standing = walked.motion.support[1:] & walked.motion.support[:-1]
    # Where the plan has both samples of a foot on the ground its corners stay to within what servos give way.
    assert np.abs(np.diff(corners, axis=0)[standing]).max() < 1e-5
    force = walked.recording.contact_force
    friction = np.hypot(force[..., 0], force[..., 1])
    assert (friction <= 0.8 * force[..., 2] * (1 + 1e-9) + 1e-9).all()


@pytest.mark.slow
def test_the_zero_moment_point_is_the_recording_s_center_of_pressure(walked: HumanoidRun) -> None:
    """On a level floor both are one point, reckoned from contact points here and from where forces act there."""
    assert np.allclose(walked.recording.center_of_pressure()[:, :2], walked.zmp, atol=1e-6)


@pytest.mark.slow
def test_the_jump_keeps_every_law_and_lands_where_it_left(jumped: HumanoidRun) -> None:
    table = jump_table(jumped, jumped)
    assert [row.verdict for row in table.rows] == ["agrees"] * len(table.rows), table
    begin, end = flight(jumped)
    assert not jumped.force[begin:end].any()
    # Nothing pulls sideways in the air: what is fitted is the error of the integrator, of order 1 in its step.
    time = jumped.recording.time[begin : end + 1] - jumped.recording.time[begin]
    sideways = 2.0 * np.polyfit(time, jumped.com[begin : end + 1, :2], 2)[0]
    assert np.abs(sideways).max() < 1e-3 * 9.81
    assert np.abs(jumped.com[-1] - jumped.com[0]).max() < 2e-3


@pytest.mark.slow
def test_a_limp_humanoid_never_gains_energy() -> None:
    """The first moments of the fall: the whole of it is an example."""
    m = humanoid_runs.hoap1_like()
    v = np.zeros(m.nv)
    v[0] = 0.4
    q = humanoid_runs.standing_posture(humanoid_runs.Biped(m))
    rec = simulate(m, q, v, 0.15, environment=Environment.floor())
    assert np.diff(rec.energy).max() <= 1e-12 * rec.energy[0]


@pytest.mark.slow
def test_figures_are_drawn(walked: HumanoidRun, jumped: HumanoidRun, tmp_path: Path) -> None:
    drawn = [*walk_figures(walked, tmp_path), *jump_figures(jumped, tmp_path)]
    assert {figure.path.name for figure in drawn} >= {"figure_04.png", "figure_06.png", "walk_zmp_ground.png"}
    assert all(figure.path.stat().st_size > 5000 for figure in drawn)


@pytest.mark.nightly
def test_the_reproduction_as_a_whole(tmp_path: Path) -> None:
    (report,) = reproduce(["sugihara2002"], tmp_path, quiet)
    assert not report.failures
    assert (tmp_path / "sugihara2002" / "figure_05.png").is_file()


@pytest.mark.nightly
def test_the_fall_keeps_every_law() -> None:
    fallen = humanoid_runs.fall(quiet)
    table = fall_table(fallen, fallen)
    assert [row.verdict for row in table.rows] == ["agrees"] * len(table.rows), table


@pytest.mark.nightly
@pytest.mark.parametrize("direction", range(8))
def test_falls_in_every_direction_lose_energy_in_every_step(direction: int) -> None:
    m = humanoid_runs.hoap1_like()
    biped, v = humanoid_runs.Biped(m), np.zeros(m.nv)
    v[:2] = 0.4 * np.cos(0.25 * np.pi * direction), 0.4 * np.sin(0.25 * np.pi * direction)
    rec = simulate(m, humanoid_runs.standing_posture(biped), v, 2.5, environment=Environment.floor())
    positions = contact_positions(m, rec.q)
    assert np.diff(rec.energy).max() <= 1e-12 * rec.energy[0]
    assert positions[..., 2].min() > -1e-4
    assert momentum_error(biped, rec.q, rec.v, rec.acceleration, positions, rec.contact_force).max() < 1e-9


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("walk", "stiffness"),
    [(Walk(steps=4), 250.0), (Walk(steps=4), 400.0), (Walk(steps=4, stride=-0.03, first=1), 300.0),
     (Walk(steps=4, stride=0.05), 300.0), (Walk(steps=4, stride=0.0), 300.0)],
)  # fmt: skip
def test_walks_of_other_strides_and_stiffnesses_arrive_upright(walk: Walk, stiffness: float) -> None:
    m = humanoid_runs.hoap1_like()
    biped = humanoid_runs.Biped(m)
    motion = plan_walk(biped, walk)
    servo = JointServo(stiffness, 4.0, motion.position, motion.velocity, motion.feed_forward)
    rec = simulate(m, motion.q[0], np.zeros(m.nv), motion.time[-1], torque=servo, environment=Environment.floor())
    assert abs(rec.q[-1, 0] - rec.q[0, 0] - walk.travel) < 1e-4
    assert np.degrees(tilt(biped, rec.q)).max() < 0.01
