"""Springs between points and loop joints: native kernels against laws that do not use them."""

import numpy as np
import pytest
from rounding import rounding

import setsu
from setsu.dynamics.catalogue import native_function
from setsu.dynamics.springs import spring_wrenches
from setsu.sample_mechanisms import four_bar, random_tree, slider_crank


def sprung_tree(seed: int, floating_base: bool) -> setsu.Mechanism:
    """A random tree with three springs: to the world, between bodies, and to a plate fixed to the same body."""
    tree = random_tree(seed, n_bodies=6, floating_base=floating_base)
    b = setsu.MechanismBuilder("sprung", gravity=tree.gravity)
    for body in tree.bodies:
        b.add_body(
            body.name, parent=body.parent, joint=body.joint, placement=body.pose.matrix, mass=body.mass,
            center_of_mass=body.center_of_mass, inertia=body.inertia_matrix,
        )  # fmt: skip
    first, last = tree.body_names[0], tree.body_names[-1]
    b.add_spring("k1", "world", (0.1, 0.2, 2.0), last, (0.1, -0.2, 0.3), stiffness=300.0, rest_length=0.4, damping=5.0)
    b.add_spring("k2", first, (0.3, 0.0, 0.1), last, (0.0, 0.1, 0.0), stiffness=120.0, rest_length=0.1, damping=2.0)
    b.add_body("plate", parent=last, placement=setsu.placement((0.0, 0.2, 0.0)))
    b.add_spring("k3", last, (0.3, 0.0, 0.1), "plate", (0.0, 0.1, 0.0), stiffness=50.0)
    return b.build()


@pytest.mark.parametrize("floating_base", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_spring_forces_are_the_slope_of_their_energy_and_dampers_only_take(seed: int, floating_base: bool) -> None:
    """Σ wrench · velocity = -d(energy)/dt at zero damper rate; dampers' power is never positive."""
    m = sprung_tree(seed, floating_base)
    rng = np.random.default_rng(seed)
    q, v = m.random_configuration(rng), rng.standard_normal(m.nv)
    still = setsu.Mechanism(m.name, (0.0, 0.0, 0.0), m.bodies, springs=m.springs)
    h = 1e-6
    ahead, behind = (setsu.potential_energy(still, setsu.integrate(m, q, v, s * h)) for s in (1.0, -1.0))
    velocities = setsu.body_velocities(m, q, v)
    elastic = np.sum(spring_wrenches(m, q, np.zeros(m.nv)) * velocities)
    assert elastic == pytest.approx(-(ahead - behind) / (2 * h), rel=1e-6, abs=1e-6)
    damped = (spring_wrenches(m, q, v) - spring_wrenches(m, q, np.zeros(m.nv))) * velocities
    assert np.sum(damped) <= rounding([damped], c=damped.size)


@pytest.mark.parametrize("floating_base", [pytest.param(False, marks=pytest.mark.nightly), True])
def test_dynamics_with_springs_equal_dynamics_with_their_wrenches_given(floating_base: bool) -> None:
    """Springs inside a kernel = the same mechanism without springs under external wrenches; generic and compiled."""
    m = sprung_tree(7, floating_base)
    bare = setsu.Mechanism(m.name, m.gravity, m.bodies)
    rng = np.random.default_rng(3)
    q = np.array([m.random_configuration(rng) for _ in range(11)])
    v, a, tau = (rng.standard_normal((11, m.nv)) for _ in range(3))
    extra = rng.standard_normal((11, m.n_bodies, 6))
    wrenches = spring_wrenches(m, q, v)
    fast = setsu.compile(m, ["inverse_dynamics", "forward_dynamics", "bias_torque"])
    near = {"rtol": 1e-9, "atol": 1e-9}
    for given in (None, extra):
        acting = wrenches if given is None else wrenches + given
        for formulation in ("link", "world"):
            torque = setsu.inverse_dynamics(m, q, v, a, given, formulation)
            np.testing.assert_allclose(torque, setsu.inverse_dynamics(bare, q, v, a, acting, formulation), **near)
        for method in ("articulated_body", "composite_body", "unit_vector"):
            found = setsu.forward_dynamics(m, q, v, tau, given, method)
            np.testing.assert_allclose(found, setsu.forward_dynamics(bare, q, v, tau, acting, method), **near)
        inside = setsu.joint_wrenches(m, q, v, a, given)
        np.testing.assert_allclose(inside, setsu.joint_wrenches(bare, q, v, a, acting), **near)
    np.testing.assert_allclose(fast.inverse_dynamics(q, v, a), setsu.inverse_dynamics(m, q, v, a), **near)
    np.testing.assert_allclose(fast.forward_dynamics(q, v, tau), setsu.forward_dynamics(m, q, v, tau), **near)
    np.testing.assert_allclose(fast.bias_torque(q, v), setsu.bias_torque(m, q, v), **near)


def looped_tree(seed: int) -> setsu.Mechanism:
    """A random tree with loop joints between arbitrary bodies (not closed: the kinematics do not care)."""
    tree = random_tree(seed, n_bodies=7, floating_base=bool(seed % 2))
    b = setsu.MechanismBuilder("looped", gravity=tree.gravity)
    for body in tree.bodies:
        b.add_body(
            body.name, parent=body.parent, joint=body.joint, placement=body.pose.matrix, mass=body.mass,
            center_of_mass=body.center_of_mass, inertia=body.inertia_matrix,
        )  # fmt: skip
    names = tree.body_names
    rng = np.random.default_rng(seed)
    for k, (one, two) in enumerate([("world", names[-1]), (names[1], names[-2]), (names[-1], names[0])]):
        frames = [setsu.placement(rng.standard_normal(3), rpy=rng.standard_normal(3)) for _ in range(2)]
        b.add_loop(f"loop{k}", one, two, joint=setsu.Spherical(), placement_a=frames[0], placement_b=frames[1])
    return b.build()


@pytest.mark.parametrize("make", [four_bar, slider_crank, *(lambda s=s: looped_tree(s) for s in range(4))])
def test_loop_kinematics_against_differences(make) -> None:
    """Twist = J v = rate of the placement; its own rate is J a + bias; row of a batch = state alone."""
    m = make()
    rng = np.random.default_rng(5)
    q = np.array([m.random_configuration(rng) for _ in range(9)])
    v, a = rng.standard_normal((9, m.nv)), rng.standard_normal((9, m.nv))
    function = native_function(m, "loop_kinematics")
    placement, twist, jacobian, bias = function(q, v)
    np.testing.assert_allclose(np.einsum("bkij,bj->bki", jacobian, v), twist, rtol=1e-11, atol=1e-11)
    batch, alone = (placement, twist, jacobian, bias), function(q[4], v[4])
    assert all(np.array_equal(part[4], one) for part, one in zip(batch, alone, strict=True))
    h = 1e-6

    def at(t: float):
        # constant body-frame acceleration to second order: integrate twice along the same direction
        return function(setsu.integrate(m, q, v + 0.5 * t * a, t), v + t * a)

    ahead, behind = at(h), at(-h)
    rate = (ahead[0] - behind[0]) / (2 * h)
    np.testing.assert_allclose(rate[..., :3, 3], twist[..., :3], rtol=1e-6, atol=1e-6)
    spin = rate[..., :3, :3] @ np.swapaxes(placement[..., :3, :3], -1, -2)
    turning = np.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0]], axis=-1)
    np.testing.assert_allclose(turning, twist[..., 3:], rtol=1e-6, atol=1e-6)
    slope = (ahead[1] - behind[1]) / (2 * h)
    np.testing.assert_allclose(slope, np.einsum("bkij,bj->bki", jacobian, a) + bias, rtol=1e-5, atol=1e-5)


@pytest.mark.thin(3)
@pytest.mark.parametrize("floating_base", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_derivatives_with_springs_against_differences(seed: int, floating_base: bool) -> None:
    """Exact derivatives = central differences along velocities, within the error of the differences."""
    m = sprung_tree(seed, floating_base)
    rng = np.random.default_rng(seed)
    q, v, a, tau = m.random_configuration(rng), *(rng.standard_normal(m.nv) for _ in range(3))
    h = 1e-6

    def slopes(function) -> np.ndarray:
        steps = np.eye(m.nv) * h
        return np.stack([(function(step) - function(-step)) / (2 * h) for step in steps], axis=-1)

    inverse = setsu.inverse_dynamics_derivatives(m, q, v, a)
    forward = setsu.forward_dynamics_derivatives(m, q, v, tau)
    found = {
        "inverse dq": (inverse.dq, slopes(lambda d: setsu.inverse_dynamics(m, setsu.integrate(m, q, d, 1.0), v, a))),
        "inverse dv": (inverse.dv, slopes(lambda d: setsu.inverse_dynamics(m, q, v + d, a))),
        "inverse da": (inverse.da, setsu.mass_matrix(m, q)),
        "forward dq": (forward.dq, slopes(lambda d: setsu.forward_dynamics(m, setsu.integrate(m, q, d, 1.0), v, tau))),
        "forward dv": (forward.dv, slopes(lambda d: setsu.forward_dynamics(m, q, v + d, tau))),
        "forward dtau": (forward.dtau, np.linalg.inv(setsu.mass_matrix(m, q))),
    }
    for name, (exact, difference) in found.items():
        np.testing.assert_allclose(
            exact, difference, rtol=1e-6, atol=1e-7 * np.abs(difference).max(), err_msg=name
        )  # not rounding: central differences
