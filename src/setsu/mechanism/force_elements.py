"""What exerts force besides gravity, joint friction and springs between points: tendons and the fluid around bodies."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from setsu.mechanism.elements import Pose, Vector3

__all__ = ["Fluid", "FluidBox", "Segment", "Tendon"]


@dataclass(frozen=True)
class Segment:
    """A straight piece of a tendon between a point on body_a and one on body_b; `factor` weighs its length."""

    body_a: str
    point_a: Vector3
    body_b: str
    point_b: Vector3
    factor: float = 1.0


@dataclass(frozen=True)
class Tendon:
    """A length made of joint coordinates and straight segments, with a spring and a damper along it.

    length = Σ coefficient x coordinate + Σ factor x |segment|. The tension is stiffness x (length - rest) outside the
    slack range `rest` = (shortest, longest), zero within, plus damping x rate; N/m, N s/m (rad for turning joints).
    `lower` and `upper` are the limits the file gives; nothing enforces them.
    """

    name: str
    joints: tuple[tuple[str, float], ...] = ()
    segments: tuple[Segment, ...] = ()
    stiffness: float = 0.0
    rest: tuple[float, float] = (0.0, 0.0)
    damping: float = 0.0
    lower: float = -math.inf
    upper: float = math.inf

    @property
    def exerts_force(self) -> bool:
        """Whether it has a spring or a damper."""
        return self.stiffness != 0.0 or self.damping != 0.0


@dataclass(frozen=True)
class FluidBox:
    """The box that stands for a body in the fluid: its middle and axes in the body's frame, its edges (m)."""

    body: str
    size: Vector3
    pose: Pose = field(default_factory=Pose)


@dataclass(frozen=True)
class Fluid:
    """The medium bodies move through: density (kg/m³), viscosity (Pa s), wind (m/s, world axes).

    Each box feels, in its own axes, with edges b and mean edge d (v and w relative to the wind):
        force_i  = -3 pi d viscosity v_i - 1/2 density b_j b_k |v_i| v_i
        moment_i = -pi d³ viscosity w_i - 1/64 density b_i (b_j⁴ + b_k⁴) |w_i| w_i
    Source: MuJoCo documentation, chapter Computation, "Inertia model".
    """

    density: float = 0.0
    viscosity: float = 0.0
    wind: Vector3 = (0.0, 0.0, 0.0)
    boxes: tuple[FluidBox, ...] = ()
