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
    Spherical,
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


class LoopConstants(NamedTuple):
    """What the rows of n loops (compiled_loops.py) are made from: k rows, f free axes; body -1 is the world."""

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
    row_start: Ints  # (n + 1,)
    row_kind: Ints  # (k,)
    row_wrench: Floats  # (k, 6) c in axes of A; not of universal and varying rows
    row_numbers: Floats  # (k, SURFACE_NUMBERS) and code of varying rows: varying_rows.py
    row_code: Ints  # (k,)
    free_start: Ints  # (n + 1,)
    free_kind: Ints  # (f,)
    free_wrench: Floats  # (f, 6) rate = row · V; not of universal and spherical axes


@dataclass(frozen=True)
class LoopTables:
    """Arrays over loops (n), held rows (k) and free axes (f); body index -1 is the world."""

    names: tuple[str, ...]
    body_a: Ints  # (n,) moving body that carries frame A
    body_b: Ints
    rotation_a: Floats  # (n, 3, 3) frame A in the moving body's frame
    origin_a: Floats  # (n, 3)
    rotation_b: Floats
    origin_b: Floats
    axis: Floats  # (n, 3) in A (and in B)
    second_axis: Floats  # (n, 3)
    normal: Floats  # (n, 3) a direction normal to the axis, in A
    turn_locked: NDArray[np.bool_]  # (n,) no rotation at all is free
    row_loop: Ints  # (k,) loop each row belongs to
    row_wrench: Floats  # (k, 6) c in axes of A; overwritten at universal rows
    row_names: tuple[str, ...]
    helical_rows: Ints  # rows that tie travel to turn
    pitch: Floats  # (n,) m/rad
    universal_rows: Ints
    varying_rows: Ints  # rows of varying_rows.py, with their kinds, numbers and addresses of code
    varying_kind: Ints
    varying_numbers: Floats
    varying_code: Ints
    row_placed: NDArray[np.bool_]  # (k,) whether a row has a position error; rolling has rows without
    free_loop: Ints  # (f,)
    free_wrench: Floats  # (f, 6) rate = row · V; overwritten at universal and spherical axes
    universal_free: Ints  # (f_u,) first free axis of each universal loop, in the order of universal_rows
    spherical_free: Ints
    spherical_loops: Ints
    damping: Floats  # (f,)
    coulomb: Floats
    stiffness: Floats
    spring_rest: Floats
    armature: Floats

    @cached_property
    def universal_loops(self) -> Ints:
        """Loops closed by a universal joint."""
        return self.row_loop[self.universal_rows]

    @cached_property
    def constants(self) -> LoopConstants:
        """The same for compiled code."""
        n, k = len(self.names), len(self.row_loop)
        row_kind, row_code = np.full(k, PLAIN), np.zeros(k, dtype=np.int64)
        row_kind[self.helical_rows], row_kind[self.universal_rows] = SCREW, CROSS
        row_numbers = np.zeros((k, SURFACE_NUMBERS))
        for rows, of_varying in (
            (row_kind, self.varying_kind), (row_numbers, self.varying_numbers), (row_code, self.varying_code)
        ):  # fmt: skip
            rows[self.varying_rows] = of_varying
        turning = np.abs(self.row_wrench[:, 3:]).max(axis=-1, initial=0.0) * (row_kind == PLAIN)
        sine = np.linalg.norm(np.cross(self.axis, self.second_axis), axis=1)
        return LoopConstants(
            self.body_a, self.body_b, self.rotation_a, self.origin_a, self.rotation_b, self.origin_b,
            self.axis, self.second_axis, self.normal,
            turn_locked=self.turn_locked.astype(np.int64),
            turn_held=(np.bincount(self.row_loop, turning, n) > 0.0).astype(np.int64),
            cross_angle=np.stack([sine, (self.axis * self.second_axis).sum(1)], 1),
            pitch=self.pitch,
            row_start=np.searchsorted(self.row_loop, np.arange(n + 1)).astype(np.int64),
            row_kind=row_kind,
            row_wrench=self.row_wrench,
            row_numbers=row_numbers,
            row_code=row_code,
            free_start=np.searchsorted(self.free_loop, np.arange(n + 1)).astype(np.int64),
            free_kind=self._free_kinds(),
            free_wrench=self.free_wrench,
        )  # fmt: skip

    @cached_property
    def workspace(self) -> Workspace:
        """The constants as an argument of compiled code."""
        return Workspace(self.constants)

    def _free_kinds(self) -> Ints:
        kinds = np.where(np.abs(self.free_wrench[:, 3:]).max(axis=-1, initial=0.0) > 0.0, TURN, ALONG)
        kinds[(kinds == TURN) & (self.pitch[self.free_loop] != 0.0)] = SCREW_TURN
        kinds[self.universal_free], kinds[self.universal_free + 1] = FIRST_AXIS, SECOND_AXIS
        for k in range(3):
            kinds[self.spherical_free + k] = BALL
        return kinds.astype(np.int64)

    @property
    def has_joint_forces(self) -> bool:
        """Whether any loop joint has a damper, dry friction or a spring."""
        return bool(self.damping.any() or self.coulomb.any() or self.stiffness.any())


def loop_tables(mechanism: Mechanism) -> LoopTables:
    """Return the tables of all loops of a mechanism."""
    loops = mechanism.loops
    frames = [(mechanism.frame(loop.body_a), mechanism.frame(loop.body_b)) for loop in loops]
    stack_a = matmul(pose_matrices([a.pose for a, _ in frames]), pose_matrices([loop.pose_a for loop in loops]))
    stack_b = matmul(pose_matrices([b.pose for _, b in frames]), pose_matrices([loop.pose_b for loop in loops]))
    rows = _rows_of([loop.joint for loop in loops])
    held = [(k, *row) for k, (of_loop, _, _) in enumerate(rows) for row in of_loop]
    varying = [row for loop in loops for row in _varying(loop)]
    free = [(k, row) for k, (_, of_loop, _) in enumerate(rows) for row in of_loop]
    firsts = np.cumsum([0, *(loop.joint.nv for loop in loops)])
    universal = [k for k, loop in enumerate(loops) if loop.joint.has_cross]
    spherical = [k for k, loop in enumerate(loops) if isinstance(loop.joint, Spherical)]
    return LoopTables(
        names=tuple(loop.name for loop in loops),
        body_a=_ints([a.body for a, _ in frames]),
        body_b=_ints([b.body for _, b in frames]),
        rotation_a=stack_a[:, :3, :3].copy(),
        origin_a=stack_a[:, :3, 3].copy(),
        rotation_b=stack_b[:, :3, :3].copy(),
        origin_b=stack_b[:, :3, 3].copy(),
        axis=_floats([loop.joint.axis for loop in loops], 3),
        second_axis=_floats([getattr(loop.joint, "second_axis", loop.joint.axis) for loop in loops], 3),
        normal=_floats([normal for _, _, normal in rows], 3),
        turn_locked=np.array([loop.joint.holds[1] == "xyz" for loop in loops], dtype=bool),
        row_loop=_ints([k for k, *_ in held]),
        row_wrench=_floats([wrench for _, wrench, _ in held], 6),
        row_names=tuple(f'loop "{loops[k].name}": {name}' for k, _, name in held),
        helical_rows=_ints([row for row, (_, _, name) in enumerate(held) if name == _SCREW]),
        pitch=np.array([getattr(loop.joint, "pitch", 0.0) for loop in loops], dtype=np.float64),
        universal_rows=_ints([row for row, (_, _, name) in enumerate(held) if name == _CROSS]),
        varying_rows=_ints([row for row, (k, _, _) in enumerate(held) if isinstance(loops[k].joint, LoopConstraint)]),
        varying_kind=_ints([kind for kind, _, _ in varying]),
        varying_numbers=_floats([numbers for _, numbers, _ in varying], SURFACE_NUMBERS),
        varying_code=_ints([code for _, _, code in varying]),
        row_placed=np.array([name not in (_FORWARD, _ASIDE) for _, _, name in held], dtype=bool),
        free_loop=_ints([k for k, _ in free]),
        free_wrench=_floats([row for _, row in free], 6),
        universal_free=_ints([int(firsts[k]) for k in universal]),
        spherical_free=_ints([int(firsts[k]) for k in spherical]),
        spherical_loops=_ints(spherical),
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


_SCREW = "travel against turn"
_CROSS = "rotation normal to both axes"
_FORWARD, _ASIDE = "slip forward", "slip aside"
_ZERO = (0.0, 0.0, 0.0)
# In place of the wrench of a row that varies: a force.
_VARYING = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
_XYZ = tuple(np.eye(3))
_LETTERS = {(1.0, 0.0, 0.0): "x", (0.0, 1.0, 0.0): "y", (0.0, 0.0, 1.0): "z"}


def _rows_of(joints: list[Joint]) -> list[tuple[list[tuple[tuple[float, ...], str]], list[tuple[float, ...]], Floats]]:
    """Held rows, free rows and a normal to the axis of each joint; of equal joints once."""
    known: dict[Any, Any] = {}
    found = []
    for joint in joints:
        key: Any = type(joint), joint.axis, getattr(joint, "second_axis", None), getattr(joint, "pitch", 0.0)
        if isinstance(joint, LoopConstraint):
            key = id(joint)
        if key not in known:
            known[key] = _held_rows(joint), _free_rows(joint), _directions(joint)[0]
        found.append(known[key])
    return found


def _held_rows(joint: Joint) -> list[tuple[tuple[float, ...], str]]:
    """Wrench and name of each row a joint holds."""
    match joint:
        case Distance():
            return [(_VARYING, "distance")]
        case PointOnCurve():
            return [(_VARYING, f"{text} = 0") for text in joint.curve]
        case Rolling():
            return [(_VARYING, name) for name in ("height", _FORWARD, _ASIDE)]
    across = dict(zip("xyz", _directions(joint), strict=True))
    travel, turn = (_XYZ if held == "xyz" else [across[letter] for letter in held] for held in joint.holds)
    rows = [*_translations(*travel), *_rotations(*turn)]
    if any(kind == "screw" for kind, _ in joint.motions):
        u, pitch = across["z"], joint.pitch  # type: ignore[attr-defined]
        rows.append(((*u, *(-pitch * u)), _SCREW))
    return [*rows, ((0.0,) * 6, _CROSS)] if joint.has_cross else rows


def _varying(loop: Loop) -> list[tuple[int, list[float], int]]:
    """Kind, numbers and address of code of each varying row (varying_rows.py)."""
    match loop.joint:
        case Distance():
            found = [(FROM_DISTANCE, [loop.joint.length], 0)]
        case PointOnCurve():
            try:
                surfaces = [surface_numbers(ImplicitSurface(text)) for text in loop.joint.curve]
            except InputError as error:
                raise InputError(f'loop "{loop.name}" curve: {error}') from None
            found = [(ON_SURFACE, numbers, code) for numbers, code in surfaces]
        case Rolling():
            numbers = [loop.joint.radius, loop.joint.on_radius, float(loop.joint.shape == "disc")]
            found = [(kind, numbers, 0) for kind in (HEIGHT, FORWARD, ASIDE)]
        case _:
            return []
    return [(kind, [*numbers, *[0.0] * (SURFACE_NUMBERS - len(numbers))], code) for kind, numbers, code in found]


def _free_rows(joint: Joint) -> list[tuple[float, ...]]:
    """Rates of the joint's own coordinates as rows on V; zeros where they vary with the configuration."""
    if joint.has_cross or not joint.has_axis:
        return [(0.0,) * 6] * joint.nv
    across = dict(zip("xyz", _directions(joint), strict=True))
    return [
        (*across[letter], *_ZERO) if kind == "travel" else (*_ZERO, *across[letter]) for kind, letter in joint.motions
    ]


def _directions(joint: Joint) -> Floats:
    """Two directions normal to the axis and the axis itself, as rows, (3, 3)."""
    return axis_to_z_rotation(joint.axis).T


def _translations(*directions: Floats) -> list[tuple[tuple[float, ...], str]]:
    return [((*map(float, d), *_ZERO), f"translation along {_name(d)}") for d in directions]


def _rotations(*directions: Floats) -> list[tuple[tuple[float, ...], str]]:
    return [((*_ZERO, *map(float, d)), f"rotation about {_name(d)}") for d in directions]


def _name(direction: Floats) -> str:
    """x, y or z where the direction is one of frame A's axes, its numbers otherwise."""
    letter = _LETTERS.get(tuple(map(abs, direction.tolist())))
    if letter:
        return letter
    return "(" + ", ".join(f"{entry:.3g}" for entry in direction) + ")"


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _floats(rows: list, width: int) -> Floats:
    return flat_numbers(rows).reshape(-1, width)


def _per_axis(loops: tuple[Loop, ...], key: str) -> Floats:
    return flat_numbers(getattr(loop.joint, key) for loop in loops)
