"""Actuators and keyframes of a mechanism: how controls become torques, and states the model file gives by name."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.spatial import finite_vector

__all__ = ["Actuator", "Keyframe", "require_actuator"]


@dataclass(frozen=True)
class Actuator:
    """A drive whose force is affine in its control: force = (gain · s) x control + bias · s, s = (1, length, rate).

    It acts on one joint, tendon or site (the other two names are empty). `gear` has one number for a joint of one
    coordinate or a tendon: length = gear x coordinate, torque = gear x force; three for a Spherical joint (torque =
    gear x force, in body axes, in the parent's with `in_parent`), six for a Free joint or a site (force, then moment;
    a site's in its own axes). Control and force are held within their ranges.
    """

    name: str
    joint: str = ""
    tendon: str = ""
    site: str = ""
    gear: tuple[float, ...] = (1.0,)
    gain: tuple[float, float, float] = (1.0, 0.0, 0.0)
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    control_range: tuple[float, float] = (-math.inf, math.inf)
    force_range: tuple[float, float] = (-math.inf, math.inf)
    in_parent: bool = False

    def __post_init__(self) -> None:
        what = f'actuator "{self.name}"'
        for key, size in (("gear", len(self.gear)), ("gain", 3), ("bias", 3)):
            values = finite_vector(getattr(self, key), size, f"{what} {key}")
            object.__setattr__(self, key, tuple((values + 0.0).tolist()))
        for key in ("control_range", "force_range"):
            try:
                low, high = (float(value) for value in getattr(self, key))
            except (TypeError, ValueError, OverflowError):
                low, high = math.nan, math.nan
            if not low <= high:
                raise InputError(f"{what} {key}: expected two numbers, low <= high, got {getattr(self, key)!r:.80}")
            object.__setattr__(self, key, (low, high))

    def __str__(self) -> str:
        kind, target = next(
            (kind, name) for kind, name in (("joint", self.joint), ("tendon", self.tendon), ("site", self.site)) if name
        )
        return f'{self.name}: drives {kind} "{target}", gear {" ".join(f"{ratio:g}" for ratio in self.gear)}'


@dataclass(frozen=True)
class Keyframe:
    """A state the model file gives by name: coordinates (nq), velocities (nv), controls (one per actuator)."""

    name: str
    coordinates: tuple[float, ...]
    velocities: tuple[float, ...]
    controls: tuple[float, ...] = ()

    @property
    def q(self) -> NDArray[np.float64]:
        """Coordinates, (nq,)."""
        return np.array(self.coordinates)

    @property
    def v(self) -> NDArray[np.float64]:
        """Velocities, (nv,)."""
        return np.array(self.velocities)

    @property
    def control(self) -> NDArray[np.float64]:
        """Controls of the actuators, (n_actuators,)."""
        return np.array(self.controls)


def require_actuator(actuator: object) -> None:
    """InputError for what is no Actuator."""
    if not isinstance(actuator, Actuator):
        raise InputError(f"add_actuator: expected an Actuator, got {actuator!r:.80}")
