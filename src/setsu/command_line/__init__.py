"""The command line: `setsu inspect`, `check`, `simulate`, `reproduce` and the others that application.py lists.

Exit codes: 0 all is well, 1 a check failed, 2 the input was bad (one message on stderr, no traceback), 130 interrupted
by Ctrl-C: what is done is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, of this process when none is given; return the exit code."""
    try:
        from setsu.command_line.application import run

        code = run(arguments)
    except KeyboardInterrupt:
        # Loading takes a moment, in which somebody may think better of it.
        code = 130
    if code == 130:
        # Ctrl-C within exec() (libraries make functions so) leaves a mark by which `python -m` would end as if nobody
        # had caught it, killed by SIGINT. Any further exec() takes the mark away.
        exec("")
    return code
