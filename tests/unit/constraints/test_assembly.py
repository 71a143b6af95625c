"""Closing loops, counting freedoms, and what cannot be closed."""

import numpy as np
import pytest
from rounding import rounding

import setsu
from setsu.sample_mechanisms import bricard, five_bar, four_bar, n_four_bar, parallelogram_arm, slider_crank
from setsu.sample_mechanisms import spatial_slider_crank as slider_crank_3d

SAMPLES = {
    "four_bar": (four_bar, 1),
    "slider_crank": (slider_crank, 1),
    "five_bar": (five_bar, 2),
    "parallelogram_arm": (parallelogram_arm, 2),
    "n_four_bar": (n_four_bar, 1),
    "bricard": (bricard, 1),
    "spatial_slider_crank": (slider_crank_3d, 1),
}
over_samples = pytest.mark.parametrize("name", SAMPLES)


def rough_guesses(m, count=20, seed=0, size=0.25):
    steps = size * np.random.default_rng(seed).standard_normal((count, m.nv))
    return setsu.integrate(m, m.neutral(), steps, 1.0)


@over_samples
def test_rough_guesses_close(name):
    m = SAMPLES[name][0]()
    closed = setsu.close_loops(m, rough_guesses(m))
    assert np.abs(setsu.loop_error(m, closed)).max() < 1e-13


@over_samples
def test_freedoms_follow_from_the_rank(name):
    make, freedoms = SAMPLES[name]
    m = make()
    q = setsu.close_loops(m, rough_guesses(m))
    np.testing.assert_array_equal(setsu.degrees_of_freedom(m, q), freedoms)
    assert len(setsu.independent_coordinates(m)) == freedoms


@over_samples
def test_a_closed_configuration_stays_and_closing_twice_changes_nothing(name):
    m = SAMPLES[name][0]()
    q = setsu.close_loops(m, rough_guesses(m, 3))
    np.testing.assert_allclose(setsu.difference(m, q, setsu.close_loops(m, q)), 0.0, atol=1e-12)


def test_the_result_is_the_nearest_closed_configuration():
    """At the nearest point the way back to the guess is normal to the motion the loops allow."""
    m = five_bar()
    guess = rough_guesses(m, 10)
    q = setsu.close_loops(m, guess)
    for start, end in zip(guess, q, strict=True):
        G = setsu.constraints.constraint_system(m).evaluate(end, np.zeros(m.nv)).jacobian
        way = setsu.difference(m, end, start)
        along = way - np.linalg.pinv(G, rcond=1e-9) @ (G @ way)
        assert np.abs(along).max() < 1e-5 * max(1.0, np.abs(way).max())


def test_both_branches_of_a_four_bar_are_reached_and_fixed_joints_stay():
    m = four_bar()
    up = setsu.close_loops(m, [0.3, 0.0, 0.0], fixed=["crank"])
    down = setsu.close_loops(m, [0.3, -2.0, 2.1], fixed=["crank"])
    assert up[0] == down[0] == 0.3
    tips = [setsu.body_poses(m, q)[1] @ [1.0, 0, 0, 1] for q in (up, down)]
    ends = [setsu.body_poses(m, q)[2] @ [0.8, 0, 0, 1] for q in (up, down)]
    np.testing.assert_allclose(tips, ends, atol=1e-13)
    assert tips[0][2] > 0.0 > tips[1][2]


def test_limits_are_kept():
    builder = setsu.MechanismBuilder("two sliders")
    for name, joint in (
        ("along", setsu.Prismatic((1, 0, 0), lower=-1.0, upper=0.25)),
        ("up", setsu.Prismatic((0, 0, 1))),
    ):
        builder.add_body(name, joint=joint, mass=1.0)
    builder.add_coupling("sum", {"along_joint": 1.0, "up_joint": 1.0}, offset=-1.0)
    m = builder.build()
    np.testing.assert_allclose(setsu.close_loops(m, [0.5, 0.5]), [0.25, 0.75], atol=1e-13)
    np.testing.assert_allclose(setsu.close_loops(m, [0.5, 0.5], respect_limits=False), [0.5, 0.5], atol=1e-13)


def limited_four_bar():
    builder = setsu.MechanismBuilder("limited")
    axis, body = (0, -1, 0), {"mass": 1.0, "inertia": 0.01 * np.eye(3)}
    builder.add_body("crank", joint=setsu.Revolute(axis, "crank", lower=-0.5, upper=0.5), **body)
    joint = setsu.Revolute(axis, "coupler", lower=-3.0, upper=3.0)
    builder.add_body("coupler", "crank", joint, setsu.placement((0.4, 0, 0)), **body)
    joint = setsu.Revolute(axis, "rocker", lower=0.2, upper=2.0)
    builder.add_body("rocker", joint=joint, placement=setsu.placement((1, 0, 0)), **body)
    ends = setsu.placement((1.0, 0, 0)), setsu.placement((0.8, 0, 0))
    builder.add_loop("pin", "coupler", "rocker", setsu.Revolute(axis), *ends)
    return builder.build()


@pytest.mark.parametrize("guess", [(2.0, 0.0, 0.0), (0.0, -2.0, -2.0), (-2.0, 0.0, 0.0), (0.0, 1.0, 5.0)])
def test_nothing_within_the_limits_is_nearer(guess):
    """All closed configurations, by the crank's angle: the coupler's end is where two circles meet."""
    m = limited_four_bar()
    found = setsu.close_loops(m, guess)
    assert (found >= m.lower).all()
    assert (found <= m.upper).all()
    assert np.abs(setsu.loop_error(m, found)).max() < 1e-12
    crank = np.linspace(-0.5, 0.5, 2001)
    across = np.array([1.0, 0.0]) - 0.4 * np.stack([np.cos(crank), np.sin(crank)], axis=-1)
    distance, direction = np.linalg.norm(across, axis=-1), np.arctan2(across[:, 1], across[:, 0])
    others = []
    for side in (1.0, -1.0):
        at_crank = direction + side * np.arccos((1.0 + distance**2 - 0.64) / (2.0 * distance))
        at_rocker = direction + np.pi - side * np.arccos((0.64 + distance**2 - 1.0) / (1.6 * distance))
        one = np.stack([crank, at_crank - crank, at_rocker], axis=-1)
        one[:, 1:] = (one[:, 1:] + np.pi) % (2.0 * np.pi) - np.pi
        others.append(one[((one >= m.lower) & (one <= m.upper)).all(axis=-1)])
    start = np.clip(guess, m.lower, m.upper)
    nearest = np.linalg.norm(np.concatenate(others) - start, axis=-1).min()
    assert np.linalg.norm(found - start) <= nearest + 1e-9


def test_a_loop_that_cannot_close_is_named_with_its_gap_and_the_best_configuration():
    m = four_bar()
    with pytest.raises(setsu.ClosingError, match=r'loop "pin" stays open by [\d.]+ mm and [\d.e-]+ degrees') as caught:
        setsu.close_loops(m, [0.0, 0.0, 0.9], fixed=["crank", "rocker"])
    assert isinstance(caught.value, setsu.InputError)
    gap = np.linalg.norm(setsu.loop_error(m, caught.value.configuration)[:3])
    # The coupler turns about the crank's end: the best it can do is the difference of distance and length.
    end = setsu.body_poses(m, caught.value.configuration)[2] @ [0.8, 0, 0, 1]
    best = abs(np.linalg.norm(end[:3] - [0, 0, 0.4]) - 1.0)
    assert gap == pytest.approx(best, rel=1e-6)


def test_every_loop_and_coupling_that_stays_open_is_named_the_widest_first():
    m = coupled(({"a": 1.0, "b": -2.0}, 0.0), ({"c": 1.0}, -0.5))
    with pytest.raises(setsu.ClosingError) as caught:
        setsu.close_loops(m, [0.4, 0.0, 0.0], fixed=["a", "b", "c"])
    assert 'coupling "gear1" stays off by 0.5, coupling "gear0" stays off by 0.4 at best' in str(caught.value)


def test_a_weld_that_is_turned_says_by_how_many_degrees():
    builder = setsu.MechanismBuilder("flap")
    builder.add_body("flap", joint=setsu.Revolute((0, 0, 1)), mass=1.0, inertia=np.eye(3))
    builder.add_loop("weld", "world", "flap", setsu.Fixed(), setsu.placement(rpy=(0.1, 0, 0)))
    with pytest.raises(setsu.ClosingError, match=r"weld.* 5\.73 degrees"):
        setsu.close_loops(builder.build(), [0.3])


def test_redundant_rows_are_named():
    report = setsu.constraint_report(four_bar(), np.zeros(3))
    assert report.degrees_of_freedom == 1
    assert report.rank == 2
    assert report.redundant == (
        'loop "pin": translation along y', 'loop "pin": rotation about z', 'loop "pin": rotation about x',
    )  # fmt: skip
    assert len(setsu.constraint_report(bricard(), np.zeros(5)).redundant) == 1


def test_four_bars_gain_freedoms_where_all_rods_are_in_line():
    m = n_four_bar(3)
    flat = np.tile([np.pi / 2, -np.pi / 2], 4)[:7]
    assert setsu.degrees_of_freedom(m, flat) == 1 + 3


def test_independent_coordinates_follow_the_wish():
    m = five_bar()
    assert setsu.independent_coordinates(m) == ("left_upper", "left_fore")
    assert set(setsu.independent_coordinates(m, prefer=["right_upper", "left_upper"])) == {"left_upper", "right_upper"}
    assert setsu.independent_coordinates(slider_crank_3d(), prefer=["slider"]) == ("slider",)


def coupled(*couplings):
    builder = setsu.MechanismBuilder("gears")
    for name in "abc":
        builder.add_body(name, joint=setsu.Revolute((0, 0, 1), name), mass=1.0, inertia=np.eye(3))
    for k, (factors, offset) in enumerate(couplings):
        builder.add_coupling(f"gear{k}", factors, offset)
    return builder.build()


def test_contradictory_couplings_are_named():
    m = coupled(({"a": 1.0, "b": -2.0}, 0.0), ({"c": 1.0}, 0.0), ({"a": -2.0, "b": 4.0}, 0.5))
    for call in (lambda: setsu.close_loops(m, np.zeros(3)), lambda: setsu.degrees_of_freedom(m, np.zeros(3))):
        with pytest.raises(
            setsu.InputError,
            match=r'"gear0" and "gear2" of gears contradict.*2 x "gear0" \+ 1 x "gear2" leaves 0 = 0.5',
        ):
            call()


def test_a_coupling_said_twice_is_redundant_only():
    m = coupled(({"a": 1.0, "b": -2.0}, 0.1), ({"a": -2.0, "b": 4.0}, -0.2))
    q = setsu.close_loops(m, [0.3, 0.4, 0.5])
    assert q[0] - 2 * q[1] == pytest.approx(-0.1, abs=1e-14)
    assert setsu.degrees_of_freedom(m, q) == 2
    assert setsu.constraint_report(m, q).redundant == ('coupling "gear1"',)


def test_open_loops_have_no_freedoms_to_count():
    with pytest.raises(setsu.InputError, match=r'does not satisfy loop "pin".*close_loops'):
        setsu.degrees_of_freedom(four_bar(), [0.5, 0, 0])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: setsu.close_loops(four_bar(), [0, 0]), "expected shape"),
        (lambda: setsu.close_loops(four_bar(), [0, np.nan, 0]), "finite"),
        (lambda: setsu.close_loops(four_bar(), [0, 0, 0], fixed=["krank"]), 'did you mean "crank"'),
        (lambda: setsu.close_loops("four bar", [0, 0, 0]), "expected a Mechanism"),
        (lambda: setsu.loop_error(slider_crank_3d(), np.zeros(6)), "quaternion"),
        (lambda: setsu.constraint_report(four_bar(), np.zeros((2, 3))), "one configuration"),
    ],
)
def test_bad_arguments_are_refused(call, says):
    with pytest.raises(setsu.InputError, match=says):
        call()


def test_a_mechanism_without_loops_is_closed_everywhere():
    m = setsu.sample_mechanisms.planar_arm(3)
    q = np.array([0.1, 0.2, 0.3])
    np.testing.assert_array_equal(setsu.close_loops(m, q), q)
    assert setsu.degrees_of_freedom(m, q) == 3
    assert setsu.independent_coordinates(m) == m.joint_names


def test_no_rough_guess_of_a_parallelogram_leads_to_the_crossed_branch_while_the_open_one_is_nearer():
    """The open branch is the line (t, -t, t); the result is never farther from the guess than its nearest point."""
    builder = setsu.MechanismBuilder("parallelogram")
    options = {"mass": 1.0, "inertia": 0.01 * np.eye(3)}
    builder.add_body("crank", joint=setsu.Revolute((0, -1, 0)), **options)
    builder.add_body("coupler", "crank", setsu.Revolute((0, -1, 0)), setsu.placement((0.4, 0, 0)), **options)
    builder.add_body("rocker", joint=setsu.Revolute((0, -1, 0)), placement=setsu.placement((1, 0, 0)), **options)
    ends = setsu.placement((1.0, 0, 0)), setsu.placement((0.4, 0, 0))
    builder.add_loop("pin", "coupler", "rocker", setsu.Revolute((0, -1, 0)), *ends)
    m = builder.build()
    offsets = np.stack(np.meshgrid(*3 * [[-0.3, 0.0, 0.3]]), axis=-1).reshape(-1, 3)
    guesses = np.concatenate([offsets + t * np.array([1.0, -1.0, 1.0]) for t in (0.5, 1.6, 2.7)])
    q = setsu.close_loops(m, guesses)
    assert np.abs(setsu.loop_error(m, q)).max() < 1e-13
    t = guesses @ [1.0, -1.0, 1.0] / 3.0
    nearest = np.linalg.norm(guesses - t[:, None] * [1.0, -1.0, 1.0], axis=1)
    assert (np.linalg.norm(q - guesses, axis=1) <= nearest * (1.0 + 1e-6) + 1e-9).all()
    assert len(guesses) == 81


@pytest.mark.parametrize("seed", range(3))
def test_the_best_configuration_stretches_towards_the_gap(seed: int) -> None:
    """Two arms of 0.5 m on pins 2 m apart come as near as 1 m, stretched towards each other, wherever one begins."""
    builder = setsu.MechanismBuilder("short")
    for name, x in (("left", 0.0), ("right", 2.0)):
        builder.add_body(name, joint=setsu.Revolute((0, 1, 0), name), placement=setsu.placement((x, 0, 0)), mass=1.0)
    tip = setsu.placement((0.5, 0, 0))
    m = builder.add_loop("pin", "left", "right", setsu.Revolute((0, 1, 0)), tip, tip).build()
    message = r'loop "pin" stays open by 1000 mm and 0 degrees at best, at q = \[.*\]; expected lengths'
    with pytest.raises(setsu.ClosingError, match=message) as caught:
        setsu.close_loops(m, m.random_configuration(seed))
    np.testing.assert_allclose(np.cos(caught.value.configuration), [1.0, -1.0], rtol=0, atol=1e-9)


def test_quaternions_of_any_length_stand_for_their_turn() -> None:
    b = setsu.MechanismBuilder("hanging arm")
    b.add_body("x", joint=setsu.Free(), mass=1, inertia=np.eye(3))
    b.add_body("y", "x", setsu.Revolute((0, 0, 1)), setsu.placement((1, 0, 0)), mass=1, inertia=np.eye(3))
    plain = b.build()
    b.add_loop("pin", "y", "world", setsu.Spherical(), setsu.placement((1, 0, 0)), setsu.placement((2, 0.3, 0)))
    q = np.array([0.0, 0.0, 0.0, 0.1, 0.2, 0.3, 0.9, 0.4])
    unit = q.copy()
    unit[3:7] /= np.linalg.norm(q[3:7])
    for m in (plain, b.build()):
        found, twice = setsu.close_loops(m, unit), setsu.close_loops(m, q * [1, 1, 1, 2, 2, 2, 2, 1])
        np.testing.assert_allclose(twice, found, atol=1e-12)
        assert abs(np.linalg.norm(twice[3:7]) - 1.0) <= rounding([np.ones(1)], 8.0)
    assert np.array_equal(setsu.close_loops(plain, unit), unit)
