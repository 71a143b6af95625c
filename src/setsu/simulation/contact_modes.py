"""The state of each contact during a run: sliding, sticking or released, and the numbers that announce a change.

| mode | held | friction | changes when (guard below zero) |
|---|---|---|---|
| SLIDE | normal | K f_n against the sliding direction d | v_t·d < 0: stick or turn back; f_n < 0: release |
| STICK | the point, where it came to rest | whatever holds, up to K f_n | |f_t| > K f_n: slip; f_n < 0: release |
| FREE | nothing | none | distance < 0: impact |

While a contact slides, d is continued through v_t = 0 instead of turning round, so that the equations stay smooth until
the event is located: this is what keeps the integrator's order and prevents chatter.
A bilateral contact is never released.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

__all__ = ["REST_SPEED", "ContactMode", "Mode", "guards_of", "sliding_direction", "tangent_basis", "tangential"]

Floats = NDArray[np.float64]

REST_SPEED = 1e-9
"""A point slower than this (m/s) counts as at rest."""
_FORCE_ROOM = 1e-9
_GAP_ROOM = 1e-12


class Mode(Enum):
    """What a contact does."""

    SLIDE = "slide"
    STICK = "stick"
    FREE = "free"


@dataclass(frozen=True)
class ContactMode:
    """Mode of one contact.

    direction (3,): of sliding at the start of the step, world axes. anchor (3,): where a sticking point is held, m.
    """

    mode: Mode
    direction: Floats = field(default_factory=lambda: np.zeros(3))
    anchor: Floats = field(default_factory=lambda: np.zeros(3))

    @property
    def touches(self) -> bool:
        """Whether the normal is held."""
        return self.mode is not Mode.FREE


def tangential(velocity: Floats, normal: Floats) -> Floats:
    """Part of a velocity (3,) along the surface."""
    return velocity - normal * float(normal @ velocity)


def sliding_direction(state: ContactMode, velocity: Floats, normal: Floats) -> Floats:
    """Return the unit vector friction acts against, continued through rest; zeros when there is none."""
    along = tangential(velocity, normal)
    speed = float(np.linalg.norm(along))
    if speed > REST_SPEED:
        return along / speed if float(along @ state.direction) >= 0.0 else -along / speed
    flat = tangential(state.direction, normal)
    length = float(np.linalg.norm(flat))
    return flat / length if length > 0.0 else flat


def tangent_basis(normal: Floats) -> Floats:
    """Two unit vectors normal to the normal and to each other, as rows (2, 3)."""
    helper = np.zeros(3)
    helper[int(np.argmin(np.abs(normal)))] = 1.0
    first = np.cross(normal, helper)
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(normal, first)])


def guards_of(
    state: ContactMode,
    friction: float,
    bilateral: bool,
    *,
    velocity: Floats,
    normal: Floats,
    normal_force: float,
    friction_force: Floats,
    distance: float,
) -> tuple[float, float]:
    """Return the two guards of a contact: of its normal, and of its friction; inf where nothing can change."""
    if state.mode is Mode.FREE:
        approaching = float(normal @ velocity) < 0.0
        return (distance + _GAP_ROOM if approaching else np.inf), np.inf
    room = _FORCE_ROOM * (1.0 + abs(normal_force))
    release = np.inf if bilateral else normal_force + room
    if friction == 0.0:
        return release, np.inf
    if state.mode is Mode.STICK:
        return release, friction * abs(normal_force) - float(np.linalg.norm(friction_force)) + room
    speed = float(tangential(velocity, normal) @ state.direction)
    return release, (0.0 if abs(speed) <= REST_SPEED else speed)
