"""Stores that were damaged are refused or found by their checksums; workers do not outlive the sweep."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from unit.sweep.studies import content, swings

import setsu
from setsu.command_line import main
from setsu.sweep import execution
from setsu.sweep.store import faults, open_store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    out = tmp_path / "runs.zarr"
    setsu.sweep(swings(), out, jobs=1)
    return out


def test_an_untouched_store_is_whole(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert faults(open_store(store)) == []
    assert main(["sweep", str(store), "--verify"]) == 0
    assert "5 of 5 chunks are complete" in capsys.readouterr().out


def test_every_changed_byte_and_every_lost_file_is_found(tmp_path: Path) -> None:
    """Whichever file of the store it is, results, parameters or metadata; the notes of the store itself are refused."""
    store = tmp_path / "runs.zarr"
    setsu.sweep(swings(runs=4), store, jobs=1)
    for name, data in content(store).items():
        path = store / name
        for damaged in (data[:-1] + bytes([data[-1] ^ 1]), None):
            path.unlink() if damaged is None else path.write_bytes(damaged)
            assert _is_noticed(store), (name, damaged)
            path.write_bytes(data)
    assert faults(open_store(store)) == []


def _is_noticed(store: Path) -> bool:
    """Whether a store is refused, or has faults, or computes a chunk again."""
    try:
        return bool(faults(open_store(store)) or open_store(store).missing())
    except setsu.InputError as problem:
        return str(store) in str(problem)


def test_verify_names_the_chunk_and_the_way_out(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = content(store)
    damaged = store / "final_q" / "3.0"
    damaged.write_bytes(damaged.read_bytes()[:-2])
    assert main(["sweep", str(store), "--verify"]) == 1
    text = capsys.readouterr().out
    assert "damaged: chunk 3: final_q/3.0: its checksum is not that of what was written" in text
    assert "000003" in text
    assert main(["sweep", str(store), "--verify", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["damaged_chunks"] == [3]
    # The way out that it names makes the store whole again, to the last byte.
    (store / ".setsu" / "done" / "000003").unlink()
    setsu.sweep(swings(), store, jobs=1)
    assert content(store) == whole


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (".setsu/study.json", "study.json cannot be read"),
        (".setsu/made.json", "made.json cannot be read"),
        ("final_q/.zarray", "final_q/.zarray: its checksum"),
        (".zgroup", "zgroup"),
    ],
)
def test_a_broken_store_is_refused_in_words(store: Path, name: str, expected: str) -> None:
    (store / name).write_text("{")
    with pytest.raises(setsu.InputError, match=expected) as caught:
        setsu.sweep(swings(), store, jobs=1)
    assert "remove the store" in str(caught.value)


def test_a_store_without_its_notes_is_refused_in_words(store: Path) -> None:
    for marker in (store / ".setsu" / "done").iterdir():
        marker.unlink()
    (store / ".setsu" / "done").rmdir()
    with pytest.raises(setsu.InputError, match=r"is broken: \.setsu/done"):
        setsu.sweep(swings(), store, jobs=1)
    assert main(["sweep", str(store.with_name("nowhere.zarr")), "--verify"]) == 2


def test_a_changed_seed_is_named_alone(tmp_path: Path) -> None:
    """Also where the sampled values change the mechanisms that were tried."""
    mass = {"path": "model.bodies.link1.mass", "name": "mass", "low": 1.0, "high": 2.0}
    study = swings(runs=8)
    study["scenario"]["model"] = {"sample": "planar_arm", "sample_arguments": [1]}
    study["parameters"] = [mass]
    out = tmp_path / "runs.zarr"
    setsu.sweep({**study, "seed": 3}, out, jobs=1)
    with pytest.raises(setsu.InputError, match=r"different: seed \(3 there, 4 here\)\)"):
        setsu.sweep({**study, "seed": 4}, out, jobs=1)
    other = {**study, "scenario": {**study["scenario"], "start": {"seed": 5}}, "seed": 3}
    with pytest.raises(setsu.InputError, match=r"different: scenario\.start\.seed \(.* there, 5 here\)\)"):
        setsu.sweep(other, out, jobs=1)


@pytest.mark.nightly
@pytest.mark.skipif(os.name != "posix", reason="looks at processes through ps")
def test_workers_end_when_the_sweep_is_killed(tmp_path: Path) -> None:
    study = Path(__file__).with_name("slow_study.toml")
    words = [sys.executable, "-m", "setsu", "sweep", str(study), "--out", str(tmp_path / "runs.zarr"), "--jobs", "2"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        done = tmp_path / "runs.zarr" / ".setsu" / "done"
        while running.poll() is None and not (done.is_dir() and any(done.iterdir())):
            time.sleep(0.05)
        workers = [pid for pid in _children(running.pid) if "popen_loky" in _command(pid)]
        assert len(workers) == 2
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
    end = time.monotonic() + 60.0
    while time.monotonic() < end and any("loky" in _command(pid) for pid in workers):
        time.sleep(0.1)
    assert not [pid for pid in workers if "loky" in _command(pid)]


def test_workers_of_windows_wait_for_the_handle_of_their_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for Windows' own module, as this runs on other systems too."""
    calls: list[tuple] = []
    stand_in = SimpleNamespace(
        SYNCHRONIZE=0x100000,
        INFINITE=0xFFFFFFFF,
        OpenProcess=lambda *args: calls.append(args) or 77,
        WaitForSingleObject=lambda *args: calls.append(args),
    )
    monkeypatch.setitem(sys.modules, "_winapi", stand_in)
    monkeypatch.setattr(execution, "_ORPHANS_KEEP_PARENTS", True)
    execution._wait_for_end(1234)
    assert calls == [(0x100000, False, 1234), (77, 0xFFFFFFFF)]


def _children(pid: int) -> list[int]:
    words = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()
    return [int(word) for word in words]


def _command(pid: int) -> str:
    return subprocess.run(["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True).stdout
