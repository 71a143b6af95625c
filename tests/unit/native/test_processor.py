"""The processor code is made for: this one, or a level that $SETSU_PROCESSOR names."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import setsu
from setsu.native import processor, toolchain
from setsu.native.processor import LEVELS, Host

V2 = dict.fromkeys(processor._ADDED["x86-64-v2"], True)
V3 = V2 | dict.fromkeys(processor._ADDED["x86-64-v3"], True)
V4 = V3 | dict.fromkeys(processor._ADDED["x86-64-v4"], True)


def test_the_vector_width_is_what_the_system_reports() -> None:
    """Linux lists a feature when the processor has it and the system saves its registers."""
    if not Path("/proc/cpuinfo").exists() or processor.host().architecture != "x86_64":
        pytest.skip("only Linux on x86-64 lists features by these names")
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    flags = next(line for line in lines if line.startswith("flags")).split()
    lanes = processor._target("native", processor.host()).lanes
    assert lanes == (8 if "avx512f" in flags else 4 if "avx" in flags else 2)


@pytest.mark.parametrize(
    ("level", "lanes", "name"),
    [("generic", 2, "x86-64"), ("x86-64-v2", 2, "x86-64-v2"), ("x86-64-v3", 4, "x86-64-v3"), ("native", 8, "some")],
)
def test_a_level_is_a_target_of_its_own(level: str, lanes: int, name: str) -> None:
    found = processor._target(level, Host("x86_64", "some", V4))
    assert (found.name, found.lanes) == (name, lanes)
    others = {processor._target(other, Host("x86_64", "some", V4)).identity for other in LEVELS if other != level}
    assert found.identity not in others, "cached code of levels is kept apart"


@pytest.mark.parametrize(
    ("here", "lacking"),
    [
        (Host("x86_64", "znver3", V3 | {"avx512f": False}), "znver3.*avx512f, avx512bw"),
        (Host("aarch64", "neoverse-n1", {"neon": True}), "neoverse-n1.*aarch64"),
    ],
)
def test_a_level_the_processor_lacks_is_refused_with_both_names(here: Host, lacking: str) -> None:
    with pytest.raises(setsu.InputError, match=f"SETSU_PROCESSOR=x86-64-v4.*{lacking}"):
        processor._target("x86-64-v4", here)


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(setsu.InputError, match=r"expected one of native, generic, .*got 'fast'"):
        processor._target("fast", processor.host())


def test_generic_code_of_other_processors() -> None:
    assert processor._target("generic", Host("aarch64", "apple-m1", {"neon": True}))[1:] == ("generic", "", 2)


@pytest.mark.parametrize("lanes", ["1", "2", "16"])
def test_the_environment_overrides_the_lanes(lanes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SETSU_LANES", lanes)
    assert toolchain.lanes.__wrapped__() == int(lanes)
    monkeypatch.setenv("SETSU_LANES", "many")
    with pytest.raises(setsu.InputError, match="SETSU_LANES: expected 1, 2, 4, 8 or 16, got 'many'"):
        toolchain.lanes.__wrapped__()


ASK = """
import setsu
print(setsu.loop_error(m := setsu.sample_mechanisms.four_bar(), m.random_configuration(0)).tobytes().hex())
"""


@pytest.mark.slow
def test_compiled_loops_follow_the_level(tmp_path: Path) -> None:
    """Other code, the same bits."""
    found = [
        subprocess.run(
            [sys.executable, "-c", ASK],
            env={**os.environ, "SETSU_PROCESSOR": level, "SETSU_CACHE_DIR": str(tmp_path / level)},
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        ).stdout
        for level in ("native", "generic")
    ]
    assert found[0] == found[1] != ""
    native, generic = ({path.name for path in (tmp_path / level).iterdir()} for level in ("native", "generic"))
    assert not native & generic
