"""One moment of a mechanism as the studio shows it: where everything is and every force in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

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
from setsu.dynamics.wrench_at import wrench_through
from setsu.errors import InputError
from setsu.mechanism import Fixed, Mechanism
from setsu.simulation import Recording
from setsu.simulation.lazy_field import NotRecorded

__all__ = [
    "Moment",
    "contact_loads",
    "contact_positions",
    "moment_at_rest",
    "moment_of_recording",
    "place_of",
    "recorded_contact_positions",
    "welds_of",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Moment:
    """State and forces at one time.

    time: s. q (nq,), v, acceleration, torque (nv,). poses (n_bodies, 4, 4). joint_wrenches (n_bodies, 6): by the parent
    on the body at its origin, world axes. loop_wrench (n_loops, 6): by body_a on body_b. contact_force (n_contacts, 3)
    on the mechanism, at contact_points (n_contacts, 3); empty without contacts. energy: kinetic and potential, J.
    through(frame): wrench (6,) through the weld or joint that carries a frame, world axes, at the frame's origin.
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
    through: Callable[[str], Floats]
    contact_names: tuple[str, ...] = ()

    def weld_wrenches(self, welds: Sequence[str]) -> tuple[dict[str, Floats], dict[str, str]]:
        """Return what passes through welds, (6,) each, and why not for those of which a recording cannot tell."""
        known, unknown = {}, {}
        for name in welds:
            try:
                known[name] = self.through(name)
            except InputError as problem:
                unknown[name] = str(problem)
        return known, unknown


def welds_of(mechanism: Mechanism) -> tuple[str, ...]:
    """Names of the bodies behind welds that carry something: mounts, flanges, tools, sensors."""
    m = mechanism
    loaded = {body.name for body in m.bodies if body.mass or not isinstance(body.joint, Fixed)}
    for body in reversed(m.bodies):
        if body.name in loaded:
            loaded.add(body.parent)
    return tuple(body.name for body in m.bodies if isinstance(body.joint, Fixed) and body.name in loaded)


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
            through = partial(free.wrench_at, axes="world")
        else:
            held = constrained_inverse_dynamics(m, q, zero, zero)
            a, torque, wrenches, loop_wrench = zero, held.torque, held.joint_wrenches, held.loop_wrench
            through = partial(held.wrench_at, axes="world")
    else:
        a = forward_dynamics(m, q, zero, zero) if let_go else zero
        torque = zero if let_go else inverse_dynamics(m, q, zero, zero)
        wrenches = joint_wrenches(m, q, zero, a, frame="world")
        through = partial(wrench_through, m, q, zero, a, through=wrenches, attached=(), axes="world")
    return Moment(
        0.0, q, zero, a, torque, body_poses(m, q), wrenches, loop_wrench, np.zeros((0, 3)), np.zeros((0, 3)),
        0.0, float(potential_energy(m, q)), through,
    )  # fmt: skip


def moment_of_recording(
    mechanism: Mechanism,
    recording: Recording,
    index: int,
    contacts: Sequence[SurfaceContact] = (),
    through: Callable[[str], Floats] | None = None,
) -> Moment:
    """Return one recorded moment; through(frame): (T, 6) as `recording.wrench_at(frame, axes="world")`, if kept."""
    wrench_at = partial(recording.wrench_at, axes="world") if through is None else through
    q, v = recording.q[index], recording.v[index]
    poses = body_poses(mechanism, q)
    points, force, names = contact_loads(mechanism, recording, index, poses, contacts)
    return Moment(
        float(recording.time[index]), q, v, recording.acceleration[index], recording.torque[index], poses,
        recording.joint_wrenches[index], recording.loop_wrench[index], force, points,
        float(kinetic_energy(mechanism, q, v)), float(potential_energy(mechanism, q)),
        lambda frame: wrench_at(frame)[index], names,
    )  # fmt: skip


def contact_loads(
    mechanism: Mechanism, recording: Recording, index: int, poses: Floats, contacts: Sequence[SurfaceContact] = ()
) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Return where contacts of a recorded moment are, (n, 3) m, their forces (n, 3) N, world axes, and their names.

    Points on surfaces, points and shapes that touch the environment, and pairs of bodies; the force of a pair acts on
    its first body. Empty for contacts whose place is not known, as of a file that does not keep its surfaces.
    """
    points, forces = recorded_contact_positions(mechanism, recording, index, poses, contacts), np.zeros((0, 3))
    names: tuple[str, ...] = ()
    if len(points):
        forces, names = recording.contact_force[index], recording.contact_names
    pairs = recording.body_contacts
    if pairs is not None and pairs.pairs:
        touching = np.flatnonzero(np.isfinite(pairs.position[index]).all(axis=1))
        points = np.vstack([points, pairs.position[index][touching]])
        forces = np.vstack([forces, pairs.force[index][touching]])
        names = (*names, *(" / ".join(pairs.pairs[k]) for k in touching.tolist()))
    return points, forces, names


def recorded_contact_positions(
    mechanism: Mechanism, recording: Recording, index: int, poses: Floats, contacts: Sequence[SurfaceContact] = ()
) -> Floats:
    """Return where the contacts of a recorded moment are, (n_contacts, 3) m; empty where that is not known."""
    count = recording.contact_force.shape[1] if recording.has("contact_force") else 0
    if count and len(contacts) == count:
        return contact_positions(mechanism, poses, contacts)
    log = recording.contact_log
    if count and log is not None and not isinstance(log.__dict__.get("position"), NotRecorded):
        return log.position[index]
    if count and len(mechanism.contact_points) == count:
        return np.array([
            place_of(mechanism, poses, point.body, point.position) for point in mechanism.contact_points
        ])  # fmt: skip
    return np.zeros((0, 3))


def contact_positions(mechanism: Mechanism, poses: Floats, contacts: Sequence[SurfaceContact]) -> Floats:
    """Return where the points of contacts are, (n_contacts, 3) m, world."""
    places = [place_of(mechanism, poses, contact.body, contact.point) for contact in contacts]
    return np.array(places).reshape(-1, 3)


def place_of(mechanism: Mechanism, poses: Floats, name: str, point: Sequence[float] = (0.0, 0.0, 0.0)) -> Floats:
    """Return where a point of a body or frame is, (3,) m, world; poses (n_bodies, 4, 4)."""
    frame = mechanism.frame(name)
    pose = (poses[frame.body] if frame.body >= 0 else np.eye(4)) @ frame.pose.matrix
    return pose[:3, :3] @ np.array(point) + pose[:3, 3]
