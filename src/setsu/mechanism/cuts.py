"""Cut a loop elsewhere: the joint that closes it becomes one of the tree, a joint of the tree closes it instead.

The tree joint j hangs body c on body p; the loop joint ties body a to body b. Without j, what hangs on c, the end x of
the loop among it, is held by the loop joint alone:

    x hangs on the other end by the loop joint, reversed when x is body_a                                  (1)
    the bodies on the way from x to c hang on each other the other way round, as in reroot (2)             (2)
    j closes the loop: body_a = p, body_b = c, at the origin of c, so that its wrench is the one by p on c (3)
    a Free joint j holds nothing: the loop is gone, its joint is all that holds c                          (4)

The machine is the same: motions and wrenches at every joint do not know of the cut.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError, nearest_names
from setsu.mechanism.carried import Dropped, kept_actuators, moved_keys
from setsu.mechanism.elements import WORLD, Body, Loop, Pose
from setsu.mechanism.joint_motion import joint_coordinates, joint_placement, joint_velocity, transported
from setsu.mechanism.joints import Fixed, Free, Joint, Spherical
from setsu.mechanism.loop_constraints import LoopConstraint
from setsu.mechanism.record import Mechanism
from setsu.mechanism.reroot import (
    FreshNames,
    body_state,
    refuse_options,
    reversed_bodies,
    reversed_joint,
    reversed_state,
)
from setsu.spatial import finite_vector, inverse_placement

__all__ = ["MovedCut", "move_cut"]

Array = NDArray[np.float64]

# Keyframes are printed with some six to nine digits.
_CLOSED = 1e-5


@dataclass(frozen=True)
class MovedCut:
    """A mechanism whose loop is cut at another joint; `convert` carries states of the original to it."""

    mechanism: Mechanism
    original: Mechanism
    loop: str
    joint: str

    def convert(self, q: ArrayLike, v: ArrayLike | None = None) -> tuple[Array, Array]:
        """Return q, (nq,), and v, (nv,), of the new mechanism for the same physical state; v = None is at rest.

        The state has to satisfy the loop, as those of `close_loops` and `consistent_velocity` do.
        """
        old, new = self.original, self.mechanism
        old_q = finite_vector(q, old.nq, f"configuration of {old.name}")
        old_v = np.zeros(old.nv) if v is None else finite_vector(v, old.nv, f"velocity of {old.name}")
        loop = next(loop for loop in old.loops if loop.name == self.loop)
        inner, way = _inner_end(old, loop, self.joint)
        turned = {body.joint.name for body in way[:-1]}
        new_q, new_v = new.neutral(), np.zeros(new.nv)
        for index, body in enumerate(new.moving):
            name, where_q, where_v = body.joint.name, new.q_slices[index], new.v_slices[index]
            if name == loop.joint.name:
                state = _loop_state(old, loop, body.joint, old_q, old_v, backwards=inner == loop.body_a)
            else:
                source = old.joint_index(name)
                state = old_q[old.q_slices[source]], old_v[old.v_slices[source]]
                if name in turned:
                    state = reversed_state(old.moving[source].joint, *state)
            new_q[where_q], new_v[where_v] = state
        return new_q, new_v


def move_cut(mechanism: Mechanism, loop: str, joint: str) -> MovedCut:
    """Return the mechanism with a loop cut at another of its joints.

    Args:
        loop: name of the loop; it keeps its name, and its joint becomes one of the tree.
        joint: name of the joint of the tree that closes the loop from now on. A Free joint has nothing to close: cut
            there, the mechanism has one loop less, as a Stewart platform that hangs on its first leg.

    Bodies, joints, loops, springs and contact points keep their names. A joint in a coupling or tendon cannot close a
    loop, and limits of a joint that closes one are kept but do not stop it. Its actuator, and keyframes that leave the
    loop open, are left out with a ModelWarning.

    >>> from setsu.sample_mechanisms import four_bar
    >>> moved = move_cut(four_bar(), "pin", "crank").mechanism
    >>> moved.joint_names, moved.loops[0].joint.name
    (('rocker', 'pin', 'coupler'), 'crank')
    """
    names = [one.name for one in mechanism.loops]
    if loop not in names:
        raise InputError(f"move_cut: unknown loop {loop!r}{nearest_names(str(loop), names)}")
    old = mechanism.loops[names.index(loop)]
    if isinstance(old.joint, LoopConstraint):
        raise InputError(
            f'move_cut: loop "{loop}" is closed by {type(old.joint).__name__}, which can be no joint of the tree; '
            "expected a loop closed by a joint"
        )
    inner, way = _inner_end(mechanism, old, joint)
    cut = way[-1]
    if isinstance(cut.joint, Free):
        refuse_options(cut.joint, "cut")
    coupled = [f'coupling "{one.name}"' for one in mechanism.couplings if joint in one.joints]
    coupled += [f'tendon "{one.name}"' for one in mechanism.tendons if joint in dict(one.joints)]
    if coupled:
        raise InputError(f'move_cut: joint "{joint}" is in {coupled[0]}, which needs it in the tree; choose another')
    fresh = FreshNames(mechanism)
    moved = {body.name for body in way}
    bodies = [*_hung(old, way[0], fresh, backwards=inner == old.body_a)]
    for child, parent in pairwise(way):
        bodies += reversed_bodies(child, parent, fresh)
    rest = [body for body in mechanism.bodies if body.name not in moved]
    closing = () if isinstance(cut.joint, Free) else (Loop(loop, cut.parent, cut.name, cut.joint, cut.pose, Pose()),)
    result = dataclasses.replace(
        mechanism,
        bodies=_parents_first([*rest, *bodies]),
        loops=tuple(new for one in mechanism.loops for new in (closing if one.name == loop else (one,))),
        actuators=(),
        keys=(),
        reference=(),
    )
    dropped = Dropped("move_cut")
    names_of = {tendon.name for tendon in mechanism.tendons}, {site.name for site in mechanism.sites}
    kept = {*result.joint_names} - {body.joint.name for body in way[:-1] if isinstance(body.joint, (Spherical, Free))}
    actuators = kept_actuators(mechanism, kept, *names_of, dropped)
    moved_cut = MovedCut(result, mechanism, loop, joint)
    keys = moved_keys(mechanism, actuators, partial(_closed_state, moved_cut, old), dropped)
    dropped.warn()
    return MovedCut(dataclasses.replace(result, actuators=actuators, **keys), mechanism, loop, joint)


def _closed_state(moved: MovedCut, loop: Loop, q: Array, v: Array) -> tuple[Array, Array] | str:
    """The state of the new mechanism, or why there is none: only closed loops have one."""
    T_a, _ = _frame_state(moved.original, loop.body_a, loop.pose_a, q, v)
    T_b, _ = _frame_state(moved.original, loop.body_b, loop.pose_b, q, v)
    T = inverse_placement(T_a) @ T_b
    gap = float(np.abs(joint_placement(loop.joint, joint_coordinates(loop.joint, T)) - T).max())
    if gap > _CLOSED:
        return f"it leaves loop {loop.name} open by {gap:.3g}"
    return moved.convert(q, v)


def _inner_end(mechanism: Mechanism, loop: Loop, joint: str) -> tuple[str, list[Body]]:
    """The end of the loop that hangs on a joint, and the bodies from it back to the one the joint moves."""
    by_name = {body.name: body for body in mechanism.bodies}

    def way_to_world(name: str) -> list[Body]:
        way = []
        while name != WORLD:
            way.append(by_name[name])
            name = by_name[name].parent
        return way

    ends = {end: way_to_world(end) for end in (loop.body_a, loop.body_b)}
    found = {end: [body.joint.name for body in way] for end, way in ends.items()}
    inside = [end for end in found if joint in found[end]]
    if len(inside) != 1:
        on_the_way = sorted({*found[loop.body_a]} ^ {*found[loop.body_b]})
        raise InputError(
            f'move_cut: joint {joint!r} is not in loop "{loop.name}"; expected one of {", ".join(on_the_way)}'
        )
    return inside[0], ends[inside[0]][: found[inside[0]].index(joint) + 1]


def _hung(loop: Loop, inner: Body, fresh: FreshNames, *, backwards: bool) -> list[Body]:
    """The inner end hung on the other by the loop joint (1), over a pivot where its frame is not the body's."""
    joint = reversed_joint(loop.joint) if backwards else loop.joint
    outer, socket, own = (
        (loop.body_b, loop.pose_b, loop.pose_a) if backwards else (loop.body_a, loop.pose_a, loop.pose_b)
    )
    back = Pose.of(inverse_placement(own.matrix), f'body "{inner.name}"')
    if back == Pose():
        return [dataclasses.replace(inner, parent=outer, joint=joint, pose=socket)]
    pivot = fresh.body(f"{inner.name}_pivot")
    mount = Fixed(name=fresh.joint(f"{pivot}_mount"))
    return [Body(pivot, outer, joint, socket), dataclasses.replace(inner, parent=pivot, joint=mount, pose=back)]


def _parents_first(bodies: list[Body]) -> tuple[Body, ...]:
    ordered: list[Body] = []
    known, waiting = {WORLD}, bodies
    while waiting:
        ready = [body for body in waiting if body.parent in known]
        ordered += ready
        known |= {body.name for body in ready}
        waiting = [body for body in waiting if body.name not in known]
    return tuple(ordered)


def _loop_state(m: Mechanism, loop: Loop, joint: Joint, q: Array, v: Array, *, backwards: bool) -> tuple[Array, Array]:
    """Coordinates and velocities of the loop joint as one of the tree, from where its two frames are."""
    frames = [
        _frame_state(m, body, pose, q, v) for body, pose in ((loop.body_a, loop.pose_a), (loop.body_b, loop.pose_b))
    ]
    (T_a, v_a), (T_b, v_b) = reversed(frames) if backwards else frames
    T = inverse_placement(T_a) @ T_b
    velocity = v_b - transported(inverse_placement(T), v_a)
    coordinates = joint_coordinates(joint, T)
    columns = [joint_velocity(joint, coordinates, row) for row in np.eye(joint.nv)]
    if not joint.nv:
        return coordinates, np.zeros(0)
    rates = np.linalg.lstsq(np.array(columns).T, velocity, rcond=None)[0]
    return coordinates, np.asarray(rates, dtype=np.float64)


def _frame_state(m: Mechanism, body: str, pose: Pose, q: Array, v: Array) -> tuple[Array, Array]:
    """Placement in the world of a frame on a body, and its velocity in its own axes."""
    T, velocity = np.eye(4), np.zeros(6)
    if body != WORLD:
        T, velocity = body_state(m, body, q, v)
    return T @ pose.matrix, transported(inverse_placement(pose.matrix), velocity)
