"""Curves over time as SVG: units on both axes, one colour per joint, a cursor that all plots share.

The cursor's place is one CSS variable of the page, so moving it sends one number, not the plots. The same pictures go
into the exported page.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.studio.colors import Color, hex_color

__all__ = ["CURSOR_VARIABLE", "Curve", "Plot", "cursor_style", "legend_html", "plot_svg", "ticks"]

Floats = NDArray[np.float64]

CURSOR_VARIABLE = "--setsu-cursor"
MOST_CURVES = 12
WIDTH, HEIGHT = 420, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 16, 24, 34
_POINTS = 320


@dataclass(frozen=True)
class Curve:
    """One line: label, colour, values (T,); dashed for the second of two quantities that share a colour."""

    label: str
    color: Color
    values: Floats
    dashed: bool = False


@dataclass(frozen=True)
class Plot:
    """Curves over one time axis. remark: why there is nothing, or what was left out."""

    title: str
    unit: str
    curves: tuple[Curve, ...]
    remark: str = ""

    def thinned(self) -> Plot:
        """Return the plot with at most MOST_CURVES curves, those with the largest range, and a remark that says so."""
        if len(self.curves) <= MOST_CURVES:
            return self
        order = sorted(range(len(self.curves)), key=lambda k: -float(np.ptp(self.curves[k].values)))[:MOST_CURVES]
        remark = f"{MOST_CURVES} of {len(self.curves)} curves, those with the largest range"
        return Plot(self.title, self.unit, tuple(self.curves[k] for k in sorted(order)), remark)


def cursor_style(part: float) -> str:
    """Return the style element that puts the cursor of all plots at a part (0 to 1) of the time."""
    return f"<style>:root{{{CURSOR_VARIABLE}:{min(max(part, 0.0), 1.0):.5f}}}</style>"


def plot_svg(time: Floats, plot: Plot) -> str:
    """Return an SVG picture of a plot; time (T,) s."""
    inner_width, inner_height = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    title = html.escape(f"{plot.title} ({plot.unit})")
    parts = [
        f'<svg class="setsu-plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}" '
        'style="width:100%;display:block;font:11px system-ui,sans-serif;overflow:hidden" fill="#3a4048">',
        f'<text x="{_LEFT}" y="14" font-weight="600" font-size="12">{title}</text>',
    ]
    shown = [curve for curve in plot.curves if np.isfinite(curve.values).any()]
    if not shown or len(time) < 2:
        text = html.escape(plot.remark or "nothing recorded")
        parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT / 2}" text-anchor="middle" fill="#7a828c">{text}</text></svg>')
        return "".join(parts)
    low = min(float(np.nanmin(curve.values)) for curve in shown)
    high = max(float(np.nanmax(curve.values)) for curve in shown)
    if high - low < 1e-9 * max(1.0, abs(high), abs(low)):
        low, high = low - 0.5 * max(1.0, abs(low)), high + 0.5 * max(1.0, abs(high))
    pad = 0.05 * (high - low)
    low, high = low - pad, high + pad
    start, end = float(time[0]), float(time[-1])
    x_of = lambda t: _LEFT + (t - start) / (end - start) * inner_width  # noqa: E731
    y_of = lambda y: _TOP + (high - y) / (high - low) * inner_height  # noqa: E731
    for tick in ticks(low, high, 4):
        y = y_of(tick)
        parts.append(f'<path d="M{_LEFT} {y:.1f}h{inner_width}" stroke="#e3e6ea"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{y + 3.5:.1f}" text-anchor="end">{_number(tick, high - low)}</text>')
    for tick in ticks(start, end, 6):
        x = x_of(tick)
        parts.append(f'<path d="M{x:.1f} {_TOP}v{inner_height}" stroke="#eef0f2"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{HEIGHT - _BOTTOM + 13}" text-anchor="middle">{_number(tick, end - start)}</text>'
        )
    parts.append(f'<text x="{_LEFT + inner_width / 2}" y="{HEIGHT - 5}" text-anchor="middle">time (s)</text>')
    parts.append(
        f'<rect x="{_LEFT}" y="{_TOP}" width="{inner_width}" height="{inner_height}" fill="none" stroke="#b8bec6"/>'
    )
    for curve in shown:
        dash = ' stroke-dasharray="5 3"' if curve.dashed else ""
        path = _path(time, curve.values, x_of, y_of)
        parts.append(f'<path d="{path}" fill="none" stroke="{hex_color(curve.color)}" stroke-width="1.6"{dash}/>')
    parts.append(
        f'<path d="M{_LEFT} {_TOP}v{inner_height}" stroke="#111" stroke-width="1.2" '
        f'style="transform:translateX(calc(var({CURSOR_VARIABLE},0)*{inner_width}px))"/></svg>'
    )
    return "".join(parts)


def legend_html(plot: Plot, index: int) -> str:
    """Return the names of the curves with their values at one recorded time."""
    cells = []
    for curve in plot.curves:
        line = f"border-top:2.5px {'dashed' if curve.dashed else 'solid'} {hex_color(curve.color)}"
        value = float(curve.values[index])
        text = f"{value:.4g}" if math.isfinite(value) else "–"
        cells.append(
            f'<span style="white-space:nowrap;margin-right:10px"><i style="display:inline-block;width:14px;{line};'
            f'vertical-align:middle;margin-right:4px"></i>{html.escape(curve.label)} '
            f'<b style="font-variant-numeric:tabular-nums">{text}</b></span>'
        )
    remark = f'<div style="color:#7a828c">{html.escape(plot.remark)}</div>' if plot.remark and plot.curves else ""
    style = "font:11px/1.6 system-ui,sans-serif;color:#3a4048;padding:0 8px 8px 14px"
    return f'<div style="{style}">{"".join(cells)}{remark}</div>'


def ticks(low: float, high: float, count: int) -> list[float]:
    """Return round numbers between low and high, about `count` of them.

    >>> ticks(0.0, 1.0, 5)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = (high - low) / max(count, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= 0.7 * rough)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) + 0.0 for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _number(value: float, span: float) -> str:
    digits = max(0, 1 - math.floor(math.log10(span)))
    return f"{value:.3g}" if abs(value) >= 1e5 or digits > 5 else f"{value:.{digits}f}"


def _path(time: Floats, values: Floats, x_of: object, y_of: object) -> str:
    """SVG path of a curve; long ones keep the extremes of every piece, gaps are left where there are no numbers."""
    pieces: list[str] = []
    pen = "M"
    for k in _kept(values):
        if not math.isfinite(values[k]):
            pen = "M"
            continue
        pieces.append(f"{pen}{x_of(time[k]):.1f} {y_of(values[k]):.1f}")  # type: ignore[operator]
        pen = "L"
    return "".join(pieces)


def _kept(values: Floats) -> Sequence[int]:
    count = len(values)
    if count <= 2 * _POINTS:
        return range(count)
    kept = {0, count - 1}
    for piece in np.array_split(np.arange(count), _POINTS):
        numbers = values[piece]
        if np.isfinite(numbers).any():
            kept.add(int(piece[np.nanargmin(numbers)]))
            kept.add(int(piece[np.nanargmax(numbers)]))
    return sorted(kept)
