"""All ways to assemble a mechanism with the same driven coordinates, beside closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.sample_mechanisms import excavator_boom, four_bar, slider_crank, stewart_platform


@pytest.mark.parametrize("angle", [-1.0, 0.2, 0.9, 2.5])
def test_a_four_bar_has_two_and_they_are_those_of_the_triangle(angle: float) -> None:
    crank, coupler, rocker, ground = 0.4, 1.0, 0.8, 1.0
    m = four_bar(crank, coupler, rocker, ground)
    q = setsu.close_loops(m, [angle, 0.0, 0.0], fixed=["crank"])
    modes = setsu.constraint_report(m, q, assembly_modes=True).assembly_modes
    assert modes is not None
    np.testing.assert_array_equal(modes[0], q)
    assert np.abs(setsu.loop_error(m, modes)).max() < 1e-12
    np.testing.assert_allclose(modes[:, 0], angle, atol=1e-13)
    # The end of the crank, the rocker's bearing and the pin make a triangle with known sides, on either side.
    tip = setsu.frame_pose(m, q, "coupler")[:3, 3]
    base = setsu.frame_pose(m, q, "rocker")[:3, 3]
    far = np.linalg.norm(base - tip)
    along = (far**2 + coupler**2 - rocker**2) / (2.0 * far)
    aside = np.sqrt(coupler**2 - along**2)
    way = (base - tip) / far
    across = np.cross(way, [0.0, 1.0, 0.0])
    ends = setsu.frame_pose(m, modes, "coupler") @ [coupler, 0.0, 0.0, 1.0]
    heights = np.sort((ends[:, :3] - tip) @ across)
    np.testing.assert_allclose(heights, [-aside, aside], atol=1e-9)


@pytest.mark.parametrize(("make", "count"), [(slider_crank, 2), (excavator_boom, 4)])
def test_counts(make, count: int) -> None:
    m = make()
    q = setsu.close_loops(m, m.neutral() + 0.05)
    for seed in (0, 1):
        modes = setsu.constraint_report(m, q, assembly_modes=True, seed=seed).assembly_modes
        assert modes is not None
        assert len(modes) == count
        assert np.abs(setsu.loop_error(m, modes)).max() < 1e-12


def test_a_stewart_platform_with_its_legs_held_has_several_poses() -> None:
    m = stewart_platform()
    legs = [f"leg{k}" for k in range(1, 7)]
    modes = setsu.constraint_report(m, m.neutral(), assembly_modes=True, fixed=legs, starts=60).assembly_modes
    assert modes is not None
    assert np.abs(setsu.loop_error(m, modes)).max() < 1e-11
    poses = setsu.frame_pose(m, modes, "platform")
    assert np.ptp(poses[:, 2, 3]) > 0.1  # above and below its base at least
    lengths = np.array([modes[:, m.q_slices[m.joint_names.index(leg)]][:, 0] for leg in legs])
    np.testing.assert_allclose(lengths, lengths[:, :1] * np.ones(len(modes)), atol=1e-12)


def test_wrong_requests() -> None:
    m = four_bar()
    assert setsu.constraint_report(m, m.neutral()).assembly_modes is None
    with pytest.raises(setsu.InputError, match="starts: expected a whole number"):
        setsu.constraint_report(m, m.neutral(), assembly_modes=True, starts=0)
    with pytest.raises(setsu.InputError, match="fixed"):
        setsu.constraint_report(m, m.neutral(), assembly_modes=True, fixed=["nowhere"])
    flat, q = four_bar(1.0, 1.0, 1.0, 1.0), np.pi / 2 * np.array([1.0, -1.0, 1.0])  # all bars along x
    assert setsu.constraint_report(flat, q).singular
    with pytest.raises(setsu.InputError, match="singular configuration"):
        setsu.constraint_report(flat, q, assembly_modes=True)
