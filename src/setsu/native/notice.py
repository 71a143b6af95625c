"""One line on stderr while code is compiled, when that takes more than a second: why nothing seems to happen."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator

__all__ = ["notice"]

_DELAY = 1.0  # s
_OPEN = threading.local()


@contextlib.contextmanager
def notice(what: str) -> Iterator[None]:
    """Say on stderr what is compiled, if it takes longer than a second, and how long it took; not under another notice.

    $SETSU_QUIET=1 turns it off.
    """
    if getattr(_OPEN, "is_open", False) or os.environ.get("SETSU_QUIET") == "1":
        yield
        return
    _OPEN.is_open = True
    said = threading.Event()

    def say() -> None:
        said.set()
        _write(f"setsu: compiling {what} code for this machine, once: ")

    timer = threading.Timer(_DELAY, say)
    timer.daemon = True
    start = time.monotonic()
    timer.start()
    try:
        yield
    finally:
        _OPEN.is_open = False
        timer.cancel()
        timer.join()
        if said.is_set():
            _write(f"{time.monotonic() - start:.0f} s\n")


def _write(text: str) -> None:
    """A process without stderr, or one that was closed, goes on."""
    with contextlib.suppress(Exception):
        sys.stderr.write(text)
        sys.stderr.flush()
