"""Run the steps of a kernel on symbols that stand for numbers in memory: what a step computes, once per joint kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from setsu.kernels.program import (
    DOF_CONSTANTS,
    LINE_CONSTANTS,
    LINK_CONSTANTS,
    TWO_BODY_CONSTANTS,
    Kernel,
    MatrixRow,
    View,
)
from setsu.mechanism.tables import Kind
from setsu.native.layout import DOF_OFFSET, DOF_STRIDE, LINE_OFFSET, LINK_OFFSET, TWO_BODY_OFFSET, Variant, offsets
from setsu.symbolic import Graph, Scalar

__all__ = ["Location", "Place", "Traced", "Tracer"]


@dataclass(frozen=True)
class Place:
    """A place seen by a step.

    sort: "link", "dof", "two_body" or "line" (a loop variable), "parent" (of a link), "a" or "b" (of a two-body
    element), "world", "target".
    """

    sort: str
    depth: int


@dataclass(frozen=True)
class Location:
    """A number in memory: `region` and `places` tell the pointer, `offset` the entry; shared: one for all lanes."""

    region: str
    name: str
    places: tuple[Place, ...]
    offset: int
    shared: bool = False
    row: int = 0


@dataclass
class Traced:
    """What a group of steps computes: a graph over loaded locations, and what is stored where."""

    graph: Graph = field(default_factory=Graph)
    stores: dict[Location, Scalar] = field(default_factory=dict)
    loads: dict[Location, Scalar] = field(default_factory=dict)


class Tracer:
    """Runs steps on symbols; every read is a load, every write a store at the end."""

    def __init__(self, kernel: Kernel, variant: Variant, kind: Kind | None) -> None:
        self.kernel, self.kind = kernel, kind
        self.uniform = dict(variant.uniform)
        self.link_field_offset = offsets(kernel.kept_fields)[0] | offsets(kernel.passed_fields)[0]
        self.dof_field_offset, self.dof_field_stride = offsets(kernel.dof_fields)
        self.traced = Traced()

    def load(self, location: Location) -> Scalar:
        stored = self.traced.stores.get(location)
        if stored is not None:
            return stored
        if location not in self.traced.loads:
            self.traced.loads[location] = self.traced.graph.input(location)
        return self.traced.loads[location]

    def numbers(self, region: str, name: str, places: tuple[Place, ...], start: int, width: int, shared: bool) -> Any:
        values = tuple(self.load(Location(region, name, places, start + k, shared)) for k in range(width))
        return values[0] if width == 1 else values

    def read(self, place: Place, name: str) -> Any:
        if name == "gravity":
            return self.numbers("header", "", (), 0, 3, True)
        if name == "kind":
            return self.kind
        if name in ("parent", "world", "target") or (place.sort == "two_body" and name in ("a", "b")):
            return View(self, Place(name, -1 if name in ("world", "target") else place.depth))
        if name in TWO_BODY_CONSTANTS:
            return self.numbers(
                "two_body_constants", name, (place,), TWO_BODY_OFFSET[name], TWO_BODY_CONSTANTS[name], True
            )
        if name in LINE_CONSTANTS:
            return self.numbers("line_constants", name, (place,), LINE_OFFSET[name], LINE_CONSTANTS[name], True)
        if name in self.kernel.zeros:
            count = 1 if place.sort == "dof" else self.nv
            return 0.0 if count == 1 else (0.0,) * count
        if name in LINK_CONSTANTS:
            return self.link_constant(place, name)
        if name in DOF_CONSTANTS:
            if self.uniform.get(name) == 0.0:
                return 0.0 if place.sort == "dof" or self.nv == 1 else (0.0,) * self.nv
            count = 1 if place.sort == "dof" else self.nv
            starts = [k * DOF_STRIDE + DOF_OFFSET[name] for k in range(count)]
            return _map_locations(
                _flat([Location("dof_constants", name, (place,), start, True) for start in starts]), self.load
            )
        locations = self.locations(place, name)
        if locations is None:
            return MatrixRow(self, place, name)
        return _map_locations(locations, self.load)

    @property
    def nv(self) -> int:
        if self.kind is None:
            raise AttributeError("a step in a loop inside a loop over links cannot depend on the joint kind")
        return self.kind.nv

    def link_constant(self, place: Place, name: str) -> Any:
        if name in self.uniform:
            return self.uniform[name]
        width = LINK_CONSTANTS[name]
        values = self.numbers("link_constants", name, (place,), LINK_OFFSET[name], width, True)
        if self.kernel.regrouped:
            match name, self.kind:
                case ("mass", Kind.REVOLUTE | Kind.SPHERICAL):
                    return 0.0
                case ("moment", Kind.REVOLUTE):
                    return (*values[:2], 0.0)
                case ("second_moment", Kind.REVOLUTE | Kind.HELICAL):
                    return (*values[:5], 0.0)
                case ("second_moment", Kind.PRISMATIC):
                    return (0.0,) * 6
        return values

    def locations(self, place: Place, name: str) -> Any:
        """Locations behind a name as (nested) tuples in the shape the step sees; None for matrices."""
        kernel = self.kernel
        if name in kernel.link_fields:
            start = self.link_field_offset[name]
            region = "passed_fields" if name in kernel.passed else "link_fields"
            return _flat([Location(region, name, (place,), start + k) for k in range(kernel.link_fields[name])])
        if name in kernel.dof_fields:
            start, width = self.dof_field_offset[name], kernel.dof_fields[name]

            def entries(k: int) -> Any:
                first = k * self.dof_field_stride + start
                return _flat([Location("dof_fields", name, (place,), first + j) for j in range(width)])

            return entries(0) if place.sort == "dof" or self.nv == 1 else tuple(entries(k) for k in range(self.nv))
        array = kernel.array(name)
        if array is None and name not in kernel.matrices:
            raise AttributeError(f"kernel {kernel.name} knows no {name!r}")
        match array.over if array else "matrix":
            case "q":
                assert self.kind is not None
                return _flat([Location("over_q", name, (place,), k) for k in range(self.kind.nq)])
            case "v":
                if place.sort == "dof":
                    return Location("over_v", name, (place,), 0)
                return _flat([Location("over_v", name, (place,), k) for k in range(self.nv)])
            case "body":
                return _flat([Location("over_body", name, (place,), k) for k in range(array.width)])  # type: ignore[union-attr]
            case "loop":
                return _flat([Location("over_loop", name, (place,), k) for k in range(array.width)])  # type: ignore[union-attr]
            case "total":
                return _flat([Location("total", name, (), k) for k in range(array.width)])  # type: ignore[union-attr]
            case "dof":

                def rows(k: int) -> tuple:
                    width = array.width  # type: ignore[union-attr]
                    return tuple(Location("over_dof", name, (place,), k, row=row) for row in range(width))

                return rows(0) if place.sort == "dof" or self.nv == 1 else tuple(rows(k) for k in range(self.nv))
            case _:
                return None

    def write(self, place: Place, name: str, value: Any) -> None:
        self.store(self.locations(place, name), value)

    def store(self, locations: Any, value: Any) -> None:
        if isinstance(locations, Location):
            self.traced.stores[locations] = value[0] if isinstance(value, tuple) else value
        else:
            for location, entry in zip(locations, value, strict=True):
                self.store(location, entry)

    def read_entry(self, row: Place, name: str, column: Place) -> Any:
        array = self.kernel.array(name)
        if array is not None and array.over == "loop_dof":
            return tuple(self.load(Location("loop_dof", name, (row, column), 0, row=k)) for k in range(array.width))
        return self.load(Location("matrix", name, (row, column), 0))

    def write_entry(self, row: Place, name: str, column: Place, value: Any) -> None:
        array = self.kernel.array(name)
        if array is None or array.over == "matrix":
            self.traced.stores[Location("matrix", name, (row, column), 0)] = value
        elif array.over == "loop_dof":
            for k, entry in enumerate(value):
                self.traced.stores[Location("loop_dof", name, (row, column), 0, row=k)] = entry
        else:
            for k, entry in enumerate(value if isinstance(value, tuple) else (value,)):
                self.traced.stores[Location("dof_body", name, (row, column), k)] = entry


def _flat(locations: list[Location]) -> Any:
    return locations[0] if len(locations) == 1 else tuple(locations)


def _map_locations(locations: Any, function: Any) -> Any:
    if isinstance(locations, Location):
        return function(locations)
    return tuple(_map_locations(entry, function) for entry in locations)
