"""Names of the velocities of a mechanism, for messages and for asking for some of them."""

from __future__ import annotations

from setsu.mechanism.record import Mechanism

__all__ = ["coordinate_names"]


def coordinate_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Return a name per velocity: the joint's, with [k] behind it for joints of several velocities."""
    return tuple(
        body.joint.name if body.joint.nv == 1 else f"{body.joint.name}[{k}]"
        for body in mechanism.moving
        for k in range(body.joint.nv)
    )
