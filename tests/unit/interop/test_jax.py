"""The bridge to JAX: values of the library, derivatives of them, under every transformation."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import setsu

jax.config.update("jax_enable_x64", True)
jnp = jax.numpy


def states(m: setsu.Mechanism, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    q = np.array([m.random_configuration(k) for k in range(count)])
    return q, rng.standard_normal((count, m.nv)), rng.standard_normal((count, m.nv))


def differences(f: Any, x: np.ndarray, e: float = 1e-3) -> np.ndarray:
    """Fourth-order differences of f by the numbers in x, last axis of the result."""
    columns = []
    for unit in np.eye(x.size):
        values = [np.asarray(f(x + k * e * unit)) for k in (-2.0, -1.0, 1.0, 2.0)]
        columns.append((8.0 * (values[2] - values[1]) - (values[3] - values[0])) / (12.0 * e))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics"])
def test_jacobians_by_coordinates(name: str) -> None:
    """By the numbers in q, quaternions that are not of length one among them; forward and reverse mode."""
    types = ["Revolute", "Spherical", "Universal"]
    m = setsu.sample_mechanisms.random_tree(2, n_bodies=4, joint_types=types, floating_base=True)
    f, plain = setsu.interop.jax.function(m, name), getattr(setsu, name)
    q, v, x = (array[0] for array in states(m, 1))
    q = q.copy()
    q[3:7] *= 1.3
    np.testing.assert_allclose(f(q, v, x), plain(m, q, v, x), rtol=0, atol=1e-12)
    for k in range(3):
        given = [q, v, x]
        expected = differences(lambda y, k=k, given=given: plain(m, *given[:k], y, *given[k + 1 :]), given[k])
        for mode in (jax.jacfwd, jax.jacrev):
            found = mode(f, argnums=k)(*(jnp.asarray(array) for array in given))
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_jit_vmap_and_grad_agree() -> None:
    """A batch by vmap, by our own batch axes and row by row."""
    m = setsu.sample_mechanisms.puma560()
    f = setsu.interop.jax.function(m, "forward_dynamics")
    q, v, tau = (jnp.asarray(array) for array in states(m, 5))
    whole = jax.jit(f)(q, v, tau)
    np.testing.assert_allclose(jax.vmap(f)(q, v, tau), whole, rtol=0, atol=1e-13)
    np.testing.assert_allclose(whole[2], f(q[2], v[2], tau[2]), rtol=0, atol=1e-13)

    def loss(tau: Any) -> Any:
        return (f(q, v, tau) ** 2).sum()

    g = jax.jit(jax.grad(loss))(tau)
    d = setsu.forward_dynamics_derivatives(m, q, v, tau)
    expected = 2.0 * np.einsum("nij,ni->nj", d.dtau, whole)
    np.testing.assert_allclose(g, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_allclose(jax.vmap(jax.grad(lambda t, q, v: (f(q, v, t) ** 2).sum()))(tau, q, v), expected,
                               rtol=0, atol=1e-10 * np.abs(expected).max())  # fmt: skip


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics"])
def test_inertial_parameters_of_bodies(name: str) -> None:
    """A fourth argument, another for each world: values of the changed mechanism, derivatives beside differences."""
    m = setsu.sample_mechanisms.puma560()
    f = setsu.interop.jax.function(m, name, parameters=[m.body_names[-1], m.body_names[1]])
    all_of_them = setsu.inertial_parameters(m).reshape(-1, 10)
    q, v, x = states(m, 2)
    scales, heavier = np.array([1.0, 1.2]), all_of_them.copy()
    theta = scales[:, None] * all_of_them[[-1, 1]].ravel()
    heavier[[-1, 1]] *= scales[1]
    found = f(q, v, x, theta)
    other = setsu.with_parameters(m, heavier.ravel())
    np.testing.assert_allclose(found[0], getattr(setsu, name)(m, q[0], v[0], x[0]), rtol=0, atol=1e-11)
    np.testing.assert_allclose(found[1], getattr(setsu, name)(other, q[1], v[1], x[1]), rtol=0, atol=1e-11)
    slopes = jax.jacrev(f, argnums=3)(q[1], v[1], x[1], jnp.asarray(theta[1]))
    expected = differences(lambda y: f(q[1], v[1], x[1], y), theta[1], 1e-5)
    np.testing.assert_allclose(slopes, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    with pytest.raises(setsu.InputError, match="no moving body 'hand'"):
        setsu.interop.jax.function(m, name, parameters=["hand"])
    with pytest.raises(setsu.InputError, match="expected forward_dynamics or inverse_dynamics"):
        setsu.interop.jax.function(m, "step", parameters=[m.body_names[-1]])


def test_constrained_dynamics_and_a_step() -> None:
    """Through loops: the derivatives of the library."""
    m = setsu.sample_mechanisms.four_bar()
    q = setsu.close_loops(m, [0.3, 0.0, 0.0])
    v, tau = np.zeros(m.nv), np.array([1.0, 0.0, 0.0])
    f = setsu.interop.jax.function(m, "constrained_dynamics")
    d = setsu.constrained_dynamics_derivatives(m, q, v, tau)
    np.testing.assert_allclose(jax.jacrev(f)(q, v, tau), d.dq, rtol=0, atol=1e-12 * np.abs(d.dq).max())
    step = setsu.interop.jax.function(m, "step", step=0.01)
    sim = setsu.Simulator(m, step=0.01)
    sim.reset(q, v)
    of_step = sim.derivatives(tau)
    by_tau = jax.jacrev(lambda x: step(q, v, x)[1])(jnp.asarray(tau))
    np.testing.assert_allclose(by_tau, of_step.dv_dtau, rtol=0, atol=1e-12)
    sim.step(tau)
    np.testing.assert_allclose(step(q, v, tau)[0], sim.q, rtol=0, atol=1e-14)


def test_a_step_of_a_free_body_by_quaternions() -> None:
    """Results that are configurations are differentiated by their numbers too."""
    m = setsu.sample_mechanisms.floating_box()
    step = setsu.interop.jax.function(m, "step", step=0.05)
    rng = np.random.default_rng(1)
    q, v, tau = m.random_configuration(2), rng.standard_normal(6), rng.standard_normal(6)
    found = jax.jacfwd(lambda x: step(q, x, tau)[0])(jnp.asarray(v))
    expected = differences(lambda x: step(q, x, tau)[0], v)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_precision_and_refusals() -> None:
    """float32 comes back as float32; second derivatives and wrong arguments say what is wrong."""
    m = setsu.sample_mechanisms.pendulum()
    f = setsu.interop.jax.function(m, "forward_dynamics")
    single = f(*(jnp.ones(1, dtype=jnp.float32) for _ in range(3)))
    assert single.dtype == jnp.float32
    one = jnp.ones(1)
    with pytest.raises(setsu.InputError, match="second derivatives"):
        jax.hessian(lambda tau: f(one, one, tau)[0])(one)
    with pytest.raises(setsu.InputError, match="expected 3 arrays"):
        f(one, one)
    with pytest.raises(setsu.InputError, match=r"expected \(..., 1\)"):
        f(jnp.ones(2), one, one)
    with pytest.raises(setsu.InputError, match="no function"):
        setsu.interop.jax.function(m, "dynamics")
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(setsu.InputError, match="single precision"):
            setsu.interop.jax.function(m, "forward_dynamics")
    finally:
        jax.config.update("jax_enable_x64", True)
