"""What the springs between points do to the bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import fast_function

if TYPE_CHECKING:
    from setsu.mechanism import Mechanism

__all__ = ["spring_wrenches"]


def spring_wrenches(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> NDArray[np.float64]:
    """Return the wrenches of all springs between points on the bodies at their origins, world axes.

    Args:
        q, v: coordinates (..., nq), velocities (..., nv).

    Returns:
        (..., n_bodies, 6): force (N) first, then moment (N m).
    """
    return fast_function(mechanism, "spring_wrenches")(q, v)
