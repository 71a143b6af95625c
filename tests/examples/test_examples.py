"""Every example runs and passes its own check; every Python block in the README and the docs runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))
LONG = dict.fromkeys(
    (
        "21_identify_an_arm", "23_humanoid_walks", "41_predictive_control", "44_optimal_control",
        "45_gradient_identification", "46_policy_gradient", "47_humanoid_is_pushed",
    ),
    pytest.mark.nightly,
)  # fmt: skip
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", [pytest.param(path, marks=LONG.get(path.stem, ()), id=path.stem) for path in EXAMPLES])
def test_example_passes_its_own_check(path: Path, tmp_path: Path) -> None:
    assert "assert " in path.read_text(encoding="utf-8"), "an example ends in its own check"
    _run([sys.executable, str(path)], tmp_path)


def test_examples_are_numbered_without_gaps() -> None:
    assert [path.name[:2] for path in EXAMPLES] == [f"{number:02}" for number in range(1, len(EXAMPLES) + 1)]


@pytest.mark.parametrize("page", [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))], ids=str)
def test_python_blocks_of_a_page_run(page: Path, tmp_path: Path) -> None:
    """The blocks of a page are one script, run beside the example models."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    (tmp_path / "arm.urdf").write_bytes((ROOT / "examples/models/arm.urdf").read_bytes())
    _run([sys.executable, str(script)], tmp_path)


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in [*PAGES, ROOT / "CONTRIBUTING.md"]
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert not broken, "\n".join(broken)


def _run(words: list[str], folder: Path) -> None:
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    finished = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr
