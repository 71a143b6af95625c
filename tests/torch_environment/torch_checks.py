"""The bridge to PyTorch: values of the library, derivatives of them, under every transformation.

Run by tests/torch_environment/test_torch.py in an environment that has PyTorch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import setsu

F64 = torch.float64


def states(m: setsu.Mechanism, *batch: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    count = int(np.prod(batch, dtype=int))
    q = np.array([m.random_configuration(k) for k in range(count)]).reshape(*batch, m.nq)
    return tuple(torch.tensor(x) for x in (q, rng.standard_normal((*batch, m.nv)), rng.standard_normal((*batch, m.nv))))


def close(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    expected = np.asarray(expected)
    np.testing.assert_allclose(
        np.asarray(found.detach()), expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max())
    )


def free_robot() -> setsu.Mechanism:
    types = ["Revolute", "Spherical", "Universal"]
    return setsu.sample_mechanisms.random_tree(2, n_bodies=4, joint_types=types, floating_base=True)


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics"])
def test_gradcheck_with_batches_and_quaternions(name: str) -> None:
    """By the numbers in q, quaternions that are not of length one among them; reverse and forward mode."""
    m = free_robot()
    f = setsu.interop.torch.function(m, name)
    q, v, x = states(m, 2)
    q[0, 3:7] *= 1.3
    close(f(q, v, x), getattr(setsu, name)(m, q.numpy(), v.numpy(), x.numpy()))
    inputs = [tensor.requires_grad_() for tensor in (q, v, x)]
    scaled = lambda *tensors: f(*tensors) / 50.0  # noqa: E731
    assert torch.autograd.gradcheck(scaled, inputs, check_forward_ad=True, rtol=1e-5, atol=1e-5)
    assert torch.autograd.gradcheck(scaled, inputs, check_forward_ad=True, check_batched_grad=True, fast_mode=True,
                                    rtol=1e-4, atol=1e-4)  # fmt: skip


def test_products_of_the_exact_jacobians() -> None:
    m = free_robot()
    f = setsu.interop.torch.function(m, "forward_dynamics")
    q, v, tau = states(m, 3)
    d = setsu.forward_dynamics_derivatives(m, q.numpy(), v.numpy(), tau.numpy())
    w = torch.tensor(np.random.default_rng(1).standard_normal((3, m.nv)))
    tau.requires_grad_()
    (f(q, v, tau) * w).sum().backward()
    close(tau.grad, np.einsum("ni,nij->nj", w.numpy(), d.dtau))
    _, tangent = torch.func.jvp(lambda v: f(q, v, tau.detach()), (v,), (w,))
    close(tangent, np.einsum("nij,nj->ni", d.dv, w.numpy()))


def test_broadcasting_sums_gradients() -> None:
    """One configuration for many torques: its gradient is the sum."""
    m = setsu.sample_mechanisms.planar_arm(2)
    f = setsu.interop.torch.function(m, "forward_dynamics")
    q, v, _ = states(m)
    tau = torch.randn(4, 5, 2, dtype=F64, generator=torch.Generator().manual_seed(0))
    q.requires_grad_()
    f(q, v, tau).sum().backward()
    d = setsu.forward_dynamics_derivatives(
        m, q.detach().expand(4, 5, 2).numpy(), np.zeros((4, 5, 2)) + v.numpy(), tau.numpy()
    )
    close(q.grad, d.dq.sum(axis=(0, 1, 2)))


def test_vmap_jacrev_jacfwd() -> None:
    m = setsu.sample_mechanisms.puma560()
    f = setsu.interop.torch.function(m, "forward_dynamics")
    q, v, tau = states(m, 5)
    whole = f(q, v, tau)
    close(torch.func.vmap(f)(q, v, tau), whole, 1e-13)
    close(torch.func.vmap(f, in_dims=(1, 1, None))(q.T, v.T, tau[0])[0], f(q[0], v[0], tau[0]), 1e-13)
    d = setsu.forward_dynamics_derivatives(m, q.numpy(), v.numpy(), tau.numpy())
    for mode in (torch.func.jacrev, torch.func.jacfwd):
        close(torch.func.vmap(mode(f, argnums=0))(q, v, tau), d.dq)
        close(mode(f, argnums=2)(q[0], v[0], tau[0]), d.dtau[0])


def test_constrained_dynamics_and_a_step() -> None:
    m = setsu.sample_mechanisms.four_bar()
    q = setsu.close_loops(m, [0.3, 0.0, 0.0])
    v, tau = np.zeros(m.nv), np.array([1.0, 0.0, 0.0])
    given = [torch.tensor(x) for x in (q, v, tau)]
    f = setsu.interop.torch.function(m, "constrained_dynamics")
    d = setsu.constrained_dynamics_derivatives(m, q, v, tau)
    close(torch.func.jacrev(f)(*given), d.dq)
    step = setsu.interop.torch.function(m, "step", step=0.01)
    sim = setsu.Simulator(m, step=0.01)
    sim.reset(q, v)
    of_step = sim.derivatives(tau)
    close(torch.func.jacrev(lambda x: step(given[0], given[1], x)[1])(given[2]), of_step.dv_dtau)
    sim.step(tau)
    close(step(*given)[0], sim.q, 1e-14)


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics"])
def test_inertial_parameters_of_bodies(name: str) -> None:
    m = setsu.sample_mechanisms.puma560()
    bodies = [m.body_names[-1], m.body_names[1]]
    f = setsu.interop.torch.function(m, name, parameters=bodies)
    theta = setsu.inertial_parameters(m).reshape(-1, 10)[[-1, 1]].ravel()
    theta = torch.tensor(np.stack([theta, 1.1 * theta]))
    q, v, x = states(m, 2)
    close(f(q[0], v[0], x[0], theta[0]), getattr(setsu, name)(m, q[0].numpy(), v[0].numpy(), x[0].numpy()))
    inputs = [tensor.requires_grad_() for tensor in (q, v, x, theta)]
    assert torch.autograd.gradcheck(f, inputs, check_forward_ad=True, fast_mode=True, rtol=1e-4, atol=1e-4)


def test_torch_compile_keeps_one_graph() -> None:
    """Value and gradient of a compiled loss are those of the eager one, without a break of the graph."""
    m = setsu.sample_mechanisms.planar_arm(2)
    step = setsu.interop.torch.function(m, "step", step=0.02)

    def loss(q: Any, v: Any, tau: Any) -> Any:
        for k in range(2):
            q, v = step(q, v, tau[k])
        return (q**2).sum() + (v**2).sum()

    q, v, _ = states(m, 3)
    tau = torch.ones(2, 3, 2, dtype=F64, requires_grad=True)
    eager = loss(q, v, tau)
    (expected,) = torch.autograd.grad(eager, tau)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    value = compiled(q, v, tau)
    close(value, eager.detach(), 1e-13)
    (found,) = torch.autograd.grad(value, tau)
    close(found, expected, 1e-13)
    # The default backend writes C++ around the operator.
    close(torch.compile(loss, fullgraph=True)(q, v, tau), eager.detach(), 1e-13)


def test_the_operators_pass_the_checks_of_pytorch() -> None:
    m = setsu.sample_mechanisms.planar_arm(2)
    setsu.interop.torch.function(m, "forward_dynamics")
    from setsu.interop.torch import _FUNCTIONS, _operators

    q, v, tau = states(m, 3)
    arguments = torch.cat([q, v, tau], dim=-1).requires_grad_()
    torch.library.opcheck(_operators().value, (arguments, len(_FUNCTIONS) - 1))


def test_precision_and_refusals() -> None:
    m = setsu.sample_mechanisms.pendulum()
    f = setsu.interop.torch.function(m, "forward_dynamics")
    q, v, tau = states(m, 4)
    single = f(q.float(), v.float(), tau.float())
    assert single.dtype == torch.float32
    double = f(q.float().double(), v.float().double(), tau.float().double())
    assert torch.equal(single, double.float())
    assert f(torch.ones(1, dtype=torch.int64), torch.ones(1), torch.ones(1)).dtype == torch.float32
    one = torch.ones(1, dtype=F64)
    with pytest.raises(setsu.InputError, match="second derivatives"):
        torch.func.hessian(lambda tau: f(one, one, tau)[0])(one)
    tau = one.clone().requires_grad_()
    (g,) = torch.autograd.grad((f(one, one, tau) ** 2).sum(), tau, create_graph=True)
    with pytest.raises(setsu.InputError, match="second derivatives"):
        g.sum().backward()
    with pytest.raises(setsu.InputError, match="expected 3 arrays"):
        f(one, one)
    with pytest.raises(setsu.InputError, match=r"expected \(..., 1\)"):
        f(torch.ones(2), one, one)
    with pytest.raises(setsu.InputError, match="no function"):
        setsu.interop.torch.function(m, "dynamics")
