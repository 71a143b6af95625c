"""Motion under loops, couplings and surface contacts: accelerations, all forces, projection, events.

| symbol | meaning |
|---|---|
| G, γ | active rows: loops, couplings, normals of touching contacts, tangents of sticking ones; G a + γ = 0 |
| f_n, K, d | normal force (N), coefficient of friction, sliding direction of each sliding contact |
| J | Jacobian of a contact point |

    M a = τ - bias + Gᵀ λ - Σ K f_n Jᵀ d                                     (1)
    normal multipliers are linear in the friction forces: f_n = f_0 + S f_n,  so (1 - S) f_n = f_0       (2)
    S_ii >= 1 means jamming: friction pushes the contact harder into the surface than it resists;
    it begins at the coefficient K / S_ii                                    (3)

(2) is nishiguchi2014 (19)-(21) for any number of contacts beside any number of loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.contact import SurfaceContact
from setsu.constraints.system import Linearisation, constraint_system
from setsu.dynamics import bias_torque, body_poses, mass_matrix, point_jacobian
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.simulation.chart import Charts
from setsu.simulation.contact_modes import ContactMode, Mode, guards_of, sliding_direction, tangent_basis
from setsu.simulation.joint_stops import JointStops
from setsu.simulation.loop_joint_forces import LoopJointForces
from setsu.simulation.mass_metric import MassMetric
from setsu.simulation.motion import Evaluation, damping_powers, mechanical_energy
from setsu.simulation.torque import Torque

__all__ = ["ConstrainedMotion"]

Floats = NDArray[np.float64]
Structure = tuple[tuple[Mode, ...], tuple[int, ...]]

_SMALLEST_ERROR = 1e-15
_LAST_CORRECTION = 1e-13


class ConstrainedMotion:
    """A mechanism with constraints; its contact modes and its active loops change only between steps.

    open_loops: names of loops that are not active. baumgarte: rate (1/s) of Baumgarte's stabilisation, which then takes
    the place of projection. joint_stops: whether joints end at their limits.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        torque: Torque,
        contacts: Sequence[SurfaceContact],
        *,
        open_loops: Iterable[str] = (),
        baumgarte: float | None = None,
        joint_stops: bool = False,
    ) -> None:
        self.declared, self.torque, self.baumgarte = mechanism, torque, baumgarte
        self.stops = JointStops(mechanism, joint_stops)
        self.open_loops = frozenset(open_loops)
        self.mechanism = mechanism
        if self.open_loops:
            closed = tuple(loop for loop in mechanism.loops if loop.name not in self.open_loops)
            self.mechanism = replace(mechanism, loops=closed)
        self._loop_places = [k for k, loop in enumerate(mechanism.loops) if loop.name not in self.open_loops]
        self.charts = Charts(self.mechanism)
        self.system = constraint_system(self.mechanism, contacts)
        self.contacts = self.system.contacts
        self.contact_names = tuple(contact.name for contact in self.contacts)
        self.modes = [ContactMode(Mode.SLIDE) for _ in self.contacts]
        self.joint_forces = LoopJointForces(self.system)
        self._ranks: dict[Structure, int] = {}

    @property
    def constrained(self) -> bool:
        """Whether stages have to be projected."""
        return self.baumgarte is None

    def energy(self, q: Floats, v: Floats) -> Floats:
        """Return kinetic and potential energy, springs and drives in loop joints included (J), (...)."""
        energy = mechanical_energy(self.mechanism, q, v)
        return energy + self.joint_forces.energy(q, v) if self.joint_forces.exist else energy

    def evaluate(self, t: float, q: Floats, v: Floats, *, complete: bool = True) -> Evaluation:
        """Return accelerations and powers at time t (s) in a state that satisfies the constraints.

        complete: also what only the end of a step needs: wrenches, guards, violation.
        """
        m, tau = self.mechanism, self.torque(t, q, v)
        rows = self.system.linearise(q, v)
        M, f = mass_matrix(m, q), tau - bias_torque(m, q, v)
        powers = damping_powers(m, q, v)
        powers[0] = tau @ v
        passive = self.joint_forces.at(rows)
        if passive is not None:
            M, f = M + passive.mass, f + passive.force
            powers[1] += passive.friction_power
        G, gamma = self._rows(rows, v)
        metric = self._metric(M, G)
        held = self.system.n_held
        touching = [k for k, state in enumerate(self.modes) if state.touches]
        y = metric.force(f, gamma)
        normal_place = {contact: held + i for i, contact in enumerate(touching)}
        directions = {
            k: sliding_direction(self.modes[k], rows.contact_velocity[k], rows.normal[k])
            for k in touching
            if self.modes[k].mode is Mode.SLIDE and self.contacts[k].friction > 0.0
        }
        if directions:
            y = y + self._friction(metric, y, gamma, rows, directions, normal_place, t)
        multipliers, a = metric.multipliers(y, gamma), metric.acceleration(y, gamma)
        normal_force, friction_force = np.zeros(len(self.contacts)), np.zeros((len(self.contacts), 3))
        first_stop = held + len(touching)
        tangent = first_stop + len(self.stops.held)
        for k in touching:
            normal_force[k] = multipliers[normal_place[k]]
            if k in directions:
                friction_force[k] = -self.contacts[k].friction * normal_force[k] * directions[k]
            elif self.modes[k].mode is Mode.STICK:
                friction_force[k] = multipliers[tangent : tangent + 2] @ tangent_basis(rows.normal[k])
                tangent += 2
        powers[3] = float(np.sum(friction_force * rows.contact_velocity))
        if not complete:
            return Evaluation(t, q, v, a, tau, powers)
        stop_guards = self.stops.guards(q, v, multipliers[first_stop : first_stop + len(self.stops.held)])
        return self._evaluation(t, q, v, a, tau, powers, rows, multipliers, normal_force, friction_force, stop_guards)

    def _evaluation(
        self,
        t: float,
        q: Floats,
        v: Floats,
        a: Floats,
        tau: Floats,
        powers: Floats,
        rows: Linearisation,
        multipliers: Floats,
        normal_force: Floats,
        friction_force: Floats,
        stop_guards: Floats,
    ) -> Evaluation:
        """Gather what is known of a state: wrenches of loops and contacts, and the guards."""
        n_rows = self.system.n_loop_rows
        active = np.zeros((len(self._loop_places), 6))
        np.add.at(active, self.system.loops.row_loop, multipliers[:n_rows, None] * rows.loop_wrench)
        active += self.joint_forces.wrenches(rows, a)
        contact_force = normal_force[:, None] * rows.normal + friction_force
        loop_wrench = np.zeros((len(self.declared.loops), 6))
        loop_wrench[self._loop_places] = active
        held = self.system.n_held
        distance = rows.error[held:]
        guards = [
            guards_of(
                state,
                self.contacts[k].friction,
                self.contacts[k].bilateral,
                velocity=rows.contact_velocity[k],
                normal=rows.normal[k],
                normal_force=float(normal_force[k]),
                friction_force=friction_force[k],
                distance=float(distance[k]),
            )
            for k, state in enumerate(self.modes)
        ]
        return Evaluation(
            t, q, v, a, tau, powers,
            normal_force=normal_force,
            friction_force=friction_force,
            contact_force=contact_force,
            loop_wrench=loop_wrench,
            external=self.system.body_wrenches(rows, active, contact_force),
            sliding=rows.contact_velocity - rows.normal * np.sum(rows.normal * rows.contact_velocity, axis=1)[:, None],
            guards=np.concatenate([np.array(guards).reshape(-1), stop_guards]),
            error=float(np.abs(self._errors(q, rows.error)).max(initial=0.0)),
        )  # fmt: skip

    def _rows(self, rows: Linearisation, v: Floats) -> tuple[Floats, Floats]:
        """Active rows and their velocity terms: held ones, normals of touching contacts, tangents of sticking ones."""
        keep = self._position_rows()
        G, gamma = rows.jacobian[keep], rows.velocity_term[keep]
        if self.baumgarte is not None:
            rate = self.baumgarte
            gamma = gamma + 2.0 * rate * (G @ v) + rate * rate * rows.error[keep]
        stops = list(self.stops.held)
        if stops:
            G = np.concatenate([G, self.stops.rows[stops]])
            gamma = np.concatenate([gamma, np.zeros(len(stops))])
        for k, state in enumerate(self.modes):
            if state.mode is Mode.STICK:
                T = tangent_basis(rows.normal[k])
                G = np.concatenate([G, T @ rows.contact_jacobian[k]])
                gamma = np.concatenate([gamma, T @ rows.contact_velocity_term[k]])
        return G, gamma

    def _friction(
        self,
        metric: MassMetric,
        y: Floats,
        gamma: Floats,
        rows: Linearisation,
        directions: dict[int, Floats],
        place: dict[int, int],
        t: float,
    ) -> Floats:
        """Return what sliding friction adds to y (1), with the normal forces of (2)."""
        sliding = list(directions)
        columns = [-self.contacts[k].friction * (rows.contact_jacobian[k].T @ directions[k]) for k in sliding]
        along = metric.force(np.array(columns).T, np.zeros(len(gamma)))
        where = [place[k] for k in sliding]
        S = metric.multipliers(along, np.zeros(len(gamma)))[where]
        f0 = metric.multipliers(y, gamma)[where]
        system = np.eye(len(sliding)) - S
        for i, k in enumerate(sliding):
            if S[i, i] >= 1.0 - 1e-12:
                contact = self.contacts[k]
                raise InputError(
                    f'simulate: contact "{contact.name}" jams at t = {t:.9g} s: friction {contact.friction:g} '
                    f"presses it harder into the surface than it can resist; expected a coefficient below "
                    f"{contact.friction / S[i, i]:.6g} in this configuration"
                )
        return along @ np.linalg.solve(system, f0)

    def _metric(self, M: Floats, G: Floats) -> MassMetric:
        """Factor on the constraints; the largest rank met there is the one to keep off them."""
        metric = MassMetric(M, G)
        key = self._structure()
        self._ranks[key] = max(metric.rank, self._ranks.get(key, 0))
        return metric

    def prime(self, q: Floats, v: Floats) -> None:
        """Learn the rank of the active rows at a state on the constraints, before the first projection."""
        self._metric(self._mass(q), self._rows(self.system.linearise(q, v), v)[0])

    def impact_metric(self, q: Floats, v: Floats) -> tuple[MassMetric, Floats]:
        """Return mass metric and active rows (k, nv) for an impact at a state."""
        G = self._rows(self.system.linearise(q, v), v)[0]
        return MassMetric(self._mass(q), G), G

    def _position_rows(self) -> list[int]:
        """Rows of the system that are active: loops, couplings, and normals of touching contacts."""
        held = self.system.n_held
        return [*range(held), *(held + k for k, state in enumerate(self.modes) if state.touches)]

    def _errors(self, q: Floats, error: Floats) -> Floats:
        """Position errors of the active rows and of the stops that hold."""
        return np.concatenate([error[self._position_rows()], self.stops.gaps(q)[list(self.stops.held)]])

    def _structure(self) -> Structure:
        return tuple(state.mode for state in self.modes), self.stops.held

    def project(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Return the nearest state, in the metric of the mass matrix, that satisfies the constraints."""
        q, metric = self._closed(q)
        return q, v if metric is None else v - metric.nearest(metric.G @ v)

    def _closed(self, q: Floats) -> tuple[Floats, MassMetric | None]:
        """Newton's method on the position errors; returns the factors at the last configuration."""
        keep = self._position_rows()
        stops = self.stops.rows[list(self.stops.held)]
        if not keep and not len(stops):
            return q, None
        last = np.inf
        rank = self._ranks.get(self._structure())
        while True:
            G, error = self.system.jacobian_and_error(q)
            tangents, slips = self._tangents(q)
            active = np.concatenate([self._errors(q, error), slips])
            size = float(np.abs(active).max())
            metric = MassMetric(self._mass(q), np.concatenate([G[keep], stops, tangents]), rank)
            # Rounding keeps the error from falling further: more steps would only wander.
            if size <= _SMALLEST_ERROR or size > 0.25 * last:
                return q, metric
            last = size
            q = self.charts.point(q, -metric.nearest(active))
            if size <= _LAST_CORRECTION:
                # Newton's next error is below rounding, and so is the change of the rows.
                return q, metric

    def _tangents(self, q: Floats) -> tuple[Floats, Floats]:
        """Rows of sticking contacts along their surfaces, (k, nv), and how far they are from their anchors, (k,) m."""
        rows, slips = [np.zeros((0, self.mechanism.nv))], [np.zeros(0)]
        for k, state in enumerate(self.modes):
            if state.mode is Mode.STICK:
                contact, place = self.contacts[k], self.contact_position(k, q)
                T = tangent_basis(contact.surface.frame(place, contact.name)[1])
                rows.append(T @ point_jacobian(self.mechanism, q, contact.body, contact.point))
                slips.append(T @ (place - state.anchor))
        return np.concatenate(rows), np.concatenate(slips)

    def contact_position(self, k: int, q: Floats) -> Floats:
        """Return where the point of a contact is, (3,) m."""
        frame = self.mechanism.frame(self.contacts[k].body)
        place = body_poses(self.mechanism, q)[frame.body] @ frame.pose.matrix
        return place[:3, :3] @ np.array(self.contacts[k].point) + place[:3, 3]

    def _mass(self, q: Floats) -> Floats:
        M = mass_matrix(self.mechanism, q)
        return M + self.joint_forces.mass(q) if self.joint_forces.exist else M
