"""First derivatives of inverse and forward dynamics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import fast_function, require_mechanism
from setsu.errors import InputError
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
    _refuse_point_springs(mechanism, "inverse_dynamics_derivatives")
    return InverseDynamicsDerivatives(*fast_function(mechanism, "inverse_dynamics_derivatives")(q, v, a))


def forward_dynamics_derivatives(
    mechanism: Mechanism, q: ArrayLike, v: ArrayLike, tau: ArrayLike
) -> ForwardDynamicsDerivatives:
    """Return the exact derivatives of `forward_dynamics`; those by q are along velocities, as `integrate` adds them."""
    _refuse_point_springs(mechanism, "forward_dynamics_derivatives")
    return ForwardDynamicsDerivatives(*fast_function(mechanism, "forward_dynamics_derivatives")(q, v, tau))


def _refuse_point_springs(mechanism: Mechanism, function: str) -> None:
    require_mechanism(mechanism, function)
    if mechanism.springs:
        names = ", ".join(spring.name for spring in mechanism.springs[:3])
        raise InputError(f"{function}: {mechanism.name} has springs between points ({names}), which it does not cover")
