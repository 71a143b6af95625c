"""The multibody systems of isobe2003 and the motions they make; sizes are ours where the paper shows a picture only.

Arms with direct drives lie in the horizontal x-y plane (Figs 5 and 11) or in the vertical x-z plane (Figs 2, 4, 8).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError
from setsu.mechanism import Mechanism, MechanismBuilder, Revolute, Shape
from setsu.sample_mechanisms import planar_arm
from setsu.sample_mechanisms.solid_inertias import rod_inertia
from setsu.spatial import placement

__all__ = [
    "GRIPS",
    "MOTORS",
    "OBJECT_INERTIA",
    "OBJECT_LENGTH",
    "OBJECT_MASS",
    "SWING_SECONDS",
    "Motion",
    "add_arm",
    "branched_arm",
    "branched_closed_system",
    "object_swing",
    "shaking_branch",
    "three_links",
    "two_arms",
    "two_arms_with_object",
    "wall_trace",
    "waves",
]

Floats = NDArray[np.float64]

LINK, LINK_MASS, HALF_BASE = 0.25, 0.4, 0.15
MOTORS = ("joint1", "joint2", "joint3", "joint4")
OBJECT_MASS, OBJECT_LENGTH = 0.1, 0.12
OBJECT_INERTIA = OBJECT_MASS * OBJECT_LENGTH**2 / 12.0
GRIPS = (("left2", (LINK, 0.0, 0.0)), ("right2", (LINK, 0.0, 0.0)))
SWING_SECONDS = 4.0
MOTOR_DAMPING, MOTOR_COULOMB = 0.01, 0.005
"""Friction of a direct drive, N m s/rad and N m: part of the feed-forward, as in the text before (7)."""


@dataclass(frozen=True)
class Motion:
    """A sampled motion: time (T,), s; q, v, a (T, n)."""

    time: Floats
    q: Floats
    v: Floats
    a: Floats


def three_links() -> Mechanism:
    """Fig. 2: three links."""
    return planar_arm(3, lengths=0.3)


def branched_arm() -> Mechanism:
    """Fig. 4: a trunk of two links with two branches."""
    b = MechanismBuilder("branched arm")
    for name, parent in (("trunk1", "world"), ("trunk2", "trunk1"), ("branch1", "trunk2"), ("branch2", "trunk2")):
        b.add_body(
            name,
            parent,
            Revolute((0, -1, 0), f"joint_{name}"),
            placement=placement((0.0 if parent == "world" else 0.3, 0, 0)),
            mass=1.0,
            center_of_mass=(0.15, 0, 0),
            inertia=rod_inertia(1.0, 0.3),
        )
    return b.build()


def waves(m: Mechanism, samples: int, seconds: float = 1.0) -> Motion:
    """Sines of different rates in all joints."""
    t = np.linspace(0.0, seconds, samples)
    size, rate = np.linspace(0.5, 0.3, m.nv), np.linspace(2.0, 5.0, m.nv)
    angle = np.outer(t, rate)
    return Motion(t, size * np.sin(angle), size * rate * np.cos(angle), -size * rate**2 * np.sin(angle))


def add_arm(b: MechanismBuilder, side: str, x: float, joints: tuple[str, str], finger: Shape | None = None) -> None:
    """Add an arm of two links at x; finger: what of the last link touches things."""
    parent, place = "world", placement((x, 0, 0))
    for k, joint in enumerate(joints, start=1):
        friction = {} if joint == "passive" else {"damping": MOTOR_DAMPING, "coulomb": MOTOR_COULOMB}
        b.add_body(
            f"{side}{k}",
            parent,
            Revolute((0, 0, 1), joint, **friction),
            placement=place,
            mass=LINK_MASS,
            center_of_mass=(LINK / 2, 0, 0),
            inertia=rod_inertia(LINK_MASS, LINK),
            collisions=[finger] if finger is not None and k == len(joints) else [],
        )
        parent, place = f"{side}{k}", placement((LINK, 0, 0))


def branched_closed_system() -> Mechanism:
    """Fig. 5: two arms joined at their hands, and a driven branch with a weight at its tip; four motors."""
    b = MechanismBuilder("branched closed system")
    add_arm(b, "left", -HALF_BASE, ("joint1", "joint2"))
    add_arm(b, "right", HALF_BASE, ("joint3", "passive"))
    b.add_body(
        "branch",
        "left2",
        Revolute((0, 0, 1), "joint4", damping=MOTOR_DAMPING, coulomb=MOTOR_COULOMB),
        placement=placement((LINK, 0, 0)),
        mass=0.1,
        center_of_mass=(0.1, 0, 0),
        inertia=rod_inertia(0.1, 0.2),
    )
    b.add_body("weight", "branch", placement=placement((0.2, 0, 0)), mass=0.3)
    hand = placement((LINK, 0, 0))
    b.add_loop("pin", "left2", "right2", Revolute((0, 0, 1), "pin"), placement_a=hand, placement_b=hand)
    return b.build()


def shaking_branch(m: Mechanism, samples: int, seconds: float) -> Motion:
    """The branch swings its weight to and fro, starting smoothly; the closed part rests."""
    t = np.linspace(0.0, seconds, samples)
    rest = np.zeros(m.nv)
    left, right = _two_link(np.array([[0.0, 0.4]]), 1.0, -HALF_BASE), _two_link(np.array([[0.0, 0.4]]), -1.0, HALF_BASE)
    for name, angle in zip(("joint1", "joint2", "joint3", "passive"), (*left[0], *right[0]), strict=True):
        rest[m.joint_index(name)] = angle
    q, v, a = np.tile(rest, (samples, 1)), np.zeros((samples, m.nv)), np.zeros((samples, m.nv))
    column = m.joint_index("joint4")
    rate = 2.0 * np.pi * 1.5
    rise, drise, ddrise = _smooth_step(t, 0.5)
    wave, dwave, ddwave = np.sin(rate * t), rate * np.cos(rate * t), -(rate**2) * np.sin(rate * t)
    q[:, column] += 0.8 * rise * wave
    v[:, column] = 0.8 * (drise * wave + rise * dwave)
    a[:, column] = 0.8 * (ddrise * wave + 2.0 * drise * dwave + rise * ddwave)
    return Motion(t, q, v, a)


def wall_trace(m: Mechanism, samples: int, seconds: float = 4.0) -> Motion:
    """Fig. 8: the tip of three links moves up a wall at x = 0.5 m, the last link held level."""
    t = np.linspace(0.0, seconds, samples)
    s, ds, dds = _smooth_step(t, seconds)
    height, speed, acceleration = -0.1 + 0.2 * s, 0.2 * ds, 0.2 * dds
    wrist = np.stack([np.full(samples, 0.2), height], axis=1)
    first = _two_link(wrist, 1.0, 0.0, 0.3)
    q = np.column_stack([first, -first.sum(axis=1)])
    zero = np.zeros(samples)
    v2, a2 = _two_link_rates(first, np.stack([zero, speed], axis=1), np.stack([zero, acceleration], axis=1), 0.3)
    return Motion(t, q, np.column_stack([v2, -v2.sum(axis=1)]), np.column_stack([a2, -a2.sum(axis=1)]))


def two_arms() -> Mechanism:
    """The two arms of Fig. 11 without the object."""
    b = MechanismBuilder("two arms")
    add_arm(b, "left", -HALF_BASE, ("joint1", "joint2"))
    add_arm(b, "right", HALF_BASE, ("joint3", "joint4"))
    return b.build()


def two_arms_with_object() -> Mechanism:
    """Fig. 11: the object pinned to both hands, by a joint of the tree on the left and by a loop on the right."""
    b = MechanismBuilder("two arms and an object")
    add_arm(b, "left", -HALF_BASE, ("joint1", "joint2"))
    add_arm(b, "right", HALF_BASE, ("joint3", "joint4"))
    hand = placement((LINK, 0, 0))
    b.add_body(
        "object",
        "left2",
        Revolute((0, 0, 1), "wrist"),
        placement=hand,
        mass=OBJECT_MASS,
        center_of_mass=(OBJECT_LENGTH / 2, 0, 0),
        inertia=np.diag([1e-6, OBJECT_INERTIA, OBJECT_INERTIA]),
    )
    far = placement((OBJECT_LENGTH, 0, 0))
    b.add_loop("hold", "right2", "object", Revolute((0, 0, 1), "hold"), placement_a=hand, placement_b=far)
    return b.build()


def object_swing(samples: int) -> Motion:
    """Fig. 12: the object swings sideways and back and turns a little, in 4 s; joints 1 to 4 and the wrist."""
    t = np.linspace(0.0, SWING_SECONDS, samples)
    (s, ds, dds), (e, de, dde) = _smooth_step(t, 1.0), _smooth_step(t - (SWING_SECONDS - 1.0), 1.0)
    rise, drise, ddrise = s - e, ds - de, dds - dde
    middle, dmiddle, ddmiddle = np.zeros((3, samples, 3))
    middle[:, 1] = 0.35
    # Columns: x, y, angle of the object.
    for column, size, rate in ((0, 0.09, np.pi), (1, 0.05, 2.0 * np.pi), (2, 0.25, np.pi)):
        w, dw, ddw = np.sin(rate * t), rate * np.cos(rate * t), -(rate**2) * np.sin(rate * t)
        middle[:, column] += size * rise * w
        dmiddle[:, column] = size * (drise * w + rise * dw)
        ddmiddle[:, column] = size * (ddrise * w + 2.0 * drise * dw + rise * ddw)
    angle, rate, acceleration = middle[:, 2], dmiddle[:, 2], ddmiddle[:, 2]
    along = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    across = np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    parts = []
    for sign, elbow in ((-1.0, 1.0), (1.0, -1.0)):
        half = 0.5 * sign * OBJECT_LENGTH
        hand = middle[:, :2] + half * along
        velocity = dmiddle[:, :2] + half * rate[:, None] * across
        accelerated = ddmiddle[:, :2] + half * (acceleration[:, None] * across - rate[:, None] ** 2 * along)
        q = _two_link(hand, elbow, sign * HALF_BASE)
        parts.append((q, *_two_link_rates(q, velocity, accelerated, LINK)))
    (q1, v1, a1), (q2, v2, a2) = parts
    wrist = [x - y.sum(axis=1) for x, y in ((angle, q1), (rate, v1), (acceleration, a1))]
    # In the order of the mechanism's joints: left arm, right arm, wrist.
    return Motion(t, *(np.column_stack([x, y, z]) for x, y, z in zip((q1, v1, a1), (q2, v2, a2), wrist, strict=True)))


def _two_link(hand: Floats, elbow: float, base: float, length: float = LINK) -> Floats:
    """Angles (T, 2) of two equal links from (base, 0) to a hand (T, 2); elbow: 1 bends to the left of the line
    from the base to the hand, -1 to the right.
    """
    x, y = hand[:, 0] - base, hand[:, 1]
    cosine = (x**2 + y**2) / (2.0 * length**2) - 1.0
    if (np.abs(cosine) >= 1.0).any():
        raise InputError("isobe2003: expected a hand within reach of its arm")
    second = -elbow * np.arccos(cosine)
    first = np.arctan2(y, x) - np.arctan2(np.sin(second), 1.0 + np.cos(second))
    return np.stack([first, second], axis=1)


def _two_link_rates(q: Floats, velocity: Floats, acceleration: Floats, length: float) -> tuple[Floats, Floats]:
    """Velocities and accelerations (T, 2) of two equal links whose hand moves with these, (T, 2)."""
    one, both = q[:, 0], q.sum(axis=1)
    tip1, tip2 = (np.stack([np.cos(x), np.sin(x)], axis=1) * length for x in (one, both))
    turn1, turn2 = (np.stack([-tip[:, 1], tip[:, 0]], axis=1) for tip in (tip1, tip2))
    J = np.stack([turn1 + turn2, turn2], axis=-1)
    v: Floats = np.linalg.solve(J, velocity[..., None])[..., 0].astype(np.float64)
    bias = -tip1 * v[:, :1] ** 2 - tip2 * v.sum(axis=1)[:, None] ** 2
    return v, np.linalg.solve(J, (acceleration - bias)[..., None])[..., 0]


def _smooth_step(t: Floats, seconds: float) -> tuple[Floats, Floats, Floats]:
    """From 0 to 1 in so many seconds with velocity and acceleration zero at both ends, and its derivatives."""
    s = np.clip(t / seconds, 0.0, 1.0)
    inside = (t > 0.0) & (t < seconds)
    return (
        s**3 * (10.0 + s * (6.0 * s - 15.0)),
        inside * 30.0 * s**2 * (1.0 - s) ** 2 / seconds,
        inside * 60.0 * s * (1.0 + s * (2.0 * s - 3.0)) / seconds**2,
    )
