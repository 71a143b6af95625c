"""From a study to what workers need: the store, the base scenario, and which parameters vary within a batch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu import __version__
from setsu.errors import ModelFileError, SetsuError
from setsu.mechanism import Mechanism
from setsu.mechanism.velocity_names import coordinate_names, position_names
from setsu.scenario import Prepared, Scenario, prepare, with_values
from setsu.scenario.reading import as_data
from setsu.sweep.batch import can_batch
from setsu.sweep.sampling import sample
from setsu.sweep.store import ERROR_LENGTH, Store, Variable, make_or_open
from setsu.sweep.study import Parameter, Study

__all__ = ["Plan", "axis_names", "make_plan", "value_of"]

Floats = NDArray[np.float64]

FORMAT = 2
VARIABLES = {
    "final_q": Variable(("coordinate",), "rad or m"),
    "final_v": Variable(("velocity",), "rad/s or m/s"),
    "largest_speed": Variable(("velocity",), "rad/s or m/s"),
    "largest_torque": Variable(("velocity",), "N m or N"),
    "energy_start": Variable((), "J"),
    "energy_end": Variable((), "J"),
    "constraint_error": Variable((), "m or rad"),
    "largest_normal_force": Variable(("contact",), "N"),
    "end_time": Variable((), "s"),
    "status": Variable((), "", "|i1", 0),
    "error": Variable((), "", f"<U{ERROR_LENGTH}", ""),
}
"""Results of a run; speeds, torques, forces and errors are the largest over the recorded states."""


@dataclass(frozen=True)
class Plan:
    """A study ready to be computed: everything a worker needs, small enough to send to it.

    batched: whether runs of the base scenario can go through time together. axes: names along the results' axes.
    """

    store: Store
    scenario: Scenario
    parameters: tuple[Parameter, ...]
    batched: bool
    axes: Mapping[str, tuple[str, ...]]


def make_plan(study: Study, out: Path) -> tuple[Plan, Floats]:
    """Sample the parameters, try the study on its ends, make or open the store; return plan and values.

    Raises:
        ModelFileError: a parameter's path or range does not fit the scenario; before anything is written.
        InputError: the store holds something else.
    """
    values = sample(study)
    ready, models = _tried(study, values)
    axes = {
        "coordinate": axis_names(ready.mechanism, "nq"),
        "velocity": axis_names(ready.mechanism, "nv"),
        "contact": _contact_names(ready),
    }
    columns = {
        parameter.label: (values[:, index], _about(parameter)) for index, parameter in enumerate(study.parameters)
    }
    # Without contacts their variable would have an axis of length zero, which not every reader of Zarr can take.
    variables = {name: v for name, v in VARIABLES.items() if all(axes[axis] for axis in v.axes)}
    shown = {axis: names for axis, names in axes.items() if names}
    attributes = {"title": study.title or study.scenario.title, "mechanism": ready.mechanism.name, "setsu": FORMAT}
    description = _description(study, models)
    store = make_or_open(
        out, description, len(values), study.chunk, columns, shown, variables, {**attributes, "study": json.dumps(
            description, sort_keys=True
        )},
    )  # fmt: skip
    return Plan(store, study.scenario, study.parameters, can_batch(ready), axes), values


def value_of(parameter: Parameter, number: float) -> Any:
    """Return what the scenario gets where the store holds `number`."""
    if parameter.is_choice:
        return parameter.values[round(number)]
    return round(number) if parameter.is_whole else float(number)


def axis_names(m: Mechanism, count: str) -> tuple[str, ...]:
    """Names of coordinates ("nq") or velocities ("nv")."""
    return position_names(m) if count == "nq" else coordinate_names(m)


def _contact_names(ready: Prepared) -> tuple[str, ...]:
    """Names of the contacts that a recording of this scenario lists."""
    if ready.scenario.environment is not None:
        from setsu.simulation.recording_set import point_names

        return point_names(ready.mechanism)
    return tuple(contact.name for contact in ready.contacts)


def _tried(study: Study, values: Floats) -> tuple[Prepared, list[str]]:
    """Prepare the first run, and each parameter at both of its ends or at every choice; all problems at once.

    Returns the first run, and digests of all mechanisms met: a store belongs to every model file it was made from.
    """
    problems: list[str] = []
    first = {path: value_of(p, values[0, k]) for k, p in enumerate(study.parameters) for path in p.paths}
    ready: Prepared | None = None
    models: list[str] = []
    try:
        ready = prepare(with_values(study.scenario, first))
    except SetsuError as problem:
        problems += _lines(problem)
    for index, parameter in enumerate(study.parameters):
        column = values[:, index]
        ends = np.unique(column) if parameter.is_choice else np.array([column.min(), column.max()])
        for number in ends:
            value = value_of(parameter, float(number))
            try:
                tried = prepare(with_values(study.scenario, {**first, **dict.fromkeys(parameter.paths, value)}))
                models.append(tried.mechanism.digest)
            except SetsuError as problem:
                where = study.origin.where(("parameters", index))
                problems += [f"{where}: parameter {parameter.label!r} = {value}: {text}" for text in _lines(problem)]
    if problems or ready is None:
        raise ModelFileError(study.origin.name, list(dict.fromkeys(problems))[:20])
    return ready, [ready.mechanism.digest, *models]


def _lines(problem: SetsuError) -> list[str]:
    return list(problem.problems) if isinstance(problem, ModelFileError) else [str(problem)]


def _about(parameter: Parameter) -> dict[str, Any]:
    about: dict[str, Any] = {"path": list(parameter.paths)}
    if parameter.is_choice:
        about["choices"] = [json.dumps(value, sort_keys=True) for value in parameter.values]
    return about


def _description(study: Study, models: list[str]) -> dict[str, Any]:
    """What decides the numbers in the store."""
    import msgspec

    return {
        "format": FORMAT,
        "version": __version__,
        "title": study.title,
        "sampling": study.sampling,
        "runs": study.runs,
        "seed": study.seed,
        "chunk": study.chunk,
        "parameters": [msgspec.to_builtins(parameter) for parameter in study.parameters],
        "scenario": as_data(study.scenario),
        # The content of the model files, as the runs see them.
        "mechanisms": models,
    }
