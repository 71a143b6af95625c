"""Derivatives of impacts against fourth-order differences in tangent coordinates, contacts in their modes."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu.sample_mechanisms import random_tree

FIELDS = {"velocity": "d", "normal_impulse": "normal_impulse_d", "friction_impulse": "friction_impulse_d"}


def differences(m: setsu.Mechanism, q, v, contacts, e: float, closed: bool) -> tuple[dict, np.ndarray]:
    """Slopes of all results along moves of the configuration, with velocities that keep loops, and of the velocity."""
    h, nv = 1e-4, m.nv
    along = np.eye(nv)
    if closed:
        _, s, Vt = np.linalg.svd(setsu.constraints.constraint_system(m).evaluate(q, v).jacobian)
        along = Vt[int((s > 1e-9 * s[0]).sum()) :]
    rows, starts = {name: [] for name in FIELDS}, []
    for by_q in (True, False):
        for x in along if by_q else np.eye(nv):
            results, begun = [], []
            for step in (-2.0, -1.0, 1.0, 2.0):
                at, rate = (setsu.integrate(m, q, x, step * h), v) if by_q else (q, v + step * h * x)
                if closed and by_q:
                    at = setsu.close_loops(m, at)
                results.append(setsu.impulse_dynamics(m, at, rate, contacts, e))
                begun.append(np.concatenate([setsu.difference(m, q, at), rate]))
            starts.append((8.0 * (begun[2] - begun[1]) - (begun[3] - begun[0])) / (12.0 * h))
            for name, found in rows.items():
                f = [getattr(result, name) for result in results]
                found.append((8.0 * (f[2] - f[1]) - (f[3] - f[0])) / (12.0 * h))
    return {name: np.stack(found, axis=-1) for name, found in rows.items()}, np.stack(starts, axis=-1)


def assert_impact(m: setsu.Mechanism, q, v, contacts, e: float, closed: bool = False) -> setsu.ImpulseDynamics:
    d = setsu.impulse_dynamics_derivatives(m, q, v, contacts, e)
    expected, starts = differences(m, q, v, contacts, e, closed)
    impulses = max(np.abs(expected[name]).max(initial=0.0) for name in ("normal_impulse", "friction_impulse"))
    for name, prefix in FIELDS.items():
        whole = np.concatenate([getattr(d, f"{prefix}q"), getattr(d, f"{prefix}v")], axis=-1)
        size = np.abs(expected[name]).max() if name == "velocity" else impulses
        np.testing.assert_allclose(whole @ starts, expected[name], rtol=0, atol=2e-8 * size)
    return d.dynamics


def lowest(m: setsu.Mechanism, q: np.ndarray, body: str) -> float:
    return float(setsu.frame_pose(m, q, body)[2, 3])


@pytest.mark.parametrize(("friction", "e"), [(0.0, 0.0), (0.0, 0.5), (5.0, 0.0), (0.1, 0.3)])
def test_a_tree_hits_a_plane_and_a_sphere(friction: float, e: float) -> None:
    """Frictionless, sticking and sliding; on the sphere the normal turns as the point moves."""
    m = random_tree(4, n_bodies=5, joint_types=["Revolute", "Spherical", "Prismatic"], floating_base=True)
    rng = np.random.default_rng(2)
    q, v = m.random_configuration(3), rng.standard_normal(m.nv)
    first, last = m.body_names[2], m.body_names[-1]
    x = setsu.frame_pose(m, q, last)[:3, 3]
    out = -setsu.frame_velocity(m, q, v, last)[:3]
    out = out / np.linalg.norm(out) + np.array([0.3, 0.1, 0.2])
    out = out / np.linalg.norm(out)
    ball = setsu.SurfaceContact(last, (0, 0, 0), setsu.Sphere(x - 0.4 * out, 0.4), friction=friction, bilateral=False)
    z = lowest(m, q, first)
    sign = -np.sign(setsu.frame_velocity(m, q, v, first)[2])
    floor = setsu.SurfaceContact(
        first, (0, 0, 0), setsu.Plane((0, 0, sign), sign * z), friction=friction, bilateral=False
    )
    found = assert_impact(m, q, v, [ball, floor], e)
    assert (found.normal_impulse > 0.0).any()


def test_loops_and_a_wall() -> None:
    m = setsu.sample_mechanisms.five_bar()
    q = setsu.close_loops(m, m.neutral())
    v = setsu.consistent_velocity(m, q, [0.5, 0.0, -0.3, 0.0])
    tip = setsu.frame_pose(m, q, "left_fore")[:3, 3]
    sign = -np.sign(setsu.frame_velocity(m, q, v, "left_fore")[2])
    wall = setsu.SurfaceContact(
        "left_fore", (0, 0, 0), setsu.Plane((0, 0, sign), sign * float(tip[2])), friction=0.05, bilateral=False
    )
    assert_impact(m, q, v, [wall], 0.2, closed=True)


def test_batches_are_rows() -> None:
    m = setsu.sample_mechanisms.planar_arm(2)
    wall = setsu.SurfaceContact("link2", (0.5, 0, 0), setsu.Plane((0, 0, 1), 0.0), friction=0.3, bilateral=False)
    q, v = np.array([[0.3, -0.6], [0.0, 0.0]]), np.array([[-1.0, 0.2], [1.0, 0.0]])
    many = setsu.impulse_dynamics_derivatives(m, q, v, [wall])
    for k in range(2):
        one = setsu.impulse_dynamics_derivatives(m, q[k], v[k], [wall])
        np.testing.assert_allclose(many.dq[k], one.dq, atol=1e-12)
    np.testing.assert_allclose(many.dv[1], np.eye(2), atol=1e-13)  # it leaves: no impulse
