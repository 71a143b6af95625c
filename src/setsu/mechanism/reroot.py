"""Look at a mechanism from another of its bodies: that body becomes the base, the joints on the way are reversed.

On the way from the old base to the new, joint frame X on parent p carries child c:    T_pc = X T(q)               (1)
Reversed, c carries p:                                   T_cp = T(q)⁻¹ X⁻¹ = T'(q') X⁻¹  with  T'(q') = T(q)⁻¹      (2)
A body turns about its own origin, so that T' moves a frame placed at the joint ("<p>_pivot", massless) to which p is
fixed by X⁻¹. Thus every declared frame keeps its name, its place on its body and its inertia, and loops, springs and
contact points need no change. Without the offset (X = 1) there is no pivot.

| joint | T(q)⁻¹ is the same joint with | q' |
|---|---|---|
| Revolute, Prismatic, Helical, Cylindrical | axis -a | q |
| Universal | axes -b, -a | q2, q1 |
| Spherical | | conjugate quaternion |
| Planar | axis a | -R(-q3) (q1, q2), -q3 |
| Free | | -Rᵀ p, conjugate quaternion |
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError
from setsu.mechanism.carried import Dropped, kept_actuators, moved_keys
from setsu.mechanism.checks import checked_name
from setsu.mechanism.elements import WORLD, Body, Pose
from setsu.mechanism.joint_motion import direction, joint_placement, joint_velocity, transported
from setsu.mechanism.joints import Fixed, Free, Joint, Planar, Spherical, Universal
from setsu.mechanism.record import Mechanism
from setsu.spatial import finite_vector, inverse_placement, quaternion_from_rotation

__all__ = [
    "FreshNames", "RerootedMechanism", "body_state", "refuse_options", "reroot", "reversed_bodies", "reversed_joint",
    "reversed_state",
]  # fmt: skip

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RerootedMechanism:
    """A mechanism seen from another body; `convert` carries states of the original to it."""

    mechanism: Mechanism
    original: Mechanism
    root: str

    def convert(self, q: ArrayLike, v: ArrayLike | None = None) -> tuple[Array, Array]:
        """Return q, (nq,), and v, (nv,), of the new mechanism for the same physical state; v = None is at rest.

        With a floating base every body keeps its pose and velocity in the world; with a fixed base the bodies keep
        their poses and velocities relative to the new root.
        """
        old = self.original
        old_q = finite_vector(q, old.nq, f"configuration of {old.name}")
        old_v = np.zeros(old.nv) if v is None else finite_vector(v, old.nv, f"velocity of {old.name}")
        on_the_way = {body.joint.name for body in _way(old, self.root)}
        new_q, new_v = self.mechanism.neutral(), np.zeros(self.mechanism.nv)
        for index, body in enumerate(self.mechanism.moving):
            where_q, where_v = self.mechanism.q_slices[index], self.mechanism.v_slices[index]
            if body.name == self.root:
                T, new_v[where_v] = body_state(old, self.root, old_q, old_v)
                new_q[where_q] = np.concatenate([T[:3, 3], quaternion_from_rotation(T[:3, :3])])
                continue
            source = old.joint_index(body.joint.name)
            coordinates, rates = old_q[old.q_slices[source]], old_v[old.v_slices[source]]
            if body.joint.name in on_the_way:
                coordinates, rates = reversed_state(old.moving[source].joint, coordinates, rates)
            new_q[where_q], new_v[where_v] = coordinates, rates
        return new_q, new_v


def reroot(
    mechanism: Mechanism,
    root: str,
    *,
    base: Literal["floating", "fixed"] = "floating",
    placement: ArrayLike | None = None,
    world_body: str = "old_world",
) -> RerootedMechanism:
    """Make a body the base of the mechanism.

    Args:
        root: the body, or frame, that becomes the base.
        base: "floating" puts it on a Free joint, so that every physical state has a counterpart; "fixed" holds it at
            `placement` in the world (4x4; the identity when not given).
        world_body: when the old base was not floating, the old world becomes a massless body of this name at the end
            of its joint, and what stood in the world, loops and springs included, stands on that body.

    Sites, tendons, actuators and keyframes are carried along, but for actuators of a floating base that is replaced
    (ModelWarning). So are limits, friction, armature and springs of reversed joints; those of a Planar or Free joint,
    and of a Spherical joint unless it is the same for all axes, mean something else when reversed: InputError.

    >>> from setsu.sample_mechanisms import planar_arm
    >>> reroot(planar_arm(2), "link2").mechanism.joint_names
    ('link2_root', 'joint2', 'joint1')
    """
    if root == WORLD:
        raise InputError("reroot: expected a body of the mechanism, got the world")
    if base not in ("floating", "fixed"):
        raise InputError(f'reroot base: expected "floating" or "fixed", got {base!r}')
    mechanism.frame(root)
    if base == "floating" and placement is not None:
        raise InputError("reroot placement: a floating base takes its place from the configuration; leave it out")
    checked_name(world_body, "reroot world_body")
    names = FreshNames(mechanism)
    way = _way(mechanism, root)
    first = way[-1]
    old_base_floats = isinstance(first.joint, Free)
    if old_base_floats:
        refuse_options(first.joint, "replaced by that of the new base")
    root_joint = (
        Free(name=names.joint(f"{root}_root")) if base == "floating" else Fixed(name=names.joint(f"{root}_root"))
    )
    bodies = [dataclasses.replace(way[0], parent=WORLD, joint=root_joint, pose=Pose.of(placement, "reroot placement"))]
    for child, parent in pairwise(way):
        bodies += reversed_bodies(child, parent, names)
    new_world = WORLD
    if not old_base_floats:
        new_world = names.body(world_body)
        bodies += reversed_bodies(first, Body(new_world, WORLD, Fixed()), names)
    moved = {body.name for body in way}
    bodies += [_on(body, new_world) for body in mechanism.bodies if body.name not in moved]
    _refuse_reversed_drives(mechanism, way)
    dropped = Dropped("reroot")
    joints = {body.joint.name for body in bodies if not isinstance(body.joint, Fixed)}
    names_of = {tendon.name for tendon in mechanism.tendons}, {site.name for site in mechanism.sites}
    actuators = kept_actuators(mechanism, joints, *names_of, dropped)
    result = dataclasses.replace(
        mechanism,
        bodies=tuple(bodies),
        loops=tuple(_tied(loop, new_world) for loop in mechanism.loops),
        springs=tuple(_tied(spring, new_world) for spring in mechanism.springs),
        sites=tuple(
            dataclasses.replace(site, body=new_world) if site.body == WORLD else site for site in mechanism.sites
        ),
        tendons=tuple(
            dataclasses.replace(tendon, segments=tuple(_tied(segment, new_world) for segment in tendon.segments))
            for tendon in mechanism.tendons
        ),
        actuators=actuators,
        keys=(),
        reference=(),
    )
    keys = moved_keys(mechanism, actuators, RerootedMechanism(result, mechanism, root).convert, dropped)
    dropped.warn()
    return RerootedMechanism(dataclasses.replace(result, **keys), mechanism, root)


def _refuse_reversed_drives(mechanism: Mechanism, way: list[Body]) -> None:
    """InputError for actuators in body axes on joints that are reversed: their force would act on the other body."""
    reversed_joints = {body.joint.name for body in way if isinstance(body.joint, (Spherical, Free))}
    replaced = way[-1].joint.name if isinstance(way[-1].joint, Free) else ""
    for actuator in mechanism.actuators:
        if actuator.joint in reversed_joints - {replaced}:
            raise InputError(
                f'reroot: actuator "{actuator.name}" drives joint "{actuator.joint}" in axes of its body, which has no '
                "counterpart when the joint is reversed; expected another root, or a mechanism without it"
            )


def _way(mechanism: Mechanism, root: str) -> list[Body]:
    """Bodies from the new root back to the one that stands in the world."""
    by_name = {body.name: body for body in mechanism.bodies}
    way = [by_name[root]]
    while way[-1].parent != WORLD:
        way.append(by_name[way[-1].parent])
    return way


def reversed_bodies(child: Body, parent: Body, names: FreshNames) -> Iterator[Body]:
    """The parent hung on the child by the child's joint reversed, over a pivot where the joint has an offset."""
    joint = reversed_joint(child.joint)
    back = Pose.of(inverse_placement(child.pose.matrix), f'body "{parent.name}"')
    if isinstance(joint, Fixed) or back == Pose():
        yield dataclasses.replace(parent, parent=child.name, joint=joint, pose=back)
    else:
        pivot = names.body(f"{parent.name}_pivot")
        yield Body(pivot, child.name, joint)
        yield dataclasses.replace(parent, parent=pivot, joint=Fixed(name=names.joint(f"{pivot}_mount")), pose=back)


def _on(body: Body, new_world: str) -> Body:
    return dataclasses.replace(body, parent=new_world) if body.parent == WORLD else body


def _tied(element: Any, new_world: str) -> Any:
    body_a, body_b = (new_world if name == WORLD else name for name in (element.body_a, element.body_b))
    return dataclasses.replace(element, body_a=body_a, body_b=body_b)


def reversed_joint(joint: Joint) -> Joint:
    """The joint whose placement is T(q)⁻¹."""
    if isinstance(joint, (Planar, Free)):
        refuse_options(joint, "reversed")
        return joint
    if isinstance(joint, Spherical):
        refuse_options(joint, "reversed", allow_same=("damping", "armature"))
        return joint
    if any(letter not in ("", "z") for _, letter in joint.motions) and not isinstance(joint, Universal):
        raise InputError(f'joint "{joint.name}": a {type(joint).__name__} joint cannot be reversed')
    axis: Any = tuple(0.0 - entry for entry in joint.axis)
    if isinstance(joint, Universal):
        second: Any = tuple(0.0 - entry for entry in joint.second_axis)
        swapped: dict[str, Any] = {key: tuple(getattr(joint, key))[::-1] for key in _OPTIONS}
        return dataclasses.replace(joint, axis=second, second_axis=axis, **swapped)
    return dataclasses.replace(joint, axis=axis) if joint.has_axis else joint


_OPTIONS = (
    "damping", "armature", "coulomb", "bearing_friction", "bearing_radius", "preload", "stiffness", "spring_rest",
    "lower", "upper", "velocity_limit", "effort_limit",
)  # fmt: skip


def refuse_options(joint: Joint, what: str, allow_same: tuple[str, ...] = ()) -> None:
    """InputError for friction, limits and other options that would be lost when a joint is `what`."""
    plain = type(joint)()
    for key in _OPTIONS:
        value = getattr(joint, key)
        if value != getattr(plain, key) and not (key in allow_same and len(set(value)) == 1):
            raise InputError(
                f'{key} of the {type(joint).__name__} joint "{joint.name}" has no counterpart '
                f"when the joint is {what}: expected none, got {value}"
            )


def reversed_state(joint: Joint, q: Array, v: Array) -> tuple[Array, Array]:
    """Coordinates and velocities of the reversed joint."""
    if isinstance(joint, Universal):
        return q[::-1], v[::-1]
    if not isinstance(joint, (Planar, Spherical, Free)):
        return q, v
    T = joint_placement(joint, q)
    back = inverse_placement(T)
    # The velocity of p seen from c, in p's axes, is minus that of c seen from p.
    linear, angular = np.split(-transported(T, joint_velocity(joint, q, v)), 2)
    if isinstance(joint, Planar):
        plane = direction(joint, "x"), direction(joint, "y")
        axis = np.array(joint.axis)
        # Rates of travel are counted in the joint frame, not in the axes of the body.
        travel, rate = back[:3, 3], back[:3, :3] @ linear
        return (
            np.array([plane[0] @ travel, plane[1] @ travel, -q[2]]),
            np.array([plane[0] @ rate, plane[1] @ rate, axis @ angular]),
        )
    quaternion = np.concatenate([-q[-4:-1], q[-1:]])
    if isinstance(joint, Spherical):
        return quaternion, angular
    return np.concatenate([back[:3, 3], quaternion]), np.concatenate([linear, angular])


def body_state(mechanism: Mechanism, body_name: str, q: Array, v: Array) -> tuple[Array, Array]:
    """Placement of a body in the world, 4x4, and its velocity (6,) in its own axes."""
    T, velocity = np.eye(4), np.zeros(6)
    for body in reversed(_way(mechanism, body_name)):
        step, own = body.pose.matrix, np.zeros(6)
        if not isinstance(body.joint, Fixed):
            index = mechanism.joint_index(body.joint.name)
            coordinates, rates = q[mechanism.q_slices[index]], v[mechanism.v_slices[index]]
            step = step @ joint_placement(body.joint, coordinates)
            own = joint_velocity(body.joint, coordinates, rates)
        T = T @ step
        velocity = transported(inverse_placement(step), velocity) + own
    return T, velocity


class FreshNames:
    """Gives names that the mechanism does not use yet: the one wished for, or that with underscores added."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._bodies = {WORLD, *(body.name for body in mechanism.bodies)}
        self._joints = {element.joint.name for element in (*mechanism.bodies, *mechanism.loops)}

    def body(self, wish: str) -> str:
        return _fresh(wish, self._bodies)

    def joint(self, wish: str) -> str:
        return _fresh(wish, self._joints)


def _fresh(wish: str, taken: set[str]) -> str:
    while wish in taken:
        wish += "_"
    taken.add(wish)
    return wish
