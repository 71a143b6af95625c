"""Add to a mechanism that exists, such as one from a file: loops, couplings, drives.

Every function returns a new mechanism and leaves its argument as it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from setsu.errors import InputError
from setsu.mechanism.builder import MechanismBuilder
from setsu.mechanism.elements import Pose
from setsu.mechanism.joints import Fixed, Joint
from setsu.mechanism.record import Mechanism
from setsu.spatial import real_array

__all__ = ["add_coupling", "add_loop", "with_drives"]


def add_loop(
    mechanism: Mechanism,
    name: str,
    body_a: str,
    body_b: str,
    joint: Joint,
    placement_a: ArrayLike | Pose | None = None,
    placement_b: ArrayLike | Pose | None = None,
) -> Mechanism:
    """Return the mechanism with a loop closed by a joint between two bodies, as `MechanismBuilder.add_loop` adds it.

    Args:
        body_a, body_b: bodies, frames behind fixed joints or sites of the mechanism, or "world".
        joint: any type but Free. placement_a, placement_b: joint frame on either, 4x4; they coincide at coordinate 0.

    >>> import setsu
    >>> m = setsu.sample_mechanisms.planar_arm(3)
    >>> closed = setsu.add_loop(m, "pin", "tip", "world", setsu.Revolute(), placement_b=setsu.placement((1.2, 0, 0)))
    >>> [loop.name for loop in closed.loops]
    ['pin']
    """
    builder = MechanismBuilder.of(mechanism)
    (body_a, pose_a), (body_b, pose_b) = (
        _on_body(mechanism, body, placement, f'loop "{name}" placement_{which}')
        for body, placement, which in ((body_a, placement_a, "a"), (body_b, placement_b, "b"))
    )
    builder.add_loop(name, body_a, body_b, joint, pose_a, pose_b)
    return dataclasses.replace(mechanism, loops=builder.build().loops)


def _on_body(m: Mechanism, name: str, placement: ArrayLike | Pose | None, what: str) -> tuple[str, Pose]:
    """Body and pose of a placement that is given on a body or a site."""
    pose = Pose.of(placement, what)
    m.frame(name)
    bodies = {body.name for body in m.bodies}
    for site in m.sites:
        if name == f"site:{site.name}" or (name == site.name and name not in bodies):
            return site.body, Pose.of(site.pose.matrix @ pose.matrix, what)
    return name, pose


def add_coupling(
    mechanism: Mechanism,
    name: str,
    factors: Mapping[str, float] | Iterable[str],
    offset: float = 0.0,
    *,
    polynomial: Iterable[float] | None = None,
    reference: float = 0.0,
) -> Mechanism:
    """Return the mechanism with joint coordinates tied together, as `MechanismBuilder.add_coupling` ties them.

    Args:
        factors: joint name -> factor: Σ factor x coordinate + offset = 0.
        polynomial: c0, c1, ... of y = Σ c_k (x - x0)^k - offset, with `factors` naming the joints y and x.
        reference: x0.

    >>> import setsu
    >>> m = setsu.add_coupling(setsu.sample_mechanisms.planar_arm(2), "gear", {"joint2": 1.0, "joint1": -3.0})
    >>> m.couplings[0].factors
    (('joint2', 1.0), ('joint1', -3.0))
    """
    builder = MechanismBuilder.of(mechanism)
    builder.add_coupling(name, factors, offset, polynomial=polynomial, reference=reference)
    return dataclasses.replace(mechanism, couplings=builder.build().couplings)


def with_drives(
    mechanism: Mechanism,
    *,
    armature: ArrayLike | Mapping[str, ArrayLike] | None = None,
    damping: ArrayLike | Mapping[str, ArrayLike] | None = None,
    coulomb: ArrayLike | Mapping[str, ArrayLike] | None = None,
    effort_limit: ArrayLike | Mapping[str, ArrayLike] | None = None,
) -> Mechanism:
    """Return the mechanism with other drives: what a URDF has no room for.

    Args:
        armature: inertia of the drives reflected to the joints, kg or kg m². damping: N s/m or N m s/rad. coulomb: N or
            N m. effort_limit: of |tau|. Each one number for all joints but free ones, (nv,), or joint name -> number.

    >>> import setsu
    >>> setsu.with_drives(setsu.sample_mechanisms.planar_arm(2), armature={"joint2": 0.3}).armature.tolist()
    [0.0, 0.3]
    """
    given = {"armature": armature, "damping": damping, "coulomb": coulomb, "effort_limit": effort_limit}
    changes: dict[str, dict[str, Any]] = {}
    for key, value in given.items():
        if value is None:
            continue
        if isinstance(value, Mapping):
            for joint, entry in value.items():
                mechanism.joint_index(joint)
                changes.setdefault(joint, {})[key] = _numbers(entry, f'with_drives {key} of joint "{joint}"')
            continue
        numbers = np.asarray(_numbers(value, f"with_drives {key}"), dtype=np.float64)
        if numbers.shape not in ((), (mechanism.nv,)):
            raise InputError(f"with_drives {key}: expected one number or ({mechanism.nv},), got shape {numbers.shape}")
        for body, where in zip(mechanism.moving, mechanism.v_slices, strict=True):
            if numbers.shape == () and body.joint.nv == 6:
                continue
            entry = float(numbers) if numbers.shape == () else numbers[where].tolist()
            changes.setdefault(body.joint.name, {})[key] = entry
    bodies = tuple(
        dataclasses.replace(body, joint=dataclasses.replace(body.joint, **changes[body.joint.name]))
        if body.joint.name in changes and not isinstance(body.joint, Fixed)
        else body
        for body in mechanism.bodies
    )
    return dataclasses.replace(mechanism, bodies=bodies)


def _numbers(value: Any, what: str) -> Any:
    try:
        array = real_array(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what}: expected numbers, got {value!r:.80}") from None
    return float(array) if array.shape == () else array.tolist()
