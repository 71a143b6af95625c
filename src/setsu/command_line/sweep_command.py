"""`setsu sweep STUDY`: one scenario, many parameters."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from setsu.command_line.output import INTERRUPTED, ProgressBar, console, print_json

__all__ = ["sweep"]

_SHOWN = 5
_MOST_FAULTS = 20


def sweep(
    study: Path,
    /,
    *,
    out: Path | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    verify: Annotated[bool, Parameter(negative=())] = False,
    json: bool = False,
) -> int:
    """Run a scenario over parameters, thousands to millions of times, into one Zarr store.

    The same command goes on where an interrupted one was; nothing that is complete is computed again. A run that fails
    is recorded with its message and does not stop the others. Exit code 1: a run failed; 130: interrupted.

    Parameters
    ----------
    study
        TOML file; the page "Sweeps" of the documentation lists its tables. With --verify also a store.
    out
        Folder of the store; else beside the study, with its name and .zarr.
    jobs
        Processes on this machine; all cores when not given.
    cluster
        A Dask cluster instead: tcp://host:port of its scheduler, or its scheduler file. The store must be on a disk
        that the workers share.
    verify
        Compute nothing: read every file of the store and compare it with the checksum from when it was written. Exit
        code 1: a file is damaged or missing.
    json
        Print JSON instead of tables.
    """
    from setsu.sweep.function import sweep as compute
    from setsu.sweep.study import read_study

    target = out if out is not None else study if study.is_dir() else study.with_suffix(".zarr")
    if verify:
        return _verify(target, json)
    total = read_study(study).n_runs
    parts: list[float] = []
    begin = time.perf_counter()
    try:
        with ProgressBar("running", total=total, unit="runs") as bar:

            def report(text: str, part: float) -> None:
                parts.append(part)
                bar(text, part)

            data = compute(study, target, jobs=jobs, cluster=cluster, progress=report)
    except KeyboardInterrupt:
        done = round(parts[-1] * total) if parts else 0
        print(f"setsu: interrupted; {done} of {total} runs are in {target}, run again to go on", file=sys.stderr)
        return INTERRUPTED
    found = _as_data(data, target, time.perf_counter() - begin, round((1.0 - parts[0]) * total))
    if json:
        print_json(found)
    else:
        _show(found)
    return 1 if found["failed"] else 0


def _verify(target: Path, as_json: bool) -> int:
    """Report what is damaged in a store; return the exit code."""
    from setsu.errors import InputError
    from setsu.sweep.store import faults, open_store

    if not target.is_dir():
        raise InputError(f"sweep --verify: there is no store at {target}")
    store = open_store(target)
    complete = store.n_chunks - len(store.missing())
    found = faults(store)
    chunks = sorted({index for index, _ in found if index is not None})
    if as_json:
        print_json({
            "store": str(target), "chunks": store.n_chunks, "complete": complete, "damaged_chunks": chunks,
            "faults": [text for _, text in found],
        })  # fmt: skip
        return 1 if found else 0
    print(f"{target}: {complete} of {store.n_chunks} chunks are complete")
    for index, text in found[:_MOST_FAULTS]:
        print(f"damaged: {text}" if index is None else f"damaged: chunk {index}: {text}")
    if len(found) > _MOST_FAULTS:
        print(f"and {len(found) - _MOST_FAULTS} more")
    if chunks and all(index is not None for index, _ in found):
        names = " ".join(f"{index:06d}" for index in chunks[:_MOST_FAULTS])
        print(f"to compute these chunks again, remove from {target / '.setsu' / 'done'}: {names}, and run the sweep")
    elif found:
        print("the frame of the store is damaged: put it back from a copy, or remove the store and run the sweep again")
    else:
        print("every file has the checksum of what was written")
    return 1 if found else 0


def _as_data(data: Any, target: Path, seconds: float, computed: int) -> dict[str, Any]:
    from setsu.sweep.store import FAILED

    failed = [int(run) for run in (data["status"].values == FAILED).nonzero()[0]]
    numbers = [name for name in data.data_vars if data[name].dtype.kind == "f" and data[name].ndim == 1]
    return {
        "mechanism": data.attrs["mechanism"],
        "runs": int(data.sizes["run"]),
        "computed_now": computed,
        "seconds": seconds,
        "failed": len(failed),
        "first_failures": [{"run": run, "error": str(data["error"].values[run])} for run in failed[:_SHOWN]],
        "ranges": [_range(str(name), data[name]) for name in numbers if data[name].notnull().any()],
        "written": str(target),
    }


def _range(name: str, values: Any) -> dict[str, Any]:
    unit = values.attrs.get("units", "")
    least, mean, most = (float(getattr(values, key)()) for key in ("min", "mean", "max"))
    return {"name": name, "unit": unit, "parameter": "path" in values.attrs, "min": least, "mean": mean, "max": most}


def _show(found: dict[str, Any]) -> None:
    from rich.table import Table

    rate = f" ({found['computed_now'] / max(found['seconds'], 1e-9):.4g} runs/s)" if found["computed_now"] else ""
    print(f"{found['mechanism']}: {found['runs']} runs, {found['computed_now']} computed now in "
          f"{found['seconds']:.3g} s{rate}, {found['failed']} failed")  # fmt: skip
    table = Table(box=None, pad_edge=False)
    for head in ("variable", "unit"):
        table.add_column(head, overflow="fold")
    for head in ("least", "mean", "most"):
        table.add_column(head, justify="right")
    for row in sorted(found["ranges"], key=lambda row: not row["parameter"]):
        name = f"{row['name']} (parameter)" if row["parameter"] else row["name"]
        table.add_row(name, row["unit"], *(f"{row[key]:.5g}" for key in ("min", "mean", "max")))
    console().print(table)
    for failure in found["first_failures"]:
        print(f"run {failure['run']} failed: {failure['error']}")
    if found["failed"] > len(found["first_failures"]):
        print(f"and {found['failed'] - len(found['first_failures'])} more")
    print("written:", found["written"])
