"""One semi-implicit time step of a mechanism in contact with its environment, in compiled code.

| symbol | meaning | unit |
|---|---|---|
| h | step | s |
| H, b | mass matrix, bias torque at the beginning of the step | |
| u, kp, kd | torque without and gains of the joint servo; D, k damping and stiffness of the joints | |
| K, λ | contact Jacobian (K_iᵀ = ∂p_i/∂q), contact impulses | N s |

    (H + h (kd + D) + h² (kp + k)) (ν' - ν) = h (u - b - h (kp + k) ν + f) + K λ    (1)  free_motion.py
    q' = q ⊕ ½ h (ν + ν'), or q ⊕ h ν' where contacts close                   (2)  flight.py
    gap_i(q') >= 0, impulses as in newton_solver.py at the velocities ν'      (3)

Source: sugihara2002 (16)-(19) with the reading of docs/contact.md; (1) implicit in the joints' springs and dampers, so
that stiff servos stay stable. In the free base's rows (1) is momentum balance, exactly.
(3) holds at the end of the step, not in its linearisation: where points turn on an arc the step is solved again with
what the straight line missed, unless that could be foreseen (memory.py); points that a trial step takes through a
polygon join the problem. Joints with dry friction stick or slide, and the step is solved again where that changes.
Points found inside the environment are moved out by a displacement, which gives no velocity (recovery.py).
Friction and restitution: impulses.py. Energy: energy_guard.py.
"""

from __future__ import annotations

from setsu.contact import sugihara_solver
from setsu.contact.certificate import DEPTH, FAILED, PASSES, RESIDUAL, ROUNDS, add_up_work, certify
from setsu.contact.cone_guard import bring_into_cones
from setsu.contact.dense import set_free_twists
from setsu.contact.detection import add_pairs, find_near, find_passed, point_in_world, set_places
from setsu.contact.energy_guard import (
    energy_gain,
    find_groups,
    guard_energy,
    set_energies,
    set_losses,
    set_work,
    take_given,
)
from setsu.contact.flight import (
    find_jumps,
    keep_energy,
    note_momenta,
    place_middle,
    set_displacement,
    set_end_velocity,
    set_targets,
    try_step,
    turn_velocity,
)
from setsu.contact.free_motion import (
    ACCELERATION,
    APPLIED,
    AXES,
    AXES_NEXT,
    BAD_NUMBERS,
    CHANGE,
    COULOMB,
    DISPLACEMENT,
    DRY,
    FINE,
    KD,
    KINETIC,
    KINETIC_NEXT,
    KP,
    POSES_NOW,
    POTENTIAL,
    POTENTIAL_NEXT,
    ROOT,
    UNCHANGED,
    V_END,
    V_FREE,
    V_NEXT,
    StepState,
    V,
    check_sticking,
    free_velocity,
    set_sticking,
)
from setsu.contact.held_rows import HELD, YIELDING, HeldRows, axes_energy, begin_rows, correct_rows, hold_rows
from setsu.contact.impulses import RECOVERY_DEPTH, set_bounces, solve_contacts
from setsu.contact.joint_stops import bend_of_stop, find_stops
from setsu.contact.memory import is_sliding, keep_impulses, recall, remember
from setsu.contact.problem import apply_impulses, prepare, reset_hub, set_velocity
from setsu.contact.recovery import INSIDE, deepest_point, may_move_out, move_out
from setsu.contact.scene import (
    DENSE,
    FEW_ROUNDS,
    FREE,
    N_CONTACTS,
    ROUNDS_LEFT,
    ROUNDS_OF_STEP,
    STOP,
    TWIST,
    UNCONVERGED,
    Problem,
    Scene,
)
from setsu.contact.tree import (
    NEXT,
    NOW,
    POTENTIAL_OF,
    Tree,
    ends_its_step,
    kinetic_energy,
    set_inertias,
    take_next,
    weight_energy,
)
from setsu.contact.turns import find_turns
from setsu.native.control_flow import inline, run_bound
from setsu.native.lanes import load_from, store_from

__all__ = ["DEFAULT", "SUGIHARA2002", "accept", "begin", "take_step"]

DEFAULT, SUGIHARA2002 = 0, 1  # Which solver.

_REACH = 5e-5  # m: points nearer than this are part of the problem from the start.
# m: points deeper inside than this are taken to be on the other side; second: where contacts may be soft.
_DEEPEST, _DEEPEST_SOFT = 5e-3, 5e-2
_CLOSED = 1e-9  # m: what a step may leave between a closed contact and its face.
_BOUNCING = 0.01  # m/s: slower impacts do not bounce.
_PASSES = 8
_HALVINGS = 8  # How often a displacement that needs more energy than there is gets shortened.
_SLOWER, _FASTER, _LEAST = 0.7, 1.002, 1e-4  # How the way out of a compliant contact follows what there is energy for.
_TURNING = 1e-4  # rad: steps that turn more find their turn by iteration.
_NOTICED = 1e-14  # m: energy that would lift everything by less is rounding.


@inline
def _shorten(tree: Tree, motion: StepState, held: HeldRows, h, share):
    """Take only a share of the displacement of trees that cannot pay for theirs; False for bad numbers."""
    for d in range(motion.vectors.shape[1]):
        if tree.stays[tree.root[d]] == 1:
            motion.vectors[DISPLACEMENT, d] *= share
    turn_velocity(tree, motion, False)  # a shorter step ends in other axes
    if not try_step(tree, motion, h, False):
        return False
    turn_velocity(tree, motion, True)
    return set_energies(tree, motion, held)


@inline
def _miss(scene: Scene, tree: Tree, problem: Problem, motion: StepState, held: HeldRows, h):
    """Curvature of the contacts' way in this trial step; return the largest error it leaves at a closed one (m).

    `curvature` makes up for the contact's compliance too, if the step is solved again; `bend` is geometry alone. Both
    are what is left beside the way of the velocities, whose mean moves trees without jumps: what they owe to
    a contact is asked of the velocity at the end alone, so that it fades instead of going to and fro.
    """
    worst = 0.0
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        if c.point == STOP and scene.stops[c.face].axis >= 0:
            worst = max(worst, bend_of_stop(scene, held, c, motion.q_next, h))
        if c.point < 0 or c.bounces == 1:
            continue
        if c.soft > 0.0:
            for k in range(3):
                c.curvature[k] = c.bend[k] = 0.0
            continue
        p = scene.points[c.point]
        ax, ay, az = point_in_world(motion.poses_start, p.body, p.position)
        bx, by, bz = point_in_world(motion.poses_next, p.body, p.position)
        dx, dy, dz = bx - ax, by - ay, bz - az
        closed = c.impulse[0] > 0.0
        jumps = ends_its_step(tree, tree.last[p.body])
        set_velocity(problem, index, TWIST, c.slope)
        for k in range(3):
            moved = (c.axes[k, 0] * dx + c.axes[k, 1] * dy + c.axes[k, 2] * dz) / h
            end = c.velocity[k] - c.shift[k]
            c.curvature[k] = moved - (end if jumps else 0.5 * (c.before[k] + end))
            c.bend[k] = moved - (c.slope[k] if jumps else 0.5 * (c.before[k] + c.slope[k]))
        # A contact that slides no faster than its way bends may do so only because others were not told of the bend:
        # letting such ones go would make the passes go to and fro.
        v, bent = c.velocity, 4.0 * (c.bend[1] * c.bend[1] + c.bend[2] * c.bend[2])
        slow = is_sliding(v) == 0 or v[1] * v[1] + v[2] * v[2] <= bent
        for k in range(3):
            if k > 0 and not (slow and p.radius == 0.0):
                c.curvature[k] = c.bend[k] = 0.0
                continue
            if k > 0:
                # Friction may let it slide: what counts is what another pass would ask for.
                worst = max(worst, abs(h * (c.curvature[k] - c.shift[k] - c.surface[k])) if closed else 0.0)
                continue
            ahead = h * (c.velocity[k] - c.shift[k] + c.curvature[k])
            ahead += max(-RECOVERY_DEPTH * motion.recovery_share[0], c.gap)
            worst = max(worst, abs(ahead) if closed else -ahead)
    return worst


@inline
def _take_impulses(scene: Scene, tree: Tree, problem: Problem, motion: StepState, held: HeldRows, h, plain, far):
    """Velocity and displacement of the step from the impulses just found; False for bad numbers."""
    a = motion.vectors
    apply_impulses(scene, tree, problem, motion, held)
    for d in range(a.shape[1]):
        a[V_NEXT, d] = a[V_FREE, d] + a[CHANGE, d]
    find_jumps(tree, problem)
    set_displacement(tree, motion, h)
    if not plain:
        set_targets(tree, problem, motion, h)
    if not try_step(tree, motion, h, not plain):
        return False
    if not plain and far > _TURNING and find_turns(tree, motion, h):
        return try_step(tree, motion, h, True)
    return True


@inline
def _finish(tree: Tree, problem: Problem, motion: StepState, h, plain):
    """Torques that acted, their work, and the velocity in the axes of the step's end."""
    a = motion.vectors
    for d in range(a.shape[1]):
        a[DRY, d] = -a[COULOMB, d] * (tree.sticks[d] if tree.sticks[d] != 0 else a[V_NEXT, d] / YIELDING)
        a[APPLIED, d] = a[UNCHANGED, d] - a[KD, d] * (a[V_NEXT, d] - a[V, d])
        if motion.coordinate[d] >= 0:
            a[APPLIED, d] -= h * a[KP, d] * a[V_NEXT, d]
        a[ACCELERATION, d] = (a[V_NEXT, d] - a[V, d]) / h
    set_work(tree, problem, motion, h)
    set_end_velocity(tree, motion, h, plain)
    for d in range(a.shape[1]):
        a[V_NEXT, d] = a[V_END, d]


@inline
def _rows_are_loose(scene: Scene, problem: Problem, motion: StepState, held: HeldRows, known, h):
    """Whether the trial step leaves loops open; then the free motion is corrected, for the `known` contacts too."""
    a = motion.vectors
    if correct_rows(held, motion.q_next, motion.poses_next, h) <= HELD:
        return False
    hold_rows(held, motion.H, scene.parent, a[ROOT], a[V_FREE])
    set_free_twists(scene, problem, motion, held)
    for index in range(known):
        set_velocity(problem, index, FREE, problem.contacts[index].free)
    return True


@inline
def _prepare_again(scene: Scene, tree: Tree, problem: Problem, motion: StepState, held: HeldRows, known):
    """Mass matrix and free motion have changed: fill what follows from them for the `known` contacts."""
    reset_hub(problem)
    count, problem.counts[N_CONTACTS] = problem.counts[N_CONTACTS], known
    prepare(scene, tree, problem, motion, held, 0)
    problem.counts[N_CONTACTS] = count


@inline
def take_step(scene: Scene, tree: Tree, problem: Problem, motion: StepState, held: HeldRows, h, solver, certificate):
    """Compute the velocity and configuration after one step, contact impulses and their certificate; see `accept`.

    certificate: entries of certificate.py.
    """
    dense = len(held.work.basis) > 0
    plain = True
    for k in range(len(tree.plain)):
        plain = plain and tree.plain[k] == 1
    problem.counts[DENSE] = 1 if dense else 0
    far = place_middle(tree, motion, h)
    status = BAD_NUMBERS
    if far >= 0.0:
        status = _take(scene, tree, problem, motion, held, h, solver, certificate, plain, dense, far)
    for d in range(motion.vectors.shape[1]):
        motion.vectors[V, d] = motion.start[0, d]
    return status


@inline
def _take(
    scene: Scene, tree: Tree, problem: Problem, motion: StepState, held: HeldRows, h, solver, certificate, plain, dense,
    far,
):  # fmt: skip
    """The step itself, while V is that of the middle."""
    a = motion.vectors
    if dense and not begin_rows(held, scene.dof_body, motion.q, a[V], motion.poses, motion.columns, h):
        return BAD_NUMBERS
    set_sticking(tree, motion, held)
    status = free_velocity(scene, tree, motion, held, h, dense, plain, far)
    if status != FINE:
        return status
    rounds = problem.counts[ROUNDS_OF_STEP] - problem.counts[ROUNDS_LEFT]
    if rounds > 0:  # it is taken again (pair_detection.py)
        keep_impulses(scene, problem)
    reset_hub(problem)
    deepest = _DEEPEST_SOFT if scene.soft[0] == 1 else _DEEPEST
    find_near(scene, problem, motion.poses_start, _REACH if solver == DEFAULT else 0.0, deepest)
    add_pairs(problem)
    find_stops(scene, problem, held, motion.q, motion.q, a[V_FREE], h, _REACH, True)
    slowest = max(_BOUNCING, 25.0 * h)
    residual, passes, known = 0.0, 0, 0
    good = True
    for _ in range(_PASSES):
        passes += 1
        if problem.counts[N_CONTACTS] > known:
            set_places(scene, problem, motion, known)
            prepare(scene, tree, problem, motion, held, known)
            recall(scene, problem, known)
            set_bounces(tree, problem, motion, known, h, slowest)
            known = problem.counts[N_CONTACTS]
        if known > 0:
            if solver == DEFAULT:
                residual, more, good = solve_contacts(tree, problem, h, RECOVERY_DEPTH * motion.recovery_share[0])
                if not good:
                    bring_into_cones(tree, problem)
            else:
                residual, more, good = sugihara_solver.solve(tree, problem, h)
            rounds += more
        if not _take_impulses(scene, tree, problem, motion, held, h, plain, far):
            return BAD_NUMBERS
        if check_sticking(tree, motion, held) and passes < _PASSES:
            status = free_velocity(scene, tree, motion, held, h, dense, plain, far)
            if status != FINE:
                return status
            _prepare_again(scene, tree, problem, motion, held, known)
            continue
        if solver == SUGIHARA2002:
            break
        passed = find_passed(scene, problem, motion.poses_start, motion.poses_next, _CLOSED)
        passed += find_stops(scene, problem, held, motion.q, motion.q_next, a[V_NEXT], h, _CLOSED, False)
        loose = dense and _rows_are_loose(scene, problem, motion, held, known, h)
        met = not good or problem.counts[ROUNDS_LEFT] < FEW_ROUNDS  # it would fail again; it needs rounds
        met = met or _miss(scene, tree, problem, motion, held, h) <= _CLOSED
        if passed == 0 and met and not loose:
            break
    problem.counts[N_CONTACTS] = known
    certify(problem, certificate)
    add_up_work(problem, certificate)
    for d in range(a.shape[1]):
        a[UNCHANGED, d] = a[APPLIED, d]
    depth = deepest_point(scene, problem, motion, held, h)
    moved = solver == DEFAULT and depth > INSIDE and may_move_out(tree, motion, held, depth)
    moved = moved and problem.counts[ROUNDS_LEFT] > 0
    if moved:
        more, converged = move_out(scene, tree, problem, motion, held)
        rounds, good = rounds + more, good and converged
        if not try_step(tree, motion, h, False):
            return BAD_NUMBERS
        depth = deepest_point(scene, problem, motion, held, h)
    _finish(tree, problem, motion, h, plain)
    if not set_energies(tree, motion, held):
        return BAD_NUMBERS
    if solver == DEFAULT:
        halvings = 0
        find_groups(tree, problem, motion)
        if not plain and motion.elastic[0] == 0:
            set_losses(tree, motion, h)
            keep_energy(tree, motion)
        lifted = known > 0 and not moved and energy_gain(tree, motion) > _NOTICED * motion.weight[0]
        for index in range(known):
            lifted = lifted and problem.contacts[index].bounces == 0
        while not guard_energy(tree, motion) and halvings <= _HALVINGS:
            halvings += 1
            if lifted and problem.counts[ROUNDS_LEFT] >= FEW_ROUNDS:
                motion.recovery_share[0] *= _SLOWER  # contacts push in vain, and would report forces for it
                last = halvings == _HALVINGS
                residual, more, good = solve_contacts(
                    tree, problem, h, RECOVERY_DEPTH * (0.0 if last else motion.recovery_share[0])
                )
                rounds += more
                if not good:
                    bring_into_cones(tree, problem)
                lifted = not last
                if last:
                    halvings = 0
                if not _take_impulses(scene, tree, problem, motion, held, h, plain, far):
                    return BAD_NUMBERS
                certify(problem, certificate)
                add_up_work(problem, certificate)
                _finish(tree, problem, motion, h, plain)
                if not set_energies(tree, motion, held):
                    return BAD_NUMBERS
                find_groups(tree, problem, motion)
            elif not _shorten(tree, motion, held, h, 0.5 if halvings < _HALVINGS else 0.0):
                return BAD_NUMBERS
            depth = deepest_point(scene, problem, motion, held, h)
        take_given(tree, motion)
        motion.recovery_share[0] = min(1.0, max(_LEAST, motion.recovery_share[0] * _FASTER))
    certificate[DEPTH] = depth
    certificate[RESIDUAL], certificate[ROUNDS], certificate[PASSES] = residual, rounds, passes
    certificate[FAILED] = 0.0 if good else 1.0
    if not good:
        problem.counts[UNCONVERGED] += 1
    return FINE


@inline
def begin(tree: Tree, motion: StepState, held: HeldRows):
    """Poses, inertias, energies and momenta of the state; False for bad numbers."""
    for k in range(len(motion.q)):
        motion.q_middle[k] = motion.q[k]
    if run_bound(motion.kernels[POSES_NOW]) >= 0:
        return False
    for k in range(len(tree.roots)):  # a servo on a free joint holds on to the world
        r = tree.roots[k]
        for d in range(r.velocity, r.turning + 3):
            if motion.vectors[KP, d] != 0.0 or motion.vectors[KD, d] != 0.0:
                r.exact = 0
                tree.root_of[r.body] = -1
    _copy_poses(motion.poses, motion.poses_start)
    _copy_poses(motion.poses, motion.poses_next)
    set_inertias(tree, motion.poses, motion.columns, NOW)
    set_inertias(tree, motion.poses, motion.columns, NEXT)
    tree.current[0] = 0
    note_momenta(tree, motion, motion.vectors[V])
    motion.energies[KINETIC] = kinetic_energy(tree, motion.vectors[V], NOW)
    if motion.elastic[0] == 0:
        motion.energies[POTENTIAL] = weight_energy(tree, motion.poses, NOW)
    motion.energies[AXES] = axes_energy(held, motion.q, motion.vectors[V])
    return True


@inline
def _copy_poses(source, target):
    for body in range(len(source)):
        for i in range(3):
            store_from(target[body, i], 0, load_from(source[body, i], 0))


@inline
def accept(scene: Scene, tree: Tree, problem: Problem, motion: StepState):
    """Make the step just taken the state."""
    problem.counts[ROUNDS_LEFT] = problem.counts[ROUNDS_OF_STEP]
    remember(scene, problem)
    note_momenta(tree, motion, motion.vectors[V_NEXT])
    take_next(tree)
    e = motion.energies
    e[KINETIC], e[POTENTIAL], e[AXES] = e[KINETIC_NEXT], e[POTENTIAL_NEXT], e[AXES_NEXT]
    for k in range(tree.account.shape[1]):
        tree.account[NOW, k] = tree.account[NEXT, k]
        tree.account[POTENTIAL_OF + NOW, k] = tree.account[POTENTIAL_OF + NEXT, k]
    for k in range(len(motion.q)):
        motion.q[k] = motion.q_next[k]
    for d in range(motion.vectors.shape[1]):
        motion.vectors[V, d] = motion.vectors[V_NEXT, d]
        for i in range(6):
            motion.columns[i, d] = motion.columns_next[i, d]
    _copy_poses(motion.poses_next, motion.poses)
    _copy_poses(motion.poses_next, motion.poses_start)
