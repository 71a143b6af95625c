"""`setsu parameters`: table, LaTeX and JSON of a model's minimum parameters; readable refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import setsu
from setsu.command_line import main

ARM = Path(__file__).resolve().parents[3] / "examples" / "models" / "arm.urdf"


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parameters", str(ARM)]) == 0
    text = capsys.readouterr().out
    assert "arm: 36 minimum parameters of 60 (exact" in text
    assert "without effect: M_shoulder" in text
    assert max(map(len, text.splitlines())) <= 100


def test_numeric_twin_has_the_same_count(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parameters", str(ARM), "--numeric"]) == 0
    assert "arm: 36 minimum parameters of 60 (by numeric rank" in capsys.readouterr().out


def test_names_of_a_native_file_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "arm.toml"
    setsu.sample_mechanisms.two_joint_parallelogram().save(path)
    assert main(["parameters", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [parameter["name"] for parameter in told["parameters"]][1] == "MSx_2 - a2p/a2*MSx_2p"
    assert main(["parameters", str(path), "--latex"]) == 0
    assert r"\frac{a_{2p}}{a_{2}}\,MS_{x,2p}" in capsys.readouterr().out


def test_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parameters", str(tmp_path / "none.urdf")]) == 2
    assert main(["parameters", str(ARM), "--latex", "--json"]) == 2
    error = capsys.readouterr().err
    assert "none.urdf" in error
    assert "one of --latex and --json" in error
    assert "Traceback" not in error
