"""A mechanism reduced to what a law speaks about: without dissipation, or the rigid bodies alone."""

from __future__ import annotations

from dataclasses import replace

from setsu.mechanism.elements import Body
from setsu.mechanism.record import Mechanism

__all__ = ["without_bearings", "without_dissipation", "without_joint_extras"]


def without_bearings(m: Mechanism) -> Mechanism:
    """Return the mechanism without friction that depends on the load of a joint: torques become affine in a."""
    if not m.has_bearings:
        return m
    loops = tuple(replace(loop, joint=replace(loop.joint, **_NO_BEARING)) for loop in m.loops)
    return replace(m, bodies=tuple(_with_joint(body, **_NO_BEARING) for body in m.bodies), loops=loops)


_NO_BEARING = {"bearing_friction": 0.0, "bearing_radius": 0.0, "preload": 0.0}


def without_dissipation(m: Mechanism) -> Mechanism:
    """Return the mechanism without friction and dampers: its energy changes by the torques' work only."""
    m = without_bearings(m)
    bodies = tuple(_with_joint(body, damping=0.0, coulomb=0.0) for body in m.bodies)
    springs = tuple(replace(spring, damping=0.0) for spring in m.springs)
    tendons = tuple(replace(tendon, damping=0.0) for tendon in m.tendons)
    return replace(m, bodies=bodies, springs=springs, tendons=tendons, fluid=None)


def without_joint_extras(m: Mechanism) -> Mechanism:
    """Return the rigid bodies alone: no friction, armature, joint springs or force elements."""
    m = without_bearings(m)
    nothing = {"damping": 0.0, "coulomb": 0.0, "armature": 0.0, "stiffness": 0.0}
    bodies = tuple(replace(_with_joint(body, **nothing), gravity_compensation=0.0) for body in m.bodies)
    return replace(m, bodies=bodies, springs=(), tendons=(), fluid=None)


def _with_joint(body: Body, **values: float) -> Body:
    return replace(body, joint=replace(body.joint, **values))
