"""Rows of rods, curves and rolling: constraints between two frames whose wrench depends on where the frames are.

Symbols, in axes of A (compiled_loops.py): p origin of B in A, R rotation of B, v = dp/dt, ω angular velocity of B.

    distance   e = |p| - length,  c = [n, 0],  n = p/|p|,  dn/dt = (v - n (n·v)) / |p|                              (1)
    curve      e = C(p) / |∂C|,  c = [n, 0],  n = ∂C / |∂C|,  dn/dt = (H v - n (n·H v)) / |∂C|, for each of two C   (2)
    rolling    d from the center to the point of contact, n the normal of what it rolls on, f forward, n x f aside
               ball:  d = -r n;   disc of axis u:  d = -r w/|w|,  w = n - u (u·n)                                   (3)
               e = height of the center - r (disc: r |w|);  c = [k, d x k] for k = n, f, n x f                      (4)
               dc/dt·[v, ω] = dk/dt·(v + ω x d) + k·(ω x dd/dt)                                                     (5)
               f and n x f hold the velocity of the point of contact; they have no position error

Compiled code of one row at one state, part of compiled_loops.py. Rolling on a plane: z > 0 of A; on a ball about A:
n = ±p/|p|.
"""

from __future__ import annotations

from setsu.constraints.compiled_vectors import cross, dot, length, minus, plus, scaled
from setsu.constraints.loop_joints import FORWARD, FROM_DISTANCE, HEIGHT, ON_SURFACE
from setsu.constraints.surface_code import surface_at
from setsu.native.control_flow import inline

__all__ = [
    "varying_change",
    "varying_row",
]

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
