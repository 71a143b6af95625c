"""Imaginary parts, text, times and masked entries are refused, where NumPy would make numbers of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import setsu

ARM = setsu.sample_mechanisms.planar_arm(2)
TWO = np.array([0.1, 0.2])
TIME = np.linspace(0.0, 1.0, 20)


def _simulator() -> setsu.Simulator:
    sim = setsu.Simulator(ARM)
    sim.reset(TWO, TWO)
    return sim


def _body(**options: Any) -> setsu.Mechanism:
    b = setsu.MechanismBuilder("one")
    b.add_body("a", joint=setsu.Revolute((0, 0, 1)), **{"mass": 1.0, "inertia": np.eye(3), **options})
    return b.build()


TAKERS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "inverse dynamics": (lambda x: setsu.inverse_dynamics(ARM, x, TWO, TWO), TWO),
    "time step": (lambda x: setsu.integrate(ARM, TWO, TWO, x), 0.1),
    "start": (lambda x: setsu.simulate(ARM, x, TWO, 0.01), TWO),
    "starts": (lambda x: setsu.simulate(ARM, x, np.zeros((2, 2)), 0.01), np.ones((2, 2))),
    "constant torque": (lambda x: setsu.simulate(ARM, TWO, TWO, 0.01, torque=x), TWO),
    "torque law": (lambda x: setsu.simulate(ARM, TWO, TWO, 0.01, torque=lambda t, q, v: x), TWO),
    "held torque": (lambda x: _simulator().step(x), TWO),
    "push": (lambda x: _simulator().push("link1", x), np.ones(3)),
    "prescribed": (
        lambda x: setsu.simulate(ARM, 0 * TWO, 0 * TWO, 0.01, prescribed=[setsu.Prescribed("joint1", lambda t: x)]),
        np.zeros(3),
    ),
    "servo": (
        lambda x: setsu.simulate(ARM, TWO, TWO, 0.01, torque=setsu.JointServo(1.0, 1.0, position=lambda t: x)),
        TWO,
    ),
    "raw contacts": (lambda x: setsu.contact.solve(x, -np.ones(3), np.array([0.5])), np.eye(3)),
    "polygon": (setsu.Polygon, np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])),
    "heights": (lambda x: setsu.Environment.heightfield(x, (1, 1)), np.zeros((3, 3))),
    "plane": (setsu.Plane, np.array([0.0, 0.0, 1.0])),
    "placement": (lambda x: setsu.placement(x), np.zeros(3)),
    "gravity": (lambda x: setsu.MechanismBuilder("x", gravity=x), np.array([0.0, 0.0, -9.81])),
    "inertia": (lambda x: _body(inertia=x), np.eye(3)),
    "nodal": (lambda x: setsu.nodal_inverse_dynamics(ARM, TIME, x), np.zeros((20, 2))),
    "nodal time": (lambda x: setsu.nodal_inverse_dynamics(ARM, x, np.zeros((20, 2))), TIME),
}


@pytest.mark.parametrize("name", TAKERS)
def test_only_real_numbers_are_numbers(name: str) -> None:
    take, good = TAKERS[name]
    take(good)
    for bad in (np.asarray(good) + 1e-3j, np.asarray(good).astype(str), np.zeros(np.shape(good), dtype="m8[s]")):
        with pytest.raises(setsu.InputError):
            take(bad)


def test_masked_samples_are_refused() -> None:
    samples = np.ma.masked_array(np.zeros((20, 2)), mask=np.eye(20, 2, dtype=bool))
    with pytest.raises(setsu.InputError, match="expected numbers"):
        setsu.nodal_inverse_dynamics(ARM, TIME, samples)


def test_a_mass_is_real() -> None:
    with pytest.raises(setsu.InputError, match="mass"):
        _body(mass=np.complex128(1 + 1e-3j))
