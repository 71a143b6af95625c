"""Steps with sparse factors are those with dense ones."""

import numpy as np
import pytest

import setsu
from setsu.simulation import constrained_motion


def run(monkeypatch, m, q, v, sparse_from: int) -> setsu.Recording:
    monkeypatch.setattr(constrained_motion, "SPARSE_FROM", sparse_from)
    return setsu.simulate(m, q, v, 0.3, 0.005)


@pytest.mark.parametrize("sample", ["n_four_bar", "delta_robot", "excavator_boom"])
def test_both_factors_give_the_same_motion_and_loop_forces(monkeypatch, sample):
    m = getattr(setsu.sample_mechanisms, sample)()
    q, v = setsu.close_loops(m, m.neutral()), np.zeros(m.nv)
    sparse, dense = run(monkeypatch, m, q, v, 0), run(monkeypatch, m, q, v, 10**6)
    np.testing.assert_allclose(sparse.q, dense.q, rtol=0, atol=1e-10)
    scale = np.abs(dense.loop_wrench).max()
    np.testing.assert_allclose(sparse.loop_wrench / scale, dense.loop_wrench / scale, rtol=0, atol=1e-8)
