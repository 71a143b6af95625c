"""Arguments of a native function: as arrays of the right shape, as rows for the drivers, and the errors in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError, nearest_names
from setsu.kernels.program import Array
from setsu.mechanism import Mechanism
from setsu.mechanism.tables import Kind

__all__ = ["LARGEST_COORDINATE", "Arguments"]

Floats = NDArray[np.float64]
_FLOAT64 = np.dtype(np.float64)

# Beyond this the reduction of angles to a quarter turn loses digits; no mechanism gets there.
LARGEST_COORDINATE = 1e9
_LOOKED_AT = 64  # states from the first bad one on: drivers tell it to within a tile


class Arguments:
    """What a function takes: arrays by name with the shape of one state.

    function: name for messages. shapes: of one state, in the order of `arrays`.
    explain: says of coordinates (n, nq) why a result may not be finite, or nothing.
    """

    explain: Callable[[Floats], str] | None = None

    def __init__(
        self, function: str, mechanism: Mechanism, arrays: Sequence[Array], shapes: Sequence[tuple[int, ...]]
    ) -> None:
        self.function, self.mechanism = function, mechanism
        self.arrays, self.shapes = tuple(arrays), tuple(shapes)
        self.sizes = [math.prod(shape) for shape in shapes]

    def in_order(self, given: Sequence[ArrayLike], named: Mapping[str, ArrayLike]) -> tuple[ArrayLike, ...]:
        """Return arguments given by position and by name in order; `external_wrenches` may follow as one more."""
        names = [*(_public(array) for array in self.arrays), "external_wrenches"]
        left = dict(named)
        ordered = list(given)
        for name in names[len(given) :]:
            if name in left:
                ordered.append(left.pop(name))
            elif left:
                break
        for name in left:
            if name in names[: len(given)]:
                raise InputError(f"{self.function}: {name} is given twice, by position and by name")
            known = names[:-1]
            raise InputError(f"{self.function}: unexpected or too early argument {name!r}{nearest_names(name, known)}")
        if ordered and ordered[-1] is None and len(ordered) > len(self.arrays):
            ordered.pop()  # external_wrenches=None
        return tuple(ordered)

    def renamed(self, function: str) -> Arguments:
        """The same arguments of another function, for its messages."""
        return Arguments(function, self.mechanism, self.arrays, self.shapes)

    def require_finite(self, taken: list[Floats], batch: tuple[int, ...]) -> None:
        """Raise an InputError unless all numbers that `take` gave are finite."""
        if not all(np.isfinite(numbers).all() for numbers in taken):
            self.refuse(self.rows(taken, batch), 0, batch)

    def take(self, given: Sequence[ArrayLike]) -> tuple[list[Floats], tuple[int, ...]]:
        """Return the arguments as contiguous float64 arrays and their common leading axes, or raise an InputError."""
        if len(given) != len(self.arrays):
            names = ", ".join(array.name for array in self.arrays)
            raise InputError(f"{self.function}: expected {len(self.arrays)} arrays ({names}), got {len(given)}")
        taken: list[Floats] = []
        leading: list[tuple[int, ...]] = []
        for array, shape, value in zip(self.arrays, self.shapes, given, strict=True):
            numbers = self._numbers(array, value)
            extra = numbers.ndim - len(shape)
            if extra < 0 or numbers.shape[extra:] != shape:
                raise InputError(
                    f"{self.function}: {_public(array)}: expected shape (..., {', '.join(map(str, shape))}) "
                    f"for {self.mechanism.name}, got {numbers.shape}"
                )
            taken.append(numbers)
            leading.append(numbers.shape[:extra])
        batch = leading[0]
        if any(axes != batch for axes in leading):
            try:
                batch = np.broadcast_shapes(*leading)
            except ValueError:
                listed = ", ".join(f"{array.name} {axes}" for array, axes in zip(self.arrays, leading, strict=True))
                raise InputError(
                    f"{self.function}: leading axes do not broadcast against each other: {listed}"
                ) from None
        return taken, batch

    def _numbers(self, array: Array, value: ArrayLike) -> Floats:
        if type(value) is np.ndarray and value.dtype is _FLOAT64 and value.flags.c_contiguous:
            return value
        try:
            given = np.asarray(value)
            # NumPy would read text as numbers and drop imaginary parts.
            if given.dtype.kind in "biufO":
                # ascontiguousarray would give a plain number an axis
                return np.asarray(given, dtype=np.float64, order="C")
        except (TypeError, ValueError, OverflowError):
            pass
        raise InputError(
            f"{self.function}: {_public(array)}: expected real numbers, got {type(value).__name__} {value!r:.80}"
        )

    def rows(self, taken: list[Floats], batch: tuple[int, ...]) -> list[tuple[Floats, int]]:
        """Each argument as contiguous rows with the stride between them; one repeated row has stride 0."""
        rows = []
        for numbers, shape, size in zip(taken, self.shapes, self.sizes, strict=True):
            leading = numbers.shape[: numbers.ndim - len(shape)]
            if leading == batch:
                rows.append((numbers, size if batch else 0))
            elif math.prod(leading) == 1:
                rows.append((numbers, 0))
            else:
                rows.append((np.ascontiguousarray(np.broadcast_to(numbers, (*batch, *shape))), size))
        return rows

    def refuse(self, rows: list[tuple[Floats, int]], first: int, batch: tuple[int, ...]) -> NoReturn:
        """Find the number that stopped the native code at row `first` or after; raise an InputError that names it."""
        for array, shape, (data, stride), size in zip(self.arrays, self.shapes, rows, self.sizes, strict=True):
            values = data.reshape(-1, size) if size else np.zeros((0, 0))
            bad = ~(np.abs(values) < (LARGEST_COORDINATE if array.over == "q" else math.inf))
            if bad.any():
                row, column = (int(number) for number in np.argwhere(bad)[0])
                places = (*(np.unravel_index(row, batch) if stride else ()), *np.unravel_index(column, shape))
                where = [int(place) for place in places]
                value = float(values[row, column])
                expected = f"numbers below {LARGEST_COORDINATE:g}" if math.isfinite(value) else "finite numbers"
                raise InputError(f"{self.function}: {_public(array)}{where} is {value}, expected {expected}")
            if array.over == "q":
                self._refuse_zero_quaternion(array, values)
        reason = ""
        if self.explain is not None:
            q, stride = next(row for array, row in zip(self.arrays, rows, strict=True) if array.over == "q")
            states = q.reshape(-1, self.mechanism.nq)
            reason = self.explain(states[first : first + _LOOKED_AT] if stride else states)
        raise InputError(
            f"{self.function}: {reason}"
            if reason
            else f"{self.function}: the result is not finite from state {first} on: numbers too large for "
            f"{self.mechanism.name}"
        )

    def _refuse_zero_quaternion(self, array: Array, q: Floats) -> None:
        tables = self.mechanism.tables
        for link in np.flatnonzero(tables.kind >= Kind.SPHERICAL):
            stop = int(tables.q_index[link]) + Kind(tables.kind[link]).nq
            if (q[:, stop - 4 : stop] == 0.0).all(axis=1).any():
                joint = self.mechanism.joint_names[int(tables.body[link])]
                raise InputError(
                    f'{self.function}: {array.name}[{stop - 4}:{stop}], the quaternion of joint "{joint}", is all '
                    "zeros; expected x y z w"
                )


def _public(array: Array) -> str:
    """The name a user knows an argument by."""
    return "external_wrenches" if array.name in ("external", "applied") else array.name
