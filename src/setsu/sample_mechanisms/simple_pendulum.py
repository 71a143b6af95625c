"""Point masses on massless rods, one below the other."""

from __future__ import annotations

from setsu.errors import InputError
from setsu.mechanism import Mechanism, MechanismBuilder, Revolute
from setsu.spatial import placement

__all__ = ["pendulum"]


def pendulum(n: int = 1, *, length: float = 1.0, mass: float = 1.0, damping: float = 0.0) -> Mechanism:
    """Return n point masses (kg) hanging on massless rods (m) in the x-z plane; a positive angle swings towards +x.

    At q = 0 it hangs straight down. Damping is in N m s/rad, per joint. One pendulum swings by
    m l² q'' = -m g l sin q - damping q'.

    >>> pendulum(2).joint_names
    ('joint1', 'joint2')
    """
    if n < 1:
        raise InputError(f"pendulum n: expected at least 1, got {n}")
    builder = MechanismBuilder("pendulum" if n == 1 else f"{n}-fold pendulum")
    parent = "world"
    for index in range(1, n + 1):
        builder.add_body(
            f"bob{index}",
            parent,
            Revolute((0, -1, 0), f"joint{index}", damping=damping),
            placement=placement((0, 0, 0 if index == 1 else -length)),
            mass=mass,
            center_of_mass=(0, 0, -length),
        )
        parent = f"bob{index}"
    return builder.build()
