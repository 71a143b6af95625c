"""Feedback of forces, and the sensor that measures them in a simulated mechanism.

    F = K_F (F_E - F_S) + K_I ∫ (F_E - F_S) dt,   tau = rowsᵀ F               (1)  isobe2003 (8), with K_I = 0

F_E is the force to be exerted, F_S the one a sensor reads. On a rigid surface F_S follows the torque at once, so that a
proportional gain settles only below 1, and an integral gain below 1/period: a reading is one sample old when it acts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints import ConstrainedDynamics, SurfaceContact, constrained_dynamics
from setsu.constraints.contact import checked_contacts
from setsu.control.arguments import driven_mask, function_of_time, gains
from setsu.control.controller import Controller, seeds
from setsu.control.memory import RunningIntegral
from setsu.control.tables import graph_of
from setsu.dynamics.catalogue import require_mechanism
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.noise import noise_key, standard_normal
from setsu.symbolic.tracing import Number

__all__ = ["ForceDirections", "ForceFeedback", "ForceSensor"]

Floats = NDArray[np.float64]
Measure = Callable[[ConstrainedDynamics, Floats], ArrayLike]


class ForceDirections(Protocol):
    """What PointForce, Squeeze and SurfacePress are."""

    mechanism: Mechanism

    @property
    def size(self) -> int:
        """Number of force components."""
        ...

    def __call__(self, q: Floats) -> Floats:
        """Return rows (size, nv)."""
        ...


class ForceSensor:
    """Forces in loops and contacts of a mechanism under the torque that acts when a sampled controller looks.

    Args:
        mechanism: the real one, as simulated.
        contacts: as given to `simulate`.
        body: instead, in runs with an environment: the force (3,) that this body exerts on all it touches, world axes,
            over the step before. The law that uses it has to run without Python.
        measure: function (ConstrainedDynamics, q) -> numbers to read; the normal forces of the contacts by default.
        noise: standard deviation of each reading, N. seed: of the noise.

    Hand it to `Controller.sampled(..., sensor=...)`, which keeps `reading` up to date.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        contacts: Iterable[SurfaceContact] = (),
        measure: Measure | None = None,
        *,
        body: str | None = None,
        noise: float = 0.0,
        seed: int | tuple[int, ...] = 0,
    ) -> None:
        require_mechanism(mechanism, "ForceSensor")
        self.mechanism, self.contacts = mechanism, checked_contacts(mechanism, contacts, "ForceSensor")
        if [measure is not None or bool(self.contacts), body is not None].count(True) != 1:
            raise InputError("ForceSensor: expected contacts, a function that measures something else, or a body")
        self.body = None if body is None else mechanism.frame(body).body
        if self.body is not None and self.body < 0:
            raise InputError(f"ForceSensor body: {body!r} is fixed to the world; expected a body that moves")
        self.measure, self.noise, self.seed = measure, float(gains(noise, 1, "ForceSensor noise")[0]), seed
        self.reading: Floats | None = None

    memory = ("reading",)

    def state(self) -> Floats | None:
        """What was read last."""
        return None if self.reading is None else self.reading.copy()

    def set_state(self, kept: Floats | None) -> None:
        """Remember what `state` returned."""
        self.reading = None if kept is None else kept.copy()

    def forget(self) -> None:
        """Begin without a reading."""
        self.reading = None

    def look(self, sample: int, q: Floats, v: Floats, torque: Floats) -> None:
        """Read the forces at a state under a torque; the number of the sample picks the noise."""
        if self.body is not None:
            raise InputError(
                "ForceSensor of a body: it reads contact forces of a run with an environment, by a law that runs "
                "without Python; this one calls functions that are no setsu.control.law, or the run has no environment"
            )
        result = constrained_dynamics(self.mechanism, q, v, torque, contacts=self.contacts)
        value = result.normal_force if self.measure is None else self.measure(result, q)
        reading = np.atleast_1d(np.asarray(value, dtype=np.float64))
        if self.noise:
            drawn = standard_normal(noise_key(*seeds(self.seed)), sample, reading.size)
            reading = reading + self.noise * drawn.reshape(reading.shape)
        self.reading = reading


class ForceFeedback(Controller):
    """Torques that bring measured forces to wanted ones (1).

    Args:
        directions: PointForce, Squeeze or SurfacePress of the controller's model: what the components mean.
        force: wanted components F_E, N; numbers or a function of time.
        sensor: a ForceSensor, or any function (t, q, v) -> components.
        gain, integral_gain: K_F (-) and K_I (1/s); numbers or one per component.
        integral_limit: largest |K_I ∫|, N: what it may wind up to while nothing is touched.
        joints: names of the joints with a motor; all by default.
    """

    def __init__(
        self,
        directions: ForceDirections,
        force: ArrayLike | Callable[[float], ArrayLike],
        sensor: ForceSensor | Callable[[float, Floats, Floats], ArrayLike],
        gain: ArrayLike,
        integral_gain: ArrayLike = 0.0,
        *,
        integral_limit: ArrayLike = 1e300,
        joints: Sequence[str] | None = None,
    ) -> None:
        self.directions, self.sensor = directions, sensor
        if not (isinstance(sensor, ForceSensor) or callable(sensor)):
            raise InputError(f"ForceFeedback sensor: expected a ForceSensor or a function, got {sensor!r:.80}")
        self.force = function_of_time(force, "ForceFeedback force", directions.size)
        self.gain = gains(gain, directions.size, "ForceFeedback gain")
        self.integral_gain = gains(integral_gain, directions.size, "ForceFeedback integral_gain")
        self._mask = driven_mask(directions.mechanism, joints)
        self._integral = RunningIntegral(gains(integral_limit, directions.size, "ForceFeedback integral_limit"))

    memory = ("sensor", "_integral")

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        """Whether it reads a ForceSensor, and the wanted force is no function of the user's that is not."""
        return isinstance(self.sensor, ForceSensor) and self.force.traceable

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torque (nv,) (1); zero until a first reading is there."""
        measured = self._measured(t, q, v)
        if measured is None:
            return np.zeros(len(v))
        error = self.force(t) - measured
        F = self.gain * error
        if self.integral_gain.any():
            F = F + self._integral(t, self.integral_gain * error)
        return self._mask * (self.directions(q).T @ F)

    def _measured(self, t: float, q: Floats, v: Floats) -> Floats | None:
        sensor: Any = self.sensor
        if isinstance(t, Number) and isinstance(sensor, ForceSensor):
            return graph_of(t).sensed(sensor, self.directions.size)
        value = sensor.reading if isinstance(sensor, ForceSensor) else sensor(t, q, v)
        if value is None:
            return None
        measured = np.atleast_1d(np.asarray(value, dtype=np.float64))
        if measured.shape != (self.directions.size,):
            raise InputError(
                f"ForceFeedback: expected {self.directions.size} measured components, got shape {measured.shape}"
            )
        return measured
