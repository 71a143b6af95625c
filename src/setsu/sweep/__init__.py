"""Sweeps: one scenario run thousands to millions of times over parameters, on all cores or on a cluster.

data = setsu.sweep("study.toml", "results.zarr")
"""

from setsu.sweep.function import sweep

__all__ = ["sweep"]
