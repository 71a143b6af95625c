"""The studio: a mechanism, its forces and its motions in the browser; `setsu studio` and `Recording.show`."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from setsu.errors import InputError

if TYPE_CHECKING:
    from setsu.simulation import Recording
    from setsu.studio.application import Studio

__all__ = ["open_studio", "show"]


def open_studio(host: str = "127.0.0.1", port: int = 0) -> Studio:
    """Start a studio without a mechanism; needs the extra `studio`.

    >>> studio = open_studio()                   # doctest: +SKIP
    >>> print(studio.address)                    # doctest: +SKIP
    http://127.0.0.1:41233/?token=...
    """
    try:
        import viser  # noqa: F401
    except ImportError:
        raise InputError('the studio needs viser: pip install "setsu[studio]"') from None
    from setsu.studio.application import Studio

    return Studio(host, port)


def show(
    recording: Recording,
    *,
    block: bool | None = None,
    open_browser: bool = True,
    port: int = 0,
    mesh_folders: Sequence[str | Path] = (),
) -> Studio:
    """Open a recording in the studio; what `Recording.show` calls.

    Args:
        block: wait until Ctrl-C; None waits unless the session is interactive.
        open_browser: open the page in the default browser; the address is printed in any case.
        port: 0 takes any free one.
        mesh_folders: folders the mechanism's mesh files may be read from; bodies are drawn from their inertias without.

    Raises:
        InputError: the recording does not hold its mechanism, or viser is missing.
    """
    if recording.mechanism is None:
        raise InputError("Recording.show: this recording does not hold its mechanism; setsu.simulate keeps it")
    studio = open_studio(port=port)
    from setsu.studio.uploads import Opened

    studio.open(Opened(recording.mechanism, recording, tuple(Path(folder) for folder in mesh_folders)))
    announce(studio, open_browser)
    if block or (block is None and not hasattr(sys, "ps1") and not sys.flags.interactive):
        wait(studio)
    return studio


def announce(studio: Studio, open_browser: bool) -> None:
    """Print the address, and open it where that is wanted."""
    print(f"Setsu studio: {studio.address}", flush=True)
    if open_browser:
        webbrowser.open(studio.address)


def wait(studio: Studio) -> None:
    """Serve until Ctrl-C."""
    import time

    try:
        while True:
            time.sleep(1.0)
    except KeyboardInterrupt:
        pass
    finally:
        studio.close()
