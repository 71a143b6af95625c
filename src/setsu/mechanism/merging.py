"""Fasten one mechanism to a body of another: every element of both is kept, under names that do not meet."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from setsu.elementary import matmul
from setsu.errors import InputError
from setsu.mechanism.actuators import Keyframe
from setsu.mechanism.checks import vector3
from setsu.mechanism.elements import WORLD, Body, Loop, Pose, Vector3
from setsu.mechanism.force_elements import Fluid, Segment
from setsu.mechanism.joints import Joint
from setsu.mechanism.record import Mechanism

__all__ = ["merge"]


def merge(
    mechanism: Mechanism,
    other: Mechanism,
    *,
    parent: str = WORLD,
    placement: ArrayLike | None = None,
    prefix: str = "",
) -> Mechanism:
    """Return a mechanism with another one fastened to one of its bodies.

    Args:
        other: what is added; everything in it that stood in the world stands on `parent` now, loops and springs too.
        parent: body (or "world") of `mechanism`.
        placement: of the other's world in the parent's frame, 4x4; the identity when not given.
        prefix: put before every name of `other`, which must not meet a name of `mechanism`.

    Name and gravity are those of the first mechanism. Keyframes of one name become one; where only one of the two has
    a name, the other stands in its reference configuration, at rest and without control.

    >>> from setsu.sample_mechanisms import pendulum, planar_arm
    >>> merge(planar_arm(2), pendulum(), parent="tip", prefix="tool_").body_names
    ('link1', 'link2', 'tool_bob1')
    """
    mechanism.frame(parent)
    _refuse_shared_names(mechanism, other, prefix)
    mount = Pose.of(placement, "merge placement").matrix

    def renamed(body: str) -> str:
        return parent if body == WORLD else prefix + body

    def moved(body: str, pose: Pose) -> Pose:
        return Pose.of(matmul(mount, pose.matrix), f'merge, body "{body}"') if body == WORLD else pose

    def moved_point(body: str, point: Vector3) -> Vector3:
        return vector3(matmul(mount[:3, :3], point) + mount[:3, 3], "merge, spring point") if body == WORLD else point

    def joint(element: Body | Loop) -> Joint:
        return dataclasses.replace(element.joint, name=prefix + element.joint.name)

    replace = dataclasses.replace

    def moved_segment(x: Segment) -> Segment:
        return Segment(
            renamed(x.body_a),
            moved_point(x.body_a, x.point_a),
            renamed(x.body_b),
            moved_point(x.body_b, x.point_b),
            x.factor,
        )

    def terms(pairs: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
        return tuple((prefix + name, factor) for name, factor in pairs)

    def prefixed(name: str) -> str:
        return prefix + name if name else ""

    return replace(
        mechanism,
        bodies=mechanism.bodies
        + tuple(
            replace(x, name=prefix + x.name, parent=renamed(x.parent), joint=joint(x), pose=moved(x.parent, x.pose))
            for x in other.bodies
        ),
        loops=mechanism.loops
        + tuple(
            replace(
                x,
                name=prefix + x.name,
                body_a=renamed(x.body_a),
                body_b=renamed(x.body_b),
                joint=joint(x),
                pose_a=moved(x.body_a, x.pose_a),
                pose_b=moved(x.body_b, x.pose_b),
            )
            for x in other.loops
        ),
        couplings=mechanism.couplings
        + tuple(
            replace(x, name=prefix + x.name, factors=terms(x.factors), argument=terms(x.argument))
            for x in other.couplings
        ),
        springs=mechanism.springs
        + tuple(
            replace(
                x,
                name=prefix + x.name,
                body_a=renamed(x.body_a),
                body_b=renamed(x.body_b),
                point_a=moved_point(x.body_a, x.point_a),
                point_b=moved_point(x.body_b, x.point_b),
            )
            for x in other.springs
        ),
        contact_points=mechanism.contact_points + tuple(replace(x, body=prefix + x.body) for x in other.contact_points),
        sites=mechanism.sites
        + tuple(
            replace(x, name=prefix + x.name, body=renamed(x.body), pose=moved(x.body, x.pose)) for x in other.sites
        ),
        tendons=mechanism.tendons
        + tuple(
            replace(x, name=prefix + x.name, joints=terms(x.joints), segments=tuple(map(moved_segment, x.segments)))
            for x in other.tendons
        ),
        actuators=mechanism.actuators
        + tuple(
            replace(
                x,
                name=prefix + x.name,
                joint=prefixed(x.joint),
                tendon=prefixed(x.tendon),
                site=prefixed(x.site),
            )
            for x in other.actuators
        ),
        fluid=_one_fluid(mechanism.fluid, other.fluid, prefix),
        compensation_by_actuators=_one_compensation(mechanism, other),
        independent=(*mechanism.independent, *(prefix + joint for joint in other.independent)),
        missing=(*mechanism.missing, *other.missing),
        excluded=(*mechanism.excluded, *((prefix + a, prefix + b) for a, b in other.excluded)),
        keys=_joined_keys(mechanism, other),
        reference=_joined_reference(mechanism, other),
    )


def _refuse_shared_names(mechanism: Mechanism, other: Mechanism, prefix: str) -> None:
    for kind, names in mechanism.names.items():
        theirs = {prefix + name for name in other.names[kind]}
        shared = [name for name in (WORLD, *names) if name in theirs]
        if shared:
            raise InputError(f"merge: both mechanisms have a {kind} of the name {', '.join(shared)}; give a prefix")


def _one_fluid(first: Fluid | None, second: Fluid | None, prefix: str) -> Fluid | None:
    """The medium around both, which has to be the same where both have one."""
    if second is None:
        return first
    boxes = tuple(dataclasses.replace(box, body=prefix + box.body) for box in second.boxes)
    second = dataclasses.replace(second, boxes=boxes)
    if first is None:
        return second
    if (first.density, first.viscosity, first.wind) != (second.density, second.viscosity, second.wind):
        raise InputError(
            "merge: expected one fluid around both mechanisms, got density, viscosity and wind "
            f"{first.density:g}, {first.viscosity:g}, {first.wind} and "
            f"{second.density:g}, {second.viscosity:g}, {second.wind}"
        )
    return dataclasses.replace(first, boxes=first.boxes + second.boxes)


def _one_compensation(first: Mechanism, second: Mechanism) -> bool:
    """Whether actuators do the gravity compensation, which has to be the same where both have some."""
    ways = {m.compensation_by_actuators for m in (first, second) if any(body.gravity_compensation for body in m.bodies)}
    if len(ways) > 1:
        raise InputError(
            "merge: gravity compensation belongs to the actuators in one mechanism and is a force in the other; "
            "expected the same in both"
        )
    return ways.pop() if ways else first.compensation_by_actuators


def _joined_keys(first: Mechanism, second: Mechanism) -> tuple[Keyframe, ...]:
    keys = []
    for name in dict.fromkeys([*first.keyframes, *second.keyframes]):
        parts = []
        for m in (first, second):
            stand_in = Keyframe(name, tuple(m.reference_configuration().tolist()), (0.0,) * m.nv)
            key = m.keyframes.get(name, stand_in)
            parts.append((key.coordinates, key.velocities, key.controls or (0.0,) * len(m.actuators)))
        (q0, v0, u0), (q1, v1, u1) = parts
        keys.append(Keyframe(name, (*q0, *q1), (*v0, *v1), (*u0, *u1)))
    return tuple(keys)


def _joined_reference(first: Mechanism, second: Mechanism) -> tuple[float, ...]:
    if not (first.reference or second.reference):
        return ()
    return tuple(np.concatenate([m.reference_configuration() for m in (first, second)]).tolist())
