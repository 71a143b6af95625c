"""Draw configurations of a mechanism."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from setsu.elementary import length
from setsu.mechanism.joints import Free, Joint, Spherical
from setsu.mechanism.record import Mechanism

__all__ = ["random_configuration"]

_ANGLE_SPAN = math.pi
_TRAVEL_SPAN = 1.0
_BEYOND_USE = 1e6


def random_configuration(mechanism: Mechanism, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw q, (nq,): every coordinate uniform within its limits, every quaternion uniform over the rotations.

    Without limits (or with limits beyond 1e6) the range is ±pi rad or ±1 m; with a limit on one side only it is at
    least twice that wide.
    The position of a free joint is uniform within ±1 m.

    >>> from setsu.mechanism import MechanismBuilder, Revolute
    >>> m = MechanismBuilder("m").add_body("a", joint=Revolute(lower=0.0, upper=0.5)).build()
    >>> 0.0 <= random_configuration(m, np.random.default_rng(0))[0] <= 0.5
    np.True_
    """
    q = np.empty(mechanism.nq)
    for body, where in zip(mechanism.moving, mechanism.q_slices, strict=True):
        q[where] = _random_coordinates(body.joint, rng)
    return q


def _random_coordinates(joint: Joint, rng: np.random.Generator) -> NDArray[np.float64]:
    if isinstance(joint, Spherical):
        return _random_quaternion(rng)
    if isinstance(joint, Free):
        return np.concatenate([rng.uniform(-_TRAVEL_SPAN, _TRAVEL_SPAN, 3), _random_quaternion(rng)])
    limits = zip(joint.lower, joint.upper, _spans(joint), strict=True)  # type: ignore[arg-type]
    ends = [_interval(low, high, span) for low, high, span in limits]
    return np.array([low + (high - low) * rng.random() for low, high in ends])


def _random_quaternion(rng: np.random.Generator) -> NDArray[np.float64]:
    # A normalised Gaussian vector is uniform on the sphere of unit quaternions.
    quaternion = rng.standard_normal(4)
    return quaternion / length(quaternion)


def _spans(joint: Joint) -> tuple[float, ...]:
    """Half width of the range of an unlimited coordinate, per coordinate."""
    return tuple(_TRAVEL_SPAN if travels else _ANGLE_SPAN for travels in joint.travels)


def _interval(lower: float, upper: float, span: float) -> tuple[float, float]:
    # Some files write ±1e16 for a propeller that turns freely.
    lower = -math.inf if lower < -_BEYOND_USE else lower
    upper = math.inf if upper > _BEYOND_USE else upper
    if lower == -math.inf and upper == math.inf:
        return -span, span
    if upper == math.inf:
        return lower, max(span, lower + 2.0 * span)
    if lower == -math.inf:
        return min(-span, upper - 2.0 * span), upper
    return lower, upper
