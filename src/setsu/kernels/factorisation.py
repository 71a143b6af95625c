"""Factor M = Lᵀ D L along the tree and solve with it: zeros between branches stay zeros and cost nothing.

    for k from the tips:  for i above k:  a = H[k,i] / H[k,k]
                              for j = i and above:  H[i,j] -= a H[k,j]
                              H[k,i] = a                                      (1)
    solve:  Lᵀ y = b:  y_j -= L[i,j] y_i  for i from the tips, j above i      (2)
            y_i /= D_i                                                        (3)
            L x = y:   x_i -= L[i,j] x_j  for i from the base, j above i      (4)

The matrix H holds L below and D on the diagonal afterwards (rows: the velocity nearer the tip). D_i > 0 for a mechanism
whose every motion moves mass. The reciprocal of D is kept in the field `inverse`.
Source: Featherstone 2008, ch. 8.5. Cost O(N depth²), solve O(N depth).
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.program import Loop

__all__ = ["FACTOR", "SOLVE"]


def _reciprocal(k: Any) -> None:
    k.inverse = 1.0 / k.H[k]


def _ratio(k: Any, i: Any) -> None:
    i.ratio = k.H[i] * k.inverse


def _eliminate(k: Any, i: Any, j: Any) -> None:
    i.H[j] = i.H[j] - i.ratio * k.H[j]


def _keep_ratio(k: Any, i: Any) -> None:
    k.H[i] = i.ratio


# Every row k is still needed unchanged while its ancestors are eliminated: the ratios replace it afterwards.
FACTOR = Loop(
    "dofs_down",
    (
        _reciprocal,
        Loop("strict_ancestors", (_ratio, Loop("ancestors", (_eliminate,), of=1))),
        Loop("strict_ancestors", (_keep_ratio,)),
    ),
    light=True,
)


def _carry_inwards(i: Any, j: Any) -> None:
    j.y = j.y - i.H[j] * i.y


def _divide(i: Any) -> None:
    i.y = i.y * i.inverse


def _carry_outwards(i: Any, j: Any) -> None:
    i.y = i.y - i.H[j] * j.y


# Solves for the field y in place.
SOLVE = (
    Loop("dofs_down", (Loop("strict_ancestors", (_carry_inwards,)),), light=True),
    Loop("dofs", (_divide, Loop("strict_ancestors", (_carry_outwards,))), light=True),
)
