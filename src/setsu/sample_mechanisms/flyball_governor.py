"""A flyball governor whose coupling rods are stiff spring-dampers: a stiff multibody system without closed loops.

Problem A05, "Stiff flyball governor", of the IFToMM library of computational benchmarks (M. González Castro 2005;
dimensions also in J. Gerstmayr's models for Exudyn). It starts with the shaft at 2π rad/s and the springs unstretched,
and runs for 10 s.
"""

from __future__ import annotations

import math

import numpy as np

from setsu.mechanism import Mechanism, MechanismBuilder, Prismatic, Revolute
from setsu.sample_mechanisms.solid_inertias import box_inertia
from setsu.spatial import placement

__all__ = ["flyball_governor"]

_LENGTH, _WIDTH, _SLIDER = 1.0, 0.01, 0.1  # m: shaft and rods, their edges, the slider's edges
_DENSITY, _BALL = 3000.0, 5.0  # kg/m³, kg


def flyball_governor(stiffness: float = 8e5, damping: float = 4e4) -> Mechanism:
    """Return a governor: a shaft about z, two rods of 1 m with balls of 5 kg at its top, a slider of 3 kg along it.

    Springs ac and bd with dampers (N/m, N s/m) along their lines tie the middle of each rod to the slider's sides,
    0.5 m long at rest. At q = 0 the rods point 30 degrees below the horizontal, the slider stands at half the height,
    and the springs are at rest; rods rise with their joints. Frames ball_ac, ball_bd. Four degrees of freedom.

    >>> flyball_governor().joint_names
    ('shaft', 'slider', 'rod_ac', 'rod_bd')
    """
    mass, edge = _DENSITY * _LENGTH * _WIDTH * _WIDTH, 0.5 * _SLIDER
    builder = MechanismBuilder("stiff flyball governor")
    builder.add_body(
        "shaft",
        joint=Revolute((0, 0, 1), "shaft"),
        mass=mass,
        center_of_mass=(0, 0, 0.5 * _LENGTH),
        inertia=box_inertia(mass, _WIDTH, _WIDTH, _LENGTH),
    )
    block = _DENSITY * _SLIDER**3
    builder.add_body(
        "slider",
        "shaft",
        Prismatic((0, 0, 1), "slider"),
        placement((0, 0, 0.5 * _LENGTH)),
        mass=block,
        inertia=box_inertia(block, _SLIDER, _SLIDER, _SLIDER),
    )
    heavy = mass + _BALL
    center = (0.5 * mass + _BALL) * _LENGTH / heavy
    lengthwise, across = np.diag(box_inertia(mass, _LENGTH, _WIDTH, _WIDTH))[:2]
    across = across + mass * (center - 0.5 * _LENGTH) ** 2 + _BALL * (_LENGTH - center) ** 2
    for name, side in (("ac", 1.0), ("bd", -1.0)):
        along = np.array([side * 0.5 * math.sqrt(3.0), 0.0, -0.5])
        rod = f"rod_{name}"
        builder.add_body(
            rod,
            "shaft",
            Revolute((0, -side, 0), rod),
            placement((side * edge, 0, _LENGTH)),
            mass=heavy,
            center_of_mass=center * along,
            inertia=across * np.eye(3) + (lengthwise - across) * np.outer(along, along),
        )
        builder.add_body(f"ball_{name}", rod, placement=placement(_LENGTH * along))
        middle = 0.5 * _LENGTH * along
        builder.add_spring(name, "slider", (side * edge, 0, 0), rod, middle, stiffness, 0.5 * _LENGTH, damping)
    return builder.build()
