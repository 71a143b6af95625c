"""Pictures of the exercises: torques, the sinking arm, errors, growth and cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from setsu.reproduce.report import Figure
from setsu.reproduce.yamamoto2022.exercises import Costs, EulerGrowth, FrictionRun, GivenMotion, IntegratorErrors

__all__ = ["figures"]


def figures(
    motion: GivenMotion, fall: FrictionRun, errors: IntegratorErrors, growth: EulerGrowth, costs: Costs, out: Path
) -> tuple[Figure, ...]:
    """Draw all figures into `out`."""
    return (
        _torques(motion, out / "exercise_1_torques.png"),
        _sinking(fall, out / "exercise_2_motion.png"),
        _errors(errors, out / "integrator_errors.png"),
        _growth(growth, out / "euler_growth.png"),
        _costs(costs, out / "forward_dynamics_cost.png"),
    )


def _new(width: float = 7.0, height: float = 4.0, rows: int = 1) -> tuple[Any, Any]:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(width, height), layout="constrained")
    return canvas, canvas.subplots(rows, 1, sharex=rows > 1)


def _save(canvas: Any, path: Path, title: str, caption: str) -> Figure:
    canvas.savefig(path, dpi=120)
    return Figure(title, path, caption)


def _torques(motion: GivenMotion, path: Path) -> Figure:
    canvas, axes = _new()
    for k, torque in enumerate(motion.torque.T, start=1):
        axes.plot(motion.time, torque, label=f"joint {k}")
    axes.set(xlabel="time (s)", ylabel="torque (N m)")
    axes.legend(ncols=4, fontsize="small")
    axes.grid(alpha=0.3)
    return _save(canvas, path, "Exercise 1-2: torques", "Sines in all joints; world and link formulation coincide.")


def _sinking(fall: FrictionRun, path: Path) -> Figure:
    canvas, (angles, rates) = _new(height=6.0, rows=2)
    for k in range(fall.q.shape[1]):
        (line,) = angles.plot(fall.time, fall.q[:, k], label=f"joint {k + 1}")
        angles.plot(fall.time, fall.reference[:, k], ":", color=line.get_color())
        rates.plot(fall.time, fall.acceleration[:, k], color=line.get_color())
    angles.set(ylabel="angle (rad)")
    rates.set(xlabel="time (s)", ylabel="acceleration (rad/s²)")
    angles.legend(ncols=4, fontsize="small", loc="center", bbox_to_anchor=(0.5, 0.3))
    for axes in (angles, rates):
        axes.grid(alpha=0.3)
    caption = "Start (40), friction (41), explicit Euler with 5 ms (full lines) beside a converged run (dotted)."
    return _save(canvas, path, "Exercise 2-2: an arm sinks under friction", caption)


def _errors(errors: IntegratorErrors, path: Path) -> Figure:
    canvas, axes = _new()
    for name, values in errors.errors.items():
        axes.loglog(errors.steps, values, "o-", label=f"{name}: order {errors.orders[name]:.2f}")
    axes.set(xlabel="step (s)", ylabel="largest error of the joint angles after 1 s (rad)")
    axes.legend()
    axes.grid(alpha=0.3, which="both")
    return _save(canvas, path, "Euler against Runge-Kutta", "Error of the run of exercise 2-2 against the step.")


def _growth(growth: EulerGrowth, path: Path) -> Figure:
    canvas, axes = _new()
    axes.plot(growth.products, growth.factors)
    axes.axhline(1.0, color="0.5", linewidth=0.8)
    axes.axvline(2.0, color="0.5", linewidth=0.8, linestyle="--")
    axes.plot(
        [growth.product_of_exercise], [np.interp(growth.product_of_exercise, growth.products, growth.factors)], "o"
    )
    axes.set(xlabel="max eig(M⁻¹D) Δt (-)", ylabel="growth of a velocity per step (-)")
    axes.grid(alpha=0.3)
    caption = "Above 2 every step makes the fastest velocity larger. The dot is exercise 2-2 with this arm."
    return _save(canvas, path, "Where explicit Euler diverges", caption)


def _costs(costs: Costs, path: Path) -> Figure:
    canvas, axes = _new()
    for name, seconds in costs.seconds.items():
        axes.loglog(costs.links, seconds * 1e6, "o-", label=f"{name}: grows with N^{costs.exponents[name]:.1f}")
    axes.set(xlabel="number of links N (-)", ylabel="time of one forward dynamics (µs)")
    axes.legend()
    axes.grid(alpha=0.3, which="both")
    caption = "Chains of revolute joints, one call from Python, fastest of several; exponents from N = 64 on."
    return _save(canvas, path, "Cost of forward dynamics", caption)
