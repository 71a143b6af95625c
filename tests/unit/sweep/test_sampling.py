"""Grids hold all combinations, Latin hypercubes one run per layer, draws follow their distributions and seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import setsu
from setsu.sweep.plan import value_of
from setsu.sweep.sampling import sample
from setsu.sweep.study import read_study

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "scenarios"
SCENARIO = {"model": {"sample": "pendulum"}, "simulation": {"duration": 0.01}}


def values(parameters: list[dict[str, Any]], **more: Any) -> np.ndarray:
    return sample(read_study({"scenario": SCENARIO, "parameters": parameters, **more}))


def test_a_grid_is_every_combination_with_the_first_parameter_slowest() -> None:
    grid = values(
        [{"path": "a", "values": [1, 2]}, {"path": "b", "low": 1.0, "high": 100.0, "count": 3, "spacing": "log"}]
    )
    assert np.allclose(grid, [[1, 1], [1, 10], [1, 100], [2, 1], [2, 10], [2, 100]], rtol=1e-14)


def test_a_latin_hypercube_has_one_run_in_each_layer_of_each_parameter() -> None:
    n = 97
    drawn = values(
        [{"path": "a", "low": 0.0, "high": 1.0}, {"path": "b", "low": -3.0, "high": 5.0}],
        sampling="latin_hypercube", runs=n, seed=3,
    )  # fmt: skip
    layers = np.floor(np.stack([drawn[:, 0], (drawn[:, 1] + 3.0) / 8.0], axis=1) * n).astype(int)
    assert (np.sort(layers, axis=0) == np.arange(n)[:, None]).all()


def test_draws_follow_their_distribution() -> None:
    n = 4000
    drawn = values(
        [
            {"path": "a", "mean": 2.0, "deviation": 0.5},
            {"path": "b", "low": 1.0, "high": 100.0, "spacing": "log"},
            {"path": "c", "low": 0, "high": 9, "whole": True},
            {"path": "d", "values": ["x", "y", "z"]},
        ],
        sampling="random", runs=n, seed=1,
    )  # fmt: skip
    # Means within five standard errors: sigma/sqrt(n); of the logarithm, uniform on (0, 2), 2/sqrt(12 n).
    assert abs(drawn[:, 0].mean() - 2.0) < 5 * 0.5 / np.sqrt(n)
    assert abs(drawn[:, 0].std() - 0.5) < 5 * 0.5 / np.sqrt(2 * n)
    assert abs(np.log10(drawn[:, 1]).mean() - 1.0) < 5 * 2 / np.sqrt(12 * n)
    assert set(drawn[:, 2]) == set(range(10))
    assert set(drawn[:, 3]) == {0.0, 1.0, 2.0}


def test_the_seed_decides_the_draws() -> None:
    parameter = [{"path": "a", "low": 0.0, "high": 1.0}]
    first, again, other = (values(parameter, sampling="random", runs=9, seed=seed) for seed in (5, 5, 6))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"parameters": [{"path": "a"}]}, "expected one of: values; low and high; mean and deviation"),
        ({"parameters": [{"path": "a", "low": 2.0, "high": 1.0, "count": 2}]}, "expected low <= high, got 2.0 and 1.0"),
        ({"parameters": [{"path": "a", "low": 0.0, "high": 1.0}]}, "count: missing"),
        ({"parameters": [{"path": "a", "low": 0.0, "high": 1.0, "count": 2, "spacing": "log"}]}, "expected low > 0"),
        ({"parameters": [{"path": "a", "mean": 0.0, "deviation": 1.0}]}, "random or latin_hypercube"),
        ({"parameters": [{"path": "a", "values": [1], "name": "status"}]}, "choose another"),
        ({"parameters": [{"path": "a", "values": [1]}, {"path": "a", "values": [1]}]}, "a second parameter named 'a'"),
        ({"sampling": "random"}, "runs: missing"),
        ({"runs": 5}, "a grid has as many runs as points"),
        ({"chunk": 0}, "expected a whole number >= 1, got 0"),
        ({"sampling": "gird"}, "expected one of grid, random, latin_hypercube, got 'gird'"),
        ({"paramters": []}, 'did you mean "parameters"?'),
        ({"scenario": 3}, "expected a file name or a table"),
    ],
    ids=str,
)
def test_a_bad_study_is_refused_in_words(change: dict[str, Any], expected: str) -> None:
    with pytest.raises(setsu.ModelFileError) as caught:
        read_study({"scenario": SCENARIO, **change})
    assert expected in str(caught.value)


@pytest.mark.parametrize(("name", "runs"), [("swings", 2000), ("heavy_hands", 64)])
def test_the_studies_among_the_examples_are_sound(name: str, runs: int) -> None:
    study = read_study(EXAMPLES / f"{name}.toml")
    assert study.n_runs == len(sample(study)) == runs


PLAIN = {"scenario": {"model": {"sample": "pendulum"}, "simulation": {"duration": 0.01}}}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("torque", "torque.stiffness"),
        ("start.q.joint1", "start.q.joint1"),
        (("start.q.joint1", "start.v.joint1"), "start.v"),
        (("start.seed", "start.seed"), "start.v"),
    ],
)
def test_places_set_twice_are_refused(first: object, second: str) -> None:
    parameters = [
        {"path": first, "name": "a", "low": 0.0, "high": 1.0, "count": 2},
        {"path": second, "name": "b", "low": 0.0, "high": 1.0, "count": 2},
    ]
    with pytest.raises(setsu.ModelFileError, match="is also set by"):
        read_study({**PLAIN, "parameters": parameters})


@pytest.mark.parametrize("sampling", ["grid", "random", "latin_hypercube"])
@pytest.mark.parametrize("spacing", ["linear", "log"])
def test_whole_numbers_stay_within_their_range(sampling: str, spacing: str) -> None:
    size = {"count": 50} if sampling == "grid" else {}
    more = {} if sampling == "grid" else {"runs": 200}
    parameter = {"path": "start.seed", "low": 0.4, "high": 20.6, "whole": True, "spacing": spacing, **size}
    values = sample(read_study({**PLAIN, **more, "sampling": sampling, "parameters": [parameter]}))
    assert (values == np.round(values)).all()
    assert values.min() == 1.0
    assert values.max() == 20.0
    if spacing == "log" and sampling != "grid":
        assert np.median(values) < 6.0


def test_whole_is_for_ranges_that_hold_a_whole_number() -> None:
    for wrong, text in (
        ({"values": [0.4, 1.0], "whole": True}, "whole: only for low and high"),
        ({"low": 0.2, "high": 0.8, "count": 2, "whole": True}, "no whole number from 0.2 to 0.8"),
        ({"values": [1.0, 2.0], "spacing": "log"}, "spacing: only for low and high"),
    ):
        with pytest.raises(setsu.ModelFileError, match=text):
            read_study({**PLAIN, "parameters": [{"path": "start.seed", **wrong}]})


def test_large_seeds_stay_whole_and_numpy_numbers_are_taken() -> None:
    large = [2**53 + 1, 2**60 + 3]
    study = read_study({**PLAIN, "seed": np.int64(3), "parameters": [{"path": "start.seed", "values": large}]})
    assert [value_of(study.parameters[0], number) for number in sample(study)[:, 0]] == large
    taken = read_study({**PLAIN, "parameters": [{"path": "start.q.joint1", "values": np.array([0.1, 0.2])}]})
    assert sample(taken)[:, 0].tolist() == [0.1, 0.2]
