"""Contacts that jam in mid-run: an impulse without a collision stops them at once.

Where friction presses a sliding point into its surface harder than the point gives way (A <= 0, Painlevé), no finite
force balances the motion. If the point would rise by itself it is let go. Otherwise the forces grow beyond all bounds
within no time, and what they leave is an impulse p on the point that ends its sliding,

    M (v' - v) = Gᵀ p,  G v' = 0,  |p_t| <= K p_n                                                      (1)

with the rows G of all that holds and of the point itself, held as if it stuck. It is found where the step before the
jam ends, which is halved until it is as short as a rounding of time.

Source: F. Génot, B. Brogliato, New results on Painlevé paradoxes, Eur. J. Mech. A/Solids 18 (1999).
Refuses: an impulse (1) outside the cone of friction, as several contacts may have; the error is that of the jam.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.simulation.constrained_motion import ConstrainedMotion
from setsu.simulation.contact_modes import REST_SPEED, ContactMode, JamError, Mode, tangential
from setsu.simulation.events import EventReport
from setsu.simulation.motion import Evaluation

__all__ = ["SHORTEST", "resolve_jam"]

Floats = NDArray[np.float64]

SHORTEST = 1e-9
"""Part of the user's step within which a jam is located."""


def resolve_jam(
    motion: ConstrainedMotion, t: float, q: Floats, v: Floats, jam: JamError
) -> tuple[Evaluation, list[EventReport]]:
    """Return the state at t (s) after the contact that jams was let go or stopped, and what happened."""
    k = jam.contact
    sliding = motion.modes[k]
    rows = motion.system.linearise(q, v)
    if float(np.linalg.norm(tangential(rows.contact_velocity[k], rows.normal[k]))) <= REST_SPEED:
        raise jam
    zeros = np.zeros(motion.mechanism.nv)
    if not motion.contacts[k].bilateral:
        motion.modes[k] = ContactMode(Mode.FREE)
        free = motion.evaluate(t, q, v)
        row = motion.system.n_held + k
        if rows.jacobian[row] @ free.acceleration + rows.velocity_term[row] >= 0.0:
            return free, [EventReport(t, "release", motion.contact_names[k], zeros, np.zeros(0))]
    motion.modes[k] = ContactMode(Mode.STICK, anchor=motion.contact_position(k, q))
    motion.let_joints_slide(q, v)
    metric, G = motion.impact_metric(q, v)
    p = -metric.impulse(G @ v)
    normal = p[motion.system.n_held + sum(mode.touches for mode in motion.modes[:k])]
    tangent = len(G) - 2 * sum(mode.mode is Mode.STICK for mode in motion.modes[k:])
    friction = motion.contacts[k].friction
    pulls = normal < 0.0 and not motion.contacts[k].bilateral
    if pulls or float(np.linalg.norm(p[tangent : tangent + 2])) > friction * abs(normal) * (1.0 + 1e-6):
        motion.modes[k] = sliding
        raise jam
    before = float(motion.energy(q, v))
    new_q, new_v = q, v - metric.nearest(G @ v)
    if motion.constrained:
        motion.learn_rank(metric.rank)
        new_q, new_v = motion.project(new_q, new_v)
    motion.let_joints_slide(new_q, new_v)
    lost = before - float(motion.energy(new_q, new_v))
    report = EventReport(t, "jam", motion.contact_names[k], new_v - v, p, lost)
    return motion.evaluate(t, new_q, new_v), [report]
