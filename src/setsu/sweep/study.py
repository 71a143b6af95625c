"""What a study file may say: a scenario, the parameters that vary in it, how they are sampled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from setsu.errors import InputError, ModelFileError
from setsu.scenario import Scenario, load
from setsu.scenario.reading import plain_numbers, read_record, read_toml
from setsu.scenario.toml_lines import Origin

__all__ = ["MOST_RUNS", "Parameter", "Study", "read_study"]

MOST_RUNS = 100_000_000
_EXACT = 2**53  # whole numbers up to this are floats, too
Sampling = Literal["grid", "random", "latin_hypercube"]


class Parameter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[[parameters]]: an entry of the scenario that differs from run to run.

    path: dotted place in the scenario, such as "model.bodies.link2.mass", "contacts.0.friction", "torque.stiffness",
    "start.q.joint1", "start.seed"; several paths get the same value. name: of the variable in the results; else the
    first path. values: a list of numbers, texts or tables ("torque" may be a whole table: a choice of controllers).
    low, high: a range instead; `count` of them for a grid; spacing "log": even in the logarithm. mean, deviation: a
    normal distribution (not for a grid). whole: round to whole numbers, those within low and high.
    """

    path: str | tuple[str, ...]
    name: str = ""
    values: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None
    count: Annotated[int, Meta(ge=1)] | None = None
    spacing: Literal["linear", "log"] = "linear"
    mean: float | None = None
    deviation: Annotated[float, Meta(ge=0)] | None = None
    whole: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """All places in the scenario that get the value."""
        return (self.path,) if isinstance(self.path, str) else self.path

    @property
    def label(self) -> str:
        """Name of the variable in the results."""
        return self.name or self.paths[0]

    @property
    def is_choice(self) -> bool:
        """Whether the values are not all numbers that a float64 holds: results then hold positions in the list."""
        return any(
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or (isinstance(value, int) and abs(value) > _EXACT)
            for value in self.values
        )

    @property
    def is_whole(self) -> bool:
        """Whether the scenario gets whole numbers."""
        return self.whole or (bool(self.values) and all(isinstance(value, int) for value in self.values))


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A study: how many `runs` (not for a grid), `seed` of the sampling, runs per `chunk` of the store."""

    title: str = ""
    scenario: Scenario
    sampling: Sampling = "grid"
    runs: Annotated[int, Meta(ge=1, le=MOST_RUNS)] | None = None
    seed: Annotated[int, Meta(ge=0)] = 0
    chunk: Annotated[int, Meta(ge=1, le=1_000_000)] = 2048
    parameters: tuple[Parameter, ...] = ()
    origin: Origin = Origin()

    @property
    def n_runs(self) -> int:
        """Number of runs: as many as points of the grid, or `runs`."""
        return self.runs or math.prod(len(p.values) or p.count or 1 for p in self.parameters)


def read_study(study: str | Path | Mapping[str, Any]) -> Study:
    """Return the study in a TOML file or a dictionary, whose scenario is a file beside it or a table.

    Raises:
        ModelFileError: with all problems and their lines.
    """
    if isinstance(study, Mapping):
        data, origin = plain_numbers(study), Origin("study", Path())
    elif isinstance(study, str | Path):
        data, origin = read_toml(study)
    else:
        raise InputError(f"sweep: expected a study file or a dictionary, got {study!r:.80}")
    given = data.pop("scenario", None)
    if isinstance(given, str):
        scenario = load(origin.folder / given)
    elif isinstance(given, Mapping):
        lines = {path[1:]: line for path, line in origin.lines.items() if path[:1] == ("scenario",)}
        inner = Origin(origin.name, origin.folder, lines)
        scenario = read_record(Scenario, given, inner, extra={"origin": inner})
    elif isinstance(given, Scenario):
        scenario = given
    else:
        got = "nothing" if given is None else repr(given)
        where = origin.where(("scenario",))
        hint = (
            "; this looks like a scenario itself, which a study names" if {"model", "simulation"} & data.keys() else ""
        )
        raise ModelFileError(origin.name, [f"{where}: scenario: expected a file name or a table, got {got}{hint}"])
    made = read_record(Study, data, origin, extra={"scenario": scenario, "origin": origin})
    problems = [
        f"{origin.where(('parameters', index))}: parameters.{index} ({parameter.label}): {text}"
        for index, parameter in enumerate(made.parameters)
        for text in _faults(parameter, made.sampling)
    ]
    labels = [parameter.label for parameter in made.parameters]
    problems += [
        f"{origin.where(('parameters', index))}: parameters.{index}: a second parameter named {label!r}"
        for index, label in enumerate(labels)
        if label in labels[:index]
    ]
    problems += _overlaps(made)
    if made.sampling == "grid":
        if made.runs is not None:
            problems.append(f"{origin.where(('runs',))}: runs: a grid has as many runs as points; remove it")
        if made.n_runs > MOST_RUNS:
            problems.append(f"{origin.name}: the grid has {made.n_runs} points, expected at most {MOST_RUNS}")
    elif made.runs is None:
        problems.append(f"{origin.where(('runs',))}: runs: missing; {made.sampling} sampling needs it")
    if problems:
        raise ModelFileError(origin.name, problems)
    return made


def _overlaps(study: Study) -> list[str]:
    """Places in the scenario that would be set twice: which of the values counts nobody could tell."""
    places = [(index, path) for index, p in enumerate(study.parameters) for path in p.paths]
    return [
        f"{study.origin.where(('parameters', index))}: parameters.{index}: path {path!r} is also set by {other!r}"
        for k, (index, path) in enumerate(places)
        for _, other in places[:k]
        if f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}.")
    ]


def _faults(p: Parameter, sampling: Sampling) -> list[str]:
    """What is contradictory in one parameter."""
    faults = []
    if not p.paths:
        faults.append("path: expected at least one")
    if p.label in _RESERVED:
        faults.append(f"name: {p.label!r} is a variable of the results; choose another")
    if "/" in p.label or p.label.startswith("."):
        faults.append(f"name: expected a name without '/' and not beginning with '.', got {p.label!r}")
    normal = p.mean is not None or p.deviation is not None
    ways = [bool(p.values), p.low is not None or p.high is not None, normal]
    if sum(ways) != 1:
        faults.append("expected one of: values; low and high; mean and deviation")
    elif ways[1]:
        if p.low is None or p.high is None or not p.low <= p.high:
            faults.append(f"expected low <= high, got {p.low} and {p.high}")
        elif p.spacing == "log" and p.low <= 0.0:
            faults.append(f"spacing log: expected low > 0, got {p.low}")
        elif p.whole and math.ceil(p.low) > math.floor(p.high):
            faults.append(f"whole: there is no whole number from {p.low} to {p.high}")
        if sampling == "grid" and p.count is None:
            faults.append("count: missing; a grid needs it with low and high")
    elif ways[2] and (p.mean is None or p.deviation is None or sampling == "grid"):
        faults.append("mean and deviation: expected both, and random or latin_hypercube sampling")
    if p.whole and p.values:
        faults.append("whole: only for low and high or mean and deviation; values are taken as they are")
    if p.spacing == "log" and not ways[1]:
        faults.append("spacing: only for low and high")
    if p.count is not None and (sampling != "grid" or not ways[1]):
        faults.append("count: only for a grid, with low and high")
    return faults


_RESERVED = {
    "run", "coordinate", "velocity", "contact", "final_q", "final_v", "largest_speed", "largest_torque",
    "energy_start", "energy_end", "constraint_error", "largest_normal_force", "end_time", "status", "error",
}  # fmt: skip
