"""What passes through any joint, weld or mount over a recorded motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.forces_at_frames import contacts_attached
from setsu.dynamics.wrench_at import loops_attached, welded_piece, wrench_through
from setsu.dynamics.wrenches import Attached
from setsu.errors import InputError
from setsu.simulation.recording_set import padded

if TYPE_CHECKING:
    from setsu.mechanism import Mechanism
    from setsu.simulation.recording import Recording

__all__ = ["recorded_wrench"]

Floats = NDArray[np.float64]


def recorded_wrench(recording: Recording, frame: str, axes: str) -> Floats:
    """Return the wrench (T, 6) that carries a frame, (N, T, 6) of N runs: `Recording.wrench_at`."""
    if recording.one is not None:
        runs = (recorded_wrench(recording[k], frame, axes) for k in range(len(recording.q)))
        return np.stack([padded(run, len(recording)) for run in runs])
    m = recording.mechanism
    if m is None:
        raise InputError("wrench_at: the recording was written without its mechanism")
    attached: list[Attached] = []
    piece = welded_piece(m, frame)
    if piece:  # through a weld: which declared body each force acts on matters
        attached += loops_attached(m, recording.q, recording.loop_wrench)
        attached += _contacts(m, recording, piece)
    state = recording.q, recording.v, recording.acceleration
    return wrench_through(m, *state, frame, recording.joint_wrenches, attached, axes=axes)


def _contacts(m: Mechanism, recording: Recording, piece: set[str]) -> list[Attached]:
    """Forces of contacts on declared bodies; those of which only the moving body is known are refused."""
    q, force = recording.q, recording.contact_force
    between = recording.body_contacts
    carrier = m.frame(next(iter(piece))).body
    if between is not None and carrier >= 0 and any(m.body_names[carrier] in pair for pair in between.pairs):
        raise InputError(
            f'wrench_at: contacts between bodies are recorded for the whole of "{m.body_names[carrier]}", not for the '
            "bodies welded to it; expected a frame on the near side of the weld, or a run without body_contacts"
        )
    surfaces = recording.surface_contacts
    if recording.contact_log is not None:
        held = [contact.name for contact in surfaces if contact.body in piece]
        if held:
            raise InputError(
                f'wrench_at: surface contact "{held[0]}" of a run with an environment has no recorded force'
            )
        position = recording.contact_log.position
        return [
            Attached(point.body, np.concatenate([force[:, k], np.zeros((len(q), 3))], axis=1), position[:, k])
            for k, point in enumerate(m.contact_points)
            if point.body in piece
        ]
    if len(surfaces) != len(recording.contact_names):
        raise InputError("wrench_at: the recording comes from a file, which does not hold its surface contacts")
    return contacts_attached(m, q, surfaces, recording.normal_force, recording.friction_force)
