"""Generated C for CasADi: values by the library, first and second derivatives by fourth-order differences."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import setsu


def external(m: setsu.Mechanism, function: str, folder: Path, **options):
    code = setsu.generate(m, function, language="casadi", **options)
    [path] = code.write(folder)
    library = path.with_suffix(".so")
    subprocess.run(
        ["cc", "-O0", "-Wall", "-Werror", "-std=c99", "-fPIC", "-shared", path, "-o", library, "-lm"], check=True
    )
    return ca.external(code.name, str(library))


def slopes(f: Callable[[np.ndarray], np.ndarray], z: np.ndarray) -> np.ndarray:
    e = 1e-3
    columns = [
        (8 * (f(z + e * u) - f(z - e * u)) - f(z + 2 * e * u) + f(z - 2 * e * u)) / (12 * e) for u in np.eye(len(z))
    ]
    return np.stack(columns, axis=-1)


def assert_derivatives(f, arguments: list[np.ndarray]) -> None:
    """Jacobian and Hessian of λᵀf as CasADi finds them, through the generated derivatives."""
    sizes, z = [len(a) for a in arguments], np.concatenate(arguments)
    x = [ca.MX.sym(f"x{k}", n) for k, n in enumerate(sizes)]
    y, together = ca.vec(f(*x)), ca.vertcat(*x)
    weights = np.random.default_rng(0).standard_normal(y.shape[0])
    J = ca.Function("J", x, [ca.densify(ca.jacobian(y, together))])
    H = ca.Function("H", x, [ca.densify(ca.hessian(ca.dot(y, weights), together)[0])])

    def cut(z: np.ndarray) -> list[np.ndarray]:
        return np.split(z, np.cumsum(sizes)[:-1])

    by_f = slopes(lambda z: np.array(ca.vec(ca.densify(f(*cut(z))))).ravel(), z)
    by_g = slopes(lambda z: weights @ np.array(J(*cut(z))), z)
    np.testing.assert_allclose(np.array(J(*arguments)), by_f, rtol=0, atol=1e-9 * np.abs(by_f).max())
    np.testing.assert_allclose(np.array(H(*arguments)), by_g, rtol=0, atol=1e-8 * np.abs(by_g).max())


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
def test_a_tree_with_a_quaternion(function: str, tmp_path: Path) -> None:
    """Derivatives by q are by its numbers."""
    b = setsu.MechanismBuilder("swinging")
    b.add_body(
        "a", joint=setsu.Spherical(name="ball"), mass=1.0, center_of_mass=(0.1, 0, -0.3), inertia=0.1 * np.eye(3)
    )
    hinge = setsu.Revolute((0, 1, 0), name="hinge", damping=0.3)
    b.add_body("b", "a", hinge, setsu.placement((0, 0, -0.5)), 0.5, (0, 0, -0.2), 0.02 * np.eye(3))
    m = b.build()
    rng = np.random.default_rng(1)
    q, v, third = m.random_configuration(2), rng.standard_normal(m.nv), rng.standard_normal(m.nv)
    f = external(m, function, tmp_path)
    expected = getattr(setsu, function)(m, q, v, third)
    np.testing.assert_allclose(np.array(f(q, v, third)).ravel(), expected, rtol=1e-11)
    assert_derivatives(f, [q, v, third])


def test_loops(tmp_path: Path) -> None:
    m = setsu.sample_mechanisms.four_bar()
    q = setsu.close_loops(m, m.neutral())
    v = setsu.consistent_velocity(m, q, np.ones(m.nv))
    f = external(m, "constrained_dynamics", tmp_path, actuated=[m.joint_names[0]])
    tau = np.zeros(m.nv)
    tau[0] = 0.7
    expected = setsu.constrained_dynamics(m, q, v, tau).acceleration
    np.testing.assert_allclose(np.array(f(q, v, [0.7])).ravel(), expected, rtol=1e-9)
    assert_derivatives(f, [q, v, np.array([0.7])])


def test_matrices_and_sparsity(tmp_path: Path) -> None:
    """Matrices have their shape, and what never depends on anything is no part of the Jacobian."""
    m = setsu.sample_mechanisms.planar_arm(3)
    q = np.array([0.2, -0.4, 0.9])
    f = external(m, "mass_matrix", tmp_path)
    assert f.size_out(0) == (3, 3)
    np.testing.assert_allclose(np.array(f(q)), setsu.mass_matrix(m, q), rtol=1e-13)
    assert_derivatives(f, [q])
    jacobian = f.jacobian()
    assert jacobian.sparsity_out(0).nnz() < 27  # nothing depends on the first angle
    J = external(m, "point_jacobian", tmp_path, body="link3")
    point = np.array([0.3, 0.0, 0.1])
    np.testing.assert_allclose(np.array(J(q, point)), setsu.point_jacobian(m, q, "link3", point), atol=1e-14)
    # A Jacobian within a constraint: its adjoint is there too.
    x = ca.MX.sym("x", 3)
    inner = ca.jacobian(J(x, point)[0, :] @ np.ones(3), x)
    slope = ca.Function("s", [x], [ca.gradient(ca.sumsqr(inner), x)])
    value = ca.Function("v", [x], [ca.sumsqr(inner)])
    expected = slopes(lambda z: np.array(value(z)).ravel(), q)[0]
    np.testing.assert_allclose(np.array(slope(q)).ravel(), expected, rtol=1e-8, atol=1e-10)


def test_threads_and_missing_arguments(tmp_path: Path) -> None:
    """Maps over threads give the same; an argument left out counts as zero."""
    m = setsu.sample_mechanisms.planar_arm(2)
    f = external(m, "inverse_dynamics", tmp_path)
    rng = np.random.default_rng(0)
    q, v, a = (rng.standard_normal((2, 20)) for _ in range(3))
    many = np.array(f.map(20, "thread", 2)(q, v, a))
    np.testing.assert_array_equal(many, setsu_rows(f, q, v, a))
    np.testing.assert_allclose(many.T, setsu.inverse_dynamics(m, q.T, v.T, a.T), rtol=1e-11, atol=1e-12)
    weight = np.array(f(q=q[:, 0])["tau"]).ravel()
    np.testing.assert_allclose(weight, setsu.gravity_torque(m, q[:, 0]), rtol=1e-12)


def setsu_rows(f, *arrays: np.ndarray) -> np.ndarray:
    return np.stack([np.array(f(*(x[:, k] for x in arrays))).ravel() for k in range(arrays[0].shape[1])], axis=1)


def test_what_is_too_long_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from setsu.code_generation import casadi_source

    monkeypatch.setattr(casadi_source, "_MOST_OPERATIONS", 10)
    with pytest.warns(setsu.ModelWarning, match="limited-memory"):
        code = setsu.generate(setsu.sample_mechanisms.planar_arm(2), "inverse_dynamics", language="casadi")
    assert "jac_adj1_" not in code.source
