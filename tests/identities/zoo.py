"""A seeded zoo of mechanisms with states, for laws that hold whatever the mechanism.

Every draw holds all joint types, merged bodies behind fixed joints, branches, damping, dry friction, armature and joint
springs; half of the draws float. The joint types alone, as chains of three, follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from rounding import EPSILON, assert_law

import setsu
from setsu.sample_mechanisms import random_tree

# The bounds of these laws, by the names the tests of laws import.
__all__ = [
    "EPSILON", "NAMES", "STATES", "Animal", "animal", "assert_law", "over_the_zoo", "tangent", "times",
]  # fmt: skip

STATES = 3
JOINT_TYPES = ("Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Spherical", "Planar", "Fixed")
OPTIONS = {"damping": 0.5, "armature": 0.1, "coulomb": 0.3, "stiffness": 2.0}


@dataclass(frozen=True)
class Animal:
    """A mechanism and states: q (STATES, nq); v, a, tau (STATES, nv); external (STATES, n_bodies, 6)."""

    mechanism: setsu.Mechanism
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    external: np.ndarray

    def friction(self) -> np.ndarray:
        """Damping and dry friction, (STATES, nv)."""
        return self.mechanism.damping * self.v + self.mechanism.coulomb * np.sign(self.v)

    def joint_springs(self) -> np.ndarray:
        """Forces of the joint springs that the drives overcome, (STATES, nv)."""
        m, result = self.mechanism, np.zeros(self.v.shape)
        for body, where_q, where_v in zip(m.moving, m.q_slices, m.v_slices, strict=True):
            if body.joint.nq == body.joint.nv:
                stretch = self.q[:, where_q] - np.array(body.joint.spring_rest)
                result[:, where_v] = np.array(body.joint.stiffness) * stretch
        return result


def _animal(mechanism: setsu.Mechanism, seed: int) -> Animal:
    rng = np.random.default_rng(seed)
    q = np.array([mechanism.random_configuration(rng) for _ in range(STATES)])
    v, a, tau = rng.standard_normal((3, STATES, mechanism.nv))
    return Animal(mechanism, q, v, a, tau, rng.standard_normal((STATES, mechanism.n_bodies, 6)))


def _tree(seed: int, floating: bool) -> Animal:
    types = (*JOINT_TYPES, "Free") if seed % 4 == 3 else JOINT_TYPES
    branching = (0.0, 0.5, 1.0)[seed % 3]
    tree = random_tree(seed, n_bodies=11, joint_types=types, floating_base=floating, branching=branching, **OPTIONS)
    return _animal(tree, seed)


def _chain_of(joint_type: str) -> Animal:
    tree = random_tree(7, n_bodies=3, joint_types=[joint_type], branching=0.0, **OPTIONS)
    return _animal(tree, 7)


def _plain(seed: int) -> Animal:
    """Nothing but bodies and joints: the variant of code that leaves friction, springs and armature out."""
    return _animal(random_tree(seed, n_bodies=8, floating_base=seed % 2 == 1), seed)


_MAKERS: dict[str, Callable[[], Animal]] = {}
for _seed in range(8):
    for _floating in (False, True):
        _MAKERS[f"{'floating' if _floating else 'fixed'} {_seed}"] = lambda s=_seed, f=_floating: _tree(s, f)
for _type in (*JOINT_TYPES[:-1], "Free"):
    _MAKERS[f"chain of {_type}"] = lambda t=_type: _chain_of(t)
for _seed in range(2):
    _MAKERS[f"plain {_seed}"] = lambda s=_seed: _plain(s)
NIGHTLY = range(100, 260)
for _seed in NIGHTLY:
    _MAKERS[f"nightly {_seed}"] = lambda s=_seed: _tree(s, s % 2 == 1)


@cache
def animal(name: str) -> Animal:
    """Return an animal by name; the same one every time."""
    return _MAKERS[name]()


NAMES = [name for name in _MAKERS if not name.startswith("nightly")]
over_the_zoo = pytest.mark.parametrize(
    "name",
    [*NAMES, *(pytest.param(name, marks=pytest.mark.nightly) for name in _MAKERS if name.startswith("nightly"))],
)


def times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Matrix times vector, state by state."""
    return np.einsum("...ij,...j->...i", matrix, vector)


def tangent(m: setsu.Mechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """dq/dt (nq,) of one state: rates; ½ q ∘ (ω, 0) for quaternions; R v for the position of a free joint."""
    result = np.zeros(m.nq)
    for body, where_q, where_v in zip(m.moving, m.q_slices, m.v_slices, strict=True):
        rate, own = v[where_v], q[where_q]
        if body.joint.nq == body.joint.nv:
            result[where_q] = rate
            continue
        u, w, omega = own[-4:-1], own[-1], rate[-3:]
        turn = 0.5 * np.concatenate([w * omega + np.cross(u, omega), [-u @ omega]])
        if body.joint.nv == 6:
            cross = np.cross(u, rate[:3])
            travel = rate[:3] + 2.0 * (w * cross + np.cross(u, cross)) / (own[-4:] @ own[-4:])
            turn = np.concatenate([travel, turn])
        result[where_q] = turn
    return result
