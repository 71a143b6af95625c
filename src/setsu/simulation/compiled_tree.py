"""Steps of a tree without constraints under constant torques, without Python in between.

    M a = τ - bias     by the forward dynamics of the tree                    (1)

Stages are those of compiled_stages.py; everything else that compiled_steps.py has to do for constraints falls away.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import native_function
from setsu.mechanism import Mechanism
from setsu.native.array_book import Book
from setsu.native.control_flow import compiled, part, run_bound
from setsu.simulation.compiled_stages import (
    DIVERGED,
    begin_stage,
    begin_step,
    end_step,
    euler_step,
    keep_slope,
    keep_state,
    within_reach,
)

__all__ = ["TreeSpace", "run_tree", "tree_space"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_UNSUITABLE = 0


class _State(NamedTuple):
    q: Floats
    v: Floats


class _Work(NamedTuple):
    tau: Floats  # (nv,)
    a: Floats
    damping: Floats
    powers: Floats  # (4,) as in POWERS
    energy: Floats  # (1,)
    elements: Ints  # (1,) whether force elements act
    element_power: Floats  # (1,)
    forward: Ints  # handles of kernels
    mechanical: Ints
    element_powers: Ints


class TreeSpace(NamedTuple):
    """Arrays of a tree in motion; arguments: the same as compiled functions take it; kept: what must stay alive."""

    state: _State
    work: _Work
    arguments: tuple[Book, ...]
    kept: tuple[Any, ...]


def tree_space(m: Mechanism) -> TreeSpace:
    """Return the work space of a mechanism."""
    state = _State(np.zeros(m.nq), np.zeros(m.nv))
    tau, a, energy, power = np.zeros(m.nv), np.zeros(m.nv), np.zeros(1), np.zeros(1)
    springs = " springs" if m.has_force_elements else ""
    bound = (
        native_function(m, f"forward_dynamics{springs}").bind([state.q, state.v, tau], [a]),
        native_function(m, "mechanical_energy").bind([state.q, state.v], [energy]),
        native_function(m, "element_power").bind([state.q, state.v], [power]),
    )
    elements = np.array([int(m.has_force_elements)])
    work = _Work(tau, a, m.damping, np.zeros(4), energy, elements, power, *(call.handle for call in bound))
    return TreeSpace(state, work, (Book(state), Book(work)), bound)


@part
def _evaluate(s, w):
    """Accelerations (1) and powers of the state in s; False for bad numbers."""
    w.powers[0], w.powers[1], w.powers[2] = 0.0, 0.0, 0.0
    for d in range(len(s.v)):
        w.powers[0] += w.tau[d] * s.v[d]
        w.powers[1] -= w.damping[d] * s.v[d] * s.v[d]
    if w.elements[0]:
        if run_bound(w.element_powers) >= 0:
            return False
        w.powers[2] = w.element_power[0]
    return run_bound(w.forward) < 0


@part
def _step(s, w, g, h):
    """One step from the evaluated state in s; works in g.total; False for bad numbers."""
    begin_step(g, s, w)
    if len(g.b) == 0:
        return euler_step(g, s, w, h)
    for i in range(1, len(g.b)):
        if not begin_stage(g, s, i, h) or not _evaluate(s, w):
            return False
        keep_slope(g, s, w, i)
    return end_step(g, s, h)


@compiled
def run_tree(s, w, g, r, steps, first, every):
    """Take the steps (s) given in `steps` from the evaluated state in s; as compiled_steps.run_steps."""
    row = 0
    for n in range(len(steps)):
        if not _step(s, w, g, steps[n]):
            return n, _UNSUITABLE
        if not within_reach(s):
            return n, DIVERGED
        if not _evaluate(s, w):
            return n, _UNSUITABLE
        for i in range(4):
            r.totals[i] += g.total[2 * len(s.v) + i]
        if (first + n) % every == 0:
            run_bound(w.mechanical)
            keep_state(s, w, r, row, w.energy[0])
            r.numbers[row, 1] = r.numbers[row, 7] = 0.0
            row += 1
    return len(steps), -1
