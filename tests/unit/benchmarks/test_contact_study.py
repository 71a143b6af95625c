"""The contact study's detection and methods: the broad phase misses nothing, and the product's method solves all."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.benchmarks.contact_detection import measure_detection
from setsu.benchmarks.contact_methods import measure_methods

pytestmark = pytest.mark.slow


def test_the_broad_phase_finds_what_all_pairs_find() -> None:
    few, every = measure_detection(1)
    assert (few.points, few.polygons) == (128, 64)
    assert (few.contacts, every.contacts) == (8, 64)  # four corners of each box at the ground


@pytest.mark.nightly
def test_the_product_solves_what_a_falling_humanoid_meets() -> None:
    m = setsu.sample_mechanisms.hoap1_like()
    q = m.neutral()
    q[2] += 0.24
    v = np.zeros(m.nv)
    v[0], v[4] = 0.6, 1.0
    rows = measure_methods(m, [("falling", None, v, [300, 600, 900])], q, 1)
    solved = {(row.method, row.start): row.solved for row in rows}
    assert solved["newton", "warm"] == solved["newton", "cold"] == 1.0
