"""Names of the velocities of a mechanism, for messages, tables and for asking for some of them.

| joint | names |
|---|---|
| one velocity | joint |
| Free | joint.vx joint.vy joint.vz joint.wx joint.wy joint.wz |
| Spherical | joint.wx joint.wy joint.wz |
| others | joint[0] joint[1] ... |
"""

from __future__ import annotations

from setsu.mechanism.joints import Free, Joint, Spherical
from setsu.mechanism.record import Mechanism

__all__ = ["coordinate_names", "position_names", "velocities_by_name"]

_TURNS = ("wx", "wy", "wz")
_ALL = ("vx", "vy", "vz", *_TURNS)


def coordinate_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Return a name per velocity, in the order of v.

    >>> from setsu.sample_mechanisms import floating_box
    >>> coordinate_names(floating_box())[:2]
    ('box_joint.vx', 'box_joint.vy')
    """
    return tuple(name for body in mechanism.moving for name in _names(body.joint))


def _names(joint: Joint) -> list[str]:
    if joint.nv == 1:
        return [joint.name]
    if isinstance(joint, (Free, Spherical)):
        return [f"{joint.name}.{part}" for part in (_ALL if isinstance(joint, Free) else _TURNS)]
    return [f"{joint.name}[{k}]" for k in range(joint.nv)]


def position_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Return a name per coordinate, in the order of q: "base.x" to "base.qw", "shoulder.qx", else as velocities."""
    names: list[str] = []
    for body in mechanism.moving:
        joint = body.joint
        if isinstance(joint, (Free, Spherical)):
            parts = ("qx", "qy", "qz", "qw")
            names += [
                f"{joint.name}.{part}" for part in (("x", "y", "z", *parts) if isinstance(joint, Free) else parts)
            ]
        else:
            names += _names(joint)
    return tuple(names)


def velocities_by_name(mechanism: Mechanism) -> dict[str, list[int]]:
    """Return the velocities that each name stands for: those above, a joint for all of its own, and older forms.

    Older forms are "base[0]", "base 0" and "base vx".
    """
    known: dict[str, list[int]] = {}
    for body, where in zip(mechanism.moving, mechanism.v_slices, strict=True):
        name, nv = body.joint.name, body.joint.nv
        for k, own in enumerate(_names(body.joint)):
            older = [] if nv == 1 else [f"{name}[{k}]", f"{name} {k}", own.replace(f"{name}.", f"{name} ", 1)]
            for form in (own, *older):
                known.setdefault(form, [where.start + k])
    for body, where in zip(mechanism.moving, mechanism.v_slices, strict=True):
        known[body.joint.name] = list(range(where.start, where.stop))
    return known
