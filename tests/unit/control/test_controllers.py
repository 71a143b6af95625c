"""Controllers: closed forms of their laws, sums, targets, what a computer does to them, refusals."""

import numpy as np
import pytest

import setsu
from setsu import control
from setsu.sample_mechanisms import five_bar, pendulum, planar_arm, random_tree

ZERO1 = np.zeros(1)


def slider(mass: float = 2.0, gravity=(0, 0, 0)) -> setsu.Mechanism:
    """A mass on a rail along x: q'' = tau / mass."""
    b = setsu.MechanismBuilder("slider", gravity=gravity)
    b.add_body("cart", joint=setsu.Prismatic((1, 0, 0), "rail"), mass=mass, inertia=0.1 * np.eye(3))
    return b.build()


def test_pd_control_of_a_mass_is_a_damped_oscillator() -> None:
    """m q'' = K (1 - q) - D q': closed form with D² < 4 K m."""
    m, K, D = slider(2.0), 50.0, 4.0
    rec = setsu.simulate(m, [0.0], [0.0], 1.0, 1e-3, torque=control.JointFeedback(m, [1.0], K, D))
    s, w = D / 4.0, np.sqrt(K / 2.0 - (D / 4.0) ** 2)
    t = rec.time
    exact = 1.0 - np.exp(-s * t) * (np.cos(w * t) + s / w * np.sin(w * t))
    assert np.abs(rec.q[:, 0] - exact).max() < 1e-9


def test_pid_control_follows_the_roots_of_its_polynomial() -> None:
    """m q''' = -K_v q'' - K_u q' + K_i (1 - q) by superposition of exponentials; the integral is of order 2."""
    m, K, D, G = slider(1.0), 60.0, 11.0, 100.0
    roots = np.roots([1.0, D, K, G])
    # q(0) = q'(0) = 0, q''(0) = K.
    c = np.linalg.solve(np.array([[1, 1, 1], roots, roots**2]), np.array([-1.0, 0.0, K]))
    errors = []
    for step in (4e-3, 2e-3):
        law = control.JointFeedback(m, [1.0], K, D, G)
        rec = setsu.simulate(m, [0.0], [0.0], 1.0, step, torque=law)
        exact = 1.0 + np.real(np.exp(np.outer(rec.time, roots)) @ c)
        errors.append(np.abs(rec.q[:, 0] - exact).max())
    assert errors[1] < 1e-4
    assert np.log2(errors[0] / errors[1]) > 1.7


def test_integral_starts_anew_with_every_run_and_forgets_rejected_steps() -> None:
    m = slider(1.0)
    law = control.JointFeedback(m, [1.0], 60.0, 11.0, 100.0)
    first = setsu.simulate(m, [0.0], [0.0], 0.5, 5e-3, torque=law)
    again = setsu.simulate(m, [0.0], [0.0], 0.5, 5e-3, torque=law)
    np.testing.assert_array_equal(first.q, again.q)
    assert law(0.0, ZERO1, ZERO1) == pytest.approx([60.0])
    law(0.1, ZERO1, ZERO1)
    ahead = law(0.3, ZERO1, ZERO1)
    law(0.2, ZERO1, ZERO1)
    np.testing.assert_allclose(law(0.3, ZERO1, ZERO1), ahead, rtol=1e-14)


def test_integral_stays_within_its_limit() -> None:
    law = control.JointFeedback(slider(), [1.0], 0.0, 0.0, 10.0, integral_limit=2.0)
    for t in np.linspace(0.0, 3.0, 31):
        tau = law(float(t), ZERO1, ZERO1)
    assert tau == pytest.approx([2.0])


def test_computed_torque_makes_every_joint_its_own_oscillator() -> None:
    """e'' + K_v e' + K_p e = 0 in each joint: e = e0 (1 + w t) exp(-w t) for K_v = 2 w, K_p = w²."""
    m, w = random_tree(3, n_bodies=5, joint_types=[setsu.Revolute, setsu.Prismatic]), 6.0

    def target(t: float):
        return 0.3 * np.sin(t) * np.ones(m.nv), 0.3 * np.cos(t) * np.ones(m.nv), -0.3 * np.sin(t) * np.ones(m.nv)

    e0 = np.linspace(0.1, 0.2, m.nv)
    q, v, _ = target(0.0)
    rec = setsu.simulate(m, q - e0, v, 0.5, 2e-3, torque=control.ComputedTorque(m, target, w**2, 2 * w))
    error = np.array([target(float(t))[0] for t in rec.time]) - rec.q
    exact = e0 * ((1 + w * rec.time) * np.exp(-w * rec.time))[:, None]
    assert np.abs(error - exact).max() < 1e-8


def test_impedance_yields_like_a_spring() -> None:
    """At rest under a force F the held point is displaced by F / K, against weight and along each axis."""
    m = random_tree(8, n_bodies=6, joint_types=[setsu.Revolute])
    q = 0.3 * np.ones(m.nq)
    body, place, K = m.body_names[-1], np.array([0.1, 0.0, 0.05]), np.array([200.0, 300.0, 400.0])
    x = control.force_directions.point_position(m, q, body, place)
    force = np.array([3.0, -2.0, 5.0])
    law = control.Impedance(m, body, place, x + force / K, K, 10.0)
    J = setsu.point_jacobian(m, q, body, place)
    tau = law(0.0, q, np.zeros(m.nv))
    np.testing.assert_allclose(tau, setsu.gravity_torque(m, q) + J.T @ force, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("method", ["tree", "nodal", "function"])
def test_feed_forward_alone_keeps_a_perfect_model_on_its_path(method: str) -> None:
    m = planar_arm(3)
    t = np.linspace(0.0, 1.0, 1001)
    rate = np.array([1.0, 2.0, 3.0])
    q, v = 0.3 * np.sin(np.outer(t, rate)), 0.3 * rate * np.cos(np.outer(t, rate))
    a = -0.3 * rate**2 * np.sin(np.outer(t, rate))
    chosen = setsu.inverse_dynamics if method == "function" else method
    law = control.FeedForward.from_motion(m, t, q, v, a, method=chosen)
    rec = setsu.simulate(m, q[0], v[0], 1.0, 2e-3, torque=law)
    assert np.abs(rec.q - q[::2]).max() < 2e-4


def test_feed_forward_of_a_closed_mechanism() -> None:
    m = five_bar()
    motors = list(setsu.independent_coordinates(m))
    drive = np.zeros(m.nv)
    drive[[m.joint_index(name) for name in motors]] = (0.4, -0.3)
    made = setsu.simulate(m, setsu.close_loops(m, m.neutral()), np.zeros(m.nv), 0.2, 2e-3, torque=drive)
    for method, options in (("constrained", {}), ("nodal", {"scheme": "given"})):
        law = control.FeedForward.from_motion(
            m, made.time, made.q, made.v, made.acceleration, method=method, actuated=motors, **options
        )
        np.testing.assert_allclose(law.torque, made.torque, atol=1e-8)


def test_sums_are_sums_and_take_plain_functions() -> None:
    m = planar_arm(2)
    hold = control.JointFeedback(m, [0.1, 0.2], 5.0)
    both = hold + (lambda t, q, v: [1.0, t]) + control.FeedForward([0, 1], [[0, 0], [2, 4]])
    assert len(both.laws) == 3
    np.testing.assert_allclose(both(0.5, np.zeros(2), np.zeros(2)), [0.5 + 1.0 + 1.0, 1.0 + 0.5 + 2.0])
    other = (lambda t, q, v: np.ones(2)) + hold
    np.testing.assert_allclose(other(0.0, np.zeros(2), np.zeros(2)), [1.5, 2.0])


def test_sampled_motion_passes_through_its_samples_and_is_exact_for_quintics() -> None:
    t = np.linspace(0.0, 2.0, 7)
    p = np.polynomial.Polynomial([1, -2, 0.5, 0.3, -0.2, 0.1])
    samples = [f(t)[:, None] for f in (p, p.deriv(), p.deriv(2))]
    motion = control.SampledMotion(t, *samples)
    for x in (0.0, 0.123, 1.0, 1.77, 2.0):
        for part, f in zip(motion(x), (p, p.deriv(), p.deriv(2)), strict=True):
            assert part[0] == pytest.approx(f(x), abs=1e-11)
    assert motion(3.0)[0][0] == p(2.0)
    assert motion(3.0)[1][0] == 0.0


def test_a_sampled_law_holds_and_delays() -> None:
    """torque(t) = law at the last sample before t - delay."""
    law = control.Sampled(lambda t, q, v: [t + 1.0], 0.1, delay=0.05)
    seen = [float(law(t, ZERO1, ZERO1)[0]) for t in (0.0, 0.04, 0.05, 0.1, 0.14, 0.15, 0.2, 0.26)]
    assert seen == pytest.approx([0.0, 0.0, 1.0, 1.0, 1.0, 1.1, 1.1, 1.2])
    # Back in time, as a rejected step goes; then a new run.
    assert float(law(0.16, ZERO1, ZERO1)[0]) == pytest.approx(1.1)
    assert float(law(0.0, ZERO1, ZERO1)[0]) == 0.0


def test_the_torque_of_a_simulated_sampled_law_changes_at_its_samples_only() -> None:
    m = pendulum()
    law = control.JointFeedback(m, [0.5], 30.0, 3.0).sampled(0.01)
    rec = setsu.simulate(m, [0.0], [0.0], 0.1, 1e-3, torque=law)
    held = rec.torque[:, 0].reshape(-1)[:100].reshape(10, 10)
    assert np.ptp(held, axis=1).max() == 0.0
    assert np.ptp(held[:, 0]) > 1.0


def test_noise_is_the_same_for_the_same_seed() -> None:
    def run(seed: int) -> np.ndarray:
        m = pendulum()
        law = control.JointFeedback(m, [0.5], 30.0, 3.0)
        law = law.sampled(0.01, position_noise=1e-3, velocity_noise=1e-2, seed=seed)
        return setsu.simulate(m, [0.5], [0.0], 0.2, 1e-2, torque=law).torque

    np.testing.assert_array_equal(run(1), run(1))
    assert np.abs(run(1) - run(2)).max() > 1e-3


def test_noise_has_the_deviation_asked_for() -> None:
    law = control.Sampled(lambda t, q, v: q, 1.0, position_noise=0.2, seed=4)
    seen = np.concatenate([law(float(t), np.zeros(3), np.zeros(3)) for t in range(2000)])
    assert np.std(seen) == pytest.approx(0.2, rel=0.05)
    assert abs(np.mean(seen)) < 0.02


def test_limits_cut_torques_off() -> None:
    law = control.JointFeedback(planar_arm(2), [1.0, -1.0], 10.0).limited([3.0, 20.0])
    np.testing.assert_array_equal(law(0.0, np.zeros(2), np.zeros(2)), [3.0, -10.0])


def test_motors_only_where_named() -> None:
    m = planar_arm(3)
    law = control.JointFeedback(m, np.ones(3), 2.0, joints=["joint1", "joint3"])
    np.testing.assert_array_equal(law(0.0, np.zeros(3), np.zeros(3)), [2.0, 0.0, 2.0])


def test_quaternions_are_driven_the_short_way_round() -> None:
    """A free body is drawn back along the rotation vector to its target."""
    b = setsu.MechanismBuilder("ball", gravity=(0, 0, 0))
    b.add_body("ball", joint=setsu.Spherical(), mass=1.0, inertia=np.eye(3))
    m = b.build()
    q = setsu.integrate(m, m.neutral(), [0.0, 0.0, 0.4], 1.0)
    law = control.JointFeedback(m, m.neutral(), 5.0)
    np.testing.assert_allclose(law(0.0, -q, np.zeros(3)), [0.0, 0.0, -2.0], atol=1e-14)


def test_wrong_models_are_wrong_by_what_was_asked() -> None:
    m = random_tree(1, n_bodies=6)
    heavy = control.mismatched(m, 0.1)
    q = m.random_configuration(0)
    np.testing.assert_allclose(setsu.mass_matrix(heavy, q), 1.1 * setsu.mass_matrix(m, q), rtol=1e-12, atol=1e-15)
    drawn = control.mismatched(m, 0.1, seed=3)
    shares = [b.mass / a.mass - 1.0 for a, b in zip(m.bodies, drawn.bodies, strict=True) if a.mass]
    assert max(map(abs, shares)) <= 0.1
    assert np.ptp(shares) > 0.01


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: control.JointFeedback(m, [0.0], 1.0), "target: expected 2 finite coordinates"),
        (lambda m: control.JointFeedback(m, [0.0, np.nan], 1.0), "finite coordinates"),
        (lambda m: control.JointFeedback(m, [0.0, 0.0], -1.0), "at least 0"),
        (lambda m: control.JointFeedback(m, [0.0, 0.0], [1.0, 2.0, 3.0]), "one number or 2"),
        (lambda m: control.JointFeedback(m, [0.0, 0.0], 1.0, joints=["joint9"]), "unknown joint"),
        (lambda m: control.JointFeedback("arm", [0.0, 0.0], 1.0), "expected a Mechanism"),
        (lambda m: control.FeedForward([0.0, 0.0], [[1.0], [1.0]]), "rising"),
        (lambda m: control.FeedForward([0.0, 1.0], [[1.0], [np.inf]]), r"torque\[1, 0\] is inf"),
        (lambda m: control.FeedForward.from_motion(m, [0, 1, 2], np.zeros((3, 2)), method="tre"), 'mean "tree"'),
        (lambda m: control.SampledMotion([0.0, 1.0], np.zeros((2, 2))), "at least 3 samples"),
        (lambda m: control.Sampled(lambda t, q, v: q, 0.0), "positive"),
        (lambda m: control.Sampled(lambda t, q, v: q, 0.1, delay=-1.0), "at least 0"),
        (lambda m: control.Sampled(3.0, 0.1), "function"),
        (lambda m: control.Impedance(m, "nobody", (0, 0, 0), (0, 0, 0), 1.0, 1.0), "unknown body"),
        (lambda m: control.ForceSensor(m), "expected contacts"),
        (lambda m: control.ForceFeedback(control.PointForce(m, "link2"), [1.0], lambda t, q, v: 0.0, 1.0), "3 numbers"),
        (lambda m: control.mismatched(m, 1.5), "below 1"),
        (lambda m: control.JointFeedback(m, [0.0, 0.0], 1.0) + 3.0, "functions"),
    ],
)
def test_refusals(make, message: str) -> None:
    with pytest.raises(setsu.InputError, match=message):
        make(planar_arm(2))


def test_a_target_of_the_wrong_size_is_refused_when_asked() -> None:
    law = control.JointFeedback(planar_arm(2), lambda t: np.zeros(3), 1.0)
    with pytest.raises(setsu.InputError, match=r"t = 0\.5 s: expected q \(2,\)"):
        law(0.5, np.zeros(2), np.zeros(2))
