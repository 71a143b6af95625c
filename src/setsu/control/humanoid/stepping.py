"""Where the swinging foot is to come down, and when, so that the body is caught: the linear inverted pendulum's answer.

| symbol | meaning | unit |
|---|---|---|
| c, w | centre of mass; sqrt(g / its height above the soles) | m, 1/s |
| ξ | capture point (divergent component of motion), c + c'/w | m |
| p | zero-moment point, held until the weight goes over to the other foot | m |
| T | time until then | s |
| g | where ξ is to be then, from the foot that comes down: as planned | m |
| δ | by how far the ankle moves p, within the sole | m |
| s | by how far the next footstep is moved | m |

    ξ' = w (ξ - p),  so  ξ(T) = p + (ξ - p) e^(w T)                                                      (1)
    wanted: ξ(T) = g + s,  from  p + δ:  s = p + (ξ - p) e^(w T) - g - δ (e^(w T) - 1)                   (2)
    the ankle first: δ = that of s = 0, within the sole; then s, within reach;                           (3)
    then T: the one that leaves least of (2) open, the planned one when it does as well                  (4)

Sources: Pratt et al. 2006, Capture point: a step toward humanoid push recovery; Englsberger et al. 2015 for (1);
Khadiv et al. 2020, Walking control based on step timing adaptation, for stepping at another time.
Cost: a dozen lines of arithmetic for all times at once. Refuses nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.contact.support import support_polygon

__all__ = ["Footstep", "adjusted_footstep", "pulled_into"]

Floats = NDArray[np.float64]

_OPEN = 1e-4  # m of (2) that may stay open for the planned time to be kept
_MOVED = 0.02  # how much of a footstep's change counts as something left open: the smaller change is the better one


class Footstep(NamedTuple):
    """How a footstep is changed: choice of the time, shift (2,), m, ankle (2,): δ, m, left: what stays open, m."""

    choice: int
    shift: Floats
    ankle: Floats
    left: float


def adjusted_footstep(
    capture: Floats,
    zmp: Floats,
    goal: Floats,
    times: Floats,
    rate: float,
    ankle: tuple[Floats, Floats],
    reach: tuple[Floats, Floats],
) -> Footstep:
    """Return how the next footstep is to be changed (2) to (4); axes are those of the standing foot.

    Args:
        capture, zmp, goal: ξ, p and g (2,), m.
        times: those to choose from (n,), s, the planned one first. rate: w, 1/s.
        ankle, reach: least and largest δ and s, (2,) each, m.

    A capture point 10 mm beside the planned one is left to the ankle, one of 60 mm asks for a step:

    >>> sole, reach = np.array([0.05, 0.03]), np.array([0.06, 0.05])
    >>> for error in (0.01, 0.06):
    ...     step = adjusted_footstep(
    ...         np.array([0.0, error]), np.zeros(2), np.zeros(2), np.array([0.1]), 6.6, (-sole, sole), (-reach, reach)
    ...     )
    ...     print(step.ankle.round(4).tolist(), step.shift.round(4).tolist())
    [0.0, 0.0207] [0.0, 0.0]
    [0.0, 0.03] [0.0, 0.05]
    """
    growth = np.exp(rate * times)[:, None]
    needed = zmp + (capture - zmp) * growth - goal  # (2) with δ = 0
    moved = np.clip(needed / (growth - 1.0), *ankle)
    needed = needed - moved * (growth - 1.0)
    shift = np.clip(needed, *reach)  # (3)
    left = np.abs(needed - shift).max(axis=1)
    cost = left + _MOVED * np.abs(shift).max(axis=1)
    k = 0 if left[0] < _OPEN else int(np.argmin(cost))  # (4)
    return Footstep(k, shift[k], moved[k], float(left[k]))


def pulled_into(point: Floats, corners: Floats, grown: float = 0.0) -> Floats:
    """Return the point (2,) of the convex hull of `corners` (n, 2), grown by a length (m), that is nearest to `point`.

    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> pulled_into(np.array([2.0, 0.5]), square, 0.25).tolist()
    [1.25, 0.5]
    """
    hull = support_polygon(corners)
    edge = np.roll(hull, -1, axis=0) - hull
    length = np.hypot(edge[:, 0], edge[:, 1])
    normal = np.column_stack([edge[:, 1], -edge[:, 0]]) / length[:, None]
    beyond = ((point - hull) * normal).sum(axis=1)
    if beyond.max() <= 0.0:
        return point
    # The nearest point of each edge; of the nearest edge, a way of `grown` towards the point.
    along = np.clip(((point - hull) * edge).sum(axis=1) / length**2, 0.0, 1.0)
    nearest = hull + along[:, None] * edge
    away = point - nearest
    distance = np.hypot(away[:, 0], away[:, 1])
    k = int(np.argmin(distance))
    return nearest[k] + away[k] * min(1.0, grown / distance[k])
