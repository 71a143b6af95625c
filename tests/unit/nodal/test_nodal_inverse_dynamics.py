"""Nodal inverse dynamics against exact Newton-Euler: order of the schemes, structure of [L], tip forces, refusals."""

import numpy as np
import pytest

import setsu
from setsu.benchmarks.subjects import robot_file
from setsu.sample_mechanisms import planar_arm, random_tree, seven_joint_arm


def branched() -> setsu.Mechanism:
    """A planar trunk of two links that carries two branches, as in isobe2003 Fig. 3 (c)."""
    b = setsu.MechanismBuilder("branched")
    for name, parent in [("a1", "world"), ("a2", "a1"), ("a3", "a2"), ("b1", "a2"), ("b2", "b1")]:
        b.add_body(
            name,
            parent,
            setsu.Revolute((0, -1, 0)),
            placement=setsu.placement((0.0 if parent == "world" else 0.4, 0, 0)),
            mass=1.0,
            center_of_mass=(0.2, 0, 0),
            inertia=np.diag([1e-4, 0.0133, 0.0133]),
        )
    return b.build()


def panda() -> setsu.Mechanism:
    """Seven joints and two sliding fingers, from a file of the package example-robot-data."""
    path = robot_file("panda")
    assert path is not None
    return setsu.load(path)


TREES = {
    "planar 3R": lambda: planar_arm(3),
    "branched": branched,
    "Panda": panda,
    "seven joints": seven_joint_arm,
    "24 joints, some sliding": lambda: random_tree(5, n_bodies=24, joint_types=[setsu.Revolute, setsu.Prismatic]),
    "joints with several axes": lambda: random_tree(
        2,
        n_bodies=8,
        joint_types=[setsu.Revolute, setsu.Cylindrical, setsu.Universal, setsu.Planar, setsu.Helical],
        damping=True,
        armature=True,
        stiffness=True,
    ),
}


def waves(m: setsu.Mechanism, samples: int):
    """Sines with seeded amplitudes, rates and phases: time, q, v, a."""
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 1.0, samples)
    size, rate, phase = rng.uniform(-0.6, 0.6, m.nv), rng.uniform(1.0, 4.0, m.nv), rng.uniform(0.0, 6.0, m.nv)
    angle = np.outer(t, rate) + phase
    return t, size * np.sin(angle), size * rate * np.cos(angle), -size * rate**2 * np.sin(angle)


def smooth_start(m: setsu.Mechanism, samples: int):
    """t⁵ (6 - 5 t): velocity, acceleration, jerk and its rate are zero at the start."""
    t = np.linspace(0.0, 1.0, samples)
    size = np.linspace(0.5, 1.0, m.nv)
    s, ds, dds = 6 * t**5 - 5 * t**6, 30 * t**4 - 30 * t**5, 120 * t**3 - 150 * t**4
    return t, np.outer(s, size), np.outer(ds, size), np.outer(dds, size)


def quintic(m: setsu.Mechanism, samples: int):
    """The usual point-to-point motion: velocity and acceleration zero at the ends, jerk not."""
    t = np.linspace(0.0, 1.0, samples)
    size = np.linspace(0.5, 1.0, m.nv)
    s, ds = 10 * t**3 - 15 * t**4 + 6 * t**5, 30 * t**2 - 60 * t**3 + 30 * t**4
    return t, np.outer(s, size), np.outer(ds, size), np.outer(60 * t - 180 * t**2 + 120 * t**3, size)


def error(m: setsu.Mechanism, motion, samples: int, scheme: str) -> float:
    t, q, v, a = motion(m, samples)
    exact = setsu.inverse_dynamics(m, q, v, a)
    return float(np.abs(setsu.nodal_inverse_dynamics(m, t, q, scheme) - exact).max() / np.abs(exact).max())


@pytest.mark.parametrize("name", TREES)
def test_central_differences_have_order_two(name: str) -> None:
    m = TREES[name]()
    errors = [error(m, waves, samples, "central") for samples in (101, 201, 401, 801)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert abs(orders[-1] - 2.0) < 0.1, orders


@pytest.mark.parametrize("name", TREES)
def test_given_accelerations_leave_rounding_only(name: str) -> None:
    m = TREES[name]()
    t, q, v, a = waves(m, 50)
    exact = setsu.inverse_dynamics(m, q, v, a)
    found = setsu.nodal_inverse_dynamics(m, t, q, "given", v=v, a=a)
    assert np.abs(found - exact).max() <= 1e-12 * np.abs(exact).max()


def test_floating_base_and_ball_joints_by_given_motion() -> None:
    m = random_tree(4, n_bodies=6, floating_base=True, joint_types=[setsu.Spherical, setsu.Revolute])
    rng = np.random.default_rng(1)
    q = np.array([m.random_configuration(rng) for _ in range(6)])
    v, a = rng.standard_normal((2, 6, m.nv))
    exact = setsu.inverse_dynamics(m, q, v, a)
    found = setsu.nodal_inverse_dynamics(m, np.arange(6.0), q, "given", v=v, a=a)
    assert np.abs(found - exact).max() <= 1e-11 * np.abs(exact).max()


def test_newmark_is_good_from_a_smooth_start_and_saws_after_an_initial_jerk() -> None:
    """Both sides of the marginal stability of β = 1/4: READING of isobe2003."""
    m = planar_arm(3)
    good = [error(m, smooth_start, samples, "newmark") for samples in (101, 201, 401)]
    assert abs(np.log2(good[-2] / good[-1]) - 2.0) < 0.2
    saw = [error(m, quintic, samples, "newmark") for samples in (101, 401)]
    assert min(saw) > 0.1
    assert abs(saw[1] / saw[0] - 1.0) < 0.3


def test_newmark_by_doubling_equals_the_recurrence_step_by_step() -> None:
    from setsu.nodal.time_schemes import newmark

    rng = np.random.default_rng(0)
    steps, h, beta, gamma = rng.standard_normal((37, 2, 3)), 0.01, 0.3, 0.6
    v, a = rng.standard_normal((2, 2, 3))
    found_v, found_a = newmark(steps, h, beta, gamma, v, a)
    for k, step in enumerate(steps):
        following = step / (beta * h**2) - v / (beta * h) - (0.5 / beta - 1.0) * a
        v, a = v + h * ((1.0 - gamma) * a + gamma * following), following
        np.testing.assert_allclose(found_v[k + 1], v, rtol=1e-8, atol=1e-8 * np.abs(found_v).max())
        np.testing.assert_allclose(found_a[k + 1], a, rtol=1e-8, atol=1e-8 * np.abs(found_a).max())


def test_pushing_a_wall_equals_newton_euler_plus_jacobian_times_force() -> None:
    """Figs 8-9: an arm traces a wall with a constant push; relative error at 400 steps below 3e-6."""
    m = planar_arm(3)
    t = np.linspace(0.0, 4.0, 401)
    q = np.array([0.6, -0.9, 0.5]) + 0.05 * np.sin(np.outer(t, [0.5, 0.7, 0.6]))
    rate, wave = np.array([0.5, 0.7, 0.6]), np.outer(t, [0.5, 0.7, 0.6])
    v, a = 0.05 * rate * np.cos(wave), -0.05 * rate**2 * np.sin(wave)
    push, point, tip = np.array([12.0, 0.0, 3.0]), (0.3, 0.0, 0.0), m.body_names[-1]
    J = setsu.point_jacobian(m, q, tip, point)
    exact = setsu.inverse_dynamics(m, q, v, a) + np.einsum("tij,i->tj", J, push)
    found = setsu.nodal_inverse_dynamics(m, t, q, tip_forces={tip: setsu.TipForce(point, push)})
    assert np.abs(found - exact).max() <= 3e-6 * np.abs(exact).max()


def test_springs_between_points_act_in_it_too() -> None:
    b = setsu.MechanismBuilder("sprung")
    b.add_body("arm", joint=setsu.Revolute((0, 1, 0)), mass=1.0, center_of_mass=(0.5, 0, 0), inertia=np.eye(3) * 0.1)
    b.add_spring("k", "world", (0, 0, 1), "arm", (0.8, 0, 0), stiffness=80.0, rest_length=0.4, damping=2.0)
    m = b.build()
    t, q, v, a = waves(m, 20)
    exact = setsu.inverse_dynamics(m, q, v, a)
    np.testing.assert_allclose(setsu.nodal_inverse_dynamics(m, t, q, "given", v=v, a=a), exact, rtol=1e-11)


def test_member_length_matrix_follows_the_structure() -> None:
    """Chain: upper triangle (4). Two chains: two triangles (5). Branch: extra rows (6)."""
    assert str(setsu.member_length_matrix(planar_arm(3))) == "L1 L2 L3\n . L2 L3\n .  . L3"
    b = setsu.MechanismBuilder("two chains and a branch")
    for name, parent in [("a1", "world"), ("a2", "a1"), ("a3", "a2"), ("b1", "a2"), ("c1", "world"), ("c2", "c1")]:
        b.add_body(
            name, parent=parent, joint=setsu.Revolute((0, 1, 0)), placement=setsu.placement((0.5, 0, 0)), mass=1.0
        )
    L = setsu.member_length_matrix(b.build())
    expected = ["111100", "011100", "001000", "000100", "000011", "000001"]
    assert ["".join("01"[int(entry)] for entry in row) for row in L.carried] == expected
    assert L.children[1] == (2, 3)
    assert [block.shape for block in L.blocks] == [(3, 9), (3, 12), (3, 6), (3, 6), (3, 9), (3, 6)]
    assert L.matrix.shape == (18, 48)
    np.testing.assert_array_equal(L.blocks[0][:, 6:], setsu.spatial.skew((0.5, 0, 0)))
    assert L.plot().axes[0].get_xlabel() == "force of link"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": np.arange(3.0), "q": np.zeros((3, 2))}, "at least 4 samples"),
        ({"time": [0.0, 0.1, 0.2, 0.35, 0.4]}, "even steps"),
        ({"q": np.zeros((5, 3))}, r"q: expected shape \(5, 2\)"),
        ({"q": np.full((5, 2), np.nan)}, r"q\[0, 0\] is nan"),
        ({"scheme": "centrl"}, 'did you mean "central"'),
        ({"scheme": "given"}, "needs v and a"),
        ({"tip_forces": {"nobody": setsu.TipForce((0, 0, 0), (0, 0, 1))}}, "unknown body 'nobody'"),
        ({"tip_forces": {"link2": setsu.TipForce((0, 0, 0), (0, 1))}}, "shape"),
        ({"scheme": "newmark", "beta": 0.0}, "beta"),
    ],
)
def test_refusals(change: dict, message: str) -> None:
    call = {"mechanism": planar_arm(2), "time": np.arange(5.0), "q": np.zeros((5, 2))} | change
    with pytest.raises(setsu.InputError, match=message):
        setsu.nodal_inverse_dynamics(**call)


def test_a_resting_floating_body_needs_its_weight() -> None:
    """Steps of length zero have no direction; nothing may divide by them."""
    m = random_tree(4, n_bodies=4, floating_base=True, joint_types=[setsu.Spherical, setsu.Revolute])
    q = np.tile(m.random_configuration(0), (6, 1))
    found = setsu.nodal_inverse_dynamics(m, np.arange(6.0), q)
    exact = np.tile(setsu.gravity_torque(m, q[0]), (6, 1))
    np.testing.assert_allclose(found, exact, atol=1e-12 * np.abs(exact).max())


def test_order_two_of_a_floating_body_with_ball_joints() -> None:
    """A motion along constant body rates, whose accelerations are zero."""
    m = random_tree(4, n_bodies=5, floating_base=True, joint_types=[setsu.Spherical, setsu.Revolute])
    rate = np.random.default_rng(2).uniform(-1.0, 1.0, m.nv)
    start = m.random_configuration(1)
    errors = []
    for samples in (101, 201, 401):
        t = np.linspace(0.0, 1.0, samples)
        q = setsu.integrate(m, np.tile(start, (samples, 1)), np.outer(t, rate), 1.0)
        exact = setsu.inverse_dynamics(m, q, np.tile(rate, (samples, 1)), np.zeros((samples, m.nv)))
        found = setsu.nodal_inverse_dynamics(m, t, q)
        errors.append(float(np.abs(found - exact).max() / np.abs(exact).max()))
    assert abs(np.log2(errors[-2] / errors[-1]) - 2.0) < 0.1
