"""Which constraints share velocities: the pattern of G M⁻¹ Gᵀ, its elimination order, and all index lists for it.

Groups are the loops and the couplings. The support of a group are the velocities its rows move and all they ride on.
Two groups with a common velocity make a block of W = G M⁻¹ Gᵀ. Groups are eliminated by least degree, so that a row of
N four-bars costs N times one four-bar; blocks that fill in on the way are part of the pattern.

Source: George and Liu 1981, ch. 5 (minimum degree). Cost: once per mechanism.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.redundancy import typical_pivots
from setsu.constraints.row_tables import RowTables
from setsu.constraints.system import ConstraintSystem
from setsu.mechanism import Body, Fixed, Mechanism, Revolute, Spherical, Universal

__all__ = ["Network", "loop_network"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Network(NamedTuple):
    """Index lists. Velocities with their ancestors; groups with rows and supports; blocks in order of elimination."""

    ancestor_start: Ints  # (nv + 1,) into ancestor: a velocity itself, then what it rides on
    ancestor: Ints
    velocity_body: Ints  # (nv,)
    body_parent: Ints  # (n_bodies,) -1 on the world
    mass: Floats  # (n_bodies,)
    moment: Floats  # (n_bodies, 3) first moments about the body origin, body axes
    second_moment: Floats  # (n_bodies, 6) xx xy xz yy yz zz
    armature: Floats  # (nv,)
    socket: Floats  # (n_bodies, 3) where the joint sits on the body that carries it
    turning: Ints  # (loops,) 1 where the loop joint cannot travel
    group_loop: Ints  # (groups,) loop of each group, -1 for couplings
    group_rows: Ints  # (groups + 1,) first row of each group, in the order of elimination: see `rows`
    rows: Ints  # kept rows of the system in the order of elimination
    place: Ints  # their places among the kept rows
    typical: Floats  # their pivots at configurations that are not singular
    left_out: Ints  # rows of loops that are redundant, and the loops they belong to
    left_out_loop: Ints
    support_start: Ints  # (groups + 1,)
    support: Ints  # tips first
    block_start: Ints  # (groups + 1,) into block_group: the group itself, then the later ones it meets
    block_group: Ints
    block_place: Ints  # (blocks,) where the numbers of a block begin
    shared_start: Ints  # (blocks + 1,)
    shared_row: Ints  # places of common velocities in the support of the block's row group
    shared_column: Ints  # and of its column group
    update_start: Ints  # (groups + 1,) into update_block
    update_block: Ints  # for each pair of later groups of a group, the block it changes


def loop_network(system: ConstraintSystem, t: RowTables) -> Network:
    """Return the network of a system's loops and couplings."""
    m = system.mechanism
    parent = m.tables.dof_parent
    chains = [_chain(parent, d) for d in range(m.nv)]
    groups = _groups(t, len(t.coupling_offset))
    supports = [sorted({e for d in path for e in chains[d]}, reverse=True) for _, path in groups]
    order, later = _elimination(supports)
    position = {g: k for k, g in enumerate(order)}
    rows = [row for g in order for row in groups[g][0]]
    sizes = [len(groups[g][0]) for g in order]
    block_start, block_group, block_place, shared_start, shared_row, shared_column = [0], [], [0], [0], [], []
    block_of: dict[tuple[int, int], int] = {}
    for k, g in enumerate(order):
        columns = {d: i for i, d in enumerate(supports[g])}
        for i in [k, *sorted(position[h] for h in later[g])]:
            block_of[i, k] = len(block_group)
            block_group.append(i)
            block_place.append(block_place[-1] + sizes[i] * sizes[k])
            common = [(p, columns[d]) for p, d in enumerate(supports[order[i]]) if d in columns]
            shared_row += [p for p, _ in common]
            shared_column += [c for _, c in common]
            shared_start.append(len(shared_row))
        block_start.append(len(block_group))
    update_start, update_block = [0], []
    for k in range(len(order)):
        met = block_group[block_start[k] + 1 : block_start[k + 1]]
        update_block += [block_of[i, j] for n, i in enumerate(met) for j in met[: n + 1]]
        update_start.append(len(update_block))
    left_out = np.flatnonzero(t.place[: system.n_loop_rows] < 0)
    mass, moment, second = _body_inertias(m)
    frames = [m.frame(body.parent).body for body in m.moving]
    return Network(
        ancestor_start=_starts(chains),
        ancestor=_ints([e for chain in chains for e in chain]),
        velocity_body=_ints([k for k, body in enumerate(m.moving) for _ in range(body.joint.nv)]),
        body_parent=_ints(frames),
        mass=mass,
        moment=moment,
        second_moment=second,
        armature=m.armature,
        socket=np.array([_socket(m, body) for body in m.moving]).reshape(-1, 3),
        turning=_ints([isinstance(loop.joint, (Revolute, Universal, Spherical, Fixed)) for loop in m.loops]),
        group_loop=_ints([g if g < len(t.body_a) else -1 for g in order]),
        group_rows=_ints(np.cumsum([0, *sizes]).tolist()),
        rows=_ints(rows),
        place=t.place[rows].astype(np.int64),
        typical=typical_pivots(system, _ints(rows)),
        left_out=left_out,
        left_out_loop=system.loops.row_loop[left_out],
        support_start=_starts([supports[g] for g in order]),
        support=_ints([d for g in order for d in supports[g]]),
        block_start=_ints(block_start),
        block_group=_ints(block_group),
        block_place=_ints(block_place),
        shared_start=_ints(shared_start),
        shared_row=_ints(shared_row),
        shared_column=_ints(shared_column),
        update_start=_ints(update_start),
        update_block=_ints(update_block),
    )


def _groups(t: RowTables, n_couplings: int) -> list[tuple[list[int], list[int]]]:
    """Kept rows of each loop and coupling, and the velocities they move."""
    groups = []
    for loop in range(len(t.body_a)):
        rows = [row for row in range(t.row_start[loop], t.row_start[loop + 1]) if t.place[row] >= 0]
        groups.append((rows, t.path_velocity[t.path_start[loop] : t.path_start[loop + 1]].tolist()))
    first = len(t.row_kind)
    for c in range(n_couplings):
        moved = np.flatnonzero((t.coupling[c] != 0.0) | (t.coupling_argument[c] != 0.0)).tolist()
        groups.append(([first + c] if t.place[first + c] >= 0 else [], moved))
    return groups


def _elimination(supports: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """Order of groups by least degree, and which later groups each one meets, fill included."""
    members: dict[int, list[int]] = {}
    for g, support in enumerate(supports):
        for d in support:
            members.setdefault(d, []).append(g)
    near: list[set[int]] = [set() for _ in supports]
    for group in members.values():
        for g in group:
            near[g].update(group)
    for g, others in enumerate(near):
        others.discard(g)
    later: list[list[int]] = [[] for _ in supports]
    order: list[int] = []
    done = [False] * len(supports)
    waiting = [(len(others), g) for g, others in enumerate(near)]
    heapq.heapify(waiting)
    while waiting:
        degree, g = heapq.heappop(waiting)
        if done[g] or degree != len(near[g]):
            continue
        done[g] = True
        order.append(g)
        later[g] = sorted(near[g])
        for other in later[g]:
            near[other].discard(g)
            near[other].update(h for h in later[g] if h != other)
            heapq.heappush(waiting, (len(near[other]), other))
    return order, later


def _chain(parent: Ints, velocity: int) -> list[int]:
    chain = []
    while velocity >= 0:
        chain.append(int(velocity))
        velocity = int(parent[velocity])
    return chain


def _socket(m: Mechanism, body: Body) -> Floats:
    frame = m.frame(body.parent)
    return (frame.pose.matrix @ np.array([*map(float, body.pose.translation), 1.0]))[:3]


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


def _starts(lists: list[list[int]]) -> Ints:
    return np.cumsum([0, *map(len, lists)]).astype(np.int64)
