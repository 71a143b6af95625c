"""The records a mechanism is made of; plain numbers in tuples, so that they compare and hash by content.

Lengths in m, masses in kg, angles in rad. `Pose` holds a placement; everything else refers to bodies by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError
from setsu.mechanism.joints import Joint
from setsu.named_numbers import NamedNumber, as_placement, placement_rows
from setsu.spatial import finite_vector, is_rotation, nearest_rotation

__all__ = [
    "SHAPE_SIZES",
    "WORLD",
    "Body",
    "ContactPoint",
    "Coupling",
    "Loop",
    "Material",
    "Pose",
    "Shape",
    "Site",
    "Spring",
]

WORLD = "world"

SHAPE_SIZES = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "ellipsoid": 3, "mesh": 3}
"""How many numbers give the size of each kind of shape."""

Vector3 = tuple[float, float, float]


def _are_finite(*numbers: float) -> bool:
    return 0.0 * sum(map(float, numbers)) == 0.0


@dataclass(frozen=True)
class Pose:
    """Placement of a frame in its parent: rotation (9 numbers, row by row) and translation (3)."""

    rotation: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    translation: Vector3 = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        # Plain numbers: mechanisms have thousands of poses. A number that is not finite fails too.
        if len(self.rotation) == 9 and len(self.translation) == 3:
            a, b, c, d, e, f, g, h, i = map(float, self.rotation)
            lengths = abs(a * a + b * b + c * c - 1.0) + abs(d * d + e * e + f * f - 1.0)
            third = abs(b * f - c * e - g) + abs(c * d - a * f - h) + abs(a * e - b * d - i)
            unmoved = sum(map(float, self.translation)) * 0.0
            if lengths + abs(a * d + b * e + c * f) + third + unmoved <= 1e-9:
                return
        raise InputError(
            "Pose: expected a rotation as 9 numbers, row by row, and a translation of 3 (4x4 arrays: Pose.of), "
            f"got {self.rotation!r:.200} and {self.translation!r:.100}"
        )

    @staticmethod
    def of(matrix: ArrayLike | Pose | None, what: str) -> Pose:
        """Check a 4x4 placement; a rotation off by more than 1e-6 is refused, by less is made orthonormal."""
        if matrix is None:
            return Pose()
        if isinstance(matrix, Pose):
            matrix = matrix.matrix
        try:
            T = np.array(matrix, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{what}: expected a 4x4 placement, got {matrix!r}") from None
        if T.shape != (4, 4):
            raise InputError(f"{what}: expected a 4x4 placement, got an array of shape {T.shape}")
        if not np.isfinite(T).all():
            raise InputError(f"{what}: expected finite numbers, got {T.tolist()}")
        R = T[:3, :3]
        exact = is_rotation(R, 1e-14)
        if T[3].tolist() != [0.0, 0.0, 0.0, 1.0] or not (exact or is_rotation(R, 1e-6)):
            raise InputError(f"{what}: expected a rotation and a last row 0 0 0 1, got {T.tolist()}")
        if not exact:
            R = nearest_rotation(R)
        x, y, z = T[:3, 3].tolist()
        pose = Pose(tuple((R + 0.0).ravel().tolist()), (x + 0.0, y + 0.0, z + 0.0))
        rows = placement_rows(matrix)
        return pose if rows is None else pose._with_names(rows)

    def _with_names(self, rows: list[list[float]]) -> Pose:
        """The same numbers, with the names of the entries they come from."""

        def entry(number: float, original: float) -> float:
            if not isinstance(original, NamedNumber):
                return number
            return NamedNumber(number, original.expression, original.symbols)

        x, y, z = (entry(number, rows[k][3]) for k, number in enumerate(self.translation))
        rotation = tuple(entry(number, rows[k // 3][k % 3]) for k, number in enumerate(self.rotation))
        return Pose(rotation, (x, y, z))

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The placement as a fresh 4x4 array."""
        R, p = self.rotation, self.translation
        rows = [[*R[:3], p[0]], [*R[3:6], p[1]], [*R[6:], p[2]], [0.0, 0.0, 0.0, 1.0]]
        if NamedNumber in map(type, (*R, *p)):
            return as_placement(rows)
        return np.array(rows, dtype=np.float64)


@dataclass(frozen=True)
class Shape:
    """A visual or collision shape on a body.

    kind and size: "box" (x y z lengths), "sphere" (radius), "cylinder" (radius, length along z), "capsule" (radius,
    length of the straight part along z), "ellipsoid" (half axes x y z), "mesh" (scale x y z, with `mesh` the file).
    contype, conaffinity: bits; collision shapes of two bodies touch only where the contype of one and the conaffinity
    of the other share a bit, as geoms of MuJoCo do. They touch an environment whatever their bits.
    pose: in its body's frame, or the world's; a 4x4 placement is taken too. material: friction of a collision shape;
    None: that of the contact points of its body.
    """

    kind: str
    size: tuple[float, ...]
    pose: Pose = field(default_factory=Pose)
    mesh: str = ""
    color: tuple[float, ...] = ()
    contype: int = 1
    conaffinity: int = 1
    material: Material | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.pose, Pose):
            object.__setattr__(self, "pose", Pose.of(self.pose, f"Shape {self.kind} pose"))
        if not (self.material is None or isinstance(self.material, Material)):
            raise InputError(f"Shape material: expected a Material or None, got {self.material!r:.80}")
        if not isinstance(self.kind, str) or self.kind not in SHAPE_SIZES:
            raise InputError(f"Shape kind: expected one of {', '.join(SHAPE_SIZES)}, got {self.kind!r}")
        what = f"Shape {self.kind}"
        size = tuple((finite_vector(self.size, SHAPE_SIZES[self.kind], f"{what} size") + 0.0).tolist())
        # The scale of a mesh may mirror it.
        if self.kind != "mesh" and min(size) < 0.0:
            raise InputError(f"{what} size: expected numbers of metres, at least 0, got {size}")
        if not isinstance(self.mesh, str) or bool(self.mesh) != (self.kind == "mesh"):
            raise InputError(f"{what} mesh: expected a file name for a mesh and none otherwise, got {self.mesh!r}")
        if len(self.color) not in (0, 3, 4):
            raise InputError(f"{what} color: expected red green blue and perhaps alpha, got {self.color!r}")
        object.__setattr__(self, "size", size)
        color = finite_vector(self.color, len(self.color), f"{what} color")
        object.__setattr__(self, "color", tuple((color + 0.0).tolist()))
        for key in ("contype", "conaffinity"):
            bits = getattr(self, key)
            if isinstance(bits, bool) or not isinstance(bits, (int, np.integer)) or not 0 <= bits < 2**32:
                raise InputError(f"{what} {key}: expected a whole number of 32 bits, got {bits!r}")
            object.__setattr__(self, key, int(bits))

    def may_touch(self, other: Shape) -> bool:
        """Whether the bits of two shapes let them touch."""
        return bool(self.contype & other.conaffinity or other.contype & self.conaffinity)


@dataclass(frozen=True)
class Material:
    """Friction and restitution of a contact, and whether it is rigid.

    torsional, rolling (m): the couple that opposes turning about the normal, and rolling, is at most that times the
    normal force. stiffness (N/m), damping (N s/m): force per depth and per rate of depth of a contact that gives way;
    None: rigid. dissipation (s/m): that of Hunt and Crossley, beside or instead of damping: the force is
    stiffness · depth · (1 + dissipation · rate of depth), without a jump where touch begins and ends.
    """

    static_friction: float = 0.5
    kinetic_friction: float = 0.5
    restitution: float = 0.0
    torsional: float = 0.0
    rolling: float = 0.0
    stiffness: float | None = None
    damping: float | None = None
    dissipation: float | None = None

    def __post_init__(self) -> None:
        for key in ("static_friction", "kinetic_friction", "restitution", "torsional", "rolling"):
            value, high = getattr(self, key), 1.0 if key == "restitution" else np.inf
            if not (isinstance(value, (int, float)) and 0.0 <= value <= high and np.isfinite(value)):
                raise InputError(f"Material {key}: expected a number from 0 to {high:g}, got {value!r}")
            object.__setattr__(self, key, float(value))
        for key, least in (("stiffness", "above"), ("damping", "from"), ("dissipation", "from")):
            value = getattr(self, key)
            if value is None:
                continue
            good = isinstance(value, (int, float)) and np.isfinite(value) and value >= 0.0
            if not good or (key == "stiffness" and value == 0.0):
                raise InputError(f"Material {key}: expected None or a number {least} 0, got {value!r}")
            object.__setattr__(self, key, float(value))
        for key in ("damping", "dissipation"):
            if self.stiffness is None and getattr(self, key) is not None:
                raise InputError(
                    f"Material {key}: expected a stiffness beside it, got {key} = {getattr(self, key)} alone"
                )
        if self.stiffness is not None and self.restitution > 0.0:
            raise InputError(
                "Material: expected restitution = 0 where stiffness is given (damping decides about the rebound), "
                f"got restitution = {self.restitution}"
            )
        if self.kinetic_friction > self.static_friction:
            raise InputError(
                "Material: expected kinetic_friction <= static_friction, "
                f"got {self.kinetic_friction} > {self.static_friction}"
            )


@dataclass(frozen=True)
class Body:
    """A rigid body and the joint that ties it to its parent.

    mass (kg), center_of_mass (m, body frame), inertia about the center of mass in body axes as
    Ixx, Ixy, Ixz, Iyy, Iyz, Izz (kg m²). `pose` is the joint frame in the parent's body frame. gravity_compensation is
    the part of its weight that a force at the center of mass holds up (1: all of it).
    """

    name: str
    parent: str
    joint: Joint
    pose: Pose = field(default_factory=Pose)
    mass: float = 0.0
    center_of_mass: Vector3 = (0.0, 0.0, 0.0)
    inertia: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()
    gravity_compensation: float = 0.0

    def __post_init__(self) -> None:
        _take_placements(self, "body", "pose")
        numbers = (self.mass, *self.center_of_mass, *self.inertia, self.gravity_compensation)
        if len(numbers) != 11 or not _are_finite(*numbers) or self.mass < 0.0:
            raise InputError(
                f'body "{self.name}": expected a mass of at least 0, 3 numbers of center_of_mass, 6 of inertia and '
                f"gravity_compensation, all finite, got {self.mass}, {self.center_of_mass}, {self.inertia} and "
                f"{self.gravity_compensation}"
            )

    @property
    def inertia_matrix(self) -> NDArray[np.float64]:
        """Inertia about the center of mass, body axes, as a fresh 3x3 array."""
        xx, xy, xz, yy, yz, zz = self.inertia
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@dataclass(frozen=True)
class Loop:
    """A joint that closes a loop: its frame is `pose_a` on body_a and `pose_b` on body_b, equal at coordinate 0."""

    name: str
    body_a: str
    body_b: str
    joint: Joint
    pose_a: Pose = field(default_factory=Pose)
    pose_b: Pose = field(default_factory=Pose)

    def __post_init__(self) -> None:
        _take_placements(self, "loop", "pose_a", "pose_b")


def _take_placements(element: Body | Loop, what: str, *names: str) -> None:
    """Let `dataclasses.replace` take 4x4 placements too."""
    for name in names:
        given = getattr(element, name)
        if not isinstance(given, Pose):
            object.__setattr__(element, name, Pose.of(given, f'{what} "{element.name}" {name}'))


@dataclass(frozen=True)
class Coupling:
    """Relation between joint coordinates: Σ factor x coordinate + offset - P(Σ argument x coordinate - reference) = 0.

    P(s) = c0 + c1 s + ... + cn sⁿ are the numbers of `polynomial`; most couplings have none and are linear.
    """

    name: str
    factors: tuple[tuple[str, float], ...]
    offset: float = 0.0
    polynomial: tuple[float, ...] = ()
    argument: tuple[tuple[str, float], ...] = ()
    reference: float = 0.0

    def __post_init__(self) -> None:
        factors = [factor for _, factor in (*self.factors, *self.argument)]
        if not _are_finite(self.offset, self.reference, *self.polynomial, *factors):
            raise InputError(f"coupling: expected finite numbers, got {self}")

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints it relates, each once."""
        return tuple(dict.fromkeys(joint for joint, _ in (*self.factors, *self.argument)))

    def with_argument_at(self, values: Mapping[str, float]) -> Coupling:
        """Return the coupling with joints inside the polynomial held at values: linear when all of them are."""
        held = [factor * values[joint] for joint, factor in self.argument if joint in values]
        if not held:
            return self
        left = tuple((joint, factor) for joint, factor in self.argument if joint not in values)
        reference = self.reference - sum(held)
        if left:
            return replace(self, argument=left, reference=reference)
        value = 0.0
        for coefficient in reversed(self.polynomial):
            value = value * -reference + coefficient
        return replace(self, offset=self.offset - value, polynomial=(), argument=(), reference=0.0)


@dataclass(frozen=True)
class Spring:
    """Spring and damper between a point on body_a and a point on body_b: N/m, m, N s/m."""

    name: str
    body_a: str
    point_a: Vector3
    body_b: str
    point_b: Vector3
    stiffness: float
    rest_length: float = 0.0
    damping: float = 0.0

    def __post_init__(self) -> None:
        numbers = (self.stiffness, self.rest_length, self.damping)
        points = (*self.point_a, *self.point_b)
        if len(points) != 6 or not _are_finite(*points, *numbers) or min(numbers) < 0.0:
            raise InputError(
                "spring: expected points of 3 finite numbers, and stiffness, rest_length and damping of at least 0, "
                f"got {self}"
            )


@dataclass(frozen=True)
class ContactPoint:
    """A point of a body that may touch the environment; `radius` > 0 makes it a ball."""

    body: str
    position: Vector3
    material: Material = field(default_factory=Material)
    radius: float = 0.0

    def __post_init__(self) -> None:
        if len(self.position) != 3 or not _are_finite(*self.position, self.radius) or self.radius < 0.0:
            raise InputError(f"contact point: expected 3 finite numbers and a radius of at least 0, got {self}")


@dataclass(frozen=True)
class Site:
    """A named frame fastened to a body: `pose` in the body's frame."""

    name: str
    body: str
    pose: Pose = field(default_factory=Pose)
