"""The start of a run of many loops: calls and memory grow with their number, and not with its square."""

from __future__ import annotations

import sys
import tracemalloc
from collections import Counter
from typing import Any

import numpy as np

import setsu
from setsu.mechanism.tables import Inertias, Kind, regroup


def _start(m: setsu.Mechanism) -> None:
    sim = setsu.Simulator(m, 1e-3)
    sim.reset(m.neutral(), np.zeros(m.nv))
    sim.step(None)


def test_calls_and_memory_grow_as_the_number_of_loops() -> None:
    _start(setsu.sample_mechanisms.n_four_bar(200))  # makes the code
    calls, peak = Counter(), {}
    for n in (200, 800):
        m, again = (setsu.sample_mechanisms.n_four_bar(n) for _ in range(2))
        tracemalloc.start()
        _start(m)
        peak[n] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        sys.setprofile(lambda frame, event, argument, n=n: calls.update([n]))
        _start(again)
        sys.setprofile(None)
    # Four times as many: 16 times as much where something is square.
    assert peak[800] < 6 * peak[200]
    assert calls[800] < 6 * calls[200]


def test_inertias_are_regrouped_as_link_by_link() -> None:
    """Levels of the tree at once give the bits of one link after the other, from the last to the first."""
    rng = np.random.default_rng(4)
    for n in (1, 7, 40):
        parent = np.array([rng.integers(-1, k) if k else -1 for k in range(n)])
        kind = rng.integers(0, 5, n)
        rotation = np.linalg.qr(rng.standard_normal((n, 3, 3)))[0]
        translation = rng.standard_normal((n, 3))
        true = Inertias(rng.random(n), rng.standard_normal((n, 3)), rng.standard_normal((n, 6)))
        got = regroup(true, kind, parent, rotation, translation)
        for name, expected in _link_by_link(true, kind, parent, rotation, translation).items():
            assert np.array_equal(getattr(got, name), expected), name


def _link_by_link(true: Inertias, kind: Any, parent: Any, rotation: Any, translation: Any) -> dict[str, Any]:
    mass, moment = true.mass.copy(), true.moment.copy()
    second = true.second_moment[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)

    def product(A: Any, B: Any) -> Any:
        return A[:, :1] * B[0] + A[:, 1:2] * B[1] + A[:, 2:] * B[2]

    for link in reversed(range(len(kind))):
        given, on_axis, beyond = 0.0, np.zeros((3, 1)), np.zeros((3, 3))
        if kind[link] in (Kind.REVOLUTE, Kind.SPHERICAL):
            given, mass[link] = mass[link], 0.0
        if kind[link] == Kind.REVOLUTE:
            on_axis[2], moment[link, 2] = moment[link, 2], 0.0
        if kind[link] in (Kind.REVOLUTE, Kind.HELICAL):
            beyond[2, 2], second[link, 2, 2] = second[link, 2, 2], 0.0
        if kind[link] == Kind.PRISMATIC:
            beyond, second[link] = second[link].copy(), 0.0
        to, R, p = parent[link], rotation[link], translation[link]
        if to >= 0:
            turned = product(R, on_axis)[:, 0]
            mass[to] += given
            moment[to] += given * p + turned
            shifted = product(product(R, beyond), R.T) + np.outer(turned, p) + np.outer(p, turned)
            second[to] += shifted + given * np.outer(p, p)
    return {"mass": mass, "moment": moment, "second_moment": second.reshape(-1, 9)[:, [0, 1, 2, 4, 5, 8]]}
