"""Joints whose motion is prescribed as a function of time, as a motor that keeps its speed: a driven crank.

row of a driven joint: a_j = acceleration(t); its multiplier is the torque of the drive          (1)

In runs the row is a coupling of the mechanism, q_j = coordinate(t), whose offset changes with time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.stacked import Floats
from setsu.errors import InputError, nearest_names
from setsu.mechanism import Coupling, Mechanism
from setsu.spatial import real_array

__all__ = ["NOT_DRIVEN", "Driven", "DrivenCoupling", "Prescribed", "driven_joints", "with_driven_couplings"]


@dataclass(frozen=True)
class Prescribed:
    """A joint that is driven along a given motion.

    joint: name of a joint with one coordinate. function: t (s) -> coordinate, its rate and its acceleration.

    >>> crank = Prescribed("crank", lambda t: (2.0 * t, 2.0, 0.0))
    >>> crank.function(0.5)
    (1.0, 2.0, 0.0)
    """

    joint: str
    function: Callable[[float], tuple[float, float, float]]


@dataclass(frozen=True)
class DrivenCoupling(Coupling):
    """The row of a driven joint; its offset is minus the coordinate, which whoever moves the mechanism keeps up.

    friction: dry friction of the joint, N or N m. The drive overcomes it, and nobody else feels it.
    """

    friction: float = 0.0


def with_driven_couplings(m: Mechanism, joints: Iterable[str]) -> Mechanism:
    """Return the mechanism with a row for each driven joint, behind its own couplings, without its limits and friction.

    A mechanism of its own: its rows belong to one world and its time.
    """
    driven = set(joints)
    own = tuple(coupling for coupling in m.couplings if not isinstance(coupling, DrivenCoupling))
    friction = {c.factors[0][0]: c.friction for c in m.couplings if isinstance(c, DrivenCoupling)}
    for joint in driven - friction.keys():
        (friction[joint],) = m.moving[m.joint_index(joint)].joint.coulomb  # type: ignore[misc]
    drives = tuple(DrivenCoupling(f"drive of {name}", ((name, 1.0),), friction=friction[name]) for name in joints)
    plain = {"lower": -np.inf, "upper": np.inf, "coulomb": 0.0}
    bodies = tuple(
        replace(body, joint=replace(body.joint, **plain)) if body.joint.name in driven else body for body in m.bodies
    )
    return replace(m, bodies=bodies, couplings=(*own, *drives))


class Driven(NamedTuple):
    """Driven joints at one time: names, places in q and v, and what the coordinates, rates and accelerations are."""

    names: tuple[str, ...]
    coordinate: NDArray[np.int64]
    velocity: NDArray[np.int64]
    motion: Floats  # (n, 3)


NOT_DRIVEN = Driven((), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros((0, 3)))


def driven_joints(m: Mechanism, prescribed: Iterable[Prescribed], time: float, function: str) -> Driven:
    """Return the joints that are driven, at a time (s); InputError for unknown joints and functions that do not fit."""
    names, coordinates, velocities, motions = [], [], [], []
    for drive in prescribed:
        if not isinstance(drive, Prescribed):
            raise InputError(f"{function}: prescribed: expected setsu.Prescribed records, got {drive!r:.80}")
        if drive.joint not in m.joint_names:
            raise InputError(
                f"{function}: prescribed: unknown joint {drive.joint!r}{nearest_names(str(drive.joint), m.joint_names)}"
            )
        if drive.joint in names:
            raise InputError(f'{function}: prescribed: joint "{drive.joint}" is driven twice')
        index = m.joint_index(drive.joint)
        joint = m.moving[index].joint
        if (joint.nq, joint.nv) != (1, 1):
            raise InputError(
                f'{function}: prescribed: joint "{drive.joint}" has {joint.nv} velocities; expected a joint with one'
            )
        try:
            motion = real_array(drive.function(time))
        except (TypeError, ValueError, OverflowError):
            motion = np.zeros(0)
        if motion.shape != (3,) or not np.isfinite(motion).all():
            raise InputError(
                f'{function}: prescribed: the function of joint "{drive.joint}" must return coordinate, rate and '
                f"acceleration, three finite numbers, at t = {time:g} s"
            )
        names.append(drive.joint)
        coordinates.append(m.q_slices[index].start)
        velocities.append(m.v_slices[index].start)
        motions.append(motion)
    return Driven(
        tuple(names),
        np.array(coordinates, dtype=np.int64),
        np.array(velocities, dtype=np.int64),
        np.array(motions).reshape(-1, 3),
    )
