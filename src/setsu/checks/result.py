"""What a check found, and how large an error rounding alone may cause.

Symbols: e = 2.2e-16 (float64), n = nv, k = condition number of the problem (1, or that of the mass matrix where the
law contains its inverse). Rounding alone may cause a relative error of

    plain evaluation            10 n k e                                                        (1)
    fourth-order differences    100 n k e^(4/5)     with the step h = e^(1/5)                    (2)

The factors leave a margin of about ten over the worst found on random trees of every joint type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["CheckResult", "compare", "fourth_order_difference", "rounding_tolerance"]

Array = NDArray[np.float64]
EPSILON = float(np.finfo(np.float64).eps)
STEP = EPSILON**0.2


@dataclass(frozen=True)
class CheckResult:
    """The law checked, the worst error over all states (relative to the largest term), and the tolerance.

    `detail` says more where a failure has a known cause.
    """

    name: str
    law: str
    worst: float
    tolerance: float
    detail: str = ""

    @property
    def passed(self) -> bool:
        """Whether the worst error is a number within the tolerance."""
        return bool(self.worst <= self.tolerance)

    def __str__(self) -> str:
        verdict = "holds" if self.passed else "FAILS"
        text = f"{self.name}: {self.law} {verdict}, worst error {self.worst:.1e}, tolerance {self.tolerance:.1e}"
        return f"{text}; {self.detail}" if self.detail else text


def rounding_tolerance(nv: int, condition: float = 1.0, *, differences: bool = False) -> float:
    """Return (1), or (2) for laws that are checked with differences."""
    return max(nv, 1) * condition * (100.0 * EPSILON**0.8 if differences else 10.0 * EPSILON)


def compare(name: str, law: str, left: Array, right: Array, terms: list[Array], tolerance: float) -> CheckResult:
    """Compare both sides of a law; the error counts relative to the largest entry of its terms, state by state."""
    worst = 0.0
    for k in range(len(left)):
        scale = max((float(np.abs(term[k]).max(initial=0.0)) for term in terms), default=0.0)
        error = float(np.abs(left[k] - right[k]).max(initial=0.0))
        # A law whose terms are all zero holds; NaN has to stay visible.
        worst = (
            max(worst, error / scale) if scale > 0.0 and not np.isnan(error) else (worst if error == 0.0 else np.nan)
        )
        if np.isnan(worst):
            break
    return CheckResult(name, law, worst, tolerance)


def fourth_order_difference(function: Callable[[float], Array]) -> Array:
    """Return the derivative of `function` at 0 with an error of fourth order in the step."""
    h = STEP
    return (8.0 * (function(h) - function(-h)) - (function(2.0 * h) - function(-2.0 * h))) / (12.0 * h)
