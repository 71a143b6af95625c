"""Ends of travel of joints as contacts: one more row of the same problem for each joint that reaches its limit.

| symbol | meaning | unit |
|---|---|---|
| q, l, s | coordinate of a joint, its limit, +1 for the lower and -1 for the upper one | rad or m |
| r | lever √(H_dd / mass) at the start: puts stops and contact points into the same unit | m |
| λ | impulse of the stop: s r λ acts on the joint | N s |

    gap = s r (q - l),   velocity = s r dq/dt                                 (1)
    0 <= λ  ⊥  gap at the end of the step >= 0                                (2)  plastic: a stop does not throw back

A stop takes part like a contact point without friction. Its "body" has one motion only, that of the joint: bodies
beyond those of the mechanism, one per joint with limits, stand for them in Scene.bodies.
Joints of one coordinate only; q moves along a straight line in a step, so that (2) is exact.
"""

from __future__ import annotations

import math

from setsu.contact.scene import STOP, Problem, Scene
from setsu.native.control_flow import part

__all__ = ["find_stops", "recall_stop", "remember_stops", "stop_gap"]


@part
def stop_gap(scene: Scene, stop, q):
    """(1), m."""
    s = scene.stops[stop]
    return s.sign * s.lever * (q[s.coordinate] - s.limit)


@part
def _add(scene: Scene, problem: Problem, stop, gap):
    index, s = problem.counts[0], scene.stops[stop]
    problem.counts[0] = index + 1
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


@part
def find_stops(scene: Scene, problem: Problem, q, q_next, v, h, reach, first):
    """Add stops that a step with velocity v, or to q_next if it is not the first look, reaches; return how many."""
    before = problem.counts[0]
    for stop in range(len(scene.stops)):
        s = scene.stops[stop]
        if first:
            s.listed = 0
        elif s.listed == 1:
            continue
        gap = stop_gap(scene, stop, q)
        ahead = gap + h * s.sign * s.lever * v[s.velocity] if first else stop_gap(scene, stop, q_next)
        if ahead < -reach or (first and gap <= reach):
            _add(scene, problem, stop, gap)
    return problem.counts[0] - before


@part
def recall_stop(scene: Scene, c):
    """Start from the impulse of the step before."""
    c.slides, c.impulse[0], c.impulse[1], c.impulse[2] = 0, scene.stops[c.face].impulse, 0.0, 0.0
    for k in range(3):
        c.curvature[k] = c.bend[k] = 0.0


@part
def remember_stops(scene: Scene, problem: Problem):
    """Keep the impulses of this step."""
    for stop in range(len(scene.stops)):
        scene.stops[stop].impulse = 0.0
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        if c.point == STOP and c.impulse[0] > 0.0:
            scene.stops[c.face].impulse = c.impulse[0]
