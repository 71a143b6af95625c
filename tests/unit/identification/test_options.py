"""Several logs, payloads, drive gains, contact wrenches, streams of samples, motions that keep clear."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.benchmarks.identification import drawn_mechanism, measured

samples = setsu.sample_mechanisms


def _arm() -> tuple[setsu.Mechanism, setsu.Mechanism, setsu.ExcitationTrajectory, np.random.Generator]:
    nominal = samples.puma560()
    rng = np.random.default_rng(1)
    return nominal, drawn_mechanism(nominal, rng), setsu.excitation_trajectory(nominal, duration=6.0, trials=30), rng


def _loaded(truth: setsu.Mechanism, payload: setsu.Payload) -> setsu.Mechanism:
    theta = setsu.inertial_parameters(truth).copy()
    body = payload.moving_body(truth)
    theta[10 * body : 10 * body + 10] += payload.known()
    return setsu.with_parameters(truth, theta)


def test_two_logs_narrow_the_intervals() -> None:
    m = samples.planar_arm(2)
    truth = drawn_mechanism(m, np.random.default_rng(0))
    motions = [setsu.excitation_trajectory(m, duration=5.0, seed=seed, trials=20) for seed in range(2)]
    rng = np.random.default_rng(3)
    logs = [measured(truth, motion, rng) for motion in motions]
    one = setsu.identify(m, motions[0].time, *logs[0])
    both = setsu.identify(m, [x.time for x in motions], [log[0] for log in logs], [log[1] for log in logs])
    assert both.alarms == ()
    assert len(both.measured) > len(one.measured)
    assert (both.std < 1.05 * one.std).all()
    with pytest.raises(setsu.InputError, match="list of 2"):
        setsu.identify(m, [x.time for x in motions], logs[0][0], [log[1] for log in logs])


@pytest.mark.slow
def test_known_payload_gives_the_drives_gains_and_the_payload_back() -> None:
    """Currents of a loaded and an unloaded arm; of the payload the mass is known, its centre and inertia are found."""
    nominal, truth, motion, rng = _arm()
    gains = rng.uniform(5.0, 80.0, 6)
    inertia = np.diag([0.02, 0.03, 0.015])
    full = setsu.Payload(nominal.body_names[-1], 4.0, (0.05, -0.03, 0.12), inertia)
    logs = [measured(m, motion, rng) for m in (truth, _loaded(truth, full))]
    fit = setsu.identify(
        nominal, [motion.time] * 2, [log[0] for log in logs], [log[1] / gains for log in logs],
        payload=[None, setsu.Payload(nominal.body_names[-1], mass=4.0)], drive_gains=True,
    )  # fmt: skip
    (found,) = fit.payloads
    assert found.names[0] == "M_payload"
    inside = (full.known() >= found.interval[:, 0]) & (full.known() <= found.interval[:, 1])
    # Nine 95 % intervals: one may miss, and no parameter may lie far off.
    assert inside.sum() >= 9
    assert (np.abs(full.known() - found.values) <= 4.0 * found.std + 1e-12).all()
    identified = np.array([fit.further[f"gain_{name}"] for name in nominal.joint_names])
    np.testing.assert_allclose(identified, gains, rtol=0.03)


def test_unknown_payload_from_two_logs() -> None:
    nominal, truth, motion, rng = _arm()
    full = setsu.Payload(nominal.body_names[-1], 2.0, (0.02, 0.01, 0.1), np.diag([0.01, 0.01, 0.01]))
    logs = [measured(m, motion, rng) for m in (truth, _loaded(truth, full))]
    carried = setsu.Payload(nominal.body_names[-1])
    fit = setsu.identify(
        nominal, [motion.time] * 2, [log[0] for log in logs], [log[1] for log in logs], payload=[None, carried]
    )
    (found,) = fit.payloads
    assert (np.abs(found.values - full.known()) <= 4.0 * found.std).all()
    assert found.std[0] < 0.1


def test_gains_without_payload_are_refused() -> None:
    m = samples.planar_arm(2)
    motion = setsu.excitation_trajectory(m, duration=5.0, trials=20)
    q, tau = measured(m, motion, np.random.default_rng(0))
    with pytest.raises(setsu.InputError, match="gains"):
        setsu.identify(m, motion.time, q, tau / 20.0, drive_gains=True)


def test_floating_base_with_contact_wrenches() -> None:
    """A free body with one arm, pushed by a measured wrench: the base rows have no drive, and all parameters follow."""
    builder = setsu.MechanismBuilder("walker")
    builder.add_body(
        "trunk", joint=setsu.Free(), mass=8.0, center_of_mass=(0.02, 0.01, 0.1), inertia=np.diag([0.3, 0.2, 0.25])
    )
    builder.add_body(
        "leg", "trunk", setsu.Revolute((0, 1, 0), "hip"), setsu.placement((0, 0, -0.2)), mass=2.0,
        center_of_mass=(0.0, 0.02, -0.15), inertia=np.diag([0.02, 0.02, 0.005]),
    )  # fmt: skip
    m = builder.build()
    t = np.linspace(0.0, 6.0, 1201)
    rates = np.stack([(k + 1.0) * 0.3 * np.sin((1.0 + 0.7 * k) * t + k) for k in range(m.nv)], axis=1)
    a = np.gradient(rates, t, axis=0, edge_order=2)
    q = [m.neutral()]
    for k in range(len(t) - 1):
        q.append(setsu.integrate(m, q[-1], 0.5 * (rates[k] + rates[k + 1]), t[k + 1] - t[k]))
    coordinates = np.array(q)
    # The wrench on the leg that makes the base's six rows vanish is what a force plate would measure.
    bare = setsu.inverse_dynamics(m, coordinates, rates, a)
    wrenches = np.zeros((len(t), m.n_bodies, 6))
    for k in range(len(t)):
        J = np.array([
            setsu.inverse_dynamics(m, coordinates[k], rates[k], a[k], external_wrenches=unit) - bare[k]
            for unit in np.eye(6)[:, None, :] * np.array([0.0, 1.0])[None, :, None]
        ])  # fmt: skip
        wrenches[k, 1] = np.linalg.solve(J[:, :6].T, -bare[k, :6])
    tau = setsu.inverse_dynamics(m, coordinates, rates, a, external_wrenches=wrenches)
    assert np.abs(tau[:, :6]).max() < 1e-8
    tau[:, :6] = 0.0
    fit = setsu.identify(
        m, t, coordinates, tau, rates, friction="none", drive_inertia=False, external_wrenches=wrenches,
        accept=["outliers", "unexplained", "velocity"],
    )  # fmt: skip
    np.testing.assert_allclose(fit.parameters, fit.prior, atol=0.02 * np.abs(fit.prior).max())


def test_recursive_fit_equals_least_squares_on_all_samples() -> None:
    m = samples.planar_arm(2)
    motion = setsu.excitation_trajectory(m, duration=4.0, trials=20)
    rng = np.random.default_rng(0)
    tau = setsu.inverse_dynamics(m, motion.q, motion.v, motion.a) + 0.1 * rng.standard_normal(motion.q.shape)
    live = setsu.RecursiveFit(m, noise=0.1)
    assert np.isinf(live.std).all()
    live.update(motion.q[0], motion.v[0], motion.a[0], tau[0])
    live.update(motion.q[1:], motion.v[1:], motion.a[1:], tau[1:])
    W = live.model.regressor(motion.q, motion.v, motion.a).reshape(-1, len(live.names))
    y = (tau - live.model.known_torque(motion.q, motion.v, motion.a)).ravel()
    np.testing.assert_allclose(live.parameters, np.linalg.lstsq(W, y, rcond=None)[0], rtol=1e-6, atol=1e-8)
    assert (np.abs(live.parameters - live.prior) < 5.0 * live.std).all()


def test_recursive_fit_follows_a_load_that_is_picked_up() -> None:
    m = samples.planar_arm(2)
    heavier = setsu.with_parameters(m, 1.5 * setsu.inertial_parameters(m))
    motion = setsu.excitation_trajectory(m, duration=4.0, trials=20)
    live = setsu.RecursiveFit(m, forgetting=0.99)
    for truth in (m, heavier, heavier):
        live.update(motion.q, motion.v, motion.a, setsu.inverse_dynamics(truth, motion.q, motion.v, motion.a))
    n = 6
    np.testing.assert_allclose(live.parameters[:n], 1.5 * live.prior[:n], rtol=1e-2, atol=1e-2)
    with pytest.raises(setsu.InputError, match="forgetting"):
        setsu.RecursiveFit(m, forgetting=1.5)


def test_excitation_keeps_clear() -> None:
    """The hand of a planar arm must stay above a table."""
    m = samples.planar_arm(2)

    def clearance(q: np.ndarray) -> np.ndarray:
        return 0.6 + np.asarray(setsu.body_poses(m, q))[:, -1, 2, 3]

    motion = setsu.excitation_trajectory(m, duration=4.0, trials=40, clearance=clearance)
    assert clearance(motion.q).min() >= 0.0
    with pytest.raises(setsu.InputError, match="no motion without collision"):
        setsu.excitation_trajectory(m, duration=4.0, trials=2, clearance=lambda q: -np.ones(len(q)))
