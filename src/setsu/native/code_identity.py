"""What decides the code of a compiled function: it, all that it calls, and the numbers that are frozen into it.

Two names are made of that. `code_identity` looks at the byte code that Numba lowers, in memory: quick, exact, different
between versions of Python; code made on this machine is kept under it. `source_identity` looks at the sources, without
comments, docstrings, annotations and what is beside compiled functions: the same with every version of Python; shipped
code carries it, so that only an edit that changes code makes it stale.
"""

from __future__ import annotations

import ast
import enum
import hashlib
import sys
import types
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from setsu.native.control_flow import Inline, Intrinsic

__all__ = ["Sources", "code_identity", "file_digests", "frozen_values", "package_file", "source_identity"]

_PACKAGE = Path(__file__).resolve().parent.parent
# What turns functions into code, beside Numba and LLVM.
_MAKERS = ("native/numba_lowering.py", "native/entry_text.py", "native/bitcode.py")


# In memory ---------------------------------------------------------------------------------------------------------


def code_identity(function: Inline) -> str:
    """Name of the code of a function, from its byte code and that of all it calls."""
    digest = hashlib.sha256(f"{sys.version} {_makers()} {_numba_version()}".encode())
    for found in _closure([function], lambda part: _names_in(part.function.__code__)):
        code = found.function.__code__
        digest.update(repr((found.name, *_code_words(code), found.function.__defaults__)).encode())
        for name, value in _frozen(found.function, _names_in(code)):
            digest.update(f"{name}={_describe(value)};".encode())
    return digest.hexdigest()


def _code_words(code: types.CodeType) -> tuple[Any, ...]:
    constants = code.co_consts
    # A docstring is the first constant, and no part of the code.
    if constants and isinstance(constants[0], str):
        constants = constants[1:]
    inner = tuple(_code_words(c) if isinstance(c, types.CodeType) else _describe(c) for c in constants)
    return code.co_code, inner, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars


def _names_in(code: types.CodeType) -> frozenset[str]:
    found = set(code.co_names) | set(code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names_in(constant)
    return frozenset(found)


@cache
def _numba_version() -> str:
    from importlib.metadata import version

    return version("numba")


@cache
def _makers() -> str:
    return hashlib.sha256("".join(_canonical(_tree(_PACKAGE / name)) for name in _MAKERS).encode()).hexdigest()


# From sources ------------------------------------------------------------------------------------------------------


class Sources(NamedTuple):
    """identity: see `source_identity`. files: those read, in the package. names: values frozen into code, by module."""

    identity: str
    files: tuple[str, ...]
    names: dict[str, tuple[str, ...]]


def source_identity(functions: Iterable[Inline]) -> Sources:
    """Name of the code of some functions, from their sources; OSError or LookupError where these cannot be read."""
    digest = hashlib.sha256(_makers().encode())
    files: set[str] = set(_MAKERS)
    names: dict[str, set[str]] = {}
    for found in _closure(functions, lambda part: _names_of(_node(part.function))):
        node = _node(found.function)
        values = dict(_frozen(found.function, _names_of(node)))
        described = ";".join(f"{name}={_describe(value)}" for name, value in sorted(values.items()))
        digest.update(f"{found.name}\n{_canonical(node)}\n{described}\n".encode())
        files.add(package_file(found.function.__code__.co_filename))
        files.update(package_file(str(value.__file__)) for value in values.values() if _is_ours(value))
        names.setdefault(found.function.__module__, set()).update(values.keys() & found.function.__globals__.keys())
    listed = {module: tuple(sorted(found)) for module, found in sorted(names.items())}
    return Sources(digest.hexdigest(), tuple(sorted(files)), listed)


def package_file(path: str) -> str:
    """Path of a source file in the package."""
    return Path(path).resolve().relative_to(_PACKAGE).as_posix()


def file_digests(files: Iterable[str]) -> str:
    """Hash of source files as they are: a quick look, before `source_identity`."""
    digest = hashlib.sha256()
    for name in files:
        # A checkout under Windows may have other line ends.
        digest.update((_PACKAGE / name).read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()


def frozen_values(names: dict[str, Any]) -> str:
    """Hash of the values that stand under these names, by module; LookupError where one is missing."""
    digest = hashlib.sha256()
    for module, listed in sorted(names.items()):
        known = vars(sys.modules[module])
        for name in listed:
            digest.update(f"{module}.{name}={_describe(known[name])};".encode())
    return digest.hexdigest()


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


@cache
def _functions(path: Path) -> dict[int, Any]:
    """Functions of a file by the line they begin on, decorators included."""
    return {
        min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]): node
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef | ast.Lambda)
    }


def _node(function: Any) -> ast.AST:
    return _functions(Path(function.__code__.co_filename))[function.__code__.co_firstlineno]


@cache
def _names_of(node: ast.AST) -> frozenset[str]:
    """Names that a function looks up and does not set."""
    used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    own = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    # Annotations are among the names of a tree; they never enter the code.
    noted = [a.annotation for a in ast.walk(node) if isinstance(a, ast.arg | ast.AnnAssign) and a.annotation]
    noted += [f.returns for f in ast.walk(node) if isinstance(f, ast.FunctionDef) and f.returns]
    noted += [d for f in ast.walk(node) if isinstance(f, ast.FunctionDef) for d in f.decorator_list]
    beside = [n for root in noted for n in ast.walk(root)]
    only_noted = {n.id for n in beside if isinstance(n, ast.Name)}
    count = dict.fromkeys(used, 0)
    for n in ast.walk(node):
        if isinstance(n, ast.Name) and n.id in count:
            count[n.id] += 1
    for n in beside:
        if isinstance(n, ast.Name) and n.id in count:
            count[n.id] -= 1
    arguments = {a.arg for a in ast.walk(node) if isinstance(a, ast.arg)}
    return frozenset(used - own - arguments - {name for name in only_noted if not count[name]})


_LEFT_OUT = {"ctx", "annotation", "returns", "decorator_list", "type_comment", "type_params", "kind", "simple"}


def _canonical(node: Any) -> str:
    """Text of a tree without what never enters code, the same with every version of Python."""
    if isinstance(node, list):
        return "[" + ",".join(_canonical(entry) for entry in node if not _is_docstring(entry)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = (f"{name}={_canonical(value)}" for name, value in ast.iter_fields(node) if name not in _LEFT_OUT)
    return f"{type(node).__name__}({','.join(fields)})"


def _is_docstring(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


# What functions refer to -------------------------------------------------------------------------------------------


def _closure(functions: Iterable[Inline], names: Any) -> list[Inline]:
    """The functions and all that they call, directly or not, in a fixed order."""
    waiting, found = list(functions), {}
    while waiting:
        part = waiting.pop()
        if part.name not in found:
            found[part.name] = part
            waiting += [value for _, value in _frozen(part.function, names(part)) if isinstance(value, Inline)]
    return [found[name] for name in sorted(found)]


def _frozen(function: Any, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Names that a function refers to, and what stands there: in its module, or in the function around it.

    Of modules of this package also the attributes that it may refer to, as "module.attribute".
    """
    around = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for name in sorted(names):
        if name in around:
            value = around[name].cell_contents
        elif name in function.__globals__:
            value = function.__globals__[name]
        else:
            continue
        yield name, value
        if _is_ours(value):
            for attribute in sorted(_names_in(function.__code__)):
                if hasattr(value, attribute):
                    yield f"{name}.{attribute}", getattr(value, attribute)


def _is_ours(value: Any) -> bool:
    return isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] == "setsu"


def _describe(value: Any) -> str:
    """Text of a value that compiled code may refer to."""
    if isinstance(value, Inline | Intrinsic):
        return f"<{value.name}>"
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}={value.value!r}"
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, bool | int | str | bytes | complex | type(None)):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"({','.join(_describe(entry) for entry in value)})"
    if isinstance(value, frozenset | set):
        return f"{{{','.join(sorted(_describe(entry) for entry in value))}}}"
    if isinstance(value, np.ndarray | np.generic):
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    if isinstance(value, types.ModuleType):
        return f"<module {value.__name__}>"
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return f"<{value.__name__} {[(member.name, member.value) for member in value]}>"
    if isinstance(value, type) and hasattr(value, "_fields"):
        return f"<{value.__name__} {value._fields}>"
    if isinstance(value, types.FunctionType):
        return f"<{value.__module__}.{value.__qualname__}>"
    return f"<{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}>"
