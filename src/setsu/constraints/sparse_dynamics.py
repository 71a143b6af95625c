"""Constrained dynamics by the sparse solve: arrays of a system, and batches through compiled code."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.kkt_pattern import kkt_pattern, kkt_space
from setsu.constraints.redundancy import redundancy
from setsu.constraints.row_tables import bound_kernels, row_state, row_tables
from setsu.constraints.system import ConstraintSystem
from setsu.dynamics.catalogue import native_function
from setsu.native.lanes import LANES
from setsu.native.single_calls import SingleCall, WorkspaceLock, single_call
from setsu.native.workspace import Workspace, floats, ints, make

__all__ = ["Found", "SparseSolver", "sparse_solver"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


_GROUP = 2 * LANES  # states that kernels run on: the lanes of the widest vectors; results do not depend on it


class _Work(NamedTuple):
    """Work space of one state beside its factors."""

    tau: Floats = floats("nv")
    axis_torque: Floats = floats("f")
    axis_force: Floats = floats("f")
    loaded: Ints = ints(1)  # whether wrenches on bodies, or springs, act
    a: Floats = floats("nv")
    multiplier: Floats = floats("rows")


class _Group(NamedTuple):
    """States and what kernels say of them, a row per state, as in RowState; handles of kernels bound to them."""

    q: Floats
    v: Floats = floats("N", "nv")
    poses: Floats = floats("N", "bodies", 16)
    velocities: Floats = floats("N", "bodies", 6)
    accelerations: Floats = floats("N", "bodies", 6)
    directions: Floats = floats("N", 9, "nv")
    wrench: Floats = floats("N", "k", 6)
    b: Floats = floats("N", "nv")
    external: Floats = floats("N", "bodies", 6)
    a: Floats = floats("N", "nv")
    pin: Floats = floats("N", "loops", 3)
    through: Floats = floats("N", "bodies", 6)
    world: Ints = ints(7)
    rates: Ints = ints(7)
    bias: Ints = ints(7)
    joints: Ints = ints(7)


class _Given(NamedTuple):
    """States (N) to solve."""

    q: Floats
    v: Floats
    tau: Floats
    axis_torque: Floats
    external: Floats


class Found(NamedTuple):
    """Results of N states; outcome 0 where solved here. Joint wrenches in world axes.

    opening: the largest error of loops and couplings, rad or lengths of the loop.
    """

    a: Floats = floats("N", "nv")
    multiplier: Floats = floats("N", "rows")
    loop_wrench: Floats = floats("N", "loops", 6)
    body_wrench: Floats = floats("N", "bodies", 6)
    joint_wrenches: Floats = floats("N", "bodies", 6)
    residual: Floats = floats("N")
    opening: Floats = floats("N")
    outcome: Ints = ints("N")


class SparseSolver:
    """The sparse solve of one constraint system without contacts."""

    def __init__(self, system: ConstraintSystem, specialised: bool) -> None:
        self.system = system
        tables, state = row_tables(system, packed=True), row_state(system, packed=True)
        kernels, kept = bound_kernels(system, state, specialised, packed=True)
        pattern = kkt_pattern(system, tables, state, kernels)
        work = make(_Work, _lengths(system), loaded=np.array([int(system.mechanism.has_force_elements)]))
        self._workspaces = tuple(map(Workspace, (tables, state, pattern, kkt_space(pattern), work)))
        self._state, self._specialised = state, specialised
        self._kept: list[Any] = [kept]
        self._loaded = work.loaded
        self._lock = WorkspaceLock()

    def _group(self, **given: Floats) -> Workspace:
        """A group of as many states as there are rows in its fields; kernels bound to it are kept."""
        m, lengths = self.system.mechanism, _lengths(self.system) | {"N": len(given["q"])}
        g = make(_Group, lengths, **given)
        springs = " springs" if m.has_force_elements else ""
        bound = {
            name: native_function(m, kernel, specialised=self._specialised).bind(inputs, outputs)
            for name, kernel, inputs, outputs in (
                ("world", "world_poses", [g.q], [g.poses, g.directions]),
                ("rates", "world_rates", [g.q, g.v], [g.velocities, g.accelerations, g.b]),
                ("bias", f"bias_torque external{springs}", [g.q, g.v, g.external], [g.b]),
                ("joints", f"joint_wrenches world external{springs}", [g.q, g.v, g.a, g.external], [g.through]),
            )
        }
        self._kept.append(bound)
        return Workspace(g._replace(**{name: kernel.handle for name, kernel in bound.items()}))

    @cached_property
    def _of_many(self) -> Workspace:
        return self._group(q=np.tile(self.system.mechanism.neutral(), (_GROUP, 1)))

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """What stands in the block of a single state, one behind the other: the state, then fields of `Found`."""
        m, bodies = self.system.mechanism, (self.system.mechanism.n_bodies, 6)
        return {
            "q": (m.nq,), "v": (m.nv,), "multiplier": (self.system.n_held,), "loop_wrench": (len(m.loops), 6),
            "body_wrench": bodies, "joint_wrenches": bodies, "residual": (), "opening": (),
        }  # fmt: skip

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each of them begins."""
        return dict(zip(self.shapes, accumulate(map(math.prod, self.shapes.values()), initial=0), strict=False))

    @cached_property
    def one(self) -> SingleCall:
        """Solve one state q (nq,), v, tau (nv,) without other forces: its acceleration and block (see `shapes`).

        None where only the dense solve will do, or numbers are not finite.
        """
        from setsu.constraints.sparse_solve import solve_states
        from setsu.native.compiled_code import machine

        m = self.system.mechanism
        block = np.zeros(sum(map(math.prod, self.shapes.values())))
        views = {
            name: block[first : first + math.prod(shape)].reshape(1, *shape)
            for (name, shape), first in zip(self.shapes.items(), self.places.values(), strict=True)
        }
        a, tau, axis_torque = (np.zeros((1, n)) for n in (m.nv, m.nv, len(self.system.loops.free_loop)))
        given = _Given(views.pop("q"), views.pop("v"), tau, axis_torque, np.zeros((1, m.n_bodies, 6)))
        found = Found(a=a, outcome=np.zeros(1, dtype=np.int64), **views)
        shared = {name: array[None] for name, array in self._state._asdict().items() if name in _Group._fields}
        group = self._group(**shared)
        run = machine(solve_states, *self._workspaces, group, Workspace(given), Workspace(found))
        return single_call(run, (given.q[0], given.v[0], tau[0]), found.outcome, (a[0], block), self._lock)

    def solve(self, q: Floats, v: Floats, tau: Floats, axis_torque: Floats, external: Floats | None) -> Found:
        """Solve states q (N, nq), v, tau (N, nv), axis torques (N, f), wrenches on bodies (N, n_bodies, 6)."""
        from setsu.constraints.sparse_solve import solve_states

        m, count = self.system.mechanism, len(q)
        loaded = m.has_force_elements or external is not None
        if external is None:
            external = np.zeros((count, m.n_bodies, 6))
        found = make(Found, _lengths(self.system) | {"N": count})
        given = Workspace(_Given(q, v, tau, axis_torque, external))
        with self._lock:
            arguments: Any = (*self._workspaces, self._of_many, given, Workspace(found))
            self._loaded[0] = loaded
            solve_states(*arguments)
            self._loaded[0] = m.has_force_elements  # as single states have it
        return found


def _lengths(system: ConstraintSystem) -> dict[str, int]:
    m, t = system.mechanism, system.loops
    known = {"nv": m.nv, "rows": system.n_held, "loops": len(m.loops), "bodies": m.n_bodies}
    return known | {"f": len(t.free_loop), "k": len(t.row_loop)}


def sparse_solver(system: ConstraintSystem, specialised: bool = False) -> SparseSolver | None:
    """Return the sparse solver of a system, made once; None where only the dense solve will do.

    specialised: kinematics and dynamics by code made for the mechanism alone.
    """
    if system.contacts or not system.n_held or system.loops.armature.any():
        return None
    judged = redundancy(system)
    if (judged.live & ~judged.kept).any():
        # Rows of an over-constrained linkage share its forces.
        return None
    solvers = system.__dict__.setdefault("_sparse_solvers", {})
    if specialised not in solvers:
        solvers[specialised] = SparseSolver(system, specialised)
    return solvers[specialised]
