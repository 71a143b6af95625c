"""The numerical core at the levels below this processor's own, each in a child run of pytest over a sample of it.

Kernels give the same bits at every level (test_same_bits.py); what is left for a level to break is that its code is
wrong, or that a tolerance holds for one way of rounding only. In the ordinary run each Nth test of the core takes part,
in the nightly one every test.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import setsu
from setsu.native import processor

pytestmark = pytest.mark.slow

TESTS = Path(__file__).resolve().parents[1]
CORE = ("identities", "determinism/test_arguments.py", "unit/contact", "unit/simulation")
# Two numbers without a common factor: the levels run different tests.
EVERY = {"x86-64-v3": 8, "x86-64-v2": 9}


@pytest.mark.parametrize(
    ("level", "every"),
    [*EVERY.items(), *(pytest.param(level, 1, marks=pytest.mark.nightly) for level in EVERY)],
)
def test_the_numerical_core_at(level: str, every: int) -> None:
    if processor.target().level == level:
        return  # the run at hand is of this level, all of it
    try:
        processor._target(level, processor.host())
    except setsu.InputError as lacking:
        pytest.skip(str(lacking))
    words = [
        "-q",
        "-x",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow and not nightly",
        "--every",
        str(every),
    ]
    found = subprocess.run(
        [sys.executable, "-m", "pytest", *words, *(str(TESTS / name) for name in CORE)],
        env={**os.environ, "SETSU_PROCESSOR": level},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert found.returncode == 0, found.stdout[-4000:] + found.stderr[-2000:]
    assert " passed" in found.stdout
