"""`setsu reproduce`: published results, computed again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from setsu.command_line.output import INTERRUPTED, ProgressBar, console, print_json

__all__ = ["reproduce"]


def reproduce(paper: str = "all", *, out: Path = Path("out/reproduce"), jobs: int = 0, json: bool = False) -> int:
    """Compute the tables and figures of published papers again, beside what is printed.

    Writes one folder per paper with its figures and a page, and a page over all. Ctrl-C keeps the papers that are
    complete. Exit code 1: a number differs from the print without a known reason; 130: interrupted.

    Parameters
    ----------
    paper
        Key of a paper, or all: nishiguchi2014, sugihara2002, kawasaki1995, isobe2003, yamamoto2022.
    out
        Folder for pages and figures.
    jobs
        Processes that compute at once; 0 for as many as processors.
    json
        Print JSON instead of tables.
    """
    from setsu.reproduce import PAPERS
    from setsu.reproduce import reproduce as compute

    reports: list[Any] = []
    interrupted = False
    try:
        with ProgressBar("computing") as progress:
            compute([paper], out, progress, reports.append, jobs)
    except KeyboardInterrupt:
        interrupted = True
    reports.sort(key=lambda report: list(PAPERS).index(report.key))
    if json:
        print_json([_as_data(report) for report in reports])
    else:
        for report in reports:
            _show(report)
        if reports:
            print("written:", out / "index.html")
    if interrupted:
        done = ", ".join(report.key for report in reports) or "no paper"
        print(f"setsu: interrupted; complete: {done}", file=sys.stderr)
        return INTERRUPTED
    return 1 if any(report.failures for report in reports) else 0


def _show(report: Any) -> None:
    from rich.padding import Padding
    from rich.table import Table

    from setsu.reproduce.report import VERDICTS

    screen = console()
    screen.print(report.title, style="bold", markup=False)
    for table in report.tables:
        shown = Table(title=table.title, title_justify="left", box=None, pad_edge=False)
        for head in (*table.heads, ""):
            shown.add_column(head, justify="left" if head in ("quantity", "unit", "") else "right")
        for row in table.rows:
            shown.add_row(*table.cells(row), row.verdict)
        screen.print(shown)
        for _, reason in table.reasons:
            screen.print(Padding(reason, (0, 0, 0, 2)), markup=False)
        screen.print()
    counts = ", ".join(f"{report.count(verdict)} {verdict}" for verdict in VERDICTS if report.count(verdict))
    screen.print(f"{report.key}: {counts}; {len(report.figures)} figures; {report.seconds:.1f} s\n", markup=False)


def _as_data(report: Any) -> dict[str, Any]:
    return {
        "key": report.key,
        "title": report.title,
        "notes": report.notes,
        "seconds": report.seconds,
        "figures": [str(figure.path) for figure in report.figures],
        "data": [str(figure.data) for figure in report.figures],
        "tables": [
            {
                "title": table.title,
                "expected_name": table.expected_name,
                "rows": [_row(table, row) for row in table.rows],
            }
            for table in report.tables
        ],
    }


def _row(table: Any, row: Any) -> dict[str, Any]:
    """relation, expected and tolerance say what was asked; printed repeats the value where the paper prints it."""
    asked = row.expected
    return {
        "quantity": row.quantity,
        "unit": row.unit,
        "relation": None if asked is None else asked.relation,
        "expected": None if asked is None else asked.value,
        "tolerance": None if asked is None else asked.tolerance,
        "printed": asked.value if asked is not None and table.expected_name == "printed" else None,
        "computed": row.computed,
        "difference": row.difference,
        "others": dict(zip(table.other_names, row.others, strict=False)),
        "verdict": row.verdict,
        "reason": row.reason,
    }
