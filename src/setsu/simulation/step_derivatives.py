"""Derivatives of one step: the stages of the method, differentiated one after the other in tangent coordinates.

    stage      q_i = q_0 ⊕ φ_i,  v_i = v_0 + h Σ A_ij kv_j                                        (1)
    slopes     kφ_i = rate(φ_i, v_i),  kv_i = acceleration(q_i, v_i, τ)                            (2)
    end        q' = P(q_0 ⊕ h Σ b_i kφ_i),  v' = P(v_0 + h Σ b_i kv_i)                             (3)

P is the projection onto loops and couplings of compiled_projection.py, with M and G of the point q̃ it begins at.
Stages are projected too where rows fade, and those of radau; which way a step went is seen where it ends.

    q = q̃ ⊕ -x,   M x = Gᵀ μ,   e(q) = 0;        ṽ - v = y,   M y = Gᵀ ν,   G v = 0  at q          (4)

so that its change is that of the same equations, with the change of M x and Gᵀ μ along q̃. Radau's stages solve
z_i = h Σ A_ij k_j: their change solves the same equations linearised.                             (5)

Each evaluation is that of `forward_dynamics_derivatives` or `constrained_dynamics_derivatives`; the step so repeated
has to end where the machine's does, or the derivatives are refused: an event lies within it.
Steps in an environment: contact_step_derivatives.py.
Cost: that of as many derivatives of the dynamics as the method has stages.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.constrained_dynamics_derivatives import constrained_dynamics_derivatives
from setsu.constraints.constraint_partials import at_rest, in_motion
from setsu.constraints.dense_dynamics import kept_rows
from setsu.constraints.stacked import solve, times
from setsu.constraints.system import constraint_system
from setsu.dynamics import (
    difference,
    forward_dynamics,
    forward_dynamics_derivatives,
    integrate,
    inverse_dynamics_derivatives,
)
from setsu.dynamics.bearings import refuse_bearings
from setsu.dynamics.configuration_derivatives import chart, chart_rates
from setsu.errors import InputError, ModelWarning
from setsu.kernels.tableaus import EXPLICIT
from setsu.mechanism import Mechanism
from setsu.mechanism.loop_constraints import refuse_loop_constraints
from setsu.simulation.contact_step import refuse_contact_step
from setsu.simulation.implicit import make_implicit
from setsu.simulation.joint_servo import JointServo, ServoRun

__all__ = [
    "StepDerivatives",
    "environment_derivatives",
    "refuse_derivatives",
    "step_derivatives",
]

Floats = NDArray[np.float64]

_ROUNDS = 50
_SAME = 1e-9  # how far the step repeated here may end from the machine's
_NEAR = 1e-13  # nearer, it is that step, whatever other ways there are


class StepDerivatives(NamedTuple):
    """Derivatives of the state after one step, (..., nv, nv) each, in tangent coordinates (as `integrate` adds them).

    dq_dq, dq_dv, dq_dtau: of the configuration reached; dv_dq, dv_dv, dv_dtau: of the velocity. By the configuration,
    the velocity and the torque of the step. q, v: what is reached. Under loops and couplings, along motions that keep
    them. boundaries: contacts of the step, with the number of the world in a batch, at the boundary of their modes
    (open, sticking, sliding), where the derivative is that of the mode found.
    """

    dq_dq: Floats
    dq_dv: Floats
    dq_dtau: Floats
    dv_dq: Floats
    dv_dv: Floats
    dv_dtau: Floats
    q: Floats
    v: Floats
    boundaries: tuple[str, ...] = ()


def refuse_derivatives(settings: Any, source: Any, pushed: bool, stopped: Any) -> None:
    """Raise an InputError for what steps are not differentiated through."""
    m = settings.mechanisms[0]
    for there, what in (
        (settings.contacts, "surface contacts"),
        (settings.joint_stops and settings.environment is None, "joint stops without an environment"),
        (settings.integrator == "adaptive", "an adaptive step"),
        (settings.baumgarte is not None, "baumgarte"),
        (settings.events, "events"),
        (settings.prescribed, "prescribed motions"),
        (source.functions or getattr(source, "codes", ()), "a torque function"),
        (isinstance(settings.law, JointServo) and ServoRun(settings.law, m).needs_state, "a torque function"),
        (pushed, "a push"),
        (stopped, "a world that has stopped"),
    ):
        if there:
            raise InputError(
                f"Simulator.derivatives: steps of {m.name} with {what} are not differentiated; expected a fixed step "
                "under a held torque, through trees, loops, couplings and contact points"
            )
    if settings.environment is not None:
        refuse_contact_step(settings)
    for each in settings.mechanisms:
        refuse_bearings(each, "Simulator.derivatives")
        refuse_loop_constraints(each, "Simulator.derivatives")


def step_derivatives(settings: Any, before: tuple[Floats, Floats], arrays: Any, batched: bool) -> StepDerivatives:
    """Return the derivatives of a step from `before` = q (N, nq), v (N, nv) whose end stands in `arrays`."""
    (q, v), tau, reached = before, arrays.held.copy(), (arrays.q.copy(), arrays.v.copy())
    mechanisms, h = settings.mechanisms, settings.step
    same = len(mechanisms) == 1
    groups = [(mechanisms[0], slice(None))] if same else [(m, slice(k, k + 1)) for k, m in enumerate(mechanisms)]
    parts = []
    for m, some in groups:
        end = reached[0][some], reached[1][some]
        part = _repeated(_Step(m, h, q[some], v[some], tau[some]), settings.integrator, *end)
        _require_same(m, part, *end, v[some])
        parts.append(part)
    dq, dv = np.concatenate([part.dq for part in parts]), np.concatenate([part.dv for part in parts])
    nv = mechanisms[0].nv
    blocks = [d[..., k * nv : (k + 1) * nv].copy() for d in (dq, dv) for k in range(3)]
    fields = [*blocks, reached[0], reached[1]]
    return StepDerivatives(*(field if batched else field[0] for field in fields))


def environment_derivatives(
    settings: Any, worlds: Any, torque: Floats, known: dict[Any, Any], batched: bool
) -> StepDerivatives:
    """Return the derivatives of the next step of worlds with an environment under torques (N, nv).

    known: what was made for earlier ones, by mechanism.
    """
    if not batched:
        blocks, q, v, there = _differentiator(settings, worlds[0], known).derivatives(worlds[0], torque[0])
        return StepDerivatives._make([*blocks, q, v, tuple(there)])
    found = [
        _differentiator(settings, world, known).derivatives(world, row)
        for world, row in zip(worlds, torque, strict=True)
    ]
    blocks, q, v = (np.stack([each[k] for each in found]) for k in range(3))
    boundaries = [f"world {k}: {text}" for k, each in enumerate(found) for text in each[3]]
    fields = [*(blocks[:, k].copy() for k in range(6)), q, v, tuple(boundaries)]
    return StepDerivatives(*fields)


def _differentiator(settings: Any, world: Any, known: dict[Any, Any]) -> Any:
    made = known.get(id(world.mechanism))
    if made is None:
        from setsu.simulation.contact_step_derivatives import ContactStepDerivatives

        made = known[id(world.mechanism)] = ContactStepDerivatives(world.mechanism, settings)
    return made


def _repeated(step: _Step, integrator: str, q: Floats, v: Floats) -> StepResult:
    """The step that ends at q (N, nq), v (N, nv): with stages beside the constraints or on them, each state as it went.

    Both are so close that only the nearer one can be it.
    """
    m, explicit = step.m, integrator != "radau" and EXPLICIT[integrator] is not None
    if not (step.held and explicit):
        return step.taken(integrator)
    step.beside = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # of loops that are open in a stage
            found = step.taken(integrator)
        apart = _apart(m, found, q, v)
    except InputError:  # open too far to say anything
        found, apart = step.start, np.full(len(v), np.inf)
    if (apart < _NEAR).all():
        return found
    step.beside = False
    other = step.taken(integrator)
    nearer = _apart(m, other, q, v) < apart
    for mine, its in zip((found.q, found.v, found.dq, found.dv), (other.q, other.v, other.dq, other.dv), strict=True):
        its[~nearer] = mine[~nearer]
    return other


def _apart(m: Mechanism, found: StepResult, q: Floats, v: Floats) -> Floats:
    """How far results are from q (N, nq), v (N, nv), as parts of 1 + |v|: (N,)."""
    size = 1.0 + np.abs(v).max(initial=0.0)
    turned = np.abs(difference(m, found.q, q)).max(axis=-1, initial=0.0)
    return turned + np.abs(found.v - v).max(axis=-1, initial=0.0) / size


def _require_same(m: Mechanism, found: StepResult, q: Floats, v: Floats, before: Floats) -> None:
    """Refuse a step that did not end where its stages lead: something changed within it."""
    apart = float(_apart(m, found, q, v).max(initial=0.0))
    turned = (m.coulomb > 0.0) & ((np.sign(before) != np.sign(v)) | (before == 0.0))
    if not apart < _SAME or turned.any():
        raise InputError(
            f"Simulator.derivatives: within this step of {m.name} something changes its state (dry friction begins or "
            f"ends to hold, an event): the step as one smooth map ends {apart:.3g} away; expected a state off such a "
            "boundary, or a shorter step"
        )


@dataclass
class StepResult:
    """A state q (N, nq), v (N, nv) and its derivatives (N, nv, 3 nv) by start, velocity and torque of the step."""

    q: Floats
    v: Floats
    dq: Floats
    dv: Floats


class _Step:
    """A step from N states, and what all its stages need."""

    def __init__(self, m: Mechanism, h: float, q: Floats, v: Floats, tau: Floats) -> None:
        self.m, self.h, self.tau = m, h, tau
        N, nv = v.shape
        unit = np.broadcast_to(np.eye(3 * nv), (N, 3 * nv, 3 * nv))
        self.start = StepResult(q, v, unit[:, :nv], unit[:, nv : 2 * nv])
        self.dtau = unit[:, 2 * nv :]
        self.held = bool(m.loops or m.couplings)
        self.beside = False  # whether stages stay beside the constraints
        if self.held:
            self.system = constraint_system(m)
            self.rows = kept_rows(self.system)[0]

    def taken(self, integrator: str) -> StepResult:
        """Go to the end of the step (1)-(3)."""
        if integrator == "radau":
            return self._implicit()
        tableau, h, s = EXPLICIT[integrator], self.h, self.start
        a, da = self._acceleration(s)
        if tableau is None:
            velocity, dvelocity = s.v + h * a, s.dv + h * da
            return self._at(h * velocity, h * dvelocity, velocity, dvelocity)[0]
        slopes = [(s.v, s.dv, a, da)]
        for i in range(1, len(tableau.b)):
            total = self._sums(tableau.A[i], tableau.shifts[i], slopes)
            state, phi, dphi = self._at(*total, on=not self.beside)
            slopes.append(self._slope(state, phi, dphi))
        return self._at(*self._sums(tableau.b, np.zeros(len(tableau.b)), slopes))[0]

    def _sums(self, weights: Floats, shifts: Floats, slopes: list[tuple]) -> tuple[Floats, Floats, Floats, Floats]:
        """φ, dφ, v, dv of a stage or of the end, (1) and (3)."""
        h, s = self.h, self.start
        phi, dphi = np.zeros(s.v.shape), np.zeros(s.dv.shape)
        v, dv = s.v.copy(), s.dv.copy()
        for (rate, drate, a, da), weight, shift in zip(slopes, weights, shifts, strict=False):
            phi += h * weight * rate + h * h * shift * a
            dphi += h * weight * drate + h * h * shift * da
            v += h * weight * a
            dv += h * weight * da
        return phi, dphi, v, dv

    def _at(
        self, phi: Floats, dphi: Floats, v: Floats, dv: Floats, *, on: bool = True
    ) -> tuple[StepResult, Floats, Floats]:
        """The state at coordinates φ around the start, on the constraints if asked for; with its own φ and dφ."""
        m, s = self.m, self.start
        carried, jacobian = chart(m, phi)
        state = StepResult(integrate(m, s.q, phi, 1.0), v, carried @ s.dq + jacobian @ dphi, dv)
        if not (self.held and on):
            return state, phi, dphi
        state = self._projected(state)
        phi = difference(m, s.q, state.q)
        carried, jacobian = chart(m, phi)
        return state, phi, solve(jacobian, state.dq - carried @ s.dq)

    def _slope(self, state: StepResult, phi: Floats, dphi: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Rates and accelerations of a stage with their changes (2)."""
        rate, by_phi, by_v = chart_rates(self.m, phi, state.v)
        return rate, by_phi @ dphi + by_v @ state.dv, *self._acceleration(state)

    def _acceleration(self, state: StepResult) -> tuple[Floats, Floats]:
        m, tau = self.m, self.tau
        if self.held:
            d = constrained_dynamics_derivatives(m, state.q, state.v, tau)
            a = d.dynamics.acceleration
        else:
            a, d = forward_dynamics(m, state.q, state.v, tau), forward_dynamics_derivatives(m, state.q, state.v, tau)
        return a, d.dq @ state.dq + d.dv @ state.dv + d.dtau @ self.dtau

    def _projected(self, state: StepResult) -> StepResult:
        """The projection onto loops and couplings (4)."""
        m, rows, nv, N = self.m, self.rows, self.m.nv, len(state.q)
        M, G = self._matrices(state.q)
        K = np.zeros((N, nv + len(rows), nv + len(rows)))
        K[:, :nv, :nv], K[:, :nv, nv:], K[:, nv:, :nv] = M, -np.swapaxes(G, -1, -2), G
        x, mu = np.zeros((N, nv)), np.zeros((N, len(rows)))
        best = np.inf
        for _ in range(_ROUNDS):
            q = integrate(m, state.q, -x, 1.0)
            error = self.system.position_error(q)[:, rows]
            size = float(np.abs(error).max(initial=0.0))
            if size < 1e-15 or size > 0.5 * best:
                break
            best = size
            step = solve(K, np.concatenate([np.zeros((N, nv)), error], axis=-1)[..., None])[..., 0]
            x, mu = x + step[:, :nv], mu + step[:, nv:]
        q = integrate(m, state.q, -x, 1.0)
        carried, jacobian = chart(m, -x)
        M1, G1 = self._matrices(q)
        # q moves by carried dq̃ - J dx; M x - Gᵀ μ changes along q̃.
        along = self._force_change(state.q, x, mu) @ state.dq
        K[:, nv:, :nv] = G1 @ jacobian
        right = np.concatenate([-along, G1 @ (carried @ state.dq)], axis=1)
        dx = solve(K, right)[:, :nv]
        dq = carried @ state.dq - jacobian @ dx
        K[:, :nv, :nv], K[:, :nv, nv:], K[:, nv:, :nv] = M1, -np.swapaxes(G1, -1, -2), G1
        answer = solve(K, np.concatenate([np.zeros((N, nv)), times(G1, state.v)], axis=-1)[..., None])[..., 0]
        y, nu = answer[:, :nv], answer[:, nv:]
        v = state.v - y
        bent = self._row_change(q, v)
        right = np.concatenate([-self._force_change(q, y, nu) @ dq, G1 @ state.dv + bent @ dq], axis=1)
        dv = state.dv - solve(K, right)[:, :nv]
        return StepResult(q, v, dq, dv)

    def _matrices(self, q: Floats) -> tuple[Floats, Floats]:
        """M with drives in loop joints, and the rows that are held."""
        rest = np.zeros((len(q), self.m.nv))
        found = self.system.linearise(q, rest)
        own = inverse_dynamics_derivatives(self.m, q, rest, rest).da
        return own + self.system.drive_inertia(found.free_jacobian), found.jacobian[:, self.rows]

    def _force_change(self, q: Floats, x: Floats, mu: Floats) -> Floats:
        """Derivative (N, nv, nv) of M x - Gᵀ μ by the configuration, x and μ held."""
        system, nv, N = self.system, self.m.nv, len(q)
        whole = np.zeros((N, system.n_held))
        whole[:, self.rows] = mu
        partials, none = at_rest(system, q, x, whole), np.zeros((N, 0, 2 * nv, 3))
        return partials.balance_changes(none[:, :, 0], none, whole[:, system.n_loop_rows :])[..., :nv]

    def _row_change(self, q: Floats, v: Floats) -> Floats:
        """Derivative (N, rows, nv) of G v by the configuration, v held."""
        return in_motion(self.system, q, v).rate_changes[:, self.rows, : self.m.nv]

    def _implicit(self) -> StepResult:
        """Radau's stages by Newton's method with the exact Jacobian, then (5)."""
        A, h, s = make_implicit(self.m.nv).A, self.h, self.start
        N, nv = s.v.shape
        first = np.concatenate([s.v, self._acceleration(s)[0]], axis=-1)
        c = A.sum(axis=1)
        z = h * c[:, None, None] * first
        unit = np.broadcast_to(np.eye(3 * nv), (N, 3 * nv, 3 * nv))
        K, right, best = np.zeros(0), np.zeros(0), np.inf
        for _ in range(_ROUNDS):
            slopes, jacobians, outer = [], [], []
            for i in range(3):
                k, by_z, by_start = self._implicit_slope(z[i], unit)
                slopes.append(k)
                jacobians.append(by_z)
                outer.append(by_start)
            K = np.zeros((N, 6 * nv, 6 * nv))
            residual, right = np.zeros((N, 6 * nv)), np.zeros((N, 6 * nv, 3 * nv))
            for i in range(3):
                mine = slice(2 * nv * i, 2 * nv * (i + 1))
                residual[:, mine] = z[i]
                for j in range(3):
                    other = slice(2 * nv * j, 2 * nv * (j + 1))
                    K[:, mine, other] = (np.eye(2 * nv) if i == j else 0.0) - h * A[i, j] * jacobians[j]
                    residual[:, mine] -= h * A[i, j] * slopes[j]
                    right[:, mine] += h * A[i, j] * outer[j]
            size = float(np.abs(residual).max(initial=0.0))
            if size < 1e-15 or size > 0.5 * best:
                break
            best = size
            correction = solve(K, -residual[..., None])[..., 0]
            z = z + np.moveaxis(correction.reshape(N, 3, 2 * nv), 1, 0)
        dz = solve(K, right)[:, 4 * nv :]
        return self._at(z[2][:, :nv], dz[:, :nv], s.v + z[2][:, nv:], s.dv + dz[:, nv:])[0]

    def _implicit_slope(self, z: Floats, unit: Floats) -> tuple[Floats, Floats, Floats]:
        """Slope of a stage (N, 2 nv), its derivatives by its increment z (N, 2 nv, 2 nv) and by the start, z held."""
        nv, s = self.m.nv, self.start
        # The increment's two halves stand in for the derivatives by start and torque, one after the other.
        none = np.zeros(s.dv.shape)
        state, phi, dphi = self._at(z[:, :nv], none, s.v + z[:, nv:], s.dv)
        rate, drate, a, da = self._slope(state, phi, dphi)
        by_start = np.concatenate([drate, da], axis=1)
        kept, self.start = self.start, StepResult(s.q, s.v, none, none)
        torque, self.dtau = self.dtau, none
        state, phi, dphi = self._at(z[:, :nv], unit[:, :nv], s.v + z[:, nv:], unit[:, nv : 2 * nv])
        _, drate, _, da = self._slope(state, phi, dphi)
        self.start, self.dtau = kept, torque
        by_z = np.concatenate([drate, da], axis=1)[..., : 2 * nv]
        return np.concatenate([rate, a], axis=-1), by_z, by_start
