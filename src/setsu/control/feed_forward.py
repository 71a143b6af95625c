"""Feed-forward: torques found beforehand by any inverse dynamics, played back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints import constrained_inverse_dynamics
from setsu.control.controller import Controller
from setsu.control.tables import Table, looked_up
from setsu.control.targets import SampledMotion, sampled_rows, sampled_time
from setsu.dynamics import inverse_dynamics
from setsu.errors import InputError, nearest_names
from setsu.mechanism import Mechanism
from setsu.nodal import nodal_inverse_dynamics
from setsu.symbolic.tracing import Number

__all__ = ["FeedForward"]

Floats = NDArray[np.float64]
InverseDynamics = Callable[[Mechanism, Floats, Floats, Floats], ArrayLike]

_METHODS = ("tree", "constrained", "nodal")


class FeedForward(Controller):
    """Torques (T, nv) at times (T,), s, joined by straight lines; before and after, the first and the last.

    >>> import numpy as np
    >>> FeedForward([0.0, 1.0], [[0.0], [2.0]])(0.25, np.zeros(1), np.zeros(1)).tolist()
    [0.5]
    """

    def __init__(self, time: ArrayLike, torque: ArrayLike) -> None:
        self.time = sampled_time(time, "FeedForward")
        self.torque = sampled_rows(torque, self.time, "FeedForward torque")

    @classmethod
    def from_motion(
        cls,
        mechanism: Mechanism,
        time: ArrayLike,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        *,
        method: str | InverseDynamics = "tree",
        **options: Any,
    ) -> FeedForward:
        """Return the torques of a sampled motion: q (T, nq), v and a (T, nv).

        Args:
            v, a: by differences of second order where not given (coordinates must then be plain numbers).
            method: "tree" (inverse_dynamics), "constrained" (constrained_inverse_dynamics: loops, contacts, chosen
                actuators), "nodal" (nodal_inverse_dynamics), or a function (mechanism, q, v, a) -> torque (T, nv).
            options: passed on to it, for example contacts, normal_force, actuated, tip_forces, held_objects.
        """
        t = sampled_time(time, "FeedForward")
        if method == "nodal":
            return cls(t, nodal_inverse_dynamics(mechanism, t, q, v=v, a=a, **options))
        if v is None or a is None:
            motion = SampledMotion(t, q, v, a)
            v, a = motion.v, motion.a
        if method == "tree":
            return cls(t, inverse_dynamics(mechanism, q, v, a, **options))
        if method == "constrained":
            return cls(t, constrained_inverse_dynamics(mechanism, q, v, a, **options).torque)
        if callable(method):
            return cls(t, method(mechanism, np.asarray(q), np.asarray(v), np.asarray(a), **options))
        raise InputError(f"FeedForward: unknown method {method!r}{nearest_names(str(method), _METHODS)}")

    traceable = True

    @property
    def table(self) -> Table:
        """The torques as polynomials of degree 1."""
        slopes = np.diff(self.torque, axis=0) / np.diff(self.time)[:, None]
        still = np.zeros((1, self.torque.shape[1]))
        values = np.concatenate([self.torque[:1], self.torque])
        return Table(self.time, np.stack([values, np.concatenate([still, slopes, still])], axis=2))

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torque at time t."""
        if isinstance(t, Number):
            return looked_up(t, self.table)
        if t <= self.time[0]:
            return self.torque[0].copy()
        if t >= self.time[-1]:
            return self.torque[-1].copy()
        k = int(np.searchsorted(self.time, t, side="right")) - 1
        s = (t - self.time[k]) / (self.time[k + 1] - self.time[k])
        return (1.0 - s) * self.torque[k] + s * self.torque[k + 1]
