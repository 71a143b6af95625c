"""Sweeps along the tree give what the mass matrix gives: J H⁻¹ Jᵀ, and (H + Jᵀ S J)⁻¹ with contacts' stiffness S."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import setsu
from setsu.contact import articulated, tree, world_bias, world_mass
from setsu.native.control_flow import jit
from setsu.native.workspace import Workspace

pytestmark = pytest.mark.slow


class _Case(NamedTuple):
    mechanism: setsu.Mechanism
    tree: tree.Tree
    workspace: Any
    q: np.ndarray
    v: np.ndarray
    poses: np.ndarray
    mass_matrix: np.ndarray


@jit
def _prepare(workspace, poses, columns, v):
    tree.set_inertias(workspace, poses, columns, tree.NOW)
    articulated.factor_free(workspace)
    return tree.kinetic_energy(workspace, v, tree.NOW), tree.weight_energy(workspace, poses, tree.NOW)


@jit
def _respond(workspace, wrenches, bodies, contact_index, n, stiffness):
    articulated.set_active(workspace, bodies, n)
    articulated.set_responses(workspace)
    stiff = articulated.factor_stiff(workspace, stiffness, bodies, n)
    articulated.sweep(workspace, wrenches, bodies, contact_index, n, articulated.STIFF_FACTOR)
    return stiff


@jit
def _respond_freely(workspace, wrenches, bodies, contact_index, n):
    articulated.sweep(workspace, wrenches, bodies, contact_index, n, articulated.FREE_FACTOR)
    articulated.sweep_all(workspace)


@jit
def _bias(workspace, v, damping, bias):
    world_bias.set_bias(workspace, v, damping, bias)


@jit
def _mass_matrix(workspace, H):
    world_mass.set_mass_matrix(workspace, H)


def _case(seed: int) -> _Case:
    m = setsu.sample_mechanisms.hoap1_like()
    r = np.random.default_rng(seed)
    q, v = m.random_configuration(seed), r.normal(size=m.nv)
    arrays = tree.make_tree(m, np.array([8, 20]))
    workspace = Workspace(arrays)
    arrays.joint_inertia[1] = arrays.joint_inertia[0] + r.uniform(0.0, 0.01, m.nv)
    poses = setsu.body_poses(m, q)
    H = setsu.mass_matrix(m, q) + np.diag(arrays.joint_inertia[1] - arrays.joint_inertia[0])
    return _Case(m, arrays, workspace, q, v, np.ascontiguousarray(poses), H)


def _columns(m: setsu.Mechanism, q: np.ndarray) -> np.ndarray:
    from setsu.dynamics.catalogue import native_function

    return np.ascontiguousarray(native_function(m, "joint_axes")(q))


def _jacobian(c: _Case, body: int) -> np.ndarray:
    """(6, nv): twist of a body at the origin of the first body, or the rate of a joint with stops."""
    m = c.mechanism
    if body >= m.n_bodies:
        J = np.zeros((6, m.nv))
        J[0, c.tree.last[body]] = 1.0
        return J
    P, base = c.poses[body], c.poses[0, :3, 3]
    linear = setsu.point_jacobian(m, c.q, m.moving[body].name, P[:3, :3].T @ (base - P[:3, 3]))
    angular = np.zeros((3, m.nv))
    for d in range(m.nv):
        unit = np.eye(m.nv)[d]
        angular[:, d] = setsu.body_velocities(m, c.q, unit)[body, 3:]
    return np.concatenate([linear, angular])


def test_energies_are_those_of_the_mechanism() -> None:
    c = _case(1)
    kinetic, potential = _prepare(c.workspace, c.poses, _columns(c.mechanism, c.q), c.v)
    assert kinetic == pytest.approx(setsu.kinetic_energy(c.mechanism, c.q, c.v), rel=1e-12)
    assert potential == pytest.approx(setsu.potential_energy(c.mechanism, c.q), rel=1e-12)


def test_the_bias_in_world_axes_is_that_of_the_mechanism() -> None:
    c = _case(4)
    _prepare(c.workspace, c.poses, _columns(c.mechanism, c.q), c.v)
    bias, zero = np.zeros(c.mechanism.nv), np.zeros(c.mechanism.nv)
    _bias(c.workspace, c.v, c.mechanism.damping, bias)
    expected = setsu.inverse_dynamics(c.mechanism, c.q, c.v, zero)
    dry = c.mechanism.coulomb * np.sign(c.v)
    np.testing.assert_allclose(bias, expected - dry, rtol=1e-11, atol=1e-11 * np.abs(expected).max())


def test_the_mass_matrix_in_world_axes_is_that_of_the_mechanism() -> None:
    c = _case(5)
    _prepare(c.workspace, c.poses, _columns(c.mechanism, c.q), c.v)
    H = np.full((c.mechanism.nv, c.mechanism.nv), np.nan)
    _mass_matrix(c.workspace, H)
    np.testing.assert_allclose(np.tril(H), np.tril(c.mass_matrix), rtol=0.0, atol=1e-14 * np.abs(c.mass_matrix).max())


def test_sweeps_solve_with_the_mass_matrix_and_the_stiffness_of_contacts() -> None:
    c, r = _case(2), np.random.default_rng(3)
    m = c.mechanism
    _prepare(c.workspace, c.poses, _columns(m, c.q), c.v)
    # Three bodies on two legs and an arm, and a joint at its stop; stiffness that is not symmetric, as of sliding.
    bodies = np.array([6, 12, 16, m.n_bodies + 1])
    contact_index = np.full(m.n_bodies + 2, -1)
    contact_index[bodies] = range(4)
    stiffness = np.zeros((4, 6, tree.ROW))
    stiffness[:3, :, :6] = r.normal(size=(3, 6, 6)) + 30.0 * np.eye(6)
    stiffness[3, 0, 0] = 5.0
    w = r.normal(size=24)
    w[19:] = 0.0
    J = np.concatenate([_jacobian(c, body) for body in bodies])
    S = np.zeros((24, 24))
    for k in range(4):
        S[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = stiffness[k, :, :6]

    assert _respond(c.workspace, w, bodies, contact_index, 4, stiffness)
    exact = np.linalg.solve(c.mass_matrix + J.T @ S @ J, J.T @ w)
    active = c.tree.active[0, : c.tree.n_active[0]]
    np.testing.assert_allclose(c.tree.change[active], exact[active], rtol=1e-9, atol=1e-12)

    for k, body in enumerate(bodies[:3]):
        block = _jacobian(c, body) @ np.linalg.solve(c.mass_matrix, _jacobian(c, body).T)
        found = c.tree.response[c.tree.last[body], :, :6]
        np.testing.assert_allclose(found, block, rtol=1e-9, atol=1e-9, err_msg=str(k))
    joint = c.tree.last[bodies[3]]
    assert c.tree.joint_response[joint] == pytest.approx(np.linalg.inv(c.mass_matrix)[joint, joint], rel=1e-9)

    _respond_freely(c.workspace, w, bodies, contact_index, 4)
    np.testing.assert_allclose(c.tree.change, np.linalg.solve(c.mass_matrix, J.T @ w), rtol=1e-9, atol=1e-12)
