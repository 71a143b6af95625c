"""A kernel as a Python function of one mechanism: checks, batch axes, native code, threads.

Two lives behind one interface: generic loops that read the mechanism's tables, or code specialised for it.
Code is compiled when first needed: for single states and for batches separately.
"""

from __future__ import annotations

import ctypes
import math
import struct
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError
from setsu.kernels.program import Array, Kernel
from setsu.mechanism import Mechanism
from setsu.mechanism.tables import Kind
from setsu.native.builtin import builtin_text, headers_as_expected, make_builtin
from setsu.native.emit import Emitter
from setsu.native.layout import pack, variant, work_entries
from setsu.native.loops import loop_body
from setsu.native.straight import Trace, straight_body, trace
from setsu.native.threads import get_threads, pool
from setsu.native.tiles import DESCRIPTION_WIDTH, batch_driver, single_driver, tile_width
from setsu.native.toolchain import lanes, load_native

__all__ = ["LARGEST_ANGLE", "NativeFunction"]

Floats = NDArray[np.float64]

# Beyond this the reduction of angles to a quarter turn loses digits; no mechanism gets there.
LARGEST_ANGLE = 1e9
# A batch is split over threads when it holds at least this many numbers per thread: less is not worth waking one.
_NUMBERS_PER_THREAD = 8000

_SINGLE = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4)
_BATCH = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, ctypes.c_int64, ctypes.c_int64)


class NativeFunction:
    """Callable on arrays with any leading axes; returns one array, or a tuple when the kernel has several outputs.

    name: for messages. shapes: public shape of each argument and result by array name, where it is not flat.
    target: body whose path the kernel walks (Jacobians).
    """

    def __init__(
        self,
        kernel: Kernel,
        mechanism: Mechanism,
        *,
        name: str,
        shapes: dict[str, tuple[int, ...]] | None = None,
        specialised: bool = False,
        target: int = -1,
    ) -> None:
        self.kernel, self.mechanism, self.name = kernel, mechanism, name
        self.specialised, self.target = specialised, target
        self.tables = mechanism.tables
        sizes = [a.size(mechanism.nq, mechanism.nv, mechanism.n_bodies) for a in (*kernel.inputs, *kernel.outputs)]
        self._sizes = sizes
        self._n_inputs = len(kernel.inputs)
        given = shapes or {}
        self._shapes = [
            given.get(a.name, (size,)) for a, size in zip((*kernel.inputs, *kernel.outputs), sizes, strict=True)
        ]
        self._ints, self._floats = pack(kernel, self.tables, target)
        self._local = threading.local()

    # Native code, made when first used ------------------------------------------------------------------------

    @cached_property
    def trace(self) -> Trace:
        """The kernel run on symbols for this mechanism."""
        return trace(self.kernel, self.tables, self.mechanism.nq, target=self.target)

    def _body(self, width: int) -> str:
        if self.specialised:
            return straight_body(self.kernel, self.trace, width, "body")
        return loop_body(self.kernel, variant(self.tables), width, "body")

    def _key(self, width: int) -> str:
        made_for = f"{self.mechanism.digest} {self.target}" if self.specialised else repr(variant(self.tables))
        return f"{self.kernel.name} {width} {made_for}"

    def _load(self, width: int, drivers: Callable[[], str], names: Sequence[str]) -> tuple[Any, list[int]]:
        def make() -> str:
            emit = Emitter(width)
            return "\n".join([emit.declarations(), self._body(width), drivers()])

        # Straight-line code is left as traced: LLVM's middle-end would only repeat what the graph has done.
        module = load_native(self._key(width), make, optimise=1 if self.specialised else 2, passes=not self.specialised)
        return module, module.addresses(*names)

    @cached_property
    def _single_code(self) -> tuple[Any, list[int]]:
        n_in, n_out = self._n_inputs, len(self._sizes) - self._n_inputs

        def drivers() -> str:
            return single_driver(n_in, n_out, "body") + "\n" + builtin_text(n_in)

        return self._load(1, drivers, ["single", "python_call"])

    @cached_property
    def _batch_code(self) -> tuple[Any, Any]:
        n_in, n_out = self._n_inputs, len(self._sizes) - self._n_inputs
        module, (address,) = self._load(lanes(), lambda: batch_driver(n_in, n_out, "body", lanes()), ["batch"])
        return module, _BATCH(address)

    @cached_property
    def _single_call(self) -> Any:
        return _SINGLE(self._single_code[1][0])

    @cached_property
    def fast(self) -> Callable[..., Any]:
        """The quickest callable for single states; everything else passes through to this function."""
        vectors = all(len(shape) == 1 for shape in self._shapes[: self._n_inputs])
        one_array = len(self._sizes) - self._n_inputs == 1 and self._shapes[-1] != ()
        if not (vectors and one_array and headers_as_expected()):
            return self
        module, addresses = self._single_code
        tables = (self._ints, self._floats, self._new_work(1))
        return make_builtin(
            addresses[1], self.name, self, self._descriptions(1), tables, self._shapes[-1], (module, self)
        )

    # Running -----------------------------------------------------------------------------------------------------

    def _new_work(self, width: int) -> Floats:
        """Scratch space and, for batches, tiles, aligned to a cache line."""
        entries = 0 if self.specialised else work_entries(self.kernel, self.tables)
        if width > 1:
            entries = sum(tile_width(size, width) for size in self._sizes) + entries
        raw = np.zeros(entries * width + 8)
        skip = (-raw.ctypes.data % 64) // 8
        return raw[skip : skip + entries * width + (1 if entries == 0 else 0)]

    def _work(self, width: int) -> Floats:
        """This thread's scratch space."""
        kept = self._local.__dict__
        if width not in kept:
            kept[width] = self._new_work(width)
        return kept[width]

    def _descriptions(self, width: int) -> NDArray[np.int64]:
        """Descriptions of all arrays (see tiles.py), pointers and strides left open."""
        table = np.zeros((len(self._sizes), DESCRIPTION_WIDTH), dtype=np.int64)
        offset = 0 if self.specialised else work_entries(self.kernel, self.tables) * width
        arrays: tuple[Array, ...] = (*self.kernel.inputs, *self.kernel.outputs)
        for k, (row, array, size) in enumerate(zip(table, arrays, self._sizes, strict=True)):
            limit = LARGEST_ANGLE if array.over == "q" and k < self._n_inputs else math.inf
            row[2:] = size, offset, struct.unpack("<q", struct.pack("<d", limit))[0]
            offset += tile_width(size, width) * width
        return table

    def __call__(self, *args: ArrayLike) -> Any:
        """Run on arrays with leading axes that broadcast against each other."""
        arrays = self.check(args)
        batch = np.broadcast_shapes(*(a.shape[: a.ndim - len(s)] for a, s in zip(arrays, self._shapes, strict=False)))
        rows = math.prod(batch)
        results = [np.empty((*batch, *shape)) for shape in self._shapes[self._n_inputs :]]
        if rows:
            self._run(self._rows(arrays, batch), results, rows, batch)
        # [()] turns an array without axes into a plain number and leaves others as they are.
        return results[0][()] if len(results) == 1 else tuple(results)

    def check(self, args: Sequence[ArrayLike]) -> list[Floats]:
        """Return the arguments as float64 arrays of the right last axes, or raise an InputError."""
        names = [array.name for array in self.kernel.inputs]
        if len(args) != len(names):
            raise InputError(f"{self.name}: expected {len(names)} arrays ({', '.join(names)}), got {len(args)}")
        arrays = []
        for name, shape, value in zip(names, self._shapes, args, strict=False):
            try:
                array = (
                    np.ascontiguousarray(value, dtype=np.float64) if np.ndim(value) else np.asarray(value, np.float64)
                )
            except (TypeError, ValueError):
                raise InputError(
                    f"{self.name}: {name}: expected numbers, got {type(value).__name__} {value!r:.80}"
                ) from None
            if array.shape[array.ndim - len(shape) :] != shape or array.ndim < len(shape):
                expected = "(..., " + ", ".join(map(str, shape)) + ")"
                raise InputError(
                    f"{self.name}: {name}: expected shape {expected} for {self.mechanism.name}, got {array.shape}"
                )
            arrays.append(array)
        try:
            np.broadcast_shapes(*(a.shape[: a.ndim - len(s)] for a, s in zip(arrays, self._shapes, strict=False)))
        except ValueError:
            leading = ", ".join(
                f"{n} {a.shape[: a.ndim - len(s)]}" for n, a, s in zip(names, arrays, self._shapes, strict=False)
            )
            raise InputError(f"{self.name}: leading axes do not broadcast against each other: {leading}") from None
        return arrays

    def _rows(self, arrays: list[Floats], batch: tuple[int, ...]) -> list[tuple[Floats, int]]:
        """Each argument as contiguous rows with the stride between them; one repeated row has stride 0."""
        rows = []
        for array, shape, size in zip(arrays, self._shapes, self._sizes, strict=False):
            leading = array.shape[: array.ndim - len(shape)]
            if math.prod(leading) == 1:
                rows.append((array, 0))
            elif leading == batch:
                rows.append((array, size))
            else:
                rows.append((np.ascontiguousarray(np.broadcast_to(array, (*batch, *shape))), size))
        return rows

    def _run(self, rows: list[tuple[Floats, int]], results: list[Floats], count: int, batch: tuple[int, ...]) -> None:
        if count == 1:
            descriptions = self._describe(rows, results, 1)
            work = self._work(1)
            status = self._single_call(
                self._ints.ctypes.data, self._floats.ctypes.data, work.ctypes.data, descriptions.ctypes.data
            )
            if status:
                self._refuse(rows, results, 0, batch, is_result=status == 2)
            return
        width = lanes()
        descriptions = self._describe(rows, results, width)
        code = self._batch_code[1]

        def work_on(start: int, stop: int) -> int:
            return code(
                self._ints.ctypes.data,
                self._floats.ctypes.data,
                self._work(width).ctypes.data,
                descriptions.ctypes.data,
                start,
                stop,
            )

        threads = min(get_threads(), count * sum(self._sizes) // _NUMBERS_PER_THREAD, -(-count // width))
        if threads <= 1:
            statuses = [work_on(0, count)]
        else:
            tiles = -(-count // width)
            cuts = [min(count, tiles * k // threads * width) for k in range(threads + 1)]
            waiting = [pool(threads - 1).submit(work_on, a, b) for a, b in zip(cuts[1:-1], cuts[2:], strict=True)]
            statuses = [work_on(cuts[0], cuts[1]), *(future.result() for future in waiting)]
        bad = min((status for status in statuses if status >= 0), default=-1)
        if bad >= 0:
            self._refuse(rows, results, bad // 2, batch, is_result=bad % 2 == 1)

    def _describe(self, rows: list[tuple[Floats, int]], results: list[Floats], width: int) -> NDArray[np.int64]:
        descriptions = self._descriptions(width)
        for row, (array, stride) in zip(descriptions, rows, strict=False):
            row[0], row[1] = array.ctypes.data, stride
        for row, result, size in zip(
            descriptions[self._n_inputs :], results, self._sizes[self._n_inputs :], strict=True
        ):
            row[0], row[1] = result.ctypes.data, size
        return descriptions

    def _refuse(
        self,
        rows: list[tuple[Floats, int]],
        results: list[Floats],
        first: int,
        batch: tuple[int, ...],
        *,
        is_result: bool,
    ) -> None:
        """Find the number that stopped the native code and raise an InputError that names it."""
        for array, (data, stride), size in zip(self.kernel.inputs, rows, self._sizes, strict=False):
            values = data.reshape(-1, size) if size else np.zeros((0, 0))
            limit = LARGEST_ANGLE if array.over == "q" else math.inf
            bad = ~(np.abs(values) < limit)
            if bad.any():
                row, column = np.argwhere(bad)[0].tolist()
                where = (
                    f"[{column}]"
                    if not stride
                    else str([*np.unravel_index(row, batch), column]).replace("np.int64", "")
                )
                value = float(values[row, column])
                expected = "finite numbers" if not math.isfinite(value) else f"coordinates below {LARGEST_ANGLE:g}"
                raise InputError(f"{self.name}: {array.name}{_plain(where)} is {value}, expected {expected}")
            if array.over == "q":
                self._refuse_zero_quaternion(values)
        raise InputError(
            f"{self.name}: the result is not finite from state {first} on: numbers too large, or a joint of "
            f"{self.mechanism.name} that moves no mass (give it inertia or armature)"
        )

    def _refuse_zero_quaternion(self, q: Floats) -> None:
        for link in np.flatnonzero(self.tables.kind >= Kind.SPHERICAL):
            stop = int(self.tables.q_index[link]) + Kind(self.tables.kind[link]).nq
            if (q[:, stop - 4 : stop] == 0.0).all(axis=1).any():
                joint = self.mechanism.joint_names[int(self.tables.body[link])]
                raise InputError(
                    f'{self.name}: q[{stop - 4}:{stop}], the quaternion of joint "{joint}", is all zeros; expected x y z w'
                )


def _plain(where: str) -> str:
    return where.replace("(", "").replace(")", "")
