"""Loops whose course depends on numbers (solvers, time loops), compiled by Numba and calling our native kernels.

`compiled` is numba.njit without reference counting, with a cache on disk that can never be stale: it lies in a folder
named after a hash of every source of the package, whereas Numba alone looks at the one file a function stands in.
`run_bound` calls a kernel that was bound to fixed arrays (NativeFunction.bind) from inside such code, by address.

Importing this module loads Numba (most of a second): modules that use it are imported where first needed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from setsu.native.processor import processor_identity
from setsu.native.toolchain import cache_folder

__all__ = ["compiled", "run_bound"]

Function = TypeVar("Function", bound=Callable[..., Any])

# Numba's own annotations know neither its settings nor all options of njit.
_NUMBA: Any = numba
_KEPT_FOLDERS = 8


def _package_fingerprint() -> str:
    """Hash of all sources of the package, Numba's version and the processor."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes() + b"\0")
    for text in (numba.__version__, sys.version, processor_identity()):
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()


def _prepared_folder() -> str:
    """The folder of this version's code; those of former versions go, the least recently used first."""
    base = cache_folder() / "control_flow"
    folder = base / _package_fingerprint()[:32]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        others = sorted((path.stat().st_mtime, path) for path in base.iterdir() if path.is_dir())
        for _, path in others[:-_KEPT_FOLDERS]:
            shutil.rmtree(path, ignore_errors=True)
    except OSError:
        return ""
    return str(folder) if os.access(folder, os.W_OK) else ""


_FOLDER = _prepared_folder()


def compiled(function: Function) -> Function:
    """Compile a function of scalars and arrays when first called; it may not make arrays itself.

    Divisions by zero give inf or NaN as in NumPy; products and sums may be contracted, nothing is reordered.
    """
    settings, njit = _NUMBA.config, _NUMBA.njit
    before, settings.CACHE_DIR = settings.CACHE_DIR, _FOLDER
    try:
        return njit(
            nogil=True,
            error_model="numpy",
            fastmath={"contract", "nsz", "arcp"},
            cache=bool(_FOLDER),
            _nrt=False,
        )(function)
    finally:
        settings.CACHE_DIR = before


@intrinsic
def run_bound(typing_context, handle):
    """Run the kernel that `handle` (int64 array of BoundCall.handle) stands for; -1, or a number for bad values.

    The kernel reads and writes the arrays it was bound to. The number is that of the bad row (in batches: of the first
    row of its tile) times two, plus one if it is the result that is not finite.
    """
    if not (isinstance(handle, types.Array) and handle.dtype == types.int64 and handle.ndim == 1):
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0])
        word, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
        entries = [builder.load(cgutils.gep_inbounds(builder, array.data, k)) for k in range(7)]
        tables = [builder.inttoptr(entry, pointer) for entry in entries[1:5]]
        rows = builder.inttoptr(entries[0], ir.FunctionType(word, [pointer] * 4 + [word]).as_pointer())
        batch = builder.inttoptr(entries[0], ir.FunctionType(word, [pointer] * 4 + [word, word]).as_pointer())
        status = cgutils.alloca_once(builder, word)
        in_tiles = builder.icmp_signed("!=", entries[6], word(0))
        with builder.if_else(in_tiles) as (then, otherwise):
            with then:
                builder.store(builder.call(batch, [*tables, word(0), entries[5]]), status)
            with otherwise:
                builder.store(builder.call(rows, [*tables, entries[5]]), status)
        return builder.load(status)

    return types.int64(handle), generate
