"""Rows of couplings: relations between coordinates of joints with one each, linear, by a polynomial, or with time."""

from __future__ import annotations

import numpy as np

from setsu.constraints.ranks import EXACT, rank_of
from setsu.constraints.stacked import Floats
from setsu.errors import InputError
from setsu.mechanism import Mechanism

__all__ = ["CouplingRows"]


class CouplingRows:
    """The couplings of a mechanism: e = F q + offset - P(x), x = A q - reference, P the coupling's polynomial.

        G = F - P'(x) A,   G v + offset' = 0,   γ = -P''(x) (A v)² + offset''   (1)

    linear F, argument A (n, nv); polynomial (n, order + 1), zero for linear couplings; offset, reference (n,).
    offset_rate, offset_acceleration (n,): zero but for drives, whose owner sets them and the offset as time goes on.
    friction (n,): dry friction that a drive overcomes, N or N m.
    jacobian (n, nv): the size of each entry of G, for units and for which velocities take part.
    coordinates, velocities: places in q and v of the joints that a coupling may name.

    Raises:
        InputError: linear couplings that contradict each other.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        m = mechanism
        n = len(m.couplings)
        self.names = tuple(f'coupling "{coupling.name}"' for coupling in m.couplings)
        self.linear, self.argument = np.zeros((n, m.nv)), np.zeros((n, m.nv))
        for k, coupling in enumerate(m.couplings):
            for rows, terms in ((self.linear, coupling.factors), (self.argument, coupling.argument)):
                for name, factor in terms:
                    rows[k, m.v_slices[m.joint_index(name)].start] += factor
        self.offset = np.array([coupling.offset for coupling in m.couplings], dtype=np.float64)
        self.offset_rate, self.offset_acceleration = np.zeros(n), np.zeros(n)
        self.friction = np.array([getattr(coupling, "friction", 0.0) for coupling in m.couplings], dtype=np.float64)
        self.reference = np.array([coupling.reference for coupling in m.couplings], dtype=np.float64)
        self.polynomial = np.zeros((n, max((len(coupling.polynomial) for coupling in m.couplings), default=0)))
        for k, coupling in enumerate(m.couplings):
            self.polynomial[k, : len(coupling.polynomial)] = coupling.polynomial
        steepness = np.abs(self.polynomial[:, 1:]).sum(axis=1)
        self.jacobian = self.linear + steepness[:, None] * self.argument
        self.is_linear = not self.polynomial.any()
        single = [k for k, body in enumerate(m.moving) if body.joint.nv == 1]
        self.coordinates = [m.q_slices[k].start for k in single]
        self.velocities = [m.v_slices[k].start for k in single]
        straight = [k for k, coupling in enumerate(m.couplings) if not coupling.polynomial]
        _refuse_contradiction(m, straight, self.linear[straight], self.offset[straight])

    def error(self, q: Floats) -> Floats:
        """Return what each coupling should keep at zero, (..., n), for coordinates (..., nq)."""
        error = q[..., self.coordinates] @ self.linear[:, self.velocities].T + self.offset
        return error if self.is_linear else error - self._derivatives(q)[0]

    def jacobian_at(self, q: Floats) -> Floats:
        """Return G (..., n, nv) at coordinates (..., nq) (1)."""
        if self.is_linear:
            return np.broadcast_to(self.linear, (*q.shape[:-1], *self.linear.shape))
        return self.linear - self._derivatives(q)[1][..., None] * self.argument

    def velocity_term(self, q: Floats, v: Floats) -> Floats:
        """Return γ (..., n) at states q (..., nq), v (..., nv) (1)."""
        if self.is_linear:
            return np.broadcast_to(self.offset_acceleration, (*q.shape[:-1], len(self.linear))).copy()
        return self.offset_acceleration - self._derivatives(q)[2] * (v @ self.argument.T) ** 2

    def curvatures(self, q: Floats) -> tuple[Floats, Floats]:
        """Return the second and third derivative of P (..., n) at coordinates (..., nq)."""
        x = q[..., self.coordinates] @ self.argument[:, self.velocities].T - self.reference
        third = np.zeros_like(x)
        for k in reversed(range(3, self.polynomial.shape[1])):
            third = third * x + k * (k - 1) * (k - 2) * self.polynomial[:, k]
        return self._derivatives(q)[2], third

    def _derivatives(self, q: Floats) -> tuple[Floats, Floats, Floats]:
        """P, P' and P'' (..., n), by Horner's rule."""
        x = q[..., self.coordinates] @ self.argument[:, self.velocities].T - self.reference
        value, slope, curvature = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
        for k in reversed(range(self.polynomial.shape[1])):
            curvature = curvature * x + 2.0 * slope
            slope = slope * x + value
            value = value * x + self.polynomial[:, k]
        return value, slope, curvature


def _refuse_contradiction(m: Mechanism, which: list[int], rows: Floats, offset: Floats) -> None:
    """Linear couplings contradict each other when a combination of them leaves 0 = a number other than 0."""
    if not len(rows):
        return
    length = np.linalg.norm(rows, axis=1)
    U, _, _ = np.linalg.svd(rows / length[:, None])
    rank = rank_of(rows / length[:, None])
    for combination in U[:, rank:].T:
        left = float(combination @ (offset / length))
        if abs(left) > EXACT * max(1.0, float(np.abs(offset / length).max())):
            # As a user would write it: the last coupling as it is, the others times a factor.
            taken = [k for k in range(len(rows)) if abs(combination[k]) > 1e-9]
            share = combination / length * (length[taken[-1]] / combination[taken[-1]])
            left = abs(float(share @ offset))
            names = [f'"{m.couplings[which[k]].name}"' for k in taken]
            sum_of = " + ".join(f'{share[k]:.6g} x "{m.couplings[which[k]].name}"' for k in taken)
            raise InputError(
                f"couplings {' and '.join(names)} of {m.name} contradict each other: {sum_of} leaves 0 = {left:.6g}; "
                "expected relations that some configuration satisfies"
            )
