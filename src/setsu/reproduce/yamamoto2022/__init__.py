"""yamamoto2022: a lecture's exercises on inverse dynamics and the unit-vector method, with an arm of ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from setsu.errors import InputError
from setsu.reproduce.report import Report, Row, Table, at_most, equal
from setsu.reproduce.yamamoto2022 import exercises
from setsu.reproduce.yamamoto2022.figures import figures
from setsu.sample_mechanisms import seven_joint_arm

__all__ = ["run"]


def run(out: Path, progress: Callable[[str, float], None]) -> Report:
    """Work the exercises 1-1 to 2-2 and what the lecture says about cost and integration; draw figures into `out`."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("reproduce needs matplotlib for the figures: pip install setsu[plots]") from None
    arm = seven_joint_arm()
    progress("exercise 1: velocities and inverse dynamics", 0.0)
    motion = exercises.given_motion(arm)
    progress("exercise 2: unit-vector method and friction", 0.1)
    fall = exercises.friction_run(arm)
    progress("errors of integrators", 0.2)
    errors = exercises.integrator_errors(arm)
    progress("where explicit Euler diverges", 0.5)
    growth = exercises.euler_growth(arm)
    progress("cost against the number of links", 0.6)
    costs = exercises.forward_dynamics_costs()
    progress("figures", 0.95)
    return Report(
        key="yamamoto2022",
        title="yamamoto2022: inverse and forward dynamics, a lecture",
        source="Newton-Euler inverse dynamics in world and link frames, forward dynamics by the unit-vector method, "
        "and its exercises. The course's arm and its answers are not public: an arm of our own stands in, and laws "
        "take the place of printed numbers.",
        tables=(_joint_table(exercises.joint_kinds()), *_tables(motion, fall, errors, growth), _cost_table(costs)),
        figures=figures(motion, fall, errors, growth, costs, out),
        notes=_notes(growth, costs),
    )


def _joint_table(kinds: exercises.JointKinds) -> Table:
    rows = []
    for name in kinds.torque:
        rows.append(
            Row(f"{name}: entries of K, fitted to 40 states, off the printed", "-", at_most(1e-9), kinds.matrix[name])
        )
        rows.append(Row(f"{name}: torque against K (f, n)", "-", at_most(1e-12), kinds.torque[name]))
    return Table("(22), (23): joint types by their K (force first, then moment)", tuple(rows), expected_name="expected")


def _cost_table(costs: exercises.Costs) -> Table:
    """Measured, so nothing is expected of the numbers but that the textbook's order of methods holds."""
    last = {name: float(times[-1]) for name, times in costs.seconds.items()}
    rows = [Row(f"{name}, {costs.links[-1]:.0f} links", "µs", None, 1e6 * seconds) for name, seconds in last.items()]
    rows.append(
        Row("composite body / mass matrix and dense solution, 256 links", "-", None,
            last["composite body"] / float(costs.dense[-1]))
    )  # fmt: skip
    return Table("Time of one forward dynamics in this run", tuple(rows), expected_name="expected")


def _tables(
    motion: exercises.GivenMotion,
    fall: exercises.FrictionRun,
    errors: exercises.IntegratorErrors,
    growth: exercises.EulerGrowth,
) -> tuple[Table, ...]:
    same = 1e-12
    first = Table(
        "Exercise 1: velocities and inverse dynamics along a motion (largest relative differences)",
        (
            Row("velocities (8), (9) against Jacobians", "-", at_most(same), motion.velocity_difference),
            Row("velocities against differences of poses", "-", at_most(1e-6), motion.velocity_by_differences),
            Row(
                "torques, world (1)-(22) against link frames (24)-(32)",
                "-",
                at_most(same),
                motion.formulation_difference,
            ),
            Row("power of the torques against the rate of energy", "-", at_most(1e-6), motion.power_difference),
        ),
        expected_name="expected",
    )
    second = Table(
        "Exercise 2: unit-vector method (largest relative differences)",
        (
            Row("mass matrix (37), (38) against composite bodies", "-", at_most(same), fall.mass_difference),
            Row("accelerations (34) against articulated bodies", "-", at_most(1e-11), fall.acceleration_difference),
            Row("gravity torque Γ(q, 0, 0) against its own kernel", "-", at_most(same), fall.gravity_difference),
            Row(
                "Euler at 5 ms against a converged run, joint angles after 1 s", "rad", at_most(0.05), fall.euler_error
            ),
        ),
        expected_name="expected",
    )
    third = Table(
        "Orders and limits",
        (
            Row("order of explicit Euler", "-", equal(1.0, 0.1), errors.orders["explicit Euler"]),
            Row("order of Runge-Kutta", "-", equal(4.0, 0.3), errors.orders["Runge-Kutta"]),
            Row("max eig(M⁻¹D) Δt at which Euler starts to grow", "-", equal(2.0, 0.05), growth.threshold),
        ),
        expected_name="expected",
    )
    return first, second, third


def _notes(growth: exercises.EulerGrowth, costs: exercises.Costs) -> tuple[str, ...]:
    last = {name: times[-1] * 1e6 for name, times in costs.seconds.items()}
    return (
        "Friction (41) acts against the motion: tau = -D dq/dt. With the printed sign it would drive the arm.",
        f"Explicit Euler is stable only while max eig(M⁻¹D) Δt < 2. With (41) and 5 ms this arm has "
        f"{growth.product_of_exercise:.2f}, thanks to the inertia of its drives; an arm without them would diverge.",
        f"At {costs.links[-1]} links one forward dynamics took {last['unit vector']:.0f} µs by unit vectors, "
        f"{last['composite body']:.0f} µs by composite bodies and {last['articulated body']:.1f} µs by articulated "
        "bodies, on the machine of this run. The unit-vector method is O(N²) inverse dynamics plus an O(N³) solution.",
    )
