"""The tables of docs/nodal.md: closed mechanisms by their motors, robots from files, member lengths, the filter."""

from __future__ import annotations

import pytest

from setsu.benchmarks import nodal_accuracy
from setsu.benchmarks.nodal_accuracy import CLOSED, SCHEMES


@pytest.mark.parametrize("name", CLOSED)
def test_closed_mechanisms_have_order_two(name: str) -> None:
    make, motors = CLOSED[name]
    found = nodal_accuracy.closed_accuracy(make(), motors)
    assert set(found) == set(SCHEMES)
    for order, error in found.values():
        assert order == pytest.approx(2.0, abs=0.1)
        assert error <= 1e-4


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "name", ["UR10 from URDF", "Panda from URDF", "24 joints, some sliding", "joints of five kinds"]
)
def test_trees_have_order_two_and_lengths_times_forces_are_torques(name: str) -> None:
    m = nodal_accuracy.trees()[name]
    for order, error in nodal_accuracy.accuracy(m).values():
        assert order == pytest.approx(2.0, abs=0.1)
        assert error <= 1e-4
    assert nodal_accuracy.member_length_error(m) <= 1e-12
    assert nodal_accuracy.stepper_is_the_batch_form(m)


def test_a_wider_filter_takes_away_more_noise() -> None:
    rows = nodal_accuracy.noise_table(nodal_accuracy.trees()["seven joints"])
    noisy = [row[1] for row in rows]
    assert noisy == sorted(noisy, reverse=True)
    assert noisy[0] > 100.0 * noisy[-1]
