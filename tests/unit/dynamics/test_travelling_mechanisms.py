"""A mechanism that has computed may be pickled, copied, sent to other processes: the copy computes the same bits."""

import copy
import multiprocessing
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import setsu
from setsu.sample_mechanisms import seven_joint_arm

STATE = np.random.default_rng(0).standard_normal((3, 6, 7))


def torques(m: setsu.Mechanism) -> np.ndarray:
    return setsu.inverse_dynamics(m, *STATE)


def used() -> setsu.Mechanism:
    """An arm with single, batch and compiled code attached."""
    m = seven_joint_arm()
    torques(m)
    setsu.mass_matrix(m, STATE[0, 0])
    setsu.compile(m, ["inverse_dynamics"]).inverse_dynamics(*STATE)
    return m


@pytest.mark.parametrize(
    "travel", [lambda m: pickle.loads(pickle.dumps(m)), copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"]
)
def test_a_copy_is_equal_and_computes_the_same(travel: Callable[[setsu.Mechanism], setsu.Mechanism]) -> None:
    m = used()
    other = travel(m)
    assert other is not m
    assert other == m
    assert other.digest == m.digest
    np.testing.assert_array_equal(torques(other), torques(m))


@pytest.mark.slow
def test_another_process_computes_the_same() -> None:
    m = used()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (theirs,) = pool.starmap(setsu.inverse_dynamics, [(m, *STATE)])
    np.testing.assert_array_equal(theirs, torques(m))
