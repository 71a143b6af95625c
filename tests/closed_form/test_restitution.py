"""Points that bounce off surfaces: Newton's law of restitution in runs, x_n' = -e x_n for what approaches.

    a ball dropped from h: impacts at t_k = t_0 + 2 v_0 (e + .. + e^k) / g, at rest after t_0 (1 + e) / (1 - e)      (1)
    impulses p of contacts never do work: p·(x + x') / 2 <= 0                                                        (2)

The woodpecker toy of IFToMM's benchmarks descends a pole in jerks; its sleeve jams, its beak bounces. Its numbers are
those of Ch. Glocker and C. Studer, Formulation and preparation for numerical evaluation of linear complementarity
systems in dynamics, 2005. Their equations are linear in the angles, with arms of friction that are longer by a quarter;
here they are exact.
"""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.spatial import quaternion_from_rotation

G = 9.81
FLOOR = setsu.Plane((0, 0, 1), 0.0)


def _ball(mass: float, free: bool) -> setsu.Mechanism:
    b = setsu.MechanismBuilder("ball", gravity=(0, 0, -G))
    b.add_body(
        "ball", joint=setsu.Free() if free else setsu.Prismatic((0, 0, 1)), mass=mass, inertia=0.004 * mass * np.eye(3)
    )
    return b.build()


@pytest.mark.parametrize(("e", "mass", "free"), [(0.5, 2.0, True), (0.9, 1e-6, False), (1.0, 1e6, False)])
@pytest.mark.parametrize("integrator", ["rk4", "rk8", "adaptive"])
def test_a_ball_bounces_at_the_instants_of_the_parabola(e: float, mass: float, free: bool, integrator: str) -> None:
    m = _ball(mass, free)
    q, height = m.neutral(), 2 if free else 0
    q[height] = 1.0
    contact = setsu.SurfaceContact("ball", (0, 0, 0), FLOOR, restitution=e)
    rec = setsu.simulate(m, q, np.zeros(m.nv), 3.0, 1e-2, contacts=[contact], integrator=integrator)
    times = np.array([event.time for event in rec.events if event.kind == "impact"])
    first = np.sqrt(2.0 / G)
    exact = first + 2.0 * first * np.concatenate([[0.0], np.cumsum(e ** np.arange(1, len(times)))])
    assert len(times) >= 3
    np.testing.assert_allclose(times, exact, atol=1e-11)
    assert rec.q[:, height].min() > -1e-11
    # What is left when it leaves slower than the slowest bounce: 1e-4 of its lengths per second.
    if e == 0.5:
        assert abs(times[-1] - first * 3.0) < 1e-4
        assert rec.q[-1, height] == pytest.approx(0.0, abs=1e-12)


def test_the_impact_of_a_run_is_that_of_impulse_dynamics() -> None:
    """A thrown rod lands on one end: with friction, whatever the world's direction of up."""
    rng = np.random.default_rng(5)
    for _ in range(4):
        R, _ = np.linalg.qr(rng.standard_normal((3, 3)))
        R *= np.sign(np.linalg.det(R))
        b = setsu.MechanismBuilder("rod", gravity=-G * R[:, 2])
        b.add_body("rod", joint=setsu.Free(), mass=1.3, inertia=np.diag([0.02, 0.1, 0.1]))
        m = b.build()
        ends = [
            setsu.SurfaceContact("rod", (x, 0, 0), setsu.Plane(R[:, 2], 0.0), 0.4, restitution=0.6) for x in (-0.5, 0.5)
        ]
        turn = setsu.placement(rpy=(0.0, 0.3, 0.0))[:3, :3]
        T = setsu.placement(rotation=R @ turn)
        q = np.concatenate([R @ [0.0, 0.0, 0.4], quaternion_from_rotation(T[:3, :3])])
        v = np.concatenate([(R @ turn).T @ R @ [0.7, 0.2, -1.0], rng.standard_normal(3)])
        rec = setsu.simulate(m, q, v, 0.4, 1e-3, contacts=ends)
        hit = next(event for event in rec.events if event.kind == "impact")
        k = int(np.searchsorted(rec.time, hit.time)) - 1
        sim = setsu.Simulator(m, hit.time - rec.time[k], contacts=ends)
        sim.reset(rec.q[k], rec.v[k], time=rec.time[k])
        free = setsu.Simulator(m, hit.time - rec.time[k])
        free.reset(rec.q[k], rec.v[k])
        free.step()
        name = next(contact for contact in ends if contact.point[0] == (-0.5 if hit.name == "rod" else 0.5))
        found = setsu.impulse_dynamics(m, free.q, free.v, [name])
        np.testing.assert_allclose(hit.velocity_jump, found.velocity - free.v, atol=1e-9)
        assert found.energy_lost > 0.0


def test_bounces_with_friction_never_gain_energy() -> None:
    """Newton's law alone does where a body hits with two points and friction: impulse_dynamics says so."""
    rng = np.random.default_rng(0)
    warned = 0
    for _ in range(60):
        b = setsu.MechanismBuilder("double pendulum", gravity=(0, 0, -G))
        b.add_body("a", joint=setsu.Revolute((0, 1, 0)), mass=1.0, center_of_mass=(0, 0, -0.5), inertia=np.eye(3) / 12)
        b.add_body(
            "b", "a", setsu.Revolute((0, 1, 0)), setsu.placement((0, 0, -1.0)), 1.0, (0, 0, -0.5), np.eye(3) / 12
        )
        m = b.build()
        q, v = rng.uniform(-1.2, 1.2, 2), rng.uniform(-4.0, 4.0, 2)
        tip = (setsu.frame_pose(m, q, "b") @ [0, 0, -1.0, 1.0])[2]
        contact = setsu.SurfaceContact("b", (0, 0, -1.0), setsu.Plane((0, 0, 1), tip), 0.7, restitution=0.8)
        approach = (setsu.point_jacobian(m, q, "b", (0, 0, -1.0)) @ v)[2]
        if approach > -0.1:
            continue
        with pytest.warns(setsu.ModelWarning, match="adds energy") if _gains(m, q, v, contact) else _nothing():
            setsu.impulse_dynamics(m, q, v, [contact])
        warned += _gains(m, q, v, contact)
        rec = setsu.simulate(m, q, v, 1e-3, 1e-3, contacts=[contact])
        hit = rec.events[0]
        assert hit.kind == "impact"
        assert hit.energy_lost > -1e-9
    assert warned > 0


def _gains(m: setsu.Mechanism, q: np.ndarray, v: np.ndarray, contact: setsu.SurfaceContact) -> bool:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(setsu.impulse_dynamics(m, q, v, [contact]).energy_lost < -1e-6)


def _nothing():
    import contextlib

    return contextlib.nullcontext()


@pytest.mark.parametrize(
    ("options", "said"), [({"restitution": 1.5}, "at most 1"), ({"restitution": -0.1}, "at least 0")]
)
def test_restitution_is_a_number_from_zero_to_one(options: dict, said: str) -> None:
    with pytest.raises(setsu.InputError, match=said):
        setsu.SurfaceContact("ball", (0, 0, 0), FLOOR, **options)


def test_what_never_hits_does_not_bounce() -> None:
    with pytest.raises(setsu.InputError, match="never hits"):
        setsu.SurfaceContact("ball", (0, 0, 0), FLOOR, bilateral=True, restitution=0.5)


# The woodpecker: sleeve and bird, in m, kg, N m.
M_SLEEVE, J_SLEEVE, M_BIRD, J_BIRD = 0.0003, 5e-9, 0.0045, 7e-7
R_POLE, R_SLEEVE, H_SLEEVE, L_SPRING, L_BIRD, L_BEAK, H_BEAK, SPRING = (
    0.0025, 0.0031, 0.0058, 0.010, 0.015, 0.0201, 0.02, 0.0056,
)  # fmt: skip


def _woodpecker() -> tuple[setsu.Mechanism, list[setsu.SurfaceContact]]:
    b = setsu.MechanismBuilder("woodpecker", gravity=(0, -G, 0))
    b.add_body("carriage", joint=setsu.Prismatic((0, 1, 0)))
    b.add_body("sleeve", "carriage", setsu.Revolute((0, 0, 1)), mass=M_SLEEVE, inertia=J_SLEEVE * np.eye(3))
    spring = setsu.Revolute((0, 0, 1), stiffness=SPRING)
    b.add_body("bird", "sleeve", spring, setsu.placement((L_SPRING, 0, 0)), M_BIRD, (L_BIRD, 0, 0), J_BIRD * np.eye(3))
    pole = setsu.Plane((1, 0, 0), R_POLE)
    return b.build(), [
        setsu.SurfaceContact("bird", (L_BIRD - L_BEAK, H_BEAK, 0), pole, 0.3, name="beak", restitution=0.5),
        setsu.SurfaceContact("sleeve", (R_SLEEVE, -H_SLEEVE, 0), pole, 0.3, name="lower"),
        setsu.SurfaceContact("sleeve", (R_SLEEVE, H_SLEEVE, 0), pole, 0.3, name="upper"),
    ]


def _period_by_time_stepping(duration: float, dt: float) -> float:
    """Time between the last two impacts of the beak: exact equations, Moreau's midpoint rule, Gauss-Seidel."""
    m, back, e = M_SLEEVE + M_BIRD, L_BIRD - L_BEAK, np.array([0.5, 0.0, 0.0])
    q, v, beats = np.array([0.0, -0.1036, -0.2788]), np.array([-0.3411, 0.0, -7.4583]), []
    p_n, p_t = np.zeros(3), np.zeros(3)
    for step in range(round(duration / dt)):
        middle = q + 0.5 * dt * v
        (s, c), (s2, c2) = ((np.sin(angle), np.cos(angle)) for angle in middle[1:])
        across, along = M_BIRD * L_SPRING * L_BIRD * (s * c2 - c * s2), M_BIRD * L_SPRING * L_BIRD * (c * c2 + s * s2)
        M = np.array(
            [
                [m, M_BIRD * L_SPRING * c, M_BIRD * L_BIRD * c2],
                [M_BIRD * L_SPRING * c, J_SLEEVE + M_BIRD * L_SPRING**2, along],
                [M_BIRD * L_BIRD * c2, along, J_BIRD + M_BIRD * L_BIRD**2],
            ]
        )
        bend = SPRING * (middle[1] - middle[2])
        force = np.array(
            [
                M_BIRD * (L_SPRING * s * v[1] ** 2 + L_BIRD * s2 * v[2] ** 2) - m * G,
                -across * v[2] ** 2 - bend - M_BIRD * G * L_SPRING * c,
                across * v[1] ** 2 + bend - M_BIRD * G * L_BIRD * c2,
            ]
        )
        arms = (back * c2 - H_BEAK * s2, R_SLEEVE * c + H_SLEEVE * s, R_SLEEVE * c - H_SLEEVE * s)
        gap = np.array([L_SPRING * c + arms[0], arms[1], arms[2]]) - R_POLE
        normal = np.array(
            [
                [0.0, -L_SPRING * s, -back * s2 - H_BEAK * c2],
                [0.0, -R_SLEEVE * s + H_SLEEVE * c, 0.0],
                [0.0, -R_SLEEVE * s - H_SLEEVE * c, 0.0],
            ]
        )
        tangent = np.array([[1.0, L_SPRING * c, arms[0]], [1.0, arms[1], 0.0], [1.0, arms[2], 0.0]])
        u, active = v + dt * np.linalg.solve(M, force), np.flatnonzero(gap <= 0.0)
        inactive = np.setdiff1d(range(3), active)
        p_n[inactive] = p_t[inactive] = 0.0
        to_n, to_t = np.linalg.solve(M, normal.T), np.linalg.solve(M, tangent.T)
        before, u = normal @ v, u + to_n @ p_n + to_t @ p_t
        for _ in range(200 if active.size else 0):
            worst = 0.0
            for i in active:
                push = max(0.0, p_n[i] - (normal[i] @ u + e[i] * before[i]) / (normal[i] @ to_n[:, i]))
                u, worst, p_n[i] = u + to_n[:, i] * (push - p_n[i]), max(worst, abs(push - p_n[i])), push
                drag = min(max(p_t[i] - tangent[i] @ u / (tangent[i] @ to_t[:, i]), -0.3 * push), 0.3 * push)
                u, worst, p_t[i] = u + to_t[:, i] * (drag - p_t[i]), max(worst, abs(drag - p_t[i])), drag
            if worst < 1e-12:
                break
        if p_n[0] > 1e-7 and before[0] < -0.01:
            beats.append(step * dt)
        q, v = middle + 0.5 * dt * u, u
    return beats[-1] - beats[-2]


def test_the_woodpecker_descends_with_the_period_that_time_stepping_finds() -> None:
    m, contacts = _woodpecker()
    # The lower edge of the sleeve is on the pole.
    tilt = next(
        angle
        for angle in np.linspace(-0.11, -0.09, 200_001)
        if R_SLEEVE * np.cos(angle) + H_SLEEVE * np.sin(angle) >= R_POLE
    )
    rec = setsu.simulate(m, [0.0, tilt, -0.2788 - tilt], [-0.3411, 0.0, -7.4583], 1.5, 1e-3, contacts=contacts)
    beats = np.diff([event.time for event in rec.events if event.kind == "impact" and event.name == "beak"])
    assert np.ptp(beats[-4:]) < 1e-5
    assert beats[-1] == pytest.approx(_period_by_time_stepping(0.7, 1e-4), rel=5e-3)
    fall = np.interp(rec.time[-1] - np.array([beats[-1], 0.0]), rec.time, rec.q[:, 0])
    assert fall[1] - fall[0] < -0.01
    assert np.diff(rec.energy).max() < 1e-12
    assert rec.constraint_error.max() < 1e-12
