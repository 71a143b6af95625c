"""A light arm with seven revolute joints, of our own round numbers."""

from __future__ import annotations

import math
from typing import NamedTuple

from setsu.mechanism import Mechanism, MechanismBuilder, Revolute, Shape
from setsu.mechanism.elements import Pose
from setsu.sample_mechanisms.solid_inertias import cylinder_inertia
from setsu.spatial import modified_dh, placement

__all__ = ["seven_joint_arm"]


class _Link(NamedTuple):
    """alpha (rad), d (m), r (m) of the frame; a cylinder along axis 0, 1 or 2: kg, m, m, m; kg m²; rad; N m."""

    alpha: float
    d: float
    r: float
    mass: float
    center: tuple[float, float, float]
    radius: float
    length: float
    axis: int
    armature: float
    limit: float
    effort: float


_QUARTER = math.pi / 2

_LINKS = (
    _Link(0.0, 0.0, 0.34, 3.0, (0.0, 0.0, -0.08), 0.07, 0.20, 2, 0.6, 2.8, 90.0),
    _Link(-_QUARTER, 0.0, 0.0, 3.0, (0.0, -0.08, 0.0), 0.07, 0.20, 1, 0.6, 1.8, 90.0),
    _Link(_QUARTER, 0.0, 0.32, 2.5, (0.04, 0.0, -0.08), 0.06, 0.18, 2, 0.4, 2.8, 90.0),
    _Link(_QUARTER, 0.08, 0.0, 2.5, (-0.04, 0.08, 0.0), 0.06, 0.18, 1, 0.4, 2.4, 90.0),
    _Link(-_QUARTER, -0.08, 0.38, 2.5, (0.0, 0.02, -0.15), 0.05, 0.24, 2, 0.2, 2.8, 20.0),
    _Link(_QUARTER, 0.0, 0.0, 1.5, (0.05, 0.0, 0.0), 0.05, 0.14, 0, 0.2, 2.4, 20.0),
    _Link(_QUARTER, 0.09, 0.0, 1.0, (0.0, 0.0, 0.06), 0.04, 0.10, 2, 0.1, 2.8, 20.0),
)


def seven_joint_arm() -> Mechanism:
    """Return an arm of 16 kg and seven joints, with the proportions of today's light research arms.

    Joint drives carry enough armature for explicit integration with steps of a millisecond. Frame "flange" is the
    tool plate. Numbers are our own, rounded to be remembered; every link is a uniform cylinder.

    >>> seven_joint_arm().nv
    7
    """
    builder = MechanismBuilder("seven-joint arm")
    parent = "world"
    for index, link in enumerate(_LINKS, start=1):
        joint = Revolute(
            (0, 0, 1),
            f"joint{index}",
            armature=link.armature,
            damping=0.5,
            lower=-link.limit,
            upper=link.limit,
            velocity_limit=2.5,
            effort_limit=link.effort,
        )
        builder.add_body(
            f"link{index}",
            parent,
            joint,
            placement=modified_dh(link.alpha, link.d, 0.0, link.r),
            mass=link.mass,
            center_of_mass=link.center,
            inertia=cylinder_inertia(link.mass, link.radius, link.length, link.axis),
            visuals=[_cylinder(link)],
        )
        parent = f"link{index}"
    return builder.add_body("flange", parent, placement=placement((0, 0, 0.11))).build()


def _cylinder(link: _Link) -> Shape:
    turn = ((0, _QUARTER, 0), (-_QUARTER, 0, 0), (0, 0, 0))[link.axis]
    pose = Pose.of(placement(link.center, rpy=turn), "seven_joint_arm visual")
    return Shape("cylinder", (link.radius, link.length), pose)
