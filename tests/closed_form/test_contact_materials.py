"""Torsional and rolling friction and contacts that give way, beside their closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import setsu

_G = 9.81
_RADIUS, _MASS = 0.1, 2.0


def _ball(**material: float) -> setsu.Mechanism:
    b = setsu.MechanismBuilder("ball", gravity=(0.0, 0.0, -_G))
    inertia = 0.4 * _MASS * _RADIUS**2
    b.add_body("ball", joint=setsu.Free(name="free"), mass=_MASS, inertia=np.diag([inertia] * 3))
    b.add_contact_points("ball", [(0.0, 0.0, 0.0)], setsu.Material(**material), radius=_RADIUS)
    return b.build()


def _run(m: setsu.Mechanism, height: float, v: list[float], seconds: float) -> setsu.Recording:
    q = m.neutral()
    q[2] = height
    return setsu.simulate(m, q, np.array(v), seconds, 1e-3, environment=setsu.Environment.floor())


def test_a_spinning_ball_stops_by_torsional_friction() -> None:
    # I dw/dt = -c m g: w = w0 - c g t / (0.4 R²), until it stands.
    c, w0 = 0.004, 10.0
    rec = _run(_ball(torsional=c), _RADIUS, [0, 0, 0, 0, 0, w0], 1.5)
    rate = c * _G / (0.4 * _RADIUS**2)
    expected = np.maximum(0.0, w0 - rate * rec.time)
    assert np.abs(rec.v[:, 5] - expected).max() < 1e-6 * w0
    assert np.abs(rec.v[-1]).max() < 1e-9
    assert np.diff(rec.energy).max() < 1e-12
    # All that is lost is work of friction.
    assert rec.ledger is not None
    assert abs(rec.ledger.contact_friction[-1] + 0.5 * 0.4 * _MASS * _RADIUS**2 * w0**2) < 1e-6


def test_a_rolling_ball_slows_down_by_rolling_friction() -> None:
    # (I + m R²) a / R = -r m g: a = 5/7 r g / R.
    r, v0 = 0.002, 1.0
    m = _ball(static_friction=0.8, kinetic_friction=0.8, rolling=r)
    rec = _run(m, _RADIUS, [v0, 0, 0, 0, v0 / _RADIUS, 0], 1.0)
    v = setsu.body_velocities(m, rec.q, rec.v)[:, 0]
    expected = v0 - 5.0 / 7.0 * r * _G / _RADIUS * rec.time
    assert np.abs(v[:, 0] - expected).max() < 1e-5 * v0
    assert np.abs(v[:, 0] - _RADIUS * v[:, 4]).max() < 1e-6


def test_rolling_friction_holds_a_ball_on_a_slope() -> None:
    # It rolls where tan(angle) > r / R, and rests otherwise.
    for slope, rests in ((0.019, True), (0.021, False)):
        b = setsu.MechanismBuilder("ball", gravity=(_G * np.sin(slope), 0.0, -_G * np.cos(slope)))
        inertia = 0.4 * _MASS * _RADIUS**2
        b.add_body("ball", joint=setsu.Free(name="free"), mass=_MASS, inertia=np.diag([inertia] * 3))
        b.add_contact_points(
            "ball", [(0.0, 0.0, 0.0)], setsu.Material(0.8, 0.8, rolling=0.02 * _RADIUS), radius=_RADIUS
        )
        rec = _run(b.build(), _RADIUS, [0.0] * 6, 0.5)
        if rests:
            assert np.abs(rec.v[-1]).max() < 1e-6
        else:
            excess = _G * (np.sin(slope) - 0.02 * np.cos(slope))
            assert rec.v[-1, 0] == pytest.approx(
                5.0 / 7.0 * excess * 0.5, rel=1e-4
            )  # not rounding: order of the method


def test_without_coefficients_nothing_changes() -> None:
    rec = _run(_ball(), _RADIUS, [0, 0, 0, 0, 0, 10.0], 0.2)
    assert rec.v[-1, 5] == pytest.approx(10.0, abs=1e-8)  # not rounding: where Newton ends


def test_a_soft_contact_rests_at_its_depth() -> None:
    k = 1e4
    depth = _MASS * _G / k
    rec = _run(_ball(stiffness=k, damping=100.0), _RADIUS, [0.0] * 6, 2.0)
    assert rec.q[-1, 2] == pytest.approx(_RADIUS - depth, abs=1e-9)
    assert rec.normal_force[-1, 0] == pytest.approx(_MASS * _G, rel=1e-6)


def test_a_soft_contact_oscillates_with_its_frequency_and_keeps_energy() -> None:
    # From just touching: z = R - (m g / k)(1 - cos(w t)), w = sqrt(k / m).
    k = 2e4
    w, depth = np.sqrt(k / _MASS), _MASS * _G / 2e4
    rec = _run(_ball(stiffness=k), _RADIUS - 1e-12, [0.0] * 6, 0.5)
    expected = _RADIUS - depth * (1.0 - np.cos(w * rec.time))
    # The rule of the middle is late by (w h)²/12 of the phase.
    assert np.abs(rec.q[:, 2] - expected).max() < 1.2 * depth * w * 0.5 * (w * 1e-3) ** 2 / 12.0
    spring = 0.5 * k * np.minimum(0.0, rec.q[:, 2] - _RADIUS) ** 2
    total = rec.energy + spring
    assert np.ptp(total) < 1e-9 * _MASS * _G * _RADIUS


def test_a_damped_soft_contact_decays() -> None:
    # Half the decrement of the closed form: x = e^(-d t / 2 m).
    k, d = 2e4, 20.0
    rec = _run(_ball(stiffness=k, damping=d), _RADIUS - 1e-12, [0.0] * 6, 0.6)
    depth = _MASS * _G / k
    rate = d / (2.0 * _MASS)
    w = np.sqrt(k / _MASS - rate**2)
    x = rec.q[:, 2] - (_RADIUS - depth)
    expected = depth * np.exp(-rate * rec.time) * (np.cos(w * rec.time) + rate / w * np.sin(w * rec.time))
    assert np.abs(x - expected).max() < 0.02 * depth


def test_soft_and_rigid_contacts_in_one_run() -> None:
    b = setsu.MechanismBuilder("two", gravity=(0.0, 0.0, -_G))
    for name, material in (("hard", setsu.Material()), ("soft", setsu.Material(stiffness=1e4, damping=100.0))):
        inertia = 0.4 * _MASS * _RADIUS**2
        b.add_body(name, joint=setsu.Free(name=name), mass=_MASS, inertia=np.diag([inertia] * 3))
        b.add_contact_points(name, [(0.0, 0.0, 0.0)], material, radius=_RADIUS)
    m = b.build()
    q = m.neutral()
    q[2], q[9], q[7] = _RADIUS, _RADIUS, 1.0
    rec = setsu.simulate(m, q, np.zeros(m.nv), 1.0, 1e-3, environment=setsu.Environment.floor())
    assert abs(rec.q[-1, 2] - _RADIUS) < 1e-8
    assert rec.q[-1, 9] == pytest.approx(_RADIUS - _MASS * _G / 1e4, abs=1e-9)


def test_materials_survive_files(tmp_path: Path) -> None:
    m = _ball(torsional=0.01, rolling=0.002, stiffness=1e4, damping=5.0, dissipation=0.3)
    m.save(tmp_path / "ball.toml")
    assert setsu.load(tmp_path / "ball.toml") == m


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"torsional": -1.0}, "torsional"),
        ({"rolling": float("nan")}, "rolling"),
        ({"stiffness": 0.0}, "stiffness"),
        ({"damping": 1.0}, "stiffness beside it"),
        ({"dissipation": 1.0}, "stiffness beside it"),
        ({"stiffness": 1.0, "dissipation": -1.0}, "dissipation"),
        ({"stiffness": 1.0, "restitution": 0.5}, "restitution"),
    ],
)
def test_bad_materials(given: dict[str, float], said: str) -> None:
    with pytest.raises(setsu.InputError, match=said):
        setsu.Material(**given)


def test_torsional_friction_of_four_feet_at_once() -> None:
    """Four feet without sliding friction brake a spinning plate by γ m g / I, and hold it when it has stopped."""
    b = setsu.MechanismBuilder("plate")
    b.add_body("plate", joint=setsu.Free(name="free"), mass=2.0, inertia=0.05 * np.eye(3))
    feet = [[x, y, 0.0] for x in (-0.3, 0.3) for y in (-0.2, 0.2)]
    b.add_contact_points("plate", feet, setsu.Material(0.0, 0.0, torsional=0.02))
    m = b.build()
    v = np.zeros(6)
    v[5] = 1.0
    rec = setsu.simulate(m, m.neutral(), v, 0.2, 1e-3, environment=setsu.Environment.floor())
    deceleration = 0.02 * 2.0 * 9.81 / 0.05
    np.testing.assert_allclose(rec.v[:120, 5], 1.0 - deceleration * rec.time[:120], atol=1e-6)
    np.testing.assert_allclose(rec.v[-20:], 0.0, atol=1e-7)
    assert rec.contact_log is not None
    assert rec.contact_log.residual.max() < 1e-3  # couples do not turn the plate to and fro


@pytest.mark.parametrize("speed", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("dissipation", [0.05, 0.5])
def test_dissipation_of_hunt_and_crossley_gives_its_restitution(speed: float, dissipation: float) -> None:
    """a (v + v') = ln((1 + a v) / (1 - a v')), whatever stiffness and mass (Marhefka and Orin 1999); the way between by
    SciPy."""
    k, h = 1e5, 5e-5
    b = setsu.MechanismBuilder("ball", gravity=(0.0, 0.0, 0.0))
    b.add_body("ball", joint=setsu.Free(name="free"), mass=_MASS, inertia=0.4 * _MASS * _RADIUS**2 * np.eye(3))
    material = setsu.Material(stiffness=k, dissipation=dissipation)
    b.add_contact_points("ball", [(0.0, 0.0, 0.0)], material, radius=_RADIUS)
    m = b.build()
    q = m.neutral()
    q[2] = _RADIUS
    v = np.array([0.0, 0.0, -speed, 0.0, 0.0, 0.0])
    rec = setsu.simulate(m, q, v, 0.025, h, environment=setsu.Environment.floor())
    out = brentq(
        lambda x: dissipation * (speed + x) - np.log((1.0 + dissipation * speed) / (1.0 - dissipation * x)),
        0.0,
        min(speed, 1.0 / dissipation) * (1.0 - 1e-12),
    )
    # Second order: (w h)² with w = sqrt(k / m).
    tolerance = 2.0 * (np.sqrt(k / _MASS) * h) ** 2
    assert rec.v[-1, 2] == pytest.approx(out, rel=tolerance)

    def rate(_: float, y: np.ndarray) -> list[float]:
        return [y[1], max(0.0, k * y[0] * (1.0 + dissipation * y[1])) / -_MASS if y[0] > 0.0 else 0.0]

    way = solve_ivp(rate, (0.0, 0.025), [0.0, speed], rtol=1e-9, atol=1e-12, t_eval=rec.time, max_step=1e-4).y[0]
    assert np.abs(_RADIUS - rec.q[:, 2] - way).max() < tolerance * np.abs(way).max()
    assert np.diff(rec.energy + 0.5 * k * np.maximum(0.0, _RADIUS - rec.q[:, 2]) ** 2).max() < 1e-12


def test_a_box_that_is_moved_out_of_the_ground_slides_on_with_kinetic_friction() -> None:
    # Penetration recovery gives no velocity, and what it leaves behind is no state of sliding: dv/dt = -mu_k g.
    kinetic, speed, step = 0.1, 5e-3, 1e-3
    b = setsu.MechanismBuilder("box", gravity=(0.0, 0.0, -_G))
    b.add_body("box", joint=setsu.Free(name="free"), mass=1.0, inertia=np.diag([1e-2] * 3))
    corners = [(x, y, -0.1) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    b.add_contact_points("box", corners, setsu.Material(0.9, kinetic))
    depth = 2e-6
    q, v = np.array([0.0, 0.0, 0.1 - depth, 0.0, 0.0, 0.0, 1.0]), np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0])
    rec = setsu.simulate(b.build(), q, v, 4e-3, step, environment=setsu.Environment.floor())
    assert rec.q[-1, 2] > 0.1 - 0.5 * depth  # it is moved out
    assert np.abs(rec.v[:, 0] - (speed - kinetic * _G * rec.time)).max() < 1e-3 * speed
