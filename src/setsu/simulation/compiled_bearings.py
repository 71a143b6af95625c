"""Friction of bearings under the loads of the very state that is evaluated, in compiled code.

| symbol | meaning | unit |
|---|---|---|
| c, μ r, P | constant part of an axis' limit, factor and preload of its bearing | N m or N, m or -, N |
| f_x | force through the joint across its axis | N |

    limit = c + μ r (|f_x| + P)                                               (1)  dynamics/bearings.py
    repeated with the forces that these limits bring about, until they stay   (2)

Forces of loops act on the bodies where the loop joints are. Cost: an evaluation and a pass over the tree per repeat.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.compiled_vectors import (
    add_wrench,
    body_pose,
    dot,
    length,
    matrix,
    minus,
    plus,
    scaled,
    second_vector,
    turned,
    vector,
)
from setsu.constraints.system import ConstraintSystem
from setsu.dynamics.bearings import bearing_factors
from setsu.dynamics.catalogue import native_function
from setsu.native.control_flow import inline, run_bound
from setsu.simulation.joint_friction import JointFriction

__all__ = ["Bearings", "change_of_limits", "make_bearings"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Handle = NDArray[np.int64]


class Bearings(NamedTuple):
    """Bearings of the n axes with dry friction; none of them where no joint has a bearing."""

    factor: Floats  # (n,) μ r
    preload: Floats  # (n,)
    constant: Floats  # (n,) c
    axis: Floats  # (n, 3) of the joint, in its own frame
    body: Ints  # (n,) -1 for joints that close loops
    loop: Ints  # (n,) -1 for joints of the tree
    external: Floats  # (n_bodies, 6) wrenches of loops and contacts
    through: Floats  # (n_bodies, 6) wrenches through the joints, body axes
    kernel: Handle


def make_bearings(system: ConstraintSystem, friction: JointFriction, state: Any, a: Floats) -> tuple[Bearings, Any]:
    """Return the bearings of a system for accelerations a (nv,) in a RowState, and what must be kept alive."""
    m = system.mechanism
    n = len(friction) if m.has_bearings else 0
    tree = bearing_factors([body.joint for body in m.moving])
    loops = bearing_factors([loop.joint for loop in m.loops])
    places = np.where(friction.velocity >= 0, friction.velocity, m.nv + friction.loop_axis)[:n]
    factor, preload, axis = (np.concatenate(both)[places] for both in zip(tree, loops, strict=True))
    bodies = np.repeat(np.arange(m.n_bodies), [body.joint.nv for body in m.moving])
    body = np.concatenate([bodies, np.full(len(system.loops.free_loop), -1)])[places].astype(np.int64)
    loop = np.concatenate([np.full(m.nv, -1), system.loops.free_loop])[places].astype(np.int64)
    external, through = np.zeros((m.n_bodies, 6)), np.zeros((m.n_bodies, 6))
    name = "joint_wrenches external springs" if m.has_force_elements else "joint_wrenches external"
    kernel = native_function(m, name).bind([state.q, state.v, a, external], [through]) if n else None
    handle = kernel.handle if kernel else np.zeros(7, dtype=np.int64)
    return Bearings(factor, preload, friction.coulomb[:n], axis, body, loop, external, through, handle), kernel


@inline
def _loop_wrench(t, s, w, loop):
    """Force and moment of body a on body b at a loop joint, world axes."""
    force, moment = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for row in range(t.row_start[loop], t.row_start[loop + 1]):
        if t.place[row] >= 0:
            size = w.multiplier[t.place[row]]
            force = plus(force, scaled(vector(s.wrench, row), size))
            moment = plus(moment, scaled(second_vector(s.wrench, row), size))
    if t.free_used[0]:
        for j in range(t.free_start[loop], t.free_start[loop + 1]):
            swing = s.free_gamma[j]
            for d in range(len(s.v)):
                swing += s.free[j, d] * w.a[d]
            size = w.axis_force[j] - t.damping[j] * s.free_rate[j] - t.armature[j] * swing
            size -= t.stiffness[j] * (s.free_coordinate[j] - t.spring_rest[j])
            force = plus(force, scaled(vector(s.free_wrench, j), size))
            moment = plus(moment, scaled(second_vector(s.free_wrench, j), size))
    return force, moment


@inline
def change_of_limits(t, s, x, w):
    """Set the limits (1) of the state just evaluated; their change in parts of the largest, -1 for bad numbers."""
    b, nowhere = w.bearings, (0.0, 0.0, 0.0)
    for body in range(len(b.external)):
        for i in range(6):
            b.external[body, i] = 0.0
    for loop in range(len(t.body_a)):
        force, moment = _loop_wrench(t, s, w, loop)
        R, origin = body_pose(s.poses, t.body_b[loop])
        pin = plus(origin, turned(R, vector(t.origin_b, loop)))
        add_wrench(s.poses, b.external, t.body_b[loop], force, moment, pin, 1.0)
        add_wrench(s.poses, b.external, t.body_a[loop], force, moment, pin, -1.0)
    for k in range(len(t.contact_body)):
        force = plus(scaled(vector(s.contact_normal, k), w.normal_force[k]), vector(w.friction_force, k))
        add_wrench(s.poses, b.external, t.contact_body[k], force, nowhere, vector(s.place, k), 1.0)
    if run_bound(b.kernel) >= 0:
        return -1.0
    change, largest = 0.0, 1.0
    for i in range(len(b.factor)):
        if b.factor[i] > 0.0:
            axis = vector(b.axis, i)
            if b.loop[i] >= 0:
                force, _ = _loop_wrench(t, s, w, b.loop[i])
                R, _ = body_pose(s.poses, t.body_a[b.loop[i]])
                axis = turned(R, turned(matrix(t.rotation_a, b.loop[i]), axis))
            else:
                force = vector(b.through, b.body[i])
            across = length(minus(force, scaled(axis, dot(force, axis))))
            limit = b.constant[i] + b.factor[i] * (across + b.preload[i])  # (1)
            if not limit < math.inf:
                return -1.0
            change, largest = max(change, abs(limit - x.dry_limit[i])), max(largest, limit)
            x.dry_limit[i] = limit
    return change / largest
