"""Planar mechanisms with one loop of thin rods in the x-z plane; q = 0 closes every one of them.

Every rod lies along x of its own body frame. Angles turn x towards z. Masses are 2 kg per metre of rod.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from setsu.elementary import arctan2, matmul
from setsu.errors import InputError
from setsu.mechanism import Mechanism, MechanismBuilder, Prismatic, Revolute
from setsu.sample_mechanisms.planar_geometry import Point, meeting_point
from setsu.sample_mechanisms.solid_inertias import box_inertia, rod_inertia
from setsu.spatial import axis_angle_rotation, placement

__all__ = ["five_bar", "four_bar", "parallelogram_arm", "slider_crank"]

_AXIS = (0.0, -1.0, 0.0)
_MASS_PER_LENGTH = 2.0


def four_bar(crank: float = 0.4, coupler: float = 1.0, rocker: float = 0.8, ground: float = 1.0) -> Mechanism:
    """Return a four-bar linkage (lengths in m); the crank stands upright at q = 0, the ground bar lies along x.

    Joints crank, coupler, rocker; loop "pin" ties the end of the coupler to the end of the rocker: one degree of
    freedom.

    >>> four_bar().loops[0].name
    'pin'
    """
    a, b, d = (0.0, 0.0), (0.0, crank), (ground, 0.0)
    c = meeting_point(b, coupler, d, rocker, "four_bar")
    builder = MechanismBuilder("four-bar linkage")
    _add_rod(builder, "crank", "world", a, b)
    _add_rod(builder, "coupler", "crank", b, c, parent_points=(a, b))
    _add_rod(builder, "rocker", "world", d, c)
    _pin(builder, "coupler", coupler, "rocker", rocker)
    return builder.build()


def slider_crank(crank: float = 0.2, rod: float = 0.6, slider_mass: float = 1.0) -> Mechanism:
    """Return a slider-crank (m, kg); the crank stands upright at q = 0, the slider travels along x.

    Joints crank, rod, slider; loop "pin" ties the end of the rod to the slider: one degree of freedom.

    >>> slider_crank().joint_names
    ('crank', 'rod', 'slider')
    """
    if not rod > crank > 0:
        raise InputError(f"slider_crank: expected rod > crank > 0, got rod {rod} and crank {crank}")
    a, b, c = (0.0, 0.0), (0.0, crank), (math.sqrt(rod**2 - crank**2), 0.0)
    builder = MechanismBuilder("slider-crank")
    _add_rod(builder, "crank", "world", a, b)
    _add_rod(builder, "rod", "crank", b, c, parent_points=(a, b))
    builder.add_body(
        "slider",
        joint=Prismatic((1, 0, 0), "slider"),
        placement=placement((c[0], 0, c[1])),
        mass=slider_mass,
        inertia=box_inertia(slider_mass, 0.1, 0.1, 0.1),
    )
    _pin(builder, "rod", rod, "slider", 0.0)
    return builder.build()


def five_bar(upper: float = 0.4, fore: float = 0.6, ground: float = 0.3) -> Mechanism:
    """Return a symmetric five-bar linkage (m), the two-armed parallel robot: two degrees of freedom.

    Joints left_upper, left_fore, right_upper, right_fore; loop "pin" ties the two forearms. The upper arms lean
    outwards by 45 degrees at q = 0.

    >>> five_bar().nv
    4
    """
    lean = upper / math.sqrt(2.0)
    a, d = (0.0, 0.0), (ground, 0.0)
    b, e = (-lean, lean), (ground + lean, lean)
    c = meeting_point(b, fore, e, fore, "five_bar")
    builder = MechanismBuilder("five-bar linkage")
    _add_rod(builder, "left_upper", "world", a, b)
    _add_rod(builder, "left_fore", "left_upper", b, c, parent_points=(a, b))
    _add_rod(builder, "right_upper", "world", d, e)
    _add_rod(builder, "right_fore", "right_upper", e, c, parent_points=(d, e))
    _pin(builder, "left_fore", fore, "right_fore", fore)
    return builder.build()


def parallelogram_arm(upper: float = 0.7, fore: float = 0.6, lever: float = 0.2) -> Mechanism:
    """Return an arm whose forearm is driven from the shoulder by a parallelogram (m): two degrees of freedom.

    The upper arm and a lever turn about the same shoulder axis; a rod parallel to the upper arm links the lever to
    the forearm's tail, so that the forearm stays parallel to the lever. Joints upper, fore, lever, rod; loop "pin"
    ties the rod to the forearm. At q = 0 the upper arm stands upright and the forearm lies along x.

    >>> parallelogram_arm().body_names
    ('upper', 'fore', 'lever', 'rod')
    """
    shoulder, elbow = (0.0, 0.0), (0.0, upper)
    lever_end, tail = (-lever, 0.0), (-lever, upper)
    hand = (fore, upper)
    builder = MechanismBuilder("parallelogram arm")
    _add_rod(builder, "upper", "world", shoulder, elbow)
    _add_rod(builder, "fore", "upper", elbow, hand, parent_points=(shoulder, elbow))
    _add_rod(builder, "lever", "world", shoulder, lever_end)
    _add_rod(builder, "rod", "lever", lever_end, tail, parent_points=(shoulder, lever_end))
    _pin(builder, "rod", upper, "fore", -lever)
    return builder.build()


def _add_rod(
    builder: MechanismBuilder,
    name: str,
    parent: str,
    start: Point,
    end: Point,
    parent_points: tuple[Point, Point] = ((0.0, 0.0), (1.0, 0.0)),
) -> None:
    """Add a rod from `start` to `end` (x, z in the world at q = 0), jointed at its start to a parent rod."""
    length = math.dist(start, end)
    if not length > 0.0:
        raise InputError(f"{name}: expected a rod of positive length, got {length}")
    angle = _direction(start, end)
    parent_start, parent_end = parent_points
    parent_angle = _direction(parent_start, parent_end)
    offset = matmul(_turn(-parent_angle), [start[0] - parent_start[0], 0.0, start[1] - parent_start[1]])
    mass = _MASS_PER_LENGTH * length
    builder.add_body(
        name,
        parent,
        Revolute(_AXIS, name),
        placement=placement(offset, rotation=_turn(angle - parent_angle)),
        mass=mass,
        center_of_mass=(0.5 * length, 0, 0),
        inertia=rod_inertia(mass, length),
    )


def _pin(builder: MechanismBuilder, body_a: str, along_a: float, body_b: str, along_b: float) -> None:
    """Join two bodies by a revolute loop joint at points on their x axes."""
    point_a, point_b = placement((along_a, 0, 0)), placement((along_b, 0, 0))
    builder.add_loop("pin", body_a, body_b, Revolute(_AXIS), point_a, point_b)


def _direction(start: Point, end: Point) -> float:
    return arctan2(end[1] - start[1], end[0] - start[0])


def _turn(angle: float) -> NDArray[np.float64]:
    return axis_angle_rotation(_AXIS, angle)
