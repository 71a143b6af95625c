"""Closed states of one assembly branch in several hundred bits, and the energies of every parameter there.

Why: on loops with one or two degrees of freedom the columns of W* are functions of one or two variables. Their
singular values fall like those of any smooth family of functions, by a constant factor each: the smallest that is not
zero may be 1e-30, which floating point cannot tell from zero. With a thousand bits it can.

| symbol | meaning |
|---|---|
| h(q) | what the loop joints and couplings keep at zero, with rows to spare; H its Jacobian by velocities |
| r | rank of H; as many rows and velocities are chosen, by size, at every point |
| η | largest entry of the rows that were not chosen, over the mechanism's length |

    Newton: δ_dependent = -H_chosen^-1 h_chosen, doubling the digits each time              (1)
    rates:  v_dependent = -H_chosen^-1 H_independent v_independent                          (2)
    h is affine in placement (R, p) of a joint's halves: its column for velocity d is
    h(R + [o]x R, p + u) - h(R, p), with (u, o) the joint's relative motion                 (3)

η is 1e-250 where the closure is exact. Linkages that move only because their lengths and angles are special
(Bennett's) have η of the size of rounding of these: their geometry is known to 16 digits, and so is the rest.
Cost: six evaluations of the kinematics per point.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.system import ConstraintSystem, constraint_system
from setsu.kernels.interpreter import run
from setsu.kernels.loop_closures import loop_kinematics
from setsu.mechanism import Mechanism
from setsu.mechanism.tables import Kind
from setsu.minimum_parameters.assembly_branch import free_velocities, has_residuals, joint_residuals
from setsu.minimum_parameters.energy_rows import energies
from setsu.minimum_parameters.exact_geometry import exact_constants, rational
from setsu.symbolic.exact_numbers import Value
from setsu.symbolic.extended_numbers import ExtendedReals
from setsu.symbolic.flint_package import flint

__all__ = ["ExtendedSampler", "UnsolvedPointError", "as_given"]

Floats = NDArray[np.float64]

GEOMETRY = 1e-15
"""Distance within which lengths and half-angle tangents are taken for simple fractions: their own rounding."""

_NEWTON_STEPS = 40


class UnsolvedPointError(Exception):
    """Closed states that cannot be computed to more digits; the text says why."""


def as_given(number: float) -> Any:
    """Return a length as the fraction it stands for."""
    return rational(number, GEOMETRY)


class ExtendedSampler:
    """Turns floating-point states of one branch into states and rows of energies at the context's precision.

    noise: largest residual of redundant closure rows so far, η; relative to the mechanism's length.
    """

    def __init__(self, mechanism: Mechanism, reference: Floats) -> None:
        unknown = sorted({type(loop.joint).__name__ for loop in mechanism.loops if not has_residuals(loop.joint)})
        if unknown:
            raise UnsolvedPointError(f"loops closed by {', '.join(unknown)} joints have no equations in exact form")
        self.mechanism, self.ring = mechanism, ExtendedReals()
        self.system: ConstraintSystem = constraint_system(mechanism)
        self.rank = free_velocities(self.system, reference)[2]
        self.constants = exact_constants(mechanism, self.ring, {}, {}, GEOMETRY)
        self.noise = 0.0
        self._couplings = self._coupling_rows()
        length = self.system.length
        # Columns in units of mass: M L², MS L, I; potential energies in units of g L.
        self.column_units = [length ** (2 if k == 0 else 1 if k < 4 else 0) for k in range(10)] * mechanism.n_bodies
        weight = float(np.linalg.norm(mechanism.gravity))
        self.row_units = (1.0, length / weight if weight > 0 else 1.0)

    def rows(self, points: Floats, seed: int) -> list[list[Any]]:
        """Return rows of T, and of V less its first value, at closed states near `points`, scaled to numbers of 1."""
        rng = np.random.default_rng(seed)
        kinetic, potential = [], []
        for q in points:
            T, V = energies(self.mechanism, self.constants, *self._state(q, rng))
            kinetic.append(self._scaled(T, self.row_units[0]))
            potential.append(self._scaled(V, self.row_units[1]))
        first = potential[0]
        return kinetic + [[a - b for a, b in zip(row, first, strict=True)] for row in potential[1:]]

    def _scaled(self, row: list[Value], unit: float) -> list[Any]:
        return [self.ring.raw(value) * unit / size for value, size in zip(row, self.column_units, strict=True)]

    def _state(self, q: Floats, rng: np.random.Generator) -> tuple[list, list]:
        arb = flint().arb
        state = [arb(float(entry)) for entry in q]
        nv = self.mechanism.nv
        draw = [arb(float(entry)) for entry in rng.standard_normal(nv) * self.system.velocity_units]
        if self.rank == 0:
            return self._coordinates(state), [self.ring.wrap(rate) for rate in draw]
        target = 2.0 ** (-0.9 * flint().ctx.prec)
        for _ in range(_NEWTON_STEPS):
            h, H = self._closure(state)
            rows, dependent = self._chosen(H)
            left = flint().arb_mat([[H[i][d] for d in dependent] for i in rows])
            change = left.solve(flint().arb_mat([[-h[i]] for i in rows]))
            largest = max(float(abs(change[k, 0]).abs_upper()) for k in range(self.rank))
            if largest < target:
                break
            if largest > 0.1:
                raise UnsolvedPointError("Newton's method leaves the branch")
            state = self._moved(state, {d: change[k, 0].mid() for k, d in enumerate(dependent)})
        else:
            raise UnsolvedPointError("Newton's method does not settle")
        chosen = set(rows)
        rest = [float(abs(h[i]).abs_upper()) for i in range(len(h)) if i not in chosen]
        self.noise = max(self.noise, *rest, 0.0)
        independent = [d for d in range(nv) if d not in set(dependent)]
        right = [[sum((-H[i][d] * draw[d] for d in independent), arb(0))] for i in rows]
        solved = left.solve(flint().arb_mat(right))  # (2)
        for k, d in enumerate(dependent):
            draw[d] = solved[k, 0].mid()
        return self._coordinates(state), [self.ring.wrap(rate) for rate in draw]

    def _closure(self, state: list[Any]) -> tuple[list[Any], list[list[Any]]]:
        """Return h and H (3), rows of length divided by the mechanism's length."""
        m, ring = self.mechanism, self.ring
        q = self._coordinates(state)
        out = run(loop_kinematics(), m.tables, {"q": q, "v": [0.0] * m.nv}, constants=self.constants)
        unit = ring.number(as_given(1.0 / self.system.length))
        h: list[Any] = []
        H: list[list[Any]] = []
        for k, loop in enumerate(m.loops):
            T = out["placement"][16 * k : 16 * (k + 1)]
            J = [out["loop_J"][(6 * k + r) * m.nv : (6 * k + r + 1) * m.nv] for r in range(6)]
            R, p = [*T[0:3], *T[4:7], *T[8:11]], [T[3] * unit, T[7] * unit, T[11] * unit]
            base = joint_residuals(loop.joint, ring, R, p)
            columns = []
            for d in range(m.nv):
                turn = [J[r][d] for r in (3, 4, 5)]
                moved = [a + J[r][d] * unit for r, a in enumerate(p)]
                columns.append(joint_residuals(loop.joint, ring, _turned(R, turn), moved))
            h += [ring.raw(entry) for entry in base]
            H += [[ring.raw(columns[d][i]) - ring.raw(entry) for d in range(m.nv)] for i, entry in enumerate(base)]
        for factors, offset in self._couplings:
            h.append(sum((state[place] * factor for (_, place), factor in factors), offset))
            row = [flint().arb(0)] * m.nv
            for (d, _), factor in factors:
                row[d] = row[d] + factor
            H.append(row)
        return h, H

    def _coupling_rows(self) -> list[tuple[list[tuple[tuple[int, int], Any]], Any]]:
        m = self.mechanism
        rows = []
        for coupling in m.couplings:
            places = [m.joint_index(name) for name, _ in coupling.factors]
            factors = [
                ((m.v_slices[k].start, m.q_slices[k].start), self.ring.constant(as_given(float(factor))))
                for k, (_, factor) in zip(places, coupling.factors, strict=True)
            ]
            rows.append((factors, self.ring.constant(as_given(float(coupling.offset)))))
        return rows

    def _chosen(self, H: list[list[Any]]) -> tuple[list[int], list[int]]:
        """Return r rows and r velocities on which H is well conditioned, by elimination with complete pivots."""
        A = np.array([[float(entry.mid()) for entry in row] for row in H]) * self.system.velocity_units
        rows, columns = [], []
        for _ in range(self.rank):
            i, d = np.unravel_index(int(np.argmax(np.abs(A))), A.shape)
            rows.append(int(i))
            columns.append(int(d))
            A = A - np.outer(A[:, d], A[i] / A[i, d])
            A[i], A[:, d] = 0.0, 0.0
        return rows, columns

    def _coordinates(self, state: list[Any]) -> list:
        tables = self.mechanism.tables
        q: list = []
        for kind in tables.kind.tolist():
            if Kind(kind) in (Kind.REVOLUTE, Kind.HELICAL):
                q.append(self.ring.angle(state[len(q)]))
            else:
                q += [self.ring.wrap(state[len(q) + k]) for k in range(Kind(kind).nq)]
        return q

    def _moved(self, state: list[Any], change: dict[int, Any]) -> list[Any]:
        """Return the state after steps along velocities: quaternions turn about body axes."""
        tables = self.mechanism.tables
        new = list(state)
        for link, number in enumerate(tables.kind.tolist()):
            kind, d, place = Kind(number), int(tables.v_index[link]), int(tables.q_index[link])
            step = [change.get(d + k, flint().arb(0)) for k in range(kind.nv)]
            if kind is Kind.SPHERICAL:
                new[place : place + 4] = _quaternion_step(state[place : place + 4], step)
            elif kind is Kind.FREE:
                quaternion = state[place + 3 : place + 7]
                forward = _rotated(quaternion, step[:3])
                new[place : place + 3] = [(a + b).mid() for a, b in zip(state[place : place + 3], forward, strict=True)]
                new[place + 3 : place + 7] = _quaternion_step(quaternion, step[3:])
            else:
                new[place] = (state[place] + step[0]).mid()
        return new


def _turned(R: list[Value], o: list[Value]) -> list[Value]:
    """R + [o]x R, row by row."""
    result = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        result += [R[3 * i + c] + o[j] * R[3 * k + c] + -1 * (o[k] * R[3 * j + c]) for c in range(3)]
    return result


def _quaternion_step(quaternion: list[Any], step: list[Any]) -> list[Any]:
    """A quaternion x y z w after a small turn about body axes, exact to second order, of length one."""
    a, b, c, w = quaternion
    x, y, z = (entry / 2 for entry in step)
    product = [
        w * x + a + b * z - c * y,
        w * y + b + c * x - a * z,
        w * z + c + a * y - b * x,
        w - a * x - b * y - c * z,
    ]
    square: Any = sum((entry * entry for entry in product[1:]), product[0] * product[0])
    length = square.sqrt()
    return [(entry / length).mid() for entry in product]


def _rotated(quaternion: list[Any], x: list[Any]) -> list[Any]:
    """R(quaternion) x for a quaternion of length one."""
    u, w = quaternion[:3], quaternion[3]
    t = [2 * (u[(i + 1) % 3] * x[(i + 2) % 3] - u[(i + 2) % 3] * x[(i + 1) % 3]) for i in range(3)]
    return [x[i] + w * t[i] + u[(i + 1) % 3] * t[(i + 2) % 3] - u[(i + 2) % 3] * t[(i + 1) % 3] for i in range(3)]
