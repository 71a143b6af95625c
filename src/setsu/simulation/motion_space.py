"""Work space of a constrained motion for compiled code: modes of contacts, stops and joints, forces, bound kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.compiled_factor import Factor, factor_space
from setsu.constraints.kkt_pattern import KKTFactor, Pattern, kkt_pattern, kkt_space
from setsu.constraints.redundancy import typical_pivots
from setsu.constraints.row_tables import BoundKernels, RowState, RowTables, bound_kernels, row_state, row_tables
from setsu.constraints.system import ConstraintSystem
from setsu.dynamics.catalogue import native_function
from setsu.errors import InputError
from setsu.native.workspace import Workspace, floats, ints, make
from setsu.simulation.compiled_bearings import make_bearings
from setsu.simulation.joint_friction import JointFriction
from setsu.simulation.joint_stops import JointStops

__all__ = [
    "ACTUATORS",
    "BEARING_JAMS",
    "BROKEN",
    "CONTACT_FRICTION",
    "DAMPERS",
    "FREE",
    "JAMMED",
    "JOINT_FRICTION",
    "MASSLESS",
    "NEEDS_DENSE",
    "SLIDE",
    "STICK",
    "UNSUITABLE",
    "Modes",
    "MotionSpace",
    "Work",
    "motion_space",
    "with_dense_factors",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Handle = NDArray[np.int64]
NestedWorkspace = Any

FREE, SLIDE, STICK = 0, 1, 2
# Entries of powers: the last two are the dampers of point springs and tendons, and sliding contacts.
ACTUATORS, JOINT_FRICTION, DAMPERS, CONTACT_FRICTION = range(4)
# What compiled functions return when they cannot go on; numbers below these are contacts without normal.
UNSUITABLE = 1_000_001
MASSLESS = 1_000_002
BEARING_JAMS = 1_000_006
NEEDS_DENSE = 1_000_007
JAMMED = 2_000_000
BROKEN = 3_000_000

_PACKED_FROM = 1_000_000
"""Entries of rows over all velocities from which they are packed, and dense factors wait until they are needed."""
_MOST_DENSE = 4000
"""Velocities, or rows, up to which a run goes on with dense factors near a singular configuration."""
_ROUNDING = 1e-4  # part of all masses whose weight, times FORCE_ROOM, is still above rounding of forces


class Modes(NamedTuple):
    """What contacts (p), stops and the n axes of joints with dry friction do; changed between steps."""

    mode: Ints
    direction: Floats = floats("p", 3)  # of sliding at the start of the step
    anchor: Floats = floats("p", 3)  # where a sticking point is held
    stop_coordinate: Ints = ints("stops")
    stop_velocity: Ints = ints("stops")
    stop_axis: Ints = ints("stops")  # its number among the free axes of loop joints, or -1
    stop_sign: Floats = floats("stops")
    stop_limit: Floats = floats("stops")
    stop_held: Ints = ints("stops")
    dry_velocity: Ints = ints("n")  # velocity of an axis, -1 for those of loop joints
    dry_axis: Ints = ints("n")  # its number among the free axes of loop joints, or -1
    dry_limit: Floats = floats("n")  # friction, N or N m
    dry_sign: Floats = floats("n")  # of sliding
    dry_held: Ints = ints("n")  # 1 where it sticks
    sparse: Ints = ints(1)  # whether loops and couplings alone are active, so that sparse factors will do
    sparse_ready: Ints = ints(1)  # whether these are of the present configuration
    rows_ready: Ints = ints(1)  # whether the rows of loops and couplings are
    length: Floats = floats(1)  # m, of the mechanism, in which gaps and velocities are small or not
    stop_unit: Floats = floats("stops")  # the same for joints: m, or 1 rad
    dry_unit: Floats = floats("n")
    limit: Floats = floats("held")  # error (m or rad) of loops and couplings beyond which a run must not go on


class Work(NamedTuple):
    """Torques in; accelerations, forces, powers and guards out; scratch. f free axes, at most `most` active rows."""

    tau: Floats = floats("nv")
    a: Floats = floats("nv")
    y: Floats = floats("nv")  # forces, pushed where rows are active; the torques where none are
    gamma: Floats = floats("most")
    error: Floats = floats("most")
    multiplier: Floats = floats("most")
    zero: Floats = floats("most")
    size: Ints = ints(1)  # number of active rows
    rate: Floats = floats(1)  # of Baumgarte's stabilisation, 0 without
    damping: Floats = floats("nv")
    powers: Floats = floats(4)  # W, see ACTUATORS and the names beside it
    force_size: Floats = floats(1)  # N, what a force is small against: the weight of the lightest body that touches
    press: Floats = floats("p")  # -1 where a bilateral contact is pulled
    normal_force: Floats = floats("p")
    friction_force: Floats = floats("p", 3)
    dry_force: Floats = floats("n")  # friction along axes of joints
    axis_force: Floats = floats("f")  # dry friction and stops along free axes of loop joints
    dry_rate: Floats = floats("n")  # rates of those that slide, and their derivatives
    dry_change: Floats = floats("n")
    guards: Floats = floats("2 p + stops + n")  # without units, so that the smallest of all means something
    smallest: Floats = floats(1)
    violation: Floats = floats(1)
    redundant: Floats = floats(1)  # 1 where active rows depend on others, or nearly so
    passing: Ints = ints(1)  # evaluations in a row near a singular configuration
    held_force: Floats = floats("nv")  # Gᵀ λ of loops and couplings, of the last state not near a singular one
    critical: Floats = floats(1)  # coefficient of friction at which a contact begins to jam
    slide: Floats = floats("p", 3)  # directions of sliding contacts
    drag: Floats = floats("p", "nv")
    which: Ints = ints("p")
    normal_row: Ints = ints("p")
    share: Floats = floats("p")
    S: Floats = floats("p", "p")
    T: Floats = floats(2, 3)
    elements: Ints = ints(1)  # whether force elements act
    element_power: Floats = floats(1)
    increment: Floats = floats("nv")
    moved: Floats = floats("nq")
    before: Floats = floats("nq")
    energy: Floats = floats(1)
    stores_energy: Ints = ints(1)  # whether loop joints have springs or drives
    forward: Handle = ints(7)  # tree without active rows
    move: Handle = ints(7)  # q ⊕ increment
    mechanical: Handle = ints(7)  # energy
    element_powers: Handle = ints(7)  # power of dampers and drag of force elements
    bearings: NestedWorkspace = None  # compiled_bearings.py


class MotionSpace(NamedTuple):
    """All of it; arguments: the same as compiled functions take it; kept: what must stay alive."""

    tables: RowTables
    state: RowState
    kernels: BoundKernels
    modes: Modes
    factor: Factor
    work: Work
    pattern: Pattern
    kkt: KKTFactor
    arguments: tuple[Workspace, ...]
    kept: tuple[Any, ...]
    packed: bool = False  # rows are, and there are no dense factors yet


def motion_space(
    system: ConstraintSystem, stops: JointStops, friction: JointFriction, baumgarte: float | None
) -> MotionSpace:
    """Return the work space of a constraint system, itself without dry friction, with joint stops."""
    m = system.mechanism
    used = system.loops.has_joint_forces or (friction.loop_axis >= 0).any() or (stops.axis >= 0).any()
    plain = not (used or system.contacts or len(stops) or len(friction) or baumgarte)
    packed = plain and system.n_rows * m.nv >= _PACKED_FROM
    tables, state = row_tables(system, packed), row_state(system, packed)
    kernels, kept = bound_kernels(system, state, packed=packed)
    pattern = kkt_pattern(system, tables, state, kernels)
    tables = tables._replace(free_used=np.array([int(used)]))
    p, n_stops, n_dry = len(system.contacts), len(stops), len(friction)
    most = system.n_rows + n_stops + n_dry + 2 * p
    lengths = {
        "nq": m.nq, "nv": m.nv, "p": p, "stops": n_stops, "n": n_dry, "f": len(system.loops.free_loop), "most": most,
        "held": system.n_held,
    }  # fmt: skip
    modes = make(
        Modes,
        lengths,
        mode=np.full(p, SLIDE, dtype=np.int64),
        stop_coordinate=stops.coordinate,
        stop_velocity=stops.velocity,
        stop_axis=stops.axis,
        stop_sign=stops.sign,
        stop_limit=stops.limit,
        dry_velocity=friction.velocity,
        dry_axis=friction.loop_axis,
        dry_limit=friction.coulomb.copy(),
        dry_sign=np.ones(n_dry),
        length=np.array([system.length]),
        stop_unit=_units(system, stops.velocity, stops.axis),
        dry_unit=_units(system, friction.velocity, friction.loop_axis),
        limit=np.full(system.n_held, np.inf),
    )
    work = make(
        Work,
        lengths,
        rate=np.array([baumgarte or 0.0]),
        damping=m.damping,
        force_size=np.array([_force_size(system)]),
        press=np.ones(p),
        guards=np.full(2 * p + n_stops + n_dry, np.inf),
        elements=np.array([int(m.has_force_elements)]),
        stores_energy=np.array([int(tables.stiffness.any() or tables.armature.any())]),
    )
    springs, both = " springs" if m.has_force_elements else "", [state.q, state.v]
    bound = {
        "forward": native_function(m, f"forward_dynamics{springs}").bind([*both, work.y], [work.a]),
        "move": native_function(m, "integrate").bind([state.q, work.increment], [work.moved]),
        "mechanical": native_function(m, "mechanical_energy").bind(both, [work.energy]),
        "element_powers": native_function(m, "element_power").bind(both, [work.element_power]),
    }
    bearings, loads = make_bearings(system, friction, state, work.a)
    handles = {name: kernel.handle for name, kernel in bound.items()}
    work = work._replace(**handles, bearings=Workspace(bearings))
    parts = (tables, state, kernels, modes, factor_space(0, 0), work, pattern, kkt_space(pattern))
    kept = (*kept, *bound.values(), loads)
    space = MotionSpace(*parts, tuple(map(Workspace, parts)), kept, packed)
    return space if packed else _with_factors(system, space)


def _with_factors(system: ConstraintSystem, space: MotionSpace) -> MotionSpace:
    """The same with dense factors, whose rows are scaled by typical pivots."""
    from setsu.simulation.compiled_projection import held_rows_and_mass

    state, kernels, held = space.state, space.kernels, space.tables.held
    workspaces = tuple(map(Workspace, (space.tables, state, kernels)))
    now = state.q.copy()

    def rows_and_mass(q: Floats) -> tuple[Floats, Floats]:
        state.q[:] = q
        held_rows_and_mass(*workspaces)
        return state.G[held], kernels.M.copy()

    scale = 1.0 / np.sqrt(typical_pivots(system, len(held), rows_and_mass))
    state.q[:] = now
    tables = space.tables._replace(pivot_scale=scale)
    factors = factor_space(system.mechanism.nv, len(space.work.gamma))
    parts = (tables, state, kernels, space.modes, factors, space.work, space.pattern, space.kkt)
    return MotionSpace(*parts, tuple(map(Workspace, parts)), space.kept)


def with_dense_factors(system: ConstraintSystem, space: MotionSpace, t: float) -> MotionSpace:
    """Return a packed space, at a time (s) of its run, with rows over all velocities and dense factors.

    All that a step changes is shared with it. InputError where the mechanism is too large for them.
    """
    m = system.mechanism
    if max(m.nv, system.n_rows) > _MOST_DENSE:
        raise InputError(
            f"simulate: at t = {t:.9g} s {m.name} comes close to a singular configuration, or has parts that move no "
            f"mass: its {system.n_rows} rows and {m.nv} velocities would take dense factors there; expected at most "
            f"{_MOST_DENSE} of either, or a motion that stays away from it"
        )
    tables, dense = row_tables(system), row_state(system)
    state = space.state._replace(G=dense.G, free=dense.free)
    kernels, kept = bound_kernels(system, state)
    pattern = kkt_pattern(system, tables, state, kernels)
    parts = (tables._replace(free_used=space.tables.free_used), state, kernels, space.modes, space.factor, space.work)
    return _with_factors(system, MotionSpace(*parts, pattern, space.kkt, (), (*space.kept, *kept)))


def _force_size(system: ConstraintSystem) -> float:
    """The weight of the lightest body that touches (N), in which forces are small or not, but above rounding of all."""
    m, bodies = system.mechanism, system.contact_body
    masses = m.tables.true.mass[m.tables.body_link]
    chosen = masses[bodies] if len(bodies) else masses
    mass = max(float(chosen[chosen > 0.0].min(initial=m.total_mass)), _ROUNDING * m.total_mass)
    # Where nothing falls, a length in a second, squared.
    return max(mass * (float(np.linalg.norm(m.gravity)) or system.length), float(np.finfo(np.float64).tiny))


def _units(system: ConstraintSystem, velocity: Ints, axis: Ints) -> Floats:
    """Units (n,) of axes of the tree, or of loop joints where `axis` is not -1: the length for travel, 1 for turns."""
    travels = np.abs(system.loops.free_wrench[:, :3]).max(axis=-1, initial=0.0) > 0.0
    both = np.concatenate([system.velocity_units, np.where(travels, system.length, 1.0)])
    return both[np.where(axis >= 0, system.mechanism.nv + axis, velocity)]
