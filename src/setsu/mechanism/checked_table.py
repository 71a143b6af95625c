"""A table of parsed TOML that hands out its entries with their types checked and reports what nobody asked for."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any

from setsu.errors import InputError, nearest_names
from setsu.mechanism.elements import Pose
from setsu.named_numbers import NamedNumber, evaluate_expression, symbols_of

__all__ = ["CheckedTable"]

# How far a number may be from the expression beside it: placements are made orthonormal to the last digits.
_NAME_TOLERANCE = 1e-9


class CheckedTable:
    """One TOML table being read: hands out its entries with their types checked, then reports what is left over."""

    def __init__(self, entries: dict[str, Any], what: str, report: Callable[[str, str], None]) -> None:
        self._left = dict(entries)
        self._known: list[str] = []
        self.what = what
        self.report = report
        self.symbols: dict[str, float] = {}

    def holds(self, key: str) -> bool:
        """Whether there is an entry of that name."""
        return key in self._left

    def text(self, key: str, default: str | None = None) -> str:
        value = self._take(key, default)
        return value if isinstance(value, str) else self._wrong(key, "a text", value, "")

    def number(self, key: str, default: float | None = None) -> float:
        value = self._take(key, default)
        number = _as_number(value)
        return number if number is not None else self._wrong(key, "a number", value, 0.0)

    def numbers(self, key: str, length: int | None, default: tuple[float, ...] | None = None) -> list[float]:
        value = self._take(key, default)
        numbers = _as_numbers(value)
        if numbers is None or (length is not None and len(numbers) != length):
            expected = "a list of numbers" if length is None else f"a list of {length} numbers"
            return self._wrong(key, expected, value, [0.0] * (length or 0))
        return numbers

    def texts(self, key: str) -> list[str]:
        """A list of texts, empty when the key is absent."""
        value = self._take(key, ())
        if not isinstance(value, (list, tuple)) or not all(isinstance(entry, str) for entry in value):
            return self._wrong(key, "a list of texts", value, [])
        return list(value)

    def pairs(self, key: str) -> list[tuple[str, str]]:
        """A list of pairs of texts, empty when the key is absent."""
        value = self._take(key, ())
        entries = value if isinstance(value, (list, tuple)) else [None]
        good = [
            (entry[0], entry[1])
            for entry in entries
            if isinstance(entry, list) and len(entry) == 2 and all(isinstance(text, str) for text in entry)
        ]
        return good if len(good) == len(entries) else self._wrong(key, "a list of pairs of texts", value, [])

    def whole(self, key: str, default: int) -> int:
        """A whole number."""
        value = self._take(key, default)
        return value if type(value) is int else self._wrong(key, "a whole number", value, default)

    def per_axis(self, key: str) -> float | list[float] | None:
        """A number, a list of numbers, or None when the key is absent."""
        value = self._take(key, 0.0) if key in self._left else self._take(key, ())
        if value == ():
            return None
        number = _as_number(value)
        result = _as_numbers(value) if number is None else number
        return self._wrong(key, "a number or a list of numbers", value, 0.0) if result is None else result

    def table(self, key: str, *, required: bool = False) -> CheckedTable | None:
        value = self._take(key, None if required else ())
        if value == () and not required:
            return None
        if not isinstance(value, dict):
            return self._wrong(key, "a table such as { type = ... }", value, None)
        return CheckedTable(value, f"{self.what} {key}", lambda message, _: self.report(message, key))

    def tables(self, key: str) -> list[CheckedTable]:
        value = self._take(key, ())
        if not isinstance(value, (list, tuple)) or not all(isinstance(entry, dict) for entry in value):
            return self._wrong(key, "a list of tables", value, [])
        report = lambda message, _: self.report(message, key)  # noqa: E731
        return [
            CheckedTable(entry, f"{self.what} {key} {number}", report) for number, entry in enumerate(value, start=1)
        ]

    def rows(self, key: str) -> list[list[float]]:
        value = self._take(key, None)
        rows = [_as_numbers(entry) for entry in value] if isinstance(value, list) else [None]
        good = [row for row in rows if row is not None and len(row) == 3]
        return good if len(good) == len(rows) else self._wrong(key, "a list of points of 3 numbers", value, [])

    def mapping(self, key: str, *, required: bool = True) -> dict[str, float]:
        value = self._take(key, None if required else {})
        numbers = {name: _as_number(entry) for name, entry in value.items()} if isinstance(value, dict) else {"": None}
        good = {name: number for name, number in numbers.items() if number is not None}
        return good if len(good) == len(numbers) else self._wrong(key, "a table of names and numbers", value, {})

    def pose(self, suffix: str = "") -> Pose:
        """Placement of the keys translation and rotation, with the names given beside them."""
        rotation = self.numbers(f"rotation{suffix}", 9, Pose().rotation)
        translation = self.numbers(f"translation{suffix}", 3, (0.0, 0.0, 0.0))
        x, y, z = self._with_names(f"translation_names{suffix}", translation)
        return Pose(tuple(self._with_names(f"rotation_names{suffix}", rotation)), (x, y, z))

    def _with_names(self, key: str, numbers: list[float]) -> list[float]:
        texts = self._take(key, ())
        if texts == ():
            return numbers
        if not (
            isinstance(texts, list) and len(texts) == len(numbers) and all(isinstance(text, str) for text in texts)
        ):
            return self._wrong(key, f"a list of {len(numbers)} texts, empty where there is no name", texts, numbers)
        result = []
        for number, text in zip(numbers, texts, strict=True):
            if not text:
                result.append(number)
                continue
            try:
                value = evaluate_expression(text, self.symbols, f"{self.what} {key}")
            except InputError as error:
                self.report(str(error), key)
                return numbers
            if not abs(value - number) <= _NAME_TOLERANCE * max(1.0, abs(number)):
                self.report(f"{self.what} {key}: expected {text[:80]} to be {number}, got {value}", key)
                return numbers
            result.append(NamedNumber(number, text, symbols_of(text, self.symbols)))
        return result

    def finish(self) -> None:
        """Report keys that nothing asked for."""
        for key in self._left:
            self.report(f"{self.what}: unknown key {reprlib.repr(key)}{nearest_names(key, self._known)}", key)

    def _take(self, key: str, default: Any) -> Any:
        self._known.append(key)
        return self._left.pop(key, default)

    def _wrong(self, key: str, expected: str, value: Any, substitute: Any) -> Any:
        got = "nothing" if value is None else reprlib.repr(value)
        self.report(f"{self.what} {key}: expected {expected}, got {got}", key)
        return substitute


def _as_number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _as_numbers(value: Any) -> list[float] | None:
    if not isinstance(value, (list, tuple)):
        return None
    numbers = [number for number in map(_as_number, value) if number is not None]
    return numbers if len(numbers) == len(value) else None
