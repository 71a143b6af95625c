"""Identification finds what the data were made with, within the standard deviations it claims, or says why not."""

import numpy as np
import pytest

import setsu
from setsu.benchmarks.identification import drawn_mechanism, measured, recovery_study
from setsu.sample_mechanisms import four_bar, planar_arm, puma560, random_tree


def true_base(fit: setsu.Fit, truth: setsu.Mechanism) -> np.ndarray:
    values = {"drive": truth.armature, "viscous": truth.damping, "coulomb": truth.coulomb, "offset": 0 * truth.damping}
    return fit.model.matrix @ np.concatenate(
        [setsu.inertial_parameters(truth), *(values[term] for term in fit.model.terms)]
    )


@pytest.fixture(scope="module")
def arm() -> tuple[setsu.Mechanism, setsu.Mechanism, setsu.ExcitationTrajectory]:
    """A nominal PUMA, another one that is measured, and an exciting motion."""
    nominal = puma560()
    truth = drawn_mechanism(nominal, np.random.default_rng(5))
    return nominal, truth, setsu.excitation_trajectory(nominal, duration=8.0, trials=100)


def test_parameters_of_clean_data_are_the_true_ones(arm) -> None:
    """Without noise only the splines' errors are left: 1e-6 of the accelerations and less."""
    nominal, truth, motion = arm
    tau = setsu.inverse_dynamics(truth, motion.q, motion.v, motion.a)
    fit = setsu.identify(nominal, motion.time, motion.q, tau)
    true = true_base(fit, truth)
    np.testing.assert_allclose(fit.parameters, true, atol=1e-5 * np.abs(true).max())
    assert (fit.r2 > 1 - 1e-9).all()
    assert fit.physically_consistent
    np.testing.assert_allclose(fit.physically_consistent.base_parameters, true, atol=1e-4 * np.abs(true).max())


def test_the_identified_mechanism_moves_like_the_true_one(arm) -> None:
    """Full parameters differ from the true ones where torques cannot tell, but no torque does."""
    nominal, truth, motion = arm
    tau = setsu.inverse_dynamics(truth, motion.q, motion.v, motion.a)
    found = setsu.identify(nominal, motion.time, motion.q, tau).physically_consistent
    rebuilt = found.to_mechanism()
    np.testing.assert_allclose(setsu.inertial_parameters(rebuilt), np.asarray(found), atol=1e-12)
    rng = np.random.default_rng(1)
    q, v, a = rng.uniform(-1, 1, (3, 50, 6))
    expected = setsu.inverse_dynamics(truth, q, v, a)
    assert np.abs(setsu.inverse_dynamics(rebuilt, q, v, a) - expected).max() < 1e-3 * np.abs(expected).max()
    assert not np.allclose(np.asarray(found), setsu.inertial_parameters(truth), rtol=1e-3)


def test_noise_is_measured_and_unseen_data_are_predicted_as_well_as_it_allows(arm) -> None:
    nominal, truth, motion = arm
    rng = np.random.default_rng(2)
    q, tau = measured(truth, motion, rng)
    fit = setsu.identify(nominal, motion.time, q, tau)
    noise = 0.01 * np.abs(setsu.inverse_dynamics(truth, motion.q, motion.v, motion.a)).max(axis=0)
    np.testing.assert_allclose(fit.noise, noise, rtol=0.1)
    assert (np.abs(fit.parameters - true_base(fit, truth)) < 4.0 * fit.std).all()
    assert fit.essential.sum() < len(fit.names)
    other = setsu.excitation_trajectory(nominal, duration=6.0, seed=9, trials=20)
    q, tau = measured(truth, other, rng)
    for parameters in ("least_squares", "essential", "consistent"):
        assert (fit.validate(other.time, q, tau, parameters=parameters).r2 > 0.99).all()
    assert (fit.validate(other.time, q, tau).r2 > fit.validate(other.time, q, tau, parameters="prior").r2).all()
    assert (fit.r2_unseen < fit.r2).all()
    assert (fit.r2_unseen > 0.99).all()


@pytest.mark.slow
def test_an_arm_under_feedback_control_is_identified_from_what_it_did() -> None:
    """The drives' torques and the motion they made, friction and control errors included, not a planned motion."""
    nominal = planar_arm(2)
    rng = np.random.default_rng(3)
    truth = drawn_mechanism(nominal, rng)
    plan = setsu.excitation_trajectory(nominal, duration=5.0, trials=60)
    stiffness, damping = np.array([400.0, 200.0]), np.array([40.0, 15.0])

    def drive(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return stiffness * (plan.position(t) - q) + damping * (plan.velocity(t) - v)

    run = setsu.simulate(truth, plan.q[0], plan.v[0], 5.0, step=2e-3, torque=drive, record_every=2)
    q = run.q + 1e-5 * rng.standard_normal(run.q.shape)
    tau = run.torque + 0.005 * np.abs(run.torque).max(axis=0) * rng.standard_normal(run.torque.shape)
    fit = setsu.identify(nominal, run.time, q, tau)
    deviation = (fit.parameters - true_base(fit, truth)) / fit.std
    assert np.abs(deviation).max() < 4.0
    assert (fit.r2 > 0.99).all()
    assert fit.physically_consistent


@pytest.mark.nightly
@pytest.mark.slow
def test_three_standard_deviations_hold_for_95_percent_of_the_estimates() -> None:
    """A short form of the study in setsu.benchmarks.identification; the long one is marked nightly."""
    study = recovery_study("planar arm", 15)
    assert study.within >= 0.95
    assert study.consistent == 15
    # Neither too bold nor too timid: the root mean square of 165 standard normal numbers is 1 ± 0.055.
    assert 0.7 < np.sqrt(np.mean(study.deviations**2)) < 1.3


@pytest.mark.nightly
@pytest.mark.parametrize("subject", ["planar arm", "PUMA 560", "seven-joint arm"])
def test_every_parameter_is_within_three_standard_deviations_in_95_percent_of_the_runs(subject: str) -> None:
    study = recovery_study(subject, 100)
    assert study.worst_parameter >= 0.95
    assert study.consistent == 100


@pytest.mark.nightly
def test_correlated_noise_widens_the_standard_deviations() -> None:
    """Residuals that remember ten samples carry a tenth of the news: estimates scatter, and σ says so."""
    m = planar_arm(2)
    motion = setsu.excitation_trajectory(m, duration=8.0, trials=60)
    tau = setsu.inverse_dynamics(m, motion.q, motion.v, motion.a)
    deviations = []
    for seed in range(12):
        white = 0.1 * np.random.default_rng(seed).standard_normal((len(tau) + 200, 2))
        noise = np.zeros_like(white)
        for k in range(1, len(noise)):
            noise[k] = 0.9 * noise[k - 1] + white[k]
        fit = setsu.identify(m, motion.time, motion.q, tau + noise[200:])
        # (1 + ρ)/(1 - ρ) = 19 samples per independent one, if the sum were not cut off.
        assert (fit.correlation > 8).all()
        deviations.append((fit.parameters - fit.prior) / fit.std)
    assert np.sqrt(np.mean(np.square(deviations))) < 1.4


def test_neither_the_origin_of_time_nor_the_order_of_runs_matters(arm) -> None:
    """Stamps counted from 1970 keep 0.2 µs, which moves coordinates by less than their noise."""
    nominal, truth, motion = arm
    q, tau = measured(truth, motion, np.random.default_rng(8))
    first, again, late = (setsu.identify(nominal, motion.time + t, q, tau) for t in (0.0, 0.0, 1.7e9))
    np.testing.assert_array_equal(first.parameters, again.parameters)
    assert np.abs((late.parameters - first.parameters) / first.std).max() < 0.1


def test_measured_velocities_and_offsets_are_used() -> None:
    m = planar_arm(2)
    motion = setsu.excitation_trajectory(m, duration=5.0, trials=60)
    rng = np.random.default_rng(3)
    tau = setsu.inverse_dynamics(m, motion.q, motion.v, motion.a) + np.array([0.3, -0.2])
    v = motion.v + 1e-3 * rng.standard_normal(motion.v.shape)
    fit = setsu.identify(m, motion.time, motion.q, tau, v, friction="coulomb+viscous+offset")
    offsets = [fit.parameters[fit.names.index(f"t0_{joint}")] for joint in m.joint_names]
    np.testing.assert_allclose(offsets, [0.3, -0.2], atol=1e-2)
    assert set(fit.physically_consistent.terms) == {"drive", "viscous", "coulomb", "offset"}


def test_a_free_body_is_weighed_from_its_motion() -> None:
    """A floating base needs measured velocities; forces in its frame tell all ten parameters."""
    m = setsu.sample_mechanisms.floating_box()
    rng = np.random.default_rng(4)
    force = rng.standard_normal((4, 6))

    def drive(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        waves = np.array([np.sin(3 * t), np.cos(4 * t), np.sin(7 * t + 1), np.cos(11 * t)])
        return 2.0 * waves @ force + [0, 0, 0, 0.02, 0, 0]

    run = setsu.simulate(m, m.neutral(), np.zeros(6), 3.0, step=2e-3, torque=drive)
    fit = setsu.identify(m, run.time, run.q, run.torque, run.v, friction="none", drive_inertia=False)
    np.testing.assert_allclose(fit.parameters, fit.prior, atol=1e-4 * np.abs(fit.prior).max())
    assert len(fit.names) == 10
    with pytest.raises(setsu.InputError, match="has quaternion coordinates"):
        setsu.identify(m, run.time, run.q, run.torque)


def test_a_four_bar_is_identified_from_the_torque_of_its_crank() -> None:
    m = four_bar()
    run = setsu.simulate(
        m, setsu.close_loops(m, [0.3, 0.2, 0.1]), np.zeros(3), 5.0, step=4e-3,
        torque=lambda t, q, v: [3 * np.sin(2 * t) + 2 * np.sin(5 * t) + 4 - v[0], 0, 0],
    )  # fmt: skip
    fit = setsu.identify(m, run.time, run.q, run.torque, friction="none", drive_inertia=False)
    np.testing.assert_allclose(fit.parameters, fit.prior, atol=1e-3 * np.abs(fit.prior).max())
    assert fit.model.rows == ("crank",)
    assert fit.physically_consistent


def test_springs_and_terms_not_asked_for_are_taken_from_the_model() -> None:
    b = setsu.MechanismBuilder("spring")
    b.add_body("bob", joint=setsu.Revolute((0, 1, 0), name="j", stiffness=5.0, damping=0.3), mass=1.0,
               center_of_mass=(0.1, 0, -0.5), inertia=np.diag([0.01, 0.02, 0.03]))  # fmt: skip
    m = b.build()
    motion = setsu.excitation_trajectory(m, duration=5.0, trials=20)
    tau = setsu.inverse_dynamics(m, motion.q, motion.v, motion.a)
    fit = setsu.identify(m, motion.time, motion.q, tau, friction="none", drive_inertia=False)
    np.testing.assert_allclose(fit.parameters, fit.prior, atol=1e-6)
    np.testing.assert_allclose(fit.predict(motion.q, motion.v, motion.a), tau, atol=1e-5)


def noise(count: int) -> np.ndarray:
    return np.random.default_rng(6).standard_normal(count)


def motion_of(m: setsu.Mechanism) -> list[np.ndarray]:
    motion = setsu.excitation_trajectory(m, duration=4.0, trials=5)
    return [motion.time, motion.q, setsu.inverse_dynamics(m, motion.q, motion.v, motion.a)]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda t, q, tau: t.__setitem__(30, t[29]), "sample 30: t = .* is the same time stamp as sample 29"),
        (lambda t, q, tau: t.__setitem__(30, t[28]), "sample 30: .* earlier time stamp than sample 29"),
        (lambda t, q, tau: t.__setitem__(slice(50, None), t[50:] + 1.0), "sample 50: gap of 1.005 s"),
        (lambda t, q, tau: q.__setitem__((7, 1), np.nan), "sample 7: q2 is nan"),
        (lambda t, q, tau: tau.__setitem__((9, 0), np.inf), "sample 9: tau1 is inf"),
        (lambda t, q, tau: tau.__setitem__((slice(None), 1), 0.0), 'torque of joint "joint2" is 0 throughout'),
        (lambda t, q, tau: q.__setitem__((slice(None), 1), 0.3), 'joint ".*" does not move .* of 0.3'),
        (lambda t, q, tau: q.__setitem__((slice(None), 0), 0.3 + 1e-5 * noise(len(t))), 'joint "joint1" does not move'),
    ],
)
def test_spoiled_arrays_are_refused_with_their_place(spoil, message: str) -> None:
    arrays = motion_of(planar_arm(2))
    spoil(*arrays)
    with pytest.raises(setsu.InputError, match=message):
        setsu.identify(planar_arm(2), *arrays)


def test_a_motion_that_excites_too_little_is_refused_with_parameters_and_joints() -> None:
    """Two joints in step: only sums can be told; a joint that turns one way: friction and offset are the same."""
    m = planar_arm(2)
    time = np.linspace(0.0, 6.0, 601)
    angle = time + 0.2 * np.sin(3.0 * time)
    q = np.stack([angle, 0.5 * np.sin(2.0 * time)], axis=1)
    v = np.stack([1 + 0.6 * np.cos(3 * time), np.cos(2.0 * time)], axis=1)
    a = np.stack([-1.8 * np.sin(3 * time), -2 * np.sin(2.0 * time)], axis=1)
    tau = setsu.inverse_dynamics(m, q, v, a)
    with pytest.raises(setsu.InputError, match=r"fc_.*t0_|t0_.*fc_") as caught:
        setsu.identify(m, time, q, tau, friction="coulomb+offset")
    assert f"joint: {m.joint_names[0]}" in str(caught.value)
    assert "excitation_trajectory" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": np.zeros((10, 3))}, r"q: expected shape \(801, 2\)"),
        ({"tau": np.zeros(801)}, r"tau: expected shape \(801, 2\)"),
        ({"time": np.zeros((801, 1))}, r"time: expected shape \(T,\)"),
        ({"time": ["a"] * 801}, "time: expected real numbers"),
        ({"friction": "stiction"}, "unknown term 'stiction'"),
        ({"prior_weight": 0.0}, "prior_weight: expected a positive number"),
        ({"mechanism": "arm"}, "expected a Mechanism"),
    ],
)
def test_bad_arguments_are_refused(change: dict, message: str) -> None:
    m = planar_arm(2)
    arguments = dict(zip(("time", "q", "tau"), motion_of(m), strict=True))
    with pytest.raises(setsu.InputError, match=message):
        setsu.identify(**{"mechanism": m, **arguments, **change})


def test_bodies_behind_fixed_joints_are_part_of_their_carrier(arm) -> None:
    b = setsu.MechanismBuilder("tool")
    b.add_body("link", joint=setsu.Revolute((0, 1, 0)), mass=1.0, center_of_mass=(0.3, 0, 0), inertia=np.eye(3) * 0.02)
    b.add_body("tool", parent="link", joint=setsu.Fixed(), placement=setsu.placement(translation=(0.6, 0, 0)), mass=0.5)
    m = b.build()
    same = setsu.with_parameters(m, setsu.inertial_parameters(m))
    assert same.total_mass == pytest.approx(m.total_mass)
    rng = np.random.default_rng(0)
    q, v, a = rng.standard_normal((3, 20, 1))
    np.testing.assert_allclose(setsu.inverse_dynamics(same, q, v, a), setsu.inverse_dynamics(m, q, v, a), atol=1e-13)
    with pytest.raises(setsu.InputError, match="10 finite numbers"):
        setsu.with_parameters(m, np.zeros(9))
    with pytest.raises(setsu.InputError, match="armature, damping, coulomb"):
        setsu.with_parameters(random_tree(0, n_bodies=2), np.zeros(20), {"stiffness": [0.0, 0.0]})
