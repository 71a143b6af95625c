"""Rows of rods, curves and rolling: constraints between two frames whose wrench depends on where the frames are.

Symbols, in axes of A (loop_motion.py): p origin of B in A, R rotation of B, v = dp/dt, ω angular velocity of B.

    distance   e = |p| - length,  c = [n, 0],  n = p/|p|,  dn/dt = (v - n (n·v)) / |p|                              (1)
    curve      e = C(p) / |∂C|,  c = [n, 0],  n = ∂C / |∂C|,  dn/dt = (H v - n (n·H v)) / |∂C|, for each of two C   (2)
    rolling    d from the center to the point of contact, n the normal of what it rolls on, f forward, n x f aside
               ball:  d = -r n;   disc of axis u:  d = -r w/|w|,  w = n - u (u·n)                                   (3)
               e = height of the center - r (disc: r |w|);  c = [k, d x k] for k = n, f, n x f                      (4)
               dc/dt·[v, ω] = dk/dt·(v + ω x d) + k·(ω x dd/dt)                                                     (5)
               f and n x f hold the velocity of the point of contact; they have no position error

Written once, as compiled code of one row at one state: steps call `varying_row` and `varying_change`, states in any
number call `varying_positions` and `varying_rates`. Rolling on a plane: z > 0 of A; on a ball about A: n = ±p/|p|.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.compiled_surfaces import surface_at
from setsu.constraints.compiled_vectors import cross, dot, length, minus, plus, scaled
from setsu.constraints.loop_joints import FORWARD, FROM_DISTANCE, HEIGHT, ON_SURFACE
from setsu.constraints.stacked import Floats
from setsu.native.control_flow import inline, jit

__all__ = [
    "varying_change",
    "varying_positions",
    "varying_rates",
    "varying_row",
]

Ints = NDArray[np.int64]

_STEEP = 0.9  # of the normal along z, from where on x gives the direction forward


@inline
def _across(n, rate, size):
    """Rate of the unit vector n = x/|x| from that of x and |x|."""
    return scaled(minus(rate, scaled(n, dot(n, rate))), 1.0 / size)


@inline
def _direction(p):
    size = length(p)
    if size < 1e-300:
        return (1.0, 0.0, 0.0), 1e-300
    return scaled(p, 1.0 / size), size


@inline
def _surface_normal(numbers, code, point, out, p):
    """Unit normal, |∂C|, from `out`, which is filled."""
    surface_at(numbers, code, point, out, p)
    slope = (out[1], out[2], out[3])
    steepness = length(slope)
    return scaled(slope, 1.0 / steepness), steepness


@inline
def _rolling(numbers, R, p, v, w):
    """Height over what it rolls on less the radius; n, f, d and their rates at v and w."""
    radius, on, disc = numbers[0], numbers[1], numbers[2]
    n, dn, height = (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), p[2]
    reference, dreference = (0.0, 1.0, 0.0), (0.0, 0.0, 0.0)
    if on != 0.0:
        side = 1.0 if on > 0.0 else -1.0
        along, size = _direction(p)
        n, dn, height = scaled(along, side), scaled(_across(along, v, size), side), side * (size - abs(on))
        reference = (0.0, 0.0, 1.0) if abs(n[2]) < _STEEP else (1.0, 0.0, 0.0)
    d, dd, reach = scaled(n, -radius), scaled(dn, -radius), radius  # (3)
    if disc != 0.0:
        u = (R[2], R[5], R[8])
        du = cross(w, u)
        reference, dreference = u, du
        across = minus(n, scaled(u, dot(u, n)))
        rate = minus(scaled(du, -dot(u, n)), scaled(u, dot(du, n)))
        size = max(length(across), 1e-9)
        unit = scaled(across, 1.0 / size)
        d, dd, reach = scaled(unit, -radius), scaled(_across(unit, rate, size), -radius), radius * size
    x = cross(reference, n)
    size = max(length(x), 1e-9)
    f = scaled(x, 1.0 / size)
    df = _across(f, plus(cross(dreference, n), cross(reference, dn)), size)
    return height - reach, n, dn, f, df, d, dd


@inline
def _rolling_direction(kind, n, dn, f, df):
    """k and its rate (4)."""
    if kind == HEIGHT:
        return n, dn
    if kind == FORWARD:
        return f, df
    return cross(n, f), plus(cross(dn, f), cross(n, df))


@inline
def varying_row(kind, numbers, code, point, out, R, p):
    """Position error, force and moment of one row, in axes of A; point (3) and out (13) are scratch."""
    nothing = (0.0, 0.0, 0.0)
    if kind == FROM_DISTANCE:
        n, size = _direction(p)
        return size - numbers[0], n, nothing  # (1)
    if kind == ON_SURFACE:
        n, steepness = _surface_normal(numbers, code, point, out, p)
        return out[0] / steepness, n, nothing  # (2)
    error, n, dn, f, df, d, _ = _rolling(numbers, R, p, nothing, nothing)
    k, _ = _rolling_direction(kind, n, dn, f, df)
    return error if kind == HEIGHT else 0.0, k, cross(d, k)  # (4)


@inline
def varying_change(kind, numbers, code, point, out, R, p, v, w):
    """dc/dt·[v, ω] of one row."""
    if kind == FROM_DISTANCE:
        n, size = _direction(p)
        return dot(_across(n, v, size), v)
    if kind == ON_SURFACE:
        n, steepness = _surface_normal(numbers, code, point, out, p)
        bend = (
            out[4] * v[0] + out[5] * v[1] + out[6] * v[2],
            out[7] * v[0] + out[8] * v[1] + out[9] * v[2],
            out[10] * v[0] + out[11] * v[1] + out[12] * v[2],
        )
        return dot(_across(n, bend, steepness), v)
    _, n, dn, f, df, d, dd = _rolling(numbers, R, p, v, w)
    k, dk = _rolling_direction(kind, n, dn, f, df)
    return dot(dk, plus(v, cross(w, d))) + dot(k, cross(w, dd))  # (5)


@inline
def _turn(R, i, k):
    return (
        R[i, k, 0, 0], R[i, k, 0, 1], R[i, k, 0, 2],
        R[i, k, 1, 0], R[i, k, 1, 1], R[i, k, 1, 2],
        R[i, k, 2, 0], R[i, k, 2, 1], R[i, k, 2, 2],
    )  # fmt: skip


@jit
def _fill_positions(kind, numbers, code, p, R, error, wrench, scratch):
    for i in range(p.shape[0]):
        for k in range(p.shape[1]):
            place = (p[i, k, 0], p[i, k, 1], p[i, k, 2])
            error[i, k], force, moment = varying_row(
                kind[k], numbers[k], code[k], scratch[:3], scratch[3:], _turn(R, i, k), place
            )
            for j in range(3):
                wrench[i, k, j], wrench[i, k, 3 + j] = force[j], moment[j]


@jit
def _fill_rates(kind, numbers, code, p, R, motion, change, scratch):
    for i in range(p.shape[0]):
        for k in range(p.shape[1]):
            place, m = (p[i, k, 0], p[i, k, 1], p[i, k, 2]), motion[i, k]
            change[i, k] = varying_change(
                kind[k], numbers[k], code[k], scratch[:3], scratch[3:], _turn(R, i, k), place,
                (m[0], m[1], m[2]), (m[3], m[4], m[5]),
            )  # fmt: skip


def varying_positions(kind: Ints, numbers: Floats, code: Ints, p: Floats, R: Floats) -> tuple[Floats, Floats]:
    """Return errors (..., k) and wrenches (..., k, 6), axes of A, of rows at p (..., k, 3), R (..., k, 3, 3)."""
    shape = p.shape[:-1]
    n = math.prod(shape[:-1])
    error, wrench = np.zeros((n, shape[-1])), np.zeros((n, shape[-1], 6))
    places = np.ascontiguousarray(p.reshape(n, -1, 3)), np.ascontiguousarray(R.reshape(n, -1, 3, 3))
    _fill_positions(kind, numbers, code, *places, error, wrench, np.zeros(16))
    return error.reshape(shape), wrench.reshape(*shape, 6)


def varying_rates(kind: Ints, numbers: Floats, code: Ints, p: Floats, R: Floats, motion: Floats) -> Floats:
    """Return dc/dt·[v, ω] (..., k) for motions [v, ω] (..., k, 6)."""
    shape = p.shape[:-1]
    n = math.prod(shape[:-1])
    change = np.zeros((n, shape[-1]))
    places = np.ascontiguousarray(p.reshape(n, -1, 3)), np.ascontiguousarray(R.reshape(n, -1, 3, 3))
    _fill_rates(kind, numbers, code, *places, np.ascontiguousarray(motion.reshape(n, -1, 6)), change, np.zeros(16))
    return change.reshape(shape)
