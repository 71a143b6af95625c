"""Contact forces along directions of coordinates and velocities, each contact in its mode.

    open      f = 0
    sliding   F = f_n (n - K s d),  d = u_t/|u_t| the direction of sliding, s the sign of f_n;  r_n = 0       (1)
    sticking  F any;  r_n = 0, t·acceleration = 0                                                             (2)
    starting  as sliding with d = x_t/|x_t|, x_t the tangential acceleration of the point                     (3)

Unknowns φ (3 per contact): F changes by E φ, with E of one column n - K s d for sliding, of the basis for sticking.
Where contacts share a load, A f = c, the change of the least-norm forces within the null space of A is
(1 - A⁺A) dAᵀ A⁺ᵀ f; A is the compliance B in the rows of closed contacts, and dB g is the change of the accelerations
that forces g cause at rest without gravity.                                                                  (4)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.constraint_partials import ConstraintPartials, at_rest
from setsu.constraints.contact_forces import SLIDING, STARTING, STICKING
from setsu.constraints.dense_dynamics import contact_basis
from setsu.constraints.stacked import Floats, cross, dot, length_of, times, transposed_times
from setsu.errors import InputError

if TYPE_CHECKING:
    from setsu.constraints.row_derivatives import ContactDerivatives

__all__ = ["ContactForceDerivatives"]

_RANK = 1e-11  # singular values of the contacts' compliance below this part of the largest are zero


class ContactForceDerivatives:
    """Contacts at N states: `force` (N, c, 3) world axes, `modes` (N, c).

    kept: rows of loops and couplings that hold; after them come the contacts `always`, which are rows themselves.
    """

    def __init__(
        self,
        partials: ConstraintPartials,
        force: Floats,
        modes: NDArray[np.int64],
        kept: NDArray[np.int64],
        always: NDArray[np.int64],
    ) -> None:
        self.partials, self.force, self.modes, self.kept, self.always = partials, force, modes, kept, always
        system, rows = partials.system, partials.rows
        self.changing = np.setdiff1d(np.arange(len(system.contacts)), always)
        n, which = rows.normal, self.changing
        self.normal_force = dot(force, n)
        self.basis, _ = contact_basis(n, rows.contact_velocity, 0.0)
        self.slides, self.starts = modes == SLIDING, modes == STARTING
        self.slides[:, always] = False
        u = rows.contact_velocity
        path = np.where(self.starts[..., None], partials.contacts.acceleration, u)
        path = path - n * dot(n, path)[..., None]
        self.speed = length_of(path)
        # Without friction the direction does not matter, and there may be none.
        self.drag = system.friction * np.where(self.normal_force < 0.0, -1.0, 1.0) * (self.slides | self.starts)
        self.drag = np.where(self.speed > 0.0, self.drag, 0.0)
        self.direction = path / np.where(self.speed > 0.0, self.speed, 1.0)[..., None]
        E = np.where((modes == STICKING)[..., None, None], np.swapaxes(self.basis, -1, -2), 0.0)
        along = (n - self.drag[..., None] * self.direction) * (self.slides | self.starts)[..., None]
        E[..., 0] += along
        self.E = E[:, which]
        self.rows = (self.basis[:, which] @ rows.contact_jacobian[:, which]).reshape(len(n), -1, system.mechanism.nv)
        columns = np.swapaxes(rows.contact_jacobian[:, which], -1, -2) @ self.E  # (N, c, nv, 3)
        self.columns = np.moveaxis(columns, 1, 2).reshape(len(n), system.mechanism.nv, -1)
        closed = np.repeat((modes == STICKING)[..., None], 3, axis=-1)
        closed[..., 0] |= self.slides | self.starts
        self.closed = closed[:, which].reshape(len(n), -1)

    def held_change(self) -> Floats:
        """Return the change (N, c, 2 nv, 3) of the forces with φ and accelerations held."""
        contacts: ContactDerivatives = self.partials.contacts
        rows = self.partials.rows
        n = rows.normal[:, :, None]
        path = np.where(self.starts[..., None], contacts.acceleration, rows.contact_velocity)[:, :, None]
        dpath = np.where(self.starts[..., None, None], contacts.dacceleration, contacts.du)
        across = dpath - contacts.dn * dot(n, path)[..., None]
        across = across - n * (dot(contacts.dn, path) + dot(n, dpath))[..., None]
        d = self.direction[:, :, None]
        self.turn = (across - d * dot(d, across)[..., None]) / np.where(self.speed > 0.0, self.speed, 1.0)[
            ..., None, None
        ]
        along = self.slides | self.starts
        along[:, self.always] = True
        amount = (self.normal_force * along)[..., None, None]
        return amount * (contacts.dn - self.drag[..., None, None] * self.turn)

    def added_mass(self) -> Floats:
        """Return what (3) adds to the mass matrix (N, nv, nv): friction that turns with the acceleration."""
        J, n, d = self.partials.rows.contact_jacobian, self.partials.rows.normal, self.direction
        gain = self._turning_gain()
        across = cross(n, d)
        row = np.einsum("nci,ncij->ncj", across, J)
        return np.einsum("nc,nci,ncj->nij", gain, row, row, optimize=True)

    def _turning_gain(self) -> Floats:
        return np.where(self.starts, self.drag * self.normal_force / np.where(self.speed > 0.0, self.speed, 1.0), 0.0)

    def row_changes(self) -> Floats:
        """Return the change (N, 3 c, 3 nv) of the rows of changing contacts with forces and accelerations held."""
        contacts, nv, which = self.partials.contacts, self.partials.system.mechanism.nv, self.changing
        result = np.zeros((len(self.force), len(which), 3, 3 * nv))
        result[:, :, 0, : 2 * nv] = contacts.drow[:, which]
        for k in (1, 2):
            t = self.basis[:, which][:, :, None, k]
            turned = contacts.bent[:, which, None] * dot(t, contacts.dn[:, which])
            result[:, :, k, : 2 * nv] = dot(t, contacts.dacceleration[:, which]) + turned
        return result.reshape(len(self.force), -1, 3 * nv)

    def solve(self, inverse: Floats, solution: Floats) -> tuple[Floats, Floats]:
        """Return the changes φ (N, 3 c, 3 nv), and a solution of the held rows (N, nv + n, 3 nv) with their effect.

        inverse: of the held system, [[M, -Hᵀ], [H, 0]].
        """
        nv, count = self.partials.system.mechanism.nv, 3 * len(self.changing)
        responses = inverse[:, :, :nv] @ self.columns
        compliance = self.rows @ responses[:, :nv]
        size = np.abs(compliance).max(axis=(-1, -2), initial=0.0)[:, None, None]
        size = np.where(size > 0.0, size, 1.0)
        closed = self.closed[..., None]
        A = np.where(closed, compliance / size, np.eye(count))
        wanted = np.where(closed, -(self.row_changes() + self.rows @ solution[:, :nv]) / size, 0.0)
        reverse = np.asarray(np.linalg.pinv(A, rcond=_RANK), dtype=np.float64)
        phi = reverse @ wanted
        shared = np.trace(reverse @ A, axis1=-2, axis2=-1) < count - 0.5
        if shared.any():
            self._divide(phi, np.flatnonzero(shared), inverse)
        return phi, solution + responses @ phi

    def _divide(self, phi: Floats, states: NDArray[np.int64], inverse: Floats) -> None:
        """Replace the part of φ that moves nothing by that of the least-norm forces, (4), in some states."""
        nv, which, N = self.partials.system.mechanism.nv, self.changing, len(states)
        if (self.starts[states] & (self.drag[states] != 0.0)).any():
            raise InputError(
                "constrained_dynamics_derivatives: contacts that share a load begin to slide, and no equation divides "
                "their forces; expected sticking or sliding contacts"
            )
        basis, c = self.basis[np.ix_(states, which)], len(which)
        J = self.rows[states].reshape(N, 3 * c, nv)
        K = inverse[states]
        B = J @ (K[:, :nv, :nv] @ np.swapaxes(J, -1, -2))
        size = np.maximum(np.abs(B).max(axis=(-1, -2)), 1e-300)[:, None, None]
        sticks = self.modes[np.ix_(states, which)] == STICKING
        A = np.where(self.closed[states][..., None], B / size, np.eye(3 * c))
        drag = self.drag[np.ix_(states, which)]
        for contact in range(c):
            # (1) in the contact's own basis, whose second vector is d: f_1 + K s f_n = 0.
            A[:, 3 * contact + 1, 3 * contact] += np.where(sticks[:, contact], 0.0, drag[:, contact])
        reverse = np.asarray(np.linalg.pinv(A, rcond=_RANK), dtype=np.float64)
        free = np.eye(3 * c) - reverse @ A
        f = times(basis, self.force[np.ix_(states, which)]).reshape(N, 3 * c)
        if np.abs(times(free, f)).max(initial=0.0) > 1e-7 * np.abs(f).max(initial=1e-300):
            raise InputError(
                "constrained_dynamics_derivatives: contacts share a load, and the division of least norm would leave a "
                "cone of friction: their forces have no derivative here; expected contacts that determine their forces"
            )
        g = transposed_times(reverse, f) / size[..., 0] * self.closed[states]
        change = self._compliance_change(states, g, K)  # (N, 3 c, 2 nv)
        present = phi[states]
        local = self._shifted(present, states, -1.0)
        local[..., : 2 * nv] -= change
        local -= free @ local
        local[..., : 2 * nv] += change
        phi[states] = self._shifted(local, states, 1.0)

    def _spin(self, states: NDArray[np.int64]) -> Floats:
        """Rotation (N, c, 2 nv, 3) of the contacts' bases: n with the surface, d with the sliding."""
        contacts, which = self.partials.contacts, self.changing
        pick = np.ix_(states, which)
        n, d = self.partials.rows.normal[pick][:, :, None], self.direction[pick][:, :, None]
        spin = cross(n, contacts.dn[pick])
        about = dot(cross(n, d), self.turn[pick]) * self.slides[pick][..., None]
        return spin + n * about[..., None]

    def _shifted(self, values: Floats, states: NDArray[np.int64], sign: float) -> Floats:
        """Unknowns φ from changes of the forces in the moving bases (N, 3 c, 3 nv), or with sign -1 the way back."""
        which, nv = self.changing, self.partials.system.mechanism.nv
        pick = np.ix_(states, which)
        result = values.reshape(len(states), len(which), 3, -1).copy()
        sticks = (self.modes[pick] == STICKING)[..., None]
        turned = cross(self._spin(states), self.force[pick][:, :, None])
        in_basis = np.matmul(turned, np.swapaxes(self.basis[pick], -1, -2)) * sticks[..., None]
        result[..., : 2 * nv] += sign * np.swapaxes(in_basis, -1, -2)
        slid = ~sticks
        if sign < 0.0:
            result[:, :, 1] = np.where(slid, -self.drag[pick][..., None] * result[:, :, 0], result[:, :, 1])
        else:
            result[:, :, 1] = np.where(slid, 0.0, result[:, :, 1])
        return result.reshape(len(states), 3 * len(which), -1)

    def _compliance_change(self, states: NDArray[np.int64], g: Floats, K: Floats) -> Floats:
        """Change (N, 3 c, 2 nv) of B g in the contacts' bases, forces g (N, 3 c) held in them."""
        partials, which = self.partials, self.changing
        system, N, c = partials.system, len(states), len(self.changing)
        nv, kept = system.mechanism.nv, len(self.kept)
        basis, spin = self.basis[np.ix_(states, which)], self._spin(states)
        forces = np.zeros((N, len(system.contacts), 3))
        forces[:, which] = np.matmul(g.reshape(N, c, 1, 3), basis)[:, :, 0]
        J = partials.rows.contact_jacobian[states]
        pushed = np.einsum("ncij,nci->nj", J, forces)
        answer = times(K[:, :, :nv], pushed)
        a, multipliers = answer[:, :nv], answer[:, nv:]
        dof_rows = np.zeros((N, system.n_held))
        dof_rows[:, self.kept] = multipliers[:, :kept]
        always_force = multipliers[:, kept : kept + len(self.always), None]
        forces[:, self.always] = always_force * partials.rows.normal[states][:, self.always]
        still = at_rest(system, partials.q[states], a, dof_rows)
        turning = np.zeros((N, len(system.contacts), 2 * nv, 3))
        turning[:, which] = cross(spin, forces[:, which, None])
        turning[:, self.always] = always_force[..., None] * still.contacts.dn[:, self.always]
        right = np.zeros((N, K.shape[1], 2 * nv))
        right[:, :nv] = -still.balance_changes(forces, turning, dof_rows[:, system.n_loop_rows :])
        rows = still.row_changes
        right[:, nv : nv + kept] = -rows[:, self.kept]
        right[:, nv + kept : nv + kept + len(self.always)] = -rows[:, system.n_held + self.always]
        da = (K @ right)[:, :nv]
        x = times(J, a[:, None])[:, which, None]
        change = still.contacts.dacceleration[:, which] + np.swapaxes(
            (J @ da[:, None])[:, which], -1, -2
        ) - cross(spin, x)  # fmt: skip
        return np.swapaxes(np.matmul(change, np.swapaxes(basis, -1, -2)), -1, -2).reshape(N, 3 * c, 2 * nv)

    def total(self, held: Floats, phi: Floats, da: Floats, always: Floats) -> Floats:
        """Return the change of all forces (N, c, 3, 3 nv): φ, the held change, and what accelerations turn."""
        N, nv = len(self.force), self.partials.system.mechanism.nv
        result = np.zeros((N, len(self.modes[0]) if N else 0, 3, 3 * nv))
        result[..., : 2 * nv] = np.swapaxes(held, -1, -2)
        result[:, self.changing] += self.E @ phi.reshape(N, len(self.changing), 3, 3 * nv)
        n = self.partials.rows.normal
        result[:, self.always] += n[:, self.always, :, None] * always[:, :, None]
        across = cross(n, self.direction)
        row = np.einsum("nci,ncij->ncj", across, self.partials.rows.contact_jacobian)
        turned = -self._turning_gain()[..., None] * (row @ da)
        return result + across[..., None] * turned[:, :, None]
