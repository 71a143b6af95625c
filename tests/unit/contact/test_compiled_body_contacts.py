"""Runs whose bodies touch each other stay in compiled code, agree with coal's contacts, need coal for meshes only."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from unit.contact.convex_geometry import turn, write_box_mesh

import setsu
from setsu.benchmarks.contact_scenes import make_scene_of_bodies

FLOOR = setsu.Environment.floor()
G = 9.81


def _free(name: str, shapes: dict[str, tuple[setsu.Shape, float]]) -> setsu.Mechanism:
    """Free bodies of a shape and a mass (kg) each."""
    b = setsu.MechanismBuilder(name)
    for body, (shape, mass) in shapes.items():
        b.add_body(
            body, joint=setsu.Free(name=f"{body} joint"), mass=mass, inertia=np.eye(3) * mass * 0.002,
            collisions=[shape],
        )  # fmt: skip
    return setsu.with_contact_points(b.build(), material=setsu.Material(0.5, 0.4))


def _stack(count: int) -> tuple[setsu.Mechanism, np.ndarray]:
    box = setsu.Shape("box", (0.1, 0.1, 0.1))
    q = [[0.01 * (-1) ** k, 0.0, 0.1 * (0.5 + k), 0.0, 0.0, 0.0, 1.0] for k in range(count)]
    return _free("stack", {f"box{k}": (box, 1.0) for k in range(count)}), np.concatenate(q)


def _turned(R: np.ndarray) -> list[float]:
    """Quaternion x, y, z, w of a rotation by less than pi."""
    w = 0.5 * np.sqrt(1.0 + np.trace(R))
    return [*(np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4.0 * w)), w]


def test_a_stack_is_the_same_with_contacts_found_by_coal() -> None:
    m, q = _stack(5)
    runs = [
        setsu.simulate(m, q, np.zeros(m.nv), 0.4, 2e-3, environment=FLOOR, body_contacts=finder)
        for finder in ("compiled", "coal")
    ]
    ours, reference = (run.body_contacts for run in runs)
    assert ours is not None
    assert reference is not None
    assert ours.pairs == reference.pairs
    assert runs[0].q == pytest.approx(runs[1].q, abs=1e-7)  # not rounding: two solvers, each to its tolerance
    # Each interface carries what lies above it, once the first steps are over; contacts are a little soft.
    carried = np.array([(4 - k) * G for k in range(4)])
    assert ours.force[10:, :, 2] == pytest.approx(np.tile(carried, (191, 1)), rel=1e-7)
    assert reference.force[10:, :, 2] == pytest.approx(ours.force[10:, :, 2], rel=1e-7)
    assert [(e.kind, e.name) for e in runs[0].events] == [(e.kind, e.name) for e in runs[1].events]


@pytest.mark.slow
def test_a_stack_of_five_stands_for_ten_seconds() -> None:
    m, q = _stack(5)
    run = setsu.simulate(m, q, np.zeros(m.nv), 10.0, 2e-3, environment=FLOOR, body_contacts=True, record_every=5)
    assert np.abs(run.q - run.q[0]).max() < 1e-5
    assert run.contact_force[5:, :, 2].sum(axis=1) == pytest.approx(np.full(996, 5 * G), rel=1e-7)
    assert run.contact_log is not None
    assert run.contact_log.unconverged.max() == 0.0


def test_python_is_not_called_in_every_step() -> None:
    m, q = _stack(2)
    told: list[float] = []
    setsu.simulate(
        m, q, np.zeros(m.nv), 1.2, 1e-3, environment=FLOOR, body_contacts=True, record_every=10,
        progress=lambda text, part: told.append(part),
    )  # fmt: skip
    assert len(told) == 3  # 500 steps at a time


def test_more_rows_and_events_than_there_is_room_for_are_all_kept() -> None:
    # A ball bounces on a box: several hundred recorded contacts and changes, in the order of time.
    m = _free(
        "bounce", {"box": (setsu.Shape("box", (0.4, 0.4, 0.1)), 5.0), "ball": (setsu.Shape("sphere", (0.05,)), 0.1)}
    )
    q = np.array([0, 0, 0.05, 0, 0, 0, 1.0, 0, 0, 0.2, 0, 0, 0, 1.0])
    run = setsu.simulate(m, q, np.zeros(12), 1.5, 1e-3, environment=FLOOR, body_contacts=True)
    between = run.body_contacts
    assert between is not None
    assert between.pairs == (("ball", "box"),)
    presses = between.normal_force[:, 0] > 0.0
    assert presses.sum() > 1000
    assert np.isfinite(between.position[presses]).all()
    assert np.isnan(between.position[~presses]).all()
    times = [event.time for event in run.events]
    assert times == sorted(times)
    changes = [event.kind for event in run.events if event.name == "ball - box"]
    assert len(changes) == np.count_nonzero(np.diff(presses.astype(int), prepend=0))
    assert changes[::2] == ["touch"] * len(changes[::2])


@pytest.mark.parametrize(
    ("shape", "height", "R"),
    [
        (setsu.Shape("sphere", (0.05,)), 0.05, np.eye(3)),
        (setsu.Shape("capsule", (0.03, 0.1)), 0.03, turn(1, np.pi / 2)),
        (setsu.Shape("cylinder", (0.05, 0.1)), 0.05, np.eye(3)),
        (setsu.Shape("cylinder", (0.05, 0.1)), 0.05, turn(1, np.pi / 2)),
        (setsu.Shape("box", (0.06, 0.08, 0.1)), 0.05, turn(2, 0.7)),
    ],
    ids=["sphere", "lying capsule", "standing cylinder", "lying cylinder", "box"],
)
def test_every_shape_rests_on_a_box_without_coal(
    shape: setsu.Shape, height: float, R: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "coal", None)
    m = _free("rest", {"table": (setsu.Shape("box", (0.4, 0.4, 0.1)), 5.0), "piece": (shape, 1.0)})
    q = np.array([0, 0, 0.05, 0, 0, 0, 1.0, 0.03, 0.02, 0.1 + height, *_turned(R)])
    run = setsu.simulate(m, q, np.zeros(12), 0.3, 1e-3, environment=FLOOR, body_contacts=True)
    between = run.body_contacts
    assert between is not None
    assert between.force[-1, 0] == pytest.approx([0.0, 0.0, G], abs=1e-5)
    assert between.position[-1, 0] == pytest.approx([0.03, 0.02, 0.1], abs=1e-5)
    assert run.q[-1] == pytest.approx(q, abs=1e-6)


def test_a_cylinder_rolls_down_a_board_as_a_rigid_one_does() -> None:
    # a = g sin(slope) / (1 + I / (m r²)), I = m r² / 2 about its axis: two thirds of g sin(slope). The board slides
    # along y alone, where nothing pulls.
    slope, r, T = 0.1, 0.05, np.eye(4)
    b = setsu.MechanismBuilder("roll")
    T[:3, :3] = turn(1, slope)
    board = setsu.Shape("box", (2.0, 0.4, 0.1), setsu.Pose.of(T, "board"))
    b.add_body("board", joint=setsu.Prismatic((0, 1, 0), name="rail"), mass=1.0, inertia=np.eye(3), collisions=[board])
    T[:3, :3] = turn(0, np.pi / 2)
    wheel = setsu.Shape("cylinder", (r, 0.1), setsu.Pose.of(T, "wheel"))
    inertia = np.diag([0.001, 0.5 * r**2, 0.001])
    b.add_body("wheel", joint=setsu.Free(name="free"), mass=1.0, inertia=inertia, collisions=[wheel])
    m = setsu.with_contact_points(b.build(), material=setsu.Material(0.5, 0.4))
    out = np.array([np.sin(slope), 0.0, np.cos(slope)])
    q, v = np.array([0.0, *((0.05 + r) * out), 0, 0, 0, 1.0]), np.zeros(7)
    ground = setsu.Environment.floor(height=-5.0)
    run = setsu.simulate(m, q, v, 0.5, 1e-3, environment=ground, body_contacts=True)
    down = np.array([np.cos(slope), 0.0, -np.sin(slope)])
    way = (run.q[:, 1:4] - q[1:4]) @ down
    exact = G * np.sin(slope) / 3.0 * run.time**2
    assert way == pytest.approx(exact, rel=3e-3, abs=1e-3)  # steps of first order: h v / 2
    # A step turns the wheel about the line it touches: its axis sinks by r (1 - cos(h v / r)), found in the next step.
    assert (run.q[:, 1:4] @ out - 0.05 - r) == pytest.approx(np.zeros(501), abs=2e-5)
    assert np.diff(run.energy).max() < 1e-9
    assert run.body_contacts is not None
    assert run.body_contacts.normal_force[-1, 0] == pytest.approx(G * np.cos(slope), rel=1e-3)


def test_meshes_and_the_word_coal_need_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_box_mesh(tmp_path / "box.stl", (0.1, 0.1, 0.1))
    mesh = setsu.Shape("mesh", (1.0, 1.0, 1.0), mesh=str(tmp_path / "box.stl"))
    boxes, q = _stack(2)
    b = setsu.MechanismBuilder("stones")
    for k in range(2):
        b.add_body(f"s{k}", joint=setsu.Free(name=f"f{k}"), mass=1.0, inertia=np.eye(3) * 0.002, collisions=[mesh])
        b.add_contact_points(f"s{k}", [(0.0, 0.0, -0.05)])
    stones = b.build()
    monkeypatch.setitem(sys.modules, "coal", None)
    with pytest.raises(setsu.InputError, match=r'body_contacts="coal" needs coal: pip install setsu\[geometry\]'):
        setsu.simulate(boxes, q, np.zeros(12), 0.1, environment=FLOOR, body_contacts="coal")
    with pytest.raises(setsu.InputError, match=r'body "s0": contacts of the mesh .*box.stl need coal'):
        setsu.simulate(stones, q, np.zeros(12), 0.1, environment=FLOOR, body_contacts=True)


@pytest.mark.parametrize("word", ["bullet", "Coal", 1, None])
def test_an_unknown_word_is_refused(word: object) -> None:
    m, q = _stack(2)
    with pytest.raises(setsu.InputError, match='body_contacts: expected True, False, "compiled" or "coal", got'):
        setsu.simulate(m, q, np.zeros(12), 0.1, environment=FLOOR, body_contacts=word)  # type: ignore[arg-type]


def test_meshes_of_boxes_stack_like_boxes(tmp_path: Path) -> None:
    write_box_mesh(tmp_path / "box.stl", (0.1, 0.1, 0.1))
    mesh = setsu.Shape("mesh", (1.0, 1.0, 1.0), mesh=str(tmp_path / "box.stl"))
    m, q = _free("meshes", {f"box{k}": (mesh, 1.0) for k in range(2)}), _stack(2)[1]
    run = setsu.simulate(m, q, np.zeros(12), 0.2, 1e-3, environment=FLOOR, body_contacts=True)
    assert run.body_contacts is not None
    assert run.body_contacts.force[-1, 0] == pytest.approx([0.0, 0.0, G], abs=1e-5)


def test_a_step_is_not_solved_again_for_what_another_pass_would_not_change() -> None:
    # Dominoes slide slowly on their edges while they lean on each other: that is no error of the straight step.
    scene = make_scene_of_bodies("dominoes 5")
    m, ground, q, v = scene.mechanism()
    sim = setsu.Simulator(m, step=1e-3, environment=ground, body_contacts=True)
    sim.reset(q, v)
    log = sim.run(0.7).contact_log
    assert log is not None
    assert log.passes.max() < 8
    assert not log.unconverged.any()
