"""Code specialised for one mechanism: the same functions, constants folded in, a few times faster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from setsu.dynamics.bearings import refuse_bearings
from setsu.dynamics.catalogue import KERNELS, native_function, require_mass, require_mechanism
from setsu.dynamics.configurations import integrate_with, wrapped
from setsu.dynamics.derivatives import ForwardDynamicsDerivatives, InverseDynamicsDerivatives
from setsu.dynamics.frames import FRAME_FUNCTIONS
from setsu.errors import InputError, nearest_names
from setsu.mechanism import Mechanism
from setsu.spatial import listed
from setsu.symbolic import OperationCount

__all__ = ["CompiledFunctions", "compile"]

_RECORDS = {
    "inverse_dynamics_derivatives": InverseDynamicsDerivatives,
    "forward_dynamics_derivatives": ForwardDynamicsDerivatives,
}
_COMPILABLE = tuple(name for name in KERNELS if " " not in name)


class CompiledFunctions:
    """Holds one callable per requested function: same arguments (without the mechanism), same shapes and numbers."""

    def __init__(
        self, mechanism: Mechanism, names: tuple[str, ...], others: Mapping[str, Callable[..., Any]] | None = None
    ) -> None:
        """others: functions made elsewhere, by name."""
        self.mechanism, self.names = mechanism, (*names, *(others or {}))
        for name in names:
            setattr(self, name, _callable(mechanism, name))
        for name, function in (others or {}).items():
            setattr(self, name, function)

    def operations(self, name: str) -> OperationCount:
        """Count the arithmetic operations of one of the functions per state."""
        if name not in self.names:
            raise InputError(f"operations: {name!r} was not compiled{nearest_names(name, self.names)}")
        if name in FRAME_FUNCTIONS:
            raise InputError(f"operations: the number of operations of {name} depends on the frame")
        if name not in _COMPILABLE:
            raise InputError(f"operations: {name} has no fixed number of operations: it depends on the state")
        return _function(self.mechanism, name).trace.operations

    def __getattr__(self, name: str) -> Callable[..., Any]:
        raise AttributeError(f"{name!r} was not compiled{nearest_names(name, self.__dict__.get('names', ()))}")

    def __repr__(self) -> str:
        return f"CompiledFunctions({self.mechanism.name!r}, {', '.join(self.names)})"


def compile(
    mechanism: Mechanism, names: Iterable[str], others: Mapping[str, Callable[..., Any]] | None = None
) -> CompiledFunctions:
    """Return functions of trees compiled for this mechanism; the public `compile` (constraints) adds to `others`.

    Args:
        names: functions of the library by name.
        others: functions made elsewhere that belong to the same record.
    """
    require_mechanism(mechanism, "compile")
    wanted = (names,) if isinstance(names, str) else tuple(listed(names, "compile", "function names"))
    for name in wanted:
        if name not in _COMPILABLE:
            raise InputError(f"compile: no function {name!r}{nearest_names(name, _COMPILABLE)}")
        if name.startswith(("inverse_dynamics", "forward_dynamics")):
            refuse_bearings(mechanism, f"compile {name}")
        if name.startswith("forward_dynamics"):
            require_mass(mechanism, f"compile {name}")
    return CompiledFunctions(mechanism, wanted, others)


def _function(mechanism: Mechanism, name: str) -> Any:
    variant = f"{name} springs" if mechanism.has_force_elements and f"{name} springs" in KERNELS else name
    return native_function(mechanism, variant, specialised=True)


def _callable(mechanism: Mechanism, name: str) -> Callable[..., Any]:
    if name in FRAME_FUNCTIONS:
        return partial(FRAME_FUNCTIONS[name], mechanism)
    function = _function(mechanism, name)
    record = _RECORDS.get(name)
    if record is not None:
        compute = function.fast
        return lambda *args: record(*compute(*args))
    if name == "integrate":
        return lambda q, v, dt: integrate_with(function, q, v, dt)
    if name == "difference":
        steps = function.fast
        return lambda q0, q1, *, shortest=False: wrapped(mechanism, steps(q0, q1)) if shortest else steps(q0, q1)
    return function.fast
