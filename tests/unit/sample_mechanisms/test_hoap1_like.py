"""The humanoid keeps the published facts of its kind, is mirror-symmetric, and its file is what its module says."""

from __future__ import annotations

import numpy as np

import setsu
from setsu.sample_mechanisms.hoap1_like import assembled

M = setsu.sample_mechanisms.hoap1_like()


def test_the_text_file_is_what_the_module_assembles() -> None:
    assert assembled() == M
    assert assembled().digest == M.digest


def test_height_mass_and_freedoms_are_those_of_hoap1() -> None:
    poses = setsu.body_poses(M, M.neutral())
    heights = [(poses[M.frame(p.body).body] @ [*p.position, 1.0])[2] for p in M.contact_points]
    assert M.nv == 26
    assert len(M.joint_names) == 21
    assert np.isclose(M.total_mass, 6.0, rtol=1e-14)
    assert np.isclose(max(heights) - min(heights), 0.48, rtol=1e-14)


def test_limbs_have_the_published_lengths() -> None:
    place = dict(zip(M.body_names, setsu.body_poses(M, M.neutral())[:, :3, 3], strict=True))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        hip, knee, ankle = (place[f"{side}_{body}"] for body in ("thigh", "shank", "foot"))
        assert np.allclose(hip, (0, sign * 0.039, 0), atol=1e-15)
        assert np.allclose(hip - knee, (0, 0, 0.1), atol=1e-15)
        assert np.allclose(knee - ankle, (0, 0, 0.1), atol=1e-15)
        assert np.allclose(place[f"{side}_deltoid"] - place[f"{side}_forearm"], (0, 0, 0.111), atol=1e-15)
        sole = np.array([p.position for p in M.contact_points if p.body == f"{side}_foot"][:4])
        assert np.allclose(sole[:, 2], -0.04, atol=1e-15)
        assert np.allclose(np.ptp(sole[:, :2], axis=0), (0.108, 0.073), atol=1e-15)


def test_every_link_has_the_corners_of_its_box_as_contact_points() -> None:
    for body in M.bodies:
        corners = {p.position for p in M.contact_points if p.body == body.name}
        assert len(corners) == 8 * len(body.collisions)


def test_armature_is_on_every_driven_joint() -> None:
    assert np.array_equal(M.armature, [0.0] * 6 + [0.004] * 20)


def test_a_mirrored_posture_has_mirrored_torques() -> None:
    """Reflection in the plane y = 0 turns rotations about x and z round and leaves those about y."""
    rng = np.random.default_rng(7)
    left, right = rng.uniform(-0.5, 0.5, (2, 10))
    turns = np.array([-1.0 if body.joint.axis[1] == 0.0 else 1.0 for body in M.moving[1:11]])
    base = M.neutral()[:7]
    one = setsu.gravity_torque(M, np.concatenate([base, left, right]))
    other = setsu.gravity_torque(M, np.concatenate([base, turns * right, turns * left]))
    assert np.allclose(one[6:16], turns * other[16:], atol=1e-14)
    assert np.allclose(one[16:], turns * other[6:16], atol=1e-14)
    assert np.allclose(one[:6], other[:6] * [1, -1, 1, -1, 1, -1], atol=1e-14)
