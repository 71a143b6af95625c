"""Configurations: steps between them, the way from one to another, distance, quaternions of length one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import fast_function, native_function, require_mechanism
from setsu.dynamics.numbers import finite_array, require_finite
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.native.function import NativeFunction
from setsu.spatial import real_array

__all__ = ["difference", "distance", "integrate", "interpolate", "normalize"]

Floats = NDArray[np.float64]


def integrate(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, dt: ArrayLike) -> Floats:
    """Return the configuration (..., nq) reached from q with constant velocity v after dt (s).

    Numbers add; quaternions turn by the body rate; a free body moves along a screw. dt is a number or (...).
    """
    require_mechanism(mechanism, "integrate")
    return integrate_with(native_function(mechanism, "integrate"), q, v, dt)


def integrate_with(function: NativeFunction, q: ArrayLike, v: ArrayLike, dt: ArrayLike) -> Floats:
    """Integrate by a native function that takes the step v dt."""
    q, v = function.arguments.take((q, v))[0]
    require_finite(v, "integrate: v")
    return function(q, v * _per_state(dt, v.shape[:-1], "integrate: dt")[..., None])


def _per_state(value: ArrayLike, batch: tuple[int, ...], what: str) -> Floats:
    """A number per state, as an array that broadcasts against a batch."""
    try:
        numbers = real_array(value)
        np.broadcast_shapes(numbers.shape, batch)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{what}: expected a number or an array that broadcasts against {batch}, got {value!r:.80}"
        ) from None
    require_finite(numbers, what)
    return numbers


def difference(mechanism: Mechanism, q0: ArrayLike, q1: ArrayLike, *, shortest: bool = False) -> Floats:
    """Return the velocity (..., nv) that leads from q0 to q1 in one second.

    Quaternions turn the shorter way round. shortest: so do joints that turn without limits (Revolute, Universal, and
    the turning coordinates of Cylindrical and Planar); otherwise their coordinates subtract, whole turns included.

    >>> import setsu
    >>> m = setsu.sample_mechanisms.planar_arm(2)
    >>> setsu.difference(m, [0.0, 0.0], [6.0, 0.0], shortest=True).round(6).tolist()
    [-0.283185, 0.0]
    """
    step = fast_function(mechanism, "difference")(q0, q1)
    return wrapped(mechanism, step) if shortest else step


def wrapped(mechanism: Mechanism, step: Floats) -> Floats:
    """Return steps (..., nv) less whole turns of joints that turn without limits."""
    turning = _turning(mechanism)
    step = np.array(step)
    step[..., turning] -= 2.0 * math.pi * np.round(step[..., turning] / (2.0 * math.pi))
    return step


def _turning(m: Mechanism) -> NDArray[np.intp]:
    """Velocities of coordinates that are angles without limits; a screw moves something along."""
    free = np.isneginf(m.lower) & np.isposinf(m.upper)
    found = [
        where.start + k
        for body, where in zip(m.moving, m.v_slices, strict=True)
        for k, (kind, _) in enumerate(body.joint.motions)
        if kind == "turn"
    ]
    return np.array([k for k in found if free[k]], dtype=np.intp)


def interpolate(
    mechanism: Mechanism, q0: ArrayLike, q1: ArrayLike, fraction: ArrayLike, *, shortest: bool = False
) -> Floats:
    """Return the configuration (..., nq) at a fraction of the way from q0 (0) to q1 (1), a number or (...).

    It is q0 moved by that part of `difference`: numbers linearly, quaternions at a constant rate about one axis, free
    bodies along a screw. shortest: as for `difference`.
    """
    step = difference(mechanism, q0, q1, shortest=shortest)
    _per_state(fraction, step.shape[:-1], "interpolate: fraction")
    return integrate(mechanism, q0, step, fraction)


def distance(mechanism: Mechanism, q0: ArrayLike, q1: ArrayLike, *, shortest: bool = False) -> Floats:
    """Return the length (...) of the step from q0 to q1 (`difference`); metres and radians count alike."""
    return np.linalg.norm(difference(mechanism, q0, q1, shortest=shortest), axis=-1)[()]


def normalize(mechanism: Mechanism, q: ArrayLike) -> Floats:
    """Return configurations (..., nq) whose quaternions have length one; other coordinates stay as they are."""
    require_mechanism(mechanism, "normalize")
    result = np.array(finite_array(q, (mechanism.nq,), "normalize: q"))
    for body, where in zip(mechanism.moving, mechanism.q_slices, strict=True):
        if body.joint.nq == body.joint.nv:
            continue
        quaternion = result[..., where.stop - 4 : where.stop]
        length = np.linalg.norm(quaternion, axis=-1, keepdims=True)
        if (length == 0.0).any():
            raise InputError(
                f'normalize: q[{where.stop - 4}:{where.stop}], the quaternion of joint "{body.joint.name}", is all '
                "zeros; expected x y z w"
            )
        result[..., where.stop - 4 : where.stop] = quaternion / length
    return result
