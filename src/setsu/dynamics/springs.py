"""What force elements do to the bodies: springs between points, tendons, gravity compensation, drag of a fluid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import fast_function

if TYPE_CHECKING:
    from setsu.mechanism import Mechanism

__all__ = ["element_power", "spring_wrenches"]


def spring_wrenches(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> NDArray[np.float64]:
    """Return the wrenches of all force elements on the bodies at their origins, world axes.

    Args:
        q, v: coordinates (..., nq), velocities (..., nv).

    Returns:
        (..., n_bodies, 6): force (N) first, then moment (N m).
    """
    return fast_function(mechanism, "spring_wrenches")(q, v)


def element_power(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> NDArray[np.float64]:
    """Return the power of dampers and drag of all force elements (W), (...): what takes energy away, negative."""
    return fast_function(mechanism, "element_power")(q, v)
