"""Flight between bounces: bodies that may bounce fall along their parabola, and a bounce pays for the height it gains.

| symbol | meaning | unit |
|---|---|---|
| g, h | gravity, step | m/s², s |
| e, v_n, s | restitution, normal velocity and gap of a contact before the step | -, m/s, m |
| γ | h times the part of gravity that pulls the contact shut | m/s |
| R, u, ω | axes of the body on the free joint, its linear and angular velocity in them | -, m/s, rad/s |

    position' = position + h R (u' + h ω x u) - ½ h² g                        (1)  trees of bodies that touch nothing
    v_n' = √(γ² + e² v_n² - 2 (1 - e²) γ s / h) - γ                           (2)
    <=> ½ v_n'² + (γ/h) (s + h v_n') = e² (½ v_n² + (γ/h) s)                       e² of the energy above the ground
    v' of (2) counts without -h R (ω x u)                                     (3)  part of the free motion in body axes
    R' u' <- R (u' + h ω x u)                                                 (4)  at the end of steps that bounce

A semi-implicit step falls ½ h² g too far and loses ½ m g² h² of energy; Newton's law at the old velocity would give
back in one step what a whole flight lost. Spinning bodies move along screws, aside by ½ h² ω x u. With (1) a flight
keeps its energy; with (2) the impact keeps e² of the energy above the ground, though it comes early by s and the step
that bounces also rises by h v_n'. Apexes follow e² to the second order, and a ball with e = 1 comes back to its height
for ever.
Velocities of free joints are those in body axes, and turn back as the axes turn: by the velocity at the beginning of
the step, which a bounce reverses. (3) and (4) put that right: the world sees the momentum that the impulses gave.
(1) is for trees that hang on a free joint and have points with restitution, unless springs, loops, couplings or
surfaces act: what bounces flies, and all else keeps the plain step.
"""

from __future__ import annotations

import math

from setsu.contact.free_motion import DISPLACEMENT, V_NEXT, Motion, V
from setsu.contact.scene import Problem
from setsu.contact.tree import Tree
from setsu.native.control_flow import part

__all__ = ["fly", "rebound", "set_turning", "turn_free_joints"]


@part
def fly(tree: Tree, problem: Problem, motion: Motion, h):
    """Give the trees without contacts the displacement (1)."""
    flies, reference = tree.flies, tree.reference
    for body in range(len(flies)):
        o = flies[body]
        if o < 0 or reference[body] != body:
            continue
        touches = False
        for index in range(problem.counts[0]):
            c = problem.contacts[index]
            if c.body_a < len(flies) and reference[c.body_a] == body:
                touches = True
            if c.body_b >= 0 and reference[c.body_b] == body:
                touches = True
        if touches:
            continue
        _set_parabola(tree, motion, body, o, h)


@part
def _set_parabola(tree: Tree, motion: Motion, body, o, h):
    """(1) as displacement of the free joint of a body, whose velocities begin at o."""
    d, v, u = motion.vectors[DISPLACEMENT], motion.vectors[V], motion.vectors[V_NEXT]
    R, g = motion.poses[body], tree.gravity
    f = -0.5 * h * h
    x = h * (u[o] + h * (v[o + 4] * v[o + 2] - v[o + 5] * v[o + 1]))
    y = h * (u[o + 1] + h * (v[o + 5] * v[o] - v[o + 3] * v[o + 2]))
    z = h * (u[o + 2] + h * (v[o + 3] * v[o + 1] - v[o + 4] * v[o]))
    x += f * (R[0, 0] * g[0] + R[1, 0] * g[1] + R[2, 0] * g[2])
    y += f * (R[0, 1] * g[0] + R[1, 1] * g[1] + R[2, 1] * g[2])
    z += f * (R[0, 2] * g[0] + R[1, 2] * g[1] + R[2, 2] * g[2])
    # Free joints move along screws: the straight way, with half of the step's turn taken back and its square added.
    p, q, r = d[o + 3], d[o + 4], d[o + 5]
    a, b, c = q * z - r * y, r * x - p * z, p * y - q * x
    d[o] = x - 0.5 * a + (q * c - r * b) / 12.0
    d[o + 1] = y - 0.5 * b + (r * a - p * c) / 12.0
    d[o + 2] = z - 0.5 * c + (p * b - q * a) / 12.0


@part
def set_turning(tree: Tree, motion: Motion, c, h):
    """(3) in contact axes, into `curvature` and `bend` of a contact that bounces."""
    for k in range(3):
        c.curvature[k] = c.bend[k] = 0.0
    if c.body_b >= 0 or tree.flies[c.body_a] < 0:
        return
    o, v = tree.flies[c.body_a], motion.vectors[V]
    R, E = motion.poses[tree.reference[c.body_a]], c.axes
    x = h * (v[o + 4] * v[o + 2] - v[o + 5] * v[o + 1])
    y = h * (v[o + 5] * v[o] - v[o + 3] * v[o + 2])
    z = h * (v[o + 3] * v[o + 1] - v[o + 4] * v[o])
    for i in range(3):
        w = R[i, 0] * x + R[i, 1] * y + R[i, 2] * z
        for k in range(3):
            c.curvature[k] += E[k, i] * w


@part
def turn_free_joints(motion: Motion, h):
    """(4), for the velocities at the end of the step."""
    a = motion.vectors
    for k in range(len(motion.free_joints)):
        body, o = motion.free_joints[k, 0], motion.free_joints[k, 1]
        R, S = motion.poses[body], motion.poses_next[body]
        wx, wy, wz = a[V, o + 3], a[V, o + 4], a[V, o + 5]
        x, y, z = a[V, o], a[V, o + 1], a[V, o + 2]
        ux = a[V_NEXT, o] + h * (wy * z - wz * y)
        uy = a[V_NEXT, o + 1] + h * (wz * x - wx * z)
        uz = a[V_NEXT, o + 2] + h * (wx * y - wy * x)
        px = R[0, 0] * ux + R[0, 1] * uy + R[0, 2] * uz
        py = R[1, 0] * ux + R[1, 1] * uy + R[1, 2] * uz
        pz = R[2, 0] * ux + R[2, 1] * uy + R[2, 2] * uz
        for i in range(3):
            a[V_NEXT, o + i] = S[0, i] * px + S[1, i] * py + S[2, i] * pz


@part
def rebound(tree: Tree, c, e, h):
    """Normal velocity after the step of a contact that bounces with restitution e (2)."""
    speed, pull = e * c.before[0], 0.0
    if c.body_b < 0 and tree.flies[c.body_a] >= 0:
        g, n = tree.gravity, c.axes[0]
        pull = h * max(0.0, -(g[0] * n[0] + g[1] * n[1] + g[2] * n[2]))
    left = speed * speed - 2.0 * (1.0 - e * e) * pull * max(0.0, c.gap) / h
    return math.sqrt(pull * pull + max(0.0, left)) - pull
