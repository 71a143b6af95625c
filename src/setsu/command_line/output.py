"""How commands talk: a console of at most 100 columns, JSON on stdout, a progress bar for what takes over a second."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from setsu.interruption import interrupts_held

__all__ = ["INTERRUPTED", "ProgressBar", "console", "folded", "print_json"]

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""

WIDTH = 100
PATIENCE_SECONDS = 1.0


def console() -> Any:
    """Return a rich console on stdout; colours and bold only on a terminal, and there not with NO_COLOR."""
    from rich.console import Console

    plain = Console(highlight=False)
    return Console(
        highlight=False,
        width=min(WIDTH, plain.width) if plain.is_terminal else WIDTH,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )


def folded(text: str, width: int) -> str:
    """Return text whose lines are at most `width` columns, broken between words where they can be, indented alike.

    >>> print(folded("  one two three", 9))
      one two
        three
    """
    import textwrap

    lines = []
    for line in text.splitlines():
        indent = " " * min(len(line) - len(line.lstrip()), width // 2)
        lines += textwrap.wrap(
            line, width, subsequent_indent=indent + "  ", drop_whitespace=True, break_on_hyphens=False
        ) or [""]  # fmt: skip
    return "\n".join(lines)


def print_json(data: object) -> None:
    """Write data as JSON to stdout; numbers that are not finite become null."""
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(data, enc_hook=_plain), indent=2).decode()
    sys.stdout.write(text + "\n")


def _plain(value: Any) -> Any:
    """Numbers and arrays of NumPy as those of Python."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} has no form in JSON")


class ProgressBar:
    """A bar on stderr that appears when work lasts longer than a second, on a terminal only.

    total, unit: how much of what is done at part 1, for a rate such as "1200 runs/s".

    >>> with ProgressBar("checking") as bar:
    ...     bar("inverse dynamics", 0.5)
    """

    def __init__(self, title: str, total: float = 1.0, unit: str = "") -> None:
        self._title, self._total, self._unit = title, total, unit
        self._start = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> ProgressBar:
        return self

    def __call__(self, text: str, part: float) -> None:
        """Say what comes next and which part (0 to 1) is done."""
        if self._bar is None and (time.monotonic() - self._start < PATIENCE_SECONDS or not sys.stderr.isatty()):
            return
        # A bar that is half started can be neither drawn nor stopped.
        with interrupts_held():
            self._draw(text, part)

    def _draw(self, text: str, part: float) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(bar_width=12),
                # A terminal of 80 columns has room for one of them.
                TextColumn("{task.fields[rate]}") if self._unit else TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._title, total=1.0, rate="")
            self._bar.start()
        rate = part * self._total / max(time.monotonic() - self._start, 1e-9)
        shown = f"{rate:.3g} {self._unit}/s" if self._unit else ""
        self._bar.update(self._task, completed=part, description=f"{self._title}: {text}", rate=shown)

    def __exit__(self, *problem: object) -> None:
        if self._bar is not None:
            with interrupts_held():
                self._bar.stop()
