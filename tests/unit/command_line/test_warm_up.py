"""`setsu warm-up` leaves a cache that later processes need nothing beyond, or says that it could not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ARM = Path(__file__).resolve().parents[3] / "examples" / "models" / "arm.urdf"


def run(*words: str, cache: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "SETSU_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.nightly
@pytest.mark.slow
def test_after_it_first_calls_compile_nothing(tmp_path: Path) -> None:
    found = run("-m", "setsu", "warm-up", str(ARM), "--json", cache=tmp_path)
    assert found.returncode == 0, found.stderr
    told, files = json.loads(found.stdout), {path.name for path in tmp_path.iterdir()}
    assert (told["folder"], told["files"]) == (str(tmp_path), len(files))
    script = f"""
import numpy as np, setsu
from setsu.warming import FIRST_CALLS
for call in FIRST_CALLS.values():
    call()
m = setsu.load({str(ARM)!r})
setsu.inverse_dynamics(m, m.neutral(), np.zeros(m.nv), np.zeros(m.nv))
"""
    assert run("-c", script, cache=tmp_path).returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == files


def test_a_cache_that_cannot_be_written_is_refused_before_anything_is_compiled(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    found = run("-m", "setsu", "warm-up", cache=tmp_path / "file" / "cache")
    assert found.returncode == 2
    assert found.stderr.count("SETSU_CACHE_DIR") == 1
