"""The bridge to PyTorch, in an environment of its own: its wheel and what it needs take gigabytes.

The environment is made once, in the cache folder, or where SETSU_TORCH_ENVIRONMENT says.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import setsu
from setsu.native.toolchain import cache_folder

CHECKS = Path(__file__).with_name("torch_checks.py")
SOURCE = Path(setsu.__file__).resolve().parents[1]


def environment() -> Path:
    """Return the Python of an environment with PyTorch, pytest and what setsu depends on; made where there is none."""
    given = os.environ.get("SETSU_TORCH_ENVIRONMENT")
    folder = Path(given) if given else Path(cache_folder()) / "torch_environment"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    ready = subprocess.run(
        [str(python), "-c", "import torch, pytest, numba, msgspec, rich, cyclopts"], capture_output=True
    )
    if ready.returncode != 0:
        packages = ["torch", "pytest", "numpy", "llvmlite", "numba", "msgspec", "rich", "cyclopts"]
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
    return python


@pytest.mark.nightly
def test_the_bridge_to_pytorch() -> None:
    python = environment()
    words = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(CHECKS.parent), str(CHECKS)]
    done = subprocess.run(
        words, env={**os.environ, "PYTHONPATH": str(SOURCE)}, cwd=CHECKS.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
