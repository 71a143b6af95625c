"""Times are told for the three functions, positive and finite; how short they are is no test's business."""

from __future__ import annotations

import math

from setsu.checks import measure_speed
from setsu.sample_mechanisms import pendulum


def test_times_are_told() -> None:
    speeds = measure_speed(pendulum())
    assert [speed.function for speed in speeds] == ["inverse dynamics", "forward dynamics", "mass matrix"]
    for speed in speeds:
        assert 0.0 < speed.single < math.inf
        assert 0.0 < speed.batch < math.inf
