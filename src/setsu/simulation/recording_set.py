"""The recording of a run from the records of its worlds: one, or many with a leading axis."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.mechanism.velocity_names import coordinate_names, position_names
from setsu.simulation.block import Arrays, Block
from setsu.simulation.recording import EnergyLedger, Recording
from setsu.simulation.setting_up import Settings

__all__ = ["make_recording", "point_names", "recorded_times", "refuse_memory"]

Floats = NDArray[np.float64]

_LATE = (
    "acceleration", "normal_force", "friction_force", "joint_wrenches", "contact_force", "loop_wrench", "energy",
    "constraint_error",
)  # fmt: skip


def make_recording(
    settings: Settings,
    blocks: Sequence[Block],
    times: Floats,
    batched: bool,
    events: Any,
    stopped: dict[int, tuple[float, str]],
) -> Recording:
    """Return what the worlds have recorded at `times` (N, T), s."""
    m, blocks = settings.mechanisms[0], [block.as_it_stands() for block in blocks]

    def single(block: Block, row: int, what: Any) -> Recording:
        return block.recording(row, **_names(m, settings), time=times[block.first + row].copy(), events=what)

    if not batched:
        return single(blocks[0], 0, events)
    places = [(block, row) for block in blocks for row in range(block.count)]
    each: list[Recording | None] = [None] * len(places)
    rows = times.shape[1]

    def one(k: int) -> Recording:
        if (found := each[k]) is None:
            found = each[k] = single(*places[k], events[k])
        return found

    def stacked(name: str) -> Callable[[], Floats]:
        return lambda: np.stack([padded(getattr(one(k), name), rows) for k in range(len(places))])

    def ledgers() -> EnergyLedger:
        parts = [one(k).ledger for k in range(len(places))]
        return EnergyLedger(
            *(np.stack([padded(getattr(p, entry.name), rows) for p in parts]) for entry in fields(EnergyLedger))
        )

    def states(name: str) -> Floats:
        parts = [block.stacked(name, times[block.first :]) for block in blocks]
        return np.concatenate([padded(part.swapaxes(0, 1), rows).swapaxes(0, 1) for part in parts])

    late: dict[str, Any] = {name: stacked(name) for name in _LATE}
    return Recording(
        **_names(m, settings),
        q=states("q"),
        v=states("v"),
        torque=states("torque"),
        time=times[0] if (times == times[0]).all() else times,
        **late,
        ledger=ledgers,
        events=events,
        mechanism=m,
        environment=settings.environment,
        stopped=stopped,
        one=one,
    )


def padded(values: Floats, rows: int) -> Floats:
    """Values (T, ...) up to so many rows: a world that has stopped holds its last state."""
    if len(values) == rows:
        return values
    last = values[-1:] if len(values) else np.full((1, *values.shape[1:]), np.nan)
    return np.concatenate([values, np.repeat(last, rows - len(values), axis=0)])


def recorded_times(a: Arrays, step: float, steps: int, last: float, every: int, stopped: Collection[int]) -> Floats:
    """Recorded times (N, T) of a run that begins now, s: t0 + k step, never a running sum.

    Worlds that have stopped before have no time of their own.
    """
    kept, start, before = np.array([*range(0, steps, every), steps]), a.t0[:, None], a.k[:, None]
    times = start + (before + kept) * step
    if last:
        times[:, -1:] = start + (before + steps - 1) * step + last
    going = [k for k in range(len(times)) if k not in stopped]
    if stopped and going:
        times[[*stopped]] = times[going[0]]
    return times


def refuse_memory(blocks: Sequence[Block], count: int, rows: int) -> None:
    """Raise an InputError where a recording of so many states of so many worlds takes above half the free memory."""
    need = rows * sum(block.row_bytes for block in blocks)
    free = _free_memory()
    if free is not None and need > 0.5 * free:
        raise InputError(
            f"simulate: a recording of {rows} states of {count} worlds takes {need / 2**30:.3g} GiB, more than half "
            f"the free memory ({free / 2**30:.3g} GiB); expected a larger record_every, or fewer quantities, as "
            "record=('q', 'v')"
        )


def _free_memory() -> int | None:
    """Free memory in bytes, None where the system does not tell."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _names(m: Mechanism, settings: Settings) -> dict[str, Any]:
    return {
        "name": m.name,
        "integrator": settings.integrator,
        "step": settings.step,
        "joint_names": m.joint_names,
        "body_names": m.body_names,
        "velocity_names": coordinate_names(m),
        "coordinate_names": position_names(m),
        "contact_names": contact_names(m, settings),
        "surface_contacts": tuple(settings.contacts),
        "loop_names": tuple(loop.name for loop in m.loops),
    }


def contact_names(m: Mechanism, settings: Settings) -> tuple[str, ...]:
    """Names of what forces of contacts are recorded for: contact points with an environment, else surface contacts."""
    return tuple(contact.name for contact in settings.contacts) if settings.environment is None else point_names(m)


def point_names(m: Mechanism) -> tuple[str, ...]:
    """Names of the contact points: their body's, and their number on it."""
    seen: dict[str, int] = {}
    names = []
    for point in m.contact_points:
        seen[point.body] = seen.get(point.body, -1) + 1
        names.append(f"{point.body} {seen[point.body]}")
    return tuple(names)
