"""Pictures of the exercises: torques, the sinking arm, errors, growth and cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from setsu.reproduce.drawing import COLORS, new_figure, place_labels, save_figure
from setsu.reproduce.report import Figure
from setsu.reproduce.yamamoto2022.exercises import Costs, EulerGrowth, FrictionRun, GivenMotion, IntegratorErrors

__all__ = ["figures"]


def figures(
    motion: GivenMotion, fall: FrictionRun, errors: IntegratorErrors, growth: EulerGrowth, costs: Costs, out: Path
) -> tuple[Figure, ...]:
    """Draw all figures into `out`."""
    return (
        _links(out / "figure_1.png"),
        _torques(motion, out / "exercise_1_torques.png"),
        _sinking(fall, out / "exercise_2_motion.png"),
        _errors(errors, out / "integrator_errors.png"),
        _growth(growth, out / "euler_growth.png"),
        _costs(costs, out / "forward_dynamics_cost.png"),
    )


def _links(path: Path) -> Figure:
    """Fig. 1: link j between its parent i and its child k, with the vectors of the recursion."""
    canvas, axes = new_figure(4.6)
    origins = {"i": np.array([0.0, 0.0]), "j": np.array([1.6, 0.7]), "k": np.array([3.3, 0.2])}
    end = np.array([4.6, 1.1])
    places = [*origins.values(), end]
    turns = {"i": 0.2, "j": -0.2, "k": 0.5}
    for number, (name, origin) in enumerate(origins.items()):
        link = np.array([origin, places[number + 1]])
        axes.plot(*link.T, color=COLORS[number], linewidth=9, alpha=0.3, solid_capstyle="round", label=f"link {name}")
        centre = link.mean(axis=0) + np.array([0.05, 0.16])
        axes.plot(*centre, "o", color=COLORS[number], label=f"centre of mass of {name}")
        axes.annotate("", centre, origin, arrowprops={"arrowstyle": "-|>", "color": COLORS[number]})
        axes.annotate(f"s_{name}", centre, textcoords="offset points", xytext=(4, 6), color=COLORS[number])
        for axis in (0.0, 0.5 * np.pi):
            tip = origin + 0.35 * np.array([np.cos(turns[name] + axis), np.sin(turns[name] + axis)])
            axes.annotate("", tip, origin, arrowprops={"arrowstyle": "-|>", "color": "0.3"})
        axes.annotate(f"Σ_{name}: p_{name}, R_{name}", origin, textcoords="offset points", xytext=(-12, -24))
    for first, second in (("i", "j"), ("j", "k")):
        middle = 0.5 * (origins[first] + origins[second])
        axes.annotate(f"{first}p{second}", middle, textcoords="offset points", xytext=(-4, -18), color="0.3")
    axes.annotate("f_j, n_j", origins["j"], textcoords="offset points", xytext=(-58, 16), color="#b22222")
    axes.annotate("-f_k, -n_k", origins["k"], textcoords="offset points", xytext=(-72, 10), color="#b22222")
    axes.set_aspect("equal")
    axes.set(xlim=(-0.6, 5.0), ylim=(-0.6, 1.6))
    axes.axis("off")
    place_labels(canvas, axes, margin=6.0)
    caption = (
        "Link j hangs on its parent i and carries its child k: frames Σ with origin p and rotation R, centres of "
        "mass s, and the force and moment with which the parent acts on the link."
    )
    return save_figure(canvas, path, "Fig. 1: links i, j and k", caption)


def _torques(motion: GivenMotion, path: Path) -> Figure:
    canvas, axes = new_figure()
    for k, torque in enumerate(motion.torque.T, start=1):
        axes.plot(motion.time, torque, label=f"joint {k}")
    axes.set(xlabel="time (s)", ylabel="torque (N m)")
    axes.legend(ncols=4, fontsize="small")
    axes.grid(alpha=0.3)
    return save_figure(
        canvas, path, "Exercise 1-2: torques", "Sines in all joints; world and link formulation coincide."
    )


def _sinking(fall: FrictionRun, path: Path) -> Figure:
    canvas, (angles, rates) = new_figure(6.0, rows=2, sharex=True)
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
    return save_figure(canvas, path, "Exercise 2-2: an arm sinks under friction", caption)


def _errors(errors: IntegratorErrors, path: Path) -> Figure:
    canvas, axes = new_figure()
    for name, values in errors.errors.items():
        axes.loglog(errors.steps, values, "o-", label=f"{name}: order {errors.orders[name]:.2f}")
    axes.set(xlabel="step (s)", ylabel="largest error of the joint angles after 1 s (rad)")
    axes.legend()
    axes.grid(alpha=0.3, which="both")
    return save_figure(canvas, path, "Euler against Runge-Kutta", "Error of the run of exercise 2-2 against the step.")


def _growth(growth: EulerGrowth, path: Path) -> Figure:
    canvas, axes = new_figure()
    axes.plot(growth.products, growth.factors)
    axes.axhline(1.0, color="0.5", linewidth=0.8)
    axes.axvline(2.0, color="0.5", linewidth=0.8, linestyle="--")
    axes.plot(
        [growth.product_of_exercise], [np.interp(growth.product_of_exercise, growth.products, growth.factors)], "o"
    )
    axes.set(xlabel="max eig(M⁻¹D) Δt (-)", ylabel="growth of a velocity per step (-)")
    axes.grid(alpha=0.3)
    caption = "Above 2 every step makes the fastest velocity larger. The dot is exercise 2-2 with this arm."
    return save_figure(canvas, path, "Where explicit Euler diverges", caption)


def _costs(costs: Costs, path: Path) -> Figure:
    canvas, axes = new_figure()
    for name, seconds in costs.seconds.items():
        axes.loglog(costs.links, seconds * 1e6, "o-", label=f"{name}: grows with N^{costs.exponents[name]:.1f}")
    axes.loglog(costs.links, costs.dense * 1e6, "--", color="0.5", label="mass matrix and dense solution")
    axes.set(xlabel="number of links N (-)", ylabel="time of one forward dynamics (µs)")
    axes.legend()
    axes.grid(alpha=0.3, which="both")
    caption = "Chains of revolute joints, one call from Python, fastest of several; exponents from N = 64 on."
    return save_figure(canvas, path, "Cost of forward dynamics", caption)
