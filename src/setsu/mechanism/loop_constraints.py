"""Constraints between two bodies that are no joints of a tree: a rod, a point on a curve, a wheel that rolls.

They stand where the joint of a loop stands, hold one, two or three directions, and have no coordinates of their own.

| type | holds, with frame A on body_a and frame B on body_b |
|---|---|
| Distance | the distance of the origins of A and B |
| PointOnCurve | the origin of B on a curve that is fixed in A |
| Rolling | a ball or disc about the origin of B at its radius from a plane or ball of body_a, without slip (at velocity level) |
"""  # noqa: E501

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from setsu.errors import InputError
from setsu.mechanism.joints import Joint

if TYPE_CHECKING:
    from setsu.mechanism.record import Mechanism

__all__ = ["LOOP_CONSTRAINT_TYPES", "Distance", "LoopConstraint", "PointOnCurve", "Rolling", "refuse_loop_constraints"]

_CURVE_WORDS = {"x", "y", "z", "pi", "sin", "cos", "tan", "sqrt"}


@dataclass(frozen=True)
class LoopConstraint(Joint):
    """What closes loops only: it has no coordinates, and no friction, drive, spring or limits."""


@dataclass(frozen=True)
class Distance(LoopConstraint):
    """A rod without mass between two ball joints: the origins of A and B keep a distance of `length` (m)."""

    length: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "length", _positive(self.length, f'Distance "{self.name}" length (m)'))


@dataclass(frozen=True)
class PointOnCurve(LoopConstraint):
    """A bead: the origin of B stays where two expressions in x, y, z (m, in axes of A) are both zero."""

    curve: tuple[str, str] = field(default=("y", "z"), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "curve", checked_curve(self.curve, f'PointOnCurve "{self.name}" curve'))


@dataclass(frozen=True)
class Rolling(LoopConstraint):
    """A ball, or the rim of a disc, rolls without slip.

    radius (m) about the origin of B; shape "ball", or "disc" about the z axis of B. It rolls on the side z > 0 of the
    xy plane of A, or, with `on_radius` (m) other than 0, on a ball about the origin of A: outside, or inside for a
    negative one.
    """

    radius: float = field(default=1.0, kw_only=True)
    shape: str = field(default="ball", kw_only=True)
    on_radius: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        what = f'Rolling "{self.name}"'
        object.__setattr__(self, "radius", _positive(self.radius, f"{what} radius (m)"))
        if self.shape not in ("ball", "disc"):
            raise InputError(f'{what} shape: expected "ball" or "disc", got {self.shape!r}')
        on = _number(self.on_radius, f"{what} on_radius (m)") + 0.0
        if on != 0.0 and self.shape == "disc":
            raise InputError(
                f"{what}: a disc rolls on a plane; expected no on_radius, or a ball (in a planar mechanism, balls on "
                "balls roll as discs on discs)"
            )
        if on < 0.0 and self.radius >= -on:
            raise InputError(
                f"{what}: expected a radius below {-on:g} m inside a ball of that radius, got {self.radius}"
            )
        object.__setattr__(self, "on_radius", on)


LOOP_CONSTRAINT_TYPES: dict[str, type[LoopConstraint]] = {
    kind.__name__: kind for kind in (Distance, PointOnCurve, Rolling)
}


def checked_curve(curve: Any, what: str) -> tuple[str, str]:
    """Return two expressions as texts; their grammar is that of `setsu.ImplicitSurface`."""
    if isinstance(curve, str) or not hasattr(curve, "__iter__"):
        raise InputError(f"{what}: expected two expressions such as ('z - x**2', 'y'), got {curve!r}")
    texts = list(curve)
    if len(texts) != 2 or not all(isinstance(text, str) for text in texts):
        raise InputError(f"{what}: expected two expressions such as ('z - x**2', 'y'), got {curve!r:.80}")
    for text in texts:
        try:
            words = {node.id for node in ast.walk(ast.parse(text.strip(), mode="eval")) if isinstance(node, ast.Name)}
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise InputError(f"{what}: cannot read {text!r:.80}; expected an expression in x, y, z") from None
        if words - _CURVE_WORDS or not words & {"x", "y", "z"}:
            raise InputError(
                f"{what}: expected an expression in x, y, z with {', '.join(sorted(_CURVE_WORDS - set('xyz')))}, "
                f"got {text!r:.80}"
            )
    return texts[0], texts[1]


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(float(value)) < float("inf"):
        raise InputError(f"{what}: expected a finite number, got {value!r}")
    return float(value)


def _positive(value: Any, what: str) -> float:
    number = _number(value, what)
    if number <= 0.0:
        raise InputError(f"{what}: expected a positive number, got {number}")
    return number


def refuse_loop_constraints(mechanism: Mechanism, function: str) -> None:
    """Raise an InputError when a loop is held by a distance, a curve or rolling."""
    for loop in mechanism.loops:
        if isinstance(loop.joint, LoopConstraint):
            raise InputError(
                f'{function}: loop "{loop.name}" is closed by {type(loop.joint).__name__}, which this function does '
                "not differentiate; expected loops that joints close"
            )
