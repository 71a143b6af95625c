"""One state at a time goes a shorter way: the same bits as the long one, the same refusals."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest

import setsu

pytestmark = pytest.mark.thin(3)

SAMPLES = ("four_bar", "slider_crank", "delta_robot", "stewart_platform", "jansen_leg", "bricard", "parallelogram_arm")


def moving(name: str) -> tuple[setsu.Mechanism, np.ndarray, np.ndarray, np.ndarray]:
    m = getattr(setsu.sample_mechanisms, name)()
    q = setsu.close_loops(m, m.neutral())
    v = setsu.consistent_velocity(m, q, np.linspace(-1.0, 1.0, m.nv))
    return m, q, v, np.linspace(1.0, 2.0, m.nv)


def assert_same(one: setsu.ConstrainedDynamics, other: setsu.ConstrainedDynamics) -> None:
    # `source` is what the result was computed from, for wrenches at frames; it is not part of the comparison.
    for field in (field for field in dataclasses.fields(one) if field.compare):
        found, expected = getattr(one, field.name), getattr(other, field.name)
        assert found.shape == expected.shape, field.name
        assert found.dtype == expected.dtype, field.name
        assert np.array_equal(found, expected), field.name


@pytest.mark.parametrize("name", SAMPLES)
def test_the_short_way_gives_the_bits_of_the_long_one(name: str) -> None:
    m, *state = moving(name)
    for specialised in (False, True):
        setsu.constrained_dynamics(m, *state, specialised=specialised)  # the first call prepares the short way
        short = setsu.constrained_dynamics(m, *state, specialised=specialised)
        assert_same(short, setsu.constrained_dynamics(m, *(x.tolist() for x in state), specialised=specialised))
        batch = setsu.constrained_dynamics(m, *(x[None] for x in state), specialised=specialised)
        assert np.array_equal(batch.joint_wrenches[0], short.joint_wrenches)


def test_results_are_the_callers_own_and_arguments_stay() -> None:
    m, *state = moving("four_bar")
    kept = [x.copy() for x in state]
    setsu.constrained_dynamics(m, *state)
    first = setsu.constrained_dynamics(m, *state)
    before = first.loop_wrench.copy()
    second = setsu.constrained_dynamics(m, state[0], state[1], 2.0 * state[2])
    assert np.array_equal(first.loop_wrench, before)
    assert not np.array_equal(second.loop_wrench, before)
    assert all(np.array_equal(x, y) for x, y in zip(state, kept, strict=True))


@pytest.mark.parametrize(("place", "name"), [(0, "q"), (1, "v"), (2, "tau")])
def test_numbers_that_are_not_finite_are_named_as_before(place: int, name: str) -> None:
    m, *state = moving("four_bar")
    setsu.constrained_dynamics(m, *state)
    for bad in (np.nan, np.inf):
        state[place] = state[place].copy()
        state[place][1] = bad
        with pytest.raises(setsu.InputError, match=rf"constrained_dynamics: {name}\[1\] is {bad}"):
            setsu.constrained_dynamics(m, *state)
    with pytest.raises(setsu.InputError, match="constrained_dynamics: expected a Mechanism"):
        setsu.constrained_dynamics(None, *state)  # type: ignore[arg-type]


def test_threads_do_not_mix_up_their_states() -> None:
    m, q, v, tau = moving("stewart_platform")
    setsu.constrained_dynamics(m, q, v, tau)
    expected = {k: setsu.constrained_dynamics(m, q, v, k * tau).acceleration for k in (1.0, -3.0)}
    wrong: list[float] = []

    def repeat(k: float) -> None:
        for _ in range(300):
            if not np.array_equal(setsu.constrained_dynamics(m, q, v, k * tau).acceleration, expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=repeat, args=(k,)) for k in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
