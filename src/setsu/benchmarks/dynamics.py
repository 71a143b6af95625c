"""The study of dynamics: the same states through every engine, compared first, then timed in turns.

    measure(robots=("panda",), quick=True)

A ratio is peer time / our time, per state: above one we are faster. Engines whose numbers differ by more than
`TOLERANCE` are reported and not timed.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import setsu
from setsu.benchmarks.engines import PEERS, Call, Engine, NotMeasuredError, States, engine_class, missing_reason
from setsu.benchmarks.machine import Machine, describe_machine
from setsu.benchmarks.startup import StartupTime, measure_startup
from setsu.benchmarks.subjects import ROBOTS, SERIES, Subject, chain, robot, tree
from setsu.benchmarks.timing import Timed, nanoseconds_per_state
from setsu.interruption import interrupts_held

__all__ = ["STARTUP", "TOLERANCE", "LeftOut", "Row", "Study", "measure", "series_sizes"]

TOLERANCE = 1e-6
"""Largest difference between engines, as a part of the largest entry: long chains are ill-conditioned."""

SERIES_QUANTITIES = ("inverse_dynamics", "forward_dynamics")
OURS = "Setsu"
STARTUP = "startup"

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Row:
    """One measured way: nanoseconds per state, and the largest difference to the reference, relative."""

    subject: str
    group: str
    nv: int
    quantity: str
    mode: str
    engine: str
    variant: str
    threads: int
    states: int
    nanoseconds: float
    difference: float


@dataclass(frozen=True)
class LeftOut:
    """An engine that was not measured on a subject, and why."""

    engine: str
    subject: str
    reason: str


@dataclass(frozen=True)
class Study:
    """Everything a run found out; `left_out` says what was not measured and why.

    interrupted: Ctrl-C came before all was measured.
    """

    machine: Machine
    versions: dict[str, str]
    missing: dict[str, str]
    left_out: tuple[LeftOut, ...]
    disagreements: tuple[str, ...]
    rows: tuple[Row, ...]
    startup: tuple[StartupTime, ...] = ()
    interrupted: bool = False


def series_sizes(quick: bool) -> tuple[int, ...]:
    """Number of joints of the chains and trees."""
    return (10, 100) if quick else (10, 20, 50, 100, 200, 300, 500, 1000)


def measure(
    names: Sequence[str] = (*ROBOTS, *SERIES, STARTUP),
    *,
    quick: bool = False,
    progress: Progress = lambda text, part: None,
) -> Study:
    """Measure robots (names in ROBOTS), series ("chain", "tree") and "startup"; quick takes fewer rounds and sizes.

    `progress(text, part)` is called with what comes next and the part done, 0 to 1. Ctrl-C ends the study early and
    keeps what was measured.
    """
    machine = describe_machine()
    with interrupts_held():
        missing = {name: reason for name in PEERS if (reason := missing_reason(name)) is not None}
    peers = [name for name in PEERS if name not in missing]
    versions = {OURS: setsu.__version__}
    rows: list[Row] = []
    left_out: list[LeftOut] = []
    disagreements: list[str] = []
    subjects: list[Subject] = []
    for name in names:
        if name == STARTUP:
            continue
        if name in SERIES:
            subjects += [{"chain": chain, "tree": tree}[name](size) for size in series_sizes(quick)]
        elif (found := robot(name)) is not None:
            subjects.append(found)
        else:
            left_out.append(LeftOut("all engines", name, "the package example-robot-data is not installed"))
    startup: list[StartupTime] = []
    threads, interrupted = setsu.get_threads(), False
    try:
        if STARTUP in names:
            progress(STARTUP, 0.0)
            startup = measure_startup(repeats=2 if quick else 4)
        for index, subject in enumerate(subjects):
            progress(subject.name, index / len(subjects))
            _measure_subject(subject, peers, quick, rows, left_out, disagreements, versions)
        progress("done", 1.0)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        setsu.set_threads(threads)
    return Study(
        machine, versions, missing, tuple(left_out), tuple(disagreements), tuple(rows), tuple(startup), interrupted
    )


def _measure_subject(
    subject: Subject,
    peers: Iterable[str],
    quick: bool,
    rows: list[Row],
    left_out: list[LeftOut],
    disagreements: list[str],
    versions: dict[str, str],
) -> None:
    """Load a subject into every engine, compare, and time the engines in turns quantity by quantity."""
    from setsu.benchmarks.engines.setsu_engine import Engine as SetsuEngine

    with tempfile.TemporaryDirectory() as folder:
        urdf = Path(folder) / f"{subject.name}.urdf"
        urdf.write_text(subject.urdf, encoding="utf-8")
        states = _states(urdf, subject)
        ours = SetsuEngine(urdf, states)
        engines: list[Engine] = [ours]
        for name in peers:
            try:
                # A module of C++ that is interrupted while it loads may lose Ctrl-C, or raise another error for it.
                with interrupts_held():
                    engine = engine_class(name)(urdf, states)
            except NotMeasuredError as reason:
                left_out.append(LeftOut(name, subject.name, str(reason)))
                continue
            except (RuntimeError, ValueError, SystemExit) as problem:
                # A peer that refuses a file is part of the result, not a reason to stop.
                left_out.append(
                    LeftOut(name, subject.name, f"{type(problem).__name__}: {str(problem).splitlines()[0]}")
                )
                continue
            versions[name] = engine.version
            engines.append(engine)
        groups: dict[tuple[str, str], list[tuple[str, Call]]] = {}
        for engine in engines:
            for call in engine.calls():
                if subject.group == "robot" or call.quantity in SERIES_QUANTITIES:
                    groups.setdefault((call.quantity, call.mode), []).append((engine.name, call))
        for entries in groups.values():
            rows.extend(_compare_and_time(subject, ours.mechanism.nv, entries, quick, disagreements))


def _compare_and_time(
    subject: Subject, nv: int, entries: list[tuple[str, Call]], quick: bool, disagreements: list[str]
) -> list[Row]:
    """Compare every way with our first one, then time those that agree."""
    reference = entries[0][1].result()
    scale = max(float(np.abs(reference).max()), 1e-300)
    agreeing: list[tuple[str, Call, float]] = []
    for engine, call in entries:
        with interrupts_held():
            if call.prepare is not None:
                call.prepare()
            difference = float(np.abs(call.result() - reference).max()) / scale
        if difference <= TOLERANCE:
            agreeing.append((engine, call, difference))
        else:
            what = f"{subject.name}, {call.quantity}, {call.mode}: {engine} ({call.variant})"
            disagreements.append(f"{what} differs by {difference:.1e} of the largest entry")
    timed = [Timed(call.run, call.states, call.prepare) for _, call, _ in agreeing]
    times = nanoseconds_per_state(timed, rounds=10 if quick else 25)
    return [
        Row(
            subject.name, subject.group, nv, call.quantity, call.mode, engine, call.variant, call.threads, call.states,
            round(nanoseconds, 2), difference,
        )
        for (engine, call, difference), nanoseconds in zip(agreeing, times, strict=True)
    ]  # fmt: skip


def _states(urdf: Path, subject: Subject) -> States:
    """Seeded states of a subject: 1024, fewer for large mechanisms, so that a batch takes about a millisecond.

    A batch of this size stays in a core's second-level cache, ours and the peers' alike.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)
        m = setsu.load(urdf, floating_base=subject.floating_base)
    random = np.random.default_rng(20)
    count = int(np.clip(2**17 // m.nv, 128, 1024)) // 8 * 8
    q = np.array([m.random_configuration(random) for _ in range(count)])
    v, a, tau = (random.normal(size=(count, m.nv)) for _ in range(3))
    return States(m.joint_names, subject.floating_base, q, v, a, tau)
