"""Elementary functions and small products with the same bits on every processor.

The C library, NumPy and BLAS choose among several implementations by processor, and those differ in the last bit. Here
every function is a fixed chain of IEEE additions, products, quotients and square roots of float64, none fused. They
are plain functions of numbers that hold nothing but their own code, so that `native.compiled_elementary` can compile
them for use inside loops: Python and compiled code agree bit for bit.

Reduction, coefficients and error bounds (below one unit in the last place) are those of fdlibm 5.3 (Sun Microsystems,
1993: "Permission to use, copy, modify, and distribute this software is freely granted").
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["LARGEST_ANGLE", "arctan2", "cos_sin", "exp", "length", "log", "matmul", "reduced_angle", "solve_positive"]

# Below it the quarter turns in an angle have 20 bits at most, and their products with parts of pi/2 are exact.
LARGEST_ANGLE = 1.6e6


def cos_sin(x: float) -> tuple[float, float]:
    """Return cosine and sine of an angle (rad) of at most LARGEST_ANGLE; `reduced_angle` makes larger ones smaller.

    >>> cos_sin(0.0)
    (1.0, 0.0)
    """
    # x = n pi/2 + y + t, with pi/2 in parts of 33 bits; more of them where many bits cancel.
    n = math.floor(x * 6.36619772367581382433e-01 + 0.5)
    r = x - n * 1.57079632673412561417e00
    w = n * 6.07710050650619224932e-11
    y = r - w
    if abs(y) < abs(x) * 1.52587890625e-05:
        t = r
        w = n * 6.07710050630396597660e-11
        r = t - w
        w = n * 2.02226624879595063154e-21 - ((t - r) - w)
        y = r - w
        if abs(y) < abs(x) * 1.7763568394002505e-15:
            t = r
            w = n * 2.02226624871116645580e-21
            r = t - w
            w = n * 8.47842766036889956997e-32 - ((t - r) - w)
            y = r - w
    t = (r - y) - w
    z = y * y
    p = 1.58969099521155010221e-10
    p = -2.50507602534068634195e-08 + z * p
    p = 2.75573137070700676789e-06 + z * p
    p = -1.98412698298579493134e-04 + z * p
    p = 8.33333333332248946124e-03 + z * p
    v = z * y
    sine = y - ((z * (0.5 * t - v * p) - t) - v * -1.66666666666666324348e-01)
    p = -1.13596475577881948265e-11
    p = 2.08757232129817482790e-09 + z * p
    p = -2.75573143513906633035e-07 + z * p
    p = 2.48015872894767294178e-05 + z * p
    p = -1.38888888888741095749e-03 + z * p
    p = 4.16666666666666019037e-02 + z * p
    half = 0.5 * z
    rest = 1.0 - half
    cosine = rest + (((1.0 - rest) - half) + (z * (z * p) - y * t))
    quarter = int(n) % 4
    if quarter == 0:
        return cosine, sine
    if quarter == 1:
        return -sine, cosine
    if quarter == 2:
        return -cosine, -sine
    return sine, -cosine


def arctan2(y: float, x: float) -> float:
    """Return the angle (rad) of the finite point (x, y), in [-pi, pi], signs of zeros as in IEEE 754.

    >>> arctan2(1.0, 0.0) == math.pi / 2
    True
    """
    a, b = abs(y), abs(x)
    # The angle in the first quadrant: u = tan of what is left beyond the nearest of 0, atan ½, 1, 1½, ∞.
    if a > 0.0 and b == 0.0:
        return math.copysign(1.57079632679489655800e00, y)
    u = a / b if a > 0.0 else 0.0
    high, low = 0.0, 0.0
    if u >= 2.4375:
        u, high, low = -1.0 / u, 1.57079632679489655800e00, 6.12323399573676603587e-17
    elif u >= 1.1875:
        u, high, low = (u - 1.5) / (1.0 + 1.5 * u), 9.82793723247329054082e-01, 1.39033110312309984516e-17
    elif u >= 0.6875:
        u, high, low = (u - 1.0) / (u + 1.0), 7.85398163397448278999e-01, 3.06161699786838301793e-17
    elif u >= 0.4375:
        u, high, low = (2.0 * u - 1.0) / (2.0 + u), 4.63647609000806093515e-01, 2.26987774529616870924e-17
    z = u * u
    w = z * z
    even = 4.97687799461593236017e-02 + w * 1.62858201153657823623e-02
    even = 6.66107313738753120669e-02 + w * even
    even = 9.09088713343650656196e-02 + w * even
    even = 1.42857142725034663711e-01 + w * even
    even = z * (3.33333333333329318027e-01 + w * even)
    odd = -5.83357013379057348645e-02 + w * -3.65315727442169155270e-02
    odd = -7.69187620504482999495e-02 + w * odd
    odd = -1.11111104054623557880e-01 + w * odd
    odd = w * (-1.99999999998764832476e-01 + w * odd)
    angle = high - ((u * (even + odd) - low) - u)
    if math.copysign(1.0, x) < 0.0:
        angle = 3.1415926535897931160e00 - (angle - 1.2246467991473531772e-16)
    return math.copysign(angle, y)


def exp(x: float) -> float:
    """Return e**x for |x| up to 700.

    >>> exp(0.0)
    1.0
    """
    n = math.floor(x * 1.44269504088896338700e00 + 0.5)
    high = x - n * 6.93147180369123816490e-01
    low = n * 1.90821492927058770002e-10
    r = high - low
    t = r * r
    p = -1.65339022054652515390e-06 + t * 4.13813679705723846039e-08
    p = 6.61375632143793436117e-05 + t * p
    p = -2.77777777770155933842e-03 + t * p
    p = 1.66666666666666019037e-01 + t * p
    c = r - t * p
    return math.ldexp(1.0 - ((low - (r * c) / (2.0 - c)) - high), int(n))


def log(x: float) -> float:
    """Return the natural logarithm of a positive number.

    >>> log(1.0)
    0.0
    """
    # x = 2^k (1 + f), sqrt(1/2) < 1 + f < sqrt(2)
    part, k = math.frexp(x)
    if part < 0.70710678118654752440:
        part, k = 2.0 * part, k - 1
    f = part - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01))
    odd = 1.818357216161805012e-01 + w * 1.479819860511658591e-01
    odd = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 + w * odd))
    half = 0.5 * f * f
    rest = s * (half + (even + odd)) + k * 1.90821492927058770002e-10
    return k * 6.93147180369123816490e-01 - ((half - rest) - f)


def reduced_angle(x: float) -> float:
    """Return the angle within half a turn that differs from x (rad, any finite number) by whole turns, rounded once."""
    numerator, denominator = float(x).as_integer_ratio()
    turn = 2 * _pi_bits()
    # In units of 2**-_BITS, exact but for the last bits of pi times the number of turns.
    scaled = (numerator << _BITS) // denominator
    rest = scaled - turn * ((2 * scaled + turn) // (2 * turn))
    return rest / (1 << _BITS)


# Beyond the 1024 bits of the largest float: what is left after taking off whole turns keeps over 200 bits.
_BITS = 1280


@cache
def _pi_bits() -> int:
    """Return pi 2**_BITS by Machin's formula, pi = 16 atan 1/5 - 4 atan 1/239."""
    guard = 32

    def arctan_of_inverse(k: int) -> int:
        term = total = (1 << (_BITS + guard)) // k
        n, sign = 3, -1
        while term:
            term //= k * k
            total += sign * (term // n)
            n, sign = n + 2, -sign
        return total

    return (16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239)) >> guard


def matmul(*factors: ArrayLike) -> NDArray[np.float64]:
    """Return the product of small matrices from left to right, each sum taken in order; both ends may be vectors.

    >>> matmul([[0.0, 1.0], [2.0, 3.0]], [4.0, 5.0]).tolist()
    [5.0, 23.0]
    """
    result: Any = factors[0]
    for factor in factors[1:]:
        if hasattr(result, "entries") or hasattr(factor, "entries"):
            # A placement with named numbers has a product of its own, which keeps the names.
            result = result @ factor
            continue
        result, right = np.asarray(result), np.asarray(factor)
        columns = range(result.shape[-1])
        if right.ndim == 1:
            terms = (result[..., k] * right[k] for k in columns)
        elif result.ndim == 1:
            terms = (result[k] * right[..., k, :] for k in columns)
        else:
            terms = (result[..., k, None] * right[..., k, None, :] for k in columns)
        total = next(terms)
        for term in terms:
            total = total + term
        result = total
    return result


def solve_positive(A: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Solve A x = b for positive definite A (..., n, n) and b (..., n) by elimination in the order of the rows.

    Raises numpy.linalg.LinAlgError where a pivot is not positive.

    >>> solve_positive([[4.0, 2.0], [2.0, 3.0]], [2.0, 3.0]).tolist()
    [0.0, 1.0]
    """
    U, right = np.array(A, dtype=np.float64), np.asarray(b, dtype=np.float64)
    n, x = U.shape[-1], np.array(np.broadcast_to(right, np.broadcast_shapes(U.shape[:-1], right.shape)))
    for k in range(n):
        pivot = U[..., k, k]
        if not (pivot > 0.0).all():
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        factors = U[..., k + 1 :, k] / pivot[..., None]
        U[..., k + 1 :, k + 1 :] -= factors[..., None] * U[..., k, None, k + 1 :]
        x[..., k + 1 :] -= factors * x[..., k, None]
    for k in reversed(range(n)):
        x[..., k] /= U[..., k, k]
        x[..., :k] -= U[..., :k, k] * x[..., k, None]
    return x


def length(vector: ArrayLike) -> float:
    """Return the Euclidean length of a vector, its squares summed in order.

    >>> length([3.0, 4.0])
    5.0
    """
    total = 0.0
    for entry in np.asarray(vector, dtype=np.float64).tolist():
        total += entry * entry
    return math.sqrt(total)
