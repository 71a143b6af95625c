"""What contact points remember from one step to the next: impulses, sliding, and how their ways curved.

A point may touch several faces at once and remembers each. The curve of a contact's way is foreseen from the two steps
before by a straight line: where that is right to a nanometre, the step need not be solved again (step.py). Contacts
that are open but near are foreseen too: all points of a tree at rest bend alike where one of its limbs still moves, and
those that did not know would press, let go and press again.
Contacts between bodies are found anew in every step: each begins with the impulse of the nearest one before, no
two with the same.
"""

from __future__ import annotations

import math

from setsu.contact.joint_stops import recall_stop, remember_stops
from setsu.contact.scene import N_CONTACTS, N_PAIRS, PAIRS_KEPT, POINTS_KEPT, STOP, Problem, Scene
from setsu.native.control_flow import inline

__all__ = ["is_sliding", "keep_impulses", "recall", "remember"]

# m/s: below, a contact sticks.
_STICKING = 1e-7


@inline
def is_sliding(v):
    """1 if a contact velocity (normal, two tangents) slides, else 0."""
    return 1 if v[1] * v[1] + v[2] * v[2] > _STICKING * _STICKING else 0


@inline
def recall(scene: Scene, problem: Problem, first):
    """Start impulses, sliding and curvature of the contacts from `first` on from what their points remember."""
    if first == 0:
        for k in range(problem.counts[PAIRS_KEPT]):
            problem.kept[k].taken = 0
    for index in range(first, problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        known = -1
        if c.point >= 0:
            for s in range(3):
                if scene.points[c.point].face[s] == c.face:
                    known = s
        c.steps = 0
        c.couple[0] = c.couple[1] = c.couple[2] = 0.0
        if c.point == STOP:
            recall_stop(scene, c)
        elif known < 0:
            for k in range(3):
                c.impulse[k] = c.curvature[k] = c.bend[k] = 0.0
            u, w = c.before[1] - c.surface[1], c.before[2] - c.surface[2]
            c.slides = 1 if u * u + w * w > _STICKING * _STICKING else 0
            if c.point == -1:
                _recall_pair(problem, c)
        if known < 0:
            continue
        p = scene.points[c.point]
        c.slides, c.steps = p.slides[known], p.steps[known]
        for k in range(3):
            c.impulse[k], c.couple[k] = p.impulse[known, k], p.couple[known, k]
            bend, former = p.bend[known, k], p.former[known, k]
            c.former[k] = c.curvature[k] = bend
            # Zero along the face means that the contact slid: no line leads from there to the next bend.
            if c.steps > 1 and (k == 0 or (bend != 0.0 and former != 0.0)):
                c.curvature[k] += bend - former


@inline
def keep_impulses(scene: Scene, problem: Problem):
    """Before a step is taken again: remember the impulses found so far, as a start, and nothing else."""
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        if c.point < 0 or not c.impulse[0] > 0.0:
            continue
        p, slot = scene.points[c.point], 0
        while slot < 2 and p.face[slot] >= 0 and p.face[slot] != c.face:
            slot += 1
        if p.face[slot] < 0:
            if slot == 0:
                problem.remembered[problem.counts[POINTS_KEPT]] = c.point
                problem.counts[POINTS_KEPT] += 1
            p.face[slot], p.slides[slot], p.steps[slot] = c.face, c.slides, 0
            for k in range(3):
                p.bend[slot, k] = p.former[slot, k] = 0.0
        if p.face[slot] == c.face:
            for k in range(3):
                p.impulse[slot, k], p.couple[slot, k] = c.impulse[k], c.couple[k]
    _remember_pairs(problem)


@inline
def remember(scene: Scene, problem: Problem):
    """Keep what contacts did, closed ones first where a point has more of them than it can remember."""
    for n in range(problem.counts[POINTS_KEPT]):
        p = scene.points[problem.remembered[n]]
        p.face[0] = p.face[1] = p.face[2] = -1
    count = 0
    for closed in (True, False):
        for index in range(problem.counts[N_CONTACTS]):
            c = problem.contacts[index]
            if c.point < 0 or (c.impulse[0] > 0.0) != closed:
                continue
            p, free = scene.points[c.point], 0
            while free < 3 and p.face[free] >= 0:
                free += 1
            if free == 3:
                continue
            if free == 0:
                problem.remembered[count] = c.point
                count += 1
            p.face[free], p.slides[free], p.steps[free] = c.face, is_sliding(c.velocity), c.steps + 1
            for k in range(3):
                p.impulse[free, k], p.couple[free, k] = c.impulse[k], c.couple[k]
                p.former[free, k] = c.former[k]
                p.bend[free, k] = c.bend[k]
    problem.counts[POINTS_KEPT] = count
    _remember_pairs(problem)
    remember_stops(scene, problem)


@inline
def _recall_pair(problem: Problem, c):
    """Start impulse of a contact between bodies: that of the nearest one of the same shapes in the step before that no
    other contact has taken, turned into its axes."""
    nearest, best = -1, math.inf
    shapes = problem.pairs[c.face].shapes
    k = problem.bucket[shapes % len(problem.bucket)]
    while k >= 0:
        kept = problem.kept[k]
        if kept.shapes == shapes and kept.taken == 0:
            p, q = kept.position, c.position
            apart = (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 + (p[2] - q[2]) ** 2
            if apart < best:
                nearest, best = k, apart
        k = kept.next
    if nearest >= 0:
        kept = problem.kept[nearest]
        kept.taken = 1
        for k in range(3):
            E, f, t = c.axes[k], kept.impulse, kept.couple
            c.impulse[k] = E[0] * f[0] + E[1] * f[1] + E[2] * f[2]
            c.couple[k] = E[0] * t[0] + E[1] * t[1] + E[2] * t[2]


@inline
def _remember_pairs(problem: Problem):
    """Keep what contacts between bodies did, and where; also of those that did not press, which are to find themselves
    in the next step, not the impulse of a neighbour."""
    buckets, count = len(problem.bucket), 0
    for k in range(problem.counts[PAIRS_KEPT]):
        problem.bucket[problem.kept[k].shapes % buckets] = -1
    if problem.counts[N_PAIRS] > 0:
        for index in range(problem.counts[N_CONTACTS]):
            c = problem.contacts[index]
            if c.point == -1:
                kept, f, t, E = problem.kept[count], c.impulse, c.couple, c.axes
                kept.shapes = problem.pairs[c.face].shapes
                for k in range(3):
                    kept.position[k] = c.position[k]
                    kept.impulse[k] = E[0, k] * f[0] + E[1, k] * f[1] + E[2, k] * f[2]
                    kept.couple[k] = E[0, k] * t[0] + E[1, k] * t[1] + E[2, k] * t[2]
                count += 1
    # Backwards, so that each bucket lists them in their order.
    for k in range(count - 1, -1, -1):
        place = problem.kept[k].shapes % buckets
        problem.kept[k].next = problem.bucket[place]
        problem.bucket[place] = k
    problem.counts[PAIRS_KEPT] = count
