"""Loops over tables unrolled for one mechanism: its numbers folded in, the bits of the loops kept.

Specialised code (specialised.py) traces a kernel as a whole and rounds otherwise than the loops do. Here every step is
the one that the loops print (step_trace.py), with its choice of fused products, and only what is exact is left out:

    x + 0 = x,  x · 1 = x,  x · 0 = 0,  a 0 + c = c,  a b + 0 = a b,  work on constants, equal operations      (1)

so that code for one mechanism may stand in for the loops at any time. What may differ is the sign of a zero, and what
comes of numbers that are not finite, which callers refuse. Fields live in registers; there is no work space.
For kernels whose loops run over links, without loops inside.
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.program import Kernel, Loop, Phase, Step, View
from setsu.mechanism.tables import Kind, Tables
from setsu.native.emit import Emitter
from setsu.native.layout import DOF_STRIDE, HEADER_FLOATS, LINK_STRIDE, pack, variant
from setsu.native.step_trace import Location, Place, Traced, Tracer

__all__ = ["can_unroll", "unrolled_body"]


def can_unroll(kernel: Kernel) -> bool:
    """Whether all loops of a kernel run over links and hold steps alone."""
    plain = all(
        phase.over in ("links", "links_down") and not any(isinstance(inner, Loop) for inner in phase.body)
        for phase in kernel.phases
        if isinstance(phase, Loop)
    )
    arrays = (*kernel.inputs, *kernel.outputs)
    return plain and not kernel.accumulates and all(array.over in ("q", "v", "body", "total") for array in arrays)


def unrolled_body(kernel: Kernel, tables: Tables, lanes: int, name: str) -> str:
    """LLVM text of `void name(ints, floats, work, inputs..., outputs...)` on tiles of `lanes` states."""
    printer = _Unrolled(kernel, tables, lanes)
    printer.phases(kernel.phases)
    arrays = [f"ptr noalias %{array.name}" for array in (*kernel.inputs, *kernel.outputs)]
    head = ", ".join(["ptr %ints", "ptr %floats", "ptr %work", *arrays])
    text = [f"define internal void @{name}({head}) {{", *printer.emit.lines, "  ret void", "}"]
    if lanes > 1:
        text.append(f"define internal void @{name}_constants({', '.join(['ptr %ints', *arrays])}) {{\n  ret void\n}}")
    return "\n".join(text)


class _Folding(Emitter):
    """Prints operations unless (1) spares them."""

    def __init__(self, lanes: int) -> None:
        super().__init__(lanes)
        self._numbers: dict[str, float] = {}
        self._known: dict[tuple[str, ...], Any] = {}

    def constant(self, value: float) -> str:
        text = super().constant(value)
        self._numbers[text] = float(value)
        return text

    def binary(self, op: str, a: str, b: str) -> str:
        x, y = self._numbers.get(a), self._numbers.get(b)
        match op:
            case "fadd" if x == 0.0 or y == 0.0:
                return b if x == 0.0 else a
            case "fadd" if x is not None and y is not None:
                return self.constant(x + y)
            case "fsub" if x == 0.0 or y == 0.0:
                return a if y == 0.0 else self.negate(b)
            case "fsub" if x is not None and y is not None:
                return self.constant(x - y)
            case "fmul" if x == 0.0 or y == 0.0:
                return self.constant(0.0)
            case "fmul" if x is not None and y is not None:
                return self.constant(x * y)
            case "fmul" if x in (1.0, -1.0):
                return b if x == 1.0 else self.negate(b)
            case "fmul" if y in (1.0, -1.0):
                return a if y == 1.0 else self.negate(a)
            case "fdiv" if y == 1.0:
                return a
        pair = (a, b) if op in ("fsub", "fdiv") or a < b else (b, a)
        return self._once((op, *pair), lambda: super(_Folding, self).binary(op, *pair))

    def fma(self, a: str, b: str, c: str) -> str:
        x, y, z = (self._numbers.get(k) for k in (a, b, c))
        if x == 0.0 or y == 0.0:
            return c
        if z == 0.0:
            return self.binary("fmul", a, b)
        if x in (1.0, -1.0):
            return self.binary("fadd", b, c) if x == 1.0 else self.binary("fsub", c, b)
        if y in (1.0, -1.0):
            return self.binary("fadd", a, c) if y == 1.0 else self.binary("fsub", c, a)
        return self._once(("fma", *sorted((a, b)), c), lambda: super(_Folding, self).fma(a, b, c))

    def negate(self, a: str) -> str:
        if a in self._numbers:
            return self.constant(-self._numbers[a])
        result = self._once(("fneg", a), lambda: super(_Folding, self).negate(a))
        self._known["fneg", result] = a
        return result

    def cos_sin(self, x: str) -> tuple[str, str]:
        return self._once(("cos_sin", x), lambda: super(_Folding, self).cos_sin(x))

    def _once(self, key: tuple[str, ...], make: Any) -> Any:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]


class _Unrolled:
    """Goes through the phases link by link; `link` is the one at hand, -1 outside of loops."""

    def __init__(self, kernel: Kernel, tables: Tables, lanes: int) -> None:
        self.kernel, self.tables, self.variant = kernel, tables, variant(tables)
        self.emit = _Folding(lanes)
        self.floats = pack(kernel, tables)[1]
        self.dof_stride = sum(kernel.dof_fields.values())
        self.fields: dict[tuple[Any, ...], str] = {}
        self.traces: dict[tuple[Any, ...], Traced] = {}
        self.link = -1

    def phases(self, phases: tuple[Phase, ...]) -> None:
        """Neighbouring steps are traced together, as in the loops."""
        group: list[Step] = []
        for phase in (*phases, None):
            if phase is not None and not isinstance(phase, Loop):
                group.append(phase)
                continue
            if group:
                self.steps(tuple(group))
                group = []
            if phase is not None:
                links = range(self.tables.n_links)
                for self.link in links if phase.over == "links" else reversed(links):
                    self.phases(phase.body)
                self.link = -1

    def steps(self, steps: tuple[Step, ...]) -> None:
        """Print what the steps compute at the present link, and keep it."""
        kind = Kind(self.tables.kind[self.link]) if self.link >= 0 else None
        if (steps, kind) not in self.traces:
            tracer = Tracer(self.kernel, self.variant, kind)
            for step in steps:
                step(View(tracer, Place("world", -1) if kind is None else Place("link", 0)))
            self.traces[steps, kind] = tracer.traced
        traced = self.traces[steps, kind]
        targets, found = list(traced.stores), {}

        def keep(k: int, register: str) -> None:
            found[targets[k]] = register

        self.emit.graph(traced.graph, list(traced.stores.values()), self.load, keep)
        for location, register in found.items():
            array, key = self.place(location)
            if array is None:
                self.fields[key] = register
            else:
                self.emit.store(register, f"%{array}", key[0])

    def load(self, location: Any) -> str:
        """Register or constant of a location."""
        if location.shared:
            first = 0
            if location.region == "link_constants":
                first = HEADER_FLOATS + self.link * LINK_STRIDE
            elif location.region == "dof_constants":
                dof = int(self.tables.v_index[self.link])
                first = HEADER_FLOATS + self.tables.n_links * LINK_STRIDE + dof * DOF_STRIDE
            return self.emit.constant(float(self.floats[first + location.offset]))
        array, key = self.place(location)
        if array is None:
            return self.fields[key]
        entry = int(key[0])
        if (array, entry) not in self.fields:
            self.fields[array, entry] = self.emit.load(f"%{array}", entry)
        return self.fields[array, entry]

    def place(self, location: Location) -> tuple[str | None, tuple[Any, ...]]:
        """Name of an array and the entry in it; None and a key for what is kept in registers."""
        t, link, sort = self.tables, self.link, location.places[0].sort if location.places else "world"
        match location.region:
            case "link_fields" | "passed_fields":
                node = {"link": link, "parent": int(t.parent[link]), "world": -1}[sort]
                return None, (location.region, node, location.offset)
            case "dof_fields":
                return None, ("dof", int(t.v_index[link]) * self.dof_stride + location.offset)
            case "over_q":
                return location.name, (int(t.q_index[link]) + location.offset,)
            case "over_v":
                return location.name, (int(t.v_index[link]) + location.offset,)
            case "over_body":
                width = self.kernel.array(location.name).width  # type: ignore[union-attr]
                return location.name, (int(t.body[link]) * width + location.offset,)
            case "total":
                return location.name, (location.offset,)
        raise ValueError(f"{self.kernel.name}: {location.region} is not unrolled")
