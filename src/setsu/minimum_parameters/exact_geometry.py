"""The geometry of a mechanism as exact numbers of any ring: what kernels read instead of the float tables.

How floats become exact, within 1e-12 of a metre (of the mechanism's length, if that is less) or of a half-angle
tangent:

* a length of up to 12 digits is that decimal fraction (0.333 is 333/1000), any other the simplest fraction in reach
  (0.1 + 0.2 is 3/10);
* a rotation is the exact rotation of the quaternion whose entries, divided by the largest, are such fractions: right
  angles come out as 0 and ±1, any other angle as a nearby rational rotation, which is to say as a generic one;
* a named length or angle stays a generator of the ring; its value is not used.

Angles that only together make a special one (30° here, 60° there) are therefore generic when joints stand between them.
Source: Cayley's rational rotations. Cost: one pass over the links.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.system import constraint_system
from setsu.mechanism import Mechanism
from setsu.mechanism.native_text import named_symbols
from setsu.mechanism.tables import Kind
from setsu.named_numbers import NamedNumber, placement_rows
from setsu.spatial import quaternion_from_rotation
from setsu.symbolic.exact_numbers import Angle, ExactRing, Value

__all__ = ["Geometry", "exact_constants", "rational", "rational_angle", "split_symbols"]

TOLERANCE = 1e-12
QUARTER = math.pi / 2
_SHORT_DECIMAL = 12
"""Digits of a decimal that a person or a drawing has given; rounding errors leave 15 and more."""


def rational(number: float, tolerance: float = TOLERANCE, scale: float = 1.0) -> Fraction:
    """Return a short decimal as it is, of any other number the simplest fraction within `tolerance` times `scale`.

    Numbers above the scale are met within `tolerance` of themselves.

    >>> rational(0.1 + 0.2), rational(-0.0996031)
    (Fraction(3, 10), Fraction(-996031, 10000000))
    """
    text = repr(float(number))
    if sum(character.isdigit() for character in text.split("e")[0].lstrip("-0.")) <= _SHORT_DECIMAL:
        return Fraction(text)
    reach = Fraction(tolerance) * max(Fraction(scale), abs(Fraction(number)))
    return _simplest(Fraction(number) - reach, Fraction(number) + reach)


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """Return the fraction of least denominator between two numbers, by continued fractions."""
    if low <= 0 <= high:
        return Fraction(0)
    if high < 0:
        return -_simplest(-high, -low)
    whole = math.floor(low)
    if whole == low:
        return Fraction(whole)
    if whole + 1 <= high:
        return Fraction(whole + 1)
    return whole + 1 / _simplest(1 / (high - whole), 1 / (low - whole))


def rational_angle(angle: float) -> tuple[Fraction, Fraction]:
    """Return an exact cosine and sine near those of an angle: right angles exact, others a rational rotation."""
    quarter = round(angle / QUARTER)
    rest = angle - quarter * QUARTER
    t = Fraction(0) if abs(rest) < 1e-9 else rational(math.tan(rest / 2))
    c, s = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
    for _ in range(quarter % 4):
        c, s = -s, c
    return c, s


def rational_rotation(R: NDArray[np.float64], tolerance: float = TOLERANCE) -> list[Fraction]:
    """Return an exact rotation (nine fractions, row by row) near a rotation matrix."""
    quaternion = quaternion_from_rotation(np.asarray(R)).tolist()
    largest = max(quaternion, key=abs)
    x, y, z, w = (rational(entry / largest, tolerance) for entry in quaternion)
    s = 2 / (x * x + y * y + z * z + w * w)
    return [
        1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),
        s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x),
        s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y),
    ]  # fmt: skip


@dataclass(frozen=True)
class Geometry:
    """Symbols of a mechanism by use: those that occur as angles only, and lengths."""

    angles: tuple[str, ...]
    lengths: tuple[str, ...]


def split_symbols(mechanism: Mechanism) -> Geometry:
    """Return which symbols stand inside cosines and sines, and which are lengths."""
    names = named_symbols(mechanism)
    inside: set[str] = set()
    outside: set[str] = set()
    for text in _expressions(mechanism):
        _sort_names(ast.parse(text, mode="eval").body, False, inside, outside)
    # A name used both ways is two independent quantities to the algebra: it then stands for its value.
    both = inside & outside
    return Geometry(
        tuple(name for name in names if name in inside - both), tuple(name for name in names if name in outside - both)
    )


def _expressions(mechanism: Mechanism) -> set[str]:
    poses = [body.pose for body in mechanism.bodies]
    poses += [pose for loop in mechanism.loops for pose in (loop.pose_a, loop.pose_b)]
    entries = (entry for pose in poses for entry in (*pose.translation, *pose.rotation))
    return {entry.expression for entry in entries if isinstance(entry, NamedNumber)}


def _sort_names(node: ast.AST, in_angle: bool, inside: set[str], outside: set[str]) -> None:
    match node:
        case ast.Name(id=name):
            (inside if in_angle else outside).add(name)
        case ast.Call(args=[inner]):
            _sort_names(inner, True, inside, outside)
        case ast.UnaryOp(operand=operand):
            _sort_names(operand, in_angle, inside, outside)
        case ast.BinOp(left=left, right=right):
            _sort_names(left, in_angle, inside, outside)
            _sort_names(right, in_angle, inside, outside)


_FACTORS = (0, 1, 2, 3, 4)
"""Whole multiples of an angle that are expanded."""


class _NotPolynomialError(Exception):
    """An expression that the ring cannot hold, such as a quotient of two lengths."""


def exact_constants(
    mechanism: Mechanism,
    ring: ExactRing,
    lengths: Mapping[str, Value],
    angles: Mapping[str, Angle],
    tolerance: float = TOLERANCE,
) -> dict[str, Any]:
    """Return the columns of the tables that hold geometry as exact numbers: rotation, translation, axes, ends, gravity.

    lengths, angles: the named quantities that stay names; others stand for their values. tolerance: how near fractions
    come to the floats.
    """
    tables, frames = mechanism.tables, mechanism.frames
    scale = min(1.0, constraint_system(mechanism).length)

    def embed(number: float) -> Value:
        if isinstance(number, NamedNumber):
            try:
                return _expression(
                    ast.parse(number.expression, mode="eval").body, ring, lengths, angles, number.symbols
                )
            except (_NotPolynomialError, ZeroDivisionError):
                pass
        return ring.number(rational(float(number), tolerance, scale))

    def matrix(R: NDArray[np.float64]) -> list[Value]:
        return [ring.number(entry) for entry in rational_rotation(R, tolerance)]

    def frame(T: NDArray[np.float64], before: NDArray[np.float64], after: NDArray[np.float64]) -> tuple[list, list]:
        """Exact beforeᵀ R after and beforeᵀ p of a placement."""
        rows = placement_rows(T)
        plain = np.asarray(T).view(np.ndarray)
        if rows is None:
            position = before.T @ plain[:3, 3]
            return matrix(before.T @ plain[:3, :3] @ after), [embed(entry) for entry in position.tolist()]
        turned = _transpose(matrix(before))
        R = [embed(rows[k // 3][k % 3]) for k in range(9)]
        if not any(isinstance(rows[i][j], NamedNumber) for i in range(3) for j in range(3)) or not _orthonormal(
            R, ring
        ):
            R = matrix(plain[:3, :3])
        p = [embed(rows[k][3]) for k in range(3)]
        return _multiply(_multiply(turned, R), matrix(after)), _apply(turned, p)

    rotation, translation = [], []
    first_of_body: set[int] = set()
    for link in range(tables.n_links):
        body = int(tables.body[link])
        parent = int(tables.parent[link])
        if body in first_of_body:
            rotation.append(matrix(tables.rotation[link]))
            translation.append([embed(entry) for entry in tables.translation[link].tolist()])
            continue
        first_of_body.add(body)
        declared = mechanism.moving[body]
        T = frames[declared.parent].pose.matrix @ declared.pose.matrix
        before = tables.axes[parent] if parent >= 0 else np.eye(3)
        R, p = frame(T, before, tables.axes[link])
        rotation.append(R)
        translation.append(p)
    two_body: dict[str, list] = {"rotation_a": [], "position_a": [], "rotation_b": [], "position_b": []}
    blank = [0.0] * 9
    for _ in range(tables.n_springs):
        for key, column in two_body.items():
            column.append(blank if key.startswith("rotation") else blank[:3])
    for loop in mechanism.loops:
        for end, name, pose in (("a", loop.body_a, loop.pose_a), ("b", loop.body_b, loop.pose_b)):
            carrier = frames[name]
            axes = tables.axes[tables.body_link[carrier.body]] if carrier.body >= 0 else np.eye(3)
            R, p = frame(carrier.pose.matrix @ pose.matrix, axes, np.eye(3))
            two_body[f"rotation_{end}"].append(R)
            two_body[f"position_{end}"].append(p)
    return {
        "rotation": [tuple(R) for R in rotation],
        "translation": [tuple(p) for p in translation],
        "axes": [tuple(matrix(R)) for R in tables.axes],
        "pitch": [embed(float(pitch)) if Kind(kind) is Kind.HELICAL else 0.0 for pitch, kind in _pitches(mechanism)],
        "gravity": tuple(ring.number(rational(entry)) for entry in mechanism.gravity),
        **two_body,
    }


def _pitches(mechanism: Mechanism) -> list[tuple[float, int]]:
    return list(zip(mechanism.tables.pitch.tolist(), mechanism.tables.kind.tolist(), strict=True))


def _expression(
    node: ast.AST,
    ring: ExactRing,
    lengths: Mapping[str, Value],
    angles: Mapping[str, Angle],
    values: Mapping[str, float],
) -> Value:
    """Return an expression as a ring element; a name that is no generator stands for its value."""
    deeper = lambda part: _expression(part, ring, lengths, angles, values)  # noqa: E731
    match node:
        case ast.Constant(value=int() | float() as number):
            return ring.number(rational(float(number)))
        case ast.Name(id=name):
            return lengths[name] if name in lengths else ring.number(rational(values[name]))
        case ast.UnaryOp(operand=operand):
            return -1 * deeper(operand)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = deeper(left), deeper(right)
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a + -1 * b
                case ast.Mult():
                    return a * b
                case _:
                    return a * ring.wrap(ring.inverse(ring.raw(b)))
        case ast.Call(func=ast.Name(id=function), args=[inner]):
            angle = _angle(inner, ring, angles, values)
            return angle.cosine if function == "cos" else angle.sine
    raise _NotPolynomialError


def _angle(node: ast.AST, ring: ExactRing, angles: Mapping[str, Angle], values: Mapping[str, float]) -> Angle:
    match node:
        case ast.Constant(value=int() | float() as number):
            c, s = rational_angle(float(number))
            return Angle(ring.number(c), ring.number(s))
        case ast.Name(id=name):
            if name in angles:
                return angles[name]
            c, s = rational_angle(values[name])
            return Angle(ring.number(c), ring.number(s))
        case ast.UnaryOp(operand=operand):
            return _angle(operand, ring, angles, values).times(-1)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _angle(left, ring, angles, values) + _angle(right, ring, angles, values)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _angle(left, ring, angles, values) + _angle(right, ring, angles, values).times(-1)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for factor, inner in ((left, right), (right, left)):
                if isinstance(factor, ast.Constant) and factor.value in _FACTORS:
                    return _angle(inner, ring, angles, values).times(_FACTORS.index(factor.value))  # type: ignore[arg-type]
    raise _NotPolynomialError


def _orthonormal(R: list[Value], ring: ExactRing) -> bool:
    product = _multiply(R, _transpose(R))
    return all(ring.raw(entry) == ring.raw(float(k % 4 == 0)) for k, entry in enumerate(product))


def _transpose(A: list[Value]) -> list[Value]:
    return [A[3 * (k % 3) + k // 3] for k in range(9)]


def _multiply(A: list[Value], B: list[Value]) -> list[Value]:
    return [sum((A[3 * i + k] * B[3 * k + j] for k in range(3)), 0.0) for i in range(3) for j in range(3)]


def _apply(A: list[Value], x: list[Value]) -> list[Value]:
    return [sum((A[3 * i + k] * x[k] for k in range(3)), 0.0) for i in range(3)]
