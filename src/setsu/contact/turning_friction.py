"""Torsional and rolling friction: couples at a contact that oppose turning, limited by its normal impulse.

| symbol | meaning | unit |
|---|---|---|
| ω_n, ω_t | relative angular velocity about the normal, and about the tangents | rad/s |
| c_n, c_t | couple about the normal, about the tangents | N m s |
| γ, r | coefficients of torsional and of rolling friction (lengths) | m |
| a | angular velocity for a unit couple of this contact alone | 1/(kg m²) |

    |c_n| <= γ λ_n,  c_n ω_n = -γ λ_n |ω_n|                                   (1)  MuJoCo's condim 4
    |c_t| <= r λ_n,  c_t · ω_t = -r λ_n |ω_t|                                 (2)  condim 6
    c <- Π(c - ω / a')                                                        (3)  Π: onto the discs (1), (2)

Fixed points of (3) obey (1) and (2). Contacts and couples are solved in turn until the couples stay: at once where all
slip or none matters; a' is what the last turn showed of Δω / Δc, at most a times the number of couples, so that one
couple that holds settles in three turns, and several do not turn a body to and fro.
Cost: one contact solve, warm, per turn.
"""

from __future__ import annotations

import math

from setsu.contact.problem import set_twists, set_velocity
from setsu.contact.scene import TURNING, TWIST, Problem
from setsu.contact.tree import Tree
from setsu.native.control_flow import part

__all__ = ["MOST_TURNS", "SETTLED", "set_spun", "set_turn", "update_couples"]

# Turns at most, after how many a' is the plain a, and the change (parts of the limit) that ends them.
MOST_TURNS, _QUICK, SETTLED = 100, 20, 1e-9
# a' in parts of a, at least.
_LEAST = 0.02


@part
def set_turn(problem: Problem, index, row, out):
    """out (3,): relative angular velocity in the axes of a contact for the twists in a row of `vectors`."""
    c, y = problem.contacts[index], problem.vectors[row]
    o = 6 * c.hub_a
    x, u, z = y[o + 3], y[o + 4], y[o + 5]
    if c.hub_b >= 0:
        o = 6 * c.hub_b
        x, u, z = x - y[o + 3], u - y[o + 4], z - y[o + 5]
    for k in range(3):
        out[k] = c.axes[k, 0] * x + c.axes[k, 1] * u + c.axes[k, 2] * z


@part
def set_spun(tree: Tree, problem: Problem):
    """What the couples alone do to the velocities of the contacts."""
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        c.trial[0] = c.trial[1] = c.trial[2] = 0.0
    set_twists(tree, problem)
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        set_velocity(problem, index, TWIST, c.spun)
        for k in range(3):
            c.spun[k] -= c.free[k]


@part
def update_couples(problem: Problem, turn):
    """(3) with the impulses and twists at hand; return the largest change in parts of the limit."""
    worst = 0.0
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        if c.torsional == 0.0 and c.rolling == 0.0:
            continue
        set_turn(problem, index, TWIST, c.slope)
        for kind in range(2):
            first, last = (0, 1) if kind == 0 else (1, 3)
            limit = (c.torsional if kind == 0 else c.rolling) * c.impulse[0]
            a = c.agility[0] if kind == 0 else max(c.agility[1], c.agility[2])
            if not (limit > 0.0 and a > 0.0):
                for k in range(first, last):
                    c.former_couple[k] = c.couple[k] = 0.0
                    c.former_turn[k] = c.slope[k]
                continue
            moved = turned = 0.0
            for k in range(first, last):
                moved += (c.couple[k] - c.former_couple[k]) ** 2
                turned += (c.slope[k] - c.former_turn[k]) ** 2
            # All couples change at once: together they turn a body as many times as one does.
            most = a * problem.counts[TURNING]
            if turn > 0 and turn < _QUICK and moved > 0.0:
                a = min(most, max(_LEAST * a, math.sqrt(turned / moved)))
            else:
                a = most
            size = change = 0.0
            for k in range(first, last):
                c.former_couple[k], c.former_turn[k] = c.couple[k], c.slope[k]
                c.couple[k] -= c.slope[k] / a
                size += c.couple[k] ** 2
            size = math.sqrt(size)
            for k in range(first, last):
                if size > limit:
                    c.couple[k] *= limit / size
                change = max(change, abs(c.couple[k] - c.former_couple[k]))
            worst = max(worst, change / limit)
    return worst
