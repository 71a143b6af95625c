"""Our loader of machine code: the same bits as LLVM's linker; what it does not know it refuses and leaves to LLVM."""

import ctypes
import struct
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from determinism.digest_of_results import KERNELS as KERNELS_OF_THE_TREE
from determinism.digest_of_results import mechanism as floating_tree

import setsu
from setsu.dynamics.catalogue import KERNELS, native_function
from setsu.native import toolchain
from setsu.native.executable_memory import place_code, runs_x86_64_code
from setsu.native.function import NativeFunction
from setsu.native.object_loader import UnsupportedObjectError, link_object, load_object
from setsu.sample_mechanisms import planar_arm, seven_joint_arm

ROWS = 19
LINUX = "x86_64-unknown-linux-gnu"
# Code with a constant, and with a call of a function of the C library.
PLAIN = "define double @shift(double %x) {\n %y = fadd double %x, 0x3FB999999999999A\n ret double %y\n}"
CLEARING = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define double @clear(ptr %where, i64 %bytes) {
  call void @llvm.memset.p0.i64(ptr %where, i8 0, i64 %bytes, i1 false)
  ret double 0x3FB999999999999A
}"""
# Beyond our loader: a global that is written, and a call of a function it does not know.
COUNTING = """
@count = internal global i64 41
define i64 @next() {
  %old = load i64, ptr @count
  %new = add i64 %old, 1
  store i64 %new, ptr @count
  ret i64 %new
}"""
CALLING = "declare i64 @strlen(ptr)\ndefine i64 @length(ptr %text) {\n %n = call i64 @strlen(ptr %text)\n ret i64 %n\n}"


def emit(text: str, triple: str = LINUX) -> bytes:
    """Object for any system, whatever this one is."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(reloc="pic", codemodel="small")
    return machine.emit_object(llvm.parse_assembly(f'target triple = "{triple}"\n{text}'))


def emit_here(text: str) -> bytes:
    return emit(text, llvm.get_process_triple())


def bits(function: NativeFunction) -> bytes:
    """All results of a function for one state, by its builtin, and for a batch."""
    m, rng = function.mechanism, np.random.default_rng(3)
    batch = [
        np.array([m.random_configuration(rng) for _ in range(ROWS)])
        if array.over == "q"
        else rng.standard_normal((ROWS, *shape))
        for array, shape in zip(function.arguments.arrays, function.arguments.shapes, strict=True)
    ]
    single = [array[0].copy() for array in batch]
    results = [function(*batch), function(*single), function.fast(*single)]
    parts = [part for result in results for part in (result if isinstance(result, tuple) else (result,))]
    return b"".join(np.asarray(part).tobytes() for part in parts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "kernels", "specialised"),
    [
        (seven_joint_arm, tuple(KERNELS), False),
        (floating_tree, KERNELS_OF_THE_TREE, False),
        (lambda: planar_arm(3), tuple(KERNELS), True),
    ],
    ids=["seven joints", "floating tree", "planar arm, specialised"],
)
def test_every_kernel_gives_the_same_bits_as_by_the_linker_of_llvm(
    make: Callable[[], setsu.Mechanism], kernels: tuple[str, ...], specialised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One object linked twice: how its parts are put in memory must not show in any result."""

    def found(loaded: dict[str, toolchain.NativeModule]) -> dict[str, bytes]:
        monkeypatch.setattr(toolchain, "_LOADED", loaded)
        m = make()  # a new mechanism has no functions yet
        return {name: bits(native_function(m, name, specialised=specialised, target=1)) for name in kernels}

    def refuse(image: bytes) -> dict[str, int]:
        raise UnsupportedObjectError("left to LLVM")

    by_us: dict[str, toolchain.NativeModule] = {}
    ours = found(by_us)
    monkeypatch.setattr(toolchain, "load_object", refuse)
    by_llvm = {key: toolchain.NativeModule(module._image) for key, module in by_us.items()}
    assert found(by_llvm) == ours
    assert by_llvm.keys() == by_us.keys()


def test_a_constant_is_found_from_the_code() -> None:
    module = toolchain.NativeModule(emit_here(PLAIN))
    (address,) = module.addresses("shift")
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)(1.0) == 1.1


def test_the_c_library_is_reached_however_far_it_is() -> None:
    module = toolchain.NativeModule(emit_here(CLEARING))
    (address,) = module.addresses("clear")
    numbers = np.ones(100)
    clear = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_int64)(address)
    assert clear(numbers.ctypes.data, 50 * 8) == 0.1
    assert numbers.tolist() == [0.0] * 50 + [1.0] * 50


@pytest.mark.parametrize("text", [COUNTING, CALLING])
def test_what_the_loader_does_not_know_is_left_to_llvm(text: str) -> None:
    with pytest.raises(UnsupportedObjectError):
        link_object(emit(text))
    module = toolchain.NativeModule(emit_here(text))
    if text is COUNTING:
        step = ctypes.CFUNCTYPE(ctypes.c_int64)(*module.addresses("next"))
        assert [step(), step()] == [42, 43]
    else:
        assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p)(*module.addresses("length"))(b"seven..") == 7


@pytest.mark.parametrize(
    "triple", ["aarch64-unknown-linux-gnu", "x86_64-apple-darwin", "x86_64-pc-windows-msvc", "i686-unknown-linux-gnu"]
)
def test_objects_of_other_systems_are_refused(triple: str) -> None:
    with pytest.raises(UnsupportedObjectError, match="x86-64"):
        link_object(emit(PLAIN, triple))


def sections(image: bytes) -> list[tuple[int, list[int]]]:
    """Start and fields of each entry of the section table: name, type, flags, address, offset, size, …"""
    (table,), (count,) = struct.unpack_from("<Q", image, 40), struct.unpack_from("<H", image, 60)
    return [(table + 64 * k, list(struct.unpack_from("<IIQQQQIIQQ", image, table + 64 * k))) for k in range(count)]


def changed(image: bytes, start: int, layout: str, value: int) -> bytes:
    copy = bytearray(image)
    struct.pack_into(layout, copy, start, value)
    return bytes(copy)


def links(image: bytes) -> bool:
    """Link or refuse; any other exception fails the test."""
    try:
        code, functions = link_object(image)
    except UnsupportedObjectError:
        return False
    assert all(0 <= offset < len(code) for offset in functions.values())
    return True


def test_unknown_parts_of_an_object_are_refused() -> None:
    image = emit(PLAIN)
    assert links(image)
    table = sections(image)
    text = next(start for start, fields in table if fields[2] & 0x4)
    references, where = next((start, fields[4]) for start, fields in table if fields[1] == 4)
    symbols = next(start for start, fields in table if fields[1] == 2)
    damaged = {
        "thread-local section": changed(image, text + 8, "<Q", 0x406),
        "section of unknown type": changed(image, text + 4, "<I", 0x60000001),
        "references without addends": changed(image, references + 4, "<I", 9),
        "unknown reference": changed(image, where + 8, "<I", 42),
        "reference to no symbol": changed(image, where + 12, "<I", 10**6),
        "reference outside its section": changed(image, where, "<Q", 10**9),
        "reference too far": changed(image, where + 16, "<q", 2**40),
        "code beyond the end": changed(image, text + 24, "<Q", len(image)),
        "no symbols": changed(image, symbols + 4, "<I", 1),
        "huge alignment": changed(image, text + 48, "<Q", 1 << 40),
        "empty": b"",
    }
    assert [what for what, content in damaged.items() if links(content)] == []


def test_no_damage_ends_in_another_error() -> None:
    """Cut anywhere, or with random bytes changed: the loader links or refuses (the cache's checksum comes before)."""
    image, rng = emit(CLEARING), np.random.default_rng(0)
    cases = [image[:length] for length in range(0, len(image), 7)]
    for _ in range(3000):
        copy = bytearray(image)
        for place in rng.integers(len(image), size=rng.integers(1, 6)):
            copy[place] = rng.integers(256)
        cases.append(bytes(copy))
    linked = [links(case) for case in cases]
    assert any(linked)
    assert not all(linked)


def test_code_can_be_run_but_not_written() -> None:
    """Where this loader works: the pages of the code are readable and executable only."""
    if not runs_x86_64_code():
        with pytest.raises(UnsupportedObjectError, match="x86-64"):
            load_object(emit(PLAIN))
        return
    address = load_object(emit(PLAIN))["shift"]
    rights = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, last = (int(end, 16) for end in line.split()[0].split("-"))
        if first <= address < last:
            rights.append(line.split()[1])
    assert rights == ["r-xp"]


def test_memory_that_may_not_be_executed_leaves_the_work_to_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(code: bytes) -> int:
        raise OSError(13, "not allowed")

    monkeypatch.setattr("setsu.native.object_loader.place_code", forbidden)
    module = toolchain.NativeModule(emit_here(PLAIN))
    (address,) = module.addresses("shift")
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)(2.0) == 2.1


def test_each_piece_of_code_has_its_own_pages() -> None:
    if runs_x86_64_code():
        first, second = place_code(b"\xc3"), place_code(b"\xc3")
        assert first != second
        assert first % 4096 == second % 4096 == 0
