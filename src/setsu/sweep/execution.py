"""Who computes the chunks: processes on this machine (joblib), or the workers of a Dask cluster."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.interruption import interrupts_held
from setsu.sweep.chunk import compute_chunk
from setsu.sweep.plan import Plan

__all__ = ["compute_here", "compute_on_cluster"]

Floats = NDArray[np.float64]
Finished = Callable[[int, int], None]
"""Called with the runs and the failed runs of each chunk that is complete."""

_IN_FLIGHT = 4  # chunks per worker that a cluster is given ahead
_WATCH_EVERY = 0.5  # s between two looks at the parent
_ORPHANS_KEEP_PARENTS = os.name == "nt"
_ATTEMPTS = 3  # restarts without any progress after workers were killed


def compute_here(plan: Plan, values: Floats, jobs: int, finished: Finished) -> None:
    """Compute all missing chunks by `jobs` processes; a process that dies is replaced."""
    idle = 0
    while missing := plan.store.missing():
        try:
            for runs, failed in _locally(plan, values, missing, min(jobs, len(missing))):
                idle = 0
                finished(runs, failed)
            return
        except OSError as problem:
            raise InputError(f"sweep: cannot write {plan.store.path} ({problem.strerror or problem})") from None
        except Exception as problem:
            # joblib's error for a killed worker, by name: joblib is not imported where nothing is parallel.
            if type(problem).__name__ not in ("TerminatedWorkerError", "BrokenProcessPool"):
                raise
            idle += 1
            if idle > _ATTEMPTS:
                raise InputError(
                    "sweep: worker processes die again and again, for want of memory perhaps; try fewer --jobs or a "
                    "smaller chunk. What is complete is kept"
                ) from None


def _locally(plan: Plan, values: Floats, missing: list[int], jobs: int) -> Iterator[tuple[int, int]]:
    if jobs == 1:
        for index in missing:
            yield compute_chunk(plan, index, values[plan.store.rows(index)])
        return
    joblib = _needed("joblib", "cluster")
    parallel = joblib.Parallel(n_jobs=jobs, backend="loky", return_as="generator_unordered", batch_size=1)
    work, owner = joblib.delayed(_compute_for), os.getpid()
    with _quiet_ends(), warnings.catch_warnings():
        # Ctrl-C cancels what workers still compute; how far the study came is reported by the command.
        warnings.filterwarnings("ignore", message=".*tasks which were still being processed", category=UserWarning)
        results: Any = None
        try:
            _start_watchers()
            with interrupts_held():
                # Workers that see Ctrl-C themselves would each print a traceback; joblib ends them when we stop.
                results = parallel(work(owner, plan, index, values[plan.store.rows(index)]) for index in missing)
            yield from results
        finally:
            if results is not None:
                results.close()


def _compute_for(owner: int, plan: Plan, index: int, values: Floats) -> tuple[int, int]:
    """Compute a chunk in a worker of the process `owner`, and end when that is gone."""
    _watch_parent(owner)
    return compute_chunk(plan, index, values)


@cache
def _watch_parent(owner: int) -> None:
    """End this process when its parent has ended: nobody would take its results, and it would go on for minutes."""

    def watch() -> None:
        _wait_for_end(owner)
        os._exit(1)

    if os.getppid() == owner:
        threading.Thread(target=watch, name="setsu sweep parent", daemon=True).start()


def _wait_for_end(parent: int) -> None:
    """Return when the parent of this process has ended."""
    if _ORPHANS_KEEP_PARENTS:
        # The number of a parent that has ended stays, and may be given to another process: its handle is waited on.
        windows: Any = import_module("_winapi")
        handle = windows.OpenProcess(windows.SYNCHRONIZE, False, parent)
        windows.WaitForSingleObject(handle, windows.INFINITE)
        return
    while os.getppid() == parent:
        time.sleep(_WATCH_EVERY)


def _start_watchers() -> None:
    """Start the processes that clean up after workers: later, starting them would let Ctrl-C through to workers."""
    for watcher in ("multiprocessing.resource_tracker", "joblib.externals.loky.backend.resource_tracker"):
        import_module(watcher).ensure_running()


@contextmanager
def _quiet_ends() -> Iterator[None]:
    """Keep the watchers of workers that Ctrl-C ends from warning, on the terminal, of what they clean up after them."""
    name = "PYTHONWARNINGS"
    before = os.environ.get(name)
    os.environ[name] = ",".join(filter(None, (before, "ignore:resource_tracker:UserWarning")))
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


def compute_on_cluster(plan: Plan, values: Floats, cluster: str, finished: Finished) -> None:
    """Compute all missing chunks on a Dask cluster: "tcp://host:port" or the path of a scheduler file.

    The workers write into the store themselves, so that its folder must be theirs too, under the same path. A chunk
    whose worker dies is given to another one.
    """
    distributed = _needed("distributed", "cluster")
    place = {"scheduler_file": cluster} if Path(cluster).is_file() else {"address": cluster}
    try:
        client = distributed.Client(**place, timeout=20, set_as_default=False)
    except (OSError, ValueError, TypeError) as problem:
        raise InputError(f"sweep: no Dask scheduler answers at {cluster!r} ({problem})") from None
    with client:
        waiting = iter(plan.store.missing())

        def submit(count: int) -> list[Any]:
            return [
                client.submit(compute_chunk, plan, index, values[plan.store.rows(index)], pure=False, retries=_ATTEMPTS)
                for index in islice(waiting, count)
            ]

        workers = max(1, len(client.scheduler_info()["workers"]))
        running = distributed.as_completed(submit(_IN_FLIGHT * workers), loop=client.loop)
        for future in running:
            try:
                runs, failed = future.result()
            except distributed.KilledWorker as problem:
                raise InputError(f"sweep: workers die again and again ({problem}); what is complete is kept") from None
            except OSError as problem:
                raise InputError(
                    f"sweep: a worker cannot reach {plan.store.path} ({problem}); the folder of the store must be "
                    "shared with all workers"
                ) from None
            finished(runs, failed)
            for follower in submit(1):
                running.add(follower)


def _needed(package: str, extra: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise InputError(f"sweep needs {package}: pip install setsu[{extra}]") from None
