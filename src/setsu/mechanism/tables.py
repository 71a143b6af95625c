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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setsu.elementary import matmul
from setsu.mechanism.joints import Joint
from setsu.spatial import axis_to_z_rotation, placement

if TYPE_CHECKING:
    from setsu.mechanism.elements import Pose, Vector3
    from setsu.mechanism.record import Mechanism

__all__ = [
    "Inertias",
    "Kind",
    "Lines",
    "Tables",
    "TwoBodyElements",
    "flat_numbers",
    "make_tables",
    "pose_matrices",
    "regroup",
]

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
    carriers = [mechanism.frames[body.parent] for body in moving]
    T_joint = matmul(
        pose_matrices([carrier.pose for carrier in carriers]), pose_matrices([body.pose for body in moving])
    )
    primitives = _all_primitives([body.joint for body in moving])
    kinds = [kind for row in primitives for kind, _, _ in row]
    axes = np.array([turn for row in primitives for _, turn, _ in row]).reshape(-1, 3, 3)
    counts = np.array([len(row) for row in primitives], dtype=np.int64)
    n, body_link = len(kinds), np.cumsum(counts) - 1
    first = body_link - counts + 1
    parent = np.arange(n) - 1
    parent[first] = _links_of([carrier.body for carrier in carriers], body_link)
    # From the axes of the link before to those of the joint's frame, at its origin but for the first link of a body.
    before = _turned_back(axes, parent, np.broadcast_to(np.eye(3), (n, 3, 3)))
    translation = np.zeros((n, 3))
    before[first] = _turned_back(axes, parent[first], T_joint[:, :3, :3])
    translation[first] = _turned_back(axes, parent[first], T_joint[:, :3, 3:])[..., 0]
    rotation = np.ascontiguousarray(_clean(matmul(before, axes)))

    kind = np.array(kinds, dtype=np.int64)
    last = np.zeros(n)
    last[body_link] = 1.0
    v_index = _starts([k.nv for k in kinds])
    true = _link_inertias(mechanism, axes, body_link)
    dof_parent: list[int] = []
    last_dof: list[int] = []  # of each link
    for k, above in zip(kinds, parent.tolist(), strict=True):
        end = last_dof[above] if above >= 0 else -1
        for _ in range(k.nv):
            dof_parent.append(end)
            end = len(dof_parent) - 1
        last_dof.append(end)
    joints = [body.joint for body in moving]

    def per_velocity(key: str) -> Floats:
        return flat_numbers(map(attrgetter(key), joints))

    return Tables(
        kind=kind,
        parent=parent,
        q_index=_starts([k.nq for k in kinds]),
        v_index=v_index,
        body=np.repeat(np.arange(len(moving)), counts),
        is_body=last,
        carried=(parent >= 0).astype(np.float64),
        rotation=rotation,
        translation=translation,
        axes=axes,
        pitch=np.array([pitch for row in primitives for _, _, pitch in row]),
        true=true,
        regrouped=regroup(true, kind, parent, rotation, translation),
        body_link=body_link,
        dof_parent=np.array(dof_parent, dtype=np.int64),
        dof_link=np.repeat(np.arange(n), [k.nv for k in kinds]).astype(np.int64),
        armature=per_velocity("armature"),
        damping=per_velocity("damping"),
        coulomb=per_velocity("coulomb"),
        stiffness=per_velocity("stiffness"),
        spring_rest=per_velocity("spring_rest"),
        gravity=np.array(mechanism.gravity),
        **_ties_and_lines(mechanism, axes, body_link, parent),
    )


def flat_numbers(rows: Iterable[Iterable[float]]) -> Floats:
    """Numbers of many short rows one after the other: several times quicker than `np.array` of the rows."""
    return np.fromiter(chain.from_iterable(rows), dtype=np.float64)


def pose_matrices(poses: Sequence[Pose]) -> Floats:
    """Poses as matrices, (n, 4, 4)."""
    different = {id(pose): pose for pose in poses}  # frames of moving bodies share one
    T = np.zeros((len(different), 4, 4))
    T[:, :3, :3] = flat_numbers(pose.rotation for pose in different.values()).reshape(-1, 3, 3)
    T[:, :3, 3] = flat_numbers(pose.translation for pose in different.values()).reshape(-1, 3)
    T[:, 3, 3] = 1.0
    if len(different) == len(poses):
        return T
    place = {key: k for k, key in enumerate(different)}
    return T[[place[id(pose)] for pose in poses]]


def _links_of(bodies: Sequence[int], body_link: Ints) -> Ints:
    """Last links of moving bodies, -1 for the world."""
    return np.append(body_link, -1)[np.array(bodies, dtype=np.int64)]


def _turned_back(axes: Floats, link: Ints, columns: Floats) -> Floats:
    """Columns (n, 3, k) in body axes, or in those of the world where the link is -1, in the axes of links (n,)."""
    found = np.array(columns)
    on = link >= 0
    found[on] = matmul(np.swapaxes(axes[link[on]], 1, 2), columns[on])
    return found


def _has_limit(stiffness: float, lower: float, upper: float) -> float:
    """1.0 for a line of one piece whose force k r + c dr/dt does not depend on where its points come together from."""
    return 1.0 if stiffness == 0.0 or lower == upper == 0.0 else 0.0


def _ties_and_lines(mechanism: Mechanism, axes: Floats, body_link: Ints, parents: Ints) -> dict[str, Any]:
    """Frames of springs, tendons, loops and pushes on their links, with their numbers."""
    rows: list[dict[str, Any]] = []
    lines: list[tuple[float, ...]] = []

    def ends(bodies: Sequence[str], T: Floats) -> tuple[Ints, Floats, Floats]:
        frames = [mechanism.frame(body) for body in bodies]
        links = _links_of([frame.body for frame in frames], body_link)
        T = matmul(pose_matrices([frame.pose for frame in frames]), T)
        found = _turned_back(axes, links, T[:, :3])
        return links, found[..., :3], found[..., 3]

    def end(body: str, T: Floats) -> tuple[int, Floats, Floats]:
        link, rotation, position = ends([body], np.asarray(T)[None])
        return int(link[0]), rotation[0], position[0]

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
            link = int(body_link[mechanism.joint_index(joint)])
            still = (np.eye(3), np.zeros(3))
            add_element((int(parents[link]), *still), (link, *still), element_joint=factor)
        if len(tendon.segments) == 1 and not tendon.joints:
            rows[-1]["element_round"] = _has_limit(tendon.stiffness, *tendon.rest)
        lines.append((first, len(rows), tendon.stiffness, *tendon.rest, tendon.damping))
    n_springs = len(rows)
    loops, of_loops = mechanism.loops, {}
    for side in "ab":
        poses = pose_matrices([getattr(loop, f"pose_{side}") for loop in loops])
        found = ends([getattr(loop, f"body_{side}") for loop in loops], poses)
        of_loops |= dict(zip((f"link_{side}", f"rotation_{side}", f"position_{side}"), found, strict=True))
    rows += [{} for _ in loops]
    for body, T, numbers in _pushes(mechanism):
        a = end(body, T)
        if a[0] >= 0:
            add_element(a, (-1, np.eye(3), np.zeros(3)), **numbers)

    def column(name: str, *shape: int) -> Floats:
        values = np.zeros((len(rows), *shape))
        for k, row in enumerate(rows):
            if name in row:
                values[k] = row[name]
        if name in of_loops:
            values[n_springs : n_springs + len(loops)] = of_loops[name]
        return values

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
            link_a=column("link_a").astype(np.int64),
            link_b=column("link_b").astype(np.int64),
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


def _all_primitives(joints: Sequence[Joint]) -> list[list[tuple[Kind, Floats, float]]]:
    """Primitive joints in a row, of each joint: kind, rotation from the link's axes to the body's, pitch."""
    known: dict[Any, list[tuple[Kind, Floats, float]]] = {}
    found = []
    for joint in joints:
        key = type(joint), joint.axis, getattr(joint, "second_axis", None), getattr(joint, "pitch", 0.0)
        if key not in known:
            turn = axis_to_z_rotation(joint.axis)
            known[key] = [(_KINDS[kind], _axes(joint, letter, turn), key[-1]) for kind, letter in joint.motions]
        found.append(known[key])
    return found


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


def _link_inertias(mechanism: Mechanism, axes: Floats, body_link: Ints) -> Inertias:
    """True inertias of the links, bodies behind fixed joints added to the ones that carry them."""
    frames = mechanism.frames
    bodies = [body for body in mechanism.bodies if frames[body.name].body >= 0]
    link = _links_of([frames[body.name].body for body in bodies], body_link)
    T = _turned_back(axes, link, pose_matrices([frames[body.name].pose for body in bodies])[:, :3])
    R, p = T[..., :3], T[..., 3]
    own_mass = np.array([body.mass for body in bodies], dtype=np.float64)
    center = flat_numbers(body.center_of_mass for body in bodies).reshape(-1, 3, 1)
    inertia = _unpack(flat_numbers(body.inertia for body in bodies).reshape(-1, 6))
    c = p + matmul(R, center)[..., 0]
    half_trace = 0.5 * (inertia[:, 0, 0] + inertia[:, 1, 1] + inertia[:, 2, 2])
    about_center = matmul(R, half_trace[:, None, None] * np.eye(3) - inertia, np.swapaxes(R, 1, 2))
    mass, moment, second = np.zeros(len(axes)), np.zeros((len(axes), 3)), np.zeros((len(axes), 3, 3))
    np.add.at(mass, link, own_mass)
    np.add.at(moment, link, own_mass[:, None] * c)
    np.add.at(second, link, about_center + own_mass[:, None, None] * _outer(c, c))
    return Inertias(mass, moment, _pack(second))


def regroup(true: Inertias, kind: Ints, parent: Ints, rotation: Floats, translation: Floats) -> Inertias:
    """Give to the parent what a joint cannot tell from the parent's own mass, from the tips to the base."""
    mass, moment, second = true.mass.copy(), true.moment.copy(), _unpack(true.second_moment)
    turns, travels = kind == Kind.REVOLUTE, kind == Kind.PRISMATIC
    gives_mass, gives_zz = turns | (kind == Kind.SPHERICAL), turns | (kind == Kind.HELICAL)
    for links in _from_tips(parent):
        given = np.where(gives_mass[links], mass[links], 0.0)
        on_axis = np.zeros((len(links), 3, 1))  # what the mass given away has as first moment
        on_axis[:, 2, 0] = np.where(turns[links], moment[links, 2], 0.0)
        beyond = np.where(travels[links, None, None], second[links], 0.0)  # and as second moments
        beyond[:, 2, 2] += np.where(gives_zz[links], second[links, 2, 2], 0.0)
        mass[links[gives_mass[links]]] = 0.0
        moment[links[turns[links]], 2] = 0.0
        second[links[gives_zz[links]], 2, 2] = 0.0
        second[links[travels[links]]] = 0.0
        on = parent[links] >= 0
        to, R, p, given = parent[links[on]], rotation[links[on]], translation[links[on]], given[on]
        turned = matmul(R, on_axis[on])[..., 0]
        np.add.at(mass, to, given)
        np.add.at(moment, to, given[:, None] * p + turned)
        shifted = matmul(R, beyond[on], np.swapaxes(R, 1, 2)) + _outer(turned, p) + _outer(p, turned)
        np.add.at(second, to, shifted + given[:, None, None] * _outer(p, p))
    return Inertias(mass, moment, _pack(second))


def _from_tips(parent: Ints) -> Iterator[Ints]:
    """Links that are equally far from the world, the farthest ones first; among them the last first."""
    depth: list[int] = []
    for above in parent.tolist():
        depth.append(depth[above] + 1 if above >= 0 else 0)
    backwards = np.arange(len(depth))[::-1]
    order = backwards[np.argsort(-np.array(depth, dtype=np.int64)[::-1], kind="stable")]
    return iter(np.split(order, np.cumsum(np.bincount(depth)[::-1])[:-1]) if depth else ())


def _outer(a: Floats, b: Floats) -> Floats:
    """Products a bᵀ of vectors (n, 3)."""
    return a[:, :, None] * b[:, None, :]


def _pack(matrices: Floats) -> Floats:
    return np.stack([matrices[:, i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))], axis=1).reshape(
        -1, 6
    )


def _unpack(packed: Floats) -> Floats:
    return packed[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)
