"""One moment of a mechanism as the studio shows it: where everything is and every force in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.constraints import SurfaceContact, constrained_dynamics, constrained_inverse_dynamics
from setsu.dynamics import (
    body_poses,
    forward_dynamics,
    inverse_dynamics,
    joint_wrenches,
    kinetic_energy,
    potential_energy,
)
from setsu.mechanism import Mechanism
from setsu.simulation import Recording

__all__ = ["Moment", "contact_positions", "moment_at_rest", "moment_of_recording", "recorded_contact_positions"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Moment:
    """State and forces at one time.

    time: s. q (nq,), v, acceleration, torque (nv,). poses (n_bodies, 4, 4). joint_wrenches (n_bodies, 6): by the parent
    on the body at its origin, world axes. loop_wrench (n_loops, 6): by body_a on body_b. contact_force (n_contacts, 3)
    on the mechanism, at contact_points (n_contacts, 3); empty without contacts. energy: kinetic and potential, J.
    """

    time: float
    q: Floats
    v: Floats
    acceleration: Floats
    torque: Floats
    poses: Floats
    joint_wrenches: Floats
    loop_wrench: Floats
    contact_force: Floats
    contact_points: Floats
    kinetic_energy: float
    potential_energy: float


def moment_at_rest(mechanism: Mechanism, q: Floats, *, let_go: bool = False) -> Moment:
    """Return the forces at standstill: held by its joint torques, or, with let_go, in the instant all torques vanish.

    Raises:
        InputError: q leaves loops open.
    """
    m, zero = mechanism, np.zeros(mechanism.nv)
    loop_wrench = np.zeros((len(m.loops), 6))
    if m.loops or m.couplings:
        if let_go:
            free = constrained_dynamics(m, q, zero, zero)
            a, torque, wrenches, loop_wrench = free.acceleration, zero, free.joint_wrenches, free.loop_wrench
        else:
            held = constrained_inverse_dynamics(m, q, zero, zero)
            a, torque, wrenches, loop_wrench = zero, held.torque, held.joint_wrenches, held.loop_wrench
    else:
        a = forward_dynamics(m, q, zero, zero) if let_go else zero
        torque = zero if let_go else inverse_dynamics(m, q, zero, zero)
        wrenches = joint_wrenches(m, q, zero, a, frame="world")
    return Moment(
        0.0, q, zero, a, torque, body_poses(m, q), wrenches, loop_wrench, np.zeros((0, 3)), np.zeros((0, 3)),
        0.0, float(potential_energy(m, q)),
    )  # fmt: skip


def moment_of_recording(
    mechanism: Mechanism, recording: Recording, index: int, contacts: Sequence[SurfaceContact] = ()
) -> Moment:
    """Return one recorded moment."""
    q, v = recording.q[index], recording.v[index]
    poses = body_poses(mechanism, q)
    points = recorded_contact_positions(mechanism, recording, poses, contacts)
    force = recording.contact_force[index] if len(points) else np.zeros((0, 3))
    return Moment(
        float(recording.time[index]), q, v, recording.acceleration[index], recording.torque[index], poses,
        recording.joint_wrenches[index], recording.loop_wrench[index], force, points,
        float(kinetic_energy(mechanism, q, v)), float(potential_energy(mechanism, q)),
    )  # fmt: skip


def recorded_contact_positions(
    mechanism: Mechanism, recording: Recording, poses: Floats, contacts: Sequence[SurfaceContact] = ()
) -> Floats:
    """Return where the contacts of a recording are, (n, 3) m: points on surfaces, or those that touch the environment.

    Empty when the recording has other contacts than both, as one read from a file that does not keep its surfaces.
    """
    count = recording.contact_force.shape[1]
    if count and len(contacts) == count:
        return contact_positions(mechanism, poses, contacts)
    if count and len(mechanism.contact_points) == count:
        return np.array([
            _place(mechanism, poses, point.body, point.position) for point in mechanism.contact_points
        ])  # fmt: skip
    return np.zeros((0, 3))


def contact_positions(mechanism: Mechanism, poses: Floats, contacts: Sequence[SurfaceContact]) -> Floats:
    """Return where the points of contacts are, (n_contacts, 3) m, world."""
    places = [_place(mechanism, poses, contact.body, contact.point) for contact in contacts]
    return np.array(places).reshape(-1, 3)


def _place(mechanism: Mechanism, poses: Floats, body: str, point: Sequence[float]) -> Floats:
    frame = mechanism.frame(body)
    pose = (poses[frame.body] if frame.body >= 0 else np.eye(4)) @ frame.pose.matrix
    return pose[:3, :3] @ np.array(point) + pose[:3, 3]
