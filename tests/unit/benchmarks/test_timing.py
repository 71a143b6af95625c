"""Timing: everybody takes turns, the fastest block counts, time is per state."""

from __future__ import annotations

from setsu.benchmarks import timing
from setsu.benchmarks.timing import Timed, nanoseconds_per_state


class Clock:
    """A clock that only moves when work is done."""

    def __init__(self) -> None:
        self.now = 0

    def perf_counter_ns(self) -> int:
        return self.now


def test_time_per_state_is_the_fastest_block(monkeypatch) -> None:
    clock = Clock()
    monkeypatch.setattr(timing, "time", clock)
    costs = iter([5000, 900] * 10**6)

    def steady() -> None:
        clock.now += 1000

    def for_ten_states() -> None:
        clock.now += 4000

    def noisy() -> None:
        clock.now += next(costs)

    times = nanoseconds_per_state([Timed(steady), Timed(for_ten_states, states=10), Timed(noisy)], rounds=4)
    assert times[0] == 1000.0
    assert times[1] == 400.0
    assert 900.0 <= times[2] <= 3000.0


def test_prepare_is_called_before_each_block_and_not_timed(monkeypatch) -> None:
    clock = Clock()
    monkeypatch.setattr(timing, "time", clock)
    prepared = []

    def work() -> None:
        clock.now += 1_000_000

    def prepare() -> None:
        clock.now += 10**9
        prepared.append(clock.now)

    (per_state,) = nanoseconds_per_state([Timed(work, prepare=prepare)], rounds=3)
    assert per_state == 1_000_000.0
    assert len(prepared) >= 3
