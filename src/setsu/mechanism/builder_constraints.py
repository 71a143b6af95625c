"""Methods of the builder that tie two bodies by a rod, a curve or rolling: loops closed by what is no joint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from setsu.errors import InputError
from setsu.mechanism.checks import finite_number, vector3
from setsu.mechanism.elements import Pose
from setsu.mechanism.joints import Joint, unit_axis
from setsu.mechanism.loop_constraints import Distance, PointOnCurve, Rolling, checked_curve
from setsu.spatial import axis_to_z_rotation

__all__ = ["ConstraintMethods"]


class ConstraintMethods(ABC):
    """`add_distance`, `add_point_on_curve`, `add_rolling`: each is a loop of the mechanism, by its name."""

    @abstractmethod
    def add_loop(
        self, name: str, body_a: str, body_b: str, joint: Joint, placement_a: Any = None, placement_b: Any = None
    ) -> Self:
        """Close a loop."""

    def add_distance(
        self, name: str, body_a: str, point_a: ArrayLike, body_b: str, point_b: ArrayLike, length: float
    ) -> Self:
        """Keep two points at a distance, as a rod without mass between two ball joints does.

        Args:
            name: name of the loop that it makes, unique.
            body_a, body_b: bodies added before, or "world".
            point_a, point_b: its ends, in the frame of its body, m, (3,).
            length: m, above 0.

        The wrench of the loop is the force of body_a on body_b at point_b: along the rod, away from body_a when the rod
        is pressed.

        >>> from setsu.mechanism import Free, MechanismBuilder
        >>> b = MechanismBuilder("pendulum").add_body("bob", joint=Free(), mass=1.0, inertia=np.eye(3))
        >>> b.add_distance("rod", "world", (0, 0, 0), "bob", (0, 0, 0), length=2.0).build().loops[0].joint.length
        2.0
        """
        what = f'distance "{name}"'
        number = finite_number(length, f"{what} length")
        if number <= 0.0:
            raise InputError(
                f"{what} length: expected a positive number of metres, got {number}; use a Spherical loop for 0"
            )
        ends = _at(point_a, f"{what} point_a"), _at(point_b, f"{what} point_b")
        return self.add_loop(name, body_a, body_b, Distance(length=number), *ends)

    def add_point_on_curve(
        self,
        name: str,
        body_a: str,
        curve: tuple[str, str],
        body_b: str,
        point: ArrayLike = (0.0, 0.0, 0.0),
        placement: ArrayLike | Pose | None = None,
    ) -> Self:
        """Keep a point of a body on a curve of another: a bead on a wire, a pin in a slot.

        Args:
            name: name of the loop that it makes, unique.
            body_a: carries the curve; a body added before, or "world".
            curve: two expressions in x, y, z (m) that are both zero on the curve, in the grammar of
                `setsu.ImplicitSurface`: ("z - x**2", "y") is a parabola, ("x**2 + y**2 - 1", "z") a circle. Their
                gradients may not be parallel on the curve.
            body_b: carries the point.
            point: in the frame of body_b, m, (3,).
            placement: axes of x, y, z in body_a, 4x4; those of body_a when not given.

        The wrench of the loop is the force of the curve on body_b at the point, normal to the curve.
        """
        what = f'point on curve "{name}"'
        joint = PointOnCurve(curve=checked_curve(curve, f"{what} curve"))
        return self.add_loop(name, body_a, body_b, joint, placement, _at(point, f"{what} point"))

    def add_rolling(
        self,
        name: str,
        body_a: str,
        body_b: str,
        radius: float,
        *,
        center: ArrayLike = (0.0, 0.0, 0.0),
        axis: ArrayLike | None = None,
        point: ArrayLike = (0.0, 0.0, 0.0),
        normal: ArrayLike = (0.0, 0.0, 1.0),
        on_radius: float | None = None,
    ) -> Self:
        """Let a ball or a wheel of body_b roll without slip on a plane, or on a ball, of body_a.

        Args:
            name: name of the loop that it makes, unique.
            body_a, body_b: bodies added before, or "world".
            radius: of the ball or wheel, m.
            center: its center in the frame of body_b, m, (3,).
            axis: of the wheel, a thin disc, in the frame of body_b, (3,); a ball when not given.
            point, normal: a point of the plane (m) and its normal, towards body_b, in the frame of body_a, (3,).
            on_radius: m; body_b rolls on a ball about `point` instead: outside, or inside for a negative number. In a
                planar mechanism these are discs, as of friction gears; `normal` is then best their axis.

        The distance to the plane is held like any loop. That nothing slips is held at velocity level: two rows without
        position error, which `close_loops` does not ask for. The wrench of the loop is the force of body_a on body_b
        and its moment about `center`; turning about the normal is free.
        """
        what = f'rolling "{name}"'
        size, on = finite_number(radius, f"{what} radius"), 0.0
        if size <= 0.0:
            raise InputError(f"{what} radius: expected a positive number of metres, got {size}")
        if on_radius is not None:
            on = finite_number(on_radius, f"{what} on_radius")
            if on == 0.0:
                raise InputError(f"{what} on_radius: expected a radius other than 0, or None for a plane")
        wheel = None if axis is None else unit_axis(axis, f"{what} axis")  # type: ignore[arg-type]
        if wheel is not None and on != 0.0:
            raise InputError(
                f"{what}: a wheel (axis) rolls on a plane; leave out axis beside on_radius: in a planar mechanism "
                "balls on balls roll as discs on discs"
            )
        joint = Rolling(radius=size, shape="ball" if wheel is None else "disc", on_radius=on)
        up = unit_axis(normal, f"{what} normal")  # type: ignore[arg-type]
        placement_a = _at(point, f"{what} point", up)
        return self.add_loop(name, body_a, body_b, joint, placement_a, _at(center, f"{what} center", wheel))


def _at(point: ArrayLike, what: str, z: tuple[float, float, float] | None = None) -> Any:
    """Placement at a point, with a z axis along a direction."""
    T = np.eye(4)
    T[:3, 3] = vector3(point, what)
    if z is not None:
        T[:3, :3] = axis_to_z_rotation(z)
    return T
