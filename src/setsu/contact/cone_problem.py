"""One contact problem as the cone solver sees it: contacts, the nodes they act on, and room to work in.

| symbol | meaning | unit |
|---|---|---|
| x_k | velocity of node k in coordinates with kinetic energy ½|x|²: one tree of the mechanism, or the whole of it | |
| K_i | velocity of contact i for x: (3, size) for one node or two | |
| λ_i, u_i | impulse and velocity of contact i: normal, two tangents | N s, m/s |
| b_i | velocity of the contact without impulses, what it is measured from included | m/s |
| ε | compliance | 1/kg |

    x = Σ K_iᵀ λ_i                                                            (1)
    u_i = b_i + K_i x + ε λ_i                                                 (2)  so W = K Kᵀ + ε 1

Rows beyond the contacts are couples of contacts with torsional or rolling friction: (1) and (2) hold for them with κ, w
of couple_laws.py.
Islands of a step go through one such problem, one after the other.
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.contact.orthonormal_rows import padded
from setsu.native.control_flow import code_address, inline, jit, run_on_workspace
from setsu.native.lanes import LANES, load_from, spread, store_from, total
from setsu.native.workspace import Workspace

__all__ = [
    "CONTACTS",
    "MOST_ROUNDS",
    "MOST_ROUNDS_OF_FEW",
    "NODES",
    "NONE",
    "ROWS",
    "SIZE",
    "WORST",
    "ConeProblem",
    "make_cone_problem",
    "set_velocities",
    "solve_given",
    "solve_island",
    "solve_one_round",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Entries of ConeProblem.counts: contacts, nodes, sum of the widths of the nodes, contacts and couples.
CONTACTS, NODES, SIZE, ROWS = range(4)
# Entries of ConeProblem.numbers. Given: compliance of the problem and that which rounds work with (1/kg), what Newton's
# method aims at and what counts as converged (parts of the scale of impulses). Returned: natural map in these parts,
# rounds, 1 where it converged, in EPS the compliance used. Given: IMPULSES, HARD or ROUND, rounds at most.
EPS, DAMPING, ACCURACY, TOLERANCE, RESIDUAL, ROUNDS, CONVERGED, TASK, MOST = range(9)
# Rounds that a step may take: of many trees, and of a few, whose rounds are cheap.
MOST_ROUNDS, MOST_ROUNDS_OF_FEW = 200, 2000
# What is asked for: impulses, impulses where full Newton steps have failed already, or `change` and `slope` of one
# round from given C and e.
IMPULSES, HARD, ROUND = 0.0, 1.0, 2.0
# Contacts that worst_contacts.py solves apart, at most.
WORST = 16
# No second node: the contact is with the environment.
NONE = -1


class ConeProblem(NamedTuple):
    """A contact problem of n rows, contacts and couples, on N nodes, and the arrays its solution works in."""

    INNER = {  # noqa: RUF012
        **dict.fromkeys(("side", "jacobian_start", "limit"), (2,)),
        **dict.fromkeys(("free", "impulse", "velocity", "trial", "given", "best", "change", "slope", "rest"), (3,)),
        **dict.fromkeys(("cone", "dual", "cone_change", "dual_change"), (3,)),
        "ratio": (3, 3),
        "slide": (2, 3),
        "scaling": (8, 3),
    }

    counts: Ints  # (4,) CONTACTS, NODES, SIZE, ROWS
    side: Ints  # (n, 2) node of each side, NONE
    jacobian_start: Ints  # (n, 2) where in `jacobian` K of that side begins
    jacobian: Floats  # K of all contacts, row after row, each with zeros up to whole lanes
    node_size: Ints  # (N,)
    node_width: Ints  # (N,) the same up to whole lanes
    node_start: Ints  # (N,) where in x
    x: Floats  # (SIZE,) (1)
    load: Floats  # (SIZE,) right side and solution of a linear system
    free: Floats  # (n, 3) b
    friction: Floats  # (n,)
    partner: Ints  # (n,) contact of a couple
    limit: Floats  # (n, 2) of a couple about the normal and about the tangents, per normal impulse
    scale: Floats  # (n,) impulse per velocity of the contact alone, kg
    impulse: Floats  # (n, 3)
    velocity: Floats  # (n, 3)
    trial: Floats  # (n, 3) impulse that is looked at
    given: Floats  # (n, 3) where the solution began
    best: Floats  # (n, 3) the impulses with the least residual so far
    change: Floats  # (n, 3) δλ
    slope: Floats  # (n, 3) K δx
    ratio: Floats  # (n, 3, 3) C of block_elimination.py
    rest: Floats  # (n, 3) e
    slide: Floats  # (n, 2, 3) how tangential changes follow the normal one (cone_newton.py)
    cone: Floats  # (n, 3) λ̂ of interior_point.py
    dual: Floats  # (n, 3) û
    scaling: Floats  # (n, 8, 3) scaling of a round (interior_point.py)
    cone_change: Floats  # (n, 3)
    dual_change: Floats  # (n, 3)
    slot: Ints  # (N, N) where in `blocks` the block of two nodes begins, 0: none
    ordered: Ints  # (1,) how many nodes `slot` is filled for
    link_first: Ints  # (N,) of the list of coupled nodes while the order is found, NONE: its end
    link_to: Ints  # a coupled node
    link_next: Ints
    order: Ints  # (N,) nodes in the order of elimination
    degree: Ints  # (N,) neighbours not yet eliminated, -1: eliminated
    later_start: Ints  # (N + 1,) in `later`, by place in the order
    later: Ints  # nodes coupled to an eliminated one, eliminated after it
    pivots: Ints  # (SIZE,) rows exchanged inside the blocks of the diagonal
    blocks: Floats  # after them, room for three columns of x in lanes
    worst: Ints  # (WORST,) contacts solved apart (worst_contacts.py)
    few: Floats  # (6, WORST, 3) their impulses and velocities
    response: Floats  # G of worst_contacts.py, rows of 3 WORST and LANES more
    few_matrix: Floats  # the same shape
    few_load: Floats  # (3 WORST,)
    few_pivots: Ints  # (3 WORST,)
    group: Ints  # (N,) of a tree: another one of its island, itself where it stands for the island
    node: Ints  # (N,) of a tree: its node in the island at hand, -1: none
    column: Ints  # (n,) of a soft contact: its own velocity among those of the first side (islands.py)
    members: Ints  # (n,) contacts of the step, island after island
    island_start: Ints  # (N + 1,) in members
    numbers: Floats  # (9,) what cone_solver.py is given and gives back, EPS to MOST
    code: Ints  # (1,) address of cone_solver.py


def make_cone_problem(rows: int, nodes: int, largest: int, size: int) -> Workspace:
    """Return room for so many contacts and couples on so many nodes, the largest of `largest` and all of `size`
    velocities.

    Pages that are never touched cost address space only: room for the worst fill is set aside.
    """
    n, N = max(1, rows), max(1, nodes)
    width = max(LANES, size + (LANES - 1) * N)

    def floats(*shape: int) -> Floats:
        return np.zeros(shape)

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, dtype=np.int64)

    workspace = Workspace(
        ConeProblem(
            counts=ints(4),
            side=ints(n, 2),
            jacobian_start=ints(n, 2),
            jacobian=floats(6 * n * padded(largest)),
            node_size=ints(N),
            node_width=ints(N),
            node_start=ints(N),
            x=floats(width),
            load=floats(width),
            free=floats(n, 3),
            friction=floats(n),
            partner=ints(n),
            limit=floats(n, 2),
            scale=floats(n),
            impulse=floats(n, 3),
            velocity=floats(n, 3),
            trial=floats(n, 3),
            given=floats(n, 3),
            best=floats(n, 3),
            change=floats(n, 3),
            slope=floats(n, 3),
            ratio=floats(n, 3, 3),
            rest=floats(n, 3),
            slide=floats(n, 2, 3),
            cone=floats(n, 3),
            dual=floats(n, 3),
            scaling=floats(n, 8, 3),
            cone_change=floats(n, 3),
            dual_change=floats(n, 3),
            slot=ints(N, N),
            ordered=ints(1),
            link_first=ints(N),
            link_to=ints(N * N),
            link_next=ints(N * N),
            order=ints(N),
            degree=ints(N),
            later_start=ints(N + 1),
            later=ints(N * N),
            pivots=ints(width),
            blocks=floats(LANES + width * (width + LANES)),
            worst=ints(WORST),
            few=floats(6, WORST, 3),
            response=floats(3 * WORST * (3 * WORST + LANES)),
            few_matrix=floats(3 * WORST * (3 * WORST + LANES)),
            few_load=floats(3 * WORST + LANES),
            few_pivots=ints(3 * WORST),
            group=ints(N),
            node=np.full(N, -1, dtype=np.int64),
            column=ints(n),
            members=ints(n),
            island_start=ints(N + 1),
            numbers=floats(9),
            code=ints(1),
        )
    )
    # Compiled apart, when the first problem is made; imported by name, so that the code of those who call it does not
    # depend on its sources.
    workspace.fields.code[0] = code_address(import_module("setsu.contact.cone_solver").solve_entry, workspace)
    return workspace


@inline
def solve_island(p: ConeProblem, eps, damping, accuracy, tolerance, most, hard):
    """Find the impulses (cone_solver.py) in `most` rounds; return (natural map / scale, rounds, converged).

    hard: full Newton steps have failed already.
    """
    x = p.numbers
    x[EPS], x[DAMPING], x[ACCURACY], x[TOLERANCE], x[TASK] = eps, damping, accuracy, tolerance, IMPULSES
    if hard:
        x[TASK] = HARD
    x[MOST] = most
    run_on_workspace(p.code[0], p)
    return x[RESIDUAL], int(x[ROUNDS]), x[CONVERGED] == 1.0


@inline
def add_to_nodes(p: ConeProblem, index, n, s, t, out):
    """out += K_iᵀ (n, s, t)."""
    K = p.jacobian
    for k in range(2):
        node = p.side[index, k]
        if node < 0:
            continue
        a, m, o = p.jacobian_start[index, k], p.node_width[node], p.node_start[node]
        n4, s4, t4 = spread(n), spread(s), spread(t)
        for j in range(0, m, LANES):
            added = load_from(K, a + j) * n4 + load_from(K, a + m + j) * s4 + load_from(K, a + 2 * m + j) * t4
            store_from(out, o + j, load_from(out, o + j) + added)  # type: ignore[arg-type]


@inline
def set_from_nodes(p: ConeProblem, index, x, out):
    """out (3,) = K_i x."""
    K = p.jacobian
    u, v, w = spread(0.0), spread(0.0), spread(0.0)
    for k in range(2):
        node = p.side[index, k]
        if node < 0:
            continue
        a, m, o = p.jacobian_start[index, k], p.node_width[node], p.node_start[node]
        for j in range(0, m, LANES):
            y = load_from(x, o + j)  # type: ignore[arg-type]
            u, v, w = u + load_from(K, a + j) * y, v + load_from(K, a + m + j) * y, w + load_from(K, a + 2 * m + j) * y
    out[0], out[1], out[2] = total(u), total(v), total(w)


@inline
def set_velocities(p: ConeProblem, impulses, eps):
    """x and the velocities (1), (2) of some impulses (n, 3)."""
    x = p.x
    for i in range(p.counts[SIZE]):
        x[i] = 0.0
    for index in range(p.counts[ROWS]):
        f = impulses[index]
        if f[0] != 0.0 or f[1] != 0.0 or f[2] != 0.0:
            add_to_nodes(p, index, f[0], f[1], f[2], x)
    for index in range(p.counts[ROWS]):
        v, f = p.velocity[index], impulses[index]
        set_from_nodes(p, index, x, v)
        for k in range(3):
            v[k] += p.free[index, k] + eps * f[k]


@inline
def solve_one_round(p: ConeProblem):
    """`change` and `slope` of all contacts from C and e; False when the linear system is singular."""
    p.numbers[TASK] = ROUND
    run_on_workspace(p.code[0], p)
    return p.numbers[CONVERGED] == 1.0


@jit
def solve_given(p: ConeProblem, eps, damping, accuracy, tolerance, most):
    """`solve_island` for Python."""
    return solve_island(p, eps, damping, accuracy, tolerance, most, False)
