"""Functions whose course depends on numbers (solvers, time loops), compiled by Numba and calling our native kernels.

`jit` and `inline` only mark a function: its code is found, or made, when Python first calls it (compiled_code.py).
Shipped code needs no Numba; only functions that were edited are lowered by it (numba_lowering.py).
`run_bound` calls a kernel that was bound to fixed arrays (NativeFunction.bind) from inside such code, by address.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = [
    "Compiled",
    "Inline",
    "Intrinsic",
    "code_address",
    "inline",
    "jit",
    "run_bound",
    "run_code",
    "run_on_workspace",
]

Function = TypeVar("Function", bound=Callable[..., Any])


class Inline:
    """A function that only compiled ones call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function

    @property
    def name(self) -> str:
        """Module and name."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    def __call__(self, *args: Any) -> Any:
        """Compiled code calls it; Python cannot."""
        raise TypeError(f"{self.name} can be called by compiled functions only")


class Compiled(Inline):
    """A function with a way in from Python: numbers, contiguous arrays, workspaces and named tuples of them."""

    def __call__(self, *args: Any) -> Any:
        """Run the compiled code; the interpreter lock is released."""
        from setsu.native.compiled_code import call

        return call(self, args)


class Intrinsic:
    """Something that compiled code can do and Python cannot."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any) -> Any:
        """Compiled code calls it; Python cannot."""
        raise TypeError(f"{self.name} can be called by compiled functions only")


def jit(function: Function) -> Function:
    """Compile a function of scalars and arrays when first called from Python; it may not make arrays itself.

    Divisions by zero give inf or NaN as in NumPy. Every operation is rounded by itself and nothing is reordered: the
    same bits on every processor, as long as it calls no function of the C library (`compiled_elementary` has ours).
    """
    return Compiled(function)  # type: ignore[return-value]


def inline(function: Function) -> Function:
    """The same for a function that only compiled ones call: without the way in from Python, optimised as part of them.

    It has no code of its own and may not be called from Python.
    """
    return Inline(function)  # type: ignore[return-value]


def code_address(function: Any, workspace: Any) -> int:
    """Return the address of a compiled function of one workspace, for `run_on_workspace`.

    Code that calls it this way is neither compiled together with it nor compiled again when it changes.
    """
    from setsu.native.compiled_code import address_on

    return address_on(function, workspace)


# Known to type checkers as what compiled code sees.
# run_bound: -1, or the number of the bad row (in batches: of the first row of its tile) times two, plus one if the
# result is not finite. The kernel reads and writes the arrays it was bound to.
run_bound: Callable[[Any], int] = Intrinsic("run_bound")
# `void code(double *inputs, double *outputs)` at an address (expression_code) on two float64 arrays.
run_code: Callable[[int, Any, Any], None] = Intrinsic("run_code")
# What `code_address` compiled, on a workspace.
run_on_workspace: Callable[[int, Any], None] = Intrinsic("run_on_workspace")
