"""Bias torque of a tree from the axes and inertias that the step has in world axes (tree.py).

| symbol | meaning | unit |
|---|---|---|
| s_d, v_d | motion of the bodies beyond for unit velocity d, at O; the velocity | |
| y, a | twist and spatial acceleration of the bodies beyond a velocity, at O, without accelerations of joints | |
| I, f | inertia of a body about O, force and moment that it needs | |
| g, D | gravity, damping of the joints | |

    y_d = y_parent + s_d v_d                                                  (1)
    a_d = a_parent + y_above x s_d v_d,  a_world = (-g, 0)                    (2)  above: beyond the joint of d
    f = I a + y x* I y                                                        (3)
    b_d = s_d · Σ f of the bodies beyond + D_d v_d                            (4)

The axes of a joint are at rest in the body beyond it, whatever primitive joint it is (mechanism/tables.py), which gives
(2). Source: Featherstone 2008, ch. 5. Cost O(N), a fraction of the kernel's that begins with the coordinates: here
sines, cosines and changes of axes are done. Springs are not among it.
"""

from __future__ import annotations

from setsu.contact.tree import NOW, Tree, lanes_of_rows, put_rows
from setsu.native.control_flow import inline
from setsu.native.lanes import LANES, load_from, spread, store_from, total

__all__ = ["apply_inertia", "set_bias"]


@inline
def set_bias(tree: Tree, v, damping, bias):
    """bias (nv,) of velocities v (nv,) and joints with `damping` (nv,) (1)-(4)."""
    zero, g, before = spread(0.0), tree.gravity, -1
    z, z_rest = zero, zero  # twist of the velocity before
    for d in range(len(tree.parent)):
        p, y, a = tree.parent[d], tree.twists[d], tree.accelerations[d]
        s, rate = tree.axes[NOW, d], spread(v[d])
        own, rest = load_from(s, 0) * rate, load_from(s, 4) * rate
        if p < 0:
            z, z_rest = own, rest
            x0, x1, x2, x3, x4, x5 = -g[0], -g[1], -g[2], 0.0, 0.0, 0.0
        else:
            if p != before:
                z, z_rest = load_from(tree.twists[p], 0), load_from(tree.twists[p], 4)
            z, z_rest = z + own, z_rest + rest
            c = tree.accelerations[p]
            x0, x1, x2, x3, x4, x5 = c[0], c[1], c[2], c[3], c[4], c[5]
        store_from(y, 0, z)
        store_from(y, 4, z_rest)
        before = d
        if tree.above[d] >= 0:
            u, r = tree.twists[tree.above[d]], v[d]
            lx, ly, lz, wx, wy, wz = s[0] * r, s[1] * r, s[2] * r, s[3] * r, s[4] * r, s[5] * r
            x0 += u[4] * lz - u[5] * ly + u[1] * wz - u[2] * wy
            x1 += u[5] * lx - u[3] * lz + u[2] * wx - u[0] * wz
            x2 += u[3] * ly - u[4] * lx + u[0] * wy - u[1] * wx
            x3 += u[4] * wz - u[5] * wy
            x4 += u[5] * wx - u[3] * wz
            x5 += u[3] * wy - u[4] * wx
        a[0], a[1], a[2], a[3], a[4], a[5] = x0, x1, x2, x3, x4, x5
        if tree.carries[d] < 0:
            store_from(tree.push[d], 0, zero)
            store_from(tree.push[d], 4, zero)
    n = len(tree.masses)
    for i in range(0, n, LANES):  # four bodies at once, the last one again where there are fewer
        _need(tree, i, min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1))
    passed, passed_rest, above = zero, zero, -1  # on to `above`, which is the next
    for d in range(len(tree.parent) - 1, -1, -1):
        f, s, p = tree.push[d], tree.axes[NOW, d], tree.parent[d]
        x, rest = load_from(f, 0), load_from(f, 4)
        if above == d:
            x, rest = x + passed, rest + passed_rest
        bias[d] = total(x * load_from(s, 0) + rest * load_from(s, 4)) + damping[d] * v[d]
        passed, passed_rest, above = x, rest, p
        if p >= 0 and p != d - 1:
            store_from(tree.push[p], 0, load_from(tree.push[p], 0) + x)
            store_from(tree.push[p], 4, load_from(tree.push[p], 4) + rest)


@inline
def apply_inertia(b, x, y, z, u, v, w):
    """I (x, y, z, u, v, w) of a body with moments b (10,); numbers or lanes."""
    return (
        b[0] * x + v * b[3] - w * b[2],
        b[0] * y + w * b[1] - u * b[3],
        b[0] * z + u * b[2] - v * b[1],
        b[2] * z - b[3] * y + (b[7] + b[9]) * u - b[5] * v - b[6] * w,
        b[3] * x - b[1] * z - b[5] * u + (b[4] + b[9]) * v - b[8] * w,
        b[1] * y - b[2] * x - b[6] * u - b[8] * v + (b[4] + b[7]) * w,
    )


@inline
def _need(tree: Tree, i, j, k, n):
    """(3) of four bodies, lane by lane."""
    moments = tree.inertias[NOW]
    first, second = lanes_of_rows(moments, i, j, k, n, 0), lanes_of_rows(moments, i, j, k, n, 4)
    b = first + second + lanes_of_rows(moments, i, j, k, n, 8)
    i, j, k, n = tree.last[i], tree.last[j], tree.last[k], tree.last[n]
    vx, vy, vz, wx = lanes_of_rows(tree.twists, i, j, k, n, 0)
    wy, wz, _, zero = lanes_of_rows(tree.twists, i, j, k, n, 4)
    x, y, z, u = lanes_of_rows(tree.accelerations, i, j, k, n, 0)
    v, w, _, _ = lanes_of_rows(tree.accelerations, i, j, k, n, 4)
    f0, f1, f2, f3, f4, f5 = apply_inertia(b, x, y, z, u, v, w)
    p0, p1, p2, l0, l1, l2 = apply_inertia(b, vx, vy, vz, wx, wy, wz)
    f0, f1, f2 = f0 + (wy * p2 - wz * p1), f1 + (wz * p0 - wx * p2), f2 + (wx * p1 - wy * p0)
    f3 = f3 + (wy * l2 - wz * l1) + (vy * p2 - vz * p1)
    f4 = f4 + (wz * l0 - wx * l2) + (vz * p0 - vx * p2)
    f5 = f5 + (wx * l1 - wy * l0) + (vx * p1 - vy * p0)
    put_rows(tree.push, i, j, k, n, 0, f0, f1, f2, f3)
    put_rows(tree.push, i, j, k, n, 4, f4, f5, zero, zero)
