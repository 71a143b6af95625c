"""Laws between the functions of the equation of motion M(q) a + bias(q, v) = tau, two algorithms at a time."""

import numpy as np
import pytest
from identities.zoo import Animal, animal, assert_law, over_the_zoo, times

import setsu

pytestmark = pytest.mark.thin(3)

METHODS = ("articulated_body", "composite_body", "unit_vector")


def torques(x: Animal, **options: object) -> np.ndarray:
    return setsu.inverse_dynamics(x.mechanism, x.q, x.v, x.a, **options)  # type: ignore[arg-type]


@over_the_zoo
def test_mass_matrix_and_bias_make_inverse_dynamics(name: str) -> None:
    """M a + bias = ID(q, v, a)."""
    x = animal(name)
    M, bias = setsu.mass_matrix(x.mechanism, x.q), setsu.bias_torque(x.mechanism, x.q, x.v)
    inertial = times(M, x.a)
    assert_law(inertial + bias, torques(x), [inertial, bias], c=50)


@over_the_zoo
def test_world_formulation_is_link_formulation(name: str) -> None:
    x = animal(name)
    terms = [times(setsu.mass_matrix(x.mechanism, x.q), x.a), setsu.bias_torque(x.mechanism, x.q, x.v)]
    assert_law(torques(x, formulation="world"), torques(x), terms, c=50)
    with_wrenches = torques(x, external_wrenches=x.external)
    world = torques(x, external_wrenches=x.external, formulation="world")
    assert_law(world, with_wrenches, [*terms, with_wrenches - torques(x)], c=50)


@pytest.mark.thin(2)
@over_the_zoo
@pytest.mark.parametrize("method", METHODS)
def test_forward_dynamics_undoes_inverse_dynamics(name: str, method: str) -> None:
    """FD(q, v, ID(q, v, a)) = a. Rounding of torques is amplified by M⁻¹: c κ(M) ε of max(a, tau/|M|, bias/|M|)."""
    x = animal(name)
    M, bias = setsu.mass_matrix(x.mechanism, x.q), setsu.bias_torque(x.mechanism, x.q, x.v)
    size = np.linalg.norm(M, 2, axis=(-2, -1)).min()
    condition = float(np.linalg.cond(M).max())
    for external in (None, x.external):
        tau = torques(x, external_wrenches=external)
        a = setsu.forward_dynamics(x.mechanism, x.q, x.v, tau, external, method=method)
        # Γ(e_i) - Γ(0) of the unit vectors cancels the bias, which costs digits where it is large.
        terms = [x.a, tau / size, bias / size]
        assert_law(a, x.a, terms, c=20, condition=condition)


@over_the_zoo
def test_inverse_dynamics_undoes_forward_dynamics(name: str) -> None:
    """ID(q, v, FD(q, v, tau)) = tau."""
    x = animal(name)
    m = x.mechanism
    M = setsu.mass_matrix(m, x.q)
    a = setsu.forward_dynamics(m, x.q, x.v, x.tau)
    back = setsu.inverse_dynamics(m, x.q, x.v, a)
    terms = [x.tau, setsu.bias_torque(m, x.q, x.v), np.linalg.norm(M, 2, axis=(-2, -1)).max() * a]
    assert_law(back, x.tau, terms, c=100)


@over_the_zoo
def test_mass_matrix_is_symmetric_positive_and_the_same_by_unit_vectors(name: str) -> None:
    x = animal(name)
    M = setsu.mass_matrix(x.mechanism, x.q)
    np.testing.assert_array_equal(M, np.swapaxes(M, -1, -2))
    assert (np.linalg.eigvalsh(M) > 0.0).all()
    by_columns = setsu.mass_matrix(x.mechanism, x.q, method="unit_vector")
    gravity = setsu.gravity_torque(x.mechanism, x.q) + x.joint_springs()
    assert_law(by_columns, M, [M, gravity], c=50)


@over_the_zoo
def test_torques_are_linear_in_the_inertial_parameters(name: str) -> None:
    """Y θ + armature a + friction + springs = ID."""
    x = animal(name)
    rigid = setsu.regressor(x.mechanism, x.q, x.v, x.a) @ setsu.inertial_parameters(x.mechanism)
    drive = x.mechanism.armature * x.a + x.friction() + x.joint_springs()
    terms = [times(setsu.mass_matrix(x.mechanism, x.q), x.a), setsu.bias_torque(x.mechanism, x.q, x.v)]
    assert_law(rigid + drive, torques(x), terms, c=50)


@over_the_zoo
def test_bias_is_coriolis_gravity_friction_and_springs(name: str) -> None:
    """bias(q, v) = C v + gravity + friction + springs."""
    x = animal(name)
    coriolis = times(setsu.coriolis_matrix(x.mechanism, x.q, x.v), x.v)
    gravity = setsu.gravity_torque(x.mechanism, x.q)
    parts = [coriolis, gravity, x.friction(), x.joint_springs()]
    assert_law(sum(parts), setsu.bias_torque(x.mechanism, x.q, x.v), parts, c=100)


@over_the_zoo
def test_external_wrenches_act_through_jacobians(name: str) -> None:
    """ID without - ID with wrenches = Σ Jᵀ f; here with pure forces at body origins."""
    x = animal(name)
    m = x.mechanism
    forces = x.external.copy()
    forces[..., 3:] = 0.0
    terms = [
        np.einsum("kij,ki->kj", setsu.point_jacobian(m, x.q, body), forces[:, index, :3])
        for index, body in enumerate(m.body_names)
    ]
    difference = torques(x) - torques(x, external_wrenches=forces)
    assert_law(difference, sum(terms), [*terms, torques(x)], c=50)
