"""Print a graph of scalar operations as LLVM instructions on `double` or `<lanes x double>`.

Every operation is an exact IEEE one, products are fused with sums here and not by the compiler, and no fast-math flag
is used: a lane of a vector computes bit for bit what the scalar code computes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from setsu.symbolic import Graph, Op
from setsu.symbolic.graph import Expression, Scalar

__all__ = ["Emitter"]

# 2/pi, and pi/2 in two parts of 53 bits.
_TWO_OVER_PI = 0.6366197723675814
_HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
_ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer held in the low bits
# Minimax coefficients of fdlibm's sine and cosine on [-pi/4, pi/4].
_SIN = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
_COS = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip

# From about this many nodes on more values are alive than registers hold, and the order of operations counts.
_LARGE_GRAPH = 8000


class Emitter:
    """Lines of LLVM text for one function; `lanes` = 1 gives scalar code."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.type = "double" if lanes == 1 else f"<{lanes} x double>"
        self.int_type = "i64" if lanes == 1 else f"<{lanes} x i64>"
        self.bool_type = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.suffix = "f64" if lanes == 1 else f"v{lanes}f64"
        self.align = 8 * lanes
        self.lines: list[str] = []
        self._count = 0
        self.block = "entry"

    def name(self) -> str:
        """Return a fresh register name."""
        self._count += 1
        return f"%r{self._count}"

    def let(self, text: str) -> str:
        """Emit `register = text` and return the register."""
        register = self.name()
        self.lines.append(f"  {register} = {text}")
        return register

    def do(self, text: str) -> None:
        """Emit an instruction without result."""
        self.lines.append("  " + text)

    def label(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.block = label

    def new_label(self, stem: str) -> str:
        """Return a fresh block name."""
        self._count += 1
        return f"{stem}{self._count}"

    def constant(self, value: float) -> str:
        """Return a constant of the working type."""
        text = f"0x{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:016X}"
        return text if self.lanes == 1 else f"splat (double {text})"

    def integer(self, value: int) -> str:
        """Return an integer constant of the working width."""
        return str(value) if self.lanes == 1 else f"splat (i64 {value})"

    def load(self, pointer: str, offset: int) -> str:
        """Load entry `offset` of a tile (one vector per entry)."""
        where = (
            self.let(f"getelementptr inbounds double, ptr {pointer}, i64 {offset * self.lanes}") if offset else pointer
        )
        return self.let(f"load {self.type}, ptr {where}, align {self.align}")

    def load_shared(self, pointer: str, offset: int) -> str:
        """Load entry `offset` of a table, the same for all lanes."""
        where = self.let(f"getelementptr inbounds double, ptr {pointer}, i64 {offset}") if offset else pointer
        value = self.let(f"load double, ptr {where}, align 8")
        if self.lanes == 1:
            return value
        first = self.let(f"insertelement {self.type} poison, double {value}, i64 0")
        return self.let(f"shufflevector {self.type} {first}, {self.type} poison, <{self.lanes} x i32> zeroinitializer")

    def store(self, value: str, pointer: str, offset: int) -> None:
        """Store entry `offset` of a tile."""
        where = (
            self.let(f"getelementptr inbounds double, ptr {pointer}, i64 {offset * self.lanes}") if offset else pointer
        )
        self.do(f"store {self.type} {value}, ptr {where}, align {self.align}")

    def binary(self, op: str, a: str, b: str) -> str:
        """Emit a floating-point operation on two registers."""
        return self.let(f"{op} {self.type} {a}, {b}")

    def fma(self, a: str, b: str, c: str) -> str:
        """Emit a b + c, rounded once."""
        t = self.type
        return self.let(f"call {t} @llvm.fma.{self.suffix}({t} {a}, {t} {b}, {t} {c})")

    def negate(self, a: str) -> str:
        """Emit -a."""
        return self.let(f"fneg {self.type} {a}")

    def less(self, a: str, b: str) -> str:
        """Emit a < b (false for NaN)."""
        return self.let(f"fcmp olt {self.type} {a}, {b}")

    def select(self, condition: str, a: str, b: str) -> str:
        """Emit a where condition, else b."""
        return self.let(f"select {self.bool_type} {condition}, {self.type} {a}, {self.type} {b}")

    def cos_sin(self, x: str) -> tuple[str, str]:
        """Emit cosine and sine within about one unit in the last place, for |x| up to about 1e9.

        The multiple of pi/2 is taken off in two parts by fused operations: the first difference is exact, the second is
        rounded once, so that the reduced angle is good to half a unit in its last place.
        """
        c, t, i = self.constant, self.type, self.int_type
        shifted = self.fma(x, c(_TWO_OVER_PI), c(_ROUND))
        n = self.binary("fsub", shifted, c(_ROUND))
        r = self.fma(n, c(-_HALF_PI[1]), self.fma(n, c(-_HALF_PI[0]), x))
        z = self.binary("fmul", r, r)
        sine_poly, cosine_poly = c(_SIN[5]), c(_COS[5])
        for k in (4, 3, 2, 1, 0):
            sine_poly = self.fma(sine_poly, z, c(_SIN[k]))
            cosine_poly = self.fma(cosine_poly, z, c(_COS[k]))
        sine = self.fma(self.binary("fmul", z, r), sine_poly, r)
        cosine = self.fma(z, self.fma(z, cosine_poly, c(-0.5)), c(1.0))
        # The quadrant is in the two low bits of the shifted quotient.
        bits = self.let(f"bitcast {t} {shifted} to {i}")
        odd = self.let(f"and {i} {bits}, {self.integer(1)}")
        swap = self.let(f"icmp ne {i} {odd}, {self.integer(0)}")
        results = []
        for first, second, turned in (
            (sine, cosine, self.let(f"add {i} {bits}, {self.integer(1)}")),
            (cosine, sine, bits),
        ):
            chosen = self.select(swap, first, second)
            flip = self.let(f"shl {i} {turned}, {self.integer(62)}")
            flip = self.let(f"and {i} {flip}, {self.integer(-(1 << 63))}")
            raw = self.let(f"bitcast {t} {chosen} to {i}")
            results.append(self.let(f"bitcast {i} {self.let(f'xor {i} {raw}, {flip}')} to {t}"))
        return results[0], results[1]

    def graph(
        self,
        graph: Graph,
        outputs: Sequence[Scalar],
        load: Callable[[object], str],
        store: Callable[[int, str], None],
    ) -> None:
        """Emit what the outputs need; `load` gives the register of an input, `store(k, value)` takes output k.

        Each output is stored as soon as it is known, which keeps few values alive.
        """
        ops, args = graph.ops, graph.args
        order = graph.depth_first(outputs) if len(graph.ops) > _LARGE_GRAPH else graph.needed(outputs)
        values: dict[int, str] = {}
        wanted: dict[int, list[int]] = {}
        for position, output in enumerate(outputs):
            if isinstance(output, Expression):
                wanted.setdefault(output.index, []).append(position)
            else:
                store(position, self.constant(output))  # type: ignore[arg-type]
        fused = _choose_fused(graph, order)
        plain_uses = _plain_uses(graph, order, fused, outputs)

        def value(index: int) -> str:
            if ops[index] is Op.CONSTANT:
                return self.constant(args[index][0])
            return values[index]

        def compute(index: int) -> None:
            op, given = ops[index], args[index]
            if op is Op.INPUT:
                values[index] = load(given[0])
                return
            if index in fused:
                product = fused[index]
                a, b = (value(k) for k in args[product])
                if op is Op.ADD:
                    other = given[0] if given[1] == product else given[1]
                    values[index] = self.fma(a, b, value(other))
                elif given[1] == product:  # x - a b
                    values[index] = self.fma(self.negate(a), b, value(given[0]))
                else:  # a b - x
                    values[index] = self.fma(a, b, self.negate(value(given[1])))
            elif op in (Op.ADD, Op.SUB, Op.MUL, Op.DIV):
                name = {Op.ADD: "fadd", Op.SUB: "fsub", Op.MUL: "fmul", Op.DIV: "fdiv"}[op]
                values[index] = self.binary(name, value(given[0]), value(given[1]))
            elif op is Op.NEG:
                values[index] = self.negate(value(given[0]))
            elif op in (Op.COS, Op.SIN):
                cosine, sine = self.cos_sin(value(given[0]))
                for kind, register in ((Op.COS, cosine), (Op.SIN, sine)):
                    node = graph.node(kind, given)
                    values[node.index] = register
            elif op is Op.SQRT:
                values[index] = self.let(f"call {self.type} @llvm.sqrt.{self.suffix}({self.type} {value(given[0])})")
            elif op is Op.SELECT:
                condition = self.less(value(given[0]), self.constant(0.0))
                values[index] = self.select(condition, value(given[1]), value(given[2]))

        for index in order:
            if ops[index] is Op.CONSTANT or (ops[index] is Op.MUL and index not in plain_uses):
                continue
            if index not in values:
                compute(index)
            for position in wanted.get(index, ()):
                store(position, values[index])

    def declarations(self) -> str:
        """Return the declarations the emitted instructions may need."""
        t, s = self.type, self.suffix
        return f"declare {t} @llvm.fma.{s}({t}, {t}, {t})\ndeclare {t} @llvm.sqrt.{s}({t})\n"


def _choose_fused(graph: Graph, order: list[int]) -> dict[int, int]:
    """For each sum, the product it absorbs: one that nothing else uses if there is one."""
    ops, args = graph.ops, graph.args
    uses: dict[int, int] = {}
    for index in order:
        if ops[index] > Op.CONSTANT:
            for arg in args[index]:
                uses[arg] = uses.get(arg, 0) + 1
    fused = {}
    for index in order:
        if ops[index] in (Op.ADD, Op.SUB):
            products = [arg for arg in args[index] if ops[arg] is Op.MUL]
            if products:
                # Later products first: the earlier one is more likely to be ready as the summand.
                fused[index] = min(products, key=lambda arg: (uses[arg], -arg))
    return fused


def _plain_uses(graph: Graph, order: list[int], fused: dict[int, int], outputs: Sequence[Scalar]) -> set[int]:
    """Nodes whose own value is needed, not only as the product inside a fused sum."""
    needed = {value.index for value in outputs if isinstance(value, Expression)}
    for index in order:
        if graph.ops[index] > Op.CONSTANT:
            skipped = False
            for arg in graph.args[index]:
                if fused.get(index) == arg and not skipped:
                    skipped = True  # x*y + x*y would use the product twice
                    continue
                needed.add(arg)
            if index in fused:
                needed.update(graph.args[fused[index]])
    return needed
