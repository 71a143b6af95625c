"""How near every tolerance of a run came to its bound: the largest measured / allowed per line of the tests.

PYTHONPYCACHEPREFIX=/tmp/report pytest --roundings -o enable_assertion_pass_hook=true tests/identities

Seen are assert_law and assert_in_cones (tests/rounding.py), numpy.testing.assert_allclose, pytest.approx, and asserts
of the form `number < 1e-9`. Each line says what its bound is: "derived" from rounding (tests/rounding.py), "not
rounding" with the reason the test gives in a comment (tolerance of a search, order of a method, printed digits), or a
"literal". A literal with a ratio above 0.1 wants a bound derived from rounding: on another processor, or with another
library, a bound found by trying is the first to fail.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rounding

# Larger bounds are not about rounding: orders of integrators, published figures.
_LARGEST_TOLERANCE = 1e-6
_NEAR = 0.1
_DERIVED = ("assert_law(", "assert_in_cones(", "rounding(", "opening(", "EPSILON", "spacing(")
_NUMBER = r"(?:np\.float64\()?(-?\d[\d.]*(?:e[-+]?\d+)?)\)?"
_COMPARISON = re.compile(rf"^{_NUMBER} (<=?) {_NUMBER}$")


class Report:
    """Ratios by line of a test; watches numpy's and pytest's comparisons from its making on."""

    def __init__(self) -> None:
        self.ratios: dict[str, tuple[float, float]] = {}
        self._kept: list[tuple[Any, str, Any]] = []
        scalar = type(pytest.approx(1.0))
        self._wrap(rounding, "watch", lambda _: self.take)
        self._wrap(np.testing, "assert_allclose", self._allclose)
        self._wrap(scalar, "__eq__", self._approx)

    def _wrap(self, owner: Any, name: str, around: Callable[[Any], Any]) -> None:
        before = getattr(owner, name)
        self._kept.append((owner, name, before))
        setattr(owner, name, around(before))

    def restore(self) -> None:
        """Undo the watching."""
        for owner, name, before in self._kept:
            setattr(owner, name, before)

    def take(self, measured: float, allowed: float, where: str = "") -> None:
        """Take down one comparison; the line is that of the innermost test file that runs."""
        if allowed > 0.0 and np.isfinite(measured):
            place = where or _test_line()
            ratio = (float(measured / allowed), float(allowed))
            self.ratios[place] = max(self.ratios.get(place, (0.0, 0.0)), ratio)

    def comparison(self, where: str, explanation: str) -> None:
        """Take down an assert of the form number < bound."""
        found = _COMPARISON.match(explanation.split("\n")[0])
        if found and 0.0 < float(found[3]) <= _LARGEST_TOLERANCE:
            self.take(max(0.0, float(found[1])), float(found[3]), where)  # below zero it is far from the bound

    def _allclose(self, before: Callable[..., None]) -> Callable[..., None]:
        def watched(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 0.0, **named: Any) -> None:
            before(actual, desired, rtol=rtol, atol=atol, **named)
            error = np.abs(np.subtract(1.0 * np.asarray(actual), 1.0 * np.asarray(desired)))  # truth values too
            allowed = np.broadcast_to(atol + rtol * np.abs(1.0 * np.asarray(desired)), error.shape)
            if error.size and max(rtol, atol) <= _LARGEST_TOLERANCE and (allowed > 0.0).any():
                worst = np.argmax(np.where(allowed > 0.0, error / np.where(allowed > 0.0, allowed, 1.0), 0.0))
                self.take(float(error.flat[worst]), float(allowed.flat[worst]))

        return watched

    def _approx(self, before: Callable[..., bool]) -> Callable[..., bool]:
        def watched(own: Any, actual: Any) -> bool:
            equal = before(own, actual)
            tolerance = float(own.tolerance)
            if (
                equal
                and isinstance(actual, float | int)
                and tolerance <= _LARGEST_TOLERANCE * max(1, abs(own.expected))
            ):
                self.take(abs(float(actual) - own.expected), tolerance)
            return equal

        return watched

    def lines(self) -> list[str]:
        """Return one line per tolerance, nearest first, and how many of each kind are near their bound."""
        ordered = sorted(self.ratios.items(), key=lambda entry: -entry[1][0])
        kinds = {place: _kind(place) for place in self.ratios}
        near = Counter(kinds[place].split(":")[0] for place, (ratio, _) in ordered if ratio > _NEAR)
        counts = ", ".join(f"{number} {kind}" for kind, number in sorted(near.items()))
        return [
            *(f"{ratio:9.2e} of {allowed:8.1e}  {place}  {kinds[place]}" for place, (ratio, allowed) in ordered),
            f"{len(ordered)} tolerances, above {_NEAR}: {counts or 'none'}",
        ]


def _kind(place: str) -> str:
    """What a tolerance is, by the lines of the test around it."""
    path, number = place.rsplit(":", 1)
    if not Path(path).exists():
        return "literal"
    first = int(number) - 1
    text = Path(path).read_text().splitlines()[max(0, first - 1) : first + 3]
    reason = next((line.split("not rounding:")[1].strip() for line in text if "not rounding:" in line), None)
    if reason is not None:
        return f"not rounding: {reason}"
    return "derived" if any(word in line for line in text[1:] for word in _DERIVED) else "literal"


def _test_line() -> str:
    frame = sys._getframe(1)
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.name.startswith("test_"):
            return f"{path}:{frame.f_lineno}"
        frame = frame.f_back
    return "?:0"
