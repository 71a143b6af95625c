"""Power that friction, dampers and drag take, element by element from their definitions: an independent evaluation.

| element | power |
|---|---|
| joints | Σ damping v² + coulomb times abs(v) |
| bearings | Σ friction (radius) (force across the axis + preload) abs(v) |
| springs | Σ damping l̇², l̇ = e · (v_b - v_a) along the line between the points |
| tendons | Σ damping l̇², l̇ = Σ coefficient v + Σ factor e · (v_b - v_a) |
| fluid | -Σ (force · v + moment · w) of the boxes (see `Fluid`), velocities in the axes of the box |
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.mechanism import Mechanism, Revolute

__all__ = ["dissipated_power"]

Array = NDArray[np.float64]


def dissipated_power(m: Mechanism, q: Array, v: Array, a: Array) -> Array:
    """Return the power (N,) in W that the elements of a mechanism take at q (N, nq), v (N, nv), a (N, nv)."""
    power = v**2 @ m.damping + np.abs(v) @ m.coulomb + _bearings(m, q, v, a)
    for spring in m.springs:
        ends = spring.body_a, spring.point_a, spring.body_b, spring.point_b
        power = power + spring.damping * _rate(m, q, v, *ends) ** 2
    for tendon in m.tendons:
        if not tendon.damping:
            continue
        rate = np.zeros(len(q))
        for joint, factor in tendon.joints:
            rate = rate + factor * v[:, m.v_slices[m.joint_index(joint)].start]
        for piece in tendon.segments:
            ends = piece.body_a, piece.point_a, piece.body_b, piece.point_b
            rate = rate + piece.factor * _rate(m, q, v, *ends)
        power = power + tendon.damping * rate**2
    return power + _drag(m, q, v)


def _bearings(m: Mechanism, q: Array, v: Array, a: Array) -> Array:
    power = np.zeros(len(q))
    if not m.has_bearings:
        return power
    wrenches = setsu.joint_wrenches(m, q, v, a)
    for index, (body, where) in enumerate(zip(m.moving, m.v_slices, strict=True)):
        joint: Any = body.joint
        if not joint.has_bearing:
            continue
        options = (joint.bearing_friction, joint.bearing_radius, joint.preload)
        friction, radius, preload = (float(np.ravel(value)[0]) for value in options)
        axis, force = np.array(joint.axis), wrenches[:, index, :3]
        load = np.linalg.norm(force - (force @ axis)[:, None] * axis, axis=1) + preload
        arm = radius if isinstance(joint, Revolute) else 1.0
        power += friction * arm * load * np.abs(v[:, where.start])
    return power


def _rate(m: Mechanism, q: Array, v: Array, body_a: str, point_a: object, body_b: str, point_b: object) -> Array:
    """Rate of the distance between two points, (N,) m/s."""
    places, speeds = [], []
    for body, point in ((body_a, point_a), (body_b, point_b)):
        T, place = setsu.frame_pose(m, q, body), np.array(point, dtype=np.float64)
        places.append(T[..., :3, :3] @ place + T[..., :3, 3])
        speeds.append(setsu.frame_velocity(m, q, v, body, place)[..., :3])
    line = np.broadcast_to(places[1] - places[0], (len(q), 3))
    length = np.maximum(np.linalg.norm(line, axis=1), np.finfo(np.float64).tiny)
    return np.einsum("ni,ni->n", line / length[:, None], np.broadcast_to(speeds[1] - speeds[0], (len(q), 3)))


def _drag(m: Mechanism, q: Array, v: Array) -> Array:
    """Power that the fluid takes, (N,); wind may make it negative."""
    power = np.zeros(len(q))
    if m.fluid is None:
        return power
    density, viscosity = m.fluid.density, m.fluid.viscosity
    for box in m.fluid.boxes:
        T = setsu.frame_pose(m, q, box.body) @ box.pose.matrix
        motion = setsu.frame_velocity(m, q, v, box.body, np.array(box.pose.translation))
        R = np.broadcast_to(T[..., :3, :3], (len(q), 3, 3))
        own = np.einsum("nji,nkj->nki", R, np.broadcast_to(motion, (len(q), 6)).reshape(-1, 2, 3))
        wind = np.einsum("nji,j->ni", R, np.array(m.fluid.wind))
        linear, angular = own[:, 0] - wind, own[:, 1]
        b = np.array(box.size)
        d = float(b.mean())
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            area, arm = b[j] * b[k], b[i] * (b[j] ** 4 + b[k] ** 4) / 64.0
            force = (-3.0 * np.pi * d * viscosity - 0.5 * density * area * np.abs(linear[:, i])) * linear[:, i]
            moment = (-np.pi * d**3 * viscosity - density * arm * np.abs(angular[:, i])) * angular[:, i]
            power -= force * own[:, 0, i] + moment * angular[:, i]
    return power
