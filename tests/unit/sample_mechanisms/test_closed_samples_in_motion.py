"""Closed samples in random motion: forces at the cuts replace the loops, momentum and power balance, nothing drifts."""

import numpy as np
import pytest

import setsu
from setsu.constraints.system import constraint_system
from setsu.sample_mechanisms import (
    bricard,
    delta_robot,
    excavator_boom,
    five_bar,
    four_bar,
    jansen_leg,
    n_four_bar,
    parallelogram_arm,
    slider_crank,
    spatial_slider_crank,
    stewart_platform,
)

SAMPLES = [
    bricard,
    delta_robot,
    excavator_boom,
    five_bar,
    four_bar,
    jansen_leg,
    n_four_bar,
    parallelogram_arm,
    slider_crank,
    spatial_slider_crank,
    stewart_platform,
]


def moving_state(m, seed):
    """A closed configuration off neutral, a velocity that keeps the loops closed, torques of the size of gravity's."""
    rng = np.random.default_rng(seed)
    q = setsu.close_loops(m, setsu.integrate(m, m.neutral(), 0.1 * rng.standard_normal(m.nv), 1.0))
    G = constraint_system(m).evaluate(q, np.zeros(m.nv)).jacobian
    wish = rng.standard_normal(m.nv)
    v = wish - np.linalg.pinv(G, rcond=1e-10) @ (G @ wish)
    return q, v, np.abs(setsu.gravity_torque(m, q)).max() * rng.standard_normal(m.nv)


@pytest.mark.parametrize("make", SAMPLES)
def test_the_open_tree_with_the_loops_wrenches_moves_alike(make):
    # Cut every loop and put its wrench on both sides: by body_a on body_b at the joint, the opposite on body_a.
    m = make()
    q, v, tau = moving_state(m, 1)
    r = setsu.constrained_dynamics(m, q, v, tau)
    poses = setsu.body_poses(m, q)
    wrenches = np.zeros((m.n_bodies, 6))
    for loop, wrench in zip(m.loops, r.loop_wrench, strict=True):
        frame_b = m.frame(loop.body_b)
        pose_b = np.eye(4) if frame_b.body < 0 else poses[frame_b.body]
        joint = (pose_b @ frame_b.pose.matrix @ loop.pose_b.matrix)[:3, 3]
        for name, sign in ((loop.body_a, -1.0), (loop.body_b, 1.0)):
            carrier = m.frame(name).body
            if carrier >= 0:
                arm = joint - poses[carrier, :3, 3]
                wrenches[carrier, :3] += sign * wrench[:3]
                wrenches[carrier, 3:] += sign * (wrench[3:] + np.cross(arm, wrench[:3]))
    needed = setsu.inverse_dynamics(m, q, v, r.acceleration, wrenches)
    scale = np.abs(tau).max() + np.abs(r.loop_wrench).max()
    np.testing.assert_allclose(needed, tau, atol=1e-10 * scale)


@pytest.mark.parametrize("make", SAMPLES)
def test_power_of_the_torques_is_the_rate_of_energy(make):
    # Loops do no work: d/dt (kinetic + potential) = tau . v, by central differences along the motion.
    m = make()
    q, v, tau = moving_state(m, 2)
    a = setsu.constrained_dynamics(m, q, v, tau).acceleration
    h = 1e-4
    ends = []
    for side in (h, -h):
        q_end = setsu.integrate(m, q, v + 0.5 * side * a, side)
        v_end = v + side * a
        ends.append(setsu.kinetic_energy(m, q_end, v_end) + setsu.potential_energy(m, q_end))
    scale = np.abs(tau * v).sum() + float(setsu.kinetic_energy(m, q, v))
    # The error of the difference is h²/6 times the third derivative of the energy, about 1e-8 of its own size.
    assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(tau @ v, abs=1e-5 * scale)


@pytest.mark.parametrize("make", SAMPLES)
def test_inverse_after_forward_dynamics_gives_the_torques_back_up_to_what_the_loops_carry(make):
    # Torques that differ by what moves nothing cause the same motion: only their power on allowed motions is unique.
    m = make()
    q, v, tau = moving_state(m, 3)
    a = setsu.constrained_dynamics(m, q, v, tau).acceleration
    back = setsu.constrained_inverse_dynamics(m, q, v, a).torque
    G = constraint_system(m).evaluate(q, v).jacobian
    allowed = np.eye(m.nv) - np.linalg.pinv(G, rcond=1e-10) @ G
    np.testing.assert_allclose(allowed.T @ (back - tau), 0.0, atol=1e-8 * np.abs(tau).max())


@pytest.mark.parametrize("make", [delta_robot, excavator_boom, jansen_leg, stewart_platform])
def test_a_short_free_run_stays_closed_and_keeps_its_energy(make):
    m = make()
    q, v, _ = moving_state(m, 4)
    rec = setsu.simulate(m, q, 0.2 * v, duration=0.02, step=1e-3)
    assert rec.constraint_error.max() < 1e-13 * m.nv
    # rk4 at this step: (rate x h)^4, rates up to 10 1/s.
    assert np.ptp(rec.energy) < 1e-8 * np.abs(rec.energy).max()
