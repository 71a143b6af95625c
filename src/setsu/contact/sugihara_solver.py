"""The contact solver of sugihara2002 in the corrected reading: all points at once, dropped and re-admitted.

| symbol | meaning | unit |
|---|---|---|
| v, f | velocity of a point before the step, impulse: normal ν, tangential t | m/s, N s |
| σ | direction of sliding | |
| e, μ_s, μ_k | restitution, static and kinetic friction | |

    target  v_ν' = -e v_ν (approaching), 0 (separating);  v_t' = 0 when stuck       (1)  (11), (12)
    M f = v' - v_free over all points taken in, least norm when M is singular       (2)  (17)-(19)
    f_ν <= 0: drop the point, again from (2); points dropped that would go in return (3)  steps 6, 7
    slip if |v_t| > ε or |f_t| > μ_s f_ν: f = f_ν (ν - μ_k σ), v_t' free, again from (2)  (4)  (20)-(27), step 8
    σ = v_t/|v_t|, from rest against the tentative f_t                              (5)  (6), (26), (27)

Source: sugihara2002, equations as numbered there, read as docs/contact.md says. ε exceeds the speed friction can take
away in one step, μ_k g h. The paper knows neither gaps nor recovery: points act from the moment they are inside.
What it cannot do is printed by `setsu reproduce sugihara2002`. Cost: a linear solve of six rows per body per round.
"""

from __future__ import annotations

import math

from setsu.contact.linear_step import linear_step
from setsu.contact.newton_solver import set_trial, take_trial
from setsu.contact.problem import set_twists, set_velocity
from setsu.contact.scene import N_CONTACTS, TWIST, Problem
from setsu.contact.tree import Tree
from setsu.native.control_flow import inline

__all__ = ["solve"]

_DROPPED, _STUCK, _SLIDING = 0, 1, 2
_COMPLIANCE = 1e-9
_ROUNDS = 50


@inline
def _set_velocities(tree: Tree, problem: Problem):
    """Contact velocities of the trial impulses, measured from their targets (1)."""
    set_twists(tree, problem)
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        set_velocity(problem, index, TWIST, c.velocity)
        for k in range(3):
            c.velocity[k] += c.shift[k]


@inline
def _solve_modes(tree: Tree, problem: Problem, eps):
    """(2) for given modes (in `bounces`) and directions (in `kept`); twice, the second time for the rounding."""
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        for k in range(3):
            c.impulse[k] = c.trial[k] = 0.0
    good = True
    for _ in range(3):
        _set_velocities(tree, problem)
        for index in range(problem.counts[N_CONTACTS]):
            c = problem.contacts[index]
            for i in range(3):
                c.rest[i] = 0.0
                for j in range(3):
                    c.ratio[i, j] = 0.0
            if c.bounces == _STUCK:
                for k in range(3):
                    c.ratio[k, k] = 1.0 / eps
                    c.rest[k] = -(c.velocity[k] / eps + c.impulse[k])
            elif c.bounces == _SLIDING:
                for k in range(3):
                    along = 1.0 if k == 0 else -c.friction * c.kept[k]
                    c.ratio[k, 0] = along / eps
                    c.rest[k] = -along * (c.velocity[0] / eps + c.impulse[0])
        good = linear_step(tree, problem) and good
        set_trial(problem, 1.0)
        take_trial(problem)
    _set_velocities(tree, problem)
    return good


@inline
def solve(tree: Tree, problem: Problem, h):
    """Find the impulses; `before`, `free` and materials are given. Return (residual, rounds, converged)."""
    count = problem.counts[N_CONTACTS]
    eps = 0.0
    for index in range(count):
        c = problem.contacts[index]
        eps += _COMPLIANCE / (c.scale * count)
        c.bounces, c.friction = _STUCK, c.kinetic_friction
        c.shift[0] = c.restitution * min(0.0, c.before[0])
        c.shift[1] = c.shift[2] = 0.0
        speed = math.sqrt(c.before[1] ** 2 + c.before[2] ** 2)
        if speed > 2.0 * c.kinetic_friction * 9.81 * h and speed > 1e-9:
            c.bounces = _SLIDING
            c.kept[1], c.kept[2] = c.before[1] / speed, c.before[2] / speed  # (5)
    rounds, converged = 0, False
    while rounds < _ROUNDS and not converged:
        rounds += 1
        converged = _solve_modes(tree, problem, eps)
        for index in range(count):
            c = problem.contacts[index]
            f = c.impulse
            if c.bounces != _DROPPED and f[0] <= 0.0:
                c.bounces, converged = _DROPPED, False  # (3)
            elif c.bounces == _STUCK:
                tangential = math.sqrt(f[1] * f[1] + f[2] * f[2])
                if tangential > c.static_friction * f[0] * (1.0 + 1e-9):
                    c.bounces, converged = _SLIDING, False  # (4)
                    c.kept[1], c.kept[2] = -f[1] / tangential, -f[2] / tangential
        if converged:
            for index in range(count):
                c = problem.contacts[index]
                if c.bounces == _DROPPED and c.velocity[0] < -1e-9 and rounds < _ROUNDS // 2:
                    c.bounces, converged = _STUCK, False
    for index in range(count):
        c = problem.contacts[index]
        c.slides = 1 if c.bounces == _SLIDING else 0
        c.bounces = 0
    return 0.0, rounds, converged
