"""Compiled code on disk: never stale, never trusted when damaged, never in the way."""

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import llvmlite
import pytest

import setsu
from setsu.native import toolchain
from setsu.native.processor import Target

PACKAGE = Path(setsu.__file__).parent
ASK = """
import numpy as np, setsu
m = setsu.sample_mechanisms.planar_arm(2)
print(setsu.gravity_torque(m, [0.3, 0.4]).tolist(), setsu.compile(m, ["mass_matrix"]).mass_matrix([0.3, 0.4]).tolist())
"""


def ask(cache: Path, package: Path = PACKAGE, code: str = ASK) -> str:
    """Run a question in a new process with the package of this folder."""
    completed = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "SETSU_CACHE_DIR": str(cache), "PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return completed.stdout


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> str:
    return ask(tmp_path_factory.mktemp("answer"))


def checksum(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.o")}


@pytest.mark.slow
def test_editing_a_source_never_yields_stale_results(tmp_path: Path, answer: str) -> None:
    """With one cache for all: edit a kernel, then a helper of kernels in another file, then the tables."""
    package, cache = tmp_path / "copy" / "setsu", tmp_path / "cache"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    where = f"import setsu; print(setsu.__file__)\n{ASK}"
    first = ask(cache, package, where)
    assert str(package) in first
    assert answer in first
    edits = [
        ("kernels/composite_body.py", None),
        ("kernels/joints.py", ("return turned(R, *cos_sin(q)), p", "return turned(R, *cos_sin(1.5 * q)), p")),
        ("mechanism/tables.py", ("np.add.at(mass, link, own_mass)\n", "np.add.at(mass, link, 2.0 * own_mass)\n")),
    ]
    seen = {first}
    for file, change in edits:
        path = package / file
        text = path.read_text()
        if change is None:
            # A comment changes no result: the same answer, from code that was made anew.
            before = checksum(cache)
            path.write_text(text + "\n# edited\n")
            assert ask(cache, package, where) in seen
            assert len(checksum(cache)) > len(before)
        else:
            assert change[0] in text, f"{file} no longer holds the line this test edits"
            path.write_text(text.replace(*change))
            result = ask(cache, package, where)
            assert result not in seen, file
            seen.add(result)


@pytest.mark.slow
def test_sources_edited_while_a_process_runs_are_not_taken_for_those_it_imported(tmp_path: Path, answer: str) -> None:
    """Imported, then edited, then called: the process answers as imported and stores nothing that others could find."""
    package, cache = tmp_path / "copy" / "setsu", tmp_path / "cache"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    edit = """
import pathlib, setsu
setsu.sample_mechanisms, setsu.gravity_torque, setsu.compile  # names load when first used
path = pathlib.Path(setsu.__file__).parent / "mechanism" / "tables.py"
text = path.read_text()
path.write_text(text.replace("np.add.at(mass, link, own_mass)\\n", "np.add.at(mass, link, 2.0 * own_mass)\\n"))
assert path.read_text() != text
"""
    assert ask(cache, package, edit + ASK) == answer
    assert not checksum(cache)
    assert ask(cache, package) != answer


TEXT = "define i64 @answer() {\n ret i64 42\n}"


@pytest.mark.parametrize("part", ["target", "_llvm_version"])
def test_code_of_another_processor_or_compiler_is_not_found(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SETSU_CACHE_DIR", str(tmp_path))
    made = []

    def make() -> str:
        made.append(None)
        return TEXT

    counts = []
    # Processors LLVM knows: it ends the process where an unknown one lacks what the code needs.
    for identity in ("x86-64", "x86-64-v2", "x86-64"):
        monkeypatch.setattr(toolchain, "_LOADED", {})
        answer = Target("generic", identity, "", 2) if part == "target" else identity
        monkeypatch.setattr(toolchain, part, lambda answer=answer: answer)
        toolchain.load_native("answer", make)
        counts.append(len(made))
    assert counts == [1, 2, 2]
    assert len(checksum(tmp_path)) == 2


def test_the_version_of_the_compiler_is_read_without_loading_it() -> None:
    assert llvmlite.__version__ in toolchain._llvm_version()


FORK = """
import os, signal, threading, time
from setsu.native import toolchain
inside = threading.Event()
def slow():
    inside.set()
    time.sleep(0.2)
    return "define i64 @answer() { ret i64 1 }"
before = toolchain.load_native("before", lambda: "define i64 @answer() { ret i64 2 }").addresses("answer")
thread = threading.Thread(target=lambda: toolchain.load_native("slow", slow))
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    import ctypes
    signal.alarm(60)
    after = [m.addresses("answer")[0] for m in (
        toolchain.load_native("slow", slow), toolchain.load_native("new", lambda: "define i64 @answer() { ret i64 3 }")
    )]
    values = [ctypes.CFUNCTYPE(ctypes.c_int64)(address)() for address in (*before, *after)]
    os._exit(0 if values == [2, 1, 3] else 1)
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.slow
def test_a_process_may_fork_while_a_thread_compiles(tmp_path: Path) -> None:
    """The child runs the code of its parent, finds what the thread was making, and can make more."""
    if hasattr(os, "fork"):
        assert ask(tmp_path, code=FORK) == "0\n"


@pytest.mark.slow
def test_damaged_files_are_ignored(tmp_path: Path, answer: str) -> None:
    """Empty, truncated, bits flipped, foreign: the answer stays, and good files are written in their place."""
    assert ask(tmp_path) == answer
    good = checksum(tmp_path)
    assert len(good) >= 2
    damages = [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-40] + bytes(byte ^ 0xFF for byte in content[-40:]),
        lambda content: b"not machine code",
    ]
    for path, damage in zip(sorted(tmp_path.glob("*.o")), [*damages, *damages], strict=False):
        path.write_bytes(damage(path.read_bytes()))
    assert ask(tmp_path) == answer
    assert checksum(tmp_path) == good


def test_a_file_under_the_name_of_another_is_no_cached_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two whole files exchanged: each key still gives its own numbers, made anew."""
    monkeypatch.setenv("SETSU_CACHE_DIR", str(tmp_path))
    texts = {f"answer {k}": f"define i64 @answer() {{\n ret i64 {k}\n}}" for k in (1, 2)}

    def answers() -> list[int]:
        monkeypatch.setattr(toolchain, "_LOADED", {})
        modules = [toolchain.load_native(key, lambda text=text: text) for key, text in texts.items()]
        return [ctypes.CFUNCTYPE(ctypes.c_int64)(module.addresses("answer")[0])() for module in modules]

    assert answers() == [1, 2]
    good = checksum(tmp_path)
    first, second = sorted(tmp_path.glob("*.o"))
    contents = first.read_bytes(), second.read_bytes()
    first.write_bytes(contents[1])
    second.write_bytes(contents[0])
    assert answers() == [1, 2]
    assert checksum(tmp_path) == good


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, answer: str) -> None:
    """A file stands where the folder should be: nobody, not even root, can write there."""
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    warned = (
        "import warnings\nwith warnings.catch_warnings(record=True) as told:\n    warnings.simplefilter('always')\n"
    )
    told = "\nprint([str(w.message) for w in told if w.category is setsu.CacheWarning])"
    found = ask(blocked / "cache", code=warned + ASK.strip().replace("\n", "\n    ").join(["    ", ""]) + told)
    assert found.startswith(answer)
    assert found.count("SETSU_CACHE_DIR") == 1, "one warning per process, with the way out"
    assert str(blocked) in found
    assert blocked.read_text() == "in the way"


@pytest.mark.slow
def test_two_processes_may_compile_at_once(tmp_path: Path, answer: str) -> None:
    environment = {**os.environ, "SETSU_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(PACKAGE.parent)}
    both = [
        subprocess.Popen([sys.executable, "-c", ASK], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [process.communicate(timeout=300)[0] for process in both] == [answer, answer]
    assert ask(tmp_path) == answer
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".o"], "no half-written files are left"


def test_the_fingerprint_covers_every_source_code_is_made_of() -> None:
    """Modules that are loaded when code is emitted are in the fingerprint's list, or above the native layer."""
    listed = {"kernels", "symbolic", "native"}
    imported = set()
    for folder in listed:
        for path in (PACKAGE / folder).glob("*.py"):
            for line in path.read_text().splitlines():
                # What checks the number of threads decides no code.
                if (
                    line.startswith(("from setsu.", "import setsu."))
                    and line != "from setsu.spatial import whole_number"
                ):
                    imported.add(line.split()[1])
    outside = {name for name in imported if name.split(".")[1] not in listed}
    # errors words messages and mechanism.* describes the data; what decides the code besides is in the fingerprint.
    assert outside <= {
        "setsu.elementary", "setsu.errors", "setsu.mechanism", "setsu.mechanism.tables", "setsu.mechanism.joints",
    }  # fmt: skip


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SETSU_CACHE", str(tmp_path))
    monkeypatch.setenv("SETSU_CACHE_DIR", str(tmp_path / "other"))
    assert toolchain.cache_folder() == tmp_path / "other"
    monkeypatch.delenv("SETSU_CACHE_DIR")
    assert toolchain.cache_folder() == tmp_path
    monkeypatch.delenv("SETSU_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert toolchain.cache_folder() == tmp_path / "xdg" / "setsu"
