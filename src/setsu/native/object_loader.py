"""Machine code out of an ELF object for x86-64, without LLVM: what a linker does, for the objects our modules become.

LLVM is asked for position-independent code in the small code model. Such an object holds code (.text), constants
(.rodata*), and references from one to the other that are relative to where they stand, so its sections are laid out one
after the other and the references filled in before the place in memory is known. The only functions called outside are
those of the C library that fill and copy memory; they are reached through a jump placed behind the code.

Whatever goes beyond that (other processors and formats, data that is written, other kinds of reference) is refused with
an UnsupportedObjectError; the caller then leaves the object to LLVM's own linker. Unwind tables (.eh_frame) are left
out: no exception ever passes through our code.
"""

from __future__ import annotations

import ctypes
import struct
from typing import NamedTuple

from setsu.native.executable_memory import place_code, runs_x86_64_code

__all__ = ["UnsupportedObjectError", "link_object", "load_object"]

# ELF64, little-endian, version 1; type 1 is a relocatable object, machine 62 x86-64.
_IDENTIFICATION = b"\x7fELF\x02\x01\x01"
_RELOCATABLE, _X86_64 = 1, 62
_HEADER, _SECTION, _SYMBOL, _RELOCATION = (
    struct.Struct(layout) for layout in ("<16sHHIQQQIHHHHHH", "<IIQQQQIIQQ", "<IBBHQQ", "<QIIq")
)
# Section types and flags
_PROGRAM, _SYMBOLS, _ADDENDS, _NO_ADDENDS, _UNWIND = 1, 2, 4, 9, 0x70000001
_IN_MEMORY, _EXECUTABLE, _MERGEABLE, _STRINGS = 0x2, 0x4, 0x10, 0x20
_UNDERSTOOD_FLAGS = _IN_MEMORY | _EXECUTABLE | _MERGEABLE | _STRINGS
_UNDEFINED, _FIRST_RESERVED_SECTION = 0, 0xFF00
_GLOBAL = 1
# Both kinds of reference hold: target + addend - place, in 32 bits. PLT32 says that the target is a function.
_RELATIVE_KINDS = (2, 4)
# jmp [rip + 0], followed by the target's address
_JUMP = bytes.fromhex("ff2500000000")
_JUMP_SIZE = 16
_C_FUNCTIONS = ("memset", "memcpy", "memmove")


class UnsupportedObjectError(Exception):
    """The object holds something this loader does not know; LLVM's linker may."""


class _Section(NamedTuple):
    """An entry of the section table; addresses are not used in relocatable objects."""

    name: int
    kind: int
    flags: int
    address: int
    start: int
    size: int
    link: int
    target: int
    alignment: int
    entry_size: int


def load_object(image: bytes) -> dict[str, int]:
    """Place the code of an object in memory for good; return the addresses of its functions by name."""
    if not runs_x86_64_code():
        raise UnsupportedObjectError("not a 64-bit process on x86-64 Linux")
    code, functions = link_object(image)
    try:
        address = place_code(code)
    except OSError as error:
        raise UnsupportedObjectError(str(error)) from error
    return {name: address + offset for name, offset in functions.items()}


def link_object(image: bytes) -> tuple[bytes, dict[str, int]]:
    """Return position-independent code and where in it the functions stand that the object exports.

    Raises UnsupportedObjectError for anything it does not know.
    """
    try:
        return _link(image)
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise UnsupportedObjectError(f"damaged object: {error}") from error


def _link(image: bytes) -> tuple[bytes, dict[str, int]]:
    sections = _sections(image)
    code, places = _lay_out(image, sections)
    symbols = [section for section in sections if section.kind == _SYMBOLS]
    if len(symbols) != 1:
        raise UnsupportedObjectError(f"expected one table of symbols, got {len(symbols)}")
    entries = list(_SYMBOL.iter_unpack(_content(image, symbols[0])))
    names = _content(image, sections[symbols[0].link])

    def name_of(start: int) -> str:
        return names[start : names.index(b"\0", start)].decode()

    # Where each symbol stands in `code`; symbols of sections that are left out have no place.
    positions: list[int | None] = []
    functions: dict[str, int] = {}
    for start, information, _, section, value, _ in entries:
        position = places[section] + value if section in places else None
        if information >> 4 == _GLOBAL:
            name = name_of(start)
            if section == _UNDEFINED:
                position = _append_jump(code, name)
            elif position is None or value >= sections[section].size:
                raise UnsupportedObjectError(f"{name} stands outside the sections that are loaded")
            else:
                functions[name] = position
        positions.append(position)
    for section in sections:
        if section.kind == _ADDENDS and section.target in places:
            _refer(code, places[section.target], sections[section.target].size, _content(image, section), positions)
    return bytes(code), functions


def _sections(image: bytes) -> list[_Section]:
    identification, kind, machine, _, _, _, table, _, _, _, _, size, count, _ = _HEADER.unpack_from(image)
    if not identification.startswith(_IDENTIFICATION) or (kind, machine) != (_RELOCATABLE, _X86_64):
        raise UnsupportedObjectError("not a relocatable ELF object for x86-64")
    if size != _SECTION.size or not 0 < count < _FIRST_RESERVED_SECTION:
        raise UnsupportedObjectError(f"section table of {count} entries of {size} bytes")
    sections = [_Section._make(row) for row in _SECTION.iter_unpack(image[table : table + count * size])]
    if len(sections) != count:
        raise UnsupportedObjectError("the section table is cut off")
    return sections


def _content(image: bytes, section: _Section) -> bytes:
    if section.start + section.size > len(image):
        raise UnsupportedObjectError("a section reaches beyond the end")
    return image[section.start : section.start + section.size]


def _lay_out(image: bytes, sections: list[_Section]) -> tuple[bytearray, dict[int, int]]:
    """Put what belongs in memory one after the other; return it and where each section begins, by number."""
    code, places = bytearray(), {}
    for number, section in enumerate(sections):
        if section.kind == _NO_ADDENDS:
            raise UnsupportedObjectError("references without addends")
        if not section.flags & _IN_MEMORY or section.kind == _UNWIND:
            continue
        if section.kind != _PROGRAM or section.flags & ~_UNDERSTOOD_FLAGS:
            raise UnsupportedObjectError(f"section of type {section.kind:#x} with flags {section.flags:#x}")
        # Pages are aligned to 4096 bytes at least, so alignment within the code is alignment in memory.
        alignment = max(section.alignment, 1)
        if alignment > 4096:
            raise UnsupportedObjectError(f"alignment to {alignment} bytes")
        code.extend(bytes(-len(code) % alignment))
        places[number] = len(code)
        code.extend(_content(image, section))
    return code, places


def _append_jump(code: bytearray, name: str) -> int:
    """Append a jump to a function of the C library, which may be out of reach of 32 bits; return where it stands."""
    if name not in _C_FUNCTIONS:
        raise UnsupportedObjectError(f"calls the unknown function {name}")
    address = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value or 0
    code.extend(bytes(-len(code) % _JUMP_SIZE))
    position = len(code)
    code.extend((_JUMP + struct.pack("<Q", address)).ljust(_JUMP_SIZE, b"\xcc"))
    return position


def _refer(code: bytearray, base: int, size: int, table: bytes, positions: list[int | None]) -> None:
    """Fill in the references of one section of `size` bytes that stands at `base`."""
    for offset, kind, symbol, addend in _RELOCATION.iter_unpack(table):
        target = positions[symbol]
        if kind not in _RELATIVE_KINDS or target is None or offset + 4 > size:
            raise UnsupportedObjectError(f"reference of kind {kind} to symbol {symbol} at {offset}")
        place = base + offset
        struct.pack_into("<i", code, place, target + addend - place)
