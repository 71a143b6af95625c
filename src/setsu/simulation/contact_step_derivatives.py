"""Derivatives of one step in an environment: the implicit function theorem at the solution of its contact problem.

With z = (q, v, τ) in tangent coordinates, λ the impulses of the closed contacts, y = (q', v') and the laws R(z, λ) = 0
of contact_step.py (5), in the modes that the step was solved in,

    dλ/dz = -(∂R/∂λ)⁻¹ ∂R/∂z,   dy/dz = ∂y/∂z + ∂y/∂λ dλ/dz                           (1)
    slides: ∂R_t = ∂λ_t + μ û ∂λ_n + μ λ_n (1 - û ûᵀ)/|w_t| ∂w_t,   û = w_t/|w_t|      (2)
    v' = p + σ (v - p),  ∂σ = -(∂gain - gain ∂T/T) / (2 σ T)                           (3)

∂y and ∂w are central differences of the fourth order of the smooth map, all in one batch; the laws, whose curvature has
the scale of the contacts' velocities, are differentiated by hand (2), (3). λ is brought to rounding first, by Newton's
method from the machine's impulses. ε, the compliance of the impulses, counts as constant.
Accuracy: 1e-10 of the largest entry, or rounding of the way of a contact over its step, 1e-16 m / h.
Cost: one batch of 4 (3 nv + 3 c) evaluations of the map, one of 12 c, and a few single ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import difference, integrate, mass_matrix
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.simulation.contact_step import ContactStep, Outcome

__all__ = ["contact_step_derivatives"]

Floats = NDArray[np.float64]

# Fourth-order central differences: offsets and weights.
_OFFSETS = np.array([-2.0, -1.0, 1.0, 2.0])
_WEIGHTS = np.array([1.0, -8.0, 8.0, -1.0]) / 12.0
_SHIFT = 1e-3  # rad or m; and m/s or rad/s, times the largest velocity beyond 1
_ROUNDS = 8
_DEEP = 1e-8  # m: deeper points are moved out (contact/step.py)
# m: how far the smooth map may end from the machine's step, which is solved to a nanometre.
_SAME = 1e-8
# Parts of the friction limit, m/s, m: nearer to the boundary of a mode is at it.
_LIMIT, _SLOW, _NEAR = 1e-6, 1e-6, 1e-10


def contact_step_derivatives(
    world: Any, q: Floats, v: Floats, before: dict[str, Floats], reached: tuple[Floats, Floats]
) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Return dq, dv (nv, 3 nv) by q, v, torque, and what is at a boundary, of the step that a world has just taken.

    q (nq,), v (nv,): where it began; before: `creep` and `energies` of the world then; reached: (nq,), (nv,).
    """
    step = ContactStep(world, q, v, before)
    return _Linearisation(step, q, v, reached).derivatives()


class _Linearisation:
    def __init__(self, step: ContactStep, q: Floats, v: Floats, reached: tuple[Floats, Floats]) -> None:
        self.step, self.q, self.v, self.reached = step, q, v, reached
        self.m: Mechanism = step.m
        self.friction = step.friction[step.closed]
        self.slides = step.slides[step.closed]

    def derivatives(self) -> tuple[Floats, Floats, tuple[str, ...]]:
        """(1)-(3)."""
        step, nv = self.step, self.m.nv
        step.keeps = self._keeps_energy()
        lam, answer = self._solved(step.lam.copy())
        if self._find_way_out(answer, lam):
            answer = self._one(lam)
        slowed = self._slows(answer)
        by_z, by_lam = self._linearised(lam, answer)
        self._require_same(answer, slowed)
        R_z = self._law(answer, lam, by_z, torque=True)
        dlam = -np.linalg.solve(self._law(answer, lam, by_lam), R_z)
        dq, dv = by_z.q + by_lam.q @ dlam, by_z.v + by_lam.v @ dlam
        if slowed:
            p, gain, T = answer.p[0], float(answer.gain[0]), float(answer.T[0])
            dp, dgain, dT = (getattr(by_z, k) + getattr(by_lam, k) @ dlam for k in ("p", "gain", "T"))
            sigma = np.sqrt(1.0 - gain / T)
            dsigma = -(dgain - gain / T * dT) / (2.0 * sigma * T)
            dv = dp + sigma * (dv - dp) + np.outer(answer.v[0] - p, dsigma)
        assert dq.shape == (nv, 3 * nv)
        return dq, dv, self._boundaries(answer, lam)

    def _solved(self, lam: Floats) -> tuple[Floats, Outcome]:
        """The impulses to rounding, by Newton's method, and what the step comes to."""
        answer = self._one(lam)
        if lam.size == 0:
            return lam, answer
        _, by_lam = self._linearised(lam, answer, impulses_only=True)
        last = np.inf
        for _ in range(_ROUNDS):
            change = np.linalg.solve(self._law(answer, lam, by_lam), self._residual(answer, lam))
            # Impulses that redundant contacts share without effect may stay rounding apart; what they do may not.
            effect = float(np.abs(by_lam.v @ change).max(initial=0.0))
            size = 1.0 + float(np.abs(self.v).max(initial=0.0))
            lam = lam - change.reshape(lam.shape)
            answer = self._one(lam)
            if effect <= 1e-13 * size or (effect <= 1e-9 * size and effect > 0.1 * last):
                break  # it no longer falls: rounding
            last = effect
        return lam, answer

    # The map and its differences -----------------------------------------------------------------------------------

    def _one(self, lam: Floats) -> Outcome:
        return self.step.evaluate(self.q[None], self.v[None], self.step.torque[None], lam[None])

    def _linearised(self, lam: Floats, answer: Outcome, impulses_only: bool = False) -> tuple[Outcome, Outcome]:
        """Derivatives of the outcome (n, 3 nv) by z and (n, 3 c) by λ, q' in tangent coordinates.

        impulses_only: those by z are left out, as no columns.
        """
        step, m, nv, n = self.step, self.m, self.m.nv, lam.size
        speed = _SHIFT * max(1.0, float(np.abs(self.v).max(initial=0.0)))
        pulls = self._pulls(speed)
        count = 3 * nv + n
        sizes = np.concatenate([np.full(nv, _SHIFT), np.full(nv, speed), pulls])
        # Shifts (4, count, count), one at a time.
        first = 3 * nv if impulses_only else 0
        moved = (_OFFSETS[:, None, None] * np.diag(sizes)[first:]).reshape(-1, count)
        q = integrate(m, np.broadcast_to(self.q, (len(moved), m.nq)).copy(), moved[:, :nv], 1.0)
        found = step.evaluate(
            q,
            self.v + moved[:, nv : 2 * nv],
            step.torque + moved[:, 2 * nv : 3 * nv],
            lam + moved[:, 3 * nv :].reshape(len(moved), *lam.shape),
        )
        reached = np.broadcast_to(answer.q, found.q.shape).copy()
        values = [difference(m, reached, found.q), *(getattr(found, k) for k in ("v", "w", "p", "gain", "T"))]
        slopes = []
        for value in values:
            by = np.einsum("o,ocn->nc", _WEIGHTS, value.reshape(len(_OFFSETS), count - first, value[0].size))
            slopes.append(by / sizes[first:])
        slopes[4:] = [slope[0] for slope in slopes[4:]]
        by_z = Outcome(*(slope[..., : 3 * nv - first] for slope in slopes))
        by_lam = Outcome(*(slope[..., 3 * nv - first :] for slope in slopes))
        return by_z, by_lam

    def _pulls(self, speed: float) -> Floats:
        """Shifts of torques and impulses that change velocities by about `speed`."""
        step = self.step
        mobility = np.abs(np.linalg.inv(mass_matrix(self.m, self.q))).max(initial=1e-12)
        impulse = step.listed["scale"][step.closed]
        return np.concatenate([np.full(self.m.nv, speed / (step.h * mobility)), np.repeat(speed * impulse, 3)])

    # Laws ----------------------------------------------------------------------------------------------------------

    def _residual(self, answer: Outcome, lam: Floats) -> Floats:
        R = answer.w[0].copy()
        for k in np.flatnonzero(self.slides):
            speed = np.linalg.norm(R[k, 1:])
            R[k, 1:] = lam[k, 1:] + (self.friction[k] * lam[k, 0] / speed * R[k, 1:] if speed > 0.0 else 0.0)
        return R.ravel()

    def _law(self, answer: Outcome, lam: Floats, by: Outcome, torque: bool = False) -> Floats:
        """Derivative (3 c, n) of the laws, from that of w; `torque`: by z, which leaves λ as it is."""
        c = len(lam)
        dw = by.w.reshape(c, 3, by.w.shape[-1]).copy()
        own = np.zeros((c, 3, c, 3))
        for k in np.flatnonzero(self.slides):
            w, mu = answer.w[0, k, 1:], self.friction[k]
            speed = np.linalg.norm(w)
            u = w / speed if speed > 0.0 else np.zeros(2)
            across = (np.eye(2) - np.outer(u, u)) / speed if speed > 0.0 else np.zeros((2, 2))
            dw[k, 1:] = mu * lam[k, 0] * across @ dw[k, 1:]
            own[k, 1:, k, 1:], own[k, 1:, k, 0] = np.eye(2), mu * u
        flat = dw.reshape(3 * c, by.w.shape[-1])
        return flat if torque else flat + own.reshape(3 * c, 3 * c)

    # Branches of the step ------------------------------------------------------------------------------------------

    def _keeps_energy(self) -> bool:
        """Whether nothing presses or drives, so that joints take up what the energy misses (flight.py (8))."""
        step = self.step
        driven = np.abs(step.torque).sum() > 1e-6 * (step.weight + step.total_mass)
        exact = all(r["exact"] and r["free"] for r in step.roots)
        servo = step.gains["kp"].any() or step.gains["kd"].any()
        return not (step.closed.any() or driven or servo or step.elastic) and exact

    def _find_way_out(self, answer: Outcome, lam: Floats) -> bool:
        """Find the contacts that penetration recovery moves; whether the machine took it."""
        step = self.step
        if not len(step.listed):
            return False
        gaps = step.gaps(answer.q)[0]
        if gaps.min() >= -_DEEP:
            return False
        step.out = gaps < 0.0
        other = self._one(lam)
        if np.abs(self._apart(other.q)).max() > np.abs(self._apart(answer.q)).max():
            step.out[:] = False  # there was no energy to do so
        return bool(step.out.any())

    def _slows(self, answer: Outcome) -> bool:
        """Whether the velocity at the end was scaled (3)."""
        gain, T = float(answer.gain[0]), float(answer.T[0])
        limit = 0.01 if self.step.keeps else 0.5
        if not (T > 0.0 and abs(gain) < limit * T) or (gain <= 0.0 and not self.step.keeps):
            return False
        plain = np.abs(answer.v[0] - self.reached[1]).max(initial=0.0)
        return bool(np.abs(self._slower(answer) - self.reached[1]).max(initial=0.0) < plain)

    @staticmethod
    def _slower(answer: Outcome) -> Floats:
        p = answer.p[0]
        return p + np.sqrt(1.0 - answer.gain[0] / answer.T[0]) * (answer.v[0] - p)

    def _apart(self, q: Floats) -> Floats:
        return difference(self.m, q, self.reached[0][None])[0]

    def _require_same(self, answer: Outcome, slowed: bool) -> None:
        """Refuse a step that did not end where its modes lead."""
        v = self._slower(answer) if slowed else answer.v[0]
        size = 1.0 + float(np.abs(v).max(initial=0.0))
        apart = float(np.abs(self._apart(answer.q)).max(initial=0.0))
        apart = max(apart, self.step.h * float(np.abs(v - self.reached[1]).max(initial=0.0)) / size)
        if not apart < _SAME:
            raise InputError(
                f"Simulator.derivatives: this step of {self.m.name} is not one smooth map in the modes of its contacts "
                f"(an impact within it, energy that had to be taken out): the map ends {apart:.3g} m away; expected a "
                "state off such a boundary, or a shorter step"
            )

    def _boundaries(self, answer: Outcome, lam: Floats) -> tuple[str, ...]:
        """Contacts at the boundary of their modes: there the derivative is one-sided."""
        step, found = self.step, []
        after = step.gaps(answer.q)[0] if len(step.listed) else np.zeros(0)
        closed = np.flatnonzero(step.closed)
        for k in np.flatnonzero(~step.closed):
            if after[k] < _NEAR:
                found.append(f"{step.names[k]} opens or closes")
        for k, f, w, slides, mu in zip(closed, lam, answer.w[0], self.slides, self.friction, strict=True):
            rubbing, limit = float(np.linalg.norm(f[1:])), float(mu * f[0])
            if f[0] < _SLOW * step.listed["scale"][k] * step.h:
                found.append(f"{step.names[k]} opens or closes")
            elif mu > 0.0 and (
                (slides and np.linalg.norm(w[1:]) < _SLOW) or (not slides and rubbing > limit * (1.0 - _LIMIT))
            ):
                found.append(f"{step.names[k]} sticks or slides")
            if abs(step.listed["gap"][k] + step.creep) < 1e-15:
                found.append(f"{step.names[k]} recovers its depth in full or in part")
        return tuple(found)
