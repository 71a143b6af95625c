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
