"""Impacts of a run: one complementarity problem over all that touches at the instant, whatever the order.

| symbol | meaning |
|---|---|
| H | rows of loops and couplings, which hold |
| J, x | basis n, t1, t2 of each contact and row of each stop; their velocities x = J v |
| p | impulses, N s |
| e | restitution of a contact that approaches; 0 of stops, of loops, and of contacts that would leave slowly |

    M (v' - v) = Hᵀ λ + Jᵀ p,  H v' = 0, or the rate of what is driven                                         (1)
    x_n' + e x_n >= 0 ⊥ p_n >= 0;  x_t' = 0 and |p_t| <= K p_n, or p_t = -K p_n x_t'/|x_t'|                     (2)

Contacts and stops that rest take part like those that hit, so that they may open: a block that rocks onto one corner
leaves the other. All that arrive at the instant take part, so that the order of a list does not matter. Dry friction of
joints takes no part: it has a limit, and in no time no impulse. Where several contacts hit with friction (2) may add
energy: all e are then halved until it does not, which plastic impacts never do.

Source: J. J. Moreau 1988 (2); it is constraints/contact_forces.py for velocities instead of accelerations.
Refuses: contacts for which no impulses were found, by name.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.contact_forces import solve_contacts
from setsu.errors import InputError
from setsu.simulation.constrained_motion import ConstrainedMotion
from setsu.simulation.contact_modes import ContactMode, Mode
from setsu.simulation.contact_space import contact_basis, set_modes
from setsu.simulation.events import EventReport
from setsu.simulation.motion import Evaluation

__all__ = ["strike"]

Floats = NDArray[np.float64]

_ARRIVED = 1e-9  # lengths of the mechanism: what is as near and coming nearer has arrived too
_STILL = 1e-9  # part of the largest velocity that counts as none
_SLOW = 1e-4  # lengths of the mechanism per second: what would leave slower stays, after less than a nanometre
_HALVINGS = 40
_ROUNDING = 1e-12  # of the work of impulses


def strike(
    motion: ConstrainedMotion,
    t: float,
    q: Floats,
    v: Floats,
    kind: str,
    name: str,
    contacts: Iterable[int] = (),
    stops: Iterable[int] = (),
) -> tuple[Evaluation, EventReport]:
    """Return the state at t (s) after the impact of contacts and stops that have arrived, and its report.

    The report's impulses: kept rows of loops and couplings, then n, t1, t2 of each contact that takes part, then stops.
    """
    motion.let_joints_slide(q, v)
    system, rest = motion.system, motion.stops
    rows = system.linearise(q, v)
    gap, rate = rows.error[system.n_held :], rows.jacobian[system.n_held :] @ v
    near = _ARRIVED * system.length
    coordinates = rows.loop_poses.coordinate
    stop_gap, stop_rows = rest.gaps(q, coordinates), rest.rows(rows.free_jacobian)
    hit = {*contacts, *np.flatnonzero((gap <= near) & (rate < 0.0)).tolist()}
    which = [k for k, mode in enumerate(motion.modes) if mode.touches or k in hit]
    hit_stops = {*stops, *rest.held, *np.flatnonzero((stop_gap <= near) & (stop_rows @ v < 0.0)).tolist()}
    ends = sorted(hit_stops)
    basis = np.array([contact_basis(rows, k, motion.modes[k], motion.rest_speed) for k in which]).reshape(-1, 3, 3)
    J = np.zeros((len(which) + len(ends), 3, system.mechanism.nv))
    J[: len(which)] = basis @ rows.contact_jacobian[which]
    J[len(which) :, 0] = stop_rows[ends]

    modes = list(motion.modes)
    motion.modes[:], rest.held = [ContactMode(Mode.FREE)] * len(modes), ()
    held, H = motion.impact_rows(q, v)
    flat = J.reshape(-1, system.mechanism.nv)
    pushed, moved, gives = held.responses(flat)
    B = moved.T @ moved
    # Drives keep their rates.
    off = held.least(H @ v + motion.kept_rates())
    kept = v - held.acceleration(off)
    b = np.where(gives, flat @ kept, 0.0)
    c = len(J)
    friction = np.concatenate([system.friction[which], np.zeros(len(ends))])
    bilateral = np.concatenate([system.bilateral[which], np.zeros(len(ends), dtype=bool)])
    impulse, after = np.zeros((c, 3)), kept
    bounce = np.zeros(c)
    bounce[: len(which)] = system.contact_rows.restitution[which] * np.minimum(rate[which], 0.0)
    bounce[np.abs(bounce) <= _SLOW * system.length] = 0.0
    for halving in range(_HALVINGS if c else 0):
        aimed = b.reshape(1, c, 3).copy()
        aimed[0, :, 0] += bounce  # (2)
        found = solve_contacts(B.reshape(1, c, 3, c, 3), aimed, friction, bilateral, np.zeros((1, c), dtype=bool))
        if not found.converged[0]:
            motion.modes[:], rest.held = modes, tuple(sorted(set(ends)))
            names = ", ".join([*(motion.contact_names[k] for k in which), *(rest.names[i] for i in ends)])
            raise InputError(
                f"simulate: at t = {t:.9g} s no impulses stop the impact of {name} together with {names}; expected "
                "smaller friction or fewer contacts at once"
            )
        impulse = found.force[0]
        after = kept + held.acceleration(moved @ impulse.reshape(-1))
        work = 0.5 * float((impulse * (b.reshape(c, 3) + J @ after)).sum())
        if not bounce.any() or work <= _ROUNDING * float(np.abs(impulse * b.reshape(c, 3)).sum()):
            break
        bounce *= 0.0 if halving == _HALVINGS - 2 else 0.5
    through = held.multipliers(-pushed @ impulse.reshape(-1) - off)
    x, push = J @ after, impulse[:, 0]
    still = max(_STILL * float(np.abs(x).max(initial=0.0)), motion.rest_speed)
    pressed = push > _STILL * float(push.max(initial=0.0))
    motion.modes[:] = modes
    set_modes(motion, which, basis, x, (pressed | bilateral) & (bounce == 0.0), still, q)
    rest.held = tuple(i for place, i in enumerate(ends, len(which)) if pressed[place] or x[place, 0] <= still)

    before = float(motion.energy(q, v))
    motion.prime(q, after)
    new_q, new_v = motion.project(q, after) if motion.constrained else (q, after)
    motion.let_joints_slide(new_q, new_v)
    lost = before - float(motion.energy(new_q, new_v))
    of_contacts = impulse[: len(which)].reshape(-1)
    total = np.concatenate([through, of_contacts, impulse[len(which) :, 0]])
    return motion.evaluate(t, new_q, new_v), EventReport(t, kind, name, new_v - v, total, lost)
