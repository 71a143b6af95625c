"""Add a velocity to a configuration, and find the velocity between two configurations.

| symbol | meaning |
|---|---|
| φ, u | rotation vector and displacement of a step in body axes (rad, m) |
| θ, h | length of φ, θ/2 |
| K | [φ]x |

    quaternion' = quaternion ∘ (φ sin(h)/θ, cos h)                            (1)
    position' = position + R (1 + (1 - cos θ)/θ² K + (θ - sin θ)/θ³ K²) u     (2)  free joint: motion along a screw
    φ = 2 atan2(|n|, w)/|n| n   for the quaternion (n, w), w >= 0, of q0⁻¹ ∘ q1    (3)
    u = (1 - ½ K + (1 - h cot h)/θ² K²) Rᵀ (position1 - position0)            (4)

All other coordinates are numbers that add. Near θ = 0 the quotients are summed as series; there and elsewhere they are
good to a few units in the last place. Quaternions come out with length one.
Source: Murray, Li and Sastry 1994, ch. 2.
"""

from __future__ import annotations

import math
from typing import Any

from setsu.kernels.joints import quaternion_rotation
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import (
    Scalar,
    Vector,
    add,
    cos_sin,
    cross,
    dot,
    rotate,
    rotate_back,
    scale,
    select_negative,
    square_root,
    sub,
)
from setsu.mechanism.tables import Kind

__all__ = ["difference", "integrate", "inverse_turn_factor", "joint_step", "rotation_vector", "turned"]

# (1 - cos θ)/θ² and (θ - sin θ)/θ³ as series in θ²; (1 - h cot h)/h² as series in h².
_COSINE_SERIES = tuple((-1) ** k / math.factorial(2 * k + 2) for k in range(9))
_SINE_SERIES = tuple((-1) ** k / math.factorial(2 * k + 3) for k in range(9))
_COTANGENT_SERIES = tuple(2.0 * sum(n ** (-2.0 * k) for n in range(1, 60)) / math.pi ** (2 * k) for k in range(1, 10))
_COTANGENT_SERIES = (1.0 / 3.0, 1.0 / 45.0, *_COTANGENT_SERIES[2:])
# Minimax coefficients of fdlibm's arc tangent on [-7/16, 7/16].
_ARC_TANGENT = (
    3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01, -1.11111104054623557880e-01,
    9.09088713343650656196e-02, -7.69187620504482999495e-02, 6.66107313738753120669e-02, -5.83357013379057348645e-02,
    4.97687799461593236017e-02, -3.65315727442169155270e-02, 1.62858201153657823623e-02,
)  # fmt: skip


def integrate() -> Kernel:
    """q_next = q ⊕ step; step holds velocities times a time."""
    return Kernel(
        name="integrate",
        inputs=(Array("q", "q"), Array("step", "v")),
        outputs=(Array("q_next", "q"),),
        phases=(Loop("links", (_advance,)),),
    )


def difference() -> Kernel:
    """step = q1 ⊖ q0, so that q0 ⊕ step = q1."""
    return Kernel(
        name="difference",
        inputs=(Array("q0", "q"), Array("q1", "q")),
        outputs=(Array("step", "v"),),
        phases=(Loop("links", (_separate,)),),
    )


def _advance(link: Any) -> None:
    q, step = link.q, link.step
    match link.kind:
        case Kind.SPHERICAL:
            link.q_next = turned(q, step)
        case Kind.FREE:
            u, phi = step[:3], step[3:]
            link.q_next = (*add(q[:3], rotate(quaternion_rotation(q[3:]), _screw(u, phi))), *turned(q[3:], phi))
        case _:
            link.q_next = q + step


def _separate(link: Any) -> None:
    link.step = joint_step(link.kind, link.q0, link.q1)


def joint_step(kind: Kind, q0: Any, q1: Any) -> Any:
    """Step from coordinates q0 of a joint to q1 (3), (4)."""
    match kind:
        case Kind.SPHERICAL:
            return rotation_vector(q0, q1)[0]
        case Kind.FREE:
            phi, theta2, h_cot_h = rotation_vector(q0[3:], q1[3:])
            d = rotate_back(quaternion_rotation(q0[3:]), sub(q1[:3], q0[:3]))
            factor = inverse_turn_factor(theta2, h_cot_h)
            across = cross(phi, d)
            return (*add(sub(d, scale(across, 0.5)), scale(cross(phi, across), factor)), *phi)  # (4)
        case _:
            return q1 - q0


def inverse_turn_factor(theta2: Scalar, h_cot_h: Scalar) -> Scalar:
    """(1 - h cot h)/θ², for (4)."""
    closed = (1.0 - h_cot_h) / theta2
    return select_negative(theta2 - 0.25, 0.25 * _series(_COTANGENT_SERIES, 0.25 * theta2), closed)


def turned(q: tuple, phi: Vector) -> tuple:
    """Quaternion turned by a rotation vector in body axes (1), scaled to length one."""
    theta2 = dot(phi, phi)
    theta = square_root(theta2)
    c, s = cos_sin(0.5 * theta)
    factor = select_negative(theta2 - 1e-12, 0.5 - theta2 * (1.0 / 48.0), s / theta)
    x, y, z = scale(phi, factor)
    a, b, e, w = q
    product = (
        w * x + c * a + b * z - e * y,
        w * y + c * b + e * x - a * z,
        w * z + c * e + a * y - b * x,
        w * c - a * x - b * y - e * z,
    )
    return scale(product, 1.0 / square_root(dot(product, product)))


def _screw(u: Vector, phi: Vector) -> Vector:
    """Displacement along a screw, body axes (2)."""
    theta2 = dot(phi, phi)
    theta = square_root(theta2)
    c, s = cos_sin(theta)
    small = theta2 - 1.0
    first = select_negative(small, _series(_COSINE_SERIES, theta2), (1.0 - c) / theta2)
    second = select_negative(small, _series(_SINE_SERIES, theta2), (theta - s) / (theta2 * theta))
    across = cross(phi, u)
    return add(add(u, scale(across, first)), scale(cross(phi, across), second))


def rotation_vector(q0: tuple, q1: tuple) -> tuple[Vector, Scalar, Scalar]:
    """Rotation vector from q0 to q1 in body axes (3), the square of its angle, and h cot h."""
    a, b, e, w0 = q0
    x, y, z, w1 = q1
    n = (
        w0 * x - w1 * a - b * z + e * y,
        w0 * y - w1 * b - e * x + a * z,
        w0 * z - w1 * e - a * y + b * x,
    )
    w = w0 * w1 + a * x + b * y + e * z
    n = tuple(select_negative(w, -entry, entry) for entry in n)
    w = select_negative(w, -w, w)
    length2 = dot(n, n)
    length = square_root(length2)
    h = _arc_tangent(length, w)
    tiny = length2 - 1e-30 * (w * w)
    factor = select_negative(tiny, 2.0 / w, 2.0 * h / length)
    return scale(n, factor), 4.0 * h * h, select_negative(tiny, 1.0, h * w / length)


def _arc_tangent(y: Scalar, x: Scalar) -> Scalar:
    """atan2(y, x) for y, x >= 0."""
    steep = x - y
    ratio = select_negative(steep, x, y) / select_negative(steep, y, x)
    # Beyond tan(pi/8): atan(t) = pi/4 + atan((t - 1)/(t + 1))
    wide = 0.41421356237309503 - ratio
    t = select_negative(wide, (ratio - 1.0) / (ratio + 1.0), ratio)
    t2 = t * t
    angle = t - t * (t2 * _series(_ARC_TANGENT, t2))
    angle = select_negative(wide, math.pi / 4 + angle, angle)
    return select_negative(steep, math.pi / 2 - angle, angle)


def _series(coefficients: tuple[float, ...], x: Scalar) -> Scalar:
    total: Scalar = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total
