"""The wheel holds the whole package, installs into a clean environment, and works there without the extras."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.11", "3.13")


def _interpreters() -> dict[str, str]:
    """Interpreters of the supported versions that are to be found: on the path, or among those of pyenv."""
    found = {}
    for version in VERSIONS:
        places = sorted(
            Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin/python")
        )
        candidates = [shutil.which(f"python{version}"), *map(str, reversed(places))]
        for candidate in filter(None, candidates):
            words = [candidate, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"]
            told = subprocess.run(words, capture_output=True, text=True)
            if told.returncode == 0 and told.stdout.strip() == version:
                found[version] = candidate
                break
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    words = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        ".",
    ]
    finished = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    (made,) = folder.glob("setsu-*.whl")
    return made


@pytest.mark.slow
def test_the_wheel_holds_every_module_the_types_and_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (entries,) = [archive.read(name).decode() for name in names if name.endswith("entry_points.txt")]
    sources = [path.relative_to(ROOT / "src") for path in (ROOT / "src").rglob("*.py")]
    assert {path.as_posix() for path in sources if "__pycache__" not in path.parts} <= names
    assert "setsu/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "setsu = setsu.command_line:main" in entries
    assert not [name for name in names if name.startswith(("tests/", "examples/", "docs/"))]


# What a new user does first; nothing of it needs an extra.
FIRST_STEPS = """
import json, sys, numpy as np, setsu
m = setsu.sample_mechanisms.seven_joint_arm()
q = m.random_configuration(1)
a = setsu.forward_dynamics(m, q, np.zeros(7), np.ones(7))
back = setsu.inverse_dynamics(m, q, np.zeros(7), a)
fast = setsu.compile(m, ["inverse_dynamics"]).inverse_dynamics(np.tile(q, (64, 1)), np.zeros(7), a)
rec = setsu.scenario.run(setsu.scenario.parse('model.sample = "pendulum"\\nsimulation.duration = 0.1'))
print(json.dumps({
    "python": "%d.%d" % sys.version_info[:2], "error": float(abs(back - 1).max()), "fast": float(abs(fast - 1).max()),
    "states": len(rec), "file": setsu.__file__,
}))
"""


@pytest.mark.nightly
@pytest.mark.parametrize(("version", "interpreter"), _interpreters().items(), ids=lambda value: Path(value).name)
def test_the_wheel_works_in_a_clean_environment(version: str, interpreter: str, wheel: Path, tmp_path: Path) -> None:
    subprocess.run([interpreter, "-m", "venv", str(tmp_path / "env")], check=True)
    binaries = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([str(binaries / "python"), "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}

    def run(*words: str) -> str:
        return subprocess.run(
            words, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        ).stdout  # fmt: skip

    told = json.loads(run(str(binaries / "python"), "-c", FIRST_STEPS))
    assert told["python"] == version
    assert Path(told["file"]).is_relative_to(tmp_path)
    # Torques of 1 N m through forward and inverse dynamics; κ of this arm is below 1e3.
    assert max(told["error"], told["fast"]) < 1e-12
    assert told["states"] == 101
    assert run(str(binaries / "setsu"), "--version").strip()
    assert "shoulder" in run(str(binaries / "setsu"), "inspect", str(ROOT / "examples" / "models" / "arm.urdf"))
    scenario = ROOT / "examples" / "scenarios" / "reach.toml"
    assert json.loads(run(str(binaries / "setsu"), "simulate", str(scenario), "--json"))["simulated"] == 2.0
