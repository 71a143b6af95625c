"""`sweep`: a study into a store, wherever it is computed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from setsu.errors import InputError
from setsu.spatial import whole_number

__all__ = ["sweep"]

Progress = Callable[[str, float], None]


def sweep(
    study: str | Path | Mapping[str, Any],
    out: str | Path,
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> Any:
    """Run a scenario over parameters, thousands to millions of times; return the results as an xarray.Dataset.

    Args:
        study: TOML file, or the same as a dictionary: scenario, sampling, runs, seed, chunk, parameters.
        out: folder of the Zarr store. Where it holds part of the same study, only the rest is computed.
        jobs: processes on this machine; all cores when not given.
        cluster: address of a Dask scheduler ("tcp://host:8786") or path of its scheduler file, instead of `jobs`.
        progress: function (text, part from 0 to 1), called at the beginning and after each chunk.

    A run that fails is recorded: `status` 2 and its message in `error`; the others go on. Killed at any moment, the
    same call goes on where it was; the bytes in the store are those of a run without interruption.

    Raises:
        ModelFileError: bad study or scenario, with lines, before anything is written.
        InputError: bad arguments, a store of another study, a cluster that does not answer.

    >>> import setsu, tempfile
    >>> study = {
    ...     "scenario": {"model": {"sample": "pendulum"}, "simulation": {"duration": 0.1}},
    ...     "parameters": [{"path": "start.q.joint1", "name": "angle", "low": 0.0, "high": 1.0, "count": 5}],
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     setsu.sweep(study, f"{folder}/swings.zarr", jobs=1)["final_q"].shape
    (5, 1)
    """
    from setsu.sweep.execution import compute_here, compute_on_cluster
    from setsu.sweep.plan import make_plan
    from setsu.sweep.study import read_study

    if jobs is not None:
        jobs = whole_number(jobs, "sweep: jobs")
    if cluster is not None and "://" not in cluster and not Path(cluster).is_file():
        raise InputError(f"sweep: cluster: expected tcp://host:port or a scheduler file that exists, got {cluster!r}")
    _require_storage()
    plan, values = make_plan(read_study(study), Path(out).absolute())
    store = plan.store
    total = store.runs
    done = total - sum(rows.stop - rows.start for rows in map(store.rows, store.missing()))
    lost = 0

    def finished(runs: int, failed: int) -> None:
        nonlocal done, lost
        done, lost = done + runs, lost + failed
        if progress is not None:
            progress(f"{done} of {total} runs" + (f", {lost} failed" if lost else ""), done / total)

    finished(0, 0)
    if cluster is not None:
        compute_on_cluster(plan, values, cluster, finished)
    else:
        compute_here(plan, values, jobs or _cores(), finished)
    if missing := store.missing():
        raise InputError(f"sweep: {len(missing)} chunks of {store.path} are missing in the end; run it again")
    store.tidy()
    return open_results(store.path)


def open_results(path: str | Path) -> Any:
    """Return the results in a store as an xarray.Dataset, also of a sweep that is still running."""
    import xarray

    try:
        return xarray.open_zarr(str(path), chunks=None, mask_and_scale=False)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        # Zarr and xarray have no error of their own for a damaged store.
        raise InputError(
            f"sweep: the store {path} cannot be read ({problem}); try setsu sweep {path} --verify"
        ) from None


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _require_storage() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("zarr", "xarray") if find_spec(name) is None]
    if missing:
        raise InputError(f"sweep needs {' and '.join(missing)}: pip install setsu[data]")
