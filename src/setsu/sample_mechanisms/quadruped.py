"""A four-legged walker of round numbers: 12 driven joints on a free trunk, ball feet."""

from __future__ import annotations

from setsu.mechanism import Free, Material, Mechanism, MechanismBuilder, Pose, Revolute, Shape
from setsu.sample_mechanisms.solid_inertias import box_inertia
from setsu.spatial import placement

__all__ = ["quadruped"]

_TRUNK, _TRUNK_MASS = (0.40, 0.20, 0.10), 6.0
_THIGH = _SHANK = 0.20
_FOOT_RADIUS = 0.02


def quadruped(material: Material | None = None) -> Mechanism:
    """Return a quadruped of 12 kg: hip roll, hip pitch and knee per leg, links of 0.2 m, feet that are balls of 2 cm.

    x ahead, y to the left, z up; at q = neutral the legs hang straight down. Its corners and feet can touch the ground.

    >>> quadruped().nv
    18
    """
    x, y, z = _TRUNK
    builder = MechanismBuilder("quadruped")
    trunk = Shape("box", _TRUNK)
    builder.add_body(
        "trunk",
        joint=Free(name="free"),
        mass=_TRUNK_MASS,
        inertia=box_inertia(_TRUNK_MASS, *_TRUNK),
        visuals=[trunk],
        collisions=[trunk],
    )
    builder.add_contact_points(
        "trunk", [(sx * x / 2, sy * y / 2, sz * z / 2) for sx in (-1, 1) for sy in (-1, 1) for sz in (-1, 1)], material
    )
    for name, ahead, left in (("fl", 1, 1), ("fr", 1, -1), ("hl", -1, 1), ("hr", -1, -1)):
        _add_leg(builder, name, placement(translation=(0.45 * ahead * x, 0.6 * left * y, 0.0)), material)
    return builder.build()


def _add_leg(builder: MechanismBuilder, name: str, hip: object, material: Material | None) -> None:
    drive = {"damping": 0.05, "armature": 0.005}
    builder.add_body(
        f"{name}_hip",
        parent="trunk",
        joint=Revolute((1, 0, 0), name=f"{name}_roll", **drive),
        placement=hip,  # type: ignore[arg-type]
        mass=0.5,
        inertia=box_inertia(0.5, 0.08, 0.08, 0.08),
    )
    for part, parent, joint, height, mass, width in (
        ("thigh", "hip", "pitch", 0.0, 0.7, 0.05),
        ("shank", "thigh", "knee", -_THIGH, 0.3, 0.03),
    ):
        length = _THIGH if part == "thigh" else _SHANK
        shape = Shape("box", (width, width, length), Pose(translation=(0.0, 0.0, -0.5 * length)))
        builder.add_body(
            f"{name}_{part}",
            parent=f"{name}_{parent}",
            joint=Revolute((0, 1, 0), name=f"{name}_{joint}", **drive),
            placement=placement(translation=(0.0, 0.0, height)),
            mass=mass,
            center_of_mass=(0.0, 0.0, -0.5 * length),
            inertia=box_inertia(mass, width, width, length),
            visuals=[shape],
        )
    builder.add_contact_points(f"{name}_shank", (0.0, 0.0, -_SHANK), material, radius=_FOOT_RADIUS)
