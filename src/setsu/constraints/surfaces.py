"""Surfaces C(r) = 0 a point can be held on: value, gradient and second derivatives, any leading axes.

A mechanism touches a surface from the side where C > 0; the gradient points out of the surface towards it.

    Plane     C = n·r - offset                          (m, n of length one)
    Sphere    C = |r - center| - radius                 (m)
    Cylinder  C = distance from the axis - radius       (m)
    ImplicitSurface  C = any expression in x, y, z      (own unit; forces and errors use C / |∂C/∂r|, in m)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints.expressions import COORDINATES, parse_expression
from setsu.errors import InputError
from setsu.mechanism.checks import finite_number, vector3
from setsu.mechanism.joints import unit_axis
from setsu.native.expression_code import expression_code
from setsu.symbolic import Expression, Graph, Scalar, differentiate, evaluate

__all__ = ["Cylinder", "ImplicitSurface", "Plane", "Sphere", "Surface"]

Floats = NDArray[np.float64]
Vector3 = tuple[float, float, float]


class Surface(ABC):
    """What every surface offers: C(r), its gradient and its matrix of second derivatives at points (..., 3), m."""

    @abstractmethod
    def value(self, points: ArrayLike) -> Floats:
        """Return C at points (..., 3): (...)."""

    @abstractmethod
    def gradient(self, points: ArrayLike) -> Floats:
        """Return ∂C/∂r at points (..., 3): (..., 3)."""

    @abstractmethod
    def hessian(self, points: ArrayLike) -> Floats:
        """Return ∂²C/∂r∂r at points (..., 3): (..., 3, 3)."""

    @abstractmethod
    def third(self, points: ArrayLike) -> Floats:
        """Return the third derivatives of C at points (..., 3): (..., 3, 3, 3)."""

    def frame(self, points: ArrayLike, what: str = "surface") -> tuple[Floats, Floats, Floats, Floats]:
        """Return distance C/|∂C/∂r| (...), normal (..., 3), curvature ∂²C/∂r∂r / |∂C/∂r| (..., 3, 3), |∂C/∂r| (...).

        Raises:
            InputError: the gradient vanishes or is not finite at a point; `what` and the point are named.
        """
        r = np.asarray(points, dtype=np.float64)
        with np.errstate(all="ignore"):
            value, slope, second = self.value(r), self.gradient(r), self.hessian(r)
            length = np.sqrt(np.sum(slope * slope, axis=-1))
        # A zero gradient leaves no normal; products of tiny numbers may round to nearly zero, hence no exact test.
        bad = ~(length > 1e-12) | ~np.isfinite(value) | ~np.isfinite(second).all(axis=(-1, -2))
        if bad.any():
            where = tuple(np.argwhere(bad)[0])
            point = np.broadcast_to(r, (*bad.shape, 3))[where]
            raise InputError(
                f"{what}: the gradient of {self} vanishes or is undefined at point {_text(point)}; "
                "expected a point where the surface has a normal"
            )
        return value / length, slope / length[..., None], second / length[..., None, None], length


@dataclass(frozen=True)
class Plane(Surface):
    """Plane n·r = offset (m) with n the normal scaled to length one.

    >>> Plane(normal=(0, 0, 2), offset=0.5).value((0.0, 0.0, 0.6)).round(12)
    np.float64(0.1)
    """

    normal: Sequence[float] = (0.0, 0.0, 1.0)
    offset: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", unit_axis(self.normal, "Plane normal"))
        object.__setattr__(self, "offset", finite_number(self.offset, "Plane offset"))

    def value(self, points: ArrayLike) -> Floats:
        """Return the signed distance of points (..., 3) from the plane, m."""
        return np.asarray(points, dtype=np.float64) @ np.array(self.normal) - self.offset

    def gradient(self, points: ArrayLike) -> Floats:
        """Return the normal for each of the points (..., 3)."""
        return np.broadcast_to(np.array(self.normal), np.shape(points)).copy()

    def hessian(self, points: ArrayLike) -> Floats:
        """Return zeros, (..., 3, 3): a plane does not bend."""
        return np.zeros((*np.shape(points), 3))

    def third(self, points: ArrayLike) -> Floats:
        """Return zeros, (..., 3, 3, 3)."""
        return np.zeros((*np.shape(points), 3, 3))


class _Round(Surface):
    """Points at a distance from a center or an axis; touched from outside."""

    radius: float

    @abstractmethod
    def _arm(self, points: ArrayLike) -> Floats:
        """Shortest way from the center or the axis to points (..., 3)."""

    @cached_property
    def _across(self) -> Floats:
        """Projection onto the directions in which that way can change, (3, 3)."""
        return np.eye(3)

    def value(self, points: ArrayLike) -> Floats:
        """Return the distance of points (..., 3) from the surface, m; negative inside."""
        return np.linalg.norm(self._arm(points), axis=-1) - self.radius

    def gradient(self, points: ArrayLike) -> Floats:
        """Return the outward normal at points (..., 3); undefined (NaN) at the center or on the axis."""
        return _unit(self._arm(points))[0]

    def hessian(self, points: ArrayLike) -> Floats:
        """Return the second derivatives of the distance, (..., 3, 3), 1/m."""
        return _bend(self._across, *_unit(self._arm(points)))

    def third(self, points: ArrayLike) -> Floats:
        """Return the third derivatives of the distance, (..., 3, 3, 3), 1/m²."""
        return _bend_rate(self._across, *_unit(self._arm(points)))


@dataclass(frozen=True)
class Sphere(_Round):
    """Sphere of `radius` (m) about `center` (m); touched from outside."""

    center: Sequence[float] = (0.0, 0.0, 0.0)
    radius: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", vector3(self.center, "Sphere center"))
        object.__setattr__(self, "radius", _positive(self.radius, "Sphere radius"))

    def _arm(self, points: ArrayLike) -> Floats:
        return np.asarray(points, dtype=np.float64) - np.array(self.center)


@dataclass(frozen=True)
class Cylinder(_Round):
    """Cylinder of `radius` (m), without ends, about the line through `point` (m) along `axis`; touched from outside."""

    point: Sequence[float] = (0.0, 0.0, 0.0)
    axis: Sequence[float] = (0.0, 0.0, 1.0)
    radius: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", vector3(self.point, "Cylinder point"))
        object.__setattr__(self, "axis", unit_axis(self.axis, "Cylinder axis"))
        object.__setattr__(self, "radius", _positive(self.radius, "Cylinder radius"))

    @cached_property
    def _across(self) -> Floats:
        return np.eye(3) - np.outer(self.axis, self.axis)

    def _arm(self, points: ArrayLike) -> Floats:
        return (np.asarray(points, dtype=np.float64) - np.array(self.point)) @ self._across


@dataclass(frozen=True)
class ImplicitSurface(Surface):
    """Surface of all points where an expression in x, y, z (m) is zero.

    Allowed are numbers, pi, + - * /, ** with whole or half powers, sin, cos, tan, sqrt; the text is parsed, never run.
    The mechanism touches it from the side where the expression is positive.

    >>> bowl = ImplicitSurface("z - x**2 - y**2")
    >>> bowl.gradient((1.0, 0.5, 1.25)).tolist()
    [-2.0, -1.0, 1.0]
    """

    expression: str

    def __post_init__(self) -> None:
        value, *slopes = self._derivatives[:4]
        if all(not isinstance(slope, Expression) and slope == 0 for slope in slopes):
            raise InputError(
                f"ImplicitSurface: expected an expression that depends on x, y or z, got {self.expression!r} "
                f"({'constant' if not isinstance(value, Expression) else 'its gradient is zero everywhere'})"
            )

    def value(self, points: ArrayLike) -> Floats:
        """Return the expression's value at points (..., 3)."""
        return self._evaluate(points, self._derivatives[:1])[..., 0]

    def gradient(self, points: ArrayLike) -> Floats:
        """Return the exact gradient at points (..., 3)."""
        return self._evaluate(points, self._derivatives[1:4])

    def hessian(self, points: ArrayLike) -> Floats:
        """Return the exact second derivatives at points (..., 3): (..., 3, 3)."""
        second = self._evaluate(points, self._derivatives[4:])
        return second.reshape(*second.shape[:-1], 3, 3)

    def third(self, points: ArrayLike) -> Floats:
        """Return the exact third derivatives at points (..., 3): (..., 3, 3, 3)."""
        found = self._evaluate(points, self._third_derivatives)
        return found.reshape(*found.shape[:-1], 3, 3, 3)

    @cached_property
    def _third_derivatives(self) -> list[Scalar]:
        inputs = [self._graph.input(name) for name in COORDINATES]
        return [entry for row in differentiate(self._graph, self._derivatives[4:], inputs) for entry in row]

    @cached_property
    def _graph(self) -> Graph:
        return Graph()

    @cached_property
    def _derivatives(self) -> list[Scalar]:
        """The value, its 3 slopes and its 9 second derivatives as expressions."""
        graph = self._graph
        inputs = [graph.input(name) for name in COORDINATES]
        value = parse_expression(self.expression, graph, "ImplicitSurface")
        (slopes,) = differentiate(graph, [value], inputs)
        second = differentiate(graph, slopes, inputs)
        return [value, *slopes, *(entry for row in second for entry in row)]

    def derivatives(self, *point: Any) -> list[Any]:
        """Return value, 3 slopes and 9 second derivatives at a point x, y, z of numbers or symbols."""
        return evaluate(self._graph, self._derivatives, dict(zip(COORDINATES, point, strict=True)))

    @cached_property
    def _native(self) -> tuple[Any, int]:
        return expression_code(f"surface {self.expression}", self._graph, COORDINATES, self._derivatives)

    @property
    def native_address(self) -> int:
        """Address of code that turns a point (3) into value, slopes and second derivatives (13)."""
        return self._native[1]

    def _evaluate(self, points: ArrayLike, expressions: list[Scalar]) -> Floats:
        r = np.asarray(points, dtype=np.float64)
        values = {name: r[..., k] for k, name in enumerate(COORDINATES)}
        with np.errstate(all="ignore"):
            results = evaluate(self._graph, expressions, values)
        return np.stack([np.broadcast_to(result, r.shape[:-1]) for result in results], axis=-1).astype(np.float64)


def _unit(arm: Floats) -> tuple[Floats, Floats]:
    """Direction and length of vectors; NaN where the length is zero."""
    length = np.linalg.norm(arm, axis=-1)
    return arm / np.where(length > 0.0, length, np.nan)[..., None], length


def _bend(projection: Floats, normal: Floats, length: Floats) -> Floats:
    """Second derivatives (P - n nᵀ)/d of a distance d with unit gradient n."""
    return (projection - normal[..., :, None] * normal[..., None, :]) / length[..., None, None]


def _bend_rate(projection: Floats, normal: Floats, length: Floats) -> Floats:
    """Third derivatives of a distance d: derivatives of (P - n nᵀ)/d with ∂n = (P - n nᵀ)/d, ∂d = n."""
    H, n = _bend(projection, normal, length), normal
    mixed = H[..., :, :, None] * n[..., None, None, :]
    # H_ik n_j + n_i H_jk + H_ij n_k
    total = np.swapaxes(mixed, -1, -2) + np.moveaxis(mixed, -1, -3) + mixed
    return -total / length[..., None, None, None]


def _positive(value: object, what: str) -> float:
    number = finite_number(value, what)
    if number <= 0.0:
        raise InputError(f"{what}: expected a positive number, got {number}")
    return number


def _text(point: Floats) -> str:
    return "(" + ", ".join(f"{entry:.6g}" for entry in point) + ")"
