"""Loops unrolled for one mechanism give the bits of the loops, whatever the joints, in rows and in batches."""

from __future__ import annotations

import numpy as np
import pytest

import setsu
from setsu import sample_mechanisms
from setsu.dynamics.catalogue import native_function, unrolled_function
from setsu.simulation import tree_machine


def _all_joints() -> setsu.Mechanism:
    b = setsu.MechanismBuilder("all joints")
    inertia = np.diag([0.02, 0.03, 0.025])
    b.add_body("base", "world", setsu.Free("base"), None, 2.0, (0.01, 0.02, 0.0), inertia)
    ball = setsu.Spherical("ball", damping=0.01)
    b.add_body("arm", "base", ball, setsu.placement((0.2, 0.0, 0.0)), 1.0, (0.1, 0.0, 0.02), inertia)
    screw = setsu.Helical((0, 0, 1), "screw", pitch=0.05)
    b.add_body("nut", "base", screw, setsu.placement((0.0, 0.2, 0.1)), 0.7, (0.0, 0.05, 0.0), inertia)
    hinge = setsu.Revolute((0, 1, 0), "hinge", damping=0.02, stiffness=0.3, spring_rest=0.1, armature=0.01)
    b.add_body("hand", "arm", hinge, setsu.placement((0.3, 0.0, 0.0)), 0.5, (0.1, 0.0, 0.0), inertia)
    b.add_body("slide", "hand", setsu.Prismatic((1, 0, 0), "slide"), None, 0.3, (0.0, 0.0, 0.0), inertia)
    return b.build()


MECHANISMS = {
    "pendulum": sample_mechanisms.pendulum,
    "PUMA 560": sample_mechanisms.puma560,
    "quadruped": sample_mechanisms.quadruped,
    "all joints": _all_joints,
}


def _bits(a: np.ndarray) -> bytes:
    return (a + 0.0).tobytes()  # the sign of a zero is all that may differ


@pytest.mark.thin(2)
@pytest.mark.parametrize("name", MECHANISMS)
def test_unrolled_loops_give_the_bits_of_loops(name: str) -> None:
    m, random = MECHANISMS[name](), np.random.default_rng(7)
    q = np.array([m.random_configuration(seed) for seed in range(11)])
    v, tau = random.normal(size=(2, 11, m.nv))
    v[0], tau[1] = 0.0, 0.0
    loops, unrolled = native_function(m, "forward_dynamics"), unrolled_function(m, "forward_dynamics")
    assert unrolled is not None
    assert _bits(unrolled(q, v, tau)) == _bits(loops(q, v, tau))
    assert _bits(unrolled(q[3], v[3], tau[3])) == _bits(loops(q[3], v[3], tau[3]))


def test_kernels_with_loops_inside_loops_are_left_to_tables() -> None:
    assert unrolled_function(sample_mechanisms.puma560(), "forward_dynamics composite") is None


def test_worlds_go_on_with_the_same_bits_when_code_for_them_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """After some of their steps many worlds go on in unrolled code: rows stay those of single runs."""
    m = sample_mechanisms.puma560()
    q = np.random.default_rng(1).uniform(-1.0, 1.0, (9, m.nv))
    monkeypatch.setattr(tree_machine, "_WORTH_UNROLLING", 9 * 25)
    many, single = setsu.Simulator(m, 1e-3, count=9), setsu.Simulator(m, 1e-3)
    many.reset(q, np.zeros_like(q))
    loops = many._blocks[0].work.forward.copy()
    many.step(steps=20)
    assert (many._blocks[0].work.forward == loops).all()
    many.step(steps=30)
    assert (many._blocks[0].work.forward != loops).any()
    single.reset(q[4], np.zeros(m.nv))
    single.step(steps=50)
    assert many.q[4].tobytes() == single.q.tobytes()
    assert many.v[4].tobytes() == single.v.tobytes()
