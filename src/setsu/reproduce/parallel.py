"""Papers, and parts of them, computed by several processes at once; progress and interruption as in one.

A paper module with `PARTS` (name -> share of the time) and `compute_part(name, progress)` is computed part by part; its
`run(out, progress, done)` then takes what is there. Longest first, so that no process ends up with a long last task.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from setsu.errors import SetsuError
from setsu.reproduce.report import Report

__all__ = ["available_processors", "compute_all"]

_WEIGHTS = {"sugihara2002": 8.0, "isobe2003": 4.0, "nishiguchi2014": 3.0, "yamamoto2022": 2.0, "kawasaki1995": 1.0}
"""Roughly how long each paper takes beside the others."""
_LOOK_SECONDS = 0.1

_news: Any = None


def available_processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def compute_all(
    keys: Sequence[str],
    folders: dict[str, Path],
    jobs: int,
    progress: Callable[[str, float], None],
    complete: Callable[[str, Report, float], None],
) -> None:
    """Compute papers in `jobs` processes; complete: called with the key, the report and its seconds, as they end."""
    tasks = _tasks(keys)
    with _pool(jobs) as (pool, news):
        running: dict[Future[Any], tuple[str, str]] = {}
        for key, part, _ in tasks:
            running[pool.submit(_work, key, part, folders[key])] = key, part
        shares = {(key, part): share for key, part, share in tasks}
        total, part_of = sum(shares.values()), dict.fromkeys(shares, 0.0)
        parts: dict[str, dict[str, Any]] = {key: {} for key in keys}
        spent = dict.fromkeys(keys, 0.0)
        wanted = {key: sum(each == key and bool(part) for each, part, _ in tasks) for key in keys}

        def look(text: str | None = None) -> None:
            """Take the news of the processes and show the newest."""
            while True:
                try:
                    key, part, text, done = news.get_nowait()
                except (queue.Empty, EOFError, OSError):
                    break
                part_of[key, part] = max(part_of.get((key, part), 0.0), done)
                text = f"{key}: {text}"
            if text is not None:
                progress(text, sum(shares[each] * part_of[each] for each in shares) / total)

        while running:
            done, _ = wait(running, timeout=_LOOK_SECONDS, return_when="FIRST_COMPLETED")
            look()
            for future in done:
                key, part = running.pop(future)
                result, seconds = _result(future)
                part_of[key, part] = 1.0
                spent[key] += seconds
                if not part:
                    complete(key, result, spent[key])
                    continue
                parts[key][part] = result
                if len(parts[key]) == wanted[key]:
                    start = time.perf_counter()
                    module = import_module(f"setsu.reproduce.{key}")
                    report = module.run(folders[key], lambda text, _, key=key: look(f"{key}: {text}"), parts.pop(key))
                    complete(key, report, spent[key] + time.perf_counter() - start)


def _tasks(keys: Sequence[str]) -> list[tuple[str, str, float]]:
    """Key, part (empty: the whole paper) and weight of each task, the longest first."""
    tasks = []
    for key in keys:
        weight = _WEIGHTS.get(key, 1.0)
        parts = getattr(import_module(f"setsu.reproduce.{key}"), "PARTS", {"": 1.0})
        tasks += [(key, part, weight * share) for part, share in parts.items()]
    return sorted(tasks, key=lambda task: -task[2])


@contextmanager
def _pool(jobs: int) -> Iterator[tuple[ProcessPoolExecutor, Any]]:
    # A fresh interpreter: threads of compiled code do not survive a fork.
    context = multiprocessing.get_context("spawn")
    news = context.Queue()
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(news,))
    try:
        yield pool, news
    except BaseException:
        workers = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        news.close()
        news.cancel_join_thread()


def _begin(news: Any) -> None:
    """Prepare a process: one thread, and Ctrl-C left to the one that waits."""
    import signal

    from setsu.native.threads import set_threads

    global _news
    _news = news
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_threads(1)


def _work(key: str, part: str, folder: Path) -> tuple[Any, float]:
    """Compute a paper or a part of it; return the result and its seconds."""
    module = import_module(f"setsu.reproduce.{key}")
    start = time.perf_counter()
    last = 0.0

    def progress(text: str, done: float) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last > _LOOK_SECONDS:
            last = now
            _news.put((key, part, f"{part}, {text}" if part else text, done))

    result = module.compute_part(part, progress) if part else module.run(folder, progress)
    return result, time.perf_counter() - start


def _result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except BrokenProcessPool:
        raise SetsuError(
            "reproduce: a process that computed a paper ended without a result (killed, or out of memory); "
            "expected it to end by itself; try again with --jobs 1"
        ) from None
