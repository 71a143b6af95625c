"""Generic code: each step traced once per joint kind, printed inside loops over the tables of any mechanism.

Steps that follow each other in a loop are traced together, so that what one computes the next has in a register.
In a loop inside a loop, what belongs to the outer place is loaded before the inner loop begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from setsu.kernels.program import Kernel, Loop, Phase, Step, View
from setsu.mechanism.tables import Kind
from setsu.native.emit import Emitter
from setsu.native.layout import (
    DOF_INTS,
    DOF_STRIDE,
    HEADER_FLOATS,
    HEADER_INTS,
    LINE_INTS,
    LINE_STRIDE,
    LINK_INTS,
    LINK_STRIDE,
    TWO_BODY_INTS,
    TWO_BODY_STRIDE,
    Variant,
)
from setsu.native.step_trace import Location, Place, Traced, Tracer

__all__ = ["loop_body"]


@dataclass
class _Variable:
    """A loop variable in the emitted code: registers of its number and of what its table row holds."""

    sort: str
    number: str
    row: dict[str, str]


def loop_body(kernel: Kernel, variant: Variant, lanes: int, name: str) -> str:
    """LLVM text of `void name(ints, floats, work, inputs..., outputs...)` for any mechanism of the variant.

    With several lanes, zeros between branches are left to `void name_constants(ints, inputs..., outputs...)`: a tile
    keeps them from one group of states to the next.
    """
    parts = [_LoopPrinter(kernel, variant, lanes).text(name), _MEMSET]
    if lanes > 1:
        parts.append(_LoopPrinter(kernel, variant, lanes).clearing_text(f"{name}_constants"))
    return "\n".join(parts)


def _define(name: str, parameters: list[str], lines: list[str]) -> str:
    signature = ", ".join(f"ptr noalias {parameter}" for parameter in parameters)
    return "\n".join([f"define internal void @{name}({signature}) {{", "entry:", *lines, "  ret void", "}"])


class _LoopPrinter:
    def __init__(self, kernel: Kernel, variant: Variant, lanes: int) -> None:
        self.kernel, self.variant = kernel, variant
        self.emit = Emitter(lanes)
        self.variables: list[_Variable] = []
        self.link_stride = sum(kernel.kept_fields.values())
        self.passed_stride = sum(kernel.passed_fields.values())
        self.dof_stride = sum(kernel.dof_fields.values())

    def text(self, name: str) -> str:
        emit, kernel = self.emit, self.kernel
        arrays = [f"%{array.name}" for array in (*kernel.inputs, *kernel.outputs)]
        self.read_header()
        self.link_rows = self.at("%ints", HEADER_INTS, "i64")
        self.dof_rows = self.at(self.link_rows, self.times(self.n_links, LINK_INTS), "i64")
        self.link_floats = self.at("%floats", HEADER_FLOATS)
        self.dof_floats = self.at(self.link_floats, self.times(self.n_links, LINK_STRIDE))
        self.two_body_rows = self.at(self.dof_rows, self.times(self.nv, DOF_INTS), "i64")
        self.two_body_floats = self.at(self.dof_floats, self.times(self.nv, DOF_STRIDE))
        two_body = emit.let(f"add i64 {self.n_springs}, {self.n_loops}")
        self.n_two_body = emit.let(f"add i64 {two_body}, {self.n_pushes}")
        self.line_rows = self.at(self.two_body_rows, self.times(self.n_two_body, TWO_BODY_INTS), "i64")
        self.line_floats = self.at(self.two_body_floats, self.times(self.n_two_body, TWO_BODY_STRIDE))
        links = emit.let(f"add i64 {self.n_links}, 1")
        self.dof_work = self.at("%work", self.times(links, self.link_stride * emit.lanes))
        matrices = self.at(self.dof_work, self.times(self.nv, self.dof_stride * emit.lanes))
        square = emit.let(f"mul i64 {self.nv}, {self.nv}")
        self.matrix = {
            matrix: self.at(matrices, self.times(square, k * emit.lanes)) for k, matrix in enumerate(kernel.matrices)
        }
        self.passed = self.at(matrices, self.times(square, len(kernel.matrices) * emit.lanes))
        if emit.lanes == 1 or kernel.accumulates:
            self.clear_outputs()
        self.phases(kernel.phases)
        return _define(name, ["%ints", "%floats", "%work", *arrays], emit.lines)

    def clearing_text(self, name: str) -> str:
        """LLVM text of `void name(ints, inputs..., outputs...)` that sets the outputs to zero."""
        arrays = [f"%{array.name}" for array in (*self.kernel.inputs, *self.kernel.outputs)]
        self.read_header()
        self.clear_outputs()
        return _define(name, ["%ints", *arrays], self.emit.lines)

    def read_header(self) -> None:
        numbers = [self.emit.let(f"load i64, ptr {self.at('%ints', k, 'i64')}, align 8") for k in range(HEADER_INTS)]
        self.n_links, self.nv, self.n_bodies, self.target, self.target_link = numbers[:5]
        self.n_springs, self.n_loops, self.n_pushes, self.n_lines = numbers[5:]

    def clear_outputs(self) -> None:
        """Set outputs to zero of which the phases may leave some entries out: those between branches of a tree."""
        emit = self.emit
        for array in self.kernel.outputs:
            match array.over:
                case "matrix":
                    count = emit.let(f"mul i64 {self.nv}, {self.nv}")
                case "dof":
                    count = self.nv
                case "dof_body":
                    count = emit.let(f"mul i64 {self.nv}, {self.n_bodies}")
                case "loop_dof":
                    count = emit.let(f"mul i64 {self.nv}, {self.n_loops}")
                case _:
                    continue
            size = self.times(count, array.width * emit.lanes * 8)
            emit.do(f"call void @llvm.memset.p0.i64(ptr %{array.name}, i8 0, i64 {size}, i1 false)")

    def at(self, pointer: str, offset: int | str, kind: str = "double") -> str:
        return self.emit.let(f"getelementptr inbounds {kind}, ptr {pointer}, i64 {offset}")

    def times(self, register: str, factor: int) -> str:
        return register if factor == 1 else self.emit.let(f"mul i64 {register}, {factor}")

    def phases(self, phases: tuple[Phase, ...], known: dict[Location, str] | None = None) -> None:
        """Print phases in order; neighbouring steps are traced together."""
        group: list[Step] = []
        for phase in (*phases, None):
            if phase is not None and not isinstance(phase, Loop):
                group.append(phase)
                continue
            if group:
                self.steps(group, known or {})
                group = []
            if phase is not None:
                self.loop(phase)

    def views(self, tracer: Tracer) -> tuple[View, ...]:
        places = [Place(variable.sort, depth) for depth, variable in enumerate(self.variables)]
        return tuple(View(tracer, place) for place in places or [Place("world", -1)])

    def trace(self, steps: list[Step], kind: Kind | None) -> Traced:
        tracer = Tracer(self.kernel, self.variant, kind)
        views = self.views(tracer)
        for step in steps:
            step(*views)
        return tracer.traced

    def steps(self, steps: list[Step], known: dict[Location, str]) -> None:
        emit = self.emit
        if not self.variables or self.variables[-1].sort != "link":
            self.print_traced(self.trace(steps, None), known)
            return
        kinds = self.variant.kinds
        if len(kinds) == 1:
            self.print_traced(self.trace(steps, kinds[0]), known)
            return
        labels = {kind: emit.new_label(kind.name.lower()) for kind in kinds}
        after = emit.new_label("after")
        cases = " ".join(f"i64 {int(kind)}, label %{label}" for kind, label in labels.items())
        emit.do(f"switch i64 {self.variables[-1].row['kind']}, label %{labels[kinds[0]]} [{cases}]")
        for kind, label in labels.items():
            emit.label(label)
            self.print_traced(self.trace(steps, kind), known)
            emit.do(f"br label %{after}")
        emit.label(after)

    def print_traced(self, traced: Traced, known: dict[Location, str]) -> None:
        pointers: dict[tuple, str] = {}
        targets = list(traced.stores)
        finished: list[tuple[str, Location]] = []

        def load(location: Any) -> str:
            return known[location] if location in known else self.load(location, pointers)

        def put(register: str, location: Location) -> None:
            self.emit.store(register, self.pointer(location, pointers), location.offset)

        # Two velocities may be the same one: there all loads come before the first store. Links and parents differ.
        at_once = not self.variables or self.variables[-1].sort == "link"

        def store(k: int, register: str) -> None:
            if at_once:
                put(register, targets[k])
            else:
                finished.append((register, targets[k]))

        self.emit.graph(traced.graph, list(traced.stores.values()), load, store)
        for register, location in finished:
            put(register, location)

    def load(self, location: Any, pointers: dict[tuple, str]) -> str:
        pointer = self.pointer(location, pointers)
        if location.shared:
            return self.emit.load_shared(pointer, location.offset)
        return self.emit.load(pointer, location.offset)

    def pointer(self, location: Location, pointers: dict[tuple, str]) -> str:
        key = (location.region, location.places, location.row, location.name if location.region not in _FIELDS else "")
        if key not in pointers:
            pointers[key] = self.find(location)
        return pointers[key]

    def find(self, location: Location) -> str:
        """Print the address of a location's row."""
        lanes, array = self.emit.lanes, f"%{location.name}"
        if location.region == "header":
            return "%floats"
        if location.region == "total":
            return array
        place = location.places[0]
        if place.sort == "world":
            return self.passed if location.region == "passed_fields" else "%work"
        if place.sort == "target":
            if location.region == "link_fields":
                number = self.emit.let(f"add i64 {self.target_link}, 1")
                return self.at("%work", self.times(number, self.link_stride * lanes))
            return self.at(self.link_floats, self.times(self.target_link, LINK_STRIDE))
        variable = self.variables[place.depth]
        if variable.sort == "two_body" and len(location.places) == 1:
            return self.find_at_tie(location, variable)
        if variable.sort == "line":
            return self.at(self.line_floats, self.times(variable.number, LINE_STRIDE))
        first = variable.row["v_index"] if variable.sort == "link" else variable.number
        match location.region:
            case "link_constants":
                return self.at(self.link_floats, self.times(variable.number, LINK_STRIDE))
            case "dof_constants":
                return self.at(self.dof_floats, self.times(first, DOF_STRIDE))
            case "link_fields":
                number = variable.row["parent"]
                if place.sort == "link":
                    number = self.emit.let(f"add i64 {variable.number}, 1")
                return self.at("%work", self.times(number, self.link_stride * lanes))
            case "passed_fields":
                slot = variable.row["slot" if place.sort == "link" else "parent_slot"]
                return self.at(self.passed, self.times(slot, self.passed_stride * lanes))
            case "dof_fields":
                return self.at(self.dof_work, self.times(first, self.dof_stride * lanes))
            case "over_q":
                return self.at(array, self.times(variable.row["q_index"], lanes))
            case "over_v":
                return self.at(array, self.times(first, lanes))
            case "over_body":
                width = self.kernel.array(location.name).width  # type: ignore[union-attr]
                return self.at(array, self.times(variable.row["body"], width * lanes))
            case "over_dof":
                start = (
                    self.emit.let(f"add i64 {self.times(self.nv, location.row)}, {first}") if location.row else first
                )
                return self.at(array, self.times(start, lanes))
        column = self.variables[location.places[1].depth]
        if location.region == "loop_dof":
            width = self.kernel.array(location.name).width  # type: ignore[union-attr]
            start = self.times(variable.row["loop"], width)
            start = self.emit.let(f"add i64 {start}, {location.row}")
            start = self.emit.let(f"mul i64 {start}, {self.nv}")
            start = self.emit.let(f"add i64 {start}, {column.number}")
            return self.at(array, self.times(start, lanes))
        if location.region == "matrix":
            base = self.matrix.get(location.name, array)
            start = self.emit.let(f"mul i64 {variable.number}, {self.nv}")
            start = self.emit.let(f"add i64 {start}, {column.number}")
            return self.at(base, self.times(start, lanes))
        width = self.kernel.array(location.name).width  # type: ignore[union-attr]
        start = self.emit.let(f"mul i64 {variable.number}, {self.n_bodies}")
        start = self.emit.let(f"add i64 {start}, {column.row['body']}")
        return self.at(array, self.times(start, width * lanes))

    def find_at_tie(self, location: Location, variable: _Variable) -> str:
        """Print the address of what a two-body element or one of its ends holds."""
        lanes = self.emit.lanes
        match location.region:
            case "two_body_constants":
                return self.at(self.two_body_floats, self.times(variable.number, TWO_BODY_STRIDE))
            case "link_fields":
                return self.at("%work", self.times(variable.row[location.places[0].sort], self.link_stride * lanes))
            case _:
                width = self.kernel.array(location.name).width  # type: ignore[union-attr]
                return self.at(f"%{location.name}", self.times(variable.row["loop"], width * lanes))

    def loop(self, loop: Loop) -> None:
        emit = self.emit
        number, following = emit.name(), emit.name()
        head, body, latch, end = (emit.new_label(stem) for stem in ("head", "body", "latch", "end"))
        known = self.hoist(loop) if self.variables else {}
        start, condition, step = self.progress(loop)
        before = emit.block
        emit.do(f"br label %{head}")
        emit.label(head)
        emit.do(f"{number} = phi i64 [{start}, %{before}], [{following}, %{latch}]")
        emit.do(f"br i1 {emit.let(condition.format(number))}, label %{body}, label %{end}")
        emit.label(body)
        sort = _SORTS.get(loop.over, "dof")
        self.variables.append(_Variable(sort, number, self.table_row(sort, number)))
        self.phases(loop.body, known)
        variable = self.variables.pop()
        emit.do(f"br label %{latch}")
        emit.label(latch)
        if step is None:
            emit.do(f"{following} = add i64 {variable.row['parent']}, 0")
        else:
            emit.do(f"{following} = add i64 {number}, {step}")
        emit.do(f"br label %{head}")
        emit.label(end)

    def progress(self, loop: Loop) -> tuple[str, str, int | None]:
        """First number, condition to go on, and step (None: on to the parent velocity)."""
        emit = self.emit
        match loop.over:
            case "links":
                return "0", f"icmp slt i64 {{}}, {self.n_links}", 1
            case "dofs":
                return "0", f"icmp slt i64 {{}}, {self.nv}", 1
            case "links_down":
                return emit.let(f"sub i64 {self.n_links}, 1"), "icmp sge i64 {}, 0", -1
            case "dofs_down":
                return emit.let(f"sub i64 {self.nv}, 1"), "icmp sge i64 {}, 0", -1
            case "target_dofs":
                return self.target, "icmp sge i64 {}, 0", None
            case "lines":
                return "0", f"icmp slt i64 {{}}, {self.n_lines}", 1
            case "closures":
                stop = emit.let(f"add i64 {self.n_springs}, {self.n_loops}")
                return self.n_springs, f"icmp slt i64 {{}}, {stop}", 1
            case "pushes":
                start = emit.let(f"add i64 {self.n_springs}, {self.n_loops}")
                return start, f"icmp slt i64 {{}}, {self.n_two_body}", 1
        around = self.variables[loop.of]
        match loop.over:
            case "ancestors":
                start = around.number
            case "strict_ancestors":
                start = around.row["parent"]
            case "link_dofs":
                start = around.row["last"]
            case "a_dofs" | "b_dofs":
                start = around.row[f"last_{loop.over[0]}"]
            case "pieces":
                return around.row["first"], f"icmp slt i64 {{}}, {around.row['stop']}", 1
            case "above_joint":
                first_row = self.at(self.dof_rows, self.times(around.row["first"], DOF_INTS), "i64")
                start = emit.let(f"load i64, ptr {first_row}, align 8")
            case "joint_dofs":
                stop = emit.let(f"add i64 {around.row['first']}, {around.row['count']}")
                return around.row["first"], f"icmp slt i64 {{}}, {stop}", 1
            case _:
                raise ValueError(f"unknown loop {loop.over!r}")
        return start, "icmp sge i64 {}, 0", None

    def table_row(self, sort: str, number: str) -> dict[str, str]:
        """Print the loads of a variable's row of integers; those not used vanish in compilation."""
        if sort == "link":
            rows, width = self.link_rows, LINK_INTS
            names = ("kind", "parent", "q_index", "v_index", "body", "last", "slot", "parent_slot")
        elif sort == "two_body":
            rows, width = self.two_body_rows, TWO_BODY_INTS
            names = ("a", "b", "last_a", "last_b")
        elif sort == "line":
            rows, width = self.line_rows, LINE_INTS
            names = ("first", "stop")
        else:
            rows, width = self.dof_rows, DOF_INTS
            names = ("parent", "first", "count")
        base = self.at(rows, self.times(number, width), "i64")
        row = {name: self.emit.let(f"load i64, ptr {self.at(base, k, 'i64')}, align 8") for k, name in enumerate(names)}
        if sort == "two_body":
            row["loop"] = self.emit.let(f"sub i64 {number}, {self.n_springs}")
        return row

    def hoist(self, loop: Loop) -> dict[Location, str]:
        """Load before an inner loop what its own steps read of outer places, unless something in the loop writes it."""
        depth = len(self.variables)
        self.variables.append(_Variable(_NESTED_SORTS.get(loop.over, "dof"), "", {}))
        read: dict[Location, None] = {}
        written: set[str] = set()

        def look(phases: tuple[Phase, ...], nested: int) -> None:
            for phase in phases:
                if isinstance(phase, Loop):
                    self.variables.append(_Variable(_NESTED_SORTS.get(phase.over, "dof"), "", {}))
                    look(phase.body, nested + 1)
                    self.variables.pop()
                else:
                    traced = self.trace([phase], None)
                    written.update(location.name for location in traced.stores)
                    if nested == 0:
                        read.update(dict.fromkeys(traced.loads))

        look(loop.body, 0)
        self.variables.pop()
        pointers: dict[tuple, str] = {}
        return {
            location: self.load(location, pointers)
            for location in read
            if location.name not in written and all(place.depth != depth for place in location.places)
        }


# Fields of one place share one pointer.
_FIELDS = (
    *("link_fields", "passed_fields", "dof_fields"),
    *("link_constants", "dof_constants", "two_body_constants", "line_constants"),
)
# What a loop runs over; the others run over velocities.
_NESTED_SORTS = {**dict.fromkeys(("pieces", "closures", "pushes"), "two_body"), "lines": "line"}
_SORTS = {**dict.fromkeys(("links", "links_down"), "link"), **_NESTED_SORTS}
_MEMSET = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
