"""Run a kernel on one mechanism with scalars of any kind: floats, complex numbers, symbolic expressions.

This is the second life of an algorithm (symbols) and the plain reference for the other two. Constants enter as Python
floats, so that zeros and ones vanish while a symbolic kernel runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from setsu.kernels.program import (
    DOF_CONSTANTS,
    LINE_CONSTANTS,
    LINK_CONSTANTS,
    TWO_BODY_CONSTANTS,
    Kernel,
    Loop,
    MatrixRow,
    Phase,
    View,
)
from setsu.mechanism.tables import Kind, Tables

__all__ = ["exceeds_operations", "run"]

# Rough operations of a step in a loop over links, over velocities, over pairs of velocities, and in a light loop.
_LINK_STEP, _DOF_STEP, _PAIR_STEP, _LIGHT_STEP = 60, 10, 40, 3

_WORLD = ("link", -1)


def run(
    kernel: Kernel,
    tables: Tables,
    inputs: Mapping[str, Sequence[Any]],
    *,
    target: int = -1,
    constants: Mapping[str, Any] | None = None,
) -> dict[str, list[Any]]:
    """Return each output as a flat list; inputs are flat sequences of scalars.

    target: index of the body whose path "target_dofs" loops walk. constants: replaces columns of the tables by name,
    for example symbolic inertias `{"mass": [...]}` over links.
    """
    machine = _Machine(kernel, tables, inputs, target, constants or {})
    machine.perform(kernel.phases, ())
    return machine.outputs


def exceeds_operations(kernel: Kernel, tables: Tables, limit: int) -> bool:
    """Guess, within a factor of three and without running it, whether a kernel takes more operations than that."""
    machine = _Machine(kernel, tables, {}, -1, {})
    left = limit

    def spend(phases: tuple[Phase, ...], around: tuple[View, ...], light: bool) -> None:
        nonlocal left
        for phase in phases:
            if isinstance(phase, Loop):
                for place in machine.places(phase, around):
                    if left < 0:
                        return
                    spend(phase.body, (*around, View(machine, place)), light or phase.light)
            elif light:
                left -= _LIGHT_STEP
            elif around:
                one = _LINK_STEP if around[-1]._place[0] == "link" else _DOF_STEP
                left -= one if len(around) == 1 else _PAIR_STEP

    spend(kernel.phases, (), False)
    return left < 0


class _Machine:
    def __init__(
        self, kernel: Kernel, tables: Tables, inputs: Mapping[str, Any], target: int, constants: Mapping[str, Any]
    ) -> None:
        self.kernel, self.tables, self.inputs, self.target = kernel, tables, inputs, target
        self.n_bodies = len(tables.body_link)
        self.fields: dict[tuple, Any] = {}
        inertias = tables.regrouped if kernel.regrouped else tables.true
        self.constants: dict[str, Any] = {
            "rotation": tables.rotation.reshape(-1, 9).tolist(),
            "translation": tables.translation.tolist(),
            "axes": tables.axes.reshape(-1, 9).tolist(),
            "pitch": tables.pitch.tolist(),
            "is_body": tables.is_body.tolist(),
            "carried": tables.carried.tolist(),
            "mass": inertias.mass.tolist(),
            "moment": inertias.moment.tolist(),
            "second_moment": inertias.second_moment.tolist(),
            **{name: getattr(tables, name).tolist() for name in DOF_CONSTANTS},
            "gravity": tuple(tables.gravity.tolist()),
            **{
                name: np.reshape(getattr(tables.two_body, name), (-1, width)).tolist()
                for name, width in TWO_BODY_CONSTANTS.items()
            },
            **{name: getattr(tables.lines, name).tolist() for name in LINE_CONSTANTS},
            **constants,
        }
        nq = sum(Kind(k).nq for k in tables.kind)
        sizes = {array.name: array.size(nq, tables.nv, self.n_bodies, tables.n_loops) for array in kernel.outputs}
        self.outputs: dict[str, list[Any]] = {name: [0.0] * size for name, size in sizes.items()}

    def perform(self, phases: tuple[Phase, ...], around: tuple[View, ...]) -> None:
        for phase in phases:
            if isinstance(phase, Loop):
                for place in self.places(phase, around):
                    self.perform(phase.body, (*around, View(self, place)))
            else:
                phase(*(around or (View(self, _WORLD),)))

    def places(self, loop: Loop, around: tuple[View, ...]) -> list[tuple[str, int]]:
        tables = self.tables
        match loop.over:
            case "links":
                return [("link", i) for i in range(tables.n_links)]
            case "links_down":
                return [("link", i) for i in reversed(range(tables.n_links))]
            case "dofs":
                return [("dof", i) for i in range(tables.nv)]
            case "dofs_down":
                return [("dof", i) for i in reversed(range(tables.nv))]
            case "lines":
                return [("line", i) for i in range(len(tables.lines.first))]
            case "closures":
                return [("two_body", tables.n_springs + i) for i in range(tables.n_loops)]
            case "pushes":
                return [("two_body", tables.n_springs + tables.n_loops + i) for i in range(tables.n_pushes)]
            case "target_dofs":
                return self.upwards(self.last_dof(int(tables.body_link[self.target])) if self.target >= 0 else -1)
        number = around[loop.of]._place[1]
        if loop.over == "link_dofs":
            return self.upwards(self.last_dof(number))
        if loop.over == "pieces":
            return [("two_body", i) for i in range(int(tables.lines.first[number]), int(tables.lines.stop[number]))]
        if loop.over in ("a_dofs", "b_dofs"):
            link = int((tables.two_body.link_a if loop.over == "a_dofs" else tables.two_body.link_b)[number])
            return self.upwards(self.last_dof(link) if link >= 0 else -1)
        if loop.over == "ancestors":
            return self.upwards(number)
        if loop.over == "strict_ancestors":
            return self.upwards(int(tables.dof_parent[number]))
        first = int(tables.v_index[tables.dof_link[number]])
        if loop.over == "above_joint":
            return self.upwards(int(tables.dof_parent[first]))
        if loop.over == "joint_dofs":
            return [("dof", first + k) for k in range(Kind(tables.kind[tables.dof_link[number]]).nv)]
        raise ValueError(f"unknown loop {loop.over!r}")

    def last_dof(self, link: int) -> int:
        return int(self.tables.v_index[link]) + Kind(self.tables.kind[link]).nv - 1

    def upwards(self, dof: int) -> list[tuple[str, int]]:
        path = []
        while dof >= 0:
            path.append(("dof", dof))
            dof = int(self.tables.dof_parent[dof])
        return path

    def read(self, place: tuple[str, int], name: str) -> Any:
        number = place[1]
        if name == "gravity":
            return self.constants["gravity"]
        if name in LINK_CONSTANTS or name in TWO_BODY_CONSTANTS or name in LINE_CONSTANTS:
            return _scalar_or_tuple(self.constants[name][number])
        match name:
            case "kind":
                return Kind(self.tables.kind[number])
            case "parent":
                return View(self, ("link", int(self.tables.parent[number])))
            case "a" if place[0] == "two_body":
                return View(self, ("link", int(self.tables.two_body.link_a[number])))
            case "b" if place[0] == "two_body":
                return View(self, ("link", int(self.tables.two_body.link_b[number])))
            case "world":
                return View(self, _WORLD)
            case "is_world":
                return place == _WORLD
            case "dofs":
                return tuple(View(self, ("dof", dof)) for dof in self.dofs_of(place))
            case "number":
                return number
            case "target":
                return View(self, ("link", int(self.tables.body_link[self.target]) if self.target >= 0 else -1))
        if name in self.kernel.zeros:
            return _scalar_or_tuple((0.0,) * len(self.dofs_of(place)))
        if name in DOF_CONSTANTS:
            return self.over_velocities(self.constants[name], place)
        if name in self.kernel.link_fields:
            return self.fields[name, number]
        if name in self.kernel.dof_fields:
            dofs = self.dofs_of(place)
            return _scalar_or_tuple([self.fields[name, dof] for dof in dofs])
        if name in self.kernel.matrices:
            return MatrixRow(self, place, name)
        array = self.kernel.array(name)
        if array is None:
            raise AttributeError(f"kernel {self.kernel.name} knows no {name!r}")
        values = self.inputs[name] if name in self.inputs else self.outputs[name]
        match array.over:
            case "q":
                start = int(self.tables.q_index[number])
                return _scalar_or_tuple(values[start : start + Kind(self.tables.kind[number]).nq])
            case "v":
                return self.over_velocities(values, place)
            case "body":
                start = int(self.tables.body[number]) * array.width
                return _scalar_or_tuple(values[start : start + array.width])
            case "loop":
                start = (number - self.tables.n_springs) * array.width
                return _scalar_or_tuple(values[start : start + array.width])
            case "total":
                return _scalar_or_tuple(values)
            case "dof":
                return tuple(values[row * self.tables.nv + number] for row in range(array.width))
            case _:
                return MatrixRow(self, place, name)

    def write(self, place: tuple[str, int], name: str, value: Any) -> None:
        number = place[1]
        if name in self.kernel.link_fields:
            self.fields[name, number] = value
            return
        if name in self.kernel.dof_fields:
            dofs = self.dofs_of(place)
            for dof, entry in zip(dofs, (value,) if len(dofs) == 1 else value, strict=True):
                self.fields[name, dof] = entry
            return
        array = self.kernel.array(name)
        if array is None or name not in self.outputs:
            raise AttributeError(f"kernel {self.kernel.name} cannot write {name!r}")
        values = value if isinstance(value, tuple) else (value,)
        result = self.outputs[name]
        match array.over:
            case "q":
                start = int(self.tables.q_index[number])
                result[start : start + len(values)] = values
            case "v":
                for dof, entry in zip(self.dofs_of(place), values, strict=True):
                    result[dof] = entry
            case "body":
                start = int(self.tables.body[number]) * array.width
                result[start : start + array.width] = values
            case "loop":
                start = (number - self.tables.n_springs) * array.width
                result[start : start + array.width] = values
            case "total":
                result[:] = values
            case "dof":
                dofs = self.dofs_of(place)
                for dof, entries in zip(dofs, (values,) if len(dofs) == 1 else values, strict=True):
                    for row, entry in enumerate(entries):
                        result[row * self.tables.nv + dof] = entry
            case _:
                raise AttributeError(f"write {name!r} by row and column")

    def loop_entries(self, row: tuple[str, int], name: str, column: tuple[str, int], width: int) -> list[int]:
        """Positions of a loop joint's numbers at one velocity."""
        first = (row[1] - self.tables.n_springs) * width
        return [(first + k) * self.tables.nv + column[1] for k in range(width)]

    def read_entry(self, row: tuple[str, int], name: str, column: tuple[str, int]) -> Any:
        array = self.kernel.array(name)
        if array is not None and array.over == "loop_dof":
            return tuple(self.outputs[name][k] for k in self.loop_entries(row, name, column, array.width))
        if name in self.outputs:
            return self.outputs[name][row[1] * self.tables.nv + column[1]]
        return self.fields[name, row[1], column[1]]

    def write_entry(self, row: tuple[str, int], name: str, column: tuple[str, int], value: Any) -> None:
        array = self.kernel.array(name)
        if array is None:
            self.fields[name, row[1], column[1]] = value
        elif array.over == "loop_dof":
            for k, entry in zip(self.loop_entries(row, name, column, array.width), value, strict=True):
                self.outputs[name][k] = entry
        elif array.over == "matrix":
            self.outputs[name][row[1] * self.tables.nv + column[1]] = value
        else:
            start = (row[1] * self.n_bodies + int(self.tables.body[column[1]])) * array.width
            self.outputs[name][start : start + array.width] = value

    def dofs_of(self, place: tuple[str, int]) -> range:
        sort, number = place
        if sort == "dof":
            return range(number, number + 1)
        start = int(self.tables.v_index[number])
        return range(start, start + Kind(self.tables.kind[number]).nv)

    def over_velocities(self, values: Sequence[Any], place: tuple[str, int]) -> Any:
        dofs = self.dofs_of(place)
        return _scalar_or_tuple(values[dofs.start : dofs.stop])


def _scalar_or_tuple(value: Any) -> Any:
    if isinstance(value, (list, tuple, np.ndarray)):
        return value[0] if len(value) == 1 else tuple(value)
    return value
