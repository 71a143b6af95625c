"""Torque laws of scenarios: functions (t, q, v) -> tau of one state, or of many runs at once with their own numbers.

| symbol | meaning |
|---|---|
| K, D | stiffness (N m/rad, N/m) and damping (N m s/rad, N s/m) of the feedback, per velocity |
| q_d(t) | target (rad, m) |
| g(q) | gravity torque |

    none      tau = 0                                           (1)
    constant  tau = values                                      (2)
    expression  tau_j = formula_j(t, parameters)                (3)
    joint feedback  tau = K (q_d(t) - q) - D v [+ g(q)], cut off at ±limit      (4)
    actuators  tau = actuator_torque(q, v, controls(t))         (5)

Only joints with one coordinate can be named. Formulas may give numbers that are not finite: the caller looks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import actuator_torque, gravity_torque
from setsu.mechanism import Free, Mechanism
from setsu.scenario.expressions import Formula

__all__ = ["TorqueLaw"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TorqueLaw:
    """All laws in one record: constant + formulas + feedback.

    constant (..., nv): (2). formulas: by velocity index, over t and `parameters` (numbers, or (runs,) arrays): (3).
    stiffness, damping, target (..., nv): (4), with the coordinate of each velocity in `coordinates` (nv,);
    target_formulas: by velocity index. feedback: whether (4) takes part.
    controls (n_actuators,) and control_formulas: by number of the actuator (5).
    shared: whether "stiffness", "damping" are one number for all joints. held: joints held where they start.
    """

    mechanism: Mechanism
    constant: Floats
    parameters: Mapping[str, Any] = field(default_factory=dict)
    formulas: Mapping[int, Formula] = field(default_factory=dict)
    feedback: bool = False
    coordinates: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    stiffness: Floats = field(default_factory=lambda: np.zeros(0))
    damping: Floats = field(default_factory=lambda: np.zeros(0))
    target: Floats = field(default_factory=lambda: np.zeros(0))
    target_formulas: Mapping[int, Formula] = field(default_factory=dict)
    held: tuple[int, ...] = ()
    shared: tuple[str, ...] = ()
    gravity_compensation: bool = False
    limit: float | None = None
    controls: Floats | None = None
    control_formulas: Mapping[int, Formula] = field(default_factory=dict)

    @property
    def is_constant(self) -> bool:
        """Whether the torque depends neither on time nor on the state."""
        return not (self.formulas or self.feedback or self.controls is not None)

    def __call__(self, t: float, q: Floats, v: Floats, gravity: Callable[[Floats], Floats] | None = None) -> Floats:
        """Return the torques (..., nv), N m or N, at time t (s) in states q (..., nq), v (..., nv).

        gravity: torques of gravity at q, where runs have mechanisms of their own.
        """
        if self.is_constant:
            return self.constant if self.constant.shape == v.shape else np.broadcast_to(self.constant, v.shape)
        known = {**self.parameters, "t": t}
        if self.controls is not None:  # (5)
            controls = np.array(np.broadcast_to(self.controls, (*v.shape[:-1], len(self.controls))))
            for index, formula in self.control_formulas.items():
                controls[..., index] = formula(known)
            return actuator_torque(self.mechanism, q, v, controls)
        tau = np.empty(v.shape)
        tau[...] = self.constant
        with np.errstate(all="ignore"):
            for index, formula in self.formulas.items():  # (3)
                tau[..., index] = formula(known)
            if self.feedback:  # (4)
                target = self.target
                if self.target_formulas:
                    target = np.array(np.broadcast_to(target, v.shape))
                    for index, formula in self.target_formulas.items():
                        target[..., index] = formula(known)
                error = target - q[..., self.coordinates]
                error *= self.stiffness
                tau += error
                tau -= self.damping * v
        if self.gravity_compensation:
            tau += self._driven * (gravity_torque(self.mechanism, q) if gravity is None else gravity(q))
        if self.limit is not None:
            np.clip(tau, -self.limit, self.limit, out=tau)
        return tau

    @cached_property
    def _driven(self) -> Floats:
        """1 for velocities of joints that may have a motor, 0 for those of free bodies, (nv,)."""
        mask = np.ones(self.mechanism.nv)
        for body, where in zip(self.mechanism.moving, self.mechanism.v_slices, strict=True):
            if isinstance(body.joint, Free):
                mask[where] = 0.0
        return mask

    # Many runs -------------------------------------------------------------------------------------------------

    def can_vary(self, path: str) -> bool:
        """Whether runs computed together may differ in this entry of the table [torque]."""
        head, _, name = path.partition(".")
        if self.controls is not None:
            return False
        if head == "parameters":
            return name in self.parameters
        index = single_velocities(self.mechanism).get(name)
        if head == "values":
            return index is not None and not self.feedback and index not in self.formulas
        if not self.feedback:
            return False
        if head == "target":
            return index is not None and index not in self.target_formulas
        if head in ("stiffness", "damping"):
            return name == "" if head in self.shared else index is not None
        return False

    def for_runs(self, q0: Floats, columns: Mapping[str, Floats]) -> TorqueLaw:
        """Return the law of many runs.

        q0 (runs, nq): where they start. columns: numbers of each run (runs,) by their path in [torque].
        """
        shape = (len(q0), self.mechanism.nv)
        many = {
            # Rows one after the other, as native code reads them: a plain copy would keep the order of the one row.
            name: np.array(np.broadcast_to(getattr(self, name), shape), order="C")
            for name in ("constant", *(("stiffness", "damping", "target") if self.feedback else ()))
        }
        for index in self.held:
            many["target"][:, index] = q0[:, self.coordinates[index]]
        parameters = dict(self.parameters)
        velocities = single_velocities(self.mechanism)
        for path, column in columns.items():
            head, _, name = path.partition(".")
            if head == "parameters":
                parameters[name] = column
            elif head in ("stiffness", "damping") and not name:
                many[head][:, list(velocities.values())] = column[:, None]
            else:
                many["constant" if head == "values" else head][:, velocities[name]] = column
        return replace(self, parameters=parameters, **many)

    def rows(self, chosen: slice | NDArray[np.int64]) -> TorqueLaw:
        """Return the law of some of the runs it was made for."""
        names = ("constant", *(("stiffness", "damping", "target") if self.feedback else ()))
        parts = {name: getattr(self, name)[chosen] for name in names}
        parameters = {k: value[chosen] if np.ndim(value) else value for k, value in self.parameters.items()}
        return replace(self, parameters=parameters, **parts)


def single_velocities(m: Mechanism) -> dict[str, int]:
    """Velocity index of every joint with one coordinate, by name."""
    return {
        body.joint.name: where.start
        for body, where in zip(m.moving, m.v_slices, strict=True)
        if body.joint.nq == body.joint.nv == 1
    }
