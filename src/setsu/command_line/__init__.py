"""The command line: `setsu inspect`, `check`, `simulate`, `reproduce` and the others that application.py lists.

Exit codes: 0 all is well, 1 a check failed, 2 the input was bad (one message on stderr, no traceback), 130 interrupted
by Ctrl-C: what is done is kept.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, of this process when none is given; return the exit code."""
    try:
        with _interrupts_kept():
            from setsu.command_line.application import run

            code = run(arguments)
    except KeyboardInterrupt:
        # Loading takes a moment, in which somebody may think better of it.
        code = 130
    except Exception as error:
        if not _follows_interrupt(error):
            raise
        print("setsu: interrupted", file=sys.stderr)
        code = 130
    if code == 130:
        # Ctrl-C within exec() (libraries make functions so) leaves a mark by which `python -m` would end as if nobody
        # had caught it, killed by SIGINT. Any further exec() takes the mark away.
        exec("")
    return code


def _follows_interrupt(error: BaseException) -> bool:
    """Return whether a library was interrupted and then failed over what it had left half done."""
    cause = error.__context__
    return cause is not None and (isinstance(cause, KeyboardInterrupt) or _follows_interrupt(cause))


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Let Ctrl-C within a finalizer or a callback of C code come again afterwards: Python drops what these raise."""
    hook = sys.unraisablehook

    def interrupt_again(dropped: sys.UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            # To the main thread itself, so that it also wakes up from waiting.
            threading.Timer(0.01, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()
        else:
            hook(dropped)

    sys.unraisablehook = interrupt_again
    try:
        yield
    finally:
        sys.unraisablehook = hook
