"""What cannot be run here is at least compiled for: LLVM's back ends for ARM, macOS and Windows take our code.

And what assumes something of Python, the system or its file system has a portable way, forced here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import pytest
from determinism.digest_of_results import mechanism

import setsu
from setsu.dynamics.catalogue import native_function
from setsu.native import function as native
from setsu.native import toolchain
from setsu.native.bitcode import optimised
from setsu.native.compiled_elementary import arctan2, cos_sin, exp
from setsu.native.control_flow import jit
from setsu.native.numba_lowering import lower
from setsu.native.shipped_code import families, read_family
from setsu.native.signature import ArrayKind, Signature
from setsu.sample_mechanisms import planar_arm

# Triple, processor, and how an object file of that system begins.
SYSTEMS = {
    "Linux on ARM": ("aarch64-unknown-linux-gnu", "generic", b"\x7fELF"),
    "macOS on ARM": ("arm64-apple-macosx11.0.0", "apple-m1", b"\xcf\xfa\xed\xfe"),
    "macOS on Intel": ("x86_64-apple-macosx11.0.0", "x86-64-v3", b"\xcf\xfa\xed\xfe"),
    "Windows": ("x86_64-pc-windows-msvc", "x86-64-v3", b"\x64\x86"),
    "Windows on ARM": ("aarch64-pc-windows-msvc", "generic", b"\x64\xaa"),
}
every_system = pytest.mark.parametrize("system", SYSTEMS)


def emit(text: str, system: str) -> bytes:
    """Object file of LLVM text for a system, whatever this one is."""
    triple, name, _ = SYSTEMS[system]
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    lines = [line for line in text.splitlines() if not line.startswith(("target triple", "target datalayout"))]
    module = llvm.parse_assembly("\n".join(lines))
    module.triple = triple
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=name, reloc="pic", codemodel="small", opt=1)
    module.data_layout = str(machine.target_data)
    module.verify()
    return machine.emit_object(module)


def texts(
    m: setsu.Mechanism, names: tuple[str, ...], specialised: bool, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """LLVM text of kernels, for single states and for batches."""
    found: dict[str, str] = {}

    class StopError(Exception):
        pass

    def keep(key: str, make: Callable[[], str], **options: Any) -> Any:
        found[key] = make()
        raise StopError

    monkeypatch.setattr(native, "load_native", keep)
    for name in names:
        function = native_function(m, name, specialised=specialised)
        for code in ("_rows_code", "_batch_code"):
            with pytest.raises(StopError):
                getattr(function, code)
    return found


@pytest.mark.thin(2)
@pytest.mark.slow
@every_system
def test_kernels_are_compiled_for_every_system(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops over the tables of a tree with all kinds of joints, and specialised code; sines, roots, fused products."""
    generic = texts(mechanism(), ("forward_dynamics", "integrate"), False, monkeypatch)
    straight = texts(planar_arm(2), ("inverse_dynamics", "joint_wrenches"), True, monkeypatch)
    assert len(generic) == len(straight) == 4
    for key, text in (generic | straight).items():
        assert emit(text, system).startswith(SYSTEMS[system][2]), key


@jit
def _loop(x, out):
    for k in range(len(x)):
        c, s = cos_sin(x[k])
        out[k] = arctan2(s, c) + exp(-x[k])


@every_system
def test_compiled_loops_are_compiled_for_every_system(system: str) -> None:
    signature = Signature((ArrayKind("float64", 1), ArrayKind("float64", 1)))
    bitcode = optimised(lower([(_loop, signature)]), lambda name: name == "enter0")  # type: ignore[list-item]
    assert emit(str(llvm.parse_bitcode(bitcode)), system).startswith(SYSTEMS[system][2])


@every_system
def test_shipped_code_is_compiled_for_every_system(system: str) -> None:
    text = str(llvm.parse_bitcode(read_family(families()["tree"])))
    assert emit(text, system).startswith(SYSTEMS[system][2])


ASK = """
import numpy as np, setsu
m = setsu.sample_mechanisms.planar_arm(2)
q = np.array([[0.3, 0.4]] * 9)
f = setsu.compile(m, ["mass_matrix"]).mass_matrix
print(type(f).__name__, setsu.gravity_torque(m, q).tobytes().hex(), f(q[0]).tobytes().hex())
"""


def ask(cache: Path, code: str = ASK, **environment: str) -> list[str]:
    completed = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "SETSU_CACHE_DIR": str(cache), **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return completed.stdout.split()


@pytest.mark.slow
def test_without_builtins_and_without_fork_the_bits_are_the_same(tmp_path: Path) -> None:
    """Array objects that look otherwise (PyPy, no global lock), and a system that cannot fork (Windows)."""
    kind, *bits = ask(tmp_path)
    slow, *same = ask(tmp_path, SETSU_PORTABLE="1")
    assert (kind, slow) == ("builtin_function_or_method", "NativeFunction")
    assert same == bits
    without_fork = "import os\ndel os.register_at_fork, os.fork, os.sched_getaffinity\n" + ASK
    assert ask(tmp_path, without_fork)[1:] == bits


def test_a_file_another_process_holds_open_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows refuses to replace a file in use; nobody waits for a lock: the code is used and not stored."""

    def refuse(*_: Any) -> None:
        raise PermissionError(13, "in use")

    monkeypatch.setenv("SETSU_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(toolchain.os, "replace", refuse)
    monkeypatch.setattr(toolchain, "_LOADED", {})
    module = toolchain.load_native("held", lambda: "define i64 @answer() {\n ret i64 42\n}")
    assert module.addresses("answer")[0] != 0
    assert not list(tmp_path.iterdir()), "no half-written file is left"


def test_the_linker_that_arm_needs_links_here_too(tmp_path: Path) -> None:
    """Chosen by the name of the machine, which a process is made to believe in."""
    script = """
import platform
machine, platform.machine = platform.machine(), lambda: "aarch64"
from setsu.native import toolchain
toolchain._jit()
platform.machine = lambda: machine
import numpy as np, setsu
m = setsu.sample_mechanisms.planar_arm(2)
print(setsu.inverse_dynamics(m, [0.1, 0.2], [0.3, 0.4], [0.5, 0.6]).tobytes().hex())
"""
    m = planar_arm(2)
    expected = setsu.inverse_dynamics(m, [0.1, 0.2], [0.3, 0.4], [0.5, 0.6])
    words = [sys.executable, "-c", script]
    environment = {**os.environ, "SETSU_CACHE_DIR": str(tmp_path)}
    found = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300)
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == expected.tobytes().hex()
