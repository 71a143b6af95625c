"""Equations of motion: M(q) a + bias(q, v) = tau + external wrenches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.bearings import bearing_friction, settle_friction
from setsu.dynamics.catalogue import (
    fast_function,
    native_function,
    require_mass,
    require_mechanism,
    warn_of_loops,
)
from setsu.dynamics.massless import massless_motion, massless_velocities
from setsu.dynamics.wrenches import ExternalWrenches, body_rows
from setsu.elementary import solve_positive
from setsu.errors import InputError, nearest_names
from setsu.kernels.forward_dynamics_composite import is_deep
from setsu.mechanism import Mechanism

__all__ = [
    "bare_inverse_dynamics",
    "bias_torque",
    "coriolis_matrix",
    "forward_dynamics",
    "gravity_torque",
    "inverse_dynamics",
    "joint_wrenches",
    "mass_matrix",
]

Floats = NDArray[np.float64]


def inverse_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    external_wrenches: ExternalWrenches | None = None,
    formulation: str = "link",
) -> Floats:
    """Return the joint torques of a motion, friction, drive inertia and springs included.

    Args:
        q, v, a: coordinates (..., nq), velocities (..., nv), accelerations (..., nv).
        external_wrenches: force and moment on each body at its origin, world axes, (..., n_bodies, 6), N and N m; or a
            dict frame name -> (..., 6), at that frame's origin.
        formulation: "link" (recursion in link frames) or "world" (in world axes); same result.

    Returns:
        (..., nv), N or N m.

    >>> import setsu, numpy as np
    >>> m = setsu.sample_mechanisms.pendulum()
    >>> setsu.inverse_dynamics(m, [0.0], [0.0], [0.0]).shape
    (1,)
    """
    if external_wrenches is None and formulation == "link" and _plain(mechanism):
        return fast_function(mechanism, "inverse_dynamics")(q, v, a)
    variant = _choice("inverse_dynamics", "formulation", formulation, {"link": "", "world": " world"})
    external = _rows(mechanism, "inverse_dynamics", q, external_wrenches)
    torque = _with_wrenches(mechanism, f"inverse_dynamics{variant}", (q, v, a), external)
    if mechanism.has_bearings:
        wrenches = joint_wrenches(mechanism, q, v, a, external)
        torque = torque + bearing_friction(mechanism, np.asarray(v, dtype=np.float64), wrenches)
    return torque


def bare_inverse_dynamics(
    mechanism: Mechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike, external_wrenches: ArrayLike | None = None
) -> Floats:
    """Return `inverse_dynamics` without friction that depends on loads: linear in the accelerations."""
    return _with_wrenches(mechanism, "inverse_dynamics", (q, v, a), external_wrenches)


def forward_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    external_wrenches: ExternalWrenches | None = None,
    method: str = "articulated_body",
) -> Floats:
    """Return the joint accelerations under torques, friction, springs and gravity.

    Loops and couplings are left open, with a ModelWarning: see `constrained_dynamics`. Dry friction (`coulomb`) acts by
    the sign of the velocity, and not at all at rest.

    Args:
        q, v, tau: coordinates (..., nq), velocities (..., nv), torques (..., nv).
        external_wrenches: force and moment on each body at its origin, world axes, (..., n_bodies, 6), N and N m; or a
            dict frame name -> (..., 6), at that frame's origin.
        method: "articulated_body" (cost grows with the number of joints), "composite_body" (mass matrix and its sparse
            factors; for long chains, where nothing is sparse, a dense solution by LAPACK), "unit_vector" (mass matrix
            from repeated inverse dynamics, as in lectures; slow).

    Returns:
        (..., nv), m/s² or rad/s².
    """
    if external_wrenches is None and method == "articulated_body" and _plain(mechanism):
        return fast_function(mechanism, "forward_dynamics")(q, v, tau)
    choices = {"articulated_body": "", "composite_body": " composite", "unit_vector": "unit_vector"}
    variant = _choice("forward_dynamics", "method", method, choices)
    external = _rows(mechanism, "forward_dynamics", q, external_wrenches)
    warn_of_loops(mechanism, "forward_dynamics")
    if mechanism.has_bearings:
        # The torques that are left once the bearings have had their part.
        tau = np.asarray(tau, dtype=np.float64) - _settled_bearing_friction(mechanism, q, v, tau, external)
    if variant == "unit_vector" or (variant == " composite" and is_deep(mechanism.tables.dof_parent.tobytes())):
        return _forward_by_solution(mechanism, q, v, tau, external, variant == "unit_vector")
    return _with_wrenches(mechanism, f"forward_dynamics{variant}", (q, v, tau), external)


def mass_matrix(mechanism: Mechanism, q: ArrayLike, method: str = "composite_body") -> Floats:
    """Return the full symmetric mass matrix (..., nv, nv), armature on the diagonal.

    method: "composite_body", or "unit_vector": columns Γ(q, 0, e_i) - Γ(q, 0, 0) of the inverse dynamics Γ.
    """
    if method == "composite_body":
        return fast_function(mechanism, "mass_matrix")(q)
    _choice("mass_matrix", "method", method, {"composite_body": "", "unit_vector": ""})
    require_mechanism(mechanism, "mass_matrix")
    configuration = _checked(mechanism, "mass_matrix", (q,))[0]
    return _unit_vector_mass_matrix(mechanism, configuration)


def bias_torque(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> Floats:
    """Return the torques with all accelerations zero (..., nv): velocity terms, gravity, friction, springs.

    Friction that depends on loads (bearing_friction) is left out: it is not linear in the accelerations.
    """
    return _with_wrenches(mechanism, "bias_torque", (q, v), None)


def gravity_torque(mechanism: Mechanism, q: ArrayLike) -> Floats:
    """Return the torques that hold the mechanism at rest against gravity alone (..., nv); springs do not count."""
    return fast_function(mechanism, "gravity_torque")(q)


def coriolis_matrix(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> Floats:
    """Return C (..., nv, nv) with C v = bias - gravity - friction - springs and dM/dt - 2 C skew-symmetric."""
    return fast_function(mechanism, "coriolis_matrix")(q, v)


def joint_wrenches(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    external_wrenches: ExternalWrenches | None = None,
    frame: str = "body",
) -> Floats:
    """Return the wrench each parent exerts on its body through the joint, at the body origin.

    Args:
        q, v, a: coordinates (..., nq), velocities (..., nv), accelerations (..., nv).
        external_wrenches: on each body at its origin, world axes, (..., n_bodies, 6), or by frame name (..., 6).
        frame: axes of the result, "body" or "world".

    Returns:
        (..., n_bodies, 6): force (N) first, then moment (N m). The parts along the joint's free axes are the drive's.
    """
    variant = _choice("joint_wrenches", "frame", frame, {"body": "", "world": " world"})
    external = _rows(mechanism, "joint_wrenches", q, external_wrenches)
    return _with_wrenches(mechanism, f"joint_wrenches{variant}", (q, v, a), external)


def _rows(mechanism: Mechanism, function: str, q: ArrayLike, external: ExternalWrenches | None) -> Any:
    require_mechanism(mechanism, function)
    return body_rows(mechanism, function, q, external)


def _plain(mechanism: Mechanism) -> bool:
    """Return whether a mechanism has neither springs between points nor friction that depends on loads."""
    try:
        return not (mechanism.has_force_elements or mechanism.has_bearings)
    except AttributeError:
        return True  # not a mechanism: the function catalogue says so


def _settled_bearing_friction(
    m: Mechanism, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: ArrayLike | None
) -> Floats:
    """Friction of the bearings in the motion that torques, lessened by it, bring about."""
    given_q, given_v, torque, wrenches = _checked(m, "forward_dynamics", (q, v, tau), external)

    def friction_of(friction: Floats) -> Floats:
        a = _with_wrenches(m, "forward_dynamics", (given_q, given_v, torque - friction), wrenches)
        return bearing_friction(m, given_v, joint_wrenches(m, given_q, given_v, a, wrenches))

    return settle_friction(m, "forward_dynamics", friction_of, friction_of(np.zeros(m.nv)).shape)


def _choice(function: str, option: str, value: str, choices: dict[str, str]) -> str:
    try:
        return choices[value]
    except (KeyError, TypeError):
        raise InputError(f"{function}: unknown {option} {value!r}{nearest_names(value, choices)}") from None


def _with_wrenches(mechanism: Mechanism, name: str, state: Sequence[ArrayLike], external: ArrayLike | None) -> Floats:
    """Call a kernel with or without external wrenches and springs between points."""
    require_mechanism(mechanism, name.split()[0])
    variant = name if external is None else f"{name} external"
    if mechanism.has_force_elements:
        variant += " springs"
    return fast_function(mechanism, variant)(*state, *(() if external is None else (external,)))


def _checked(m: Mechanism, name: str, state: Sequence[ArrayLike], external: ArrayLike | None = None) -> list[Any]:
    """Return state and external wrenches as arrays of finite numbers, for ways that do not begin with native code."""
    arguments = native_function(m, name if external is None else f"{name} external").arguments
    taken, batch = arguments.take(state if external is None else (*state, external))
    arguments.require_finite(taken, batch)
    return [*taken, None] if external is None else list(taken)


def _unit_vector_mass_matrix(m: Mechanism, q: Floats) -> Floats:
    """Columns Γ(q, 0, e_i) - Γ(q, 0, 0): yamamoto2022 (36)-(38), at rest lest friction drown the inertia."""
    accelerations = np.concatenate([np.zeros((1, m.nv)), np.eye(m.nv)])
    # One more batch axis: the rows of `accelerations`, for every state.
    torques = native_function(m, "inverse_dynamics")(q[..., None, :], np.zeros(m.nv), accelerations)
    return np.swapaxes(torques[..., 1:, :] - torques[..., :1, :], -1, -2)


def _forward_by_solution(
    m: Mechanism, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: ArrayLike | None, unit_vectors: bool
) -> Floats:
    """Solve M a = tau - b with the whole matrix, made by unit vectors or by composite bodies.

    By unit vectors with the same bits on every processor; by composite bodies with LAPACK, several times as fast.
    """
    require_mass(m, "forward_dynamics")
    checked_q, checked_v, torque, wrenches = _checked(m, "forward_dynamics", (q, v, tau), external)
    bias = _with_wrenches(m, "bias_torque", (checked_q, checked_v), wrenches)
    M = _unit_vector_mass_matrix(m, checked_q) if unit_vectors else fast_function(m, "mass_matrix")(checked_q)
    try:
        if unit_vectors:
            return solve_positive(M, torque - bias)
        return np.asarray(np.linalg.solve(M, (torque - bias)[..., None])[..., 0], dtype=np.float64)
    except np.linalg.LinAlgError:
        massless = next(filter(None, map(massless_velocities, M.reshape(-1, m.nv, m.nv))), tuple(range(m.nv)))
        raise InputError(f"forward_dynamics: {massless_motion(m, massless, ' in this configuration')}") from None
