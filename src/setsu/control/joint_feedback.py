"""PID control of the joints.

tau = K_u (q_d - q) + K_i ∫ (q_d - q) dt + K_v (v_d - v)                  (1)  isobe2003 (7)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.control.arguments import driven_mask, gains
from setsu.control.controller import Controller
from setsu.control.memory import RunningIntegral
from setsu.control.targets import Target, as_target
from setsu.dynamics import difference
from setsu.dynamics.catalogue import require_mechanism
from setsu.mechanism import Mechanism

__all__ = ["JointFeedback"]

Floats = NDArray[np.float64]


class JointFeedback(Controller):
    """Torques that drive the joints to a target (1).

    Args:
        target: coordinates (nq,) to hold, a SampledMotion, or a function of time t -> (q, v).
        position_gain, velocity_gain, integral_gain: K_u, K_v, K_i; one number or (nv,); N m over rad, rad/s, rad s.
        integral_limit: largest |K_i ∫|, N m or N; a number or (nv,).
        joints: names of the joints with a motor; all by default.

    >>> import numpy as np, setsu
    >>> hold = JointFeedback(setsu.sample_mechanisms.planar_arm(2), [0.5, 0.0], 10.0, 1.0)
    >>> hold(0.0, np.zeros(2), np.array([0.0, 0.2])).tolist()
    [5.0, -0.2]
    """

    def __init__(
        self,
        mechanism: Mechanism,
        target: Target,
        position_gain: ArrayLike,
        velocity_gain: ArrayLike = 0.0,
        integral_gain: ArrayLike = 0.0,
        *,
        integral_limit: ArrayLike = 1e300,
        joints: Sequence[str] | None = None,
    ) -> None:
        require_mechanism(mechanism, "JointFeedback")
        self.mechanism, self.target = mechanism, as_target(target, mechanism, "JointFeedback")
        mask, nv = driven_mask(mechanism, joints), mechanism.nv
        self.position_gain = mask * gains(position_gain, nv, "JointFeedback position_gain")
        self.velocity_gain = mask * gains(velocity_gain, nv, "JointFeedback velocity_gain")
        self.integral_gain = mask * gains(integral_gain, nv, "JointFeedback integral_gain")
        self._integral = RunningIntegral(gains(integral_limit, nv, "JointFeedback integral_limit"))

    memory = ("_integral",)

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        """Whether the target is no function of the user's that is not."""
        return getattr(self.target, "traceable", False)

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torque (nv,) (1)."""
        q_d, v_d, _ = self.target(t)
        error = difference(self.mechanism, q, q_d)
        tau = self.position_gain * error + self.velocity_gain * (v_d - v)
        return tau + self._integral(t, self.integral_gain * error) if self.integral_gain.any() else tau
