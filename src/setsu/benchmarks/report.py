"""A study as tables for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from setsu.benchmarks.dynamics import OURS, Row, Study
from setsu.benchmarks.goals import goals
from setsu.benchmarks.ratios import Ratio, ratios
from setsu.native.shipped_code import REFRESH

__all__ = ["as_json", "tables", "write_json"]


def as_json(study: Study) -> dict[str, Any]:
    """Everything in the study, the ratios and the goals, as plain lists and dictionaries."""
    return {
        **asdict(study),
        "ratios": [{**asdict(entry), "ratio": round(entry.ratio, 3)} for entry in ratios(study)],
        "goals": [{**asdict(entry), "met": entry.met} for entry in goals(study)],
    }


def write_json(study: Study, path: Path) -> None:
    """Write the study to a file."""
    import msgspec

    path.write_bytes(msgspec.json.format(msgspec.json.encode(as_json(study)), indent=1))


def tables(study: Study) -> Group:
    """All tables and remarks, to print with rich; each fits 100 columns."""
    parts: list[Any] = [Text(str(study.machine)), Text(", ".join(f"{k} {v}" for k, v in study.versions.items()))]
    keys = dict.fromkeys((row.quantity, row.mode, row.threads) for row in study.rows if row.engine == OURS)
    for key in sorted(keys, key=lambda key: (key[1], key[2])):
        parts += [Text(), _table(study, *key)]
    if any(_thread_pairs(study.rows)):
        parts += [Text(), _threads_table(study)]
    if goals(study):
        parts += [Text(), _goals_table(study)]
    if study.startup:
        parts += [Text(), _startup_table(study)]
    parts += [Text(line) for line in _remarks(study)]
    return Group(*parts)


def _table(study: Study, quantity: str, mode: str, threads: int) -> Group:
    """One quantity in one mode: a row per mechanism and way of ours, a column per peer."""
    key = (quantity, mode, threads)
    entries = [entry for entry in ratios(study) if (entry.quantity, entry.mode, entry.threads) == key]
    peers = list(dict.fromkeys(entry.peer for entry in entries))
    found = {(entry.subject, entry.variant, entry.peer): _cell(entry) for entry in entries}
    table = Table()
    table.add_column("mechanism", no_wrap=True)
    table.add_column("Setsu", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    for peer in peers:
        table.add_column(peer, justify="right", no_wrap=True)
    for row in study.rows:
        if row.engine == OURS and (row.quantity, row.mode, row.threads) == key:
            label = row.subject if row.subject.endswith(f"_{row.nv}") else f"{row.subject} ({row.nv})"
            cells = [found.get((row.subject, row.variant, peer), "–") for peer in peers]
            table.add_row(label, row.variant, _time(row.nanoseconds), *cells)
    title = f"{quantity.replace('_', ' ')}, {'one call from Python' if mode == 'single' else 'batch'}"
    title += "" if threads == 1 else f", {threads} threads"
    return Group(Text(f"{title}: time per state" + (", × = peer / ours" if peers else "")), table)


def _cell(entry: Ratio) -> str:
    """A peer's time and the ratio; a star where it has no batch call and the single one is repeated."""
    star = "*" if entry.mode != entry.peer_mode else ""
    return f"{_time(entry.peer_nanoseconds)}{star} ×{entry.ratio:.3g}"


def _threads_table(study: Study) -> Group:
    """How much two threads gain over one, for us and for whoever has a batch call."""
    table = Table()
    for name in ("mechanism", "quantity", "engine", "way"):
        table.add_column(name)
    table.add_column("gain", justify="right")
    for one, two in _thread_pairs(study.rows):
        table.add_row(
            one.subject,
            one.quantity.replace("_", " "),
            one.engine,
            one.variant,
            f"{one.nanoseconds / two.nanoseconds:.2f}",
        )
    return Group(Text("two threads: time on one / time on two"), table)


def _goals_table(study: Study) -> Group:
    """What the library is built for, and what it reached here."""
    table = Table()
    table.add_column("goal")
    for title in ("wanted", "reached"):
        table.add_column(title, justify="right")
    table.add_column("")
    for entry in goals(study):
        sign = "≤" if entry.at_most else "≥"
        verdict = Text("met", style="green") if entry.met else Text("missed", style="yellow")
        table.add_row(entry.what, f"{sign} {entry.wanted:g}", f"{entry.reached:.3g}", verdict)
    return Group(Text("goals"), table)


def _startup_table(study: Study) -> Group:
    """Waits before the first result."""
    table = Table()
    table.add_column("what")
    for title in ("time", "goal"):
        table.add_column(title, justify="right")
    for entry in study.startup:
        found = "stale" if entry.fallback else _time(entry.seconds * 1e9)
        table.add_row(entry.what, found, f"< {_time(entry.goal * 1e9)}")
    return Group(Text("before the first result"), table)


def _thread_pairs(rows: tuple[Row, ...]) -> Iterator[tuple[Row, Row]]:
    def key(row: Row) -> tuple[str, str, str, str, str]:
        return (row.subject, row.quantity, row.mode, row.engine, row.variant)

    on_two = {key(row): row for row in rows if row.threads == 2}
    for row in rows:
        if row.threads == 1 and key(row) in on_two and row.group == "robot" and row.quantity.endswith("_dynamics"):
            yield row, on_two[key(row)]


def _remarks(study: Study) -> list[str]:
    """What was not measured, what did not agree, and how well the rest did."""
    lines = []
    if any(entry.mode != entry.peer_mode for entry in ratios(study)):
        lines.append("* has no batch call for this: time of one call from Python")
    lines += [f"missing: {name}: {reason}" for name, reason in study.missing.items()]
    for engine, reason in dict.fromkeys((entry.engine, entry.reason) for entry in study.left_out):
        subjects = [entry.subject for entry in study.left_out if (entry.engine, entry.reason) == (engine, reason)]
        lines.append(f"left out: {engine} on {', '.join(subjects)}: {reason}")
    lines += [f"DISAGREES: {text}" for text in study.disagreements]
    lines += [
        f"STALE: {entry.what}: the shipped code was not used, Numba was measured instead; run `{REFRESH}`"
        for entry in study.startup
        if entry.fallback
    ]
    if study.rows:
        worst = max(study.rows, key=lambda row: row.difference)
        lines.append(
            f"largest difference between engines: {worst.difference:.1e} "
            f"({worst.subject}, {worst.quantity}, {worst.engine} {worst.variant})"
        )
    if study.machine.busy:
        lines.append(
            f"before the run {study.machine.load:.1f} of {study.machine.cores} cores were busy with other programs: "
            "expect gains by threads, and all times, to be worse than they are"
        )
    if not study.machine.avx512:
        lines.append("this processor has no AVX-512: batches run with half as many lanes as they could")
    return lines


def _time(nanoseconds: float) -> str:
    """A time with three digits and its unit."""
    for unit, scale in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6)):
        if nanoseconds < 999.5 * scale:
            return f"{nanoseconds / scale:.3g} {unit}"
    return f"{nanoseconds * 1e-9:.3g} s"
