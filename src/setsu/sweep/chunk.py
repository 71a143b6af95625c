"""Compute one chunk of runs: together where they can go together, one by one through setsu.simulate where not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from setsu.errors import SetsuError
from setsu.mechanism import Mechanism
from setsu.native.threads import set_threads
from setsu.scenario import Prepared, Scenario, prepare, run, with_values
from setsu.scenario.preparation import mechanism_of, start_state
from setsu.sweep.batch import can_batch, run_batch, same_structure
from setsu.sweep.plan import Plan, axis_names, value_of
from setsu.sweep.store import DONE, ERROR_LENGTH, FAILED

__all__ = ["compute_chunk"]

Floats = NDArray[np.float64]


def compute_chunk(plan: Plan, index: int, values: Floats) -> tuple[int, int]:
    """Compute chunk `index` and write it to the store; return how many runs it has and how many of them failed.

    values (runs, parameters): of its runs.
    """
    # Workers share the cores already.
    set_threads(1)
    results = _Results(plan, len(values))
    if plan.batched:
        for together in _groups(plan, values):
            _batch(plan, values, together, results)
    else:
        for row in range(len(values)):
            _single(plan, values[row], row, results)
    plan.store.write(index, results.arrays)
    return len(values), int((results.arrays["status"] == FAILED).sum())


class _Results:
    """Arrays of a chunk, filled run by run or group by group."""

    def __init__(self, plan: Plan, runs: int) -> None:
        lengths = {axis: len(names) for axis, names in plan.axes.items()}
        shapes = {
            "final_q": lengths["coordinate"], "final_v": lengths["velocity"], "largest_speed": lengths["velocity"],
            "largest_torque": lengths["velocity"],
        }  # fmt: skip
        self.arrays: dict[str, NDArray[Any]] = {name: np.full((runs, width), np.nan) for name, width in shapes.items()}
        for name in ("energy_start", "energy_end", "constraint_error", "end_time"):
            self.arrays[name] = np.full(runs, np.nan)
        if lengths["contact"]:
            self.arrays["largest_normal_force"] = np.full((runs, lengths["contact"]), np.nan)
        self.arrays["status"] = np.full(runs, DONE, dtype=np.int8)
        self.arrays["error"] = np.zeros(runs, dtype=f"<U{ERROR_LENGTH}")

    def fail(self, row: int, problem: object, end_time: float = 0.0) -> None:
        self.arrays["status"][row] = FAILED
        self.arrays["error"][row] = " ".join(str(problem).split())[:ERROR_LENGTH] or "failed"
        self.arrays["end_time"][row] = end_time


# One by one ------------------------------------------------------------------------------------------------------


def _single(plan: Plan, values: Floats, row: int, results: _Results) -> None:
    """Run one scenario through setsu.simulate."""
    try:
        ready = prepare(_scenario(plan, values))
        _check_axes(plan, ready.mechanism)
        recording = run(ready)
    except (SetsuError, ArithmeticError, np.linalg.LinAlgError) as problem:
        kept = getattr(problem, "recording", None)
        results.fail(row, problem, 0.0 if kept is None else float(kept.time[-1]))
        return
    arrays = results.arrays
    arrays["final_q"][row], arrays["final_v"][row] = recording.q[-1], recording.v[-1]
    arrays["largest_speed"][row] = np.abs(recording.v).max(axis=0)
    arrays["largest_torque"][row] = np.abs(recording.torque).max(axis=0)
    arrays["energy_start"][row], arrays["energy_end"][row] = recording.energy[0], recording.energy[-1]
    arrays["constraint_error"][row] = recording.constraint_error.max()
    arrays["end_time"][row] = recording.time[-1]
    if "largest_normal_force" in arrays:
        largest = dict(zip(recording.contact_names, recording.normal_force.max(axis=0), strict=True))
        arrays["largest_normal_force"][row] = [largest.get(name, np.nan) for name in plan.axes["contact"]]


def _scenario(plan: Plan, values: Floats) -> Scenario:
    changes = {path: value_of(p, values[k]) for k, p in enumerate(plan.parameters) for path in p.paths}
    return with_values(plan.scenario, changes)


def _check_axes(plan: Plan, m: Mechanism) -> None:
    if axis_names(m, "nq") != plan.axes["coordinate"]:
        raise SetsuError(f"this run has other coordinates ({m.nq}) than the first one ({len(plan.axes['coordinate'])})")


# Together --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Kinds:
    """How each parameter takes part in a batch, by column.

    inside: start and torque, arrays with one entry per run. model: masses and other constants, one mechanism per run.
    apart: everything else; runs that differ there do not go together.
    """

    inside: tuple[int, ...]
    model: tuple[int, ...]
    apart: tuple[int, ...]


def _kinds(plan: Plan, ready: Prepared) -> _Kinds:
    found: dict[str, list[int]] = {"inside": [], "model": [], "apart": []}
    for column, parameter in enumerate(plan.parameters):
        places = {_kind(path, ready) for path in parameter.paths}
        kind = places.pop() if len(places) == 1 and not parameter.is_choice else "apart"
        found[kind].append(column)
    return _Kinds(*(tuple(found[name]) for name in ("inside", "model", "apart")))


def _kind(path: str, ready: Prepared) -> str:
    words = path.split(".")
    if path == "start.seed":
        return "inside"
    if words[0] == "start" and words[1:2] in (["q"], ["v"]):
        return "inside" if _entry(words, ready.mechanism) is not None else "apart"
    if words[0] == "torque":
        return "inside" if ready.torque.can_vary(".".join(words[1:])) else "apart"
    if words[:2] == ["model", "gravity"] or words[:2] in (["model", "bodies"], ["model", "joints"]):
        return "model"
    return "model" if words[:2] == ["model", "payloads"] else "apart"


def _entry(words: list[str], m: Mechanism) -> int | None:
    """Place in q or v of "start.q.joint" or "start.q.joint.2"; None for a whole joint of several coordinates."""
    if len(words) not in (3, 4) or words[2] not in m.joint_names:
        return None
    where = (m.q_slices if words[1] == "q" else m.v_slices)[m.joint_names.index(words[2])]
    if len(words) == 3:
        return where.start if where.stop - where.start == 1 else None
    inside = words[3].isdigit() and where.start + int(words[3]) < where.stop
    return where.start + int(words[3]) if inside else None


def _groups(plan: Plan, values: Floats) -> list[NDArray[np.int64]]:
    """Rows that differ only in what may differ within a batch."""
    kinds = _kinds(plan, prepare(_scenario(plan, values[0])))
    if not kinds.apart:
        return [np.arange(len(values))]
    _, inverse = np.unique(values[:, kinds.apart], axis=0, return_inverse=True)
    inverse = inverse.ravel()
    return [np.flatnonzero(inverse == number) for number in range(int(inverse.max()) + 1)]


def _batch(plan: Plan, values: Floats, rows: NDArray[np.int64], results: _Results) -> None:
    """Run a group of rows together; what cannot go together goes one by one."""
    try:
        ready = prepare(_scenario(plan, values[rows[0]]))
        _check_axes(plan, ready.mechanism)
    except SetsuError:
        ready = None
    if ready is None or not can_batch(ready):
        for row in rows:
            _single(plan, values[row], int(row), results)
        return
    kinds = _kinds(plan, ready)
    mechanisms = [ready.mechanism]
    if kinds.model:
        mechanisms, rows = _mechanisms(plan, values, rows, kinds, mechanism_of(plan.scenario), results)
        if not len(rows):
            return
    columns = {path: values[rows, column] for column in kinds.inside for path in plan.parameters[column].paths}
    q0, v0 = _starts(ready, columns, len(rows))
    torque = {path.removeprefix("torque."): c for path, c in columns.items() if path.startswith("torque.")}
    outcome = run_batch(ready, mechanisms, q0, v0, ready.torque.for_runs(q0, torque))
    for name, array in results.arrays.items():
        if hasattr(outcome, name):
            array[rows] = getattr(outcome, name)
    for row, error, end in zip(rows, outcome.errors, outcome.end_time, strict=True):
        if error:
            results.fail(int(row), error, float(end))


def _mechanisms(
    plan: Plan,
    values: Floats,
    rows: NDArray[np.int64],
    kinds: _Kinds,
    nominal: Mechanism,
    results: _Results,
) -> tuple[list[Mechanism], NDArray[np.int64]]:
    """The mechanism of each row; rows without one, or of another structure, are taken care of here."""
    made: list[Mechanism] = []
    kept: list[int] = []
    known: dict[bytes, Mechanism] = {}
    for row in rows:
        key = values[row, kinds.model].tobytes()
        try:
            if key not in known:
                known[key] = mechanism_of(_scenario(plan, values[row]))
        except SetsuError as problem:
            results.fail(int(row), problem)
            continue
        if same_structure(nominal, known[key]):
            made.append(known[key])
            kept.append(int(row))
        else:
            _single(plan, values[row], int(row), results)
    return made, np.array(kept, dtype=np.int64)


def _starts(ready: Prepared, columns: Mapping[str, Floats], runs: int) -> tuple[Floats, Floats]:
    """States at t = 0 of all runs, (runs, nq) and (runs, nv)."""
    q0, v0 = np.tile(ready.q0, (runs, 1)), np.tile(ready.v0, (runs, 1))
    if "start.seed" in columns:
        for row, seed in enumerate(columns["start.seed"]):
            start = msgspec.structs.replace(ready.scenario.start, seed=round(float(seed)))
            q0[row], v0[row] = start_state(msgspec.structs.replace(ready.scenario, start=start), ready.mechanism)
    for path, column in columns.items():
        words = path.split(".")
        if words[0] == "start" and words[1] in ("q", "v"):
            entry = _entry(words, ready.mechanism)
            assert entry is not None
            (q0 if words[1] == "q" else v0)[:, entry] = column
    return q0, v0
