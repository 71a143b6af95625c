"""What a controller remembers along a run: an integral that follows calls in the order an integrator makes them.

The stages of an integrator call a controller more than once at one time, and may go back; what was remembered of later
times is then forgotten. A new run starts at an earlier time than everything remembered, so it starts from nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.control.tables import graph_of
from setsu.symbolic.tracing import Number, symbols

__all__ = ["RunningIntegral"]

Floats = NDArray[np.float64]

# Far more than any integrator goes back.
_KEPT = 256


class RunningIntegral:
    """∫ e dt from the first call of a run on, by the trapezoidal rule over the calls; limit: of each entry's size."""

    def __init__(self, limit: Floats | float = np.inf) -> None:
        self._past: list[tuple[float, Floats, Floats]] = []
        self._limit = limit

    def state(self) -> list[tuple[float, Floats, Floats]]:
        """What is remembered, as copies."""
        return [(t, e.copy(), total.copy()) for t, e, total in self._past]

    def set_state(self, kept: list[tuple[float, Floats, Floats]]) -> None:
        """Remember what `state` returned."""
        self._past = [(t, e.copy(), total.copy()) for t, e, total in kept]

    def forget(self) -> None:
        """Begin anew."""
        self._past = []

    def __call__(self, t: Any, e: Any) -> Any:
        """Return the integral up to t (s), where the integrand is e."""
        if isinstance(t, Number):
            return self._traced(t, e)
        past = self._past
        while past and past[-1][0] >= t:
            past.pop()
        total = np.zeros_like(e)
        if past:
            before, last, sum_before = past[-1]
            total = np.clip(sum_before + 0.5 * (t - before) * (last + e), -self._limit, self._limit)
        past.append((t, np.array(e), total))
        if len(past) > 2 * _KEPT:
            del past[:_KEPT]
        return total

    def _traced(self, t: Number, e: Any) -> Any:
        """The same on symbols: what is remembered is whether there was a sample, its time, the integrand, the sum."""
        graph, n = graph_of(t), len(e)
        before = graph.remembered(2 + 2 * n)
        started, time, last, total = before[0], before[1], before[2 : 2 + n], before[2 + n :]
        total = total + started * (0.5 * (t - time) * (last + e))
        if np.isfinite(self._limit).all():
            total = np.clip(total, -self._limit, self._limit)
        graph.remember(before, np.concatenate([symbols([1.0, t.value], (2,)), e, total]))
        return total
