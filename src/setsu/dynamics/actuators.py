"""Torques of a mechanism's actuators for given controls.

    s = (1, length, rate),  force = clip((gain · s) clip(control) + bias · s)      (1)
    torque = Σ momentᵀ force,  rate = moment v                                    (2)
    moment: gear ∂length/∂q of a joint or tendon; gear turned into the axes of the velocities for other joints;
            gear · Jacobian of a site, in the site's axes                          (3)

Gravity compensation that belongs to actuators (`Mechanism.compensation_by_actuators`) is added, then the torque of each
joint of one velocity is held within its effort_limit.
Source: MuJoCo documentation, chapter Computation, "Actuation model".
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import require_mechanism
from setsu.dynamics.equations import gravity_torque
from setsu.dynamics.frames import frame_jacobian, point_jacobian
from setsu.dynamics.kinematics import body_poses
from setsu.errors import InputError, nearest_names
from setsu.mechanism import Actuator, Free, Mechanism, Spherical, Tendon
from setsu.spatial import real_array, rotation_from_quaternion
from setsu.symbolic.tracing import holds_symbols

__all__ = ["actuator_torque", "effort_limits"]

Floats = NDArray[np.float64]


def actuator_torque(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, control: ArrayLike) -> Floats:
    """Return the joint torques that the actuators of a mechanism exert.

    Args:
        q, v: coordinates (..., nq), velocities (..., nv).
        control: one number per actuator, in the order of `mechanism.actuators`, (..., n_actuators).

    Returns:
        (..., nv), N or N m: what `forward_dynamics` takes as torques.

    >>> import setsu
    >>> b = setsu.MechanismBuilder("arm").add_body("link", joint=setsu.Revolute(name="j"), mass=1.0, inertia=np.eye(3))
    >>> m = b.add_actuator(setsu.Actuator("servo", joint="j", gain=(50.0, 0.0, 0.0), bias=(0.0, -50.0, -2.0))).build()
    >>> setsu.actuator_torque(m, [0.1], [0.0], [0.3]).tolist()
    [10.0]
    """
    require_mechanism(mechanism, "actuator_torque")
    m = mechanism
    parts: list[Any] = [_checked(q, m.nq, "q"), _checked(v, m.nv, "v"), _checked(control, len(m.actuators), "control")]
    batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    q, v, control = (np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts)
    torque: Any = np.zeros((*batch, m.nv))
    for index, actuator in enumerate(m.actuators):
        length, moment = _transmission(m, actuator, q)
        rate = (moment * v).sum(axis=-1)
        gain = actuator.gain[0] + actuator.gain[1] * length + actuator.gain[2] * rate
        bias = actuator.bias[0] + actuator.bias[1] * length + actuator.bias[2] * rate
        force = gain * _within(control[..., index], *actuator.control_range) + bias  # (1)
        force = _within(force, *actuator.force_range)
        torque = torque + moment * (force if holds_symbols(force) else np.asarray(force)[..., None])  # (2)
    if m.compensation_by_actuators:
        torque = torque + gravity_torque(_compensated(m), q)
    limits = effort_limits(m)
    return _within(torque, -limits, limits)


def effort_limits(mechanism: Mechanism) -> Floats:
    """Return the largest torques (nv,) of the drives, N m or N: `effort_limit` of joints of one velocity, else inf.

    >>> import setsu
    >>> effort_limits(setsu.sample_mechanisms.seven_joint_arm()).tolist()[:2]
    [90.0, 90.0]
    """
    limits = np.full(mechanism.nv, np.inf)
    for body, where in zip(mechanism.moving, mechanism.v_slices, strict=True):
        if body.joint.nv == 1:
            limits[where] = body.joint.effort_limit
    return limits


def _within(value: Any, low: Any, high: Any) -> Any:
    """np.clip; nothing to do without limits."""
    return np.clip(value, low, high) if np.isfinite(low).any() or np.isfinite(high).any() else value


def _checked(value: Any, length: int, name: str) -> Any:
    if holds_symbols(value) and value.shape == (length,):
        return value
    try:
        array = real_array(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"actuator_torque: {name}: expected numbers, got {value!r:.80}") from None
    if array.ndim == 0 or array.shape[-1] != length:
        raise InputError(f"actuator_torque: {name}: expected shape (..., {length}), got {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"actuator_torque: {name}: expected finite numbers, got {array[~np.isfinite(array)][0]}")
    return array


def _compensated(m: Mechanism) -> Mechanism:
    """The part of the bodies' masses whose weight is held up."""
    bodies = tuple(
        dataclasses.replace(body, mass=body.mass * body.gravity_compensation, inertia=(0.0,) * 6) for body in m.bodies
    )
    held = m.__dict__.get("_compensated")
    if held is None:
        held = m.__dict__["_compensated"] = Mechanism(m.name, m.gravity, bodies)
    return held


def _transmission(m: Mechanism, actuator: Actuator, q: Floats) -> tuple[Any, Floats]:
    """Length and its derivative by the velocities (..., nv), both times gear (3)."""
    moment = np.zeros((*q.shape[:-1], m.nv))
    if actuator.site:
        site = next(site for site in m.sites if site.name == actuator.site)
        carrier = m.frame(site.body)
        T = carrier.pose.matrix @ site.pose.matrix
        R = T[:3, :3] if carrier.body < 0 else body_poses(m, q)[..., carrier.body, :3, :3] @ T[:3, :3]
        J = frame_jacobian(m, q, site.body, site.pose.translation)
        wrench = np.concatenate([R @ np.array(actuator.gear[:3]), R @ np.array(actuator.gear[3:])], axis=-1)
        return 0.0, moment + np.einsum("...c,...cd->...d", wrench, J)
    if actuator.tendon:
        tendon = _named(m, actuator.tendon)
        length, slope = _tendon_length(m, tendon, q)
        return actuator.gear[0] * length, moment + actuator.gear[0] * slope
    index = m.joint_index(actuator.joint)
    joint, where, at = m.moving[index].joint, m.v_slices[index], q[..., m.q_slices[index]]
    gear = np.array(actuator.gear)
    if not isinstance(joint, (Free, Spherical)):
        moment[..., where] = gear
        return (gear * at).sum(axis=-1), moment
    R = rotation_from_quaternion(at[..., -4:]) if at.ndim == 1 else _rotations(at[..., -4:])
    turn = np.swapaxes(R, -1, -2) @ gear[-3:] if actuator.in_parent else np.broadcast_to(gear[-3:], (*at.shape[:-1], 3))
    if isinstance(joint, Free):
        moment[..., where] = np.concatenate([np.swapaxes(R, -1, -2) @ gear[:3], turn], axis=-1)
        return 0.0, moment
    moment[..., where] = turn
    return np.einsum("...k,...k->...", _rotation_vectors(at), turn), moment


def _rotations(quaternions: Floats) -> Floats:
    flat = quaternions.reshape(-1, 4)
    return np.array([rotation_from_quaternion(row) for row in flat]).reshape(*quaternions.shape[:-1], 3, 3)


def _rotation_vectors(quaternions: Floats) -> Floats:
    """Rotation vectors of quaternions x y z w, at most pi long."""
    axis, w = quaternions[..., :3], quaternions[..., 3]
    sine = np.linalg.norm(axis, axis=-1)
    angle = 2.0 * np.arctan2(np.where(w < 0.0, -sine, sine), np.abs(w))
    return axis * np.where(sine > 0.0, angle / np.where(sine > 0.0, sine, 1.0), 2.0)[..., None]


def _named(m: Mechanism, name: str) -> Tendon:
    for tendon in m.tendons:
        if tendon.name == name:
            return tendon
    known = [tendon.name for tendon in m.tendons]
    raise InputError(f'actuator_torque: no tendon "{name}" in {m.name}{nearest_names(name, known)}')


def _tendon_length(m: Mechanism, tendon: Tendon, q: Floats) -> tuple[Floats, Floats]:
    """Length (...) of a tendon and its derivative by the velocities (..., nv)."""
    length, slope = np.zeros(q.shape[:-1]), np.zeros((*q.shape[:-1], m.nv))
    for name, factor in tendon.joints:
        index = m.joint_index(name)
        length = length + factor * q[..., m.q_slices[index].start]
        slope[..., m.v_slices[index].start] += factor
    poses = body_poses(m, q) if tendon.segments else None
    for piece in tendon.segments:
        ends, columns = [], []
        for body, point in ((piece.body_a, piece.point_a), (piece.body_b, piece.point_b)):
            frame = m.frame(body)
            x = frame.pose.matrix[:3, :3] @ np.array(point) + np.array(frame.pose.translation)
            if frame.body < 0:
                ends.append(np.broadcast_to(x, (*q.shape[:-1], 3)))
                columns.append(np.zeros((*q.shape[:-1], 3, m.nv)))
            else:
                T = poses[..., frame.body, :, :]  # type: ignore[index]
                ends.append(np.einsum("...ij,j->...i", T[..., :3, :3], x) + T[..., :3, 3])
                columns.append(point_jacobian(m, q, body, point))
        r = ends[1] - ends[0]
        size = np.linalg.norm(r, axis=-1)
        n = r / np.where(size > 0.0, size, 1.0)[..., None]
        length = length + piece.factor * size
        slope = slope + piece.factor * np.einsum("...i,...id->...d", n, columns[1] - columns[0])
    return length, slope
