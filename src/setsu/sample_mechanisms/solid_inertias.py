"""Inertias of simple solids about their center of mass, kg m²."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["box_inertia", "cylinder_inertia", "rod_inertia"]


def rod_inertia(mass: float, length: float) -> NDArray[np.float64]:
    """Return the inertia of a thin uniform rod along x."""
    moment = mass * length**2 / 12.0
    return np.diag([0.0, moment, moment])


def box_inertia(mass: float, x: float, y: float, z: float) -> NDArray[np.float64]:
    """Return the inertia of a uniform box with edges along the axes."""
    return mass / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])


def cylinder_inertia(mass: float, radius: float, length: float, axis: int = 2) -> NDArray[np.float64]:
    """Return the inertia of a uniform cylinder along coordinate axis 0, 1 or 2."""
    moments = np.full(3, mass * (3.0 * radius**2 + length**2) / 12.0)
    moments[axis] = 0.5 * mass * radius**2
    return np.diag(moments)
