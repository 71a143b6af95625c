"""Impedance: a point of a body behaves like a spring and a damper tied to a moving place.

    F = K (x_d - x) + D (x_d' - x'),   tau = Jᵀ F + bias(q, v) - d v          (1)

bias carries weight and velocity forces, so that the point yields to outer forces alone; d damps the motions F leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.control.arguments import gains
from setsu.control.controller import Controller
from setsu.control.force_directions import point_position
from setsu.control.pose_targets import PoseTarget, pose_error
from setsu.control.targets import Moving, Still
from setsu.dynamics import bias_torque, frame_jacobian, frame_pose, point_jacobian
from setsu.dynamics.catalogue import require_mechanism
from setsu.mechanism import Mechanism
from setsu.spatial import finite_vector

__all__ = ["Impedance", "PoseImpedance", "place_and_velocity"]

Floats = NDArray[np.float64]
Place = ArrayLike | Callable[[float], Any]


class Impedance(Controller):
    """Spring and damper at a point of a body (1).

    Args:
        mechanism: the controller's model. body, point: what is held; point in the body's frame, m.
        place: where to, (3,) m, or a function of time t -> x or (x, x').
        stiffness, damping: K (N/m), D (N s/m), one number or one per world axis.
        joint_damping: d, N m s/rad, one number or (nv,).
    """

    def __init__(
        self,
        mechanism: Mechanism,
        body: str,
        point: ArrayLike,
        place: Place,
        stiffness: ArrayLike,
        damping: ArrayLike,
        *,
        joint_damping: ArrayLike = 0.0,
    ) -> None:
        require_mechanism(mechanism, "Impedance")
        mechanism.frame(body)
        self.mechanism, self.body = mechanism, body
        self.point = finite_vector(point, 3, "Impedance point")
        self.place = place_and_velocity(place, "Impedance place")
        self.stiffness = gains(stiffness, 3, "Impedance stiffness")
        self.damping = gains(damping, 3, "Impedance damping")
        self.joint_damping = gains(joint_damping, mechanism.nv, "Impedance joint_damping")

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        """Whether the place is fixed."""
        return getattr(self.place, "traceable", False)

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torque (nv,) (1)."""
        m = self.mechanism
        J = point_jacobian(m, q, self.body, self.point)
        x_d, dx_d, _ = self.place(t)
        x = point_position(m, q, self.body, self.point)
        F = self.stiffness * (x_d - x) + self.damping * (dx_d - J @ v)
        return J.T @ F + bias_torque(m, q, v) - self.joint_damping * v


class PoseImpedance(Controller):
    """Spring and damper between a frame and a pose, in position and orientation, gravity and Coriolis taken away.

    tau = Jᵀ (K e + D (x_d' - x')) + bias - d v, with e of `control.pose_error`: metres, and 2 sin(θ/2) about the axis
    of the rotation θ that is left.

    Args:
        mechanism: the controller's model. frame: name of a body, link or site.
        pose: (4, 4), or a function of time t -> T or (T, x'), rates (6,) linear part first, world axes.
        stiffness: K, N/m along and N m/rad about x, y, z (world): one number or 6. damping: D, N s/m and N m s/rad.
        joint_damping: d, N m s/rad, one number or (nv,).
    """

    def __init__(
        self,
        mechanism: Mechanism,
        frame: str,
        pose: ArrayLike | Callable[[Any], Any],
        stiffness: ArrayLike,
        damping: ArrayLike,
        *,
        joint_damping: ArrayLike = 0.0,
    ) -> None:
        require_mechanism(mechanism, "PoseImpedance")
        mechanism.frame(frame)
        self.mechanism, self.frame, self.pose = mechanism, frame, PoseTarget(pose, "PoseImpedance")
        self.stiffness = gains(stiffness, 6, "PoseImpedance stiffness")
        self.damping = gains(damping, 6, "PoseImpedance damping")
        self.joint_damping = gains(joint_damping, mechanism.nv, "PoseImpedance joint_damping")

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        """Whether the pose is no function of the user's that is not."""
        return self.pose.traceable

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """Return the torque (nv,)."""
        m = self.mechanism
        J = frame_jacobian(m, q, self.frame)
        T_d, dx_d, _ = self.pose(t)
        F = self.stiffness * pose_error(frame_pose(m, q, self.frame), T_d) + self.damping * (dx_d - J @ v)
        return J.T @ F + bias_torque(m, q, v) - self.joint_damping * v


def place_and_velocity(place: Place, what: str) -> Callable[[float], tuple[Floats, Floats, Floats]]:
    """Return a function t -> (x, x', x''), each (3,), from a place or a function t -> x, (x, x') or (x, x', x'')."""
    if not callable(place):
        fixed, still = finite_vector(place, 3, what), np.zeros(3)
        return Still((fixed, still, still))
    return Moving(place, (3, 3, 3), what)
