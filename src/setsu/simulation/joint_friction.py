"""Dry friction of joints with a state of rest: an axis that stands still is held by friction up to its limit.

| state | acts | changes when (guard below zero) |
|---|---|---|
| sliding, sign s | -c s along the axis, s kept through zero: the equations stay smooth | s r < 0; at rest s dr/dt < 0 |
| sticking | row r = 0 with force f | c < |f| |

with r the rate of the axis and c the limit of friction: the joint's `coulomb`, and where its bearing has friction, that
of the bearing's present load (dynamics/bearings.py (1)). An axis that comes to rest turns round at once if friction of
the other sign lets it go that way; otherwise it sticks. Axes are those of the tree's joints and the free axes of the
joints that close loops.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.states import coordinate_names
from setsu.dynamics.bearings import bearing_factors
from setsu.mechanism import Joint, Loop, Mechanism

__all__ = ["JointFriction", "has_dry_friction", "without_dry_friction"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class JointFriction:
    """All axes with dry friction of a mechanism's closed loops and tree, and which of them stick.

    velocity, loop_axis (n,): where an axis stands among the velocities or the free axes of loop joints, else -1.
    coulomb (n,): constant part of the limit, N or N m. held: axes that stick. sign (n,): of the others' sliding.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        of_tree = [body.joint for body in mechanism.moving]
        of_loops = [loop.joint for loop in mechanism.loops]
        tree, loops = _dry_axes(of_tree), _dry_axes(of_loops)
        loop_names = [loop.name for loop in mechanism.loops for _ in range(loop.joint.nv)]
        names = coordinate_names(mechanism)
        self.names = (*(names[d] for d in tree), *(loop_names[j] for j in loops))
        none_of_tree, none_of_loops = np.full(len(tree), -1), np.full(len(loops), -1)
        self.velocity: Ints = np.concatenate([tree, none_of_loops]).astype(np.int64)
        self.loop_axis: Ints = np.concatenate([none_of_tree, loops]).astype(np.int64)
        limits = [np.array([c for joint in joints for c in _per_axis(joint)]) for joints in (of_tree, of_loops)]
        self.coulomb: Floats = np.concatenate([limits[0][tree], limits[1][loops]])
        self.sign: Floats = np.ones(len(self))
        self.held: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    def rates(self, v: Floats, free_rate: Floats) -> Floats:
        """Return the rate of each axis, of velocities (nv,) and rates (f,) of loop joints."""
        both = np.concatenate([v, free_rate])
        return both[np.where(self.velocity >= 0, self.velocity, len(v) + self.loop_axis)]

    def hold(self, place: int) -> None:
        """Let an axis stick."""
        self.held = tuple(sorted({*self.held, place}))

    def slide(self, place: int, sign: float) -> None:
        """Let an axis slide in the direction of a number."""
        self.held = tuple(other for other in self.held if other != place)
        self.sign[place] = -1.0 if sign < 0.0 else 1.0

    def slide_all(self, rates: Floats) -> None:
        """Let every axis slide as it moves (n,), as after an impact; transitions.py finds those that stick."""
        self.held = ()
        self.sign[:] = np.where(rates < 0.0, -1.0, 1.0)


def has_dry_friction(m: Mechanism) -> bool:
    """Return whether a joint, of the tree or of a loop, has dry friction."""
    joints = [*(body.joint for body in m.moving), *(loop.joint for loop in m.loops)]
    return m.has_bearings or any(any(_per_axis(joint)) for joint in joints)


def without_dry_friction(m: Mechanism) -> Mechanism:
    """Return the mechanism with `coulomb` zero in all joints."""
    if not any(any(_per_axis(part.joint)) for part in (*m.bodies, *m.loops)):
        return m

    def smooth(part: Any) -> Any:
        return replace(part, joint=replace(part.joint, coulomb=0.0)) if any(_per_axis(part.joint)) else part

    loops: tuple[Loop, ...] = tuple(map(smooth, m.loops))
    return replace(m, bodies=tuple(map(smooth, m.bodies)), loops=loops)


def _dry_axes(joints: list[Joint]) -> Ints:
    limits = np.array([c for joint in joints for c in _per_axis(joint)])
    return np.flatnonzero(limits + bearing_factors(joints)[0] > 0.0)


def _per_axis(joint: Joint) -> tuple[float, ...]:
    return joint.coulomb  # type: ignore[return-value]
