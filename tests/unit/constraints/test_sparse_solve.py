"""The sparse solve gives what the dense one gives, in every sample, and its cost follows the number of loops."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.benchmarks.loops_problems import four_bar_problem
from setsu.constraints.dense_dynamics import DenseMotion, States
from setsu.constraints.kkt_pattern import kkt_pattern
from setsu.constraints.row_tables import bound_kernels, row_state, row_tables
from setsu.constraints.system import constraint_system

SAMPLES = (
    "four_bar", "five_bar", "slider_crank", "delta_robot", "stewart_platform", "parallelogram_arm", "jansen_leg",
    "excavator_boom", "bricard",
)  # fmt: skip


def _state(m: setsu.Mechanism, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    q = setsu.close_loops(m, m.neutral())
    v = setsu.consistent_velocity(m, q, rng.normal(size=m.nv))
    external = rng.normal(size=(m.n_bodies, 6))
    return q, v, rng.normal(size=m.nv), external


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("loaded", [False, True])
def test_sparse_and_dense_solves_agree(name: str, loaded: bool) -> None:
    m = getattr(setsu.sample_mechanisms, name)()
    system = constraint_system(m)
    q, v, tau, external = _state(m, 3)
    wrenches = external if loaded else None
    got = setsu.constrained_dynamics(m, q, v, tau, external_wrenches=wrenches)
    free = np.zeros((1, len(system.loops.free_loop)))
    states = States(q[None], v[None], tau[None], free, None if wrenches is None else wrenches[None])
    dense = DenseMotion(system, states, "default", ()).solve(0.0, None, "world")
    for key, array in dense.items():
        scale = 1.0 + np.abs(array).max(initial=0.0)
        np.testing.assert_allclose(getattr(got, key), array[0], atol=1e-10 * scale, err_msg=key)


def test_loops_of_all_joint_types_with_couplings_drives_and_friction_in_loops_agree() -> None:
    b = setsu.MechanismBuilder("machine")
    rng = np.random.default_rng(5)
    for k, parent in enumerate(["world", "b0", "b1", "world", "b3", "b3"]):
        joint = [setsu.Revolute((0, 1, 0.2)), setsu.Universal(), setsu.Free(), setsu.Spherical()][k % 4]
        b.add_body(f"b{k}", parent=parent, joint=joint, mass=1.0 + k, inertia=np.diag([0.2, 0.3, 0.4]),
                   placement=setsu.placement(translation=rng.normal(size=3)), center_of_mass=(0.1, 0.2, 0))  # fmt: skip
    friction = {"damping": 0.3, "stiffness": 2.0}
    m = b.build()
    poses = setsu.body_poses(m, m.neutral())
    joints = [setsu.Spherical(damping=0.2), setsu.Cylindrical((0, 0, 1), **friction), setsu.Universal(damping=0.1)]
    for k, (a, c, joint) in enumerate(zip((2, 4, 0), (5, 1, 4), joints, strict=True)):
        here = np.linalg.inv(poses[a]) @ poses[c]
        b.add_loop(f"loop{k}", body_a=f"b{a}", body_b=f"b{c}", joint=joint, placement_a=here)
    m = b.build()
    q = m.neutral()
    v = setsu.consistent_velocity(m, q, rng.normal(size=m.nv))
    tau, along = rng.normal(size=m.nv), rng.normal(size=7)
    system = constraint_system(m)
    got = setsu.constrained_dynamics(m, q, v, tau, loop_torque=along)
    states = States(q[None], v[None], tau[None], along[None], None)
    dense = DenseMotion(system, states, "default", ()).solve(0.0, None, "world")
    np.testing.assert_allclose(got.acceleration, dense["acceleration"][0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(got.joint_wrenches, dense["joint_wrenches"][0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["four_bar", "delta_robot"])
def test_many_states_have_the_bits_of_single_ones_however_they_are_given(name: str) -> None:
    """More states than a group has rows; what is no plain array goes the long way."""
    m = getattr(setsu.sample_mechanisms, name)()
    states = [_state(m, seed)[:3] for seed in range(19)]
    q, v, tau = (np.stack(arrays) for arrays in zip(*states, strict=True))
    many = setsu.constrained_dynamics(m, q, v, tau)
    listed = setsu.constrained_dynamics(m, q.tolist(), v[:, ::-1][:, ::-1], tau)
    for field in ("acceleration", "loop_wrench", "joint_wrenches", "residual", "constraint_wrenches"):
        assert np.array_equal(getattr(many, field), getattr(listed, field))
        for k in (0, 15, 16, 18):
            assert np.array_equal(getattr(many, field)[k], getattr(setsu.constrained_dynamics(m, *states[k]), field))
    np.testing.assert_array_equal(many.wrench_at(m.body_names[-1]), listed.wrench_at(m.body_names[-1]))


def test_one_bad_state_of_many_is_named() -> None:
    m = setsu.sample_mechanisms.four_bar()
    q, v = np.tile(_state(m, 0)[0], (20, 1)), np.zeros((20, m.nv))
    for value, expected in ((np.nan, r"q\[17, 1\] is nan"), (0.5, r"state \[17\]")):
        bad = q.copy()
        bad[17, 1] = value
        with pytest.raises(setsu.InputError, match=expected):
            setsu.constrained_dynamics(m, bad, v, v)
    for shape in ((), (3, m.nv), (20, m.nv + 1)):
        with pytest.raises(setsu.InputError):
            setsu.constrained_dynamics(m, q, np.zeros(shape), v)
    assert setsu.constrained_dynamics(m, q[:0], v[:0], v[:0]).acceleration.shape == (0, m.nv)


def test_a_batch_is_its_states_one_by_one() -> None:
    m = setsu.sample_mechanisms.bricard()
    states = [_state(m, seed)[:3] for seed in range(4)]
    q, v, tau = (np.stack(arrays) for arrays in zip(*states, strict=True))
    together = setsu.constrained_dynamics(m, q, v, tau)
    for k in range(4):
        alone = setsu.constrained_dynamics(m, q[k], v[k], tau[k])
        np.testing.assert_allclose(together.acceleration[k], alone.acceleration, rtol=1e-12, atol=1e-13)


def test_the_pattern_of_a_row_of_four_bars_grows_with_their_number() -> None:
    def numbers(loops: int) -> tuple[int, int, int]:
        system = constraint_system(four_bar_problem(loops).mechanism)
        state = row_state(system)
        kernels, _kept = bound_kernels(system, state)
        pattern = kkt_pattern(system, row_tables(system), state, kernels)
        return len(pattern.column), len(pattern.scattered), len(pattern.ancestor)

    few, many = np.array(numbers(10)), np.array(numbers(100))
    assert np.all(many <= 11 * few)


def test_compiled_constrained_dynamics_gives_the_same_record() -> None:
    m = setsu.sample_mechanisms.delta_robot()
    fast = setsu.compile(m, ["constrained_dynamics", "mass_matrix"])
    q, v, tau, external = _state(m, 1)
    got = fast.constrained_dynamics(q, v, tau, external_wrenches=external)
    expected = setsu.constrained_dynamics(m, q, v, tau, external_wrenches=external)
    for key in ("acceleration", "loop_wrench", "joint_wrenches"):
        np.testing.assert_allclose(getattr(got, key), getattr(expected, key), rtol=1e-9, atol=1e-9, err_msg=key)
    np.testing.assert_allclose(fast.mass_matrix(q), setsu.mass_matrix(m, q), rtol=1e-12, atol=1e-14)
    with pytest.raises(setsu.InputError, match="no fixed number of operations"):
        fast.operations("constrained_dynamics")
