"""Joint coordinates as linear forms of the inputs: q = N u + b, with cosines and sines of any sum of them.

Trees have N = 1, b = 0. Where loops close linearly (θ2' = θ2 + θ3 + π), every joint follows from the driven ones, and
sums of angles along parallel axes shorten: the direction of link 3 is that of the driven link 2' alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from setsu.elementary import cos_sin
from setsu.mechanism.tables import Kind, Tables
from setsu.symbolic import Graph, Scalar

__all__ = ["Drives", "Form", "Inputs", "tree_drives"]

_QUARTER = math.pi / 2
_TURNS = ((1, 0), (0, 1), (-1, 0), (0, -1))
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Form:
    """Σ factor · u_k + offset: terms ((k, factor), ...) with k rising, factors not zero."""

    terms: tuple[tuple[int, float], ...]
    offset: float = 0.0

    def __add__(self, other: Form) -> Form:
        total = dict(self.terms)
        for k, factor in other.terms:
            total[k] = total.get(k, 0.0) + factor
        return Form.of(total.items(), self.offset + other.offset)

    def __neg__(self) -> Form:
        return Form(tuple((k, -factor) for k, factor in self.terms), -self.offset)

    def turned(self, angle: float) -> Form:
        """The form with a constant added."""
        return Form(self.terms, self.offset + angle)

    @staticmethod
    def of(terms: Iterable[tuple[int, float]], offset: float = 0.0) -> Form:
        """A form without its zero terms."""
        return Form(tuple(sorted((k, float(factor)) for k, factor in terms if factor != 0)), offset)


@dataclass(frozen=True)
class Drives:
    """How joints follow the arguments u of a program.

    forms: (nv) joint coordinates as forms of u, None for joints of several coordinates. weights: (n_drives, nv), torque
    k = Σ weights[k][d] tau_d. q, v: positions in the mechanism's q and v of the program's arguments, in their order.
    """

    forms: tuple[Form | None, ...]
    weights: tuple[tuple[float, ...], ...]
    q: tuple[int, ...]
    v: tuple[int, ...]

    def places(self, tables: Tables) -> list[int]:
        """Where among the arguments q the coordinate of each rate stands (of joints with one coordinate)."""
        return [self.q.index(int(tables.q_index[tables.dof_link[d]])) for d in self.v]


def tree_drives(tables: Tables) -> Drives:
    """Every joint its own input and drive."""
    nv = tables.nv
    nq = sum(Kind(kind).nq for kind in tables.kind)
    forms = tuple(Form(((dof, 1.0),)) if Kind(tables.kind[tables.dof_link[dof]]).nv == 1 else None for dof in range(nv))
    return Drives(forms, tuple(tuple(row) for row in np.eye(nv).tolist()), tuple(range(nq)), tuple(range(nv)))


class Inputs:
    """Inputs of a program on a graph: coordinates "q", velocities "v", accelerations "a" by their names."""

    def __init__(self, graph: Graph, places: Sequence[int]) -> None:
        """places: where among the coordinates the one of each rate stands."""
        self.graph, self._q, self._v = graph, places, range(len(places))

    def coordinate(self, form: Form) -> Scalar:
        """The form at the coordinates."""
        return self._value("q", self._q, form.terms) + form.offset

    def rate(self, name: str, form: Form) -> Scalar:
        """The form at the velocities ("v") or accelerations ("a"), without its offset."""
        return self._value(name, self._v, form.terms)

    def cos_sin(self, form: Form) -> tuple[Scalar, Scalar]:
        """Cosine and sine; equal forms up to sign and quarter turns share them."""
        if not form.terms:
            c, s = cos_sin(form.offset)
            return _clean(c), _clean(s)
        if form.terms[0][1] < 0:
            c, s = self.cos_sin(-form)
            return c, -s
        quarters = round(form.offset / _QUARTER)
        left = form.offset - quarters * _QUARTER
        angle = self._value("q", self._q, form.terms) + (left if abs(left) > _ROUNDING else 0.0)
        c, s = angle.cos_sin()  # type: ignore[union-attr]
        cq, sq = _TURNS[quarters % 4]
        return c * cq - s * sq, s * cq + c * sq

    def _value(self, name: str, places: Sequence[int], terms: tuple[tuple[int, float], ...]) -> Scalar:
        total: Scalar = 0.0
        for k, factor in terms:
            total = total + self.graph.input((name, places[k])) * factor
        return total


def _clean(value: float) -> float:
    return float(round(value)) if abs(value - round(value)) < 4e-16 else value
