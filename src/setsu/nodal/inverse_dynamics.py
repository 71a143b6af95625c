"""Inverse dynamics from the forces at the nodes of all links at once: element dynamics of isobe2003.

| symbol | meaning | frame |
|---|---|---|
| node j | centroid of link j, with the rotation of the link | |
| f_j, n_j | nodal force m (a - g) and moment d(R I Rᵀ ω)/dt | world |
| Q_j | sum of the nodal forces of all links that joint j carries | world |
| P_j | f_j, n_j, Q of each child, tip force: what acts on link j | world |
| T_j, L_j | into the axes of the link; member lengths (member_lengths.py) | |

    P_j from the scheme (time_schemes.py), Q = Σ f over carried links                        (1)
    m_j = T_jᵀ L_j T_j P_j = arm_c x f_j + n_j + Σ_children arm x Q_child + arm_tip x F_tip   (2)  isobe2003 (2)
    moment in joint i = Σ m_j over the links it carries,  force in joint i = Q_i             (3)  (4)-(6)
    tau = joint axes · (force, moment) + armature, friction and springs of the joint         (4)

A force that the mechanism shall exert goes into P directly, without a Jacobian. Loops are cut: what passes through them
is given as tip forces. Only sums and products over whole arrays: no loop over time steps or nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import fast_function, require_mechanism
from setsu.dynamics.parameters import inertial_parameters
from setsu.dynamics.springs import spring_wrenches
from setsu.errors import InputError, nearest_names
from setsu.mechanism import Mechanism
from setsu.nodal.member_lengths import carried_bodies, parent_bodies
from setsu.nodal.time_schemes import central_momentum_rates, central_second, newmark, rotation_steps
from setsu.spatial import finite_vector

__all__ = ["TipForce", "nodal_inverse_dynamics"]

Floats = NDArray[np.float64]
_SCHEMES = ("central", "newmark", "given")
_FEWEST_SAMPLES = 4


@dataclass(frozen=True)
class TipForce:
    """A force that the mechanism exerts on its surroundings at a point of a body.

    point: in the body's frame, m. force: world axes, N, (3,) or (T, 3).
    """

    point: ArrayLike
    force: ArrayLike


def nodal_inverse_dynamics(
    mechanism: Mechanism,
    time: ArrayLike,
    q: ArrayLike,
    scheme: str = "central",
    tip_forces: Mapping[str, TipForce] | None = None,
    *,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    beta: float = 0.25,
    gamma: float = 0.5,
) -> Floats:
    """Return the joint torques (T, nv) of a sampled motion.

    Args:
        time: (T,), s, evenly spaced, at least 4 samples.
        q: coordinates (T, nq) at these times.
        scheme: "central" (differences of second order), "newmark" (the paper's, with beta and gamma, starting with the
            first rows of v and a, at rest by default), "given" (v and a hold velocities and accelerations).
        tip_forces: by body name, what the mechanism shall exert there.
        v, a: (T, nv), needed by "given".

    >>> import numpy as np, setsu
    >>> m = setsu.sample_mechanisms.planar_arm(2)
    >>> t = np.linspace(0.0, 1.0, 101)
    >>> setsu.nodal_inverse_dynamics(m, t, np.stack([np.sin(t), t**2], axis=1)).shape
    (101, 2)
    """
    require_mechanism(mechanism, "nodal_inverse_dynamics")
    if scheme not in _SCHEMES:
        raise InputError(f"nodal_inverse_dynamics: unknown scheme {scheme!r}{nearest_names(scheme, _SCHEMES)}")
    samples, h = _checked_time(time)
    q = _rows(q, samples, mechanism.nq, "q")
    rates, accelerations = _joint_motion(mechanism, q, h, scheme, v, a, beta, gamma)
    poses = fast_function(mechanism, "body_poses")(q)
    R, x = poses[..., :3, :3], poses[..., :3, 3]
    mass, centroid, inertia = _nodes(mechanism)
    arm = (R @ centroid[..., None])[..., 0]
    if scheme == "central":
        acceleration = central_second(x + arm, h)
        moment = central_momentum_rates(R, inertia, h)
    else:
        V, A = _body_motion(mechanism, q, R, x, rates, accelerations, h, scheme, beta, gamma)
        omega, alpha = V[..., 3:], A[..., 3:]
        acceleration = _at_centroid(V, A, arm)
        if scheme == "newmark":
            speed = V[0, :, :3] + np.cross(omega[0], arm[0])
            acceleration = newmark(np.diff(x + arm, axis=0), h, beta, gamma, speed, acceleration[0])[1]
        turned = R @ inertia @ np.swapaxes(R, -1, -2)
        moment = (turned @ alpha[..., None])[..., 0] + np.cross(omega, (turned @ omega[..., None])[..., 0])
    force = mass[:, None] * (acceleration - np.array(mechanism.gravity))  # (1)
    own = np.cross(arm, force) + moment
    if mechanism.springs:
        pull = spring_wrenches(mechanism, q, rates)
        force, own = force - pull[..., :3], own - pull[..., 3:]
    for body, exerted in (tip_forces or {}).items():
        _exert(mechanism, body, exerted, poses, force, own, samples)
    return _torques(mechanism, q, x, force, own) + _drive(mechanism, q, rates, accelerations)


def _at_centroid(V: Floats, A: Floats, arm: Floats) -> Floats:
    """Accelerations of points with arms from the body origins."""
    omega, alpha = V[..., 3:], A[..., 3:]
    turning = np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
    return A[..., :3] + np.asarray(turning, dtype=np.float64)


def _torques(m: Mechanism, q: Floats, x: Floats, force: Floats, own: Floats) -> Floats:
    """Torques of nodal forces and of their moments about the joints of their own links (2)-(4)."""
    carried = carried_bodies(m).astype(np.float64)
    Q = np.einsum("ij,tjk->tik", carried, force)
    parents = parent_bodies(m)
    riding = np.flatnonzero(parents >= 0)
    onto = np.zeros((m.n_bodies, len(riding)))
    onto[parents[riding], np.arange(len(riding))] = 1.0
    from_children = np.cross(x[:, riding] - x[:, parents[riding]], Q[:, riding])
    moment = np.einsum("ij,tjk->tik", carried, own + np.einsum("ij,tjk->tik", onto, from_children))
    body_of = np.repeat(np.arange(m.n_bodies), [body.joint.nv for body in m.moving])
    axes = np.swapaxes(fast_function(m, "joint_axes")(q), -1, -2)
    return np.sum(axes[..., :3] * Q[:, body_of] + axes[..., 3:] * moment[:, body_of], axis=-1)


def _nodes(m: Mechanism) -> tuple[Floats, Floats, Floats]:
    """Mass, centroid (body frame) and inertia about the centroid (body axes) of each link, fixed bodies merged."""
    parameters = inertial_parameters(m).reshape(-1, 10)
    mass = parameters[:, 0]
    c = parameters[:, 1:4] / np.where(mass == 0.0, 1.0, mass)[:, None]
    about_origin = parameters[:, [4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(-1, 3, 3)
    shift = np.einsum("ni,ni->n", c, c)[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :]
    return mass, c, about_origin - mass[:, None, None] * shift


def _joint_motion(
    m: Mechanism,
    q: Floats,
    h: float,
    scheme: str,
    v: ArrayLike | None,
    a: ArrayLike | None,
    beta: float,
    gamma: float,
) -> tuple[Floats, Floats]:
    """Joint velocities and accelerations (T, nv) as the scheme sees them."""
    samples = len(q)
    if scheme == "given":
        if v is None or a is None:
            raise InputError('nodal_inverse_dynamics: scheme "given" needs v and a, (T, nv) each')
        return _rows(v, samples, m.nv, "v"), _rows(a, samples, m.nv, "a")
    steps = fast_function(m, "difference")(np.ascontiguousarray(q[:-1]), np.ascontiguousarray(q[1:]))
    if scheme == "newmark":
        if not (0.0 < beta <= 0.5 and 0.0 <= gamma <= 1.0):
            raise InputError(f"nodal_inverse_dynamics: expected 0 < beta <= 0.5, 0 <= gamma <= 1, got {beta}, {gamma}")
        start = [np.zeros(m.nv) if x is None else _rows(x, samples, m.nv, name)[0] for x, name in ((v, "v"), (a, "a"))]
        return newmark(steps, h, beta, gamma, start[0], start[1])
    half = steps / h
    rates, accelerations = np.empty((samples, m.nv)), np.empty((samples, m.nv))
    rates[1:-1] = 0.5 * (half[1:] + half[:-1])
    accelerations[1:-1] = (half[1:] - half[:-1]) / h
    for at, sign, s in ((0, 1.0, half), (-1, -1.0, half[::-1])):
        rates[at] = 1.875 * s[0] - 1.25 * s[1] + 0.375 * s[2]
        accelerations[at] = sign * (-2.0 * s[0] + 3.0 * s[1] - s[2]) / h
    return rates, accelerations


def _body_motion(
    m: Mechanism,
    q: Floats,
    R: Floats,
    x: Floats,
    rates: Floats,
    accelerations: Floats,
    h: float,
    scheme: str,
    beta: float,
    gamma: float,
) -> tuple[Floats, Floats]:
    """Velocities and accelerations (T, n, 6) of the bodies: of given joint motion, or by Newmark from the start on."""
    velocities, accelerated = fast_function(m, "body_velocities"), fast_function(m, "body_accelerations")
    if scheme == "given":
        return velocities(q, rates), accelerated(q, rates, accelerations)
    first = tuple(np.ascontiguousarray(part[0]) for part in (q, rates, accelerations))
    V0, A0 = velocities(*first[:2]), accelerated(*first)
    steps = np.concatenate([np.diff(x, axis=0), rotation_steps(R)], axis=-1)
    return newmark(steps, h, beta, gamma, V0, A0)


def _drive(m: Mechanism, q: Floats, rates: Floats, accelerations: Floats) -> Floats:
    """Armature, friction and joint springs (4)."""
    torque = m.armature * accelerations + m.damping * rates + m.coulomb * np.sign(rates)
    stiff = np.flatnonzero(m.tables.stiffness)
    if stiff.size:
        # Joint springs exist where coordinates and velocities are the same numbers.
        place = {v: where.start + v - span.start for where, span in zip(m.q_slices, m.v_slices, strict=True)
                 for v in range(span.start, span.stop)}  # fmt: skip
        coordinates = q[:, [place[int(v)] for v in stiff]]
        torque[:, stiff] += m.tables.stiffness[stiff] * (coordinates - m.tables.spring_rest[stiff])
    return torque


def _exert(m: Mechanism, body: str, exerted: TipForce, poses: Floats, force: Floats, own: Floats, samples: int) -> None:
    """Put a tip force into P: the link needs it as one more force, acting at its point (2)."""
    frame = m.frame(body)
    if frame.body < 0:
        raise InputError(f'nodal_inverse_dynamics: tip force on "{body}", which does not move')
    if not isinstance(exerted, TipForce):
        raise InputError(f'nodal_inverse_dynamics: tip force on "{body}": expected a TipForce, got {exerted!r:.80}')
    point = finite_vector(exerted.point, 3, f'tip force on "{body}": point')
    local = frame.pose.matrix[:3, :3] @ point + np.array(frame.pose.translation)
    push = np.asarray(exerted.force, dtype=np.float64)
    if push.shape not in ((3,), (samples, 3)) or not np.isfinite(push).all():
        raise InputError(
            f'nodal_inverse_dynamics: tip force on "{body}": expected finite numbers of shape (3,) or ({samples}, 3), '
            f"got shape {push.shape}"
        )
    force[:, frame.body] += push
    own[:, frame.body] += np.cross(poses[:, frame.body, :3, :3] @ local, push)


def _checked_time(time: ArrayLike) -> tuple[int, float]:
    t = np.asarray(time, dtype=np.float64)
    if t.ndim != 1 or len(t) < _FEWEST_SAMPLES:
        raise InputError(
            f"nodal_inverse_dynamics: time: expected at least {_FEWEST_SAMPLES} samples, got shape {t.shape}"
        )
    if not np.isfinite(t).all():
        raise InputError(f"nodal_inverse_dynamics: time[{int(np.argmin(np.isfinite(t)))}] is not finite")
    steps = np.diff(t)
    h = float((t[-1] - t[0]) / (len(t) - 1))
    worst = int(np.argmax(np.abs(steps - h)))
    if h <= 0.0 or abs(steps[worst] - h) > 1e-6 * h:
        raise InputError(
            f"nodal_inverse_dynamics: time: expected even steps of {h:g} s, got {steps[worst]:g} s after sample {worst}"
        )
    return len(t), h


def _rows(value: ArrayLike, samples: int, width: int, name: str) -> Floats:
    try:
        rows = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"nodal_inverse_dynamics: {name}: expected numbers, got {type(value).__name__}") from None
    if rows.shape != (samples, width):
        raise InputError(f"nodal_inverse_dynamics: {name}: expected shape ({samples}, {width}), got {rows.shape}")
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0].tolist()
        raise InputError(
            f"nodal_inverse_dynamics: {name}[{row}, {column}] is {rows[row, column]}, expected finite numbers"
        )
    return rows
