"""One time-stepping step in an environment as a smooth map, its contacts held in the modes that the machine found.

| symbol | meaning | unit |
|---|---|---|
| h | step | s |
| q_m, ν | middle of the step, and the velocity at its beginning in the axes there (contact/flight.py) | |
| H, b | mass matrix with implicit springs, dampers and gains, bias torque, in the middle | |
| K, λ | contact Jacobian in the middle, impulses along the axes of the contacts | N s |
| G, μ | rows of loops and couplings in the middle, their impulses | N s |
| w | velocity of a contact as its law takes it | m/s |
| s, β | gap at the beginning; what the straight way of a contact misses over the step | m, m/s |
| ε | compliance of the impulses (contact/newton_solver.py) | 1/kg |

    ν' = ν + H⁻¹ (h (u - b - ...) + Kᵀ λ + Gᵀ μ)                                      (1)  contact/free_motion.py
    q', v' = flight of ν' with the momentum of the impulses                           (2)  contact/flight.py (1)-(6)
    w_n = (K ν')_n + ε λ_n + max(-c, s)/h + β_n,  w_t = (K ν')_t + ε λ_t + β_t - belt     (3)  β_t where a point sticks
    β = (way of the point)/h - K ν' where the tree jumps, else - ½ K (ν + ν')         (4)
    open: λ = 0;  closed: w_n = 0;  sticks: w_t = 0;  slides: λ_t = -μ λ_n w_t/|w_t|  (5)
    stops of joints: K_n = s r along the joint, s = s r (q - l), β = 0, no tangents       (8)  contact/joint_stops.py
    out of the ground: q' <- q' ⊕ H⁻¹ K_nᵀ y, (K_n H⁻¹ K_nᵀ + ε) y = ⅕ depth          (6)  contact/step.py
    v' <- p + σ (v' - p), σ² = 1 - gain/T                                             (7)  contact/energy_guard.py
    loops and couplings: e(q') = 0, and the step is plain: q_m = q, ν = v, v' = ν'    (9)  contact/held_rows.py

The machine solves (4) by passes to a nanometre, here it is part of the equations. This file holds the workspace of the
map, its kernels and the modes of the contacts; contact_step_motion.py goes through (1), (2), contact_step_laws.py
through (3)-(5), both with the derivatives of every quantity.
Refuses what has no such map; see `refuse_contact_step` and `Refusal`.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.contact.free_motion import KD, KP, POSITION, TORQUE, VELOCITY, StepState, V
from setsu.contact.free_motion import V_END as V_UNSLOWED
from setsu.contact.scene import N_CONTACTS, STOP, Problem, Scene
from setsu.contact.tree import MOMENTS, Tree, held_trees
from setsu.dynamics.catalogue import native_function
from setsu.errors import InputError
from setsu.mechanism import Free, Mechanism, Spherical
from setsu.native.control_flow import inline
from setsu.native.lanes import LANES
from setsu.simulation.joint_servo import single_coordinates

__all__ = [
    "END",
    "MIDDLE",
    "START",
    "Refusal",
    "StepMap",
    "make_step_map",
    "read_modes",
    "refuse_contact_step",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Handle = NDArray[np.int64]

# Configurations of a step.
START, MIDDLE, END = 0, 1, 2
# Rows of StepMap.vectors: velocities at the beginning, ν, those that the bias is taken at, ν', v', zero; the step's
# displacement, half of the way; H⁻¹ of the loads: of the first look, without and with impulses; accelerations of both
# looks; bias, applied torque, reciprocal roots of the pivots; p of (7), torques of potentials at both ends.
VECTORS = 19
V_START, NU, V_BIAS, NU_NEXT, V_END, NOTHING, DISPLACEMENT, HALF, FIRST, FREE, CHANGE = range(11)
FIRST_RATE, RATE, BIAS, APPLIED, ROOT, RIGID, POTENTIAL_START, POTENTIAL_END = range(11, VECTORS)
# Rows of StepMap.kernels.
(
    TO_MIDDLE, TO_END, PLACE_START, PLACE_MIDDLE, PLACE_END, MASS_MATRIX, BIAS_FIRST, BIAS_TORQUE, DERIVATIVES_FIRST,
    DERIVATIVES, APART, WEIGH_START, WEIGH_END, ENERGY_START, ENERGY_END, SHIFTED_INERTIA, INERTIA_AT_REST, KERNELS,
) = range(18)  # fmt: skip
# Entries of StepMap.numbers.
NUMBERS = 10
STEP, SLOWEST, CREEP_DEPTH, GIVEN, COMPLIANCE, FAR, GAIN, ABOUT, SIGMA, MISSED = range(NUMBERS)
# Entries of StepMap.counts: contacts listed, those closed, columns of impulses; whether the step is plain, keeps energy
# by (7), was slowed, has contacts moved out, moves nothing; contact of a refusal; rows that are held; first column of
# impulses, a multiple of LANES; first and last block of columns at work; contacts at a boundary.
COUNTS = 14
(
    LISTED, CLOSED, IMPULSES, PLAIN, KEEPS, SLOWED, MOVED_OUT, STILL, WHICH, HELD, COLUMN, FROM, TO, BOUNDARIES,
) = range(COUNTS)  # fmt: skip

# The machine's own thresholds (contact/newton_solver.py, step.py, memory.py), by which its branches are recognised.
_SOFTNESS = 5e-7
_STICKING = 1e-7
_AT_LIMIT = 1e-7


class Refusal(IntEnum):
    """What the compiled map comes to."""

    NONE = 0
    BAD_NUMBERS = 1
    PAIR = 2
    BOUNCES = 3
    SOFT = 4
    TURNING = 5
    RIM = 6
    SPHERICAL = 7
    ROOM = 8
    SINGULAR = 9
    ELSEWHERE = 10
    LOOP_STOP = 11


FINE, BAD_NUMBERS, PAIR, BOUNCES, SOFT, TURNING, RIM, SPHERICAL, ROOM, SINGULAR, ELSEWHERE, LOOP_STOP = map(
    int, Refusal
)


def refuse_contact_step(settings: Any) -> None:
    """Raise an InputError for what a step in an environment is not differentiated through."""
    m = settings.mechanisms[0]
    for there, what in (
        (settings.contact_solver != "default", f"contact_solver={settings.contact_solver!r}"),
        (settings.contacts, "surface contacts"),
        (settings.events, "events"),
        (any(map(_has_dry_friction, settings.mechanisms)), "dry friction of joints in an environment"),
        (any(map(_is_held_in_part, settings.mechanisms)), "loops or couplings beside bodies that none of them holds"),
    ):
        if there:
            raise InputError(
                f"Simulator.derivatives: steps of {m.name} with {what} are not differentiated; expected a mechanism "
                "whose contact points touch polygons, under a held torque or a JointServo"
            )


def _is_held_in_part(m: Mechanism) -> bool:
    return 0 < held_trees(m).sum() < len(held_trees(m))


def _has_dry_friction(m: Mechanism) -> bool:
    return bool(m.coulomb.any()) or any(np.any(loop.joint.coulomb) for loop in m.loops)


class StepMap(NamedTuple):
    """Workspace of the map: C columns are derivatives by q, v, torque (nv each), then by the impulses of the step.

    Fields that end in 4 are the same columns in blocks of LANES.
    The last axis of blocks (6) is linear, angular; "of a velocity" means of the bodies that it moves, world axes about
    the origin of their tree's first body. Joints that turn in space: free and spherical ones.
    """

    INNER = dict.fromkeys(("masses", "inertias"), (MOMENTS,))

    counts: Ints  # (COUNTS,)
    numbers: Floats  # (NUMBERS,)
    kernels: Handle  # (KERNELS, 7)
    vectors: Floats  # (VECTORS, nv)
    q: Floats  # (3, nq)
    reached: Floats  # (1, nq) where the machine's step ends, and with which velocity (1, nv)
    v_reached: Floats
    unmoved: Floats  # (nq,) the end before (6)
    apart: Floats  # (nv,) of q' and `reached`
    energies: Floats  # (2,) potential energy at both ends
    coordinate: Ints  # (nv,) single coordinate of each velocity, -1: none
    parent: Ints  # (nv,) velocity before this one on the way to the world
    above: Ints  # (nv,) the same, beyond the velocities of its own joint
    link: Ints  # (nv,) joint of each velocity
    chain: Ints  # (nv,) the velocity that the factors of H take as its parent
    carries: Ints  # (nv,) body whose last velocity this is, -1: none
    last: Ints  # (n_bodies,) last velocity of each body
    dof_body: Ints  # (nv,)
    reference: Ints  # (n_bodies,)
    masses: Floats  # (n_bodies, MOMENTS)
    damping: Floats  # (nv,)
    stiffness: Floats  # (nv,)
    armature: Floats  # (nv,)
    gains: Floats  # (4, nv) kp, kd, position and velocity of the servo
    turning: Ints  # (j, 2) first velocity and how many of joints that turn in space
    jumps: Ints  # (n_bodies,) contact/tree.py
    poses: Floats  # (3 n_bodies, 4, 4)
    columns: Floats  # (3, 6, nv)
    axes: Floats  # (3, nv, 6) motion of a velocity
    inertias: Floats  # (3, n_bodies, MOMENTS)
    twists: Floats  # (3, nv, 6) motion of the body beyond a velocity
    whole: Floats  # (3, nv, 10) inertia of a velocity
    momenta: Floats  # (3, nv, 6) momentum of a velocity
    by_v: Floats  # (3, nv, 6) change of that momentum by the velocity, and by the coordinate
    by_q: Floats  # (3, nv, 6)
    way: Floats  # (2, nv, 6) motion of the bodies for ν and ν', in the middle
    carried: Floats  # (2 j, 6, 6) charts of the middle, then of the end (dynamics/configuration_derivatives.py (1))
    chart: Floats  # (2 j, 6, 6)
    small: Floats  # (8, 6, 6) scratch
    M: Floats  # (nv, nv) mass matrix; its factors with what is implicit
    H: Floats  # (nv, nv)
    first_q: Floats  # (nv, nv) derivatives of the inverse dynamics at the first look, and at the second
    first_v: Floats
    own_q: Floats
    own_v: Floats
    own_a: Floats
    by_middle: Floats  # (nv, nv) change of the loads with q_m
    row: Floats  # (8, nv) scratch
    held: Floats  # (k, nv) rows that are held, in the middle
    held_end: Floats  # (k, nv) the same at the end
    held_error: Floats  # (k,) their errors at the end
    held_impulse: Floats  # (k,) μ
    held_q: Floats  # (nv, nv) change of what loops do to the load, by q and by v
    held_v: Floats
    held_inertia: Floats  # (nv, nv) what axes of loops add to H
    held_load: Floats  # (nv,) and to the load
    targets: Floats  # (roots, 6) momentum at the end, angular about the centre
    before: Floats  # (roots, 9) centre, momentum, angular momentum at the beginning
    d_targets: Floats  # (6 roots, C)
    d_targets4: Floats
    d_first: Floats  # (nv, C) of FIRST, and of the velocities that the bias is taken at
    d_first4: Floats
    d_next: Floats  # (nv, C) of ν'
    d_next4: Floats
    d_way: Floats  # (nv, C) of the displacement
    d_way4: Floats
    d_q: Floats  # (nv, C) of q', before (6) and after
    d_q4: Floats
    d_out: Floats
    d_out4: Floats
    d_v: Floats  # (nv, C) of v'
    d_v4: Floats
    d_rigid: Floats  # (nv, C) of p
    d_rigid4: Floats
    d_row: Floats  # (6, C) scratch
    d_row4: Floats
    deep: Floats  # (room, C) of what moves contacts out (6)
    deep4: Floats
    body: Ints  # (room,) of a listed contact: its body; velocity of a stop, -1; place among those closed, -1
    stop: Ints
    place: Ints
    record: Ints  # its position in the machine's list
    slides: Ints  # 1: it slides; sticks and follows its arc; recovers depth in part; its tree jumps; is moved out (6)
    bends: Ints
    pressed: Ints
    jumping: Ints
    out: Ints
    boundary: Ints  # 1: opens or closes, 2: sticks or slides, 4: recovers its depth in full or in part
    friction: Floats
    radius: Floats
    offset: Floats
    scale: Floats
    gap: Floats  # as the machine saw it; at the beginning and at the end of the map
    gaps: Floats  # (room, 2)
    at: Floats  # (room, 3) in its body
    acts: Floats  # (room, 3) where it acts, in the middle, world
    points: Floats  # (room, 6) where the point is at the beginning and at the end
    E: Floats  # (room, 3, 3) its axes
    surface: Floats  # (room, 3) m/s
    impulse: Floats  # (room, 3) λ
    w: Floats  # (room, 3)
    K: Floats  # (3 room, nv)
    laws: Floats  # (n, C) derivatives of the laws (5), their values, and the factors of those by the impulses
    laws4: Floats
    residual: Floats  # (n,)
    correction: Floats  # (n, 1) of the impulses
    correction4: Floats
    factor: Floats  # (n, n)
    pivots: Ints  # (n,)
    results: Floats  # (6, nv, nv) of q', then of v', by q, v, torque


def make_step_map(
    m: Mechanism, smooth: Mechanism, tree: Tree, chain: Ints, reached: tuple[Floats, Floats], room: int, held: int
) -> tuple[StepMap, Any]:
    """Return the workspace for so many listed contacts and held rows, and what has to be kept alive.

    smooth: m without dry friction. chain: parents of the velocities that factors of H follow. reached: q (1, nq) and
    v (1, nv) after the step.
    """
    t, nv, n = m.tables, m.nv, m.n_bodies
    above = np.array(t.dof_parent, dtype=np.int64)
    for d in range(nv):
        while above[d] >= 0 and t.dof_link[above[d]] == t.dof_link[d]:
            above[d] = t.dof_parent[above[d]]
    spatial = [
        (part.start, part.stop - part.start)
        for body, part in zip(m.moving, m.v_slices, strict=True)
        if isinstance(body.joint, Free | Spherical)
    ]
    turning = np.array(spatial, dtype=np.int64).reshape(-1, 2)
    impulses = 3 * room + held
    first = 3 * nv + -3 * nv % LANES
    C, j, roots = first + impulses + -impulses % LANES, len(turning), len(tree.roots)

    def zeros(*shape: int) -> Floats:
        return np.zeros(shape)

    def whole(*shape: int) -> Ints:
        return np.zeros(shape, dtype=np.int64)

    matrices = {
        "d_targets": zeros(6 * roots, C), "d_first": zeros(nv, C), "d_next": zeros(nv, C), "d_way": zeros(nv, C),
        "d_q": zeros(nv, C), "d_out": zeros(nv, C), "d_v": zeros(nv, C), "d_rigid": zeros(nv, C), "d_row": zeros(6, C),
        "deep": zeros(room, C), "laws": zeros(impulses, C), "correction": zeros(impulses, LANES),
    }  # fmt: skip
    blocks = {f"{name}4": array.reshape(len(array), array.shape[1] // LANES, LANES) for name, array in matrices.items()}
    w = StepMap(
        **matrices, **blocks,
        counts=whole(COUNTS), numbers=zeros(NUMBERS), kernels=whole(KERNELS, 7), vectors=zeros(VECTORS, nv),
        q=zeros(3, m.nq), reached=reached[0], v_reached=reached[1], unmoved=zeros(m.nq),
        apart=zeros(nv), energies=zeros(2),
        coordinate=whole(nv), parent=np.ascontiguousarray(t.dof_parent, dtype=np.int64), above=above,
        link=np.ascontiguousarray(t.dof_link, dtype=np.int64), chain=np.ascontiguousarray(chain, dtype=np.int64),
        carries=tree.carries.copy(), last=tree.last.copy(), dof_body=tree.dof_body.copy(),
        reference=tree.reference.copy(), masses=tree.masses.copy(), armature=np.array(t.armature, dtype=float),
        damping=np.array(m.damping, dtype=np.float64), stiffness=np.array(t.stiffness, dtype=np.float64),
        gains=zeros(4, nv), turning=turning, jumps=whole(n), poses=zeros(3 * n, 4, 4), columns=zeros(3, 6, nv),
        axes=zeros(3, nv, 6), inertias=zeros(3, n, MOMENTS), twists=zeros(3, nv, 6), whole=zeros(3, nv, 10),
        momenta=zeros(3, nv, 6), by_v=zeros(3, nv, 6), by_q=zeros(3, nv, 6), way=zeros(2, nv, 6),
        carried=zeros(2 * j, 6, 6), chart=zeros(2 * j, 6, 6), small=zeros(8, 6, 6), M=zeros(nv, nv), H=zeros(nv, nv),
        first_q=zeros(nv, nv), first_v=zeros(nv, nv), own_q=zeros(nv, nv), own_v=zeros(nv, nv), own_a=zeros(nv, nv),
        by_middle=zeros(nv, nv), row=zeros(8, nv), held=zeros(held, nv), held_end=zeros(held, nv),
        held_error=zeros(held), held_impulse=zeros(held), held_q=zeros(nv, nv), held_v=zeros(nv, nv),
        held_inertia=zeros(nv, nv), held_load=zeros(nv), targets=zeros(roots, 6), before=zeros(roots, 9),
        body=whole(room), stop=whole(room), place=whole(room), record=whole(room), slides=whole(room),
        bends=whole(room), pressed=whole(room), jumping=whole(room), out=whole(room), boundary=whole(room),
        friction=zeros(room), radius=zeros(room), offset=zeros(room), scale=zeros(room), gap=zeros(room),
        gaps=zeros(room, 2),
        at=zeros(room, 3), acts=zeros(room, 3), points=zeros(room, 6), E=zeros(room, 3, 3), surface=zeros(room, 3),
        impulse=zeros(room, 3), w=zeros(room, 3), K=zeros(3 * room, nv), residual=zeros(impulses),
        factor=zeros(impulses, impulses), pivots=whole(impulses), results=zeros(6, nv, nv),
    )  # fmt: skip
    kept = _bound_kernels(m, smooth, w)
    w.kernels[:] = [call.handle for call in kept]
    w.coordinate[:] = single_coordinates(m)
    w.counts[HELD], w.counts[COLUMN], w.counts[PLAIN] = held, first, int(bool(m.loops or m.couplings))
    return w, kept


def _bound_kernels(m: Mechanism, smooth: Mechanism, w: StepMap) -> list[Any]:
    """The kernels of the map on its arrays, in the order of their names above."""
    n, a, springs = m.n_bodies, w.vectors, " springs" if m.has_force_elements else ""
    bias, own = native_function(smooth, f"bias_torque{springs}"), f"inverse_dynamics_derivatives{springs}"
    place, integrate = native_function(m, "poses_and_axes"), native_function(m, "integrate")
    derivatives, energy = native_function(m, own), native_function(m, "potential_energy")
    return [
        integrate.bind([w.q[START], a[HALF]], [w.q[MIDDLE]]),
        integrate.bind([w.q[START], a[DISPLACEMENT]], [w.q[END]]),
        *(place.bind([w.q[k]], [w.poses[k * n : (k + 1) * n], w.columns[k]]) for k in (START, MIDDLE, END)),
        native_function(m, "mass_matrix").bind([w.q[MIDDLE]], [w.M]),
        bias.bind([w.q[MIDDLE], a[NU]], [a[BIAS]]),
        bias.bind([w.q[MIDDLE], a[V_BIAS]], [a[BIAS]]),
        derivatives.bind([w.q[MIDDLE], a[NU], a[FIRST_RATE]], [w.first_q, w.first_v, w.own_a]),
        derivatives.bind([w.q[MIDDLE], a[V_BIAS], a[RATE]], [w.own_q, w.own_v, w.own_a]),
        native_function(m, "difference").bind([w.q[END], w.reached[0]], [w.apart]),
        bias.bind([w.q[START], a[NOTHING]], [a[POTENTIAL_START]]),
        bias.bind([w.q[END], a[NOTHING]], [a[POTENTIAL_END]]),
        energy.bind([w.q[START]], [w.energies[:1]]),
        energy.bind([w.q[END]], [w.energies[1:]]),
        derivatives.bind([w.q[MIDDLE], a[NOTHING], a[RIGID]], [w.first_q, w.first_v, w.own_a]),
        derivatives.bind([w.q[MIDDLE], a[NOTHING], a[NOTHING]], [w.own_q, w.own_v, w.own_a]),
    ]


@inline
def read_modes(w: StepMap, scene: Scene, tree: Tree, problem: Problem, motion: StepState):
    """Modes of the contacts of the step just taken, and what stays the same of them; a Refusal, of contact WHICH."""
    n, closed, softness = 0, 0, 0.0
    for body in range(len(w.jumps)):
        w.jumps[body] = tree.jumps[body]
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        if c.point < 0 and c.point != STOP:
            if c.impulse[0] > 0.0:
                return PAIR
            continue
        if n == len(w.body):
            return ROOM
        w.counts[WHICH] = c.point
        if c.bounces > 0:
            return BOUNCES
        if c.soft > 0.0:
            return SOFT
        if c.couple[0] != 0.0 or c.couple[1] != 0.0 or c.couple[2] != 0.0:
            return TURNING
        w.record[n], w.boundary[n], w.out[n], w.stop[n] = index, 0, 0, -1
        w.radius[n] = w.offset[n] = 0.0
        if c.point == STOP:
            s = scene.stops[c.face]
            if s.axis >= 0:
                return LOOP_STOP
            w.stop[n], w.body[n] = s.velocity, tree.dof_body[s.velocity]
        else:
            p = scene.points[c.point]
            w.body[n], w.radius[n], w.offset[n] = p.body, p.radius, c.offset
            normal = scene.polygons[c.face].normal
            for i in range(3):
                w.at[n, i] = p.position[i]
                if p.radius > 0.0 and abs(c.axes[0, i] - normal[i]) > 1e-12:
                    return RIM
        for i in range(3):
            # A stop has neither a place nor a direction in space: zeros stand for them.
            if c.point == STOP:
                w.at[n, i] = 0.0
            w.surface[n, i], w.impulse[n, i] = c.surface[i], c.impulse[i]
            for k in range(3):
                w.E[n, i, k] = 0.0 if c.point == STOP else c.axes[i, k]
        w.friction[n] = c.kinetic_friction if c.slides == 1 else c.static_friction
        w.place[n] = -1
        if c.impulse[0] > 0.0:
            w.place[n] = closed
            closed += 1
        w.scale[n], w.gap[n] = c.scale, c.gap
        softness += 1.0 / c.scale
        w.pressed[n] = 1 if c.gap <= -w.numbers[CREEP_DEPTH] else 0
        w.jumping[n] = 1 if w.counts[PLAIN] == 1 else tree.jumps[tree.reference[w.body[n]]]
        n += 1
    w.counts[LISTED], w.counts[CLOSED] = n, closed
    w.counts[IMPULSES] = 3 * closed + len(w.held)
    w.counts[FROM], w.counts[TO] = 0, (w.counts[COLUMN] + w.counts[IMPULSES] + LANES - 1) // LANES
    w.numbers[COMPLIANCE] = _SOFTNESS * softness / n if n > 0 else 0.0
    for k in range(n):
        c = problem.contacts[w.record[k]]
        v = c.velocity
        rubbing = math.sqrt(c.impulse[1] * c.impulse[1] + c.impulse[2] * c.impulse[2])
        limit = w.friction[k] * c.impulse[0]
        w.slides[k] = 1 if w.place[k] >= 0 and rubbing >= limit * (1.0 - _AT_LIMIT) else 0
        # A contact that slid has no bend along its face (contact/step.py).
        slow = math.sqrt(v[1] * v[1] + v[2] * v[2]) <= _STICKING or c.bend[1] != 0.0 or c.bend[2] != 0.0
        w.bends[k] = 1 if w.place[k] >= 0 and w.radius[k] == 0.0 and w.stop[k] < 0 and slow else 0
    w.counts[SLOWED] = 0
    for d in range(len(w.parent)):
        a = motion.vectors
        if a[V, d] != a[V_UNSLOWED, d]:
            w.counts[SLOWED] = 1
        w.vectors[APPLIED, d] = a[TORQUE, d]
        w.gains[0, d], w.gains[1, d], w.gains[2, d], w.gains[3, d] = a[KP, d], a[KD, d], a[POSITION, d], a[VELOCITY, d]
    return FINE
