"""Tiles: arrays of any size go through blocks of lanes unharmed, and nothing outside them is touched."""

import numpy as np
import pytest

import setsu
from setsu.dynamics.catalogue import native_function


@pytest.fixture(scope="module")
def chains() -> dict[int, setsu.Mechanism]:
    """Chains of 1 to 17 revolute joints: one piece of code, all widths around 8 and 16 lanes."""
    return {n: setsu.sample_mechanisms.planar_arm(n) for n in range(1, 18)}


@pytest.mark.parametrize("nv", range(1, 18))
def test_every_height_and_width(chains: dict[int, setsu.Mechanism], nv: int) -> None:
    """N = 1…17 states of nv numbers: each row is the row computed alone."""
    m = chains[nv]
    rng = np.random.default_rng(nv)
    q, v, a = rng.standard_normal((3, 17, nv))
    torque, matrix = native_function(m, "inverse_dynamics"), native_function(m, "mass_matrix")
    alone = np.array([torque(*state) for state in zip(q, v, a, strict=True)])
    matrices = np.array([matrix(row) for row in q])
    for n in range(1, 18):
        np.testing.assert_array_equal(torque(q[:n], v[:n], a[:n]), alone[:n])
        np.testing.assert_array_equal(matrix(q[:n]), matrices[:n])


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_an_empty_batch_gives_an_empty_result(chains: dict[int, setsu.Mechanism], shape: tuple[int, ...]) -> None:
    x = np.zeros((*shape, 5))
    assert setsu.inverse_dynamics(chains[5], x, x, x).shape == (*shape, 5)
    assert setsu.mass_matrix(chains[5], x).shape == (*shape, 5, 5)
    assert setsu.kinetic_energy(chains[5], x, x).shape == shape
    assert setsu.forward_dynamics(chains[5], x, x, x, method="unit_vector").shape == (*shape, 5)


def test_neighbours_of_a_view_are_not_read_or_written(chains: dict[int, setsu.Mechanism]) -> None:
    """A batch cut out of an array full of NaN: were a number beside it read, the result would be refused."""
    m = chains[7]
    q, v, a = np.full((3, 25, 7), np.nan)
    for array in (q, v, a):
        array[3:22] = np.random.default_rng(0).standard_normal((19, 7))
    result = setsu.inverse_dynamics(m, q[3:22], v[3:22], a[3:22])
    assert np.isfinite(result).all()
    assert np.isnan(q[:3]).all()
    assert np.isnan(q[22:]).all()


@pytest.mark.parametrize("place", [(0, 0), (6, 3), (7, 6), (8, 0), (18, 6)])
def test_a_bad_number_is_found_wherever_it_stands(chains: dict[int, setsu.Mechanism], place: tuple[int, int]) -> None:
    m = chains[7]
    q, v, a = np.zeros((3, 19, 7))
    for bad in (np.nan, np.inf, -np.inf):
        v[place] = bad
        with pytest.raises(setsu.InputError, match=rf"v\[{place[0]}, {place[1]}\] is {bad}"):
            setsu.inverse_dynamics(m, q, v, a)


def rock() -> setsu.Mechanism:
    return setsu.MechanismBuilder("rock").add_body("rock", mass=5.0).build()


@pytest.mark.parametrize("shape", [(), (3,), (0,)])
def test_a_mechanism_that_cannot_move(shape: tuple[int, ...]) -> None:
    """nv = 0: empty vectors in, empty vectors out, energies zero."""
    m, x = rock(), np.zeros((*shape, 0))
    assert setsu.inverse_dynamics(m, x, x, x).shape == (*shape, 0)
    for method in ("articulated_body", "composite_body", "unit_vector"):
        assert setsu.forward_dynamics(m, x, x, x, method=method).shape == (*shape, 0)
    assert setsu.mass_matrix(m, x).shape == (*shape, 0, 0)
    assert setsu.body_poses(m, x).shape == (*shape, 0, 4, 4)
    assert setsu.regressor(m, x, x, x).shape == (*shape, 0, 0)
    assert setsu.joint_wrenches(m, x, x, x).shape == (*shape, 0, 6)
    assert setsu.inverse_dynamics_derivatives(m, x, x, x).dq.shape == (*shape, 0, 0)
    assert setsu.integrate(m, x, x, 0.1).shape == (*shape, 0)
    np.testing.assert_array_equal(setsu.kinetic_energy(m, x, x), np.zeros(shape))
    np.testing.assert_array_equal(setsu.point_jacobian(m, x, "rock"), np.zeros((*shape, 3, 0)))


def test_the_center_of_nothing_is_refused() -> None:
    with pytest.raises(setsu.InputError, match="center_of_mass: the result is not finite"):
        setsu.center_of_mass(rock(), np.zeros(0))
