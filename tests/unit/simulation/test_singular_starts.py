"""Runs that begin in, or pass, configurations where rows of loops fade: loops hold, no energy comes from nothing."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.constraints.freedom import weakest_row
from setsu.mechanism import Mechanism
from setsu.simulation.block import Failure
from setsu.simulation.constrained_machine import NO_SOLUTION


def rods(lengths: tuple[float, ...], end: float) -> Mechanism:
    """Rods along x, hinged about z, the end of the last one pinned to the world."""
    b = setsu.MechanismBuilder("rods in line", gravity=(0, -9.81, 0))
    parent, at = "world", (0.0, 0.0, 0.0)
    for k, length in enumerate(lengths):
        b.add_body(
            f"r{k}", parent, setsu.Revolute((0, 0, 1), f"j{k}"), placement=setsu.placement(at), mass=1.0,
            center_of_mass=(length / 2, 0, 0), inertia=np.eye(3) * length**2 / 12,
        )  # fmt: skip
        parent, at = f"r{k}", (length, 0.0, 0.0)
    b.add_loop("pin", parent, "world", setsu.Revolute((0, 0, 1)), setsu.placement(at), setsu.placement((end, 0, 0)))
    return b.build()


# Adaptive: 1e-10 (1 + |v|) per step in velocities of momenta below 10 N m s, some tens of steps: ΔE = p Δv each.
@pytest.mark.parametrize(
    ("integrator", "energy"), [("rk4", 1e-9), ("rk8", 1e-10), ("adaptive", 1e-8), ("radau", 1e-10)]
)
def test_a_parallelogram_that_starts_flat_stays_on_its_branch(integrator: str, energy: float) -> None:
    m = rods((1.0, 2.0, 1.0), 2.0)
    run = setsu.simulate(m, [0, 0, np.pi], [2.0, -2.0, 2.0], 1.0, integrator=integrator)
    assert run.constraint_error.max() < 1e-12
    # The coupler stays level: its absolute angle is the sum of the first two.
    assert np.abs(run.q[:, 0] + run.q[:, 1]).max() < 1e-9
    assert np.abs(run.energy - run.energy[0]).max() < energy  # not rounding: error of each method


@pytest.mark.parametrize("hook", [False, True])
def test_a_straight_chain_hooked_at_its_end(hook: bool) -> None:
    m = rods((1.0, 1.0, 1.0, 1.0), 4.0)
    events = [setsu.CloseLoop(0.0, "pin")] if hook else []
    said, error = "", np.inf
    try:
        error = setsu.simulate(m, np.zeros(4), np.zeros(4), 0.2, 1e-3, events=events).constraint_error.max()
    except setsu.InputError as stopped:
        said = str(stopped)
    assert error < 1e-9 or 'loop "pin"' in said


@pytest.mark.parametrize("integrator", ["rk4", "rk8", "radau"])
def test_a_row_of_four_bars_passes_its_change_points(integrator: str) -> None:
    # The cranks turn over; every passage has all rods in line.
    m = setsu.sample_mechanisms.n_four_bar(3)
    v = np.array([1.0 if name.startswith("crank") else -1.0 for name in m.joint_names])
    run = setsu.simulate(m, m.neutral(), 8.0 * v, 2.0, 1e-3, integrator=integrator, record_every=10)
    cranks = [k for k, name in enumerate(m.joint_names) if name.startswith("crank")]
    assert np.ptp(run.q[:, cranks], axis=1).max() < 1e-9
    assert np.abs(run.energy - run.energy[0]).max() < (1e-6 if integrator == "rk4" else 1e-8)


def test_a_run_that_cannot_hold_a_loop_stops_and_names_it() -> None:
    m = setsu.sample_mechanisms.four_bar()
    v = setsu.consistent_velocity(m, m.neutral(), [40.0, 0.0, 0.0], fixed=["crank"])
    with pytest.raises(setsu.SimulationStopped, match=r'loop "pin"|grows without bound|not finite'):
        setsu.simulate(m, m.neutral(), v, 2.0, 0.25)


def test_an_implicit_step_without_solution_names_the_loop_that_is_singular() -> None:
    m = rods((1.0, 2.0, 1.0), 2.0)
    simulator = setsu.Simulator(m, integrator="radau")
    simulator.reset([0, 0, np.pi], [2.0, -2.0, 2.0])
    world = simulator._blocks[0]
    world.clock.failure[0] = NO_SOLUTION
    with pytest.raises(Failure, match=r'no solution.*loop "pin".* singular there.*try rk8'):
        world.answer_failure()


def test_the_weakest_row_is_that_of_the_loop_in_line() -> None:
    m = setsu.sample_mechanisms.n_four_bar(2)
    signs = np.array([1.0 if name.startswith("crank") else -1.0 for name in m.joint_names])
    assert weakest_row(m, 0.3 * signs) is None
    assert 'loop "pin' in (weakest_row(m, 0.5 * np.pi * signs) or "")
    assert weakest_row(setsu.sample_mechanisms.pendulum(), np.zeros(1)) is None
