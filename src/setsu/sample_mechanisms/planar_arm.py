"""Serial arms of thin rods that move in a vertical plane."""

from __future__ import annotations

from collections.abc import Sequence

from setsu.errors import InputError
from setsu.mechanism import Mechanism, MechanismBuilder, Revolute
from setsu.sample_mechanisms.solid_inertias import rod_inertia
from setsu.spatial import placement

__all__ = ["planar_arm"]


def planar_arm(
    n: int = 2,
    *,
    lengths: Sequence[float] | float = 0.5,
    masses: Sequence[float] | float = 1.0,
    damping: float = 0.0,
    armature: float = 0.0,
) -> Mechanism:
    """Return n thin uniform rods (m, kg) in the x-z plane, joined by revolute joints; frame "tip" is the end.

    At q = 0 the arm lies along x; a positive angle lifts it towards +z. One length or mass for all links, or one each.

    >>> planar_arm(3).body_names
    ('link1', 'link2', 'link3')
    """
    if n < 1:
        raise InputError(f"planar_arm n: expected at least 1, got {n}")
    length_of = _one_each(lengths, n, "lengths")
    mass_of = _one_each(masses, n, "masses")
    builder = MechanismBuilder(f"planar {n}R arm")
    parent, reach = "world", 0.0
    for index, (length, mass) in enumerate(zip(length_of, mass_of, strict=True), start=1):
        builder.add_body(
            f"link{index}",
            parent,
            Revolute((0, -1, 0), f"joint{index}", damping=damping, armature=armature),
            placement=placement((reach, 0, 0)),
            mass=mass,
            center_of_mass=(0.5 * length, 0, 0),
            inertia=rod_inertia(mass, length),
        )
        parent, reach = f"link{index}", length
    return builder.add_body("tip", parent, placement=placement((reach, 0, 0))).build()


def _one_each(value: Sequence[float] | float, n: int, what: str) -> list[float]:
    values = [float(value)] * n if isinstance(value, (int, float)) else [float(entry) for entry in value]
    if len(values) != n:
        raise InputError(f"planar_arm {what}: expected one number or {n}, got {len(values)}")
    return values
