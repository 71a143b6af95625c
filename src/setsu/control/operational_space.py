"""Operational-space control: a frame follows a pose as a decoupled mass, and the joints it leaves free hold a posture.

| symbol | meaning | unit |
|---|---|---|
| J, x' | Jacobian of the frame and its velocity J v, linear part first, world axes | m, m/s, rad/s |
| Λ | mass the frame shows, (J M⁻¹ Jᵀ)⁻¹ | kg, kg m² |
| e | pose error: position, and 2 sin(θ/2) times the axis of the rotation by θ that is left | m, rad |
| S | 1 for the axes of motion, 0 for those of force | - |

    F = Λ (S (x_d'' + K_v (x_d' - x') + K_p e) - J' v) + (1 - S) f                             (1)
    N = 1 - Jᵀ Λ J M⁻¹                     torques that do not accelerate the frame            (2)
    tau = Jᵀ F + N M (K_r (q_r - q) - D_r v) + bias                                            (3)

Along axes of force the wall holds the frame, and (1) presses with f exactly when the model is right. Near singular
poses J M⁻¹ Jᵀ has directions of hardly any mobility, which would ask for forces without bound. There λ² times its mean
diagonal is added to it, λ growing from 0 as its determinant, scaled by that diagonal, falls below a bound.

Sources: Khatib 1987, A unified approach for motion and force control of robot manipulators: the operational space
formulation; Nakamura and Hanafusa 1986 for the damping.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.control.arguments import function_of_time, gains, plain_or_symbols
from setsu.control.controller import Controller
from setsu.control.linear_algebra import factor_definite, solve_factored
from setsu.control.pose_targets import PoseTarget, pose_error
from setsu.dynamics import bias_torque, difference, frame_jacobian, frame_jacobian_rate, frame_pose, mass_matrix
from setsu.dynamics.catalogue import require_mechanism
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.spatial import finite_vector

__all__ = ["OperationalSpace"]

Floats = NDArray[np.float64]

AXES = ("x", "y", "z", "rx", "ry", "rz")


class OperationalSpace(Controller):
    """A frame follows a pose, presses with a given force, and the rest of the arm holds a posture (1)-(3).

    Args:
        mechanism: the controller's model, a tree. frame: name of a body, link or site; its origin is held.
        pose: (4, 4), or a function of time t -> T, (T, x') or (T, x', x''), rates (6,) linear part first, world axes.
        position_gain, velocity_gain: K_p (1/s²), K_v (1/s); one number or one per axis x, y, z, rx, ry, rz (world).
        axes: which of x, y, z, rx, ry, rz (world) are controlled; a planar arm in the xz plane has x, z, ry.
        wrench: f (6,), N and N m, world axes, exerted along `force_axes`; numbers or a function of time.
        force_axes: those among `axes` that are not moved but pressed along.
        posture: q_r (nq,). posture_gain, posture_damping: K_r (1/s²), D_r (1/s), of what the frame leaves free.
        damping: λ at a singular pose. singular: bound of the scaled determinant below which it sets in.

    >>> import numpy as np, setsu
    >>> arm = setsu.sample_mechanisms.panda_arm()
    >>> q = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.0, 0.5])
    >>> tool = arm.body_names[-1]
    >>> hold = OperationalSpace(arm, tool, setsu.frame_pose(arm, q, tool), 400.0, 40.0)
    >>> np.allclose(hold(0.0, q, np.zeros(7)), setsu.gravity_torque(arm, q))
    True
    """

    def __init__(
        self,
        mechanism: Mechanism,
        frame: str,
        pose: ArrayLike | Callable[[Any], Any],
        position_gain: ArrayLike,
        velocity_gain: ArrayLike,
        *,
        axes: Sequence[str] = AXES,
        wrench: ArrayLike | Callable[[float], ArrayLike] = (0.0,) * 6,
        force_axes: Sequence[str] = (),
        posture: ArrayLike | None = None,
        posture_gain: float = 0.0,
        posture_damping: float = 0.0,
        damping: float = 0.1,
        singular: float = 1e-4,
    ) -> None:
        require_mechanism(mechanism, "OperationalSpace")
        mechanism.frame(frame)
        self.mechanism, self.frame = mechanism, frame
        self.pose = PoseTarget(pose, "OperationalSpace")
        self.position_gain = gains(position_gain, 6, "OperationalSpace position_gain")
        self.velocity_gain = gains(velocity_gain, 6, "OperationalSpace velocity_gain")
        self.wrench = function_of_time(wrench, "OperationalSpace wrench", 6)
        for given, known, name in ((axes, AXES, "axes"), (force_axes, axes, "force_axes")):
            unknown = [axis for axis in given if axis not in known]
            if unknown or len(set(given)) < len(given):
                wrong = f"got {unknown[0]!r}" if unknown else "got one twice"
                raise InputError(f"OperationalSpace {name}: expected some of {', '.join(known)}, each once, {wrong}")
        self.rows = np.array([k for k, axis in enumerate(AXES) if axis in axes], dtype=np.int64)
        if not self.rows.size:
            raise InputError("OperationalSpace axes: expected at least one")
        self.moved = np.array([0.0 if AXES[k] in force_axes else 1.0 for k in self.rows])
        given = mechanism.neutral() if posture is None else posture
        self.posture = finite_vector(given, mechanism.nq, "OperationalSpace posture")
        numbers = {"posture_gain": posture_gain, "posture_damping": posture_damping, "damping": damping}
        numbers["singular"] = singular
        self.posture_gain, self.posture_damping, self.damping, self.singular = (
            float(gains(value, 1, f"OperationalSpace {name}")[0]) for name, value in numbers.items()
        )

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        """Whether pose and wrench are no functions of the user's that are not."""
        return self.pose.traceable and self.wrench.traceable

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """Return the torque (nv,)."""
        m = self.mechanism
        J, M = frame_jacobian(m, q, self.frame), mass_matrix(m, q)
        drift = frame_jacobian_rate(m, q, v, self.frame) @ v
        T_d, dx_d, ddx_d = self.pose(t)
        e = pose_error(frame_pose(m, q, self.frame), T_d)
        wanted = ddx_d + self.velocity_gain * (dx_d - J @ v) + self.position_gain * e
        J, wanted, drift, f = (part[self.rows] for part in (J, wanted, drift, self.wrench(t)))
        factor = factor_definite(M)
        through = solve_factored(*factor, J.T)  # M⁻¹ Jᵀ
        mass = factor_definite(self._damped(J @ through))  # of Λ⁻¹
        F = solve_factored(*mass, self.moved * wanted - drift) + (1.0 - self.moved) * f  # (1)
        rest = M @ (self.posture_gain * difference(m, q, self.posture) - self.posture_damping * v)
        rest = rest - J.T @ solve_factored(*mass, through.T @ rest)  # (2)
        return J.T @ F + rest + bias_torque(m, q, v)  # (3)

    def _damped(self, A: Any) -> Any:
        """A = J M⁻¹ Jᵀ, with more of its diagonal the nearer it is to singular."""
        scale: list[Any] = []
        for kind in (self.rows < 3, self.rows >= 3):
            diagonal = [A[k, k] for k in np.flatnonzero(kind)]
            scale += [sum(diagonal[1:], diagonal[0]) / len(diagonal)] * len(diagonal) if diagonal else []
        spread = np.diag(plain_or_symbols(scale))
        tiny = A + 1e-12 * spread
        _, D = factor_definite(tiny)
        share = 1.0
        for pivot, size in zip(D, scale, strict=True):
            share = share * (pivot / size)
        left = np.maximum(1.0 - share / self.singular, 0.0)
        return tiny + (self.damping * self.damping * left * left) * spread
