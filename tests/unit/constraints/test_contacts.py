"""Contacts: closed forms of sliding, sticking, release and jamming; several contacts at once; both methods agree."""

import numpy as np
import pytest

import setsu

G = 9.81
FLOOR = setsu.Plane((0, 0, 1), 0.0)


def puck(gravity=(0, 0, -G)):
    """A point mass of 2 kg that can go anywhere without turning."""
    builder = setsu.MechanismBuilder("puck", gravity=gravity)
    builder.add_body("x", joint=setsu.Prismatic((1, 0, 0)))
    builder.add_body("y", "x", setsu.Prismatic((0, 1, 0)))
    builder.add_body("z", "y", setsu.Prismatic((0, 0, 1)), mass=2.0)
    return builder.build()


def on_puck(friction, surface=FLOOR, **options):
    return setsu.SurfaceContact("z", (0, 0, 0), surface, friction, **options)


def test_a_sliding_puck_is_slowed_by_its_friction():
    r = setsu.constrained_dynamics(puck(), [0, 0, 0], [3, 4, 0], [0, 0, 0], [on_puck(0.2)])
    np.testing.assert_allclose(r.normal_force, [2 * G])
    np.testing.assert_allclose(r.friction_force, [[-0.6 * 0.2 * 2 * G, -0.8 * 0.2 * 2 * G, 0]])
    np.testing.assert_allclose(r.acceleration, [-0.6 * 0.2 * G, -0.8 * 0.2 * G, 0], atol=1e-12)


def test_a_resting_puck_sticks_up_to_its_limit_and_then_starts_against_friction():
    m, limit = puck(), 0.2 * 2 * G
    for push in (0.0, 0.5, 0.99):
        force = push * limit * np.array([0.6, 0.8, 0.0])
        r = setsu.constrained_dynamics(m, np.zeros(3), np.zeros(3), force, [on_puck(0.2)])
        np.testing.assert_allclose(r.acceleration, 0.0, atol=1e-12)
        np.testing.assert_allclose(r.friction_force[0], -force, atol=1e-12)
        assert r.sticking[0]
    force = 1.5 * limit * np.array([0.6, 0.8, 0.0])
    r = setsu.constrained_dynamics(m, np.zeros(3), np.zeros(3), force, [on_puck(0.2)])
    np.testing.assert_allclose(r.acceleration, 0.25 * limit * np.array([0.6, 0.8, 0.0]), atol=1e-12)
    np.testing.assert_allclose(r.friction_force[0], -limit * np.array([0.6, 0.8, 0.0]))
    assert not r.sticking[0]


def test_the_start_of_sliding_opposes_its_own_acceleration_where_masses_differ():
    """Mass 2 kg along y, 12 kg along x: friction is along the acceleration, not along the push."""
    builder = setsu.MechanismBuilder("heavy along x")
    builder.add_body("x", joint=setsu.Prismatic((1, 0, 0)), mass=10.0)
    builder.add_body("y", "x", setsu.Prismatic((0, 1, 0)))
    builder.add_body("z", "y", setsu.Prismatic((0, 0, 1)), mass=2.0)
    push = np.array([9.0, 7.0, 0.0])
    r = setsu.constrained_dynamics(builder.build(), np.zeros(3), np.zeros(3), push, [on_puck(0.3)])
    friction, a = r.friction_force[0], r.acceleration
    np.testing.assert_allclose(np.linalg.norm(friction), 0.3 * 2 * G)
    np.testing.assert_allclose(np.cross(friction, a), 0.0, atol=1e-10)
    assert friction @ a < 0.0
    np.testing.assert_allclose(a * [12.0, 2.0, 2.0], push + friction + [0, 0, 0], atol=1e-10)


def test_a_contact_releases_instead_of_pulling_unless_it_is_bilateral():
    lift = [0.0, 0.0, 2 * G + 3.0]
    free = setsu.constrained_dynamics(puck(), np.zeros(3), np.zeros(3), lift, [on_puck(0.2)])
    np.testing.assert_allclose(free.acceleration, [0, 0, 1.5])
    assert free.normal_force[0] == 0.0
    assert not free.touching[0]
    held = setsu.constrained_dynamics(puck(), np.zeros(3), np.zeros(3), lift, [on_puck(0.0, bilateral=True)])
    np.testing.assert_allclose(held.normal_force, [-3.0])
    np.testing.assert_allclose(held.acceleration, 0.0, atol=1e-13)
    rubbed = setsu.constrained_dynamics(puck(), np.zeros(3), [1, 0, 0], lift, [on_puck(0.2, bilateral=True)])
    np.testing.assert_allclose(rubbed.normal_force, [-3.0])
    np.testing.assert_allclose(rubbed.friction_force, [[-0.6, 0, 0]], atol=1e-14)


@pytest.mark.parametrize("radius", [0.5, 2.0])
def test_a_puck_on_top_of_a_sphere_presses_less_by_its_centripetal_force(radius):
    """f_n = m (g - v²/R), zero where it takes off."""
    contact = on_puck(0.0, setsu.Sphere((0, 0, -radius), radius))
    speed = 0.5 * np.sqrt(G * radius)
    r = setsu.constrained_dynamics(puck(), np.zeros(3), [speed, 0, 0], np.zeros(3), [contact])
    np.testing.assert_allclose(r.normal_force, [2 * (G - speed**2 / radius)])
    np.testing.assert_allclose(r.acceleration, [0, 0, -(speed**2) / radius], atol=1e-12)
    fast = setsu.constrained_dynamics(puck(), np.zeros(3), [3 * speed, 0, 0], np.zeros(3), [contact])
    np.testing.assert_allclose(fast.acceleration, [0, 0, -G])


def test_a_bowl_guides_like_its_parabola():
    """At the lowest point of z = x²/2 moving at v: the acceleration is v² upwards."""
    contact = on_puck(0.0, setsu.ImplicitSurface("5*(z - x**2/2)"))
    r = setsu.constrained_dynamics(puck(), np.zeros(3), [3, 0, 0], np.zeros(3), [contact])
    np.testing.assert_allclose(r.acceleration, [0, 0, 9.0], atol=1e-12)
    np.testing.assert_allclose(r.normal_force, [2 * (G + 9.0)])


def rod_on_floor(angle):
    """A rod that leans on the floor, pivoted at its upper end at the height that makes it touch: Painlevé's rod."""
    builder = setsu.MechanismBuilder("leaning rod")
    builder.add_body("slide", joint=setsu.Prismatic((1, 0, 0)))
    builder.add_body("lift", "slide", setsu.Prismatic((0, 0, 1)))
    builder.add_body("rod", "lift", setsu.Revolute((0, 1, 0)), mass=1.0, inertia=np.diag([0, 1, 1]) / 12)
    m = builder.build()
    # The rod's lower end is half a metre from its center of mass along its own -z.
    contact = lambda K: setsu.SurfaceContact("rod", (0, 0, -0.5), FLOOR, K)  # noqa: E731
    return m, np.array([0.0, 0.5 * np.cos(angle), angle]), contact


def test_jamming_names_the_critical_coefficient():
    """Painlevé: B_nn = 1/m + x²/I and B_nt = x z/I for the arm (x, z): jamming from K = B_nn/B_nt on."""
    angle = 0.6
    m, q, contact = rod_on_floor(angle)
    x, z, inertia = 0.5 * np.sin(angle), 0.5 * np.cos(angle), 1 / 12
    critical = (1 + x * x / inertia) / (x * z / inertia)
    for way in (1.0, -1.0):
        state = (q, [way, 0.0, 0.0], np.zeros(3))
        below = setsu.constrained_dynamics(m, *state, [contact(0.999 * critical)])
        assert below.normal_force[0] > 0.0
        if way > 0.0:
            continue
        with pytest.raises(setsu.InputError, match=rf'contact "rod": .*Painlevé.*critical value {critical:.5g}'):
            setsu.constrained_dynamics(m, *state, [contact(1.001 * critical)])


def test_a_point_that_would_jam_lifts_off_when_its_rod_turns_fast():
    """Beyond the critical K the rod has no forces while gravity presses it down; turning, its end rises by itself."""
    m, q, contact = rod_on_floor(0.6)
    z = 0.5 * np.cos(0.6)
    fast = 1.01 * np.sqrt(G / z)
    # The end is to slide in -x at 1 m/s: its own turning moves it by -z times the rate.
    v = np.array([-1.0 + z * fast, 0.5 * np.sin(0.6) * fast, fast])
    r = setsu.constrained_dynamics(m, q, v, np.zeros(3), [contact(2.0)])
    assert r.touching.tolist() == [False]
    np.testing.assert_allclose(r.acceleration, [0.0, -G, 0.0], atol=1e-12)
    slow = np.array([-1.0, 0.0, 0.0])
    with pytest.raises(setsu.InputError, match=r"no finite forces exist in this state \(Painlevé paradox"):
        setsu.constrained_dynamics(m, q, slow, np.zeros(3), [contact(2.0)])


def box(edge=0.2, mass=3.0):
    builder = setsu.MechanismBuilder("box")
    builder.add_body("box", joint=setsu.Free(), mass=mass, inertia=mass * edge**2 / 6 * np.eye(3))
    corners = [(x, y, -edge / 2) for x in (-edge / 2, edge / 2) for y in (-edge / 2, edge / 2)]
    return builder.build(), corners, np.array([0, 0, edge / 2, 0, 0, 0, 1.0])


def test_a_box_on_four_corners_shares_its_weight_evenly():
    m, corners, q = box()
    contacts = [setsu.SurfaceContact("box", c, FLOOR, 0.5, name=f"corner{k}") for k, c in enumerate(corners)]
    r = setsu.constrained_dynamics(m, q, np.zeros(6), np.zeros(6), contacts)
    np.testing.assert_allclose(r.normal_force, np.full(4, 3 * G / 4), rtol=1e-10)
    np.testing.assert_allclose(r.acceleration, 0.0, atol=1e-11)


def test_a_box_pushed_at_the_top_tips_over_its_edge():
    """Pushed by F at the top, it tips when F h > m g a/2: the rear corners release, the front ones carry it all."""
    m, corners, q = box()
    contacts = [setsu.SurfaceContact("box", c, FLOOR, 2.0, name=f"corner{k}") for k, c in enumerate(corners)]
    limit = 3 * G * 0.1 / 0.2
    for push, tips in ((0.9 * limit, False), (1.1 * limit, True)):
        wrench = np.array([[push, 0, 0, 0, 0.1 * push, 0]])
        r = setsu.constrained_dynamics(m, q, np.zeros(6), np.zeros(6), contacts, external_wrenches=wrench)
        assert r.touching.tolist() == [not tips, not tips, True, True]
        assert (np.abs(r.acceleration).max() > 1e-3) == tips
        np.testing.assert_allclose(
            np.sum(r.normal_force) + 0.0, 3 * (G + np.array([0, 0, 1.0]) @ r.acceleration[:3]), rtol=1e-9
        )


def test_a_box_slides_on_a_slope_beyond_the_angle_of_friction():
    m, corners, q = box()
    contacts = [setsu.SurfaceContact("box", c, FLOOR, 0.4, name=f"corner{k}") for k, c in enumerate(corners)]
    for slope in (0.9 * np.arctan(0.4), 1.1 * np.arctan(0.4)):
        tilted = setsu.with_gravity(m, G * np.array([np.sin(slope), 0, -np.cos(slope)]))
        r = setsu.constrained_dynamics(tilted, q, np.zeros(6), np.zeros(6), contacts)
        expected = max(0.0, G * (np.sin(slope) - 0.4 * np.cos(slope)))
        np.testing.assert_allclose(r.acceleration, [expected, 0, 0, 0, 0, 0], atol=1e-9)


def test_states_of_a_batch_have_their_own_modes():
    m = puck()
    tau = np.array([[0, 0, 0], [50.0, 0, 0], [0, 0, 100.0], [1.0, 0, 0]])
    v = np.array([[1.0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]])
    many = setsu.constrained_dynamics(m, np.zeros(3), v, tau, [on_puck(0.2)])
    assert many.touching[:, 0].tolist() == [True, True, False, True]
    assert many.sticking[:, 0].tolist() == [False, False, False, True]
    for k in range(4):
        one = setsu.constrained_dynamics(m, np.zeros(3), v[k], tau[k], [on_puck(0.2)])
        np.testing.assert_allclose(many.acceleration[k], one.acceleration, atol=1e-13)
        np.testing.assert_allclose(many.friction_force[k], one.friction_force, atol=1e-13)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: setsu.SurfaceContact("z", (0, 0), FLOOR), "point"),
        (lambda: setsu.SurfaceContact("z", (0, 0, 0), "floor"), "Plane, Sphere"),
        (lambda: setsu.SurfaceContact("z", (0, 0, 0), FLOOR, -0.1), "at least 0"),
        (lambda: setsu.SurfaceContact(3, (0, 0, 0), FLOOR), "name of a body"),
        (lambda: _dynamics([setsu.SurfaceContact("hand", (0, 0, 0), FLOOR)]), "unknown body 'hand'"),
        (lambda: _dynamics([setsu.SurfaceContact("world", (0, 0, 0), FLOOR)]), "a body that moves"),
        (lambda: _dynamics(["floor"]), "SurfaceContact"),
        (lambda: _dynamics(4), "list of SurfaceContact"),
        (lambda: _dynamics([], method="lagrange"), "unknown method"),
        (lambda: _dynamics([], frame="hand"), "frame"),
        (lambda: _dynamics([], tau=[0, np.inf, 0]), r"tau\[1\] is inf"),
        (lambda: _dynamics([], tau=[0, 0]), "expected shape"),
        (lambda: _dynamics([], tau=np.zeros((2, 3)), v=np.zeros((3, 3))), "broadcast"),
        (lambda: _dynamics([on_puck(0.1, setsu.Sphere((0, 0, 0), 1.0))]), r'contact "z".*gradient.*\(0, 0, 0\)'),
    ],
)
def test_bad_arguments_are_refused(make, says):
    with pytest.raises(setsu.InputError, match=says):
        make()


def _dynamics(contacts, tau=(0, 0, 0), v=(0, 0, 0), **options):
    return setsu.constrained_dynamics(puck(), np.zeros(3), v, tau, contacts, **options)


def test_contacts_without_a_name_of_their_own_are_numbered_and_names_given_twice_are_refused():
    points = [setsu.SurfaceContact("z", (x, 0, 0), FLOOR) for x in (0.0, 0.1, 0.2)]
    system = setsu.constraints.constraint_system(puck(), points)
    assert [contact.name for contact in system.contacts] == ["z", "z 2", "z 3"]
    named = [setsu.SurfaceContact("z", (x, 0, 0), FLOOR, name="foot") for x in (0.0, 0.1)]
    with pytest.raises(setsu.InputError, match='2 have the name "foot"; expected a name for each'):
        _dynamics(named)


@pytest.mark.parametrize("speed", [-1.0, np.nan, "slow"])
def test_a_stick_speed_is_a_number_of_at_least_zero(speed):
    with pytest.raises(setsu.InputError, match="stick_speed"):
        _dynamics([on_puck(0.1)], stick_speed=speed)


def test_no_states_have_no_results():
    r = setsu.constrained_dynamics(puck(), np.zeros((2, 0, 3)), np.zeros(3), np.zeros(3), [on_puck(0.2)])
    assert r.acceleration.shape == (2, 0, 3)
    assert r.friction_force.shape == (2, 0, 1, 3)


def test_of_several_contacts_the_one_that_jams_is_named_with_its_state():
    """Two rods side by side: the first slides freely, the second jams in the last state of a batch of two axes."""
    builder = setsu.MechanismBuilder("two rods", gravity=(0, 0, -G))
    for k in "ab":
        builder.add_body(f"slide {k}", joint=setsu.Prismatic((1, 0, 0)))
        builder.add_body(f"lift {k}", f"slide {k}", setsu.Prismatic((0, 0, 1)))
        builder.add_body(f"rod {k}", f"lift {k}", setsu.Revolute((0, 1, 0)), mass=1.0, inertia=np.diag([0, 1, 1]) / 12)
    ends = [setsu.SurfaceContact(f"rod {k}", (0, 0, -0.5), FLOOR, friction) for k, friction in (("a", 0.3), ("b", 1.6))]
    q = np.array([0.0, 0.5 * np.cos(0.6), 0.6] * 2)
    v = np.zeros((2, 3, 6))
    v[..., 0], v[..., 3] = -1.0, 1.0
    v[1, 2, 3] = -1.0
    with pytest.raises(setsu.InputError) as caught:
        setsu.constrained_dynamics(builder.build(), q, v, np.zeros(6), ends)
    said = str(caught.value)
    assert 'contacts "rod a", "rod b" in state [1, 2]: no finite forces exist in this state (Painlevé' in said
    assert said.endswith('expected a coefficient of friction of "rod b" below the critical value 1.39941, got 1.6')
