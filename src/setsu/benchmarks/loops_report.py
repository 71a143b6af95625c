"""The study of closed loops as tables, goals, JSON and plots."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from setsu.benchmarks.dynamics import OURS
from setsu.benchmarks.goals import Goal
from setsu.benchmarks.loops import ORDERS, OURS_IN_BATCH, LoopRow, LoopStudy

__all__ = [
    "loop_goals",
    "loop_growth",
    "loop_tables",
    "loops_as_json",
    "observed_orders",
    "write_loop_plots",
    "write_loops_json",
]

ROUNDING = 1e-12
"""Position errors (m) below this are rounding and say nothing about an order."""
# Problem, step (s), largest position errors (m) wanted with rk4 and with rk8.
WANTED = (
    ("2 four-bars", 1e-2, 6e-7, 1e-10),
    ("Bricard", 1e-2, 1e-5, 1e-10),
    ("slider-crank", 1e-3, 1e-6, 1e-10),
)
# The stiff governor with radau at 1 ms: position error (m), microseconds a step.
STIFF = ("stiff governor", 2e-12, 300.0)
LINEAR_GROWTH = 1.2
"""Largest exponent of the cost against the number of loops that still counts as linear."""
MARKERS = "os^Dvx+*"


def loop_goals(study: LoopStudy) -> list[Goal]:
    """Return the goals that this study has measurements for; accuracy goals are set for runs of 10 s."""
    return [*_accuracy_goals(study), *_speed_goals(study), *_robot_goals(study), *_growth_goals(study)]


def _accuracy_goals(study: LoopStudy) -> Iterator[Goal]:
    for problem, step, rk4, rk8 in WANTED:
        for row in study.rows:
            if (row.problem, row.engine, row.step) == (problem, OURS, step) and row.duration >= 10.0:
                wanted = {"rkn4": rk4, "rk8": rk8}[row.way]
                yield Goal(f"{problem}, {row.way}, {step:g} s: position error (m)", wanted, row.position_error, True)
    problem, error, microseconds = STIFF
    for row in study.rows:
        if (row.problem, row.engine) == (problem, OURS) and row.duration >= 10.0:
            yield Goal(f"{problem}, {row.way}, {row.step:g} s: position error (m)", error, row.position_error, True)
            yield Goal(f"{problem}, {row.way}, {row.step:g} s: µs a step", microseconds, row.microseconds, True)
    found = observed_orders(study)
    for integrator, order in found.items():
        yield Goal(f"slider-crank, order of {integrator}", ORDERS[integrator] - 0.3, order)


def _speed_goals(study: LoopStudy) -> Iterator[Goal]:
    """Our RK4 step beside the fastest RK4 step of a peer."""
    for problem in dict.fromkeys(row.problem for row in study.rows):
        for step in dict.fromkeys(row.step for row in study.rows):
            rows = [row for row in study.rows if (row.problem, row.step) == (problem, step)]
            ours = [row.microseconds for row in rows if (row.engine, row.way) == (OURS, "rkn4")]
            theirs = [row for row in rows if row.engine != OURS and row.way.startswith("RK4")]
            if ours and theirs:
                best = min(theirs, key=lambda row: row.microseconds)
                what = f"{problem}, {step:g} s, time of an rk4 step: {best.engine} / ours"
                yield Goal(what, 1.0, best.microseconds / ours[0])


def _robot_goals(study: LoopStudy) -> Iterator[Goal]:
    for row in study.robots:
        yield Goal(f"{row.subject}: a step, MuJoCo RK4 / ours", row.goal, row.ratio)


def _growth_goals(study: LoopStudy) -> Iterator[Goal]:
    exponent = loop_growth(study).get(OURS)
    if exponent is not None:
        yield Goal("exponent of cost against number of loops", LINEAR_GROWTH, exponent, at_most=True)
    times = {(point.engine, point.loops): point.microseconds for point in study.growth}
    for loops in dict.fromkeys(point.loops for point in study.growth):
        theirs = [time for (engine, n), time in times.items() if n == loops and engine.startswith("Pinocchio")]
        for engine, wanted in ((OURS, 1.0), (OURS_IN_BATCH, 1.5)):
            if theirs and (engine, loops) in times and (engine == OURS_IN_BATCH or loops >= 5):
                what = f"acceleration of {loops} four-bars, {engine}: the faster peer / ours"
                yield Goal(what, wanted, min(theirs) / times[engine, loops])


def observed_orders(study: LoopStudy) -> dict[str, float]:
    """Order of each integrator between the two smallest steps whose errors are above rounding."""
    found = {}
    for integrator in dict.fromkeys(point.integrator for point in study.orders):
        points = sorted(
            (point.step, point.position_error)
            for point in study.orders
            if point.integrator == integrator and point.position_error > ROUNDING
        )
        if len(points) > 1:
            (fine, small), (coarse, large) = points[:2]
            found[integrator] = math.log(large / small) / math.log(coarse / fine)
    return found


def loop_growth(study: LoopStudy) -> dict[str, float]:
    """Exponent p of time ~ loops^p by engine: the line of least squares through the upper decade of loops."""
    found = {}
    largest = max((point.loops for point in study.growth), default=0)
    for engine in dict.fromkeys(point.engine for point in study.growth):
        upper = [point for point in study.growth if point.engine == engine and 10 * point.loops >= largest]
        if len(upper) > 1:
            x, y = np.log([point.loops for point in upper]), np.log([point.microseconds for point in upper])
            found[engine] = float(np.polyfit(x, y, 1)[0])
    return found


def loops_as_json(study: LoopStudy) -> dict[str, Any]:
    """Everything in the study, orders, growth and goals, as plain lists and dictionaries."""
    return {
        **asdict(study),
        "observed_orders": observed_orders(study),
        "growth_exponents": loop_growth(study),
        "goals": [{**asdict(goal), "met": goal.met} for goal in loop_goals(study)],
    }


def write_loops_json(study: LoopStudy, path: Path) -> None:
    """Write the study to a file."""
    import msgspec

    path.write_bytes(msgspec.json.format(msgspec.json.encode(loops_as_json(study)), indent=1))


def loop_tables(study: LoopStudy) -> Group:
    """All tables and remarks, to print with rich; each fits 100 columns."""
    parts: list[Any] = [Text(str(study.machine)), Text(", ".join(f"{k} {v}" for k, v in study.versions.items()))]
    for problem in dict.fromkeys(row.problem for row in study.rows):
        rows = [row for row in study.rows if row.problem == problem]
        parts += [Text(), _problem_table(problem, rows)]
    parts += [Text(), _order_table(study), Text(), _growth_table(study)]
    parts += [Text(), _robot_table(study)] if study.robots else []
    parts += [Text(), _goals_table(study)]
    parts += [Text(line) for line in _remarks(study)]
    return Group(*parts)


def _problem_table(problem: str, rows: list[LoopRow]) -> Group:
    table = Table()
    for title in ("engine", "way"):
        table.add_column(title, no_wrap=True)
    for title in ("step", "largest", "at end", "energy", "loop", "per step"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in sorted(rows, key=lambda row: (-row.step, row.position_error)):
        loop = "–" if row.constraint_error is None else f"{row.constraint_error:.0e}"
        table.add_row(
            row.engine, row.way, f"{row.step:g}", f"{row.position_error:.1e}", f"{row.final_error:.1e}",
            "–" if row.energy_error is None else f"{row.energy_error:.0e}", loop,
            f"{row.microseconds:,.3g} µs" if row.microseconds < 1000 else f"{row.microseconds / 1000:.3g} ms",
        )  # fmt: skip
    first = rows[0]
    title = (
        f"{problem}, {first.duration:g} s, reference good to {first.reference_error:.0e} m; errors: position, largest"
    )
    return Group(Text(title), Text("and at the end (m), energy (J), loops (m, rad)"), table)


def _order_table(study: LoopStudy) -> Group:
    steps = sorted({point.step for point in study.orders}, reverse=True)
    found = observed_orders(study)
    errors = {(point.integrator, point.step): f"{point.position_error:.1e}" for point in study.orders}
    table = Table()
    table.add_column("integrator")
    for step in steps:
        table.add_column(f"{step:g} s", justify="right")
    table.add_column("order", justify="right")
    table.add_column("expected", justify="right")
    for integrator in dict.fromkeys(point.integrator for point in study.orders):
        cells = [errors.get((integrator, step), "–") for step in steps]
        order = f"{found[integrator]:.2f}" if integrator in found else "–"
        table.add_row(integrator, *cells, order, str(ORDERS[integrator]))
    return Group(Text("slider-crank: position error (m) against step"), table)


def _growth_table(study: LoopStudy) -> Group:
    engines = list(dict.fromkeys(point.engine for point in study.growth))
    times = {(point.engine, point.loops): f"{point.microseconds:,.1f}" for point in study.growth}
    left = {engine: max(p.residual for p in study.growth if p.engine == engine) for engine in engines}
    table = Table()
    table.add_column("loops", justify="right")
    for engine in engines:
        table.add_column(engine, justify="right")
    for loops in dict.fromkeys(point.loops for point in study.growth):
        table.add_row(str(loops), *(times.get((engine, loops), "–") for engine in engines))
    exponents = loop_growth(study)
    table.add_row("grows as", *(f"N^{exponents[engine]:.1f}" if engine in exponents else "–" for engine in engines))
    table.add_row("rows left (m/s²)", *(f"{left[engine]:.0e}" for engine in engines))
    note = "one constrained acceleration of N four-bars, called from Python (µs); peers: one point per pin, no forces"
    return Group(Text(note), table)


def _robot_table(study: LoopStudy) -> Group:
    table = Table()
    table.add_column("robot")
    for title in ("nv", "loops", "Setsu rk4", "MuJoCo RK4", "Euler", "implicitfast", "RK4 / ours"):
        table.add_column(title, justify="right")
    for row in study.robots:
        times = (row.ours, row.mujoco_rk4, row.mujoco_euler, row.mujoco_implicitfast)
        cells = (row.velocities, row.loops, *(f"{time:,.0f}" for time in times), f"{row.ratio:.2f}")
        table.add_row(row.subject, *map(str, cells))
    return Group(Text("one step of closed-loop robots, without contacts (µs)"), table)


def _goals_table(study: LoopStudy) -> Group:
    table = Table()
    table.add_column("goal")
    for title in ("wanted", "reached"):
        table.add_column(title, justify="right")
    table.add_column("")
    for goal in loop_goals(study):
        verdict = Text("met", style="green") if goal.met else Text("missed", style="yellow")
        table.add_row(goal.what, f"{'≤' if goal.at_most else '≥'} {goal.wanted:g}", f"{goal.reached:.3g}", verdict)
    return Group(Text("goals"), table)


def _remarks(study: LoopStudy) -> list[str]:
    lines = [f"missing: {name}: {reason}" for name, reason in study.missing.items()]
    lines += [f"left out: {entry.engine} on {entry.subject}: {entry.reason}" for entry in study.left_out]
    if all(row.duration < 10.0 for row in study.rows):
        lines.append("accuracy goals are set for 10 s: run without --quick to see them")
    if study.machine.busy:
        lines.append(
            f"{study.machine.load:.1f} of {study.machine.cores} cores were busy: times are worse than they are"
        )
    return lines


def write_loop_plots(study: LoopStudy, folder: Path) -> list[Path]:
    """Write error against step and cost against loops, both log-log; return their paths."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    written = []
    figure, axes = pyplot.subplots(figsize=(7.5, 5.0), constrained_layout=True)
    for marker, integrator in zip(MARKERS, dict.fromkeys(point.integrator for point in study.orders), strict=False):
        points = [(point.step, point.position_error) for point in study.orders if point.integrator == integrator]
        steps, errors = zip(*points, strict=True)
        (line,) = axes.loglog(steps, errors, marker=marker, label=f"{integrator}, order {ORDERS[integrator]}")
        # What the order promises, drawn from the largest step on.
        promised = [errors[0] * (step / steps[0]) ** ORDERS[integrator] for step in steps]
        axes.loglog(steps, promised, linestyle=":", color=line.get_color())
    axes.set_xlabel("step (s)")
    axes.set_ylabel("largest position error (m)")
    axes.set_title("slider-crank in space; dotted: the slope of the order")
    written.append(_saved(figure, axes, folder / "loops_order.png"))

    figure, axes = pyplot.subplots(figsize=(7.5, 5.0), constrained_layout=True)
    exponents = loop_growth(study)
    for marker, engine in zip(MARKERS, dict.fromkeys(point.engine for point in study.growth), strict=False):
        points = [(point.loops, point.microseconds) for point in study.growth if point.engine == engine]
        label = f"{engine}, N^{exponents[engine]:.1f}" if engine in exponents else engine
        width = 2.0 if engine == OURS else 1.0
        axes.loglog(*zip(*points, strict=True), marker=marker, linewidth=width, label=label)
    axes.set_xlabel("number of loops N")
    axes.set_ylabel("time of one constrained acceleration (µs)")
    axes.set_title("N four-bars in a row, called from Python")
    written.append(_saved(figure, axes, folder / "loops_growth.png"))
    return written


def _saved(figure: Any, axes: Any, path: Path) -> Path:
    from matplotlib import pyplot

    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
    return path
