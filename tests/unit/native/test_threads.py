"""Threads: settings are checked, calls from several Python threads do not disturb each other."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import setsu


def test_the_setting_is_kept() -> None:
    before = setsu.get_threads()
    try:
        setsu.set_threads(3)
        assert setsu.get_threads() == 3
    finally:
        setsu.set_threads(before)


@pytest.mark.parametrize("count", [0, -1, 1.5, "2", True, None])
def test_nonsense_is_refused(count: object) -> None:
    with pytest.raises(setsu.InputError, match="at least 1"):
        setsu.set_threads(count)  # type: ignore[arg-type]


def test_calls_from_many_threads_do_not_mix() -> None:
    """Single and batch calls on one mechanism at the same time give what they give alone."""
    m = setsu.sample_mechanisms.seven_joint_arm()
    rng = np.random.default_rng(0)
    states = rng.standard_normal((8, 3, 200, m.nv))
    expected = [setsu.inverse_dynamics(m, *state) for state in states]

    def work(k: int) -> bool:
        state = states[k % 8]
        batch = setsu.inverse_dynamics(m, *state)
        rows = np.array([setsu.inverse_dynamics(m, *(x[r] for x in state)) for r in range(20)])
        same_batch = np.array_equal(batch, expected[k % 8])
        return same_batch and np.array_equal(rows, expected[k % 8][:20])

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(64)))


def test_a_bad_row_in_a_large_batch_is_named_by_its_index() -> None:
    m = setsu.sample_mechanisms.planar_arm(3)
    q, v, a = np.zeros((3, 20_000, 3))
    q[17_003, 1] = np.nan
    v[19_000, 0] = np.inf
    with pytest.raises(setsu.InputError, match=r"q\[17003, 1\] is nan"):
        setsu.inverse_dynamics(m, q, v, a)
