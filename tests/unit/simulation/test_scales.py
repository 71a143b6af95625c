"""Masses and lengths in other units: the same motion, the same events."""

from __future__ import annotations

import numpy as np
import pytest

import setsu

G = 9.81


def sledge(mass: float, length: float) -> tuple[setsu.Mechanism, setsu.SurfaceContact]:
    """A point on a plane, pulled along it and lifted off at half of the run."""
    b = setsu.MechanismBuilder("sledge", gravity=(0, 0, -G * length))
    b.add_body("slide", joint=setsu.Prismatic((1, 0, 0)))
    b.add_body("sledge", "slide", setsu.Prismatic((0, 0, 1)), setsu.placement((0, 0, length)), mass=mass)
    return b.build(), setsu.SurfaceContact("sledge", (0, 0, 0), setsu.Plane((0, 0, 1), length), friction=0.3)


@pytest.mark.parametrize("length", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize("mass", [1e-10, 1e-6, 1.0, 1e6])
def test_a_sledge_stops_and_lifts_off_whatever_its_size(mass: float, length: float) -> None:
    """Friction 0.3 (g - lift) stops it, lift 2 t g takes it off at t = 0.5 s; then it flies."""
    m, contact = sledge(mass, length)
    lift = mass * G * length

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([0.0, 2.0 * t * lift])

    rec = setsu.simulate(m, [0, 0], [0.5 * length, 0], 1.0, step=1e-2, torque=torque, contacts=[contact])
    assert [event.kind for event in rec.events] == ["stick", "release"]
    # 0.5 = 0.3 g (t - t²) stops it.
    assert rec.events[0].time == pytest.approx(
        0.5 - np.sqrt(0.25 - 0.5 / (0.3 * G)), abs=1e-9
    )  # not rounding: events are located to 1e-9 s
    assert rec.events[1].time == pytest.approx(0.5, abs=2e-9)  # not rounding: two events
    assert rec.q[-1, 1] / length == pytest.approx(G * 0.5**3 / 3, rel=1e-7)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_masses_do_not_matter_to_an_impact_on_stops(scale: float) -> None:
    """A chain of two hinges falls onto a stop, with dry friction in the other: all forces scale with the masses."""

    def chain(factor: float) -> setsu.Mechanism:
        b = setsu.MechanismBuilder("chain")
        for k, options in enumerate(({"upper": 0.3}, {"coulomb": 0.5 * factor})):
            joint = setsu.Revolute((0, 1, 0), name=f"j{k}", **options)
            where = setsu.placement((0.5 * k, 0, 0))
            b.add_body(
                f"b{k}", f"b{k - 1}" if k else "world", joint, where, factor, (0.25, 0, 0), 0.02 * factor * np.eye(3)
            )
        return b.build()

    runs = [setsu.simulate(chain(f), [0, 0.2], [0, 0], 0.6, step=2e-3, joint_stops=True) for f in (1.0, scale)]
    assert [event.kind for event in runs[0].events] == [event.kind for event in runs[1].events]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-9)
    times = [[event.time for event in run.events] for run in runs]
    np.testing.assert_allclose(*times, atol=1e-9)
