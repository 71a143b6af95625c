"""An integrator of order p shows order p: halving the step divides the error by 2^p, on numbers, rotations and loops.

The reference of each motion is the same motion at a step so short that its own error is below those measured; the
pendulum has a closed form besides.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import setsu

ORDERS = {"semi_implicit": 1, "rk4": 4, "radau": 5, "rk8": 8}


def spinning_pair() -> setsu.Mechanism:
    """A free body that carries another one on a spherical joint: rotations only a right chart integrates well."""
    builder = setsu.MechanismBuilder("spinning pair")
    builder.add_body(
        "base", joint=setsu.Free(), mass=2.0, center_of_mass=(0.1, 0.2, -0.1), inertia=np.diag([0.1, 0.25, 0.3])
    )
    builder.add_body(
        "arm", parent="base", joint=setsu.Spherical(), placement=setsu.placement((0.3, 0, 0)), mass=1.0,
        center_of_mass=(0, 0.1, -0.3), inertia=np.diag([0.05, 0.06, 0.03]),
    )  # fmt: skip
    return builder.build()


def ball_pendulum() -> setsu.Mechanism:
    builder = setsu.MechanismBuilder("ball pendulum")
    builder.add_body(
        "bob", joint=setsu.Spherical(), mass=1.0, center_of_mass=(0, 0, -0.5), inertia=np.diag([0.02, 0.03, 0.01])
    )
    return builder.build()


def four_bar_state() -> tuple[setsu.Mechanism, np.ndarray, np.ndarray]:
    m = setsu.sample_mechanisms.four_bar()
    return m, m.neutral(), setsu.consistent_velocity(m, m.neutral(), [2.0, 0.0, 0.0], fixed=["crank"])


CASES = {
    "free body with ball joint": lambda: (
        spinning_pair(), spinning_pair().random_configuration(1), np.array([1, 0, 2, 3, -2, 1, 2, 1, -3.0])
    ),
    "ball pendulum": lambda: (ball_pendulum(), np.array([0.5, 0.3, 0.2, 0.9]), np.array([2.0, -1.0, 6.0])),
    "double pendulum": lambda: (setsu.sample_mechanisms.pendulum(2), np.array([1.5, 2.0]), np.array([0.5, -1.0])),
    "four-bar": four_bar_state,
}  # fmt: skip

# Steps (s) for which the leading error term rules and rounding does not show.
STEPS = {
    "semi_implicit": (1 / 256, 1 / 512),
    "rk4": (1 / 32, 1 / 64),
    "radau": (1 / 32, 1 / 64),
    "rk8": (1 / 16, 1 / 32),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("integrator", ORDERS)
def test_error_falls_with_the_order(case: str, integrator: str) -> None:
    m, q0, v0 = CASES[case]()
    duration = 0.25
    exact = setsu.simulate(m, q0, v0, duration, 1 / 256, integrator="rk8", record_every=1000)

    def error(step: float) -> float:
        run = setsu.simulate(m, q0, v0, duration, step, integrator=integrator, record_every=1000)
        position = np.abs(setsu.difference(m, exact.q[-1], run.q[-1])).max()
        return float(max(position, np.abs(run.v[-1] - exact.v[-1]).max()))

    coarse, fine = (error(step) for step in STEPS[integrator])
    assert math.log2(coarse / fine) > ORDERS[integrator] - 0.7, (coarse, fine)


def test_a_free_top_keeps_momentum_and_energy_at_order_eight() -> None:
    """Without gravity and forces, momentum about the centre of mass and energy are constant."""
    m = setsu.with_gravity(spinning_pair(), (0.0, 0.0, 0.0))
    run = setsu.simulate(m, m.random_configuration(1), [1, 0, 2, 3, -2, 1, 2, 1, -3.0], 1.0, 0.02, integrator="rk8")
    momentum = setsu.momentum(m, run.q, run.v)
    assert np.abs(momentum - momentum[0]).max() < 1e-10
    assert np.abs(run.energy - run.energy[0]).max() < 1e-10


@pytest.mark.parametrize(
    ("integrator", "step", "allowed"), [("rk4", 1e-3, 1e-10), ("rk8", 2e-2, 1e-11), ("adaptive", 0.1, 1e-8)]
)
def test_pendulum_returns_after_the_period_of_the_elliptic_integral(
    integrator: str, step: float, allowed: float
) -> None:
    """T = 2 pi sqrt(l/g) / agm(1, cos(A/2)) for the amplitude A."""
    amplitude, x = 2.0, 1.0
    y = math.cos(amplitude / 2)
    while abs(x - y) > 1e-15:
        x, y = (x + y) / 2, math.sqrt(x * y)
    period = 2 * math.pi * math.sqrt(1.0 / 9.81) / x
    run = setsu.simulate(setsu.sample_mechanisms.pendulum(), [amplitude], [0.0], period, step, integrator=integrator)
    assert run.time[-1] == period
    assert abs(run.q[-1, 0] - amplitude) < allowed
    assert abs(run.v[-1, 0]) < 30 * allowed


def test_radau_follows_a_stiff_damper_where_explicit_methods_cannot() -> None:
    """A heavily damped pendulum creeps by damping q' = -m g l sin q, tan(q/2) = tan(q0/2) exp(-m g l t / damping)."""
    damping = 1e5
    m = setsu.sample_mechanisms.pendulum(damping=damping)
    run = setsu.simulate(m, [1.0], [-9.81 * math.sin(1.0) / damping], 1000.0, 10.0, integrator="radau")
    expected = 2 * np.arctan(math.tan(0.5) * np.exp(-9.81 * run.time / damping))
    assert np.abs(run.q[:, 0] - expected).max() < 1e-8
    with pytest.warns(setsu.ModelWarning, match="diverges beyond"), pytest.raises(setsu.SimulationStopped):
        setsu.simulate(m, [1.0], [0.0], 10.0, 0.01)
