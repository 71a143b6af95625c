"""The warning about explicit steps reckons with what can move: loops tie the damping of light parts to heavy ones."""

import warnings

import numpy as np
import pytest

import setsu
from setsu.simulation.stability import fastest_decay


def damped_four_bar(damping: float, loop_damping: float = 0.0) -> setsu.Mechanism:
    """A square four-bar without weight, with a light rocker whose joint is damped."""
    b = setsu.MechanismBuilder("four-bar", gravity=(0, 0, 0))
    for name, parent, at, mass in (("crank", "world", 0.0, 2.0), ("coupler", "crank", 1.0, 2.0)):
        b.add_body(
            name, parent, setsu.Revolute((0, 1, 0), name), placement=setsu.placement((at, 0, 0)), mass=mass,
            center_of_mass=(0.5, 0, 0), inertia=np.diag([0.01, 0.2, 0.2]),
        )  # fmt: skip
    b.add_body(
        "rocker", "world", setsu.Revolute((0, 1, 0), "rocker", damping=damping), placement=setsu.placement((1, 0, -1)),
        mass=0.002, center_of_mass=(0.5, 0, 0), inertia=np.diag([1e-6, 2e-4, 2e-4]),
    )  # fmt: skip
    b.add_loop(
        "pin", "coupler", "rocker", setsu.Revolute((0, 1, 0), "pin", damping=loop_damping),
        placement_a=setsu.placement((1, 0, 0)), placement_b=setsu.placement((1, 0, 0)),
    )  # fmt: skip
    return b.build()


@pytest.mark.parametrize(("damping", "loop_damping"), [(3.0, 0.0), (0.0, 2.0), (1.0, 1.0)])
def test_the_rate_is_the_one_a_slow_motion_decays_with(damping: float, loop_damping: float) -> None:
    """From v = 1e-6 rad/s, where velocity forces vanish: a = -rate v."""
    m = damped_four_bar(damping, loop_damping)
    q = setsu.close_loops(m, [0.0, np.pi / 2, 0.0])
    v = setsu.consistent_velocity(m, q, [1e-6, 0.0, 0.0], fixed=["crank"])
    a = setsu.constrained_dynamics(m, q, v, np.zeros(m.nv)).acceleration
    assert fastest_decay(m, q) == pytest.approx(-a[0] / v[0], rel=1e-5)


def test_a_light_part_in_a_loop_is_no_reason_to_warn() -> None:
    """Alone the rocker's damping would decay within microseconds; the loop ties it to the heavy crank."""
    m = damped_four_bar(3.0)
    q = setsu.close_loops(m, [0.0, np.pi / 2, 0.0])
    alone = float(np.linalg.eigvals(np.linalg.solve(setsu.mass_matrix(m, q), np.diag(m.damping))).max())
    step = 0.01
    assert alone * step > 2.0 > fastest_decay(m, q) * step
    v = setsu.consistent_velocity(m, q, [0.5, 0.0, 0.0], fixed=["crank"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", setsu.ModelWarning)
        rec = setsu.simulate(m, q, v, 0.1, step, integrator="semi_implicit")
    speed = np.abs(rec.v[:, 0])
    assert (np.diff(speed) < 0.0).all()


def test_a_step_too_long_for_what_moves_is_warned_of() -> None:
    m = damped_four_bar(3.0)
    q = setsu.close_loops(m, [0.0, np.pi / 2, 0.0])
    step = 2.2 / fastest_decay(m, q)
    with pytest.warns(setsu.ModelWarning, match="semi_implicit diverges beyond 2"):
        setsu.simulate(m, q, np.zeros(3), step, step, integrator="semi_implicit")
