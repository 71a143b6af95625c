"""Compiled derivatives of constrained dynamics: the same numbers as the general way, and left to it where they must."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields

import numpy as np
import pytest

import setsu
from setsu.constraints import constraint_system
from setsu.constraints.constrained_dynamics_derivatives import _way
from setsu.constraints.general_derivatives import general_derivatives

COMPILED = ("four_bar", "delta_robot", "jansen_leg")  # planar, in space, with several loops; tests/identities has more


def states(m: setsu.Mechanism, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Closed configurations with any velocities and torques: equations hold for all of these."""
    rng = np.random.default_rng(seed)
    shifted = setsu.integrate(m, m.neutral(), 0.1 * rng.standard_normal((count, m.nv)), 1.0)
    q = np.stack([setsu.close_loops(m, row) for row in shifted])
    return q, rng.standard_normal((count, m.nv)), rng.standard_normal((count, m.nv))


def assert_same(found: setsu.ConstrainedDynamicsDerivatives, expected: dict[str, np.ndarray], relative: float) -> None:
    """Compare all fields; blocks of forces against the largest of their kind."""
    for name, reference in expected.items():
        ours = getattr(found, name)
        assert ours.shape == reference.shape, name
        size = np.abs(reference).max(initial=0.0)
        np.testing.assert_allclose(ours, reference, rtol=0, atol=relative * size, err_msg=name)


@pytest.mark.parametrize("name", COMPILED)
def test_same_as_the_general_way(name: str) -> None:
    """Batches that fill no tile, and single states; a batch's numbers are those of single states, bit by bit."""
    m = getattr(setsu.sample_mechanisms, name)()
    q, v, tau = states(m, 6)
    assert _way(m).tiles is not None
    found = setsu.constrained_dynamics_derivatives(m, q, v, tau)
    expected, dynamics = general_derivatives(m, q, v, tau)
    assert_same(found, expected, 1e-11)
    np.testing.assert_allclose(found.dynamics.acceleration, dynamics.acceleration, rtol=1e-12)
    one = setsu.constrained_dynamics_derivatives(m, q[5], v[5], tau[5])
    for key in expected:
        np.testing.assert_array_equal(getattr(one, key), getattr(found, key)[5], err_msg=key)


def test_couplings_and_springs() -> None:
    """A geared arm with a spring between points: compiled too."""
    b = setsu.MechanismBuilder("geared")
    for k in range(4):
        b.add_body(
            f"link{k}", f"link{k - 1}" if k else "world", setsu.Revolute((0, 1, 0.2 * k), damping=0.1, armature=0.02),
            setsu.placement((0.3 if k else 0.0, 0.1, 0)), mass=1.0, center_of_mass=(0.15, 0, 0.02),
            inertia=0.01 * np.eye(3),
        )  # fmt: skip
    b.add_spring("spring", "link0", (0.1, 0, 0), "link3", (0.2, 0.1, 0), stiffness=30.0, rest_length=0.2)
    m = setsu.add_coupling(b.build(), "gear", {"link1_joint": 1.0, "link2_joint": -3.0}, offset=0.2)
    assert _way(m).tiles is not None
    q, v, tau = states(m, 3)
    assert_same(setsu.constrained_dynamics_derivatives(m, q, v, tau), general_derivatives(m, q, v, tau)[0], 1e-11)


def out_of_plane() -> setsu.Mechanism:
    """A four-bar with masses beside its plane: redundant rows share what they weigh."""
    flat = setsu.sample_mechanisms.four_bar()
    b = setsu.MechanismBuilder("beside", gravity=flat.gravity)
    for body in flat.bodies:
        center = np.array(body.center_of_mass) + 0.1 * np.abs(np.array(body.joint.axis))
        b.add_body(body.name, body.parent, body.joint, body.pose.matrix, body.mass, center, body.inertia_matrix)
    for loop in flat.loops:
        b.add_loop(loop.name, loop.body_a, loop.body_b, loop.joint, loop.pose_a.matrix, loop.pose_b.matrix)
    return b.build()


def test_redundant_rows_that_carry_something_are_left_to_the_general_way() -> None:
    """Planar linkages may be compiled when no force leaves their plane, and only then."""
    assert _way(setsu.sample_mechanisms.four_bar()).tiles is not None
    m = out_of_plane()
    assert _way(m).tiles is None
    q, v, tau = (array[0] for array in states(m, 1))
    assert_same(setsu.constrained_dynamics_derivatives(m, q, v, tau), general_derivatives(m, q, v, tau)[0], 0.0)
    assert _way(setsu.sample_mechanisms.bricard()).tiles is None


def test_open_and_almost_singular_states() -> None:
    """One open state is refused by its place in the batch; states near a singular one keep their digits."""
    m = setsu.sample_mechanisms.five_bar()
    q, v, tau = states(m, 9)
    opened = q.reshape(3, 3, -1).copy()
    opened[1, 2, 0] += 0.05
    with pytest.raises(setsu.InputError, match=r"in state \[1, 2\]"):
        setsu.constrained_dynamics_derivatives(m, opened, v.reshape(3, 3, -1), tau.reshape(3, 3, -1))
    v[4, 1] = np.nan
    with pytest.raises(setsu.InputError, match=r"v\[4, 1\] is nan"):
        setsu.constrained_dynamics_derivatives(m, q, v, tau)
    m = setsu.sample_mechanisms.four_bar()
    q, v, tau = states(m, 1)
    # Towards the dead centre of the four-bar: along its one motion.
    G = constraint_system(m).evaluate(q[0], v[0]).jacobian
    along = np.linalg.svd(G)[2][-1]
    path = np.stack([setsu.close_loops(m, q[0] + s * along) for s in np.linspace(0.0, 1.2, 9)])
    speeds = np.tile(v[0], (9, 1))
    try:
        expected, _ = general_derivatives(m, path, speeds, tau[0])
    except setsu.InputError:
        path, speeds = path[:3], speeds[:3]
        expected, _ = general_derivatives(m, path, speeds, tau[0])
    assert_same(setsu.constrained_dynamics_derivatives(m, path, speeds, tau[0]), expected, 1e-8)


def test_joints_at_rest_under_dry_friction_are_left_to_the_general_way() -> None:
    """Friction holds them; moving ones feel a constant."""
    flat = setsu.sample_mechanisms.five_bar()
    b = setsu.MechanismBuilder("dry", gravity=flat.gravity)
    for body in flat.bodies:
        joint = setsu.Revolute(body.joint.axis, coulomb=0.2, name=body.joint.name)
        b.add_body(body.name, body.parent, joint, body.pose.matrix, body.mass, body.center_of_mass, body.inertia_matrix)
    for loop in flat.loops:
        b.add_loop(loop.name, loop.body_a, loop.body_b, loop.joint, loop.pose_a.matrix, loop.pose_b.matrix)
    m = b.build()
    q, v, tau = (array[0] for array in states(m, 1))
    for speeds in (v, v * [1.0, 0.0, 1.0, 1.0]):
        found = setsu.constrained_dynamics_derivatives(m, q, speeds, tau)
        assert_same(found, general_derivatives(m, q, speeds, tau)[0], 1e-11)


def test_the_record_of_a_single_state_is_a_record() -> None:
    """Its fields are made when asked for: they are kept, can be copied and pickled, and others are refused."""
    m = setsu.sample_mechanisms.five_bar()
    q, v, tau = (array[0] for array in states(m, 1))
    found = setsu.constrained_dynamics_derivatives(m, q, v, tau)
    assert found.dq is found.dq
    assert not hasattr(found, "ddq")
    for other in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        for key in fields(found):
            if key.name != "solve":
                np.testing.assert_array_equal(getattr(other, key.name), getattr(found, key.name))
    q += 1.0  # the caller's own array
    assert found.dynamics.residual < 1e-9
