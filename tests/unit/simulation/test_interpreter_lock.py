"""The interpreter lock is free while a machine runs: other threads of Python go on."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import setsu


def _box() -> tuple[setsu.Mechanism, np.ndarray, dict[str, Any]]:
    b = setsu.MechanismBuilder("box")
    shape = setsu.Shape("box", (0.2, 0.2, 0.2))
    b.add_body("box", joint=setsu.Free(name="free"), mass=1.0, inertia=0.01 * np.eye(3), collisions=[shape])
    m = b.build()
    q = m.neutral()
    q[2] = 0.1
    return m, q, {"environment": setsu.Environment.floor()}


WORLDS: dict[str, tuple[Any, int]] = {
    "tree": (lambda: (m := setsu.sample_mechanisms.planar_arm(3), np.full(m.nq, 0.3), {}), 200_000),
    "loop": (lambda: (m := setsu.sample_mechanisms.four_bar(), m.neutral(), {}), 50_000),
    "floor": (_box, 30_000),
}


@pytest.mark.parametrize("kind", WORLDS)
def test_python_goes_on_in_another_thread_during_a_run(kind: str) -> None:
    """One call of the machine takes a fraction of a second; a held lock would let nobody count meanwhile."""
    make, steps = WORLDS[kind]
    m, q, options = make()
    sim = setsu.Simulator(m, 1e-5, **options)
    sim.reset(q, np.zeros(m.nv))
    torque, counted, ends = np.zeros(m.nv), [0], threading.Event()
    sim.step(torque)  # compiles

    def count() -> None:
        while not ends.is_set():
            counted[0] += 1

    other = threading.Thread(target=count)
    other.start()
    before = counted[0]
    sim.step(torque, steps)
    during = counted[0] - before
    ends.set()
    other.join()
    assert during > 1000


def test_two_threads_of_two_runs_give_the_bits_of_runs_alone() -> None:
    m, q, options = _box()
    q[2] = 0.15
    sims = [setsu.Simulator(m, 1e-3, **options) for _ in range(3)]
    for sim in sims:
        sim.reset(q, np.full(m.nv, 0.1))
    threads = [threading.Thread(target=sim.step, args=(np.zeros(m.nv), 500)) for sim in sims[:2]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sims[2].step(np.zeros(m.nv), 500)
    for sim in sims[:2]:
        np.testing.assert_array_equal(sim.q, sims[2].q)
