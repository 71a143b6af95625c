"""`setsu parameters`: table, LaTeX and JSON of a model's minimum parameters; readable refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
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


LONG = "left_front_upper_extremity_assembly_with_gearbox_and_motor_housing"


@pytest.mark.parametrize("command", ["inspect", "check", "parameters"])
def test_long_names_are_whole(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Folded over lines where they do not fit, never cut off."""
    builder = setsu.MechanismBuilder("long_names")
    parent = "world"
    for k in range(2):
        joint = setsu.Revolute((0, 1, 0), f"{LONG}_joint_{k}")
        place = setsu.placement((0.3, 0, 0))
        builder.add_body(f"{LONG}_{k}", parent, joint, place, mass=1.0, inertia=np.diag([0.1, 0.2, 0.15]))
        parent = f"{LONG}_{k}"
    path = tmp_path / "long.toml"
    builder.build().save(path)
    assert main([command, str(path)]) == 0
    text = capsys.readouterr().out
    assert "…" not in text
    assert "..." not in text
    assert max(map(len, text.splitlines())) <= 100 + len(str(path))


def test_angles_rounded_in_a_file_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A SCARA whose file says 3.1416 behind its second link has 15 parameters instead of 8, with a note."""
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    link = f'<link name="{{0}}"><inertial><mass value="1"/>{inertia}</inertial></link>'
    joint = (
        '<joint name="j{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><origin xyz="{4}" rpy="{5}"/>'
        '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
    )
    rows = [("revolute", "0 0 0.3"), ("revolute", "0.4 0 0"), ("revolute", "0.3 0 0"), ("prismatic", "0 0 0")]

    def scara(turn: str) -> Path:
        names = ["base", "a", "b", "c", "d"]
        text = "".join(link.format(name) for name in names[1:]) + '<link name="base"/>'
        for k, (kind, xyz) in enumerate(rows):
            text += joint.format(k, kind, names[k], names[k + 1], xyz, f"{turn if k == 2 else 0} 0 0")
        path = tmp_path / "scara.urdf"
        path.write_text(f'<robot name="scara">{text}</robot>')
        return path

    assert main(["parameters", str(scara("3.141592653589793"))]) == 0
    exact = capsys.readouterr().out
    assert "scara: 8 minimum parameters" in exact
    assert "off a right angle" not in exact
    assert main(["parameters", str(scara("3.1416"))]) == 0
    rounded = capsys.readouterr()
    assert "scara: 15 minimum parameters" in rounded.out
    assert 'setsu: warning: minimum parameters of "scara": joint "j2" by 7.3e-06 rad off a right angle' in rounded.err
    for form in ("--json", "--latex"):
        assert main(["parameters", str(scara("3.1416")), form]) == 0
        assert rounded.err == capsys.readouterr().err


def test_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parameters", str(tmp_path / "none.urdf")]) == 2
    assert main(["parameters", str(ARM), "--latex", "--json"]) == 2
    error = capsys.readouterr().err
    assert "none.urdf" in error
    assert "one of --latex and --json" in error
    assert "Traceback" not in error
