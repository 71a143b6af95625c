"""Motions a controller follows: a fixed place, a function of time, or samples joined by polynomials.

Between samples k and k+1 of q, v, a the motion is the polynomial of degree 5 with these values at both ends:
    q = q0 + h (v0 s + ½ h a0 s²) + c3 s³ + c4 s⁴ + c5 s⁵,   s = (t - t_k)/h                   (1)
    c3 = 10 d - 4 e + ½ f,  c4 = -15 d + 7 e - f,  c5 = 6 d - 3 e + ½ f                         (2)
    d, e, f: what is left at s = 1 of q, h v, h² a
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.control.arguments import plain_or_symbols
from setsu.control.tables import Table, looked_up
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.symbolic.tracing import Number

__all__ = ["Moving", "SampledMotion", "Target", "as_target", "sampled_rows"]

Floats = NDArray[np.float64]
State = tuple[Floats, Floats, Floats]
Target = ArrayLike | Callable[[float], Any]


class Still:
    """A motion that stays where it is: called with any time it returns the same arrays."""

    traceable = True

    def __init__(self, state: State) -> None:
        self.state = state

    def __call__(self, t: float) -> State:
        """Return q, v, a."""
        return self.state


class Moving:
    """A motion that a user's function gives: t -> x, (x, x') or (x, x', x''); what it leaves out is zero."""

    def __init__(self, function: Callable[[Any], Any], lengths: tuple[int, int, int], what: str) -> None:
        self.function, self.lengths, self.what = function, lengths, what
        self.traceable = getattr(function, "traceable", False) is True

    def __call__(self, t: Any) -> Any:
        """Return position, velocity and acceleration."""
        answer = self.function(t)
        parts = list(answer) if isinstance(answer, tuple) else [answer]
        parts = [plain_or_symbols(part) for part in parts]
        parts += [np.zeros(length) for length in self.lengths[len(parts) :]]
        found = [part.shape for part in parts]
        if found != [(length,) for length in self.lengths]:
            when = "" if isinstance(t, Number) else f" at t = {t:.9g} s"
            names = ("q", "v", "a") if "target" in self.what else ("x", "x'", "x''")
            wanted = ", ".join(f"{name} ({length},)" for name, length in zip(names, self.lengths, strict=True))
            raise InputError(f"{self.what}{when}: expected {wanted}, got shapes {', '.join(map(str, found))}")
        return tuple(parts)


class SampledMotion:
    """A motion given by samples; called with a time (s) it returns q, v, a, each (n,). Outside it rests at its ends.

    time: (T,), s, rising. q: (T, n). v, a: (T, n), by differences of second order where not given.

    >>> import numpy as np
    >>> t = np.linspace(0.0, 1.0, 11)
    >>> q, v, a = SampledMotion(t, np.stack([t**2], axis=1))(0.55)
    >>> np.round([q[0], v[0], a[0]], 9).tolist()
    [0.3025, 1.1, 2.0]
    """

    def __init__(self, time: ArrayLike, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None) -> None:
        self.time = sampled_time(time, "SampledMotion")
        if len(self.time) < 3:
            raise InputError(f"SampledMotion time: expected at least 3 samples, got {len(self.time)}")
        self.q = sampled_rows(q, self.time, "SampledMotion q")
        self.v = self._rates(self.q) if v is None else sampled_rows(v, self.time, "SampledMotion v")
        self.a = self._rates(self.v) if a is None else sampled_rows(a, self.time, "SampledMotion a")
        if not self.q.shape == self.v.shape == self.a.shape:
            raise InputError(
                f"SampledMotion: expected q, v, a of one shape, got {self.q.shape}, {self.v.shape}, {self.a.shape}; "
                "motions with quaternions are given as functions of time"
            )

    traceable = True

    @property
    def table(self) -> Table:
        """q, v and a, one after the other, as polynomials of t - t_k."""
        h = np.diff(self.time)[:, None]
        q0, v0, a0 = self.q[:-1], self.v[:-1], self.a[:-1]
        d, e, f = self._left_over(np.arange(len(h)))
        c3, c4, c5 = (
            (10.0 * d - 4.0 * e + 0.5 * f) / h**3,
            (-15.0 * d + 7.0 * e - f) / h**4,
            (6.0 * d - 3.0 * e + 0.5 * f) / h**5,
        )
        none = np.zeros_like(q0)
        q = np.stack([q0, v0, 0.5 * a0, c3, c4, c5], axis=2)
        v = np.stack([v0, a0, 3.0 * c3, 4.0 * c4, 5.0 * c5, none], axis=2)
        a = np.stack([a0, 6.0 * c3, 12.0 * c4, 20.0 * c5, none, none], axis=2)
        ends = np.zeros((2, 3 * q.shape[1], 6))
        ends[:, : q.shape[1], 0] = self.q[[0, -1]]
        moving = np.concatenate([q, v, a], axis=1)
        # At its last instant the motion still has its last velocity.
        knots = np.append(self.time[:-1], np.nextafter(self.time[-1], np.inf))
        return Table(knots, np.concatenate([ends[:1], moving, ends[1:]]))

    def _left_over(self, k: Any) -> State:
        """d, e, f (2) of the pieces k, (..., n)."""
        h = (self.time[k + 1] - self.time[k])[..., None]
        q0, u0, w0 = self.q[k], h * self.v[k], h * h * self.a[k]
        return self.q[k + 1] - q0 - u0 - 0.5 * w0, h * self.v[k + 1] - u0 - w0, h * h * self.a[k + 1] - w0

    def _rates(self, values: Floats) -> Floats:
        return np.gradient(values, self.time, axis=0, edge_order=2)

    def __call__(self, t: float) -> State:
        """Return q, v, a at time t (1), (2)."""
        if isinstance(t, Number):
            values, n = looked_up(t, self.table), self.q.shape[1]
            return values[:n], values[n : 2 * n], values[2 * n :]
        if t < self.time[0] or t > self.time[-1]:
            still = np.zeros(self.q.shape[1])
            return self.q[0 if t < self.time[0] else -1], still, still
        k = min(int(np.searchsorted(self.time, t, side="right")) - 1, len(self.time) - 2)
        h = self.time[k + 1] - self.time[k]
        s = (t - self.time[k]) / h
        q0, u0, w0 = self.q[k], h * self.v[k], h * h * self.a[k]
        d, e, f = self._left_over(k)
        c3, c4, c5 = 10.0 * d - 4.0 * e + 0.5 * f, -15.0 * d + 7.0 * e - f, 6.0 * d - 3.0 * e + 0.5 * f
        q = q0 + s * (u0 + s * (0.5 * w0 + s * (c3 + s * (c4 + s * c5))))
        v = u0 + s * (w0 + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)))
        a = w0 + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5))
        return q, v / h, a / (h * h)


def as_target(target: Target, m: Mechanism, what: str) -> Callable[[float], State]:
    """Return a function t -> (q, v, a) from coordinates (nq,) to hold or a function t -> q, (q, v) or (q, v, a)."""
    if not callable(target):
        place = np.asarray(target, dtype=np.float64)
        if place.shape != (m.nq,) or not np.isfinite(place).all():
            raise InputError(
                f"{what}: target: expected {m.nq} finite coordinates, a SampledMotion or a function of time, "
                f"got shape {place.shape}"
            )
        still = np.zeros(m.nv)
        return Still((place, still, still))
    function = target
    if isinstance(target, SampledMotion) and target.q.shape[1] == m.nq == m.nv:
        return target
    return Moving(function, (m.nq, m.nv, m.nv), f"{what}: target")


def sampled_time(time: ArrayLike, what: str) -> Floats:
    """Return rising finite times (T,), at least two."""
    try:
        t = np.asarray(time, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} time: expected numbers, got {time!r:.80}") from None
    if t.ndim != 1 or len(t) < 2 or not np.isfinite(t).all() or not (np.diff(t) > 0.0).all():
        raise InputError(f"{what} time: expected at least 2 finite, rising times, got {time!r:.80}")
    return t


def sampled_rows(values: ArrayLike, time: Floats, what: str) -> Floats:
    """Return finite samples (T, n)."""
    try:
        rows = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what}: expected numbers, got {type(values).__name__}") from None
    if rows.ndim != 2 or len(rows) != len(time):
        raise InputError(f"{what}: expected shape ({len(time)}, n), got {rows.shape}")
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0].tolist()
        raise InputError(f"{what}[{row}, {column}] is {rows[row, column]}, expected finite numbers")
    return rows
