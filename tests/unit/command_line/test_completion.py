"""`setsu --install-completion` writes a script with which bash completes commands, options and files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    environment = {**os.environ, "HOME": str(home)}
    words = [sys.executable, "-m", "setsu", "--install-completion", "--shell", "bash"]
    subprocess.run(words, env=environment, check=True, capture_output=True)
    (written,) = home.rglob("completions/setsu")
    return written


def completions(script: Path, words: list[str], folder: Path) -> set[str]:
    """What bash offers for the last of some words."""
    line = " ".join(f"'{word}'" for word in words)
    asked = (
        f"source '{script}'; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
        "function=$(complete -p setsu | sed 's/.*-F \\([^ ]*\\).*/\\1/'); $function; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    found = subprocess.run(["bash", "-c", asked], check=True, capture_output=True, text=True, cwd=folder)
    assert found.stderr == ""
    return set(found.stdout.split())


def test_bash_completes_commands(script: Path, tmp_path: Path) -> None:
    assert completions(script, ["setsu", "s"], tmp_path) == {"simulate", "studio", "sweep"}
    assert completions(script, ["setsu", "insp"], tmp_path) == {"inspect"}


def test_bash_completes_options(script: Path, tmp_path: Path) -> None:
    assert {"--out", "--plots", "--json"} <= completions(script, ["setsu", "simulate", "run.toml", "--"], tmp_path)
    assert completions(script, ["setsu", "bench", "--q"], tmp_path) == {"--quick"}


def test_bash_completes_files(script: Path, tmp_path: Path) -> None:
    (tmp_path / "robot.urdf").touch()
    assert completions(script, ["setsu", "check", "rob"], tmp_path) == {"robot.urdf"}
