"""Compiled derivatives of constrained dynamics: which mechanisms they fit, their tables, work space and results.

They hold for loops whose rows turn with one of the two bodies (all but universal and screw joints), with nothing along
the free axes of loop joints, and for linear couplings. Redundant rows may be left out where they carry nothing: that is
judged once per mechanism, by the general way (constrained_dynamics_derivatives.py) at states in general position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.assembly import close_loops
from setsu.constraints.loop_joints import PLAIN
from setsu.constraints.redundancy import redundancy
from setsu.constraints.row_tables import row_tables
from setsu.constraints.stacked import Floats
from setsu.constraints.system import ConstraintSystem
from setsu.dynamics import bias_torque, integrate
from setsu.dynamics.catalogue import fast_function, native_function
from setsu.dynamics.motion_derivatives import move_masks
from setsu.errors import SetsuError
from setsu.mechanism import Mechanism
from setsu.native.lanes import LANES
from setsu.native.single_calls import SingleCall, WorkspaceLock, single_call
from setsu.native.workspace import Workspace, floats, ints, make

__all__ = ["ALMOST_SINGULAR", "CompiledDerivatives", "TileDerivatives", "derivative_tiles"]

Ints = NDArray[np.int64]
General = Callable[[Floats, Floats, Floats], Sequence[Floats]]
_JUDGED = 3  # states
_GROUP = 2 * LANES  # states that kernels run on: the lanes of the widest vectors; results do not depend on it
ALMOST_SINGULAR = 3  # an outcome of compiled_derivatives.py, which is loaded when it is needed


class TileDerivatives(NamedTuple):
    """Derivatives at N states: of accelerations (N, nv nv), loop wrenches (N, 6 L nv), coupling forces (N, c nv).

    outcome: (N,) 0 where they were found; other states are left to the general way: ALMOST_SINGULAR where it is one of
    accuracy, else something about the state has to be said.
    """

    dq: Floats
    dv: Floats
    dtau: Floats
    wrench_dq: Floats
    wrench_dv: Floats
    wrench_dtau: Floats
    coupling_dq: Floats
    coupling_dv: Floats
    coupling_dtau: Floats
    outcome: Ints


class _Given(NamedTuple):
    """States (N) to differentiate."""

    q: Floats
    v: Floats
    tau: Floats


class _Constants(NamedTuple):
    """What the rows' tables do not say.

    parent: (nv,) the velocity before this one towards the world. chain: (nv, nv) whether the second is on the way of
    the first. above: (nv, nv) whether columns of the first turn with the second. turns_rows: (L, nv) whether a velocity
    moves body a. nothing, falling: (3,) motion of the world, and its acceleration with gravity counted. springs: (1,).
    """

    parent: Ints
    chain: Ints
    above: Ints
    turns_rows: Ints
    nothing: Floats
    falling: Floats
    springs: Ints


class _Group(NamedTuple):
    """States and what kernels read and write, a row per state; handles of kernels bound to them."""

    q: Floats
    v: Floats = floats("N", "nv")
    tau: Floats = floats("N", "nv")
    acceleration: Floats = floats("N", "nv")
    poses: Floats = floats("N", "16 bodies")
    directions: Floats = floats("N", "9 nv")
    M: Floats = floats("N", "nv nv")
    velocities: Floats = floats("N", "6 bodies")
    accelerations: Floats = floats("N", "6 bodies")
    b: Floats = floats("N", "nv")
    motion: Floats = floats("N", "6 nv")
    by_q: Floats = floats("N", "6 nv")
    by_q_twice: Floats = floats("N", "6 nv")
    by_v: Floats = floats("N", "6 nv")
    V: Floats = floats("N", "6 bodies")
    A: Floats = floats("N", "6 bodies")
    own_dq: Floats = floats("N", "nv nv")
    own_dv: Floats = floats("N", "nv nv")
    world: Ints = ints(7)
    rates: Ints = ints(7)
    bias: Ints = ints(7)
    columns: Ints = ints(7)
    own: Ints = ints(7)


class _Tile(NamedTuple):
    """Four states, which are the last axis; first what is taken over from a group. L loops, n rows that hold."""

    q: Floats = floats("nq", LANES)
    tau: Floats = floats("nv", LANES)
    poses: Floats = floats("16 bodies", LANES)
    directions: Floats = floats("9 nv", LANES)
    M: Floats = floats("nv nv", LANES)
    velocities: Floats = floats("6 bodies", LANES)
    accelerations: Floats = floats("6 bodies", LANES)
    b: Floats = floats("nv", LANES)
    motion: Floats = floats("6 nv", LANES)
    by_q: Floats = floats("6 nv", LANES)
    by_q_twice: Floats = floats("6 nv", LANES)
    by_v: Floats = floats("6 nv", LANES)
    V: Floats = floats("6 bodies", LANES)
    A: Floats = floats("6 bodies", LANES)
    own_dq: Floats = floats("nv", "nv", LANES)
    own_dv: Floats = floats("nv", "nv", LANES)
    pin: Floats = floats("L", 3, LANES)
    cosine: Floats = floats("L", LANES)
    error: Floats = floats("held", LANES)
    wrench: Floats = floats("n", 6, LANES)
    gamma: Floats = floats("n", LANES)
    H: Floats = floats("n", "nv", LANES)
    L: Floats = floats("nv", "nv", LANES)
    U: Floats = floats("nv", "nv", LANES)
    C: Floats = floats("n", "n", LANES)
    F: Floats = floats("n", "n", LANES)
    P: Floats = floats("nv", "nv", LANES)
    Q: Floats = floats("n", "nv", LANES)
    E: Floats = floats("n", "n", LANES)
    pivot: Floats = floats(1, LANES)
    f: Floats = floats("nv", LANES)
    r: Floats = floats("n", LANES)
    a: Floats = floats("nv", LANES)
    multiplier: Floats = floats("n", LANES)
    loop_wrench: Floats = floats("L", 6, LANES)
    moved: Floats = floats("nv", 6, LANES)
    rows_dq: Floats = floats("n", "nv", LANES)
    rows_dv: Floats = floats("n", "nv", LANES)
    answer_dq: Floats = floats("nv + n", "nv", LANES)
    answer_dv: Floats = floats("nv + n", "nv", LANES)
    wrench_dq: Floats = floats("6 L", "nv", LANES)
    wrench_dv: Floats = floats("6 L", "nv", LANES)
    wrench_dtau: Floats = floats("6 L", "nv", LANES)


class _TreeDerivatives:
    """Of a mechanism that nothing holds; as _Tiles."""

    def __init__(self, mechanism: Mechanism) -> None:
        springs = " springs" if mechanism.has_force_elements else ""
        self._mechanism = mechanism
        self._function = fast_function(mechanism, f"forward_dynamics_derivatives{springs}")

    def one(self, q: Any, v: Any, tau: Any) -> tuple[Floats, ...] | None:
        m = self._mechanism
        if not all(type(x) is np.ndarray and x.shape == (n,) for x, n in ((q, m.nq), (v, m.nv), (tau, m.nv))):
            return None
        try:
            return (*self._function(q, v, tau), np.concatenate((q, v, tau)))
        except SetsuError:
            return None

    def many(self, q: Floats, v: Floats, tau: Floats) -> TileDerivatives:
        nothing = [np.zeros((len(q), 0, self._mechanism.nv)) for _ in range(6)]
        try:
            found, outcome = self._function(q, v, tau), 0
        except SetsuError:
            found, outcome = [np.zeros((len(q), self._mechanism.nv**2)) for _ in range(3)], 1
        return TileDerivatives(*found, *nothing, outcome=np.full(len(q), outcome))


class _Tiles:
    """Of one constraint system; states one by one, or in groups."""

    def __init__(self, system: ConstraintSystem) -> None:
        self.system = system
        self._kept: list[Any] = []
        self._tables = tuple(map(Workspace, (row_tables(system), _constants(system))))
        self._tiles = tuple(Workspace(_tile(system)) for _ in range(_GROUP // LANES))
        self._lock = WorkspaceLock()

    def _workspaces(self, count: int) -> tuple[Any, ...]:
        """Tables, a group of states with kernels bound to it, tiles; and what they need is kept."""
        group, bound = _group(self.system, count)
        self._kept.append(bound)
        return (*self._tables, Workspace(group), *self._tiles)

    @cached_property
    def _of_many(self) -> tuple[Any, ...]:
        return self._workspaces(_GROUP)

    @cached_property
    def one(self) -> SingleCall:
        """Derivatives at one state q (nq,), v, tau (nv,): dq, dv, dtau, and in one row the state and the other
        derivatives of TileDerivatives.

        None where only the general way will do, or can say what is wrong.
        """
        from setsu.constraints.compiled_derivatives import differentiate_states
        from setsu.native.compiled_code import machine

        m, room = self.system.mechanism, _room(self.system, 1)
        ends = np.cumsum([0, m.nq, m.nv, m.nv, *(block.size for block in room[3:-1])])
        row = np.zeros(ends[-1])
        inside = [row[None, first:stop] for first, stop in pairwise(ends)]
        given, found = _Given(*inside[:3]), TileDerivatives(*room[:3], *inside[3:], outcome=room.outcome)
        run = machine(differentiate_states, *self._workspaces(1), Workspace(given), Workspace(found))
        results = (*(block.reshape(m.nv, m.nv) for block in room[:3]), row)
        return single_call(run, [x[0] for x in given], room.outcome, results, self._lock)

    def many(self, q: Floats, v: Floats, tau: Floats) -> TileDerivatives:
        """Derivatives at states q (N, nq), v, tau (N, nv)."""
        from setsu.constraints.compiled_derivatives import differentiate_states

        found = _room(self.system, len(q))
        with self._lock:
            arguments: Any = (*self._of_many, Workspace(_Given(q, v, tau)), Workspace(found))
            differentiate_states(*arguments)
        return found


CompiledDerivatives = _TreeDerivatives | _Tiles


def derivative_tiles(system: ConstraintSystem, general: General) -> CompiledDerivatives | None:
    """Return the compiled derivatives of a system, or None for systems they do not fit.

    general: the same for any system, from states q, v, tau (N, ...).
    """
    if not _fits(system):
        return None
    if not system.n_held:
        return _TreeDerivatives(system.mechanism)
    tiles = _Tiles(system)
    return tiles if redundancy(system).kept.all() or _left_out_rows_carry_nothing(tiles, general) else None


def _left_out_rows_carry_nothing(tiles: _Tiles, general: General) -> bool:
    """Judge at a few states in general position: what carries nothing there does so everywhere."""
    m, closed = tiles.system.mechanism, redundancy(tiles.system).closed
    if closed is None:
        return False
    rng = np.random.default_rng(0)
    try:
        shifted = integrate(m, closed, 0.1 * rng.standard_normal((_JUDGED, m.nv)), 1.0)
        q = np.concatenate([close_loops(m, row)[None] for row in shifted])
        v = rng.standard_normal((_JUDGED, m.nv))
        tau = rng.standard_normal((_JUDGED, m.nv)) * np.abs(bias_torque(m, q, v)).max(axis=-1, keepdims=True)
        expected = general(q, v, tau)
    except SetsuError:
        return False
    found = tiles.many(q, v, tau)
    return not found.outcome.any() and all(
        np.abs(ours - theirs).max(initial=0.0) <= 1e-8 * np.abs(theirs).max(initial=0.0)
        for ours, theirs in zip(found[:-1], expected, strict=True)
    )


def _fits(system: ConstraintSystem) -> bool:
    m, t = system.mechanism, system.loops
    judged = redundancy(system)
    if system.contacts or m.has_bearings or judged.locked or (judged.live & ~judged.kept).any():
        return False
    if t.has_joint_forces or not system.couplings.is_linear:
        return False
    return bool((t.row_kind == PLAIN).all())


def _room(system: ConstraintSystem, count: int) -> TileDerivatives:
    m = system.mechanism
    rows = (m.nv, 6 * len(m.loops), len(m.couplings))
    blocks = [np.empty((count, n * m.nv)) for n in rows for _ in range(3)]
    return TileDerivatives(*blocks, outcome=np.zeros(count, dtype=np.int64))


def _constants(system: ConstraintSystem) -> _Constants:
    m = system.mechanism
    parent = np.array(m.tables.dof_parent, dtype=np.int64)
    chain = np.zeros((m.nv, m.nv), dtype=np.int64)
    for d in range(m.nv):
        if parent[d] >= 0:
            chain[d] = chain[parent[d]]
        chain[d, d] = 1
    moves, above = move_masks(m)
    return _Constants(
        parent=parent,
        chain=chain,
        above=above.astype(np.int64),
        turns_rows=np.ascontiguousarray(moves[system.loops.body_a]).astype(np.int64),
        nothing=np.zeros(3),
        falling=-np.array(m.gravity, dtype=np.float64),
        springs=np.array([m.has_force_elements], dtype=np.int64),
    )


def _group(system: ConstraintSystem, count: int) -> tuple[_Group, tuple[Any, ...]]:
    """Room for some states, and what has to be kept as long as it is in use."""
    m = system.mechanism
    lengths = {"N": count, "nv": m.nv, "bodies": m.n_bodies}
    g = make(_Group, lengths, q=np.tile(m.neutral(), (count, 1)))
    springs = " springs" if m.has_force_elements else ""
    state, own_da = [g.q, g.v, g.acceleration], np.zeros(g.M.shape)
    bound = {
        "world": native_function(m, "world_poses_and_mass").bind([g.q], [g.poses, g.directions, g.M]),
        "rates": native_function(m, "world_rates").bind([g.q, g.v], [g.velocities, g.accelerations, g.b]),
        "bias": native_function(m, f"bias_torque{springs}").bind([g.q, g.v], [g.b]),
        "columns": native_function(m, "motion_columns").bind(state, [g.motion, g.by_q, g.by_q_twice, g.by_v, g.V, g.A]),
        "own": native_function(m, f"inverse_dynamics_derivatives{springs}").bind(state, [g.own_dq, g.own_dv, own_da]),
    }
    return g._replace(**{name: kernel.handle for name, kernel in bound.items()}), (own_da, *bound.values())


def _tile(system: ConstraintSystem) -> _Tile:
    """Room for a tile."""
    m, n, L = system.mechanism, int(redundancy(system).kept.sum()), len(system.mechanism.loops)
    nv = m.nv

    def padded(rows: int) -> Floats:
        # Products go four columns at a time: the last row needs room behind it.
        return np.zeros((rows * nv + 3, LANES))[: rows * nv].reshape(rows, nv, LANES)

    lengths = {"nq": m.nq, "nv": nv, "n": n, "L": L, "held": system.n_held, "bodies": m.n_bodies}
    return make(
        _Tile, lengths, own_dq=padded(nv), own_dv=padded(nv), rows_dq=padded(n), rows_dv=padded(n),
        answer_dq=padded(nv + n), answer_dv=padded(nv + n),
    )  # fmt: skip
