"""Laws of the drives: a mechanism's own actuators, compensation of gravity and friction, springs in the joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.control.arguments import driven_mask, function_of_time, gains
from setsu.control.controller import Controller
from setsu.control.targets import Target, as_target
from setsu.dynamics import actuator_torque, bias_torque, difference, gravity_torque
from setsu.dynamics.catalogue import require_mechanism
from setsu.errors import InputError
from setsu.mechanism import Free, Mechanism

__all__ = ["Actuators", "FrictionCompensation", "GravityCompensation", "JointImpedance"]

Floats = NDArray[np.float64]


class Actuators(Controller):
    """Torques of a mechanism's own actuators (MJCF's motors and servos) under controls; see setsu.actuator_torque.

    control: one number per actuator of `mechanism.actuators`, (n_actuators,), or a function of time that gives them.

    >>> import setsu
    >>> b = setsu.MechanismBuilder("arm").add_body("link", joint=setsu.Revolute(name="j"), mass=1.0, inertia=np.eye(3))
    >>> m = b.add_actuator(setsu.Actuator("servo", joint="j", gain=(50.0, 0.0, 0.0), bias=(0.0, -50.0, -20.0))).build()
    >>> run = setsu.simulate(m, [0.0], [0.0], 5.0, torque=Actuators(m, [0.3]), record_every=100)
    >>> round(float(run.q[-1, 0]), 4)
    0.3
    """

    def __init__(self, mechanism: Mechanism, control: ArrayLike | Callable[[float], ArrayLike]) -> None:
        require_mechanism(mechanism, "Actuators")
        if not mechanism.actuators:
            raise InputError(f"Actuators: {mechanism.name} has none; expected a mechanism with actuators")
        self.mechanism = mechanism
        self.control = function_of_time(control, "Actuators control", len(mechanism.actuators))

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        """Whether the controls are no function of the user's that is not."""
        return self.control.traceable

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """Return the torque (nv,)."""
        return actuator_torque(self.mechanism, q, v, self.control(t))


class GravityCompensation(Controller):
    """Torques that carry the weight of a model: a mechanism that floats.

    joints: names of the joints with a motor; all but free ones by default.

    >>> import setsu
    >>> arm = setsu.sample_mechanisms.planar_arm(2)
    >>> run = setsu.simulate(arm, [0.3, 0.4], [0.0, 0.0], 0.1, torque=GravityCompensation(arm))
    >>> float(abs(run.q - [0.3, 0.4]).max()) < 1e-12
    True
    """

    traceable = True

    def __init__(self, mechanism: Mechanism, *, joints: Sequence[str] | None = None) -> None:
        require_mechanism(mechanism, "GravityCompensation")
        self.mechanism = mechanism
        driven = [body.joint.name for body in mechanism.bodies if body.joint.nv and not isinstance(body.joint, Free)]
        self.mask = driven_mask(mechanism, driven if joints is None else joints)

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """Return the torque (nv,)."""
        return self.mask * gravity_torque(self.mechanism, q)


class FrictionCompensation(Controller):
    """Torques against viscous and dry friction of the joints: d v + c v / sqrt(v² + w²).

    Args:
        mechanism: the controller's model, whose `damping` and `coulomb` are taken.
        share: part of the friction that is compensated, a number or (nv,); above 1 the joints run away.
        width: w, rad/s or m/s: speed within which the sign of dry friction is smoothed; below it joints still stick.
    """

    traceable = True

    def __init__(self, mechanism: Mechanism, share: ArrayLike = 0.9, width: float = 0.05) -> None:
        require_mechanism(mechanism, "FrictionCompensation")
        part = gains(share, mechanism.nv, "FrictionCompensation share")
        if (part > 1.0).any():
            raise InputError(f"FrictionCompensation share: expected at most 1, got {share!r:.80}")
        self.width = float(gains(width, 1, "FrictionCompensation width")[0])
        if self.width == 0.0:
            raise InputError("FrictionCompensation width: expected a positive number, got 0")
        self.viscous, self.dry = part * mechanism.damping, part * mechanism.coulomb

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """Return the torque (nv,)."""
        return self.viscous * v + self.dry * v / np.sqrt(v * v + self.width * self.width)


class JointImpedance(Controller):
    """Joints that yield like springs and dampers about a target, gravity and Coriolis forces taken away.

    tau = K (q_d - q) + D (v_d - v) + bias

    Args:
        target: coordinates (nq,) to hold, a SampledMotion, or a function of time t -> (q, v).
        stiffness, damping: K (N m/rad), D (N m s/rad), a number or (nv,).
    """

    def __init__(self, mechanism: Mechanism, target: Target, stiffness: ArrayLike, damping: ArrayLike) -> None:
        require_mechanism(mechanism, "JointImpedance")
        self.mechanism, self.target = mechanism, as_target(target, mechanism, "JointImpedance")
        self.stiffness = gains(stiffness, mechanism.nv, "JointImpedance stiffness")
        self.damping = gains(damping, mechanism.nv, "JointImpedance damping")

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        """Whether the target is no function of the user's that is not."""
        return getattr(self.target, "traceable", False)

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """Return the torque (nv,)."""
        m = self.mechanism
        q_d, v_d, _ = self.target(t)
        return self.stiffness * difference(m, q, q_d) + self.damping * (v_d - v) + bias_torque(m, q, v)
