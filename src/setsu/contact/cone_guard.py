"""Impulses that a solver could not settle, brought into their cones: what acts is then at least a contact force.

    λ_n <- max(λ_n, 0),   λ_t <- λ_t min(1, μ λ_n / |λ_t|)                    (1)  couples likewise

Nothing pulls, no friction exceeds its limit, and the recorded forces are those that act. Cost: one product with Λ.
"""

from __future__ import annotations

import math

from setsu.contact.newton_solver import forget_solution
from setsu.contact.problem import set_twists, set_velocity
from setsu.contact.scene import N_CONTACTS, TWIST, Problem
from setsu.contact.tree import Tree
from setsu.contact.turning_friction import limit_couple
from setsu.native.control_flow import inline

__all__ = ["bring_into_cones"]


@inline
def bring_into_cones(tree: Tree, problem: Problem):
    """(1) for all contacts; wrenches, twists and velocities follow."""
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        f = c.impulse
        f[0] = max(f[0], 0.0)
        tangential, limit = math.sqrt(f[1] * f[1] + f[2] * f[2]), c.friction * f[0]
        scale = limit / tangential if tangential > limit else 1.0
        f[1], f[2] = scale * f[1], scale * f[2]
        limit_couple(c)
        for k in range(3):
            c.trial[k] = f[k]
    forget_solution(problem)
    set_twists(tree, problem)
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        set_velocity(problem, index, TWIST, c.velocity)
        for k in range(3):
            c.velocity[k] += c.shift[k]
        c.velocity[0] += c.soft * c.impulse[0]
