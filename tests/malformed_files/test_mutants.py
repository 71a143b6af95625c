"""Damaged model files end in a finite mechanism or in one of our own errors: no other exception, no hang, no NaN.

MJCF goes through MuJoCo's compiler, which is not ours: fed with NaN it can loop for ever, so such files are refused
before it sees them, and its mutants are loaded in a child process, where a hang or crash would be a failed test
instead of the end of the run.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from malformed_files.mutation import load_mutants

DATA = Path(__file__).parents[1] / "data"
FILES = ["two_finger_arm.urdf", "cart_and_legs.xml", "four_bar.toml"]


def run_in_child(source: Path, first: int, last: int, folder: Path, seconds: float) -> str:
    """Load mutants in a child process; return its last line, or fail with the number of the mutant it died on."""
    program = Path(__file__).with_name("mutation.py")
    command = [sys.executable, str(program), str(source), str(first), str(last), str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as hang:
        printed = (hang.stdout or b"").decode().split()
        pytest.fail(f"mutant {printed[-1:]} of {source.name} hangs")
    printed = done.stdout.split("\n")
    assert done.returncode == 0, f"mutant {printed[-2:]} of {source.name}: {done.stderr[-2000:]}"
    return printed[-2]


def check(file: str, count: int, folder: Path, seconds: float) -> None:
    if file.endswith(".xml"):
        last_line = run_in_child(DATA / file, 0, count, folder, seconds)
        counts = {key: int(number) for key, number in (part.split("=") for part in last_line.split())}
    else:
        counts = load_mutants(DATA / file, 0, count, folder)
    # Both outcomes occur, so that the damage is neither trivial nor total.
    assert sum(counts.values()) == count
    assert min(counts.values()) > 0.02 * count


@pytest.mark.parametrize("file", FILES)
def test_mutants(file, tmp_path):
    check(file, 500, tmp_path, seconds=300)


@pytest.mark.nightly
@pytest.mark.parametrize("file", FILES)
def test_twenty_thousand_mutants(file, tmp_path):
    check(file, 20_000, tmp_path, seconds=3000)
