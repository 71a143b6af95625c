"""The benchmark of sweeps compares what both engines compute before it tells how fast they are."""

from __future__ import annotations

from setsu.benchmarks import measure_sweep, sweep_as_json, sweep_tables


def test_both_engines_end_in_the_same_states() -> None:
    study = measure_sweep(quick=True, runs=16)
    # A thousand steps of another order of rounding, far from any singular position.
    assert study.difference < 1e-9
    assert study.agrees
    data = sweep_as_json(study)
    assert data["runs"] == 16
    assert data["ratio"] > 0.0
    assert data["processor_ratio"] > 0.0
    assert sweep_tables(study)
