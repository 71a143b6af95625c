"""Torsional and rolling friction (MuJoCo's condim 4 and 6) of every size, on robots and balls: every step converges."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import setsu

_SIZES = (1e-4, 1e-3, 1e-2, 1e-1)
_CONDIM = {4: (1.0, 0.0), 6: (1.0, 0.3)}


def _material(size: float, condim: int) -> setsu.Material:
    torsional, rolling = _CONDIM[condim]
    return setsu.Material(0.8, 0.8, torsional=torsional * size, rolling=rolling * size)


def _settled(m: setsu.Mechanism, q: np.ndarray, v: np.ndarray, seconds: float, **options: object) -> setsu.Recording:
    """A run without warnings, all of whose steps converged and none of which adds energy of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rec = setsu.simulate(m, q, v, seconds, 1e-3, environment=setsu.Environment.floor(), **options)  # type: ignore[arg-type]
    log = rec.contact_log
    assert log is not None
    assert not log.unconverged.any()
    assert log.residual.max() <= 1e-8  # not rounding: what converged means
    assert log.cone.max() < 1e-9
    return rec


@pytest.mark.parametrize("condim", [4, 6])
@pytest.mark.parametrize("size", _SIZES)
def test_a_standing_humanoid(size: float, condim: int) -> None:
    m = setsu.sample_mechanisms.hoap1_like()
    points = [replace(p, material=_material(size, condim)) for p in m.contact_points]
    m = replace(m, contact_points=tuple(points))
    q = m.neutral()
    poses = setsu.body_poses(m, q)
    heights = [
        (poses[m.frame(p.body).body] @ m.frame(p.body).pose.matrix @ [*p.position, 1.0])[2] for p in m.contact_points
    ]
    q[2] -= min(heights) - 1e-3
    v = np.zeros(m.nv)
    v[3:6] = 0.1, -0.2, 0.3
    rec = _settled(m, q, v, 0.25, torque=setsu.JointServo(300.0, 4.0, q))
    assert np.abs(rec.v[-1]).max() < 0.5  # it stands


@pytest.mark.parametrize("condim", [4, 6])
@pytest.mark.parametrize("size", _SIZES)
def test_balls_on_each_other(size: float, condim: int) -> None:
    """A ball in the hollow of three, all spinning: contacts of bodies with each other and with the floor."""
    b, radius, q, v = setsu.MechanismBuilder("balls"), 0.05, [], []
    places = [(radius * np.cos(a) * 1.16, radius * np.sin(a) * 1.16, radius) for a in (0.0, 2.1, 4.2)]
    for k, place in enumerate([*places, (0.0, 0.0, 2.7 * radius)]):
        b.add_body(
            f"ball{k}", joint=setsu.Free(name=f"free{k}"), mass=0.3, inertia=0.4 * 0.3 * radius**2 * np.eye(3),
            collisions=[setsu.Shape("sphere", (radius,), material=_material(size, condim))],
        )  # fmt: skip
        q.append([*place, 0.0, 0.0, 0.0, 1.0])
        v.append([0.0, 0.0, 0.0, 1.0, -2.0, 5.0 * (k - 1)])
    rec = _settled(b.build(), np.concatenate(q), np.concatenate(v), 0.3, body_contacts=True)
    assert np.diff(rec.energy).max() < 1e-9 * np.ptp(rec.energy)


def test_coefficients_of_no_size_change_nothing() -> None:
    """Couples that vanish leave the motion as it is without them: both ways of the solver agree."""
    runs = []
    for size in (0.0, 1e-13):
        b = setsu.MechanismBuilder("box")
        b.add_body("box", joint=setsu.Free(name="free"), mass=1.0, inertia=np.diag([0.02, 0.03, 0.04]))
        feet = [[x, y, -0.05] for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
        b.add_contact_points("box", feet, _material(size, 6))
        m = b.build()
        q = m.neutral()
        q[2] = 0.06
        runs.append(_settled(m, q, np.array([0.5, 0.1, 0.0, 0.0, 0.0, 2.0]), 0.3))
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-8)  # not rounding: where Newton's method ends
