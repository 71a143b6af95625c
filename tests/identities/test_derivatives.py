"""Derivatives of inverse and forward dynamics against complex steps through the kernels they differentiate."""

from collections.abc import Callable

import numpy as np
import pytest
from identities.complex_step import directional
from identities.zoo import animal, assert_law, over_the_zoo

import setsu

pytestmark = pytest.mark.thin(3)


def jacobian(m: setsu.Mechanism, kernel: str, state: dict[str, np.ndarray], by: str) -> np.ndarray:
    """Derivative (nv, nv) of a kernel's one output by an argument, column by column."""
    columns = [next(iter(directional(m, kernel, state, {by: e}).values())) for e in np.eye(m.nv)]
    return np.stack(columns, axis=-1)


@over_the_zoo
def test_inverse_dynamics(name: str) -> None:
    """∂ID/∂q, ∂ID/∂v, ∂ID/∂a; dry friction is flat away from v = 0."""
    x = animal(name)
    m = x.mechanism
    record = setsu.inverse_dynamics_derivatives(m, x.q, x.v, x.a)
    state = {"q": x.q[0], "v": x.v[0], "a": x.a[0]}
    for key, by in (("dq", "q"), ("dv", "v"), ("da", "a")):
        expected = jacobian(m, "inverse_dynamics", state, by)
        assert_law(getattr(record, key)[0], expected, [expected], c=200)
    np.testing.assert_allclose(record.da, setsu.mass_matrix(m, x.q), rtol=0, atol=1e-13 * np.abs(record.da).max())


@over_the_zoo
def test_forward_dynamics(name: str) -> None:
    """∂FD/∂q, ∂FD/∂v, ∂FD/∂tau. They contain M⁻¹: the tolerance is c κ(M) ε."""
    x = animal(name)
    m = x.mechanism
    record = setsu.forward_dynamics_derivatives(m, x.q, x.v, x.tau)
    state = {"q": x.q[0], "v": x.v[0], "tau": x.tau[0]}
    condition = float(np.linalg.cond(setsu.mass_matrix(m, x.q[0])))
    for key, by in (("dq", "q"), ("dv", "v"), ("dtau", "tau")):
        expected = jacobian(m, "forward_dynamics", state, by)
        assert_law(getattr(record, key)[0], expected, [expected], c=20, condition=condition)


@over_the_zoo
def test_forward_derivatives_are_inverse_ones_through_the_mass_matrix(name: str) -> None:
    """∂FD/∂x = -M⁻¹ ∂ID/∂x at a = FD, and ∂FD/∂tau = M⁻¹."""
    x = animal(name)
    m = x.mechanism
    M = setsu.mass_matrix(m, x.q)
    condition = float(np.linalg.cond(M).max())
    a = setsu.forward_dynamics(m, x.q, x.v, x.tau)
    forward = setsu.forward_dynamics_derivatives(m, x.q, x.v, x.tau)
    inverse = setsu.inverse_dynamics_derivatives(m, x.q, x.v, a)
    for key in ("dq", "dv"):
        expected = -np.linalg.solve(M, getattr(inverse, key))
        assert_law(getattr(forward, key), expected, [expected], c=50, condition=condition)
    assert_law(forward.dtau, np.linalg.inv(M), [forward.dtau], c=50, condition=condition)


def _differences(m: setsu.Mechanism, f: Callable[[np.ndarray], np.ndarray], q: np.ndarray) -> np.ndarray:
    """Fourth-order differences (nv, nv) of f along the coordinates."""
    e = 1e-3
    steps = e * np.array([-2.0, -1.0, 1.0, 2.0])[:, None, None] * np.eye(m.nv)
    values = f(setsu.integrate(m, q, steps, 1.0))
    return ((8.0 * (values[2] - values[1]) - (values[3] - values[0])) / (12.0 * e)).T


@pytest.mark.parametrize("name", ["fixed 0", "floating 3", "chain of Spherical", "chain of Universal"])
@pytest.mark.parametrize("by_frame", [False, True])
def test_external_wrenches(name: str, by_frame: bool) -> None:
    """Wrenches keep their directions in the world while their points move, at body origins or at frames."""
    x = animal(name)
    m, q, v = x.mechanism, x.q[0], x.v[0]
    frames = [frame for frame in m.frame_names if frame != "world"]
    external = dict.fromkeys(frames[-2:], 10.0 * x.external[0, 0]) if by_frame else 10.0 * x.external[0]
    inverse = setsu.inverse_dynamics_derivatives(m, q, v, x.a[0], external)
    expected = _differences(m, lambda Q: setsu.inverse_dynamics(m, Q, v, x.a[0], external), q)
    np.testing.assert_allclose(inverse.dq, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    forward = setsu.forward_dynamics_derivatives(m, q, v, x.tau[0], external)
    expected = _differences(m, lambda Q: setsu.forward_dynamics(m, Q, v, x.tau[0], external), q)
    np.testing.assert_allclose(forward.dq, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    if not by_frame:
        many = setsu.inverse_dynamics_derivatives(m, x.q, x.v, x.a, np.broadcast_to(external, x.external.shape))
        np.testing.assert_allclose(many.dq[0], inverse.dq, rtol=0, atol=1e-12 * np.abs(inverse.dq).max())


def test_inertial_parameters() -> None:
    """∂FD/∂p times a small change of the parameters is the change of the accelerations, to second order."""
    x = animal("fixed 1")
    m = x.mechanism
    d = setsu.forward_dynamics_parameter_derivatives(m, x.q, x.v, x.tau)
    # Accelerations under torques that are changed instead: M da = -Y dp at fixed torques.
    dp = 1e-3 * np.random.default_rng(0).standard_normal(d.shape[-1])
    a = setsu.forward_dynamics(m, x.q, x.v, x.tau)
    moved = setsu.forward_dynamics(m, x.q, x.v, x.tau - setsu.regressor(m, x.q, x.v, a) @ dp)
    np.testing.assert_allclose(a + d @ dp, moved, rtol=0, atol=1e-10 * np.abs(a).max())
