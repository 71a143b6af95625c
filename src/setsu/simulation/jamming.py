"""Contacts that jam in mid-run: impulses without a collision stop them at once.

Where friction presses sliding points into their surfaces harder than the points give way (Painlevé), no finite forces
balance the motion. First all modes of all contacts are gone through: if some may open, stick or slide on so that finite
forces exist, that is what happens. Otherwise the forces grow beyond all bounds within no time, and what they leave are
impulses p at the contacts that touch,

    M (v' - v) = Hᵀ λ + Σ Jᵀ p,  H v' = 0                                                                      (1)
    x_n' >= 0 ⊥ p_n >= 0;  x_t' = 0 and |p_t| <= K p_n, or p_t = -K p_n x_t'/|x_t'|                             (2)

with x' the velocity of a contact point after them and H the rows of all else that holds (contact_space). No impulse at
all satisfies (1) and (2) too: to tell what the forces do, a time δ far below any step is let pass without contact,

    x' = B p + x + δ b        b: accelerations of the contact points without contact forces                    (3)

so that points begin to sink in. Finite forces would then answer by impulses as small as δ; where they do not exist, (2)
and (3) leave those that do not vanish with it. Contacts count as at rest, so that a solution always exists.
Energy: T' - T = Σ p·x' - ½ Σ p·(x' - x) is not positive, for p·x' <= 0 by (2).

A jam is found where the step before it ends, which is halved until it is as short as a rounding of time.

Source: F. Génot, B. Brogliato, New results on Painlevé paradoxes, Eur. J. Mech. A/Solids 18 (1999), for one contact;
D. E. Stewart, J. C. Trinkle, Int. J. Numer. Meth. Eng. 39 (1996), for (2) and (3).
Cost: some milliseconds to some hundred, for the search through all modes.
Refuses: states in which not even impulses were found; the error is that of the jam.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.contact_forces import OPEN, SLIDING, STICKING, ContactSolution
from setsu.simulation.constrained_motion import ConstrainedMotion
from setsu.simulation.contact_modes import ContactMode, JamError, Mode
from setsu.simulation.contact_space import ContactSpace, contact_space, set_modes
from setsu.simulation.events import EventReport
from setsu.simulation.motion import Evaluation

__all__ = ["begin_slip", "release", "resolve_jam"]

Floats = NDArray[np.float64]
Outcome = tuple[Evaluation, list[EventReport]]

_MOMENT = 1e-8  # the velocity that sinking gains in the time δ, as a part of the largest


def resolve_jam(motion: ConstrainedMotion, t: float, q: Floats, v: Floats, jam: JamError) -> Outcome:
    """Return the state at t (s) after the contacts that jam were let go or stopped, and what happened.

    Raises the jam again where neither modes nor impulses are consistent.
    """
    before, reports = list(motion.modes), []
    for _ in range(len(motion.contacts) + 1):
        space = contact_space(motion, q, v)
        try:
            state, happened = _with_finite_forces(motion, space, t, q, v, jam)
            if not happened:
                # Forces are finite here and without bound a rounding of time later.
                raise jam
        except JamError as still:
            q, v, report = _struck(motion, space, t, q, v, still)
            happened = [report]
            try:
                state = motion.evaluate(t, q, v)
            except JamError as another:
                # The impulse has left another contact in a jam of its own.
                reports.extend(happened)
                jam = another
                continue
        return state, [*reports, *happened]
    motion.modes[:] = before
    raise jam


def release(motion: ConstrainedMotion, state: Evaluation, k: int) -> Outcome:
    """Return the state after a contact that would have to pull: it opens, unless friction jams it with others.

    One contact alone opens. With others that slide, normal forces hang together through friction: all below zero may
    mean that none of the contacts can open, and each of them would come back at once.
    """
    before = list(motion.modes)
    coupled = [j for j, mode in enumerate(before) if mode.mode is Mode.SLIDE and motion.contacts[j].friction > 0.0]
    if sum(mode.touches for mode in before) > 1 and coupled:
        names = ", ".join(f'"{motion.contact_names[j]}"' for j, mode in enumerate(before) if mode.touches)
        jam = JamError(
            f"simulate: contacts {names} jam together at t = {state.t:.9g} s: no finite forces balance their friction "
            "(Painlevé paradox), and no impulse within it stops them; expected smaller coefficients of friction",
            k if k in coupled else coupled[0],
        )
        space = contact_space(motion, state.q, state.v)
        try:
            changed, reports = _with_finite_forces(motion, space, state.t, state.q, state.v, jam)
        except JamError:
            return resolve_jam(motion, state.t, state.q, state.v, jam)
        if reports:
            return changed, reports
    motion.modes[k] = ContactMode(Mode.FREE)
    zeros = np.zeros_like(state.v)
    opened = EventReport(state.t, "release", motion.contact_names[k], zeros, np.zeros(0))
    return motion.evaluate(state.t, state.q, state.v), [opened]


def begin_slip(motion: ConstrainedMotion, state: Evaluation, k: int) -> Outcome:
    """Return the state after a contact that friction does not hold any more, with the way it begins to slide.

    That is the way it is pushed by all forces, friction included, not that of the friction which held it.
    """
    space = contact_space(motion, state.q, state.v)
    name = motion.contact_names[k]
    jam = JamError(f'simulate: contact "{name}" jams at t = {state.t:.9g} s as it begins to slip', k)
    try:
        changed, reports = _with_finite_forces(motion, space, state.t, state.q, state.v, jam)
        if any(report.name == name for report in reports):
            return changed, reports
    except JamError:
        pass
    force = state.friction_force[k]
    motion.modes[k] = ContactMode(Mode.SLIDE, -force / max(float(np.linalg.norm(force)), 1e-300))
    slip = EventReport(state.t, "slip", name, np.zeros_like(state.v), np.zeros(0))
    return motion.evaluate(state.t, state.q, state.v), [slip]


def _with_finite_forces(
    motion: ConstrainedMotion, space: ContactSpace, t: float, q: Floats, v: Floats, jam: JamError
) -> Outcome:
    """Return the state with modes for which finite forces exist; raises the jam where there are none."""
    before = list(motion.modes)
    found = space.forces(_acceleration_without_contacts(motion, t, q, v))
    if not found.converged[0]:
        raise jam
    for place, k in enumerate(space.which):
        motion.modes[k] = _mode_of(motion, space, found, place, q)
    try:
        state = motion.evaluate(t, q, v)
    except JamError:
        # An unstable sliding: the laws can balance it, time cannot keep it.
        motion.modes[:] = before
        raise
    zeros = np.zeros(motion.mechanism.nv)
    kinds = {Mode.FREE: "release", Mode.SLIDE: "slip", Mode.STICK: "stick"}
    changed = [k for k, mode in enumerate(before) if mode.mode is not motion.modes[k].mode]
    names = motion.contact_names
    return state, [EventReport(t, kinds[motion.modes[k].mode], names[k], zeros, np.zeros(0)) for k in changed]


def _mode_of(
    motion: ConstrainedMotion, space: ContactSpace, found: ContactSolution, place: int, q: Floats
) -> ContactMode:
    """The mode of a run for what the laws say of a contact."""
    k, mode = space.which[place], int(found.mode[0, place])
    if mode == OPEN:
        return ContactMode(Mode.FREE)
    if mode == STICKING:
        return ContactMode(Mode.STICK, anchor=motion.contact_position(k, q))
    if mode == SLIDING:
        return motion.modes[k]
    push = found.force[0, place, 1:] @ space.basis[place, 1:]
    return ContactMode(Mode.SLIDE, -push / max(float(np.linalg.norm(push)), 1e-300))


def _struck(
    motion: ConstrainedMotion, space: ContactSpace, t: float, q: Floats, v: Floats, jam: JamError
) -> tuple[Floats, Floats, EventReport]:
    """Return the state after the impulses (1)-(3), with the modes they leave, and the event."""
    free = _acceleration_without_contacts(motion, t, q, v)
    motion.let_joints_slide(q, v)
    held, sinking = contact_space(motion, q, v).held, space.J @ free + space.bias
    moment = _MOMENT * _size(space.velocity) / max(_size(sinking), 1e-300)
    found = space.impulses(held, space.velocity + moment * sinking)
    impulse = found.force[0]
    pushed = held.solve_L(np.einsum("kin,ki->n", space.J, impulse))
    jump = held.acceleration(held.free_part(pushed[:, None])[:, 0])
    if not found.converged[0] or _size(space.J @ jump) <= 1e3 * _MOMENT * _size(space.velocity):
        raise jam
    stays, still = (impulse[:, 0] != 0.0) | space.bilateral, 10.0 * _MOMENT * _size(space.velocity)
    set_modes(motion, space.which, space.basis, space.J @ (v + jump), stays, still, q)
    energy = float(motion.energy(q, v))
    if motion.constrained:
        motion.learn_rank(motion.impact_rows(q, v)[0].rank)
    after_q, after_v = motion.project(q, v + jump) if motion.constrained else (q, v + jump)
    motion.let_joints_slide(after_q, after_v)
    hit = [k for k, slides, push in zip(space.which, space.slides, impulse[:, 0], strict=True) if slides and push]
    names = ", ".join(motion.contact_names[k] for k in hit or [jam.contact])
    lost = energy - float(motion.energy(after_q, after_v))
    through = np.concatenate([held.multipliers(-pushed), impulse.reshape(-1)])
    return after_q, after_v, EventReport(t, "jam", names, after_v - v, through, lost)


def _acceleration_without_contacts(motion: ConstrainedMotion, t: float, q: Floats, v: Floats) -> Floats:
    before = list(motion.modes)
    motion.modes[:] = [ContactMode(Mode.FREE)] * len(before)
    try:
        return motion.evaluate(t, q, v).acceleration
    finally:
        motion.modes[:] = before


def _size(x: Floats) -> float:
    return float(np.abs(x).max(initial=0.0))
