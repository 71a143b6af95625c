"""One quantity of a recording over time, as a labelled figure."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from setsu.errors import InputError, nearest_names
from setsu.simulation.recording import EnergyLedger, Recording
from setsu.simulation.recording_files import ARRAYS

__all__ = ["QUANTITIES", "plot"]

QUANTITIES = (*ARRAYS, "ledger")

_AXIS_NAMES = {
    "coordinate": "coordinate_names",
    "velocity": "velocity_names",
    "body": "body_names",
    "contact": "contact_names",
    "loop": "loop_names",
}
_FIXED = {"wrench": ("fx", "fy", "fz", "nx", "ny", "nz"), "xyz": ("x", "y", "z")}
_MOST_LEGEND_ENTRIES = 24


def plot(recording: Recording, quantity: str) -> Any:
    """Return the figure of a quantity, one curve per component."""
    if quantity not in QUANTITIES:
        raise InputError(f"Recording.plot: unknown quantity {quantity!r}{nearest_names(quantity, QUANTITIES)}")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("Recording.plot needs matplotlib: pip install setsu[plots]") from None
    unit = "J" if quantity == "ledger" else ARRAYS[quantity][1]
    figure = Figure(figsize=(8.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    curves = _curves(recording, quantity)
    for label, values in curves:
        axes.plot(recording.time, values, label=label, linewidth=1.2)
    axes.set_xlabel("time (s)")
    axes.set_ylabel(f"{quantity.replace('_', ' ')} ({unit})")
    axes.set_title(recording.name)
    axes.grid(alpha=0.3)
    if 1 < len(curves) <= _MOST_LEGEND_ENTRIES:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small", frameon=False)
    return figure


def _curves(recording: Recording, quantity: str) -> list[tuple[str, np.ndarray]]:
    if quantity == "ledger":
        names = [entry.name for entry in fields(EnergyLedger)]
        return [(name.replace("_", " "), getattr(recording.ledger, name)) for name in names]
    values = getattr(recording, quantity)
    labels = [""]
    for axis in ARRAYS[quantity][0]:
        names = getattr(recording, _AXIS_NAMES[axis]) if axis in _AXIS_NAMES else _FIXED[axis]
        labels = [f"{label} {name}".strip() for label in labels for name in names]
    return list(zip(labels, values.reshape(len(recording.time), -1).T, strict=True))
