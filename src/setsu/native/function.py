"""A kernel as a Python function of one mechanism: native code, batches, threads.

Three lives behind one interface: generic loops that read the mechanism's tables, these loops unrolled for it with the
same bits, or code specialised for it.
Code is compiled when first needed: for single states and for batches separately.
"""

from __future__ import annotations

import ctypes
import math
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.kernels import interpreter
from setsu.kernels.program import Kernel
from setsu.mechanism import Mechanism
from setsu.native.arguments import LARGEST_COORDINATE, Arguments
from setsu.native.builtin import Builtin, address_of, builtin_text, headers_as_expected
from setsu.native.emit import Emitter
from setsu.native.layout import pack, variant, work_entries
from setsu.native.loops import loop_body
from setsu.native.specialised import Trace, specialised_body, trace
from setsu.native.threads import get_threads, pool
from setsu.native.tiles import DESCRIPTION_WIDTH, batch_driver, rows_driver, tile_width
from setsu.native.toolchain import lanes, load_native
from setsu.native.unrolled import unrolled_body
from setsu.symbolic.tracing import Untraceable, scalars, symbols

__all__ = ["BoundCall", "NativeFunction"]

Floats = NDArray[np.float64]

# The scratch space of a tile should stay in a core's second-level cache: fewer lanes for very large mechanisms.
_SCRATCH_BYTES = 3 << 19
# A batch is split over threads when it holds at least this many numbers per thread: less is not worth waking one.
_NUMBERS_PER_THREAD = 20000

_ROWS = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, ctypes.c_int64)
_BATCH = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, ctypes.c_int64, ctypes.c_int64)


@dataclass(frozen=True)
class BoundCall:
    """A native function tied to its arrays; keep it as long as its handle is in use.

    handle: address of the code, of its tables, work space and array descriptions, number of states, whether in tiles.
    """

    handle: NDArray[np.int64]
    kept: tuple[Any, ...]


class NativeFunction:
    """Callable on arrays with any leading axes; returns one array, or a tuple when the kernel has several outputs.

    name: for messages. shapes: public shape of each argument and result by array name, where it is not flat.
    target: body whose path the kernel walks (Jacobians). with_wrenches: gives the function that takes external wrenches
    as one more argument.
    """

    def __init__(
        self,
        kernel: Kernel,
        mechanism: Mechanism,
        *,
        name: str,
        shapes: dict[str, tuple[int, ...]] | None = None,
        specialised: bool = False,
        unrolled: bool = False,
        target: int = -1,
        with_wrenches: Callable[[], Callable[..., Any]] | None = None,
    ) -> None:
        self.kernel, self.mechanism, self.name = kernel, mechanism, name
        self.specialised, self.target, self.with_wrenches = specialised, target, with_wrenches
        self._unrolled, self._straight = unrolled, specialised or unrolled
        self.tables = mechanism.tables
        given = shapes or {}
        sizes = {
            a.name: a.size(mechanism.nq, mechanism.nv, mechanism.n_bodies, len(mechanism.loops)) for a in self._arrays
        }
        self._sizes = list(sizes.values())
        self.arguments = Arguments(
            name, mechanism, kernel.inputs, [given.get(a.name, (sizes[a.name],)) for a in kernel.inputs]
        )
        self._result_shapes = [given.get(a.name, (sizes[a.name],)) for a in kernel.outputs]
        self._ints, self._floats = pack(kernel, self.tables, target)
        self._scratch = 0 if self._straight else work_entries(kernel, self.tables)
        self._table_addresses = (address_of(self._ints), address_of(self._floats))
        self._templates: dict[int, Any] = {}
        self._local = threading.local()

    @property
    def _arrays(self) -> tuple:
        return (*self.kernel.inputs, *self.kernel.outputs)

    @cached_property
    def _lanes(self) -> int:
        """States per tile; the results do not depend on it."""
        width = lanes()
        while width > 4 and (self._scratch + sum(self._sizes)) * width * 8 > _SCRATCH_BYTES and not self._straight:
            width //= 2
        return width

    @property
    def _limited(self) -> list[bool]:
        """Inputs whose numbers must stay below LARGEST_COORDINATE."""
        return [array.over == "q" for array in self.kernel.inputs]

    # Native code, made when first used ------------------------------------------------------------------------

    @cached_property
    def trace(self) -> Trace:
        """The kernel run on symbols for this mechanism."""
        return trace(self.kernel, self.tables, self.mechanism.nq, target=self.target)

    def _load(self, width: int, drivers: Callable[[], str], names: Sequence[str]) -> tuple[Any, list[int]]:
        made_for = repr(variant(self.tables))
        if self._straight:
            made_for = f"{self.mechanism.digest} {self.target}{' unrolled' if self._unrolled else ''}"

        def make() -> str:
            if self.specialised:
                body = specialised_body(self.kernel, self.trace, width, "body")
            elif self._unrolled:
                body = unrolled_body(self.kernel, self.tables, width, "body")
            else:
                body = loop_body(self.kernel, variant(self.tables), width, "body")
            return "\n".join([Emitter(width).declarations(), body, drivers()])

        # Straight-line code is left as traced: LLVM's middle-end would only repeat what the graph has done.
        module = load_native(
            f"{self.kernel.name} {width} {lanes()} {made_for}",
            make,
            optimise=1 if self._straight else 2,
            passes=not self._straight,
        )
        return module, module.addresses(*names)

    @cached_property
    def _rows_code(self) -> tuple[Any, list[int]]:
        n_out = len(self.kernel.outputs)

        def drivers() -> str:
            widths = self._sizes if self._straight else None
            driver = rows_driver(self._limited, n_out, "body", max(2, min(4, lanes())), widths)
            return driver + "\n" + builtin_text([len(shape) for shape in self.arguments.shapes], n_out)

        return self._load(1, drivers, ["rows", "python_call"])

    @cached_property
    def _rows_call(self) -> Any:
        return _ROWS(self._rows_code[1][0])

    @cached_property
    def _batch_code(self) -> tuple[int, Any, Any]:
        n_out = len(self.kernel.outputs)

        def drivers() -> str:
            widths = self._sizes if self._straight else None
            return batch_driver(self._limited, n_out, "body", self._lanes, "body_constants", widths)

        module, (address,) = self._load(self._lanes, drivers, ["batch"])
        builtin = self.__dict__.get("_builtin")
        if builtin is not None:
            self._allow_batches(builtin, address, module)
        return address, _BATCH(address), module

    def _allow_batches(self, builtin: Builtin, address: int, module: Any) -> None:
        # Larger batches are left to threads, and let other Python threads run meanwhile.
        most = 2 * _NUMBERS_PER_THREAD // max(1, sum(self._sizes))
        builtin.allow_batches(address, self._new_work(self._lanes), self._lanes, most, module)

    @cached_property
    def fast(self) -> Callable[..., Any]:
        """The quickest callable for single states and small batches; everything else passes on to this function."""
        return self if self._builtin is None else self._builtin.call

    @cached_property
    def _builtin(self) -> Builtin | None:
        if () in self.arguments.shapes or not headers_as_expected():
            return None
        module, addresses = self._rows_code
        tables = (self._ints, self._floats, self._new_work(1))
        batch = list(self._template(self._lanes))
        for k, size in enumerate(self._sizes):
            batch[k * DESCRIPTION_WIDTH + 1] = size
        shapes = (self.arguments.shapes, self._result_shapes)
        descriptions = (list(self._template(1)), batch)
        builtin = Builtin(addresses[1], self.name, self, *shapes, descriptions, tables, (module, self))
        if "_batch_code" in self.__dict__:
            self._allow_batches(builtin, self._batch_code[0], self._batch_code[2])
        return builtin

    # For compiled loops ------------------------------------------------------------------------------------------

    def bind(self, inputs: Sequence[Floats], outputs: Sequence[Floats]) -> BoundCall:
        """Bind the function to fixed arrays: what `control_flow.run_bound` calls without Python.

        inputs, outputs: contiguous float64 arrays of the kernel's arguments and results for one state, or with one
        leading axis for a batch; an input without it is the same for all states.
        """
        arrays = [*inputs, *outputs]
        if len(inputs) != len(self.kernel.inputs) or len(outputs) != len(self.kernel.outputs):
            raise ValueError(
                f"{self.name}: expected {len(self.kernel.inputs)} inputs, {len(self.kernel.outputs)} outputs"
            )
        count = max(array.size // max(1, size) for array, size in zip(arrays, self._sizes, strict=True))
        for array, size in zip(arrays, self._sizes, strict=True):
            if array.dtype != np.float64 or not array.flags.c_contiguous or array.size not in (size, count * size):
                raise ValueError(f"{self.name}: expected a contiguous float64 array of {size} numbers per state")
        width = self._lanes if count >= self._lanes > 1 else 1
        rows = [(a, 0 if a.size == s < count * s else s) for a, s in zip(inputs, self._sizes, strict=False)]
        descriptions = self._describe(rows, list(outputs), width)
        module, address = (
            (self._batch_code[2], self._batch_code[0]) if width > 1 else (self._rows_code[0], self._rows_code[1][0])
        )
        work = self._new_work(width)
        words = [*self._table_addresses, address_of(work), ctypes.addressof(descriptions), count, int(width > 1)]
        return BoundCall(np.array([address, *words], dtype=np.int64), (self, module, work, descriptions, *arrays))

    # Running -----------------------------------------------------------------------------------------------------

    def __call__(self, *args: ArrayLike, **named: ArrayLike) -> Any:
        """Run on arrays with leading axes that broadcast against each other, given in order or by name."""
        if named or len(args) != len(self.kernel.inputs):
            args = self.arguments.in_order(args, named)
            if len(args) > len(self.kernel.inputs) and self.with_wrenches is not None:
                return self.with_wrenches()(*args)
        return self._compute(args, self._lanes)

    def one_by_one(self, *args: ArrayLike) -> Any:
        """The same by scalar code, state after state: what a native loop around single calls costs."""
        return self._compute(args, 0)

    def _compute(self, args: Sequence[ArrayLike], width: int) -> Any:
        try:
            taken, batch = self.arguments.take(args)
        except Untraceable:
            return self._on_symbols(args)
        results = [np.empty((*batch, *shape)) for shape in self._result_shapes]
        count = math.prod(batch)
        if count:
            self._run(self.arguments.rows(taken, batch), results, count, batch, width)
        # [()] turns an array without axes into a plain number and leaves others as they are.
        return results[0][()] if len(results) == 1 else tuple(results)

    def _on_symbols(self, args: Sequence[Any]) -> Any:
        """The same for one state of symbols: the results are symbols."""
        given = [scalars(value) for value in args]
        for (_, shape), expected in zip(given, self.arguments.shapes, strict=True):
            if shape != expected:
                raise Untraceable(f"it calls {self.name} with shape {shape}; a law looks at one state, {expected}")
        inputs = {array.name: values for array, (values, _) in zip(self.kernel.inputs, given, strict=True)}
        outputs = interpreter.run(self.kernel, self.tables, inputs, target=self.target)
        results = [
            symbols(outputs[array.name], shape)
            for array, shape in zip(self.kernel.outputs, self._result_shapes, strict=True)
        ]
        return results[0][()] if len(results) == 1 else tuple(results)

    def _run(
        self,
        rows: list[tuple[Floats, int]],
        results: list[Floats],
        count: int,
        batch: tuple[int, ...],
        width: int,
    ) -> None:
        """Compute all states in tiles of `width` of them, or one by one when they fill no tile."""
        many = 1 < width <= count
        descriptions = self._describe(rows, results, width if many else 1)
        where = ctypes.addressof(descriptions)
        if not many:
            statuses = [self._rows_call(*self._table_addresses, self._work(1), where, count)]
        else:
            code = self._batch_code[1]

            def work_on(start: int, stop: int) -> int:
                return code(*self._table_addresses, self._work(width), where, start, stop)

            threads = min(get_threads(), count * sum(self._sizes) // _NUMBERS_PER_THREAD, count // width)
            if threads <= 1:
                statuses = [work_on(0, count)]
            else:
                tiles = count // width
                chunks = list(pairwise([*(tiles * k // threads * width for k in range(threads)), count]))
                waiting = [pool(threads - 1).submit(work_on, *chunk) for chunk in chunks[1:]]
                statuses = [work_on(*chunks[0]), *(future.result() for future in waiting)]
        bad = [status for status in statuses if status >= 0]
        if bad:
            self.arguments.refuse(rows, min(bad) // 2, batch)

    def _describe(self, rows: list[tuple[Floats, int]], results: list[Floats], width: int) -> Any:
        """Descriptions of all arrays for the drivers (see tiles.py)."""
        template = self._template(width)
        descriptions = type(template).from_buffer_copy(template)
        for k, (array, stride) in enumerate(rows):
            descriptions[k * DESCRIPTION_WIDTH] = address_of(array)
            descriptions[k * DESCRIPTION_WIDTH + 1] = stride
        for k, result in enumerate(results, start=len(rows)):
            descriptions[k * DESCRIPTION_WIDTH] = address_of(result)
            descriptions[k * DESCRIPTION_WIDTH + 1] = self._sizes[k]
        return descriptions

    def _template(self, width: int) -> Any:
        """Descriptions with pointers and strides left open."""
        if width not in self._templates:
            entries: list[int] = []
            offset = self._scratch * width
            # |x| above the limit times this scale overflows, which is how the drivers notice it.
            scale = struct.unpack("<q", struct.pack("<d", sys.float_info.max / LARGEST_COORDINATE))[0]
            for size in self._sizes:
                entries += [0, 0, size, offset, scale]
                offset += tile_width(size, width) * width
            self._templates[width] = (ctypes.c_int64 * len(entries))(*entries)
        return self._templates[width]

    def _new_work(self, width: int) -> Floats:
        """Scratch space and, for batches, tiles, aligned to a cache line."""
        entries = self._scratch
        if width > 1:
            entries += sum(tile_width(size, width) for size in self._sizes)
        raw = np.zeros(entries * width + 8)
        skip = (-address_of(raw) % 64) // 8
        return raw[skip:]

    def _work(self, width: int) -> int:
        """Address of this thread's scratch space."""
        kept: dict[Any, tuple[int, Floats]] = self._local.__dict__
        if width not in kept:
            work = self._new_work(width)
            kept[width] = (address_of(work), work)
        return kept[width][0]
