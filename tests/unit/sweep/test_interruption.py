"""Killed at random, here or on a cluster, a sweep ends complete and equal to an undisturbed one, bit for bit."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import distributed
import pytest
from unit.sweep.studies import content

import setsu

STUDY = Path(__file__).with_name("slow_study.toml")
KILLS = 3


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Bytes of the store of a run that nobody disturbs."""
    out = tmp_path_factory.mktemp("sweep") / "whole.zarr"
    data = setsu.sweep(STUDY, out, jobs=1)
    assert (data["status"] == 1).all()
    return content(out)


def _done(store: Path) -> dict[str, int]:
    """Complete chunks and when they were marked, ns."""
    folder = store / ".setsu" / "done"
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} if folder.is_dir() else {}


@pytest.mark.nightly
def test_a_sweep_killed_three_times_ends_equal_bit_for_bit(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    out = tmp_path / "killed.zarr"
    words = [sys.executable, "-m", "setsu", "sweep", str(STUDY), "--out", str(out), "--jobs", "2"]
    chance = random.Random(20240611)
    killed = 0
    while killed < KILLS:
        before = _done(out)
        # A session of its own: the kill takes the workers along.
        running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        wanted = 1 + chance.randrange(2)
        while running.poll() is None and len(_done(out)) < min(len(before) + wanted, 11):
            time.sleep(0.01)
        time.sleep(chance.random() * 0.1)
        assert running.poll() is None, "the study is over before it could be killed three times"
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        killed += 1
        # What was complete before was not computed again.
        assert before.items() <= _done(out).items()
    before = _done(out)
    assert before
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    assert before.items() <= _done(out).items()
    assert content(out) == undisturbed


@pytest.mark.slow
def test_a_dask_cluster_that_loses_a_worker_gives_the_same_bytes(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    out = tmp_path / "cluster.zarr"
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        victim = next(iter(cluster.workers.values())).pid
        killer = threading.Thread(target=_kill_when_busy, args=(victim, out))
        killer.start()
        data = setsu.sweep(STUDY, out, cluster=cluster.scheduler_address)
        killer.join()
        # The nanny has put another process in its place.
        assert victim not in [worker.pid for worker in cluster.workers.values()]
    assert (data["status"] == 1).all()
    assert content(out) == undisturbed


def _kill_when_busy(process: int, store: Path) -> None:
    while len(_done(store)) < 2:
        time.sleep(0.01)
    os.kill(process, signal.SIGKILL)
