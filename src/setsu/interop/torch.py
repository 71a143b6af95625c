"""PyTorch: functions of the library as a custom operator with exact first derivatives, in double precision.

Two operators on arrays with leading batch axes do all: `setsu::value` (..., results) and `setsu::jacobian`
(..., results, arguments), arguments and results side by side on their last axes. An autograd function around them gives
backward, forward mode and `torch.func`; under `torch.compile` the operators stand in the graph by themselves, with
shapes and a backward formula of their own, so that nothing breaks it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from setsu.errors import InputError
from setsu.interop.differentiable import Differentiable, check_arguments, differentiable, refuse_second
from setsu.mechanism import Mechanism

__all__ = ["function"]

# Operators know their function by its number here: they take tensors and numbers only.
_FUNCTIONS: list[Differentiable] = []


def function(mechanism: Mechanism, name: str, **options: Any) -> Callable[..., Any]:
    """Return a function of the library for PyTorch tensors.

    Args:
        name: "forward_dynamics" (q, v, tau) -> a, "inverse_dynamics" (q, v, a) -> tau, "constrained_dynamics"
            (q, v, tau) -> a under loops and couplings, or "step" (q, v, tau) -> (q, v), one step of a Simulator.
        options: of the function, or of the Simulator. For the first two also `parameters`, names of bodies: their
            inertial parameters (..., 10 n), as in `setsu.inertial_parameters`, become a fourth argument.

    Tensors are on the CPU and may have leading batch axes. Derivatives by q are by its numbers, quaternions included.
    float32 tensors are computed in double precision and returned as float32. `torch.compile`, `torch.func` (vmap, jvp,
    vjp, jacrev, jacfwd) and `torch.autograd.gradcheck` work.

    Raises:
        InputError: PyTorch is missing, an unknown name, tensors of wrong sizes or elsewhere; second derivatives.

    A payload's weight at the hand of an arm, by the gradient of the torques' squares:

        f = setsu.interop.torch.function(arm, "inverse_dynamics")
        (f(q, v, a) ** 2).sum().backward()
    """
    try:
        torch: Any = import_module("torch")
    except ImportError:
        raise InputError("setsu.interop.torch: PyTorch is missing; install it by: pip install setsu[torch]") from None
    f = differentiable(mechanism, name, options)
    operators = _operators()
    number = len(_FUNCTIONS)
    _FUNCTIONS.append(f)

    def wrapped(*tensors: Any) -> Any:
        taken = [tensor if torch.is_tensor(tensor) else torch.as_tensor(tensor) for tensor in tensors]
        check_arguments(f, "torch", [tuple(tensor.shape) for tensor in taken])
        elsewhere = [tensor.device for tensor in taken if tensor.device.type not in ("cpu", "meta")]
        if elsewhere:
            raise InputError(f"interop.torch {f.name}: expected tensors on the CPU, got one on {elsewhere[0]}")
        dtype = taken[0].dtype
        for tensor in taken[1:]:
            dtype = torch.promote_types(dtype, tensor.dtype)
        if not dtype.is_floating_point:
            dtype = torch.get_default_dtype()
        batch = torch.broadcast_shapes(*(tensor.shape[:-1] for tensor in taken))
        joined = torch.cat([tensor.to(dtype).expand(*batch, tensor.shape[-1]) for tensor in taken], dim=-1)
        if torch.compiler.is_compiling():
            found = operators.value(joined, number)
        else:
            found = operators.differentiated.apply(joined, number)
        parts = torch.split(found, list(f.outputs), dim=-1)
        return parts[0] if len(parts) == 1 else tuple(parts)

    wrapped.__name__ = f.name
    wrapped.__doc__ = f"{f.name} for PyTorch tensors, with exact first derivatives."
    return wrapped


class _Operators(NamedTuple):
    """value(arguments, number) as an operator, and the same as an autograd function."""

    value: Any
    differentiated: Any


@cache
def _operators() -> _Operators:
    """Register the operators, once."""
    torch: Any = import_module("torch")

    def as_arrays(tensor: Any, f: Differentiable) -> list[Any]:
        joined = tensor.detach().to(torch.float64).contiguous().numpy()
        return np.split(joined, list(accumulate(f.inputs))[:-1], axis=-1)

    def as_tensor(array: Any, like: Any) -> Any:
        return torch.from_numpy(np.ascontiguousarray(array)).to(like.dtype)

    def compute_value(x, number):  # type: ignore[no-untyped-def]
        f = _FUNCTIONS[number]
        return as_tensor(np.concatenate(f.value(*as_arrays(x, f)), axis=-1), x)

    def compute_jacobian(x, number):  # type: ignore[no-untyped-def]
        f = _FUNCTIONS[number]
        blocks, n = f.jacobians(*as_arrays(x, f)), len(f.inputs)
        rows = [np.concatenate(blocks[k * n : (k + 1) * n], axis=-1) for k in range(len(f.outputs))]
        return as_tensor(np.concatenate(rows, axis=-2), x)

    for compute in (compute_value, compute_jacobian):
        # PyTorch reads the operator's signature from these; the module does not import it for their sake.
        compute.__annotations__ = {"x": torch.Tensor, "number": int, "return": torch.Tensor}
    value = torch.library.custom_op("setsu::value", compute_value, mutates_args=())
    jacobian = torch.library.custom_op("setsu::jacobian", compute_jacobian, mutates_args=())

    @value.register_fake
    def _(x: Any, number: int) -> Any:
        return x.new_empty((*x.shape[:-1], sum(_FUNCTIONS[number].outputs)))

    @jacobian.register_fake
    def _(x: Any, number: int) -> Any:
        f = _FUNCTIONS[number]
        return x.new_empty((*x.shape[:-1], sum(f.outputs), sum(f.inputs)))

    # Functions take any number of batch axes: one more goes to the front.
    value.register_vmap(lambda info, dims, x, number: (value(x.movedim(dims[0], 0), number), 0))
    jacobian.register_vmap(lambda info, dims, x, number: (jacobian(x.movedim(dims[0], 0), number), 0))

    def save(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.number = inputs[1]

    def pulled_back(gradient: Any, J: Any) -> tuple[Any, None]:
        return (gradient.unsqueeze(-2) @ J).squeeze(-2), None

    def second(ctx: Any, *gradients: Any) -> Any:
        raise refuse_second(_FUNCTIONS[ctx.number], "torch")

    value.register_autograd(
        lambda ctx, gradient: pulled_back(gradient, jacobian(*ctx.saved_tensors, ctx.number)), setup_context=save
    )
    jacobian.register_autograd(second, setup_context=save)

    class Jacobian(torch.autograd.Function):
        """The Jacobian, which must not be differentiated itself."""

        generate_vmap_rule = True
        backward = jvp = staticmethod(second)

        @staticmethod
        def forward(x: Any, number: int) -> Any:
            return jacobian(x, number)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
            ctx.number = inputs[1]

    class Value(torch.autograd.Function):
        """The function with products of its Jacobian both ways."""

        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, number: int) -> Any:
            return value(x, number)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
            save(ctx, inputs, output)
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return pulled_back(gradient, Jacobian.apply(*ctx.saved_tensors, ctx.number))

        @staticmethod
        def jvp(ctx: Any, tangent: Any, _: Any) -> Any:
            return (Jacobian.apply(*ctx.saved_tensors, ctx.number) @ tangent.unsqueeze(-1)).squeeze(-1)

    return _Operators(value, Value)
