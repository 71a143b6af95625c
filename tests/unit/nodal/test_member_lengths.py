"""The member-length matrix: its pattern, and that L T P is the torque on any mechanism."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from unit.nodal.mechanisms import MECHANISMS

import setsu
from setsu.sample_mechanisms import planar_arm, random_tree


def bare(m: setsu.Mechanism) -> setsu.Mechanism:
    """The mechanism without armature, joint friction and joint springs."""
    keys = ("armature", "damping", "coulomb", "stiffness")

    def strip(joint: setsu.Joint) -> setsu.Joint:
        return dataclasses.replace(joint, **{key: np.zeros_like(getattr(joint, key)).tolist() for key in keys})

    bodies = tuple(dataclasses.replace(body, joint=strip(body.joint)) if body.joint.nv else body for body in m.bodies)
    return dataclasses.replace(m, bodies=bodies)


def curve(m: setsu.Mechanism, samples: int, h: float) -> tuple[np.ndarray, np.ndarray]:
    """A motion of any mechanism: along a wave in the tangent at a random configuration."""
    rng = np.random.default_rng(7)
    t = np.arange(samples) * h
    wave = 0.4 * np.sin(np.outer(t, rng.uniform(1.0, 4.0, m.nv)) + rng.uniform(0.0, 6.0, m.nv))
    return t, setsu.integrate(m, np.tile(m.random_configuration(1), (samples, 1)), wave, 1.0)


FLOATING = {
    "floating base with ball joints": lambda: random_tree(
        4, n_bodies=6, floating_base=True, joint_types=[setsu.Spherical, setsu.Revolute, setsu.Prismatic]
    )
}


@pytest.mark.parametrize("h", [2e-2, 1e-4])
@pytest.mark.parametrize("name", {**MECHANISMS, **FLOATING})
def test_lengths_times_forces_are_the_torques(name: str, h: float) -> None:
    """L.matrix @ L.transformation(q[k]) @ P[k] to 1e-12, also where differences magnify rounding by 1/h² = 1e8."""
    m = bare({**MECHANISMS, **FLOATING}[name]())
    t, q = curve(m, 12, h)
    L, P = setsu.member_length_matrix(m), setsu.nodal_forces(m, t, q)
    torque = setsu.nodal_inverse_dynamics(m, t, q)
    assert L.matrix.shape[0] == m.nv
    scale = max(1.0, float(np.abs(torque).max()))
    for k in (0, 1, 5, 11):
        T = L.transformation(q[k])
        assert T.shape == (L.matrix.shape[1], P.shape[1])
        # Forces cancel in the sum: rounding is that of the largest term, not of the torque.
        terms = float((np.abs(L.matrix) @ np.abs(T) @ np.abs(P[k])).max())
        assert np.abs(L.matrix @ T @ P[k] - torque[k]).max() <= 1e-12 * scale + 4e-16 * terms


@pytest.mark.parametrize(
    "options", [{"scheme": "newmark", "average": False}, {"smoothing": 2}], ids=["plain", "smooth"]
)
def test_the_same_for_other_schemes_and_exerted_forces(options: dict) -> None:
    m = bare(MECHANISMS["UR10"]())
    t, q = curve(m, 30, 1e-2)
    more = {
        "tip_forces": {m.body_names[-1]: setsu.TipForce((0.1, 0, 0), (1.0, 2.0, 3.0), (0.1, 0.2, 0.3))},
        "held_objects": [setsu.HeldObject(2.0, [(m.body_names[-1], (0.0, 0.0, 0.1))], 0.01, during=(0.1, 0.2))],
    }
    L, P = setsu.member_length_matrix(m), setsu.nodal_forces(m, t, q, **options, **more)
    torque = setsu.nodal_inverse_dynamics(m, t, q, **options, **more)
    if "smoothing" in options:
        # A cubic passes through its middle sample only to the order of the filter.
        from setsu.nodal.smoothing import smoothed

        q = smoothed(m, q, 1e-2, 2, np.arange(30), 29)[0]
    for k in range(30):
        np.testing.assert_allclose(
            L.matrix @ L.transformation(q[k]) @ P[k], torque[k], atol=1e-12 * np.abs(torque).max()
        )


def test_member_length_matrix_follows_the_structure() -> None:
    """Chain: upper triangle (4). Two chains: two triangles (5). Branch: extra rows (6)."""
    assert str(setsu.member_length_matrix(planar_arm(3))) == "L1 L2 L3\n . L2 L3\n .  . L3"
    b = setsu.MechanismBuilder("two chains and a branch")
    for name, parent in [("a1", "world"), ("a2", "a1"), ("a3", "a2"), ("b1", "a2"), ("c1", "world"), ("c2", "c1")]:
        b.add_body(
            name, parent=parent, joint=setsu.Revolute((0, 1, 0)), placement=setsu.placement((0.5, 0, 0)), mass=1.0
        )
    L = setsu.member_length_matrix(b.build())
    expected = ["111100", "011100", "001000", "000100", "000011", "000001"]
    assert ["".join("01"[int(entry)] for entry in row) for row in L.carried] == expected
    assert L.children[1] == (2, 3)
    assert [block.shape for block in L.blocks] == [(3, 9), (3, 12), (3, 6), (3, 6), (3, 9), (3, 6)]
    assert L.spans[-1].stop == 48
    np.testing.assert_array_equal(L.blocks[0][:, 6:], setsu.spatial.skew((0.5, 0, 0)))
    # Lengths and ones only: 0, 0.5 and 1.
    assert set(np.unique(L.matrix)) <= {0.0, 0.5, 1.0}
    assert L.plot().axes[0].get_xlabel() == "force of link"


def test_a_wrong_configuration_is_refused() -> None:
    with pytest.raises(setsu.InputError, match="q: expected 2 numbers, got an array of shape"):
        setsu.member_length_matrix(planar_arm(2)).transformation([0.0])
