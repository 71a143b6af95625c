"""Denavit-Hartenberg tables: frames are the products of the row placements, masses sit in the row's frame."""

import numpy as np
import pytest
from unit.mechanism.kinematics_by_hand import poses_and_velocities

from setsu.errors import InputError
from setsu.mechanism import Revolute
from setsu.model_files import DHRow, from_dh
from setsu.spatial import classic_dh, modified_dh, placement

ROWS = [
    DHRow(
        a=0.1, alpha=0.3, d=0.4, theta=0.2, mass=1.0, center_of_mass=(0.1, 0.2, 0.3), inertia=np.diag([2.0, 3.0, 4.0])
    ),
    DHRow(a=0.5, alpha=-np.pi / 2, d=0.1, theta=1.0, joint="prismatic", mass=2.0, center_of_mass=(0.0, 0.1, 0.0)),
    DHRow(a=-0.2, alpha=1.0, d=0.3, theta=0.0, joint=Revolute(damping=0.5), mass=0.5),
]
Q = np.array([0.7, 0.25, -1.3])


def row_frames(convention):
    """Frame of every row at Q, by multiplying the table out."""
    frames, T = [], placement((0, 0, 1), rpy=(0.1, 0, 0))
    for row, q in zip(ROWS, Q, strict=True):
        theta, d = (row.theta, row.d + q) if row.joint == "prismatic" else (row.theta + q, row.d)
        step = (
            modified_dh(row.alpha, row.a, theta, d)
            if convention == "modified"
            else classic_dh(theta, d, row.a, row.alpha)
        )
        T = T @ step
        frames.append(T)
    return frames


@pytest.mark.parametrize("convention", ["modified", "classic"])
def test_frames_and_masses(convention):
    tool = placement((0, 0, 0.1))
    arm = from_dh(ROWS, convention, base=placement((0, 0, 1), rpy=(0.1, 0, 0)), tool=tool)
    assert arm.body_names == ("link1", "link2", "link3")
    assert arm.joint_names == ("joint1", "joint2", "joint3")
    assert arm.damping.tolist() == [0.0, 0.0, 0.5]
    poses, _ = poses_and_velocities(arm, Q)
    frames = row_frames(convention)
    for index, (row, T) in enumerate(zip(ROWS, frames, strict=True), start=1):
        name = f"link{index}"
        body = next(body for body in arm.bodies if body.name == name)
        np.testing.assert_allclose(poses[name if convention == "modified" else f"{name}_frame"], T, atol=1e-14)
        center = poses[name] @ [*body.center_of_mass, 1.0]
        np.testing.assert_allclose(center, T @ [*row.center_of_mass, 1.0], atol=1e-14)
        expected = np.zeros((3, 3)) if row.inertia is None else T[:3, :3] @ row.inertia @ T[:3, :3].T
        R = poses[name][:3, :3]
        np.testing.assert_allclose(R @ body.inertia_matrix @ R.T, expected, atol=1e-14)
    np.testing.assert_allclose(poses["tool"], frames[-1] @ tool, atol=1e-14)


def test_rows_of_four_numbers_follow_the_placement_functions():
    arm = from_dh([(0.3, 0.1, 0.2, 0.4)])
    np.testing.assert_allclose(arm.bodies[0].pose.matrix, modified_dh(0.3, 0.1, 0.2, 0.4))
    arm = from_dh([(0.2, 0.4, 0.1, 0.3)], "classic")
    poses, _ = poses_and_velocities(arm, np.zeros(1))
    np.testing.assert_allclose(poses["link1_frame"], classic_dh(0.2, 0.4, 0.1, 0.3), atol=1e-15)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], "modified"), "at least one row"),
        (([(0, 0, 0, 0)], "khalil"), 'expected "modified" or "classic", got \'khalil\''),
        (([(0, 0, 0)],), "from_dh row 1: expected 4 numbers"),
        (([DHRow(), DHRow(a=float("nan"))],), "from_dh row 2 a, alpha, d, theta: expected finite numbers"),
        (([DHRow(joint="ball")],), "from_dh row 1 joint: expected"),
        (([DHRow(joint=Revolute((1, 0, 0)))],), "about z"),
        ((3,), "from_dh rows: expected a list"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(InputError, match=message):
        from_dh(*arguments)
