"""The Gough-Stewart platform: six legs that change their length carry a platform in all six freedoms."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from setsu.elementary import cos_sin, length
from setsu.errors import InputError
from setsu.mechanism import Free, Mechanism, MechanismBuilder, Prismatic, Spherical, Universal
from setsu.sample_mechanisms.joined_rods import joined_rods
from setsu.sample_mechanisms.solid_inertias import cylinder_inertia
from setsu.spatial import placement

__all__ = ["stewart_platform"]

# Half the angle (rad) between the feet of neighbouring legs, on the base and on the platform.
_BASE_HALF_GAP, _PLATFORM_HALF_GAP = math.radians(12.0), math.radians(48.0)


def stewart_platform(
    base_radius: float = 1.0, platform_radius: float = 0.6, height: float = 1.0, platform_mass: float = 50.0
) -> Mechanism:
    """Return a platform on six legs over a base in the plane z = 0 (m, kg): six degrees of freedom.

    Leg k is a cylinder on a universal joint (barrel1 .. barrel6) and a piston in it (leg1 .. leg6, prismatic, positive
    travel lengthens it); ball joints, loops ball1 .. ball6, tie the pistons to the platform, which the tree leaves Free
    (joint platform, origin in the plane of the balls). At q = 0 it is level at `height`.

    >>> m = stewart_platform()
    >>> m.nv, len(m.loops)
    (24, 6)
    """
    if not all(0.0 < number < math.inf for number in (base_radius, platform_radius, height, platform_mass)):
        raise InputError(
            f"stewart_platform: expected positive finite numbers, got base_radius {base_radius}, platform_radius "
            f"{platform_radius}, height {height}, platform_mass {platform_mass}"
        )
    feet = _corners(base_radius, _BASE_HALF_GAP)
    balls = _corners(platform_radius, _PLATFORM_HALF_GAP)
    builder = MechanismBuilder("Stewart platform")
    builder.add_body(
        "platform",
        joint=Free(name="platform"),
        placement=placement((0.0, 0.0, height)),
        mass=platform_mass,
        inertia=cylinder_inertia(platform_mass, 1.1 * platform_radius, 0.05),
    )
    for k, (foot, ball) in enumerate(zip(feet, balls, strict=True), start=1):
        span = ball + np.array([0.0, 0.0, height]) - foot
        along = span / length(span)
        across = np.cross((0.0, 0.0, 1.0), foot) / base_radius
        builder.add_body(
            f"barrel{k}",
            "world",
            Universal(tuple(across), f"barrel{k}", second_axis=tuple(np.cross(along, across))),
            placement(foot),
            *joined_rods([(np.zeros(3), 0.6 * span)], mass_per_length=6.0),
        )
        piston = joined_rods([(-0.7 * span, np.zeros(3))], mass_per_length=3.0)
        builder.add_body(f"piston{k}", f"barrel{k}", Prismatic(tuple(along), f"leg{k}"), placement(span), *piston)
        builder.add_loop(f"ball{k}", f"piston{k}", "platform", Spherical(), placement_b=placement(ball))
    return builder.build()


def _corners(radius: float, half_gap: float) -> list[NDArray[np.float64]]:
    """Return six points on a circle about z in three pairs, the pairs 120 degrees apart."""
    angles = [2.0 * math.pi * pair / 3.0 + side * half_gap for pair in range(3) for side in (-1.0, 1.0)]
    return [radius * np.array([*cos_sin(angle), 0.0]) for angle in angles]
