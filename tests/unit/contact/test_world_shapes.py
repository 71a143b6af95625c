"""Shapes of bodies touch what is fixed in the world: polygons, solids, heightfields, shapes, fixed bodies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import setsu

STEP = 1e-3


def _block(size: tuple[float, ...], kind: str = "box") -> setsu.Mechanism:
    b = setsu.MechanismBuilder("block")
    b.add_body(
        "block", joint=setsu.Free(name="free"), mass=1.0, inertia=np.eye(3) * 0.01, collisions=[setsu.Shape(kind, size)]
    )
    return b.build()


def _rest(m: setsu.Mechanism, ground: setsu.Environment, height: float) -> setsu.Recording:
    q = np.zeros(m.nq)
    q[2], q[6] = height, 1.0
    return setsu.simulate(m, q, np.zeros(m.nv), 0.3, STEP, environment=ground)


def _pedestal() -> setsu.Environment:
    return setsu.Environment.box((0.1, 0.1, 0.1), (0.0, 0.0, 0.05))


def test_a_cube_rests_on_a_pedestal_smaller_than_itself() -> None:
    for m in (_block((0.2, 0.2, 0.2)), setsu.sample_mechanisms.floating_box((0.2, 0.2, 0.2), 1.0)):
        run = _rest(m, _pedestal(), 0.205)
        assert run.q[-1, 2] == pytest.approx(0.2, abs=1e-6)
        between = run.body_contacts
        assert between is not None
        assert between.force[-1].sum(axis=0) == pytest.approx([0.0, 0.0, 9.81], abs=1e-6)


def test_a_plank_rests_across_a_beam() -> None:
    run = _rest(_block((1.0, 0.1, 0.02)), setsu.Environment.box((0.05, 1.0, 0.1), (0.0, 0.0, 0.05)), 0.115)
    assert run.q[-1, 2] == pytest.approx(0.11, abs=1e-6)


def test_shapes_of_the_environment_and_fixed_bodies_are_solid() -> None:
    shape = setsu.Shape("box", (0.1, 0.1, 0.1), setsu.Pose(translation=(0.0, 0.0, 0.05)))
    run = _rest(_block((0.2, 0.2, 0.2)), setsu.Environment([], shapes=[shape]), 0.205)
    assert run.q[-1, 2] == pytest.approx(0.2, abs=1e-6)
    b = setsu.MechanismBuilder("table and block")
    b.add_body("table", joint=setsu.Fixed(name="bolt"), mass=1.0, inertia=np.eye(3), collisions=[shape])
    b.add_body(
        "block", joint=setsu.Free(name="free"), mass=1.0, inertia=np.eye(3) * 0.01,
        collisions=[setsu.Shape("box", (0.2, 0.2, 0.2))],
    )  # fmt: skip
    run = _rest(b.build(), setsu.Environment.floor(), 0.205)
    assert run.q[-1, 2] == pytest.approx(0.2, abs=1e-6)
    assert run.body_contacts is not None
    assert run.body_contacts.pairs == (("block", "table"),)


def test_points_without_shapes_meet_shapes_of_the_environment() -> None:
    b = setsu.MechanismBuilder("foot")
    b.add_body("foot", joint=setsu.Free(name="free"), mass=1.0, inertia=np.eye(3) * 0.01)
    corners = [(x, y, -0.05) for x in (-0.05, 0.05) for y in (-0.05, 0.05)]
    m = b.add_contact_points("foot", corners).build()
    ball = setsu.Shape("box", (1.0, 1.0, 0.2), setsu.Pose(translation=(0.0, 0.0, -0.1)))
    assert _rest(m, setsu.Environment([], shapes=[ball]), 0.052).q[-1, 2] == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize("ground", ["floor", "heightfield", "box"])
def test_a_wheel_rolls_as_far_as_it_should(ground: str) -> None:
    # Without slipping, without loss: v t, on any ground that is flat.
    places = {
        "floor": setsu.Environment.floor(),
        "heightfield": setsu.Environment.heightfield(np.zeros((23, 4)), (6.0, 1.0)),
        "box": setsu.Environment.box((6.0, 1.0, 0.1), (0.0, 0.0, -0.05)),
    }
    radius, half = 0.1, np.sqrt(0.5)
    b = setsu.MechanismBuilder("wheel")
    b.add_body(
        "wheel", joint=setsu.Free(name="free"), mass=1.0, inertia=np.diag([0.003, 0.003, 0.005]),
        collisions=[setsu.Shape("cylinder", (radius, 0.05))],
    )  # fmt: skip
    # The axle along -y: body z; forward is body x, and it turns about +y.
    q, v = [0.0, 0.0, radius, half, 0.0, 0.0, half], [2.0, 0.0, 0.0, 0.0, 0.0, -2.0 / radius]
    run = setsu.simulate(b.build(), q, v, 1.0, STEP, environment=places[ground])
    assert run.q[-1, 0] == pytest.approx(2.0, rel=1e-3)
    assert run.q[-1, 2] == pytest.approx(radius, abs=1e-6)


def test_a_block_slides_over_the_seams_of_a_heightfield_as_over_a_floor() -> None:
    m = _block((0.2, 0.2, 0.2))
    q, v = [0, 0, 0.1, 0, 0, 0, 1], [1.0, 0.3, 0, 0, 0, 0]
    seams = setsu.Environment.heightfield(np.zeros((30, 31)), (2.0, 2.0))
    runs = [setsu.simulate(m, q, v, 0.3, STEP, environment=g) for g in (seams, setsu.Environment.floor())]
    assert np.abs(runs[0].q[-1] - runs[1].q[-1]).max() < 1e-6
    # ½ v²/(μ g) until it stops.
    assert np.hypot(*runs[0].q[-1, :2]) == pytest.approx(0.5 * 1.09 / (0.5 * 9.81), abs=1e-5)


def test_a_start_inside_is_refused_by_name_and_pairs_can_be_left_out() -> None:
    b = setsu.MechanismBuilder("two")
    for k in range(2):
        b.add_body(
            f"box{k}", joint=setsu.Free(name=f"free{k}"), mass=1.0, inertia=np.eye(3) * 0.01,
            collisions=[setsu.Shape("box", (0.1, 0.1, 0.1))],
        )  # fmt: skip
    m, floor = b.build(), setsu.Environment.floor()
    q = [0, 0, 0.05, 0, 0, 0, 1, 0, 0, 0.13, 0, 0, 0, 1]
    with pytest.raises(setsu.InputError, match=r'"box1" and "box0" overlap by 0.02 m'):
        setsu.simulate(m, q, np.zeros(12), 0.1, STEP, environment=floor, body_contacts=True)
    run = setsu.simulate(
        m, q, np.zeros(12), 0.1, STEP, environment=floor, body_contacts=True, exclude=[("box0", "box1")]
    )
    assert run.q[-1, 9] < 0.1
    # What a model file excludes needs no word in the run.
    own = b.exclude_contact("box1", "box0").build()
    again = setsu.simulate(own, q, np.zeros(12), 0.1, STEP, environment=floor, body_contacts=True)
    assert np.array_equal(again.q, run.q)
    with pytest.raises(setsu.InputError, match="box2"):
        setsu.simulate(m, q, np.zeros(12), 0.1, STEP, environment=floor, body_contacts=True, exclude=[("box0", "box2")])
    with pytest.raises(setsu.InputError, match=r'"block" starts 0.05 m inside the ground'):
        _rest(_block((0.1, 0.1), "cylinder"), floor, 0.0)


def test_links_that_overlap_by_construction_are_left_out_with_a_warning() -> None:
    b = setsu.MechanismBuilder("chain")
    ball = setsu.Shape("sphere", (0.2,))
    for k in range(3):
        b.add_body(
            f"link{k}", parent="world" if k == 0 else f"link{k - 1}",
            joint=setsu.Free(name="free") if k == 0 else setsu.Revolute(name=f"hinge{k}", axis=(0, 1, 0)),
            placement=setsu.Pose(translation=(0.1 if k else 0.0, 0.0, 0.0)),
            mass=1.0, inertia=np.eye(3) * 0.01, collisions=[ball],
        )  # fmt: skip
    m = b.build()
    q = m.neutral()
    q[2] = 2.0
    with pytest.warns(setsu.ModelWarning, match="link2 - link0"):
        run = setsu.simulate(
            m, q, np.zeros(m.nv), 0.05, STEP, environment=setsu.Environment.floor(), body_contacts=True
        )
    # In free fall nothing else moves.
    assert np.abs(run.v[-1, 6:]).max() < 1e-9


def test_polygons_have_friction_and_belts_carry() -> None:
    corners = [(-5, -1, 0), (5, -1, 0), (5, 1, 0), (-5, 1, 0)]
    m = _block((0.1, 0.1, 0.1))
    q = [0, 0, 0.05, 0, 0, 0, 1]
    ice = setsu.Environment([setsu.Polygon(corners, material=setsu.Material(0.1, 0.1))])
    run = setsu.simulate(m, q, [1.0, 0, 0, 0, 0, 0], 0.1, STEP, environment=ice)
    assert run.v[-1, 0] == pytest.approx(1.0 - 0.1 * 9.81 * 0.1, abs=1e-9)
    belt = setsu.Environment([setsu.Polygon(corners, velocity=(0.2, 0, 0))])
    run = setsu.simulate(m, q, np.zeros(6), 0.2, STEP, environment=belt)
    # μ g t until it moves with the belt, then at rest on it.
    assert run.v[20, 0] == pytest.approx(0.5 * 9.81 * 0.02, rel=1e-6)
    assert run.v[-1, 0] == pytest.approx(0.2, abs=1e-8)
    with pytest.raises(setsu.InputError, match="within its plane"):
        setsu.Polygon(corners, velocity=(0, 0, 1))


def test_the_environment_survives_files(tmp_path: Path) -> None:
    corners = [(-5, -1, 0), (5, -1, 0), (5, 1, 0), (-5, 1, 0)]
    belt = setsu.Polygon(corners, "belt", material=setsu.Material(0.3, 0.2, 0.1), velocity=(0.2, 0, 0))
    shape = setsu.Shape("sphere", (0.1,), setsu.Pose(translation=(0.0, 3.0, 0.0)))
    ground = setsu.Environment([belt], shapes=[shape])
    run = setsu.simulate(_block((0.1, 0.1, 0.1)), [0, 0, 0.05, 0, 0, 0, 1], np.zeros(6), 0.01, STEP, environment=ground)
    assert setsu.Recording.load(run.save(tmp_path / "run.npz")).environment == ground
