"""The way from Python into compiled functions: their code is found, or made, when first called.

Code is looked for in memory and in the cache on disk, then among the code that is shipped with the package, which only
LLVM's back end has to be run on. What was edited since then, or has workspaces of another layout, is lowered by Numba
(numba_lowering.py). Either way the bits are the same.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

from setsu.native.code_identity import code_identity
from setsu.native.control_flow import Compiled
from setsu.native.machine_calls import Machine
from setsu.native.notice import notice
from setsu.native.shipped_code import shipped
from setsu.native.signature import RESULTS, Signature, kind_of, results, words_of
from setsu.native.toolchain import NativeModule, load_bitcode

__all__ = ["address_on", "call", "entry", "machine", "requests"]


class _Code(NamedTuple):
    """Keep it as long as the address is in use."""

    address: int
    enter: Any  # by a table of words; None for code that is only called by its address
    module: NativeModule


_FOUND: dict[tuple[Compiled, Signature], _Code] = {}
# What was asked for, in this order: the refresh command ships it.
requests: list[tuple[Compiled, Signature]] = []


def entry(function: Any, *values: Any) -> Callable[[], int]:
    """Return a callable without arguments that runs `function(*values)`, compiled and returning a whole number.

    values: workspaces, or named tuples of them, for good: their addresses are packed once.
    """
    return machine(function, *values).run


def machine(function: Any, *values: Any) -> Machine:
    """Return the same with the way to put a torque in place and run, in one call from Python."""
    code = _find(function, Signature(tuple(map(kind_of, values))))
    table = _table(values)
    return Machine(code.enter, code.address, ctypes.addressof(table), (code, values, table))


def call(function: Compiled, values: tuple[Any, ...]) -> Any:
    """Run a compiled function on arguments of any kind (signature.py)."""
    code = _find(function, Signature(tuple(map(kind_of, values))))
    table = _table(values)
    code.enter(ctypes.addressof(table))
    return results(table)


def address_on(function: Compiled, workspace: Any) -> int:
    """Return the address of `void function(workspace *)`; the code lives as long as the process."""
    return _find(function, Signature((workspace.layout,), by_address=True)).address


def _table(values: tuple[Any, ...]) -> Any:
    words = [*[0] * (1 + RESULTS), *words_of(values)]
    return (ctypes.c_int64 * len(words))(*words)


def _find(function: Compiled, signature: Signature) -> _Code:
    code = _FOUND.get((function, signature))
    if code is None:
        if not isinstance(function, Compiled):
            raise TypeError(f"expected a function marked as compiled, got {function!r}")
        requests.append((function, signature))
        found = shipped(function, signature)
        if found is not None:
            module = load_bitcode(found.key, found.bitcode, found.family)
            address = module.addresses(*found.symbols)[found.place]
        else:
            module = _made_here(function, signature)
            address = module.addresses("enter0")[0]
        way = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)
        code = _FOUND[function, signature] = _Code(address, None if signature.by_address else way, module)
    return code


def _made_here(function: Compiled, signature: Signature) -> NativeModule:
    """What Numba makes of a function, kept under a name that says all that decides it."""

    def make() -> bytes:
        from setsu.native import numba_lanes  # noqa: F401, for functions of lanes
        from setsu.native.bitcode import optimised
        from setsu.native.numba_lowering import lower

        return optimised(lower([(function, signature)]), lambda name: name == "enter0")

    what = function.name.split(".")[1]
    with notice(what):
        return load_bitcode(f"{code_identity(function)} {signature.text}", make, what)
