"""Flat tables of a mechanism: what the kernels read.

A joint with several axes becomes a row of *links*, each moved by one primitive joint (see `Kind`); all but the last
are massless. The axis of a primitive joint is z of its link frame: the link frame is the body frame turned by the
constant rotation `axes` (x_body = axes @ x_link) with the same origin. Bodies behind fixed joints are merged.

Second moments Σ = ∫ r rᵀ dm (kg m²) stand for the inertia I = tr(Σ) 1 - Σ: they add, shift and turn the same way and
let a revolute joint pass more of its link's mass on to the parent.

Regrouped inertias (the minimum-parameter idea of kawasaki1995 as a speed trick): what lies on a revolute joint's axis
moves with the parent as well, so m, m c_z and Σ_zz can be given to it without a change of any joint torque. They are
right for torques and accelerations only; wrenches, energies and momenta need the true ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setsu.elementary import matmul
from setsu.mechanism.joints import Fixed, Joint
from setsu.spatial import axis_to_z_rotation, placement

if TYPE_CHECKING:
    from setsu.mechanism.elements import Vector3
    from setsu.mechanism.record import Mechanism

__all__ = ["Inertias", "Kind", "Lines", "Tables", "TwoBodyElements", "make_tables", "regroup"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Kind(IntEnum):
    """Primitive joints; the axis is z of the link frame."""

    REVOLUTE = 0
    PRISMATIC = 1
    HELICAL = 2
    SPHERICAL = 3
    FREE = 4

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return (1, 1, 1, 4, 7)[self]

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return (1, 1, 1, 3, 6)[self]


_KINDS = {
    "turn": Kind.REVOLUTE, "travel": Kind.PRISMATIC, "screw": Kind.HELICAL, "ball": Kind.SPHERICAL, "float": Kind.FREE,
}  # fmt: skip


@dataclass(frozen=True)
class Inertias:
    """Mass (n,), first moment m c (n, 3), second moments xx xy xz yy yz zz (n, 6), link frame, about its origin."""

    mass: Floats
    moment: Floats
    second_moment: Floats


@dataclass(frozen=True)
class TwoBodyElements:
    """Pairs of frames on two links (-1: the world), in link axes.

    In this order: pieces of lines (see `Lines`), the two halves of loop joints, pushes on one link (frame a).
    """

    link_a: Ints
    link_b: Ints
    rotation_a: Floats  # (n, 3, 3)
    position_a: Floats  # (n, 3)
    rotation_b: Floats
    position_b: Floats
    element_factor: Floats  # of a piece between two points: its share of the line's length
    element_pull: Floats  # the same, and 0 where both points move with one link: such a piece pulls at nothing
    element_joint: Floats  # of a piece that is a joint's coordinate, link b's: its factor
    element_round: Floats  # 1: a line of this piece alone that is slack at length 0 only: its force has a limit there
    push_lift: Floats  # (n, 3) constant force at frame a's origin, N, world axes
    push_drag: Floats  # (n, 8) -force = (d0 + d2..4 |v|) v, -moment = (d1 + d5..7 |w|) w, axes of frame a
    push_wind: Floats  # (n, 3) what v is relative to, m/s, world axes


@dataclass(frozen=True)
class Lines:
    """Springs between points and tendons: a length made of two-body elements, and what acts along it."""

    first: Ints  # its pieces are the two-body elements from first up to stop
    stop: Ints
    line_stiffness: Floats  # N/m
    line_lower: Floats  # m: it is slack from here
    line_upper: Floats  # m: to here
    line_damping: Floats  # N s/m


@dataclass(frozen=True)
class Tables:
    """Arrays over links (n), velocities (nv) and bodies; parents and indices as integers, -1 for the world or none."""

    kind: Ints
    parent: Ints
    q_index: Ints
    v_index: Ints
    body: Ints  # the moving body a link belongs to; a body's last link carries its mass
    is_body: Floats  # 1 for the last link of a body, 0 for the massless ones in between
    carried: Floats  # 0 for links on the world, 1 for links on other links
    rotation: Floats  # (n, 3, 3) joint frame in the parent link frame at coordinate 0
    translation: Floats  # (n, 3)
    axes: Floats  # (n, 3, 3) x_body = axes @ x_link
    pitch: Floats
    true: Inertias
    regrouped: Inertias
    body_link: Ints  # (n_bodies,) last link of each body
    dof_parent: Ints  # (nv,) the velocity before this one on the way to the world
    dof_link: Ints  # (nv,)
    armature: Floats
    damping: Floats
    coulomb: Floats
    stiffness: Floats
    spring_rest: Floats
    gravity: Floats
    two_body: TwoBodyElements
    lines: Lines
    n_springs: int  # pieces of lines, which come before the loops
    n_loops: int
    n_pushes: int

    @property
    def n_links(self) -> int:
        """Number of links."""
        return len(self.kind)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.dof_parent)


def make_tables(mechanism: Mechanism) -> Tables:
    """Expand joints into primitive ones, align axes with z, merge fixed bodies, regroup inertias."""
    moving = mechanism.moving
    frames = mechanism.frames
    kinds: list[Kind] = []
    parents: list[int] = []
    bodies: list[int] = []
    rotations: list[Floats] = []
    translations: list[Floats] = []
    axes: list[Floats] = []
    pitches: list[float] = []
    body_link: list[int] = []
    for index, body in enumerate(moving):
        carrier = frames[body.parent]
        T_joint = matmul(carrier.pose.matrix, body.pose.matrix)
        parent = body_link[carrier.body] if carrier.body >= 0 else -1
        parent_axes = axes[parent] if parent >= 0 else np.eye(3)
        R, p = matmul(parent_axes.T, T_joint[:3, :3]), matmul(parent_axes.T, T_joint[:3, 3])
        for kind, turn, pitch in _primitives(body.joint):
            kinds.append(kind)
            parents.append(parent)
            bodies.append(index)
            rotations.append(_clean(matmul(R, turn)))
            translations.append(p)
            axes.append(turn)
            pitches.append(pitch)
            parent, R, p = len(kinds) - 1, turn.T, np.zeros(3)
        body_link.append(len(kinds) - 1)

    n = len(kinds)
    kind = np.array(kinds, dtype=np.int64)
    last = np.zeros(n)
    last[body_link] = 1.0
    v_index = _starts([k.nv for k in kinds])
    true = _link_inertias(mechanism, n, axes, body_link)
    dof_parent: list[int] = []
    last_dof: list[int] = []  # of each link
    for link, k in enumerate(kinds):
        before = last_dof[parents[link]] if parents[link] >= 0 else -1
        for _ in range(k.nv):
            dof_parent.append(before)
            before = len(dof_parent) - 1
        last_dof.append(before)
    parent_array = np.array(parents, dtype=np.int64)
    rotation = np.array(rotations).reshape(n, 3, 3)
    translation = np.array(translations).reshape(n, 3)
    joints = [body.joint for body in moving]

    def per_velocity(key: str) -> Floats:
        return np.array([entry for joint in joints for entry in getattr(joint, key)], dtype=np.float64)

    return Tables(
        kind=kind,
        parent=parent_array,
        q_index=_starts([k.nq for k in kinds]),
        v_index=v_index,
        body=np.array(bodies, dtype=np.int64),
        is_body=last,
        carried=(parent_array >= 0).astype(np.float64),
        rotation=rotation,
        translation=translation,
        axes=np.array(axes).reshape(n, 3, 3),
        pitch=np.array(pitches),
        true=true,
        regrouped=regroup(true, kind, parent_array, rotation, translation),
        body_link=np.array(body_link, dtype=np.int64),
        dof_parent=np.array(dof_parent, dtype=np.int64),
        dof_link=np.repeat(np.arange(n), [k.nv for k in kinds]).astype(np.int64),
        armature=per_velocity("armature"),
        damping=per_velocity("damping"),
        coulomb=per_velocity("coulomb"),
        stiffness=per_velocity("stiffness"),
        spring_rest=per_velocity("spring_rest"),
        gravity=np.array(mechanism.gravity),
        **_ties_and_lines(mechanism, axes, body_link, parents),
    )


def _has_limit(stiffness: float, lower: float, upper: float) -> float:
    """1.0 for a line of one piece whose force k r + c dr/dt does not depend on where its points come together from."""
    return 1.0 if stiffness == 0.0 or lower == upper == 0.0 else 0.0


def _ties_and_lines(
    mechanism: Mechanism, axes: list[Floats], body_link: list[int], parents: list[int]
) -> dict[str, Any]:
    """Frames of springs, tendons, loops and pushes on their links, with their numbers."""
    rows: list[dict[str, Any]] = []
    lines: list[tuple[float, ...]] = []

    def end(body: str, T: Floats) -> tuple[int, Floats, Floats]:
        frame = mechanism.frame(body)
        T = matmul(frame.pose.matrix, T)
        if frame.body < 0:
            return -1, T[:3, :3], T[:3, 3]
        link = body_link[frame.body]
        return link, matmul(axes[link].T, T[:3, :3]), matmul(axes[link].T, T[:3, 3])

    def add_element(a: tuple[int, Floats, Floats], b: tuple[int, Floats, Floats], **numbers: Any) -> None:
        row = {"link_a": a[0], "rotation_a": a[1], "position_a": a[2]}
        rows.append(row | {"link_b": b[0], "rotation_b": b[1], "position_b": b[2]} | numbers)

    def piece(body_a: str, point_a: Vector3, body_b: str, point_b: Vector3, factor: float) -> None:
        a, b = end(body_a, placement(translation=point_a)), end(body_b, placement(translation=point_b))
        add_element(a, b, element_factor=factor, element_pull=factor if a[0] != b[0] else 0.0)

    for spring in mechanism.springs:
        piece(spring.body_a, spring.point_a, spring.body_b, spring.point_b, 1.0)
        rest = spring.rest_length
        rows[-1]["element_round"] = _has_limit(spring.stiffness, rest, rest)
        lines.append((len(rows) - 1, len(rows), spring.stiffness, rest, rest, spring.damping))
    for tendon in mechanism.tendons:
        if not tendon.exerts_force:
            continue
        first = len(rows)
        for segment in tendon.segments:
            piece(segment.body_a, segment.point_a, segment.body_b, segment.point_b, segment.factor)
        for joint, factor in tendon.joints:
            link = body_link[mechanism.joint_index(joint)]
            still = (np.eye(3), np.zeros(3))
            add_element((parents[link], *still), (link, *still), element_joint=factor)
        if len(tendon.segments) == 1 and not tendon.joints:
            rows[-1]["element_round"] = _has_limit(tendon.stiffness, *tendon.rest)
        lines.append((first, len(rows), tendon.stiffness, *tendon.rest, tendon.damping))
    n_springs = len(rows)
    for loop in mechanism.loops:
        add_element(end(loop.body_a, loop.pose_a.matrix), end(loop.body_b, loop.pose_b.matrix))
    for body, T, numbers in _pushes(mechanism):
        a = end(body, T)
        if a[0] >= 0:
            add_element(a, (-1, np.eye(3), np.zeros(3)), **numbers)

    def column(name: str, *shape: int) -> Floats:
        values = [row.get(name, np.zeros(shape)) for row in rows]
        return np.array(values, dtype=np.float64).reshape(len(rows), *shape)

    shapes: dict[str, tuple[int, ...]] = {
        **{f"rotation_{which}": (3, 3) for which in "ab"},
        **{f"position_{which}": (3,) for which in "ab"},
        **dict.fromkeys(("element_factor", "element_pull", "element_joint", "element_round"), ()),
        "push_lift": (3,),
        "push_drag": (8,),
        "push_wind": (3,),
    }
    numbers = np.array(lines, dtype=np.float64).reshape(-1, 6)
    return {
        "two_body": TwoBodyElements(
            link_a=np.array([row["link_a"] for row in rows], dtype=np.int64),
            link_b=np.array([row["link_b"] for row in rows], dtype=np.int64),
            **{name: column(name, *shape) for name, shape in shapes.items()},
        ),
        "lines": Lines(
            numbers[:, 0].astype(np.int64), numbers[:, 1].astype(np.int64), *(numbers[:, k] for k in range(2, 6))
        ),
        "n_springs": n_springs,
        "n_loops": len(mechanism.loops),
        "n_pushes": len(rows) - n_springs - len(mechanism.loops),
    }


def _pushes(mechanism: Mechanism) -> Iterator[tuple[str, Floats, dict[str, Any]]]:
    """Body, frame on it and numbers of each force that acts on one body: gravity compensation, drag of a fluid."""
    if not mechanism.compensation_by_actuators:
        for body in mechanism.bodies:
            if body.gravity_compensation and body.mass:
                lift = -body.gravity_compensation * body.mass * np.array(mechanism.gravity)
                yield body.name, placement(translation=body.center_of_mass), {"push_lift": lift}
    fluid = mechanism.fluid
    if fluid is None or not (fluid.density or fluid.viscosity):
        return
    for box in fluid.boxes:
        x, y, z = box.size
        mean = (x + y + z) / 3.0
        drag = [3.0 * np.pi * mean * fluid.viscosity, np.pi * mean**3 * fluid.viscosity]
        drag += [0.5 * fluid.density * area for area in (y * z, z * x, x * y)]
        drag += [fluid.density * a * (b**4 + c**4) / 64.0 for a, b, c in ((x, y, z), (y, z, x), (z, x, y))]
        yield box.body, box.pose.matrix, {"push_drag": drag, "push_wind": fluid.wind}


def _primitives(joint: Joint) -> list[tuple[Kind, Floats, float]]:
    """Primitive joints in a row: kind, rotation from the link's axes to the body's, pitch."""
    turn, pitch = axis_to_z_rotation(joint.axis), getattr(joint, "pitch", 0.0)
    return [(_KINDS[kind], _axes(joint, letter, turn), pitch) for kind, letter in joint.motions]


def _axes(joint: Joint, letter: str, turn: Floats) -> Floats:
    """Rotation to the body's axes from those of a link whose z axis is a direction of the joint."""
    match letter:
        case "z":
            return turn
        case "x":
            return matmul(turn, axis_to_z_rotation((1.0, 0.0, 0.0)))
        case "y":
            return matmul(turn, axis_to_z_rotation((0.0, 1.0, 0.0)))
        case "second":
            return axis_to_z_rotation(joint.second_axis)  # type: ignore[attr-defined]
        case _:
            return np.eye(3)


def _clean(rotation: Floats) -> Floats:
    """Set entries within rounding of 0 and ±1 to these values, so that they vanish from specialised code."""
    snapped = np.where(np.abs(rotation - np.round(rotation)) < 4e-16, np.round(rotation), rotation)
    return snapped + 0.0


def _starts(lengths: list[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64)


def _link_inertias(mechanism: Mechanism, n: int, axes: list[Floats], body_link: list[int]) -> Inertias:
    """True inertias of the links, bodies behind fixed joints added to the ones that carry them."""
    mass, moment, second = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
    for body in mechanism.bodies:
        frame = mechanism.frames[body.name]
        if frame.body < 0:
            continue
        link = body_link[frame.body]
        if isinstance(body.joint, Fixed):
            T = frame.pose.matrix
            R, p = matmul(axes[link].T, T[:3, :3]), matmul(axes[link].T, T[:3, 3])
        else:
            R, p = axes[link].T, np.zeros(3)
        inertia = body.inertia_matrix
        c = p + matmul(R, np.array(body.center_of_mass))
        mass[link] += body.mass
        moment[link] += body.mass * c
        about_center = matmul(R, 0.5 * np.trace(inertia) * np.eye(3) - inertia, R.T)
        second[link] += about_center + body.mass * np.outer(c, c)
    return Inertias(mass, moment, _pack(second))


def regroup(true: Inertias, kind: Ints, parent: Ints, rotation: Floats, translation: Floats) -> Inertias:
    """Give to the parent what a joint cannot tell from the parent's own mass, from the tips to the base."""
    mass, moment, second = true.mass.copy(), true.moment.copy(), _unpack(true.second_moment)
    for link in range(len(kind) - 1, -1, -1):
        on_axis = np.zeros(3)  # what the mass given away has as first moment
        beyond = np.zeros((3, 3))  # and as second moments
        given = 0.0
        match kind[link]:
            case Kind.REVOLUTE:
                given, on_axis[2], beyond[2, 2] = mass[link], moment[link, 2], second[link, 2, 2]
                mass[link] = moment[link, 2] = second[link, 2, 2] = 0.0
            case Kind.PRISMATIC:
                beyond[:] = second[link]
                second[link] = 0.0
            case Kind.HELICAL:
                beyond[2, 2] = second[link, 2, 2]
                second[link, 2, 2] = 0.0
            case Kind.SPHERICAL:
                given = mass[link]
                mass[link] = 0.0
        if parent[link] >= 0:
            R, p = rotation[link], translation[link]
            turned = matmul(R, on_axis)
            mass[parent[link]] += given
            moment[parent[link]] += given * p + turned
            second[parent[link]] += (
                matmul(R, beyond, R.T) + np.outer(turned, p) + np.outer(p, turned) + given * np.outer(p, p)
            )
    return Inertias(mass, moment, _pack(second))


def _pack(matrices: Floats) -> Floats:
    return np.stack([matrices[:, i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))], axis=1).reshape(
        -1, 6
    )


def _unpack(packed: Floats) -> Floats:
    return packed[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)
