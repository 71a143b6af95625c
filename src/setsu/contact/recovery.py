"""Penetration recovery: what a step leaves inside the environment, or other bodies, is moved out by a displacement.

| symbol | meaning | unit |
|---|---|---|
| g_i | gap of contact i after the step | m |
| δ | displacement added to the step, the least in kinetic metric | m, rad |

    K_i δ >= -g_i, and r g_i more where g_i is deep                           (1)  r: part that one step takes back

It is one more contact problem, without friction, and gives no velocity: what the step found stays as it is.
"""

from __future__ import annotations

from setsu.contact import newton_solver
from setsu.contact.detection import point_in_world
from setsu.contact.energy_guard import can_pay, is_driven, set_energies
from setsu.contact.free_motion import CHANGE, DISPLACEMENT, V_NEXT, StepState
from setsu.contact.held_rows import HeldRows
from setsu.contact.joint_stops import set_stop_gaps
from setsu.contact.problem import apply_impulses
from setsu.contact.scene import (
    BEFORE,
    FREE,
    N_BODIES,
    N_CONTACTS,
    ROUNDS_LEFT,
    STOP,
    TURNING,
    WRENCH,
    Problem,
    Scene,
)
from setsu.contact.tree import Tree
from setsu.native.control_flow import inline

__all__ = ["INSIDE", "deepest_point", "may_move_out", "move_out"]

INSIDE = 1e-8  # m: how deep a point may be left inside.
_FREE_WAY = 1e-3  # m: what a soft contact leaves to the way out of rigid ones.
_RECOVERY = 0.2  # How much of a point's depth one step takes back.


@inline
def deepest_point(scene: Scene, problem: Problem, motion: StepState, held: HeldRows, h):
    """Depth (m) of the deepest listed contact after the step; fills gap_next."""
    depth = 0.0
    set_stop_gaps(scene, problem, held, motion.q_next, motion.vectors[V_NEXT])
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        if c.point >= 0:
            p = scene.points[c.point]
            x, y, z = point_in_world(motion.poses_next, p.body, p.position)
            n = c.axes[0]
            c.gap_next = n[0] * x + n[1] * y + n[2] * z - c.offset - p.radius
        elif c.point != STOP:
            c.gap_next = c.gap + h * (c.velocity[0] - c.shift[0]) + c.recovered
        if c.soft > 0.0:
            # It may be inside, and nothing takes it out but its spring.
            c.gap_next = _FREE_WAY
        depth = max(depth, -c.gap_next)
    return depth


@inline
def move_out(scene: Scene, tree: Tree, problem: Problem, motion: StepState, held: HeldRows):
    """Add a displacement to the step that takes points out of the environment, the least in kinetic metric.

    Return the rounds it took, and whether it converged.
    """
    n, vectors = 6 * problem.counts[N_BODIES], problem.vectors
    for i in range(n):
        vectors[BEFORE, i], vectors[FREE, i] = vectors[WRENCH, i], 0.0
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        deep = c.gap_next < -INSIDE
        for k in range(3):
            c.kept[k], c.set_aside[0, k], c.set_aside[1, k] = c.impulse[k], c.velocity[k], c.shift[k]
            c.impulse[k] = c.shift[k] = c.free[k] = 0.0
        c.shift[0] = _RECOVERY * c.gap_next if deep else max(c.gap_next, 0.0)
        c.friction = 0.0
        # An island without deep contacts stays where it is.
        newton_solver.note_answer(c, newton_solver.UNKNOWN if deep else 0.0)
        for k in range(3):
            c.velocity[k] = c.shift[k]
    turning, problem.counts[TURNING] = problem.counts[TURNING], 0
    _, rounds, good = newton_solver.solve(tree, problem)
    problem.counts[ROUNDS_LEFT] -= rounds
    newton_solver.forget_solution(problem)
    problem.counts[TURNING] = turning
    apply_impulses(scene, tree, problem, motion, held)
    for d in range(motion.vectors.shape[1]):
        motion.vectors[DISPLACEMENT, d] += motion.vectors[CHANGE, d]
    for i in range(n):
        vectors[WRENCH, i] = vectors[BEFORE, i]
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        c.friction = c.kinetic_friction if c.slides == 1 else c.static_friction
        c.recovered = c.velocity[0] - c.shift[0]
        for k in range(3):
            c.impulse[k], c.velocity[k], c.shift[k] = c.kept[k], c.set_aside[0, k], c.set_aside[1, k]
    return rounds, good


@inline
def may_move_out(tree: Tree, motion: StepState, held: HeldRows, depth):
    """Whether energy is there to move everything out of the environment: from torques that act, or from motion."""
    return is_driven(tree, motion) or (
        set_energies(tree, motion, held) and can_pay(motion, _RECOVERY * depth * motion.weight[0])
    )
