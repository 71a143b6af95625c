"""Ends of travel of joints as contacts: one more row of the same problem for each joint that reaches its limit.

| symbol | meaning | unit |
|---|---|---|
| q, l, s | coordinate of a joint, its limit, +1 for the lower and -1 for the upper one | rad or m |
| r | lever √(H_dd / mass) at the start: puts stops and contact points into the same unit | m |
| λ | impulse of the stop: s r λ acts on the joint | N s |

    gap = s r (q - l),   velocity = s r dq/dt                                 (1)
    0 <= λ  ⊥  gap at the end of the step >= 0                                (2)  plastic: a stop does not throw back

A joint that closes a loop has no coordinate of its own in q: there q is x(q), dq/dt = J v, of a free axis
(held_rows.py), and the way of x in a step is bent; (2) holds after passes that take its bend into account (step.py).

A stop takes part like a contact point without friction. Its "body" has one motion only, that of the joint: bodies
beyond those of the mechanism, one per joint with limits, stand for them in Scene.bodies.
Joints of one coordinate only; that of a joint of the tree moves along a straight line in a step: (2) is exact.
"""

from __future__ import annotations

import math

from setsu.contact.held_rows import HeldRows, place_axes
from setsu.contact.scene import N_CONTACTS, STOP, Problem, Scene
from setsu.native.control_flow import inline

__all__ = ["bend_of_stop", "find_stops", "recall_stop", "remember_stops", "set_stop_gaps", "stop_gap"]


@inline
def stop_gap(scene: Scene, stop, q, x):
    """(1), m; x: coordinates of the free axes of joints that close loops."""
    s = scene.stops[stop]
    return s.sign * s.lever * ((x[s.axis] if s.axis >= 0 else q[s.coordinate]) - s.limit)


@inline
def _rate(held: HeldRows, s, v):
    """dq/dt of a joint with stops."""
    if s.axis < 0:
        return v[s.velocity]
    total = 0.0
    for d in range(len(v)):
        total += held.work.axis[s.axis, d] * v[d]
    return total


@inline
def _add(scene: Scene, problem: Problem, stop, gap):
    index, s = problem.counts[N_CONTACTS], scene.stops[stop]
    problem.counts[N_CONTACTS] = index + 1
    s.listed = 1
    c = problem.contacts[index]
    c.point, c.face, c.body_a, c.body_b, c.gap = STOP, stop, s.body, -1, gap
    c.static_friction = c.kinetic_friction = c.restitution = c.torsional = c.rolling = 0.0
    c.damping = c.dissipation = 0.0
    c.stiffness = math.inf
    for i in range(3):
        c.position[i] = c.arm_a[i] = c.surface[i] = 0.0
        for j in range(3):
            c.axes[i, j] = 0.0
    # The normal is the joint's motion, in metres; there are no tangents.
    c.axes[0, 0] = s.sign * s.lever


@inline
def find_stops(scene: Scene, problem: Problem, held: HeldRows, q, q_next, v, h, reach, first):
    """Add stops that a step with velocity v, or to q_next if it is not the first look, reaches; return how many."""
    before, places = problem.counts[N_CONTACTS], held.work.axis_place
    if not first:
        place_axes(held, q_next, v)
    for stop in range(len(scene.stops)):
        s = scene.stops[stop]
        if first:
            s.listed = 0
        elif s.listed == 1:
            continue
        if s.axis >= 0 and held.work.axis_closed[s.axis] == 0:
            continue
        gap = stop_gap(scene, stop, q, places[0])
        ahead = gap + h * s.sign * s.lever * _rate(held, s, v) if first else stop_gap(scene, stop, q_next, places[1])
        if ahead < -reach or (first and gap <= reach):
            _add(scene, problem, stop, gap)
    return problem.counts[N_CONTACTS] - before


@inline
def bend_of_stop(scene: Scene, held: HeldRows, c, q_next, h):
    """Take the bend of a loop joint's way in a trial step into account; return what is left of (2), m.

    Such a problem is dense: its step goes by the velocity at the end alone.
    """
    gap = stop_gap(scene, c.face, q_next, held.work.axis_place[1])
    c.curvature[0] = (gap - c.gap) / h - (c.velocity[0] - c.shift[0])
    return abs(gap) if c.impulse[0] > 0.0 else -gap


@inline
def set_stop_gaps(scene: Scene, problem: Problem, held: HeldRows, q_next, v):
    """Gaps after the step, m."""
    place_axes(held, q_next, v)
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        if c.point == STOP:
            c.gap_next = stop_gap(scene, c.face, q_next, held.work.axis_place[1])


@inline
def recall_stop(scene: Scene, c):
    """Start from the impulse of the step before."""
    c.slides, c.impulse[0], c.impulse[1], c.impulse[2] = 0, scene.stops[c.face].impulse, 0.0, 0.0
    for k in range(3):
        c.curvature[k] = c.bend[k] = 0.0


@inline
def remember_stops(scene: Scene, problem: Problem):
    """Keep the impulses of this step."""
    for stop in range(len(scene.stops)):
        scene.stops[stop].impulse = 0.0
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        if c.point == STOP and c.impulse[0] > 0.0:
            scene.stops[c.face].impulse = c.impulse[0]
