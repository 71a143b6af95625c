"""Computed torque: the model's inverse dynamics with a corrected acceleration.

    a = a_d + K_v (v_d - v) + K_p (q_d - q),   tau = ID(q, v, a)              (1)

With a perfect model every joint then follows e'' + K_v e' + K_p e = 0 on its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.control.arguments import gains
from setsu.control.controller import Controller
from setsu.control.targets import Target, as_target
from setsu.dynamics import difference, inverse_dynamics
from setsu.dynamics.catalogue import require_mechanism
from setsu.mechanism import Mechanism

__all__ = ["ComputedTorque"]

Floats = NDArray[np.float64]


class ComputedTorque(Controller):
    """Torques that make the model follow a target (1).

    Args:
        mechanism: the controller's model, a tree.
        target: coordinates (nq,) to hold, a SampledMotion, or a function of time t -> (q, v, a).
        position_gain, velocity_gain: K_p (1/s²) and K_v (1/s), one number or (nv,).
    """

    def __init__(
        self, mechanism: Mechanism, target: Target, position_gain: ArrayLike, velocity_gain: ArrayLike
    ) -> None:
        require_mechanism(mechanism, "ComputedTorque")
        self.mechanism, self.target = mechanism, as_target(target, mechanism, "ComputedTorque")
        self.position_gain = gains(position_gain, mechanism.nv, "ComputedTorque position_gain")
        self.velocity_gain = gains(velocity_gain, mechanism.nv, "ComputedTorque velocity_gain")

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        """Whether the target is no function of the user's."""
        return getattr(self.target, "traceable", False)

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torque (nv,) (1)."""
        q_d, v_d, a_d = self.target(t)
        error = difference(self.mechanism, q, q_d)
        return inverse_dynamics(self.mechanism, q, v, a_d + self.velocity_gain * (v_d - v) + self.position_gain * error)
