"""Errors a user of Setsu can meet: what went wrong, where, the value got, what was expected."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

__all__ = ["CacheWarning", "InputError", "ModelFileError", "ModelWarning", "SetsuError", "nearest_names"]


class SetsuError(Exception):
    """Base of every error raised on purpose by Setsu."""


class InputError(SetsuError, ValueError):
    """An argument has the wrong shape, name, value or is not finite."""


class ModelFileError(SetsuError):
    """A model file cannot be read; `problems` holds every problem found, one line each."""

    def __init__(self, path: str, problems: Sequence[str]) -> None:
        self.path = path
        self.problems = tuple(problems)
        count = len(self.problems)
        head = f"{path}: {count} problem{'' if count == 1 else 's'}"
        super().__init__("\n".join([head, *(f"  {problem}" for problem in self.problems)]))


class ModelWarning(UserWarning):
    """A model is usable but something in it is doubtful, for example a non-physical inertia."""


class CacheWarning(UserWarning):
    """Compiled code cannot be kept on disk, so that every process compiles it again."""


def nearest_names(name: str, known: Iterable[str]) -> str:
    """Return a hint such as ' (did you mean "link2"?)', or the known names when they are few."""
    names = list(known)
    close = difflib.get_close_matches(str(name), names, n=3, cutoff=0.6)
    if close:
        return " (did you mean " + " or ".join(f'"{near}"' for near in close) + "?)"
    if len(names) <= 12:
        return " (known: " + ", ".join(names) + ")" if names else " (there are none)"
    return f" ({len(names)} names are known, for example {', '.join(names[:3])})"
