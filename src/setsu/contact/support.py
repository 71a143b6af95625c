"""What contact forces say of balance: center of pressure (zero-moment point), support polygon, margin between them.

| symbol | meaning | unit |
|---|---|---|
| p_i, f_i | places and forces of the contacts, world axes | m, N |
| n, d | plane n·x = d that the points are taken to, o = d n on it | -, m |
| p | center of pressure in the plane | m |
| e, m | corners of the support polygon, counter-clockwise; inward normals of its edges, in the plane | m, - |

    p = o + n x Σ (p_i - o) x f_i / n·Σ f_i                                   (1)  no moment across n is left about p
    support polygon: hull of the points that press, projected along n         (2)
    margin = min over edges of m·(p - e)                                      (3)  negative outside

On a floor at z = 0, p is the zero-moment point. Source: Vukobratovic and Borovac 2004.
Cost: n log n in the number of touching points, per instant. Refuses nothing: NaN where nothing presses on the plane,
and for margins where fewer than three corners hold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["center_of_pressure", "plane_axes", "support_margin", "support_polygon"]

Floats = NDArray[np.float64]


def center_of_pressure(
    positions: Floats, forces: Floats, normal: ArrayLike = (0.0, 0.0, 1.0), offset: float = 0.0
) -> Floats:
    """Return the center of pressure (T, 3), m, of forces (T, n, 3), N, at positions (T, n, 3), m (1).

    normal, offset: the plane n·x = offset (m) it lies in; NaN where nothing presses on it.

    >>> center_of_pressure(np.array([[[0.0, 0, 0], [1.0, 0, 0]]]), np.array([[[0, 0, 1.0], [0, 0, 3.0]]])).tolist()
    [[0.75, 0.0, 0.0]]
    """
    n = np.asarray(normal, dtype=np.float64)
    pressing = forces.sum(axis=1) @ n
    moment = np.cross(positions - offset * n, forces).sum(axis=1)
    some = pressing > 0.0
    result = np.full((len(forces), 3), np.nan)
    result[some] = offset * n + np.cross(n, moment[some]) / pressing[some, None]  # (1)
    return result


def support_polygon(points: Floats) -> Floats:
    """Return the corners (k, 2) of the convex hull of points (n, 2), counter-clockwise, no three in a line.

    >>> support_polygon(np.array([[0, 0], [1, 0], [0.5, 0.2], [1, 1], [0, 1]])).tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    # Corners that lie in a line but for a rounding would come in the wrong order: a nanometre counts as the same place.
    ordered = np.unique(np.round(points, 9) + 0.0, axis=0)
    if len(ordered) < 3:
        return ordered
    chains = []
    for way in (ordered, ordered[::-1]):
        chain: list[Floats] = []
        for point in way:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 1e-15:
                chain.pop()
            chain.append(point)
        chains += chain[:-1]
    return np.array(chains)


def support_margin(zmp: Floats, points: Floats, touching: NDArray[np.bool_]) -> Floats:
    """Return how far the zero-moment point (T, 2) is inside the hull of points (T, n, 2) that touch (T, n): (T,), m."""
    margins = np.full(len(zmp), np.nan)
    for k in np.flatnonzero(np.isfinite(zmp).all(axis=1)):
        corners = support_polygon(points[k, touching[k]])
        if len(corners) < 3:
            continue
        edges = np.roll(corners, -1, axis=0) - corners
        inward = np.stack([-edges[:, 1], edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1, keepdims=True)
        margins[k] = np.min(np.sum(inward * (zmp[k] - corners), axis=1))  # (3)
    return margins


def plane_axes(normal: ArrayLike) -> Floats:
    """Return two unit vectors (2, 3) in a plane, the first the nearest to x (or y), the second turned left from it.

    >>> plane_axes((0, 0, 1)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    n = np.asarray(normal, dtype=np.float64)
    start = np.array([1.0, 0.0, 0.0] if abs(n[0]) < 0.9 else [0.0, 1.0, 0.0])
    first = start - n * (n @ start)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(n, first)])


def _turn(a: Floats, b: Floats, c: Floats) -> float:
    """Twice the area of the triangle a b c; positive when it counts counter-clockwise."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
