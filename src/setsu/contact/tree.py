"""The mechanism as a tree of velocities: where each acts and what its body weighs, in world axes, and energies.

| symbol | meaning | unit |
|---|---|---|
| O | origin of the first body on the way from the world: what a body's motions and wrenches refer to | m |
| s_d | motion of the bodies beyond for unit velocity d: linear at O, angular | |
| m, h, Σ | mass, first and second moments of a body about O, world axes | kg, kg m, kg m² |
| y_b | twist of a body at O: linear, angular | m/s, rad/s |

    s_d = (l_d + a_d x (O - o_d), a_d)                                        (1)  from the axes at the joint's origin
    h = R s + m (o - O),  Σ = R Σ_b Rᵀ + (R s)(o - O)ᵀ + (o - O)(R s)ᵀ + m (o - O)(o - O)ᵀ    (2)
    y_d = y_parent + s_d v_d                                                  (3)
    T = Σ ½ m v² + v · (w x h) + ½ w · I w + ½ armature v_d²,  V = -g · Σ (m O + h)    (4)

Velocities come one by one: a joint of several is a row of massless links. A common point for all bodies of a tree
spares the sweeps over it every change of coordinates. Cost O(N).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.mechanism import Free, Mechanism, Spherical
from setsu.native.control_flow import inline
from setsu.native.lanes import LANES, load_from, spread, store_from, transposed

__all__ = [
    "ABOUT",
    "DRIVE",
    "FACTOR",
    "INPUT",
    "LOSS",
    "MOMENTS",
    "NEXT",
    "NOW",
    "POTENTIAL_OF",
    "ROW",
    "SHARE",
    "WAY",
    "Tree",
    "ends_its_step",
    "held_trees",
    "kinetic_energy",
    "lanes_of_rows",
    "make_tree",
    "number_trees",
    "own_gain",
    "put_rows",
    "set_body_twists",
    "set_inertias",
    "sum_of",
    "take_next",
    "weight_energy",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROOT = np.dtype(
    [
        ("body", "i8"),
        ("free", "i8"),  # 1: on a free joint, 0: on a spherical one
        ("velocity", "i8"),  # first of the joint
        ("turning", "i8"),  # first of its angular velocities
        ("coordinate", "i8"),
        ("exact", "i8"),  # 1: momentum changes by weight, contacts and applied torques alone
        ("mass", "f8"),  # kg, of the tree
        ("axes", "f8", (3, 3)),  # of the joint in the world
        ("center", "f8", 3),  # at the beginning of the step: centre of mass, m; first moment about the joint, kg m
        ("pull", "f8", 3),  # N m s: what weight adds to the angular momentum about the joint
        ("momentum", "f8", 6),  # linear, and angular about the centre (the joint), at the beginning of the step
        ("target", "f8", 6),  # the same at its end
        ("found", "f8", 6),
        ("inverse", "f8", 6),  # of its inertia about the centre (the joint), world axes: xx yy zz xy xz yz
        ("shift", "f8", 3),
        (
            "rigid",
            "f8",
            6,
        ),  # velocity at the joint, angular velocity of the whole tree with that momentum, joints locked
        ("energy", "f8"),  # J, of that motion
    ]
)

# Room of six numbers: two vectors of four lanes, the last two of them zero.
ROW = 8
# Room of the ten moments of a body, the last two zero.
MOMENTS = 12
# Which state: that of the step's beginning, that of its end.
NOW, NEXT = 0, 1
# Rows of Tree.account: kinetic energy of both states, potential energy of both, what torques and moving ground put in,
# what joints lose, what the tree pays, energy of its motion about the centre of mass (all J); sum of torques; factor of
# its velocity; how far it goes in the step (m or rad).
ACCOUNT = 11
POTENTIAL_OF, INPUT, LOSS, SHARE, ABOUT, DRIVE, FACTOR, WAY = 2, 4, 5, 6, 7, 8, 9, 10


class Tree(NamedTuple):
    """The tree of velocities, what its bodies weigh, and work arrays of articulated.py."""

    INNER = {  # noqa: RUF012
        **dict.fromkeys(("axes", "push", "twists", "accelerations"), (ROW,)),
        **dict.fromkeys(("free", "response"), (6, ROW)),
        **dict.fromkeys(("masses", "inertias", "whole"), (MOMENTS,)),
        "factors": (3 * ROW,),
    }

    parent: Ints  # (nv,) velocity before this one on the way to the world
    above: Ints  # (nv,) the same, beyond the velocities of its own joint
    carries: Ints  # (nv,) body whose last velocity this is, -1: none
    last: Ints  # last velocity of each body of the scene: of the mechanism, then the joints with stops
    dof_body: Ints  # (nv,) body of each velocity's joint
    reference: Ints  # (n_bodies,) body whose origin is O
    sibling: Ints  # (n_bodies,) next body of the same tree, -1: none; the reference body is the first
    root: Ints  # (nv,) number of the tree: bodies that only the world connects are in different ones
    account: Floats  # (ACCOUNT, n_trees) energies of each tree (energy_guard.py)
    group: Ints  # (n_trees,) first of the trees that press on each other, directly or over others
    pressed: Ints  # (n_trees,) 1: a contact presses on it
    stays: Ints  # (n_trees,) 1: nothing pays for its displacement
    plain: Ints  # (n_trees,) 1: loops, couplings or surfaces hold it: plain steps (flight.py)
    place: Ints  # (nv,) of each velocity among those of its tree
    size: Ints  # (n_trees,) velocities of each tree
    masses: Floats  # (n_bodies, MOMENTS) m, s, Σ_b: xx xy xz yy yz zz, body axes at the body's origin
    gravity: Floats  # (3,)
    roots: Any  # bodies on free and spherical joints of the world, and the momentum of their trees (flight.py)
    root_of: Ints  # (n_bodies,) position in `roots` of a body whose tree keeps momentum, else -1
    jumps: Ints  # (n_bodies,) 1 at the reference body of trees in which a contact closes in this step
    sticks: Ints  # (nv,) dry friction: 0 sticking, else the direction of sliding
    total_mass: Floats  # (1,)
    axes: Floats  # (2, nv, ROW) s
    inertias: Floats  # (2, n_bodies, MOMENTS) m, h, Σ
    joint_inertia: Floats  # (2, nv) armature; the same with implicit springs and dampers
    free: Floats  # (nv, 6, ROW) articulated inertias; of active velocities, once these are factored, with contacts
    response: Floats  # (nv, 6, ROW) twist of a body for unit wrench impulses
    joint_response: Floats  # (nv,) joint velocity for unit joint impulses
    stop: Floats  # (nv,) stiffness of joints at their stops
    factors: Floats  # (2, nv, 3 ROW) u / D, w, 1 / D of both
    whole: Floats  # (nv, MOMENTS) inertia of all bodies beyond, as `inertias` (world_mass.py)
    push: Floats  # (nv, ROW) wrench impulses on the way inward
    pull: Floats  # (nv,) joint impulses
    twists: Floats  # (nv, ROW)
    accelerations: Floats  # (nv, ROW)
    current: Ints  # (1,) 1: `twists` are those of the velocities that the step ends with
    change: Floats  # (nv,) of the velocities
    active: Ints  # (2, nv) velocities that move bodies in contact, in order; whether one is among them
    n_active: Ints  # (1,) how many are


def make_tree(mechanism: Mechanism, stopped: Ints, plain: Ints | None = None) -> Tree:
    """Return the arrays of a mechanism; stopped: velocities of joints with stops, in the order of their bodies.

    plain: which trees are (held_trees), (n_trees,); none when not given.
    """
    m, t = mechanism, mechanism.tables
    nv = m.nv
    dof_body = np.ascontiguousarray(t.body[t.dof_link], dtype=np.int64)
    last = np.full(m.n_bodies, -1, dtype=np.int64)
    for dof, body in enumerate(dof_body):
        last[body] = dof
    carries = np.full(nv, -1, dtype=np.int64)
    carries[last] = np.arange(m.n_bodies)
    reference = np.zeros(m.n_bodies, dtype=np.int64)
    for body, dof in enumerate(last):
        while t.dof_parent[dof] >= 0:
            dof = t.dof_parent[dof]
        reference[body] = dof_body[dof]
    above = np.array(t.dof_parent, dtype=np.int64)
    for dof in range(nv):
        while above[dof] >= 0 and t.dof_link[above[dof]] == t.dof_link[dof]:
            above[dof] = t.dof_parent[above[dof]]
    root, place, size = number_trees(t.dof_parent)
    masses = np.zeros((m.n_bodies, MOMENTS))
    for body, link in enumerate(t.body_link):
        A = t.axes[link]
        xx, xy, xz, yy, yz, zz = t.true.second_moment[link]
        second = A @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ A.T
        masses[body, :10] = [t.true.mass[link], *(A @ t.true.moment[link]), *second[np.triu_indices(3)]]
    plain = np.zeros(len(size), dtype=np.int64) if plain is None else plain
    roots, root_of = _free_roots(m, reference, plain[root])
    return Tree(
        parent=np.ascontiguousarray(t.dof_parent, dtype=np.int64),
        above=above,
        carries=carries,
        last=np.concatenate([last, stopped]).astype(np.int64),
        dof_body=dof_body,
        reference=reference,
        sibling=_siblings(reference),
        root=root,
        account=np.zeros((ACCOUNT, len(size))),
        group=np.zeros(len(size), dtype=np.int64),
        pressed=np.zeros(len(size), dtype=np.int64),
        stays=np.zeros(len(size), dtype=np.int64),
        plain=plain,
        place=place,
        size=size,
        masses=masses,
        gravity=np.array(m.gravity, dtype=float),
        roots=roots,
        root_of=root_of,
        jumps=np.zeros(m.n_bodies, dtype=np.int64),
        sticks=np.zeros(nv, dtype=np.int64),
        total_mass=np.array([m.total_mass]),
        axes=np.zeros((2, nv, ROW)),
        inertias=np.zeros((2, m.n_bodies, MOMENTS)),
        joint_inertia=np.array([t.armature, t.armature]),
        free=np.zeros((nv, 6, ROW)),
        response=np.zeros((nv, 6, ROW)),
        joint_response=np.zeros(nv),
        stop=np.zeros(nv),
        factors=np.zeros((2, nv, 3 * ROW)),  # rows begin at cache lines
        whole=np.zeros((nv, MOMENTS)),
        push=np.zeros((nv, ROW)),
        pull=np.zeros(nv),
        twists=np.zeros((nv, ROW)),
        accelerations=np.zeros((nv, ROW)),
        current=np.zeros(1, dtype=np.int64),
        change=np.zeros(nv),
        active=np.zeros((2, nv), dtype=np.int64),
        n_active=np.zeros(1, dtype=np.int64),
    )


def _siblings(reference: Ints) -> Ints:
    """Next body with the same reference, -1: none."""
    sibling, last = np.full(len(reference), -1, dtype=np.int64), {}
    for body, root in enumerate(reference.tolist()):
        if root in last:
            sibling[last[root]] = body
        last[root] = body
    return sibling


def number_trees(parent: Ints) -> tuple[Ints, Ints, Ints]:
    """Tree of each velocity, its place among those of the tree, and how many each tree has."""
    root, place = np.zeros(len(parent), dtype=np.int64), np.zeros(len(parent), dtype=np.int64)
    size: list[int] = []
    for d, before in enumerate(parent):
        if before < 0:
            size.append(0)
        root[d] = len(size) - 1 if before < 0 else root[before]
        place[d] = size[root[d]]
        size[root[d]] += 1
    return root, place, np.array(size or [0], dtype=np.int64)


def held_trees(m: Mechanism, others: Iterable[str] = ()) -> Ints:
    """Which trees loops and couplings hold, open loops included, or have bodies among `others`: (n_trees,), 0 or 1."""
    root, _, size = number_trees(m.tables.dof_parent)
    owners = {body.joint.name: body.name for body in m.bodies}
    names = [*others, *(name for loop in m.loops for name in (loop.body_a, loop.body_b))]
    names += [owners[joint] for coupling in m.couplings for joint in coupling.joints if joint in owners]
    held = np.zeros(len(size), dtype=np.int64)
    for name in names:
        body = m.frame(name).body
        if body >= 0:
            held[root[m.v_slices[body].start]] = 1
    return held


def _free_roots(m: Mechanism, reference: Ints, plain: Ints) -> tuple[Any, Ints]:
    """Bodies on free or spherical joints of the world, and which begin a tree that nothing but contacts holds.

    plain: (nv,) of the tree of each velocity.
    """
    kinds = (Free, Spherical)
    free = [k for k, b in enumerate(m.moving) if isinstance(b.joint, kinds) and m.frame(b.parent).body < 0]
    roots, root_of = np.zeros(len(free), dtype=_ROOT), np.full(m.n_bodies, -1, dtype=np.int64)
    for number, (row, k) in enumerate(zip(roots, free, strict=True)):
        body, part = m.moving[k], m.v_slices[k]
        row["body"], row["velocity"], row["coordinate"] = k, part.start, m.q_slices[k].start
        row["free"], row["turning"] = isinstance(body.joint, Free), part.stop - 3
        row["axes"] = (m.frame(body.parent).pose.matrix @ body.pose.matrix)[:3, :3]
        row["mass"] = m.tables.true.mass[m.tables.body_link[reference == k]].sum()
        damped = m.damping[part].any() or m.coulomb[part].any() or m.tables.stiffness[part].any()
        held = bool(m.has_force_elements or plain[part.start])
        row["exact"] = not held and not damped and not m.tables.armature[part].any() and row["mass"] > 0.0
        root_of[k] = number if row["exact"] else -1
    return roots, root_of


@inline
def set_inertias(tree: Tree, poses, columns, when):
    """Axes and inertias (1), (2) of the state with these poses (n_bodies, 4, 4) and joint axes (6, nv)."""
    for d in range(len(tree.parent)):
        body = tree.dof_body[d]
        T, base = poses[body], poses[tree.reference[body]]
        rx, ry, rz = base[0, 3] - T[0, 3], base[1, 3] - T[1, 3], base[2, 3] - T[2, 3]
        ax, ay, az = columns[3, d], columns[4, d], columns[5, d]
        s = tree.axes[when, d]
        s[0] = columns[0, d] + ay * rz - az * ry
        s[1] = columns[1, d] + az * rx - ax * rz
        s[2] = columns[2, d] + ax * ry - ay * rx
        s[3], s[4], s[5] = ax, ay, az
    n, out, half, two, zero = len(tree.masses), tree.inertias[when], spread(0.5), spread(2.0), spread(0.0)
    for i in range(0, n, LANES):  # four bodies at once, the last one again where there are fewer
        j, k, last = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        r00, r01, r02, x = _row_of_poses(poses, i, j, k, last, 0)
        r10, r11, r12, y = _row_of_poses(poses, i, j, k, last, 1)
        r20, r21, r22, z = _row_of_poses(poses, i, j, k, last, 2)
        o, p, q, r = tree.reference[i], tree.reference[j], tree.reference[k], tree.reference[last]
        x -= _row_of_poses(poses, o, p, q, r, 0)[3]
        y -= _row_of_poses(poses, o, p, q, r, 1)[3]
        z -= _row_of_poses(poses, o, p, q, r, 2)[3]
        m, sx, sy, sz = lanes_of_rows(tree.masses, i, j, k, last, 0)
        xx, xy, xz, yy = lanes_of_rows(tree.masses, i, j, k, last, 4)
        yz, zz, _, _ = lanes_of_rows(tree.masses, i, j, k, last, 8)
        hx, hy, hz = r00 * sx + r01 * sy + r02 * sz, r10 * sx + r11 * sy + r12 * sz, r20 * sx + r21 * sy + r22 * sz
        # Rows of R Σ_b, then (2) with a = R s + ½ m (o - O): a rᵀ + r aᵀ holds all the rest.
        u0, u1, u2 = r00 * xx + r01 * xy + r02 * xz, r00 * xy + r01 * yy + r02 * yz, r00 * xz + r01 * yz + r02 * zz
        v0, v1, v2 = r10 * xx + r11 * xy + r12 * xz, r10 * xy + r11 * yy + r12 * yz, r10 * xz + r11 * yz + r12 * zz
        w0, w1, w2 = r20 * xx + r21 * xy + r22 * xz, r20 * xy + r21 * yy + r22 * yz, r20 * xz + r21 * yz + r22 * zz
        a, b, c = hx + half * m * x, hy + half * m * y, hz + half * m * z
        xx, xy = u0 * r00 + u1 * r01 + u2 * r02 + two * a * x, u0 * r10 + u1 * r11 + u2 * r12 + a * y + b * x
        xz, yy = u0 * r20 + u1 * r21 + u2 * r22 + a * z + c * x, v0 * r10 + v1 * r11 + v2 * r12 + two * b * y
        yz, zz = v0 * r20 + v1 * r21 + v2 * r22 + b * z + c * y, w0 * r20 + w1 * r21 + w2 * r22 + two * c * z
        put_rows(out, i, j, k, last, 0, m, hx + m * x, hy + m * y, hz + m * z)
        put_rows(out, i, j, k, last, 4, xx, xy, xz, yy)
        put_rows(out, i, j, k, last, 8, yz, zz, zero, zero)


@inline
def _row_of_poses(poses, i, j, k, n, row):
    """Entries of a row of the poses of four bodies, lane by lane."""
    return transposed(
        load_from(poses[i, row], 0),
        load_from(poses[j, row], 0),
        load_from(poses[k, row], 0),
        load_from(poses[n, row], 0),
    )


@inline
def lanes_of_rows(rows, i, j, k, n, at):
    """Entries from `at` on of four rows, lane by lane."""
    return transposed(load_from(rows[i], at), load_from(rows[j], at), load_from(rows[k], at), load_from(rows[n], at))


@inline
def put_rows(rows, i, j, k, n, at, a, b, c, d):
    """The way back."""
    a, b, c, d = transposed(a, b, c, d)
    store_from(rows[i], at, a)
    store_from(rows[j], at, b)
    store_from(rows[k], at, c)
    store_from(rows[n], at, d)


@inline
def take_next(tree: Tree):
    """The end of the step becomes the beginning of the next."""
    for d in range(len(tree.parent)):
        store_from(tree.axes[NOW, d], 0, load_from(tree.axes[NEXT, d], 0))
        store_from(tree.axes[NOW, d], 4, load_from(tree.axes[NEXT, d], 4))
    for body in range(len(tree.masses)):
        for k in range(0, MOMENTS, LANES):
            store_from(tree.inertias[NOW, body], k, load_from(tree.inertias[NEXT, body], k))


@inline
def set_body_twists(tree: Tree, v, when, twists):
    """Twists (nv, ROW) of a state with velocities v (nv,) (3)."""
    x, rest, before = spread(0.0), spread(0.0), -1  # of the velocity before
    for d in range(len(tree.parent)):
        p, s, rate = tree.parent[d], tree.axes[when, d], spread(v[d])
        own, own_rest = load_from(s, 0) * rate, load_from(s, 4) * rate
        if p < 0:
            x, rest = own, own_rest
        else:
            if p != before:
                x, rest = load_from(twists[p], 0), load_from(twists[p], 4)
            x, rest = x + own, rest + own_rest
        store_from(twists[d], 0, x)
        store_from(twists[d], 4, rest)
        before = d


@inline
def kinetic_energy(tree: Tree, v, when):
    """Kinetic energy (J) of a state with velocities v (nv,) (3), (4); that of each tree goes to its account."""
    set_body_twists(tree, v, when, tree.twists)
    account = tree.account[when]
    for k in range(len(account)):
        account[k] = 0.0
    for d in range(len(tree.parent)):
        total = 0.5 * tree.joint_inertia[NOW, d] * v[d] * v[d]
        body = tree.carries[d]
        if body >= 0:
            b, t = tree.inertias[when, body], tree.twists[d]
            x, y0, z, wx, wy, wz = t[0], t[1], t[2], t[3], t[4], t[5]
            total += 0.5 * b[0] * (x * x + y0 * y0 + z * z)
            total += b[1] * (y0 * wz - z * wy) + b[2] * (z * wx - x * wz) + b[3] * (x * wy - y0 * wx)
            total += 0.5 * ((b[7] + b[9]) * wx * wx + (b[4] + b[9]) * wy * wy + (b[4] + b[7]) * wz * wz)
            total -= b[5] * wx * wy + b[6] * wx * wz + b[8] * wy * wz
        account[tree.root[d]] += total
    return sum_of(account)


@inline
def weight_energy(tree: Tree, poses, when):
    """Potential energy of the weights of a state (J) (4); that of each tree goes to its account."""
    account, g = tree.account[POTENTIAL_OF + when], tree.gravity
    for k in range(len(account)):
        account[k] = 0.0
    for body in range(len(tree.masses)):
        b, base = tree.inertias[when, body], poses[tree.reference[body]]
        account[tree.root[tree.last[body]]] -= (
            g[0] * (b[0] * base[0, 3] + b[1]) + g[1] * (b[0] * base[1, 3] + b[2]) + g[2] * (b[0] * base[2, 3] + b[3])
        )
    return sum_of(account)


@inline
def ends_its_step(tree: Tree, d):
    """Whether what a velocity moves goes with that of the step's end: in plain trees, and where contacts close."""
    return tree.plain[tree.root[d]] == 1 or tree.jumps[tree.reference[tree.dof_body[d]]] == 1


@inline
def own_gain(tree: Tree, k):
    """T' + V' - T - V - W of a tree (J), without springs."""
    e = tree.account
    return (e[NEXT, k] - e[NOW, k]) + (e[POTENTIAL_OF + NEXT, k] - e[POTENTIAL_OF + NOW, k]) - e[INPUT, k]


@inline
def sum_of(row):
    """Sum of a row of numbers."""
    total = 0.0
    for k in range(len(row)):
        total += row[k]
    return total
