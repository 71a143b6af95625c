"""One semi-implicit time step of a mechanism in contact with its environment, in compiled code.

| symbol | meaning | unit |
|---|---|---|
| h | step | s |
| H, b | mass matrix, bias torque at the beginning of the step | |
| u, kp, kd | torque without and gains of the joint servo; D, k damping and stiffness of the joints | |
| K, λ | contact Jacobian (K_iᵀ = ∂p_i/∂q), contact impulses | N s |

    (H + h (kd + D) + h² (kp + k)) (v' - v) = h (u - b - h (kp + k) v) + K λ    (1)  u: servo at the old state included
    q' = q ⊕ h v'                                                             (2)
    gap_i(q') >= 0, impulses as in newton_solver.py at the velocities v'      (3)
    bouncing points: v_n' >= -e v_n                                           (4)

Source: sugihara2002 (16)-(19) with the reading of docs/contact.md; (1) implicit in the joints' springs and dampers, so
that stiff servos stay stable; (2) with the new velocity. In the free base's rows (1) is momentum balance, exactly.
(3) holds at the end of the step, not in its linearisation: where points turn on an arc the step is solved again with
what the straight line missed; points that a trial step takes through a polygon join the problem.
Points found inside the environment are moved out by a displacement, which gives no velocity.
(4) acts above a threshold of speed; where Newton's law of restitution and friction together would raise the energy,
e is lowered for that step until they do not.
"""

from __future__ import annotations

import math

from setsu.contact import newton_solver, sugihara_solver
from setsu.contact.detection import add_pairs, find_near, find_passed, point_in_world
from setsu.contact.factor import x_to_velocity
from setsu.contact.free_motion import (
    ACCELERATION,
    APPLIED,
    BAD_NUMBERS,
    BODY_POSES,
    DISPLACEMENT,
    FINE,
    INTEGRATE,
    KD,
    KINETIC,
    KINETIC_ENERGY,
    KINETIC_NEXT,
    KP,
    POTENTIAL,
    POTENTIAL_ENERGY,
    POTENTIAL_NEXT,
    ROOT,
    V_FREE,
    V_NEXT,
    Motion,
    V,
    X,
    free_velocity,
)
from setsu.contact.held_rows import HELD, correct_rows, hold_rows
from setsu.contact.joint_stops import find_stops, recall_stop, remember_stops, stop_gap
from setsu.contact.problem import prepare, reset_hub
from setsu.contact.scene import BEFORE, FREE, STOP, WRENCH, Problem, Scene
from setsu.native.control_flow import part, run_bound

__all__ = ["DEFAULT", "SUGIHARA2002", "accept", "is_sliding", "take_step"]

# Which solver.
DEFAULT, SUGIHARA2002 = 0, 1

# m: points nearer than this are part of the problem from the start.
_REACH = 5e-5
# m: points deeper inside than this are taken to be on the other side.
_DEEPEST = 5e-3
# m: what a step may leave between a closed contact and its face, and how deep a point may be left inside.
_CLOSED, _INSIDE = 1e-9, 1e-8
# m: how much of what the contacts' compliance lets in a step gives back at once.
_CREEP = 1e-10
# m/s: below, a contact sticks; m/s: slower impacts do not bounce.
_STICKING, _BOUNCING = 1e-7, 0.01
# How much of a point's depth one step takes back.
_RECOVERY = 0.2
_PASSES = 8


@part
def _recall(scene: Scene, problem: Problem, first):
    """Start impulses and sliding of the contacts from `first` on from what their points remember."""
    for index in range(first, problem.counts[0]):
        c = problem.contacts[index]
        known = -1
        if c.point >= 0:
            for s in range(3):
                if scene.points[c.point].face[s] == c.face:
                    known = s
        for k in range(3):
            c.curvature[k] = 0.0
            c.impulse[k] = scene.points[c.point].impulse[known, k] if known >= 0 else 0.0
        if known >= 0:
            c.slides = scene.points[c.point].slides[known]
        elif c.point == STOP:
            recall_stop(scene, c)
        else:
            c.slides = 1 if c.before[1] ** 2 + c.before[2] ** 2 > _STICKING * _STICKING else 0


@part
def _remember(scene: Scene, problem: Problem):
    """Keep impulses and sliding of closed contacts."""
    for index in range(len(scene.points)):
        p = scene.points[index]
        p.face[0] = p.face[1] = p.face[2] = -1
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        if c.point < 0 or not c.impulse[0] > 0.0:
            continue
        p = scene.points[c.point]
        free = 0
        while free < 2 and p.face[free] >= 0:
            free += 1
        p.face[free] = c.face
        p.slides[free] = is_sliding(c.velocity)
        for k in range(3):
            p.impulse[free, k] = c.impulse[k]
    remember_stops(scene, problem)


@part
def is_sliding(v):
    """1 if a contact velocity (normal, two tangents) slides, else 0."""
    return 1 if v[1] * v[1] + v[2] * v[2] > _STICKING * _STICKING else 0


@part
def _set_bounces(problem: Problem, first, h, slowest):
    """Mark contacts that come in fast enough to bounce (4); return whether any does."""
    for index in range(first, problem.counts[0]):
        c = problem.contacts[index]
        reaches = first > 0 or c.gap + h * c.free[0] <= 0.0
        c.bounces = 1 if reaches and c.restitution > 0.0 and c.before[0] < -slowest else 0


@part
def _set_shifts(problem: Problem, h, part):
    """What the contact velocities are measured from; `part` scales restitution. Return whether any contact bounces."""
    bounces = False
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        c.shift[1], c.shift[2] = c.curvature[1], c.curvature[2]
        if c.bounces == 1:
            bounces = True
            c.shift[0] = part * c.restitution * c.before[0]
        else:
            c.shift[0] = max(-_CREEP, c.gap) / h + c.curvature[0]
    return bounces


@part
def _solve_with_friction(problem: Problem):
    """Solve with static friction where points rest, again with kinetic friction where they turn out to slide."""
    residual, rounds, good = 0.0, 0, True
    again = True
    while again:
        for index in range(problem.counts[0]):
            c = problem.contacts[index]
            c.friction = c.kinetic_friction if c.slides == 1 else c.static_friction
        residual, more, good = newton_solver.solve(problem)
        rounds += more
        again = False
        for index in range(problem.counts[0]):
            c = problem.contacts[index]
            if c.slides == 0 and c.impulse[0] > 0.0 and is_sliding(c.velocity) == 1:
                c.slides = 1
                again = again or c.kinetic_friction < c.static_friction
    return residual, rounds, good


@part
def _solve_contacts(problem: Problem, h):
    """Solve, with restitution lowered where it would raise the energy of the free motion."""
    part, rounds = 1.0, 0
    while True:
        bounces = _set_shifts(problem, h, part)
        residual, more, good = _solve_with_friction(problem)
        rounds += more
        if not bounces or part == 0.0:
            return residual, rounds, good
        gain = size = 0.0
        for index in range(problem.counts[0]):
            c = problem.contacts[index]
            for k in range(3):
                after = c.velocity[k] - c.shift[k]
                gain += 0.5 * c.impulse[k] * (c.free[k] + after)
                size += 0.5 * abs(c.impulse[k]) * (abs(c.free[k]) + abs(after))
        if gain <= 1e-8 * size:
            return residual, rounds, good
        part = 0.8 * part if part > 0.1 else 0.0


@part
def _apply(scene: Scene, problem: Problem, motion: Motion):
    """X row = L⁻¹ D^-½ Σ X_b w_b: velocity (or displacement) from the wrench impulses of the hub."""
    x = motion.vectors[X]
    for d in range(len(x)):
        x[d] = 0.0
    for k in range(problem.counts[1]):
        root, b = problem.root[k], scene.bodies[problem.bodies[k]]
        for i in range(6):
            w = problem.vectors[WRENCH, 6 * k + i]
            if len(motion.held.work.rows) > 0:
                for d in range(len(x)):
                    x[d] += root[i, d] * w
            else:
                for p in range(b.path_start, b.path_stop):
                    x[scene.path[p]] += root[i, scene.path[p]] * w
    x_to_velocity(motion.H, scene.parent, motion.vectors[ROOT], x)


@part
def _try(motion: Motion):
    """q_next and poses_next from `displacement`; False for bad numbers."""
    return run_bound(motion.kernels[INTEGRATE]) < 0 and run_bound(motion.kernels[BODY_POSES]) < 0


@part
def _miss(scene: Scene, problem: Problem, motion: Motion, h):
    """Curvature of the contacts' way in this trial step; return the largest error it leaves at a closed one (m)."""
    worst = 0.0
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        if c.point < 0 or c.bounces == 1:
            continue
        p = scene.points[c.point]
        ax, ay, az = point_in_world(motion.poses, p.body, p.position)
        bx, by, bz = point_in_world(motion.poses_next, p.body, p.position)
        dx, dy, dz = bx - ax, by - ay, bz - az
        closed = c.impulse[0] > 0.0
        sticks = closed and p.radius == 0.0 and is_sliding(c.velocity) == 0
        for k in range(3):
            if k > 0 and not sticks:
                c.curvature[k] = 0.0
                continue
            moved = c.axes[k, 0] * dx + c.axes[k, 1] * dy + c.axes[k, 2] * dz
            c.curvature[k] = moved / h - (c.velocity[k] - c.shift[k])
            ahead = max(-_CREEP, c.gap) + moved if k == 0 else moved
            worst = max(worst, abs(ahead) if closed else -ahead)
    return worst


@part
def _deepest_point(scene: Scene, problem: Problem, motion: Motion, h):
    """Depth (m) of the deepest listed contact after the step; fills gap_next."""
    depth = 0.0
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        if c.point >= 0:
            p = scene.points[c.point]
            x, y, z = point_in_world(motion.poses_next, p.body, p.position)
            n = c.axes[0]
            c.gap_next = n[0] * x + n[1] * y + n[2] * z - scene.polygons[c.face].offset - p.radius
        elif c.point == STOP:
            c.gap_next = stop_gap(scene, c.face, motion.q_next)
        else:
            c.gap_next = c.gap + h * (c.velocity[0] - c.shift[0])
        depth = max(depth, -c.gap_next)
    return depth


@part
def _move_out(scene: Scene, problem: Problem, motion: Motion):
    """Add a displacement to the step that takes points out of the environment, the least in kinetic metric."""
    n, vectors = 6 * problem.counts[1], problem.vectors
    for i in range(n):
        vectors[BEFORE, i], vectors[FREE, i] = vectors[WRENCH, i], 0.0
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        for k in range(3):
            c.kept[k], c.rest[k] = c.impulse[k], c.velocity[k]
            c.before[k] = c.shift[k]
            c.impulse[k] = c.shift[k] = c.free[k] = 0.0
        c.shift[0] = c.gap_next if c.gap_next >= 0.0 else _RECOVERY * c.gap_next
        c.friction = 0.0
    newton_solver.solve(problem)
    _apply(scene, problem, motion)
    for d in range(motion.vectors.shape[1]):
        motion.vectors[DISPLACEMENT, d] += motion.vectors[X, d]
    for i in range(n):
        vectors[WRENCH, i] = vectors[BEFORE, i]
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        for k in range(3):
            c.impulse[k] = c.kept[k]


@part
def _guard_energy(motion: Motion, h):
    """Keep a step of a mechanism that nothing drives from gaining energy; False for bad numbers.

    Velocity terms enter (1) explicitly: fast spinning bodies would gain energy of order h². First the velocity of free
    joints is carried over to the turned axes of the body, as linear momentum demands; what is left is scaled away.
    """
    a, e = motion.vectors, motion.energies
    for kernel in (KINETIC_ENERGY, POTENTIAL_ENERGY):
        if run_bound(motion.kernels[kernel]) >= 0:
            return False
    driven = 0.0
    for d in range(a.shape[1]):
        driven += abs(a[APPLIED, d])
    before = e[KINETIC] + e[POTENTIAL]
    allowed = before + 1e-11 * (e[KINETIC] + e[KINETIC_NEXT]) + 1e-15 * abs(before)
    if driven > 0.0 or e[KINETIC_NEXT] + e[POTENTIAL_NEXT] <= allowed:
        return True
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
    if run_bound(motion.kernels[KINETIC_ENERGY]) >= 0:
        return False
    gain = e[KINETIC_NEXT] + e[POTENTIAL_NEXT] - before
    if gain > 0.0 and e[KINETIC_NEXT] > 0.0:
        scale = math.sqrt(max(0.0, 1.0 - gain / e[KINETIC_NEXT]))
        for d in range(a.shape[1]):
            a[V_NEXT, d] *= scale
        e[KINETIC_NEXT] *= scale * scale
    return True


@part
def _finish_torque(motion: Motion, h):
    """The servo at the end of the step: what (1) lets act."""
    a = motion.vectors
    for d in range(a.shape[1]):
        a[APPLIED, d] -= a[KD, d] * (a[V_NEXT, d] - a[V, d])
        if motion.coordinate[d] >= 0:
            a[APPLIED, d] -= h * a[KP, d] * a[V_NEXT, d]
        a[ACCELERATION, d] = (a[V_NEXT, d] - a[V, d]) / h


@part
def _prepare(scene: Scene, problem: Problem, motion: Motion, first):
    """Fill what the problem has to know of the contacts from `first` on."""
    a, rows = motion.vectors, motion.held.work.rows
    prepare(scene, problem, first, motion.poses, motion.columns, motion.H, a[ROOT], rows, a[V], a[V_FREE])


@part
def _rows_are_loose(scene: Scene, problem: Problem, motion: Motion, known, h):
    """Whether the trial step leaves loops open; then the free motion is corrected, for the `known` contacts too."""
    a = motion.vectors
    if len(motion.held.work.rows) == 0 or correct_rows(motion.held, motion.q_next, a[V_NEXT], h) <= HELD:
        return False
    hold_rows(motion.held, motion.H, scene.parent, a[ROOT], a[X], a[V_FREE])
    reset_hub(scene, problem)
    count, problem.counts[0] = problem.counts[0], known
    _prepare(scene, problem, motion, 0)
    problem.counts[0] = count
    return True


@part
def take_step(scene: Scene, problem: Problem, motion: Motion, h, solver, certificate):
    """Compute the velocity and configuration after one step, contact impulses and their certificate; see `accept`.

    certificate (10,): depth after the step (m), cone, complementarity, dissipation (see certificate.py), solver
    residual, rounds, passes, 1 if not converged; work of friction and of normal impulses (J).
    """
    a = motion.vectors
    status = free_velocity(scene, motion, h)
    if status != FINE:
        return status
    reset_hub(scene, problem)
    find_near(scene, problem, motion.poses, _REACH if solver == DEFAULT else 0.0, _DEEPEST)
    add_pairs(problem)
    find_stops(scene, problem, motion.q, motion.q, a[V_FREE], h, _REACH, True)
    slowest = max(_BOUNCING, 25.0 * h)
    residual, rounds, passes, known = 0.0, 0, 0, 0
    good = True
    for _ in range(_PASSES):
        passes += 1
        if problem.counts[0] > known:
            _prepare(scene, problem, motion, known)
            _recall(scene, problem, known)
            _set_bounces(problem, known, h, slowest)
            known = problem.counts[0]
        if known > 0:
            if solver == DEFAULT:
                residual, more, good = _solve_contacts(problem, h)
            else:
                residual, more, good = sugihara_solver.solve(problem, h)
            rounds += more
        _apply(scene, problem, motion)
        for d in range(a.shape[1]):
            a[V_NEXT, d] = a[V_FREE, d] + a[X, d]
            a[DISPLACEMENT, d] = h * a[V_NEXT, d]
        if not _try(motion):
            return BAD_NUMBERS
        if solver == SUGIHARA2002:
            break
        passed = find_passed(scene, problem, motion.poses, motion.poses_next, _CLOSED)
        passed += find_stops(scene, problem, motion.q, motion.q_next, a[V], h, _CLOSED, False)
        loose = _rows_are_loose(scene, problem, motion, known, h)
        if passed == 0 and _miss(scene, problem, motion, h) <= _CLOSED and not loose:
            break
    problem.counts[0] = known
    _certify(problem, certificate)
    _book_work(problem, certificate)
    _finish_torque(motion, h)
    if solver == DEFAULT:
        bounced = False
        for index in range(known):
            bounced = bounced or problem.contacts[index].bounces == 1
        # Restitution was held to its own balance; the half step between position and velocity shows as a gain then.
        if not bounced and not _guard_energy(motion, h):
            return BAD_NUMBERS
        if _deepest_point(scene, problem, motion, h) > _INSIDE:
            _move_out(scene, problem, motion)
            if not _try(motion):
                return BAD_NUMBERS
    for kernel in (KINETIC_ENERGY, POTENTIAL_ENERGY):
        if run_bound(motion.kernels[kernel]) >= 0:
            return BAD_NUMBERS
    certificate[0] = _deepest_point(scene, problem, motion, h)
    certificate[4], certificate[5], certificate[6] = residual, rounds, passes
    certificate[7] = 0.0 if good else 1.0
    return FINE


@part
def _certify(problem: Problem, certificate):
    """Cone, complementarity and dissipation residuals of the impulses (certificate.py)."""
    cone = together = dissipation = 0.0
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        f, v, mu = c.impulse, c.velocity, c.friction
        ft, vt = math.sqrt(f[1] * f[1] + f[2] * f[2]), math.sqrt(v[1] * v[1] + v[2] * v[2])
        cone = max(cone, ft - mu * f[0], -f[0])
        together = max(together, abs(f[0] * v[0]), -v[0] * c.scale * abs(v[0]))
        dissipation = max(dissipation, abs(f[1] * v[1] + f[2] * v[2] + mu * f[0] * vt))
    certificate[1], certificate[2], certificate[3] = cone, together, dissipation


@part
def _book_work(problem: Problem, certificate):
    """Work of contact friction and of normal impulses in this step (J), with the mean of old and new velocity."""
    certificate[8] = certificate[9] = 0.0
    for index in range(problem.counts[0]):
        c = problem.contacts[index]
        for k in range(3):
            work = 0.5 * c.impulse[k] * (c.before[k] + c.velocity[k] - c.shift[k])
            certificate[9 if k == 0 else 8] += work


@part
def accept(scene: Scene, problem: Problem, motion: Motion):
    """Make the step just taken the state."""
    _remember(scene, problem)
    motion.energies[KINETIC], motion.energies[POTENTIAL] = (
        motion.energies[KINETIC_NEXT],
        motion.energies[POTENTIAL_NEXT],
    )
    for k in range(len(motion.q)):
        motion.q[k] = motion.q_next[k]
    for d in range(motion.vectors.shape[1]):
        motion.vectors[V, d] = motion.vectors[V_NEXT, d]
    for body in range(len(motion.poses)):
        for i in range(3):
            for j in range(4):
                motion.poses[body, i, j] = motion.poses_next[body, i, j]
