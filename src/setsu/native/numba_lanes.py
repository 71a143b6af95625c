"""Lanes for Numba: a type that is a vector of LLVM, its arithmetic, loads and stores (lanes.py)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.imputils import lower_builtin
from numba.core.typing import templates
from numba.core.typing.templates import ConcreteTemplate, infer, make_intrinsic_template, signature
from numba.core.typing.typeof import typeof_impl

from setsu.native.lanes import (
    LANES,
    LaneIntrinsic,
    gather,
    lane,
    load,
    load_at,
    load_from,
    root,
    spread,
    store,
    store_at,
    store_from,
    total,
    transposed,
)

__all__ = ["LanesType", "as_intrinsic"]

# Numba's own annotations do not know that it can be called.
_infer_global: Any = templates.infer_global
_WORD, _NUMBER = ir.IntType(64), ir.DoubleType()
_VECTOR = ir.VectorType(_NUMBER, LANES)


class LanesType(types.Type):
    """Numba's type of lanes."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes{LANES}")


_LANES = LanesType()


@register_default(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _arithmetic(symbol: Any, instruction: str) -> None:
    @_infer_global(symbol)
    class _Typed(ConcreteTemplate):
        cases = (signature(_LANES, _LANES, _LANES),)

    @lower_builtin(symbol, LanesType, LanesType)
    def _lowered(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args)


for _symbol, _instruction in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
    _arithmetic(getattr(operator, _symbol), _instruction)
    _arithmetic(getattr(operator, f"i{_symbol}"), _instruction)


@_infer_global(operator.neg)
class _Negative(ConcreteTemplate):
    cases = (signature(_LANES, _LANES),)


@lower_builtin(operator.neg, LanesType)
def _negative(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    return builder.fsub(ir.Constant(_VECTOR, [-0.0] * LANES), args[0])


# Loads and stores ----------------------------------------------------------------------------------------------------


def _array(context: Any, builder: Any, kind: Any, value: Any) -> tuple[Any, list[Any]]:
    """Pointer to the numbers of an array, and its lengths."""
    proxy = cgutils.create_struct_proxy(kind)(context, builder, value=value)
    return proxy.data, cgutils.unpack_tuple(builder, proxy.shape, kind.ndim)


def _place(context: Any, builder: Any, kinds: Any, args: Any, axes: int) -> Any:
    """Pointer to the lanes at the indices that follow an array."""
    data, shape = _array(context, builder, kinds[0], args[0])
    number = args[1]
    for axis in range(1, axes):
        number = builder.add(builder.mul(number, shape[axis]), args[1 + axis])
    first = builder.gep(data, [builder.mul(number, _WORD(LANES))])
    return builder.bitcast(first, _VECTOR.as_pointer())


def _loading(axes: int) -> Callable[..., Any]:
    def generate(context: Any, builder: Any, made: Any, args: Any) -> Any:
        return builder.load(_place(context, builder, made.args, args, axes), align=8)

    return generate


def _storing(axes: int) -> Callable[..., Any]:
    def generate(context: Any, builder: Any, made: Any, args: Any) -> Any:
        builder.store(args[-1], _place(context, builder, made.args, args, axes), align=8)
        return context.get_dummy_value()

    return generate


def _load(typing_context, array, i):
    return _LANES(array, types.int64), _loading(1)


def _load_at(typing_context, array, i, j):
    return _LANES(array, types.int64, types.int64), _loading(2)


def _store(typing_context, array, i, x):
    return types.void(array, types.int64, _LANES), _storing(1)


def _store_at(typing_context, array, i, j, x):
    return types.void(array, types.int64, types.int64, _LANES), _storing(2)


def _from(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    data, _ = _array(context, builder, kinds[0], args[0])
    return builder.bitcast(builder.gep(data, [args[1]]), _VECTOR.as_pointer())


def _load_from(typing_context, array, k):
    def generate(context: Any, builder: Any, made: Any, args: Any) -> Any:
        return builder.load(_from(context, builder, made.args, args), align=8)

    return _LANES(array, types.int64), generate


def _store_from(typing_context, array, k, x):
    def generate(context: Any, builder: Any, made: Any, args: Any) -> Any:
        builder.store(args[2], _from(context, builder, made.args, args), align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, _LANES), generate


def _gather(typing_context, array, k):
    def generate(context: Any, builder: Any, made: Any, args: Any) -> Any:
        data, shape = _array(context, builder, made.args[0], args[0])
        result = ir.Constant(_VECTOR, ir.Undefined)
        place = args[1]
        for k in range(LANES):
            number = builder.load(builder.gep(data, [place]))
            result = builder.insert_element(result, number, ir.IntType(32)(k))
            place = builder.add(place, shape[1])
        return result

    return _LANES(array, types.int64), generate


def _spread(typing_context, x):
    def generate(context: Any, builder: Any, made: Any, args: Any) -> Any:
        start = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), args[0], ir.IntType(32)(0))
        same = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(start, ir.Constant(_VECTOR, ir.Undefined), same)

    return _LANES(types.float64), generate


def _root(typing_context, x):
    def generate(context: Any, builder: Any, made: Any, args: Any) -> Any:
        name = f"llvm.sqrt.v{LANES}f64"
        kind = ir.FunctionType(_VECTOR, [_VECTOR])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

    return _LANES(_LANES), generate


def _lane(typing_context, x, k):
    def generate(context: Any, builder: Any, made: Any, args: Any) -> Any:
        return builder.extract_element(args[0], args[1])

    return types.float64(_LANES, types.int64), generate


def _total(typing_context, x):
    def generate(context: Any, builder: Any, made: Any, args: Any) -> Any:
        numbers = [builder.extract_element(args[0], ir.IntType(32)(k)) for k in range(LANES)]
        while len(numbers) > 1:
            numbers = [builder.fadd(a, b) for a, b in zip(numbers[::2], numbers[1::2], strict=True)]
        return numbers[0]

    return types.float64(_LANES), generate


def _transposed(typing_context, a, b, c, d):
    def generate(context: Any, builder: Any, made: Any, args: Any) -> Any:
        def mixed(x: Any, y: Any, *places: int) -> Any:
            return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(ir.IntType(32), LANES), places))

        even = [mixed(x, y, 0, 4, 2, 6) for x, y in (args[:2], args[2:])]  # a0 b0 a2 b2, c0 d0 c2 d2
        odd = [mixed(x, y, 1, 5, 3, 7) for x, y in (args[:2], args[2:])]
        found = [mixed(*pair, *places) for places in ((0, 1, 4, 5), (2, 3, 6, 7)) for pair in (even, odd)]
        return context.make_tuple(builder, made.return_type, found)

    return types.UniTuple(_LANES, LANES)(_LANES, _LANES, _LANES, _LANES), generate


def as_intrinsic(marker: Any, define: Callable[..., Any]) -> Any:
    """What Numba calls where compiled code names the marker."""
    template = make_intrinsic_template(marker, define, marker.name, prefer_literal=False, kwargs={})
    infer(template)
    return types.Function(template)


_INTRINSICS = {
    marker: as_intrinsic(marker, define)
    for marker, define in (
        (load, _load), (load_at, _load_at), (store, _store), (store_at, _store_at),
        (load_from, _load_from), (store_from, _store_from), (gather, _gather), (spread, _spread), (root, _root),
        (lane, _lane), (total, _total), (transposed, _transposed),
    )
}  # fmt: skip


@typeof_impl.register(LaneIntrinsic)
def _type_of_intrinsic(marker: Any, context: Any) -> Any:
    return _INTRINSICS[marker]
