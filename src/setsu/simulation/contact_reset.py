"""A world with an environment that begins anew: one copy of the image it was made with, its state, and a look at it.

What a run remembers of contacts stands in the world's arena (contact_arena.py), and so does room for the contacts of a
step, which is most of it and of which few rows are ever used: rows are filled from the first on, and a row that was
never filled has the stiffness 0. Only rows that were are put back.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.contact.detection import point_in_world
from setsu.contact.free_motion import (
    MASS_MATRIX,
    POSES_NEXT,
    POTENTIAL,
    POTENTIAL_ENERGY,
    POTENTIAL_NEXT,
    StepState,
    V,
)
from setsu.contact.held_rows import HeldRows
from setsu.contact.scene import Problem, Scene
from setsu.native.control_flow import inline, jit, run_bound
from setsu.native.lanes import LANES, load_from, store_from
from setsu.simulation.clock import BAD_NUMBERS, READY, Clock
from setsu.simulation.contact_machine import N_EVENTS, N_TOUCHES, DriveTables, Records
from setsu.simulation.stages import Rows

__all__ = ["BEYOND", "BEYOND_START", "INSIDE", "Fresh", "begin_anew", "make_fresh"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# What `begin_anew` found, added up: a point may be inside the environment, a joint is beyond its stop.
INSIDE, BEYOND = 1, 4
_CLOSE = 1e-8  # m: what a step leaves inside (contact/step.py)
BEYOND_START = 1e-6  # m or rad: a joint may start this far beyond its limit


class Fresh(NamedTuple):
    """A world as it was made."""

    arena: Floats  # of the world
    image: Floats  # what stood there
    places: Ints  # (2, 2) where the room for pairs, and for contacts, begins, and the length of a row
    rigid: Ints  # (1,) 0: some polygon is soft, and points may rest inside
    mass: Floats  # (1,) kg, of the mechanism


def make_fresh(arena: Floats, begins: list[int], scene: Scene, problem: Problem, mass: float) -> Fresh:
    """Return the present state of an arena; begins: where its pairs and contacts do. mass: kg."""
    rigid = bool(np.isinf(scene.polygons["stiffness"]).all())
    places = [
        (begin, array.itemsize // 8) for begin, array in zip(begins, (problem.pairs, problem.contacts), strict=True)
    ]
    return Fresh(arena, arena.copy(), np.array(places), np.array([int(rigid)]), np.array([mass]))


@jit
def begin_anew(
    f: Fresh, c: Clock, y: Rows, scene: Scene, problem: Problem, motion: StepState, tables: DriveTables,
    records: Records, held: HeldRows,
):  # fmt: skip
    """Take the state in tables.q and tables.v; return INSIDE and BEYOND, added up where they are so, or BAD_NUMBERS."""
    pairs, contacts = 0, 0
    while pairs < len(problem.pairs) and problem.pairs[pairs].stiffness != 0.0:
        pairs += 1
    while contacts < len(problem.contacts) and problem.contacts[contacts].stiffness != 0.0:
        contacts += 1
    _put_back(f, 0, f.places[0, 0])
    _put_back(f, f.places[0, 0], f.places[0, 0] + pairs * f.places[0, 1])
    _put_back(f, f.places[1, 0], f.places[1, 0] + contacts * f.places[1, 1])
    for k in range(len(motion.q)):
        motion.q[k] = motion.q_next[k] = tables.q[0, k]
    for d in range(motion.vectors.shape[1]):
        motion.vectors[V, d] = tables.v[0, d]
    for j in range(len(held.work.axis_end)):
        held.work.axis_end[j, 0] = held.work.axis_end[j, 1] = 0.0
    for i in range(len(records.sums)):
        records.sums[i] = 0.0
    records.counts[N_EVENTS] = records.counts[N_TOUCHES] = 0
    c.frozen[0], c.failure[0], c.answered[0], c.phase[0], c.stage[0] = 0, -1, 0, READY, -1
    y.start[0] = y.t[0]
    if run_bound(motion.kernels[POSES_NEXT]) >= 0:
        return BAD_NUMBERS
    for body in range(len(motion.poses)):
        for i in range(4):
            for j in range(4):
                motion.poses[body, i, j] = motion.poses_start[body, i, j] = motion.poses_next[body, i, j]
    if motion.elastic[0] == 1:
        if run_bound(motion.kernels[POTENTIAL_ENERGY]) >= 0:
            return BAD_NUMBERS
        motion.energies[POTENTIAL] = motion.energies[POTENTIAL_NEXT]
    found = 0
    if len(scene.stops) > 0:
        for k in range(len(motion.q)):
            motion.q_middle[k] = motion.q[k]
        if run_bound(motion.kernels[MASS_MATRIX]) >= 0:
            return BAD_NUMBERS
        found = BEYOND if _set_levers(scene, motion, f.mass[0]) else 0
    return found + (INSIDE if f.rigid[0] == 1 and _is_inside(scene, motion) else 0)


@inline
def _set_levers(scene: Scene, motion: StepState, mass):
    """Levers of the stops of the tree's joints (contact/joint_stops.py); return whether one is beyond its limit."""
    beyond = False
    for index in range(len(scene.stops)):
        s = scene.stops[index]
        if s.axis < 0:
            beyond = beyond or s.sign * (motion.q[s.coordinate] - s.limit) < -BEYOND_START
            if mass > 0.0:
                s.lever = math.sqrt(motion.H[s.velocity, s.velocity] / mass)
    return beyond


@inline
def _put_back(f: Fresh, begin, end):
    for i in range(begin, end, LANES):  # the room of an array ends with whole lanes
        store_from(f.arena, i, load_from(f.image, i))


@inline
def _is_inside(scene: Scene, motion: StepState):
    """Whether a rigid point is behind the plane of some polygon."""
    for index in range(len(scene.points)):
        p = scene.points[index]
        if p.body < 0 or p.stiffness < math.inf:
            continue
        x, y, z = point_in_world(motion.poses, p.body, p.position)
        for face in range(len(scene.polygons)):
            g = scene.polygons[face]
            if g.normal[0] * x + g.normal[1] * y + g.normal[2] * z - g.offset - p.radius < -_CLOSE:
                return True
    return False
