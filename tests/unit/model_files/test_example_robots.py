"""Every URDF of example-robot-data loads, and agrees with Pinocchio on poses, mass and kinetic energy."""

import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from unit.mechanism.kinematics_by_hand import kinetic_energy, poses_and_velocities

from setsu.benchmarks.model_files import compare_urdf
from setsu.errors import ModelFileError
from setsu.mechanism import Free
from setsu.model_files import load

ROBOTS = next(
    folder / "share" / "example-robot-data" / "robots"
    for folder in Path(pin.__file__).parents
    if (folder / "share" / "example-robot-data").is_dir()
)
# ur3.urdf is a <robot> without name and links, left by a macro file that was never filled in; Pinocchio refuses it too.
UNUSABLE = {"ur_description/urdf/ur3.urdf"}
FILES = sorted(str(path.relative_to(ROBOTS)) for path in ROBOTS.rglob("*.urdf"))
USABLE = [file for file in FILES if file not in UNUSABLE]


def test_the_collection_is_whole():
    assert len(USABLE) == 68
    with pytest.raises(ModelFileError, match="got no <link>"):
        load(ROBOTS / "ur_description/urdf/ur3.urdf")


def pinocchio_state(mechanism, model, q, v):
    """The same state in Pinocchio's order of joints; continuous joints are cos, sin there."""
    q_pin, v_pin = pin.neutral(model), np.zeros(model.nv)
    for index, name in enumerate(mechanism.joint_names):
        joint = model.joints[model.getJointId(name)]
        q_own, v_own = q[mechanism.q_slices[index]], v[mechanism.v_slices[index]]
        if joint.nq == 2:
            q_own = [np.cos(q_own[0]), np.sin(q_own[0])]
        q_pin[joint.idx_q : joint.idx_q + joint.nq] = q_own
        v_pin[joint.idx_v : joint.idx_v + joint.nv] = v_own
    return q_pin, v_pin


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("file", USABLE)
def test_agrees_with_pinocchio(file, floating):
    path = ROBOTS / file
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mechanism = load(path, floating_base=floating)
    masses = ElementTree.parse(path).getroot().findall("link/inertial/mass")
    assert mechanism.total_mass == pytest.approx(sum(float(mass.get("value", "0")) for mass in masses), rel=1e-12)

    free = [pin.JointModelFreeFlyer()] if floating else []
    model = pin.buildModelFromUrdf(str(path), *free)
    assert mechanism.nv == model.nv
    assert floating == any(isinstance(body.joint, Free) for body in mechanism.moving)
    generator = np.random.default_rng(7)
    q = mechanism.random_configuration(generator)
    v = generator.standard_normal(mechanism.nv)
    q_pin, v_pin = pinocchio_state(mechanism, model, q, v)
    data = model.createData()
    pin.forwardKinematics(model, data, q_pin, v_pin)
    pin.updateFramePlacements(model, data)

    poses, _ = poses_and_velocities(mechanism, q, v)
    for frame, placed in zip(model.frames, data.oMf, strict=True):
        if frame.type == pin.FrameType.BODY:
            # A root link called "world" that floats is no longer the world.
            name = "world_link" if floating and frame.name == "world" else frame.name
            np.testing.assert_allclose(poses[name], placed.homogeneous, atol=1e-9, err_msg=name)
    energy = pin.computeKineticEnergy(model, data, q_pin, v_pin)
    assert kinetic_energy(mechanism, q, v) == pytest.approx(energy, rel=1e-9, abs=1e-12)


@pytest.mark.nightly
@pytest.mark.parametrize("file", USABLE)
def test_nothing_differs_from_pinocchio_without_a_word(file):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = compare_urdf(ROBOTS / file)
    assert result.worst
    assert not result.is_silent, result.worst
