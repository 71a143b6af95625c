"""Drivers around a kernel body: whole batches in tiles of `lanes` states, and single states.

A body works on tiles: entry k of an array is a vector of `lanes` numbers, one per state. Arrays of a user are rows,
one per state; the drivers transpose between the two in registers and look for numbers that are not finite on the way.

An array is described to the drivers by DESCRIPTION_WIDTH 64-bit numbers:
pointer, stride between rows in doubles (0 repeats one row), width of a row, offset of its tile in the work space in
doubles, and the bound |x| < limit as the bits of a double.
"""

from __future__ import annotations

from setsu.native.emit import Emitter

__all__ = ["DESCRIPTION_WIDTH", "batch_driver", "single_driver", "tile_width"]

DESCRIPTION_WIDTH = 5


def tile_width(width: int, lanes: int) -> int:
    """Entries of a tile that holds rows of `width` numbers: full blocks of `lanes`."""
    return -(-width // lanes) * lanes


def single_driver(n_inputs: int, n_outputs: int, body: str) -> str:
    """LLVM text of `i64 single(ints, floats, work, arrays)` for one state: 0, 1 (bad input) or 2 (bad result).

    The body reads and writes the rows directly: a tile of one state is a row.
    """
    emit = Emitter(1)
    n = n_inputs + n_outputs
    pointers = [
        emit.let(f"load ptr, ptr {emit.let(f'getelementptr i64, ptr %arrays, i64 {k * DESCRIPTION_WIDTH}')}, align 8")
        for k in range(n)
    ]

    def refuse_unless_bounded(numbers: range, label: str) -> None:
        for k in numbers:
            width = _described(emit, k, 2)
            limit = _limit(emit, k)
            ok = emit.let(f"call i1 @row_bounded(ptr {pointers[k]}, i64 {width}, double {limit})")
            following = emit.new_label("next")
            emit.do(f"br i1 {ok}, label %{following}, label %{label}")
            emit.label(following)

    refuse_unless_bounded(range(n_inputs), "bad_input")
    arguments = ", ".join(f"ptr {p}" for p in ("%ints", "%floats", "%work", *pointers))
    emit.do(f"call void @{body}({arguments})")
    refuse_unless_bounded(range(n_inputs, n), "bad_result")
    return "\n".join(
        [
            _ROW_BOUNDED,
            "define i64 @single(ptr %ints, ptr %floats, ptr %work, ptr %arrays) {",
            "entry:",
            *emit.lines,
            "  ret i64 0",
            "bad_input:",
            "  ret i64 1",
            "bad_result:",
            "  ret i64 2",
            "}",
        ]
    )


_ROW_BOUNDED = """
define internal i1 @row_bounded(ptr %row, i64 %width, double %limit) {
entry:
  %some = icmp sgt i64 %width, 0
  br i1 %some, label %loop, label %good
loop:
  %i = phi i64 [0, %entry], [%next, %more]
  %where = getelementptr double, ptr %row, i64 %i
  %x = load double, ptr %where, align 8
  %size = call double @llvm.fabs.f64(double %x)
  %ok = fcmp olt double %size, %limit
  br i1 %ok, label %more, label %bad
more:
  %next = add i64 %i, 1
  %again = icmp slt i64 %next, %width
  br i1 %again, label %loop, label %good
good:
  ret i1 true
bad:
  ret i1 false
}
declare double @llvm.fabs.f64(double)
"""


def _described(emit: Emitter, k: int, entry: int) -> str:
    where = emit.let(f"getelementptr i64, ptr %arrays, i64 {k * DESCRIPTION_WIDTH + entry}")
    return emit.let(f"load i64, ptr {where}, align 8")


def _limit(emit: Emitter, k: int) -> str:
    return emit.let(f"bitcast i64 {_described(emit, k, 4)} to double")


def batch_driver(n_inputs: int, n_outputs: int, body: str, lanes: int) -> str:
    """LLVM text of `i64 batch(ints, floats, work, arrays, start, stop)` for the states start…stop-1.

    Returns -1, or the first state of the first tile with a bad number, times two, plus one if it is a result.
    The last tile repeats its last state in the lanes that have none.
    """
    emit = Emitter(lanes)
    n = n_inputs + n_outputs
    facts = []
    for k in range(n):
        pointer = emit.let(f"inttoptr i64 {_described(emit, k, 0)} to ptr")
        offset = _described(emit, k, 3)
        tile = emit.let(f"getelementptr double, ptr %work, i64 {offset}")
        facts.append((pointer, _described(emit, k, 1), _described(emit, k, 2), tile, _limit(emit, k)))
    emit.do("%last = sub i64 %stop, 1")
    emit.do("%any = icmp slt i64 %start, %stop")
    emit.do("br i1 %any, label %tile, label %done")
    emit.label("tile")
    emit.do("%first = phi i64 [%start, %entry], [%next, %stored]")
    flags = [
        emit.let(f"call i1 @tile_in(ptr {p}, i64 {s}, i64 {w}, ptr {t}, double {x}, i64 %first, i64 %last)")
        for p, s, w, t, x in facts[:n_inputs]
    ]
    bad = _any(emit, flags)
    emit.do(f"br i1 {bad}, label %bad_input, label %compute")
    emit.label("compute")
    arguments = ", ".join(f"ptr {p}" for p in ("%ints", "%floats", "%work", *(fact[3] for fact in facts)))
    emit.do(f"call void @{body}({arguments})")
    flags = [
        emit.let(f"call i1 @tile_out(ptr {p}, i64 {s}, i64 {w}, ptr {t}, double {x}, i64 %first, i64 %last)")
        for p, s, w, t, x in facts[n_inputs:]
    ]
    bad = _any(emit, flags)
    emit.do(f"br i1 {bad}, label %bad_result, label %stored")
    emit.label("stored")
    emit.do(f"%next = add i64 %first, {lanes}")
    emit.do("%more = icmp slt i64 %next, %stop")
    emit.do("br i1 %more, label %tile, label %done")
    driver = [
        "define i64 @batch(ptr %ints, ptr %floats, ptr %work, ptr %arrays, i64 %start, i64 %stop) {",
        "entry:",
        *emit.lines,
        "done:",
        "  ret i64 -1",
        "bad_input:",
        "  %at_input = mul i64 %first, 2",
        "  ret i64 %at_input",
        "bad_result:",
        "  %twice = mul i64 %first, 2",
        "  %at_result = add i64 %twice, 1",
        "  ret i64 %at_result",
        "}",
    ]
    return "\n".join([_tile_move(lanes, inwards=True), _tile_move(lanes, inwards=False), *driver])


def _any(emit: Emitter, flags: list[str]) -> str:
    result = "false"
    for flag in flags:
        result = emit.let(f"or i1 {result}, {flag}")
    return result


def _tile_move(lanes: int, inwards: bool) -> str:
    """LLVM text that copies rows into a tile or a tile into rows, block by block, and tells about numbers out of bound."""
    emit = Emitter(lanes)
    t, b, i = emit.type, emit.bool_type, emit.int_type
    rows = []
    for lane in range(lanes):
        row = emit.let(f"add i64 %first, {lane}")
        inside = emit.let(f"icmp sle i64 {row}, %last")
        row = emit.let(f"select i1 {inside}, i64 {row}, i64 %last")
        rows.append((emit.let(f"getelementptr double, ptr %data, i64 {emit.let(f'mul i64 {row}, %stride')}"), inside))
    if lanes > 1:
        start = emit.let(f"insertelement {t} poison, double %limit, i64 0")
        bound = emit.let(f"shufflevector {t} {start}, {t} poison, <{lanes} x i32> zeroinitializer")
    else:
        bound = "%limit"
    emit.do("%some = icmp sgt i64 %width, 0")
    emit.do("br i1 %some, label %block, label %end")
    emit.label("block")
    emit.do("%column = phi i64 [0, %entry], [%next, %block]")
    emit.do(f"%bad = phi {b} [zeroinitializer, %entry], [%bad_now, %block]")
    emit.do("%left = sub i64 %width, %column")
    start = emit.let(f"insertelement {i} poison, i64 %left, i64 0")
    left = emit.let(f"shufflevector {i} {start}, {i} poison, <{lanes} x i32> zeroinitializer")
    counting = "<" + ", ".join(f"i64 {lane}" for lane in range(lanes)) + ">"
    mask = emit.let(f"icmp slt {i} {counting}, {left}")
    columns = emit.let(f"mul i64 %column, {lanes}")
    tile = emit.let(f"getelementptr double, ptr %tile, i64 {columns}")
    places = [emit.let(f"getelementptr double, ptr {row}, i64 %column") for row, _ in rows]
    if inwards:
        block = [
            emit.let(
                f"call {t} @llvm.masked.load.{emit.suffix}.p0(ptr align 8 {place}, {b} {mask}, {t} zeroinitializer)"
            )
            for place in places
        ]
        checked = block
        block = _transposed(emit, block)
        for lane, register in enumerate(block):
            emit.store(register, tile, lane)
    else:
        block = _transposed(emit, [emit.load(tile, lane) for lane in range(lanes)])
        # Beyond the row's end the tile holds whatever was there: not checked, not stored.
        checked = [emit.select(mask, register, emit.constant(0.0)) for register in block]
        for (_, inside), place, register in zip(rows, places, block, strict=True):
            start = emit.let(f"insertelement {b} poison, i1 {inside}, i64 0")
            valid = emit.let(f"shufflevector {b} {start}, {b} poison, <{lanes} x i32> zeroinitializer")
            valid = emit.let(f"and {b} {mask}, {valid}")
            emit.do(f"call void @llvm.masked.store.{emit.suffix}.p0({t} {register}, ptr align 8 {place}, {b} {valid})")
    found = "%bad"
    for register in checked:
        size = emit.let(f"call {t} @llvm.fabs.{emit.suffix}({t} {register})")
        outside = emit.let(f"fcmp uge {t} {size}, {bound}")
        found = emit.let(f"or {b} {found}, {outside}")
    emit.do(f"%bad_now = or {b} {found}, zeroinitializer")
    emit.do(f"%next = add i64 %column, {lanes}")
    emit.do("%again = icmp slt i64 %next, %width")
    emit.do("br i1 %again, label %block, label %end")
    emit.label("end")
    emit.do(f"%flags = phi {b} [zeroinitializer, %entry], [%bad_now, %block]")
    emit.do(f"%flagged = call i1 @llvm.vector.reduce.or.v{lanes}i1({b} %flags)")
    emit.do("ret i1 %flagged")
    name = "tile_in" if inwards else "tile_out"
    return "\n".join(
        [
            f"define internal i1 @{name}(ptr noalias %data, i64 %stride, i64 %width, ptr noalias %tile, double %limit, "
            "i64 %first, i64 %last) {",
            "entry:",
            *emit.lines,
            "}",
            f"declare {t} @llvm.masked.load.{emit.suffix}.p0(ptr, {b}, {t})" if inwards else "",
            f"declare void @llvm.masked.store.{emit.suffix}.p0({t}, ptr, {b})" if not inwards else "",
            f"declare {t} @llvm.fabs.{emit.suffix}({t})\ndeclare i1 @llvm.vector.reduce.or.v{lanes}i1({b})"
            if inwards
            else "",
        ]
    )


def _transposed(emit: Emitter, rows: list[str]) -> list[str]:
    """Transpose a square block held in registers: log2(lanes) rounds of interleaving row r with row r + lanes/2."""
    n = emit.lanes
    for _ in range(n.bit_length() - 1):
        mixed: list[str] = []
        for k in range(n // 2):
            a, b = rows[k], rows[k + n // 2]
            for first in (0, n // 2):
                order = ", ".join(f"i32 {first + j // 2 + (j % 2) * n}" for j in range(n))
                mixed.append(emit.let(f"shufflevector {emit.type} {a}, {emit.type} {b}, <{n} x i32> <{order}>"))
        rows = mixed
    return rows
