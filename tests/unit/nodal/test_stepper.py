"""The stepper against the batch form, bit for bit, and as a controller in a run."""

from __future__ import annotations

import numpy as np
import pytest
from unit.nodal.mechanisms import TREES, waves

import setsu
from setsu.sample_mechanisms import five_bar, planar_arm

SCHEMES = {
    "central": {},
    "newmark": {"scheme": "newmark"},
    "plain newmark": {"scheme": "newmark", "average": False},
    "smoothed": {"smoothing": 3},
}


def assert_same_bits(m: setsu.Mechanism, t: np.ndarray, q: np.ndarray, **options) -> None:
    stepper = setsu.NodalStepper(m, float(t[1]), **options)
    found = np.array([stepper.torque(row) for row in q])
    batch = setsu.nodal_inverse_dynamics(m, t, q, **options)
    first, delay = stepper.first, stepper.delay
    assert np.isnan(found[: first + delay]).all()
    np.testing.assert_array_equal(found[first + delay :], batch[first : len(q) - delay])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", TREES)
def test_bit_for_bit_the_batch_form(name: str, scheme: str) -> None:
    m = TREES[name]()
    q = waves(m, 40)[1]
    assert_same_bits(m, np.arange(40) * 0.01, q, **SCHEMES[scheme])


def test_the_delays() -> None:
    m = planar_arm(2)
    assert [setsu.NodalStepper(m, 0.01, **options).delay for options in SCHEMES.values()] == [1, 1, 0, 3]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_with_objects_forces_and_a_changing_structure(scheme: str) -> None:
    """Grasp, carry with two hands, hand over to one, release: all in one motion."""
    arms = _two_arms()
    t = np.arange(81) * 0.01
    q = np.tile([0.6, -0.4, 2.5, 0.4], (81, 1)) + 0.1 * np.sin(3.0 * t)[:, None] * np.array([1.0, 1.0, 0.0, 0.0])
    q[:, 2:] = [2.5, 0.4]
    q[:, :2] = [0.6, -0.4]
    q[40:, :2] += (0.05 * (t[40:] - t[40]) ** 3)[:, None] * np.array([1.0, -1.0])
    grips = [("left2", (0.3, 0, 0)), ("right2", (0.3, 0, 0))]
    both = setsu.HeldObject(0.3, grips, 0.001, grip_force=0.5, during=(0.105, 0.355))
    alone = setsu.HeldObject(0.3, grips[:1], np.diag([1e-3, 2e-3, 3e-3]), center=(0.05, 0, 0.02), during=(0.355, 0.6))
    push = {"right2": setsu.TipForce((0.3, 0, 0), (1.0, 0.5, 0.0), (0.0, 0.0, 0.2))}
    assert_same_bits(arms, t, q, held_objects=[both, alone], tip_forces=push, **SCHEMES[scheme])


def test_a_closed_mechanism() -> None:
    m = five_bar()
    motors = list(setsu.independent_coordinates(m))
    t = np.arange(12) * 0.01
    rest = setsu.close_loops(m, m.neutral())
    q = []
    for time in t:
        wanted = rest.copy()
        for k, name in enumerate(motors):
            wanted[m.joint_index(name)] += 0.2 * np.sin((k + 1.0) * time)
        q.append(setsu.close_loops(m, wanted, fixed=motors))
    assert_same_bits(m, t, np.array(q), actuated=motors)


def test_objects_may_be_set_between_samples() -> None:
    m = planar_arm(2)
    t, q, _, _ = waves(m, 20)
    stepper = setsu.NodalStepper(m, float(t[1]))
    load = setsu.HeldObject(1.0, [("link2", (0.5, 0, 0))])
    found = []
    for k, row in enumerate(q):
        stepper.held_objects = [load] if 8 <= k < 14 else []
        found.append(stepper.torque(row))
    without = setsu.nodal_inverse_dynamics(m, t, q)
    carried = setsu.nodal_inverse_dynamics(m, t, q, held_objects=[load])
    expected = without.copy()
    expected[7:13] = carried[7:13]
    np.testing.assert_array_equal(np.array(found)[2:], expected[1:-1])


def test_it_drives_a_run_as_feed_forward() -> None:
    """At 10 ms, as the paper's controller: the arm follows its plan without any feedback."""
    m = planar_arm(2)

    def plan(t: float) -> np.ndarray:
        return np.array([0.3 * np.sin(2.0 * t), 0.4 * np.sin(3.0 * t)])

    start = np.array([0.6, 1.2])
    rec = setsu.simulate(m, plan(0.0), start, 0.3, 1e-3, torque=setsu.NodalStepper(m, 1e-3).law(plan))
    error = rec.q - np.array([plan(t) for t in rec.time])
    assert np.abs(error).max() < 2e-3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: setsu.NodalStepper(m, 0.0), "positive time"),
        (lambda m: setsu.NodalStepper(m, -0.1), "at least 0"),
        (lambda m: setsu.NodalStepper(m, 0.1, "given"), "unknown scheme"),
        (lambda m: setsu.NodalStepper(m, 0.1).torque([0.0]), "expected 2 finite numbers"),
        (lambda m: setsu.NodalStepper(m, 0.1, held_objects=["a stone"]), "HeldObject records"),
        (
            lambda m: setsu.NodalStepper(
                m, 0.1, held_objects=[setsu.HeldObject(1, [("link2", (0, 0, 0))], grip_force=[1])]
            ),
            "one number",
        ),
    ],
)
def test_refusals(call, message: str) -> None:
    with pytest.raises(setsu.InputError, match=message):
        call(planar_arm(2))


def _two_arms() -> setsu.Mechanism:
    b = setsu.MechanismBuilder("two arms")
    for side, x in (("left", -0.4), ("right", 0.4)):
        parent, place = "world", setsu.placement((x, 0, 0))
        for k in (1, 2):
            b.add_body(
                f"{side}{k}", parent, setsu.Revolute((0, 0, 1), f"{side}_{k}"), placement=place, mass=0.5,
                center_of_mass=(0.15, 0, 0), inertia=np.diag([1e-4, 4e-3, 4e-3]),
            )  # fmt: skip
            parent, place = f"{side}{k}", setsu.placement((0.3, 0, 0))
    return b.build()
