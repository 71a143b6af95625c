"""A user's function run once on symbols: what it computes becomes a graph, and code without Python.

Numbers stand for scalars, arrays of them are `Symbols`. They take part in Python's and NumPy's arithmetic. What depends
on the value of a symbol in any other way (a branch, `float`, an array of plain numbers that is to hold one) raises
`Untraceable`, which says what it was.

    x = Number(graph.input("x"))
    where(x < 0.5, 2.0 * x, np.sqrt(x))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from setsu.symbolic.graph import Expression, Scalar

__all__ = ["Condition", "Number", "Symbols", "Untraceable", "holds_symbols", "scalars", "symbols", "where"]


class Untraceable(Exception):  # noqa: N818  (a signal; users see a warning)
    """A function does what cannot be written down as one sequence of operations."""


class Number:
    """A symbol or a plain number, with Python's arithmetic."""

    __slots__ = ("value",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Scalar) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Number({self.value!r})"

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        try:
            return Number(operation(self.value, _scalar(other)))
        except TypeError:
            return NotImplemented

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a + b)

    def __radd__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b + a)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b * a)

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a / b)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b / a)

    def __neg__(self) -> Number:
        return Number(-self.value)

    def __pos__(self) -> Number:
        return self

    def __pow__(self, power: Any) -> Any:
        if power == 0.5:
            return self.sqrt()
        if not isinstance(power, int | np.integer) and not (isinstance(power, float) and power.is_integer()):
            raise Untraceable(f"it takes a power of {power!r}; powers are whole numbers or 0.5")
        result: Scalar = 1.0
        for _ in range(abs(int(power))):
            result = result * self.value
        return Number(result if power >= 0 else 1.0 / result)

    def __abs__(self) -> Number:
        return Number(_select(self.value, -self.value, self.value))

    def sqrt(self) -> Number:
        """The square root."""
        return Number(self.value.sqrt() if isinstance(self.value, Expression) else float(np.sqrt(self.value)))

    def sin(self) -> Number:
        """The sine."""
        return Number(self._cos_sin()[1])

    def cos(self) -> Number:
        """The cosine."""
        return Number(self._cos_sin()[0])

    def tan(self) -> Number:
        """The tangent."""
        cosine, sine = self._cos_sin()
        return Number(sine / cosine)

    def _cos_sin(self) -> tuple[Any, Any]:
        if isinstance(self.value, Expression):
            return self.value.cos_sin()
        return float(np.cos(self.value)), float(np.sin(self.value))

    def clip(self, low: Any, high: Any, out: Any = None) -> Any:
        """The number within limits, as np.clip asks for it."""
        return _smaller(_larger(self, low), high)

    def conjugate(self) -> Number:
        """Itself: numbers are real."""
        return self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _apply(ufunc, method, inputs, **options)

    # Comparisons are conditions for `where`; a < b is a - b < 0.
    def __lt__(self, other: Any) -> Condition:
        return Condition(lambda yes, no: _select(self.value - _scalar(other), yes, no))

    def __gt__(self, other: Any) -> Condition:
        return Condition(lambda yes, no: _select(_scalar(other) - self.value, yes, no))

    def __le__(self, other: Any) -> Condition:
        return ~(self > other)

    def __ge__(self, other: Any) -> Condition:
        return ~(self < other)

    def __eq__(self, other: object) -> Any:
        raise Untraceable("it asks whether a value equals another one")

    __ne__ = __eq__

    def _refuse(self, *_: Any) -> NoReturn:
        raise Untraceable("it needs the value of t, q or v as a plain number (float, int, math, a table, an index)")

    __float__ = __int__ = __index__ = __complex__ = __round__ = __floor__ = __ceil__ = __floordiv__ = __mod__ = _refuse

    def __bool__(self) -> bool:
        raise Untraceable("it branches on a value; setsu.control.where chooses without a branch")


class Condition:
    """A comparison; `choose(yes, no)` is the value it selects. Joined by & and |, reversed by ~."""

    __slots__ = ("choose",)

    def __init__(self, choose: Callable[[Any, Any], Any]) -> None:
        self.choose = choose

    def __and__(self, other: Any) -> Condition:
        return Condition(lambda yes, no: self.choose(_choose(other, yes, no), no))

    def __or__(self, other: Any) -> Condition:
        return Condition(lambda yes, no: self.choose(yes, _choose(other, yes, no)))

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Condition:
        return Condition(lambda yes, no: self.choose(no, yes))

    def __bool__(self) -> bool:
        raise Untraceable("it branches on a comparison; setsu.control.where chooses without a branch")


class Symbols(np.ndarray):
    """An array of numbers; comparisons of it are arrays of conditions."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _apply(ufunc, method, inputs, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.where and len(args) == 3:
            return where(*args)
        return _wrapped(super().__array_function__(function, types, args, kwargs))


def _apply(ufunc: Any, method: str, inputs: Sequence[Any], out: Any = None, **options: Any) -> Any:
    """One of NumPy's functions on arrays of numbers."""
    plain = [_plain(value) for value in inputs]
    if method == "__call__" and ufunc in _COMPARISONS:
        return _wrapped(ufunc(*plain, dtype=object))
    if method == "__call__" and ufunc.__name__ in _ELEMENTWISE:
        result = _ELEMENTWISE[ufunc.__name__](*plain)
    else:
        result = getattr(ufunc, method)(*plain, **options)
    if out is not None:
        _plain(out[0])[...] = result
        return out[0]
    return _wrapped(result)


def where(condition: Any, yes: Any, no: Any) -> Any:
    """Return `yes` where a condition holds, else `no`; entry by entry for arrays. Conditions join by & | and ~.

    Inside a law it chooses without a branch, so that the law runs without Python; of plain numbers it is np.where.

    >>> float(where(0.2 < 0.5, 1.0, 2.0))
    1.0
    """
    parts = [np.asarray(part, dtype=object) if _symbolic(part) else np.asarray(part) for part in (condition, yes, no)]
    if all(part.dtype != object for part in parts):
        return np.where(*parts)[()]
    return _wrapped(_WHERE(*parts))


def symbols(values: Sequence[Scalar], shape: tuple[int, ...]) -> Symbols:
    """Return expressions and constants as an array of this shape."""
    array = np.empty(len(values), dtype=object)
    array[:] = [Number(value) for value in values]
    return array.reshape(shape).view(Symbols)


def holds_symbols(value: Any) -> bool:
    """Return whether an argument of a function is or holds symbols."""
    return isinstance(value, Number | Symbols) or (isinstance(value, np.ndarray) and value.dtype == object)


def scalars(value: Any) -> tuple[list[Scalar], tuple[int, ...]]:
    """Return the entries of symbols or numbers as expressions and floats, and the shape."""
    array = np.asarray(value, dtype=object)
    return [_scalar(entry) for entry in array.ravel()], array.shape


def _scalar(value: Any) -> Any:
    if isinstance(value, Number):
        return value.value
    if isinstance(value, bool | int | float | np.number | np.bool_):
        return float(value)
    raise TypeError(f"a {type(value).__name__} is no number")


def _select(test: Any, negative: Any, otherwise: Any) -> Any:
    """`negative` where test < 0; any of the three may be a constant."""
    if isinstance(test, Expression):
        return test.select_negative(negative, otherwise)
    return negative if test < 0 else otherwise


def _choose(condition: Any, yes: Any, no: Any) -> Any:
    if isinstance(condition, Condition):
        return condition.choose(yes, no)
    return yes if condition else no


def _plain(value: Any) -> Any:
    if isinstance(value, Number):
        holder = np.empty((), dtype=object)
        holder[()] = value
        return holder
    return value.view(np.ndarray) if isinstance(value, Symbols) else value


def _wrapped(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype == object:
        return value.view(Symbols) if value.ndim else value[()]
    return value


def _symbolic(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_symbolic, value))
    return isinstance(value, Number | Condition | Symbols) or (isinstance(value, np.ndarray) and value.dtype == object)


def _chosen(condition: Any, yes: Any, no: Any) -> Any:
    return Number(_choose(condition, _scalar(yes), _scalar(no)))


def _smaller(a: Any, b: Any) -> Any:
    return _chosen(_number(a) < b, a, b)


def _larger(a: Any, b: Any) -> Any:
    return _chosen(_number(a) < b, b, a)


def _sign(a: Any) -> Any:
    return _chosen(_number(a) < 0, -1.0, _chosen(_number(a) > 0, 1.0, 0.0))


def _number(value: Any) -> Number:
    return value if isinstance(value, Number) else Number(_scalar(value))


_COMPARISONS = (np.less, np.less_equal, np.greater, np.greater_equal)
_WHERE = np.frompyfunc(_chosen, 3, 1)
_ELEMENTWISE: dict[str, Callable[..., NDArray[Any]]] = {
    "minimum": np.frompyfunc(_smaller, 2, 1),
    "maximum": np.frompyfunc(_larger, 2, 1),
    "clip": np.frompyfunc(lambda a, low, high: _smaller(_larger(a, low), high), 3, 1),
    "sign": np.frompyfunc(_sign, 1, 1),
    "square": np.frompyfunc(lambda a: a * a, 1, 1),
    "absolute": np.frompyfunc(abs, 1, 1),
}
