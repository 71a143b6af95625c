"""Which plots a recording has: motion, joint wrenches, contact, energy; each curve in the colour of its joint."""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import body_poses, inverse_dynamics, kinetic_energy, potential_energy
from setsu.mechanism import Cylindrical, Free, Mechanism, Planar, Prismatic, Spherical
from setsu.simulation import EnergyLedger, Recording
from setsu.studio.colors import LOOP, contact_color, joint_color, paler
from setsu.studio.plots import Curve, Plot

__all__ = ["GROUPS", "plots_of", "zero_moment_point"]

Floats = NDArray[np.float64]
GROUPS = ("Motion", "Joint wrenches", "Contact", "Energy")


def plots_of(mechanism: Mechanism, recording: Recording) -> dict[str, list[Plot]]:
    """Return the plots by group (see GROUPS), thinned to what can be read."""
    groups = {
        "Motion": _motion(mechanism, recording),
        "Joint wrenches": _wrenches(mechanism, recording),
        "Contact": _contact(mechanism, recording),
        "Energy": _energy(mechanism, recording),
    }
    return {name: [plot.thinned() for plot in plots] for name, plots in groups.items()}


def _motion(m: Mechanism, rec: Recording) -> list[Plot]:
    """One plot per quantity and unit: an angle and a length have no common axis."""
    positions, velocities = _axes(m, of_positions=True), _axes(m, of_positions=False)
    plots = []
    for title, names, values, axes, units in (
        (
            "Joint coordinates",
            rec.coordinate_names,
            rec.q,
            positions,
            {"turn": "rad", "travel": "m", "quaternion": "-"},
        ),
        ("Joint velocities", rec.velocity_names, rec.v, velocities, {"turn": "rad/s", "travel": "m/s"}),
        ("Actuator torques", rec.velocity_names, rec.torque, velocities, {"turn": "N m", "travel": "N"}),
    ):
        for kind, unit in units.items():
            # Several coordinates of one joint are shades of its colour.
            curves = tuple(
                Curve(name, paler(joint_color(axis.joint), 0.13 * axis.part), values[:, k])
                for k, (name, axis) in enumerate(zip(names, axes, strict=True))
                if axis.kind == kind
            )
            if curves:
                plots.append(Plot(title, unit, curves))
    return plots


class _Axis(NamedTuple):
    """A coordinate or velocity: the number of its joint, its number there, "turn", "travel" or "quaternion"."""

    joint: int
    part: int
    kind: str


def _axes(m: Mechanism, of_positions: bool) -> list[_Axis]:
    travels = {Prismatic: 1, Cylindrical: 1, Planar: 2, Free: 3}
    axes = []
    for number, body in enumerate(m.moving):
        turn = "quaternion" if of_positions and isinstance(body.joint, Free | Spherical) else "turn"
        for part in range(body.joint.nq if of_positions else body.joint.nv):
            axes.append(_Axis(number, part, "travel" if part < travels.get(type(body.joint), 0) else turn))
    return axes


def _wrenches(m: Mechanism, rec: Recording) -> list[Plot]:
    if not rec.has("joint_wrenches"):
        return [Plot("Joint forces, size", "N", (), "not recorded in this run")]
    force = np.linalg.norm(rec.joint_wrenches[..., :3], axis=-1)
    moment = np.linalg.norm(rec.joint_wrenches[..., 3:], axis=-1)
    names = rec.joint_names
    plots = [
        Plot("Joint forces, size", "N", tuple(Curve(n, joint_color(k), force[:, k]) for k, n in enumerate(names))),
        Plot(
            "Joint moments, size",
            "N m",
            tuple(Curve(n, joint_color(k), moment[:, k], dashed=True) for k, n in enumerate(names)),
        ),
    ]
    if rec.loop_names:
        pull = np.linalg.norm(rec.loop_wrench[..., :3], axis=-1)
        loops = tuple(Curve(n, LOOP if k == 0 else joint_color(k), pull[:, k]) for k, n in enumerate(rec.loop_names))
        plots.append(Plot("Loop joint forces, size", "N", loops))
    return plots


def _contact(m: Mechanism, rec: Recording) -> list[Plot]:
    if rec.contact_names and not (rec.has("normal_force") and rec.has("friction_force")):
        return [Plot("Normal force", "N", (), "not recorded in this run")]
    if not rec.contact_names or rec.normal_force.shape[1:] == (0,):
        return [Plot("Normal force", "N", (), "no contact in this run: add one in the tab Scenario")]
    friction = np.linalg.norm(rec.friction_force, axis=-1)
    touching = np.flatnonzero(rec.normal_force.any(axis=0) | friction.any(axis=0)).tolist()
    count = len(rec.contact_names)
    remark = "" if len(touching) == count else f"{len(touching)} of {count} points touch something in this run"
    curves = lambda values, dashed: tuple(  # noqa: E731
        Curve(rec.contact_names[k], contact_color(k), values[:, k], dashed=dashed) for k in touching
    )
    plots = [
        Plot("Normal force", "N", curves(rec.normal_force, False), remark),
        Plot("Friction force, size", "N", curves(friction, True), remark),
    ]
    point = zero_moment_point(m, rec)
    if point is not None:
        curves = (Curve("x", joint_color(0), point[:, 0]), Curve("y", joint_color(2), point[:, 1]))
        plots.append(Plot("Zero moment point at z = 0", "m", curves))
    return plots


def _energy(m: Mechanism, rec: Recording) -> list[Plot]:
    names = [entry.name for entry in fields(EnergyLedger)] if rec.has("ledger") else []
    booked = [(name, getattr(rec.ledger, name)) for name in names]
    used = tuple(
        Curve(name.replace("_", " "), joint_color(k), values)
        for k, (name, values) in enumerate(booked)
        if np.abs(values).max() > 0.0
    )
    energies = (
        Curve("kinetic", joint_color(0), np.asarray(kinetic_energy(m, rec.q, rec.v))),
        Curve("potential", joint_color(1), np.asarray(potential_energy(m, rec.q))),
        *([Curve("sum", (30, 30, 30), rec.energy)] if rec.has("energy") else []),
    )
    plots = [
        Plot("Energy", "J", energies),
        Plot(
            "Where the energy went",
            "J",
            used,
            "" if used else "nothing was booked" if names else "not recorded in this run",
        ),
    ]
    if rec.has("constraint_error") and rec.constraint_error.any():
        error = (Curve("largest violation", LOOP, rec.constraint_error),)
        plots.append(Plot("Constraint error", "m or rad", error))
    return plots


def zero_moment_point(m: Mechanism, rec: Recording) -> Floats | None:
    """Return the point (T, 2) m of the plane z = 0 where the contact forces have no moment about x and y.

    For a mechanism whose first body floats and which nothing but contacts touches, the wrench the contacts exert is
    what the motion needs at that body: [f, n] = inverse dynamics of the free joint, at its origin r. Then with
    N = n + r x f:  x = -N_y / f_z,  y = N_x / f_z;  NaN while nothing presses (f_z below 1e-3 of the weight).
    """
    if not m.moving or not isinstance(m.moving[0].joint, Free) or any(b.parent == "world" for b in m.moving[1:]):
        return None
    base = body_poses(m, rec.q)[:, 0]
    needed = np.asarray(inverse_dynamics(m, rec.q, rec.v, rec.acceleration))[:, :6]
    force = np.einsum("tij,tj->ti", base[:, :3, :3], needed[:, :3])
    moment = np.einsum("tij,tj->ti", base[:, :3, :3], needed[:, 3:]) + np.cross(base[:, :3, 3], force)
    weight = m.total_mass * float(np.linalg.norm(m.gravity))
    presses = force[:, 2] > 1e-3 * weight
    point = np.full((len(rec.time), 2), np.nan)
    point[presses, 0] = -moment[presses, 1] / force[presses, 2]
    point[presses, 1] = moment[presses, 0] / force[presses, 2]
    return point
