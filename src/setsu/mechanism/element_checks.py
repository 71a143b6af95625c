"""Checks of what a builder is given: shapes, pieces of tendons, fluid, and the joints of a polynomial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from setsu.errors import InputError
from setsu.mechanism.checks import finite_number, vector3
from setsu.mechanism.elements import Pose, Shape
from setsu.mechanism.force_elements import Fluid, FluidBox, Segment
from setsu.spatial import listed

__all__ = ["checked_fluid", "checked_segment", "checked_shapes", "per_axis", "two_joints"]


def checked_segment(piece: Segment, what: str) -> Segment:
    """Return a segment with finite points and factor."""
    return Segment(
        piece.body_a,
        vector3(piece.point_a, f"{what} point_a"),
        piece.body_b,
        vector3(piece.point_b, f"{what} point_b"),
        finite_number(piece.factor, f"{what} factor"),
    )


def checked_fluid(fluid: Fluid) -> Fluid:
    """Return a fluid with finite numbers, boxes included."""
    boxes = []
    for box in fluid.boxes:
        what = f'fluid box of body "{box.body}"'
        x, y, z = (finite_number(edge, f"{what} size", minimum=0.0) for edge in vector3(box.size, f"{what} size"))
        boxes.append(FluidBox(box.body, (x, y, z), Pose.of(box.pose, f"{what} pose")))
    return Fluid(
        finite_number(fluid.density, "fluid density", minimum=0.0),
        finite_number(fluid.viscosity, "fluid viscosity", minimum=0.0),
        vector3(fluid.wind, "fluid wind"),
        tuple(boxes),
    )


def checked_shapes(shapes: Iterable[Shape], what: str) -> tuple[Shape, ...]:
    """Return shapes as a tuple; InputError for anything else."""
    result = tuple(listed(shapes, what, "Shape"))
    for shape in result:
        if not isinstance(shape, Shape):
            raise InputError(f"{what}: expected Shape entries, got {shape!r}")
    return result


def two_joints(factors: Any, what: str) -> tuple[str, str]:
    """Names of y and x: the two joints of a polynomial."""
    names = list(factors) if isinstance(factors, (Mapping, list, tuple)) else []
    weights = list(factors.values()) if isinstance(factors, Mapping) else [1.0, 1.0]
    named = len(names) == 2 and all(isinstance(name, str) for name in names)
    if not named or weights[0] != 1.0 or weights[1] not in (0.0, 1.0, -1.0):
        raise InputError(
            f"{what}: with a polynomial, expected the joints y and x as two names or as {{y: 1, x: 1}}, "
            f"got {factors!r}; other factors go into the polynomial"
        )
    return names[0], names[1]


def per_axis(*values: object) -> list[tuple[float, ...]]:
    """Per-axis joint options as the tuples they are once the joint is made (declared: number or sequence)."""
    return [tuple(value) for value in values]  # type: ignore[arg-type]
