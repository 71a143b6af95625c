"""Detection alone: 128 contact points over 64 polygons, with the broad phase and by trying every pair.

Sixteen boxes of eight points lie on, or hang above, a ground of 8 x 8 tiles at different heights. Both ways run in
compiled code and find the same contacts.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import setsu
from setsu.contact.scene import N_CONTACTS
from setsu.native.workspace import Workspace

__all__ = ["DetectionRow", "measure_detection"]


@dataclass(frozen=True)
class DetectionRow:
    """Microseconds of one pass over all points: with the broad phase, and over every pair; contacts found by both."""

    points: int
    polygons: int
    near: str
    broad_phase: float
    every_pair: float
    contacts: int


def measure_detection(repeats: int) -> list[DetectionRow]:
    """Measure with few and with all boxes at the ground."""
    from setsu.contact import detection
    from setsu.native.control_flow import jit

    find_near, gap_of, inside, world = (
        detection.find_near, detection._gap, detection._inside, detection.point_in_world,
    )  # fmt: skip

    @jit
    def with_tree(scene, problem, poses, count):
        for _ in range(count):
            find_near(scene, problem, poses, 5e-5, 5e-3)
        return problem.counts[N_CONTACTS]

    @jit
    def every_pair(scene, problem, poses, count):
        found = 0
        for _ in range(count):
            found = 0
            for point in range(len(scene.points)):
                p = scene.points[point]
                x, y, z = world(poses, p.body, p.position)
                for polygon in range(len(scene.polygons)):
                    gap = gap_of(scene, polygon, point, x, y, z)
                    if -5e-3 <= gap <= 5e-5 and inside(scene, polygon, x, y, z):
                        found += 1
        return found

    rows = []
    for near, low in (("2 of 16 boxes", 2), ("all boxes", 16)):
        run = _scene(low)
        scene, problem, poses = Workspace(run.scene), Workspace(run.problem), run.motion.poses
        times = []
        for function in (with_tree, every_pair):
            found = function(scene, problem, poses, 1)
            best = float("inf")
            for _ in range(repeats):
                start = time.perf_counter()
                function(scene, problem, poses, 20)
                best = min(best, (time.perf_counter() - start) / 20)
            times.append((1e6 * best, int(found)))
        if times[0][1] != times[1][1]:
            raise AssertionError(f"the broad phase found {times[0][1]} contacts, all pairs {times[1][1]}")
        rows.append(DetectionRow(128, 64, near, times[0][0], times[1][0], times[0][1]))
    return rows


def _scene(low: int) -> Any:
    """A run, ready to begin, in which so many boxes touch the ground and the others are 0.3 m above it."""
    b = setsu.MechanismBuilder("boxes")
    corners = list(itertools.product((-0.1, 0.1), repeat=3))
    for k in range(16):
        b.add_body(f"box{k}", joint=setsu.Free(name=f"free{k}"), mass=1.0, inertia=np.eye(3) * 0.01)
        b.add_contact_points(f"box{k}", corners)
    m = b.build()
    height = np.random.default_rng(0).uniform(-0.05, 0.05, (8, 8))
    square = np.array([(0, 0), (1, 0), (1, 1), (0, 1)]) * 0.5
    tiles = [
        setsu.Polygon([(*(square[c] + [0.5 * i - 2, 0.5 * j - 2]), height[i, j]) for c in range(4)])
        for i in range(8)
        for j in range(8)
    ]
    q = m.neutral()
    for k in range(16):
        i, j = 2 * (k % 4), 2 * (k // 4)
        q[7 * k : 7 * k + 3] = 0.5 * i - 1.75, 0.5 * j - 1.75, height[i, j] + 0.1 + (0.0 if k < low else 0.3)
    sim = setsu.Simulator(m, 1e-3, environment=setsu.Environment(tiles))
    sim.reset(q, np.zeros(m.nv))
    return sim._blocks[0]
