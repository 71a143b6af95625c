"""Derivatives of one step against fourth-order differences of the step itself, in tangent coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.sample_mechanisms import random_tree

pytestmark = pytest.mark.thin(2)

RELATIVE = 1e-8
FIXED = ("semi_implicit", "rk4", "rk8", "radau")
KEYS = ("dq_dq", "dq_dv", "dq_dtau", "dv_dq", "dv_dv", "dv_dtau")


def stepped(m: setsu.Mechanism, integrator: str, h: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple:
    sim = setsu.Simulator(m, step=h, integrator=integrator, count=len(q))
    sim.reset(q, v)
    sim.step(tau)
    return sim.q, sim.v


def assert_step(m: setsu.Mechanism, integrator: str, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> None:
    """Along curves that keep the loops closed; for trees those are all."""
    h, e, nv = 0.01, 1e-3, m.nv
    sim = setsu.Simulator(m, step=h, integrator=integrator)
    sim.reset(q, v)
    d = sim.derivatives(tau)
    np.testing.assert_array_equal(sim.q, setsu.integrate(m, q, np.zeros(nv), 1.0))  # nothing has moved
    along = np.eye(nv)
    if m.loops:
        _, s, Vt = np.linalg.svd(setsu.constraints.constraint_system(m).evaluate(q, v).jacobian)
        along = Vt[int((s > 1e-9 * s[0]).sum()) :]
    shifts = [(k, x) for k in range(3) for x in (along if k < 2 else np.eye(nv))]
    starts = []
    for k, x in shifts:
        for step in (-2.0, -1.0, 1.0, 2.0):
            state = [q, v, tau]
            if k == 0:
                state[0] = setsu.integrate(m, q, x, step * e)
                if m.loops:
                    state[0] = setsu.close_loops(m, state[0])
                    state[1] = setsu.consistent_velocity(m, state[0], v)
            else:
                state[k] = state[k] + step * e * x
            starts.append(state)
    Q, V, T = (np.array([state[k] for state in starts]) for k in range(3))
    Q1, V1 = stepped(m, integrator, h, Q, V, T)
    end = np.concatenate([setsu.difference(m, d.q, Q1), V1], axis=-1).reshape(len(shifts), 4, -1)
    start = np.concatenate([setsu.difference(m, q, Q), V, T], axis=-1).reshape(len(shifts), 4, -1)
    slope, along_start = ((8.0 * (g[:, 2] - g[:, 1]) - (g[:, 3] - g[:, 0])) / (12.0 * e) for g in (end, start))
    whole = np.block([[d.dq_dq, d.dq_dv, d.dq_dtau], [d.dv_dq, d.dv_dv, d.dv_dtau]])
    for rows in (slice(0, nv), slice(nv, 2 * nv)):
        expected = slope[:, rows]
        found = (along_start @ whole.T)[:, rows]
        np.testing.assert_allclose(found, expected, rtol=0, atol=RELATIVE * np.abs(expected).max())


@pytest.mark.parametrize("integrator", [*FIXED, "rkn4"])
def test_a_tree_of_all_joint_types(integrator: str) -> None:
    """Nine joint types, with springs, dampers and armature, on a free base."""
    types = ["Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Spherical", "Planar", "Fixed"]
    m = random_tree(3, n_bodies=9, joint_types=types, floating_base=True, damping=0.5, armature=0.1, stiffness=2.0)
    rng = np.random.default_rng(0)
    assert_step(m, integrator, m.random_configuration(1), rng.standard_normal(m.nv), rng.standard_normal(m.nv))


@pytest.mark.parametrize(
    ("name", "integrator"),
    [
        *(("four_bar", integrator) for integrator in FIXED),
        ("five_bar", "rk4"),
        ("spatial_slider_crank", "rk4"),
        ("delta_robot", "radau"),
        ("stewart_platform", "rk4"),
        ("jansen_leg", "semi_implicit"),
        ("excavator_boom", "rk4"),
    ],
)
def test_loops(name: str, integrator: str) -> None:
    """Every stage is projected onto the loops, and the projection is part of the derivative."""
    m = getattr(setsu.sample_mechanisms, name)()
    rng = np.random.default_rng(1)
    q = setsu.close_loops(m, setsu.integrate(m, m.neutral(), 0.2 * rng.standard_normal(m.nv), 1.0))
    v = setsu.consistent_velocity(m, q, rng.standard_normal(m.nv))
    assert_step(m, integrator, q, v, rng.standard_normal(m.nv))


def test_worlds_are_single_worlds() -> None:
    """With count, and with mechanisms that differ, row by row the numbers of single simulators."""
    m = setsu.sample_mechanisms.five_bar()
    rng = np.random.default_rng(2)
    q = setsu.close_loops(m, setsu.integrate(m, m.neutral(), 0.1 * rng.standard_normal((3, m.nv)), 1.0))
    v = np.array([setsu.consistent_velocity(m, row, rng.standard_normal(m.nv)) for row in q])
    tau = rng.standard_normal((3, m.nv))
    many = setsu.Simulator(m, step=0.01, count=3)
    many.reset(q, v)
    several = setsu.Simulator([m, m, m], step=0.01)
    several.reset(q, v)
    whole, other = many.derivatives(tau), several.derivatives(tau)
    one = setsu.Simulator(m, step=0.01)
    one.reset(q[1], v[1])
    single = one.derivatives(tau[1])
    for key in KEYS:
        np.testing.assert_allclose(getattr(whole, key)[1], getattr(single, key), rtol=0, atol=1e-12)
        np.testing.assert_allclose(getattr(other, key)[1], getattr(single, key), rtol=0, atol=1e-12)


def test_what_is_not_differentiated_is_refused() -> None:
    """By name, before any work; also a step in which dry friction takes hold."""
    m = setsu.sample_mechanisms.planar_arm(2)
    q, v = np.zeros(2), np.array([0.3, -0.2])
    hand = setsu.SurfaceContact(m.body_names[-1], (0.1, 0, 0), setsu.Plane((0, 0, 1), -9.0))
    for options, named in (
        ({"integrator": "adaptive"}, "an adaptive step"),
        ({"torque": lambda t, q, v: np.zeros(2)}, "a torque function"),
        ({"contacts": [hand]}, "surface contacts"),
        ({"joint_stops": True}, "joint stops"),
    ):
        sim = setsu.Simulator(m, step=0.01, **options)
        sim.reset(q, v)
        with pytest.raises(setsu.InputError, match=named):
            sim.derivatives(np.zeros(2))
    b = setsu.MechanismBuilder("rubbing", gravity=(0, 0, 0))
    b.add_body("a", joint=setsu.Revolute((0, 0, 1), coulomb=5.0), mass=1.0, inertia=np.eye(3))
    sim = setsu.Simulator(b.build(), step=0.1)
    sim.reset([0.0], [0.2])
    with pytest.raises(setsu.InputError, match="dry friction"):
        sim.derivatives([0.0])
    sim.reset([0.0], [2.0])
    assert np.allclose(sim.derivatives([0.0]).dv_dv, 1.0)


@pytest.mark.parametrize("kind", ["Spherical", "Free", "Universal", "Planar"])
def test_integrate_and_difference(kind: str) -> None:
    """Fourth-order differences in the tangent spaces of both ends; one is the other's inverse."""
    m = random_tree(5, n_bodies=2, joint_types=[kind])
    rng = np.random.default_rng(0)
    q, v, dt, e = m.random_configuration(2), rng.standard_normal(m.nv), 0.7, 1e-3
    end = setsu.integrate(m, q, v, dt)
    steps = e * np.array([-2.0, -1.0, 1.0, 2.0])[:, None, None] * np.eye(m.nv)

    def slope(f: np.ndarray) -> np.ndarray:
        return ((8.0 * (f[2] - f[1]) - (f[3] - f[0])) / (12.0 * e)).T

    by_q = slope(setsu.difference(m, end, setsu.integrate(m, setsu.integrate(m, q, steps, 1.0), v, dt)))
    by_v = slope(setsu.difference(m, end, setsu.integrate(m, q, v + steps, dt)))
    d = setsu.integrate_derivatives(m, q, v, dt)
    np.testing.assert_allclose(d.dq, by_q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(d.dv, by_v, rtol=0, atol=1e-10)
    back = setsu.difference_derivatives(m, q, end)
    by_0 = slope(setsu.difference(m, setsu.integrate(m, q, steps, 1.0), end))
    by_1 = slope(setsu.difference(m, q, setsu.integrate(m, end, steps, 1.0)))
    np.testing.assert_allclose(back.dq0, by_0, rtol=0, atol=1e-10)
    np.testing.assert_allclose(back.dq1, by_1, rtol=0, atol=1e-10)
    np.testing.assert_allclose(back.dq1 @ d.dv, dt * np.eye(m.nv), rtol=0, atol=1e-13)


def test_what_is_not_differentiated_is_refused_by_name() -> None:
    b = setsu.MechanismBuilder("pendulum")
    b.add_body("body", joint=setsu.Free(name="free"), mass=1.0, inertia=np.eye(3))
    m = b.add_distance("rod", "world", (0, 0, 1), "body", (0, 0, 0), 1.0).build()
    with pytest.raises(setsu.InputError, match='loop "rod" is closed by Distance'):
        setsu.constrained_dynamics_derivatives(m, m.neutral(), np.zeros(6), np.zeros(6))
    sim = setsu.Simulator(m, 1e-3)
    sim.reset(m.neutral(), np.zeros(6))
    with pytest.raises(setsu.InputError, match='loop "rod" is closed by Distance'):
        sim.derivatives(np.zeros(6))
    crank = setsu.sample_mechanisms.planar_arm(2)
    driven = setsu.Simulator(crank, 1e-3, prescribed=[setsu.Prescribed("joint1", lambda t: (t, 1.0, 0.0))])
    driven.reset([0.0, 0.0], [1.0, 0.0])
    with pytest.raises(setsu.InputError, match="prescribed motions"):
        driven.derivatives(np.zeros(2))
