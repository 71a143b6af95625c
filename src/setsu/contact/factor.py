"""Factors of the mass matrix along the tree, with numbers: H = Lᵀ D L, zeros between branches stay zeros.

| symbol | meaning |
|---|---|
| H | mass matrix, with what implicit springs and dampers of the joints add to its diagonal |
| x | D^½ L v: coordinates in which the kinetic energy is ½|x|² |

    H[k,i] / H[k,k] -> L[k,i] from the tips, as in kernels.factorisation      (1)
    v = L⁻¹ D^-½ x,   x of a force g: D^-½ L⁻ᵀ g                              (2)

Source: Featherstone 2008, ch. 8.5. Cost O(N depth²), solve O(N depth).
"""

from __future__ import annotations

import math

from setsu.native.control_flow import inline

__all__ = ["factorise", "force_to_x", "velocity_to_x", "x_to_velocity"]


@inline
def factorise(H, parent, root):
    """Factor H in place (1); `root` receives D^-½. False when H is not positive definite."""
    for k in range(len(parent) - 1, -1, -1):
        d = H[k, k]
        if not d > 0.0:
            return False
        inverse = 1.0 / d
        root[k] = math.sqrt(inverse)
        i = parent[k]
        while i >= 0:
            a = H[k, i] * inverse
            j = i
            while j >= 0:
                H[i, j] -= a * H[k, j]
                j = parent[j]
            H[k, i] = a
            i = parent[i]
    return True


@inline
def force_to_x(H, parent, root, g):
    """Turn a force (nv,) into x in place (2)."""
    for i in range(len(parent) - 1, -1, -1):
        y = g[i]
        if y != 0.0:
            j = parent[i]
            while j >= 0:
                g[j] -= H[i, j] * y
                j = parent[j]
        g[i] = y * root[i]


@inline
def x_to_velocity(H, parent, root, x):
    """Turn x (nv,) into a velocity in place (2)."""
    for i in range(len(parent)):
        y = x[i] * root[i]
        j = parent[i]
        while j >= 0:
            y -= H[i, j] * x[j]
            j = parent[j]
        x[i] = y


@inline
def velocity_to_x(H, parent, root, v, x):
    """x = D^½ L v."""
    for i in range(len(parent)):
        y = v[i]
        j = parent[i]
        while j >= 0:
            y += H[i, j] * v[j]
            j = parent[j]
        x[i] = y / root[i]
