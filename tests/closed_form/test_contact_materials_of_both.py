"""The lower friction of body and ground counts, whatever carries it: a box on ground tilted by turned gravity."""

from __future__ import annotations

import numpy as np
import pytest

import setsu

_TILT, _SECONDS, _STEP, _HIGH, _LOW = 0.3, 0.1, 1e-3, 0.8, 0.1
_BLOCK = (10.0, 10.0, 1.0)
_PLACE = setsu.placement((0.0, 0.0, -0.5))


def _run(body: str, ground: str, of_body: float, of_ground: float) -> float:
    """How far the box slides, m."""
    b = setsu.MechanismBuilder("box", gravity=(9.81 * np.sin(_TILT), 0.0, -9.81 * np.cos(_TILT)))
    mine, other = setsu.Material(of_body, of_body), setsu.Material(of_ground, of_ground)
    shape = setsu.Shape("box", (0.2, 0.2, 0.1), material=mine if body == "shape" else None)
    b.add_body("box", joint=setsu.Free(name="free"), mass=1.0, inertia=0.01 * np.eye(3), collisions=[shape])
    if body == "points":
        b.add_contact_points("box", [(x, y, -0.05) for x in (-0.1, 0.1) for y in (-0.1, 0.1)], mine)
    square = [(-5, -5, 0), (5, -5, 0), (5, 5, 0), (-5, 5, 0)]
    environment = setsu.Environment()
    if ground == "polygon":
        environment = setsu.Environment([setsu.Polygon(square, material=other)])
    elif ground == "heightfield":
        environment = setsu.Environment.heightfield(np.zeros((5, 5)), (10.0, 10.0), material=other)
    elif ground == "shape of the environment":
        environment = setsu.Environment(shapes=[setsu.Shape("box", _BLOCK, _PLACE, material=other)])
    elif ground == "shape of a fixed body":
        b.add_body("block", joint=setsu.Fixed(), collisions=[setsu.Shape("box", _BLOCK, _PLACE, material=other)])
    run = setsu.simulate(b.build(), [0, 0, 0.05, 0, 0, 0, 1], np.zeros(6), _SECONDS, _STEP, environment=environment)
    return float(run.q[-1, 0])


@pytest.mark.parametrize("ground", ["polygon", "heightfield", "shape of the environment", "shape of a fixed body"])
@pytest.mark.parametrize("body", ["shape", "points"])
def test_the_lower_friction_counts(body: str, ground: str) -> None:
    rate = 9.81 * (np.sin(_TILT) - _LOW * np.cos(_TILT))
    slides, bound = (
        0.5 * rate * _SECONDS**2,
        rate * _STEP**2,
    )  # contacts close in the first step: it is of the first order
    assert abs(_run(body, ground, _LOW, _HIGH) - slides) < bound
    assert abs(_run(body, ground, _HIGH, _LOW) - slides) < bound
    assert abs(_run(body, ground, _HIGH, _HIGH)) < 1e-8
