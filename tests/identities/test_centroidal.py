"""Centre of mass, momentum and its rate, subtrees, regressors of energy and geometry, statics, all terms at once."""

from __future__ import annotations

import numpy as np
import pytest
from identities.zoo import animal, assert_law, over_the_zoo, times

import setsu

pytestmark = pytest.mark.thin(3)


def _along(m, q, v, a, function, h=1e-3):
    """Fourth-order difference of a function of (q, v) along the motion."""
    values = []
    for k in (-2, -1, 1, 2):
        t = k * h
        # The second-order path: q(t) with velocity v + a t.
        values.append(function(setsu.integrate(m, q, v + 0.5 * a * t, t), v + a * t))
    return (values[0] - 8.0 * values[1] + 8.0 * values[2] - values[3]) / (12.0 * h)


@over_the_zoo
def test_centre_of_mass_and_momentum_rates(name: str) -> None:
    one = animal(name)
    m, q, v, a = one.mechanism, one.q, one.v, one.a
    velocity = setsu.center_of_mass_velocity(m, q, v)
    momentum = setsu.momentum(m, q, v)
    assert_law(velocity * m.moving_mass, momentum[:, :3], [momentum], 10)
    J = setsu.center_of_mass_jacobian(m, q)
    assert_law(times(J, v), velocity, [J, velocity], 50 * m.nv)
    # dA/dt v + A a: linear in the accelerations with the centroidal matrix as slope.
    rate, bias = setsu.momentum_rate(m, q, v, a), setsu.momentum_rate(m, q, v, np.zeros(m.nv))
    A = setsu.centroidal_matrix(m, q)
    assert_law(rate - bias, times(A, a), [rate, bias, A], 200 * m.nv)
    assert_law(setsu.center_of_mass_acceleration(m, q, v, a) * m.moving_mass, rate[:, :3], [rate], 10)
    by_difference = _along(m, q, v, np.zeros_like(a), lambda x, y: setsu.momentum(m, x, y))
    assert np.abs(by_difference - bias).max() < 1e-7 * (1.0 + np.abs(v).max() ** 5) * m.moving_mass


@over_the_zoo
def test_subtrees(name: str) -> None:
    one = animal(name)
    m, q = one.mechanism, one.q
    masses, centers = setsu.subtree_masses(m), setsu.subtree_centers_of_mass(m, q)
    roots = [k for k, body in enumerate(m.moving) if m.frame(body.parent).body < 0]
    total = sum(masses[k] * centers[:, k] for k in roots)
    assert_law(total, m.moving_mass * setsu.center_of_mass(m, q), [total], 100)
    for k, name_ in enumerate(m.body_names):
        far = {name_}
        for body in m.bodies:
            if body.parent in far:
                far.add(body.name)
        own = [body for body in m.bodies if body.name in far]
        assert abs(sum(body.mass for body in own) - masses[k]) < 1e-12 * m.moving_mass
        moment = np.zeros((len(q), 3))
        for body in own:
            T = setsu.frame_pose(m, q, body.name)
            moment += body.mass * (T[:, :3, :3] @ body.center_of_mass + T[:, :3, 3])
        assert_law(moment, masses[k] * centers[:, k], [moment], 100 * len(own))


@over_the_zoo
def test_energy_regressor_and_statics(name: str) -> None:
    one = animal(name)
    m, q, v = one.mechanism, one.q, one.v
    parameters, rows = setsu.inertial_parameters(m), setsu.energy_regressor(m, q, v)
    drives = 0.5 * np.sum(m.armature * v * v, axis=1)
    kinetic = setsu.kinetic_energy(m, q, v)
    assert_law(rows.kinetic @ parameters + drives, kinetic, [kinetic, rows.kinetic * parameters], 100)
    zero = np.zeros(m.nv)
    assert np.array_equal(setsu.static_torque(m, q), setsu.inverse_dynamics(m, q, zero, zero))
    slope = setsu.static_torque_derivatives(m, q)
    assert np.array_equal(slope, setsu.inverse_dynamics_derivatives(m, q, zero, zero).dq)
    terms = setsu.all_terms(m, q, v)
    for key in ("mass_matrix", "gravity_torque", "body_poses", "center_of_mass", "centroidal_matrix"):
        assert np.array_equal(getattr(terms, key), getattr(setsu, key)(m, q))
    for key in ("bias_torque", "coriolis_matrix", "body_velocities", "momentum", "kinetic_energy"):
        assert np.array_equal(getattr(terms, key), getattr(setsu, key)(m, q, v))


@over_the_zoo
def test_kinematic_regressor_is_the_effect_of_displaced_bodies(name: str) -> None:
    """Velocity of a frame = Σ block_i · (velocity of body i against its joint, body axes)."""
    one = animal(name)
    m, q, v = one.mechanism, one.q, one.v
    frame = m.frame_names[-1]
    steps = np.zeros((len(q), 6 * m.n_bodies))
    for k, body in enumerate(m.body_names):
        parent = m.moving[k].parent
        T, T_parent = setsu.frame_pose(m, q, body), setsu.frame_pose(m, q, parent)
        own = setsu.frame_velocity(m, q, v, body)
        arm = np.einsum("nij,nj->ni", np.linalg.inv(T_parent), T[:, :, 3])[:, :3]
        carried = setsu.frame_velocity(m, q, v, parent, arm)
        relative = (own - carried).reshape(-1, 2, 3)
        steps[:, 6 * k : 6 * k + 6] = np.einsum("nji,nkj->nki", T[:, :3, :3], relative).reshape(-1, 6)
    for axes in ("world", "frame"):
        K = setsu.kinematic_regressor(m, q, frame, axes=axes)
        velocity = setsu.frame_velocity(m, q, v, frame, axes=axes)
        assert_law(times(K, steps), velocity, [K, steps, velocity], 500 * m.nv)


def test_bodies_fixed_to_the_world_count_in_the_total_mass_alone() -> None:
    b = setsu.MechanismBuilder("on a pedestal")
    b.add_body("pedestal", joint=setsu.Fixed(), mass=20.0, center_of_mass=(0, 0, 0.2))
    b.add_body("link", parent="pedestal", joint=setsu.Prismatic((0, 0, 1)), mass=3.0)
    m = b.build()
    assert (m.total_mass, m.moving_mass) == (23.0, 3.0)
    assert np.allclose(setsu.center_of_mass(m, [0.7]), [0.0, 0.0, 0.7], rtol=0.0, atol=1e-15)
    assert np.allclose(setsu.center_of_mass_velocity(m, [0.7], [2.0]), [0.0, 0.0, 2.0], rtol=0.0, atol=1e-15)
    assert np.isclose(setsu.potential_energy(m, [0.7]), 3.0 * 9.81 * 0.7, rtol=1e-15)
