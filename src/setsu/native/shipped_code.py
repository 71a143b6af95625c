"""Code that is shipped with the package: optimised LLVM bitcode of the compiled functions, as xz, and what is in it.

A file `<family>.json` beside `<family>.bc.xz` lists the functions with the layouts of their arguments, and names the
sources that the code was made from. Edited sources make it stale: their functions are then lowered by Numba again. The
files are refreshed by `python -m setsu.warming.refresh`.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from setsu.native.code_identity import file_digests, frozen_values, source_identity
from setsu.native.control_flow import Compiled
from setsu.native.signature import Signature

__all__ = [
    "REFRESH",
    "Family",
    "Shipped",
    "describe_family",
    "families",
    "is_stale",
    "read_family",
    "shipped",
    "write_family",
]

REFRESH = "python -m setsu.warming.refresh"
FOLDER = Path(__file__).resolve().parent / "shipped"


class Family(NamedTuple):
    """Functions whose code is one module; entries: name and layout of arguments, in the order of their symbols."""

    name: str
    entries: tuple[tuple[str, str], ...]
    source: str  # source_identity
    files: tuple[str, ...]
    files_digest: str
    names: dict[str, list[str]]
    names_digest: str
    bitcode: str  # sha256 of the bitcode


class Shipped(NamedTuple):
    """Where the code of one function stands: family, name and symbol, and how to read it."""

    family: str
    key: str
    symbols: tuple[str, ...]
    place: int
    bitcode: Callable[[], bytes]


@cache
def families() -> dict[str, Family]:
    """All families by name; none where $SETSU_SHIPPED=0 asks for code that is made here."""
    if os.environ.get("SETSU_SHIPPED") == "0":
        return {}
    found = {}
    for path in sorted(FOLDER.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        content["entries"] = tuple(tuple(entry) for entry in content["entries"])
        content["files"] = tuple(content["files"])
        found[path.stem] = Family(name=path.stem, **content)
    return found


@cache
def _places() -> dict[tuple[str, str], tuple[str, int]]:
    return {entry: (family.name, k) for family in families().values() for k, entry in enumerate(family.entries)}


def shipped(function: Compiled, signature: Signature) -> Shipped | None:
    """Return where the code of a function is shipped, or None where it is not, or stale."""
    place = _places().get((function.name, signature.text))
    if place is None:
        return None
    family = families()[place[0]]
    if _stale(family.name):
        return None
    symbols = tuple(f"enter{k}" for k in range(len(family.entries)))
    return Shipped(family.name, family.bitcode, symbols, place[1], lambda: read_family(family))


_FRESH: dict[str, bool] = {}


def _stale(name: str) -> bool:
    if name not in _FRESH:
        _FRESH[name] = not is_stale(families()[name])
    return not _FRESH[name]


def is_stale(family: Family) -> bool:
    """Return whether the sources of a family's functions would give other code than is shipped."""
    try:
        # Importing their modules makes the values known that are frozen into them.
        functions = [_function(name) for name, _ in family.entries]
        if file_digests(family.files) == family.files_digest and frozen_values(family.names) == family.names_digest:
            return False
        return source_identity(functions).identity != family.source
    except (OSError, LookupError, AttributeError):
        return True


def _function(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def read_family(family: Family) -> bytes:
    """Return the bitcode of a family."""
    bitcode = lzma.decompress((FOLDER / f"{family.name}.bc.xz").read_bytes())
    if hashlib.sha256(bitcode).hexdigest() != family.bitcode:
        raise OSError(f"{FOLDER / family.name}.bc.xz is damaged; install Setsu again, or run `{REFRESH}` in a clone")
    return bitcode


def write_family(name: str, functions: list[tuple[Compiled, Signature]], bitcode: bytes, folder: Path = FOLDER) -> None:
    """Write the files of a family."""
    entries = [(function.name, signature.text) for function, signature in functions]
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.bc.xz").write_bytes(lzma.compress(bitcode, preset=9 | lzma.PRESET_EXTREME))
    describe_family(name, entries, hashlib.sha256(bitcode).hexdigest(), folder)


def describe_family(name: str, entries: Sequence[tuple[str, str]], bitcode: str, folder: Path = FOLDER) -> None:
    """Write what is in a family, and which sources it was made from; bitcode: its sha256."""
    sources = source_identity([_function(entry) for entry, _ in entries])
    content = {
        "entries": entries,
        "source": sources.identity,
        "files": sources.files,
        "files_digest": file_digests(sources.files),
        "names": sources.names,
        "names_digest": frozen_values(sources.names),
        "bitcode": bitcode,
    }
    (folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
