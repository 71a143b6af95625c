"""Changes between steps: contacts and joints that stick or slip, contacts that hit, loops that close or open.

Impacts are those of impacts.py; contacts that begin to slip, and those that let go, those of jamming.py.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.assembly import opening
from setsu.constraints.held_motion import refuse_unheld
from setsu.constraints.redundancy import redundancy, refuse_locked, warn_of_left_out
from setsu.constraints.system import ConstraintSystem
from setsu.dynamics import body_poses, frame_acceleration, kinetic_energy
from setsu.errors import InputError, ModelWarning
from setsu.mechanism import Loop, Mechanism, Pose
from setsu.simulation.constrained_motion import ConstrainedMotion
from setsu.simulation.contact_modes import REST_SPEED, ContactMode, JamError, Mode, tangential
from setsu.simulation.events import CloseLoop, EventReport, OpenLoop
from setsu.simulation.impacts import strike
from setsu.simulation.jamming import begin_slip, release, resolve_jam
from setsu.simulation.motion import Evaluation
from setsu.spatial import inverse_placement

__all__ = ["LARGEST_START_ERROR", "begin", "change_loop", "joined_here", "refuse_gap", "remember_sliding", "switch"]

Floats = NDArray[np.float64]

LARGEST_START_ERROR = 1e-6
"""Violation (m, rad, or per second) of a constraint at t = 0 that is mended without a word."""
LARGEST_MENDED_ERROR = 1e-5
"""The same that is mended with a warning."""
LARGEST_LEFT_OUT = 1e-3
"""Error (m or rad) of a redundant row with which a run begins, with a warning: the others are closed."""
_LOST, _SLOW = 1e-6, 1e4
"""Holding a point at rest takes at most this part of the kinetic energy, or that of all at so many rest speeds."""
_MOST_SWITCHES = 50  # and four for every contact, stop and joint


def begin(motion: ConstrainedMotion, q: Floats, v: Floats) -> tuple[Evaluation, list[EventReport]]:
    """Return the state at t = 0 with every contact in its mode; InputError when it violates a constraint."""
    system = motion.system
    if not motion.space.packed:
        # There the pivots of the first evaluation tell.
        refuse_unheld(system, "simulate", q)
    refuse_locked(system, "simulate")
    held, names = system.n_held, system.names
    error, rates = system.errors_and_rates(q, v)
    kept = redundancy(system).kept
    rates = np.where(kept, rates, 0.0)
    wrong = np.abs(error) > np.where(kept, LARGEST_START_ERROR, LARGEST_LEFT_OUT)
    for row in np.flatnonzero(wrong | (np.abs(rates) > LARGEST_MENDED_ERROR)).tolist():
        gap = f", {opening(system, error, row)}"
        _refuse_violation(names[row], float(error[row]), float(rates[row]), v, gap)
    warn_of_left_out(system, error, "simulate", 6)
    motion.watch(q)
    rows = system.linearise(q, v) if motion.contacts else None
    approach = rows.jacobian[held:] @ v if rows is not None else np.zeros(0)
    for k, contact in enumerate(motion.contacts):
        assert rows is not None
        distance, rate = float(rows.error[held + k]), float(approach[k])
        if contact.bilateral or distance < -LARGEST_START_ERROR:
            _refuse_violation(names[held + k], distance, rate if contact.bilateral else 0.0, v)
        leaving = not contact.bilateral and (distance > LARGEST_START_ERROR or rate > LARGEST_START_ERROR)
        along = tangential(rows.contact_velocity[k], rows.normal[k])
        speed = float(np.linalg.norm(along))
        if leaving:
            motion.modes[k] = ContactMode(Mode.FREE)
        elif speed > motion.rest_speed or contact.friction == 0.0:
            motion.modes[k] = ContactMode(Mode.SLIDE, along / max(speed, motion.rest_speed))
        else:
            motion.modes[k] = ContactMode(Mode.STICK, anchor=motion.contact_position(k, q))
    _begin_at_stops(motion, q, v)
    motion.let_joints_slide(q, v)
    hit = [k for k in range(len(motion.contacts)) if approach[k] < -LARGEST_START_ERROR and motion.modes[k].touches]
    reports: list[EventReport] = []
    try:
        if hit:
            start, report = strike(motion, 0.0, q, v, "impact", motion.contact_names[hit[0]], contacts=hit)
            reports.append(report)
        else:
            motion.prime(q, v)
            if motion.constrained:
                q, v = motion.project(q, v)
            start = motion.evaluate(0.0, q, v)
    except JamError as jam:
        start, jams = resolve_jam(motion, 0.0, q, v, jam)
        reports.extend(jams)
    state, changes = switch(motion, start)
    # Which contacts stick or open is no event at the start; an impulse is.
    return state, [*reports, *(change for change in changes if change.kind == "jam")]


def _begin_at_stops(motion: ConstrainedMotion, q: Floats, v: Floats) -> None:
    """Hold the joints that rest at their limits; InputError for one that is beyond."""
    stops = motion.stops
    if not len(stops):
        return
    rows = motion.system.linearise(q, v)
    gaps = stops.gaps(q, rows.loop_poses.coordinate)
    for k, (gap, rate) in enumerate(zip(gaps, stops.rows(rows.free_jacobian) @ v, strict=True)):
        if gap < -LARGEST_START_ERROR:
            raise InputError(
                f"simulate: q0 is {-gap:.6g} (m or rad) beyond the {stops.names[k]}; expected a state within the limits"
            )
        if gap <= LARGEST_START_ERROR and abs(rate) <= LARGEST_START_ERROR:
            stops.hold(k)


def _refuse_violation(name: str, error: float, rate: float, v: Floats, gap: str = "") -> None:
    """InputError for an error (m or rad) or rate of a row; gap: how far the loop of the row is open."""
    if abs(error) > LARGEST_MENDED_ERROR:
        raise InputError(
            f"simulate: q0 violates {name}{gap or f' by {error:.6g} m'}; expected at most {LARGEST_MENDED_ERROR:g} "
            "m or rad: see setsu.close_loops"
        )
    if abs(error) > LARGEST_START_ERROR:
        warnings.warn(
            f"simulate: q0 violates {name}{gap or f' by {error:.6g} m'}; it is moved to the nearest configuration that "
            "does not",
            ModelWarning,
            stacklevel=6,
        )
    if abs(rate) > LARGEST_MENDED_ERROR * (1.0 + float(np.abs(v).max())):
        raise InputError(
            f"simulate: v0 violates {name} at a rate of {rate:.6g} (m/s or rad/s); expected velocities that keep it: "
            "see setsu.consistent_velocity"
        )


def remember_sliding(motion: ConstrainedMotion, end: Evaluation) -> None:
    """After a step without event: remember the sliding directions for the next one."""
    if not motion.contacts:
        return
    for k, state in enumerate(motion.modes):
        speed = float(np.linalg.norm(end.sliding[k]))
        if state.mode is Mode.SLIDE and speed > motion.rest_speed:
            # Of the two directions along the velocity the one that continues the motion.
            sign = 1.0 if float(end.sliding[k] @ state.direction) >= 0.0 else -1.0
            motion.modes[k] = ContactMode(Mode.SLIDE, end.sliding[k] * (sign / speed))


def switch(motion: ConstrainedMotion, state: Evaluation) -> tuple[Evaluation, list[EventReport]]:
    """Change the modes of contacts until every guard holds; return the state after it and what happened."""
    reports: list[EventReport] = []
    remember_sliding(motion, state)
    for _ in range(_MOST_SWITCHES + 4 * len(state.guards)):
        bad = np.flatnonzero(state.guards < 0.0)
        if not bad.size:
            return state, reports
        try:
            state, happened = _changed(motion, state, int(bad[0]))
        except JamError as jam:
            state, happened = resolve_jam(motion, state.t, state.q, state.v, jam)
        reports.extend(happened)
    names = ", ".join((*motion.contact_names, *motion.friction.names))
    raise InputError(
        f"simulate: at t = {state.t:.9g} s no combination of sticking, sliding and releasing of contacts and joints "
        f"({names}) is consistent; expected smaller friction or a configuration away from a singularity"
    )


def _changed(motion: ConstrainedMotion, state: Evaluation, guard: int) -> tuple[Evaluation, list[EventReport]]:
    """Change what a guard below zero stands for: contacts first, then joint stops, then joints with dry friction."""
    stop = guard - 2 * len(motion.contacts)
    joint = stop - len(motion.stops)
    if joint >= 0:
        return _change_joint(motion, state, joint)
    if stop >= 0:
        return _change_stop(motion, state, stop)
    return _change(motion, state, guard // 2, bool(guard % 2))


def _change(
    motion: ConstrainedMotion, state: Evaluation, k: int, friction_changes: bool
) -> tuple[Evaluation, list[EventReport]]:
    mode = motion.modes[k].mode
    if mode is Mode.FREE:
        after, report = strike(motion, state.t, state.q, state.v, "impact", motion.contact_names[k], contacts=[k])
        return after, [report]
    if not friction_changes:
        return release(motion, state, k)
    if mode is Mode.STICK:
        return begin_slip(motion, state, k)
    along = state.sliding[k]
    speed = float(np.linalg.norm(along))
    if speed > 10.0 * motion.rest_speed:
        # It turned by more than a right angle within a step without stopping.
        motion.modes[k] = ContactMode(Mode.SLIDE, along / speed)
        return motion.evaluate(state.t, state.q, state.v), []
    sliding = motion.modes[k]
    motion.modes[k] = ContactMode(Mode.STICK, anchor=motion.contact_position(k, state.q))
    motion.prime(state.q, state.v)
    q, v = motion.project(state.q, state.v)
    if _stops_the_mechanism(motion, state, v):
        return _pass_dead_point(motion, state, k, sliding)
    stuck = motion.evaluate(state.t, q, v)
    if stuck.guards[2 * k + 1] >= 0.0:
        return stuck, [_plain(state, "stick", motion.contact_names[k])]
    turned, _ = begin_slip(motion, stuck, k)
    return turned, [_plain(state, "turn", motion.contact_names[k])]


def _stops_the_mechanism(motion: ConstrainedMotion, state: Evaluation, v: Floats) -> bool:
    """Whether holding a point that stands still takes motion away: it stands at a dead point, as of a straight arm."""
    m = motion.mechanism
    whole = float(kinetic_energy(m, state.q, state.v))
    lost = whole - float(kinetic_energy(m, state.q, v))
    # What a point at rest may still have, and all that hangs on it by long levers.
    least = 0.5 * sum(float(body.mass) for body in m.bodies) * (_SLOW * motion.rest_speed) ** 2
    return lost > max(_LOST * whole, least)


def _pass_dead_point(
    motion: ConstrainedMotion, state: Evaluation, k: int, sliding: ContactMode
) -> tuple[Evaluation, list[EventReport]]:
    """Let a point slide back along its acceleration, which friction does not change where no joint moves the point."""
    m, contact = motion.mechanism, motion.contacts[k]
    normal = motion.system.linearise(state.q, state.v).normal[k]
    push = tangential(
        frame_acceleration(m, state.q, state.v, state.acceleration, contact.body, contact.point)[:3], normal
    )
    size = float(np.linalg.norm(push))
    motion.modes[k] = ContactMode(Mode.SLIDE, push / size if size > 0.0 else -sliding.direction)
    motion.prime(state.q, state.v)
    return motion.evaluate(state.t, state.q, state.v), [_plain(state, "turn", motion.contact_names[k])]


def _change_joint(motion: ConstrainedMotion, state: Evaluation, k: int) -> tuple[Evaluation, list[EventReport]]:
    """Let joints with dry friction stick, slide or turn round: all that are at rest, at once."""
    friction = motion.friction
    held, sign = set(friction.held), friction.sign.copy()
    if not _coupled_friction(motion):
        motion.settle_joints(state.q, state.v)
    if set(friction.held) == held and (friction.sign == sign).all():
        return _change_one_joint(motion, state, k)
    reports = []
    for i, name in enumerate(friction.names):
        if (i in friction.held) != (i in held):
            reports.append(_plain(state, "stick" if i in friction.held else "slip", name))
        elif i not in held and friction.sign[i] != sign[i]:
            reports.append(_plain(state, "turn", name))
    motion.prime(state.q, state.v)
    return motion.evaluate(state.t, *motion.project(state.q, state.v)), reports


def _coupled_friction(motion: ConstrainedMotion) -> bool:
    """Whether contacts slide with friction, which then depends on that of the joints."""
    pairs = zip(motion.modes, motion.contacts, strict=True)
    return any(mode.mode is Mode.SLIDE and contact.friction > 0.0 for mode, contact in pairs)


def _change_one_joint(motion: ConstrainedMotion, state: Evaluation, k: int) -> tuple[Evaluation, list[EventReport]]:
    """Let a joint with dry friction slide whose friction does not hold it, or stick or turn round at rest."""
    friction, name = motion.friction, motion.friction.names[k]
    if k in friction.held:
        friction.slide(k, -state.dry_force[k])
        return motion.evaluate(state.t, state.q, state.v), [_plain(state, "slip", name)]
    sign = -friction.sign[k]
    friction.slide(k, sign)
    turned = motion.evaluate(state.t, state.q, state.v)
    if (
        sign * turned.dry_change[k] > 0.0
        or abs(turned.dry_rate[k]) > 10.0 * REST_SPEED * motion.space.modes.dry_unit[k]
    ):
        return turned, [_plain(state, "turn", name)]
    friction.hold(k)
    motion.prime(state.q, state.v)
    return motion.evaluate(state.t, *motion.project(state.q, state.v)), [_plain(state, "stick", name)]


def _change_stop(motion: ConstrainedMotion, state: Evaluation, k: int) -> tuple[Evaluation, list[EventReport]]:
    """Let go of a joint at its limit, or stop one that has come there by a plastic impact."""
    stops = motion.stops
    if k in stops.held:
        stops.release(k)
        return motion.evaluate(state.t, state.q, state.v), [_plain(state, "release", stops.names[k])]
    after, report = strike(motion, state.t, state.q, state.v, "stop", stops.names[k], stops=[k])
    return after, [report]


def change_loop(
    motion: ConstrainedMotion, state: Evaluation, change: CloseLoop | OpenLoop
) -> tuple[ConstrainedMotion, Evaluation, EventReport]:
    """Return motion and state after a loop was closed (by a plastic impact) or opened."""
    declared, names = motion.declared, set(motion.open_loops)
    closing = isinstance(change, CloseLoop)
    if closing and change.here:
        declared = joined_here(declared, state.q, change.name)
    names = names - {change.name} if closing else names | {change.name}
    changed = motion.restructured(declared, names)
    changed.place(state.t)
    if closing:
        refuse_gap(changed.system, redundancy(changed.system).kept, state.t, state.q, change)
    changed.watch(state.q)
    kind = "close" if closing else "open"
    after, report = strike(changed, state.t, state.q, state.v, kind, change.name)
    after, _ = switch(changed, after)
    if not closing:
        report = replace(report, impulse=np.zeros(0))
    return changed, after, replace(report, velocity_jump=after.v - state.v)


def refuse_gap(
    system: ConstraintSystem, held: NDArray[np.bool_], t: float, q: Floats, change: CloseLoop | OpenLoop
) -> None:
    """InputError for a loop that is open as it closes at t (s); held: whether each row holds, those of loops first."""
    n = system.n_loop_rows
    error = np.where(held[:n], system.position_error(q)[:n], 0.0)
    worst = int(np.abs(error).argmax())
    if abs(error[worst]) > LARGEST_START_ERROR:
        raise InputError(
            f"simulate: CloseLoop at t = {t:.9g} s: {system.names[worst]} is open by {error[worst]:.6g} "
            f'(m or rad); expected at most {LARGEST_START_ERROR:g}, or CloseLoop({change.time:g}, "{change.name}", '
            "here=True) to join the bodies where they are"
        )


def joined_here(m: Mechanism, q: Floats, name: str) -> Mechanism:
    """Return the mechanism with the loop's frame on body_b moved to where its frame on body_a is."""
    poses = body_poses(m, q)

    def placed(body: str) -> Floats:
        frame = m.frame(body)
        return (poses[frame.body] if frame.body >= 0 else np.eye(4)) @ frame.pose.matrix

    def moved(loop: Loop) -> Loop:
        T = inverse_placement(placed(loop.body_b)) @ placed(loop.body_a) @ loop.pose_a.matrix
        return replace(loop, pose_b=Pose.of(T, f'loop "{loop.name}"'))

    return replace(m, loops=tuple(moved(loop) if loop.name == name else loop for loop in m.loops))


def _plain(state: Evaluation, kind: str, name: str) -> EventReport:
    return EventReport(state.t, kind, name, np.zeros_like(state.v), np.zeros(0))
