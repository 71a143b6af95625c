"""The processor as we see it, held against LLVM and the operating system."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from setsu.native import processor, toolchain
from setsu.native.executable_memory import runs_x86_64_code


def test_the_vector_width_is_what_llvm_would_use() -> None:
    features = processor.llvm_host()[1].split(",")
    assert processor.vector_width() == (8 if "+avx512f" in features else 4 if "+avx" in features else 2)


def test_the_vector_width_is_what_the_kernel_reports() -> None:
    """Linux lists a feature when the processor has it and the system saves its registers."""
    if runs_x86_64_code():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        flags = next(line for line in lines if line.startswith("flags")).split()
        assert processor.vector_width() == (8 if "avx512f" in flags else 4 if "avx" in flags else 2)


def test_where_the_processor_cannot_be_asked_llvm_is(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = processor.vector_width()
    monkeypatch.setattr(processor, "_answers", lambda: None)
    assert processor.vector_width.__wrapped__() == expected
    assert processor.processor_identity.__wrapped__() == repr(processor.llvm_host())


@pytest.mark.parametrize(("features", "width"), [("+sse2,-avx", 2), ("+avx,+avx2,-avx512f", 4), ("+avx512f,+avx", 8)])
def test_other_processors(features: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "_answers", lambda: None)
    monkeypatch.setattr(processor, "llvm_host", lambda: ("some", features))
    assert processor.vector_width.__wrapped__() == width


def test_registers_the_system_does_not_save_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """AVX-512 in the processor, but only the registers of AVX, or of SSE, are kept when threads change."""
    has = {(0x1, 0, "c"): 1 << 27 | 1 << 28, (0x7, 0, "b"): 1 << 16}
    widths = []
    for saved in (0xE7, 0x07, 0x03):
        monkeypatch.setattr(processor, "_answers", lambda saved=saved: {**has, (0, 0, "x"): saved})
        widths.append(processor.vector_width.__wrapped__())
    assert widths == [8, 4, 2]


def test_the_identity_is_the_same_on_every_core() -> None:
    ask = (
        "import os, sys\nif hasattr(os, 'sched_setaffinity'): os.sched_setaffinity(0, {int(sys.argv[1])})\n"
        "from setsu.native.processor import processor_identity; print(processor_identity())"
    )
    cores = sorted(os.sched_getaffinity(0))[:4] if hasattr(os, "sched_getaffinity") else [0, 0]
    answers = {
        subprocess.run([sys.executable, "-c", ask, str(core)], capture_output=True, text=True, check=True).stdout
        for core in cores
    }
    assert answers == {processor.processor_identity() + "\n"}


@pytest.mark.parametrize("lanes", ["1", "2", "16"])
def test_the_environment_overrides_the_lanes(lanes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SETSU_LANES", lanes)
    assert toolchain.lanes.__wrapped__() == int(lanes)
    monkeypatch.setenv("SETSU_LANES", "many")
    assert toolchain.lanes.__wrapped__() == processor.vector_width()
