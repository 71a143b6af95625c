"""The chart's rates are the derivative of its coordinates along a motion, near and far from its centre."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.native.compiled_code import entry
from setsu.native.control_flow import jit
from setsu.native.workspace import Workspace
from setsu.simulation.stages import Rows, chart_rates, make_method, make_stages


@jit
def _rates(method, g, y):
    chart_rates(method, g, g.phi[0], y.v[0], y.a[0])
    return 0


class Charts:
    """The charts of compiled stages, for one state."""

    def __init__(self, m: setsu.Mechanism) -> None:
        self._m, method = m, make_method(None)
        one = np.zeros(1)
        self._rows = Rows(
            np.zeros((1, m.nq)), np.zeros((1, m.nv)), np.zeros((1, m.nv)), np.zeros((1, 4)), one, one, one,
            np.zeros(1, dtype=np.int64),
        )  # fmt: skip
        self._stages, self._kept = make_stages(m, method, self._rows)
        self._run = entry(_rates, Workspace(method), Workspace(self._stages), Workspace(self._rows))

    def point(self, start: np.ndarray, phi: np.ndarray) -> np.ndarray:
        return setsu.integrate(self._m, start, phi, 1.0)

    def coordinates(self, start: np.ndarray, q: np.ndarray) -> np.ndarray:
        return setsu.difference(self._m, start, q)

    def rate(self, phi: np.ndarray, v: np.ndarray) -> np.ndarray:
        self._stages.phi[0], self._rows.v[0] = phi, v
        self._run()
        return self._rows.a[0].copy()


@pytest.mark.parametrize("angle", [1e-9, 0.01, 0.5, 0.999, 1.001, 2.5])
def test_rate_is_the_derivative_of_the_coordinates(angle: float) -> None:
    builder = setsu.MechanismBuilder("ball on a free body")
    builder.add_body("base", joint=setsu.Free(), mass=1.0, inertia=np.eye(3))
    builder.add_body("ball", parent="base", joint=setsu.Spherical(), mass=1.0, inertia=np.eye(3))
    builder.add_body("link", parent="ball", joint=setsu.Revolute((0, 0, 1)), mass=1.0, inertia=np.eye(3))
    m = builder.build()
    charts, rng, start = Charts(m), np.random.default_rng(5), m.random_configuration(2)
    phi, v = rng.normal(size=m.nv), rng.normal(size=m.nv)
    for where in (slice(3, 6), slice(6, 9)):
        phi[where] *= angle / np.linalg.norm(phi[where])
    q, dt = charts.point(start, phi), 1e-4

    def slope(h: float) -> np.ndarray:
        ahead, behind = setsu.integrate(m, q, v, h), setsu.integrate(m, q, v, -h)
        return (charts.coordinates(start, ahead) - charts.coordinates(start, behind)) / (2 * h)

    # Richardson's step on central differences: error O(dt⁴)
    expected = (4 * slope(dt / 2) - slope(dt)) / 3
    assert np.abs(charts.rate(phi, v) - expected).max() < 1e-10
    assert np.abs(charts.coordinates(start, q) - phi).max() < 1e-12


def test_numbers_are_their_own_chart() -> None:
    m = setsu.sample_mechanisms.planar_arm(3)
    charts, v = Charts(m), np.array([1.0, 2.0, 3.0])
    assert np.array_equal(charts.rate(np.ones(3), v), v)
