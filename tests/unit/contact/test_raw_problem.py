"""Raw contact problems: Coulomb's law holds at what is returned as converged, and every problem ends."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

import setsu

Floats = NDArray[np.float64]


def _bodies(seed: int, bodies: int, contacts: int) -> tuple[Floats, Floats]:
    """W and b of random contacts of unit bodies among themselves and with the ground, met at random velocities."""
    r = np.random.default_rng(seed)
    K = np.zeros((3 * contacts, 6 * bodies))
    for i in range(contacts):
        axes = np.linalg.qr(r.normal(size=(3, 3)))[0]
        first, second = int(r.integers(bodies)), int(r.integers(-1, bodies))
        for body, sign in ((first, 1.0), (second, -1.0)):
            if body >= 0 and (sign > 0.0 or second != first):
                arm = r.uniform(-1.0, 1.0, 3)
                block = np.hstack([axes, axes @ -np.cross(np.eye(3), arm)])
                K[3 * i : 3 * i + 3, 6 * body : 6 * body + 6] += sign * block
    return K @ K.T, K @ r.normal(size=6 * bodies)


def _assert_coulomb(
    W: Floats, b: Floats, mu: Floats, r: setsu.contact.ContactSolution, tolerance: float = 1e-8
) -> None:
    """Signorini's and Coulomb's laws, each on its own: not the map that the solver makes zero."""
    f, u = r.impulses.reshape(-1, 3), r.velocities.reshape(-1, 3)
    assert np.allclose(W @ f.ravel() + b.ravel(), u.ravel(), atol=1e-12 * np.abs(W).max() * np.abs(f).max(initial=1.0))
    rho = 3.0 / np.maximum(np.einsum("iaia->i", W.reshape(len(f), 3, len(f), 3)), 1e-300)
    scale = (rho[:, None] * np.abs(b.reshape(-1, 3))).max()
    # A natural map of size t allows impulses and velocities (times ρ) a few t, their products t times their sizes.
    room = 4.0 * tolerance * scale * (1.0 + mu)
    ft, ut = np.hypot(f[:, 1], f[:, 2]), np.hypot(u[:, 1], u[:, 2])
    assert (f[:, 0] >= 0.0).all()
    assert (ft <= mu * f[:, 0] + 1e-14 * scale).all()
    assert (rho * u[:, 0] >= -room).all()
    assert (np.minimum(f[:, 0], rho * u[:, 0]) <= room).all()
    # Sliding: friction has its limit and opposes the velocity.
    along = f[:, 1] * u[:, 1] + f[:, 2] * u[:, 2]
    sliding = rho * ut > 100.0 * room
    assert (np.abs(ft - mu * f[:, 0])[sliding] <= 10.0 * room[sliding]).all()
    assert (along[sliding] <= (-mu * f[:, 0] * ut + 10.0 * room * ut)[sliding]).all()


@pytest.mark.parametrize("mu", [0.0, 0.1, 0.5, 1.5])
@pytest.mark.parametrize(("bodies", "contacts"), [(1, 4), (3, 10), (6, 12)])
def test_random_problems(mu: float, bodies: int, contacts: int) -> None:
    solved = 0
    for seed in range(12):
        W, b = _bodies(seed, bodies, contacts)
        r = setsu.contact.solve(W, b, mu)
        assert r.rounds <= 200
        assert r.converged == (r.residual <= 1e-8)
        f = r.impulses.reshape(-1, 3)
        assert (np.hypot(f[:, 1], f[:, 2]) <= mu * f[:, 0] * (1.0 + 1e-12) + 1e-300).all()
        if r.converged:
            solved += 1
            _assert_coulomb(W, b, np.full(contacts, mu), r)
    # Random axes with large friction make problems that jam; all others are solved.
    assert solved >= (12 if mu <= 0.5 else 10)


def test_frictionless_is_the_lcp() -> None:
    # Without friction the normal impulses solve a quadratic program with bounds: its conditions, to rounding.
    W, b = _bodies(5, 4, 9)
    r = setsu.contact.solve(W, b, 0.0)
    assert r.converged
    f, u = r.impulses[0::3], r.velocities[0::3]
    assert not r.impulses[1::3].any()
    assert not r.impulses[2::3].any()
    assert f.min() >= 0.0
    assert u.min() >= -1e-8
    assert np.abs(f * u).max() < 1e-7


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_do_not_matter(factor: float) -> None:
    W, b = _bodies(2, 3, 8)
    one = setsu.contact.solve(W, b, 0.4)
    heavy, fast = setsu.contact.solve(factor * W, b, 0.4), setsu.contact.solve(W, factor * b, 0.4)
    size = np.abs(one.impulses).max()
    for other, unit in ((heavy, 1.0 / factor), (fast, factor)):
        assert other.converged
        assert np.abs(other.impulses / unit - one.impulses).max() < 1e-5 * size


def test_order_of_contacts_does_not_matter() -> None:
    W, b = _bodies(4, 6, 8)
    assert np.linalg.matrix_rank(W) == len(W)  # the impulses are unique
    mu = np.linspace(0.0, 0.5, 8)
    r = setsu.contact.solve(W, b, mu)
    order = np.random.default_rng(0).permutation(8)
    rows = (3 * order[:, None] + np.arange(3)).ravel()
    turned = setsu.contact.solve(W[np.ix_(rows, rows)], b[rows], mu[order])
    assert r.converged
    assert turned.converged
    condition = float(np.linalg.cond(W))
    assert np.abs(turned.impulses - r.impulses[rows]).max() < 1e-8 * condition * np.abs(r.impulses).max()


def test_sparse_and_dense_agree_and_islands_are_apart() -> None:
    (W1, b1), (W2, b2) = _bodies(1, 2, 4), _bodies(2, 3, 5)
    W = scipy.sparse.block_diag([W1, W2], format="csr")
    both = setsu.contact.solve(W, np.concatenate([b1, b2]), 0.3)
    alone = [setsu.contact.solve(W1, b1, 0.3), setsu.contact.solve(W2, b2, 0.3)]
    assert np.array_equal(both.impulses, np.concatenate([r.impulses for r in alone]))
    assert both.rounds == max(r.rounds for r in alone)
    dense = setsu.contact.solve(W.toarray(), np.concatenate([b1, b2]).reshape(-1, 3), 0.3)
    assert np.array_equal(dense.impulses.ravel(), both.impulses)


@pytest.mark.parametrize("copies", [2, 5])
def test_hyperstatic(copies: int) -> None:
    # The same contact several times: W has the rank of one, and shares of the impulse are not unique, its sum is.
    W, b, mu = np.diag([1.0, 2.0, 2.0]), np.array([-1.0, 0.3, 0.4]), 0.2
    many = setsu.contact.solve(np.tile(W, (copies, copies)), np.tile(b, copies), mu)
    one = setsu.contact.solve(W, b, mu)
    assert many.converged
    assert np.abs(many.impulses.reshape(-1, 3).sum(axis=0) - one.impulses).max() < 1e-7


def test_closed_form_of_one_contact() -> None:
    # Sphere of W = 1 / m: it sticks where friction can stop it in the step, and slides on by what is left otherwise.
    for speed in (0.1, 0.5, 0.51, 3.0):
        r = setsu.contact.solve(np.eye(3) / 2.0, [-1.0, 0.6 * speed, 0.8 * speed], 0.5)
        impulse = 2.0 * min(speed, 0.5)
        assert np.allclose(r.impulses, [2.0, -0.6 * impulse, -0.8 * impulse], atol=1e-8)
        assert np.allclose(np.hypot(*r.velocities[1:]), max(0.0, speed - 0.5), atol=1e-8)


def test_contacts_that_open_and_nothing_to_do() -> None:
    assert not setsu.contact.solve(np.eye(6), [1.0, 0, 0, 0.5, 3, 4], 0.5).impulses.any()
    still = setsu.contact.solve(np.eye(3), np.zeros(3), 0.5)
    assert still.converged
    assert still.residual == 0.0
    empty = setsu.contact.solve(np.zeros((0, 0)), np.zeros(0), 0.5)
    assert empty.converged
    assert empty.impulses.shape == (0,)


@pytest.mark.parametrize(
    ("W", "b"),
    [
        (np.zeros((3, 3)), [-1.0, 0.0, 0.0]),  # nothing can stop it
        (np.diag([0.0, 1.0, 1.0]), [-1.0, 1.0, 0.0]),  # the normal is fixed
        (np.kron([[1.0, -1.0], [-1.0, 1.0]], np.eye(3)), [-1.0, 0, 0, -1.0, 0, 0]),  # squeezed between two walls
    ],
)
def test_problems_without_solution_end_and_say_so(W: Floats, b: list[float]) -> None:
    for mu in (0.0, 0.5, 1.5):
        r = setsu.contact.solve(W, b, mu)
        assert not r.converged
        assert r.residual > 1e-8
        assert r.rounds <= 200
        assert np.isfinite(r.impulses).all()


def test_jamming_ends() -> None:
    # Painlevé: a rod whose contact couples friction into the normal; with enough friction there may be no solution.
    W = np.array([[1.0, 0.0, 1.2], [0.0, 4.0, 0.0], [1.2, 0.0, 4.0]])
    for mu in (0.1, 0.5, 1.0, 3.0):
        for slip in (-2.0, -0.1, 0.1, 2.0):
            r = setsu.contact.solve(W, [-0.1, 0.0, slip], mu)
            assert r.rounds <= 200
            if r.converged:
                _assert_coulomb(W, np.array([-0.1, 0.0, slip]), np.array([mu]), r)


def test_the_same_twice() -> None:
    W, b = _bodies(8, 4, 12)
    one, two = setsu.contact.solve(W, b, 0.7), setsu.contact.solve(W, b, 0.7)
    assert np.array_equal(one.impulses, two.impulses)


@pytest.mark.parametrize(
    ("W", "b", "friction", "tolerance", "said"),
    [
        (np.eye(4), np.zeros(4), 0.5, 1e-8, "three rows per contact"),
        (np.zeros((3, 6)), np.zeros(3), 0.5, 1e-8, "square"),
        ("W", np.zeros(3), 0.5, 1e-8, "matrix of numbers"),
        (np.eye(3), np.zeros(6), 0.5, 1e-8, "b: expected shape"),
        (np.eye(3), [np.nan, 0, 0], 0.5, 1e-8, "not finite"),
        (np.diag([np.inf, 1, 1]), np.zeros(3), 0.5, 1e-8, r"W\[0, 0\] is inf"),
        (np.triu(np.ones((3, 3))), np.zeros(3), 0.5, 1e-8, "not symmetric"),
        (-np.eye(3), np.zeros(3), 0.5, 1e-8, "not positive semidefinite"),
        (np.array([[1.0, 2, 0], [2, 1, 0], [0, 0, 1]]), np.zeros(3), 0.5, 1e-8, "not positive semidefinite"),
        (np.eye(3), np.zeros(3), -0.1, 1e-8, "friction of contact 0 is -0.1"),
        (np.eye(3), np.zeros(3), [0.1, 0.2], 1e-8, r"friction: expected one number or shape \(1,\)"),
        (np.eye(3), np.zeros(3), 0.5, 0.0, "tolerance"),
    ],
)
def test_bad_input(W: object, b: object, friction: object, tolerance: float, said: str) -> None:
    with pytest.raises(setsu.InputError, match=said):
        setsu.contact.solve(W, b, friction, tolerance)  # type: ignore[arg-type]


def test_nothing_is_left_of_the_problem_before() -> None:
    # Islands share one workspace: whatever an island left there, even numbers that are not finite, changes nothing.
    from setsu.contact.cone_problem import make_cone_problem, solve_given

    results = []
    given = ("counts", "side", "jacobian_start", "jacobian", "node_size", "node_width")
    given += ("node_start", "free", "friction", "scale")
    for stale in (0.0, 1.0, np.nan):
        for seed in range(6):
            W, b = _bodies(seed, 2, 8)
            workspace = make_cone_problem(8, 1, 24, 24)
            p = workspace.fields
            for name, array in zip(p._fields, p, strict=True):
                if array.dtype == np.float64 and name not in (*given, "impulse", "numbers"):
                    array[...] = stale
            values, vectors = np.linalg.eigh(W)
            p.counts[:] = 8, 1, 24, 8
            p.side[:] = 0, -1
            p.node_size[0], p.node_width[0], p.jacobian_start[:, 0] = 24, 24, 72 * np.arange(8)
            p.jacobian[: 24 * 24] = (vectors * np.sqrt(np.maximum(values, 0.0))).ravel()
            p.free[:], p.friction[:] = b.reshape(-1, 3), 0.9
            p.scale[:] = 3.0 / np.einsum("iaia->i", W.reshape(8, 3, 8, 3))
            outcome = solve_given(workspace, 0.0, 1e-8, 1e-10, 1e-8, 200)  # type: ignore[arg-type]
            results.append((outcome, p.impulse.copy()))
    for k, (outcome, impulse) in enumerate(results):
        assert outcome == results[k % 6][0]
        assert np.array_equal(impulse, results[k % 6][1])
