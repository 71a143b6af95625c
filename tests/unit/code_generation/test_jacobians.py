"""Generated Jacobians of plain trees are those of the library and of Pinocchio, frames behind fixed joints included."""

import numpy as np
import pinocchio as pin
import pytest
from reference_solutions.pinocchio_twin import PinocchioTwin

import setsu
from setsu.sample_mechanisms import random_tree

ROBOTS = {
    "ur_description/urdf/ur5_robot.urdf": (False, "tool0"),
    "solo_description/robots/solo12.urdf": (True, "FL_FOOT"),
}


def function(m: setsu.Mechanism, name: str, body: str):
    code = setsu.generate(m, name, "python", body=body)
    module: dict = {}
    exec(code.source, module)
    return module[code.name]


@pytest.mark.parametrize("name", ["point_jacobian", "frame_jacobian"])
@pytest.mark.parametrize("seed", range(4))
def test_as_in_the_library(seed: int, name: str) -> None:
    """All joint types and branches; a point away from the body's origin."""
    m = random_tree(seed, n_bodies=6, floating_base=seed % 2 == 0)
    rng = np.random.default_rng(seed)
    for body in m.body_names:
        call = function(m, name, body)
        q, point = m.random_configuration(rng), rng.standard_normal(3)
        expected = setsu.point_jacobian(m, q, body, point)
        np.testing.assert_allclose(np.reshape(call(q, point), (-1, m.nv))[:3], expected, atol=1e-13)


def test_bodies_that_do_not_move_are_refused() -> None:
    m = setsu.sample_mechanisms.planar_arm(2)
    with pytest.raises(setsu.InputError, match=r"world of .* does not move"):
        setsu.generate(m, "point_jacobian", body="world")


@pytest.mark.parametrize("file", ROBOTS)
def test_as_in_pinocchio(file: str) -> None:
    """The velocity of a point is R times the frame's Jacobian: rows of LOCAL_WORLD_ALIGNED at a frame set there."""
    floating, body = ROBOTS[file]
    twin = PinocchioTwin(file, floating)
    m, model = twin.mechanism, twin.model
    point = np.array([0.1, -0.2, 0.3])
    frame = model.frames[model.getFrameId(body)]
    here = pin.Frame("point", frame.parentJoint, frame.placement * pin.SE3(np.eye(3), point), pin.FrameType.OP_FRAME)
    number = model.addFrame(here)
    data = model.createData()
    call = function(m, "frame_jacobian", body)
    for seed in range(3):
        q = m.random_configuration(seed)
        J = pin.computeFrameJacobian(model, data, twin.configuration(q), number, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        np.testing.assert_allclose(np.reshape(call(q, point), (6, m.nv)), twin.vector(J), atol=1e-12)
