"""Friction of MJCF geoms: sliding, torsional (condim 4) and rolling (condim 6) become materials of shapes."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import setsu

MODEL = """<mujoco model="balls"><worldbody>
<body name="{name}" pos="0 0 0.1"><freejoint name="free"/>
<geom type="sphere" size="0.1" mass="1" {friction}/></body></worldbody></mujoco>"""

CASES = {
    "": None,
    'friction="0.7 0.02 0.003"': setsu.Material(0.7, 0.7),
    'friction="0.7 0.02 0.003" condim="4"': setsu.Material(0.7, 0.7, torsional=0.02),
    'friction="0.7 0.02 0.003" condim="6"': setsu.Material(0.7, 0.7, torsional=0.02, rolling=0.003),
    'friction="0.7" condim="1"': setsu.Material(0.0, 0.0),
    'condim="4"': setsu.Material(1.0, 1.0, torsional=0.005),
}


def ball(friction: str) -> setsu.Mechanism:
    return setsu.load(text=MODEL.format(name="ball", friction=friction), format="mjcf")


@pytest.mark.parametrize("friction", CASES)
def test_friction_of_a_geom_becomes_the_material_of_its_shape(friction: str, tmp_path: Path) -> None:
    m = ball(friction)
    assert m.bodies[0].collisions[0].material == CASES[friction]
    for ending in ("toml", "xml"):
        m.save(tmp_path / f"ball.{ending}")
        back = setsu.load(tmp_path / f"ball.{ending}")
        assert back.bodies[0].collisions[0].material == CASES[friction], ending
    points = setsu.with_contact_points(m).contact_points
    assert {point.material for point in points} == {CASES[friction] or setsu.Material()}


def test_rolling_friction_of_a_file_brakes_a_ball() -> None:
    """A rolling ball loses 5/7 μ_r g / r of its speed a second."""
    m = ball('friction="0.7 0.02 0.003" condim="6"')
    q, v = m.neutral(), np.zeros(6)
    q[2] = 0.1
    v[0], v[4] = 1.0, 10.0
    rec = setsu.simulate(m, q, v, 0.5, 1e-3, environment=setsu.Environment.floor())
    assert 1.0 - (rec.q[-1, 0] - rec.q[-2, 0]) / 1e-3 == pytest.approx(5 / 7 * 0.003 * 9.81 / 0.1 * 0.5, rel=0.01)


def test_a_material_that_is_none_is_refused() -> None:
    with pytest.raises(setsu.InputError, match="Shape material: expected a Material"):
        setsu.Shape("sphere", (0.1,), material=0.5)  # type: ignore[arg-type]


def test_ellipsoids_of_a_file_touch() -> None:
    geom = '<geom type="ellipsoid" size=".1 .2 .3" pos="0 0 .1" mass="1"/>'
    text = f'<mujoco><worldbody><body name="egg"><freejoint/>{geom}</body></worldbody></mujoco>'
    with warnings.catch_warnings():
        warnings.simplefilter("error", setsu.ModelWarning)
        (shape,) = setsu.load(text=text, format="mjcf").bodies[0].collisions
    assert (shape.kind, shape.size, shape.pose.translation) == ("ellipsoid", (0.1, 0.2, 0.3), (0.0, 0.0, 0.1))
