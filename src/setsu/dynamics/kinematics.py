"""Where all bodies are and how they move; steps between configurations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import fast_function, native_function, require_mechanism
from setsu.dynamics.numbers import require_finite
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.native.function import NativeFunction

__all__ = [
    "body_accelerations",
    "body_poses",
    "body_velocities",
    "difference",
    "integrate",
]

Floats = NDArray[np.float64]


def body_poses(mechanism: Mechanism, q: ArrayLike) -> Floats:
    """Return the placement of each body in the world (..., n_bodies, 4, 4) for coordinates (..., nq)."""
    return fast_function(mechanism, "body_poses")(q)


def body_velocities(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> Floats:
    """Return velocity of the body origin (m/s) and angular velocity (rad/s), world axes, (..., n_bodies, 6)."""
    return fast_function(mechanism, "body_velocities")(q, v)


def body_accelerations(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Floats:
    """Return acceleration of the body origin (m/s²) and angular acceleration (rad/s²), world axes, (..., n_bodies, 6).

    These are the second derivatives of the motion; gravity is not added.
    """
    return fast_function(mechanism, "body_accelerations")(q, v, a)


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
    try:
        times = np.asarray(dt, dtype=np.float64)
        require_finite(times, "integrate: dt")
        step = v * times[..., None]
    except InputError:
        raise
    except (TypeError, ValueError):
        raise InputError(
            f"integrate: dt: expected a number or an array that broadcasts against {v.shape[:-1]}, got {dt!r:.80}"
        ) from None
    return function(q, step)


def difference(mechanism: Mechanism, q0: ArrayLike, q1: ArrayLike) -> Floats:
    """Return the velocity (..., nv) that leads from q0 to q1 in one second, the shorter way round."""
    return fast_function(mechanism, "difference")(q0, q1)
