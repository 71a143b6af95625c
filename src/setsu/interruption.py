"""Ctrl-C that waits: for what must not be left half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["interrupts_held"]


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait until the block is done; processes started within it never see Ctrl-C.

    Only the main thread is ever interrupted, so that nothing is held elsewhere.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    # Other threads may take the signal although this one blocks it: therefore the handler. Children inherit the mask.
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if hasattr(signal, "pthread_sigmask") else None
    try:
        yield
    finally:
        if masked is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        signal.signal(signal.SIGINT, handler)
        if came and callable(handler):
            handler(*came[0])
