"""An identification as a page: measured against predicted torque per joint, residuals, parameters with ±σ."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.identification.fit import Fit, Validation

__all__ = ["write_report"]

Floats = NDArray[np.float64]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; } .scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; } .weak { color: #888; }
figure { margin: 1.5rem 0; } img { max-width: 100%; height: auto; border: 1px solid #eee; }
figcaption { color: #555; font-size: 0.92rem; }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd; } th, td { border-color: #444; }
  figcaption { color: #aaa; } }
"""
_MOST_POINTS = 3000


def write_report(fit: Fit, folder: Path, validation: Validation | None = None) -> Path:
    """Write report.html, torques.png, residuals.png, parameters.png (and validation.png); return the page's path."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("save_report needs matplotlib: pip install setsu[plots]") from None
    predicted = fit.predicted
    figures = {
        "torques": _torques(Figure, fit, fit.motion.time, fit.measured, predicted, fit.r2),
        "residuals": _residuals(Figure, fit, predicted),
        "parameters": _parameters(Figure, fit),
    }
    if validation is not None:
        v = validation
        figures["validation"] = _torques(Figure, fit, v.time, v.measured, v.predicted, v.r2)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            figure.savefig(folder / f"{name}.png", dpi=110)
        page = folder / "report.html"
        page.write_text(_page(fit, validation, folder), encoding="utf-8")
    except OSError as problem:
        raise InputError(f"save_report: cannot write into {folder} ({problem.strerror or problem})") from None
    return page


def _grid(Figure: Any, rows: int) -> tuple[Any, Any]:
    columns = 1 if rows < 3 else 2
    high = -(-rows // columns)
    figure = Figure(figsize=(11.0, 2.1 * high + 0.6), layout="constrained")
    axes = np.atleast_1d(figure.subplots(high, columns, sharex=True, squeeze=False)).ravel()
    for spare in axes[rows:]:
        spare.set_visible(False)
    # With a spare place below it, the last panel of a column carries the time axis itself.
    for shown in axes[max(0, rows - columns) : rows]:
        shown.set_xlabel("time (s)")
        shown.tick_params(labelbottom=True)
    return figure, axes[:rows]


def _unit(fit: Fit, row: int) -> str:
    travels = [travels for body in fit.model.mechanism.moving for travels in body.joint.travels]
    return "N" if travels[int(fit.model.freedom.free[row])] else "N m"


def _torques(Figure: Any, fit: Fit, time: Floats, measured: Floats, predicted: Floats, r2: Floats) -> Any:
    figure, axes = _grid(Figure, measured.shape[1])
    every = max(1, len(time) // _MOST_POINTS)
    for j, panel in enumerate(axes):
        panel.plot(time[::every], measured[::every, j], color="#9aa7b5", linewidth=1.6, label="measured")
        panel.plot(time[::every], predicted[::every, j], color="#c2410c", linewidth=0.9, label="predicted")
        panel.set_title(f"{fit.model.rows[j]}: R² = {r2[j]:.4f}", fontsize="medium")
        panel.set_ylabel(f"torque ({_unit(fit, j)})" if _unit(fit, j) == "N m" else "force (N)")
        panel.grid(alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False)
    return figure


def _residuals(Figure: Any, fit: Fit, predicted: Floats) -> Any:
    rest = fit.measured - predicted
    figure, axes = _grid(Figure, rest.shape[1])
    every = max(1, len(rest) // _MOST_POINTS)
    for j, panel in enumerate(axes):
        panel.plot(fit.motion.time[::every], rest[::every, j], ".", color="#33658a", markersize=1.5)
        panel.axhspan(-2.0 * fit.noise[j], 2.0 * fit.noise[j], color="#33658a", alpha=0.12)
        panel.set_title(f"{fit.model.rows[j]}: σ = {fit.noise[j]:.3g} {_unit(fit, j)}, band ±2σ", fontsize="medium")
        panel.set_ylabel(f"residual ({_unit(fit, j)})")
        panel.grid(alpha=0.3)
    return figure


def _parameters(Figure: Any, fit: Fit) -> Any:
    """Each parameter less the model's value, in its own standard deviations."""
    count = len(fit.names)
    away = (fit.parameters - fit.prior) / np.maximum(fit.std, 1e-300)
    figure = Figure(figsize=(8.5, 0.2 * count + 1.4), layout="constrained")
    panel = figure.add_subplot()
    places = np.arange(count)
    panel.axvspan(-3.0, 3.0, color="#2a9d8f", alpha=0.12, label="within 3σ of the model")
    colors = np.where(fit.essential, "#c2410c", "#9aa7b5").tolist()
    panel.hlines(places, away - 1.0, away + 1.0, color=colors, linewidth=1.4)
    panel.scatter(away, places, color=colors, s=14, zorder=3)
    reach = 1.1 * (float(np.abs(away).max()) + 1.0)
    if reach > 20.0:
        panel.set_xscale("symlog", linthresh=5.0)
        decades = [10.0**k for k in range(1, 1 + int(np.log10(reach)))]
        ticks = [*(-tick for tick in reversed(decades)), -3.0, 0.0, 3.0, *decades]
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.minorticks_off()
    panel.set_xlim(-max(reach, 4.0), max(reach, 4.0))
    panel.set_yticks(places, fit.model.labels, fontsize="x-small")
    panel.set_ylim(count - 0.5, -0.5)
    panel.set_xlabel("(identified - model) / σ; grey: not distinguishable from zero")
    panel.grid(alpha=0.3)
    panel.legend(loc="upper center", bbox_to_anchor=(0.5, 1.0 + 2.2 / count), frameon=False)
    return figure


def _page(fit: Fit, validation: Validation | None, folder: Path) -> str:
    def picture(name: str, caption: str) -> str:
        text = base64.b64encode((folder / f"{name}.png").read_bytes()).decode("ascii")
        return (
            f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{text}">'
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )

    name = fit.model.mechanism.name
    consistent = fit.physically_consistent
    least = float(np.linalg.eigvalsh(consistent.pseudo_inertias).min())
    parts = [
        f"<h1>Identification of {escape(name)}</h1>",
        f"<p>{escape(fit.source)}: {len(fit.motion.time)} samples used, {fit.motion.time[0]:.4g} to "
        f"{fit.motion.time[-1]:.4g} s; spline knots {fit.motion.knot_distance:.3g} s apart. "
        f"{len(fit.names)} base parameters, {int(fit.essential.sum())} of them essential; condition number of the "
        f"scaled regressor {fit.condition_number:.3g}.</p>",
        "<h2>Torques</h2>",
        _joint_table(fit, validation),
        picture("torques", "Measured torque, and torque predicted by the identified parameters."),
        picture("residuals", "Residuals; the band is two standard deviations."),
    ]
    if validation is not None:
        parts += [
            f"<h2>Unseen motion: {escape(validation.source)}</h2>",
            picture("validation", "Torque of a motion that was not used, and its prediction."),
        ]
    parts += [
        "<h2>Base parameters</h2>",
        "<p>SI units. Grey: not essential, smaller than twice its σ.</p>",
        _parameter_table(fit),
        picture("parameters", "Distance of the identified parameters from the model's, in standard deviations."),
        "<h2>Bodies that can exist</h2>",
        f"<p>Full parameters nearest to the model's; every pseudo-inertia is positive definite (least eigenvalue "
        f"{least:.3g}). The base parameters move by {consistent.deviation:.3g} σ (root mean square).</p>",
        _body_table(fit),
    ]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Identification of {escape(name)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        + "\n".join(parts)
        + "</body></html>\n"
    )


def _html_table(head: list[str], rows: list[tuple[str, list[str]]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        f'<tr class="{kind}">' + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>" for kind, cells in rows
    )
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _joint_table(fit: Fit, validation: Validation | None) -> str:
    head = ["joint", "R²", "R² (left out fifths)", "σ of the residual", "correlation (samples)"]
    head += ["R² (unseen motion)"] if validation is not None else []
    rows = []
    for j, joint in enumerate(fit.model.rows):
        cells = [joint, f"{fit.r2[j]:.5f}", f"{fit.r2_unseen[j]:.5f}", f"{fit.noise[j]:.4g} {_unit(fit, j)}"]
        cells.append(f"{fit.correlation[j]:.2f}")
        rows.append(("", cells + ([f"{validation.r2[j]:.5f}"] if validation is not None else [])))
    return _html_table(head, rows)


def _parameter_table(fit: Fit) -> str:
    head = ["parameter", "identified", "σ", "σ in %", "model", "essential fit", "consistent"]
    rows = []
    for k, name in enumerate(fit.names):
        value, std = float(fit.parameters[k]), float(fit.std[k])
        percent = f"{100.0 * std / abs(value):.1f}" if value else ""
        kept = f"{fit.essential_parameters[k]:.5g}" if fit.essential[k] else "0"
        cells = [name, f"{value:.5g}", f"± {std:.2g}", percent, f"{fit.prior[k]:.5g}", kept]
        cells.append(f"{fit.physically_consistent.base_parameters[k]:.5g}")
        rows.append(("" if fit.essential[k] else "weak", cells))
    return _html_table(head, rows)


def _body_table(fit: Fit) -> str:
    head = ["body", "mass", "m cx", "m cy", "m cz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz"]
    table = fit.physically_consistent.parameters.reshape(-1, 10)
    names = fit.model.mechanism.body_names
    return _html_table(head, [("", [n, *(f"{x:.4g}" for x in row)]) for n, row in zip(names, table, strict=True)])
