"""What happens in mid-run: changes of structure a user asks for, and the report of everything that happened.

CloseLoop, OpenLoop   given to `simulate`
EventReport           found in `Recording.events`: also what contacts do, and joints that stick or slip
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError, nearest_names
from setsu.mechanism import LoopConstraint, Mechanism
from setsu.spatial import listed

__all__ = ["CloseLoop", "EventReport", "OpenLoop", "checked_events", "initially_open"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CloseLoop:
    """Close the loop `name` of the mechanism at `time` (s), by a plastic impact when its sides move.

    here: join the two sides where they are, as a gripper does, instead of where the loop was declared; otherwise a gap
    is an error. A loop whose first event closes it is open from the start.
    """

    time: float
    name: str
    here: bool = field(default=False, kw_only=True)


@dataclass(frozen=True)
class OpenLoop:
    """Open the loop `name` of the mechanism at `time` (s)."""

    time: float
    name: str


@dataclass(frozen=True)
class EventReport:
    """Something that happened at `time` (s).

    kind: "close", "open" (loops); "stick", "slip", "turn" (sliding reversed at once), "release", "impact", "jam"
    (stopped at once by their own friction) (contacts);
    "stop", "release" (joint limits); "stick", "slip", "turn" (joints with dry friction).
    name: the loop, contact or joint. velocity_jump (nv,) and energy_lost (J) are zero unless there was an impact.
    impulse (n,), empty without one, of all that took part, in this order:
    first the kept rows of loops and couplings (N s or N m s), as `constraint_report(...)` keeps them and
    `constraint_system(m).names` names them: on body_b, in axes of the loop's frame on body_a; on couplings' joints;
    then three for each contact that touched, in the order of the list: along the surface's normal and two tangents, the
    first along the sliding (N s, on the mechanism); then joint stops, away from the limit (N s or N m s).
    The state recorded at the time of an event is the one after it, at t = 0 too.
    """

    time: float
    kind: str
    name: str
    velocity_jump: Floats
    impulse: Floats
    energy_lost: float = 0.0

    def __str__(self) -> str:
        lost = f", {self.energy_lost:.6g} J lost" if self.energy_lost else ""
        return f"t = {self.time:.9g} s: {self.kind} {self.name}{lost}"


def checked_events(m: Mechanism, events: Iterable[Any], duration: float) -> list[CloseLoop | OpenLoop]:
    """Return the events by time; InputError for what is none, for unknown loops and times outside the run."""
    given = listed(events, "simulate: events", "CloseLoop and OpenLoop")
    known = [loop.name for loop in m.loops]
    for event in given:
        if not isinstance(event, CloseLoop | OpenLoop):
            raise InputError(f"simulate: events: expected CloseLoop or OpenLoop, got {event!r:.80}")
        if event.name not in known:
            raise InputError(f"simulate: events: unknown loop {event.name!r}{nearest_names(event.name, known)}")
        joint = m.loops[known.index(event.name)].joint
        if isinstance(joint, LoopConstraint) and getattr(event, "here", False):
            raise InputError(
                f"simulate: events: CloseLoop of {event.name!r}: {type(joint).__name__} cannot be joined where the "
                "bodies are; expected here=False, at a time when it is closed"
            )
        if not (isinstance(event.time, int | float) and math.isfinite(event.time) and 0.0 <= event.time <= duration):
            raise InputError(
                f"simulate: events: {type(event).__name__} of {event.name!r}: expected a time from 0 to "
                f"{duration:g} s, got {event.time!r}"
            )
    return sorted(given, key=lambda event: event.time)


def initially_open(events: Sequence[CloseLoop | OpenLoop]) -> set[str]:
    """Names of the loops whose first event closes them."""
    first: dict[str, CloseLoop | OpenLoop] = {}
    for event in events:
        first.setdefault(event.name, event)
    return {name for name, event in first.items() if isinstance(event, CloseLoop)}
