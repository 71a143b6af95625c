"""Random trees of any joint types with inertias that real bodies can have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.elementary import matmul
from setsu.errors import InputError, nearest_names
from setsu.mechanism import JOINT_TYPES, Free, Helical, Joint, Mechanism, MechanismBuilder, Universal
from setsu.spatial import placement, rotation_from_quaternion

__all__ = ["random_tree"]

_DEFAULT_TYPES = ("Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Spherical", "Planar")


def random_tree(
    seed: int | np.random.Generator,
    *,
    n_bodies: int = 10,
    joint_types: Iterable[str | type[Joint]] = _DEFAULT_TYPES,
    floating_base: bool = False,
    branching: float = 0.5,
    damping: float = 0.0,
    armature: float = 0.0,
    coulomb: float = 0.0,
    stiffness: float = 0.0,
) -> Mechanism:
    """Return a random tree: placements, axes, masses, centers and inertias all drawn, all physically possible.

    Args:
        seed: number or generator; the same seed gives the same mechanism.
        n_bodies: number of declared bodies (those on Fixed joints counted).
        joint_types: names or classes to draw from. The first bodies (after a floating base) take each type once, in
            random order, so that with enough bodies all of them occur. Fixed and Free occur only when asked for.
        floating_base: put the first body on a Free joint.
        branching: probability that a body hangs on any earlier body instead of the last one; 0 gives a chain.
        damping, armature, coulomb, stiffness: upper bounds from which each joint draws its own; 0 leaves it out.
            They do not change the rest of the draw.

    >>> random_tree(1, n_bodies=3, joint_types=["Revolute"], branching=0.0).nv
    3
    """
    if n_bodies < 1:
        raise InputError(f"random_tree n_bodies: expected at least 1, got {n_bodies}")
    if not 0.0 <= branching <= 1.0:
        raise InputError(f"random_tree branching: expected a probability from 0 to 1, got {branching}")
    kinds = [_joint_class(kind) for kind in joint_types]
    if not kinds:
        raise InputError("random_tree joint_types: expected at least one joint type, got none")
    rng, option_rng = np.random.default_rng(seed).spawn(2)
    order: list[type[Joint]] = [Free] if floating_base else []
    order += [kinds[index] for index in rng.permutation(len(kinds))]
    bounds = {"damping": damping, "armature": armature, "coulomb": coulomb, "stiffness": stiffness}
    builder = MechanismBuilder(f"random tree {seed}" if isinstance(seed, int) else "random tree")
    for index in range(n_bodies):
        kind = order[index] if index < len(order) else kinds[int(rng.integers(len(kinds)))]
        jump = rng.random() < branching
        parent = int(rng.integers(index)) if jump and index else index - 1
        mass = float(rng.uniform(0.3, 3.0))
        builder.add_body(
            f"body{index + 1}",
            "world" if parent < 0 else f"body{parent + 1}",
            _random_joint(kind, f"joint{index + 1}", rng, option_rng, bounds),
            placement=placement(rng.uniform(-0.5, 0.5, 3), rotation=_random_rotation(rng)),
            mass=mass,
            center_of_mass=rng.uniform(-0.2, 0.2, 3),
            inertia=_random_inertia(mass, rng),
        )
    return builder.build()


def _joint_class(kind: str | type[Joint]) -> type[Joint]:
    if isinstance(kind, type) and issubclass(kind, Joint):
        return kind
    if kind not in JOINT_TYPES:
        raise InputError(f"random_tree joint_types: unknown joint type {kind!r}{nearest_names(str(kind), JOINT_TYPES)}")
    return JOINT_TYPES[kind]


def _random_joint(
    kind: type[Joint],
    name: str,
    rng: np.random.Generator,
    option_rng: np.random.Generator,
    bounds: dict[str, float],
) -> Joint:
    axis = rng.standard_normal(3)
    second_axis = rng.standard_normal(3)
    pitch = float(rng.uniform(-0.2, 0.2))
    options: dict[str, Any] = {}
    for key, bound in bounds.items():
        drawn = option_rng.uniform(0.0, 1.0, kind.nv)
        if bound > 0.0 and not (key == "stiffness" and kind.nq != kind.nv):
            options[key] = bound * drawn
    if kind is Helical:
        return Helical(tuple(axis), name, pitch=pitch, **options)
    if kind is Universal:
        # At right angles, as universal joints are made.
        return Universal(tuple(axis), name, second_axis=tuple(np.cross(axis, second_axis)), **options)
    return kind(tuple(axis), name, **options)


def _random_rotation(rng: np.random.Generator) -> NDArray[np.float64]:
    return rotation_from_quaternion(rng.standard_normal(4))


def _random_inertia(mass: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw an inertia from its second moment of mass: any positive definite one belongs to a real body."""
    axes = _random_rotation(rng)
    second_moment = mass * matmul(axes * rng.uniform(0.03, 0.15, 3) ** 2, axes.T)
    inertia = np.trace(second_moment) * np.eye(3) - second_moment
    return 0.5 * (inertia + inertia.T)
