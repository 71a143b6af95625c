"""Cost against the number of joints, log-log, one figure per series and quantity."""

from __future__ import annotations

from pathlib import Path

from setsu.benchmarks.dynamics import OURS, Row, Study

__all__ = ["write_plots"]

MARKERS = "os^Dvx+*"


def write_plots(study: Study, folder: Path) -> list[Path]:
    """Write the figures that the study has data for; return their paths."""
    import matplotlib

    matplotlib.use("Agg")
    written = []
    keys = dict.fromkeys((row.group, row.quantity) for row in study.rows if row.group != "robot")
    for group, quantity in keys:
        rows = [row for row in study.rows if (row.group, row.quantity, row.threads) == (group, quantity, 1)]
        if len({row.nv for row in rows}) > 1:
            path = folder / f"{quantity}_{group}.png"
            _figure(rows, f"{quantity.replace('_', ' ')}, {group}", path)
            written.append(path)
    return written


def _figure(rows: list[Row], title: str, path: Path) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9.5, 5.0), constrained_layout=True)
    ways = dict.fromkeys((row.engine, row.mode, row.variant) for row in rows)
    for index, (engine, mode, variant) in enumerate(ways):
        points = sorted(
            (row.nv, row.nanoseconds) for row in rows if (row.engine, row.mode, row.variant) == (engine, mode, variant)
        )
        axes.loglog(
            [nv for nv, _ in points],
            [time * 1e-3 for _, time in points],
            marker=MARKERS[index % len(MARKERS)],
            linewidth=2.0 if engine == OURS else 1.0,
            linestyle="-" if engine == OURS else "--",
            label=f"{engine}: {variant}" + (", batch" if mode == "batch" and engine == OURS else ""),
        )
    axes.set_xlabel("number of joints")
    axes.set_ylabel("time per state (µs)")
    axes.set_title(title)
    axes.grid(True, which="both", alpha=0.3)
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
