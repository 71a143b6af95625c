"""Damaged model files end in a finite mechanism or in one of our own errors: no other exception, no hang, no NaN.

MJCF goes through MuJoCo's compiler, which is not ours: fed with NaN it can loop for ever, so such files are refused
before it sees them, and its mutants are loaded in a child process, where a hang or crash would be a failed test
instead of the end of the run.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from malformed_files.mutation import load_mutants

DATA = Path(__file__).parents[1] / "data"
OURS = ["two_finger_arm.urdf", "four_bar.toml"]
MJCF = ["cart_and_legs.xml", "driven_arm.xml", "free_flyers.xml"]


def run_in_child(source: Path, first: int, last: int, folder: Path, seconds: float) -> str:
    """Load mutants in a child process; return its last line, or fail with the number of the mutant it died on."""
    program = Path(__file__).with_name("mutation.py")
    command = [sys.executable, str(program), str(source), str(first), str(last), str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as hang:
        printed = (hang.stdout or b"").decode().split()
        pytest.fail(f"mutant {printed[-1:]} of {source.name} hangs")
    printed = done.stdout.split("\n")
    assert done.returncode == 0, f"mutant {printed[-2:]} of {source.name}: {done.stderr[-2000:]}"
    return printed[-2]


def check(file: str, count: int, folder: Path, seconds: float) -> None:
    if file.endswith(".xml"):
        last_line = run_in_child(DATA / file, 0, count, folder, seconds)
        counts = {key: int(number) for key, number in (part.split("=") for part in last_line.split())}
    else:
        counts = load_mutants(DATA / file, 0, count, folder)
    # Both outcomes occur, so that the damage is neither trivial nor total.
    assert sum(counts.values()) == count
    assert min(counts.values()) > 0.02 * count


@pytest.mark.parametrize("file", OURS)
def test_mutants(file, tmp_path):
    check(file, 500, tmp_path, seconds=300)


@pytest.mark.parametrize("file", MJCF)
def test_mutants_of_mjcf(file, tmp_path):
    check(file, 150, tmp_path, seconds=300)


@pytest.mark.nightly
@pytest.mark.parametrize("file", OURS)
def test_twenty_thousand_mutants(file, tmp_path):
    check(file, 20_000, tmp_path, seconds=3000)


@pytest.mark.nightly
@pytest.mark.parametrize("file", MJCF)
def test_five_thousand_mutants_of_mjcf(file, tmp_path):
    check(file, 5_000, tmp_path, seconds=3000)


FORMATS = ["%n", "%s", "a%nb", "%1000000000d"]
BODY = '<body{}><joint{}/><geom{} size=".1"/><site{}/></body>'


def with_formats(name: str) -> list[str]:
    """MJCF files that have a format of C where a name is expected, at every place of one."""
    default = '<default><default class="main"><default class="{0}"><geom size=".1"/></default></default></default>'
    plain = [BODY.format(*(f' name="{name}"' if k == place else "" for k in range(4))) for place in range(4)]
    classes = [BODY.format(*(f' class="{name}"' if k == place else "" for k in range(4))) for place in (1, 2, 3)]
    bodies = [*plain, *classes, BODY.format(f' childclass="{name}"', "", "", "")]
    files = [f"<mujoco><worldbody>{body}</worldbody></mujoco>" for body in bodies]
    files += [f"<mujoco>{default.format(name)}<worldbody>{body}</worldbody></mujoco>" for body in bodies]
    files.append(f'<mujoco model="{name}"><worldbody>{BODY.format("", "", "", "")}</worldbody></mujoco>')
    files.append(f"<mujoco><worldbody><{name[:1]}/></worldbody></mujoco>")
    files.append(f'<mujoco><worldbody><body><geom type="{name}" size=".1"/></body></worldbody></mujoco>')
    files.append(f'<mujoco><asset><mesh name="m" file="{name}.stl"/></asset></mujoco>')
    files.append(f'<mujoco><worldbody/><contact><exclude body1="{name}" body2="world"/></contact></mujoco>')
    files.append(f'<mujoco><worldbody/><actuator><motor joint="{name}"/></actuator></mujoco>')
    return files


def test_names_that_are_formats_of_c(tmp_path):
    """MuJoCo prints some names as formats, and `%n` there ends the process: no such file does that to a child."""
    for number, text in enumerate(text for name in FORMATS for text in with_formats(name)):
        (tmp_path / f"format{number:03d}.xml").write_text(text)
    program = Path(__file__).with_name("mutation.py")
    command = [sys.executable, str(program), *map(str, sorted(tmp_path.glob("*.xml")))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{done.stdout.split()[-1:]}: {done.stderr[-2000:]}"
    counts = {key: int(number) for key, number in (part.split("=") for part in done.stdout.split("\n")[-2].split())}
    assert sum(counts.values()) == len(list(tmp_path.glob("*.xml")))
    assert min(counts.values()) > 0
