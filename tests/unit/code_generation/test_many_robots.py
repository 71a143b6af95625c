"""Generated C of robots from example-robot-data equals the library: within 1e-12 of the largest torque, all states."""

import ctypes
import dataclasses
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pinocchio
import pytest

import setsu

STRICT = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC"]
ROBOTS = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "z1": "z1_description/urdf/z1.urdf",
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "double pendulum": "double_pendulum_description/urdf/double_pendulum.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
}
FLOATING = ("solo12", "anymal", "hyq", "talos")


def robot(name: str) -> setsu.Mechanism:
    roots = (folder / "share" / "example-robot-data" / "robots" for folder in Path(pinocchio.__file__).parents)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)
        path = next(root for root in roots if root.is_dir()) / ROBOTS[name]
        m = setsu.load(path, floating_base=name in FLOATING)
    # Panda's fingers mimic each other: here every joint is its own.
    return dataclasses.replace(m, couplings=())


def largest_error(name: str, count: int, folder: Path) -> float:
    m = robot(name)
    code = setsu.generate(m, "inverse_dynamics")
    code.write(folder)
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None
    words = [compiler, *STRICT, f"{code.name}.c", "-o", "code.so", "-lm"]
    built = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    call = getattr(ctypes.CDLL(str(folder / "code.so")), code.name)
    rng = np.random.default_rng(11)
    q = np.array([m.random_configuration(rng) for _ in range(count)])
    v, a = rng.standard_normal((2, count, m.nv))
    found = np.empty((count, m.nv))
    width, start = found.itemsize, [array.ctypes.data for array in (q, v, a, found)]
    for k in range(count):
        sizes = (m.nq, m.nv, m.nv, m.nv)
        call(*(ctypes.c_void_p(base + k * size * width) for base, size in zip(start, sizes, strict=True)))
    expected = setsu.inverse_dynamics(m, q, v, a)
    return float((np.abs(found - expected).max(axis=1) / np.abs(expected).max(axis=1)).max())


@pytest.mark.parametrize("name", ["panda", "solo12"])
def test_two_robots(name: str, tmp_path: Path) -> None:
    assert largest_error(name, 200, tmp_path) <= 1e-12


@pytest.mark.thin(4)
@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_every_robot_on_ten_thousand_states(name: str, tmp_path: Path) -> None:
    assert largest_error(name, 10_000, tmp_path) <= 1e-12
