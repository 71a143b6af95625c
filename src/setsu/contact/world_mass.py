"""Mass matrix of a tree from the axes and inertias that the step has in world axes (tree.py).

| symbol | meaning | unit |
|---|---|---|
| s_d | motion of the bodies beyond for unit velocity d, at O | |
| I_d | inertia of all bodies beyond velocity d about O | |
| j_d | armature, and what implicit springs and dampers of the joint add | kg, kg m² |

    I_d = I_body + Σ_children I_c                                             (1)
    H_de = s_e · I_d s_d for e on the way from d to the world, + j_d where e = d    (2)

Source: Featherstone 2008, ch. 6. Cost O(N depth); bodies of a tree share O, so that (1) is a sum.
"""

from __future__ import annotations

from setsu.contact.tree import MOMENTS, NOW, Tree
from setsu.contact.world_bias import apply_inertia
from setsu.native.control_flow import inline
from setsu.native.lanes import LANES, load_from, spread, store_from

__all__ = ["set_mass_matrix"]


@inline
def set_mass_matrix(tree: Tree, H):
    """Fill the lower triangle of H (nv, nv) (1), (2)."""
    for d in range(len(tree.parent)):
        body, whole = tree.carries[d], tree.whole[d]
        for k in range(0, MOMENTS, LANES):
            store_from(whole, k, load_from(tree.inertias[NOW, body], k) if body >= 0 else spread(0.0))
        for e in range(d):
            H[d, e] = 0.0
    for d in range(len(tree.parent) - 1, -1, -1):
        s, whole, e = tree.axes[NOW, d], tree.whole[d], d
        x, y, z, u, v, w = apply_inertia(whole, s[0], s[1], s[2], s[3], s[4], s[5])
        while e >= 0:
            r = tree.axes[NOW, e]
            H[d, e] = (r[0] * x + r[1] * y + r[2] * z) + (r[3] * u + r[4] * v + r[5] * w)
            e = tree.parent[e]
        H[d, d] += tree.joint_inertia[1, d]
        p = tree.parent[d]
        if p >= 0:
            for k in range(0, len(whole), LANES):
                store_from(tree.whole[p], k, load_from(tree.whole[p], k) + load_from(whole, k))
