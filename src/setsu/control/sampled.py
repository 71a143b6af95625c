"""A controller as a computer runs it: it looks at fixed instants, through noise, and acts later.

at t_k = k period:  u_k = law(t_k, q + noise, v + noise)                                  (1)
torque(t) = u_k for t_k + delay <= t < t_{k+1} + delay;  `initial` before the first       (2)
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.control.arguments import nonnegative, positive, torque_of
from setsu.control.controller import Controller, Law, fingerprint, seeds
from setsu.control.force_feedback import ForceSensor
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.noise import noise_key, standard_normal
from setsu.symbolic.tracing import Untraceable

if TYPE_CHECKING:
    from setsu.constraints import SurfaceContact
    from setsu.control.law import SampledLaw

__all__ = ["Sampled"]

Floats = NDArray[np.float64]

# Part of a period that counts as rounding of the time.
_ROUNDING = 1e-6


class Sampled(Controller):
    """A law that is evaluated every `period` (s), and whose torque acts `delay` (s) later and is held in between.

    Args:
        law: a controller or function (t, q, v) -> torque.
        position_noise, velocity_noise: standard deviations added to each coordinate and velocity it sees.
        seed: of the noise, which depends on it and on the number of the sample alone; a whole number, or several. World
            k of many has the noise of a single run with seed (seed, k).
        sensor: a ForceSensor that looks at the same instants, under the torque that acts then.
        initial: torque (nv,) that acts before the first one of the law; zero by default.

    Give the simulation a step that divides the period, so that samples are taken where they belong.
    """

    def __init__(
        self,
        law: Law,
        period: float,
        *,
        delay: float = 0.0,
        position_noise: float = 0.0,
        velocity_noise: float = 0.0,
        seed: int | tuple[int, ...] = 0,
        sensor: ForceSensor | None = None,
        initial: ArrayLike | None = None,
    ) -> None:
        if not callable(law):
            raise InputError(f"Sampled: expected a function (t, q, v) -> torque, got {law!r:.80}")
        if sensor is not None and not isinstance(sensor, ForceSensor):
            raise InputError(f"Sampled sensor: expected a ForceSensor, got {sensor!r:.80}")
        self.law, self.period, self.sensor, self.seed = law, positive(period, "Sampled period"), sensor, seed
        self.delay = float(nonnegative(delay, "Sampled delay"))
        self.position_noise = float(nonnegative(position_noise, "Sampled position_noise"))
        self.velocity_noise = float(nonnegative(velocity_noise, "Sampled velocity_noise"))
        self.initial = None if initial is None else np.array(initial, dtype=np.float64)
        self._numbers: list[int] = []
        self._torques: list[Floats] = []

    memory = ("law", "sensor", "_numbers", "_torques")
    _sampled_code: SampledLaw | None = None

    def traced(
        self, m: Mechanism, contacts: Sequence[SurfaceContact] = (), environment: bool = False
    ) -> SampledLaw | None:
        """Return the law as code that the steps themselves sample, or None where it has to be called.

        contacts: of a run without environment; a sensor of others, or one that measures something else, is asked in
        Python. environment: whether the run has one.
        """
        from setsu.control.law import sampled_law

        sensor = self.sensor
        if getattr(self.law, "traceable", False) is not True:
            return None
        if sensor is not None and (sensor.measure is not None or sensor.mechanism.digest != m.digest):
            return None
        looked_at = () if sensor is None else sensor.contacts
        numbers = (m.digest, tuple(contacts), environment, fingerprint(self))
        if self._traced_for != numbers:
            self._traced_for, self._sampled_code = numbers, None
            try:
                places = tuple(list(contacts).index(contact) for contact in looked_at)
                if sensor is not None and sensor.body is not None:
                    if not environment:
                        raise Untraceable("its sensor needs an environment")
                    places = tuple(3 * sensor.body + k for k in range(3))
                self._sampled_code = sampled_law(self, m, places)
            except (ValueError, Untraceable):
                pass
        return self._sampled_code

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torque that acts at time t (2)."""
        now = self._number(t)
        while self._numbers and self._numbers[-1] > now:
            self._forget()
        on_time = abs(t - now * self.period) <= _ROUNDING * self.period
        if not self._numbers or self._numbers[-1] < now or on_time:
            if self._numbers and self._numbers[-1] == now:
                # The end of a step comes to the instant again, with a better state than its last stage had.
                self._forget()
            self._sample(now, t, q, v)
        return self._acting(self._number(t - self.delay), len(v))

    def forget(self) -> None:
        """Begin as if the law had not been asked: what a reset of its simulator lets it do."""
        self._numbers, self._torques = [], []
        super().forget()

    def next_change(self, t: float) -> float:
        """Return the first instant (s) after t at which a sample is taken or begins to act."""
        taken = (self._number(t) + 1) * self.period
        acts = (self._number(t - self.delay) + 1) * self.period + self.delay
        return min(taken, acts)

    def _number(self, t: float) -> int:
        return math.floor(t / self.period + _ROUNDING)

    def _forget(self) -> None:
        self._numbers.pop()
        self._torques.pop()

    def _sample(self, number: int, t: float, q: Floats, v: Floats) -> None:
        if self.sensor is not None:
            if not self._numbers:
                self.sensor.reading = None
            self.sensor.look(number, q, v, self._acting(self._number(t - self.delay), len(v)))
        if self.position_noise or self.velocity_noise:
            drawn = standard_normal(noise_key(*seeds(self.seed)), number, len(q) + len(v))
            q, v = q + self.position_noise * drawn[: len(q)], v + self.velocity_noise * drawn[len(q) :]
        self._numbers.append(number)
        self._torques.append(torque_of(self.law, t, q, v))  # (1)
        kept = 64 + math.ceil(self.delay / self.period)
        if len(self._numbers) > 2 * kept:
            del self._numbers[:kept], self._torques[:kept]

    def _acting(self, number: int, width: int) -> Floats:
        """Torque of the last sample up to a number."""
        place = bisect_right(self._numbers, number)
        if place:
            return self._torques[place - 1]
        return np.zeros(width) if self.initial is None else self.initial
