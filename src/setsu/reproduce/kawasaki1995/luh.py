"""The recursion the paper counts: Luh's Newton-Euler on the tree, then the torques of the drives.

| symbol | meaning | frame |
|---|---|---|
| R, p | rotation and origin of a link in its parent's frame | parent |
| w, dw, acc | angular velocity and acceleration; acceleration of the origin, gravity counted in | link |
| m, s, I | mass, first moment, inertia about the origin: one linear set of parameters | link |
| f, n | force and moment by the parent on the link | link |

    w = Rᵀ w_i + z v,  dw = Rᵀ dw_i + z a + (Rᵀ w_i) x z v                             (1)
    acc = Rᵀ (acc_i + dw_i x p + w_i x (w_i x p))                                      (2)
    F = m acc + dw x s + w x (w x s),  N = I dw + w x I w + s x acc                    (3)
    f = F + Σ R f_k,  n = N + Σ (R n_k + p x R f_k),  tau_o = n_z                      (4)
    tau = Nᵀ tau_o for q_o = N u + b                                                   (5)  kawasaki1995 (10), (11)

Run on numbers that count, every operation is one more, those with zeros too: the paper's numeric rows. Run on symbols,
operations with zeros vanish and equal expressions are computed once, as Maple's `optimize` does: its symbolic rows. The
original parameters go in as they are, σ_o and σ with their zeros. Source: Luh, Walker and Paul 1980, as cited there;
the recursion of its reference [5], which it uses with σ_o, is not printed, so that counts need not agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from setsu.kernels.vectors import add, cos_sin, cross, rotate, rotate_back, scale
from setsu.mechanism.tables import Inertias, Tables
from setsu.native.linear_coordinates import Drives
from setsu.symbolic import Graph, OperationCount

__all__ = ["numeric_count", "symbolic_count"]


class _Tally:
    """How many operations were done."""

    def __init__(self) -> None:
        self.add = self.mul = self.func = 0


@dataclass(frozen=True)
class _Counting:
    """A number that counts what is done with it; only counts matter, so it keeps its value roughly."""

    value: float
    tally: _Tally

    def _sum(self, value: float) -> _Counting:
        self.tally.add += 1
        return _Counting(value, self.tally)

    def _product(self, other: Any) -> _Counting:
        self.tally.mul += 1
        return _Counting(self.value * _value(other), self.tally)

    def __add__(self, other: Any) -> _Counting:
        return self._sum(self.value + _value(other))

    def __sub__(self, other: Any) -> _Counting:
        return self._sum(self.value - _value(other))

    def __mul__(self, other: Any) -> _Counting:
        return self._product(other)

    def __neg__(self) -> _Counting:
        return _Counting(-self.value, self.tally)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Any) -> _Counting:
        return self._sum(_value(other) - self.value)


def _value(number: Any) -> float:
    return number.value if isinstance(number, _Counting) else float(number)


def numeric_count(
    tables: Tables, inertias: Inertias, drives: Drives, gravity: tuple[float, float, float]
) -> OperationCount:
    """Operations of the recursion on numbers, zeros included."""
    tally = _Tally()

    def number(value: float) -> _Counting:
        return _Counting(float(value), tally)

    inputs = [tuple(number(0.3 + 0.1 * k) for k in range(len(drives.v))) for _ in range(3)]

    def functions(angle: _Counting) -> tuple[_Counting, _Counting]:
        tally.func += 2
        return number(math.cos(angle.value)), number(math.sin(angle.value))

    _torques(tables, inertias, drives, gravity, inputs, number, functions)
    return OperationCount(tally.add, tally.mul, tally.func)


def symbolic_count(
    tables: Tables, inertias: Inertias, drives: Drives, gravity: tuple[float, float, float]
) -> OperationCount:
    """Operations of the recursion on symbols: none with zeros, equal expressions once."""
    graph = Graph()
    inputs = [tuple(graph.input((kind, k)) for k in range(len(drives.v))) for kind in "qva"]
    return graph.count(_torques(tables, inertias, drives, gravity, inputs, float, cos_sin))


def _torques(
    tables: Tables,
    inertias: Inertias,
    drives: Drives,
    gravity: tuple[float, float, float],
    inputs: list[tuple],
    number: Any,
    functions: Any,
) -> list[Any]:
    q, v, a = (_of_joints(drives, part, first) for part, first in zip(inputs, (True, False, False), strict=True))
    world: dict[str, Any] = {"w": (number(0.0),) * 3, "dw": (number(0.0),) * 3,
                             "acc": tuple(number(-x) for x in gravity)}  # fmt: skip
    links: list[dict[str, Any]] = []
    for j in range(tables.n_links):
        parent = world if tables.parent[j] < 0 else links[tables.parent[j]]
        links.append(_outward(tables, inertias, j, parent, q[j], v[j], a[j], number, functions))
    torque: list[Any] = [None] * tables.n_links
    for j in range(tables.n_links - 1, -1, -1):
        link = links[j]
        torque[j] = link["n"][2]
        if tables.parent[j] >= 0:
            onto = links[tables.parent[j]]
            force = rotate(link["R"], link["f"])
            onto["f"] = add(onto["f"], force)
            onto["n"] = add(onto["n"], add(rotate(link["R"], link["n"]), cross(link["p"], force)))
    shared = []
    for weights in drives.weights:
        total: Any = None
        for weight, each in zip(weights, torque, strict=True):
            if weight:
                part = each if weight == 1.0 else -each if weight == -1.0 else each * weight
                total = part if total is None else total + part
        shared.append(total)
    return shared


def _of_joints(drives: Drives, part: tuple, with_offsets: bool) -> list[Any]:
    """Coordinates, or their rates, of all joints from those of the drives."""
    found: list[Any] = []
    for row in np.array(drives.weights).T:
        total: Any = None
        for weight, each in zip(row, part, strict=True):
            if weight:
                term = each if weight == 1.0 else -each if weight == -1.0 else each * weight
                total = term if total is None else total + term
        found.append(total)
    if with_offsets:
        offsets = [0.0 if form is None else form.offset for form in drives.forms]
        found = [each + offset if offset else each for each, offset in zip(found, offsets, strict=True)]
    return found


def _outward(
    tables: Tables,
    inertias: Inertias,
    j: int,
    parent: dict[str, Any],
    q: Any,
    v: Any,
    a: Any,
    number: Any,
    functions: Any,
) -> dict[str, Any]:
    """(1)-(3)"""
    c, s = functions(q)
    C = tables.rotation[j]
    if np.abs(C[0] - [1.0, 0.0, 0.0]).max() > 1e-12:
        raise ValueError("expected modified Denavit-Hartenberg frames: a joint frame turned about x only")
    ca, sa = number(C[1, 1]), number(C[2, 1])
    R = (c, -s, number(0.0), s * ca, c * ca, -sa, s * sa, c * sa, ca)
    p = tuple(number(x) for x in tables.translation[j])
    w_i, dw_i = parent["w"], parent["dw"]
    turned = rotate_back(R, w_i)
    w = (turned[0], turned[1], turned[2] + v)
    turning = rotate_back(R, dw_i)
    dw = (turning[0] + turned[1] * v, turning[1] - turned[0] * v, turning[2] + a)
    acc = rotate_back(R, add(parent["acc"], add(cross(dw_i, p), cross(w_i, cross(w_i, p)))))
    xx, xy, xz, yy, yz, zz = inertias.second_moment[j]
    # Inertia about the origin from second moments.
    inertia = tuple(number(x) for x in (yy + zz, -xy, -xz, -xy, xx + zz, -yz, -xz, -yz, xx + yy))
    moment = tuple(number(x) for x in inertias.moment[j])
    F = add(scale(acc, number(inertias.mass[j])), add(cross(dw, moment), cross(w, cross(w, moment))))
    N = add(add(rotate(inertia, dw), cross(w, rotate(inertia, w))), cross(moment, acc))
    return {"R": R, "p": p, "w": w, "dw": dw, "acc": acc, "f": F, "n": N}
