"""Linkages other programs stumble over: singular positions on the way, redundant constraints, joints of every kind."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rounding import opening

import setsu
from setsu.constraints import constraint_system
from setsu.sample_mechanisms import bricard, n_four_bar, spatial_slider_crank


def equivalent_pendulum(n: int) -> setsu.Mechanism:
    """N four-bars of unit rods move as one pendulum: inertia (N + 1)/3 + N, weight at height ((N + 1)/2 + N) cos θ."""
    inertia, moment = (n + 1) / 3 + n, (n + 1) / 2 + n
    mass = moment**2 / inertia  # a point mass at distance l with m l² = inertia and m l = moment
    builder = setsu.MechanismBuilder("equivalent pendulum")
    builder.add_body("bob", joint=setsu.Revolute((0, 1, 0)), mass=mass, center_of_mass=(0, 0, inertia / moment))
    return builder.build()


@pytest.mark.parametrize(("n", "duration", "passages"), [(2, 2.0, 1), (5, 1.6, 1)])
def test_four_bars_pass_their_change_points_on_the_right_branch(n: int, duration: float, passages: int) -> None:
    """With all rods on one line the linkage could leave its branch; it follows the equivalent pendulum instead."""
    m = n_four_bar(n)
    v0 = setsu.consistent_velocity(m, m.neutral(), np.eye(m.nv)[0], fixed=["crank0"])
    run = setsu.simulate(m, m.neutral(), v0, duration, 0.01, integrator="rk8", record_every=10)
    exact = setsu.simulate(equivalent_pendulum(n), [0.0], [1.0], duration, 0.0025, integrator="rk8", record_every=40)
    assert np.abs(run.q[:, 0] - exact.q[:, 0]).max() < 1e-10  # not rounding: error of the method at this step
    assert np.abs(run.q[:, 0] + run.q[:, 1]).max() < 1e-12  # couplers stay level
    assert run.q[-1, 0] > (passages - 0.5) * math.pi
    assert run.constraint_error.max() <= opening(m, run.q)
    assert np.ptp(run.energy) < 1e-10  # not rounding: error of the method at this step


@pytest.mark.nightly
@pytest.mark.parametrize("n", [2, 40])
def test_four_bars_pass_ten_change_points(n: int) -> None:
    m = n_four_bar(n)
    v0 = setsu.consistent_velocity(m, m.neutral(), np.eye(m.nv)[0], fixed=["crank0"])
    run = setsu.simulate(m, m.neutral(), v0, 10.0, 0.01, integrator="rk8", record_every=10)
    exact = setsu.simulate(equivalent_pendulum(n), [0.0], [1.0], 10.0, 0.0025, integrator="rk8", record_every=40)
    assert run.q[-1, 0] > 10 * math.pi
    assert np.abs(run.q[:, 0] - exact.q[:, 0]).max() < 1e-10


def test_rk4_on_a_linkage_equals_rk4_on_its_one_freedom() -> None:
    """Projection adds no error of its own: the same step on the equivalent pendulum errs by the same amount."""
    m = n_four_bar(2)
    v0 = setsu.consistent_velocity(m, m.neutral(), np.eye(m.nv)[0], fixed=["crank0"])
    run = setsu.simulate(m, m.neutral(), v0, 2.0, 0.01, record_every=200)
    same = setsu.simulate(equivalent_pendulum(2), [0.0], [1.0], 2.0, 0.01, record_every=200)
    assert run.q[-1, 0] == pytest.approx(same.q[-1, 0], abs=1e-11)


def test_bricard_moves_although_counting_says_it_cannot() -> None:
    m = bricard()
    run = setsu.simulate(m, m.neutral(), np.zeros(m.nv), 1.0, 0.01, integrator="rk8", record_every=10)
    coarse = setsu.simulate(m, m.neutral(), np.zeros(m.nv), 1.0, 0.025, integrator="rk8", record_every=4)
    assert np.abs(run.q - coarse.q).max() < 1e-9
    assert np.abs(run.q[-1]).max() > 0.5
    assert np.ptp(run.energy) < 1e-11
    assert run.constraint_error.max() <= opening(m, run.q)


def test_a_slider_crank_in_space_keeps_energy_and_loop() -> None:
    m = spatial_slider_crank()
    v0 = setsu.consistent_velocity(m, m.neutral(), 6.0 * np.eye(m.nv)[0], fixed=["crank"])
    run = setsu.simulate(m, m.neutral(), v0, 0.5, 0.005, integrator="rk8", record_every=10)
    assert np.ptp(run.energy) < 1e-9  # not rounding: error of the method at this step
    assert run.constraint_error.max() <= opening(m, run.q)


def test_springs_and_friction_in_a_loop_joint_are_part_of_motion_and_ledger() -> None:
    """The same four-bar with damper, spring and drive inertia in the loop joint, or in a tree joint at the same pin."""
    lengths = {"crank": 0.4, "coupler": 1.0, "rocker": 0.8}
    options = {"damping": 0.3, "stiffness": 2.0, "armature": 0.05}

    def linkage(cut_at_coupler_end: bool) -> setsu.Mechanism:
        plain = setsu.sample_mechanisms.four_bar(**lengths)
        builder = setsu.MechanismBuilder("four-bar")
        for body in plain.bodies:
            joint = body.joint
            if body.name == "coupler" and not cut_at_coupler_end:
                continue
            builder.add_body(
                body.name, body.parent, joint, placement=body.pose.matrix, mass=body.mass,
                center_of_mass=body.center_of_mass, inertia=body.inertia_matrix,
            )  # fmt: skip
        (pin,) = plain.loops
        axis = pin.joint.axis
        if cut_at_coupler_end:
            # The loop joint counts from where its two frames coincide, the tree joint from q = 0.
            system = constraint_system(plain)
            rest = system.linearise(plain.neutral(), np.zeros(3)).loop_poses.coordinate
            hinge = setsu.Revolute(axis, spring_rest=rest.tolist(), **options)
            builder.add_loop("pin", "coupler", "rocker", hinge, pin.pose_a.matrix, pin.pose_b.matrix)
            return builder.build()
        # Hang the coupler on the rocker instead, and cut it at the crank.
        coupler = plain.bodies[1]
        poses = setsu.body_poses(plain, plain.neutral())
        start = np.linalg.inv(poses[2]) @ poses[1] @ setsu.placement((lengths["coupler"], 0, 0))
        back = setsu.placement((-lengths["coupler"], 0, 0))
        reversed_axis = tuple(-entry for entry in axis)
        builder.add_body(
            "coupler", "rocker", setsu.Revolute(reversed_axis, "elbow", **options), placement=start, mass=coupler.mass,
            center_of_mass=(coupler.center_of_mass[0] - lengths["coupler"], 0, 0), inertia=coupler.inertia_matrix,
        )  # fmt: skip
        builder.add_loop("pin", "crank", "coupler", setsu.Revolute(axis), coupler.pose.matrix, back)
        return builder.build()

    runs = []
    for cut in (True, False):
        m = linkage(cut)
        v0 = setsu.consistent_velocity(m, m.neutral(), np.eye(3)[0], fixed=["crank"])
        runs.append(setsu.simulate(m, m.neutral(), v0, 0.5, 0.01, integrator="rk8", record_every=10))
    in_loop, in_tree = runs
    assert np.abs(in_loop.q[:, 0] - in_tree.q[:, 0]).max() < 1e-9
    assert np.abs(in_loop.energy - in_tree.energy).max() < 1e-9
    assert np.abs(in_loop.ledger.joint_friction - in_tree.ledger.joint_friction).max() < 1e-9
    assert np.abs(in_loop.ledger.integration).max() < 1e-9
    assert in_loop.ledger.joint_friction[-1] < -1e-3
