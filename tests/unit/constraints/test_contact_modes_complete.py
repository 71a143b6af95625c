"""The search for contact modes is complete: it finds one wherever one exists, and otherwise proves that there is none.

For contacts at rest a solution always exists (the complementarity problem is copositive). For sliding ones it may not
(Painlevé); all modes tried one by one then say so too.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from setsu.constraints.contact_forces import OPEN, SLIDING, STARTING, STICKING, solve_contacts
from setsu.constraints.contact_modes_solve import ContactProblem
from setsu.constraints.contact_pivoting import pivot_contacts


def coupled(count, c, nv, moving_part, seed):
    """Random contacts on a system of nv freedoms: B (N, c, 3, c, 3), b (N, c, 3), and which of them slide."""
    rng = np.random.default_rng(seed)
    J = rng.standard_normal((count, 3 * c, nv))
    B = (J @ np.swapaxes(J, 1, 2)).reshape(count, c, 3, c, 3)
    b = (J @ rng.standard_normal((count, nv, 1))).reshape(count, c, 3)
    return B, b, rng.random((count, c)) < moving_part


def assert_laws(B, b, K, force, moving):
    """Signorini's and Coulomb's laws for one state, at the level of accelerations."""
    x = np.einsum("kilj,lj->ki", B, force) + b
    size = np.abs(b).max() + np.abs(B).max() * np.abs(force).max()
    normal, tangent, slip = force[:, 0], force[:, 1:], x[:, 1:]
    assert (normal >= -1e-9 * size).all()
    assert (x[:, 0] >= -1e-9 * size).all()
    np.testing.assert_allclose(normal * x[:, 0], 0.0, atol=1e-9 * size**2)
    for k in range(len(b)):
        if moving[k]:
            np.testing.assert_allclose(tangent[k], [-K * normal[k], 0.0], atol=1e-9 * size)
            continue
        assert np.linalg.norm(tangent[k]) <= K * normal[k] + 1e-9 * size
        # Friction opposes the start of sliding with all it has.
        lost = np.linalg.norm(slip[k]) * K * normal[k]
        np.testing.assert_allclose(tangent[k] @ slip[k], -lost, atol=1e-8 * size**2)


@pytest.mark.parametrize(("c", "nv", "K"), [(4, 6, 0.8), (6, 6, 0.3), (6, 6, 0.8), (6, 12, 0.8), (8, 12, 0.8)])
def test_contacts_at_rest_always_find_their_modes(c, nv, K):
    B, b, moving = coupled(60, c, nv, 0.0, 1)
    found = solve_contacts(B, b, np.full(c, K), np.zeros(c, dtype=bool), moving)
    assert found.converged.all()
    for state in range(len(b)):
        assert_laws(B[state], b[state], K, found.force[state], moving[state])


def test_sliding_contacts_find_their_modes_unless_none_of_all_modes_is_consistent():
    """All contacts slide, so that modes are open or sliding: 2^c linear systems decide whether a solution exists."""
    c, K = 5, 0.8
    B, b, moving = coupled(150, c, 8, 1.0, 3)
    found = solve_contacts(B, b, np.full(c, K), np.zeros(c, dtype=bool), moving)
    jammed = 0
    for state in range(len(b)):
        if found.converged[state]:
            assert_laws(B[state], b[state], K, found.force[state], moving[state])
            continue
        assert found.impossible[state]
        jammed += 1
        A, p = B[state, :, 0, :, 0] - K * B[state, :, 0, :, 1], b[state, :, 0]
        for closed in itertools.product((False, True), repeat=c):
            where = np.flatnonzero(closed)
            f = np.zeros(c)
            f[where] = np.linalg.solve(A[np.ix_(where, where)], -p[where])
            assert min(f.min(), (A @ f + p)[~np.array(closed)].min(initial=np.inf)) < 0.0
    assert 0 < jammed < 15  # both outcomes are met


@pytest.mark.parametrize(("c", "nv", "K", "count"), [(3, 6, 0.8, 200), (4, 6, 0.8, 300), (6, 12, 0.8, 60)])
def test_contacts_of_which_half_slide_find_their_modes_or_the_proof_that_there_are_none(c, nv, K, count):
    B, b, moving = coupled(count, c, nv, 0.5, 11)
    found = solve_contacts(B, b, np.full(c, K), np.zeros(c, dtype=bool), moving)
    assert (found.converged ^ found.impossible).all()
    for state in np.flatnonzero(found.converged):
        assert_laws(B[state], b[state], K, found.force[state], moving[state])
    assert not found.impossible[~moving.any(axis=1)].any()


def consistent_modes(B, b, K):
    """All modes of two contacts in one state, the first sliding and the second at rest, tried one by one.

    Where the second starts to slide, its direction is looked for all round the circle: its acceleration is on one side
    of it at one angle and on the other at the next.
    """
    flat, free = B.reshape(6, 6), b.reshape(6)
    circle = np.linspace(0.0, 2.0 * np.pi, 721)
    found = []
    for slides, other in itertools.product((False, True), ("open", "sticking", "starting")):
        before = np.inf
        for angle in circle if other == "starting" else (0.0,):
            columns = {
                "open": np.zeros((0, 6)),
                "sticking": np.eye(6)[3:],
                "starting": np.array([[0.0, 0.0, 0.0, 1.0, -K * np.cos(angle), -K * np.sin(angle)]]),
            }[other]
            rows = [0] * slides + [3, 4, 5][: len(columns)]
            push = np.concatenate([[[1.0, -K, 0.0, 0.0, 0.0, 0.0]] * slides, columns]) if slides else columns
            force = push.T @ np.linalg.solve((flat @ push.T)[rows], -free[rows])
            x = flat @ force + free
            fine = min(force[0], force[3]) >= 0.0 and min(x[0], x[3]) >= -1e-9
            if other == "sticking":
                fine = fine and np.linalg.norm(force[4:]) <= K * force[3]
            if other == "starting":
                away = np.arctan2(x[5] * np.cos(angle) - x[4] * np.sin(angle), x[4:] @ [np.cos(angle), np.sin(angle)])
                turned, before = fine and before * away <= 0.0 and abs(away - before) < 1.0, away if fine else np.inf
                fine = turned
            if fine:
                found.append((slides, other, angle))
    return found


def test_no_mode_is_consistent_where_the_search_says_so():
    """Two contacts, one sliding and one at rest: all six combinations of modes, and all directions of starting."""
    K, c = 0.8, 2
    B, b, _ = coupled(600, c, 6, 0.0, 4)
    moving = np.tile([True, False], (len(b), 1))
    found = solve_contacts(B, b, np.full(c, K), np.zeros(c, dtype=bool), moving)
    assert (found.converged ^ found.impossible).all()
    none = np.flatnonzero(found.impossible)
    assert len(none) >= 3
    for state in none:
        assert consistent_modes(B[state], b[state], K) == []
    for state in np.flatnonzero(found.converged)[:10]:
        assert consistent_modes(B[state], b[state], K)


def test_bilateral_contacts_find_the_side_they_push_to():
    """With small friction a solution exists and pulls or pushes; f_n x_n = 0 with x_n = 0 then."""
    c, K = 4, 0.2
    B, b, moving = coupled(60, c, 12, 0.5, 5)
    found = solve_contacts(B, b, np.full(c, K), np.ones(c, dtype=bool), moving)
    assert found.converged.all()
    x = np.einsum("nkilj,nlj->nki", B, found.force) + b
    np.testing.assert_allclose(x[..., 0], 0.0, atol=1e-8)
    assert (found.force[..., 0] < 0.0).any()
    assert (found.force[..., 0] > 0.0).any()
    assert not (found.mode == OPEN).any()
    assert {SLIDING, STICKING, STARTING} >= set(np.unique(found.mode).tolist())


def test_lemkes_method_solves_the_polygons_of_one_block():
    """A block of 1 kg on a plane: pushed below K m g it sticks, above it starts; the force is on the polygon."""
    B, K, corners = np.eye(3).reshape(1, 3, 1, 3), np.array([0.5]), 8
    for push, starts in ((3.0, False), (8.0, True)):
        b = np.array([[-9.81, push, 0.0]])
        block = ContactProblem(B[None], b[None], K, np.array([False]), np.array([[False]]))
        way = pivot_contacts(block, np.ones(1), corners, np.random.default_rng(2))
        assert way is not None
        force, moving = way
        assert bool(moving[0]) is starts
        assert force[0, 0] == pytest.approx(9.81)
        if not starts:
            np.testing.assert_allclose(force[0, 1:], [-push, 0.0], atol=1e-12)
        else:
            assert np.cos(np.pi / corners) * 0.5 * 9.81 <= np.linalg.norm(force[0, 1:]) <= 0.5 * 9.81 + 1e-12
