"""Gains with which joints hold a pose: springs of a natural frequency, in legs stiff enough to carry the robot.

| symbol | meaning | unit |
|---|---|---|
| I | inertia that a joint feels while all others move freely, 1 / (M⁻¹)_ii | kg m² or kg |
| ω, ζ, h | natural frequency, damping ratio, step of the run | rad/s, -, s |
| m, r | mass of all that a leg's joint carries, and its centre from the joint | kg, m |
| a | axis of the joint, world | |

    k = ω² I,   d = 2 ζ ω I                                                   (1)  the others free
    k >= 2 m g h_r,   h_r = r_z - a_z (a·r)                                   (2)  twice what tips the robot over
    k <= 0.75 I / h²,   d = 0.75 I / h                                        (3)  where (2) asks for more than (1)

A foot is light and carries all: (1) alone, of its own inertia, lets a humanoid tip over. (3): a torque that is held
through a step, q' = q + h v - h² (k q + d v) / 2 I, v' = v - h (k q + d v) / I, shrinks the motion of a joint with the
inertia I by 0.8 in each step then, and feeds nothing in when the foot is lifted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import body_poses, mass_matrix
from setsu.mechanism import Mechanism, Revolute
from setsu.studio.geometry import is_floating

__all__ = ["hold_gains"]

Floats = NDArray[np.float64]

_MARGIN = 2.0  # of (2)
_STABLE = 0.75  # of (3)
_FOOT = 0.02  # m: contact points this near the lowest one stand on the ground


def hold_gains(m: Mechanism, q: Floats, frequency: float, ratio: float, step: float) -> tuple[Floats, Floats]:
    """Return stiffness and damping (nv,), N m/rad or N/m and N m s/rad or N s/m, for joints that hold q (nq,).

    frequency: Hz. ratio: of the damping to the critical one. step: of the run, s.
    """
    M = mass_matrix(m, q)
    inertia = 1.0 / np.diag(np.linalg.inv(M + 1e-12 * np.trace(M) * np.eye(m.nv)))
    rate = 2.0 * np.pi * frequency
    stiffness, damping = rate**2 * inertia, 2.0 * ratio * rate * inertia  # (1)
    if not is_floating(m) or not stiffness.any():
        return stiffness, damping
    carried = np.minimum(_MARGIN * _tipping(m, q), _STABLE * inertia / step**2)  # (2), (3)
    more = carried > stiffness
    stiffness = np.where(more, carried, stiffness)
    damping = np.where(more, np.maximum(damping, _STABLE * inertia / step), damping)
    return stiffness, damping


def _tipping(m: Mechanism, q: Floats) -> Floats:
    """m g h_r of (2) for revolute joints of legs, (nv,); zero for all others."""
    poses, g = body_poses(m, q), float(np.linalg.norm(m.gravity))
    up = -np.asarray(m.gravity) / g if g > 0.0 else np.zeros(3)
    parents = [m.frame(body.parent).body for body in m.moving]
    mass, moment = np.zeros(m.n_bodies), np.zeros((m.n_bodies, 3))
    for body in m.bodies:
        frame = m.frame(body.name)
        if frame.body >= 0:
            pose = poses[frame.body] @ frame.pose.matrix
            mass[frame.body] += body.mass
            moment[frame.body] += body.mass * (pose[:3, :3] @ np.asarray(body.center_of_mass) + pose[:3, 3])
    stands = _standing_bodies(m, poses, up)
    total, center = mass.sum(), moment.sum(axis=0)
    # What is beyond each joint.
    for k in reversed(range(m.n_bodies)):
        if parents[k] >= 0:
            mass[parents[k]] += mass[k]
            moment[parents[k]] += moment[k]
            stands[parents[k]] |= stands[k]
    out = np.zeros(m.nv)
    for k, (body, place) in enumerate(zip(m.moving, m.v_slices, strict=True)):
        rest = total - mass[k]
        if isinstance(body.joint, Revolute) and stands[k] and rest > 0.0:
            axis = poses[k, :3, :3] @ np.asarray(body.joint.axis, dtype=np.float64)
            axis /= np.linalg.norm(axis)
            r = (center - moment[k]) / rest - poses[k, :3, 3]
            out[place] = max(0.0, rest * g * float(up @ r - (axis @ up) * (axis @ r)))
    return out


def _standing_bodies(m: Mechanism, poses: Floats, up: Floats) -> NDArray[np.bool_]:
    """Which bodies have contact points among the lowest, (n,)."""
    bodies, heights = [], []
    for point in m.contact_points:
        frame = m.frame(point.body)
        if frame.body >= 0:
            place = poses[frame.body] @ frame.pose.matrix @ np.array([*point.position, 1.0])
            bodies.append(frame.body)
            heights.append(float(up @ place[:3]) - point.radius)
    stands = np.zeros(m.n_bodies, dtype=bool)
    low = np.array(heights)
    stands[np.array(bodies, dtype=np.int64)[low <= low.min(initial=np.inf) + _FOOT]] = True
    return stands
