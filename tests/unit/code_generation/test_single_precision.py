"""Generated C in single precision: floats throughout, right to rounding, and fit for a Cortex-M4F."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import setsu

samples = setsu.sample_mechanisms
ROBOTS = {"puma560": samples.puma560, "iiwa": samples.iiwa, "stanford_arm": samples.stanford_arm}
ALLOWED = {"sinf", "cosf", "memcpy", "memset"}


def _run_self_test(code: setsu.GeneratedCode, folder: Path) -> None:
    code.write(folder)
    sources = [f"{code.name}.c", f"{code.name}_test.c"]
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wdouble-promotion", "-Wconversion", "-Werror"]
    subprocess.run(["cc", *flags, *sources, "-o", "check", "-lm"], cwd=folder, check=True)
    done = subprocess.run(["./check"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("function", ["inverse_dynamics", "gravity_torque", "forward_dynamics"])
def test_results_agree_to_single_rounding(robot: str, function: str, tmp_path: Path) -> None:
    """The self-test's tolerance is 1e-5 of the largest torque; c κ(M) ε for accelerations."""
    _run_self_test(setsu.generate(ROBOTS[robot](), function, precision="single"), tmp_path)


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("function", ["inverse_dynamics", "gravity_torque"])
def test_compiles_for_a_cortex_m4f_without_double(robot: str, function: str, tmp_path: Path) -> None:
    assert shutil.which("arm-none-eabi-gcc"), (
        "this test compiles for a Cortex-M4F: apt install gcc-arm-none-eabi libnewlib-arm-none-eabi (run.py test does)"
    )
    code = setsu.generate(ROBOTS[robot](), function, precision="single")
    code.write(tmp_path)
    flags = "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -std=c99 -O2 -Wall -Wextra"
    command = ["arm-none-eabi-gcc", *flags.split(), "-Wdouble-promotion", "-Werror", "-c", f"{code.name}.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    listed = subprocess.run(
        ["arm-none-eabi-nm", "-u", f"{code.name}.o"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert set(re.findall(r"U (\w+)", listed.stdout)) <= ALLOWED


def test_text_has_no_double_and_no_loop() -> None:
    code = setsu.generate(samples.puma560(), "inverse_dynamics", precision="single")
    assert "double" not in code.source
    assert not re.search(r"\b(for|while|do|goto)\b", code.source)
    numbers = re.findall(r"(?<![\w.])\d+\.\d*(?:e[-+]?\d+)?f?|(?<![\w.])\d+e[-+]?\d+f?", code.source)
    assert numbers
    assert all(number.endswith("f") for number in numbers)
    count = code.operations
    assert f"{count.add} additions, {count.mul} multiplications" in code.header


def test_refusals() -> None:
    with pytest.raises(setsu.InputError, match="precision"):
        setsu.generate(samples.planar_arm(2), "inverse_dynamics", precision="half")
    with pytest.raises(setsu.InputError, match="is for C"):
        setsu.generate(samples.planar_arm(2), "inverse_dynamics", "python", precision="single")


def test_trigraphs_stay_out_of_comments(tmp_path: Path) -> None:
    """A backslash written ??/ would continue the comment line under -trigraphs."""
    builder = setsu.MechanismBuilder("arm ??/")
    builder.add_body("link", joint=setsu.Revolute((0, 1, 0), "hinge ??/"), mass=1.0, center_of_mass=(0.1, 0, 0))
    code = setsu.generate(builder.build(), "inverse_dynamics")
    assert "??" not in code.source + code.header + code.test
    assert np.isfinite(code.operations.total)
    _run_self_test(code, tmp_path)
