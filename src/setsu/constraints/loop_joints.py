"""What a loop joint holds and what it leaves free, as constant tables over all loops of a mechanism.

Frame A sits on body_a, frame B on body_b; both coincide at joint coordinate 0. With
    V = [v, ω]   velocity of B's origin relative to body a, and angular velocity of b relative to a, in axes of A,
every row is c·V = 0 with a wrench c of length 6 in axes of A: the reaction of a on b at B's origin is the sum of λ c.

| joint | rows held (u: axis, e1 e2: normal to it) | free |
|---|---|---|
| Fixed | v, ω | |
| Revolute | v, e1·ω, e2·ω | u·ω |
| Prismatic | e1·v, e2·v, ω | u·v |
| Helical | e1·v, e2·v, e1·ω, e2·ω, u·v - pitch u·ω | u·ω |
| Cylindrical | e1·v, e2·v, e1·ω, e2·ω | u·v, u·ω |
| Universal | v, ĉ·ω with ĉ normal to both axes, so varying | both axis rates |
| Spherical | v | ω in axes of B |
| Planar | u·v, e1·ω, e2·ω | e1·v, e2·v, u·ω |
| Distance, PointOnCurve, Rolling | varying rows, see varying_rows.py | |
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.surface_code import SURFACE_NUMBERS, surface_numbers
from setsu.constraints.surfaces import ImplicitSurface
from setsu.elementary import matmul
from setsu.errors import InputError
from setsu.mechanism import (
    Distance,
    Joint,
    Loop,
    LoopConstraint,
    Mechanism,
    PointOnCurve,
    Rolling,
)
from setsu.mechanism.tables import flat_numbers, pose_matrices
from setsu.native.workspace import Workspace
from setsu.spatial import axis_to_z_rotation

__all__ = [
    "ASIDE",
    "FORWARD",
    "FROM_DISTANCE",
    "HEIGHT",
    "ON_SURFACE",
    "LoopConstants",
    "LoopTables",
    "chain_of",
    "loop_paths",
    "loop_tables",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PLAIN, SCREW, CROSS = 0, 1, 2
"""Kinds of loop rows: constant wrench; travel against turn; normal to both axes of a universal joint."""
FROM_DISTANCE, ON_SURFACE, HEIGHT, FORWARD, ASIDE = 10, 11, 12, 13, 14
"""Kinds of varying rows; their numbers: length; a surface (surface_code.py); radius, on_radius, 1 for a disc."""
ALONG, TURN, SCREW_TURN, FIRST_AXIS, SECOND_AXIS, BALL = 0, 1, 2, 3, 4, 5
"""Kinds of free axes: travel; turn; turn of a screw; the two axes of a universal joint; one of a ball's three."""


LoopConstants = namedtuple(
    "LoopConstants",
    "body_a body_b rotation_a origin_a rotation_b origin_b axis second_axis normal turn_locked turn_held cross_angle "
    "pitch row_start row_kind row_wrench row_numbers row_code free_start free_kind free_wrench",
)
"""Those of LoopTables that compiled code reads."""


@dataclass(frozen=True)
class LoopTables:
    """What the rows of n loops (compiled_loops.py) are made from: k held rows, f free axes; body -1 is the world."""

    names: tuple[str, ...]
    body_a: Ints  # (n,) moving body that carries frame A
    body_b: Ints
    rotation_a: Floats  # (n, 3, 3) frame A in the moving body's frame
    origin_a: Floats  # (n, 3)
    rotation_b: Floats
    origin_b: Floats
    axis: Floats  # (n, 3) in A (and in B)
    second_axis: Floats
    normal: Floats  # (n, 3) a direction normal to the axis, in A
    turn_locked: Ints  # (n,) whether no rotation at all is free
    turn_held: Ints  # (n,) whether a plain row holds a turn
    cross_angle: Floats  # (n, 2) sine and cosine of the angle between the axes of a universal joint
    pitch: Floats  # (n,) m/rad
    row_names: tuple[str, ...]
    row_loop: Ints  # (k,) loop each row belongs to
    row_start: Ints  # (n + 1,)
    row_kind: Ints  # (k,)
    row_wrench: Floats  # (k, 6) c in axes of A; not of universal and varying rows
    row_numbers: Floats  # (k, SURFACE_NUMBERS) and code of varying rows: varying_rows.py
    row_code: Ints  # (k,)
    free_loop: Ints  # (f,)
    free_start: Ints  # (n + 1,)
    free_kind: Ints  # (f,)
    free_wrench: Floats  # (f, 6) rate = row · V; not of universal and spherical axes
    damping: Floats  # (f,)
    coulomb: Floats
    stiffness: Floats
    spring_rest: Floats
    armature: Floats

    @cached_property
    def constants(self) -> LoopConstants:
        """For compiled code."""
        return LoopConstants(*(getattr(self, name) for name in LoopConstants._fields))

    @cached_property
    def workspace(self) -> Workspace:
        """The constants as an argument of compiled code."""
        return Workspace(self.constants)

    @cached_property
    def row_owner(self) -> Floats:
        """Ones (n, k) where a row belongs to a loop: sums over rows are products."""
        return (np.arange(len(self.names))[:, None] == self.row_loop).astype(np.float64)

    @cached_property
    def free_owner(self) -> Floats:
        """The same of free axes, (n, f)."""
        return (np.arange(len(self.names))[:, None] == self.free_loop).astype(np.float64)

    @property
    def has_joint_forces(self) -> bool:
        """Whether any loop joint has a damper, dry friction, a spring or a drive."""
        return any(forces.any() for forces in (self.damping, self.coulomb, self.stiffness, self.armature))


def loop_tables(mechanism: Mechanism) -> LoopTables:
    """Return the tables of all loops of a mechanism."""
    loops = mechanism.loops
    frames = [(mechanism.frame(loop.body_a), mechanism.frame(loop.body_b)) for loop in loops]
    stack_a = matmul(pose_matrices([a.pose for a, _ in frames]), pose_matrices([loop.pose_a for loop in loops]))
    stack_b = matmul(pose_matrices([b.pose for _, b in frames]), pose_matrices([loop.pose_b for loop in loops]))
    rows = _rows_of(loops)
    held = [(k, row) for k, (of_loop, _, _) in enumerate(rows) for row in of_loop]
    free = [(k, *row) for k, (_, of_loop, _) in enumerate(rows) for row in of_loop]
    numbers = np.zeros((len(held), SURFACE_NUMBERS))
    for place, (_, row) in enumerate(held):
        if row.numbers:
            numbers[place, : len(row.numbers)] = row.numbers
    every = np.arange(len(loops) + 1)
    row_loop, row_kind = _ints([k for k, _ in held]), _ints([row.kind for _, row in held])
    row_wrench, free_loop = _floats([row.wrench for _, row in held], 6), _ints([k for k, *_ in free])
    turning = np.abs(row_wrench[:, 3:]).max(axis=-1, initial=0.0) * (row_kind == PLAIN)
    axis = _floats([loop.joint.axis for loop in loops], 3)
    second_axis = _floats([getattr(loop.joint, "second_axis", loop.joint.axis) for loop in loops], 3)
    sine = np.linalg.norm(np.cross(axis, second_axis), axis=1)
    return LoopTables(
        names=tuple(loop.name for loop in loops),
        body_a=_ints([a.body for a, _ in frames]),
        body_b=_ints([b.body for _, b in frames]),
        rotation_a=stack_a[:, :3, :3].copy(),
        origin_a=stack_a[:, :3, 3].copy(),
        rotation_b=stack_b[:, :3, :3].copy(),
        origin_b=stack_b[:, :3, 3].copy(),
        axis=axis,
        second_axis=second_axis,
        normal=_floats([normal for _, _, normal in rows], 3),
        turn_locked=_ints([loop.joint.holds[1] == "xyz" for loop in loops]),
        turn_held=(np.bincount(row_loop, turning, len(loops)) > 0.0).astype(np.int64),
        cross_angle=np.stack([sine, (axis * second_axis).sum(1)], 1),
        pitch=np.array([getattr(loop.joint, "pitch", 0.0) for loop in loops], dtype=np.float64),
        row_names=tuple(f'loop "{loops[k].name}": {row.name}' for k, row in held),
        row_loop=row_loop,
        row_start=np.searchsorted(row_loop, every).astype(np.int64),
        row_kind=row_kind,
        row_wrench=row_wrench,
        row_numbers=numbers,
        row_code=_ints([row.code for _, row in held]),
        free_loop=free_loop,
        free_start=np.searchsorted(free_loop, every).astype(np.int64),
        free_kind=_ints([kind for _, kind, _ in free]),
        free_wrench=_floats([wrench for *_, wrench in free], 6),
        damping=_per_axis(loops, "damping"),
        coulomb=_per_axis(loops, "coulomb"),
        stiffness=_per_axis(loops, "stiffness"),
        spring_rest=_per_axis(loops, "spring_rest"),
        armature=_per_axis(loops, "armature"),
    )


def loop_paths(m: Mechanism, t: LoopTables) -> list[tuple[Ints, Floats]]:
    """Return, per loop, the velocities that move its two bodies against each other, and their signs.

    +1 those of body b, -1 those of body a; what moves both moves neither against the other and is left out.
    """
    kept = t.__dict__.get("_paths")
    if kept is not None:
        return kept
    parent, last = m.tables.dof_parent.tolist(), [where.stop - 1 for where in m.v_slices]
    paths = t.__dict__["_paths"] = []
    for a, b in zip(t.body_a.tolist(), t.body_b.tolist(), strict=True):
        of_a, of_b = (_chain(parent, last[body] if body >= 0 else -1) for body in (a, b))
        in_a, in_b = set(of_a), set(of_b)
        only_b, only_a = [d for d in of_b if d not in in_a], [d for d in of_a if d not in in_b]
        signs = np.array([1.0] * len(only_b) + [-1.0] * len(only_a))
        paths.append((_ints([*only_b, *only_a]), signs))
    return paths


def chain_of(m: Mechanism, body: int) -> list[int]:
    """Return the velocities that move a body, outermost first; none for the world, -1."""
    return _chain(m.tables.dof_parent, m.v_slices[body].stop - 1 if body >= 0 else -1)


def _chain(parent: Any, velocity: int) -> list[int]:
    chain = []
    while velocity >= 0:
        chain.append(int(velocity))
        velocity = parent[velocity]
    return chain


_ZERO = (0.0, 0.0, 0.0)
_XYZ = tuple(np.eye(3))
_LETTERS = {(1.0, 0.0, 0.0): "x", (0.0, 1.0, 0.0): "y", (0.0, 0.0, 1.0): "z"}


class _Row(NamedTuple):
    """A row that a joint holds; wrench: zeros of universal rows, in place of one that varies a force."""

    name: str
    wrench: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    kind: int = PLAIN
    numbers: Sequence[float] = ()
    code: int = 0


def _rows_of(loops: tuple[Loop, ...]) -> list[tuple[list[_Row], list[tuple[int, tuple[float, ...]]], Floats]]:
    """Held rows, kinds and rows of free axes, and a normal to the axis of each loop's joint; of equal joints once."""
    known: dict[Any, Any] = {}
    found = []
    for loop in loops:
        joint = loop.joint
        key: Any = type(joint), joint.axis, getattr(joint, "second_axis", None), getattr(joint, "pitch", 0.0)
        if isinstance(joint, LoopConstraint):
            key = id(joint)
        if key not in known:
            known[key] = _held_rows(loop), _free_rows(joint), _directions(joint)[0]
        found.append(known[key])
    return found


def _held_rows(loop: Loop) -> list[_Row]:
    match joint := loop.joint:
        case Distance():
            return [_Row("distance", kind=FROM_DISTANCE, numbers=[joint.length])]
        case PointOnCurve():
            try:
                surfaces = [(text, *surface_numbers(ImplicitSurface(text))) for text in joint.curve]
            except InputError as error:
                raise InputError(f'loop "{loop.name}" curve: {error}') from None
            return [_Row(f"{text} = 0", kind=ON_SURFACE, numbers=found, code=code) for text, found, code in surfaces]
        case Rolling():
            numbers = [joint.radius, joint.on_radius, float(joint.shape == "disc")]
            names = {"height": HEIGHT, "slip forward": FORWARD, "slip aside": ASIDE}
            return [_Row(name, kind=kind, numbers=numbers) for name, kind in names.items()]
    across = dict(zip("xyz", _directions(joint), strict=True))
    travel, turn = (_XYZ if held == "xyz" else [across[letter] for letter in held] for held in joint.holds)
    rows = [_Row(f"translation along {_name(d)}", (*map(float, d), *_ZERO)) for d in travel]
    rows += [_Row(f"rotation about {_name(d)}", (*_ZERO, *map(float, d))) for d in turn]
    if any(kind == "screw" for kind, _ in joint.motions):
        u, pitch = across["z"], joint.pitch  # type: ignore[attr-defined]
        rows.append(_Row("travel against turn", (*u, *(-pitch * u)), SCREW))
    return [*rows, _Row("rotation normal to both axes", (0.0,) * 6, CROSS)] if joint.has_cross else rows


def _free_rows(joint: Joint) -> list[tuple[int, tuple[float, ...]]]:
    """Kinds, and rates of the joint's own coordinates as rows on V: zeros where they vary with the configuration."""
    if joint.has_cross:
        return [(FIRST_AXIS, (0.0,) * 6), (SECOND_AXIS, (0.0,) * 6)]
    if not joint.has_axis:
        return [(BALL, (0.0,) * 6)] * joint.nv
    across = dict(zip("xyz", _directions(joint), strict=True))
    turn = SCREW_TURN if getattr(joint, "pitch", 0.0) else TURN
    return [
        (ALONG, (*across[letter], *_ZERO)) if kind == "travel" else (turn, (*_ZERO, *across[letter]))
        for kind, letter in joint.motions
    ]


def _directions(joint: Joint) -> Floats:
    """Two directions normal to the axis and the axis itself, as rows, (3, 3)."""
    return axis_to_z_rotation(joint.axis).T


def _name(direction: Floats) -> str:
    """x, y or z where the direction is one of frame A's axes, its numbers otherwise."""
    letter = _LETTERS.get(tuple(map(abs, direction.tolist())))
    if letter:
        return letter
    return "(" + ", ".join(f"{entry:.3g}" for entry in direction) + ")"


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _floats(rows: list, width: int) -> Floats:
    return flat_numbers(rows).reshape(-1, width)


def _per_axis(loops: tuple[Loop, ...], key: str) -> Floats:
    return flat_numbers(getattr(loop.joint, key) for loop in loops)
