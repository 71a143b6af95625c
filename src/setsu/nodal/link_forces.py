"""Forces at the nodes of all links by each of the schemes, and the joint torques that carry them.

| symbol | meaning | frame |
|---|---|---|
| f_j, n_j | force of link j and its moment about the link's joint | world |
| Q_j | sum of the forces of all links that joint j carries | world |

    f = m (a - g),  n = arm x f + d(R I Rᵀ ω)/dt                                              (1)  isobe2003 (3)
    central: every point of the link is a node with its own difference (kernels/nodal_central.py)
    m_j = n_j + Σ_children arm x Q_child                                                      (2)  (2)
    moment in joint i = Σ m_j over the links it carries,  force in joint i = Q_i              (3)  (4)-(6)
    tau = joint axes · (force, moment)                                                        (4)

Only sums and products over whole arrays: no loop over time steps or nodes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import fast_function, native_function
from setsu.dynamics.parameters import inertial_parameters
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.nodal.member_lengths import carried_bodies, parent_bodies
from setsu.nodal.time_schemes import newmark, rotation_steps

__all__ = ["central_rates", "central_torques", "moving_torques", "torques_of_forces"]

Floats = NDArray[np.float64]


def central_torques(m: Mechanism, q: Floats, h: float) -> Floats:
    """Torques (T, nv) by central differences, joint friction and springs included."""
    torque = np.empty((len(q), m.nv))
    torque[1:-1] = native_function(m, "nodal_central")(q[:-2], q[1:-1], q[2:], np.array([1.0 / h]))
    # The last four samples in reverse order, with a step backwards in time.
    ends = np.stack([q[:4], q[:-5:-1]], axis=1)
    torque[[0, -1]] = native_function(m, "nodal_end")(*ends, np.array([[1.0 / h], [-1.0 / h]]))
    return torque


def central_rates(m: Mechanism, q: Floats, h: float) -> Floats:
    """Joint velocities (T, nv) by differences of order 2, the two ends included."""
    half = fast_function(m, "difference")(q[:-1], q[1:]) / h
    rates = np.empty((len(q), m.nv))
    rates[1:-1] = 0.5 * (half[1:] + half[:-1])
    for at, s in ((0, half), (-1, half[::-1])):
        rates[at] = 1.875 * s[0] - 1.25 * s[1] + 0.375 * s[2]
    return rates


def moving_torques(
    m: Mechanism,
    q: Floats,
    rates: Floats,
    accelerations: Floats,
    newmark_step: tuple[float, float, float] | None = None,
) -> Floats:
    """Torques (T, nv) from joint velocities and accelerations, or by Newmark (h, β, γ) from their first rows on."""
    poses = fast_function(m, "body_poses")(q)
    R, x = poses[..., :3, :3], poses[..., :3, 3]
    mass, centroid, inertia = _nodes(m)
    arm = (R @ centroid[..., None])[..., 0]
    velocities, accelerated = fast_function(m, "body_velocities"), fast_function(m, "body_accelerations")
    if newmark_step is None:
        V, A = velocities(q, rates), accelerated(q, rates, accelerations)
        acceleration = _at_centroid(V, A, arm)
    else:
        V0, A0 = velocities(q[0], rates[0]), accelerated(q[0], rates[0], accelerations[0])
        V, A = newmark(np.concatenate([np.diff(x, axis=0), rotation_steps(R)], axis=-1), *newmark_step, V0, A0)
        speed = V0[:, :3] + np.cross(V0[:, 3:], arm[0])
        acceleration = newmark(np.diff(x + arm, axis=0), *newmark_step, speed, _at_centroid(V0, A0, arm[0]))[1]
    omega, alpha = V[..., 3:], A[..., 3:]
    turned = R @ inertia @ np.swapaxes(R, -1, -2)
    spin = (turned @ alpha[..., None])[..., 0] + np.cross(omega, (turned @ omega[..., None])[..., 0])
    force = mass[:, None] * (acceleration - np.array(m.gravity))  # (1)
    return torques_of_forces(m, q, x, force, np.cross(arm, force) + spin) + _drive(m, q, rates, accelerations)


def _at_centroid(V: Floats, A: Floats, arm: Floats) -> Floats:
    """Accelerations of points with arms from the body origins."""
    omega, alpha = V[..., 3:], A[..., 3:]
    turning = np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
    return A[..., :3] + np.asarray(turning, dtype=np.float64)


def torques_of_forces(m: Mechanism, q: Floats, x: Floats, force: Floats, moment: Floats) -> Floats:
    """Torques (T, nv) of forces at the links (T, n, 3) and of their moments about the links' own joints (2)-(4).

    x: origins of the links (T, n, 3), m.
    """
    carried = carried_bodies(m).astype(np.float64)
    Q = carried @ force
    parents = parent_bodies(m)
    riding = np.flatnonzero(parents >= 0)
    onto = np.zeros((m.n_bodies, len(riding)))
    onto[parents[riding], np.arange(len(riding))] = 1.0
    from_children = np.cross(x[:, riding] - x[:, parents[riding]], Q[:, riding])
    total = carried @ (moment + onto @ from_children)
    body_of = np.repeat(np.arange(m.n_bodies), [body.joint.nv for body in m.moving])
    axes = np.swapaxes(fast_function(m, "joint_axes")(np.ascontiguousarray(q)), -1, -2)
    return np.sum(axes[..., :3] * Q[:, body_of] + axes[..., 3:] * total[:, body_of], axis=-1)


def _nodes(m: Mechanism) -> tuple[Floats, Floats, Floats]:
    """Mass, centroid (body frame) and inertia about the centroid (body axes) of each link, fixed bodies merged."""
    parameters = inertial_parameters(m).reshape(-1, 10)
    mass = parameters[:, 0]
    c = parameters[:, 1:4] / np.where(mass == 0.0, 1.0, mass)[:, None]
    about_origin = parameters[:, [4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(-1, 3, 3)
    shift = np.einsum("ni,ni->n", c, c)[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :]
    return mass, c, about_origin - mass[:, None, None] * shift


def _drive(m: Mechanism, q: Floats, rates: Floats, accelerations: Floats) -> Floats:
    """Armature, friction and joint springs."""
    torque = m.armature * accelerations + m.damping * rates + m.coulomb * np.sign(rates)
    for body in m.moving:
        if body.joint.nq != body.joint.nv and any(body.joint.stiffness):  # type: ignore[arg-type]
            raise InputError(
                f'nodal_inverse_dynamics: joint "{body.joint.name}" has a spring along a quaternion, '
                'which only scheme "central" of links in a tree can have'
            )
    stiff = np.flatnonzero(m.tables.stiffness)
    if stiff.size:
        # Joint springs exist where coordinates and velocities are the same numbers.
        place = {v: where.start + v - span.start for where, span in zip(m.q_slices, m.v_slices, strict=True)
                 for v in range(span.start, span.stop)}  # fmt: skip
        coordinates = q[:, [place[int(v)] for v in stiff]]
        torque[:, stiff] += m.tables.stiffness[stiff] * (coordinates - m.tables.spring_rest[stiff])
    return torque
