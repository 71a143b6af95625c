"""What every run prints first, and two options: a sample of the tests; how near rounding comes to its bounds."""

from __future__ import annotations

import os
import signal
import zlib
from typing import Any

# Before NumPy is loaded, here and in the workers: as many tests run at once as there are cores, and BLAS threads that
# wait for each other on busy cores take three times the processor time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from rounding_report import Report

from setsu.native.processor import target
from setsu.native.threads import get_threads
from setsu.native.toolchain import cache_folder, lanes

# A shell lets what it starts in the background ignore Ctrl-C, and children inherit that: tests that send it would wait.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Many tests look at stderr, and a slow machine has much to say there.
os.environ.setdefault("SETSU_QUIET", "1")

_REPORT = pytest.StashKey[Report]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this suite."""
    parser.addoption("--every", type=int, default=1, help="run every Nth test only, the first one included")
    parser.addoption("--roundings", action="store_true", help="print measured / allowed of every tolerance")


def pytest_configure(config: pytest.Config) -> None:
    """Watch tolerances where that is asked for."""
    if config.getoption("--roundings"):
        config.stash[_REPORT] = Report()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave the libraries as they were."""
    if _REPORT in config.stash:
        config.stash[_REPORT].restore()


def pytest_report_header() -> str:
    """Processor, lanes of the vector code, threads and the folder of compiled code."""
    made_for = f"{target().level} ({target().name})"
    return f"setsu: code for {made_for}, {lanes()} lanes, {get_threads()} threads, compiled code in {cache_folder()}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the cases that `thin` takes out to the nightly run; keep every Nth test; fast files first."""
    leave_to_the_night(items)
    step = config.getoption("--every")
    if step > 1:
        chosen = [item for item in items if item.get_closest_marker("nightly") is None][::step]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen
    put_fast_files_first(items)


def put_fast_files_first(items: list[pytest.Item]) -> None:
    """Move files that hold a slow test behind the others, whole: what their tests share is made once."""
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path in slow)


def leave_to_the_night(items: list[pytest.Item]) -> None:
    """Mark cases of tests marked `thin(n)` as nightly, all but about one in n of each test, its first one included.

    Which ones follows from their names: always the same, and not one and the same value of every second parameter.
    """
    seen = set()
    for item in items:
        marker = item.get_closest_marker("thin")
        if marker is None:
            continue
        test = item.nodeid.partition("[")[0]
        if test in seen and zlib.crc32(item.nodeid.encode()) % marker.args[0]:
            item.add_marker(pytest.mark.nightly)
        seen.add(test)


def pytest_assertion_pass(item: pytest.Item, lineno: int, expl: str) -> None:
    """Take down how near a comparison with a small number was (needs -o enable_assertion_pass_hook=true)."""
    if _REPORT in item.config.stash:
        item.config.stash[_REPORT].comparison(f"{item.path}:{lineno}", expl)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send what a worker of pytest-xdist took down to the run that prints it."""
    if _REPORT in session.config.stash and hasattr(session.config, "workeroutput"):
        session.config.workeroutput["ratios"] = session.config.stash[_REPORT].ratios


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker of pytest-xdist sent."""
    if _REPORT in node.config.stash:
        for place, (ratio, allowed) in getattr(node, "workeroutput", {}).get("ratios", {}).items():
            node.config.stash[_REPORT].take(ratio * allowed, allowed, place)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the tolerances, the nearest first."""
    if _REPORT in config.stash:
        terminalreporter.section("measured / allowed")
        for line in config.stash[_REPORT].lines():
            terminalreporter.write_line(line)
