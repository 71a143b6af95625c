"""Poses, velocities and energies of a mechanism by direct recursion in NumPy: the yardstick of the surgery tests."""

from __future__ import annotations

import numpy as np

from setsu.mechanism import WORLD, Fixed, Mechanism
from setsu.mechanism.joint_motion import joint_placement, joint_velocity


def poses_and_velocities(mechanism: Mechanism, q, v=None):
    """Pose (4x4) in the world and velocity [linear, angular] in body axes of every declared body, by name."""
    v = np.zeros(mechanism.nv) if v is None else v
    poses, velocities = {WORLD: np.eye(4)}, {WORLD: np.zeros(6)}
    for body in mechanism.bodies:
        step, own = body.pose.matrix, np.zeros(6)
        if not isinstance(body.joint, Fixed):
            index = mechanism.joint_index(body.joint.name)
            q_i, v_i = q[mechanism.q_slices[index]], v[mechanism.v_slices[index]]
            step = step @ joint_placement(body.joint, q_i)
            own = joint_velocity(body.joint, q_i, v_i)
        R, p = step[:3, :3], step[:3, 3]
        linear, angular = np.split(velocities[body.parent], 2)
        carried = np.concatenate([R.T @ (linear + np.cross(angular, p)), R.T @ angular])
        poses[body.name] = poses[body.parent] @ step
        velocities[body.name] = carried + own
    return poses, velocities


def kinetic_energy(mechanism: Mechanism, q, v) -> float:
    """Sum over declared bodies of m |v_c|²/2 + ω·I ω/2, without armature (J)."""
    _, velocities = poses_and_velocities(mechanism, q, v)
    total = 0.0
    for body in mechanism.bodies:
        linear, angular = np.split(velocities[body.name], 2)
        at_center = linear + np.cross(angular, body.center_of_mass)
        total += 0.5 * body.mass * at_center @ at_center + 0.5 * angular @ body.inertia_matrix @ angular
    return float(total)


def center_of_mass(mechanism: Mechanism, q):
    """Center of mass of all declared bodies in the world (m)."""
    poses, _ = poses_and_velocities(mechanism, q)
    moment = sum(body.mass * (poses[body.name] @ [*body.center_of_mass, 1.0])[:3] for body in mechanism.bodies)
    return moment / mechanism.total_mass
