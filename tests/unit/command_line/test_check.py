"""`setsu check`: code 0 for a sound model, 1 for an impossible inertia, which --repair mends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from setsu.command_line import main

ARM = Path(__file__).resolve().parents[3] / "examples" / "models" / "arm.urdf"


@pytest.fixture
def thin_arm(tmp_path: Path) -> Path:
    """The example arm with a forearm that violates the triangle inequality."""
    path = tmp_path / "thin.urdf"
    path.write_text(ARM.read_text().replace('iyy="0.031" iyz="0" izz="0.0041"', 'iyy="0.031" iyz="0" izz="0.41"'))
    return path


def test_a_sound_model_is_certified(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(ARM)]) == 0
    text = capsys.readouterr().out
    assert "certified: every law holds" in text
    assert "FAILS" not in text
    assert max(len(line) for line in text.splitlines() if str(ARM) not in line) <= 100


def test_an_impossible_inertia_fails_with_its_inequality(thin_arm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(thin_arm)]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert 'non-physical inertia: body "forearm"' in text
    assert "Ixx + Iyy >= Izz violated: 0.031 + 0.031 < 0.41" in text
    assert "--repair" in text


@pytest.mark.parametrize("name", ["repaired.toml", "repaired.urdf"])
def test_repair_writes_a_model_that_passes(name: str, thin_arm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repaired = thin_arm.with_name(name)
    assert main(["check", str(thin_arm), "--repair", str(repaired)]) == 0
    assert main(["check", str(repaired)]) == 0
    assert "NOT certified" not in capsys.readouterr().out


def test_json_holds_every_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(ARM), "--json", "--seed", "5"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["passed"] is True
    assert data["seed"] == 5
    assert all(result["worst"] <= result["tolerance"] for result in data["results"])
    assert data["load_report"]["format"] == "URDF"
