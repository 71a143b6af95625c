"""Numbers of one moment as small HTML tables: torques, energies, mass matrix. All names are escaped."""

from __future__ import annotations

import html
import traceback

import numpy as np
from numpy.typing import NDArray

from setsu.errors import SetsuError
from setsu.mechanism import Mechanism
from setsu.studio.colors import hex_color, joint_color
from setsu.studio.state import Moment

__all__ = ["box", "forces_table", "matrix_picture", "reported", "summary_table"]

Floats = NDArray[np.float64]

_TEXT = "font:12px/1.5 system-ui,sans-serif;color:#2d333b"
_BOXES = {"info": ("#eef4fb", "#27567f"), "good": ("#ecf7ee", "#1f6b33"), "error": ("#fdeeee", "#9c1c24")}
MOST_MATRIX = 60


def box(kind: str, text: str) -> str:
    """Return a message box: kind "info", "good" or "error"; the text's lines are kept."""
    back, front = _BOXES[kind]
    return (
        f'<div class="setsu-message setsu-{kind}" role="status" style="{_TEXT};background:{back};color:{front};'
        "border-radius:5px;padding:6px 9px;margin:4px 10px;white-space:pre-wrap;overflow-wrap:anywhere;"
        f'max-height:180px;overflow-y:auto">{html.escape(text)}</div>'
    )


def reported(problem: Exception) -> str:
    """Return what went wrong, in words; the terminal keeps what a report needs of an error that is not the user's."""
    if isinstance(problem, SetsuError):
        return str(problem)
    traceback.print_exception(problem)
    return f"The studio met an error of its own: {type(problem).__name__}: {problem}"


def summary_table(mechanism: Mechanism, moment: Moment) -> str:
    """Return time, energies and mass."""
    rows = [
        ("time", f"{moment.time:.3f} s"),
        ("kinetic energy", f"{moment.kinetic_energy:.4f} J"),
        ("potential energy", f"{moment.potential_energy:.4f} J"),
        ("energy", f"{moment.kinetic_energy + moment.potential_energy:.4f} J"),
        ("total mass", f"{mechanism.total_mass:.4g} kg"),
    ]
    body = "".join(f'<tr><td>{name}</td><td class="n">{value}</td></tr>' for name, value in rows)
    return _table("setsu-summary", body)


def forces_table(mechanism: Mechanism, moment: Moment) -> str:
    """Return per joint its torque and the size of the force and moment it transmits."""
    m = mechanism
    head = "<tr><th></th><th>joint</th><th>torque</th><th>|force|</th><th>|moment|</th></tr>"
    units = '<tr class="u"><td></td><td></td><td>N m or N</td><td>N</td><td>N m</td></tr>'
    force = np.linalg.norm(moment.joint_wrenches[:, :3], axis=1)
    turn = np.linalg.norm(moment.joint_wrenches[:, 3:], axis=1)
    rows = []
    for k, name in enumerate(m.joint_names):
        torque = moment.torque[m.v_slices[k]]
        # Three numbers a line: the columns beside have to stay in sight.
        rows_of_three = [" ".join(f"{entry:.2f}" for entry in torque[i : i + 3]) for i in range(0, len(torque), 3)]
        shown = f"{torque[0]:.3f}" if len(torque) == 1 else "<br>".join(rows_of_three)
        mark = f'<i style="display:inline-block;width:9px;height:9px;background:{hex_color(joint_color(k))}"></i>'
        rows.append(
            f"<tr><td>{mark}</td><td>{html.escape(name[:28])}</td>"
            f'<td class="n">{shown}</td><td class="n">{force[k]:.2f}</td><td class="n">{turn[k]:.2f}</td></tr>'
        )
    return _table("setsu-forces", head + units + "".join(rows))


def matrix_picture(matrix: Floats, names: tuple[str, ...]) -> str:
    """Return the mass matrix as coloured squares: blue positive, red negative, darker is larger, by logarithm."""
    n = len(matrix)
    if n > MOST_MATRIX:
        return box("info", f"The mass matrix has {n} rows; it is drawn up to {MOST_MATRIX}.")
    largest = max(float(np.abs(matrix).max()), 1e-300)
    cell = 240 / n
    squares = []
    for i in range(n):
        for j in range(n):
            # What is left of a sum that should vanish counts as zero.
            value = float(matrix[i, j]) if abs(matrix[i, j]) > 1e-14 * largest else 0.0
            depth = 0.0 if value == 0.0 else max(0.0, 1.0 + np.log10(abs(value) / largest) / 4.0)
            tone = round(250 - 190 * depth)
            color = f"rgb({tone},{min(250, tone + 25)},250)" if value >= 0.0 else f"rgb(250,{tone},{tone})"
            note = html.escape(f"{names[i]} / {names[j]}: {value:.4g} kg m², kg m or kg")
            squares.append(
                f'<rect x="{j * cell:.2f}" y="{i * cell:.2f}" width="{cell - 0.6:.2f}" height="{cell - 0.6:.2f}" '
                f'fill="{color}"><title>{note}</title></rect>'
            )
            if n <= 7:
                squares.append(
                    f'<text x="{(j + 0.5) * cell:.1f}" y="{(i + 0.5) * cell + 3:.1f}" text-anchor="middle" '
                    f'font-size="{9 if n > 4 else 11}" fill="{"#fff" if depth > 0.75 else "#333"}" '
                    f'pointer-events="none">{value:.{2 if n > 4 else 3}g}</text>'
                )
    condition = float(np.linalg.cond(matrix))
    text = f"{n} x {n}, kg m² (rotation) or kg (translation); condition {condition:.3g}"
    return (
        f'<div style="{_TEXT};padding:2px 12px 8px"><b>Mass matrix</b><br>'
        f'<svg class="setsu-matrix" viewBox="0 0 240 240" style="width:min(100%,260px);display:block;margin:4px 0;'
        f'font-family:system-ui,sans-serif">{"".join(squares)}</svg><span style="color:#6b737c">{text}</span></div>'
    )


def _table(name: str, rows: str) -> str:
    style = (
        f".{name}{{{_TEXT};border-collapse:collapse;width:100%}}.{name} td,.{name} th{{padding:1px 6px;text-align:left;"
        f"font-weight:400}}.{name} .n{{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}}"
        f".{name} th,.{name} .u td{{color:#6b737c;text-align:right;font-size:11px}}"
        f".{name} th:nth-child(2){{text-align:left}}"
    )
    table = f'<table class="{name}">{rows}</table>'
    return f'<style>{style}</style><div style="padding:2px 8px;max-height:330px;overflow:auto">{table}</div>'
