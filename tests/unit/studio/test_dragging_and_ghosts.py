"""A dragged frame goes where the hand is; ghosts are where their runs are; contacts have arrows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import setsu
from setsu.studio import open_studio
from setsu.studio.application import Studio
from setsu.studio.replay_panel import KEEP_GHOST
from setsu.studio.state import contact_loads


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    running = open_studio()
    yield running
    running.close()


def choose(studio: Studio, frame: str, turns: bool = False) -> None:
    studio.drag.frame.value, studio.drag.turns.value = frame, turns
    studio.drag._choose()


def test_a_dragged_frame_follows_in_position_and_orientation(studio: Studio) -> None:
    arm = setsu.sample_mechanisms.puma560()
    studio.open_mechanism(arm)
    studio._pose_by_hand("", np.array([0.3, -0.6, 0.5, 0.2, 0.7, 0.1]))
    choose(studio, arm.body_names[-1])
    pose = setsu.frame_pose(arm, studio.pose.q, arm.body_names[-1])
    np.testing.assert_allclose(studio.drag.handle.position, pose[:3, 3], atol=1e-9)
    target = pose[:3, 3] + [0.05, -0.03, 0.04]
    assert studio.drag.drag(target)
    found = setsu.frame_pose(arm, studio.pose.q, arm.body_names[-1])
    np.testing.assert_allclose(found[:3, 3], target, atol=2e-6)  # the tolerance of a drag
    turned = found[:3, :3] @ setsu.placement(rpy=(0.1, -0.2, 0.15))[:3, :3]
    assert studio.drag.drag(target, turned)
    found = setsu.frame_pose(arm, studio.pose.q, arm.body_names[-1])
    np.testing.assert_allclose(found[:3, :3], turned, atol=5e-6)
    assert (studio.pose.q >= arm.lower).all()
    assert (studio.pose.q <= arm.upper).all()


def test_what_cannot_be_reached_is_approached(studio: Studio) -> None:
    arm = setsu.sample_mechanisms.planar_arm(3)
    studio.open_mechanism(arm)
    studio._pose_by_hand("", np.array([0.3, 0.4, 0.5]))
    choose(studio, "tip")
    far = np.array([9.0, 0.0, 0.0])
    before = np.linalg.norm(setsu.frame_pose(arm, studio.pose.q, "tip")[:3, 3] - far)
    assert not studio.drag.drag(far)
    tip = setsu.frame_pose(arm, studio.pose.q, "tip")[:3, 3]
    assert np.linalg.norm(tip - far) < before
    # Let go, the handle is at the frame again.
    studio.drag.set_pose(studio.pose.q)
    np.testing.assert_allclose(studio.drag.handle.position, tip, atol=1e-9)


def test_loops_stay_closed_and_a_floating_base_stays_while_a_frame_is_dragged(studio: Studio) -> None:
    linkage = setsu.sample_mechanisms.four_bar()
    studio.open_mechanism(linkage)
    name = linkage.body_names[1]
    choose(studio, name)
    studio.drag.drag(setsu.frame_pose(linkage, studio.pose.q, name)[:3, 3] + [0.01, 0.0, 0.01])
    assert np.abs(setsu.loop_error(linkage, studio.pose.q)).max() < 1e-8
    robot = setsu.sample_mechanisms.hoap1_like()
    studio.open_mechanism(robot)
    before = studio.pose.q.copy()
    choose(studio, robot.body_names[6])
    place = setsu.frame_pose(robot, before, robot.body_names[6])[:3, 3]
    studio.drag.drag(place + np.array([0.02, 0.0, 0.01]))
    np.testing.assert_array_equal(studio.pose.q[:7], before[:7])
    assert np.abs(studio.pose.q[7:] - before[7:]).max() > 1e-3


def test_the_runs_of_a_batch_are_ghosts_at_the_same_time(studio: Studio) -> None:
    arm = setsu.sample_mechanisms.planar_arm(2)
    starts = np.array([[0.1, 0.2], [0.5, -0.4], [1.0, 0.3]])
    batch = setsu.simulate(arm, starts, np.zeros((3, 2)), duration=0.2, step=0.01)
    studio.open_mechanism(arm)
    studio.set_recording(batch)
    assert studio.replay is not None
    studio.replay.go_to(0.1)
    assert len(studio.ghosts.runs) == 2
    np.testing.assert_allclose(studio.pose.q, batch.q[0, 10], atol=1e-12)
    np.testing.assert_allclose(studio.ghosts.poses(0.1), setsu.body_poses(arm, batch.q[1:, 10]), atol=1e-12)
    mesh, node = studio.ghosts._meshes[0], studio.ghosts._nodes[0]
    np.testing.assert_allclose(
        node.batched_positions, setsu.body_poses(arm, batch.q[1:, 10])[:, mesh.body, :3, 3], atol=1e-6
    )  # not rounding: pictures are single precision
    # A run kept by hand stays beside the next one.
    studio._ghost_button(KEEP_GHOST)
    assert len(studio.ghosts.runs) == 3
    studio._ghost_button("Remove all")
    assert not studio.ghosts._nodes


def test_contacts_have_arrows_where_they_are(studio: Studio) -> None:
    box = setsu.sample_mechanisms.floating_box()
    q = box.neutral()
    q[2] = -min(point.position[2] for point in box.contact_points)
    run = setsu.simulate(box, q, np.zeros(6), duration=0.1, step=1e-3, environment=setsu.Environment.floor())
    assert run.mechanism is not None
    points, forces, names = contact_loads(box, run, -1, setsu.body_poses(box, run.q[-1]))
    assert forces[:, 2].sum() == pytest.approx(9.81 * box.total_mass, rel=0.02)
    assert len(names) == len(points) == len(box.contact_points)
    np.testing.assert_allclose(points[forces[:, 2] > 0.0][:, 2], 0.0, atol=1e-4)  # not rounding: penetration
    studio.open_mechanism(box)
    studio.set_recording(run)
    assert studio.replay is not None
    studio.replay.go_to(0.1)
    assert studio.scene is not None
    assert sum(name in arrow.text for arrow in studio.scene.arrows.drawn for name in names[:4]) >= 1
