"""Boom and stick of an excavator, each driven by a hydraulic cylinder: a prismatic joint inside a loop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.elementary import length
from setsu.mechanism import Mechanism, MechanismBuilder, Prismatic, Revolute
from setsu.mechanism.checks import finite_number
from setsu.sample_mechanisms.joined_rods import joined_rods
from setsu.sample_mechanisms.solid_inertias import box_inertia
from setsu.spatial import placement

__all__ = ["excavator_boom"]

_AXIS = (0.0, -1.0, 0.0)
# Pins in the x-z plane (m) at q = 0, our own round numbers for a machine of about 20 t.
_BOOM_FOOT, _BOOM_HEAD, _STICK_TIP = np.zeros(3), np.array([4.6, 0.0, 3.3]), np.array([6.4, 0.0, 1.1])
_BOOM_CYLINDER = (np.array([0.7, 0.0, -0.5]), np.array([2.1, 0.0, 2.3]))
_STICK_CYLINDER = (np.array([2.4, 0.0, 3.0]), np.array([4.9, 0.0, 4.1]))


def excavator_boom(load: float = 800.0, *, damping: float = 0.0) -> Mechanism:
    """Return boom, stick and bucket of an excavator in the x-z plane: two degrees of freedom.

    Joints boom, boom_barrel, boom_cylinder (prismatic), stick, stick_barrel, stick_cylinder (prismatic); positive
    angles lift, positive travel lengthens a cylinder. Loops boom_pin and stick_pin tie the cylinder rods to boom and
    stick. At q = 0 every frame is parallel to the world's; a barrel's origin is its foot pin, a rod's its head pin.

    Args:
        load: mass of bucket and soil at the stick's tip, kg.
        damping: of each cylinder, N s/m.

    >>> excavator_boom().joint_names
    ('boom', 'boom_barrel', 'boom_cylinder', 'stick', 'stick_barrel', 'stick_cylinder')
    """
    load = finite_number(load, "excavator_boom load", minimum=0.0)
    builder = MechanismBuilder("excavator boom")
    builder.add_body(
        "boom",
        joint=Revolute(_AXIS, "boom"),
        mass=1600.0,
        center_of_mass=(2.2, 0.0, 1.9),
        inertia=box_inertia(1600.0, 4.6, 0.5, 3.3),
    )
    _add_cylinder(builder, "boom", "world", _BOOM_CYLINDER, damping)
    builder.add_body(
        "stick",
        "boom",
        Revolute(_AXIS, "stick"),
        placement(_BOOM_HEAD),
        mass=900.0,
        center_of_mass=0.4 * (_STICK_TIP - _BOOM_HEAD),
        inertia=box_inertia(900.0, 1.8, 0.4, 3.0),
    )
    _add_cylinder(builder, "stick", "boom", _STICK_CYLINDER, damping)
    bucket = placement(_STICK_TIP - _BOOM_HEAD)
    builder.add_body("bucket", "stick", placement=bucket, mass=load, inertia=box_inertia(load, 0.9, 1.2, 0.9))
    for name, origin, (_, head) in (("boom", _BOOM_FOOT, _BOOM_CYLINDER), ("stick", _BOOM_HEAD, _STICK_CYLINDER)):
        builder.add_loop(f"{name}_pin", f"{name}_rod", name, Revolute(_AXIS), placement_b=placement(head - origin))
    return builder.build()


def _add_cylinder(
    builder: MechanismBuilder,
    name: str,
    parent: str,
    pins: tuple[NDArray[np.float64], NDArray[np.float64]],
    damping: float,
) -> None:
    """Add barrel and rod; the barrel takes 60 % of the way from foot to head pin, the rod reaches well into it."""
    foot, head = pins
    span = head - foot
    # Both parents, the world and the boom, have their origin at the boom's foot.
    barrel = joined_rods([(np.zeros(3), 0.6 * span)], mass_per_length=70.0)
    rod = joined_rods([(-0.8 * span, np.zeros(3))], mass_per_length=35.0)
    builder.add_body(f"{name}_barrel", parent, Revolute(_AXIS, f"{name}_barrel"), placement(foot - _BOOM_FOOT), *barrel)
    along = tuple(span / length(span))
    cylinder = Prismatic(along, f"{name}_cylinder", damping=damping)
    builder.add_body(f"{name}_rod", f"{name}_barrel", cylinder, placement(span), *rod)
