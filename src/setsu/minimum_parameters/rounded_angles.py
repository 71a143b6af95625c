"""Warn of joint axes that are nearly, but not quite, parallel or at right angles: angles that a file has rounded.

A file that writes 1.5708 for π/2 turns an axis by 3.7e-6 rad. Exact analysis takes such an axis for a general one, and
a robot with parallel axes (SCARA: 8 parameters) for one without (14).
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from setsu.errors import ModelWarning
from setsu.mechanism import Mechanism

__all__ = ["warn_of_rounded_angles"]

_EXACT, _ROUNDED = 1e-9, 2e-3
"""Sines below the first are zero to rounding; up to the second they may be a zero that was rounded."""

_SHOWN = 3


def warn_of_rounded_angles(mechanism: Mechanism) -> None:
    """Warn, by name, of joints whose mounting is within 0.002 rad of right angles, but not on them."""
    found = []
    for body in mechanism.moving:
        T = np.array(mechanism.frame(body.parent).pose.matrix @ body.pose.matrix, dtype=np.float64).view(np.ndarray)
        off = _off_right_angles(T[:3, :3])
        if off is not None:
            found.append(f'joint "{body.joint.name}" by {off:.2g} rad')
    for loop in mechanism.loops:
        for end, pose in (("a", loop.pose_a), ("b", loop.pose_b)):
            off = _off_right_angles(np.array(pose.matrix, dtype=np.float64).view(np.ndarray)[:3, :3])
            if off is not None:
                found.append(f'loop "{loop.name}" on body {end} by {off:.2g} rad')
    if found:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        warnings.warn(
            f'minimum parameters of "{mechanism.name}": {", ".join(found[:_SHOWN])}{more} off a right angle: taken as '
            f"given, which makes axes that were meant parallel or perpendicular general ones and may raise the count; "
            f"if the file has rounded its angles, write them with 10 digits or more ({math.pi / 2!r})",
            ModelWarning,
            stacklevel=5,
        )


def _off_right_angles(R: np.ndarray) -> float | None:
    """Return the angle between R and the nearest rotation by right angles when it is small but not zero."""
    sizes = np.abs(R)
    nearest = np.where(sizes > 0.5, np.sign(R), 0.0)
    off = float(np.abs(R - nearest).max())
    return off if _EXACT < off < _ROUNDED else None
