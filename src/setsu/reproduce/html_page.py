"""Reports as HTML pages that need nothing else: figures inside, no script, no network."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path

from setsu.errors import InputError
from setsu.reproduce.report import VERDICTS, Figure, Report, Table

__all__ = ["write_index", "write_page"]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; } h3 { font-size: 1.05rem; margin-top: 1.8rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.8rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left; }
th { vertical-align: bottom; } td.words { text-align: left; white-space: normal; }
.agrees { color: #176d2f; } .explained { color: #8a5a00; } .unexplained { color: #a03c00; }
.differs { color: #b00020; font-weight: bold; }
figure { margin: 1.5rem 0; } img { width: 100%; height: auto; border: 1px solid #eee; }
figcaption { color: #555; font-size: 0.92rem; }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd; } th, td { border-color: #444; }
  .agrees { color: #7bd88f; } .explained { color: #f0c060; } .unexplained { color: #ff9d5c; }
  .differs { color: #ff7b8a; } figcaption { color: #aaa; } }
"""


def write_page(report: Report, path: Path) -> None:
    """Write one report."""
    parts = [
        '<p><a href="../index.html">All papers</a></p>',
        f"<h1>{escape(report.title)}</h1>",
        f"<p>{escape(report.source)}</p>",
        f"<p>{_summary(report)} Computed in {_duration(report.seconds)}.</p>",
    ]
    parts += [f"<p>{escape(note)}</p>" for note in report.notes]
    parts.append("<h2>Tables</h2>")
    parts += [_table(table) for table in report.tables]
    parts.append("<h2>Figures</h2>")
    for figure in report.figures:
        parts.append(
            f"<figure><h3>{escape(figure.title)}</h3>{_image(figure)}"
            f'<figcaption>{escape(figure.caption)} <a href="{escape(figure.data.name)}" download>Data (CSV)</a>'
            "</figcaption></figure>"
        )
    _write(path, report.title, parts)


def write_index(reports: Sequence[Report], path: Path) -> None:
    """Write the page over all reports, with links to theirs."""
    rows = [
        f'<tr><td class="words"><a href="{escape(report.key)}/index.html">{escape(report.title)}</a></td>'
        + "".join(
            f'<td class="{verdict if report.count(verdict) else ""}">{report.count(verdict)}</td>'
            for verdict in VERDICTS
        )
        + f"<td>{len(report.figures)}</td><td>{_duration(report.seconds)}</td></tr>"
        for report in reports
    ]
    names = ("paper", "agree", "given", "explained", "unexplained", "differ", "figures", "time taken")
    heads = "".join(f"<th>{name}</th>" for name in names)
    total = _duration(sum(report.seconds for report in reports))
    parts = [
        "<h1>Published results, computed again</h1>",
        "<p>Tables and figures of these papers, computed by this library and set beside the print. Every row shows its "
        "relation and tolerance: a printed number agrees within half a unit of its last digit, a law within the "
        "tolerance beside it, an inequality when it holds. Given rows are inputs. A row is explained when it deviates "
        "and the page shows why, unexplained when it deviates by no more than stated and nobody knows why; it differs "
        f"otherwise, and the command then ends with exit code 1. The papers took {total} of computing in all.</p>",
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>',
    ]
    for report in reports:
        if report.figures:
            figure = report.figures[0]
            parts.append(
                f'<h2><a href="{escape(report.key)}/index.html">{escape(report.title)}</a></h2>'
                f"<p>{escape(report.source)}</p>{_image(figure)}"
            )
    _write(path, "Published results, computed again", parts)


_WORDS = {
    "agrees": "agree",
    "given": "given",
    "explained": "deviate for a reason shown",
    "unexplained": "deviate without a known reason, within a stated bound",
    "differs": "differ",
}


def _summary(report: Report) -> str:
    counts = [(report.count(verdict), verdict) for verdict in VERDICTS]
    listed = [f'<span class="{verdict}">{count} {_WORDS[verdict]}</span>' for count, verdict in counts if count]
    return "Numbers: " + ", ".join(listed) + "."


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {seconds % 60:.0f} s"


def _image(figure: Figure) -> str:
    data = base64.b64encode(figure.path.read_bytes()).decode("ascii")
    return f'<img alt="{escape(figure.title)}" src="data:image/png;base64,{data}">'


def _table(table: Table) -> str:
    rows = []
    for row in table.rows:
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in table.cells(row))
        rows.append(f'<tr>{cells}<td class="{row.verdict}">{row.verdict}</td></tr>')
    head = "".join(f"<th>{escape(name)}</th>" for name in (*table.heads, ""))
    reasons = "".join(f'<p class="{verdict}">{escape(reason)}</p>' for verdict, reason in table.reasons)
    return (
        f'<h3>{escape(table.title)}</h3><div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>{reasons}"
    )


def _write(path: Path, title: str, parts: Sequence[str]) -> None:
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        + "\n".join(parts)
        + "</body></html>\n"
    )
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as problem:
        raise InputError(f"reproduce: cannot write {path} ({problem.strerror})") from None
