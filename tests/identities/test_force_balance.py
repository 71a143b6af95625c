"""Newton and Euler on every body of recorded runs: forces of joints, loops, stops, contacts and weight make its motion.

For each body, about its center of mass c, from recorded q, v, a alone:
    f = m (a_c - g),  n = I ω' + ω x I ω                                                  (1)
must be what the recorded wrenches sum up to: of its parent, less those of its children, and of loops and contacts. (1)
alone is met by any wrench of a loop, since wrenches of parents follow from it. But a joint transmits along its own axes
what acts there and nothing else:
    S·(wrench of the parent) = torque + stop + friction - d v - k (q - q_0) - armature a   (2)
so that a free joint transmits nothing, and neither does a free axis of a loop joint beyond what acts along it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import setsu

DEEP = setsu.Environment.floor(height=-50.0)
JOINTS: dict[str, Any] = {
    "Fixed": lambda **_: setsu.Fixed(),
    "Revolute": lambda **options: setsu.Revolute((0, 1, 0), **options),
    "Prismatic": lambda **options: setsu.Prismatic((0, 0, 1), **options),
    "Helical": lambda **options: setsu.Helical((0, 1, 0), pitch=0.1, **options),
    "Cylindrical": lambda **options: setsu.Cylindrical((0, 0, 1), **options),
    "Universal": lambda **options: setsu.Universal((0, 1, 0), **options),
    "Spherical": lambda **options: setsu.Spherical(**options),
    "Planar": lambda **options: setsu.Planar((0, 0, 1), **options),
}
ACTING: dict[str, dict[str, Any]] = {
    "stops": {"lower": -0.02, "upper": 0.02},
    "spring and damper": {"stiffness": 20.0, "spring_rest": 0.1, "damping": 0.5},
    "drive": {"armature": 0.2},
    "friction": {"coulomb": 0.4},
    "all": {"lower": -0.01, "upper": 0.01, "stiffness": 5.0, "damping": 0.1, "armature": 0.05, "coulomb": 0.1},
}

_NOT_OF_SPHERES = ("lower", "upper", "stiffness", "spring_rest")  # those that close loops have neither


def hanging(kind: str, on_lever: dict[str, Any], on_link: dict[str, Any]) -> setsu.Mechanism:
    """A lever on the world, and a body that hangs on it by a joint that closes a loop alone: its own joint is free."""
    b = setsu.MechanismBuilder(kind)
    lever = setsu.Revolute((0, -1, 0), name="lever", **{**on_lever, "lower": -0.5, "upper": 0.05})
    inertia = np.diag([0.01, 0.02, 0.03])
    b.add_body("lever", joint=lever, mass=1.0, center_of_mass=(0.3, 0, 0), inertia=inertia)
    b.add_body("load", joint=setsu.Free(name="load"), mass=2.0, center_of_mass=(0.1, 0.05, 0.02), inertia=2.0 * inertia)
    b.add_contact_points("load", [[0.1, 0.0, 0.0]])
    at = setsu.placement((0.6, 0, 0)), setsu.placement((0.0, 0.2, 0.1))
    b.add_loop("link", "lever", "load", JOINTS[kind](**on_link), *at)
    return b.build()


def _matrix(inertia: Any) -> np.ndarray:
    xx, xy, xz, yy, yz, zz = inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def balance(m: setsu.Mechanism, rec: setsu.Recording, contact: np.ndarray | None = None) -> np.ndarray:
    """What is missing in (1) on the bodies of a run, at their centers, (T, n_bodies, 6); contact: at origins."""
    poses, V = setsu.body_poses(m, rec.q), setsu.body_velocities(m, rec.q, rec.v)
    A = setsu.body_accelerations(m, rec.q, rec.v, rec.acceleration)
    centers, missing = np.zeros((len(rec.q), m.n_bodies, 3)), np.zeros((len(rec.q), m.n_bodies, 6))

    def act(body: int, wrench: np.ndarray, place: np.ndarray, sign: float) -> None:
        if body >= 0:
            arm = place - centers[:, body]
            missing[:, body, :3] += sign * wrench[:, :3]
            missing[:, body, 3:] += sign * (wrench[:, 3:] + np.cross(arm, wrench[:, :3]))

    for k, body in enumerate(m.moving):
        R, w, alpha = poses[:, k, :3, :3], V[:, k, 3:], A[:, k, 3:]
        arm = R @ np.array(body.center_of_mass)
        centers[:, k] = poses[:, k, :3, 3] + arm
        own = R @ _matrix(body.inertia) @ np.swapaxes(R, 1, 2)
        a = A[:, k, :3] + np.cross(alpha, arm) + np.cross(w, np.cross(w, arm))
        missing[:, k, :3] -= body.mass * (a - np.array(m.gravity))
        turn = np.einsum("tij,tj->ti", own, w)
        missing[:, k, 3:] -= np.einsum("tij,tj->ti", own, alpha) + np.cross(w, turn)
    for k, body in enumerate(m.moving):
        act(k, rec.joint_wrenches[:, k], poses[:, k, :3, 3], 1.0)
        act(m.frame(body.parent).body, rec.joint_wrenches[:, k], poses[:, k, :3, 3], -1.0)
        if contact is not None:
            act(k, contact[:, k], poses[:, k, :3, 3], 1.0)
    for k, loop in enumerate(m.loops):
        a, b = m.frame(loop.body_a), m.frame(loop.body_b)
        at = b.pose.matrix @ loop.pose_b.matrix
        pin = poses[:, b.body] @ at[:, 3] if b.body >= 0 else np.tile(at[:, 3], (len(rec.q), 1))
        act(b.body, rec.loop_wrench[:, k], pin[:, :3], 1.0)
        act(a.body, rec.loop_wrench[:, k], pin[:, :3], -1.0)
    return missing


def _run(m: setsu.Mechanism, environment: setsu.Environment | None, torque: float = 4.0) -> setsu.Recording:
    q, v, tau = m.neutral(), np.zeros(m.nv), np.zeros(m.nv)
    q[1:4] = (0.6, -0.2, -0.1)
    tau[0] = torque
    # Planar stops and friction beyond that time hold each other: simulate refuses to go on.
    duration = 0.17 if isinstance(m.loops[0].joint, setsu.Planar) else 0.25
    return setsu.simulate(m, q, v, duration, 1e-3, tau, joint_stops=True, environment=environment)


@pytest.mark.thin(3)
@pytest.mark.parametrize("environment", [None, DEEP], ids=["alone", "environment"])
@pytest.mark.parametrize("acting", ACTING)
@pytest.mark.parametrize("kind", JOINTS)
def test_joints_transmit_what_acts_along_their_axes(
    kind: str, acting: str, environment: setsu.Environment | None
) -> None:
    options = {key: x for key, x in ACTING[acting].items() if kind != "Spherical" or key not in _NOT_OF_SPHERES}
    m = hanging(kind, ACTING[acting], options)
    rec = _run(m, environment)
    if "upper" in options and kind != "Fixed":
        assert any(event.kind == "stop" and "link" in event.name for event in rec.events)
    weight = 3.0 * 9.81
    scale = weight + np.abs(rec.loop_wrench[:, 0]).max(axis=1)
    np.testing.assert_allclose(balance(m, rec) / scale[:, None, None], 0.0, atol=1e-13)
    # A step takes springs and dampers at its end: with an environment (2) holds to its first order.
    error = 1e-12 if environment is None else 1e-2
    np.testing.assert_allclose(rec.joint_wrenches[:, 1] / scale[:, None], 0.0, atol=error)
    lever: Any = m.moving[0].joint
    q, v = rec.q[:, 0], rec.v[:, 0]
    law = 4.0 - lever.damping[0] * v - lever.stiffness[0] * (q - lever.spring_rest[0])
    beyond = (-rec.joint_wrenches[:, 0, 4] - law + lever.armature[0] * rec.acceleration[:, 0]) / scale
    dry = lever.coulomb[0] / scale
    stopped = np.abs(q - lever.upper[0]) < 1e-6
    moves = ~stopped & (np.abs(v) > 1e-2)
    assert moves.sum() > 5
    np.testing.assert_allclose(beyond[moves], (-np.sign(v) * dry)[moves], atol=error)
    assert (beyond <= dry + error).all()
    assert (beyond[~stopped] >= -dry[~stopped] - error).all()


@pytest.mark.parametrize("environment", [None, DEEP], ids=["alone", "environment"])
def test_a_stop_that_holds_loads_bearings_as_a_weld_does(environment: setsu.Environment | None) -> None:
    """The load rests on the stop of a slide in the loop while the lever swings: its bearing carries both."""
    bearing = {"bearing_friction": 0.3, "bearing_radius": 0.05}
    slide, weld = (hanging(kind, bearing, {"lower": 0.0}) for kind in ("Prismatic", "Fixed"))
    runs = [_run(m, environment, 10.0) for m in (slide, weld)]
    smooth = _run(hanging("Fixed", {}, {}), environment, 10.0)
    assert np.abs(smooth.q - runs[1].q).max() > 0.003
    error = 1e-9 if environment is None else 2e-4
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=error)
    np.testing.assert_allclose(runs[0].loop_wrench[5:], runs[1].loop_wrench[5:], atol=30.0 * error)


def test_a_stop_in_the_tree_loads_bearings_of_loops_in_an_environment() -> None:
    """The lever is pressed against its stop while the load swings on a bearing that closes the loop."""
    bearing = {"bearing_friction": 0.3, "bearing_radius": 0.05}
    runs = []
    for environment in (None, DEEP):
        m = hanging("Revolute", {}, bearing)
        m = replace(m, bodies=(replace(m.bodies[0], joint=replace(m.bodies[0].joint, upper=0.0)), *m.bodies[1:]))
        runs.append(_run(m, environment, 60.0))
    assert np.abs(runs[0].q[:, 0]).max() < 1e-9
    assert runs[0].ledger.joint_friction[-1] < -0.05
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=2e-3)
    assert runs[1].ledger.joint_friction[-1] == pytest.approx(runs[0].ledger.joint_friction[-1], rel=0.02)
