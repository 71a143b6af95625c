"""Ctrl-C keeps what is done: the process group gets SIGINT as a terminal sends it, says what is kept, ends with 130."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import setsu

STUDY = Path(__file__).resolve().parents[1] / "sweep" / "slow_study.toml"
PATIENCE = 900.0

LONG = """
[model]
sample = "seven_joint_arm"

[simulation]
duration = 100000.0
step = 1e-3
record_every = 10
"""


@dataclass(frozen=True)
class Ended:
    """A command that was interrupted: exit code, what stdout and the terminal behind stderr got."""

    code: int
    out: str
    terminal: str


def interrupt(words: list[str], seen: Callable[[str], bool]) -> Ended:
    """Start a command with a terminal as stderr; when `seen(its text)` holds, send SIGINT to it and its children."""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "160"}
    with tempfile.TemporaryFile("w+") as out:
        running = subprocess.Popen(
            [sys.executable, "-m", "setsu", *words],
            stdout=out, stderr=slave, stdin=subprocess.DEVNULL, text=True, start_new_session=True, env=environment,
        )  # fmt: skip
        os.close(slave)
        text, deadline, sent = "", time.monotonic() + PATIENCE, False
        # A terminal that nobody reads holds a few thousand letters, and then whoever writes to it.
        while running.poll() is None:
            assert time.monotonic() < deadline, f"not {'ended' if sent else 'seen'} in: {text[-2000:]}"
            text += _read(master)
            if not sent and seen(text):
                os.killpg(running.pid, signal.SIGINT)
                sent, deadline = True, time.monotonic() + PATIENCE
        assert sent, f"ended before it was interrupted: {text[-2000:]}"
        while rest := _read(master):
            text += rest
        os.close(master)
        out.seek(0)
        return Ended(running.returncode, out.read(), text)


def _read(terminal: int) -> str:
    if not select.select([terminal], [], [], 0.05)[0]:
        return ""
    try:
        return os.read(terminal, 65536).decode(errors="replace")
    except OSError:  # the last writer is gone
        return ""


def assert_ended_well(ended: Ended, message: str) -> None:
    assert ended.code == 130, ended.terminal[-2000:]
    assert message in ended.terminal
    assert "Traceback" not in ended.terminal
    assert "Warning" not in ended.terminal


@pytest.mark.slow
def test_simulate_writes_what_was_recorded(tmp_path: Path) -> None:
    scenario, run = tmp_path / "long.toml", tmp_path / "run.nc"
    scenario.write_text(LONG)
    ended = interrupt(
        ["simulate", str(scenario), "--out", str(run), "--json"], lambda text: text.count("simulating: t =") > 1
    )
    assert_ended_well(ended, "kept what was done until")
    kept = setsu.Recording.load(run)
    data = json.loads(ended.out)
    assert data["simulated"] == kept.time[-1]
    assert 0.0 < kept.time[-1] < 100000.0
    # What is kept is the beginning of the run, bit by bit.
    again = setsu.simulate(
        setsu.sample_mechanisms.seven_joint_arm(), np.zeros(7), np.zeros(7), duration=0.02, step=1e-3, record_every=10
    )
    np.testing.assert_array_equal(kept.q[:3], again.q)


@pytest.mark.slow
def test_sweep_says_how_far_it_is_and_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "store.zarr"
    done = store / ".setsu" / "done"
    words = ["sweep", str(STUDY), "--out", str(store), "--jobs", "2"]
    ended = interrupt(words, lambda _: done.is_dir() and len(list(done.iterdir())) >= 2)
    assert_ended_well(ended, f"of 24 runs are in {store}, run again to go on")
    kept = {path.name: path.stat().st_mtime_ns for path in done.iterdir()}
    assert len(kept) >= 2
    data = setsu.sweep(STUDY, store, jobs=1)
    assert (data["status"] == 1).all()
    assert kept.items() <= {path.name: path.stat().st_mtime_ns for path in done.iterdir()}.items()


@pytest.mark.nightly
def test_reproduce_keeps_the_papers_that_are_complete(tmp_path: Path) -> None:
    ended = interrupt(["reproduce", "all", "--out", str(tmp_path)], lambda _: (tmp_path / "index.html").is_file())
    assert_ended_well(ended, "setsu: interrupted; complete: ")
    complete = [page.parent.name for page in tmp_path.glob("*/index.html")]
    assert complete
    for key in complete:
        assert f"{key}: " in ended.out
        assert (tmp_path / key / "index.html").read_text().rstrip().endswith("</html>")
        assert f"{key}/index.html" in (tmp_path / "index.html").read_text()


@pytest.mark.slow
def test_bench_keeps_what_was_measured(tmp_path: Path) -> None:
    words = ["bench", "--quick", "--only", "two_link", "--only", "panda", "--only", "talos", "--out", str(tmp_path)]
    ended = interrupt([*words, "--json"], lambda text: "measuring: panda" in text or "measuring: talos" in text)
    assert_ended_well(ended, f"setsu: interrupted; kept: {tmp_path / 'dynamics.json'}")
    written = json.loads((tmp_path / "dynamics.json").read_text())
    assert json.loads(ended.out) == written
    assert written["interrupted"] is True
    assert "two_link" in {row["subject"] for row in written["rows"]}


def test_ctrl_c_while_python_loads_ends_without_a_traceback() -> None:
    # Loading the application raises what Ctrl-C raises.
    script = (
        "import sys, setsu.command_line as line\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'cyclopts': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "sys.exit(line.main(['--help']))\n"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert finished.returncode == 130
    assert "Traceback" not in finished.stderr


def test_an_interrupt_within_exec_ends_with_130_too(tmp_path: Path) -> None:
    """CPython marks such interrupts as unhandled even when they are caught."""
    script = (
        "import sys\n"
        "import setsu.command_line.application as application\n"
        "from setsu.command_line import main\n"
        "def run(arguments):\n"
        "    try:\n"
        "        exec('raise KeyboardInterrupt')\n"
        "    except KeyboardInterrupt:\n"
        "        return 130\n"
        "application.run = run\n"
        "sys.exit(main([]))\n"
    )
    (tmp_path / "interrupted.py").write_text(script)
    assert subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path).returncode == 130


def run_in_place_of_a_command(body: str) -> subprocess.CompletedProcess[str]:
    lines = [
        "import sys, time",
        "import setsu.command_line.application as application",
        "from setsu.command_line import main",
        "def run(arguments):",
        *(f"    {line}" for line in body.strip().splitlines()),
        "application.run = run",
        "sys.exit(main([]))",
    ]
    return subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)


def test_an_interrupt_within_a_finalizer_is_not_lost() -> None:
    """Python drops what a finalizer raises."""
    finished = run_in_place_of_a_command(
        """
class Finalized:
    def __del__(self):
        raise KeyboardInterrupt
Finalized()
time.sleep(60.0)
return 0
"""
    )
    assert finished.returncode == 130
    assert not finished.stderr


def test_what_fails_because_it_was_interrupted_ends_as_interrupted() -> None:
    finished = run_in_place_of_a_command(
        """
try:
    raise KeyboardInterrupt
finally:
    [].pop()
"""
    )
    assert finished.returncode == 130
    assert finished.stderr == "setsu: interrupted\n"


def test_an_interrupt_waits_until_the_bar_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """rich cannot stop a bar whose start was interrupted."""
    from rich.console import Console

    from setsu.command_line.output import ProgressBar

    printed = Console.print
    sent: list[int] = []

    def print_interrupted(console: Console, *arguments: object, **options: Any) -> None:
        if not sent:
            sent.append(1)
            signal.raise_signal(signal.SIGINT)
        printed(console, *arguments, **options)

    monkeypatch.setattr(Console, "print", print_interrupted)
    monkeypatch.setattr("setsu.command_line.output.PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with pytest.raises(KeyboardInterrupt), ProgressBar("working") as bar:
        bar("first", 0.1)
    assert sent
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
