"""The machine of one world with an environment: time-stepping contact, what a recording keeps, events of the points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.contact.certificate import FRICTION_WORK, NORMAL_WORK
from setsu.contact.convex_tables import ConvexShapes
from setsu.contact.free_motion import (
    ACCELERATION,
    APPLIED,
    BAD_NUMBERS,
    DAMPING,
    DRY,
    FINE,
    POSITION,
    ROOT,
    TORQUE,
    V_NEXT,
    VELOCITY,
    StepState,
    V,
)
from setsu.contact.held_rows import HeldRows, axes_friction_work, rows_work
from setsu.contact.memory import is_sliding
from setsu.contact.pair_detection import find_missed, find_pairs, place_shapes
from setsu.contact.pair_log import PairLog, has_room, note_forces, note_touches
from setsu.contact.scene import N_CONTACTS, POINTS_KEPT, STOP, Problem, Scene
from setsu.contact.step import accept, begin, take_step
from setsu.contact.tree import Tree
from setsu.native.control_flow import inline, jit, run_bound
from setsu.simulation.clock import (
    READY,
    WANTS,
    Ask,
    Clock,
    Drive,
    asks_now,
    begins_step,
    counts_step,
    drive,
    takes_order,
)
from setsu.simulation.sampling import Sampling, samples
from setsu.simulation.stages import Rows

__all__ = [
    "DAMPER_WORK",
    "DRIVE_WORK",
    "EVENT_KINDS",
    "HIT_WORK",
    "JOINT_WORK",
    "N_EVENTS",
    "N_TOUCHES",
    "RUB_WORK",
    "TOTALS",
    "WORKS",
    "DriveTables",
    "Records",
    "make_records",
    "run_contact",
]

# Entries of Records.sums (J): work of actuators, of friction in joints, of dampers and drag of force elements, and of
# friction and normal impulses of contacts; then the certificate.
DRIVE_WORK, JOINT_WORK, DAMPER_WORK, RUB_WORK, HIT_WORK = range(5)
WORKS, TOTALS = 5, 13
# Entries of Records.counts: how many events and touches are still to be fetched.
N_EVENTS, N_TOUCHES = range(2)

_DONE, _NEED_TORQUE, _RECORDS_FULL, _FAILED = (
    int(Ask.DONE), int(Ask.NEED_TORQUE), int(Ask.RECORDS_FULL), int(Ask.FAILED),
)  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# How often a step that ends in an overlap of shapes is taken again.
_AGAIN = 3

EVENT_KINDS = ("touch", "lift-off", "slip", "stick", "stop", "release")
_TOUCH, _LIFT, _SLIP, _STICK, _STOP, _RELEASE = range(6)


class DriveTables(NamedTuple):
    """Torque and references of a joint servo per step, (steps + 1, nv), or one row that holds throughout."""

    torque: Floats
    position: Floats
    velocity: Floats
    first: Ints  # (1,) number of the step that the first row is for
    solver: Ints  # (1,) which contact solver
    driven: Ints  # (1,) 1: rows of driven joints do work
    q: Floats  # (1, nq) state of the world where the simulator reads it, and (1, nv)
    v: Floats
    element_power: Floats  # (1,) W, of dampers and drag of force elements in the middle of the step
    element_powers: Ints  # (1, 7) the kernel that works it out; (0, 7) without force elements


class Records(NamedTuple):
    """Rows of a recording: the state at a time and what acts in the step that begins there."""

    q: Floats  # (room, nq)
    motion: Floats  # (room, 5, nv) velocity, acceleration, torque, torque of joint stops, dry friction
    axes: Floats  # (room, f) dry friction and stops along free axes of joints that close loops
    touches: (
        Floats  # (room, 12) of a point that touches: row, point; force (N), place (m), normal part of the force (N),
    )
    # world axes; normal force (N)
    wrench: Floats  # (T, n_bodies, 6) of contacts at body origins, N, N m
    totals: Floats  # (T, TOTALS) work since t = 0 (J): actuators, joint friction, dampers of force elements, contact
    # friction, normal forces; then the worst of each entry of the certificate since the row before
    events: Ints  # (room, 3) step, kind, point or number of points plus stop
    counts: Ints  # (2,) events and touches that are still to be fetched
    sums: Floats  # (TOTALS,) the totals so far
    now: Floats  # (10,) certificate of the present step


def make_records(rows: int, nq: int, nv: int, axes: int, n_bodies: int, scene: Scene, n_contacts: int) -> Records:
    """Return room for so many rows, for a problem of at most so many contacts; axes: free ones of loops."""
    n_points = len(scene.points)
    return Records(
        q=np.zeros((rows, nq)),
        motion=np.zeros((rows, 5, nv)),
        axes=np.zeros((rows, axes)),
        touches=np.zeros((2 * n_contacts + 10_000, 12)),
        wrench=np.zeros((rows, n_bodies, 6)),
        totals=np.zeros((rows, TOTALS)),
        events=np.zeros((64 + 8 * (n_points + len(scene.stops)), 3), dtype=np.int64),
        counts=np.zeros(2, dtype=np.int64),
        sums=np.zeros(TOTALS),
        now=np.zeros(10),
    )


@inline
def _set_references(tables, a, k):
    """References of the joint servo for the step number k of the piece of the run at hand."""
    for d in range(a.shape[1]):
        a[POSITION, d] = tables.position[min(k, len(tables.position) - 1), d]
        a[VELOCITY, d] = tables.velocity[min(k, len(tables.velocity) - 1), d]
        a[TORQUE, d] += tables.torque[min(k, len(tables.torque) - 1), d]


@inline
def _add_works(scene, motion, tables, held, records, h):
    a = motion.vectors
    if tables.driven[0] == 1:
        contacts = records.now[FRICTION_WORK] + records.now[NORMAL_WORK]
        records.sums[DRIVE_WORK] += rows_work(held, motion.H, scene.parent, a[ROOT], a[V], a[V_NEXT], contacts)
    records.sums[JOINT_WORK] += axes_friction_work(held, h)
    for d in range(a.shape[1]):
        mean = 0.5 * (a[V, d] + a[V_NEXT, d])
        records.sums[DRIVE_WORK] += h * a[APPLIED, d] * mean
        records.sums[JOINT_WORK] += h * (a[DRY, d] - a[DAMPING, d] * a[V_NEXT, d]) * mean
    if len(tables.element_powers) > 0 and run_bound(tables.element_powers[0]) < 0:
        records.sums[DAMPER_WORK] += h * tables.element_power[0]
    records.sums[RUB_WORK] += records.now[FRICTION_WORK]
    records.sums[HIT_WORK] += records.now[NORMAL_WORK]


@inline
def _is_full(c, scene, problem, records, log):
    return (
        c.used[0] == len(records.q)
        or records.counts[N_EVENTS] > len(records.events) - len(scene.points) - len(scene.stops)
        or records.counts[N_TOUCHES] > len(records.touches) - len(problem.contacts)
        or not has_room(log)
    )


@jit
def run_contact(
    c: Clock, y: Rows, d: Drive, p: Sampling, scene: Scene, tree: Tree, problem: Problem, motion: StepState,
    tables: DriveTables, records: Records, shapes: ConvexShapes, log: PairLog, held: HeldRows,
):  # fmt: skip
    """Take steps until something is to be asked; return an Ask, with the status of a failure in c.failure.

    A record is a state and what acts in the step that begins there. The last state of a run takes its step only to know
    that; the simulator puts the world back then. Without `shapes`, the contacts between bodies are those that stand in
    problem.pairs already.
    """
    takes_order(c)
    ask = _run(c, y, d, p, scene, tree, problem, motion, tables, records, shapes, log, held)
    for i in range(y.q.shape[1]):
        tables.q[0, i] = y.q[0, i]
    for i in range(y.v.shape[1]):
        tables.v[0, i] = y.v[0, i]
    return ask


@inline
def _run(
    c: Clock, y: Rows, d: Drive, p: Sampling, scene: Scene, tree: Tree, problem: Problem, motion: StepState,
    tables: DriveTables, records: Records, shapes: ConvexShapes, log: PairLog, held: HeldRows,
):  # fmt: skip
    """`run_contact` itself."""
    if c.phase[0] == READY:
        # The state was set from outside.
        if not begin(tree, motion, held):
            c.failure[0] = BAD_NUMBERS
            return _FAILED
        c.phase[0] = WANTS
    while True:
        last = c.done[0] == c.target[0]
        if last and c.final[0] == 0:
            return _DONE
        if _is_full(c, scene, problem, records, log):
            return _RECORDS_FULL
        if asks_now(c):
            return _NEED_TORQUE
        samples(p, d, y)
        drive(d, y, c)
        if c.frozen[0] != 0:
            return _FAILED
        h = c.step[0] if last else begins_step(c)
        _set_references(tables, motion.vectors, c.done[0] - tables.first[0])
        if len(shapes.shapes) > 0:
            if run_bound(shapes.kernel) >= 0:
                c.failure[0] = BAD_NUMBERS
                return _FAILED
            place_shapes(shapes, motion.poses_start, shapes.velocities)
            find_pairs(shapes, problem, h)
        status = FINE
        for again in range(_AGAIN + 1):
            status = take_step(scene, tree, problem, motion, held, h, tables.solver[0], records.now)
            if status != FINE or len(shapes.shapes) == 0 or again == _AGAIN:
                break
            if find_missed(shapes, problem, motion, h) == 0:
                break
        if status != FINE:
            c.failure[0] = status
            return _FAILED
        if p.sensed.shape[1] > 0:
            _sense(p, problem, h)
        for i in range(TOTALS - WORKS):
            records.sums[WORKS + i] = max(records.sums[WORKS + i], records.now[i])
        if c.due[0] == 1:
            note_forces(log, problem, c.used[0], h)
            _record(c, scene, problem, motion, held, records, h)
        if last:
            c.done[0] += 1
            return _DONE
        _see_events(scene, problem, records, y.k[0])
        note_touches(log, problem, y.k[0])
        _add_works(scene, motion, tables, held, records, h)
        accept(scene, tree, problem, motion)
        counts_step(c, y)


@inline
def _sense(p: Sampling, problem: Problem, h):
    """Forces that the bodies exert on what they touch in a step, for sampled laws."""
    out = p.sensed[0]
    for i in range(len(out)):
        out[i] = 0.0
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        if c.point != STOP:
            for i in range(3):
                force = (c.axes[0, i] * c.impulse[0] + c.axes[1, i] * c.impulse[1] + c.axes[2, i] * c.impulse[2]) / h
                out[3 * c.body_a + i] -= force
                if c.body_b >= 0:
                    out[3 * c.body_b + i] += force


@inline
def _record(c, scene: Scene, problem: Problem, motion: StepState, held: HeldRows, records: Records, h):
    row, a = c.used[0], motion.vectors
    c.used[0], c.due[0] = row + 1, 0
    for body in range(records.wrench.shape[1]):
        for i in range(6):
            records.wrench[row, body, i] = 0.0
    for i in range(len(motion.q)):
        records.q[row, i] = motion.q[i]
    for d in range(a.shape[1]):
        records.motion[row, 0, d] = a[V, d]
        records.motion[row, 1, d] = a[ACCELERATION, d]
        records.motion[row, 2, d] = a[APPLIED, d]
        records.motion[row, 3, d] = 0.0
        records.motion[row, 4, d] = a[DRY, d]
    for j in range(records.axes.shape[1]):
        records.axes[row, j] = held.work.axis_end[j, 1]
    for i in range(TOTALS):
        records.totals[row, i] = records.sums[i]
        if i >= WORKS:
            records.sums[i] = 0.0
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        if c.point == STOP:
            s = scene.stops[c.face]
            force = s.sign * s.lever * c.impulse[0] / h
            if s.axis < 0:
                records.motion[row, 3, s.velocity] += force
            else:
                records.axes[row, s.axis] += force
        if c.point < 0 or not c.impulse[0] > 0.0:
            continue
        out = records.touches[records.counts[N_TOUCHES]]
        records.counts[N_TOUCHES] += 1
        out[0], out[1], out[11] = row, c.point, c.impulse[0] / h
        for i in range(3):
            out[2 + i] = (c.axes[0, i] * c.impulse[0] + c.axes[1, i] * c.impulse[1] + c.axes[2, i] * c.impulse[2]) / h
            out[5 + i] = c.position[i]
            out[8 + i] = c.axes[0, i] * c.impulse[0] / h
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        if c.point != STOP:
            _record_wrench(motion, records.wrench[row, c.body_a], c, 1.0 / h, c.body_a)
            if c.body_b >= 0:
                _record_wrench(motion, records.wrench[row, c.body_b], c, -1.0 / h, c.body_b)


@inline
def _record_wrench(motion: StepState, out, c, scale, body):
    """Add the wrench of a contact on a body, at the body's origin, both at the beginning of the step."""
    T, E, f = motion.poses_start[body], c.axes, c.impulse
    x = scale * (E[0, 0] * f[0] + E[1, 0] * f[1] + E[2, 0] * f[2])
    y = scale * (E[0, 1] * f[0] + E[1, 1] * f[1] + E[2, 1] * f[2])
    z = scale * (E[0, 2] * f[0] + E[1, 2] * f[1] + E[2, 2] * f[2])
    rx, ry, rz = c.position[0] - T[0, 3], c.position[1] - T[1, 3], c.position[2] - T[2, 3]
    out[0] += x
    out[1] += y
    out[2] += z
    t = c.couple
    out[3] += ry * z - rz * y + scale * (E[0, 0] * t[0] + E[1, 0] * t[1] + E[2, 0] * t[2])
    out[4] += rz * x - rx * z + scale * (E[0, 1] * t[0] + E[1, 1] * t[1] + E[2, 1] * t[2])
    out[5] += rx * y - ry * x + scale * (E[0, 2] * t[0] + E[1, 2] * t[1] + E[2, 2] * t[2])


@inline
def _see_events(scene: Scene, problem: Problem, records: Records, k):
    """Compare what each point does now with what it did in the step before."""
    touching = scene.touching
    # It holds the state before, plus four times the present one.
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        if c.point == STOP and c.impulse[0] > 0.0:
            scene.stops[c.face].touching += 2
        if c.point >= 0 and c.impulse[0] > 0.0:
            was = touching[c.point]
            touching[c.point] = was % 4 + 4 * max(was // 4, 1 + is_sliding(c.velocity))
    for n in range(_list_changes(scene, problem)):
        index = scene.changes[n]
        before, now = touching[index] % 4, touching[index] // 4
        touching[index] = now
        if before != now:
            kind = _TOUCH if before == 0 else (_LIFT if now == 0 else (_SLIP if now == 2 else _STICK))
            _note(records, k, kind, index)
    for stop in range(len(scene.stops)):
        s = scene.stops[stop]
        before, now = s.touching % 2, s.touching // 2
        s.touching = now
        if before != now:
            _note(records, k, _STOP if now == 1 else _RELEASE, len(scene.points) + stop)


@inline
def _list_changes(scene: Scene, problem: Problem):
    """Write the points that touch, or did in the step before, to scene.changes, in order; return how many."""
    count, n_before, out = 0, problem.counts[POINTS_KEPT], scene.changes
    for n in range(n_before + problem.counts[N_CONTACTS]):
        if n < n_before:
            point = problem.remembered[n]
        else:
            c = problem.contacts[n - n_before]
            point = c.point if c.impulse[0] > 0.0 else -1
        if point < 0:
            continue
        place = count
        while place > 0 and out[place - 1] > point:
            place -= 1
        if place > 0 and out[place - 1] == point:
            continue
        for k in range(count, place, -1):
            out[k] = out[k - 1]
        out[place] = point
        count += 1
    return count


@inline
def _note(records: Records, k, kind, index):
    e = records.counts[N_EVENTS]
    records.events[e, 0], records.events[e, 1], records.events[e, 2] = k, kind, index
    records.counts[N_EVENTS] = e + 1
