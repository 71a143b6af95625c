"""Elimination by articulated bodies is that by velocities, pivot by pivot, at a cost that follows the bodies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import setsu
from setsu.benchmarks.loops_robots import ring_text
from setsu.constraints import kkt_pattern as patterns
from setsu.constraints.dense_dynamics import DenseMotion, States
from setsu.constraints.kkt_pattern import Pattern, kkt_space
from setsu.constraints.redundancy import redundancy
from setsu.constraints.row_tables import bound_kernels, row_state, row_tables
from setsu.constraints.sparse_dynamics import sparse_solver
from setsu.constraints.sparse_factor import measure_pivots
from setsu.constraints.system import ConstraintSystem, constraint_system
from setsu.native.workspace import Workspace

EPS = float(np.finfo(np.float64).eps)
SAMPLES = ("five_bar", "delta_robot", "stewart_platform", "parallelogram_arm", "jansen_leg", "excavator_boom")
JOINTS = (
    lambda: setsu.Revolute((0.3, 1, 0.2), armature=0.05),
    lambda: setsu.Prismatic((1, 0.2, 0)),
    lambda: setsu.Spherical(),
    lambda: setsu.Universal(),
    lambda: setsu.Cylindrical((0, 0.1, 1)),
    lambda: setsu.Planar((0, 0, 1)),
)


@pytest.fixture(params=[0.0, np.inf], ids=["by bodies", "by velocities"])
def way(request: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(patterns, "_LONG_CHAINS", request.param)
    return request.param == 0.0


def _tree(seed: int, *, free: bool, couplings: bool) -> setsu.Mechanism:
    """A random branched tree of all joint types, closed by independent loops where its bodies happen to be."""
    rng = np.random.default_rng(seed)
    while True:
        m = _any_tree(seed, rng, free=free, couplings=couplings)
        system = constraint_system(m)
        if redundancy(system).kept.all() and _condition(m, system, m.neutral()) < 1e8:
            return m


def _any_tree(seed: int, rng: np.random.Generator, *, free: bool, couplings: bool, bodies: int = 14) -> setsu.Mechanism:
    b = setsu.MechanismBuilder(f"tree {seed}")
    names = []
    for k in range(bodies):
        joint = setsu.Free() if free and k == 0 else JOINTS[int(rng.integers(len(JOINTS)))]()
        # Mostly on one of the last bodies: chains that branch.
        parent = names[int(rng.integers(max(0, k - 4), k))] if k and (free or rng.random() > 0.1) else "world"
        A = rng.normal(size=(3, 3))
        b.add_body(
            f"b{k}", parent, joint, setsu.placement(rng.normal(size=3)), mass=float(np.exp(rng.normal())),
            center_of_mass=rng.normal(size=3), inertia=A @ A.T / np.trace(A @ A.T) + np.eye(3),
        )  # fmt: skip
        names.append(f"b{k}")
    m = b.build()
    poses = setsu.body_poses(m, m.neutral())
    for k, joint in enumerate((setsu.Spherical(), setsu.Universal(), setsu.Cylindrical((0, 0, 1)))):
        a, c = _far_ends(m, rng)
        here = np.linalg.inv(poses[a]) @ poses[c]
        b.add_loop(f"loop{k}", names[a], names[c], joint, here)
    if couplings:
        m = b.build()
        single = [body.joint.name for body in m.moving if body.joint.nv == 1]
        chosen = rng.permutation(len(single))[:4]
        for k in range(len(chosen) // 2):
            terms = {single[chosen[2 * k]]: 1.0, single[chosen[2 * k + 1]]: float(rng.normal())}
            b.add_coupling(f"gear{k}", terms)
    return b.build()


def _far_ends(m: setsu.Mechanism, rng: np.random.Generator) -> tuple[int, int]:
    """Two bodies with at least eight velocities between them: more than any joint takes away."""
    parent = [m.frame(body.parent).body for body in m.moving]
    while True:
        ends = [int(end) for end in rng.permutation(m.n_bodies)[:2]]
        ways = []
        for end in ends:
            ways.append(set())
            while end >= 0:
                ways[-1].add(end)
                end = parent[end]
        if sum(m.moving[b].joint.nv for b in ways[0] ^ ways[1]) >= 8:
            return ends[0], ends[1]


def _dense(system: ConstraintSystem, q: Any, v: Any, tau: Any) -> dict[str, Any]:
    states = States(q[None], v[None], tau[None], np.zeros((1, len(system.loops.free_loop))), None)
    return DenseMotion(system, states, "default", ()).solve(0.0, None, "world")


def _condition(m: setsu.Mechanism, system: ConstraintSystem, q: Any) -> float:
    M, G = setsu.mass_matrix(m, q), system.linearise(q, np.zeros(m.nv)).jacobian[redundancy(system).kept]
    half = np.linalg.solve(np.linalg.cholesky(M), G.T)
    s = np.linalg.svd(half / np.linalg.norm(half, axis=0), compute_uv=False)
    return float(np.linalg.cond(M)) * float(s[0] / s[-1]) ** 2


def _agrees(m: setsu.Mechanism, q: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = constraint_system(m)
    v = setsu.consistent_velocity(m, q, rng.normal(size=m.nv))
    tau = rng.normal(size=m.nv)
    solver = sparse_solver(system)
    assert solver is not None
    got = solver.solve(*(x[None] for x in (q, v, tau)), np.zeros((1, len(system.loops.free_loop))), None)
    assert got.outcome[0] == 0
    dense = _dense(system, q, v, tau)
    for mine, name in ((got.a[0], "acceleration"), (got.loop_wrench[0], "loop_wrench")):
        size = np.abs(dense[name][0]).max()
        error = np.abs(mine - dense[name][0]).max() / size
        assert error < 50 * EPS * _condition(m, system, q), name


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_as_by_dense_factors(way: bool, name: str) -> None:
    m = getattr(setsu.sample_mechanisms, name)()
    _agrees(m, setsu.close_loops(m, m.neutral()), 3)


@pytest.mark.thin(4)
@pytest.mark.parametrize("couplings", [False, True])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_random_trees_of_all_joint_types_as_by_dense_factors(way: bool, seed: int, free: bool, couplings: bool) -> None:
    m = _tree(seed, free=free, couplings=couplings)
    assert (len(_pattern(m).body_unknown) > 0) == way
    _agrees(m, m.neutral(), seed)


def _pattern(m: setsu.Mechanism) -> Pattern:
    system = constraint_system(m)
    state = row_state(system)
    kernels, _kept = bound_kernels(system, state)
    return patterns.kkt_pattern(system, row_tables(system), state, kernels)


@pytest.mark.parametrize("seed", range(5))
def test_pivots_of_rows_do_not_depend_on_the_way(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for limit in (0.0, np.inf):
        monkeypatch.setattr(patterns, "_LONG_CHAINS", limit)
        system = constraint_system(_tree(seed, free=True, couplings=False))
        tables, state = row_tables(system), row_state(system)
        kernels, _kept = bound_kernels(system, state)
        pattern = patterns.kkt_pattern(system, tables, state, kernels)
        state.q[:] = system.mechanism.neutral()
        u = kkt_space(pattern)
        assert measure_pivots(*map(Workspace, (tables, state, kernels, pattern, u)))
        found.append((pattern.rows, u.total.copy(), pattern.typical))
    for mine, other in zip(*found, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9)


def test_the_pattern_of_a_ring_grows_with_its_links(tmp_path: Path) -> None:
    def numbers(links: int) -> Any:
        (tmp_path / "ring.xml").write_text(ring_text(links))
        c = _pattern(setsu.load(tmp_path / "ring.xml"))
        return np.array([len(c.column), len(c.scattered) + 1, len(c.ancestor), len(c.carry_from)])

    assert np.all(numbers(200) <= 4.5 * numbers(50))


def test_a_ring_that_floats_keeps_energy_and_momentum(tmp_path: Path) -> None:
    (tmp_path / "ring.xml").write_text(ring_text(40))
    m = setsu.load(tmp_path / "ring.xml")
    assert len(_pattern(m).body_unknown) > 0
    q = setsu.close_loops(m, m.neutral())
    rng = np.random.default_rng(1)
    v = setsu.consistent_velocity(m, q, rng.normal(size=m.nv))
    errors = []
    for step in (1e-3, 5e-4):
        rec = setsu.simulate(m, q, v, 0.1, step, integrator="rk4")
        assert rec.constraint_error.max() < 1e-13
        total = setsu.kinetic_energy(m, rec.q, rec.v) + setsu.potential_energy(m, rec.q)
        errors.append(np.abs(total - total[0]).max())
    # Order 4: a wrong force would leave an error that does not fall with the step.
    assert errors[1] < max(errors[0] / 10.0, 1e-11)  # not rounding: error of the method at this step


def test_a_chain_without_mass_is_left_to_the_dense_factors_as_before(way: bool) -> None:
    b = setsu.MechanismBuilder("light")
    parent = "world"
    for k in range(7):
        mass = 0.0 if k == 6 else 1.0
        b.add_body(
            f"b{k}", parent, setsu.Revolute((0, 0, 1)), setsu.placement((float(k > 0), 0, 0)), mass=mass,
            center_of_mass=(0.5, 0, 0) if mass else (0, 0, 0), inertia=mass * np.eye(3) / 12,
        )  # fmt: skip
        parent = f"b{k}"
    b.add_coupling("gear", {"b0_joint": 1.0, "b1_joint": 1.0})
    m = b.build()
    solver = sparse_solver(constraint_system(m))
    assert solver is not None
    assert solver.one(m.neutral(), np.zeros(m.nv), np.zeros(m.nv)) is None
    with pytest.raises(setsu.InputError, match="moves no mass"):
        setsu.simulate(m, m.neutral(), np.zeros(m.nv), 0.01, 1e-3)
