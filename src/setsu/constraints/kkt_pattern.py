"""Where the matrix of constrained dynamics has entries, before and after elimination, and the order of elimination.

| symbol | meaning |
|---|---|
| K = [M Gᵀ; G 0] | mass matrix and kept rows of loops and couplings (KKT matrix) |
| unknowns | velocities and multipliers, in the order of elimination |

Velocities go from the tips to the root, and a multiplier follows right after the last velocity of its own row. With
full row rank and mass in every velocity no pivot is zero, so the order need not depend on numbers: velocities have
positive pivots and multipliers negative ones, as in a quasidefinite matrix. N four-bars cost N times one.
Along long chains columns are as long as these: there bodies stand for the velocities that carry them
(articulated_factor.py), and columns hold entries of rows only.

Source: Vanderbei 1995 (quasidefinite matrices); George and Liu 1981, ch. 5 (fill). Cost: once per mechanism.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.articulated_pattern import body_columns, last_bodies
from setsu.constraints.redundancy import random_configurations
from setsu.constraints.row_tables import BoundKernels, RowState, RowTables
from setsu.constraints.system import ConstraintSystem
from setsu.elementary import matmul
from setsu.mechanism import Mechanism
from setsu.mechanism.tables import pose_matrices
from setsu.native.workspace import floats, make

__all__ = ["KKTFactor", "Pattern", "kkt_pattern", "kkt_space"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_SPREADS = (1.0, 0.3, 0.1, 0.03)
"""rad around the neutral configuration, within which typical pivots are looked for."""
_LONG_CHAINS = 100.0
"""Mean square of the depth of velocities from which elimination by bodies costs less: measured on rings and robots."""


class Pattern(NamedTuple):
    """Index lists; n = nv + k unknowns, k kept rows. Entries of K column by column, the diagonal first."""

    ancestor_start: Ints  # (nv + 1,) into ancestor: a velocity itself, then what it rides on
    ancestor: Ints
    mass_place: Ints  # where M's entry for a velocity and its ancestor stands in K
    velocity_body: Ints  # (nv,)
    body_parent: Ints  # (n_bodies,) -1 on the world
    mass: Floats  # (n_bodies,)
    moment: Floats  # (n_bodies, 3) first moments about the body origin, body axes
    second_moment: Floats  # (n_bodies, 6) xx xy xz yy yz zz
    armature: Floats  # (nv,)
    socket: Floats  # (n_bodies, 3) where the joint sits on the body that carries it
    turning: Ints  # (loops,) 1 where the loop joint cannot travel
    rows: Ints  # (k,) kept rows of the system in the order of elimination
    place: Ints  # (k,) their places among the kept rows
    typical: Floats  # (k,) their pivots, without the sign, at configurations that are not singular
    left_out: Ints  # rows of loops that are redundant, and the loops they belong to
    left_out_loop: Ints
    entry_start: Ints  # (k + 1,) into entry_velocity: the velocities that a row moves
    entry_velocity: Ints
    entry_column: Ints  # where the entry stands in the row of G, and where in K
    entry_place: Ints
    velocity_unknown: Ints  # (nv,) when a velocity is eliminated
    row_unknown: Ints  # (k,) when the multiplier of a row is
    unknown_row: Ints  # (n,) -1 for velocities
    column_start: Ints  # (n + 1,)
    column: Ints  # unknowns with an entry: itself, then later ones
    target: Ints  # (entries,) see `_targets`
    scattered: Ints
    body_unknown: Ints  # (n_bodies + 1,) from b + 1 to b: unknowns eliminated with body b; empty unless by bodies
    body_velocity: Ints  # (n_bodies + 1,) velocities of each body
    force_place: Ints  # (entries,) where the row of an entry presses on the body
    carry_start: Ints  # (n_bodies + 1,) into places on a body, and those on its parent
    carry_from: Ints
    carry_to: Ints


class KKTFactor(NamedTuple):
    """The factors of one state; see sparse_inertia.py and sparse_factor.py for the symbols."""

    K: Floats = floats("entries")  # of the matrix, then L below the diagonal
    inverse: Floats = floats("n")  # of D
    body: Floats = floats("bodies", 10)  # composite bodies
    x: Floats = floats("n")  # right sides and solutions, in the order of elimination
    total: Floats = floats("rows")  # multipliers
    direction: Floats = floats("velocities", 6)  # these by articulated bodies only: articulated_factor.py
    vector: Floats = floats("unknowns", 6)
    inertia: Floats = floats("articulated", 6, 6)
    force: Floats = floats("places", 6)
    motion: Floats = floats("articulated", 6)
    way: Floats = floats("articulated", 3)


def kkt_space(c: Pattern) -> KKTFactor:
    """Return zeroed work space for a pattern."""
    lengths = {"entries": len(c.column), "n": len(c.unknown_row), "bodies": len(c.mass), "rows": len(c.rows)}
    by_bodies = dict.fromkeys(("velocities", "unknowns", "articulated", "places"), 0)
    if len(c.body_unknown):
        places = int(c.force_place.max(initial=-1)) + 1
        by_bodies = {
            "velocities": len(c.armature), "unknowns": len(c.unknown_row), "articulated": len(c.mass), "places": places
        }  # fmt: skip
    return make(KKTFactor, lengths | by_bodies)


def kkt_pattern(system: ConstraintSystem, t: RowTables, s: RowState, kernels: BoundKernels) -> Pattern:
    """Return the pattern of a system's loops and couplings, made once; s: its work space, bound to the kernels."""
    kept = system.__dict__
    c = kept.get("_kkt_pattern") or _made_pattern(system, t)
    c = c._replace(entry_column=_entry_columns(t, c))
    if "_kkt_pattern" not in kept:
        kept["_kkt_pattern"] = c = c._replace(typical=_typical_pivots(system, t, s, kernels, c))
    return c


def _entry_columns(t: RowTables, c: Pattern) -> Ints:
    """Where the entries of each row stand in G, as the tables say."""
    loops = len(t.row_kind)
    owner = np.searchsorted(t.row_start, np.arange(loops), side="right") - 1
    columns = [
        t.path_column[t.path_start[owner[row]] : t.path_start[owner[row] + 1]]
        if row < loops
        else t.coupling_column[t.coupling_start[row - loops] : t.coupling_start[row - loops + 1]]
        for row in c.rows.tolist()
    ]
    return np.concatenate([_ints([]), *columns])


def _typical_pivots(system: ConstraintSystem, t: RowTables, s: RowState, kernels: BoundKernels, c: Pattern) -> Floats:
    """Return the rows' pivots (k,), the least over random configurations; infinite where there is none with mass.

    Against them, and not against the rows of the present state, a pivot is small: rows fade at singular configurations.
    """
    from setsu.constraints.sparse_factor import measure_pivots
    from setsu.native.workspace import Workspace

    found = np.full(len(c.rows), np.inf)
    u = kkt_space(c)
    workspaces = tuple(map(Workspace, (t, s, kernels, c, u)))
    for size in _SPREADS:
        # Along hundreds of loops in a row transmission ratios multiply, and where loops are far open exceed rounding.
        for q in random_configurations(system, 3, size) if len(found) and not np.isfinite(found[0]) else ():
            s.q[:] = q
            if measure_pivots(*workspaces):
                found = np.minimum(found, u.total)
    s.q[:] = system.mechanism.neutral()
    largest = float(found.max(initial=0.0))
    return found if largest == np.inf else np.maximum(found, 1e-12 * largest)


def _made_pattern(system: ConstraintSystem, t: RowTables) -> Pattern:
    m = system.mechanism
    supports = _supports(t)
    velocity_body = _ints([k for k, body in enumerate(m.moving) for _ in range(body.joint.nv)])
    body_parent = _ints([m.frame(body.parent).body for body in m.moving])
    if _has_long_chains(m.tables.dof_parent):
        plan = _by_bodies(body_parent, velocity_body, supports)
    else:
        plan = _by_velocities(m.tables.dof_parent, supports)
    rows, at, row_unknown, chains, columns, *_ = plan
    entries = [supports[row] for row in rows]
    starts = _starts(columns)
    column = _ints([unknown for c in columns for unknown in c])
    # Columns are in order, and so is each of them: its entry for an unknown is found by bisection.
    key = np.repeat(np.arange(len(columns)), np.diff(starts)) * len(columns) + column

    def where(of: list[int], unknown: list[int]) -> Ints:
        return np.searchsorted(key, _ints(of) * len(columns) + _ints(unknown)).astype(np.int64)

    target, scattered = _targets(columns, starts)
    unknown_row = np.full(len(columns), -1)
    unknown_row[row_unknown] = np.arange(len(rows))
    left_out = np.flatnonzero(t.place[: system.n_loop_rows] < 0)
    mass, moment, second = _body_inertias(m)
    return Pattern(
        ancestor_start=_starts(chains),
        ancestor=_ints([e for chain in chains for e in chain]),
        mass_place=where(
            [at[d] for d, chain in enumerate(chains) for _ in chain], [at[e] for chain in chains for e in chain]
        ),
        velocity_body=velocity_body,
        body_parent=body_parent,
        mass=mass,
        moment=moment,
        second_moment=second,
        armature=m.armature,
        socket=_sockets(m),
        turning=_ints([loop.joint.holds[0] == "xyz" for loop in m.loops]),
        rows=_ints(rows),
        place=t.place[rows].astype(np.int64),
        typical=np.ones(len(rows)),
        left_out=left_out,
        left_out_loop=system.loops.row_loop[left_out],
        entry_start=_starts(entries),
        entry_velocity=_ints([d for support in entries for d in support]),
        entry_column=_ints([]),
        entry_place=where(
            [at[d] for support in entries for d in support],
            [row_unknown[k] for k, support in enumerate(entries) for _ in support],
        ),
        velocity_unknown=_ints(at),
        row_unknown=_ints(row_unknown),
        unknown_row=unknown_row.astype(np.int64),
        column_start=starts,
        column=column,
        target=target,
        scattered=scattered,
        body_unknown=_ints(plan.body_unknown),
        body_velocity=_ints(plan.body_velocity),
        force_place=_ints([place for places in plan.force_place for place in places]),
        carry_start=_starts(plan.carry),
        carry_from=_ints([here for places in plan.carry for here, _ in places]),
        carry_to=_ints([there for places in plan.carry for _, there in places]),
    )


class _Plan(NamedTuple):
    """An elimination: rows in its order, when each unknown has its turn, and what then is met."""

    rows: list[int]
    velocity_unknown: list[int]
    row_unknown: list[int]
    chains: list[list[int]]  # entries of the mass matrix that are needed, velocity by velocity
    columns: list[list[int]]
    body_unknown: list[int]  # these by bodies only
    body_velocity: list[int]
    force_place: list[list[int]]
    carry: list[list[tuple[int, int]]]


def _has_long_chains(parent: Ints) -> bool:
    """Whether elimination by bodies costs less than by velocities, whose columns are at least as long as chains."""
    depth = np.ones(len(parent))
    for d, above in enumerate(parent.tolist()):
        if above >= 0:
            depth[d] += depth[above]
    return float((depth * depth).sum()) > _LONG_CHAINS * len(parent)


def _by_velocities(parent: Ints, supports: dict[int, list[int]]) -> _Plan:
    above = parent.tolist()
    chains: list[list[int]] = []
    for d, before in enumerate(above):
        chains.append([d, *chains[before]] if before >= 0 else [d])
    velocity_unknown, row_unknown, rows = _order(len(above), {row: min(support) for row, support in supports.items()})
    columns = _columns(chains, [supports[row] for row in rows], velocity_unknown, row_unknown)
    return _Plan(rows, velocity_unknown, row_unknown, chains, columns, [], [], [], [])


def _by_bodies(body_parent: Ints, velocity_body: Ints, supports: dict[int, list[int]]) -> _Plan:
    n, nv = len(body_parent), len(velocity_body)
    first = np.searchsorted(velocity_body, np.arange(n + 1)).tolist()
    bodies = [sorted(set(velocity_body[support].tolist())) for support in supports.values()]
    last = dict(zip(supports, last_bodies(body_parent, bodies), strict=True))
    velocity_unknown, row_unknown, rows = _order(nv, {row: first[body] for row, body in last.items()})
    waiting: list[list[int]] = [[] for _ in range(n)]
    met: list[list[int]] = [[] for _ in range(nv)]
    for row, unknown in zip(rows, row_unknown, strict=True):
        waiting[last[row]].append(unknown)
        for d in supports[row]:
            met[d].append(unknown)
    found = body_columns(body_parent, first, waiting, met)
    body_unknown = [len(found.columns), *(velocity_unknown[end - 1] for end in first[1:])]
    chains = [[d] for d in range(nv)]
    return _Plan(
        rows, velocity_unknown, row_unknown, chains, found.columns, body_unknown, first, found.force_place, found.carry
    )


def _supports(t: RowTables) -> dict[int, list[int]]:
    """Velocities that each kept row moves."""
    supports = {}
    for loop in range(len(t.body_a)):
        path = t.path_velocity[t.path_start[loop] : t.path_start[loop + 1]].tolist()
        supports |= {row: path for row in range(t.row_start[loop], t.row_start[loop + 1]) if t.place[row] >= 0}
    first = len(t.row_kind)
    for c in range(len(t.coupling_offset)):
        if t.place[first + c] >= 0:
            supports[first + c] = t.coupling_velocity[t.coupling_start[c] : t.coupling_start[c + 1]].tolist()
    return supports


def _order(nv: int, last: dict[int, int]) -> tuple[list[int], list[int], list[int]]:
    """When velocities and multipliers are eliminated, and the rows in that order; last: the velocity a row follows."""
    waiting: dict[int, list[int]] = {}
    for row, velocity in last.items():
        waiting.setdefault(velocity, []).append(row)
    velocity_unknown, row_unknown, rows, count = [0] * nv, [], [], 0
    for d in range(nv - 1, -1, -1):
        velocity_unknown[d] = count
        count += 1
        for row in waiting.get(d, ()):
            rows.append(row)
            row_unknown.append(count)
            count += 1
    return velocity_unknown, row_unknown, rows


def _columns(chains: list[list[int]], supports: list[list[int]], at: list[int], row_at: list[int]) -> list[list[int]]:
    """Unknowns with an entry in each column, itself first, those that elimination adds included."""
    later: list[set[int]] = [set() for _ in range(len(chains) + len(supports))]
    for d, chain in enumerate(chains):
        later[at[d]].update(at[e] for e in chain[1:])
    for unknown, support in zip(row_at, supports, strict=True):
        for d in support:
            later[at[d]].add(unknown)
    columns = []
    for k, others in enumerate(later):
        column = sorted(others)
        columns.append([k, *column])
        if len(column) > 1:
            # Eliminating an unknown joins all it meets; the first of them passes that on.
            later[column[0]].update(column[1:])
    return columns


def _targets(columns: list[list[int]], starts: Ints) -> tuple[Ints, Ints]:
    """Where the products of column k with its entry p go: entry r of column k changes entry target[p] + r of K.

    Where these do not stand in a row, target[p] is -1 - s, and entry r changes scattered[s + r - p].
    """
    target, scattered, begins = [0] * int(starts[-1]), [], starts.tolist()
    for column, begin in zip(columns, begins, strict=False):
        for p in range(1, len(column)):
            rest, other, first = column[p:], columns[column[p]], begins[column[p]]
            if other[: len(rest)] == rest:
                target[begin + p] = first - (begin + p)
            else:
                target[begin + p] = -1 - len(scattered)
                scattered += (first + np.searchsorted(other, rest)).tolist()
    return _ints(target), _ints(scattered)


def _sockets(m: Mechanism) -> Floats:
    """Where the joints of the moving bodies sit on the bodies that carry them, (n_bodies, 3)."""
    carriers = pose_matrices([m.frame(body.parent).pose for body in m.moving])
    return matmul(carriers, pose_matrices([body.pose for body in m.moving]))[:, :3, 3].copy()


def _body_inertias(m: Mechanism) -> tuple[Floats, Floats, Floats]:
    """Mass, first and second moments of the moving bodies about their origins, in their own axes."""
    tables = m.tables
    links = tables.body_link
    turn = tables.axes[links]
    moment = np.einsum("nij,nj->ni", turn, tables.true.moment[links])
    packed = tables.true.second_moment[links]
    full = packed[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)
    full = turn @ full @ np.swapaxes(turn, 1, 2)
    second = full.reshape(-1, 9)[:, [0, 1, 2, 4, 5, 8]]
    return tables.true.mass[links].copy(), np.ascontiguousarray(moment), np.ascontiguousarray(second)


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _starts(lists: Sequence[Sequence[Any]]) -> Ints:
    return np.cumsum([0, *map(len, lists)]).astype(np.int64)
