"""How the figures of all papers are made and kept: one width, one palette, a PNG and the same data as CSV.

The CSV has a line per point: panel (title of the axes, or its number), series (label of the curve), kind (line, marker,
text, polygon, cell), x, y, and for cells and texts what stands there. It is read from the drawing itself, so that it
holds what the figure shows, nothing else.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from setsu.errors import InputError
from setsu.reproduce.report import Figure

__all__ = ["COLORS", "GREY", "WIDTH", "below", "finish", "new_figure", "place_labels", "save_figure"]

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


def place_labels(canvas: Any, axes: Any, margin: float = 2.0) -> None:
    """Move the labels of arrows and links to where they cover nothing: neither each other nor a line or an arrow.

    A label is an annotation with a text and an offset in points; the nearest free place around its own point is
    taken, or, where none is free, the one that covers least. Call it when everything is drawn.
    """
    canvas.draw_without_rendering()
    dots = canvas.dpi / 72.0
    covered = np.concatenate([_dotted(path) for path in _drawn(axes)])
    frame = axes.get_window_extent()
    for label in axes.texts:
        if not (label.get_text() and hasattr(label, "xyann")):
            continue
        label.set(ha="center", va="center")
        box = label.get_window_extent()
        half = 0.5 * np.array([box.width, box.height]) + margin * dots
        anchor = axes.transData.transform(label.xy)
        best = None
        for distance in np.arange(1.0, 4.0, 0.25):
            for turn in np.arange(0.0, 2.0 * np.pi, np.pi / 12.0):
                centre = anchor + distance * np.array([np.cos(turn) * half[0], np.sin(turn) * half[1]])
                outside = np.any(centre - half < frame.min) or np.any(centre + half > frame.max)
                hidden = int(np.all(np.abs(covered - centre) < half, axis=1).sum())
                cost = (hidden + 1000 * outside, distance)
                if best is None or cost < best[0]:
                    best = cost, centre
        assert best is not None
        label.xyann = tuple((best[1] - anchor) / dots)
        corners = best[1] + half * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])
        covered = np.concatenate([covered, _dotted(corners), best[1][None]])


def _drawn(axes: Any) -> Iterator[np.ndarray]:
    """Lines and arrows of some axes as polylines, pixels."""
    for line in axes.get_lines():
        yield line.get_transform().transform(line.get_xydata())
    for text in axes.texts:
        if getattr(text, "arrow_patch", None) is not None:
            yield axes.transData.transform([text.xyann, text.xy])


def _dotted(polyline: np.ndarray) -> np.ndarray:
    """Points along a polyline, about one per two pixels."""
    legs = [np.linspace(a, b, max(2, int(np.linalg.norm(b - a) / 2.0))) for a, b in pairwise(polyline)]
    return np.concatenate(legs) if legs else polyline


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
