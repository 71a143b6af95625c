"""Motions that move no mass: along them forces determine no acceleration, and the joints that make them are named.

    S² = diag |M|,  C = S⁻¹ M S⁻¹                                                                      (1)
    C x = 0:  the motion S⁻¹ x moves no mass                                                           (2)

C has a unit diagonal, so that neither units nor light links matter, and Cholesky's pivots of C are what is left of a
joint's inertia when the joints beyond it give way. What is within a rounding of zero counts as zero.

That a tree is safe can be seen without any matrix: if every joint has armature, or carries a body whose own mass and
inertia resist every motion, M is positive definite in every configuration. Other trees are looked at in two of them.

Cost: one look per mechanism, kept with it; n³/3 for trees that are not safe by themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.mechanism.velocity_names import coordinate_names

__all__ = ["massless_motion", "massless_velocities", "refuse_massless"]

Floats = NDArray[np.float64]

_SMALLEST, _PER_VELOCITY = 1e-13, 16.0 * float(np.finfo(np.float64).eps)
_PART = 0.3  # of the largest share, above which a joint counts as taking part in a motion
_SEEDS = (1, 2)


def massless_velocities(M: Floats) -> tuple[int, ...]:
    """Return the velocities that take part in motions without mass, of a mass matrix (nv, nv); () where none is."""
    root = np.sqrt(np.abs(np.diagonal(M)))
    root = np.where(root > 0.0, root, 1.0)
    C = M / (root[:, None] * root)  # (1)
    least = max(_SMALLEST, _PER_VELOCITY * len(M))
    try:
        if float(np.diagonal(np.linalg.cholesky(C[::-1, ::-1])).min(initial=1.0)) ** 2 > least:
            return ()
    except np.linalg.LinAlgError:
        pass  # no mass somewhere, or inertias of no real body
    sizes, directions = np.linalg.eigh(C)
    part = np.linalg.norm(directions[:, np.abs(sizes) <= least], axis=1)  # (2)
    return tuple(np.flatnonzero(part > max(_PART * float(part.max(initial=0.0)), 1e-9)).tolist())


def massless_motion(mechanism: Mechanism, velocities: tuple[int, ...], held: str = "") -> str:
    """Word what is wrong with a motion of some velocities, and what to do about it."""
    names = coordinate_names(mechanism)
    joints = ", ".join(names[k] for k in velocities)
    several = len(velocities) > 1
    return (
        f"{mechanism.name}: a motion of joint{'s' if several else ''} {joints} moves no mass{held}, so that forces "
        f"determine no acceleration; give {'their bodies' if several else 'its body'} inertia or the "
        f"joint{'s' if several else ''} armature, or make {'them' if several else 'it'} Fixed"
    )


def refuse_massless(mechanism: Mechanism, function: str, mass_matrix: Callable[[Floats], Any]) -> None:
    """Raise an InputError when motions of a tree move no mass whatever the configuration.

    mass_matrix: (nv, nv) of coordinates (nq,).
    """
    massless = mechanism.__dict__.get("_massless_velocities")
    if massless is None:
        massless = () if _resists_everywhere(mechanism) else _always_massless(mechanism, mass_matrix)
        mechanism.__dict__["_massless_velocities"] = massless
    if massless:
        raise InputError(f"{function}: {massless_motion(mechanism, massless)}")


def _always_massless(m: Mechanism, mass_matrix: Callable[[Floats], Any]) -> tuple[int, ...]:
    """Velocities massless in each of some configurations: in one of them they may be so by chance."""
    found = [massless_velocities(mass_matrix(m.random_configuration(seed))) for seed in _SEEDS]
    return found[0] if all(found) else ()


def _resists_everywhere(m: Mechanism) -> bool:
    """Return whether each joint has armature or a body that resists every motion by itself."""
    tables = m.tables
    mass, moment = tables.true.mass[tables.body_link], tables.true.moment[tables.body_link]
    xx, xy, xz, yy, yz, zz = tables.true.second_moment[tables.body_link].T
    E = np.stack([np.stack([xx, xy, xz]), np.stack([xy, yy, yz]), np.stack([xz, yz, zz])]).transpose(2, 0, 1)
    per_mass = 1.0 / np.where(mass > 0.0, mass, 1.0)
    about_center = E - per_mass[:, None, None] * moment[:, :, None] * moment[:, None, :]
    second = np.linalg.eigvalsh(about_center)  # ascending; two of them add up to a principal moment of inertia
    size = np.abs(E).max(axis=(1, 2), initial=0.0)
    solid = (mass > 0.0) & (second[:, 0] + second[:, 1] > 1e-9 * size)
    driven = [bool(np.all(tables.armature[where] > 0.0)) for where in m.v_slices]
    return bool(np.all(solid | np.array(driven, dtype=bool)))
