"""Payloads: a body fixed to the robot in some of the logs, known, partly known or unknown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError, nearest_names
from setsu.mechanism import Mechanism
from setsu.spatial import real_array

__all__ = ["IdentifiedPayload", "Payload"]

Floats = NDArray[np.float64]

SYMBOLS = ("M", "MSx", "MSy", "MSz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
_ORDER = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


@dataclass(frozen=True)
class Payload:
    """What a body carries in a log; None is to be identified.

    body: name of the body or fixed frame that carries it. mass: kg. center_of_mass: (3,) m, in the frame of the moving
    body. inertia: (3, 3) kg m² about its centre of mass, in the same axes; needs mass and center_of_mass. Logs that
    name the same payload share its numbers.

    >>> Payload("link6", mass=2.0).known()[:2].tolist()
    [2.0, nan]
    """

    body: str
    mass: float | None = None
    center_of_mass: ArrayLike | None = None
    inertia: ArrayLike | None = None
    name: str = "payload"

    def known(self) -> Floats:
        """Return its ten inertial parameters about the origin of the body's frame; nan where unknown."""
        values = np.full(10, np.nan)
        if self.mass is not None:
            if not (np.isfinite(self.mass) and self.mass > 0.0):
                raise InputError(f'payload "{self.name}": mass: expected a positive number, got {self.mass!r}')
            values[0] = self.mass
        if self.center_of_mass is not None:
            center = self._numbers("center_of_mass", self.center_of_mass, (3,))
            if self.mass is None:
                raise InputError(f'payload "{self.name}": a center_of_mass needs the mass as well')
            values[1:4] = self.mass * center
            if self.inertia is not None:
                inertia = self._numbers("inertia", self.inertia, (3, 3))
                about = inertia + self.mass * (center @ center * np.eye(3) - np.outer(center, center))
                values[4:] = [about[i, j] for i, j in _ORDER]
        elif self.inertia is not None:
            raise InputError(f'payload "{self.name}": an inertia needs mass and center_of_mass as well')
        return values

    def _numbers(self, what: str, value: ArrayLike, shape: tuple[int, ...]) -> Floats:
        numbers = real_array(value)
        if numbers.shape != shape or not np.isfinite(numbers).all():
            raise InputError(f'payload "{self.name}": {what}: expected finite numbers of shape {shape}')
        return numbers

    def moving_body(self, mechanism: Mechanism) -> int:
        """Return the index of the moving body that carries it."""
        names = [*(body.name for body in mechanism.bodies)]
        if self.body not in names:
            raise InputError(f'payload "{self.name}": unknown body {self.body!r}{nearest_names(self.body, names)}')
        index = mechanism.frame(self.body).body
        if index < 0:
            raise InputError(f'payload "{self.name}": "{self.body}" does not move')
        return index


@dataclass(frozen=True)
class IdentifiedPayload:
    """What was found of a payload: names, values and standard deviations of its parameters, known ones with σ = 0.

    Parameters that torques cannot tell apart come as combinations, named like base parameters.
    """

    payload: Payload
    names: tuple[str, ...]
    values: Floats
    std: Floats

    @property
    def interval(self) -> Floats:
        """95 % intervals (n, 2)."""
        return np.stack([self.values - 1.96 * self.std, self.values + 1.96 * self.std], axis=-1)
