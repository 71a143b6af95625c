"""isobe2003: inverse dynamics by nodal forces of all links at once, and feed-forward and force control with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from setsu.errors import InputError
from setsu.reproduce.isobe2003 import experiments, systems
from setsu.reproduce.isobe2003.experiments import (
    AVERAGED,
    EXACT_START,
    FOUND_START,
    Accuracy,
    Costs,
    GripControl,
    Noise,
    Spatial,
    Steadiness,
    WallTrace,
)
from setsu.reproduce.isobe2003.figures import figures
from setsu.reproduce.isobe2003.pushing_hands import FALLEN, FRICTION, GRAVITY, Carrying, carry
from setsu.reproduce.isobe2003.systems import OBJECT_MASS
from setsu.reproduce.report import Report, Row, Table, at_least, at_most, equal

__all__ = ["run"]


def run(out: Path, progress: Callable[[str, float], None]) -> Report:
    """Compute and simulate the paper's figures 2 to 15; draw them into `out`."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("reproduce needs matplotlib for the figures: pip install setsu[plots]") from None
    progress("Figs 2 and 4: accuracy", 0.0)
    serial, branched = experiments.accuracy(systems.three_links()), experiments.accuracy(systems.branched_arm())
    progress("mechanisms in space, noise, computing time", 0.03)
    spatial, noise, costs = experiments.spatial(), experiments.noise(), experiments.costs()
    wall = experiments.wall_tracing()
    still = experiments.steadiness(lambda text, part: progress(f"Figs 5-7, {text}", 0.1 + 0.22 * part))
    hold = experiments.grip_control(lambda text, part: progress(f"Figs 11-15, {text}", 0.32 + 0.63 * part))
    progress("hands that can only push", 0.95)
    carried, dropped = carry(experiments.FIRM_GRIP), carry(experiments.GRIP)
    progress("figures", 0.97)
    return Report(
        key="isobe2003",
        title="isobe2003: nodal (parallel) inverse dynamics and control with it",
        source="Inverse dynamics from the nodal forces of all links, with a member-length matrix for open, closed and "
        "branched systems; feed-forward control of a branched closed system and force control of two arms that swing "
        "an object. The paper shows curves and few numbers, and its sizes cannot be read: systems of our own stand in, "
        "and laws take the place of print.",
        tables=(
            *_tables(serial, branched, wall, still, hold),
            _pushing(carried, dropped),
            *_further(spatial, noise, costs),
        ),
        figures=figures(serial, branched, still, wall, hold, noise, (carried, dropped), out),
        notes=_notes(still, hold),
    )


def _tables(
    serial: Accuracy, branched: Accuracy, wall: WallTrace, still: Steadiness, hold: GripControl
) -> tuple[Table, ...]:
    jerk = serial.errors[EXACT_START]
    rows = []
    for system, found in (("three links", serial), ("branched arm", branched)):
        rows += [
            Row(f"order of {scheme}, {system}", "-", equal(2.0, 0.1), found.order(scheme))
            for scheme in ("central", AVERAGED, FOUND_START)
        ]
        rows += [
            Row(f"error of {scheme} at 400 steps, {system}", "-", at_most(1e-4), float(found.errors[scheme][-2]))
            for scheme in ("central", AVERAGED)
        ]
    rows.append(
        Row("plain Newmark from the exact start: error at 800 / at 100 steps", "-", equal(1.0, 0.1),
            float(jerk[-1] / jerk[2]))
    )  # fmt: skip
    steps = Table("Figs 2, 4: nodal against exact Newton-Euler torques", tuple(rows), expected_name="expected")
    motors = Table(
        "Figs 5-7: a closed part is held while its branch shakes",
        (Row("RMS error with feed-forward / without", "-", at_most(1.0 / 3.0), still.ratio),),
        expected_name="expected",
    )
    push = Table(
        "Figs 8, 9: tracing a wall with a constant push",
        (Row("nodal against dynamics + Jᵀ F at 400 steps", "-", at_most(3e-6), wall.difference),),
        expected_name="expected",
    )
    grip = experiments.GRIP
    arms = Table(
        "Figs 11-15: two arms swing an object held with 0.5 N for 4 s",
        (
            Row("duration", "s", equal(4.0, 1e-9), float(hold.both.time[-1]), given=True),
            Row("torques put into the closed dynamics: accelerations", "-", at_most(1e-10), hold.returned),
            Row("torques put into the closed dynamics: grip", "N", equal(grip, 1e-10), grip + hold.returned_grip),
            Row("least force between the hands, simulated", "N", at_least(0.8 * grip), float(hold.grip.min())),
            Row("largest force between the hands, simulated", "N", at_most(1.2 * grip), float(hold.grip.max())),
            Row("RMS error with feed-forward / without", "-", at_most(1.0 / 3.0), hold.ratio),
        ),
        expected_name="expected",
    )
    return steps, motors, push, arms


def _pushing(carried: Carrying, dropped: Carrying) -> Table:
    """The object between hands that can only push: held by friction, or lost as it must be."""
    # Friction short of the weight lets it fall with g - 2 μ F / m.
    fall = GRAVITY - 2.0 * FRICTION * dropped.grip / OBJECT_MASS
    slipping = max(float((c.rubbing - FRICTION * c.pressing).max()) for c in (carried, dropped))
    lost = np.nan if dropped.dropped is None else dropped.dropped
    return Table(
        f"Figs 11-15 with hands that can only push: a free object of {OBJECT_MASS} kg, friction {FRICTION}",
        (
            Row(f"grip {carried.grip} N: how far it sinks in 4 s", "mm", at_most(0.01),
                -1e3 * float(carried.height.min())),
            Row(f"grip {carried.grip} N: least force of a hand", "N", at_least(0.8 * carried.grip),
                float(carried.pressing.min())),
            Row(f"grip {dropped.grip} N, too little for its weight: {1e3 * FALLEN:.0f} mm below the hands after", "s",
                equal((2.0 * FALLEN / fall) ** 0.5, 0.01), lost),
            Row("least force of a hand, both runs: none pulls", "N", at_least(0.0),
                float(min(carried.pressing.min(), dropped.pressing.min()))),
            Row("friction beyond the cone, both runs", "N", at_most(1e-9), slipping),
        ),
        expected_name="expected",
    )  # fmt: skip


def _further(spatial: Spatial, noise: Noise, costs: Costs) -> tuple[Table, ...]:
    """Beyond the paper's planar arms, and what it says of computing time."""
    rows = []
    for name, orders in spatial.orders.items():
        for scheme, order in orders.items():
            rows.append(Row(f"{name}: order of {scheme}", "-", equal(2.0, 0.1), order))
        rows.append(Row(f"{name}: error of central at 400 steps", "-", at_most(1e-4), spatial.errors[name]["central"]))
        rows.append(Row(f"{name}: L T P against the torques", "-", at_most(1e-12), spatial.lengths[name]))
    space = Table("Mechanisms in space: order, error at 400 steps a second, member lengths", tuple(rows),
                  expected_name="expected")  # fmt: skip
    filtered = Table(
        "Noise of 1e-5 rad in the samples of a UR10 at 1 kHz: RMS error of the torques",
        tuple(
            Row(
                f"half-width {n} ({'no filter' if not n else f'delay {n} ms'})",
                "N m",
                None,
                with_noise,
                others=(clean,),
            )
            for n, with_noise, clean in zip(noise.half_widths, noise.noisy, noise.clean, strict=True)
        ),
        ("without noise",),
    )
    time = Table(
        "Computing time of this run (paper: about 3 times an exact method; 0.7 ms on a Celeron 1.1 GHz)",
        (
            Row("nodal / exact, 10,000 samples of three links", "-", None, costs.ratio),
            Row("the same by averaged Newmark", "-", None, costs.ratio_newmark),
            Row("one sample of 10 ms, two arms with an object, from Python", "ms", None, 1e3 * costs.sample),
            Row("stepper gives the digits of the batch form, 1 = yes", "-", equal(1.0), float(costs.same)),
        ),
        expected_name="expected",
    )
    return space, filtered, time


def _notes(still: Steadiness, hold: GripControl) -> tuple[str, ...]:
    return (
        "Increments. Equation (3) gives the whole nodal force when the internal force is zero; adding it up as an "
        "increment, as the text says, would be wrong.",
        "Newmark. With β = 1/4 on given displacements the recurrence is only marginally stable: even from the exact "
        "start a jerk leaves a sawtooth at any step. Its 1-2-1 average is free of it, and is the central difference; "
        "the plain recurrence is free of it from the start that is found from the first samples.",
        "Controllers. They reckon with masses 10 % too large, sample every 2 ms and act 2 ms later, the feed-forward "
        "too. Position feedback is equation (7) with K_u = 10, K_i = 20, K_v = 0.5, force feedback equation (8) with "
        "K_F = 0.5. Motors have viscous and dry friction, which the feed-forward adds as the text before (7) says.",
        f"RMS errors of the motors: Fig. 7 {still.feedback.rms:.4f} rad with feedback, {still.both.rms:.4f} rad with "
        f"feed-forward; Fig. 15 {hold.feedback.rms:.4f} and {hold.both.rms:.4f} rad.",
        f"Without feed-forward the force between the hands falls to {float(hold.grip_feedback.min()):.2f} N: on rigid "
        "hands a gain K_F below 1 leaves most of the error.",
    )
