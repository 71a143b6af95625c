"""Fair timing of several ways to do the same work: blocks of calls, in turn, the fastest block counts.

Other programs on the machine only ever make a block slower, so the minimum is the best estimate of the work itself.
Taking turns lets a slow spell hit everybody.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from setsu.interruption import interrupts_held

__all__ = ["Timed", "nanoseconds_per_state", "processor_seconds"]

BLOCK_SECONDS = 2e-3


@dataclass(frozen=True)
class Timed:
    """Something to time: `run()` handles `states` states; `prepare()` comes before each block, outside the clock."""

    run: Callable[[], object]
    states: int = 1
    prepare: Callable[[], object] | None = None


def processor_seconds(work: Callable[[], object]) -> float:
    """Return the processor time of this thread in `work()`, s: others on the machine do not lengthen it."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def nanoseconds_per_state(timed: Sequence[Timed], rounds: int) -> list[float]:
    """Return the time per state (ns) of each entry, the minimum over `rounds` interleaved blocks of about 2 ms."""
    repeats = [_calls_per_block(entry) for entry in timed]
    best = [float("inf")] * len(timed)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for index, (entry, count) in enumerate(zip(timed, repeats, strict=True)):
                best[index] = min(best[index], _block(entry, count) / (count * entry.states))
    finally:
        if collecting:
            gc.enable()
    return best


def _block(entry: Timed, count: int) -> float:
    """Time `count` calls in a row (ns). Ctrl-C waits for their end: a peer's C++ may swallow it."""
    with interrupts_held():
        if entry.prepare is not None:
            entry.prepare()
        run = entry.run
        start = time.perf_counter_ns()
        for _ in range(count):
            run()
        return float(time.perf_counter_ns() - start)


def _calls_per_block(entry: Timed) -> int:
    """Find how many calls fill a block; the first calls also warm caches and compile what is compiled lazily."""
    _block(entry, 2)
    count = 1
    while True:
        elapsed = _block(entry, count) * 1e-9
        if elapsed >= 0.5 * BLOCK_SECONDS or count >= 1_000_000:
            return max(1, round(count * min(BLOCK_SECONDS / max(elapsed, 1e-9), 4.0)))
        count *= 4
