"""Bodies made of thin straight rods, for frames, triangles and struts in any direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.elementary import matmul

__all__ = ["MassProperties", "joined_rods"]


class MassProperties(NamedTuple):
    """Mass (kg), center of mass (m), inertia about the center of mass (kg m²), as `add_body` takes them."""

    mass: float
    center_of_mass: NDArray[np.float64]
    inertia: NDArray[np.float64]


def joined_rods(segments: Sequence[tuple[ArrayLike, ArrayLike]], mass_per_length: float) -> MassProperties:
    """Return the mass properties of thin rods from start to end points (3,), m, that form one body; kg/m.

    >>> float(joined_rods([((0, 0, 0), (2, 0, 0))], 3.0).inertia[2, 2])
    2.0
    """
    starts, ends = (np.array([pair[side] for pair in segments], dtype=np.float64) for side in (0, 1))
    spans, middles = ends - starts, 0.5 * (starts + ends)
    masses = mass_per_length * np.sqrt(spans[:, 0] ** 2 + spans[:, 1] ** 2 + spans[:, 2] ** 2)
    mass = float(masses.sum())
    center = matmul(masses, middles) / mass
    arms = middles - center
    # A rod's own second moment of mass is m s sᵀ / 12 along its span s.
    second = matmul(arms.T * masses, arms) + matmul(spans.T * (masses / 12.0), spans)
    return MassProperties(mass, center, np.trace(second) * np.eye(3) - second)
