"""What every command prints: tables of at most 100 columns, no escape codes in a pipe, JSON that any reader takes."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import setsu
from setsu.command_line import main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
ARM = EXAMPLES / "models" / "arm.urdf"

SMALL_STUDY = """
sampling = "grid"
[scenario.model]
sample = "pendulum"
[scenario.simulation]
duration = 0.01
[[parameters]]
path = "model.bodies.bob.mass"
values = [1.0, 2.0]
"""


@pytest.fixture
def commands(tmp_path: Path) -> dict[str, list[str]]:
    """Words of every command that ends by itself, on something small."""
    log, study = tmp_path / "log.csv", tmp_path / "study.toml"
    study.write_text(SMALL_STUDY.replace("bob", setsu.sample_mechanisms.pendulum().body_names[0]))
    pendulum = setsu.sample_mechanisms.pendulum()
    time = np.linspace(0.0, 2.0, 401)
    q, v, a = np.sin(3 * time), 3 * np.cos(3 * time), -9 * np.sin(3 * time)
    tau = setsu.inverse_dynamics(pendulum, q[:, None], v[:, None], a[:, None])[:, 0]
    name = pendulum.joint_names[0]
    rows = [f"time,q_{name},tau_{name}", *(f"{t},{x},{y}" for t, x, y in zip(time, q, tau, strict=True))]
    log.write_text("\n".join(rows))
    model = tmp_path / "pendulum.toml"
    pendulum.save(model)
    return {
        "inspect": ["inspect", str(ARM)],
        "check": ["check", str(ARM)],
        "parameters": ["parameters", str(ARM)],
        "generate": ["generate", str(ARM), "--out", str(tmp_path / "code")],
        "identify": ["identify", str(model), str(log)],
        "simulate": ["simulate", str(EXAMPLES / "scenarios" / "four_bar.toml"), "--out", str(tmp_path / "run.nc")],
        "sweep": ["sweep", str(study), "--jobs", "1", "--out", str(tmp_path / "store.zarr")],
        "reproduce": ["reproduce", "yamamoto2022", "--out", str(tmp_path / "papers")],
        "bench": ["bench", "--quick", "--only", "two_link", "--out", str(tmp_path / "bench")],
    }


NAMES = ("inspect", "check", "parameters", "generate", "identify", "simulate", "sweep", "reproduce", "bench")


def _refuse(word: str) -> Any:
    raise AssertionError(f"{word} is no JSON")


@pytest.mark.thin(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly if name == "reproduce" else ()) for name in NAMES]
)
def test_tables_fit_and_json_is_json(
    name: str, commands: dict[str, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(commands[name]) == 0
    text = capsys.readouterr().out
    assert text.strip()
    assert "\x1b" not in text
    # Paths may be long; tables may not.
    lines = [line for line in text.splitlines() if str(tmp_path) not in line and str(EXAMPLES) not in line]
    assert max(map(len, lines)) <= 100, max(lines, key=len)
    assert main([*commands[name], "--json"]) == 0
    assert json.loads(capsys.readouterr().out, parse_constant=_refuse)


@pytest.mark.parametrize("words", [["inspect", str(ARM)], ["reproduce", "--help"], ["--help"]], ids=" ".join)
def test_no_color_on_a_terminal_means_no_escape_codes(words: list[str]) -> None:
    text = _on_a_terminal(words, NO_COLOR="1")
    assert text.strip()
    assert "\x1b" not in text


@pytest.mark.parametrize("name", ["inspect", *(pytest.param(name, marks=pytest.mark.nightly) for name in NAMES[1:])])
def test_a_narrow_terminal_gets_narrow_tables(name: str, commands: dict[str, list[str]], tmp_path: Path) -> None:
    """Rules and table rows; a terminal breaks sentences by itself, and paths stay whole."""
    text = _on_a_terminal(commands[name], NO_COLOR="1", COLUMNS="60")
    # A progress bar moves the cursor.
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text))
    rows = [line for line in lines if str(tmp_path) not in line and str(EXAMPLES) not in line and "  " in line.strip()]
    assert max((len(line) for line in rows), default=0) <= 60, max(rows, key=len)


def _on_a_terminal(words: list[str], **environment: str) -> str:
    """What a command writes to a terminal."""
    master, slave = pty.openpty()
    known = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", **environment}
    running = subprocess.Popen([sys.executable, "-m", "setsu", *words], stdout=slave, stderr=slave, env=known)
    os.close(slave)
    parts: list[bytes] = []
    try:
        while part := os.read(master, 65536):
            parts.append(part)
    except OSError:  # the last writer is gone
        pass
    os.close(master)
    assert running.wait() == 0
    return b"".join(parts).decode()
