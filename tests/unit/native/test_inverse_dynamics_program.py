"""One program of inverse dynamics for generated source and for compiled code."""

import numpy as np
import pytest

import setsu
from setsu.native.inverse_dynamics_program import Program, inverse_dynamics_program
from setsu.native.linear_coordinates import tree_drives
from setsu.symbolic import evaluate


def program(m: setsu.Mechanism, **options: bool) -> Program:
    return inverse_dynamics_program(m.tables, m.tables.regrouped, tree_drives(m.tables), **options)


def torques(found: Program, **arrays: np.ndarray) -> np.ndarray:
    values = {(name, k): column for name, array in arrays.items() for k, column in enumerate(array.T)}
    return np.stack(evaluate(found.graph, found.torques, values), axis=1)


@pytest.mark.thin(3)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("bias", [False, True])
def test_both_aims_are_newton_euler(seed: int, bias: bool) -> None:
    """Written for few operations or for speed, the torques are those of Newton-Euler in world axes."""
    m = setsu.sample_mechanisms.random_tree(seed, n_bodies=6, floating_base=seed % 2 == 0, coulomb=True, damping=True)
    rng = np.random.default_rng(seed)
    q = np.array([m.random_configuration(rng) for _ in range(20)])
    v, a = rng.standard_normal((2, 20, m.nv))
    expected = setsu.inverse_dynamics(m, q, v, 0.0 * a if bias else a, formulation="world")
    for shortest in (True, False):
        found = torques(program(m, bias=bias, shortest=shortest), q=q, v=v, a=a)
        assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()


def test_compiled_code_is_made_of_it() -> None:
    """`compile` runs exactly the operations of the program that aims at speed; `generate` prints the shortest one."""
    m = setsu.sample_mechanisms.puma560()
    fast = setsu.compile(m, ["inverse_dynamics", "bias_torque"])
    assert fast.operations("inverse_dynamics") == program(m, shortest=False).operations
    assert fast.operations("bias_torque") == program(m, bias=True, shortest=False).operations
    for function, bias in (("inverse_dynamics", False), ("bias_torque", True)):
        assert setsu.generate(m, function).operations == program(m, bias=bias).operations
