"""Forces at the nodes of all links, and the joint torques that carry forces at the links.

| symbol | meaning | frame |
|---|---|---|
| f_j, n_j | force of link j and its moment about the link's origin | world |
| F_i, N_i | sums of these over all links that joint i carries, moments about the world's origin | world |

    f = m (acc - g) + D s,   n = R s x (acc - g) + Σ_k R_k x (D S)_k   over columns k         (1)  isobe2003 (3)
    tau_i = linear axis · F_i + angular axis · (N_i - x_i x F_i)                              (2)  (2), (4)-(6)

(1) as in kernels/nodal_central.py. Term by term over whole arrays: the digits of an instant do not depend on how many
are computed at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import fast_function
from setsu.dynamics.parameters import inertial_parameters
from setsu.mechanism import Mechanism
from setsu.nodal.exerted import cross, turn
from setsu.nodal.member_lengths import parent_bodies

__all__ = ["centroids", "forces_of_motion", "torques_of_forces"]

Floats = NDArray[np.float64]


def forces_of_motion(m: Mechanism, R: Floats, D: Floats, acceleration: Floats) -> Floats:
    """Force and moment (T, n, 6) of links from rotations, their second derivatives, accelerations of origins (1)."""
    parameters = inertial_parameters(m).reshape(-1, 10)
    mass, s = parameters[:, 0], np.broadcast_to(parameters[:, 1:4], acceleration.shape)
    inertia = parameters[:, [4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(-1, 3, 3)
    S = 0.5 * np.trace(inertia, axis1=1, axis2=2)[:, None, None] * np.eye(3) - inertia
    acc = acceleration - np.array(m.gravity)
    force = mass[:, None] * acc + turn(D, s)
    moment = cross(turn(R, s), acc)
    for k in range(3):
        moment = moment + cross(R[..., k], turn(D, np.broadcast_to(S[:, :, k], acc.shape)))
    return np.concatenate([force, moment], axis=-1)


def torques_of_forces(m: Mechanism, q: Floats, x: Floats, wrenches: Floats) -> Floats:
    """Torques (T, nv) of forces and moments (T, n, 6) at the links' origins x (T, n, 3), world axes (2)."""
    F = wrenches[..., :3].copy()
    N = wrenches[..., 3:] + cross(x, F)
    parents = parent_bodies(m)
    for body in range(m.n_bodies - 1, -1, -1):
        if parents[body] >= 0:
            F[:, parents[body]] += F[:, body]
            N[:, parents[body]] += N[:, body]
    N -= cross(x, F)
    body_of = np.repeat(np.arange(m.n_bodies), [body.joint.nv for body in m.moving])
    axes = np.swapaxes(fast_function(m, "joint_axes")(np.ascontiguousarray(q)), -1, -2)
    return np.sum(axes[..., :3] * F[:, body_of], axis=-1) + np.sum(axes[..., 3:] * N[:, body_of], axis=-1)


def centroids(m: Mechanism) -> Floats:
    """Centroids (n, 3) of the links in their frames, m; their origins where there is no mass."""
    parameters = inertial_parameters(m).reshape(-1, 10)
    return parameters[:, 1:4] / np.where(parameters[:, :1] == 0.0, 1.0, parameters[:, :1])
