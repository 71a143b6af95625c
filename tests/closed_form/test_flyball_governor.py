"""IFToMM's stiff flyball governor (A05): implicit steps against Lagrange's equations written by hand.

    p = (J + 2 J_rod(β)) ψ'  constant,   β = π/6 - α: how far the rods point below the horizontal             (1)
    I α'' = ½ dJ_rod/dα ψ'² - dV/dα - F ∂l/∂α,   m s'' = -m g - 2 F ∂l/∂s,   F = k (l - ½) + c l'              (2)
    l² = (½ cos β)² + (½ - ½ sin β - s)²                                                                       (3)

ψ: shaft, s: slider, α: both rods, which move alike.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import setsu
from setsu.sample_mechanisms import flyball_governor

START = np.array([2.0 * math.pi, 0.0, 0.0, 0.0])


def slopes(t: float, y: np.ndarray) -> list[float]:
    """Right side for (ψ, s, α, s', α')."""
    _, s, alpha, s_rate, rate = y
    g, k, c, edge, rod, ball, slider = 9.81, 8e5, 4e4, 0.05, 0.3, 5.0, 3.0
    across, lengthwise = rod * (1.0 + 1e-4) / 12.0, rod * 2e-4 / 12.0

    def rod_inertia(cosine: float, sine: float) -> float:
        own = across * cosine**2 + lengthwise * sine**2
        return own + rod * (edge + 0.5 * cosine) ** 2 + ball * (edge + cosine) ** 2

    beta = math.pi / 6.0 - alpha
    cosine, sine = math.cos(beta), math.sin(beta)
    fixed = rod * 2e-4 / 12.0 + slider * 0.02 / 12.0
    momentum = 2.0 * math.pi * (fixed + 2.0 * rod_inertia(math.sqrt(0.75), 0.5))
    turn = momentum / (fixed + 2.0 * rod_inertia(cosine, sine))  # (1)
    across_line, along_line = 0.5 * cosine, 0.5 - 0.5 * sine - s
    length = math.hypot(across_line, along_line)  # (3)
    # β falls as α rises: d cos β/dα = sin β, d sin β/dα = -cos β.
    by_alpha = (across_line * 0.5 * sine + along_line * 0.5 * cosine) / length
    by_s = -along_line / length
    force = k * (length - 0.5) + c * (by_alpha * rate + by_s * s_rate)
    inertia_slope = (
        2.0 * sine * ((across - lengthwise) * cosine + 0.5 * rod * (edge + 0.5 * cosine) + ball * (edge + cosine))
    )
    potential_slope = g * (0.5 * rod + ball) * cosine
    hinge = across + 0.25 * rod + ball
    return [
        turn,
        s_rate,
        rate,
        -g - 2.0 * force * by_s / slider,
        (0.5 * inertia_slope * turn**2 - potential_slope - force * by_alpha) / hinge,
    ]  # (2)


@pytest.fixture(scope="module")
def reference() -> np.ndarray:
    """States (ψ, s, α) at 0, 0.1 ... 1 s, explicit and as accurate as it gets: steps are short where it is stiff."""
    times = np.linspace(0.0, 1.0, 11)
    found = solve_ivp(slopes, (0.0, 1.0), np.zeros(5), "DOP853", times, rtol=1e-13, atol=1e-15, max_step=1e-4)
    return found.y[:3].T


@pytest.mark.parametrize("integrator", ["radau", "rk8"])
def test_the_governor_follows_lagranges_equations(integrator: str, reference: np.ndarray) -> None:
    m = flyball_governor()
    step = 1e-3 if integrator == "radau" else 5e-5
    run = setsu.simulate(m, m.neutral(), START, 1.0, step, integrator=integrator, record_every=round(0.1 / step))
    # Radau at ten time constants of the dampers; the shaft turns by 6 rad.
    assert (np.abs(run.q[:, :3] - reference).max(axis=0) < [4e-12, 2e-12, 2e-12]).all()
    assert np.abs(run.q[:, 3] - run.q[:, 2]).max() < 1e-14


def test_nothing_turns_the_governor() -> None:
    """The momentum of the free shaft stays for all of the 10 s, in which the slider rises by 0.12 m."""
    m = flyball_governor()
    run = setsu.simulate(m, m.neutral(), START, 10.0, 1e-3, integrator="radau", record_every=100)
    momentum = np.einsum("td,td->t", setsu.mass_matrix(m, run.q)[:, 0], run.v)
    assert np.abs(momentum / momentum[0] - 1.0).max() < 1e-12
    assert run.q[-1, 1] == pytest.approx(0.1196, abs=1e-4)


def test_shorter_implicit_steps_are_not_worse(reference: np.ndarray) -> None:
    """Rounds that end too early, or factors applied in a wrong order, leave errors that grow with the steps."""
    m = flyball_governor()
    for step in (5e-4, 1e-4):
        run = setsu.simulate(m, m.neutral(), START, 1.0, step, integrator="radau", record_every=round(0.1 / step))
        assert np.abs(run.q[:, :3] - reference).max() < 2e-12  # not rounding: error of method and reference
