"""Friction in joints that depends on the joint's own load: dry friction of a bearing with radius and preload.

| symbol | meaning | unit |
|---|---|---|
| f_x | force of the parent on the body across the joint's axis | N |
| P | preload of the bearing | N |
| μ, r | coefficient of friction, radius of a turning joint's journal (1 for a sliding joint) | -, m |

    friction = -sign(v) μ r (|f_x| + P)                                       (1)
    inverse dynamics: f_x follows from the motion, so (1) is added at once
    forward dynamics: M a + bias = τ + friction(a): repeated solves with the friction of the last      (2)

(2) converges when μ r is small against the arms of the masses (the rate is about their quotient); when friction would
grow faster than what drives it, the joint jams and the function says so. Thrust along the axis and tilting moments do
not count as load. At rest there is no friction here: it would be any torque up to (1), which `simulate` finds.
Source: Coulomb friction of a journal bearing, for instance Shigley and Mischke, Mechanical Engineering Design, ch. 12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.mechanism import Joint, Mechanism, Revolute
from setsu.mechanism.tables import flat_numbers

__all__ = ["across", "bearing_factors", "bearing_friction", "bearing_limits", "refuse_bearings", "settle_friction"]

Floats = NDArray[np.float64]

_REPEATS = 200
_CONVERGED = 1e-14


def bearing_factors(joints: Sequence[Joint]) -> tuple[Floats, Floats, Floats]:
    """Return μ r (or μ), preload (N) and axis (3) per velocity of joints, (n,), (n,), (n, 3)."""
    given: Any = joints
    friction = flat_numbers(joint.bearing_friction for joint in given)
    radius = flat_numbers(joint.bearing_radius for joint in given)
    preload = flat_numbers(joint.preload for joint in given)
    counts = [joint.nv for joint in joints]
    turns = np.repeat(np.array([isinstance(joint, Revolute) for joint in joints], dtype=bool), counts)
    axes = np.repeat(flat_numbers(joint.axis for joint in joints).reshape(-1, 3), counts, axis=0)
    return np.where(turns, friction * radius, friction), preload, axes


def across(force: Floats, axis: Floats) -> Floats:
    """Return the size of the part of forces (..., 3) across axes (..., 3) of length one."""
    along = np.sum(force * axis, axis=-1, keepdims=True)
    return np.sqrt(np.sum((force - along * axis) ** 2, axis=-1))


def bearing_friction(mechanism: Mechanism, v: Floats, wrenches: Floats) -> Floats:
    """Return the resistance of the bearings (..., nv), N or N m: what a drive has to add (1).

    v: velocities (..., nv). wrenches: through the joints, body axes, (..., n_bodies, 6).
    """
    return np.sign(v) * bearing_limits(mechanism, wrenches)


def bearing_limits(mechanism: Mechanism, wrenches: Floats) -> Floats:
    """Return the most the bearings resist with (..., nv), N or N m, under wrenches as in `bearing_friction`."""
    factor, preload, axis = bearing_factors([body.joint for body in mechanism.moving])
    body = np.repeat(np.arange(mechanism.n_bodies), [body.joint.nv for body in mechanism.moving])
    return factor * (across(wrenches[..., body, :3], axis) + preload)


def settle_friction(
    mechanism: Mechanism, function: str, friction_of: Callable[[Floats], Floats], shape: tuple[int, ...]
) -> Floats:
    """Return the friction that repeats itself: friction_of(friction) = friction (2); InputError when it grows."""
    friction, last = np.zeros(shape), np.full(shape[:-1], np.inf)
    converged = np.zeros(shape[:-1], dtype=bool)
    for count in range(_REPEATS):
        following = friction_of(friction)
        change = np.abs(following - friction).max(axis=-1, initial=0.0)
        size = np.maximum(1.0, np.abs(following).max(axis=-1, initial=0.0))
        # A row that has converged stays as it is: the others of a batch must not change its bits.
        friction = np.where(converged[..., None], friction, following)
        stuck = (change >= last) & (count > 20)
        # Near the end rounding keeps the change from falling further.
        converged |= (change <= _CONVERGED * size) | (stuck & (change <= 1e-11 * size))
        if converged.all():
            return friction
        if (stuck & ~converged).any():
            break
        last = change
    raise InputError(
        f"{function}: load-dependent friction of {mechanism.name} jams: it grows with the very load it makes; "
        "expected a smaller bearing_friction or bearing_radius"
    )


def refuse_bearings(mechanism: Mechanism, function: str) -> None:
    """Raise an InputError when a joint has friction that depends on its load."""
    if mechanism.has_bearings:
        names = [body.joint.name for body in mechanism.moving if body.joint.has_bearing]
        names += [loop.name for loop in mechanism.loops if loop.joint.has_bearing]
        raise InputError(
            f'{function}: joint "{names[0]}" of {mechanism.name} has friction that depends on its load '
            "(bearing_friction), which this function cannot express; expected 0"
        )
