"""Couples of torsional and rolling friction at the contacts of a step; their laws and symbols: couple_laws.py."""

from __future__ import annotations

import math

from setsu.contact.scene import Problem
from setsu.native.control_flow import inline

__all__ = ["couple_size", "limit_couple", "set_turn"]


@inline
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


@inline
def couple_size(c, turns):
    """s of a contact, about its normal or (turns) about its tangents; 0 where no couple acts or nothing turns."""
    a, limit = (0.5 * (c.agility[1] + c.agility[2]), c.rolling) if turns else (c.agility[0], c.torsional)
    return 1.0 / math.sqrt(c.scale * a) if limit > 0.0 and a > 0.0 and c.scale > 0.0 else 0.0


@inline
def limit_couple(c):
    """Bring the couple of a contact within its limits."""
    t = c.couple
    most = c.torsional * c.impulse[0]
    t[0] = max(-most, min(most, t[0]))
    size, most = math.sqrt(t[1] * t[1] + t[2] * t[2]), c.rolling * c.impulse[0]
    if size > most:
        t[1], t[2] = t[1] * most / size, t[2] * most / size
