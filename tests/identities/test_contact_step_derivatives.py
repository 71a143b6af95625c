"""Derivatives of a step through contact, against fourth-order differences in tangent coordinates.

Once of the step solved to rounding, its contacts in their modes: 1e-8 of the largest entry. And once of the machine's
own step, which is solved to a nanometre: from states that land within the step, so that no contact is at the boundary
of its mode, differences over e see that nanometre as 1e-9 m/(h e) of a velocity at most.
"""

from __future__ import annotations

import numpy as np
import pytest
from identities.contact_step_map import ContactStep

import setsu

H = 1e-3
FLOOR = setsu.Environment.floor()


def box_state(speed: tuple[float, ...], gap: float = 0.0) -> tuple[setsu.Mechanism, np.ndarray, np.ndarray]:
    m = setsu.sample_mechanisms.floating_box()
    q = m.neutral()
    q[2] = 0.1 + gap
    return m, q, np.array(speed)


def quadruped_state(gap: float = 0.0) -> tuple[setsu.Mechanism, np.ndarray, np.ndarray, setsu.JointServo]:
    """On four feet, its joints held by a servo."""
    m = setsu.sample_mechanisms.quadruped()
    bent = np.array([0.0, 0.6, -1.2] * 4)
    q = m.neutral()
    q[7:] = bent
    foot = setsu.frame_pose(m, q, "fl_shank") @ [0.0, 0.0, -0.2, 1.0]
    q[2] = 0.02 - foot[2] + gap
    base = np.zeros(6)
    servo = setsu.JointServo(
        kp=np.r_[base, np.full(12, 200.0)], kd=np.r_[base, np.full(12, 5.0)], position=np.r_[base, bent]
    )
    return m, q, np.zeros(m.nv), servo


def whole(d: setsu.simulation.step_derivatives.StepDerivatives) -> np.ndarray:
    return np.block([[d.dq_dq, d.dq_dv, d.dq_dtau], [d.dv_dq, d.dv_dv, d.dv_dtau]])


def shifted(m: setsu.Mechanism, q, v, tau, e: np.ndarray) -> list[np.ndarray]:
    """States (4 · 3 nv, ...) at -2, -1, 1, 2 times e (3 nv,) along every coordinate, velocity and torque."""
    steps = np.array([-2.0, -1.0, 1.0, 2.0])[:, None, None] * np.diag(e)
    flat = steps.reshape(-1, 3 * m.nv)
    nv = m.nv
    Q = setsu.integrate(m, np.broadcast_to(q, (len(flat), m.nq)).copy(), flat[:, :nv], 1.0)
    return [Q, v + flat[:, nv : 2 * nv], tau + flat[:, 2 * nv :]]


def slopes(m: setsu.Mechanism, q0: np.ndarray, q: np.ndarray, v: np.ndarray, e: np.ndarray) -> np.ndarray:
    reached = np.broadcast_to(q0, q.shape).copy()
    y = np.concatenate([setsu.difference(m, reached, q), v], axis=-1).reshape(4, 3 * m.nv, -1)
    return ((8.0 * (y[2] - y[1]) - (y[3] - y[0])) / (12.0 * e[:, None])).T


def assert_blocks(m: setsu.Mechanism, found: np.ndarray, expected: np.ndarray, relative: float) -> None:
    for rows in (slice(0, m.nv), slice(m.nv, None)):
        for k in range(3):
            columns = slice(k * m.nv, (k + 1) * m.nv)
            block = expected[rows, columns]
            size = np.abs(expected[rows]).max()  # not rounding: error of the differences
            np.testing.assert_allclose(found[rows, columns], block, rtol=0, atol=relative * size)


class SolvedStep:
    """A step in the modes of a world's last one, its impulses found to rounding by a chord method of its own."""

    def __init__(self, sim: setsu.Simulator, tau: np.ndarray) -> None:
        block, kept = sim._blocks[0], sim.save()
        before = {"recovery_share": block.motion.recovery_share.copy(), "energies": block.motion.energies.copy()}
        q, v = sim.q, sim.v
        sim.step(tau)
        self.step = ContactStep(block, q, v, before)
        sim.restore(kept)
        s = self.step
        self.slides, self.mu = s.slides[s.closed], s.friction[s.closed]
        self.torque = s.torque - tau
        lam, n = s.lam[None], s.lam.size
        e = 1e-4 * np.abs(lam).max()
        around = lam + e * np.concatenate([np.eye(n), -np.eye(n)]).reshape(2 * n, *lam.shape[1:])
        R = self.residual(*(np.repeat(x[None], 2 * n, axis=0) for x in (q, v, tau)), around)[0]
        self.chord = np.linalg.inv(((R[:n] - R[n:]) / (2 * e)).T)

    def residual(self, q, v, tau, lam):
        found = self.step.evaluate(q, v, tau + self.torque, lam)
        R = found.w.copy()
        for k in np.flatnonzero(self.slides):
            along = R[:, k, 1:] / np.linalg.norm(R[:, k, 1:], axis=-1, keepdims=True)
            R[:, k, 1:] = lam[:, k, 1:] + self.mu[k] * lam[:, k, :1] * along
        return R.reshape(len(R), -1), found

    def ended(self, q, v, tau):
        lam = np.repeat(self.step.lam[None], len(q), axis=0)
        for _ in range(40):
            R, found = self.residual(q, v, tau, lam)
            lam = lam - (R @ self.chord.T).reshape(lam.shape)
        assert np.abs(R).max() < 1e-12  # not rounding: where Newton of this test ends
        return found.q, found.v


@pytest.mark.parametrize("case", ["sliding box", "spinning box", "sticking box", "pushed-in box", "quadruped"])
def test_the_step_solved_to_rounding(case: str) -> None:
    options: dict = {}
    tau = None
    if case == "quadruped":
        m, q, v, servo = quadruped_state()
        options["torque"] = servo
    elif case == "sticking box":
        m, q, v = box_state((0.0,) * 6)
        tau = np.array([3.0, 1.0, 0.0, 0.0, 0.0, 0.1])
    elif case == "pushed-in box":
        m, q, v = box_state((0.5, 0.2, 0.0, 0.0, 0.0, 0.3), gap=-1e-5)
    else:
        turn = 0.3 if case == "sliding box" else 4.0
        m, q, v = box_state((0.5, 0.2, 0.0, 0.0, 0.0, turn))
    tau = np.zeros(m.nv) if tau is None else tau
    sim = setsu.Simulator(m, step=H, environment=FLOOR, **options)
    sim.reset(q, v)
    d = sim.derivatives(tau)
    np.testing.assert_array_equal(sim.q, setsu.integrate(m, q, np.zeros(m.nv), 1.0))  # nothing has moved
    assert d.boundaries == ()
    # A gap that changes is closed within the step, by an impact of 1/h times as much; a depth is taken back slowly.
    solved = SolvedStep(sim, tau)
    e = np.repeat([1e-3 if case == "pushed-in box" else 1e-3 * H, 1e-3, 1e-3], m.nv)
    solved.step.out = np.full(len(solved.step.listed), case == "pushed-in box")
    q0 = solved.ended(q[None], v[None], tau[None])[0]
    np.testing.assert_allclose(
        setsu.difference(m, q0[0], d.q), 0.0, atol=2e-9
    )  # not rounding: where Newton of the machine ends
    Q1, V1 = solved.ended(*shifted(m, q, v, tau, e))
    assert_blocks(m, whole(d), slopes(m, q0, Q1, V1, e), 1e-8)


@pytest.mark.parametrize("case", ["sliding box", "sticking box", "quadruped", "flight"])
def test_the_step_of_the_machine(case: str) -> None:
    options: dict = {}
    size, allowed = 2e-6, 1e-9 / (H * 2e-6 * 1e3)  # a nanometre, of the largest entry 1/h
    if case == "quadruped":
        m, q, v, servo = quadruped_state(gap=1e-5)
        v[[0, 2]] = 0.02, -0.05
        options["torque"] = servo
    elif case == "flight":
        m, q, _, servo = quadruped_state(gap=0.3)
        v, size, allowed = np.random.default_rng(0).standard_normal(m.nv), 1e-3, 1e-9
        options["torque"] = servo
    else:
        m, q, v = box_state((0.5, 0.2, -0.05, 0.0, 0.0, 0.3) if case == "sliding box" else (0, 0, -0.05, 0, 0, 0), 1e-5)
    tau, e = np.zeros(m.nv), np.full(3 * m.nv, size)
    sim = setsu.Simulator(m, step=H, environment=FLOOR, **options)
    sim.reset(q, v)
    d = sim.derivatives(tau)
    ends = []
    for state in zip(*shifted(m, q, v, tau, e), strict=True):
        sim.reset(*state[:2])
        sim.step(state[2])
        ends.append((sim.q, sim.v))
    Q1, V1 = (np.array([end[k] for end in ends]) for k in range(2))
    assert_blocks(m, whole(d), slopes(m, d.q[None], Q1, V1, e), allowed)


def test_boundaries_are_told_and_worlds_are_single_worlds() -> None:
    """Friction at its limit holds or lets go: the derivative is that of the mode found."""
    m, q, v = box_state((0.0,) * 6)
    sim = setsu.Simulator(m, step=H, environment=FLOOR, count=2)
    sim.reset(np.stack([q, q]), np.stack([v, v]))
    pull = np.zeros((2, 6))
    pull[:, 0] = 0.5 * 6.0 * 9.81 * (1.0 - 1e-8), 1.0
    d = sim.derivatives(pull)
    assert d.boundaries
    assert all(text.startswith("world 0: ") and "sticks or slides" in text for text in d.boundaries)
    one = setsu.Simulator(m, step=H, environment=FLOOR)
    one.reset(q, v)
    np.testing.assert_array_equal(one.derivatives(pull[1]).dv_dv, d.dv_dv[1])


def test_what_is_not_differentiated_is_refused_by_name() -> None:
    m, q, v = box_state((0.0, 0.0, -3.0, 0.0, 0.0, 0.0), gap=1e-5)
    ball = setsu.sample_mechanisms.floating_box(material=setsu.Material(restitution=0.8))
    sim = setsu.Simulator(ball, step=H, environment=FLOOR)
    sim.reset(q, v)
    with pytest.raises(setsu.InputError, match="bounces"):
        sim.derivatives(np.zeros(6))
    sim = setsu.Simulator(m, step=H, environment=FLOOR, contact_solver="sugihara2002")
    sim.reset(q, v)
    with pytest.raises(setsu.InputError, match="sugihara2002"):
        sim.derivatives(np.zeros(6))


def stool_state(gap: float) -> tuple[setsu.Mechanism, np.ndarray, np.ndarray]:
    """Three legs on hips that are about to reach their stops, feet `gap` above the floor, along which they slide: where
    feet stick and stops hold, more is held than moves, and differences meet other modes."""
    b = setsu.MechanismBuilder("stool")
    b.add_body("base", joint=setsu.Free(name="base"), mass=3.0, inertia=np.diag([0.03, 0.04, 0.05]))
    for k, (x, y) in enumerate([(0.2, 0.1), (0.2, -0.1), (-0.2, 0.0)]):
        hip = setsu.Revolute((0.0, 1.0, 0.0), lower=-0.3, upper=0.3, name=f"hip{k}")
        inertia = np.diag([0.004, 0.004, 0.001])
        b.add_body(
            f"leg{k}", "base", hip, setsu.placement((x, y, 0.0)), mass=0.4, center_of_mass=(0.01, 0, -0.15),
            inertia=inertia,
        )  # fmt: skip
        b.add_contact_points(f"leg{k}", (0.0, 0.0, -0.3), setsu.Material(0.8))
    m = b.build()
    q, v = m.neutral(), np.zeros(m.nv)
    q[7:], v[6:] = [0.3 - 1e-5, 0.3 - 1e-5, -0.3 + 1e-5], [0.3, 0.2, -0.25]
    q[2] = gap + 0.3 * np.cos(q[7])
    v[[0, 1, 2]] = 0.5, 0.2, -0.05
    return m, q, v


@pytest.mark.parametrize("place", ["in the air", "on its feet"])
def test_stops_of_joints(place: str) -> None:
    """Joints that reach their stops within the step, alone and while feet land; a stop far away changes nothing."""
    m, q, v = stool_state(0.3 if place == "in the air" else 1e-5)
    tau, e = np.zeros(m.nv), np.full(3 * m.nv, 2e-6)
    sim = setsu.Simulator(m, step=H, environment=FLOOR, joint_stops=True)
    sim.reset(q, v)
    d = sim.derivatives(tau)
    assert d.boundaries == ()
    ends = []
    for state in zip(*shifted(m, q, v, tau, e), strict=True):
        sim.reset(*state[:2])
        sim.step(state[2])
        ends.append((sim.q, sim.v))
    Q1, V1 = (np.array([end[k] for end in ends]) for k in range(2))
    assert_blocks(m, whole(d), slopes(m, d.q[None], Q1, V1, e), 1e-9 / (H * 2e-6 * 1e3))
    assert np.abs(d.dv_dq[6:]).max() > 100.0  # a stop's velocity is its gap over the step
    q[7:] = 0.0
    q[2] += 0.1
    free = setsu.Simulator(m, step=H, environment=FLOOR)
    for world in (sim, free):
        world.reset(q, v)
    np.testing.assert_array_equal(whole(sim.derivatives(tau)), whole(free.derivatives(tau)))
