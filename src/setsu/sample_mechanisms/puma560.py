"""The PUMA 560 arm with the measured parameters of the literature."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from setsu.mechanism import Mechanism, MechanismBuilder, Revolute
from setsu.spatial import modified_dh

__all__ = ["puma560"]


class _Link(NamedTuple):
    """alpha (rad), d (m), r (m); kg; m; kg m² about the center of mass; kg m²; N m s/rad; N m; degrees."""

    alpha: float
    d: float
    r: float
    mass: float
    center_of_mass: tuple[float, float, float]
    moments: tuple[float, float, float]
    armature: float
    damping: float
    coulomb: float
    range_deg: tuple[float, float]


# Geometry, masses, centers, moments and drive inertias: Armstrong, Khatib, Burdick (1986), modified DH frames.
# Friction: Corke, Armstrong-Helouvry (1994), carried from the motor to the joint; dry friction is the mean of both
# directions. Only Izz of link 1 was measured and only it acts; Ixx and Iyy are set so that the body is a real one.
_LINKS = (
    _Link(0.0, 0.0, 0.0, 0.0, (0.0, 0.0, 0.0), (0.35, 0.35, 0.35), 1.14, 5.80, 26.0, (-160, 160)),
    _Link(-math.pi / 2, 0.0, 0.2435, 17.4, (0.068, 0.006, -0.016), (0.13, 0.524, 0.539), 4.71, 9.50, 10.6, (-225, 45)),
    _Link(0.0, 0.4318, -0.0934, 4.8, (0.0, -0.070, 0.014), (0.066, 0.0125, 0.066), 0.83, 3.98, 6.36, (-45, 225)),
    _Link(
        math.pi / 2, -0.0203, 0.4331, 0.82, (0.0, 0.0, -0.019), (1.8e-3, 1.8e-3, 1.3e-3), 0.2, 0.412, 1.07, (-110, 170)
    ),
    _Link(-math.pi / 2, 0.0, 0.0, 0.34, (0.0, 0.0, 0.0), (0.3e-3, 0.3e-3, 0.4e-3), 0.179, 0.427, 0.854, (-100, 100)),
    _Link(
        math.pi / 2, 0.0, 0.0, 0.09, (0.0, 0.0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3), 0.193, 0.216, 0.554, (-266, 266)
    ),
)


def puma560(*, friction: bool = False) -> Mechanism:
    """Return the PUMA 560 in the modified Denavit-Hartenberg frames of its best-known identification.

    `friction` adds viscous and dry joint friction; drive inertias (armature) are always there.

    Sources: B. Armstrong, O. Khatib, J. Burdick, "The explicit dynamic model and inertial parameters of the PUMA 560
    arm", IEEE ICRA 1986; P. Corke, B. Armstrong-Helouvry, "A search for consensus among model parameters reported for
    the PUMA 560 robot", IEEE ICRA 1994 (friction, joint ranges).

    >>> puma560().total_mass
    23.45
    """
    builder = MechanismBuilder("PUMA 560")
    parent = "world"
    for index, link in enumerate(_LINKS, start=1):
        low, high = link.range_deg
        joint = Revolute(
            (0, 0, 1),
            f"joint{index}",
            armature=link.armature,
            damping=link.damping if friction else 0.0,
            coulomb=link.coulomb if friction else 0.0,
            lower=math.radians(low),
            upper=math.radians(high),
        )
        builder.add_body(
            f"link{index}",
            parent,
            joint,
            placement=modified_dh(link.alpha, link.d, 0.0, link.r),
            mass=link.mass,
            center_of_mass=link.center_of_mass,
            inertia=np.diag(link.moments),
        )
        parent = f"link{index}"
    return builder.build()
