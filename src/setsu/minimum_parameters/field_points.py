"""Random points on the closure of a mechanism's loops, modulo a prime.

Loops that are no parallelograms need square roots, which real formulas carry along and a finite field simply has or has
not: a random choice of the independent coordinates is drawn until the closure has a solution in the field.

| symbol | meaning |
|---|---|
| F | gap between the two halves of a loop's pin, world axes: affine in (c, s) of every angle, in every travel |
| i, j | the loop's two dependent coordinates, j an angle where one is; t = tan(θ_i/2), or the travel itself |

    two rows of F:  m_c(t) c_j + m_s(t) s_j + m_1(t) = 0                             (1)
    c_j = (m_s m_1' - m_1 m_s')/d,  s_j = (m_1 m_c' - m_c m_1')/d,  d = m_c m_s' - m_s m_c'
    c_j² + s_j² = 1:  a polynomial in t, whose roots in the field close the loop     (2)
    rates: the null space of the loops' Jacobian                                     (3)

Handles loops closed by pins (revolute, spherical) that leave two coordinates each to be found, one loop after another:
four-bars, five-bars, slider-cranks, and chains of such. Others are refused with `UnsolvedLoopsError`.
Cost: nine evaluations of the kinematics per loop and attempt.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from setsu.kernels.interpreter import run
from setsu.kernels.kinematics import body_poses
from setsu.kernels.loop_closures import loop_kinematics
from setsu.mechanism import Mechanism, Revolute, Spherical
from setsu.mechanism.tables import Kind
from setsu.minimum_parameters.assembly_branch import loop_residuals
from setsu.minimum_parameters.coordinates import LinearClosure, coordinates_in
from setsu.minimum_parameters.energy_rows import energies
from setsu.minimum_parameters.exact_geometry import exact_constants
from setsu.symbolic.exact_numbers import Angle, PrimeField, Value, as_angle
from setsu.symbolic.flint_package import flint

__all__ = ["FieldSampler", "UnsolvedLoopsError"]

_ATTEMPTS = 60


class UnsolvedLoopsError(Exception):
    """Loops that this way of solving has no formula for."""


class FieldSampler:
    """Draws closed states of a mechanism modulo a prime, and the energies' rows there.

    Args:
        independent: velocities that determine the others.
        excluded: linear closures of other assembly branches; points on them are drawn again.
        lengths, angles: residues of named lengths, and of tan(α/2) for named angles; others stand for their values.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        independent: list[int],
        excluded: list[LinearClosure],
        prime: int,
        seed: int,
        lengths: Mapping[str, int] | None = None,
        angles: Mapping[str, int] | None = None,
    ) -> None:
        self.mechanism, self.excluded = mechanism, excluded
        self.ring = PrimeField(prime)
        residues = {name: self.ring.wrap(residue) for name, residue in (lengths or {}).items()}
        turns = {name: as_angle(self.ring, self.ring.wrap(residue)) for name, residue in (angles or {}).items()}
        self.constants = exact_constants(mechanism, self.ring, residues, turns)
        self.freedom = len(independent)
        self._random = random.Random(seed)
        self._links = {int(mechanism.tables.v_index[k]): k for k in range(mechanism.tables.n_links)}
        self._steps = self._plan(independent)

    def rows(self, count: int) -> list[list[int]]:
        """Return rows of T, and of V less its first value, at `count` random states."""
        result, first = [], None
        for _ in range(count):
            q, v = self.state()
            kinetic, potential = energies(self.mechanism, self.constants, q, v)
            heights = [self.ring.raw(value) for value in potential]
            first = heights if first is None else first
            result.append([self.ring.raw(value) for value in kinetic])
            result.append([(a - b) % self.ring.prime for a, b in zip(heights, first, strict=True)])
        return result

    def state(self) -> tuple[list, list]:
        """Return q and v of a random closed state."""
        for _ in range(_ATTEMPTS):
            q = self._closed()
            if q is not None:
                return q, self._rates(q)
        raise UnsolvedLoopsError("no solution of the closure was found in the field")

    def _plan(self, independent: list[int]) -> list[tuple[int, int, int]]:
        """Return (loop, i, j) in an order in which every loop has two coordinates left."""
        m, tables = self.mechanism, self.mechanism.tables
        if m.couplings or any(not isinstance(loop.joint, (Revolute, Spherical)) for loop in m.loops):
            raise UnsolvedLoopsError("loops closed by other joints than pins, or couplings beside loops")
        if any(Kind(kind).nv > 1 or Kind(kind) is Kind.HELICAL for kind in tables.kind.tolist()):
            raise UnsolvedLoopsError("joints of several coordinates beside loops")
        unknown = set(range(m.nv)) - set(independent)
        left = dict(enumerate(m.loops))
        steps = []
        while left:
            for k in left:
                element = tables.n_springs + k
                sides = [
                    set(self._above(int(ends[element]))) for ends in (tables.two_body.link_a, tables.two_body.link_b)
                ]
                open_ones = sorted((sides[0] ^ sides[1]) & unknown)
                if len(open_ones) in (0, 2):
                    break
            else:
                raise UnsolvedLoopsError("loops that have to be solved together")
            del left[k]
            if open_ones:
                i, j = sorted(open_ones, key=lambda d: self._kind(d) is Kind.REVOLUTE)
                steps.append((k, i, j))
                unknown -= {i, j}
        if unknown:
            raise UnsolvedLoopsError("coordinates that no loop determines")
        return steps

    def _above(self, link: int) -> list[int]:
        tables = self.mechanism.tables
        path = []
        while link >= 0:
            path.append(int(tables.v_index[link]))
            link = int(tables.parent[link])
        return path

    def _kind(self, dof: int) -> Kind:
        return Kind(self.mechanism.tables.kind[self._links[dof]])

    def _draw(self) -> Value:
        return self.ring.wrap(self._random.randrange(2, self.ring.prime))

    def _closed(self) -> list | None:
        q: list = [
            as_angle(self.ring, self._draw()) if self._kind(d) is Kind.REVOLUTE else self._draw()
            for d in range(self.mechanism.nv)
        ]
        for loop, i, j in self._steps:
            solution = self._solve(q, loop, i, j)
            if solution is None:
                return None
            q[i], q[j] = solution
        residuals = loop_residuals(self.mechanism, self.ring, self.constants, q)
        if residuals is None or any(self.ring.raw(entry) != 0 for rows in residuals for entry in rows):
            raise UnsolvedLoopsError("loops that hold more than the gap of their pin")
        if any(self._lies_on(q, closure) for closure in self.excluded):
            return None
        return q

    def _solve(self, q: list, loop: int, i: int, j: int) -> tuple[Any, Any] | None:
        """Close one loop by (1) and (2); None when the field has no solution here."""
        p = self.ring.prime
        outer, inner = self._basis(i), self._basis(j)
        mix = [[self._random.randrange(p) for _ in range(3)] for _ in range(2)]
        corner = [[self._gap({**_at(q), i: a, j: b}, loop) for b in inner] for a in outer]
        rows = [
            [[sum(w * x for w, x in zip(weights, gap, strict=True)) % p for gap in line] for line in corner]
            for weights in mix
        ]
        # Values at the corners (0, 0), (1, 0), (0, 1) become coefficients of 1, c, s.
        tables = [_affine(row, p) for row in rows]
        polynomial = flint().nmod_poly
        weights = self._outer_polynomials(i)
        m: list[list[Any]] = []
        for t in tables:
            m.append([polynomial([0], p) for _ in inner])
            for b in range(len(inner)):
                for a in range(len(outer)):
                    m[-1][b] += polynomial([t[a][b]], p) * weights[a]
        if self._kind(j) is Kind.PRISMATIC:
            below, above = -m[0][1], [m[0][0]]
            condition = m[0][1] * m[1][0] - m[1][1] * m[0][0]
        else:
            below = m[0][1] * m[1][2] - m[0][2] * m[1][1]
            above = [m[0][2] * m[1][0] - m[0][0] * m[1][2], m[0][0] * m[1][1] - m[0][1] * m[1][0]]
            condition = above[0] * above[0] + above[1] * above[1] - below * below
        if condition.is_zero():
            return None
        roots = [int(root) for root, _ in condition.roots()]
        self._random.shuffle(roots)
        for root in roots:
            d = int(below(root))
            if d == 0 or (self._kind(i) is Kind.REVOLUTE and (1 + root * root) % p == 0):
                continue
            found = [self.ring.wrap(int(f(root)) * pow(d, -1, p) % p) for f in above]
            t_i = self.ring.wrap(root)
            return (
                as_angle(self.ring, t_i) if self._kind(i) is Kind.REVOLUTE else t_i,
                found[0] if self._kind(j) is Kind.PRISMATIC else Angle(*found),
            )
        return None

    def _basis(self, dof: int) -> list:
        """Corners at which an affine function of this coordinate is told."""
        if self._kind(dof) is Kind.REVOLUTE:
            return [Angle(0.0, 0.0), Angle(1.0, 0.0), Angle(0.0, 1.0)]
        return [0.0, 1.0]

    def _outer_polynomials(self, dof: int) -> list[Any]:
        p, polynomial = self.ring.prime, flint().nmod_poly
        if self._kind(dof) is Kind.REVOLUTE:
            return [polynomial([1, 0, 1], p), polynomial([1, 0, p - 1], p), polynomial([0, 2], p)]
        return [polynomial([1], p), polynomial([0, 1], p)]

    def _gap(self, q: dict[int, Any], loop: int) -> list[int]:
        """Return F of a loop at coordinates that need not lie on the circle."""
        m, tables, ring = self.mechanism, self.mechanism.tables, self.ring
        values = [q[d] for d in range(m.nv)]
        poses = run(body_poses(), tables, {"q": values}, constants=self.constants)["poses"]
        element = tables.n_springs + loop
        ends = []
        for end, links in (("a", tables.two_body.link_a), ("b", tables.two_body.link_b)):
            link, position = int(links[element]), self.constants[f"position_{end}"][element]
            if link < 0:
                ends.append([ring.raw(entry) for entry in position])
                continue
            body, axes = int(tables.body[link]), self.constants["axes"][link]
            on_body = [sum((axes[3 * r + k] * position[k] for k in range(3)), 0.0) for r in range(3)]
            T = poses[16 * body : 16 * body + 12]
            ends.append(
                [ring.raw(T[4 * r + 3] + sum((T[4 * r + k] * on_body[k] for k in range(3)), 0.0)) for r in range(3)]
            )
        return [(b - a) % ring.prime for a, b in zip(*ends, strict=True)]

    def _rates(self, q: list) -> list[Value]:
        """Return random rates that keep the loops (3)."""
        m, ring = self.mechanism, self.ring
        J = run(loop_kinematics(), m.tables, {"q": q, "v": [0.0] * m.nv}, constants=self.constants)["loop_J"]
        rows = [
            [ring.raw(entry) for entry in J[(6 * k + r) * m.nv : (6 * k + r + 1) * m.nv]]
            for k in range(len(m.loops))
            for r in range(3)
        ]
        null, nullity = flint().nmod_mat(len(rows), m.nv, [x for row in rows for x in row], ring.prime).nullspace()
        if nullity != self.freedom:
            raise UnsolvedLoopsError("a singular state")
        weights = [self._random.randrange(ring.prime) for _ in range(nullity)]
        return [ring.wrap(sum(weights[k] * int(null[d, k]) for k in range(nullity)) % ring.prime) for d in range(m.nv)]

    def _lies_on(self, q: list, closure: LinearClosure) -> bool:
        """Whether a closed state belongs to a linear branch."""
        independent = [
            next(d for d, row in enumerate(closure.matrix) if row[k] == 1 and sum(map(abs, row)) == 1)
            for k in range(closure.freedom)
        ]
        chosen = [q[d] for d in independent]
        expected, _ = coordinates_in(self.mechanism, closure, self.ring, chosen, chosen, [0.0] * closure.freedom, {})
        for got, there in zip(q, expected, strict=True):
            pairs = zip(got.cos_sin(), there.cos_sin(), strict=True) if isinstance(got, Angle) else [(got, there)]
            if any(self.ring.raw(a) != self.ring.raw(b) for a, b in pairs):
                return False
        return True


def _at(q: list) -> dict[int, Any]:
    return dict(enumerate(q))


def _affine(values: list[list[int]], p: int) -> list[list[int]]:
    """Coefficients of 1, c, s (or 1, d) in both coordinates from values at the corners."""
    differences = [[row[0], *((entry - row[0]) % p for entry in row[1:])] for row in values]
    return [
        differences[0],
        *([(a - b) % p for a, b in zip(line, differences[0], strict=True)] for line in differences[1:]),
    ]
