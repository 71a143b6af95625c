"""This library: generic code for any mechanism and code specialised to one, single calls and batches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.benchmarks.engines import QUANTITIES, Call, States
from setsu.dynamics.catalogue import native_function

__all__ = ["NATIVE_LOOP", "Engine"]

NATIVE_LOOP = "compiled, native loop"

Array = NDArray[np.float64]
CHECKED = 4
# Unrolled code grows with the mechanism; above this size users take the generic code.
LARGEST_COMPILED_NV = 40


class Engine:
    """Setsu on one mechanism."""

    name = "Setsu"

    def __init__(self, urdf: Path, states: States) -> None:
        self.version = setsu.__version__
        self.mechanism = setsu.load(urdf, floating_base=states.floating_base)
        self.states = states

    def calls(self) -> list[Call]:
        """Every quantity, generic and compiled, one state and all states, on one and two threads."""
        m = self.mechanism
        calls = []
        for quantity in QUANTITIES:
            calls += self._calls(quantity, "generic", partial(getattr(setsu, quantity), m))
        if m.nv <= LARGEST_COMPILED_NV:
            fast: Any = setsu.compile(m, list(QUANTITIES))
            for quantity in QUANTITIES:
                calls += self._calls(quantity, "compiled", getattr(fast, quantity))
            calls.append(self._native_loop("inverse_dynamics"))
        return calls

    def _native_loop(self, quantity: str) -> Call:
        """Compiled scalar code in a native loop, to stand beside other generated code in a C loop."""
        loop = native_function(self.mechanism, quantity, specialised=True).one_by_one
        arrays = (self.states.q, self.states.v, self.states.a)

        def result() -> Array:
            return _stacked(loop(*(array[:CHECKED] for array in arrays)))

        return Call(quantity, "single", NATIVE_LOOP, partial(loop, *arrays), result, self.states.count)

    def _calls(self, quantity: str, variant: str, function: Callable[..., Any]) -> list[Call]:
        states = self.states
        last = states.tau if quantity.startswith("forward") else states.a
        arrays = (states.q,) if quantity == "mass_matrix" else (states.q, states.v, last)
        one = tuple(array[0].copy() for array in arrays)
        few = tuple(array[:CHECKED].copy() for array in arrays)
        count = states.count
        if not quantity.endswith("_dynamics"):
            # Matrices of all states at once would not fit the cache and measure memory instead.
            count = min(count, max(64, 2**18 // states.v.shape[1] ** 2))
        many = tuple(np.ascontiguousarray(array[:count]) for array in arrays)

        def single_result() -> Array:
            return np.array([_stacked(function(*(array[k] for array in few))) for k in range(CHECKED)])

        def batch_result() -> Array:
            return _stacked(function(*many))[:CHECKED]

        calls = [Call(quantity, "single", variant, partial(function, *one), single_result)]
        for threads in (1, 2):
            calls.append(
                Call(
                    quantity,
                    "batch",
                    variant,
                    partial(function, *many),
                    batch_result,
                    count,
                    threads,
                    prepare=partial(setsu.set_threads, threads),
                )
            )
        return calls


def _stacked(result: Any) -> Array:
    """An array as it is; the three matrices of a derivative record stacked before the last two axes."""
    if isinstance(result, np.ndarray):
        return result
    third = "da" if hasattr(result, "da") else "dtau"
    return np.stack([result.dq, result.dv, getattr(result, third)], axis=-3)
