"""Joint types: which motion a joint leaves free, and its friction, rotor inertia, spring and limits.

| type | nq | nv | q | v |
|---|---|---|---|---|
| Revolute | 1 | 1 | angle about the axis (rad) | rate |
| Prismatic | 1 | 1 | travel along the axis (m) | rate |
| Helical | 1 | 1 | angle (rad); travel = pitch x angle, pitch in m/rad | rate |
| Cylindrical | 2 | 2 | travel along, angle about the axis | rates |
| Universal | 2 | 2 | angle about axis, then about second_axis carried along | rates |
| Planar | 3 | 3 | travel along two axes of the plane, angle about its normal | rates |
| Spherical | 4 | 3 | quaternion x y z w | angular velocity in body axes |
| Free | 7 | 6 | position, quaternion x y z w | linear, angular velocity in body axes |
| Fixed | 0 | 0 | | |

Axes are given in the body frame, which coincides with the joint's placement at q = 0.

A type says what it is once, in its `motions` and what it `holds`; tables, placements, rows of loops, units and files
follow from that. Letters are directions of the joint: z its axis, x and y the other two columns of
`spatial.axis_to_z_rotation(axis)` (x and y for the z axis), "second" its second_axis.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from setsu.errors import InputError, ModelWarning
from setsu.spatial import finite_vector

__all__ = [
    "JOINT_TYPES",
    "Cylindrical",
    "Fixed",
    "Free",
    "Helical",
    "Joint",
    "Planar",
    "Prismatic",
    "Revolute",
    "Spherical",
    "Universal",
    "own_options",
]

PerAxis = float | Sequence[float]

# Of each primitive motion: coordinates and velocities, and which of the velocities travel.
_SIZES = {"turn": (1, 1), "travel": (1, 1), "screw": (1, 1), "ball": (4, 3), "float": (7, 6)}
_TRAVELS = {
    "turn": (False,), "travel": (True,), "screw": (False,), "ball": (False,) * 3, "float": (True,) * 3 + (False,) * 3,
}  # fmt: skip


def _per_axis(
    value: PerAxis, nv: int, what: str, *, minimum: float | None = 0.0, finite: bool = True
) -> tuple[float, ...]:
    """Spread one number over the joint's axes, or check a sequence of them."""
    if type(value) is float and (
        value == 0.0 or (not finite and math.isinf(value) and (value > 0.0 or minimum is None))
    ):
        return (value + 0.0,) * nv  # what most joints have, and large mechanisms have many
    try:
        if isinstance(value, (int, float)) or getattr(value, "shape", None) == ():
            values = [float(value)] * nv  # type: ignore[arg-type]
        else:
            values = [float(entry) for entry in value]  # type: ignore[union-attr]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what}: expected one number or {nv}, got {value!r}") from None
    if len(values) != nv:
        raise InputError(f"{what}: expected one number or {nv}, got {len(values)}")
    for entry in values:
        if math.isnan(entry) or (finite and math.isinf(entry)):
            raise InputError(f"{what}: expected {'finite numbers' if finite else 'numbers'}, got {entry}")
        if minimum is not None and entry < minimum:
            raise InputError(f"{what}: expected at least {minimum:g}, got {entry}")
    return tuple(entry + 0.0 for entry in values)  # -0.0 becomes 0.0: equal joints have equal digests


@dataclass(frozen=True)
class Joint:
    """What every joint type shares; per-axis values are one number for all axes or one number per velocity.

    Args:
        axis: direction in the body frame, any length but zero (unused by Spherical, Free, Fixed, which take a text in
            this place as their name).
        name: joint name; the builder makes one from the body's name when empty.
        damping: viscous friction, N s/m or N m s/rad, per velocity.
        armature: inertia of the drive reflected to the joint, kg or kg m², per velocity.
        coulomb: dry friction, N or N m, per velocity; acts against the sign of the velocity.
        bearing_friction: coefficient of dry friction in the joint's bearing (Revolute, Prismatic): the friction is this
            times the bearing's load, which is the force across the axis (N) plus `preload`; times `bearing_radius` for
            a turning joint. It acts against the sign of the velocity.
        bearing_radius: radius of the journal of a Revolute joint (m). preload: of the bearing (N).
        stiffness: joint spring, N/m or N m/rad, per velocity. Spherical: one for all turns, back along the rotation
            vector; Free: one for the three travels (N/m) and one for the three turns.
        spring_rest: coordinate at which the joint spring is slack; Spherical: a rotation vector (rad), Free: a position
            (m) and a rotation vector.
        lower, upper: limits of the coordinates (joints with nq = nv only).
        velocity_limit, effort_limit: limits of |v| and |tau|.
    """

    axis: Sequence[float] = (0.0, 0.0, 1.0)
    name: str = ""
    damping: PerAxis = field(default=0.0, kw_only=True)
    armature: PerAxis = field(default=0.0, kw_only=True)
    coulomb: PerAxis = field(default=0.0, kw_only=True)
    bearing_friction: PerAxis = field(default=0.0, kw_only=True)
    bearing_radius: PerAxis = field(default=0.0, kw_only=True)
    preload: PerAxis = field(default=0.0, kw_only=True)
    stiffness: PerAxis = field(default=0.0, kw_only=True)
    spring_rest: PerAxis = field(default=0.0, kw_only=True)
    lower: PerAxis = field(default=-math.inf, kw_only=True)
    upper: PerAxis = field(default=math.inf, kw_only=True)
    velocity_limit: PerAxis = field(default=math.inf, kw_only=True)
    effort_limit: PerAxis = field(default=math.inf, kw_only=True)

    motions: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Primitive motions in a row, (kind, direction): "turn", "travel", "screw", or "ball" and "float" without one."""
    holds: ClassVar[tuple[str, str]] = ("", "")
    """Directions in which the joint holds travel and turn where it closes a loop; what a screw and two crossing axes
    hold beside them follows from the motions."""
    file_names: ClassVar[tuple[str, ...]] = ()
    """What files call it, the first when writing."""
    nq: ClassVar[int]
    nv: ClassVar[int]
    has_axis: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        kinds = [kind for kind, _ in cls.motions]
        cls.nq = sum(_SIZES[kind][0] for kind in kinds)
        cls.nv = sum(_SIZES[kind][1] for kind in kinds)
        cls.has_axis = any(letter for _, letter in cls.motions)

    @property
    def travels(self) -> tuple[bool, ...]:
        """Per velocity, whether it is m/s and not rad/s."""
        return tuple(travels for kind, _ in self.motions for travels in _TRAVELS[kind])

    @property
    def has_cross(self) -> bool:
        """Whether it turns about two crossing axes."""
        return ("turn", "second") in self.motions

    @property
    def has_bearing(self) -> bool:
        """Whether the joint has friction that depends on its load."""
        return any(self.bearing_friction)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InputError(f"{type(self).__name__}: expected a joint name (text), got {self.name!r}")
        what = f'{type(self).__name__} joint "{self.name}"'
        set_field = lambda key, value: object.__setattr__(self, key, value)  # noqa: E731
        if not self.has_axis and isinstance(self.axis, str):
            # Spherical("shoulder"): a joint without axis takes its name in the first place.
            if self.name:
                raise InputError(f"{type(self).__name__}: expected one name, got {self.axis!r} and {self.name!r}")
            set_field("name", self.axis)
            what = f'{type(self).__name__} joint "{self.name}"'
        if not self.nv:
            self._refuse_forces(what)
        set_field("axis", unit_axis(self.axis, f"{what} axis") if self.has_axis else (0.0, 0.0, 1.0))
        for key in ("damping", "armature", "coulomb", "bearing_friction", "bearing_radius", "preload", "stiffness"):
            set_field(key, _per_axis(getattr(self, key), self.nv, f"{what} {key}"))
        set_field("spring_rest", _per_axis(self.spring_rest, self.nv, f"{what} spring_rest", minimum=None))
        for key in ("lower", "upper"):
            set_field(key, _per_axis(getattr(self, key), self.nv, f"{what} {key}", minimum=None, finite=False))
        for key in ("velocity_limit", "effort_limit"):
            set_field(key, _per_axis(getattr(self, key), self.nv, f"{what} {key}", finite=False))
        for low, high in zip(self.lower, self.upper, strict=True):  # type: ignore[arg-type]
            if low > high:
                raise InputError(f"{what}: expected lower <= upper limit, got {low} > {high}")
            if low == math.inf or high == -math.inf:
                raise InputError(f"{what}: expected limits that leave a position free, got {low} to {high}")
        if self.has_bearing:
            self._check_bearing(what)
        elif any(self.bearing_radius) or any(self.preload):  # type: ignore[arg-type]
            warnings.warn(
                f"{what}: bearing_radius and preload have no effect without bearing_friction",
                ModelWarning,
                stacklevel=4,
            )
        groups = [self.stiffness[k : k + 3] for k in range(0, self.nv, 3)] if self.nq != self.nv else []  # type: ignore[index]
        if any(len(set(group)) > 1 for group in groups):
            raise InputError(
                f"{what} stiffness: a quaternion's spring has one stiffness for its three turns, and one for three "
                f"travels, got {self.stiffness}"
            )

    def named(self, name: str) -> Joint:
        """Return the joint under another name, which is checked already, as the joint is."""
        joint = copy.copy(self)
        object.__setattr__(joint, "name", name)
        return joint

    def _refuse_forces(self, what: str) -> None:
        """A joint that does not move has no friction, drive or spring."""
        for key in ("damping", "armature", "coulomb", "bearing_friction", "preload", "stiffness"):
            value = getattr(self, key)
            try:
                entries = [float(value)] if isinstance(value, (int, float)) else [float(entry) for entry in value]
            except (TypeError, ValueError, OverflowError):
                raise InputError(f"{what} {key}: expected a number, got {value!r}") from None
            if any(entries):
                raise InputError(f"{what} {key}: a joint that does not move has none, got {value!r}")
            object.__setattr__(self, key, 0.0)

    def _check_bearing(self, what: str) -> None:
        if not isinstance(self, (Revolute, Prismatic)):
            raise InputError(
                f"{what} bearing_friction: expected a Revolute or Prismatic joint, got {type(self).__name__}"
            )
        if isinstance(self, Revolute) and not any(self.bearing_radius):  # type: ignore[arg-type]
            raise InputError(f"{what} bearing_radius: expected a positive radius (m) beside bearing_friction, got 0")


def unit_axis(axis: Sequence[float], what: str) -> tuple[float, float, float]:
    """Return the axis scaled to length one; exact for coordinate axes."""
    vector = finite_vector(axis, 3, what)
    largest = max(abs(float(entry)) for entry in vector)
    if largest == 0.0:
        raise InputError(f"{what}: expected a non-zero direction, got (0, 0, 0)")
    vector = vector / largest
    length = math.sqrt(sum(float(entry) ** 2 for entry in vector))
    # A vector that is unit already up to rounding stays as given, so that reading back what was written is exact.
    if largest != 1.0 and abs(length * largest - 1.0) < 1e-15:
        x, y, z = (float(entry) + 0.0 for entry in finite_vector(axis, 3, what))
        return (x, y, z)
    x, y, z = (float(entry) / length + 0.0 for entry in vector)
    return (x, y, z)


@dataclass(frozen=True)
class Revolute(Joint):
    """Rotation about `axis`."""

    motions = (("turn", "z"),)
    holds = ("xyz", "xy")
    file_names = ("revolute", "continuous")


@dataclass(frozen=True)
class Prismatic(Joint):
    """Translation along `axis`."""

    motions = (("travel", "z"),)
    holds = ("xy", "xyz")
    file_names = ("prismatic",)


@dataclass(frozen=True)
class Helical(Joint):
    """Screw: rotation about and translation along `axis`, coupled by `pitch` (m/rad)."""

    pitch: float = field(default=0.0, kw_only=True)
    motions = (("screw", "z"),)
    holds = ("xy", "xy")
    file_names = ("helical", "screw")

    def __post_init__(self) -> None:
        super().__post_init__()
        (pitch,) = _per_axis(self.pitch, 1, f'Helical joint "{self.name}" pitch (m/rad)', minimum=None)
        object.__setattr__(self, "pitch", pitch)


@dataclass(frozen=True)
class Cylindrical(Joint):
    """Translation along `axis` and rotation about it, independent."""

    motions = (("travel", "z"), ("turn", "z"))
    holds = ("xy", "xy")
    file_names = ("cylindrical",)


@dataclass(frozen=True)
class Universal(Joint):
    """Rotation about `axis`, then about `second_axis`, which the first rotation carries along."""

    second_axis: Sequence[float] = field(default=(1.0, 0.0, 0.0), kw_only=True)
    motions = (("turn", "z"), ("turn", "second"))
    holds = ("xyz", "")
    file_names = ("universal",)

    def __post_init__(self) -> None:
        super().__post_init__()
        what = f'Universal joint "{self.name}" second_axis'
        object.__setattr__(self, "second_axis", unit_axis(self.second_axis, what))
        cosine = abs(sum(a * b for a, b in zip(self.axis, self.second_axis, strict=True)))
        if cosine > 1.0 - 1e-9:
            raise InputError(f"{what}: expected a direction not parallel to axis {self.axis}, got {self.second_axis}")


@dataclass(frozen=True)
class Planar(Joint):
    """Two translations in the plane normal to `axis`, then rotation about `axis`."""

    motions = (("travel", "x"), ("travel", "y"), ("turn", "z"))
    holds = ("z", "xy")
    file_names = ("planar",)


@dataclass(frozen=True)
class Spherical(Joint):
    """Any rotation about a point."""

    motions = (("ball", ""),)
    holds = ("xyz", "")
    file_names = ("spherical", "ball")


@dataclass(frozen=True)
class Free(Joint):
    """Any motion: a floating body."""

    motions = (("float", ""),)
    file_names = ("floating",)


@dataclass(frozen=True)
class Fixed(Joint):
    """No motion: the body is part of its parent for dynamics and stays addressable as a frame."""

    motions = ()
    holds = ("xyz", "xyz")
    file_names = ("fixed", "weld")


def own_options(kind: type[Joint]) -> dict[str, Any]:
    """Return what a type takes beside what every joint takes, with the defaults."""
    shared = {part.name for part in fields(Joint)}
    return {part.name: part.default for part in fields(kind) if part.name not in shared}


JOINT_TYPES: dict[str, type[Joint]] = {
    kind.__name__: kind
    for kind in (Revolute, Prismatic, Helical, Cylindrical, Universal, Spherical, Planar, Free, Fixed)
}
