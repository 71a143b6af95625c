"""Which collision shapes of a mechanism may touch each other, and what they are like.

Every two shapes on two moving bodies that no joint ties together make a pair.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.mechanism import Material, Mechanism, Shape

__all__ = ["MARGIN", "POINTS_PER_PAIR", "PlacedShape", "ShapePairs", "shape_pairs"]

Floats = NDArray[np.float64]

MARGIN = 1e-3
"""Shapes count from this distance on (m), plus what they can travel towards each other in two steps."""
POINTS_PER_PAIR = 8
"""Largest number of contacts between two shapes."""


@dataclass(frozen=True)
class PlacedShape:
    """A collision shape on a moving body: number of the body, pose (4, 4) in its frame, name of who carries it."""

    body: int
    owner: str
    shape: Shape
    pose: Floats
    material: Material


@dataclass(frozen=True)
class ShapePairs:
    """Shapes on moving bodies, and the pairs of them that may touch.

    pairs: numbers of two shapes. log: for each the number of its two bodies in body_pairs, which names them as contacts
    do, the body of the second shape first, sorted.
    """

    shapes: tuple[PlacedShape, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    log: tuple[int, ...] = ()
    body_pairs: tuple[tuple[int, int], ...] = ()

    @property
    def room(self) -> int:
        """Largest number of contacts between bodies."""
        return POINTS_PER_PAIR * len(self.pairs)


def shape_pairs(mechanism: Mechanism) -> ShapePairs:
    """Return the pairs of a mechanism."""
    m = mechanism
    shapes = [
        PlacedShape(m.frame(body.name).body, body.name, shape, _pose(m, body.name, shape), _material(m, body.name))
        for body in m.bodies
        for shape in body.collisions
        if m.frame(body.name).body >= 0
    ]
    tied = {frozenset((m.frame(b.name).body, m.frame(b.parent).body)) for b in m.moving}
    bodies = [shape.body for shape in shapes]
    pairs = [
        (i, j)
        for i, j in itertools.combinations(range(len(bodies)), 2)
        if bodies[i] != bodies[j] and frozenset((bodies[i], bodies[j])) not in tied
    ]
    named = [(bodies[j], bodies[i]) for i, j in pairs]
    body_pairs = sorted(set(named))
    number = {pair: k for k, pair in enumerate(body_pairs)}
    return ShapePairs(tuple(shapes), tuple(pairs), tuple(number[pair] for pair in named), tuple(body_pairs))


def _pose(m: Mechanism, body: str, shape: Shape) -> Floats:
    return m.frame(body).pose.matrix @ shape.pose.matrix


def _material(m: Mechanism, body: str) -> Material:
    """That of the body's first contact point."""
    return next((point.material for point in m.contact_points if point.body == body), Material())
