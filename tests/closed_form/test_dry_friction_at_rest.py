"""Dry friction of joints at rest against its convex problem, solved by another program."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import setsu
from setsu.constraints.dry_friction import friction_at_rest


def _chain(links: int, coulomb: float) -> setsu.Mechanism:
    b = setsu.MechanismBuilder("chain", gravity=(0, 0, -9.81))
    for k in range(links):
        b.add_body(
            f"l{k}", "world" if k == 0 else f"l{k - 1}", setsu.Revolute((0, 1, 0), f"h{k}", coulomb=coulomb),
            placement=setsu.placement((0.0 if k == 0 else 0.1, 0, 0)), mass=0.1, center_of_mass=(0.05, 0, 0),
            inertia=np.eye(3) * 1e-4,
        )  # fmt: skip
    return b.build()


def test_a_joint_at_rest_is_held_up_to_its_limit() -> None:
    b = setsu.MechanismBuilder("slider", gravity=(0, 0, 0))
    b.add_body("s", "world", setsu.Prismatic((1, 0, 0), coulomb=2.0), mass=1.0)
    m = b.build()
    for force, a in ((1.5, 0.0), (-1.5, 0.0), (2.5, 0.5), (-3.0, -1.0)):
        assert setsu.constrained_dynamics(m, [0.0], [0.0], [force]).acceleration[0] == pytest.approx(a, abs=1e-12)
    assert setsu.constrained_dynamics(m, [0.0], [1.0], [1.5]).acceleration[0] == pytest.approx(-0.5)


@pytest.mark.parametrize("links", [10, 28, 60])
def test_a_chain_at_rest_follows_the_convex_problem(links: int) -> None:
    m = _chain(links, 0.2)
    zero = np.zeros(links)
    M, bias = setsu.mass_matrix(m, zero), setsu.bias_torque(m, zero, zero)
    # min ½ fᵀM⁻¹f - fᵀM⁻¹bias is |L⁻¹(f - bias)|² for M = L Lᵀ, with |f| <= c.
    inverse = np.linalg.inv(np.linalg.cholesky(M))
    wanted = lsq_linear(inverse, inverse @ bias, (-0.2, 0.2), method="bvls", tol=1e-14).x
    a = setsu.constrained_dynamics(m, zero, zero, zero).acceleration
    expected = np.linalg.solve(M, wanted - bias)
    np.testing.assert_allclose(a, expected, atol=1e-8 * np.abs(expected).max())
    if links == 28:
        recording = setsu.simulate(m, zero, zero, 0.01, 1e-3)
        np.testing.assert_allclose(recording.acceleration[0], a, atol=1e-7 * np.abs(a).max())


def test_forces_of_random_boxes_satisfy_the_conditions() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 3, 20, 80):
        X = rng.normal(size=(n, n + 2))
        A, b, c = X @ X.T, rng.normal(size=n) * 3.0, rng.uniform(0.0, 1.0, n)
        f = friction_at_rest(A, b, c)
        w, room = A @ f + b, 1e-8 * np.abs(b).max()
        assert (np.abs(f) <= c).all()
        assert (np.abs(w[np.abs(f) < c]) < room).all()
        assert (w * np.sign(f) < room)[np.abs(f) == c].all()


@pytest.mark.parametrize("seed", range(40))
def test_friction_that_loops_leave_undetermined_is_the_least(seed: int) -> None:
    """Axes that can only move together: A is singular but for rounding, which may leave it definite or not."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    rank = int(rng.integers(1, n))
    Z = rng.standard_normal((rank, n))
    Z /= np.linalg.norm(Z, axis=0)
    A = Z.T @ Z + 3e-16 * np.diag(rng.uniform(-1.0, 1.0, n))
    b = Z.T @ rng.standard_normal(rank)
    f = friction_at_rest(A, b, np.full(n, 1e3))
    np.testing.assert_allclose(f, -np.linalg.pinv(Z) @ np.linalg.pinv(Z.T) @ b, atol=1e-9)


def test_forces_of_a_closed_loop_at_rest_do_not_hang_on_rounding() -> None:
    """Five joints, two rows, four joints with dry friction: six forces in five equations."""
    from setsu.reproduce.isobe2003 import systems

    m = systems.two_arms_with_object()
    q = systems.object_swing(3).q[0]
    tau = np.array([-0.175, -0.066, 0.175, 0.066, 0.0])
    expected = setsu.constrained_dynamics(m, q, np.zeros(5), tau)
    rng = np.random.default_rng(0)
    for _ in range(20):
        near = setsu.close_loops(m, q + 1e-12 * rng.standard_normal(5))
        found = setsu.constrained_dynamics(m, near, np.zeros(5), tau)
        np.testing.assert_allclose(found.loop_wrench, expected.loop_wrench, atol=1e-8)
