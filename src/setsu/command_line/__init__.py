"""The command line: `setsu inspect`, `check`, `simulate`, `reproduce` and the others that application.py lists.

Exit codes: 0 all is well, 1 a check failed, 2 the input was bad (one message on stderr, no traceback).
"""

from setsu.command_line.application import main

__all__ = ["main"]
