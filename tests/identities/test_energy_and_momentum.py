"""Energy, power and momentum: time derivatives are exact, by complex steps along the motion."""

import numpy as np
import pytest
from identities.complex_step import directional
from identities.zoo import STATES, animal, assert_law, over_the_zoo, times

import setsu

pytestmark = pytest.mark.thin(3)


@over_the_zoo
def test_kinetic_energy_is_half_v_m_v(name: str) -> None:
    x = animal(name)
    M = setsu.mass_matrix(x.mechanism, x.q)
    energy = setsu.kinetic_energy(x.mechanism, x.q, x.v)
    assert_law(0.5 * np.einsum("ki,kij,kj->k", x.v, M, x.v), energy, [energy], c=100)


@over_the_zoo
def test_energy_changes_by_the_power_of_drives_less_friction(name: str) -> None:
    """d(T + V)/dt = tau · v - friction · v, with T, V differentiated along v and a."""
    x = animal(name)
    m = x.mechanism
    tau, friction = setsu.inverse_dynamics(m, x.q, x.v, x.a), x.friction()
    for k in range(STATES):
        state, motion = {"q": x.q[k], "v": x.v[k]}, {"q": x.v[k], "v": x.a[k]}
        kinetic = directional(m, "kinetic_energy", state, motion)["energy"]
        potential = directional(m, "potential_energy", {"q": x.q[k]}, {"q": x.v[k]})["energy"]
        power, lost = tau[k] * x.v[k], friction[k] * x.v[k]
        assert_law(kinetic + potential, np.sum(power - lost), [kinetic, potential, power, lost], c=100)


@over_the_zoo
def test_gravity_torque_is_the_gradient_of_the_potential(name: str) -> None:
    """∂V/∂q · v = (gravity + springs) · v for any direction v."""
    x = animal(name)
    m = x.mechanism
    holding = setsu.gravity_torque(m, x.q) + x.joint_springs()
    for k in range(STATES):
        slope = directional(m, "potential_energy", {"q": x.q[k]}, {"q": x.v[k]})["energy"]
        assert_law(slope, holding[k] @ x.v[k], [holding[k] * x.v[k]], c=100)


@over_the_zoo
def test_coriolis_matrix_belongs_to_the_mass_matrix(name: str) -> None:
    """dM/dt - 2 C is skew-symmetric: dM/dt = C + Cᵀ."""
    x = animal(name)
    m = x.mechanism
    C = setsu.coriolis_matrix(m, x.q, x.v)
    for k in range(STATES):
        rate = directional(m, "mass_matrix", {"q": x.q[k]}, {"q": x.v[k]})["M"].reshape(m.nv, m.nv)
        assert_law(rate, C[k] + C[k].T, [rate, C[k]], c=200)


@over_the_zoo
def test_momentum_is_the_centroidal_matrix_times_v(name: str) -> None:
    x = animal(name)
    momentum = setsu.momentum(x.mechanism, x.q, x.v)
    assert_law(times(setsu.centroidal_matrix(x.mechanism, x.q), x.v), momentum, [momentum], c=100)


@over_the_zoo
def test_linear_momentum_is_mass_times_velocity_of_the_center(name: str) -> None:
    """p = m dc/dt; m counts what moves."""
    x = animal(name)
    m = x.mechanism
    momentum = setsu.momentum(m, x.q, x.v)
    mass = setsu.inertial_parameters(m)[::10].sum()
    for k in range(STATES):
        velocity = directional(m, "center_of_mass", {"q": x.q[k]}, {"q": x.v[k]})
        (rate,) = velocity.values()
        assert_law(mass * rate, momentum[k, :3], [momentum[k]], c=100)


@over_the_zoo
def test_momentum_changes_by_what_acts_from_outside(name: str) -> None:
    """dp/dt = Σ base wrenches + m g + external; moments about the centre of mass, where gravity has none."""
    x = animal(name)
    m = x.mechanism
    wrenches = setsu.joint_wrenches(m, x.q, x.v, x.a, x.external, frame="world")
    origins = setsu.body_poses(m, x.q)[..., :3, 3]
    center = setsu.center_of_mass(m, x.q)
    mass = setsu.inertial_parameters(m)[::10].sum()
    outside = x.external.copy()
    for b, body in enumerate(m.moving):
        if m.frame(body.parent).body < 0:
            outside[:, b] += wrenches[:, b]
    for k in range(STATES):
        state, motion = {"q": x.q[k], "v": x.v[k]}, {"q": x.v[k], "v": x.a[k]}
        (rate,) = directional(m, "momentum", state, motion).values()
        arms = origins[k] - center[k]
        force = outside[k, :, :3].sum(axis=0) + mass * np.array(m.gravity)
        moments = outside[k, :, 3:] + np.cross(arms, outside[k, :, :3])
        assert_law(rate[:3], force, [outside[k]], c=200)
        assert_law(rate[3:], moments.sum(axis=0), [moments, outside[k]], c=200)
