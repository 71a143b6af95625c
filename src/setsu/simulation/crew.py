"""Blocks of worlds that go on together: machines run until they ask, and get their answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from setsu.simulation.block import Arrays, Block, Failure, call_all
from setsu.simulation.clock import Ask
from setsu.simulation.torques import Source

__all__ = ["Crew"]


class Crew:
    """The blocks of a simulator. acting: what answers for torques. stops: worlds that stopped -> (time in s, why)."""

    def __init__(
        self, blocks: Sequence[Block], arrays: Arrays, threads: int | None, batched: bool, acting: Source
    ) -> None:
        self._blocks, self._arrays, self._threads, self._batched = blocks, arrays, threads, batched
        self.acting = acting
        self.stops: dict[int, tuple[float, str]] = {}

    def advance(self, steps: int, last: float, every: int, *, final: bool, before: int = 0) -> None:
        """Let all worlds that move take steps; answer what they ask."""
        if not self._batched and not self.stops:
            self._blocks[0].set_run(before, steps, last, every, final)
            self.go_on(self._blocks[0], self._blocks[0].call())
            return
        waiting = []
        for block in self._blocks:
            if block.first in self.stops and block.count == 1:
                continue
            block.set_run(before, steps, last, every, final)
            waiting.append(block)
        while waiting:
            again, needing = [], []
            for block, ask in zip(waiting, call_all(waiting, self._threads), strict=True):
                if ask is Ask.NEED_TORQUE:
                    needing.append(block)
                if ask is not Ask.DONE and self._answered(block, ask):
                    again.append(block)
            if needing:
                a = self._arrays
                answer = self.acting.answer(a.t, a.q, a.v)
                for block in needing:
                    rows = slice(block.first, block.first + block.count)
                    a.asked[rows] = answer[rows]
            waiting = again
        for block in self._blocks:
            for row in block.clock.frozen.nonzero()[0]:  # quicker than flatnonzero, which counts with many worlds
                self.stops.setdefault(
                    block.first + int(row), (float(block.clock.frozen_at[row]), block.reason(int(row)))
                )

    def times(self) -> NDArray[np.float64]:
        """Return the present time of each world (count,), s: of a stopped one, when it stopped."""
        t = self._arrays.t.copy()
        for world, (stop, _) in self.stops.items():
            t[world] = stop
        return t

    def go_on(self, block: Block, ask: Ask) -> None:
        """The same for one world that asks, with as little between its stages as can be."""
        a, call, acting = self._arrays, block.call, self.acting
        one = acting.functions[0] if len(acting.functions) == 1 else None
        t, q, v, asked = a.t, a.q[0], a.v[0], a.asked[0]
        while ask is not Ask.DONE:
            if ask is Ask.NEED_TORQUE:
                if one is not None:
                    asked[:] = acting.answer_one(one, t.item(), q, v)
                else:
                    a.asked[:] = acting.answer(a.t, a.q, a.v)
            elif not self._answered(block, ask):
                return
            ask = call()

    def _answered(self, block: Block, ask: Ask) -> bool:
        """Answer what a block asks, but for torques; False when its world has stopped."""
        try:
            if ask is Ask.RECORDS_FULL:
                block.take_records()
            elif ask is Ask.EVENT:
                block.answer_event()
            elif ask is Ask.FAILED:
                block.answer_failure()
        except Failure as why:
            block.freeze()
            self.stops[block.first] = (float(block.clock.frozen_at[0]), str(why))
            return False
        return True
