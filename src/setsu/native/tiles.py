"""Drivers around a kernel body: batches in tiles of `lanes` states, and rows one by one.

A body works on tiles: entry k of an array is a vector of `lanes` numbers, one per state. Arrays of a user are rows,
one per state; the batch driver transposes between the two in registers. A batch of at least `lanes` rows is cut into
full tiles, the last one moved back to end with the last row: rows computed twice come out the same.

On the way the drivers look for numbers that are not finite: 0 x is ±0 unless x is infinite, not a number, or so large
that x times the array's scale overflows. The bits of all 0 x are joined: each waits for the one before
by one cycle, in a sum by four.

An array is described to the drivers by DESCRIPTION_WIDTH 64-bit numbers: pointer, stride between rows in doubles (0
repeats one row), width of a row, offset of its tile in the work space in doubles, and the scale as a double's bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from setsu.native.emit import Emitter

__all__ = ["DESCRIPTION_WIDTH", "batch_driver", "rows_driver", "tile_width"]

DESCRIPTION_WIDTH = 5


def tile_width(width: int, lanes: int) -> int:
    """Entries of a tile that holds rows of `width` numbers: full blocks of `lanes`."""
    return -(-width // lanes) * lanes


def rows_driver(
    limited: Sequence[bool], n_outputs: int, body: str, lanes: int, widths: Sequence[int] | None = None
) -> str:
    """LLVM text of `i64 rows(ints, floats, work, arrays, count)`: one state after the other.

    Returns -1, or the number of the first row with a bad number, times two, plus one if it is a result.
    The body reads and writes the rows directly: a tile of one state is a row. `lanes` numbers are checked at once.
    limited: for each input, whether its scale is to be looked at. widths: of all arrays where known beforehand.
    """
    n_inputs = len(limited)
    emit, check = Emitter(1), Emitter(lanes)
    n = n_inputs + n_outputs
    facts = [(_pointer(emit, k), *(_described(emit, k, entry) for entry in (1, 2)), _scale(emit, k)) for k in range(n)]
    emit.do("%any = icmp sgt i64 %count, 0")
    emit.do("br i1 %any, label %row, label %done")
    emit.label("row")
    emit.do("%i = phi i64 [0, %entry], [%next, %good_result]")
    pointers = [
        emit.let(f"getelementptr double, ptr {pointer}, i64 {emit.let(f'mul i64 %i, {stride}')}")
        for pointer, stride, _, _ in facts
    ]
    helpers = []

    def any_bad(numbers: range) -> str:
        found = check.integer(0)
        for k in numbers:
            _, _, width, scale = facts[k]
            scaled = k < n_inputs and limited[k]
            helpers.append(_row_zeros(f"zeros{k}", lanes, None if widths is None else widths[k], scaled))
            found = emit.let(
                f"call {check.int_type} @zeros{k}(ptr {pointers[k]}, i64 {width}, double {scale}, "
                f"{check.int_type} {found})"
            )
        return _any_bad(emit, check, found)

    emit.do(f"br i1 {any_bad(range(n_inputs))}, label %bad_input, label %good_input")
    emit.label("good_input")
    emit.do(f"call void @{body}({', '.join(f'ptr {p}' for p in ('%ints', '%floats', '%work', *pointers))})")
    emit.do(f"br i1 {any_bad(range(n_inputs, n))}, label %bad_result, label %good_result")
    emit.label("good_result")
    emit.do("%next = add i64 %i, 1")
    emit.do("%more = icmp slt i64 %next, %count")
    emit.do("br i1 %more, label %row, label %done")
    return "\n".join(
        [
            check.declarations(),
            _vector_declarations(check),
            *helpers,
            "define i64 @rows(ptr %ints, ptr %floats, ptr %work, ptr %arrays, i64 %count) {",
            "entry:",
            *emit.lines,
            *_endings("%i"),
            "}",
        ]
    )


def _row_zeros(name: str, lanes: int, width: int | None, scaled: bool) -> str:
    """LLVM text that joins the zeros of all numbers of a row, `lanes` at a time."""
    emit = Emitter(lanes)
    t, b, i = emit.type, emit.bool_type, emit.int_type
    scale = _spread(emit, "%scale") if scaled else None
    full = str(width // lanes * lanes) if width is not None else emit.let(f"and i64 %width, {-lanes}")
    emit.do(f"%some = icmp sgt i64 {full}, 0")
    emit.do("br i1 %some, label %block, label %rest")
    emit.label("block")
    emit.do("%column = phi i64 [0, %entry], [%next, %block]")
    emit.do(f"%before = phi {i} [%zeros, %entry], [%after, %block]")
    where = emit.let("getelementptr double, ptr %row, i64 %column")
    numbers = emit.let(f"load {t}, ptr {where}, align 8")
    emit.do(f"%after = or {i} %before, {_zeros(emit, [numbers], scale)}")
    emit.do(f"%next = add i64 %column, {lanes}")
    emit.do(f"%again = icmp slt i64 %next, {full}")
    emit.do("br i1 %again, label %block, label %rest")
    emit.label("rest")
    emit.do(f"%found = phi {i} [%zeros, %entry], [%after, %block]")
    if width is not None and width % lanes == 0:
        emit.do(f"ret {i} %found")
    else:
        mask = (
            _mask(emit, emit.let(f"sub i64 %width, {full}")) if width is None else _constant_mask(lanes, width % lanes)
        )
        where = emit.let(f"getelementptr double, ptr %row, i64 {full}")
        load = f"call {t} @llvm.masked.load.{emit.suffix}.p0(ptr align 8 {where}, {b} {mask}, {t} zeroinitializer)"
        emit.do(f"ret {i} {emit.let(f'or {i} %found, {_zeros(emit, [emit.let(load)], scale)}')}")
    head = f"define internal {i} @{name}(ptr %row, i64 %width, double %scale, {i} %zeros) {{"
    return "\n".join([head, "entry:", *emit.lines, "}"])


def _vector_declarations(emit: Emitter) -> str:
    t, b, s = emit.type, emit.bool_type, emit.suffix
    bits = f"v{emit.lanes}i64"
    return (
        f"declare {t} @llvm.masked.load.{s}.p0(ptr, {b}, {t})\n"
        f"declare void @llvm.masked.store.{s}.p0({t}, ptr, {b})\n"
        f"declare i64 @llvm.vector.reduce.or.{bits}({emit.int_type})\n"
    )


def _any_bad(emit: Emitter, check: Emitter, found: str) -> str:
    """Whether joined zeros hold more than signs; check: of the zeros, emit: of the driver."""
    bits = emit.let(f"call i64 @llvm.vector.reduce.or.v{check.lanes}i64({check.int_type} {found})")
    return emit.let(f"icmp ne i64 {emit.let(f'shl i64 {bits}, 1')}, 0")


def _spread(emit: Emitter, number: str) -> str:
    """A number in all lanes."""
    start = emit.let(f"insertelement {emit.type} poison, double {number}, i64 0")
    return emit.let(f"shufflevector {emit.type} {start}, {emit.type} poison, <{emit.lanes} x i32> zeroinitializer")


def _constant_mask(lanes: int, count: int) -> str:
    return "<" + ", ".join(f"i1 {'true' if lane < count else 'false'}" for lane in range(lanes)) + ">"


def _endings(first: str) -> list[str]:
    return [
        "done:",
        "  ret i64 -1",
        "bad_input:",
        f"  %at_input = mul i64 {first}, 2",
        "  ret i64 %at_input",
        "bad_result:",
        f"  %twice = mul i64 {first}, 2",
        "  %at_result = add i64 %twice, 1",
        "  ret i64 %at_result",
    ]


def _described(emit: Emitter, k: int, entry: int) -> str:
    where = emit.let(f"getelementptr i64, ptr %arrays, i64 {k * DESCRIPTION_WIDTH + entry}")
    return emit.let(f"load i64, ptr {where}, align 8")


def _pointer(emit: Emitter, k: int) -> str:
    return emit.let(f"inttoptr i64 {_described(emit, k, 0)} to ptr")


def _scale(emit: Emitter, k: int) -> str:
    return emit.let(f"bitcast i64 {_described(emit, k, 4)} to double")


def batch_driver(
    limited: Sequence[bool],
    n_outputs: int,
    body: str,
    lanes: int,
    prepare: str,
    widths: Sequence[int] | None = None,
) -> str:
    """LLVM text of `i64 batch(ints, floats, work, arrays, start, stop)` for the states start…stop-1, at least `lanes`.

    Returns -1, or the first state of the first tile with a bad number, times two, plus one if it is a result.
    limited: for each input, whether its scale is to be looked at. widths: of all arrays where known beforehand.
    prepare: function of the integers and the tiles to call once before the loop.
    """
    n_inputs = len(limited)
    emit = Emitter(lanes)
    n = n_inputs + n_outputs
    facts = []
    for k in range(n):
        tile = emit.let(f"getelementptr double, ptr %work, i64 {_described(emit, k, 3)}")
        facts.append((_pointer(emit, k), _described(emit, k, 1), _described(emit, k, 2), tile, _scale(emit, k)))
    emit.do(f"call void @{prepare}(ptr %ints, {', '.join(f'ptr {fact[3]}' for fact in facts)})")
    emit.do(f"%last = sub i64 %stop, {lanes}")
    emit.do("br label %tile")
    emit.label("tile")
    emit.do("%first = phi i64 [%start, %entry], [%next, %advance]")
    helpers = []

    def move(numbers: range, inwards: bool) -> str:
        found = emit.integer(0)
        for k in numbers:
            pointer, stride, width, tile, scale = facts[k]
            rows = emit.let(f"getelementptr double, ptr {pointer}, i64 {emit.let(f'mul i64 %first, {stride}')}")
            name = f"move{k}"
            scaled = k < n_inputs and limited[k]
            helpers.append(_tile_move(name, lanes, inwards, None if widths is None else widths[k], scaled))
            found = emit.let(
                f"call {emit.int_type} @{name}(ptr {rows}, i64 {stride}, i64 {width}, ptr {tile}, double {scale}, "
                f"{emit.int_type} {found})"
            )
        return _any_bad(emit, emit, found)

    emit.do(f"br i1 {move(range(n_inputs), True)}, label %bad_input, label %compute")
    emit.label("compute")
    arguments = ", ".join(f"ptr {p}" for p in ("%ints", "%floats", "%work", *(fact[3] for fact in facts)))
    emit.do(f"call void @{body}({arguments})")
    emit.do(f"br i1 {move(range(n_inputs, n), False)}, label %bad_result, label %stored")
    emit.label("stored")
    emit.do("%ended = icmp sge i64 %first, %last")
    emit.do("br i1 %ended, label %done, label %advance")
    emit.label("advance")
    emit.do(f"%following = add i64 %first, {lanes}")
    emit.do("%over = icmp sgt i64 %following, %last")
    emit.do("%next = select i1 %over, i64 %last, i64 %following")
    emit.do("br label %tile")
    return "\n".join(
        [
            _vector_declarations(emit),
            *helpers,
            "define i64 @batch(ptr %ints, ptr %floats, ptr %work, ptr %arrays, i64 %start, i64 %stop) {",
            "entry:",
            *emit.lines,
            *_endings("%first"),
            "}",
        ]
    )


def _tile_move(name: str, lanes: int, inwards: bool, width: int | None, scaled: bool) -> str:
    """LLVM text that copies rows into a tile or back and joins zeros: full blocks, then the rest."""
    emit = Emitter(lanes)
    i = emit.int_type
    rows = ["%data"]
    for _ in range(lanes - 1):
        rows.append(emit.let(f"getelementptr double, ptr {rows[-1]}, i64 %stride"))
    scale = _spread(emit, "%scale") if scaled else None
    full = str(width // lanes * lanes) if width is not None else emit.let(f"and i64 %width, {-lanes}")
    emit.do(f"%some = icmp sgt i64 {full}, 0")
    emit.do("br i1 %some, label %block, label %rest")
    emit.label("block")
    emit.do("%column = phi i64 [0, %entry], [%next, %block]")
    emit.do(f"%before = phi {i} [%zeros, %entry], [%after, %block]")
    emit.do(f"%after = or {i} %before, {_move_block(emit, rows, '%column', scale, inwards, lanes, None)}")
    emit.do(f"%next = add i64 %column, {lanes}")
    emit.do(f"%again = icmp slt i64 %next, {full}")
    emit.do("br i1 %again, label %block, label %rest")
    emit.label("rest")
    emit.do(f"%found = phi {i} [%zeros, %entry], [%after, %block]")
    if width is None:
        emit.do(f"%left = sub i64 %width, {full}")
        emit.do("%any_left = icmp sgt i64 %left, 0")
        emit.do("br i1 %any_left, label %last, label %end")
        emit.label("last")
        moved = _move_block(emit, rows, full, scale, inwards, lanes, _mask(emit, "%left"))
        emit.do(f"ret {i} {emit.let(f'or {i} %found, {moved}')}")
        emit.label("end")
        emit.do(f"ret {i} %found")
    else:
        left = width % lanes
        moved = emit.integer(0)
        if left and left <= lanes // 4:
            moved = _move_columns(emit, rows, int(full), left, scale, inwards)
        elif left:
            moved = _move_block(emit, rows, full, scale, inwards, left, _constant_mask(lanes, left))
        emit.do(f"ret {i} {emit.let(f'or {i} %found, {moved}')}")
    return "\n".join(
        [
            f"define internal {i} @{name}(ptr noalias %data, i64 %stride, i64 %width, ptr noalias %tile, "
            f"double %scale, {i} %zeros) {{",
            "entry:",
            *emit.lines,
            "}",
        ]
    )


def _mask(emit: Emitter, count: str) -> str:
    """Lanes below a count held in a register."""
    i, n = emit.int_type, emit.lanes
    start = emit.let(f"insertelement {i} poison, i64 {count}, i64 0")
    spread = emit.let(f"shufflevector {i} {start}, {i} poison, <{n} x i32> zeroinitializer")
    counting = "<" + ", ".join(f"i64 {lane}" for lane in range(n)) + ">"
    return emit.let(f"icmp slt {i} {counting}, {spread}")


def _move_block(
    emit: Emitter,
    rows: list[str],
    column: str,
    scale: str | None,
    inwards: bool,
    used: int,
    mask: str | None,
) -> str:
    """Move a block of `lanes` columns, of which the first `used` hold numbers (with a run-time mask: all may).

    Return their joined zeros.
    """
    t, b, n = emit.type, emit.bool_type, emit.lanes
    places = [emit.let(f"getelementptr double, ptr {row}, i64 {column}") for row in rows]
    tile = emit.let(f"getelementptr double, ptr %tile, i64 {emit.let(f'mul i64 {column}, {n}')}")
    # Half of a block moves as vectors of half the length: stores behind a mask are slow on some processors.
    half = f"<{n // 2} x double>" if mask is not None and n >= 4 and used == n // 2 else None
    if inwards:
        if mask is None:
            block = [emit.let(f"load {t}, ptr {place}, align 8") for place in places]
        elif half is not None:
            loaded = [emit.let(f"load {half}, ptr {place}, align 8") for place in places]
            order = ", ".join(f"i32 {lane % (n // 2)}" for lane in range(n))
            block = [emit.let(f"shufflevector {half} {part}, {half} poison, <{n} x i32> <{order}>") for part in loaded]
        else:
            load = f"call {t} @llvm.masked.load.{emit.suffix}.p0(ptr align 8 {{}}, {b} {mask}, {t} zeroinitializer)"
            block = [emit.let(load.format(place)) for place in places]
        block = _transposed(emit, block)[:used]
        for lane, register in enumerate(block):
            emit.store(register, tile, lane)
        return _zeros(emit, block, scale)
    block = [emit.load(tile, lane) for lane in range(used)]
    if mask is not None and used == n:
        # Columns beyond the row's end hold whatever was there: they must not count.
        start = [emit.let(f"extractelement {b} {mask}, i64 {lane}") for lane in range(n)]
        block = [
            emit.let(f"select i1 {valid}, {t} {register}, {t} {emit.constant(0.0)}")
            for valid, register in zip(start, block, strict=True)
        ]
    found = _zeros(emit, block, scale)
    block = _transposed(emit, block + [emit.constant(0.0)] * (n - used))
    for place, register in zip(places, block, strict=True):
        if mask is None:
            emit.do(f"store {t} {register}, ptr {place}, align 8")
        elif half is not None:
            order = ", ".join(f"i32 {lane}" for lane in range(n // 2))
            part = emit.let(f"shufflevector {t} {register}, {t} poison, <{n // 2} x i32> <{order}>")
            emit.do(f"store {half} {part}, ptr {place}, align 8")
        else:
            emit.do(f"call void @llvm.masked.store.{emit.suffix}.p0({t} {register}, ptr align 8 {place}, {b} {mask})")
    return found


def _move_columns(emit: Emitter, rows: list[str], first: int, count: int, scale: str | None, inwards: bool) -> str:
    """The same for a few columns number by number, which is cheaper than to transpose a block for them."""
    t = emit.type
    moved = []
    for column in range(first, first + count):
        places = [emit.let(f"getelementptr double, ptr {row}, i64 {column}") for row in rows]
        if inwards:
            register = "poison"
            for lane, place in enumerate(places):
                number = emit.let(f"load double, ptr {place}, align 8")
                register = emit.let(f"insertelement {t} {register}, double {number}, i64 {lane}")
            emit.store(register, "%tile", column)
        else:
            register = emit.load("%tile", column)
            for lane, place in enumerate(places):
                number = emit.let(f"extractelement {t} {register}, i64 {lane}")
                emit.do(f"store double {number}, ptr {place}, align 8")
        moved.append(register)
    return _zeros(emit, moved, scale)


def _zeros(emit: Emitter, registers: list[str], scale: str | None) -> str:
    """The joined bits of 0 x of all registers."""
    found = emit.integer(0)
    for register in registers:
        scaled = register if scale is None else emit.binary("fmul", register, scale)
        zero = emit.binary("fmul", scaled, emit.constant(0.0))
        bits = emit.let(f"bitcast {emit.type} {zero} to {emit.int_type}")
        found = emit.let(f"or {emit.int_type} {found}, {bits}")
    return found


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
