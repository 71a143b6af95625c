"""The cut test: what a joint transmits is what everything beyond the cut needs.

For each moving body b, in world axes about its origin o (mass m, first moment h = m c, inertia I about o, velocity
and acceleration of the origin and of rotation):

    f_b = m (a - g) + dw x h + w x (w x h)                                          (1)
    n_b = I dw + w x I w + h x (a - g)                                              (2)

The wrench the parent exerts on body i at its origin is the sum over i and all bodies it carries, shifted there:

    f = Σ f_b,      n = Σ n_b + (o_b - o_i) x f_b                                   (3)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.checks.result import CheckResult, compare, rounding_tolerance
from setsu.checks.states import draw_states
from setsu.mechanism import Mechanism
from setsu.mechanism.reductions import without_joint_extras

__all__ = ["check_joint_wrenches"]

Array = NDArray[np.float64]


def check_joint_wrenches(m: Mechanism, *, seed: int = 0, samples: int = 5) -> CheckResult:
    """Check joint_wrenches by cutting every joint in turn, springs between points taken out."""
    rigid = without_joint_extras(m)
    s = draw_states(m, seed, samples)
    wrenches = setsu.joint_wrenches(rigid, s.q, s.v, s.a, frame="world")
    expected = _by_cutting(rigid, s.q, s.v, s.a)
    law = "wrench at a cut = need beyond it"
    return compare("joint wrenches", law, wrenches, expected, [expected], rounding_tolerance(m.nv))


def _by_cutting(m: Mechanism, q: Array, v: Array, a: Array) -> Array:
    """Wrenches (N, n_bodies, 6) by (1) to (3)."""
    poses = setsu.body_poses(m, q)
    R, origin = poses[..., :3, :3], poses[..., :3, 3]
    w = setsu.body_velocities(m, q, v)[..., 3:]
    acceleration = setsu.body_accelerations(m, q, v, a)
    linear, dw = acceleration[..., :3] - np.array(m.gravity), acceleration[..., 3:]
    parameters = setsu.inertial_parameters(m).reshape(m.n_bodies, 10)
    mass = parameters[:, 0]
    h = np.einsum("kbij,bj->kbi", R, parameters[:, 1:4])
    xx, xy, yy, xz, yz, zz = parameters[:, 4:].T
    local = np.stack([np.stack(row, axis=-1) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))], axis=-2)
    inertia = np.einsum("kbij,bjl,kbml->kbim", R, local, R)
    f = mass[:, None] * linear + np.cross(dw, h) + np.cross(w, np.cross(w, h))  # (1)
    n = np.einsum("kbij,kbj->kbi", inertia, dw) + np.cross(w, np.einsum("kbij,kbj->kbi", inertia, w))  # (2)
    n = n + np.cross(h, linear)
    result: Array = np.concatenate([f, n], axis=-1, dtype=np.float64)
    # Children come after their parents: from the tips inwards each body hands over all it carries, by (3).
    for b in range(m.n_bodies - 1, -1, -1):
        i = m.frame(m.moving[b].parent).body
        if i >= 0:
            result[:, i, :3] += result[:, b, :3]
            result[:, i, 3:] += result[:, b, 3:] + np.cross(origin[:, b] - origin[:, i], result[:, b, :3])
    return result
