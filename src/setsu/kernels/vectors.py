"""Three-vectors and 3x3 matrices as tuples of scalars (row by row), written out without loops or allocation.

Scalars are floats, complex numbers or symbolic expressions; the functions at the end hide which.
A symmetric matrix is the tuple xx xy xz yy yz zz.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

from setsu import elementary

Scalar = Any
Vector = tuple[Scalar, Scalar, Scalar]
Matrix = tuple[Scalar, ...]
Symmetric = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]

ZERO: Vector = (0.0, 0.0, 0.0)
IDENTITY: Matrix = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
Z: Vector = (0.0, 0.0, 1.0)


def add(a: tuple, b: tuple) -> Any:
    """a + b, entry by entry, for tuples of any length."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def sub(a: tuple, b: tuple) -> Any:
    """a - b, entry by entry."""
    return tuple(x - y for x, y in zip(a, b, strict=True))


def scale(a: tuple, s: Scalar) -> Any:
    """a s."""
    return tuple(x * s for x in a)


def negative(a: tuple) -> Any:
    """-a."""
    return tuple(-x for x in a)


def dot(a: tuple, b: tuple) -> Scalar:
    """a · b, for tuples of any length."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def cross(a: Vector, b: Vector) -> Vector:
    """a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def rotate(R: Matrix, x: Vector) -> Vector:
    """R x."""
    return (
        R[0] * x[0] + R[1] * x[1] + R[2] * x[2],
        R[3] * x[0] + R[4] * x[1] + R[5] * x[2],
        R[6] * x[0] + R[7] * x[1] + R[8] * x[2],
    )


def rotate_back(R: Matrix, x: Vector) -> Vector:
    """Rᵀ x."""
    return (
        R[0] * x[0] + R[3] * x[1] + R[6] * x[2],
        R[1] * x[0] + R[4] * x[1] + R[7] * x[2],
        R[2] * x[0] + R[5] * x[1] + R[8] * x[2],
    )


def multiply(A: Matrix, B: Matrix) -> Matrix:
    """A B."""
    columns = (rotate(A, B[0::3]), rotate(A, B[1::3]), rotate(A, B[2::3]))
    return tuple(columns[j][i] for i in range(3) for j in range(3))


def column(A: Matrix, j: int) -> Vector:
    """Column j of A."""
    return (A[j], A[3 + j], A[6 + j])


def transpose(A: Matrix) -> Matrix:
    """Aᵀ."""
    return (A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8])


def symmetric_times(S: Symmetric, x: Vector) -> Vector:
    """S x."""
    xx, xy, xz, yy, yz, zz = S
    return (
        xx * x[0] + xy * x[1] + xz * x[2],
        xy * x[0] + yy * x[1] + yz * x[2],
        xz * x[0] + yz * x[1] + zz * x[2],
    )


def full(S: Symmetric) -> Matrix:
    """S as nine numbers."""
    xx, xy, xz, yy, yz, zz = S
    return (xx, xy, xz, xy, yy, yz, xz, yz, zz)


def turn_symmetric(R: Matrix, S: Symmetric) -> Symmetric:
    """R S Rᵀ; the last diagonal entry follows from the trace, which rotation keeps."""
    r = (R[0:3], R[3:6], R[6:9])
    for kept in range(3):
        # A row that is a coordinate axis leaves a turn in the plane of the other two.
        along = unit_axis_of(r[kept])
        if along is not None:
            return _turn_in_plane(r, full(S), kept, along)
    first, second = symmetric_times(S, r[0]), symmetric_times(S, r[1])
    xx, yy = dot(first, r[0]), dot(second, r[1])
    return (xx, dot(first, r[1]), dot(first, r[2]), yy, dot(second, r[2]), S[0] + S[3] + S[5] - xx - yy)


def unit_axis_of(x: Vector) -> int | None:
    """Number of the axis a constant vector lies on with length one, None for other or symbolic vectors."""
    if all(isinstance(entry, (int, float)) for entry in x):
        sizes = [abs(entry) for entry in x]
        if sorted(sizes) == [0.0, 0.0, 1.0]:
            return sizes.index(1.0)
    return None


def _turn_in_plane(r: tuple[Vector, Vector, Vector], S: Matrix, kept: int, along: int) -> Symmetric:
    """R S Rᵀ when row `kept` of R is ± axis `along`."""
    rows = (S[0:3], S[3:6], S[6:9])
    a, b = (k for k in range(3) if k != kept)
    u, w = (k for k in range(3) if k != along)
    first = (rows[u][u] * r[a][u] + rows[u][w] * r[a][w], rows[w][u] * r[a][u] + rows[w][w] * r[a][w])
    out = [0.0] * 9
    out[4 * kept] = rows[along][along]
    out[4 * a] = first[0] * r[a][u] + first[1] * r[a][w]
    out[4 * b] = rows[u][u] + rows[w][w] - out[4 * a]
    out[3 * a + b] = out[3 * b + a] = first[0] * r[b][u] + first[1] * r[b][w]
    for k in (a, b):
        entry = (rows[along][u] * r[k][u] + rows[along][w] * r[k][w]) * r[kept][along]
        out[3 * k + kept] = out[3 * kept + k] = entry
    return (out[0], out[1], out[2], out[4], out[5], out[8])


def inertia_times(S: Symmetric, w: Vector) -> Vector:
    """I w for I = tr(S) 1 - S, S the second moments."""
    xx, xy, xz, yy, yz, zz = S
    return (
        (yy + zz) * w[0] - xy * w[1] - xz * w[2],
        (xx + zz) * w[1] - xy * w[0] - yz * w[2],
        (xx + yy) * w[2] - xz * w[0] - yz * w[1],
    )


def inertia_matrix(S: Symmetric) -> Symmetric:
    """I = tr(S) 1 - S, S the second moments."""
    xx, xy, xz, yy, yz, zz = S
    return (yy + zz, -xy, -xz, xx + zz, -yz, xx + yy)


def acceleration_matrix(w: Vector, dw: Vector) -> Matrix:
    """U = [dw]x + [w]x², so that a point at r of a body accelerates by U r relative to the body's origin."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return (
        -(yy + zz), xy - dw[2], xz + dw[1],
        xy + dw[2], -(xx + zz), yz - dw[0],
        xz - dw[1], yz + dw[0], -(xx + yy),
    )  # fmt: skip


def moment_of_acceleration(U: Matrix, S: Symmetric) -> Vector:
    """∫ r x (U r) dm, from the second moments S: the axial vector of U S."""
    Uxx, Uxy, Uxz, Uyx, Uyy, Uyz, Uzx, Uzy, Uzz = U
    xx, xy, xz, yy, yz, zz = S
    return (
        Uzx * xy + Uzy * yy + (Uzz - Uyy) * yz - Uyx * xz - Uyz * zz,
        (Uxx - Uzz) * xz + Uxy * yz - Uzx * xx - Uzy * xy + Uxz * zz,
        Uyx * xx - Uxy * yy + (Uyy - Uxx) * xy + Uyz * xz - Uxz * yz,
    )


def cos_sin(x: Scalar) -> tuple[Scalar, Scalar]:
    """Cosine and sine of any scalar."""
    if hasattr(x, "cos_sin"):
        return x.cos_sin()
    if isinstance(x, complex):
        return cmath.cos(x), cmath.sin(x)
    return elementary.cos_sin(x)


def square_root(x: Scalar) -> Scalar:
    """Square root of any scalar."""
    if hasattr(x, "sqrt"):
        return x.sqrt()
    return cmath.sqrt(x) if isinstance(x, complex) else math.sqrt(x)


def select_negative(x: Scalar, if_negative: Scalar, otherwise: Scalar) -> Scalar:
    """`if_negative` where x < 0, else `otherwise` (the real part decides for complex numbers)."""
    if hasattr(x, "select_negative"):
        return x.select_negative(if_negative, otherwise)
    return if_negative if x.real < 0.0 else otherwise


def sign(x: Scalar) -> Scalar:
    """-1, 0 or 1."""
    return select_negative(x, -1.0, select_negative(-x, 1.0, 0.0))
