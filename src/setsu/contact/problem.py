"""The contact problem of one step: how impulses at the contacts change the velocities there.

| symbol | meaning | unit |
|---|---|---|
| w_b, y_b | wrench impulse on a body, twist of a body, at its origin, world axes | N s, N m s; m/s, rad/s |
| J_b | Jacobian of a body, (6, nv) | |
| X_b | J_b L⁻¹ D^-½ (factor.py): y_b = X_b x | |
| P_i | (6, 3) impulse in the frame of contact i -> wrench impulse on its body | |
| λ_i, v_i | impulse and velocity of contact i, in its frame: normal, two tangents | N s, m/s |

    column d of J_b = (l_d + a_d x (o_b - o_d), a_d)                          (1)  velocity d on the way to the base
    Λ = X Xᵀ                                                                  (2)  6 rows per body in contact
    y = y_free + Λ P λ,   v_i = P_iᵀ y (of body a, minus that of body b)      (3)
    so KᵀH⁻¹K of sugihara2002 (17) = Pᵀ Λ P                                   (4)

A body's contacts share its six rows, however many they are: the problem never gets larger than six times the bodies in
contact, nor harder to solve when contacts are redundant. Constraint rows G (loops, couplings, surfaces) are eliminated:

    X_b <- X_b - (X_b Gₓᵀ) (Gₓ Gₓᵀ)⁻¹ Gₓ,   Gₓ = G L⁻¹ D^-½                   (5)
"""

from __future__ import annotations

from setsu.contact.joint_stops import set_stop_map
from setsu.contact.scene import BEFORE, FREE, STOP, TWIST, WRENCH, X_PART, Problem, Scene
from setsu.native.control_flow import part

__all__ = ["add_wrench", "in_x", "prepare", "reset_hub", "set_twists", "set_velocity"]


@part
def reset_hub(scene: Scene, problem: Problem):
    """Forget the bodies of the former step."""
    for k in range(problem.counts[1]):
        scene.bodies[problem.bodies[k]].hub = -1
    problem.counts[1] = 0


@part
def _enter(scene: Scene, problem: Problem, body, poses, columns, H, root, rows, v, v_free):
    """Take a body into the hub."""
    k = problem.counts[1]
    problem.counts[1] = k + 1
    problem.bodies[k] = body
    scene.bodies[body].hub = k
    start, stop = scene.bodies[body].path_start, scene.bodies[body].path_stop
    X, nv, path = problem.root[k], len(v), scene.path
    ox = oy = oz = 0.0
    if body < len(poses):
        ox, oy, oz = poses[body, 0, 3], poses[body, 1, 3], poses[body, 2, 3]
    for i in range(6):
        for d in range(nv):
            X[i, d] = 0.0
    if body >= len(poses):
        X[0, path[stop - 1]] = 1.0  # stands for a joint (joint_stops.py)
    for p in range(start, stop if body < len(poses) else start):
        d = path[p]
        origin = scene.dof_body[d]
        rx, ry, rz = ox - poses[origin, 0, 3], oy - poses[origin, 1, 3], oz - poses[origin, 2, 3]
        ax, ay, az = columns[3, d], columns[4, d], columns[5, d]
        X[0, d] = columns[0, d] + ay * rz - az * ry  # (1)
        X[1, d] = columns[1, d] + az * rx - ax * rz
        X[2, d] = columns[2, d] + ax * ry - ay * rx
        X[3, d], X[4, d], X[5, d] = ax, ay, az
    for i in range(6):
        before = free = 0.0
        for p in range(start, stop):
            d = path[p]
            before += X[i, d] * v[d]
            free += X[i, d] * v_free[d]
        problem.vectors[BEFORE, 6 * k + i], problem.vectors[FREE, 6 * k + i] = before, free
        # x of a force on the velocities of this path alone (factor.py (2))
        for p in range(stop - 1, start - 1, -1):
            e = path[p]
            y = X[i, e]
            for o in range(start, p):
                X[i, path[o]] -= H[e, path[o]] * y
            X[i, e] = y * root[e]
    for r in range(len(rows)):  # (5), rows made orthonormal beforehand
        for i in range(6):
            s = 0.0
            for d in range(nv):
                s += X[i, d] * rows[r, d]
            for d in range(nv):
                X[i, d] -= s * rows[r, d]
    support = problem.support[k]
    support[0] = nv if len(rows) > 0 else stop - start
    for p in range(support[0]):
        support[1 + p] = p if len(rows) > 0 else path[start + p]
    # Off the diagonal Λ serves problems solved in twists (linear_step.py).
    for other in range(0 if 6 * (k + 1) <= nv or problem.counts[2] > 0 else k, k + 1):
        Y = problem.root[other]
        for i in range(6):
            for j in range(6):
                s = 0.0
                for p in range(1, support[0] + 1):
                    s += X[i, support[p]] * Y[j, support[p]]  # (2)
                problem.coupling[6 * k + i, 6 * other + j] = s
                problem.coupling[6 * other + j, 6 * k + i] = s


@part
def _set_map(axes, poses, body, position, sign, P):
    """P: the force in world axes and its moment about the body origin, for each axis of the contact frame."""
    rx, ry, rz = position[0] - poses[body, 0, 3], position[1] - poses[body, 1, 3], position[2] - poses[body, 2, 3]
    for k in range(3):
        x, y, z = sign * axes[k, 0], sign * axes[k, 1], sign * axes[k, 2]
        P[0, k], P[1, k], P[2, k] = x, y, z
        P[3, k], P[4, k], P[5, k] = ry * z - rz * y, rz * x - rx * z, rx * y - ry * x


@part
def prepare(scene: Scene, problem: Problem, first, poses, columns, H, root, rows, v, v_free):
    """Fill maps, own blocks, velocities before and without impulses for the contacts from `first` on."""
    for index in range(first, problem.counts[0]):
        c = problem.contacts[index]
        if scene.bodies[c.body_a].hub < 0:
            _enter(scene, problem, c.body_a, poses, columns, H, root, rows, v, v_free)
        c.hub_a = scene.bodies[c.body_a].hub
        if c.point == STOP:
            set_stop_map(scene, problem, index)
        else:
            _set_map(c.axes, poses, c.body_a, c.position, 1.0, c.map_a)
        c.hub_b = -1
        if c.body_b >= 0:
            if scene.bodies[c.body_b].hub < 0:
                _enter(scene, problem, c.body_b, poses, columns, H, root, rows, v, v_free)
            c.hub_b = scene.bodies[c.body_b].hub
            _set_map(c.axes, poses, c.body_b, c.position, -1.0, c.map_b)
        _own_block(problem, index)
        set_velocity(problem, index, BEFORE, c.before)
        set_velocity(problem, index, FREE, c.free)


@part
def _own_block(problem: Problem, index):
    """P_cᵀ Λ P_c and the impulse scale of a contact."""
    c = problem.contacts[index]
    W = c.own
    for i in range(3):
        for j in range(3):
            W[i, j] = 0.0
    for sides in range(4):
        one, two = (c.hub_a if sides < 2 else c.hub_b), (c.hub_a if sides % 2 == 0 else c.hub_b)
        if one < 0 or two < 0:
            continue
        P, Q = (c.map_a if sides < 2 else c.map_b), (c.map_a if sides % 2 == 0 else c.map_b)
        for j in range(3):
            for r in range(6):
                s = 0.0
                for t in range(6):
                    s += problem.coupling[6 * one + r, 6 * two + t] * Q[t, j]
                for i in range(3):
                    W[i, j] += P[r, i] * s
    trace = W[0, 0] + W[1, 1] + W[2, 2]
    c.scale = 3.0 / trace if trace > 0.0 else 0.0


@part
def set_velocity(problem: Problem, index, row, out):
    """out (3,): velocity of a contact for the twists in a row of `vectors` (3)."""
    c, twist = problem.contacts[index], problem.vectors[row]
    P, o = c.map_a, 6 * c.hub_a
    for k in range(3):
        s = 0.0
        for r in range(6):
            s += P[r, k] * twist[o + r]
        out[k] = s
    if c.hub_b >= 0:
        P, o = c.map_b, 6 * c.hub_b
        for k in range(3):
            s = 0.0
            for r in range(6):
                s += P[r, k] * twist[o + r]
            out[k] += s


@part
def add_wrench(problem: Problem, index, x, y, z, row):
    """Add P (x, y, z) of a contact to a row of `vectors`."""
    c, wrench = problem.contacts[index], problem.vectors[row]
    P, o = c.map_a, 6 * c.hub_a
    for r in range(6):
        wrench[o + r] += P[r, 0] * x + P[r, 1] * y + P[r, 2] * z
    if c.hub_b >= 0:
        P, o = c.map_b, 6 * c.hub_b
        for r in range(6):
            wrench[o + r] += P[r, 0] * x + P[r, 1] * y + P[r, 2] * z


@part
def set_twists(problem: Problem):
    """WRENCH = P λ of the trial impulses, TWIST = FREE + Λ WRENCH (3)."""
    n, vectors = 6 * problem.counts[1], problem.vectors
    for k in range(n):
        vectors[WRENCH, k] = 0.0
    for index in range(problem.counts[0]):
        f = problem.contacts[index].trial
        add_wrench(problem, index, f[0], f[1], f[2], WRENCH)
    if not in_x(problem):
        for i in range(n):
            s = vectors[FREE, i]
            for j in range(n):
                s += problem.coupling[i, j] * vectors[WRENCH, j]
            vectors[TWIST, i] = s
        return
    z = vectors[X_PART]
    for d in range(problem.root.shape[2]):
        z[d] = 0.0
    for k in range(problem.counts[1]):
        X, support = problem.root[k], problem.support[k]
        for i in range(6):
            w = vectors[WRENCH, 6 * k + i]
            for p in range(1, support[0] + 1):
                z[support[p]] += X[i, support[p]] * w
    for k in range(problem.counts[1]):
        X, support = problem.root[k], problem.support[k]
        for i in range(6):
            s = vectors[FREE, 6 * k + i]
            for p in range(1, support[0] + 1):
                s += X[i, support[p]] * z[support[p]]
            vectors[TWIST, 6 * k + i] = s


@part
def in_x(problem: Problem):
    """Whether nv is less than six times the bodies in contact, and none of them touch each other."""
    return 6 * problem.counts[1] > problem.root.shape[2] and problem.counts[2] == 0
