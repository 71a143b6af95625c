"""Everything in an MJCF file that exerts force acts as in MuJoCo, obeys the energy law, or is named."""

import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

import setsu
from setsu.benchmarks.model_files import TOLERANCE, compare_mjcf
from setsu.checks import certify
from setsu.dynamics.springs import element_power
from setsu.errors import ModelWarning

ARM = """
<worldbody>
  <body name="a" pos="0 0 1" gravcomp="0.6">
    <joint name="x" axis="0 1 0.2" stiffness="3" springref="20" damping="0.3" armature="0.02" frictionloss="0.1"/>
    <inertial pos="0.2 0.1 -0.1" mass="1.3" fullinertia="0.02 0.03 0.025 0.001 0.002 -0.001"/>
    <site name="s1" pos="0.1 0.05 0"/>
    <body name="b" pos="0.4 0 0" gravcomp="1">
      <joint name="ball" type="ball" stiffness="2.5" damping="0.1"/>
      <inertial pos="0.1 0 0.05" mass="0.7" diaginertia="0.004 0.006 0.005"/>
      <site name="s2" pos="0.2 0 0.1"/>
      <body name="c" pos="0.3 0 0.1">
        <joint name="z" type="slide" axis="1 0 0.3" stiffness="40"/>
        <inertial pos="0.05 0 0" mass="0.4" diaginertia="0.001 0.002 0.0015"/>
        <site name="s3" pos="0 0.1 0" quat="0.9 0.1 0.3 0.2"/>
      </body>
    </body>
  </body>
  <body name="f" pos="0.5 1 1"><joint name="free" type="free" stiffness="4" damping="0.2"/>
    <inertial pos="0.02 0 0" mass="0.9" diaginertia="0.003 0.004 0.002"/><site name="s4" pos="0.1 0 0"/>
    <body name="g" pos="0.1 0.1 0"><joint name="w" axis="0 0 1"/>
      <inertial pos="0 0.1 0" mass="0.3" diaginertia="0.001 0.001 0.001"/></body></body>
</worldbody>
<tendon>
  <fixed name="t1" stiffness="7" damping="0.4" springlength="-0.05 0.05">
    <joint joint="x" coef="1.5"/><joint joint="z" coef="-2"/></fixed>
  <spatial name="t2" stiffness="30" damping="1.5" springlength="0.2">
    <site site="s1"/><site site="s2"/><site site="s4"/></spatial>
  <spatial name="t3" stiffness="9"><site site="s3"/><site site="s1"/><pulley divisor="2"/>
    <site site="s1"/><site site="s4"/></spatial>
</tendon>
<actuator>
  <motor name="m1" joint="x" gear="3" ctrlrange="-0.5 0.5" ctrllimited="true"/>
  <position name="m2" joint="z" kp="20" kv="2" forcerange="-3 3"/>
  <velocity name="m3" joint="w" kv="4"/>
  <general name="m4" tendon="t1" gainprm="2 0.3 0.1" gaintype="affine" gear="2"
    biastype="affine" biasprm="0.1 -5 -0.2"/>
  <general name="m5" joint="ball" gear="1 2 3 0 0 0" biastype="affine" biasprm="0.2 -1 -0.3"/>
  <general name="m6" jointinparent="ball" gear="1 -2 0.5 0 0 0"/>
  <motor name="m7" joint="free" gear="1 2 3 4 5 6"/>
  <motor name="m8" site="s3" gear="1 2 3 0.1 0.2 0.3"/>
  <motor name="m9" tendon="t2" gear="-1"/>
</actuator>
"""
STILL = '<option><flag spring="disable" damper="disable"/></option>'  # ends compensation and drag, too
FLUID = '<option density="1.2" viscosity="0.05" wind="1 -0.5 0.3"/>'


def written(tmp_path: Path, inner: str) -> Path:
    path = tmp_path / "model.xml"
    path.write_text(f'<mujoco model="m">{inner}</mujoco>', encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "inner",
    [ARM, FLUID + ARM, '<option gravity="1 2 -3"/>' + ARM, FLUID + STILL + ARM],
    ids=["air", "fluid", "tilted", "no passive forces"],
)
def test_every_force_is_that_of_mujoco(tmp_path: Path, inner: str) -> None:
    """qfrc_bias, qfrc_passive, qfrc_actuator and qacc_smooth to 1e-10, and nothing is missing."""
    result = compare_mjcf(written(tmp_path, inner))
    assert result.mechanism.missing == ()
    assert max(result.worst.values()) < TOLERANCE, result.worst


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> setsu.Mechanism:
    path = written(tmp_path_factory.mktemp("arm"), FLUID + ARM)
    return setsu.with_drives(setsu.load(path), coulomb=0.0)


def state(m: setsu.Mechanism, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return m.random_configuration(seed), rng.normal(size=m.nv), rng.normal(size=m.nv)


def test_energy_changes_by_the_power_of_drives_dampers_and_drag(arm: setsu.Mechanism) -> None:
    """d/dt (T + V) = v · tau - damping v² + power of the elements."""
    q, v, a = state(arm)

    def energy(t: float) -> float:
        moved, rate = setsu.integrate(arm, q, v, t), v + t * a
        return float(setsu.kinetic_energy(arm, moved, rate) + setsu.potential_energy(arm, moved))

    h = 1e-4
    rate = (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)
    power = setsu.inverse_dynamics(arm, q, v, a) @ v - arm.damping @ v**2 + element_power(arm, q, v)
    assert rate == pytest.approx(power, rel=1e-8)


def test_methods_batches_and_compiled_code_agree(arm: setsu.Mechanism) -> None:
    q, v, a = (np.stack(rows) for rows in zip(*(state(arm, seed) for seed in range(9)), strict=True))
    tau = setsu.inverse_dynamics(arm, q, v, a)
    np.testing.assert_array_equal(tau[4], setsu.inverse_dynamics(arm, q[4], v[4], a[4]))
    scale = np.abs(tau).max()
    np.testing.assert_allclose(setsu.inverse_dynamics(arm, q, v, a, formulation="world"), tau, atol=1e-13 * scale)
    fast = setsu.compile(arm, ["inverse_dynamics", "forward_dynamics"])
    np.testing.assert_allclose(fast.inverse_dynamics(q, v, a), tau, atol=1e-13 * scale)
    condition = np.linalg.cond(setsu.mass_matrix(arm, q)).max()
    for method in ("articulated_body", "composite_body", "unit_vector"):
        found = setsu.forward_dynamics(arm, q, v, tau, method=method)
        np.testing.assert_allclose(found, a, atol=1e-14 * condition * np.abs(a).max())


def test_derivatives_are_those_of_differences(arm: setsu.Mechanism) -> None:
    q, v, a = state(arm)
    exact = setsu.inverse_dynamics_derivatives(arm, q, v, a)
    h, unit = 1e-5, np.eye(arm.nv)
    for k in range(arm.nv):
        by_q = [setsu.inverse_dynamics(arm, setsu.integrate(arm, q, unit[k], s * h), v, a) for s in (1, -1)]
        by_v = [setsu.inverse_dynamics(arm, q, v + s * h * unit[k], a) for s in (1, -1)]
        np.testing.assert_allclose(exact.dq[:, k], (by_q[0] - by_q[1]) / (2 * h), atol=1e-6)
        np.testing.assert_allclose(exact.dv[:, k], (by_v[0] - by_v[1]) / (2 * h), atol=1e-6)


def test_elements_survive_the_native_file_to_the_last_bit(arm: setsu.Mechanism, tmp_path: Path) -> None:
    arm.save(tmp_path / "arm.toml")
    again = setsu.load(tmp_path / "arm.toml")
    assert again == arm
    assert again.digest == arm.digest


def test_elements_survive_mjcf(arm: setsu.Mechanism, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        arm.save(tmp_path / "arm.xml")
        again = setsu.load(tmp_path / "arm.xml")
    q, v, a = state(arm)
    tau = setsu.inverse_dynamics(arm, q, v, a)
    np.testing.assert_allclose(setsu.inverse_dynamics(again, q, v, a), tau, atol=1e-12 * np.abs(tau).max())
    u = np.linspace(-1.0, 1.0, len(arm.actuators))
    np.testing.assert_allclose(
        setsu.actuator_torque(again, q, v, u), setsu.actuator_torque(arm, q, v, u), atol=1e-12 * np.abs(tau).max()
    )


def test_a_run_keeps_the_ledger_of_the_elements(arm: setsu.Mechanism) -> None:
    """Energy = its start + works: dampers of tendons and the drag are part of the ledger."""
    q, v, _ = state(arm)
    rec = setsu.simulate(arm, q, 0.3 * v, duration=0.05, step=1e-3)
    works = rec.ledger.actuators + rec.ledger.joint_friction + rec.ledger.spring_dampers
    change = rec.energy - rec.energy[0]
    np.testing.assert_allclose(change, works, atol=1e-6 * np.abs(rec.energy).max())


WRAPPED = '<spatial name="wrapped" stiffness="2"><site site="s1"/><geom geom="ring"/><site site="s2"/></spatial>'
OVER_X = '<joint joint="x" coef="1"/></fixed></tendon>'
WARNED = [
    (f"<tendon>{WRAPPED}</tendon>", 'tendon "wrapped": it wraps around a geom'),
    (f'<tendon><fixed name="short" limited="true" range="0 1">{OVER_X}', 'tendon "short": its limits 0 to 1'),
    (f'<tendon><fixed name="dry" frictionloss="1">{OVER_X}', 'tendon "dry": its friction'),
    ('<actuator><intvelocity name="servo" joint="x" actrange="-1 1"/></actuator>', '"servo": dyntype="integrator"'),
    ('<actuator><muscle name="biceps" joint="x" lengthrange="0.1 1"/></actuator>', 'actuator "biceps"'),
    ('<actuator><motor name="tug" site="s1" refsite="s2"/></actuator>', "transmission by a site with refsite"),
    ('<contact><pair geom1="ring" geom2="other" friction="0.2"/></contact>', "shapes rub by their own materials"),
    ('<contact><pair geom1="ring" geom2="other" condim="1"/></contact>', 'own materials: "a" and "b"'),
    ('<option><flag contact="disable"/></option>', '<flag contact="disable"> is not used'),
    ('<option><flag limit="disable"/></option>', '<flag limit="disable"> is not used'),
    ('<option><flag override="enable"/></option>', '<flag override="enable"> is not used'),
]
PLAIN = """<worldbody><body name="a"><joint name="x" axis="0 1 0"/><geom name="ring" type="cylinder" size=".05 .1"/>
<site name="s1" pos=".2 0 0"/></body><body name="b"><joint name="y"/><geom name="other" size=".1"/></body>
<site name="s2" pos="0 0 .3"/></worldbody>"""
ONE = '<worldbody><body name="a"><joint name="x" {}/><geom size=".1"/></body></worldbody>'


@pytest.mark.parametrize(
    ("element", "message"),
    [
        *((f"{PLAIN}\n{element}", message) for element, message in WARNED),
        (ONE.format('actuatorfrcrange="-1 2"'), 'joint "x": actuatorfrcrange -1 to 2 is taken as ±2'),
        (ONE.format('type="free" frictionloss="1"'), "the frictionloss of a free joint acts along axes of its body"),
        (ONE.format('type="free" armature="1"'), 'joint "x": the armature of a free joint acts along axes of its body'),
    ],
)
def test_what_cannot_be_used_is_named_and_not_certified(tmp_path: Path, element: str, message: str) -> None:
    path = written(tmp_path, f"\n{element}")
    with pytest.warns(ModelWarning, match="model.xml:") as caught:
        m = setsu.load(path)
    assert any(message in str(warning.message) for warning in caught)
    assert all(warning.filename == __file__ for warning in caught)
    certificate = certify(m)
    assert not certificate.passed
    assert certificate.verdict.startswith("not certified: 1 element of the file is not in the model")


def test_polynomial_and_tendon_equalities_hold_what_mujoco_holds(tmp_path: Path) -> None:
    """Errors and rows of the couplings are MuJoCo's efc_pos and efc_J; the motion keeps them."""
    inner = """<compiler angle="radian"/><worldbody>
    <body><joint name="x" axis="0 1 0" ref="0.1"/><geom size=".05" pos=".2 0 0"/>
    <body pos=".3 0 0"><joint name="y" axis="0 1 0"/><geom size=".05" pos=".2 0 0"/>
    <body pos=".3 0 0"><joint name="z" type="slide" axis="1 0 0"/><geom size=".05"/></body></body></body></worldbody>
    <tendon><fixed name="t1"><joint joint="x" coef="1"/><joint joint="y" coef="-.5"/></fixed>
    <fixed name="t2"><joint joint="z" coef="2"/></fixed></tendon>
    <equality><joint name="p" joint1="y" joint2="x" polycoef=".1 .5 .3 -.2 .1"/>
    <tendon name="q" tendon1="t2" tendon2="t1" polycoef=".05 1 .4 0 0"/></equality>"""
    path = written(tmp_path, inner)
    m = setsu.load(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qpos[:] = [0.4, 0.7, -0.2]
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(setsu.loop_error(m, data.qpos), data.efc_pos, atol=1e-15)
    q = setsu.close_loops(m, [0.4, 0.2, 0.1], fixed=["x"])
    result = setsu.constrained_dynamics(m, q, np.zeros(3), np.zeros(3))
    assert result.residual < 1e-12
    rec = setsu.simulate(m, q, np.zeros(3), duration=0.2, step=1e-3)
    assert rec.constraint_error.max() < 1e-10
    assert np.ptp(rec.energy) < 1e-8


def test_keyframes_and_reference_are_states_of_the_mechanism(tmp_path: Path) -> None:
    inner = (
        ARM
        + '<keyframe><key name="home" qpos="0.1 1 0 0 0 0.2 1 2 3 0 0 0 2 0.5" ctrl="1 2 3 4 5 6 7 8 9"/></keyframe>'
    )
    m = setsu.load(written(tmp_path, inner))
    home = m.keyframes["home"]
    np.testing.assert_allclose(home.q, [0.1, 0, 0, 0, 1, 0.2, 1, 2, 3, 0, 0, 1, 0, 0.5])
    np.testing.assert_array_equal(home.control, np.arange(1.0, 10.0))
    np.testing.assert_allclose(m.reference_configuration()[6:9], [0.5, 1, 1])
    with pytest.raises(setsu.InputError, match="unknown keyframe 'hom'"):
        m.keyframe("hom")
