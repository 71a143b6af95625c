"""`setsu --install-completion` writes a script that bash can read and that knows the commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_completion_is_installed_for_bash(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path)}
    words = [sys.executable, "-m", "setsu", "--install-completion", "--shell", "bash"]
    subprocess.run(words, env=environment, check=True, capture_output=True)
    (script,) = tmp_path.rglob("completions/setsu")
    for command in ("simulate", "sweep", "inspect"):
        assert command in script.read_text(encoding="utf-8")
    subprocess.run(["bash", "-n", str(script)], check=True)
