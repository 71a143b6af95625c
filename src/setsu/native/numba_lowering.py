"""Compiled functions to LLVM code by Numba: the one file that knows Numba, and the private names of it that we use.

Numba types a function and lowers it to LLVM's language; all the rest (linking, optimisation, machine code, cache, the
way in from Python) is ours (bitcode.py, compiled_code.py), so that code made on another machine can be shipped. Parts
are lowered once and linked once: Numba alone would link and optimise each function together with all it calls, at every
level of calls anew. No fast-math flag is set: each would let LLVM choose other roundings on other processors.

Importing this module loads Numba (most of a second): only what has to be lowered does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba.core import cgutils, codegen, compiler, registry, types
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.typing.templates import AttributeTemplate
from numba.core.typing.typeof import typeof_impl
from numba.extending import infer_getattr, lower_getattr_generic
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import from_dtype

from setsu.native.control_flow import Compiled, Inline, Intrinsic, run_bound, run_code, run_on_workspace
from setsu.native.entry_text import entry_text
from setsu.native.numba_lanes import as_intrinsic
from setsu.native.signature import ArrayKind, Kind, Signature, TupleKind
from setsu.native.workspace import FIELD_WORDS, Layout

__all__ = ["lower"]

# Numba's own annotations know neither its settings nor all options of njit.
_NUMBA: Any = numba
_OPTIONS = {
    "nogil": True,
    "error_model": "numpy",  # divisions by zero give inf or NaN
    "_nrt": False,  # no reference counting: compiled functions make no arrays
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


# From functions to one module ------------------------------------------------------------------------------------


def lower(wanted: Sequence[tuple[Compiled, Signature]]) -> Any:
    """Return an LLVM module, not optimised yet, with the functions and all that they call.

    The way into the k-th function is `enter<k>` (entry_text.py).
    """
    libraries: dict[Any, None] = {}  # in the order of their first use
    ways = []
    with _unfinished_libraries():
        for k, (function, signature) in enumerate(wanted):
            dispatcher, kinds = _dispatcher(function), tuple(_numba_type(kind) for kind in signature.arguments)
            dispatcher.compile(kinds)
            made = dispatcher.overloads[kinds]
            _collect(made.library, libraries)
            returns, in_tuple = _results(made.signature.return_type)
            ways.append(entry_text(f"enter{k}", made.fndesc.llvm_func_name, signature, returns, in_tuple))
    module = llvm.parse_assembly("")
    for library in libraries:
        module.link_in(_own_module(library), preserve=True)
    for text in ways:
        way = llvm.parse_assembly(text)
        way.triple, way.data_layout = module.triple, module.data_layout
        module.link_in(way)
    return module


def _results(kind: Any) -> tuple[list[str], bool]:
    """LLVM types of what a function returns, and whether they form a tuple."""
    if isinstance(kind, types.BaseTuple):
        return [name for inner in kind for name in _results(inner)[0]], True  # type: ignore[attr-defined]
    if isinstance(kind, types.NoneType):
        return [], False
    if isinstance(kind, types.Boolean):
        return ["i8"], False
    if isinstance(kind, types.Integer) and kind.bitwidth == 64:  # type: ignore[attr-defined]
        return ["i64"], False
    if kind == types.float64:
        return ["double"], False
    if isinstance(kind, types.Literal):
        return _results(kind.literal_type)
    raise TypeError(f"compiled code that Python calls returns int, bool, float or tuples of them, not {kind}")


def _numba_type(kind: Kind) -> Any:
    if isinstance(kind, Layout):
        return _workspace_type(kind)
    if isinstance(kind, ArrayKind):
        return types.Array({"float64": types.float64, "int64": types.int64}[kind.dtype], kind.axes, "C")
    if isinstance(kind, TupleKind):
        inner = [_numba_type(entry) for entry in kind.kinds]
        same = len(set(inner)) == 1
        maker: Any = kind.maker
        return types.NamedUniTuple(inner[0], len(inner), maker) if same else types.NamedTuple(inner, maker)
    return {"int": types.int64, "float": types.float64, "bool": types.boolean}[kind]


# Libraries that are linked later -----------------------------------------------------------------------------------


class _Unfinished(codegen.JITCodeLibrary):
    """The code of one function as it was lowered: not optimised, not linked with what it calls, no machine code."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """For functions of others that call what was lowered here."""
        whole = llvm.parse_assembly("")
        libraries: dict[Any, None] = {}
        _collect(self, libraries)
        for library in libraries:
            whole.link_in(_own_module(library), preserve=True)
        for function in whole.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = "linkonce_odr"
        return whole

    def get_pointer_to_function(self, name: str) -> int:
        """Nobody calls it by its address."""
        return 0

    @property
    def codegen(self) -> Any:
        """What Numba would put the addresses of Python's objects into: there are none."""
        return _NoEnvironment


class _NoEnvironment:
    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Nothing to set."""


def _collect(library: Any, found: dict[Any, None]) -> None:
    if library not in found:
        found[library] = None
        if isinstance(library, _Unfinished):
            for called in library._linking_libraries:
                _collect(called, found)


def _own_module(library: Any) -> Any:
    return library._final_module if isinstance(library, _Unfinished) else library._get_module_for_linking()


@contextlib.contextmanager
def _unfinished_libraries() -> Iterator[None]:
    """Numba's own helpers (min, sqrt ...) are left unfinished too: optimised for this processor, they would differ."""
    target: Any = registry.cpu_target
    made_by = target.target_context.codegen()
    before = made_by._library_class
    made_by._library_class = _Unfinished
    try:
        yield
    finally:
        made_by._library_class = before


class _PartCompiler(compiler.Compiler):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.state.library = _Unfinished(self.state.targetctx.codegen(), "part")


# What compiled functions see: each other, workspaces, native kernels -------------------------------------------------


@cache
def _dispatcher(part: Inline) -> Any:
    return _NUMBA.njit(pipeline_class=_PartCompiler, **_OPTIONS)(part.function)


@typeof_impl.register(Inline)
def _type_of_part(part: Inline, context: Any) -> Any:
    return types.Dispatcher(_dispatcher(part))


class WorkspaceType(types.Type):
    """Numba's type of a workspace."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        super().__init__(name=f"Workspace({layout.text})")

    def array_of(self, name: str) -> tuple[int, Any] | None:
        """Number of a field and the type of its array or workspace."""
        for k, (field, kind, lengths) in enumerate(self.layout.fields):
            if field == name:
                return k, _workspace_type(kind) if isinstance(kind, Layout) else types.Array(
                    from_dtype(kind), len(lengths), "C"
                )
        return None


_workspace_type = cache(WorkspaceType)


@register_default(WorkspaceType)
class _BookModel(models.OpaqueModel):
    pass


@infer_getattr
class _BookAttribute(AttributeTemplate):
    key = WorkspaceType

    def generic_resolve(self, kind: WorkspaceType, name: str) -> Any:
        found = kind.array_of(name)
        return None if found is None else found[1]


@lower_getattr_generic(WorkspaceType)
def _open_field(context: Any, builder: Any, kind: WorkspaceType, workspace: Any, name: str) -> Any:
    found = kind.array_of(name)
    if found is None:
        raise AttributeError(f"{kind.layout.title} has no array {name}")
    field, array_type = found
    word = ir.IntType(64)
    table = builder.bitcast(workspace, word.as_pointer())
    constant = builder.module.add_metadata([])

    def entry(k: int) -> Any:
        loaded = builder.load(builder.gep(table, [word(field * FIELD_WORDS + k)]))
        loaded.set_metadata("invariant.load", constant)
        return loaded

    if isinstance(array_type, WorkspaceType):
        return builder.inttoptr(entry(0), context.get_value_type(array_type))
    array = context.make_array(array_type)(context, builder)
    _, dtype, lengths = kind.layout.fields[field]
    itemsize = word(dtype.itemsize)
    shape = [word(length) if length else entry(1 + axis) for axis, length in enumerate(lengths)]
    strides = [itemsize]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    data = builder.inttoptr(entry(0), context.get_data_type(array_type.dtype).as_pointer())
    populate_array(
        array,
        data=data,
        shape=cgutils.pack_array(builder, shape, word),
        strides=cgutils.pack_array(builder, strides, word),
        itemsize=itemsize,
        meminfo=None,
        parent=None,
    )
    return array._getvalue()


def _run_bound(typing_context, handle):
    """Run the kernel that `handle` (int64 array of BoundCall.handle) stands for; -1, or a number for bad values."""
    if not (isinstance(handle, types.Array) and handle.dtype == types.int64 and handle.ndim == 1):
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0])
        word, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
        entries = [builder.load(cgutils.gep_inbounds(builder, array.data, k)) for k in range(7)]
        tables = [builder.inttoptr(entry, pointer) for entry in entries[1:5]]
        rows = builder.inttoptr(entries[0], ir.FunctionType(word, [pointer] * 4 + [word]).as_pointer())
        batch = builder.inttoptr(entries[0], ir.FunctionType(word, [pointer] * 4 + [word, word]).as_pointer())
        status = cgutils.alloca_once(builder, word)
        in_tiles = builder.icmp_signed("!=", entries[6], word(0))
        with builder.if_else(in_tiles) as (then, otherwise):
            with then:
                builder.store(builder.call(batch, [*tables, word(0), entries[5]]), status)
            with otherwise:
                builder.store(builder.call(rows, [*tables, entries[5]]), status)
        return builder.load(status)

    return types.int64(handle), generate


def _run_code(typing_context, address, inputs, outputs):
    """Call `void code(double *inputs, double *outputs)` at an address (expression_code) on two float64 arrays."""
    arrays = isinstance(inputs, types.Array) and isinstance(outputs, types.Array)
    if not (arrays and isinstance(address, types.Integer)):
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        proxies = [
            cgutils.create_struct_proxy(kind)(context, builder, value=value)
            for kind, value in zip(signature.args[1:], args[1:], strict=True)
        ]
        pointer = ir.DoubleType().as_pointer()
        code = builder.inttoptr(args[0], ir.FunctionType(ir.VoidType(), [pointer, pointer]).as_pointer())
        builder.call(code, [proxy.data for proxy in proxies])
        return context.get_dummy_value()

    return types.void(types.int64, inputs, outputs), generate


def _run_on_workspace(typing_context, address, workspace):
    """Call what `code_address` compiled on a workspace."""
    if not isinstance(address, types.Integer):
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = builder.inttoptr(args[0], ir.FunctionType(ir.VoidType(), [args[1].type]).as_pointer())
        builder.call(code, [args[1]])
        return context.get_dummy_value()

    return types.void(types.int64, workspace), generate


_INTRINSICS = {
    marker: as_intrinsic(marker, define)
    for marker, define in ((run_bound, _run_bound), (run_code, _run_code), (run_on_workspace, _run_on_workspace))
}


@typeof_impl.register(Intrinsic)
def _type_of_intrinsic(marker: Any, context: Any) -> Any:
    return _INTRINSICS[marker]
