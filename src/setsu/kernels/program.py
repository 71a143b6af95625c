"""How an algorithm is written down: step functions, and the loops over links and velocities they stand in.

A kernel is data: arrays in and out, scratch fields per link and per velocity, and phases. A phase is a step function
or a `Loop` with phases inside; a step gets one view per enclosing loop, outermost first (the world's view outside any).
Views read and write by attribute:

    def outward(link):
        link.w = add(rotate_back(link.R, link.parent.w), ...)

What a name means on a view:

| name | on a link | on a velocity (dof) |
|---|---|---|
| link constant (LINK_CONSTANTS) | its numbers | - |
| dof constant (DOF_CONSTANTS) | one per velocity of the joint | its number |
| "gravity" | (3,) | (3,) |
| array over "q" | the joint's coordinates | - |
| array over "v" | the joint's velocities | its number |
| array over "body" | the numbers of the link's body | - |
| array over "dof": (width, nv) | one tuple of width per velocity of the joint | tuple of width |
| array over "matrix" and scratch matrices: (nv, nv) | - | row: d.M[e] |
| array over "dof_body": (nv, bodies x width) | - | row: d.Y[link], tuple of width |
| array over "total" | the same numbers from everywhere | the same |
| link field | its numbers | - |
| dof field | one entry per velocity of the joint | its numbers |

Numbers come as a tuple, or as one scalar when there is one; so do entries per velocity. Links also have `kind` (steps
may branch on it) and `parent`, which for the first links is the world: fields only. Every view has `world`, and
`target`, the last link of the target body. Arrays named in `Kernel.zeros` read as zeros.

Pieces of lines, loop joints and pushes are two-body elements, with ends `element.a` and `element.b` (fields only;
either may be the world) and constants of their own (TWO_BODY_CONSTANTS). A line (a spring between points, a tendon) has
LINE_CONSTANTS and pieces, over which the loop "pieces" runs. An array over "loop" is read and written from a loop
joint's view; one over "loop_dof": (loops, width, nv) by row, loop.J[d], tuple of width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "DOF_CONSTANTS",
    "INERTIAL_CONSTANTS",
    "LINE_CONSTANTS",
    "LINK_CONSTANTS",
    "TWO_BODY_CONSTANTS",
    "Array",
    "Kernel",
    "Loop",
    "Phase",
    "View",
]

INERTIAL_CONSTANTS = {"mass": 1, "moment": 3, "second_moment": 6}
LINK_CONSTANTS = {
    "rotation": 9,
    "translation": 3,
    "axes": 9,
    "pitch": 1,
    "is_body": 1,
    "carried": 1,
    **INERTIAL_CONSTANTS,
}
# Frames of a piece's ends or of a loop joint's halves in the axes of their links; what pieces and pushes have besides.
TWO_BODY_CONSTANTS = {
    "rotation_a": 9,
    "position_a": 3,
    "rotation_b": 9,
    "position_b": 3,
    "element_factor": 1,
    "element_pull": 1,
    "element_joint": 1,
    "element_round": 1,
    "push_lift": 3,
    "push_drag": 8,
    "push_wind": 3,
}
LINE_CONSTANTS = {"line_stiffness": 1, "line_lower": 1, "line_upper": 1, "line_damping": 1}
DOF_CONSTANTS = {"armature": 1, "damping": 1, "coulomb": 1, "stiffness": 1, "spring_rest": 1}


@dataclass(frozen=True)
class Array:
    """An argument or result: its name, what it runs over (see the table above) and how many numbers there."""

    name: str
    over: str
    width: int = 1

    def size(self, nq: int, nv: int, n_bodies: int, n_loops: int) -> int:
        """How many numbers for a mechanism of this size."""
        count = {
            "q": nq,
            "v": nv,
            "dof": nv,
            "body": n_bodies,
            "matrix": nv * nv,
            "dof_body": nv * n_bodies,
            "loop": n_loops,
            "loop_dof": n_loops * nv,
            "total": 1,
        }
        return count[self.over] * self.width


@dataclass(frozen=True)
class Loop:
    """Phases repeated over links or velocities.

    over: "links", "links_down", "dofs", "dofs_down" (down: tips first), or, for the velocity or link of the loop
    around it numbered `of` (0 = outermost): "ancestors" (itself and what it rides on), "strict_ancestors",
    "above_joint" (those of other joints only), "joint_dofs" (those of its own joint), "link_dofs" (all that move a
    link), "target_dofs" (all that move the target body), "a_dofs", "b_dofs" (all that move one end of a two-body
    element). Also "lines" (springs between points and tendons), "pieces" (of the line around it), "closures"
    (loop joints) and "pushes" (forces on one link, end a of the element). light: its steps take a few operations each.
    """

    over: str
    body: tuple[Phase, ...]
    of: int = 0
    light: bool = False


Step = Callable[..., None]
Phase = Step | Loop


@dataclass(frozen=True)
class Kernel:
    """One algorithm. regrouped: reads regrouped inertias (right for torques and accelerations only).

    zeros: arrays over "v" that steps read but nobody gives. specialised_only: steps walk the tree themselves, through
    `is_world` and `dofs` (views of a link's velocities, with their `number`), which loops over tables cannot.
    accumulates: steps read entries of results before they write them, and expect zeros. passed: link fields that a link
    and its children alone read, in the loop outwards that writes them; loops keep them only as long as that takes.
    """

    name: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    phases: tuple[Phase, ...]
    link_fields: dict[str, int] = field(default_factory=dict)
    dof_fields: dict[str, int] = field(default_factory=dict)
    matrices: tuple[str, ...] = ()
    zeros: tuple[str, ...] = ()
    regrouped: bool = False
    specialised_only: bool = False
    accumulates: bool = False
    passed: tuple[str, ...] = ()

    @property
    def kept_fields(self) -> dict[str, int]:
        """Widths of the link fields that stay until the kernel ends."""
        return {name: width for name, width in self.link_fields.items() if name not in self.passed}

    @property
    def passed_fields(self) -> dict[str, int]:
        """Widths of the link fields that live from a link to its last child."""
        return {name: self.link_fields[name] for name in self.passed}

    def array(self, name: str) -> Array | None:
        """The input or output of this name."""
        return self._arrays.get(name)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_arrays", {array.name: array for array in (*self.inputs, *self.outputs)})

    _arrays: dict[str, Array] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.name)


class View:
    """A link, a velocity or the world, seen by a step; what it holds is up to the machine that runs the step."""

    def __init__(self, machine: Any, place: Any) -> None:
        object.__setattr__(self, "_machine", machine)
        object.__setattr__(self, "_place", place)

    def __getattr__(self, name: str) -> Any:
        return self._machine.read(self._place, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._machine.write(self._place, name, value)


class MatrixRow:
    """Row of a matrix at one velocity; the column is a view (of a velocity, or of a link for "dof_body" arrays)."""

    def __init__(self, machine: Any, place: Any, name: str) -> None:
        self._machine, self._place, self._name = machine, place, name

    def __getitem__(self, column: View) -> Any:
        return self._machine.read_entry(self._place, self._name, column._place)

    def __setitem__(self, column: View, value: Any) -> None:
        self._machine.write_entry(self._place, self._name, column._place, value)
