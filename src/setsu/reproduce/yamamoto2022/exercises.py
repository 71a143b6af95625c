"""The exercises as computations; each returns a record that tables and figures read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import (
    body_poses,
    body_velocities,
    forward_dynamics,
    gravity_torque,
    inverse_dynamics,
    joint_wrenches,
    kinetic_energy,
    mass_matrix,
    point_jacobian,
    potential_energy,
)
from setsu.mechanism import Free, Mechanism, MechanismBuilder, Prismatic, Revolute, Spherical
from setsu.sample_mechanisms import chain
from setsu.spatial import placement

__all__ = [
    "Costs",
    "EulerGrowth",
    "FrictionRun",
    "GivenMotion",
    "IntegratorErrors",
    "JointKinds",
    "euler_growth",
    "forward_dynamics_costs",
    "friction_run",
    "given_motion",
    "integrator_errors",
    "joint_kinds",
]

Floats = NDArray[np.float64]
Field = Callable[[Floats, Floats], Floats]

# Equations (40) and (41).
START = np.array([-np.pi, np.pi / 3, -np.pi / 4, np.pi / 3, np.pi / 7, 2 * np.pi / 5, np.pi / 7])
FRICTION = np.array([120.0, 120.0, 120.0, 75.0, 75.0, 15.0, 7.5])
STEP, DURATION = 0.005, 1.0


@dataclass(frozen=True)
class GivenMotion:
    """Exercise 1: a motion (T, 7), its torques, and how well different ways agree."""

    time: Floats
    q: Floats
    torque: Floats
    velocity_difference: float
    velocity_by_differences: float
    formulation_difference: float
    power_difference: float


def given_motion(arm: Mechanism) -> GivenMotion:
    """Exercises 1-1 and 1-2: sines in every joint for two seconds."""
    t = np.linspace(0.0, 2.0, 401)
    rate = np.linspace(2.0, 5.0, arm.nv)
    wave = np.outer(t, rate)
    q, v, a = 0.5 * np.sin(wave), 0.5 * rate * np.cos(wave), -0.5 * rate**2 * np.sin(wave)
    bodies = body_velocities(arm, q, v)
    jacobians = np.stack([point_jacobian(arm, q, name) @ v[..., None] for name in arm.body_names], axis=1)[..., 0]
    h = 1e-5
    moved = [body_poses(arm, 0.5 * np.sin(np.outer(t + s * h, rate)))[..., :3, 3] for s in (1.0, -1.0)]
    torque = inverse_dynamics(arm, q, v, a)
    world = inverse_dynamics(arm, q, v, a, formulation="world")
    around = [_energy(arm, 0.5 * np.sin(np.outer(t + s * h, rate)), 0.5 * rate * np.cos(np.outer(t + s * h, rate)))
              for s in (1.0, -1.0)]  # fmt: skip
    power = np.sum((torque - arm.damping * v - arm.coulomb * np.sign(v)) * v, axis=1)
    return GivenMotion(
        t,
        q,
        torque,
        _relative(bodies[..., :3], jacobians),
        _relative((moved[0] - moved[1]) / (2 * h), bodies[..., :3]),
        _relative(world, torque),
        _relative((around[0] - around[1]) / (2 * h), power),
    )


@dataclass(frozen=True)
class JointKinds:
    """K of (22), (23): largest relative difference of torques from K (f, n), and of K's printed entries, by joint."""

    torque: dict[str, float]
    matrix: dict[str, float]


# (22), (23): which parts of force and moment in the axes of the link the drive of a joint has to bring up.
K_MATRICES = {
    "turning about z": (Revolute((0, 0, 1)), np.eye(6)[5:]),
    "sliding along z": (Prismatic((0, 0, 1)), np.eye(6)[2:3]),
    "ball": (Spherical(), np.eye(6)[3:]),
}


def joint_kinds() -> JointKinds:
    """Hold the library's joints against the printed K: a joint of each kind between two bodies that move in space."""
    torque, matrix = {}, {}
    rng = np.random.default_rng(0)
    for name, (joint, K) in K_MATRICES.items():
        b = MechanismBuilder(name)
        inertia = np.diag([0.02, 0.03, 0.04])
        b.add_body("base", joint=Free(), mass=2.0, center_of_mass=(0.1, 0.0, 0.05), inertia=inertia)
        b.add_body("link", "base", joint, placement=placement((0.3, 0.1, 0.2)), mass=1.0,
                   center_of_mass=(0.1, 0.2, 0.3), inertia=inertia)  # fmt: skip
        m = b.build()
        q = np.array([m.random_configuration(seed) for seed in range(40)])
        v, a = rng.standard_normal((2, 40, m.nv))
        found = inverse_dynamics(m, q, v, a)[:, 6:]
        wrench = joint_wrenches(m, q, v, a)[:, 1]
        torque[name] = _relative(wrench @ K.T, found)
        matrix[name] = float(np.abs(np.linalg.lstsq(wrench, found, rcond=None)[0].T - K).max())
    return JointKinds(torque, matrix)


@dataclass(frozen=True)
class FrictionRun:
    """Exercise 2: the arm of (40) sinks under gravity and friction (41); explicit Euler, 5 ms, 1 s."""

    time: Floats
    q: Floats
    acceleration: Floats
    reference: Floats
    mass_difference: float
    acceleration_difference: float
    gravity_difference: float
    euler_error: float


def friction_run(arm: Mechanism) -> FrictionRun:
    """Exercises 2-1 and 2-2, accelerations by the unit-vector method as the lecture asks."""

    def by_unit_vectors(q: Floats, v: Floats) -> Floats:
        return forward_dynamics(arm, q, v, -FRICTION * v, method="unit_vector")

    steps = round(DURATION / STEP)
    t, q, _, a = _integrate(by_unit_vectors, START, STEP, steps, _euler)
    converged = _integrate(_field(arm), START, STEP / 50, steps * 50, _runge_kutta)[1][::50]
    rng = np.random.default_rng(0)
    states = rng.uniform(-1.0, 1.0, (3, 50, arm.nv))
    unit = forward_dynamics(arm, *states, method="unit_vector")
    gravity = inverse_dynamics(arm, states[0], np.zeros(arm.nv), np.zeros(arm.nv))
    return FrictionRun(
        t,
        q,
        a,
        converged,
        _relative(mass_matrix(arm, states[0], "unit_vector"), mass_matrix(arm, states[0])),
        _relative(unit, forward_dynamics(arm, *states)),
        _relative(gravity, gravity_torque(arm, states[0])),
        float(np.abs(q[-1] - converged[-1]).max()),
    )


@dataclass(frozen=True)
class IntegratorErrors:
    """Largest error of the joint angles after 1 s against the step, and the order it falls with."""

    steps: Floats
    errors: dict[str, Floats]
    orders: dict[str, float]


def integrator_errors(arm: Mechanism) -> IntegratorErrors:
    """Explicit Euler and Runge-Kutta on the run of exercise 2-2."""
    field = _field(arm)
    counts = np.array([200, 400, 800, 1600])
    exact = _integrate(field, START, DURATION / 12800, 12800, _runge_kutta)[1][-1]
    errors, orders = {}, {}
    for name, method in (("explicit Euler", _euler), ("Runge-Kutta", _runge_kutta)):
        ends = [_integrate(field, START, DURATION / n, int(n), method)[1][-1] for n in counts]
        errors[name] = np.array([float(np.abs(end - exact).max()) for end in ends])
        # The two coarsest steps for Runge-Kutta's rounding, the two finest for Euler's higher terms.
        pair = errors[name][:2] if name == "Runge-Kutta" else errors[name][-2:]
        orders[name] = float(np.log2(pair[0] / pair[1]))
    return IntegratorErrors(DURATION / counts, errors, orders)


@dataclass(frozen=True)
class EulerGrowth:
    """How much a small velocity grows per step under friction alone, against max eig(M⁻¹D) Δt."""

    products: Floats
    factors: Floats
    threshold: float
    product_of_exercise: float


def euler_growth(arm: Mechanism) -> EulerGrowth:
    """Explicit Euler on dv/dt = -M⁻¹ D v at the start of the exercise, with ever more friction."""
    M = mass_matrix(arm, START)
    largest = float(np.linalg.eigvals(np.linalg.solve(M, np.diag(FRICTION))).real.max())
    products = np.linspace(0.5, 3.0, 101)
    factors = []
    for product in products:
        D = FRICTION * product / (largest * STEP)
        step = np.eye(arm.nv) - STEP * np.linalg.solve(M, np.diag(D))
        v = np.ones(arm.nv)
        for _ in range(60):
            v = step @ v
            v /= np.linalg.norm(v)
        factors.append(float(np.linalg.norm(step @ v)))
    growing = products[np.array(factors) > 1.0]
    return EulerGrowth(products, np.array(factors), float(growing[0]), largest * STEP)


@dataclass(frozen=True)
class Costs:
    """Seconds of one forward dynamics of chains, by method, and the power of N it grows with.

    dense: seconds of a mass matrix and a dense solution with it.
    """

    links: Floats
    seconds: dict[str, Floats]
    exponents: dict[str, float]
    dense: Floats


def forward_dynamics_costs() -> Costs:
    """Unit vectors, composite and articulated bodies on chains of 2 to 256 links; the fastest of several calls.

    From about 50 links on composite bodies end in a dense solution, as the lecture's O(N³) says.
    """
    links = np.array([2, 4, 8, 16, 32, 64, 128, 256])
    methods = {"unit vector": "unit_vector", "composite body": "composite_body", "articulated body": "articulated_body"}
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    dense: list[float] = []
    for n in links:
        m = chain(int(n))
        state = np.random.default_rng(0).uniform(-0.1, 0.1, (3, m.nv))
        for name, method in methods.items():
            seconds[name].append(
                _fastest(lambda m=m, state=state, method=method: forward_dynamics(m, *state, method=method))
            )
        dense.append(_fastest(lambda m=m, state=state: np.linalg.solve(mass_matrix(m, state[0]), state[2])))
    results = {name: np.array(times) for name, times in seconds.items()}
    upper = links >= 64
    exponents = {
        name: float(np.polyfit(np.log(links[upper]), np.log(times[upper]), 1)[0]) for name, times in results.items()
    }
    return Costs(links.astype(np.float64), results, exponents, np.array(dense))


def _fastest(call: Callable[[], object], rounds: int = 9) -> float:
    call()
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def _field(arm: Mechanism) -> Field:
    return lambda q, v: forward_dynamics(arm, q, v, -FRICTION * v)


def _integrate(
    field: Field,
    q0: Floats,
    h: float,
    steps: int,
    method: Callable[[Field, Floats, Floats, float], tuple[Floats, Floats]],
) -> tuple[Floats, Floats, Floats, Floats]:
    """Times, coordinates, velocities and accelerations from rest."""
    q, v = q0.copy(), np.zeros_like(q0)
    rows = [(q, v, field(q, v))]
    for _ in range(steps):
        q, v = method(field, q, v, h)
        rows.append((q, v, field(q, v)))
    return np.arange(steps + 1) * h, *(np.array(part) for part in zip(*rows, strict=True))  # type: ignore[return-value]


def _euler(field: Field, q: Floats, v: Floats, h: float) -> tuple[Floats, Floats]:
    return q + h * v, v + h * field(q, v)


def _runge_kutta(field: Field, q: Floats, v: Floats, h: float) -> tuple[Floats, Floats]:
    v1, a1 = v, field(q, v)
    v2 = v + 0.5 * h * a1
    a2 = field(q + 0.5 * h * v1, v2)
    v3 = v + 0.5 * h * a2
    a3 = field(q + 0.5 * h * v2, v3)
    v4 = v + h * a3
    a4 = field(q + h * v3, v4)
    return q + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def _energy(arm: Mechanism, q: Floats, v: Floats) -> Floats:
    return kinetic_energy(arm, q, v) + potential_energy(arm, q)


def _relative(found: Floats, expected: Floats) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())
