"""The speeds this library is built for, and what a run reached of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from setsu.benchmarks.dynamics import OURS, Row, Study
from setsu.benchmarks.engines.setsu_engine import NATIVE_LOOP
from setsu.benchmarks.ratios import Ratio, ratios

__all__ = ["Goal", "goals"]

# Quantity, mode, variant of ours, peer, mechanism, wanted ratio (peer time / ours).
WANTED = (
    ("inverse_dynamics", "batch", "compiled", "Pinocchio", "panda", 50.0),
    ("inverse_dynamics", "batch", "compiled", "Pinocchio", "talos", 35.0),
    ("inverse_dynamics", "batch", "generic", "Pinocchio", "panda", 15.0),
    ("inverse_dynamics", "batch", "generic", "Pinocchio", "talos", 15.0),
    ("forward_dynamics", "batch", "compiled", "Pinocchio", "panda", 50.0),
    ("forward_dynamics", "batch", "compiled", "Pinocchio", "talos", 25.0),
    ("forward_dynamics", "batch", "generic", "Pinocchio", "panda", 15.0),
    ("forward_dynamics", "batch", "generic", "Pinocchio", "talos", 15.0),
    ("inverse_dynamics", "single", "compiled", "Pinocchio", "panda", 3.0),
    ("forward_dynamics", "single", "compiled", "Pinocchio", "panda", 3.0),
    ("mass_matrix", "single", "compiled", "Pinocchio", "panda", 3.0),
    ("inverse_dynamics", "single", NATIVE_LOOP, "CasADi", "panda", 1.5),
    ("inverse_dynamics_derivatives", "batch", "compiled", "Pinocchio", "panda", 10.0),
    ("inverse_dynamics_derivatives", "batch", "compiled", "Pinocchio", "talos", 10.0),
    ("forward_dynamics_derivatives", "batch", "compiled", "Pinocchio", "panda", 10.0),
    ("forward_dynamics_derivatives", "batch", "compiled", "Pinocchio", "talos", 10.0),
)
SERIES_RATIO = 3.0
THREADS_GAIN = 1.8
# Twice the joints may cost this much more, as a factor: the algorithms are O(n).
DOUBLING = 2.3


@dataclass(frozen=True)
class Goal:
    """A goal and the value a run reached; `at_most` turns the comparison round."""

    what: str
    wanted: float
    reached: float
    at_most: bool = False

    @property
    def met(self) -> bool:
        """Whether the goal is reached."""
        return self.reached <= self.wanted if self.at_most else self.reached >= self.wanted


def goals(study: Study) -> list[Goal]:
    """Return the goals that this study has measurements for."""
    entries = ratios(study)
    return [*_robot_goals(entries), *_series_goals(entries), *_growth_goals(study.rows), *_thread_goals(study.rows)]


def _robot_goals(entries: list[Ratio]) -> Iterator[Goal]:
    for quantity, mode, variant, peer, subject, wanted in WANTED:
        for entry in entries:
            key = (entry.quantity, entry.mode, entry.variant, entry.peer, entry.subject, entry.threads)
            if key == (quantity, mode, variant, peer, subject, 1):
                what = f"{subject}, {quantity.replace('_', ' ')}, {variant} {mode} / {peer}"
                yield Goal(what, wanted, entry.ratio)


def _series_goals(entries: list[Ratio]) -> Iterator[Goal]:
    """For each quantity, the size at which the best peer comes closest."""
    for series in ("chain", "tree"):
        for quantity in ("inverse_dynamics", "forward_dynamics"):
            for mode in ("single", "batch"):
                chosen = [
                    entry
                    for entry in entries
                    if entry.subject.startswith(f"{series}_")
                    and (entry.quantity, entry.mode, entry.variant, entry.threads) == (quantity, mode, "generic", 1)
                ]
                if chosen:
                    worst = min(chosen, key=lambda entry: entry.ratio)
                    what = f"{worst.subject}, {quantity.replace('_', ' ')}, generic {mode} / {worst.peer} (the closest)"
                    yield Goal(what, SERIES_RATIO, worst.ratio)


def _growth_goals(rows: tuple[Row, ...]) -> Iterator[Goal]:
    for quantity in ("inverse_dynamics", "forward_dynamics"):
        for mode in ("single", "batch"):
            times = {
                row.nv: row.nanoseconds
                for row in rows
                if (row.group, row.quantity, row.mode, row.engine, row.variant, row.threads)
                == ("chain", quantity, mode, OURS, "generic", 1)
            }
            if 500 in times and 1000 in times:
                what = f"chain of 1000 / chain of 500, {quantity.replace('_', ' ')}, generic {mode}"
                yield Goal(what, DOUBLING, times[1000] / times[500], at_most=True)


def _thread_goals(rows: tuple[Row, ...]) -> Iterator[Goal]:
    def time(threads: int, subject: str, quantity: str, variant: str) -> float | None:
        key = (subject, quantity, "batch", OURS, variant, threads)
        for row in rows:
            if (row.subject, row.quantity, row.mode, row.engine, row.variant, row.threads) == key:
                return row.nanoseconds
        return None

    for subject in ("panda", "talos"):
        for quantity in ("inverse_dynamics", "forward_dynamics"):
            one, two = (time(threads, subject, quantity, "compiled") for threads in (1, 2))
            if one is not None and two is not None:
                what = f"{subject}, {quantity.replace('_', ' ')}, compiled batch, one thread / two"
                yield Goal(what, THREADS_GAIN, one / two)
