"""Mechanisms and motions on which the nodal method is tried."""

from __future__ import annotations

import numpy as np

import setsu
from setsu.benchmarks.subjects import robot_file
from setsu.sample_mechanisms import (
    delta_robot,
    planar_arm,
    random_tree,
    seven_joint_arm,
    stanford_arm,
    stewart_platform,
    ur10,
)

__all__ = ["MECHANISMS", "TREES", "branched", "file_robot", "waves"]


def branched() -> setsu.Mechanism:
    """A planar trunk of two links that carries two branches, as in isobe2003 Fig. 3 (c)."""
    b = setsu.MechanismBuilder("branched")
    for name, parent in [("a1", "world"), ("a2", "a1"), ("a3", "a2"), ("b1", "a2"), ("b2", "b1")]:
        b.add_body(
            name,
            parent,
            setsu.Revolute((0, -1, 0)),
            placement=setsu.placement((0.0 if parent == "world" else 0.4, 0, 0)),
            mass=1.0,
            center_of_mass=(0.2, 0, 0),
            inertia=np.diag([1e-4, 0.0133, 0.0133]),
        )
    return b.build()


def file_robot(name: str) -> setsu.Mechanism:
    """A robot from a file of the package example-robot-data."""
    path = robot_file(name)
    assert path is not None
    return setsu.load(path)


TREES = {
    "planar 3R": lambda: planar_arm(3),
    "branched": branched,
    "Panda": lambda: file_robot("panda"),
    "UR5 from URDF": lambda: file_robot("ur5"),
    "UR10": ur10,
    "Stanford arm": stanford_arm,
    "seven joints": seven_joint_arm,
    "24 joints, some sliding": lambda: random_tree(5, n_bodies=24, joint_types=[setsu.Revolute, setsu.Prismatic]),
    "joints with several axes": lambda: random_tree(
        2,
        n_bodies=8,
        joint_types=[setsu.Revolute, setsu.Cylindrical, setsu.Universal, setsu.Planar, setsu.Helical],
        damping=True,
        armature=True,
        stiffness=True,
    ),
}
MECHANISMS = {**TREES, "Stewart platform, cut": stewart_platform, "Delta robot, cut": delta_robot}


def waves(m: setsu.Mechanism, samples: int, seconds: float = 1.0, end: int | None = None):
    """Sines with seeded amplitudes, rates and phases along the tangent at a configuration: time, q, v, a."""
    rng = np.random.default_rng(0)
    t = np.arange(samples) * (seconds / ((end or samples) - 1))
    size, rate, phase = rng.uniform(-0.6, 0.6, m.nv), rng.uniform(1.0, 4.0, m.nv), rng.uniform(0.0, 6.0, m.nv)
    angle = np.outer(t, rate) + phase
    return t, size * np.sin(angle), size * rate * np.cos(angle), -size * rate**2 * np.sin(angle)
