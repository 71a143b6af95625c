"""Derivatives of inverse and forward dynamics against complex steps through the kernels they differentiate."""

import numpy as np
from identities.complex_step import directional
from identities.zoo import animal, assert_law, over_the_zoo

import setsu


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
