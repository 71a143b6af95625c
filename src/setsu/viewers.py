"""What shows a recording to a person: the part that can registers itself, the recording calls it.

So the simulation opens the studio without importing it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from setsu.errors import InputError

__all__ = ["register_viewer", "view"]

Viewer = Callable[..., Any]

_viewers: list[Viewer] = []


def register_viewer(viewer: Viewer) -> None:
    """Say what `Recording.show` calls: viewer(recording, **options). The last one registered is used."""
    _viewers[:] = [viewer]


def view(recording: object, **options: Any) -> Any:
    """Show a recording with the registered viewer."""
    if not _viewers:
        raise InputError("Recording.show: no viewer is registered; import setsu, which registers the studio")
    return _viewers[-1](recording, **options)
