"""The equation of motion M(q) a + bias(q, v) = tau, put together in every way there is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.checks.result import CheckResult, compare, rounding_tolerance
from setsu.checks.states import condition_number, draw_states
from setsu.mechanism import Mechanism
from setsu.mechanism.reductions import without_bearings, without_joint_extras

__all__ = [
    "check_equation_of_motion",
    "check_formulations",
    "check_forward_undoes_inverse",
    "check_mass_matrix",
    "check_regressor",
]

FORWARD_METHODS = ("articulated_body", "composite_body", "unit_vector")


def check_forward_undoes_inverse(m: Mechanism, *, seed: int = 0, samples: int = 5) -> CheckResult:
    """Check inverse_dynamics(forward_dynamics(tau)) = tau for the three methods; the worst one counts."""
    s = draw_states(m, seed, samples)
    tolerance = rounding_tolerance(m.nv, condition_number(m, s.q))
    bias = setsu.bias_torque(m, s.q, s.v)
    results = []
    for method in FORWARD_METHODS:
        a = setsu.forward_dynamics(m, s.q, s.v, s.tau, method=method)
        tau = setsu.inverse_dynamics(m, s.q, s.v, a)
        law = "ID(FD(tau)) = tau, three methods"
        results.append(compare("forward undoes inverse", law, tau, s.tau, [s.tau, bias], tolerance))
    return max(results, key=lambda result: np.inf if np.isnan(result.worst) else result.worst)


def check_equation_of_motion(m: Mechanism, *, seed: int = 0, samples: int = 5) -> CheckResult:
    """Check mass_matrix a + bias_torque = inverse_dynamics, bearings taken out: their friction is not linear in a."""
    m = without_bearings(m)
    s = draw_states(m, seed, samples)
    bias = setsu.bias_torque(m, s.q, s.v)
    inertial = np.einsum("kij,kj->ki", setsu.mass_matrix(m, s.q), s.a)
    tau = setsu.inverse_dynamics(m, s.q, s.v, s.a)
    return compare(
        "equation of motion", "M a + bias = ID(a)", inertial + bias, tau, [inertial, bias], rounding_tolerance(m.nv)
    )


def check_mass_matrix(m: Mechanism, *, seed: int = 0, samples: int = 5) -> CheckResult:
    """Check that the mass matrix is symmetric, positive definite, and the same by composite bodies and unit vectors."""
    s = draw_states(m, seed, samples)
    M = setsu.mass_matrix(m, s.q)
    law = "M = Mᵀ > 0, composite = unit vector"
    if condition_number(m, s.q) == np.inf:
        return CheckResult("mass matrix", law, np.inf, rounding_tolerance(m.nv), _weightless_motion(m, M))
    by_unit_vectors = setsu.mass_matrix(m, s.q, method="unit_vector")
    both = np.concatenate([M, M], axis=-1)
    other = np.concatenate([np.swapaxes(M, -1, -2), by_unit_vectors], axis=-1)
    # The unit vector method takes differences of torques at rest, so it carries their rounding.
    at_rest = setsu.bias_torque(m, s.q, np.zeros_like(s.v))
    return compare("mass matrix", law, both, other, [M, at_rest], rounding_tolerance(m.nv))


def check_formulations(m: Mechanism, *, seed: int = 0, samples: int = 5) -> CheckResult:
    """Check that the recursion in link frames and the one in the world frame give the same torques."""
    s = draw_states(m, seed, samples)
    link = setsu.inverse_dynamics(m, s.q, s.v, s.a, formulation="link")
    world = setsu.inverse_dynamics(m, s.q, s.v, s.a, formulation="world")
    return compare("formulations", "ID in link frames = ID in world", link, world, [link], rounding_tolerance(m.nv))


def check_regressor(m: Mechanism, *, seed: int = 0, samples: int = 5) -> CheckResult:
    """Check regressor · inertial_parameters = inverse_dynamics of the rigid bodies alone."""
    rigid = without_joint_extras(m)
    s = draw_states(m, seed, samples)
    parameters = setsu.inertial_parameters(rigid)
    terms = setsu.regressor(rigid, s.q, s.v, s.a) * parameters
    tau = setsu.inverse_dynamics(rigid, s.q, s.v, s.a)
    return compare("regressor", "Y · parameters = ID", terms.sum(axis=-1), tau, [tau, terms], rounding_tolerance(m.nv))


def _weightless_motion(m: Mechanism, matrices: NDArray[np.float64]) -> str:
    """Name the joints that take part in the motion with the least inertia, which should be positive and is not."""
    if not np.isfinite(matrices).all():
        return "the mass matrix is not finite"
    M = min(matrices, key=lambda matrix: np.linalg.eigvalsh(matrix)[0])
    eigenvalues, motions = np.linalg.eigh(M)
    share = np.abs(motions[:, 0])
    moving = [
        name for name, where in zip(m.joint_names, m.v_slices, strict=True) if share[where].max() > 0.5 * share.max()
    ]
    least = f"least eigenvalue of M is {eigenvalues[0]:.1e}"
    return f"{least}: too little mass behind {', '.join(moving)}; give those bodies inertia, or the joints armature"
