"""Bodies without mass: inside a loop, or as the cross of a universal joint, they move; alone they do not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import setsu


def shafts(cross_mass: float) -> setsu.Mechanism:
    """Two shafts at 30 degrees, joined by a cross on two revolute joints; a bearing closes the loop."""
    builder = setsu.MechanismBuilder("shafts", gravity=(0, 0, 0))
    builder.add_body("in", joint=setsu.Revolute((0, 0, 1), "in"), mass=1.0, inertia=np.diag([0.01, 0.01, 0.012]))
    inertia = cross_mass * 0.01 * np.eye(3)
    builder.add_body("cross", "in", setsu.Revolute((1, 0, 0), "fork_in"), mass=cross_mass, inertia=inertia)
    builder.add_body(
        "out", "cross", setsu.Revolute((0, 1, 0), "fork_out"), mass=1.0, inertia=np.diag([0.01, 0.01, 0.02])
    )
    tilted = setsu.placement(rpy=(np.pi / 6, 0, 0))
    builder.add_loop("bearing", "world", "out", setsu.Revolute((0, 0, 1)), tilted)
    return builder.build()


def four_bar_with_light_coupler() -> setsu.Mechanism:
    m = setsu.sample_mechanisms.four_bar()
    bodies = [
        dataclasses.replace(body, mass=0.0, inertia=(0.0,) * 6) if body.name == "coupler" else body for body in m.bodies
    ]
    return dataclasses.replace(m, bodies=tuple(bodies))


MACHINES = {"cross": (lambda: shafts(0.0), "in"), "coupler": (four_bar_with_light_coupler, "crank")}
over_machines = pytest.mark.parametrize("name", MACHINES)


def moving(name: str) -> tuple[setsu.Mechanism, str, np.ndarray, np.ndarray]:
    make, driven = MACHINES[name]
    m = make()
    q = setsu.close_loops(m, [0.3, 0.0, 0.0], fixed=[driven])
    return m, driven, q, setsu.consistent_velocity(m, q, [2.0, 0.0, 0.0], fixed=[driven])


@over_machines
def test_statics_and_dynamics_undo_each_other(name: str) -> None:
    m, driven, q, v = moving(name)
    forward = setsu.constrained_dynamics(m, q, v, [0.7, 0.0, 0.0])
    back = setsu.constrained_inverse_dynamics(m, q, v, forward.acceleration, actuated=[driven])
    np.testing.assert_allclose(back.torque, [0.7, 0.0, 0.0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(back.loop_wrench, forward.loop_wrench, rtol=0, atol=1e-9)
    still = setsu.constrained_inverse_dynamics(m, q, np.zeros(3), np.zeros(3), actuated=[driven])
    held = setsu.constrained_dynamics(m, q, np.zeros(3), still.torque)
    np.testing.assert_allclose(held.acceleration, 0.0, atol=1e-9)


@over_machines
def test_compiled_code_gives_the_same(name: str) -> None:
    m, _, q, v = moving(name)
    fast = setsu.compile(m, ["constrained_dynamics"])
    batch = np.tile(q, (3, 1))
    expected = setsu.constrained_dynamics(m, batch, v, [0.7, 0.0, 0.0])
    found = fast.constrained_dynamics(batch, v, [0.7, 0.0, 0.0])
    np.testing.assert_allclose(found.acceleration, expected.acceleration, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.joint_wrenches, expected.joint_wrenches, rtol=0, atol=1e-10)


@over_machines
@pytest.mark.parametrize("integrator", ["rk4", "rk8", "radau"])
def test_a_run_keeps_energy_and_loops(name: str, integrator: str) -> None:
    m, _, q, v = moving(name)
    run = setsu.simulate(m, q, v, duration=0.2, step=0.002, integrator=integrator)
    assert np.abs(run.energy - run.energy[0]).max() < 1e-7
    assert run.constraint_error.max() < 1e-12


def test_the_shafts_turn_by_cardans_ratio() -> None:
    """Rate out / rate in = cos β / (1 - sin²β sin²θ); at θ = 0 the first fork's pin is across the shafts' plane."""
    m, _, q, v = moving("cross")
    spin, tilt = setsu.body_velocities(m, q, v)[m.body_names.index("out"), 3:], np.pi / 6
    axis = np.array([0.0, -np.sin(tilt), np.cos(tilt)])
    ratio = np.cos(tilt) / (1.0 - np.sin(tilt) ** 2 * np.sin(q[0]) ** 2)
    np.testing.assert_allclose(spin, 2.0 * ratio * axis, rtol=0, atol=1e-12)


def test_a_little_mass_changes_little() -> None:
    m, _, q, v = moving("cross")
    none = setsu.constrained_dynamics(m, q, v, [0.1, 0, 0])
    little = setsu.constrained_dynamics(shafts(1e-7), q, v, [0.1, 0, 0])
    np.testing.assert_allclose(none.acceleration, little.acceleration, rtol=0, atol=1e-5)
    np.testing.assert_allclose(none.joint_wrenches, little.joint_wrenches, rtol=0, atol=1e-6)


def test_a_free_massless_chain_is_refused_by_the_name_of_its_joint() -> None:
    builder = setsu.MechanismBuilder("whip")
    builder.add_body("arm", joint=setsu.Revolute((0, 1, 0)), mass=1.0, center_of_mass=(1, 0, 0))
    builder.add_body("tail", "arm", setsu.Revolute((0, 1, 0)), setsu.placement((1, 0, 0)))
    m = builder.build()
    compiled = setsu.compile(m, ["constrained_dynamics"]).constrained_dynamics
    idle = "whip: a motion of joint tail_joint moves no mass"
    for call in (
        lambda: setsu.constrained_dynamics(m, [0, 0], [0, 0], [0, 0]),
        lambda: setsu.constrained_dynamics(m, np.zeros((5, 2)), [0, 0], [0, 0]),
        lambda: setsu.constrained_dynamics(m, [0, 0], [0, 0], [0, 0], method="extended_newton_euler"),
        lambda: compiled([0, 0], [0, 0], [0, 0]),
    ):
        with pytest.raises(setsu.InputError, match=f"constrained_dynamics: {idle}, and no constraint holds it"):
            call()
    options: list[dict] = [{"integrator": name} for name in ("semi_implicit", "rk4", "rk8", "radau", "adaptive")]
    options += [{"joint_stops": True}, {"environment": setsu.Environment.floor()}]
    for option in options:
        with pytest.raises(setsu.InputError, match=f"simulate.*: {idle}"):
            setsu.simulate(m, [0, 0], [0, 0], duration=0.1, step=0.01, **option)
    with pytest.raises(setsu.InputError, match=f"consistent_velocity: {idle}"):
        setsu.consistent_velocity(m, [0, 0], [1, 0])
    # Torques that hold it are known all the same.
    np.testing.assert_allclose(setsu.constrained_inverse_dynamics(m, [0, 0], [0, 0], [0, 0]).torque, [-9.81, 0.0])


def with_tail(armature: float) -> setsu.Mechanism:
    """A four-bar linkage whose coupler, itself without mass, carries a massless pointer on a free joint."""
    m = four_bar_with_light_coupler()
    joint = setsu.Revolute((0, 0, 1), "tail", armature=armature)
    tail = dataclasses.replace(m.bodies[0], name="tail", parent="coupler", joint=joint, mass=0.0, inertia=(0.0,) * 6)
    return dataclasses.replace(m, bodies=(*m.bodies, tail))


def test_a_massless_tail_on_a_loop_is_refused_and_the_coupler_is_not() -> None:
    m = with_tail(0.0)
    q = setsu.close_loops(m, [0.3, 0.0, 0.0, 0.0], fixed=["crank"])
    calls = {
        "constrained_dynamics": lambda: setsu.constrained_dynamics(m, q, np.zeros(4), np.zeros(4)),
        "simulate": lambda: setsu.simulate(m, q, np.zeros(4), duration=0.1, step=0.01),
        "generate forward_dynamics": lambda: setsu.generate(m, "forward_dynamics", actuated=["crank", "tail"]),
    }
    for name, call in calls.items():
        with pytest.raises(setsu.InputError, match=f"^{name}: .*: a motion of joint tail moves no mass, and no cons"):
            call()
    driven = with_tail(0.01)
    run = setsu.simulate(driven, q, np.zeros(4), duration=0.02, step=0.002, torque=np.array([0, 0, 0, 0.05]))
    # The pointer has no weight, the drive no mass: tau / armature, whatever the linkage does.
    np.testing.assert_allclose(run.acceleration[:, 3], 5.0, rtol=0, atol=1e-9)
