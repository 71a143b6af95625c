"""Loops whose course depends on numbers (solvers, time loops), compiled by Numba and calling our native kernels.

`compiled` is numba.njit without reference counting, with a cache on disk that can never be stale: it lies in a folder
named after a hash of all sources that the function's file imports, whereas Numba alone looks at the one file a function
stands in.
`run_bound` calls a kernel that was bound to fixed arrays (NativeFunction.bind) from inside such code, by address.

Importing this module loads Numba (most of a second): modules that use it are imported where first needed.
"""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba.core import cgutils, codegen, compiler, event, registry, types
from numba.extending import intrinsic

from setsu.errors import InputError
from setsu.native.processor import Target, target
from setsu.native.toolchain import cache_folder

__all__ = ["code_address", "compiled", "part", "run_bound", "run_code", "run_on_book"]

Function = TypeVar("Function", bound=Callable[..., Any])

# Numba's own annotations know neither its settings nor all options of njit.
_NUMBA: Any = numba
# Of each file, over versions and processor levels.
_KEPT_FOLDERS = 8
_PACKAGE = Path(__file__).resolve().parent.parent


def _aim_numba(at: Target) -> None:
    """Make Numba compile for a chosen level: it has one target per process, read from the environment."""
    if at.level == "native":
        return
    os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"] = at.name, at.features
    _NUMBA.config.reload_config()
    target: Any = registry.cpu_target
    _, name, features = target.target_context.codegen().magic_tuple()
    if (name, features) != (at.name, at.features):
        raise InputError(
            f"SETSU_PROCESSOR={at.level}: Numba already compiles for {name} in this process; import setsu before "
            "compiling other functions, or set NUMBA_CPU_NAME and NUMBA_CPU_FEATURES too"
        )


_aim_numba(target())


@cache
def _holds_compiled_functions(folder: Path) -> bool:
    return any(b"native.control_flow import" in file.read_bytes() for file in folder.glob("*.py"))


@cache
def _imported(path: Path) -> tuple[bytes, frozenset[Path]]:
    """Text of a source file and those that it imports from folders that hold compiled functions.

    Numbers that Numba freezes into a function may come from these folders only.
    """
    text, found = path.read_bytes(), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "setsu":
            module = _PACKAGE.joinpath(*(node.module or "").split(".")[1:])
            inside = {module / f"{name.name}.py" for name in node.names}
            found |= {file for file in (module.with_suffix(".py"), module / "__init__.py", *inside) if file.exists()}
    return text, frozenset(file for file in found if _holds_compiled_functions(file.parent))


def _sources_of(path: Path) -> dict[Path, bytes]:
    """The file, all that it imports, directly or not, and what makes the code: this folder, elementary functions."""
    waiting, sources = {path, _PACKAGE / "elementary.py", *Path(__file__).resolve().parent.glob("*.py")}, {}
    while waiting:
        file = waiting.pop()
        sources[file], imported = _imported(file)
        waiting |= imported - sources.keys()
    return sources


@cache
def _folder_of(path: Path) -> str:
    """The folder of the code of one source file, "" where none can be written; those of former versions go.

    Its name is a hash of all sources that can decide the code, of Numba's version and of the processor: Numba alone
    looks at the one file a function stands in, but freezes the numbers and inlines the functions that this imports.
    """
    digest = hashlib.sha256()
    for file, text in sorted(_sources_of(path).items()):
        digest.update(str(file).encode() + b"\0" + text + b"\0")
    for words in (numba.__version__, sys.version, target().identity):
        digest.update(words.encode() + b"\0")
    base = cache_folder() / "control_flow" / f"{path.parent.name}.{path.stem}"
    folder = base / digest.hexdigest()[:32]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        others = sorted((other.stat().st_mtime, other) for other in base.iterdir() if other.is_dir())
        for _, other in others[:-_KEPT_FOLDERS]:
            shutil.rmtree(other, ignore_errors=True)
    except OSError:
        return ""
    return str(folder) if os.access(folder, os.W_OK) else ""


class _Notice(event.Listener):
    """Says once, to a person at a terminal, why nothing seems to happen while code is made."""

    given = False

    def on_start(self, event: Any) -> None:
        ours = event.data["dispatcher"].py_func.__module__.startswith("setsu.")
        if ours and not self.given and sys.stderr.isatty():
            self.given = True
            kept = _folder_of(Path(event.data["dispatcher"].py_func.__code__.co_filename).resolve())
            where = f" It is kept in {kept}." if kept else ""
            print(f"setsu: making code for this processor, once; up to half a minute.{where}", file=sys.stderr)

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


event.register("numba:compile", _Notice())

# No fast-math flag: each would let LLVM choose other roundings on other processors.
_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False}


def compiled(function: Function) -> Function:
    """Compile a function of scalars and arrays when first called from Python; it may not make arrays itself.

    Divisions by zero give inf or NaN as in NumPy. Every operation is rounded by itself and nothing is reordered: the
    same bits on every processor, as long as it calls no function of the C library (`compiled_elementary` has ours).
    """
    settings, njit = _NUMBA.config, _NUMBA.njit
    folder = _folder_of(Path(function.__code__.co_filename).resolve())
    before, settings.CACHE_DIR = settings.CACHE_DIR, folder
    try:
        return njit(cache=bool(folder), no_cfunc_wrapper=True, **_OPTIONS)(function)
    finally:
        settings.CACHE_DIR = before


class _Unfinished(codegen.JITCodeLibrary):
    """The code of a part as it was lowered.

    Numba alone would optimise a part, and emit code for it, together with all it calls, at every level of calls anew.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Nobody calls a part by its address."""
        return 0

    @property
    def codegen(self) -> Any:
        """What Numba would put the address of Python's objects into: parts use none."""
        return _NoEnvironment


class _NoEnvironment:
    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Nothing to set."""


class _PartCompiler(compiler.Compiler):
    """Numba's compiler up to, but without, LLVM's optimisation: that is left to the function the part belongs to."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.state.library = _Unfinished(self.state.targetctx.codegen(), "part")


def code_address(function: Callable[..., Any], book: Any) -> int:
    """Compile a function of one book (its type) apart from all others; return the address that `run_on_book` calls.

    Families that call it are neither compiled together with it nor compiled again when it changes.
    """
    key = (function, book)
    if key not in _ADDRESSES:
        settings = _NUMBA.config
        folder = _folder_of(Path(function.__code__.co_filename).resolve())
        before, settings.CACHE_DIR = settings.CACHE_DIR, folder
        try:
            _ADDRESSES[key] = _NUMBA.cfunc(types.void(book), cache=bool(folder), **_OPTIONS)(function)
        finally:
            settings.CACHE_DIR = before
    return _ADDRESSES[key].address


# What was compiled lives as long as the process: its address is in use.
_ADDRESSES: dict[Any, Any] = {}


def part(function: Function) -> Function:
    """The same for a function that only compiled ones call: without the way in from Python, optimised as part of them.

    It has no code of its own and may not be called from Python.
    """
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": _PartCompiler}
    return _NUMBA.njit(**options, **_OPTIONS)(function)


def _run_bound(typing_context, handle):
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


def _run_code(typing_context, address, inputs, outputs):
    """Call `void code(double *inputs, double *outputs)` at an address (expression_code) on two float64 arrays."""
    arrays = isinstance(inputs, types.Array) and isinstance(outputs, types.Array)
    if not (arrays and isinstance(address, types.Integer)):
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        proxies = [
            cgutils.create_struct_proxy(kind)(context, builder, value=value)
            for kind, value in zip(signature.args[1:], args[1:], strict=True)
        ]
        pointer = ir.DoubleType().as_pointer()
        code = builder.inttoptr(args[0], ir.FunctionType(ir.VoidType(), [pointer, pointer]).as_pointer())
        builder.call(code, [proxy.data for proxy in proxies])
        return context.get_dummy_value()

    return types.void(types.int64, inputs, outputs), generate


def _run_on_book(typing_context, address, book):
    """Call what `code_address` compiled on a book."""
    if not isinstance(address, types.Integer):
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = builder.inttoptr(args[0], ir.FunctionType(ir.VoidType(), [args[1].type]).as_pointer())
        builder.call(code, [args[1]])
        return context.get_dummy_value()

    return types.void(types.int64, book), generate


# Known to type checkers as what compiled code sees: functions without a typing context.
run_bound: Callable[[Any], int] = intrinsic(_run_bound)  # type: ignore[assignment]
run_code: Callable[[int, Any, Any], None] = intrinsic(_run_code)  # type: ignore[assignment]
run_on_book: Callable[[int, Any], None] = intrinsic(_run_on_book)  # type: ignore[assignment]
