"""Points of planar linkages: where two bars meet."""

from __future__ import annotations

import math

from setsu.errors import InputError

__all__ = ["Point", "meeting_point"]

Point = tuple[float, float]


def meeting_point(center_1: Point, radius_1: float, center_2: Point, radius_2: float, what: str) -> Point:
    """Return the intersection of two circles (m) that lies on the left on the way from center 1 to center 2.

    Raises:
        InputError: the circles do not meet in two points; `what` names the mechanism.

    >>> meeting_point((0.0, 0.0), 5.0, (6.0, 0.0), 5.0, "roof")
    (3.0, 4.0)
    """
    distance = math.dist(center_1, center_2)
    if not abs(radius_1 - radius_2) < distance < radius_1 + radius_2:
        raise InputError(
            f"{what}: bars of length {radius_1} and {radius_2} cannot meet over pivots {distance:.6g} apart"
        )
    along = (distance**2 + radius_1**2 - radius_2**2) / (2.0 * distance)
    across = math.sqrt(radius_1**2 - along**2)
    ux, uz = (center_2[0] - center_1[0]) / distance, (center_2[1] - center_1[1]) / distance
    return (center_1[0] + along * ux - across * uz, center_1[1] + along * uz + across * ux)
