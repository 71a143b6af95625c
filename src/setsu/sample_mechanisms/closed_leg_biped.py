"""A biped whose knees are driven from the hips: a crank and a rod close a parallelogram with thigh and shank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.mechanism import Free, Material, Mechanism, MechanismBuilder, Pose, Revolute, Shape
from setsu.sample_mechanisms.solid_inertias import box_inertia
from setsu.spatial import placement

__all__ = ["ANKLE", "closed_leg_biped", "closed_leg_biped_posture"]

_TRUNK, _TRUNK_MASS = (0.16, 0.24, 0.30), 8.0
_HIP = 0.10  # m, of each hip beside the middle
_THIGH = _SHANK = 0.30
_CRANK = 0.06
ANKLE, _FOOT = 0.05, (0.22, 0.10, 0.03)


def closed_leg_biped(material: Material | None = None) -> Mechanism:
    """Return a biped of 18 kg: x ahead, y to the left, z up; at q = neutral the legs are straight.

    Per leg the driven joints roll, pitch, crank, ankle_pitch, ankle_roll, and passive ones knee and rod: the crank at
    the hip turns the shank through a rod as long as the thigh, loop left_pin or right_pin. Soles of 22 x 10 cm have a
    contact point at each corner.

    >>> m = closed_leg_biped()
    >>> m.nv, len(m.loops)
    (20, 2)
    """
    builder = MechanismBuilder("closed-leg biped")
    trunk = Shape("box", _TRUNK, Pose(translation=(0.0, 0.0, 0.5 * _TRUNK[2])))
    builder.add_body(
        "trunk",
        joint=Free(name="free"),
        mass=_TRUNK_MASS,
        center_of_mass=(0.0, 0.0, 0.5 * _TRUNK[2]),
        inertia=box_inertia(_TRUNK_MASS, *_TRUNK),
        visuals=[trunk],
    )
    for side, sign in (("left", 1.0), ("right", -1.0)):
        _add_leg(builder, side, sign, material)
    return builder.build()


def closed_leg_biped_posture(mechanism: Mechanism, bend: float = 0.4) -> NDArray[np.float64]:
    """Return the configuration (nq,) in which the biped stands at z = 0 with knees bent by twice `bend` (rad).

    >>> m = closed_leg_biped()
    >>> closed_leg_biped_posture(m).shape
    (21,)
    """
    q = mechanism.neutral()
    angles = {"pitch": -bend, "knee": 2.0 * bend, "crank": bend, "rod": -2.0 * bend, "ankle_pitch": -bend}
    for name, place in zip(mechanism.joint_names, mechanism.q_slices, strict=True):
        q[place] = angles.get(name.partition("_")[2], 0.0) if name != "free" else q[place]
    q[2] = (_THIGH + _SHANK) * np.cos(bend) + ANKLE
    return q


def _add_leg(builder: MechanismBuilder, side: str, sign: float, material: Material | None) -> None:
    drive = {"damping": 0.5, "armature": 0.05}
    x, y = (1, 0, 0), (0, 1, 0)

    def rod(
        name: str, parent: str, joint: Revolute, at: tuple[float, ...], mass: float, end: tuple[float, ...]
    ) -> None:
        size = tuple(max(0.02, abs(e)) for e in end)
        middle = tuple(0.5 * e for e in end)
        builder.add_body(
            f"{side}_{name}",
            parent=parent,
            joint=joint,
            placement=placement(translation=at),
            mass=mass,
            center_of_mass=middle,
            inertia=box_inertia(mass, *size),
            visuals=[Shape("box", size, Pose(translation=middle))],  # type: ignore[arg-type]
        )

    rod("hip", "trunk", Revolute(x, f"{side}_roll", **drive), (0.0, sign * _HIP, 0.0), 0.6, (0.0, 0.0, 0.04))
    rod("thigh", f"{side}_hip", Revolute(y, f"{side}_pitch", **drive), (0.0, 0.0, 0.0), 1.6, (0.0, 0.0, -_THIGH))
    rod("shank", f"{side}_thigh", Revolute(y, f"{side}_knee", damping=0.05), (0, 0, -_THIGH), 1.2, (0, 0, -_SHANK))
    rod("crank", f"{side}_hip", Revolute(y, f"{side}_crank", **drive), (0.0, 0.0, 0.0), 0.3, (-_CRANK, 0.0, 0.0))
    rod("rod", f"{side}_crank", Revolute(y, f"{side}_rod", damping=0.01), (-_CRANK, 0, 0), 0.3, (0.0, 0.0, -_THIGH))
    builder.add_loop(
        f"{side}_pin",
        f"{side}_rod",
        f"{side}_shank",
        Revolute(y),
        placement(translation=(0.0, 0.0, -_THIGH)),
        placement(translation=(-_CRANK, 0.0, 0.0)),
    )
    rod("ankle", f"{side}_shank", Revolute(y, f"{side}_ankle_pitch", **drive), (0, 0, -_SHANK), 0.2, (0.04, 0.0, 0.0))
    length, width, height = _FOOT
    sole = Shape("box", _FOOT, Pose(translation=(0.03, 0.0, 0.5 * height - ANKLE)))
    builder.add_body(
        f"{side}_foot",
        parent=f"{side}_ankle",
        joint=Revolute(x, f"{side}_ankle_roll", **drive),
        mass=0.8,
        center_of_mass=(0.03, 0.0, 0.5 * height - ANKLE),
        inertia=box_inertia(0.8, *_FOOT),
        visuals=[sole],
    )
    corners = [(0.03 + sx * length / 2, sy * width / 2, -ANKLE) for sx in (-1, 1) for sy in (-1, 1)]
    builder.add_contact_points(f"{side}_foot", corners, material)
