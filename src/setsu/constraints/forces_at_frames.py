"""What passes through any weld or joint of a constrained mechanism: `wrench_at` of the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from setsu.constraints.contact import SurfaceContact
from setsu.constraints.stacked import Floats
from setsu.dynamics import frame_pose
from setsu.dynamics.wrench_at import loops_attached, wrench_through
from setsu.dynamics.wrenches import Attached, attached_by_name
from setsu.errors import InputError
from setsu.mechanism import Mechanism

__all__ = ["Loaded", "contacts_attached", "kept_external", "require_source"]


@dataclass(frozen=True)
class Loaded:
    """States of a mechanism and what acts on it besides its loops, kept with a result.

    q, v (..., nq), (..., nv). external: as given by the user, None for nothing; joint_axes: of the joint wrenches.
    """

    mechanism: Mechanism
    q: Floats
    v: Floats
    contacts: tuple[SurfaceContact, ...] = ()
    external: Any = None
    joint_axes: str = "world"

    def wrench_at(
        self,
        frame: str,
        a: Floats,
        joint_wrenches: Floats,
        loop_wrench: Floats,
        normal_force: Floats,
        friction_force: Floats,
        axes: str,
    ) -> Floats:
        """Return the wrench through the joint or weld that carries a frame (..., 6), all forces counted."""
        m, through = self.mechanism, joint_wrenches
        if self.joint_axes == "body":
            R = np.stack([frame_pose(m, self.q, name)[..., :3, :3] for name in m.body_names], axis=-3)
            parts = through.reshape(*through.shape[:-1], 2, 3)
            through = np.einsum("...ij,...kj->...ki", R, parts).reshape(through.shape)
        attached = loops_attached(m, self.q, loop_wrench)
        attached += contacts_attached(m, self.q, self.contacts, normal_force, friction_force)
        if isinstance(self.external, Mapping):
            attached += attached_by_name(m, "wrench_at", self.q, self.external)
        return wrench_through(m, self.q, self.v, a, frame, through, attached, axes=axes)


def contacts_attached(
    mechanism: Mechanism,
    q: ArrayLike,
    contacts: Sequence[SurfaceContact],
    normal_force: Floats,
    friction_force: Floats,
) -> list[Attached]:
    """Return forces of contacts on their bodies, of normal_force (..., n) and friction_force (..., n, 3), N."""
    found = []
    for k, contact in enumerate(contacts):
        T = frame_pose(mechanism, q, contact.body)
        point = T[..., :3, :3] @ np.array(contact.point, dtype=np.float64) + T[..., :3, 3]
        normal = contact.surface.frame(point, f'contact "{contact.name}"')[1]
        force = normal_force[..., k, None] * normal + friction_force[..., k, :]
        found.append(Attached(contact.body, np.concatenate([force, np.zeros_like(force)], axis=-1), point))
    return found


def kept_external(external: Any) -> Any:
    """Return a copy of wrenches given by frame name, None for those of moving bodies, which no weld carries."""
    if not isinstance(external, Mapping):
        return None
    return {name: np.array(wrench, dtype=np.float64) for name, wrench in external.items()}


def require_source(source: Loaded | None) -> Loaded:
    """Return the states a result belongs to."""
    if source is None:
        raise InputError("wrench_at: this result was made without its states; compute it by the library's function")
    return source
