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

from setsu.errors import InputError

__all__ = ["FORCE_ROOM", "GAP_ROOM", "REST_SPEED", "ContactMode", "JamError", "Mode", "tangential"]

Floats = NDArray[np.float64]

REST_SPEED = 1e-9
"""A point slower than this (lengths of the mechanism per second, rad/s for turns) counts as at rest."""
FORCE_ROOM = 1e-9
"""Part of the normal force, and of the weight of what touches, by which it may pull before a contact is released."""
GAP_ROOM = 1e-12
"""Depth (lengths of the mechanism, rad for turns) at which a point counts as having hit."""


class JamError(InputError):
    """Friction of a sliding contact, by its number, has no finite force; jamming.py knows what then happens."""

    def __init__(self, message: str, contact: int) -> None:
        self.contact = contact
        super().__init__(message)


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
