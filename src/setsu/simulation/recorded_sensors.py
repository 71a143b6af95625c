"""Sensors in a recorded motion: inertial ones at frames, forces of contacts on bodies.

| symbol | meaning | unit |
|---|---|---|
| a, g | acceleration of the frame's origin, gravity | m/s² |
| R, ω | axes of the frame, its angular velocity | -, rad/s |

    accelerometer Rᵀ (a - g), gyroscope Rᵀ ω                                  (1)
    wrench on a body Σ (f, (x - o) x f + couples)                             (2)  at its origin o, of contacts at x

Refuses (2) at contact points with torsional or rolling friction: their couples are not recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import body_poses, frame_acceleration, frame_pose, frame_velocity
from setsu.errors import InputError, nearest_names
from setsu.simulation.recording_set import padded

if TYPE_CHECKING:
    from setsu.simulation.recording import Recording

__all__ = ["contact_wrench", "imu"]

Floats = NDArray[np.float64]


def imu(recording: Recording, frame: str) -> Floats:
    """Return accelerometer and gyroscope (1) at a frame, (T, 6) or (N, T, 6)."""
    if recording.one is not None:  # its mechanisms may differ
        return np.stack([padded(imu(recording[k], frame), len(recording)) for k in range(len(recording.q))])
    m = recording.mechanism
    if m is None:
        raise InputError("Recording.imu: the recording holds no mechanism (a file written without it)")
    q, v, a = recording.q, recording.v, recording.acceleration
    axes = frame_pose(m, q, frame)[..., :3, :3]
    felt = frame_acceleration(m, q, v, a, frame)[..., :3] - np.asarray(m.gravity)
    turning = frame_velocity(m, q, v, frame)[..., 3:]
    both = np.stack([felt, turning], axis=-1)
    seen = np.swapaxes(axes, -1, -2) @ both
    return np.concatenate([seen[..., 0], seen[..., 1]], axis=-1)


def contact_wrench(recording: Recording, body: str) -> Floats:
    """Return the wrench (2) of all contacts on a body, (T, 6) or (N, T, 6)."""
    if recording.one is not None:
        runs = (contact_wrench(recording[k], body) for k in range(len(recording.q)))
        return np.stack([padded(run, len(recording)) for run in runs])
    m, log, pairs = recording.mechanism, recording.contact_log, recording.body_contacts
    if m is None or log is None:
        raise InputError("Recording.contact_wrench: expected a recording of a run with an environment")
    if body not in m.body_names:
        raise InputError(f"Recording.contact_wrench: unknown body {body!r}{nearest_names(body, m.body_names)}")
    number = m.body_names.index(body)
    origin = body_poses(m, recording.q)[:, number, :3, 3]
    out = np.zeros((len(recording.time), 6))

    def add(force: Floats, place: Floats, moment: Floats | float = 0.0) -> None:
        out[:, :3] += force
        out[:, 3:] += np.cross(np.nan_to_num(place) - origin, force) + moment

    polygons = recording.environment.polygons if recording.environment else ()
    materials = [point.material for point in m.contact_points] + [p.material for p in polygons if p.material]
    if any(material.torsional or material.rolling for material in materials):
        raise InputError(
            "Recording.contact_wrench: contact points with torsional or rolling friction: their couples are not "
            "recorded; joint_wrenches count them"
        )
    carried = [k for k, point in enumerate(m.contact_points) if m.frame(point.body).body == number]
    for k in carried:
        add(recording.contact_force[:, k], log.position[:, k])
    for k, names in enumerate(pairs.pairs if pairs is not None else ()):
        for name, sign in zip(names, (1.0, -1.0), strict=True):
            if name in m.frame_names and m.frame(name).body == number:
                assert pairs is not None
                add(sign * pairs.force[:, k], pairs.position[:, k], sign * pairs.moment[:, k])
    return out
