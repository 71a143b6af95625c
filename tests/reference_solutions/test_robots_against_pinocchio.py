"""Every URDF of example-robot-data computes in Setsu what it computes in Pinocchio, on a fixed and on a floating base.

Agreement is 1e-9 of the largest entry of each result.
"""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin
import pytest
from reference_solutions.pinocchio_twin import ROBOTS, PinocchioTwin, relative_error

import setsu

pytestmark = pytest.mark.thin(3)

AGREEMENT = 1e-9

# file -> why it is left out
EXCLUDED = {
    "ur_description/urdf/ur3.urdf": "a <robot> without name and links, left by a macro; Pinocchio refuses it as well",
}
# file -> armature, since its mass matrix is singular and neither program has an answer to forward dynamics without
NEEDS_ARMATURE = {
    "romeo_description/urdf/romeo.urdf": 0.01,  # the hands' 24 fingers have no mass
    "romeo_description/urdf/romeo_laas_small.urdf": 0.01,  # the two grippers have no mass
}
FILES = sorted(str(path.relative_to(ROBOTS)) for path in ROBOTS.rglob("*.urdf"))
USED = [file for file in FILES if file not in EXCLUDED]


def errors_of(twin: PinocchioTwin, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray) -> dict[str, float]:
    """Relative error of each quantity at one state."""
    m, model, data = twin.mechanism, twin.model, twin.data
    qp, vp, ap, taup = twin.configuration(q), twin.velocity(v), twin.velocity(a), twin.velocity(tau)
    friction = twin.friction(v)

    errors: dict[str, float] = {}
    torques = twin.vector(pin.rnea(model, data, qp, vp, ap)) + friction
    for formulation in ("link", "world"):
        ours = setsu.inverse_dynamics(m, q, v, a, formulation=formulation)
        errors[f"inverse dynamics, {formulation}"] = relative_error(ours, torques)
    errors["joint wrenches"] = relative_error(
        setsu.joint_wrenches(m, q, v, a), np.array([data.f[number].vector for number in twin.joints])
    )
    M = np.triu(pin.crba(model, data, qp))
    errors["mass matrix"] = relative_error(setsu.mass_matrix(m, q), twin.matrix(M + np.triu(M, 1).T))
    accelerations = twin.vector(pin.aba(model, data, qp, vp, taup))
    for method in ("articulated_body", "composite_body", "unit_vector"):
        ours = setsu.forward_dynamics(m, q, v, tau + friction, method=method)
        errors[f"forward dynamics, {method}"] = relative_error(ours, accelerations)
    pin.forwardKinematics(model, data, qp)
    errors["poses"] = relative_error(
        setsu.body_poses(m, q), np.array([data.oMi[number].homogeneous for number in twin.joints])
    )
    Y = pin.computeJointTorqueRegressor(model, data, qp, vp, ap)
    parameters = [10 * (number - 1) + k for number in twin.joints for k in range(10)]
    errors["regressor"] = relative_error(setsu.regressor(m, q, v, a), Y[np.ix_(twin.columns, parameters)])
    return errors


@pytest.mark.thin(3)
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("file", USED)
def test_robot_agrees_with_pinocchio(file: str, floating: bool) -> None:
    twin = PinocchioTwin(file, floating, NEEDS_ARMATURE.get(file, 0.0))
    assert twin.mechanism.nv == twin.model.nv
    for state in zip(*twin.states(2), strict=True):
        errors = errors_of(twin, *state)
        # not (error <= limit) also catches NaN
        bad = {what: error for what, error in errors.items() if not error <= AGREEMENT}
        assert not bad, bad


@pytest.mark.parametrize("file", NEEDS_ARMATURE)
def test_joints_without_mass_are_refused_where_pinocchio_gives_nan(file: str) -> None:
    twin = PinocchioTwin(file, False)
    q, v, _, tau = (x[0] for x in twin.states(1))
    theirs = pin.aba(twin.model, twin.data, twin.configuration(q), twin.velocity(v), twin.velocity(tau))
    assert not np.isfinite(theirs).all()
    with pytest.raises(setsu.InputError, match="moves no mass"):
        setsu.forward_dynamics(twin.mechanism, q, v, tau)


@pytest.mark.parametrize("file", USED)
def test_total_mass_is_the_sum_over_the_file(file: str) -> None:
    masses = ElementTree.parse(ROBOTS / file).getroot().findall("link/inertial/mass")
    total = sum(float(mass.get("value", "0")) for mass in masses)
    for floating in (False, True):
        assert PinocchioTwin(file, floating).mechanism.total_mass == pytest.approx(total, rel=1e-12)


def test_exclusions_are_few_and_real() -> None:
    """68 files are usable and at least 66 of them take part; what is left out cannot be loaded by either program."""
    assert len(USED) >= 66
    for file in EXCLUDED:
        with pytest.raises(setsu.ModelFileError):
            setsu.load(ROBOTS / file)
        with pytest.raises(ValueError, match="urdf"):
            pin.buildModelFromUrdf(str(ROBOTS / file))
