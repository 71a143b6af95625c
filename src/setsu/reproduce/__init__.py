"""The published results, computed again: every table beside its print, every figure, deviations in words.

One folder or module per paper with a function `run(out, progress) -> Report`; PAPERS names them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from setsu.errors import InputError, nearest_names
from setsu.reproduce.html_page import write_index, write_page
from setsu.reproduce.parallel import available_processors, compute_all
from setsu.reproduce.report import Figure, Report, Row, Table
from setsu.spatial import whole_number

__all__ = ["PAPERS", "Figure", "Report", "Row", "Table", "reproduce"]

PAPERS: dict[str, str] = {
    "nishiguchi2014": "Constrained motion of manipulators by an extended Newton-Euler method",
    "sugihara2002": "Contact forces of a multibody system by a multipoint rigid contact model; a humanoid",
    "kawasaki1995": "Minimum dynamic parameters of closed-link manipulators by computer algebra",
    "isobe2003": "Inverse dynamics by nodal forces, feed-forward and force control",
    "yamamoto2022": "Inverse and forward dynamics: a lecture and its exercises",
}
"""Keys and subjects of the papers that can be reproduced."""


def reproduce(
    keys: Sequence[str],
    out: Path,
    progress: Callable[[str, float], None],
    finished: Callable[[Report], None] = lambda report: None,
    jobs: int = 1,
) -> list[Report]:
    """Compute the results of papers into `out`, one folder each, with a page over each and one over all.

    keys: of PAPERS, or "all". progress: function (text, part from 0 to 1). finished: called with every
    paper whose pages are complete; an interruption keeps them. jobs: processes; 0 for as many as processors.
    """
    wanted = list(PAPERS) if "all" in keys else list(dict.fromkeys(keys))
    for key in wanted:
        if key not in PAPERS:
            raise InputError(f"reproduce: unknown paper {key!r}{nearest_names(key, [*PAPERS, 'all'])}")
    jobs = whole_number(jobs, "reproduce: jobs (0: all processors)", 0)
    folders = {key: out / key for key in wanted}
    for folder in folders.values():
        _make(folder)
    reports: dict[str, Report] = {}

    def complete(key: str, report: Report, seconds: float) -> None:
        reports[key] = replace(report, seconds=seconds)
        write_page(reports[key], folders[key] / "index.html")
        write_index([reports[each] for each in wanted if each in reports], out / "index.html")
        finished(reports[key])

    processes = min(jobs or available_processors(), _most_tasks(wanted))
    if processes > 1:
        compute_all(wanted, folders, processes, progress, complete)
        return [reports[key] for key in wanted]
    for number, key in enumerate(wanted):

        def part(text: str, done: float, number: int = number, key: str = key) -> None:
            progress(f"{key}: {text}", (number + done) / len(wanted))

        start = time.perf_counter()
        report = import_module(f"setsu.reproduce.{key}").run(folders[key], part)
        complete(key, report, time.perf_counter() - start)
    return [reports[key] for key in wanted]


def _most_tasks(keys: Sequence[str]) -> int:
    """How many tasks there are to share among processes; a single paper without parts needs no second process."""
    return sum(len(getattr(import_module(f"setsu.reproduce.{key}"), "PARTS", "x")) for key in keys)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"reproduce: cannot make the folder {folder} ({problem.strerror})") from None
