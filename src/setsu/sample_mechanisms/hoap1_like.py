"""A humanoid of the size of HOAP-1: 48 cm, 6 kg, 20 driven joints on a free torso; the subject of sugihara2002.

No table of the links of HOAP-1 is public. Ours has its height, mass and joints; distances and masses of limbs are those
published for its sisters HOAP-2 and HOAP-3, rounded to be remembered. Axes of all bodies at q = neutral are those of
the world: x ahead, y to the left, z up. The torso frame is midway between the hips; hip axes meet in the hip, ankle
axes in the ankle.

The mechanism ships as the text file beside this module. `assembled` is where that file comes from:
`python -m setsu.sample_mechanisms.hoap1_like` writes it anew.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from setsu.elementary import matmul
from setsu.mechanism import Free, Material, Mechanism, MechanismBuilder, Revolute, Shape
from setsu.mechanism.elements import Pose
from setsu.mechanism.native_text import read
from setsu.sample_mechanisms.solid_inertias import box_inertia
from setsu.spatial import placement

__all__ = ["assembled", "hoap1_like"]

_FILE = Path(__file__).with_suffix(".toml")

_ARMATURE = 0.004
_DAMPING = 0.1
_SOLE = Material(static_friction=0.8, kinetic_friction=0.7)
_SHELL = Material(static_friction=0.5, kinetic_friction=0.4)
_HEAD_MASS = 0.26
_HEAD_CENTER = (0.0, 0.0, 0.215)
_HEAD_SIZE = (0.07, 0.08, 0.05)
_TORSO_MASS = 1.1
_TORSO_CENTER = (0.0, 0.0, 0.115)
_TORSO_SIZE = (0.09, 0.13, 0.15)

Vector3 = tuple[float, float, float]


class _Link(NamedTuple):
    """A link of the left side: joint, its place in the parent (m), limits (rad), a uniform box (kg, m) and a colour."""

    body: str
    joint: str
    axis: Vector3
    at: Vector3
    limits: tuple[float, float]
    mass: float
    center: Vector3
    size: Vector3
    color: Vector3


_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
_LIGHT, _DARK, _BLUE = (0.85, 0.86, 0.88), (0.35, 0.37, 0.40), (0.20, 0.42, 0.68)

_LEG = (
    _Link("pelvis", "hip_yaw", _Z, (0.0, 0.039, 0.0), (-1.0, 1.0), 0.06, (0.0, 0.0, 0.025), (0.04, 0.04, 0.03), _DARK),
    _Link("hip", "hip_roll", _X, (0.0, 0.0, 0.0), (-0.6, 0.6), 0.21, (0.0, 0.0, 0.0), (0.05, 0.05, 0.04), _DARK),
    _Link("thigh", "hip_pitch", _Y, (0.0, 0.0, 0.0), (-1.8, 1.2), 0.52, (0.0, 0.0, -0.05), (0.055, 0.05, 0.08), _BLUE),
    _Link("shank", "knee", _Y, (0.0, 0.0, -0.1), (0.0, 2.4), 0.33, (0.0, 0.0, -0.05), (0.05, 0.045, 0.08), _LIGHT),
    _Link("ankle", "ankle_pitch", _Y, (0.0, 0.0, -0.1), (-1.3, 1.0), 0.19, (0.0, 0.0, 0.0), (0.04, 0.04, 0.03), _DARK),
    _Link("foot", "ankle_roll", _X, (0.0, 0.0, 0.0), (-0.6, 0.6), 0.15, (0.0, 0.0, -0.03), (0.108, 0.073, 0.02), _BLUE),
)
_ARM = (
    _Link("shoulder", "shoulder_pitch", _Y, (0.0, 0.07, 0.165), (-2.8, 1.5), 0.21, (0.0, 0.01, 0.0), (0.04, 0.02, 0.04), _DARK),  # noqa: E501
    _Link("deltoid", "shoulder_roll", _X, (0.0, 0.02, 0.0), (-0.1, 2.8), 0.23, (0.0, 0.0, -0.01), (0.04, 0.036, 0.05), _LIGHT),  # noqa: E501
    _Link("upper_arm", "arm_yaw", _Z, (0.0, 0.0, -0.035), (-1.6, 1.6), 0.20, (0.0, 0.0, -0.038), (0.036, 0.036, 0.066), _BLUE),  # noqa: E501
    _Link("forearm", "elbow", _Y, (0.0, 0.0, -0.076), (-2.2, 0.0), 0.22, (0.0, 0.0, -0.056), (0.034, 0.034, 0.11), _LIGHT),  # noqa: E501
)  # fmt: skip


@lru_cache(maxsize=1)
def hoap1_like() -> Mechanism:
    """Return the humanoid: free torso, two legs of six joints, two arms of four; q = neutral stands on z = -0.24 m.

    Joints are called "left_hip_yaw", "right_knee", ..., bodies "torso", "left_thigh", "right_foot", ... Every link is a
    box whose corners are contact points; the first four of "left_foot" and of "right_foot" are its sole.

    >>> m = hoap1_like()
    >>> m.nv, round(m.total_mass, 12)
    (26, 6.0)
    """
    return read(_FILE)


def assembled() -> Mechanism:
    """Return the humanoid put together from the numbers of this module, equal to what the text file holds."""
    builder = MechanismBuilder("hoap1-like humanoid")
    mass = _TORSO_MASS + _HEAD_MASS
    center = (_TORSO_MASS * np.array(_TORSO_CENTER) + _HEAD_MASS * np.array(_HEAD_CENTER)) / mass
    inertia = _moved_box(_TORSO_MASS, _TORSO_SIZE, _TORSO_CENTER - center)
    inertia = inertia + _moved_box(_HEAD_MASS, _HEAD_SIZE, _HEAD_CENTER - center)
    shapes = [_box(_TORSO_SIZE, _TORSO_CENTER, _LIGHT), _box(_HEAD_SIZE, _HEAD_CENTER, _DARK)]
    builder.add_body(
        "torso", joint=Free(name="floating"), mass=mass, center_of_mass=center, inertia=inertia,
        visuals=shapes, collisions=shapes,
    )  # fmt: skip
    builder.add_contact_points("torso", _corners(_TORSO_SIZE, _TORSO_CENTER), _SHELL)
    builder.add_contact_points("torso", _corners(_HEAD_SIZE, _HEAD_CENTER), _SHELL)
    for side, mirror in (("left", 1.0), ("right", -1.0)):
        for limb in (_LEG, _ARM):
            parent = "torso"
            for link in limb:
                _add_link(builder, link, side, mirror, parent)
                parent = f"{side}_{link.body}"
    return builder.build()


def _add_link(builder: MechanismBuilder, link: _Link, side: str, mirror: float, parent: str) -> None:
    """Add a link of the left side, or its mirror image, whose joints turn the other way about x and z."""
    low, high = link.limits
    if mirror < 0.0 and link.axis != _Y:
        low, high = -high, -low
    joint = Revolute(
        link.axis, f"{side}_{link.joint}", damping=_DAMPING, armature=_ARMATURE, lower=low, upper=high
    )  # fmt: skip
    center = (link.center[0], mirror * link.center[1], link.center[2])
    shape = _box(link.size, center, link.color)
    name = f"{side}_{link.body}"
    builder.add_body(
        name,
        parent,
        joint,
        placement=placement((link.at[0], mirror * link.at[1], link.at[2])),
        mass=link.mass,
        center_of_mass=center,
        inertia=box_inertia(link.mass, *link.size),
        visuals=[shape],
        collisions=[shape],
    )
    corners = _corners(link.size, center)
    sole = 4 if link.body == "foot" else 0
    if sole:
        builder.add_contact_points(name, corners[:sole], _SOLE)
    builder.add_contact_points(name, corners[sole:], _SHELL)


def _box(size: Vector3, center: Vector3, color: Vector3) -> Shape:
    return Shape("box", size, Pose.of(placement(center), "hoap1_like shape"), color=color)


def _corners(size: Vector3, center: Vector3) -> list[Vector3]:
    """The eight corners of a box, the four lower ones first; products of round numbers are rounded back."""
    half = [0.5 * edge for edge in size]
    return [
        (
            round(center[0] + x * half[0], 9) + 0.0,
            round(center[1] + y * half[1], 9) + 0.0,
            round(center[2] + z * half[2], 9) + 0.0,
        )
        for z, x, y in itertools.product((-1.0, 1.0), repeat=3)
    ]


def _moved_box(mass: float, size: Vector3, offset: np.ndarray) -> np.ndarray:
    """Inertia of a box about a point, its center being `offset` away from there (parallel axes)."""
    return box_inertia(mass, *size) + mass * (matmul(offset, offset) * np.eye(3) - np.outer(offset, offset))


if __name__ == "__main__":
    assembled().save(_FILE)
