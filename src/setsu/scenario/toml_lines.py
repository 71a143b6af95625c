"""Where each key of a TOML file stands, so that an error can name its line; the standard parser does not tell."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Origin", "key_lines"]

KeyPath = tuple[str | int, ...]

_HEADER = re.compile(r"^\s*(\[\[|\[)\s*(.+?)\s*(\]\]|\])\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*((?:[\w-]+|"[^"\n]*"|'[^'\n]*')(?:\s*\.\s*(?:[\w-]+|"[^"\n]*"|'[^'\n]*'))*)\s*=(.*)$""")
_PART = re.compile(r"""[\w-]+|"[^"\n]*"|'[^'\n]*'""")
# Texts and comments, so that brackets inside them do not count.
_QUOTED = re.compile(r'''"""|\'\'\'|"(?:[^"\\]|\\.)*"|'[^']*'|\#.*''')


@dataclass(frozen=True)
class Origin:
    """Where a scenario comes from: `name` for messages, `folder` its files stand in, lines of its keys."""

    name: str = "scenario"
    folder: Path = Path()
    lines: dict[KeyPath, int] = field(default_factory=dict, repr=False, compare=False)

    def line(self, path: KeyPath) -> int | None:
        """Return the line of a key, or of the nearest table around it that has one."""
        return next((found for n in range(len(path), 0, -1) if (found := self.lines.get(path[:n])) is not None), None)

    def where(self, path: KeyPath) -> str:
        """Return "file:line" of a key."""
        line = self.line(path)
        return self.name if line is None else f"{self.name}:{line}"


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line of every table and key of a valid TOML text, by its path; lists of tables count from 0.

    >>> key_lines('a = 1\\n[b.c]\\nd = [\\n  1,\\n]\\n[[e]]\\nf = 2')[("e", 0, "f")]
    7
    """
    found: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    depth, quote = 0, ""
    for number, line in enumerate(text.splitlines(), start=1):
        rest = line
        if depth == 0 and not quote:
            if header := _HEADER.match(line):
                names = _resolved(_parts(header[2]), counts)
                if header[1] == "[[":
                    counts[names] = counts.get(names, -1) + 1
                    names = (*names, counts[names])
                table = names
                found.setdefault(table, number)
                continue
            key = _KEY.match(line)
            if key is None:
                continue
            path = table
            for part in _parts(key[1]):
                path = (*path, part)
                found.setdefault(path, number)
            rest = key[2]
        depth, quote = _open_after(rest, depth, quote)
    return found


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))


def _resolved(names: tuple[str, ...], counts: dict[KeyPath, int]) -> KeyPath:
    """A header such as [a.b] after [[a]] means the table b of the last a."""
    path: KeyPath = ()
    for index, name in enumerate(names):
        path = (*path, name)
        if path in counts and index < len(names) - 1:
            path = (*path, counts[path])
    return path


def _open_after(text: str, depth: int, quote: str) -> tuple[int, str]:
    """Brackets and long quotes still open at the end of a line."""
    while text:
        if quote:
            end = text.find(quote)
            if end < 0:
                return depth, quote
            text, quote = text[end + 3 :], ""
            continue
        match = _QUOTED.search(text)
        plain = text[: match.start()] if match else text
        depth += sum(plain.count(c) for c in "[{") - sum(plain.count(c) for c in "]}")
        if match is None:
            return depth, ""
        quote = match[0] if match[0] in ('"""', "'''") else ""
        text = text[match.end() :]
    return depth, quote
