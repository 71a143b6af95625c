"""Ellipsoids in contact: where they rest, how they roll, and how deep they get, against closed forms and MuJoCo."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import setsu

STEP = 1e-3


def egg(half: tuple[float, float, float], mass: float = 1.0, friction: float = 0.8) -> setsu.Mechanism:
    """One uniform ellipsoid, free."""
    b = setsu.MechanismBuilder("egg")
    a = np.array(half)
    shape = setsu.Shape("ellipsoid", half, material=setsu.Material(friction, friction))
    inertia = np.diag(mass / 5.0 * ((a**2).sum() - a**2))
    b.add_body("egg", joint=setsu.Free(name="free"), mass=mass, inertia=inertia, collisions=[shape])
    return b.build()


@pytest.mark.parametrize("axis", range(3))
def test_it_rests_on_its_half_axis(axis: int) -> None:
    """Upright on each axis, which is an equilibrium, if not a stable one."""
    half = np.roll([0.1, 0.08, 0.05], axis)
    m = egg(tuple(half.tolist()))
    q = m.neutral()
    q[2] = half[2]
    for environment in (
        setsu.Environment.floor(),
        setsu.Environment([setsu.Polygon([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)])]),
        setsu.Environment(shapes=[setsu.Shape("box", (2.0, 2.0, 1.0), setsu.Pose(translation=(0.0, 0.0, -0.5)))]),
    ):
        rec = setsu.simulate(m, q, np.zeros(6), 0.1, STEP, environment=environment)
        assert abs(rec.q[-1, 2] - half[2]) < 1e-8  # m; not rounding: the compliance of contacts


def test_a_round_one_rolls_as_a_ball() -> None:
    """A ball that slides into rolling keeps 5/7 of its speed."""
    m = egg((0.1, 0.1, 0.1), friction=0.3)
    q, v = m.neutral(), np.zeros(6)
    q[2], v[0] = 0.1, 1.0
    rec = setsu.simulate(m, q, v, 0.5, STEP, environment=setsu.Environment.floor())
    assert (rec.q[-1, 0] - rec.q[-2, 0]) / STEP == pytest.approx(5.0 / 7.0, rel=1e-4)


def test_it_rocks_with_the_period_of_small_swings() -> None:
    """Half axes a, a, c with c < a on a plane: k = m g (a²/c - c) about the contact, I = m (a² + c²)/5 + m c²."""
    a, c, mass, g = 0.1, 0.07, 1.0, 9.81
    m = egg((a, a, c), mass)
    tilt = 0.02
    q = m.neutral()
    q[4], q[6] = np.sin(0.5 * tilt), np.cos(0.5 * tilt)
    q[2] = np.hypot(c * np.cos(tilt), a * np.sin(tilt))
    rec = setsu.simulate(m, q, np.zeros(6), 1.0, STEP, environment=setsu.Environment.floor())
    period = 2.0 * np.pi * np.sqrt((mass * (a * a + c * c) / 5.0 + mass * c * c) / (mass * g * (a * a / c - c)))
    sign = np.flatnonzero(np.diff(np.sign(rec.q[:, 4])))
    crossing = [rec.time[k] + STEP * rec.q[k, 4] / (rec.q[k, 4] - rec.q[k + 1, 4]) for k in sign]
    assert 2.0 * np.diff(crossing).mean() == pytest.approx(period, rel=0.01)
    assert np.diff(rec.energy).max() < 1e-9


@pytest.mark.parametrize("other", ["ellipsoid", "box", "capsule", "cylinder"])
@pytest.mark.parametrize("speed", [1.0, 3.0])
def test_nothing_penetrates_on_impact(other: str, speed: float) -> None:
    sizes = {"ellipsoid": (0.08, 0.06, 0.05), "box": (0.2, 0.1, 0.1), "capsule": (0.04, 0.1), "cylinder": (0.05, 0.1)}
    b = setsu.MechanismBuilder("two", gravity=(0.0, 0.0, 0.0))
    for k, shape in enumerate((setsu.Shape("ellipsoid", (0.1, 0.07, 0.05)), setsu.Shape(other, sizes[other]))):
        inertia = 2e-3 * np.eye(3)
        b.add_body(f"b{k}", joint=setsu.Free(name=f"f{k}"), mass=1.0, inertia=inertia, collisions=[shape])
    m = b.build()
    rng = np.random.default_rng(7)
    q, v = m.neutral(), np.zeros(m.nv)
    for k in range(2):
        turn = rng.normal(size=4)
        q[7 * k + 3 : 7 * k + 7] = turn / np.linalg.norm(turn)
        v[6 * k + 3 : 6 * k + 6] = 5.0 * rng.normal(size=3)
    q[7:10] = 0.25, 0.02, 0.01
    v[6:9] = setsu.body_poses(m, q)[1, :3, :3].T @ [-speed, 0.0, 0.0]
    rec = setsu.simulate(m, q, v, 0.35, STEP, environment=setsu.Environment(), body_contacts=True)
    assert rec.body_contacts is not None
    log = rec.contact_log
    assert log is not None
    assert not log.unconverged.any()
    assert np.abs(rec.v[-1, :3]).max() > 0.1  # it was hit
    assert log.depth.max() < 1e-4


def test_it_comes_to_rest_where_mujocos_does() -> None:
    """Thrown on its side, both end on the shortest axis."""
    mujoco: Any = import_module("mujoco")
    text = """<mujoco><option timestep="0.001"/><worldbody><geom type="plane" size="0 0 1"/>
    <body pos="0 0 .12" euler="60 20 0"><freejoint/>
    <geom type="ellipsoid" size=".1 .08 .05" mass="1" friction=".8 .02 .01" condim="6"/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 4000)
    m = setsu.load(text=text, format="mjcf")
    q = m.neutral()
    q[:3], (w, x, y, z) = model.qpos0[:3], model.qpos0[3:7]
    q[3:7] = x, y, z, w
    rec = setsu.simulate(m, q, np.zeros(6), 4.0, STEP, environment=setsu.Environment.floor())
    assert data.qpos[2] == pytest.approx(0.05, abs=2e-3)
    assert rec.q[-1, 2] == pytest.approx(0.05, abs=2e-3)
