"""Steps of the second order that keep momentum: where forces act, how a step moves, what velocity it ends with.

| symbol | meaning | unit |
|---|---|---|
| h, g | step, gravity | s, m/s² |
| q_m | configuration in the middle of the step, q ⊕ ½ h v: dynamics and contact forces are taken there | |
| R, R_m, R' | axes of the body on a free joint at the beginning, in the middle, at the end | |
| ν, ν' | velocities at both ends; those of free joints in the axes R_m | |
| M, c | mass and centre of mass of a tree that hangs on a free joint | kg, m |
| P, L | its momentum, and angular momentum about c | N s, N m s |
| f_i, p_i | impulses of its contacts, and where they act in the middle of the step | N s, m |
| e, v_n, s | restitution, normal velocity and gap of a contact before the step | -, m/s, m |
| γ | h times the part of gravity that pulls the contact shut | m/s |

    ν = R_mᵀ R v,   v' = R'ᵀ R_m ν'                                           (1)  free joints; all others: ν = v
    q' = q ⊕ ½ h (ν + ν')                                                     (2)  trees whose contacts do not jump
    q' = q ⊕ h ν'                                                             (3)  trees in which a contact closes
    R' = R exp(Θ),  Θ = ½ h (ω + ω')   with (2),   h ω'   with (3)            (4)  ω, ω' in the axes R and R'
    P' = P + h M g + Σ f,   L' = L + Σ (p - c_m) x f                          (5)  exactly, by the velocity of the base
    c' = c + ½ h (P + P') / M   with (2),   c + h P' / M   with (3)           (6)  exactly, by the place of the base
    v_n' = √(γ² + e² v_n² - 2 (1 - e²) γ s / h) - γ                           (7)
    <=> ½ v_n'² + (γ/h) (s + h v_n') = e² (½ v_n² + (γ/h) s)                       e² of the energy above the ground
    v' <- v_r + k (v' - v_r),  k² = 1 - gain / T_i                            (8)  steps without contacts

(2) is exact for constant accelerations. It would let what closes a gap bounce: an impulse that changes normal
velocities acts at the beginning of the step (3). With (5) and (6) thrown bodies follow their parabolas and keep their
angular momentum whatever the step, and a ball that slides into rolling ends with 5/7 of its speed; with (4), which is
found by iteration, single bodies keep their energy too: J (ω' - ω) = -k Θ x J (ω + ω') does no work. What the energy of
trees misses by the third order of h is taken from, or given to, the motion of their joints (8): v_r is the rigid motion
with the momentum of (5), T_i the kinetic energy beyond that of v_r.
Tops on spherical joints have (4), (5) for the angular momentum about the joint; weight acts at the mean of the centres
of both ends, times tan(|Θ|/2) / (|Θ|/2) from the joint, which makes its torque along Θ the work it does        (9).
With (7) the impact keeps e² of the energy above the ground, though it comes early by s and the step that bounces also
rises by h v_n': apexes follow e² to the second order, and a ball with e = 1 comes back to its height forever.
(4)-(6) are for trees that hang on a free joint and that no loops, couplings or surfaces hold, without springs.
Trees that loops, couplings or surfaces hold take plain steps: q_m = q, ν = v, (3).
Source: (2) is the midpoint (position Verlet) step; Hairer, Lubich and Wanner 2006, I.1.4. (4) after Simo, Wong 1991.
Cost: O(N).
"""

from __future__ import annotations

import math

from setsu.contact.free_motion import (
    APPLIED,
    DISPLACEMENT,
    INTEGRATE,
    KINETIC_NEXT,
    POSES_NEXT,
    POSES_NOW,
    V_END,
    V_NEXT,
    StepState,
    V,
)
from setsu.contact.scene import N_CONTACTS, STOP, TURNING, Problem
from setsu.contact.tree import (
    DRIVE,
    FACTOR,
    LOSS,
    NEXT,
    NOW,
    WAY,
    Tree,
    ends_its_step,
    own_gain,
    set_body_twists,
    set_inertias,
)
from setsu.contact.world_bias import apply_inertia
from setsu.native.control_flow import inline, run_bound

__all__ = [
    "find_jumps",
    "first_moment",
    "keep_energy",
    "note_momenta",
    "place_middle",
    "rebound",
    "set_displacement",
    "set_end_velocity",
    "set_pull",
    "set_targets",
    "try_step",
    "turn_velocity",
]

# Part of the inner kinetic energy that (8) may take or give.
_SMALL = 0.01
# m or rad: steps that move less have their middle at their beginning.
_STILL = 1e-7
# m or rad: trees that move less and touch something are at rest: (3) settles them sooner than (2).
_RESTING = 1e-6
# m/s: a contact whose normal velocity is below this before and after the step did not jump.
_JUMP = 1e-5


@inline
def _turn(A, B, v, o):
    """Three components from o on of v in the axes A, in the axes B."""
    x = A[0, 0] * v[o] + A[0, 1] * v[o + 1] + A[0, 2] * v[o + 2]
    y = A[1, 0] * v[o] + A[1, 1] * v[o + 1] + A[1, 2] * v[o + 2]
    z = A[2, 0] * v[o] + A[2, 1] * v[o + 1] + A[2, 2] * v[o + 2]
    return (
        B[0, 0] * x + B[1, 0] * y + B[2, 0] * z,
        B[0, 1] * x + B[1, 1] * y + B[2, 1] * z,
        B[0, 2] * x + B[1, 2] * y + B[2, 2] * z,
    )


@inline
def _farthest(motion: StepState, row, h):
    """The largest part of a step with the velocities of a row (m or rad)."""
    most = 0.0
    for d in range(motion.vectors.shape[1]):
        most = max(most, h * abs(motion.vectors[row, d]))
    return most


@inline
def place_middle(tree: Tree, motion: StepState, h):
    """Set q_m, its poses and inertias, and V to ν (1). Return how far a step goes, 0: all is plain, -1: bad numbers."""
    a = motion.vectors
    for d in range(a.shape[1]):
        motion.start[0, d] = a[V, d]
    far = 0.0
    for k in range(tree.account.shape[1]):
        tree.account[WAY, k] = 0.0
    for d in range(a.shape[1]):
        k = tree.root[d]
        if tree.plain[k] == 0:
            tree.account[WAY, k] = max(tree.account[WAY, k], h * abs(a[V, d]))
            far = max(far, tree.account[WAY, k])
    if far <= _STILL:
        for k in range(len(motion.q)):
            motion.q_middle[k] = motion.q[k]
        return far
    for d in range(a.shape[1]):
        a[DISPLACEMENT, d] = 0.5 * h * a[V, d] if tree.plain[tree.root[d]] == 0 else 0.0
    if run_bound(motion.kernels[INTEGRATE]) >= 0:
        return -1.0
    for k in range(len(motion.q)):
        motion.q_middle[k] = motion.q_next[k]
    if run_bound(motion.kernels[POSES_NOW]) >= 0:
        return -1.0
    set_inertias(tree, motion.poses, motion.columns, NOW)
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if tree.plain[tree.root[r.velocity]] == 1:
            continue
        R, middle, o, w = motion.poses_start[r.body], motion.poses[r.body], r.velocity, r.turning
        a[V, w], a[V, w + 1], a[V, w + 2] = _turn(R, middle, motion.start[0], w)
        if r.free == 1:
            a[V, o], a[V, o + 1], a[V, o + 2] = _turn(R, middle, motion.start[0], o)
    return far


@inline
def turn_velocity(tree: Tree, motion: StepState, back):
    """Turn V_NEXT of free and spherical joints from the axes at the end of the step into the world's, or back."""
    v = motion.vectors[V_NEXT]
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        T = motion.poses_next[r.body]
        for o in (r.velocity, r.turning):
            if tree.plain[tree.root[o]] == 0 and (o == r.turning or r.free == 1):
                x, y, z = v[o], v[o + 1], v[o + 2]
                for i in range(3):
                    v[o + i] = (
                        T[0, i] * x + T[1, i] * y + T[2, i] * z if back else T[i, 0] * x + T[i, 1] * y + T[i, 2] * z
                    )


@inline
def find_jumps(tree: Tree, problem: Problem):
    """Note in which trees a contact changes its normal velocity, or presses where the tree goes nowhere."""
    for body in range(len(tree.reference)):
        tree.jumps[body] = 0
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        if c.soft > 0.0 or c.impulse[0] <= 0.0:
            continue
        fast = max(abs(c.before[0]), abs(c.velocity[0] - c.shift[0])) > _JUMP
        a = tree.dof_body[tree.last[c.body_a]] if c.point == STOP else c.body_a
        way = tree.account[WAY, tree.root[tree.last[a]]]
        if c.body_b >= 0:
            way = max(way, tree.account[WAY, tree.root[tree.last[c.body_b]]])
        if fast or way <= _RESTING:
            tree.jumps[tree.reference[a]] = 1
            if c.body_b >= 0:
                tree.jumps[tree.reference[c.body_b]] = 1


@inline
def set_displacement(tree: Tree, motion: StepState, h):
    """Displacement of the step (2), (3)."""
    a = motion.vectors
    for d in range(a.shape[1]):
        a[DISPLACEMENT, d] = h * a[V_NEXT, d] if ends_its_step(tree, d) else 0.5 * h * (a[V, d] + a[V_NEXT, d])
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if tree.plain[tree.root[r.velocity]] == 1:
            continue
        R, middle, o, x = motion.poses_start[r.body], motion.poses[r.body], r.velocity, a[DISPLACEMENT]
        p, q, w = _turn(middle, R, x, r.turning)
        x[r.turning], x[r.turning + 1], x[r.turning + 2] = p, q, w
        if r.free == 0:
            continue
        x0, y0, z0 = _turn(middle, R, x, o)
        # Free joints move along screws: the straight way, with half of the step's turn taken back and its square added.
        i, j, k3 = q * z0 - w * y0, w * x0 - p * z0, p * y0 - q * x0
        x[o] = x0 - 0.5 * i + (q * k3 - w * j) / 12.0
        x[o + 1] = y0 - 0.5 * j + (w * i - p * k3) / 12.0
        x[o + 2] = z0 - 0.5 * k3 + (p * j - q * i) / 12.0


@inline
def try_step(tree: Tree, motion: StepState, h, exact):
    """Configuration, poses and inertias at the end of the step; exact: centres of mass are those of (6).

    False for bad numbers.
    """
    if run_bound(motion.kernels[INTEGRATE]) >= 0 or run_bound(motion.kernels[POSES_NEXT]) >= 0:
        return False
    set_inertias(tree, motion.poses_next, motion.columns_next, NEXT)
    if not exact:
        return True
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if r.exact == 0 or r.free == 0:
            continue
        x, y, z = first_moment(tree, r.body, NEXT)
        T, f = motion.poses_next[r.body], h / r.mass
        jumps = tree.jumps[r.body] == 1
        shift = r.shift
        for i, s in enumerate((x, y, z)):
            rate = r.target[i] if jumps else 0.5 * (r.momentum[i] + r.target[i])
            shift[i] = r.center[i] + f * rate - T[i, 3] - s / r.mass
        q = motion.q_next
        for i in range(3):
            q[r.coordinate + i] += r.axes[0, i] * shift[0] + r.axes[1, i] * shift[1] + r.axes[2, i] * shift[2]
        body = r.body
        while body >= 0:
            for i in range(3):
                motion.poses_next[body, i, 3] += shift[i]
            body = tree.sibling[body]
    return True


@inline
def first_moment(tree: Tree, root, when):
    """First moment of a tree about its reference point O."""
    x = y = z = 0.0
    body = root
    while body >= 0:
        b = tree.inertias[when, body]
        x, y, z = x + b[1], y + b[2], z + b[3]
        body = tree.sibling[body]
    return x, y, z


@inline
def _momentum(tree: Tree, r, out):
    """P and L of a tree at the end of the step into `out` (6,), from its `twists`; return what L is about, from O."""
    body, mass = r.body, r.mass
    px = py = pz = lx = ly = lz = 0.0
    while body >= 0:
        b, t = tree.inertias[NEXT, body], tree.twists[tree.last[body]]
        x, y, z, u, v, w = apply_inertia(b, t[0], t[1], t[2], t[3], t[4], t[5])
        px, py, pz, lx, ly, lz = px + x, py + y, pz + z, lx + u, ly + v, lz + w
        body = tree.sibling[body]
    x = y = z = 0.0
    if r.free == 1:
        x, y, z = first_moment(tree, r.body, NEXT)
        x, y, z = x / mass, y / mass, z / mass
        lx -= y * pz - z * py
        ly -= z * px - x * pz
        lz -= x * py - y * px
    out[0], out[1], out[2], out[3], out[4], out[5] = px, py, pz, lx, ly, lz
    return x, y, z


@inline
def note_momenta(tree: Tree, motion: StepState, v):
    """Keep c, P and L of the trees on free joints at a state whose poses and inertias are those of the step's end."""
    if len(tree.roots) > 0 and tree.current[0] == 0:
        set_body_twists(tree, v, NEXT, tree.twists)
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if r.exact == 0:
            continue
        x, y, z = _momentum(tree, r, r.momentum)
        if r.free == 0:
            r.center[0], r.center[1], r.center[2] = first_moment(tree, r.body, NEXT)
            continue
        T = motion.poses_next[r.body]
        r.center[0], r.center[1], r.center[2] = T[0, 3] + x, T[1, 3] + y, T[2, 3] + z


@inline
def set_targets(tree: Tree, problem: Problem, motion: StepState, h):
    """P' and L' of (5)."""
    g, a = tree.gravity, motion.vectors
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if r.exact == 0:
            continue
        T, o, w = motion.poses[r.body], r.velocity, r.turning
        x, y, z = first_moment(tree, r.body, NOW)
        about = r.shift
        for i, arm in enumerate((x, y, z)):
            about[i] = T[i, 3] + (arm / r.mass if r.free == 1 else 0.0)
            r.target[i] = r.momentum[i] + h * r.mass * g[i]
            # What acts on the joint itself, at the body's origin.
            torque = T[i, 0] * a[APPLIED, w] + T[i, 1] * a[APPLIED, w + 1] + T[i, 2] * a[APPLIED, w + 2]
            r.target[3 + i] = r.momentum[3 + i] + h * torque
        if r.free == 0:
            # Weight turns the tree about the joint, whose force is unknown: the linear momentum is not used.
            for i in range(3):
                r.pull[i] = 0.0
            set_pull(r, g, h * x, h * y, h * z)
            continue
        fx, fy, fz = h * a[APPLIED, o], h * a[APPLIED, o + 1], h * a[APPLIED, o + 2]
        fx, fy, fz = (
            T[0, 0] * fx + T[0, 1] * fy + T[0, 2] * fz,
            T[1, 0] * fx + T[1, 1] * fy + T[1, 2] * fz,
            T[2, 0] * fx + T[2, 1] * fy + T[2, 2] * fz,
        )
        _add_impulse(r.target, fx, fy, fz, T[0, 3] - about[0], T[1, 3] - about[1], T[2, 3] - about[2])
    for index in range(problem.counts[N_CONTACTS]):
        c = problem.contacts[index]
        if c.point == STOP:
            continue
        E, f = c.axes, c.impulse
        x = E[0, 0] * f[0] + E[1, 0] * f[1] + E[2, 0] * f[2]
        y = E[0, 1] * f[0] + E[1, 1] * f[1] + E[2, 1] * f[2]
        z = E[0, 2] * f[0] + E[1, 2] * f[1] + E[2, 2] * f[2]
        _push(tree, c.body_a, x, y, z, c.acts)
        if c.body_b >= 0:
            _push(tree, c.body_b, -x, -y, -z, c.acts)
        if problem.counts[TURNING] > 0:
            _twist(tree, c.body_a, c, 1.0)
            if c.body_b >= 0:
                _twist(tree, c.body_b, c, -1.0)


@inline
def set_pull(r, g, x, y, z):
    """Let weight at the first moment x y z, times a time (kg m s), change the angular momentum about a joint."""
    px, py, pz = y * g[2] - z * g[1], z * g[0] - x * g[2], x * g[1] - y * g[0]
    r.target[3] += px - r.pull[0]
    r.target[4] += py - r.pull[1]
    r.target[5] += pz - r.pull[2]
    r.pull[0], r.pull[1], r.pull[2] = px, py, pz


@inline
def _twist(tree: Tree, body, c, sign):
    """Add the couple of a contact on a body to the target of its tree."""
    k = tree.root_of[tree.reference[body]]
    if k >= 0:
        for i in range(3):
            turn = c.axes[0, i] * c.couple[0] + c.axes[1, i] * c.couple[1] + c.axes[2, i] * c.couple[2]
            tree.roots[k].target[3 + i] += sign * turn


@inline
def _push(tree: Tree, body, x, y, z, place):
    """Add an impulse on a body to the target of its tree."""
    k = tree.root_of[tree.reference[body]]
    if k >= 0:
        r = tree.roots[k]
        _add_impulse(r.target, x, y, z, place[0] - r.shift[0], place[1] - r.shift[1], place[2] - r.shift[2])


@inline
def _add_impulse(target, x, y, z, rx, ry, rz):
    target[0] += x
    target[1] += y
    target[2] += z
    target[3] += ry * z - rz * y
    target[4] += rz * x - rx * z
    target[5] += rx * y - ry * x


@inline
def set_end_velocity(tree: Tree, motion: StepState, h, plain):
    """V_END from V_NEXT: velocities of free joints in the axes at the end (1), with the momentum of (5)."""
    a = motion.vectors
    for d in range(a.shape[1]):
        a[V_END, d] = a[V_NEXT, d]
    if plain or max(_farthest(motion, V, h), _farthest(motion, V_NEXT, h)) <= _STILL:
        return
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if tree.plain[tree.root[r.velocity]] == 1:
            continue
        A, B, o, w = motion.poses[r.body], motion.poses_next[r.body], r.velocity, r.turning
        a[V_END, w], a[V_END, w + 1], a[V_END, w + 2] = _turn(A, B, a[V_NEXT], w)
        if r.free == 1:
            a[V_END, o], a[V_END, o + 1], a[V_END, o + 2] = _turn(A, B, a[V_NEXT], o)
    set_body_twists(tree, a[V_END], NEXT, tree.twists)
    for k in range(len(tree.roots)):
        r = tree.roots[k]
        if r.exact == 1:
            _correct(tree, motion, r)


@inline
def _correct(tree: Tree, motion: StepState, r):
    """Give a tree the momentum of (5) by a motion of its base; note the rigid motion that has it."""
    x, y, z = _momentum(tree, r, r.found)
    # Inertia about the centre of mass (the joint): second moments about it, then (trace - moment).
    xx = xy = xz = yy = yz = zz = 0.0
    body = r.body
    while body >= 0:
        b = tree.inertias[NEXT, body]
        xx, xy, xz, yy, yz, zz = xx + b[4], xy + b[5], xz + b[6], yy + b[7], yz + b[8], zz + b[9]
        body = tree.sibling[body]
    m = r.mass
    xx, xy, xz = xx - m * x * x, xy - m * x * y, xz - m * x * z
    yy, yz, zz = yy - m * y * y, yz - m * y * z, zz - m * z * z
    a, b, c, d, e, f = yy + zz, xx + zz, xx + yy, -xy, -xz, -yz
    # Adjugate of [[a, d, e], [d, b, f], [e, f, c]].
    A, B, C = b * c - f * f, a * c - e * e, a * b - d * d
    D, E, F = e * f - d * c, d * f - b * e, d * e - a * f
    determinant = a * A + d * D + e * E
    inverse = 1.0 / determinant if determinant > 1e-12 * (a + b + c) ** 3 else 0.0
    A, B, C, D, E, F = inverse * A, inverse * B, inverse * C, inverse * D, inverse * E, inverse * F
    for i, entry in enumerate((A, B, C, D, E, F)):
        r.inverse[i] = entry
    goal, rigid = r.target, r.rigid
    rigid[3] = A * goal[3] + D * goal[4] + E * goal[5]
    rigid[4] = D * goal[3] + B * goal[4] + F * goal[5]
    rigid[5] = E * goal[3] + F * goal[4] + C * goal[5]
    r.energy = 0.5 * (rigid[3] * goal[3] + rigid[4] * goal[4] + rigid[5] * goal[5])
    p, q, w = goal[3] - r.found[3], goal[4] - r.found[4], goal[5] - r.found[5]
    u, v, s = A * p + D * q + E * w, D * p + B * q + F * w, E * p + F * q + C * w
    T, o, rate = motion.poses_next[r.body], r.turning, motion.vectors[V_END]
    for i in range(3):
        rate[o + i] += T[0, i] * u + T[1, i] * v + T[2, i] * s
    if r.free == 0:
        rigid[0] = rigid[1] = rigid[2] = 0.0
        return
    # Of the base's origin, which lies at -(x, y, z) from the centre of mass.
    px = (goal[0] - r.found[0]) / m - (v * z - s * y)
    py = (goal[1] - r.found[1]) / m - (s * x - u * z)
    pz = (goal[2] - r.found[2]) / m - (u * y - v * x)
    o = r.velocity
    for i in range(3):
        rate[o + i] += T[0, i] * px + T[1, i] * py + T[2, i] * pz
    rigid[0] = goal[0] / m - (rigid[4] * z - rigid[5] * y)
    rigid[1] = goal[1] / m - (rigid[5] * x - rigid[3] * z)
    rigid[2] = goal[2] / m - (rigid[3] * y - rigid[4] * x)
    r.energy += 0.5 * (goal[0] * goal[0] + goal[1] * goal[1] + goal[2] * goal[2]) / m


@inline
def keep_energy(tree: Tree, motion: StepState):
    """Take what trees that nothing drives or touches gain from the motion within them, at the end of the step (8)."""
    v, account, changed = motion.vectors[V_NEXT], tree.account, False
    for k in range(account.shape[1]):
        account[FACTOR, k] = 1.0
    weight = motion.weight[0] / tree.total_mass[0] if tree.total_mass[0] > 0.0 else 0.0
    for number in range(len(tree.roots)):
        r = tree.roots[number]
        k = tree.root[r.velocity]
        if r.exact == 0 or tree.pressed[k] == 1 or account[DRIVE, k] > 1e-6 * (weight + 1.0) * r.mass:
            continue
        gain, inner = own_gain(tree, k) - account[LOSS, k], account[NEXT, k] - r.energy
        if not abs(gain) < _SMALL * inner:
            continue
        scale = account[FACTOR, k] = math.sqrt(1.0 - gain / inner)
        account[NEXT, k] -= gain
        changed = True
        motion.energies[KINETIC_NEXT] -= gain
        # What the base does beyond the rigid motion is scaled as the joints are.
        T, o, w, y = motion.poses_next[r.body], r.velocity, r.turning, r.rigid
        keep = (1.0 - scale) / scale
        for i in range(3):
            v[w + i] += keep * (T[0, i] * y[3] + T[1, i] * y[4] + T[2, i] * y[5])
            if r.free == 1:
                v[o + i] += keep * (T[0, i] * y[0] + T[1, i] * y[1] + T[2, i] * y[2])
    if changed:
        tree.current[0] = 0
        for d in range(len(v)):
            v[d] *= account[FACTOR, tree.root[d]]


@inline
def rebound(tree: Tree, c, e, h):
    """Normal velocity after the step of a contact that bounces with restitution e (7)."""
    speed, pull = e * c.before[0], 0.0
    k = tree.root_of[tree.reference[c.body_a]] if c.body_b < 0 and c.point != STOP else -1
    if k >= 0 and tree.roots[k].free == 1:
        g, n = tree.gravity, c.axes[0]
        pull = h * max(0.0, -(g[0] * n[0] + g[1] * n[1] + g[2] * n[2]))
    left = speed * speed - 2.0 * (1.0 - e * e) * pull * max(0.0, c.gap) / h
    return math.sqrt(pull * pull + max(0.0, left)) - pull
