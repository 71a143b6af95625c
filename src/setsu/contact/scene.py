"""The flat arrays compiled contact code reads and works in: one set per run.

Records (NumPy structured arrays) and matrices of rows keep the number of arguments small: Numba compiles functions of a
few arrays in a fraction of the time that functions of many take.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.contact.cone_problem import MOST_ROUNDS, MOST_ROUNDS_OF_FEW, make_cone_problem
from setsu.contact.environment import Environment
from setsu.contact.ground import MATERIAL, material_value
from setsu.contact.orthonormal_rows import padded
from setsu.contact.tree import ROW, number_trees
from setsu.mechanism import Mechanism

__all__ = [
    "BEFORE",
    "DENSE",
    "FEW_ROUNDS",
    "FREE",
    "LOAD",
    "NODE",
    "N_BODIES",
    "N_CONTACTS",
    "N_PAIRS",
    "OVERFLOW",
    "PAIR",
    "PAIRS_KEPT",
    "POINTS_KEPT",
    "ROUNDS_LEFT",
    "ROUNDS_OF_STEP",
    "SOFT",
    "SOLUTION",
    "STOP",
    "TURNING",
    "TWIST",
    "UNCONVERGED",
    "WRENCH",
    "X_PART",
    "X_SIZE",
    "Problem",
    "Scene",
    "has_turning_friction",
    "make_problem",
    "make_scene",
    "make_stops",
    "stopped_velocities",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Records = Any
# A workspace inside another one: compiled code sees its fields, and it holds nothing from one step to the next.
NestedWorkspace = Any

# A point may touch a floor and two walls at once.
_FACES_PER_POINT = 3
# Trees up to which a step has MOST_ROUNDS_OF_FEW rounds.
_FEW_TREES = 8
# Points of a body that detection looks at together.
_GROUP_SIZE = 24

# `point` of contacts that are none: between bodies, at the end of a joint's travel.
STOP = -2

# Rows of Problem.vectors: six numbers per body in contact, world axes at body origins.
BEFORE = 0  # twists at the beginning of the step
FREE = 1  # twists without contact impulses
TWIST = 2  # twists with them
WRENCH = 3  # wrench impulses of the contacts
LOAD, SOLUTION, X_PART = 4, 5, 6  # of a linear system

# Entries of Problem.counts: contacts, bodies in contact and pairs of bodies; 1 where the problem is dense; points and
# pairs remembered; steps that did not converge so far; 1 where there was no room for all pairs; contacts with torsional
# or rolling friction; soft ones; rounds that solvers may still take in this step, and in a step;
# velocities of the node where the problem is dense.
N_CONTACTS, N_BODIES, N_PAIRS, DENSE, POINTS_KEPT, PAIRS_KEPT, UNCONVERGED, OVERFLOW, TURNING, SOFT = range(10)
ROUNDS_LEFT, ROUNDS_OF_STEP, X_SIZE = 10, 11, 12
# Rounds that a solve needs to have left: with fewer none is begun where one was solved in this step.
FEW_ROUNDS = 60

_BODY = np.dtype(
    [
        ("path_start", "i8"),  # in path: velocities that move the body, from the base outward
        ("path_stop", "i8"),
        ("group_start", "i8"),  # in groups
        ("group_stop", "i8"),
        ("center", "f8", 3),  # ball around all contact points, body frame, m
        ("radius", "f8"),
        ("axis", "i8"),  # that it stands for, of a joint that closes a loop (joint_stops.py), -1: none
    ]
)
_GROUP = np.dtype(
    [
        ("point_start", "i8"),  # in group_points
        ("point_stop", "i8"),
        ("center", "f8", 3),  # ball around the points, body frame, m
        ("radius", "f8"),
    ]
)
_POINT = np.dtype(
    [
        ("body", "i8"),
        ("position", "f8", 3),  # m, frame of the moving body
        ("radius", "f8"),
        ("static_friction", "f8"),
        ("kinetic_friction", "f8"),
        ("restitution", "f8"),
        ("torsional", "f8"),  # m
        ("rolling", "f8"),  # m
        ("stiffness", "f8"),  # N/m, inf: rigid
        ("damping", "f8"),  # N s/m
        ("dissipation", "f8"),  # s/m
        ("face", "i8", _FACES_PER_POINT),  # what it touched then, -1: nothing
        ("slides", "i8", _FACES_PER_POINT),
        ("steps", "i8", _FACES_PER_POINT),  # how many steps it has touched it
        ("impulse", "f8", (_FACES_PER_POINT, 3)),
        ("couple", "f8", (_FACES_PER_POINT, 3)),
        ("bend", "f8", (_FACES_PER_POINT, 3)),  # of the contact's way, and one step earlier
        ("former", "f8", (_FACES_PER_POINT, 3)),
    ]
)
_STOP = np.dtype(
    [
        ("velocity", "i8"),  # which of the mechanism
        ("coordinate", "i8"),
        ("axis", "i8"),  # of a joint that closes a loop, among the free ones of those; -1: a joint of the tree
        ("sign", "f8"),  # +1: lower limit, -1: upper limit
        ("limit", "f8"),  # rad or m
        ("lever", "f8"),  # m per rad, or 1
        ("body", "i8"),  # that stands for the joint in Scene.bodies
        ("listed", "i8"),  # 1: among the contacts of this step
        ("touching", "i8"),  # 1: it pushed in the step before
        ("impulse", "f8"),  # N s, of the step before
    ]
)
_POLYGON = np.dtype(
    [
        ("normal", "f8", 3),
        ("offset", "f8"),
        ("edge_start", "i8"),
        ("edge_stop", "i8"),
        ("static_friction", "f8"),  # inf: that of the point
        ("kinetic_friction", "f8"),
        ("restitution", "f8"),
        ("torsional", "f8"),  # m
        ("rolling", "f8"),  # m
        ("stiffness", "f8"),  # N/m, inf: rigid
        ("damping", "f8"),  # N s/m
        ("dissipation", "f8"),  # s/m
        ("surface", "f8", 3),  # m/s: velocity of the surface
    ]
)
NODE = np.dtype([("low", "f8", 3), ("high", "f8", 3), ("first", "i8")])
PAIR = np.dtype(
    [
        ("body_a", "i8"),
        ("body_b", "i8"),
        ("shapes", "i8"),  # number of the two shapes among those that may touch
        ("log", "i8"),  # number of the two bodies in the log (pair_log.py)
        ("gap", "f8"),  # m
        ("position", "f8", 3),  # m, world
        ("follow", "f8"),  # part of the way of body a that the place goes along, 1 - that of body b's
        ("normal", "f8", 3),  # from body b towards body a
        ("static_friction", "f8"),
        ("kinetic_friction", "f8"),
        ("restitution", "f8"),
        ("torsional", "f8"),  # m
        ("rolling", "f8"),  # m
        ("stiffness", "f8"),  # N/m, inf: rigid
        ("damping", "f8"),  # N s/m
        ("dissipation", "f8"),  # s/m
        ("surface", "f8", 3),  # m/s, world axes: velocity of surface b beyond that of the body
    ]
)
_KEPT = np.dtype(  # world axes
    [
        ("shapes", "i8"),
        ("next", "i8"),  # in its bucket, -1: none
        ("taken", "i8"),
        ("position", "f8", 3),
        ("impulse", "f8", 3),
        ("couple", "f8", 3),
    ]
)
_CONTACT = np.dtype(
    [
        ("point", "i8"),  # contact point, -1 for a pair of bodies, STOP
        ("face", "i8"),  # polygon, or number of the pair or stop
        ("body_a", "i8"),
        ("body_b", "i8"),  # -1: the environment
        ("hub_a", "i8"),
        ("hub_b", "i8"),
        ("slides", "i8"),  # 1: kinetic friction
        ("bounces", "i8"),  # 1: restitution acts in this step
        ("gap", "f8"),  # m, at the beginning of the step
        ("gap_next", "f8"),  # m, at its end
        ("offset", "f8"),  # m: of the plane that a point is held in front of, along the normal
        ("position", "f8", 3),  # m, world, at the beginning of the step
        ("follow", "f8"),  # part of the way of body a that the place of a pair goes along (convex_tables.py)
        ("acts", "f8", 3),  # m, world, where the force acts, in the middle of the step
        ("axes", "f8", (3, 3)),  # rows: normal towards body a, two tangents
        ("arm_a", "f8", 3),  # m, world axes, from the reference point of the body
        ("arm_b", "f8", 3),
        ("scale", "f8"),  # kg: impulse per velocity of this contact alone
        ("static_friction", "f8"),
        ("kinetic_friction", "f8"),
        ("restitution", "f8"),
        ("torsional", "f8"),  # m
        ("rolling", "f8"),  # m
        ("stiffness", "f8"),  # N/m, inf: rigid
        ("damping", "f8"),  # N s/m
        ("dissipation", "f8"),  # s/m
        ("friction", "f8"),  # the coefficient in force
        ("soft", "f8"),  # 1/kg: what a normal impulse adds to the velocity, 0: rigid (impulses.py)
        ("couple", "f8", 3),  # N m s, about the contact axes: torsional and rolling friction (turning_friction.py)
        ("agility", "f8", 3),  # 1/(kg m²): angular velocity for unit couples
        ("turn", "f8", 3),  # rad/s, about the contact axes, of a velocity at hand
        ("surface", "f8", 3),  # m/s, in the contact axes: velocity of surface b, of a conveyor belt
        ("before", "f8", 3),  # m/s, in the contact axes, at the beginning of the step
        ("free", "f8", 3),  # without contact impulses
        ("curvature", "f8", 3),  # what the straight step misses, over the step
        ("bend", "f8", 3),  # the same without what the contact's compliance adds, and one step earlier
        ("former", "f8", 3),
        ("steps", "i8"),  # how many steps the contact has been closed
        ("shift", "f8", 3),  # added to the velocity: gap over step, restitution, curvature
        ("velocity", "f8", 3),  # after the solve, shift included
        ("impulse", "f8", 3),  # N s
        ("trial", "f8", 3),
        ("change", "f8", 3),
        ("kept", "f8", 3),
        ("set_aside", "f8", (2, 3)),  # velocity and shift of the step, while its penetration recovery is solved
        ("recovered", "f8"),  # m: what that recovery adds to the gap
        ("start", "f8", 3),  # where a solver begins
        ("asked", "f8", 4),  # velocity without impulses and friction of the last solve of its island
        ("certified", "f8"),  # residual of that solve, -1: to be solved
        ("slope", "f8", 3),  # m/s: change of the velocity in a round of a solver
        ("ratio", "f8", (3, 3)),
        ("rest", "f8", 3),
        ("slide", "f8", (2, 3)),
    ]
)


class Scene(NamedTuple):
    """The tree of the mechanism, its contact points and what they remember, the polygons."""

    parent: Ints  # (nv,) velocity before this one on the way to the world
    dof_body: Ints  # (nv,) moving body of each velocity
    path: Ints
    bodies: Records  # those of the mechanism, then one for each joint with stops
    points: Records
    touching: Ints  # (n_points,) 0 apart, 1 sticking, 2 sliding, in the step before
    changes: Ints  # (n_points,) work space: points that may have begun or ceased to touch
    groups: Records  # contact points of a body that are near each other
    group_points: Ints  # points group after group
    polygons: Records
    edges: Floats  # (n_edges, 4) a·x <= d inside
    corners: Floats  # (n_edges, 3) where each edge begins, m
    nodes: Records  # tree of boxes: halves at first and first + 1; leaf: first = -1 - polygon
    scratch: Ints  # (2, ...) stack of a walk over the tree, polygons found
    stops: Records
    soft: Ints  # (1,) 1: points or polygons are soft


class Problem(NamedTuple):
    """Contacts of one step and the bodies that take part in them (the contact bodies), coupled through the mechanism.

    x are coordinates in which the kinetic energy is ½|x|²: of the velocities of one tree, or where rows hold, of those
    motions that contacts change (dense.py).
    The last array serves such problems alone.
    """

    INNER = {"stiffness": (6, ROW), "own": (6, 6)}  # noqa: RUF012

    counts: Ints  # (13,) see N_CONTACTS and the names beside it
    contacts: Records
    pairs: Records  # contacts between bodies, found before the step
    kept: Records  # contacts between bodies in the step before
    bucket: Ints  # the first of `kept` with this remainder of `shapes`, -1: none
    bodies: Ints  # (n,) moving body at each position among the contact bodies
    contact_index: Ints  # (n,) position of each body there, -1: not in contact
    remembered: Ints  # points that touched something in the step before, or were near it
    vectors: Floats  # (7, d), d = max(6 n, nv)
    stiffness: Floats  # (n, 6, ROW) of each body's contacts
    root: Floats  # (n, 6, lanes) X: twist of the body = X x
    cones: NestedWorkspace  # of a ConeProblem: the island at hand
    own: Floats  # (n, 6, 6) X Xᵀ: twist of the body for unit wrench impulses on it


def make_stops(coordinate: Ints, velocity: Ints, axis: Ints, sign: Floats, limit: Floats) -> Records:
    """Return the stops of joints, (n,) each; see joint_stops.py. Levers are 1 until a run finds them."""
    stops = np.zeros(len(limit), dtype=_STOP)
    stops["coordinate"], stops["velocity"], stops["sign"] = coordinate, velocity, sign
    stops["axis"], stops["limit"], stops["lever"] = axis, limit, 1.0
    return stops


def make_scene(mechanism: Mechanism, environment: Environment, stops: Records) -> Scene:
    """Return the arrays of a mechanism in an environment, with stops of its joints (make_stops)."""
    m, tables = mechanism, mechanism.tables
    dof_body = np.ascontiguousarray(tables.body[tables.dof_link], dtype=np.int64)
    last = np.full(m.n_bodies, -1)
    for dof, body in enumerate(dof_body):
        last[body] = dof
    paths = []
    for dof in last:
        path: list[int] = []
        while dof >= 0:
            path.append(int(dof))
            dof = tables.dof_parent[dof]
        paths.append(path[::-1])
    points = _points(m)
    groups = [_grouped(points["position"], np.flatnonzero(points["body"] == index)) for index in range(m.n_bodies)]
    # Joints of the tree by their velocity, then those that close loops, which any velocity may move.
    number = np.where(stops["axis"] >= 0, m.nv + stops["axis"], stops["velocity"])
    joints = np.unique(number)
    stops["body"] = m.n_bodies + np.searchsorted(joints, number)
    paths += [paths[dof_body[joint]] if joint < m.nv else list(range(m.nv)) for joint in joints]
    groups += [[] for _ in joints]
    bodies = np.zeros(len(paths), dtype=_BODY)
    bodies["path_start"], bodies["path_stop"] = _ranges(paths)
    bodies["group_start"], bodies["group_stop"] = _ranges(groups)
    bodies["axis"] = -1
    bodies["axis"][m.n_bodies :] = np.maximum(joints - m.nv, -1)
    for body, parts in zip(bodies, groups, strict=True):
        if parts:
            _set_ball(body, points, np.concatenate(parts))
    members = [part for parts in groups for part in parts]
    flat_groups = np.zeros(len(members), dtype=_GROUP)
    flat_groups["point_start"], flat_groups["point_stop"] = _ranges(members)
    for group, part in zip(flat_groups, members, strict=True):
        _set_ball(group, points, part)
    flat = environment.tables
    polygons = np.zeros(len(flat.offset), dtype=_POLYGON)
    polygons["normal"], polygons["offset"] = flat.normal, flat.offset
    polygons["edge_start"], polygons["edge_stop"] = flat.edge_start[:-1], flat.edge_start[1:]
    for key in (*MATERIAL, "surface"):
        polygons[key] = getattr(flat, key)
    nodes = np.zeros(len(flat.node_first), dtype=NODE)
    nodes["low"], nodes["high"], nodes["first"] = flat.node_low, flat.node_high, flat.node_first
    return Scene(
        parent=tables.dof_parent,
        dof_body=dof_body,
        path=np.array([dof for path in paths for dof in path], dtype=np.int64),
        bodies=bodies,
        points=points,
        touching=np.zeros(max(1, len(points)), dtype=np.int64),
        changes=np.zeros(max(1, len(points)), dtype=np.int64),
        groups=flat_groups,
        group_points=np.concatenate([np.zeros(0, dtype=np.int64), *members]).astype(np.int64),
        polygons=polygons,
        edges=flat.edge,
        corners=flat.corner,
        nodes=nodes,
        scratch=np.zeros((2, len(nodes) + 2), dtype=np.int64),
        stops=stops,
        soft=np.array([int(any(np.isfinite(x["stiffness"]).any() for x in (points, polygons)))]),
    )


def stopped_velocities(scene: Scene) -> Ints:
    """A velocity of each body that stands for a joint with stops; for a joint that closes a loop, any: the last."""
    _, first = np.unique(scene.stops["body"], return_index=True)
    velocity = scene.stops["velocity"][first]
    return np.where(velocity >= 0, velocity, len(scene.dof_body) - 1)


def make_problem(
    scene: Scene, nv: int, n_pairs: int = 0, dense: bool = True, soft: bool = False, turning: bool = False
) -> Problem:
    """Return room for the contacts of a step: every point with three faces, all stops, `n_pairs` between bodies.

    dense: whether constraint rows may hold; soft: whether contacts may give way; turning: whether they may have
    torsional or rolling friction.
    """
    n_points, n, m = len(scene.points), max(1, len(scene.bodies)), max(1, nv)
    d = n if dense else 1
    n_contacts = max(1, _FACES_PER_POINT * n_points + len(scene.stops) + n_pairs)
    sizes = number_trees(scene.parent)[2]
    largest = m if dense else max(1, int(sizes.max()))
    # A soft contact is one more velocity of its tree (islands.py).
    room = n_contacts if soft else 0
    counts = np.zeros(13, dtype=np.int64)
    counts[[ROUNDS_LEFT, ROUNDS_OF_STEP]] = MOST_ROUNDS if len(sizes) > _FEW_TREES else MOST_ROUNDS_OF_FEW
    return Problem(
        counts=counts,
        contacts=np.zeros(n_contacts, dtype=_CONTACT),
        pairs=np.zeros(max(1, n_pairs), dtype=PAIR),
        kept=np.zeros(max(1, n_pairs), dtype=_KEPT),
        bucket=np.full(max(1, n_pairs), -1, dtype=np.int64),
        bodies=np.zeros(n, dtype=np.int64),
        contact_index=np.full(n, -1, dtype=np.int64),
        remembered=np.zeros(max(1, n_points), dtype=np.int64),
        vectors=np.zeros((7, max(6 * n, m))),
        stiffness=np.zeros((n, 6, ROW)),
        root=np.zeros((n, 6, padded(largest))),
        cones=make_cone_problem((2 if turning else 1) * n_contacts, len(sizes), largest + room, m + room),
        own=np.zeros((d, 6, 6)),
    )


def has_turning_friction(scene: Scene) -> bool:
    """Whether contact points or polygons have torsional or rolling friction."""
    given = [records[key] for records in (scene.points, scene.polygons) for key in ("torsional", "rolling")]
    return any(bool(((values > 0.0) & np.isfinite(values)).any()) for values in given)


def _points(m: Mechanism) -> Records:
    given = m.contact_points
    points = np.zeros(len(given), dtype=_POINT)
    frames = {name: m.frame(name) for name in {point.body for point in given}}
    poses = {name: frame.pose.matrix for name, frame in frames.items()}
    points["body"] = [frames[point.body].body for point in given]
    points["radius"] = [point.radius for point in given]
    for key in MATERIAL:
        points[key] = [material_value(point.material, key) for point in given]
    T = np.array([poses[point.body] for point in given]).reshape(-1, 4, 4)
    positions = np.array([point.position for point in given]).reshape(-1, 3)
    points["position"] = np.einsum("nij,nj->ni", T[:, :3, :3], positions) + T[:, :3, 3]
    points["face"] = -1
    return points


def _grouped(positions: Floats, members: Ints) -> list[Ints]:
    """The members of a body in groups of neighbours, by halves along the longest extent; [] for none."""
    if len(members) <= _GROUP_SIZE:
        return [members] if len(members) else []
    places = positions[members]
    order = np.argsort(places[:, np.ptp(places, axis=0).argmax()], kind="stable")
    half = len(members) // 2
    return [group for part in (order[:half], order[half:]) for group in _grouped(positions, np.sort(members[part]))]


def _set_ball(record: Records, points: Records, members: Ints) -> None:
    """Centre and radius of a ball around points of a body, their own radii included."""
    positions = points["position"][members]
    record["center"] = 0.5 * (positions.min(axis=0) + positions.max(axis=0))
    record["radius"] = (np.linalg.norm(positions - record["center"], axis=1) + points["radius"][members]).max()


def _ranges(lists: list) -> tuple[Ints, Ints]:
    ends = np.concatenate([[0], np.cumsum([len(entries) for entries in lists])]).astype(np.int64)
    return ends[:-1], ends[1:]
