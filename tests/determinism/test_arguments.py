"""What may be given: any array-like that broadcasts; and it is never changed."""

import dataclasses

import numpy as np
import pytest
from determinism.digest_of_results import inputs, mechanism

import setsu

pytestmark = pytest.mark.thin(3)


@pytest.fixture(scope="module")
def tree() -> setsu.Mechanism:
    return mechanism()


CALLS = {
    "body_poses": lambda m, x: setsu.body_poses(m, x["q"]),
    "body_velocities": lambda m, x: setsu.body_velocities(m, x["q"], x["v"]),
    "body_accelerations": lambda m, x: setsu.body_accelerations(m, x["q"], x["v"], x["a"]),
    "point_jacobian": lambda m, x: setsu.point_jacobian(m, x["q"], "body3", x["point"]),
    "point_jacobian_rate": lambda m, x: setsu.point_jacobian_rate(m, x["q"], x["v"], "body3", x["point"]),
    "inverse_dynamics": lambda m, x: setsu.inverse_dynamics(m, x["q"], x["v"], x["a"], x["external"]),
    "forward_dynamics": lambda m, x: setsu.forward_dynamics(m, x["q"], x["v"], x["tau"], x["external"]),
    "forward_dynamics, unit vectors": lambda m, x: setsu.forward_dynamics(
        m, x["q"], x["v"], x["tau"], x["external"], method="unit_vector"
    ),
    "mass_matrix": lambda m, x: setsu.mass_matrix(m, x["q"]),
    "bias_torque": lambda m, x: setsu.bias_torque(m, x["q"], x["v"]),
    "gravity_torque": lambda m, x: setsu.gravity_torque(m, x["q"]),
    "coriolis_matrix": lambda m, x: setsu.coriolis_matrix(m, x["q"], x["v"]),
    "joint_wrenches": lambda m, x: setsu.joint_wrenches(m, x["q"], x["v"], x["a"], x["external"]),
    "regressor": lambda m, x: setsu.regressor(m, x["q"], x["v"], x["a"]),
    "inverse_dynamics_derivatives": lambda m, x: setsu.inverse_dynamics_derivatives(m, x["q"], x["v"], x["a"]).dq,
    "forward_dynamics_derivatives": lambda m, x: setsu.forward_dynamics_derivatives(m, x["q"], x["v"], x["tau"]).dq,
    "center_of_mass": lambda m, x: setsu.center_of_mass(m, x["q"]),
    "momentum": lambda m, x: setsu.momentum(m, x["q"], x["v"]),
    "centroidal_matrix": lambda m, x: setsu.centroidal_matrix(m, x["q"]),
    "kinetic_energy": lambda m, x: setsu.kinetic_energy(m, x["q"], x["v"]),
    "potential_energy": lambda m, x: setsu.potential_energy(m, x["q"]),
    "integrate": lambda m, x: setsu.integrate(m, x["q"], x["v"], 0.1),
    "difference": lambda m, x: setsu.difference(m, x["q0"], x["q1"]),
}
every_function = pytest.mark.parametrize("name", CALLS)


def given(m: setsu.Mechanism, rows: int = 6) -> dict[str, np.ndarray]:
    return {**inputs(m, rows), "point": np.random.default_rng(2).standard_normal((rows, 3))}


@every_function
def test_no_argument_is_changed(tree: setsu.Mechanism, name: str) -> None:
    x = given(tree)
    copies = {key: value.copy() for key, value in x.items()}
    for value in x.values():
        value.flags.writeable = False
    CALLS[name](tree, x)
    CALLS[name](tree, {key: value[0] for key, value in x.items()})
    for key, value in x.items():
        np.testing.assert_array_equal(value, copies[key])


@every_function
def test_results_are_fresh_and_writable(tree: setsu.Mechanism, name: str) -> None:
    """Writing into a result changes neither the next result nor an argument."""
    x = given(tree)
    first = CALLS[name](tree, x)
    kept = first.copy()
    first[...] = -1.0
    np.testing.assert_array_equal(CALLS[name](tree, x), kept)


@every_function
def test_any_leading_axes(tree: setsu.Mechanism, name: str) -> None:
    """(6, n) as (2, 3, n) gives the same rows; (1, n) keeps its axis; (0, n) gives none."""
    x = given(tree)
    flat = CALLS[name](tree, x)
    shaped = CALLS[name](tree, {key: value.reshape(2, 3, *value.shape[1:]) for key, value in x.items()})
    assert shaped.shape == (2, 3, *flat.shape[1:])
    np.testing.assert_array_equal(shaped.reshape(flat.shape), flat)
    one = CALLS[name](tree, {key: value[:1] for key, value in x.items()})
    np.testing.assert_array_equal(one, flat[:1])
    none = CALLS[name](tree, {key: value[:0] for key, value in x.items()})
    assert none.shape == (0, *flat.shape[1:])


@every_function
def test_memory_layout_does_not_matter(tree: setsu.Mechanism, name: str) -> None:
    """Fortran order, every second row of a larger array, backwards: the same numbers."""
    x = given(tree)
    expected = CALLS[name](tree, x)
    fortran = {key: np.asfortranarray(value) for key, value in x.items()}
    np.testing.assert_array_equal(CALLS[name](tree, fortran), expected)
    strided = {key: np.repeat(value, 2, axis=0)[::2] for key, value in x.items()}
    np.testing.assert_array_equal(CALLS[name](tree, strided), expected)
    backwards = {key: value[::-1] for key, value in x.items()}
    np.testing.assert_array_equal(CALLS[name](tree, backwards), expected[::-1])
    spread = {key: np.repeat(value[0], 2, axis=-1)[..., ::2] for key, value in x.items()}
    np.testing.assert_array_equal(CALLS[name](tree, spread), expected[0])


@every_function
def test_lists_and_float32_are_taken(tree: setsu.Mechanism, name: str) -> None:
    x = {key: value.astype(np.float32) for key, value in given(tree, 2).items()}
    expected = CALLS[name](tree, {key: value.astype(np.float64) for key, value in x.items()})
    np.testing.assert_array_equal(CALLS[name](tree, x), expected)
    np.testing.assert_array_equal(CALLS[name](tree, {key: value.tolist() for key, value in x.items()}), expected)


def test_whole_numbers_are_taken() -> None:
    arm = setsu.sample_mechanisms.planar_arm(2)
    np.testing.assert_array_equal(
        setsu.inverse_dynamics(arm, np.array([1, 2]), [0, 1], (3, 4)),
        setsu.inverse_dynamics(arm, [1.0, 2.0], [0.0, 1.0], [3.0, 4.0]),
    )


def test_arguments_broadcast_against_each_other(tree: setsu.Mechanism) -> None:
    """One configuration, 6 velocities, a grid of accelerations (4, 1, nv): (4, 6, nv)."""
    x = given(tree)
    q, v, a = x["q"][0], x["v"], x["a"][:4, None]
    together = setsu.inverse_dynamics(tree, q, v, a)
    assert together.shape == (4, 6, tree.nv)
    for i in range(4):
        for j in range(6):
            np.testing.assert_array_equal(together[i, j], setsu.inverse_dynamics(tree, q, v[j], x["a"][i]))
    moved = setsu.integrate(tree, q, v, np.array([0.1, 0.2, 0.3])[:, None])
    assert moved.shape == (3, 6, tree.nq)
    np.testing.assert_array_equal(moved[1, 4], setsu.integrate(tree, q, v[4], 0.2))


def test_records_are_frozen(tree: setsu.Mechanism) -> None:
    x = given(tree, 1)
    record = setsu.inverse_dynamics_derivatives(tree, x["q"], x["v"], x["a"])
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.dq = record.dv  # type: ignore[misc]
