"""The study of closed loops: known motions through every engine, orders of the integrators, cost against loops.

    measure_loops(quick=True)

Errors count against a converged motion; energy should stay what it was. Times are for a whole run, divided by its
steps; recording every 10 ms is part of all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.benchmarks.dynamics import OURS, LeftOut
from setsu.benchmarks.engines import NotMeasuredError
from setsu.benchmarks.loops_problems import (
    SAMPLING,
    Motion,
    Problem,
    bricard_problem,
    four_bar_problem,
    governor_problem,
    motion_of_states,
    open_chain_problem,
    slider_crank_problem,
)
from setsu.benchmarks.loops_robots import RobotRow, measure_robots
from setsu.benchmarks.machine import Machine, describe_machine
from setsu.benchmarks.timing import Timed, nanoseconds_per_state
from setsu.constraints.system import constraint_system

__all__ = ["LOOPS", "ORDERS", "GrowthPoint", "LoopRow", "LoopStudy", "OrderPoint", "measure_loops"]

LOOPS = "loops"
ORDERS = {"semi_implicit": 1, "rkn4": 4, "radau": 5, "rk8": 8}
"""Integrators with fixed steps and their orders."""
ORDER_SECONDS = {"semi_implicit": 0.2, "rkn4": 1.0, "radau": 1.0, "rk8": 1.0}
"""How long the slider-crank runs: 1 s takes it past its fastest position, where order 1 is lost at these steps."""

# Name, module of the engines folder, and the package whose absence makes the engine missing.
PEERS = {
    "Pinocchio": ("pinocchio_loops", "pinocchio"),
    "MuJoCo": ("mujoco_loops", "mujoco"),
    "Exudyn": ("exudyn_loops", "exudyn"),
}
STEPS = (1e-2, 1e-3)
MANY = 40
"""Four-bars in the long row."""
BATCH = 256
OURS_IN_BATCH = f"{OURS}, {BATCH} states"
"""One call for so many states; the time is that of one of them."""

Floats = NDArray[np.float64]
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class LoopRow:
    """One run: largest and last position error (m), energy error (J), loop error (m, rad), microseconds per step.

    No energy error where dampers take energy.
    """

    problem: str
    duration: float
    engine: str
    way: str
    step: float
    position_error: float
    final_error: float
    energy_error: float | None
    constraint_error: float | None
    microseconds: float
    reference_error: float


@dataclass(frozen=True)
class OrderPoint:
    """Largest position error (m) of an integrator of ours at one step (s) on the slider-crank."""

    integrator: str
    step: float
    position_error: float


@dataclass(frozen=True)
class GrowthPoint:
    """Microseconds for one constrained acceleration of so many four-bars in a row; what is left of its rows, m/s²."""

    engine: str
    loops: int
    microseconds: float
    residual: float = 0.0


@dataclass(frozen=True)
class LoopStudy:
    """Everything a run found out; `left_out` says what was not measured and why."""

    machine: Machine
    versions: dict[str, str]
    missing: dict[str, str]
    left_out: tuple[LeftOut, ...]
    rows: tuple[LoopRow, ...]
    orders: tuple[OrderPoint, ...]
    growth: tuple[GrowthPoint, ...]
    robots: tuple[RobotRow, ...] = ()


def measure_loops(
    *, quick: bool = False, models: Path | None = None, progress: Progress = lambda text, part: None
) -> LoopStudy:
    """Run the study: 10 s of each problem, in quick mode 1 s and long steps only.

    models: a copy of MuJoCo's Menagerie, whose closed-loop robots are then timed too.
    """
    robots = measure_robots(models, quick=quick) if models is not None else ()
    peers: dict[str, Any] = {}
    missing: dict[str, str] = {}
    for name, (module, package) in PEERS.items():
        try:
            peers[name] = import_module(f"setsu.benchmarks.engines.{module}")
        except ImportError as problem:
            missing[name] = f"{package} cannot be imported ({problem})"
    versions = {OURS: setsu.__version__, **{name: peer.version() for name, peer in peers.items()}}
    rows: list[LoopRow] = []
    left_out: list[LeftOut] = []
    runs = _runs(quick)
    for index, (problem, duration, ways) in enumerate(runs):
        progress(problem.name, 0.8 * index / len(runs))
        rows.extend(_problem_rows(problem, duration, ways, peers, quick, left_out))
    progress("orders", 0.8)
    orders = tuple(_orders(quick))
    progress("cost against loops", 0.9)
    growth = tuple(_growth(peers, quick))
    progress("done", 1.0)
    return LoopStudy(describe_machine(), versions, missing, tuple(left_out), tuple(rows), orders, growth, robots)


def _runs(quick: bool) -> list[tuple[Problem, float, list[tuple[str, float]]]]:
    """Problems, durations (s), and our integrators with their steps."""
    long_steps, stiff = [("rkn4", STEPS[0]), ("rk8", STEPS[0])], [("radau", STEPS[1])]
    if quick:
        usual = (four_bar_problem(), bricard_problem(), slider_crank_problem())
        return [*((problem, 1.0, long_steps) for problem in usual), (governor_problem(), 1.0, stiff)]
    usual = [*long_steps, ("rkn4", STEPS[1])]
    return [
        (four_bar_problem(), 10.0, usual),
        (bricard_problem(), 10.0, usual),
        # Short periods: here alone the small step still gains something with order 8.
        (slider_crank_problem(), 10.0, [*usual, ("rk8", STEPS[1])]),
        # The rods swing wildly: after some seconds no engine agrees with itself at half the step.
        (open_chain_problem(), 2.0, usual),
        (governor_problem(), 10.0, stiff),
        # IFToMM's A02 at its own length; the rank drops by 40 twice a turn.
        (four_bar_problem(MANY), 20.0, long_steps[:1]),
    ]


def _problem_rows(
    problem: Problem,
    duration: float,
    ways: list[tuple[str, float]],
    peers: dict[str, Any],
    quick: bool,
    left_out: list[LeftOut],
) -> Iterator[LoopRow]:
    points, own_error = problem.reference(duration)

    def row(engine: str, way: str, step: float, motion: Motion) -> LoopRow:
        distance = np.linalg.norm(motion.points - points, axis=-1).max(axis=1)
        energy = float(np.abs(motion.energy - motion.energy[0]).max()) if problem.conserves else None
        return LoopRow(
            problem.name, duration, engine, way, step, float(distance.max()), float(distance[-1]), energy,
            motion.constraint_error, round(motion.seconds_per_step * 1e6, 2), own_error,
        )  # fmt: skip

    for integrator, step in ways:
        yield row(OURS, integrator, step, _quickest(partial(_ours, problem, integrator, step, duration)))
    for name, peer in peers.items():
        for way in peer.WAYS:
            for step in dict.fromkeys(step for _, step in ways):
                try:
                    # A motion that runs away is reported as such, not as a warning about overflow.
                    with np.errstate(over="ignore", invalid="ignore"):
                        motion = _quickest(partial(peer.run, problem, way, step, duration))
                    yield row(name, way, step, motion)
                except (NotMeasuredError, RuntimeError, ValueError, TypeError) as reason:
                    # A peer that gives up is part of the result, not a reason to stop.
                    text = (str(reason).splitlines() or [type(reason).__name__])[0]
                    left_out.append(LeftOut(f"{name} ({way}, {step:g} s)", problem.name, text))


def _quickest(run: Callable[[], Motion]) -> Motion:
    """The same motion up to five times, within some two seconds; the one that took least time."""
    motions = [run()]
    while len(motions) < 5 and sum(motion.seconds for motion in motions) < 2.0:
        motions.append(run())
    return min(motions, key=lambda motion: motion.seconds)


def _ours(problem: Problem, integrator: str, step: float, duration: float) -> Motion:
    m = problem.mechanism
    # Code is loaded, or made, by the first run; the peers' was by their import.
    setsu.simulate(m, m.neutral(), problem.velocity, 2.0 * step, step, integrator=integrator)
    start = time.perf_counter()
    rec = setsu.simulate(
        m, m.neutral(), problem.velocity, duration, step, integrator=integrator, record_every=round(SAMPLING / step)
    )
    seconds = time.perf_counter() - start
    return motion_of_states(m, problem.points, rec.q, rec.v, round(duration / step), seconds)


def _orders(quick: bool) -> Iterator[OrderPoint]:
    """Errors of the slider-crank at steps that halve."""
    problem = slider_crank_problem()
    points, _ = problem.reference(max(ORDER_SECONDS.values()))
    for integrator in ("rkn4", "rk8") if quick else ORDERS:
        duration = ORDER_SECONDS[integrator]
        for halvings in range(2 if quick else 4):
            step = SAMPLING / 2**halvings
            motion = _ours(problem, integrator, step, duration)
            distance = np.linalg.norm(motion.points - points[: len(motion.points)], axis=-1)
            yield OrderPoint(integrator, step, float(distance.max()))


def _growth(peers: dict[str, Any], quick: bool) -> Iterator[GrowthPoint]:
    """Time one acceleration of rows of four-bars, away from their singular positions."""
    for loops in (1, 2, 5, 10, 20) if quick else (1, 2, 5, 10, 20, 40, 100):
        problem = four_bar_problem(loops)
        m, q, v = problem.mechanism, 0.3 * problem.velocity, problem.velocity
        tau, rows = np.zeros(m.nv), constraint_system(m).linearise(q, v)
        many_q, many_v = (np.linspace(0.3, 0.6, BATCH)[:, None] * v, np.tile(v, (BATCH, 1)))
        many_tau = np.zeros((BATCH, m.nv))
        solves = {OURS: lambda q, v, m=m, tau=tau: setsu.constrained_dynamics(m, q, v, tau).acceleration}
        for name, peer in peers.items():
            if hasattr(peer, "accelerations"):
                solves |= {f"{name} {way}": solve for way, solve in peer.accelerations(problem).items()}
        left = [float(np.abs(rows.jacobian @ solve(q, v) + rows.velocity_term).max()) for solve in solves.values()]
        calls = [Timed(partial(solve, q, v)) for solve in solves.values()]
        calls.append(Timed(partial(setsu.constrained_dynamics, m, many_q, many_v, many_tau), BATCH))
        times = nanoseconds_per_state(calls, rounds=12)
        for name, nanoseconds, residual in zip((*solves, OURS_IN_BATCH), times, (*left, left[0]), strict=True):
            yield GrowthPoint(name, loops, round(nanoseconds * 1e-3, 2), residual)
