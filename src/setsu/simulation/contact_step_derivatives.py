"""Derivatives of one step in an environment: the implicit function theorem at the solution of its contact problem.

With z = (q, v, τ) in tangent coordinates, λ the impulses of the closed contacts and of held rows, y = (q', v') and the
laws R(z, λ) = 0 of contact_step.py (5), (9), in the modes that the step was solved in,

    dλ/dz = -(∂R/∂λ)⁻¹ ∂R/∂z,   dy/dz = ∂y/∂z + ∂y/∂λ dλ/dz                           (1)

λ is brought to rounding first, by Newton's method from the machine's impulses. ε, the compliance of the impulses,
counts as constant. The step is taken by a world of its own, a twin of the one asked for, which stays as it is.
Accuracy: rounding, 1e-10 of the largest entry at most. Cost: that of a few steps.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.row_tables import row_tables
from setsu.constraints.system import constraint_system
from setsu.contact.free_motion import GIVEN as GIVEN_ENERGY
from setsu.contact.free_motion import StepState
from setsu.contact.impulses import RECOVERY_DEPTH
from setsu.contact.scene import STOP, Problem, Scene
from setsu.contact.tree import Tree
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.native.compiled_code import entry
from setsu.native.control_flow import inline, jit, run_bound
from setsu.native.lanes import LANES
from setsu.native.workspace import Workspace
from setsu.simulation.block import Arrays, Failure
from setsu.simulation.clock import Ask
from setsu.simulation.contact_step import (
    APART,
    BAD_NUMBERS,
    BOUNDARIES,
    CLOSED,
    COLUMN,
    CREEP_DEPTH,
    ELSEWHERE,
    FINE,
    FROM,
    GIVEN,
    HELD,
    IMPULSES,
    LISTED,
    MISSED,
    MOVED_OUT,
    PLAIN,
    SINGULAR,
    SLOWEST,
    START,
    STEP,
    V_END,
    V_START,
    WHICH,
    Refusal,
    StepMap,
    make_step_map,
    read_modes,
)
from setsu.simulation.contact_step_end import set_end_velocity
from setsu.simulation.contact_step_energy import keeps_energy, slow_down
from setsu.simulation.contact_step_laws import (
    begin_contacts,
    differentiate_laws,
    factor_laws,
    set_laws,
    set_load_changes,
    solve_laws,
)
from setsu.simulation.contact_step_loops import HeldStep, begin_held, make_held_step, set_held_end
from setsu.simulation.contact_step_motion import begin_motion, go_through, start_held_impulses
from setsu.simulation.contact_step_out import move_out
from setsu.simulation.contact_step_space import subtract_products
from setsu.simulation.contact_world import ContactWorld

__all__ = ["ContactStepDerivatives"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDS = 8
# What to evaluate: the step, its columns by the impulses, all columns.
_VALUES, _IMPULSES, _WHOLE = range(3)
# Part of the velocities: what no derivative sees.
_UNSEEN = 1e-11
# m: how far the smooth map may end from the machine's step, which is solved to a nanometre.
_SAME = 1e-8
# Parts of the friction limit, m/s, m: nearer to the boundary of a mode is at it.
_LIMIT, _SLOW, _NEAR = 1e-6, 1e-6, 1e-10
# Numbers of StepMap.boundary.
_OPENS, _STICKS, _RECOVERS = 1, 2, 4


# Compiled -------------------------------------------------------------------------------------------------------------


class _World(NamedTuple):
    """What one world takes over from another one for a step."""

    arena: Ints
    q: Floats  # (1, nq)
    v: Floats  # (1, nv)
    t: Floats
    t0: Floats
    k: Ints
    start: Floats
    phase: Ints
    stage: Ints
    order: Ints
    events: Ints  # (2,) how many are noted


@jit
def copy_world(source: _World, target: _World, w: StepMap, motion: StepState):
    """Let a world stand where another one does, whose motion this is; and the map begin there."""
    for i in range(len(target.arena)):
        target.arena[i] = source.arena[i]
    for i in range(source.q.shape[1]):
        target.q[0, i] = w.q[START, i] = source.q[0, i]
    for d in range(source.v.shape[1]):
        target.v[0, d] = w.vectors[V_START, d] = source.v[0, d]
    target.t[0], target.t0[0], target.k[0], target.start[0] = source.t[0], source.t0[0], source.k[0], source.start[0]
    target.phase[0], target.stage[0], target.order[0] = source.phase[0], -1, 1
    target.events[0] = target.events[1] = 0
    w.numbers[GIVEN], w.numbers[CREEP_DEPTH] = motion.energies[GIVEN_ENERGY], RECOVERY_DEPTH * motion.recovery_share[0]
    return 0


@inline
def _begin(w: StepMap, scene: Scene, tree: Tree, problem: Problem, motion: StepState, held: HeldStep):
    status = read_modes(w, scene, tree, problem, motion)
    if status != FINE:
        return status
    keeps_energy(w, tree, motion.weight[0], motion.elastic[0] == 1)
    if not begin_held(w, held):
        return BAD_NUMBERS
    status = begin_motion(w, tree)
    if status == FINE:
        begin_contacts(w, scene, problem)
        if w.counts[CLOSED] > 0:
            # Newton's method from zero would meet contacts that slide elsewhere; alone, held rows take it one round.
            start_held_impulses(w)
    return status


@inline
def _go(w: StepMap, scene: Scene, tree: Tree, problem: Problem, held: HeldStep, how):
    """The step and its laws under the impulses at hand, with the columns asked for and their factors."""
    w.counts[FROM] = 0 if how == _WHOLE else w.counts[COLUMN] // LANES
    if how == _WHOLE:
        set_load_changes(w)
    status = go_through(w, tree, held, how != _VALUES)
    if status != FINE:
        return status
    if not set_held_end(w, held):
        return BAD_NUMBERS
    set_laws(w, scene, problem)
    if how == _VALUES:
        return FINE
    differentiate_laws(w, tree)
    return FINE if factor_laws(w) else SINGULAR


@inline
def _is_rounding(effect, last, slow):
    """Whether the next correction would no longer count, going by the last two, or corrections no longer fall.

    slow: m/s, of the slowest sliding, by which directions change. last: at first, the same.
    """
    predicted = effect * effect / last if effect < 0.1 * last else effect
    return predicted <= _UNSEEN * slow or (effect <= 1e-9 and effect > 0.1 * last)


@inline
def _slowest(w: StepMap):
    """Of the sliding, at most 1 m/s."""
    slow = 1.0
    for k in range(w.counts[LISTED]):
        if w.slides[k] == 1 and w.friction[k] > 0.0:
            slow = min(slow, max(_SLOW, abs(w.w[k, 1]) + abs(w.w[k, 2])))
    return slow


@inline
def _find_correction(w: StepMap):
    """Newton's change of the impulses, with the factors at hand; return what it does to the velocities."""
    column, n, effect = w.counts[COLUMN], w.counts[IMPULSES], 0.0
    for i in range(n):
        w.correction[i, 0] = w.residual[i]
    solve_laws(w, w.correction4, 0, 1)
    for d in range(len(w.parent)):
        # Impulses that redundant contacts share without effect may stay rounding apart; what they do may not.
        total = 0.0
        for i in range(n):
            total += w.d_next[d, column + i] * w.correction[i, 0]
        effect = max(effect, abs(total))
    return effect


@inline
def _correct(w: StepMap):
    for k in range(w.counts[LISTED]):
        if w.place[k] >= 0:
            for i in range(3):
                w.impulse[k, i] -= w.correction[3 * w.place[k] + i, 0]
    for r in range(w.counts[HELD]):
        w.held_impulse[r] -= w.correction[3 * w.counts[CLOSED] + r, 0]


@inline
def _finish(w: StepMap, scene: Scene, tree: Tree, problem: Problem):
    """Everything after the impulses, and the derivatives (1)."""
    nv, n, column = len(w.parent), w.counts[IMPULSES], w.counts[COLUMN]
    w.counts[MOVED_OUT] = 0
    if w.counts[PLAIN] == 0 and not move_out(w, tree, scene, problem):
        return BAD_NUMBERS
    moved = w.d_q4
    if w.counts[MOVED_OUT] == 1:
        moved = w.d_out4
    set_end_velocity(w, tree, moved, True)
    if not slow_down(w, tree, moved):
        return BAD_NUMBERS
    if not _is_same(w):
        return ELSEWHERE
    _see_boundaries(w)
    if w.counts[MOVED_OUT] == 1 and not factor_laws(w):
        return SINGULAR
    stop = column // LANES
    solve_laws(w, w.laws4, 0, stop)
    flat = w.d_q
    if w.counts[MOVED_OUT] == 1:
        flat = w.d_out
    for d in range(nv):
        subtract_products(moved, d, flat[d, column:], w.laws4, 0, n, 0, stop)
        subtract_products(w.d_v4, d, w.d_v[d, column:], w.laws4, 0, n, 0, stop)
        for k in range(3):
            for j in range(nv):
                w.results[k, d, j], w.results[3 + k, d, j] = flat[d, k * nv + j], w.d_v[d, k * nv + j]
    return FINE


@inline
def _is_same(w: StepMap):
    """Whether the map ends where the machine's step does."""
    if run_bound(w.kernels[APART]) >= 0:
        return False
    size, apart, rate = 1.0, 0.0, 0.0
    for d in range(len(w.parent)):
        v = w.vectors[V_END, d]
        size = max(size, 1.0 + abs(v))
        apart, rate = max(apart, abs(w.apart[d])), max(rate, abs(v - w.v_reached[0, d]))
    w.numbers[MISSED] = max(apart, w.numbers[STEP] * rate / size)
    return w.numbers[MISSED] < _SAME


@inline
def _see_boundaries(w: StepMap):
    """Contacts at the boundary of their modes: there the derivative is one-sided."""
    w.counts[BOUNDARIES] = 0
    for k in range(w.counts[LISTED]):
        w.boundary[k] = 0
        if w.place[k] < 0:
            if w.gaps[k, 1] < _NEAR:
                w.boundary[k] = _OPENS
                w.counts[BOUNDARIES] += 1
            continue
        f, u, mu = w.impulse[k], w.w[k], w.friction[k]
        rubbing, limit, speed = f[1] * f[1] + f[2] * f[2], mu * f[0] * (1.0 - _LIMIT), u[1] * u[1] + u[2] * u[2]
        if f[0] < _SLOW * w.scale[k] * w.numbers[STEP]:
            w.boundary[k] = _OPENS
        elif mu > 0.0 and (speed < _SLOW * _SLOW if w.slides[k] == 1 else rubbing > limit * limit):
            w.boundary[k] = _STICKS
        if abs(w.gap[k] + w.numbers[CREEP_DEPTH]) < 1e-15:
            w.boundary[k] += _RECOVERS
        if w.boundary[k] > 0:
            w.counts[BOUNDARIES] += 1


@jit
def differentiate_step(w: StepMap, scene: Scene, tree: Tree, problem: Problem, motion: StepState, held: HeldStep):
    """Derivatives of the step just taken; a Refusal."""
    status = _begin(w, scene, tree, problem, motion, held)
    if status != FINE:
        return status
    last, solved, effect = 0.0, w.counts[IMPULSES] == 0, 0.0
    # The impulses by a chord method, then all columns: one call in the source, for its code is long.
    for k in range(ROUNDS + 1):
        how = _WHOLE if solved else (_VALUES if k > 0 else _IMPULSES)
        status = _go(w, scene, tree, problem, held, how)
        if status != FINE:
            return status
        if solved:
            break
        effect = _find_correction(w)
        _correct(w)
        if k == 0:
            last = w.numbers[SLOWEST] = _slowest(w)
        solved = k == ROUNDS - 1 or _is_rounding(effect, last, w.numbers[SLOWEST])
        last = effect
    return _finish(w, scene, tree, problem)


# Python ---------------------------------------------------------------------------------------------------------------


class ContactStepDerivatives:
    """Derivatives of steps of worlds of one mechanism and one environment."""

    def __init__(self, mechanism: Mechanism, settings: Any) -> None:
        m = mechanism
        self.mechanism = m
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # all was said when the world itself was made
            self.twin = ContactWorld(m, Arrays(1, m), 0, settings, lambda t, q, v: np.zeros(m.nv))
        self._held = len(row_tables(constraint_system(m)).held)
        self._make(4)

    def _make(self, room: int) -> None:
        """Make room for so many contacts."""
        world, m = self.twin, self.mechanism
        self._room, a = room, world.arrays
        self.map, kept = make_step_map(m, world._smooth, world.tree, world.scene.parent, (a.q, a.v), room, self._held)
        held, also = make_held_step(m, self.map)
        self._kept = kept, also
        self.map.numbers[STEP] = world.step
        self._workspace = Workspace(self.map)
        workspaces = [Workspace(fields) for fields in (world.scene, world.tree, world.problem, world.motion)]
        self._run = entry(differentiate_step, self._workspace, *workspaces, held)
        self._copies: dict[int, tuple[ContactWorld, Any]] = {}

    def _copy_of(self, world: ContactWorld) -> Any:
        """A callable that lets the twin stand where a world does."""
        workspaces = (
            Workspace(self._parts(world)),
            Workspace(self._parts(self.twin)),
            self._workspace,
            Workspace(world.motion),
        )
        copy = entry(copy_world, *workspaces)
        self._copies[id(world)] = world, copy
        return copy

    def _parts(self, world: ContactWorld) -> _World:
        a, c = world.arrays, world.clock
        return _World(
            world.arena.view(np.int64),
            a.q,
            a.v,
            a.t,
            a.t0,
            a.k,
            world.rows.start,
            c.phase,
            c.stage,
            c.order,
            world.records.counts,
        )

    def derivatives(self, world: ContactWorld, torque: Floats) -> tuple[Floats, Floats, Floats, list[str]]:
        """Return those of a world's next step under a torque (nv,): (6, nv, nv) of q', then of v', by q, v, torque;
        q and v reached, and what is at a boundary."""
        a = self.twin.arrays
        while True:
            known = self._copies.get(id(world))
            (known[1] if known is not None and known[0] is world else self._copy_of(world))()
            a.held[0] = torque
            self._step()
            status = self._run()
            if status != Refusal.ROOM:
                break
            self._make(2 * self._room)
        if status != Refusal.NONE:
            self._refuse(Refusal(status))
        w = self.map
        return w.results.copy(), a.q[0].copy(), a.v[0].copy(), self._boundaries() if w.counts[BOUNDARIES] else []

    def _step(self) -> None:
        """Let the twin take the step."""
        twin = self.twin
        if twin._is_plain and twin.machine.run() == Ask.DONE:
            return
        twin.clock.order[0] = 0
        twin.new_torque()
        twin.set_run(0, 1, 0.0, 0, False)
        ask = twin.call()
        while ask is Ask.NEED_TORQUE:
            twin.clock.answered[0] = 1
            ask = twin.call()
        if ask is not Ask.DONE:
            try:
                twin.answer_failure()
            except Failure as failure:
                raise InputError(f"Simulator.derivatives: the step of {self.mechanism.name} fails: {failure}") from None

    def _refuse(self, why: Refusal) -> None:
        m, w = self.mechanism, self.map
        # Only what bounces and what is soft says which: otherwise the number is of an earlier step, or of none.
        point = int(w.counts[WHICH]) if why in (Refusal.BOUNCES, Refusal.SOFT) else -1
        name = f"contact point {self.twin.point_names[point]}" if point >= 0 else "a stop"
        if why is Refusal.ELSEWHERE:
            text = (
                f"this step of {m.name} is not one smooth map in the modes of its contacts (an impact within it, "
                f"energy that had to be taken out): the map ends {w.numbers[MISSED]:.3g} m away; expected a state off "
                "such a boundary, or a shorter step"
            )
        else:
            text = {
                Refusal.PAIR: f"in this step of {m.name} bodies touch each other; expected contact points of the "
                "mechanism at polygons, and stops of joints",
                Refusal.BOUNCES: f"{name} bounces; such steps are not differentiated",
                Refusal.SOFT: f"{name} is soft; such steps are not differentiated",
                Refusal.TURNING: "torsional and rolling friction are not differentiated",
                Refusal.RIM: "a ball on the rim of a polygon is not differentiated",
                Refusal.LOOP_STOP: "a joint that closes a loop is near its stop; such steps are not differentiated",
                Refusal.SPHERICAL: "mechanisms on a spherical joint of the world are not differentiated",
                Refusal.SINGULAR: f"the contacts of this step of {m.name} do not determine their impulses",
                Refusal.BAD_NUMBERS: f"numbers of this step of {m.name} are not finite",
            }[why]
        raise InputError(f"Simulator.derivatives: {text}")

    def _boundaries(self) -> list[str]:
        """What is at the boundary of its mode, in words."""
        w, contacts, stops, found = self.map, self.twin.problem.contacts, self.twin.scene.stops, []
        for k in range(int(w.counts[LISTED])):
            c = contacts[w.record[k]]
            if c["point"] == STOP:
                name = f'the stop of "{_joint_at(self.mechanism, int(stops[c["face"]]["velocity"]))}"'
            else:
                name = self.twin.point_names[int(c["point"])]
            for flag, text in (
                (_OPENS, "opens or closes"),
                (_STICKS, "sticks or slides"),
                (_RECOVERS, "recovers its depth in full or in part"),
            ):
                if w.boundary[k] & flag:
                    found.append(f"{name} {text}")
        return found


def _joint_at(m: Mechanism, velocity: int) -> str:
    """Name of the joint of a velocity."""
    return next(name for name, part in zip(m.joint_names, m.v_slices, strict=True) if velocity < part.stop)
