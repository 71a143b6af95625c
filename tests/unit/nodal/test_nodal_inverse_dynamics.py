"""Nodal inverse dynamics against exact Newton-Euler: order of the schemes, tip forces, refusals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from unit.nodal.mechanisms import TREES, waves

import setsu
from setsu.sample_mechanisms import planar_arm, random_tree, ur10


def quintic(m: setsu.Mechanism, samples: int):
    """The usual point-to-point motion: velocity and acceleration zero at the ends, jerk not."""
    t = np.linspace(0.0, 1.0, samples)
    size = np.linspace(0.5, 1.0, m.nv)
    s, ds = 10 * t**3 - 15 * t**4 + 6 * t**5, 30 * t**2 - 60 * t**3 + 30 * t**4
    return t, np.outer(s, size), np.outer(ds, size), np.outer(60 * t - 180 * t**2 + 120 * t**3, size)


def error(m: setsu.Mechanism, motion, samples: int, **options) -> float:
    t, q, v, a = motion(m, samples)
    exact = setsu.inverse_dynamics(m, q, v, a)
    return float(np.abs(setsu.nodal_inverse_dynamics(m, t, q, **options) - exact).max() / np.abs(exact).max())


SCHEMES = {
    "central": {},
    "newmark": {"scheme": "newmark"},
    "plain newmark": {"scheme": "newmark", "average": False},
    "smoothed": {"smoothing": 3},
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", TREES)
def test_schemes_have_order_two(name: str, scheme: str) -> None:
    """No start is given, and the sines have a jerk at the start."""
    m = TREES[name]()
    errors = [error(m, waves, samples, **SCHEMES[scheme]) for samples in (101, 201, 401)]
    order = np.log2(errors[-2] / errors[-1])
    assert abs(order - 2.0) < 0.1, errors


@pytest.mark.parametrize("scheme", ["central", "newmark"])
@pytest.mark.parametrize("name", TREES)
def test_ten_thousandths_where_the_highest_rate_times_the_step_is_a_hundredth(name: str, scheme: str) -> None:
    """The sines go up to 4 rad/s, so h = 2.5 ms has ωh = 0.01."""
    assert error(TREES[name](), waves, 401, scheme=scheme) <= 1e-4


def test_uneven_steps_lose_no_order() -> None:
    """Times jittered at random by up to 30 % of a step: three samples would have order 1, five have 3."""
    m = ur10()

    def jittered(m: setsu.Mechanism, samples: int):
        t = (np.arange(samples) + np.random.default_rng(3).uniform(-0.3, 0.3, samples)) / (samples - 1)
        wave = np.outer(t, np.linspace(1.0, 3.0, m.nv))
        rate = np.linspace(1.0, 3.0, m.nv)
        return t, 0.5 * np.sin(wave), 0.5 * rate * np.cos(wave), -0.5 * rate**2 * np.sin(wave)

    errors = [error(m, jittered, samples) for samples in (101, 201, 401, 801)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders.min() > 1.9, errors
    assert errors[-1] < 1e-6


@pytest.mark.parametrize("name", TREES)
def test_given_accelerations_leave_rounding_only(name: str) -> None:
    m = TREES[name]()
    t, q, v, a = waves(m, 50)
    exact = setsu.inverse_dynamics(m, q, v, a)
    found = setsu.nodal_inverse_dynamics(m, t, q, "given", v=v, a=a)
    assert np.abs(found - exact).max() <= 1e-12 * np.abs(exact).max()


def test_floating_base_and_ball_joints_by_given_motion() -> None:
    m = random_tree(4, n_bodies=6, floating_base=True, joint_types=[setsu.Spherical, setsu.Revolute])
    rng = np.random.default_rng(1)
    q = np.array([m.random_configuration(rng) for _ in range(6)])
    v, a = rng.standard_normal((2, 6, m.nv))
    exact = setsu.inverse_dynamics(m, q, v, a)
    found = setsu.nodal_inverse_dynamics(m, np.arange(6.0), q, "given", v=v, a=a)
    assert np.abs(found - exact).max() <= 1e-11 * np.abs(exact).max()


def test_newmark_on_the_motion_of_the_docs() -> None:
    """It starts with velocities and jerk, which a recurrence that assumes rest turns into a million N m."""
    m = planar_arm(3)
    t = np.linspace(0.0, 1.0, 401)
    rate = np.array([1.0, 2.0, 3.0])
    wave = np.outer(t, rate)
    q, v, a = 0.5 * np.sin(wave), 0.5 * rate * np.cos(wave), -0.5 * rate**2 * np.sin(wave)
    exact = setsu.inverse_dynamics(m, q, v, a)
    for options in ({}, {"average": False}):
        found = setsu.nodal_inverse_dynamics(m, t, q, "newmark", **options)
        assert np.abs(found - exact).max() <= 1e-4 * np.abs(exact).max()


def test_the_average_of_newmarks_accelerations_is_the_central_difference() -> None:
    """¼ a_{k-1} + ½ a_k + ¼ a_{k+1} = (u_{k+1} - 2 u_k + u_{k-1})/h² from any start: the reason why average=True is."""
    rng = np.random.default_rng(0)
    u, h = rng.standard_normal(40), 0.1
    v, a = rng.standard_normal(2)
    accelerations = [a]
    for before, after in pairwise(u):
        following = 2.0 * (after - before) / h - v
        a = 2.0 * (following - v) / h - a
        v = following
        accelerations.append(a)
    a = np.array(accelerations)
    np.testing.assert_allclose(0.25 * (a[:-2] + a[2:]) + 0.5 * a[1:-1], np.diff(u, 2) / h**2, rtol=1e-9, atol=1e-7)


def test_a_start_given_to_plain_newmark_is_used_and_leaves_its_sawtooth() -> None:
    """Even the exact start: READING of isobe2003, a quintic's error stays at any step."""
    m = planar_arm(3)
    saw = []
    for samples in (101, 401):
        t, q, v, a = quintic(m, samples)
        exact = setsu.inverse_dynamics(m, q, v, a)
        found = setsu.nodal_inverse_dynamics(m, t, q, "newmark", v=v, a=a, average=False)
        saw.append(float(np.abs(found - exact).max() / np.abs(exact).max()))
    assert min(saw) > 0.1
    assert error(m, quintic, 401, scheme="newmark", average=False) < 1e-3


def test_noise_needs_the_filter() -> None:
    """1e-5 rad at 1 kHz: the noise of second differences is 2.45 σ/h², a half-width n divides it by (2n + 1)^2.5/11."""
    m = ur10()
    t, q, v, a = waves(m, 1001)
    exact = setsu.inverse_dynamics(m, q, v, a)
    noisy = q + 1e-5 * np.random.default_rng(0).standard_normal(q.shape)

    def rms(**options) -> float:
        inner = slice(25, -25)
        return float(np.sqrt(np.mean((setsu.nodal_inverse_dynamics(m, t, noisy, **options) - exact)[inner] ** 2)))

    plain, some, more = rms(), rms(smoothing=5), rms(smoothing=20)
    assert plain > 5.0
    assert some < 1.4 * plain * 11.0 / 11.0**2.5
    assert more < 1.4 * plain * 11.0 / 41.0**2.5 + 0.05


def test_pushing_a_wall_equals_newton_euler_plus_jacobian_times_force() -> None:
    """Figs 8-9: an arm traces a wall with a constant push; relative error at 400 steps below 3e-6."""
    m = planar_arm(3)
    t = np.linspace(0.0, 4.0, 401)
    q = np.array([0.6, -0.9, 0.5]) + 0.05 * np.sin(np.outer(t, [0.5, 0.7, 0.6]))
    rate, wave = np.array([0.5, 0.7, 0.6]), np.outer(t, [0.5, 0.7, 0.6])
    v, a = 0.05 * rate * np.cos(wave), -0.05 * rate**2 * np.sin(wave)
    push, point, tip = np.array([12.0, 0.0, 3.0]), (0.3, 0.0, 0.0), m.body_names[-1]
    J = setsu.point_jacobian(m, q, tip, point)
    exact = setsu.inverse_dynamics(m, q, v, a) + np.einsum("tij,i->tj", J, push)
    found = setsu.nodal_inverse_dynamics(m, t, q, tip_forces={tip: setsu.TipForce(point, push)})
    assert np.abs(found - exact).max() <= 3e-6 * np.abs(exact).max()


def test_moments_and_several_forces_on_one_body() -> None:
    """J_ω^T n + Σ J^T f, what virtual work says."""
    m = ur10()
    t, q, v, a = waves(m, 21)
    tip = m.body_names[-1]
    pushes = [((0.0, 0.1, 0.02), (3.0, -2.0, 7.0), (0.3, 0.1, -0.4)), ((0.05, 0.0, 0.0), (0.0, 5.0, 0.0), (0, 0, 0))]
    forces = [setsu.TipForce(*push) for push in pushes]
    found = setsu.nodal_inverse_dynamics(m, t, q, "given", {tip: forces}, v=v, a=a)
    exact = setsu.inverse_dynamics(m, q, v, a)
    for point, force, moment in pushes:
        J = setsu.frame_jacobian(m, q, tip, point)
        exact = exact + np.einsum("tij,i->tj", J, np.array([*force, *moment], dtype=float))
    np.testing.assert_allclose(found, exact, rtol=1e-11, atol=1e-11)


def test_springs_between_points_act_in_it_too() -> None:
    b = setsu.MechanismBuilder("sprung")
    b.add_body("arm", joint=setsu.Revolute((0, 1, 0)), mass=1.0, center_of_mass=(0.5, 0, 0), inertia=np.eye(3) * 0.1)
    b.add_spring("k", "world", (0, 0, 1), "arm", (0.8, 0, 0), stiffness=80.0, rest_length=0.4, damping=2.0)
    m = b.build()
    t, q, v, a = waves(m, 20)
    exact = setsu.inverse_dynamics(m, q, v, a)
    np.testing.assert_allclose(setsu.nodal_inverse_dynamics(m, t, q, "given", v=v, a=a), exact, rtol=1e-11)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": np.arange(3.0), "q": np.zeros((3, 2))}, "at least 4 samples"),
        ({"time": [0.0, 0.1, 0.2, 0.15, 0.4]}, "increasing times"),
        ({"time": [0.0, 0.1, 0.2, 0.35, 0.4], "smoothing": 2}, "smoothing needs even steps"),
        ({"time": [0.0, 0.1, 0.2, 0.35, 0.4], "scheme": "newmark", "average": False}, "needs even steps"),
        ({"smoothing": 1}, "at least 2"),
        ({"smoothing": 3}, "needs 7 samples"),
        ({"scheme": "newmark", "average": False}, "finds its start from 8 samples"),
        ({"q": np.zeros((5, 3))}, r"q: expected shape \(5, 2\)"),
        ({"q": np.full((5, 2), np.nan)}, r"q\[0, 0\] is nan"),
        ({"scheme": "centrl"}, 'did you mean "central"'),
        ({"scheme": "given"}, "needs v and a"),
        ({"scheme": "newmark", "smoothing": 2}, "smoothing has a scheme of its own"),
        ({"tip_forces": {"nobody": setsu.TipForce((0, 0, 0), (0, 0, 1))}}, "unknown body 'nobody'"),
        ({"tip_forces": {"link2": setsu.TipForce((0, 0, 0), (0, 1))}}, "shape"),
        ({"tip_forces": {"link2": [setsu.TipForce((0, 0, 0), (0, 1, 0)), "a push"]}}, "expected a TipForce"),
    ],
)
def test_refusals(change: dict, message: str) -> None:
    call = {"mechanism": planar_arm(2), "time": np.arange(5.0), "q": np.zeros((5, 2))} | change
    with pytest.raises(setsu.InputError, match=message):
        setsu.nodal_inverse_dynamics(**call)


def test_an_inconsistent_start_of_plain_newmark_is_refused() -> None:
    m = planar_arm(2)
    t = np.linspace(0.0, 1.0, 101)
    jump = np.where(t < 0.03, 0.0, 2.0 * (t - 0.03))[:, None] * np.ones(2)
    with pytest.raises(setsu.InputError, match="no consistent start"):
        setsu.nodal_inverse_dynamics(m, t, jump, "newmark", average=False)
    smooth = np.sin(np.outer(t, [1.0, 2.0]))
    with pytest.raises(setsu.InputError, match=r"samples start with 2\.0.* where v\[0, 1\]"):
        setsu.nodal_inverse_dynamics(m, t, smooth, "newmark", average=False, v=0 * smooth, a=0 * smooth)
    noisy = smooth + 1e-5 * np.random.default_rng(0).standard_normal(smooth.shape)
    with pytest.raises(setsu.InputError, match="noisy"):
        setsu.nodal_inverse_dynamics(m, t, noisy, "newmark", average=False)


def test_a_resting_floating_body_needs_its_weight() -> None:
    """Steps of length zero have no direction; nothing may divide by them."""
    m = random_tree(4, n_bodies=4, floating_base=True, joint_types=[setsu.Spherical, setsu.Revolute])
    q = np.tile(m.random_configuration(0), (6, 1))
    found = setsu.nodal_inverse_dynamics(m, np.arange(6.0), q)
    exact = np.tile(setsu.gravity_torque(m, q[0]), (6, 1))
    np.testing.assert_allclose(found, exact, atol=1e-12 * np.abs(exact).max())


def test_order_two_of_a_floating_body_with_ball_joints() -> None:
    """A motion along constant body rates, whose accelerations are zero."""
    m = random_tree(4, n_bodies=5, floating_base=True, joint_types=[setsu.Spherical, setsu.Revolute])
    rate = np.random.default_rng(2).uniform(-1.0, 1.0, m.nv)
    start = m.random_configuration(1)
    errors = []
    for samples in (101, 201, 401):
        t = np.linspace(0.0, 1.0, samples)
        q = setsu.integrate(m, np.tile(start, (samples, 1)), np.outer(t, rate), 1.0)
        exact = setsu.inverse_dynamics(m, q, np.tile(rate, (samples, 1)), np.zeros((samples, m.nv)))
        found = setsu.nodal_inverse_dynamics(m, t, q)
        errors.append(float(np.abs(found - exact).max() / np.abs(exact).max()))
    assert abs(np.log2(errors[-2] / errors[-1]) - 2.0) < 0.1
