"""How the figures of all papers are made and kept: one width, one palette, a PNG and the same data as CSV.

The CSV has a line per point: panel (title of the axes, or its number), series (label of the curve), kind (line, marker,
text, polygon, cell), x, y, and for cells and texts what stands there. It is read from the drawing itself, so that it
holds what the figure shows, nothing else.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from setsu.errors import InputError
from setsu.reproduce.report import Figure

__all__ = ["COLORS", "GREY", "WIDTH", "below", "finish", "new_figure", "save_figure"]

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444", "#7b2d8b")
GREY = "#888888"
WIDTH = 10.0
"""Inches; at 110 dots an inch the width of a page's column."""
_DOTS = 110


def new_figure(
    height: float = 4.6, rows: int = 1, columns: int = 1, width: float = WIDTH, **options: Any
) -> tuple[Any, Any]:
    """Return a matplotlib figure and its axes."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(width, height), layout="constrained")
    return canvas, canvas.subplots(rows, columns, **options)


def finish(axes: Any, x: str, y: str, **legend: Any) -> None:
    """Name the axes, draw a grid, and a legend where there is something to name."""
    axes.set(xlabel=x, ylabel=y)
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="small", **legend)


def below(axes: Any, columns: int = 6) -> dict[str, Any]:
    """Options of a legend under the axes, where it hides no curve."""
    return {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": columns}


def save_figure(canvas: Any, path: Path, title: str, caption: str) -> Figure:
    """Write the picture and, beside it, its data; `path` ends with .png."""
    data = path.with_suffix(".csv")
    try:
        canvas.savefig(path, dpi=_DOTS)
        with data.open("w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file)
            lines.writerow(("panel", "series", "kind", "x", "y", "value"))
            for number, axes in enumerate(canvas.axes, start=1):
                panel = axes.get_title() or str(number)
                lines.writerows((panel, *point) for point in _points(axes))
    except OSError as problem:
        raise InputError(f"reproduce: cannot write {path} or its data ({problem.strerror})") from None
    return Figure(title, path, caption, data)


Point = tuple[str, str, str, str, str]


def _points(axes: Any) -> Iterator[Point]:
    """Every drawn point of some axes: series, kind, x, y, value."""
    for number, line in enumerate(axes.get_lines(), start=1):
        name = _label(line, f"line {number}")
        kind = "marker" if line.get_linestyle() == "None" else "line"
        xs, ys = (np.asarray(values, dtype=np.float64) for values in (line.get_xdata(), line.get_ydata()))
        for x, y in zip(xs, ys, strict=True):
            yield name, kind, _number(x), _number(y), ""
    for number, collection in enumerate(axes.collections, start=1):
        name = _label(collection, f"polygons {number}")
        for k, path in enumerate(collection.get_paths()):
            for x, y in path.vertices:
                yield name, "polygon", _number(x), _number(y), str(k)
    for number, image in enumerate(axes.images, start=1):
        for (row, column), value in np.ndenumerate(np.asarray(image.get_array())):
            yield _label(image, f"matrix {number}"), "cell", str(column), str(row), _number(value)
    for text in axes.texts:
        if text.get_text():
            x, y = text.get_position() if not hasattr(text, "xy") else text.xy
            yield "label", "text", _number(x), _number(y), text.get_text()


def _label(artist: Any, otherwise: str) -> str:
    name = str(artist.get_label())
    return otherwise if name.startswith("_") or not name else name


def _number(value: Any) -> str:
    return f"{float(value):.9g}"
