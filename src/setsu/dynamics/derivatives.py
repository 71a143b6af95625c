"""First derivatives of inverse and forward dynamics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.bearings import refuse_bearings
from setsu.dynamics.catalogue import fast_function, require_mechanism
from setsu.mechanism import Mechanism

__all__ = [
    "ForwardDynamicsDerivatives",
    "InverseDynamicsDerivatives",
    "forward_dynamics_derivatives",
    "inverse_dynamics_derivatives",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class InverseDynamicsDerivatives:
    """Derivatives of the torques, (..., nv, nv) each: column k by coordinate, velocity, acceleration k."""

    dq: Floats
    dv: Floats
    da: Floats


@dataclass(frozen=True)
class ForwardDynamicsDerivatives:
    """Derivatives of the accelerations, (..., nv, nv) each: column k by coordinate, velocity, torque k."""

    dq: Floats
    dv: Floats
    dtau: Floats


def inverse_dynamics_derivatives(
    mechanism: Mechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> InverseDynamicsDerivatives:
    """Return the exact derivatives of `inverse_dynamics`; those by q are along velocities, as `integrate` adds them."""
    return InverseDynamicsDerivatives(*_function(mechanism, "inverse_dynamics_derivatives")(q, v, a))


def forward_dynamics_derivatives(
    mechanism: Mechanism, q: ArrayLike, v: ArrayLike, tau: ArrayLike
) -> ForwardDynamicsDerivatives:
    """Return the exact derivatives of `forward_dynamics`; those by q are along velocities, as `integrate` adds them."""
    return ForwardDynamicsDerivatives(*_function(mechanism, "forward_dynamics_derivatives")(q, v, tau))


def _function(mechanism: Mechanism, name: str) -> Callable[..., tuple]:
    require_mechanism(mechanism, name)
    refuse_bearings(mechanism, name)
    return fast_function(mechanism, f"{name} springs" if mechanism.has_force_elements else name)
