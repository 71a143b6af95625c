"""Forces of springs, tendons, gravity compensation and fluid on declared bodies, for cuts through a moving body.

The kernels sum them per moving body (kernels/force_elements.py, whose equations (1)-(5), (8) these are); a weld inside
that body needs to know on which side of it each one acts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.frames import frame_pose, frame_velocity
from setsu.dynamics.wrenches import Attached
from setsu.mechanism import Mechanism, Prismatic, Tendon
from setsu.mechanism.force_elements import Segment

__all__ = ["element_wrenches"]

Floats = NDArray[np.float64]


def element_wrenches(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, on: set[str]) -> list[Attached]:
    """Return the wrenches of all force elements on the declared bodies named, world axes."""
    m = mechanism
    found: list[Attached] = []
    for line in _lines(m):
        if _touches(m, line, on):
            found += _line(m, line, q, v)
    if not m.compensation_by_actuators:
        found += [
            _at(m, q, body.name, body.center_of_mass, -body.gravity_compensation * body.mass * np.array(m.gravity))
            for body in m.bodies
            if body.gravity_compensation and body.name in on
        ]
    return [one for one in (*found, *_drag(m, q, v, on)) if one.body in on]


def _lines(m: Mechanism) -> Iterator[Tendon]:
    """Springs between points as tendons of one segment, and tendons."""
    for spring in m.springs:
        segment = Segment(spring.body_a, spring.point_a, spring.body_b, spring.point_b)
        rest = (spring.rest_length, spring.rest_length)
        yield Tendon(spring.name, (), (segment,), spring.stiffness, rest, spring.damping)
    yield from (tendon for tendon in m.tendons if tendon.exerts_force)


def _touches(m: Mechanism, line: Tendon, on: set[str]) -> bool:
    bodies = {body for segment in line.segments for body in (segment.body_a, segment.body_b)}
    for joint, _ in line.joints:
        body = m.moving[m.joint_index(joint)]
        bodies |= {body.name, body.parent}
    return bool(bodies & on)


def _line(m: Mechanism, line: Tendon, q: ArrayLike, v: ArrayLike) -> Iterator[Attached]:
    """The pull of a line on the ends of its segments, and its torque on both sides of its joints (1)-(3)."""
    coordinates, rates = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
    length, rate, apart = np.float64(0.0), np.float64(0.0), np.zeros(3)
    pulls = []
    for segment in line.segments:
        ends = [(segment.body_a, segment.point_a), (segment.body_b, segment.point_b)]
        (p_a, v_a), (p_b, v_b) = (
            (_point(m, q, *end), frame_velocity(m, q, v, end[0], np.array(end[1]))[..., :3]) for end in ends
        )
        r, apart = p_b - p_a, v_b - v_a
        distance = np.linalg.norm(r, axis=-1, keepdims=True)
        n = np.divide(r, distance, out=np.zeros_like(r), where=distance > 0.0)
        length = length + segment.factor * distance[..., 0]
        rate = rate + segment.factor * np.sum(n * apart, axis=-1)
        pulls += [(segment.body_a, segment.factor * n, p_a), (segment.body_b, -segment.factor * n, p_b)]
    for joint, factor in line.joints:
        index = m.joint_index(joint)
        length = length + factor * coordinates[..., m.q_slices[index].start]
        rate = rate + factor * rates[..., m.v_slices[index].start]
    low, high = line.rest
    stretch = np.where(length < low, length - low, np.where(length > high, length - high, 0.0))
    tension = (line.stiffness * stretch + line.damping * rate)[..., None]
    alone = len(line.segments) == 1 and not line.joints
    for body, direction, point in pulls:
        force = tension * direction
        if alone and (line.stiffness == 0.0 or low == high == 0.0):
            at_once = line.damping * line.segments[0].factor ** 2 * apart  # (8)
            force += np.where(
                np.asarray(length)[..., None] == 0.0, at_once if body == line.segments[0].body_a else -at_once, 0.0
            )
        yield Attached(body, np.concatenate([force, np.zeros_like(force)], axis=-1), point)
    for joint, factor in line.joints:
        body = m.moving[m.joint_index(joint)]
        T = frame_pose(m, q, body.name)
        axis = factor * tension * (T[..., :3, :3] @ np.array(body.joint.axis))
        zero = np.zeros_like(axis)
        wrench = np.concatenate([axis, zero] if isinstance(body.joint, Prismatic) else [zero, axis], axis=-1)
        yield Attached(body.parent, wrench, T[..., :3, 3])
        yield Attached(body.name, -wrench, T[..., :3, 3])


def _point(m: Mechanism, q: ArrayLike, body: str, point: ArrayLike) -> Floats:
    T = frame_pose(m, q, body)
    return T[..., :3, :3] @ np.array(point, dtype=np.float64) + T[..., :3, 3]


def _at(m: Mechanism, q: ArrayLike, body: str, point: ArrayLike, force: Floats) -> Attached:
    where = _point(m, q, body, point)
    force = np.broadcast_to(force, where.shape)
    return Attached(body, np.concatenate([force, np.zeros_like(force)], axis=-1), where)


def _drag(m: Mechanism, q: ArrayLike, v: ArrayLike, on: set[str]) -> Iterator[Attached]:
    """Force and moment of the fluid on the boxes of bodies, as the formulas of `Fluid` give them (5)."""
    if m.fluid is None:
        return
    density, viscosity, wind = m.fluid.density, m.fluid.viscosity, np.array(m.fluid.wind)
    for box in m.fluid.boxes:
        if box.body not in on:
            continue
        b, middle = np.array(box.size), np.array(box.pose.translation, dtype=np.float64)
        mean = b.mean()
        R = frame_pose(m, q, box.body)[..., :3, :3] @ box.pose.matrix[:3, :3]
        motion = frame_velocity(m, q, v, box.body, middle)
        linear = np.einsum("...ji,...j->...i", R, motion[..., :3] - wind)
        angular = np.einsum("...ji,...j->...i", R, motion[..., 3:])
        area = np.array([b[1] * b[2], b[2] * b[0], b[0] * b[1]])
        arms = b * (np.sum(b**4) - b**4)
        force = -3.0 * np.pi * mean * viscosity * linear - 0.5 * density * area * np.abs(linear) * linear
        moment = -np.pi * mean**3 * viscosity * angular - density / 64.0 * arms * np.abs(angular) * angular
        wrench = np.concatenate([np.einsum("...ij,...j->...i", R, part) for part in (force, moment)], axis=-1)
        yield Attached(box.body, wrench, _point(m, q, box.body, middle))
