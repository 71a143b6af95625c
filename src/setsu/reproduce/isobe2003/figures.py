"""Pictures of the paper: accuracy, structures, and the control experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import body_poses
from setsu.mechanism import Mechanism
from setsu.nodal import member_length_matrix
from setsu.reproduce.drawing import finish, new_figure, save_figure
from setsu.reproduce.isobe2003 import systems
from setsu.reproduce.isobe2003.experiments import GRIP, STEPS, Accuracy, GripControl, Noise, Steadiness, WallTrace
from setsu.reproduce.isobe2003.pushing_hands import Carrying
from setsu.reproduce.report import Figure

__all__ = ["figures"]

Floats = NDArray[np.float64]


def figures(
    serial: Accuracy,
    branched: Accuracy,
    still: Steadiness,
    wall: WallTrace,
    hold: GripControl,
    noise: Noise,
    carrying: tuple[Carrying, ...],
    out: Path,
) -> tuple[Figure, ...]:
    """Draw all figures into `out`."""
    return (
        _steps(serial, out / "figure_02_torques.png"),
        _errors(serial, out / "figure_02_errors.png"),
        _patterns(out / "figure_03.png"),
        _branched(branched, out / "figure_04.png"),
        _structures(hold, out / "figures_05_08_11_12.png"),
        _joint_torques(still.time, still.torque, out / "figure_06.png", "Fig. 6: branched closed system, torques"),
        _held_joint(still, out / "figure_07.png"),
        _wall(wall, out / "figure_09.png"),
        _joint_torques(hold.time, hold.torque, out / "figure_13.png", "Fig. 13: two arms with an object, torques"),
        _parts(hold, out / "figure_14.png"),
        _results(hold, out / "figure_15.png"),
        _carrying(carrying, out / "hands_that_push.png"),
        _noise(noise, out / "noise.png"),
    )


def _steps(serial: Accuracy, path: Path) -> Figure:
    canvas, (curves, errors) = new_figure(6.0, 2, 1, sharex=True)
    curves.plot(serial.time, serial.exact[:, 0], "k", label="Newton-Euler")
    for steps, style in ((25, "o:"), (50, "s--"), (100, "-.")):
        t, torque = serial.curves[steps]
        curves.plot(t, torque[:, 0], style, markersize=4, label=f"nodal, {steps} steps")
        errors.plot(t, torque[:, 0] - np.interp(t, serial.time, serial.exact[:, 0]), style, markersize=4)
    finish(curves, "", "torque of joint 1 (N m)")
    errors.set(xlabel="time (s)", ylabel="difference (N m)")
    errors.grid(alpha=0.3)
    return save_figure(canvas, path, "Fig. 2: torque against the number of steps", "Three links, central differences.")


def _errors(serial: Accuracy, path: Path) -> Figure:
    canvas, axes = new_figure()
    for marker, (scheme, errors) in zip("osd^", serial.errors.items(), strict=True):
        axes.loglog(STEPS, errors, f"{marker}-", label=f"{scheme}: order {abs(serial.order(scheme)):.2f}")
    axes.set_xticks(STEPS, STEPS)
    axes.minorticks_off()
    finish(axes, "number of steps (-)", "largest error over largest torque (-)")
    caption = (
        "Sines that start with velocities and a jerk. Central differences and the averaged Newmark recurrence are the "
        "same up to rounding; the plain recurrence has order 2 from the start found in the first samples, and keeps a "
        "sawtooth of constant size from the exact one."
    )
    return save_figure(canvas, path, "Fig. 2: error against the number of steps", caption)


def _patterns(path: Path) -> Figure:
    canvas, panels = new_figure(4.0, 1, 3)
    shown = (
        ("open (4)", systems.three_links()),
        ("closed at the object (5)", systems.two_arms()),
        ("branched (6)", systems.branched_arm()),
    )
    for axes, (title, m) in zip(panels, shown, strict=True):
        member_length_matrix(m).draw(axes)
        axes.set_title(title, fontsize="medium")
    caption = "Rows: joints. Columns: links whose forces they carry. All three follow from the structure alone."
    return save_figure(canvas, path, "Fig. 3: member-length matrices of several structures", caption)


def _branched(branched: Accuracy, path: Path) -> Figure:
    canvas, panels = new_figure(4.0, 1, 2, sharey=True)
    found = branched.curves[400]
    for axes, title, (t, torque) in (
        (panels[0], "Newton-Euler", (branched.time, branched.exact)),
        (panels[1], "nodal, 400 steps", found),
    ):
        for k, curve in enumerate(torque.T, start=1):
            axes.plot(t, curve, label=f"joint {k}")
        axes.set_title(title, fontsize="medium")
        finish(axes, "time (s)", "torque (N m)")
    caption = (
        f"A trunk of two links with two branches; largest relative difference {branched.errors['central'][-2]:.0e}."
    )
    return save_figure(canvas, path, "Fig. 4: torques of a branched arm", caption)


def _structures(hold: GripControl, path: Path) -> Figure:
    canvas, panels = new_figure(8.0, 2, 2)
    fig5, fig8, fig11, fig12 = panels.ravel()
    m = systems.branched_closed_system()
    motion = systems.shaking_branch(m, 301, 1.5)
    for k, shade in ((0, 1.0), (167, 0.35), (233, 0.35)):
        _draw(fig5, m, motion.q[k], shade, (("left1", "left2", "branch", "weight"), ("right1", "right2")), (0, 1))
    arm = systems.three_links()
    trace = systems.wall_trace(arm, 101)
    for k, shade in ((0, 0.35), (50, 0.6), (100, 1.0)):
        _draw(fig8, arm, trace.q[k], shade, (("link1", "link2", "link3", "tip"),), (0, 2))
    fig8.axvline(0.5, color="0.4", linewidth=4)
    pair, swing = systems.two_arms_with_object(), systems.object_swing(401)
    for k, shade in ((0, 1.0), (150, 0.35), (250, 0.35)):
        _draw(fig11, pair, swing.q[k], shade, (("left1", "left2", "object"), ("right1", "right2")), (0, 1))
    for hand, name in ((0, "left hand"), (1, "right hand")):
        fig12.plot(*hold.hands[:, hand].T, label=name)
    fig12.legend(fontsize="small")
    for axes, title in (
        (fig5, "Fig. 5: branched closed system, seen from above"),
        (fig8, "Fig. 8: tracing a wall"),
        (fig11, "Fig. 11: two arms with an object, from above"),
        (fig12, "Fig. 12: target of the hands, 4 s"),
    ):
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_title(title, fontsize="medium")
        axes.set_xlabel("m")
        axes.grid(alpha=0.3)
    caption = "The systems with sizes of our own: links of 0.25 m and 0.4 kg (0.3 m and 1 kg in Fig. 8), object 0.1 kg."
    return save_figure(canvas, path, "Figs 5, 8, 11, 12: the systems and their motions", caption)


def _draw(
    axes: Any, m: Mechanism, q: Floats, shade: float, chains: tuple[tuple[str, ...], ...], plane: tuple[int, int]
) -> None:
    """Links as lines between the frames of a chain, the last to the tip where one is meant."""
    poses = body_poses(m, q)

    def place(name: str, point: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Floats:
        frame = m.frame(name)
        return (poses[frame.body] @ frame.pose.matrix @ np.array([*point, 1.0]))[list(plane)]

    ends = {"right2": (systems.LINK, 0.0, 0.0), "object": (systems.OBJECT_LENGTH, 0.0, 0.0)}
    for chain in chains:
        points = [place(name) for name in chain]
        if chain[-1] in ends:
            points.append(place(chain[-1], ends[chain[-1]]))
        axes.plot(*np.array(points).T, "o-", color="tab:blue", alpha=shade)


def _joint_torques(time: Floats, torque: Floats, path: Path, title: str) -> Figure:
    canvas, axes = new_figure()
    for k, curve in enumerate(torque.T, start=1):
        axes.plot(time, curve, label=f"joint {k}")
    finish(axes, "time (s)", "torque (N m)", ncols=4)
    return save_figure(canvas, path, title, "Torques of the four motors by nodal inverse dynamics.")


def _held_joint(still: Steadiness, path: Path) -> Figure:
    canvas, axes = new_figure()
    for run, name in ((still.feedback, "feedback"), (still.both, "feedback + feed-forward")):
        axes.plot(run.time, np.degrees(run.q[:, 0]), label=f"{name}: RMS of all motors {run.rms:.4f} rad")
    axes.plot(still.feedback.time, np.degrees(still.feedback.target[:, 0]), "k--", label="target")
    finish(axes, "time (s)", "angle of joint 1 (°)")
    caption = "Simulated with masses 10 % too large in the controller, sampling 2 ms, delay 2 ms."
    return save_figure(canvas, path, "Fig. 7: joint 1 while the branch shakes", caption)


def _wall(wall: WallTrace, path: Path) -> Figure:
    canvas, panels = new_figure(8.0, 3, 1, sharex=True)
    for k, axes in enumerate(panels):
        axes.plot(wall.time, wall.dynamics[:, k], "--", label="dynamics")
        axes.plot(wall.time, wall.push[:, k], ":", label="Jᵀ F")
        axes.plot(wall.time, wall.dynamics[:, k] + wall.push[:, k], linewidth=4, alpha=0.35, label="sum")
        axes.plot(wall.time, wall.nodal[:, k], "k", linewidth=1, label="nodal")
        finish(axes, "time (s)" if k == 2 else "", f"joint {k + 1} (N m)", ncols=4)
    caption = f"10 N on the wall; nodal torques and the sum differ by {wall.difference:.1e} of the largest torque."
    return save_figure(canvas, path, "Fig. 9: torques while tracing a wall with a constant push", caption)


def _parts(hold: GripControl, path: Path) -> Figure:
    canvas, axes = new_figure()
    axes.plot(hold.time, hold.torque[:, 0], label="both")
    axes.plot(hold.time, (hold.torque - hold.force_part)[:, 0], "--", label="dynamics")
    axes.plot(hold.time, hold.force_part[:, 0], ":", label="grip of 0.5 N")
    finish(axes, "time (s)", "torque of joint 1 (N m)")
    return save_figure(
        canvas, path, "Fig. 14: dynamics and grip in the torque of joint 1", "Dynamics cannot be neglected here."
    )


def _results(hold: GripControl, path: Path) -> Figure:
    canvas, panels = new_figure(9.5, 3, 1, sharex=True)
    angles, errors, force = panels
    for k in range(4):
        (line,) = angles.plot(hold.both.time, np.degrees(hold.both.q[:, k]), label=f"joint {k + 1}")
        angles.plot(hold.both.time, np.degrees(hold.both.target[:, k]), "k:", linewidth=0.8)
        errors.plot(hold.both.time, np.degrees(hold.both.q - hold.both.target)[:, k], color=line.get_color())
        errors.plot(
            hold.feedback.time, np.degrees(hold.feedback.q - hold.feedback.target)[:, k], "--", color=line.get_color()
        )
    errors.plot([], [], "k", label="feedback + feed-forward")
    errors.plot([], [], "k--", label="feedback")
    force.plot(hold.both.time, hold.grip, label="feedback + feed-forward")
    force.plot(hold.feedback.time, hold.grip_feedback, "--", label="feedback")
    force.axhspan(0.8 * GRIP, 1.2 * GRIP, alpha=0.15, label="0.5 N ± 20 %")
    finish(angles, "", "angle (°), target dotted", ncols=4)
    finish(errors, "", "error of the angles (°)")
    finish(force, "time (s)", "force between the hands (N)")
    caption = "Simulated for 4 s with masses 10 % too large in the controller, sampling 2 ms, delay 2 ms."
    return save_figure(canvas, path, "Fig. 15: control results", caption)


def _carrying(runs: tuple[Carrying, ...], path: Path) -> Figure:
    canvas, (height, pressing) = new_figure(6.0, 2, 1, sharex=True)
    for run, style in zip(runs, ("-", "--"), strict=True):
        # What lies on the ground below is of no interest.
        held = run.height > -0.05
        height.plot(run.time[held], 1e3 * run.height[held], style, label=f"grip {run.grip} N")
        for hand, name in enumerate(("left", "right")):
            pressing.plot(run.time, run.pressing[:, hand], style, label=f"{name} hand, grip {run.grip} N")
    finish(height, "", "height of the object (mm)")
    finish(pressing, "time (s)", "force of a hand on it (N)")
    caption = (
        "The object is a free body between two round fingers, held by friction under gravity. No hand can pull; where "
        "the grip is too weak for the weight, the object is dropped."
    )
    return save_figure(canvas, path, "Figs 11-15 with hands that can only push", caption)


def _noise(noise: Noise, path: Path) -> Figure:
    canvas, axes = new_figure(4.2)
    axes.loglog([n + 1 for n in noise.half_widths], noise.noisy, "o-", label="samples with noise of 1e-5 rad")
    axes.loglog([n + 1 for n in noise.half_widths], noise.clean, "s--", label="exact samples")
    axes.set_xticks([n + 1 for n in noise.half_widths], noise.half_widths)
    axes.minorticks_off()
    finish(axes, "half-width of the filter (samples of 1 ms)", "RMS error of the torques (N m)")
    caption = "UR10 on sines up to 5 rad/s: the filter reduces noise with the power 2.5 of its width, and bends motion."
    return save_figure(canvas, path, "Noisy samples and the filter", caption)
