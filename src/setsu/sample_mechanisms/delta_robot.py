"""The Delta robot: three driven arms, six rods in three parallelograms, a platform that stays level."""

from __future__ import annotations

import math

import numpy as np

from setsu.elementary import cos_sin
from setsu.errors import InputError
from setsu.mechanism import Free, Mechanism, MechanismBuilder, Revolute, Spherical, Universal
from setsu.sample_mechanisms.joined_rods import joined_rods
from setsu.sample_mechanisms.solid_inertias import cylinder_inertia
from setsu.spatial import placement

__all__ = ["delta_robot"]


def delta_robot(
    base_radius: float = 0.2,
    upper: float = 0.3,
    fore: float = 0.7,
    platform_radius: float = 0.06,
    platform_mass: float = 0.6,
) -> Mechanism:
    """Return a Delta robot below its base in the plane z = 0 (m, kg): three degrees of freedom.

    Joints arm1, arm2, arm3 stand 120 degrees apart on a circle of `base_radius` and turn the arms down; at q = 0 the
    arms lie flat and point outwards. Each arm carries two parallel rods, 0.1 m apart, on universal joints left1,
    right1 ...; ball joints, loops ball_left1, ball_right1 ..., tie them to the platform, which the tree leaves Free
    (joint platform). The parallelograms alone keep it level.

    >>> m = delta_robot()
    >>> m.nv, len(m.loops)
    (21, 6)
    """
    reach = base_radius + upper - platform_radius
    if not (min(base_radius, upper, platform_radius) > 0.0 and abs(reach) < fore):
        raise InputError(
            f"delta_robot: expected positive lengths and rods longer than {abs(reach):.6g} m to reach from the arms' "
            f"ends to the platform, got base_radius {base_radius}, upper {upper}, platform_radius {platform_radius}, "
            f"fore {fore}"
        )
    height = -math.sqrt(fore**2 - reach**2)
    builder = MechanismBuilder("Delta robot")
    builder.add_body(
        "platform",
        joint=Free(name="platform"),
        placement=placement((0.0, 0.0, height)),
        mass=platform_mass,
        inertia=cylinder_inertia(platform_mass, 1.2 * platform_radius, 0.02),
    )
    for k in range(3):
        angle = 2.0 * math.pi * k / 3.0
        cosine, sine = cos_sin(angle)
        outward, across = np.array([cosine, sine, 0.0]), np.array([-sine, cosine, 0.0])
        arm = f"arm{k + 1}"
        properties = joined_rods([(np.zeros(3), upper * outward)], mass_per_length=2.0)
        builder.add_body(arm, "world", Revolute(tuple(across), arm), placement(base_radius * outward), *properties)
        span = np.array([0.0, 0.0, height]) - reach * outward
        second_axis = tuple(np.cross(across, span / fore))
        for side, shift in (("left", 0.05 * across), ("right", -0.05 * across)):
            rod = f"{side}{k + 1}"
            builder.add_body(
                rod,
                arm,
                Universal(tuple(across), rod, second_axis=second_axis),
                placement(upper * outward + shift),
                *joined_rods([(np.zeros(3), span)], mass_per_length=0.15),
            )
            corner = placement(platform_radius * outward + shift)
            builder.add_loop(f"ball_{rod}", rod, "platform", Spherical(), placement(span), corner)
    return builder.build()
