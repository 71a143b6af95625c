"""Values of all parameters in all runs: a grid, random draws, or a Latin hypercube.

| symbol | meaning |
|---|---|
| N, k | runs, parameters |
| u | numbers in [0, 1), (N, k) |
| π_j | random permutation of 0…N-1, one per parameter |

    grid              all combinations, the first parameter slowest                       (1)
    random            u independent and uniform                                           (2)
    latin hypercube   u_ij = (π_j(i) + r_ij) / N, r uniform: one run in each of N layers  (3)
    x = F⁻¹(u) with F of the range (linear or logarithmic), list, or normal distribution   (4)

Source: McKay, Beckman and Conover 1979 (3). Cost: O(N k). Same seed, same values.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from setsu.sweep.study import Parameter, Study

__all__ = ["sample"]

Floats = NDArray[np.float64]


def sample(study: Study) -> Floats:
    """Return the values (runs, parameters); where values are no numbers, their positions in the list."""
    parameters = study.parameters
    if study.sampling == "grid":  # (1)
        axes = [_grid_axis(parameter) for parameter in parameters]
        points = np.meshgrid(*axes, indexing="ij") if axes else []
        runs = math.prod(len(axis) for axis in axes)
        return np.stack([p.ravel() for p in points], axis=1) if points else np.zeros((runs, 0))
    assert study.runs is not None
    rng = np.random.default_rng(study.seed)
    u = rng.random((study.runs, len(parameters)))  # (2)
    if study.sampling == "latin_hypercube":  # (3)
        layers = np.stack([rng.permutation(study.runs) for _ in parameters], axis=1) if parameters else u
        u = (layers + u) / study.runs
    columns = [_from_uniform(parameter, u[:, index]) for index, parameter in enumerate(parameters)]
    return np.stack(columns, axis=1) if columns else u


def _listed(parameter: Parameter) -> Floats:
    return np.arange(len(parameter.values), dtype=np.float64) if parameter.is_choice else np.array(
        parameter.values, dtype=np.float64
    )  # fmt: skip


def _grid_axis(p: Parameter) -> Floats:
    if p.values:
        return _listed(p)
    assert p.low is not None and p.high is not None and p.count is not None  # noqa: PT018
    axis = np.geomspace(p.low, p.high, p.count) if p.spacing == "log" else np.linspace(p.low, p.high, p.count)
    return _whole(p, axis) if p.whole else axis


def _whole(p: Parameter, values: Floats) -> Floats:
    """The nearest whole numbers within the range."""
    assert p.low is not None and p.high is not None  # noqa: PT018
    return np.clip(np.round(values), math.ceil(p.low), math.floor(p.high))


def _from_uniform(p: Parameter, u: Floats) -> Floats:
    """(4)"""
    if p.values:
        values = _listed(p)
        return values[np.minimum((u * len(values)).astype(np.int64), len(values) - 1)]
    if p.mean is not None and p.deviation is not None:
        normal = NormalDist()
        # The ends of [0, 1) have no finite quantile.
        inner = np.clip(u, 2.0**-54, 1.0 - 2.0**-53)
        values = p.mean + p.deviation * np.array([normal.inv_cdf(number) for number in inner])
        return np.round(values) if p.whole else values
    assert p.low is not None and p.high is not None  # noqa: PT018
    if p.spacing == "log":
        values = np.exp(math.log(p.low) + u * (math.log(p.high) - math.log(p.low)))
        return _whole(p, values) if p.whole else values
    if p.whole:
        low, high = math.ceil(p.low), math.floor(p.high)
        return np.minimum(low + np.floor(u * (high - low + 1)), high)
    return p.low + u * (p.high - p.low)
