"""Shipped code is that of the present sources, gives the bits that Numba gives here, and needs no Numba."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest

import setsu
from setsu.native.bitcode import externals
from setsu.native.shipped_code import REFRESH, families, is_stale, read_family
from setsu.warming import FIRST_CALLS

PACKAGE = Path(setsu.__file__).parent
every_family = pytest.mark.parametrize("family", FIRST_CALLS)
# Whose sources ask for them (native/lanes.py); elsewhere nothing is to be vectorised.
VECTORS = ("tree", "loop", "contact", "derivatives", "contact_derivatives")


@every_family
def test_shipped_code_is_up_to_date(family: str) -> None:
    known = families()
    stale = family not in known or is_stale(known[family])
    assert not stale, f"the shipped code of {family} is stale: run `{REFRESH}` and commit src/setsu/native/shipped"


@every_family
def test_shipped_code_calls_nothing_whose_bits_depend_on_the_system(family: str) -> None:
    module = llvm.parse_bitcode(read_family(families()[family]))
    assert externals(module) == []
    text = str(module)
    for word in ("llvm.fma", "llvm.fmuladd", " fast ", " contract ", " reassoc "):
        assert word not in text, word
    assert (" x double>" in text) == (family in VECTORS)


RUN = """
import sys
from setsu.warming.first_calls import FIRST_CALLS, run_family
run_family("{family}")
found = FIRST_CALLS["{family}"]()
words = next(getattr(found, name) for name in ("q", "acceleration", "dq") if hasattr(found, name))
print("numba" in sys.modules, words.tobytes().hex())
"""


def run(family: str, cache: Path, package: Path = PACKAGE, **environment: str) -> list[str]:
    return ask(RUN.format(family=family), package, SETSU_CACHE_DIR=str(cache), **environment)


def ask(code: str, package: Path, **environment: str) -> list[str]:
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(package.parent), **environment},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.split()


@pytest.mark.slow
@every_family
def test_an_empty_cache_needs_no_numba(family: str, tmp_path: Path) -> None:
    loaded, bits = run(family, tmp_path)
    assert loaded == "False"
    assert run(family, tmp_path) == ["False", bits]


@pytest.mark.slow
def test_code_made_here_gives_the_same_bits(tmp_path: Path) -> None:
    """The longer families: see the nightly test."""
    same_bits("tree", tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("family", ["constrained", "loop", "contact", "derivatives", "inverse_kinematics"])
def test_code_of_other_families_made_here_gives_the_same_bits(family: str, tmp_path: Path) -> None:
    same_bits(family, tmp_path)


def same_bits(family: str, cache: Path) -> None:
    shipped, made_here = run(family, cache / "shipped"), run(family, cache / "here", SETSU_SHIPPED="0")
    assert (shipped[0], made_here[0]) == ("False", "True")
    assert shipped[1] == made_here[1]


ASK = "from setsu.native.shipped_code import *; print(*(name for name, f in families().items() if is_stale(f)))"


@pytest.mark.nightly
def test_only_edits_that_change_code_make_it_stale(tmp_path: Path) -> None:
    """Comments, docstrings, annotations and functions for Python do not; numbers from elsewhere and callees do."""
    package = tmp_path / "setsu"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    harmless = [
        ("simulation/tree_machine.py", '"""Take steps until something is to be asked; return an Ask."""', '"""Run."""'),
        (
            "simulation/tree_machine.py",
            "def run_tree(method, c, y,",
            "def run_tree(method: object, c, y,  # edited\n   ",
        ),
        ("simulation/clock.py", "def make_clock(", "def _unused() -> int:\n    return 1\n\n\ndef make_clock("),
    ]
    for file, before, after in harmless:
        edit(package / file, before, after)
        assert ask(ASK, package) == [], (file, after)
    harmful = [
        ("simulation/sampling.py", "_ROUNDING = 1e-6", "_ROUNDING = 2e-6", {"tree", "loop", "contact"}),
        ("simulation/clock.py", "READY, WANTS, MOVED = 0, 1, 2", "READY, WANTS, MOVED = 1, 0, 2", {"tree"}),
        ("elementary.py", "def cos_sin(x: float)", "def cos_sin(x: float, more=1.0)", {"tree", "loop", "contact"}),
        ("native/entry_text.py", "align 8", "align 4", set(FIRST_CALLS)),
    ]
    for file, before, after, stale in harmful:
        kept = (package / file).read_text()
        edit(package / file, before, after)
        assert stale <= set(ask(ASK, package)), file
        (package / file).write_text(kept)
    assert ask(ASK, package) == []


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text, f"{path.name} no longer holds the line this test edits"
    path.write_text(text.replace(before, after, 1))


def test_what_is_called_through_its_module_is_part_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """`solver.solve(...)` in a compiled function: an edit of that function makes code stale, shipped or kept."""
    from setsu.contact import newton_solver
    from setsu.native.code_identity import code_identity, source_identity
    from setsu.simulation.contact_machine import run_contact

    assert {"contact/newton_solver.py", "contact/sugihara_solver.py"} <= set(source_identity([run_contact]).files)
    kept, shipped = code_identity(run_contact), source_identity([run_contact]).identity
    monkeypatch.setattr(newton_solver, "solve", newton_solver.set_trial)
    assert code_identity(run_contact) != kept
    assert source_identity([run_contact]).identity != shipped
