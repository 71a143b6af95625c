"""Figs 11-15 with hands that can only push: the object is a free body between two round fingers, held by friction.

The arms move in the horizontal plane as before, the object's weight hangs in the friction of the fingers: 2 μ grip has
to carry mass times (gravity and acceleration). Nothing joins hands and object, so that it can be dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setsu.contact import Environment
from setsu.control import Controller, FeedForward, JointFeedback, SampledMotion
from setsu.dynamics import body_poses
from setsu.mechanism import Free, Material, Mechanism, MechanismBuilder, Pose, Shape, with_contact_points
from setsu.nodal import HeldObject, nodal_inverse_dynamics
from setsu.reproduce.isobe2003 import systems
from setsu.reproduce.isobe2003.systems import GRIPS, LINK, OBJECT_LENGTH, OBJECT_MASS
from setsu.simulation import Recording, simulate

__all__ = ["FALLEN", "FRICTION", "GRAVITY", "Carrying", "arms_and_free_object", "carry"]

Floats = NDArray[np.float64]

FRICTION, GRAVITY = 0.8, 9.81
FINGER_RADIUS, FINGER_LENGTH = 0.005, 0.04
BREADTH = 0.05
_STEP = 1e-3
FALLEN = 0.01
"""How far below the hands the object counts as lost, m."""


@dataclass(frozen=True)
class Carrying:
    """A run with one grip force.

    time (T,) s; height (T,) m of the object; beside (T,) m: of its middle from the middle between the hands; pressing
    and rubbing (T, 2) N: normal and tangential force of the left and the right hand on it.
    """

    grip: float
    time: Floats
    height: Floats
    beside: Floats
    pressing: Floats
    rubbing: Floats

    @property
    def dropped(self) -> float | None:
        """When the object was lost, s; None if it was carried."""
        lost = np.flatnonzero(self.height < -FALLEN)
        return float(self.time[lost[0]]) if len(lost) else None


def arms_and_free_object(friction: float = FRICTION) -> Mechanism:
    """Return two arms with round fingers, and a free object that fits between them."""
    b = MechanismBuilder("two arms and a free object", gravity=(0.0, 0.0, -GRAVITY))
    # Upright, so that it touches a face of the object along a line and the object does not turn about the hands.
    finger = Shape("capsule", (FINGER_RADIUS, FINGER_LENGTH), Pose(translation=(LINK, 0.0, 0.0)))
    systems.add_arm(b, "left", -systems.HALF_BASE, ("joint1", "joint2"), finger)
    systems.add_arm(b, "right", systems.HALF_BASE, ("joint3", "joint4"), finger)
    size = (OBJECT_LENGTH - 2.0 * FINGER_RADIUS, BREADTH, BREADTH)
    x, y, z = (OBJECT_MASS / 12.0 * (sum(s**2 for s in size) - s**2) for s in size)
    b.add_body(
        "object",
        joint=Free(name="free"),
        mass=OBJECT_MASS,
        inertia=np.diag([x, y, z]),
        collisions=[Shape("box", size)],
    )
    return with_contact_points(b.build(), material=Material(friction, friction))


class _Arms(Controller):
    """A law of the arms on the mechanism with the free object."""

    def __init__(self, law: Controller) -> None:
        self.law = law

    def __call__(self, t: float, q: Floats, v: Floats) -> Floats:
        """Return the torques of the motors; nothing drives the object."""
        return np.concatenate([self.law(t, q[:4], v[:4]), np.zeros(6)])


def carry(grip: float, seconds: float = systems.SWING_SECONDS, friction: float = FRICTION) -> Carrying:
    """Swing the object with feedback (7) and nodal feed-forward for a grip force (N), hands pushing only."""
    m, arms = arms_and_free_object(friction), systems.two_arms()
    motion = systems.object_swing(round(systems.SWING_SECONDS / _STEP) + 1)
    q, v, a = (x[:, :4] for x in (motion.q, motion.v, motion.a))
    thing = HeldObject(OBJECT_MASS, GRIPS, systems.OBJECT_INERTIA, grip_force=grip)
    torque = nodal_inverse_dynamics(arms, motion.time, q, "given", v=v, a=a, held_objects=[thing])
    law = JointFeedback(arms, SampledMotion(motion.time, q, v, a), 10.0, 0.5) + FeedForward(motion.time, torque)
    start = np.concatenate([q[0], [0.0, 0.35, 0.0, 0.0, 0.0, 0.0, 1.0]])
    rec = simulate(
        m, start, np.zeros(m.nv), seconds, _STEP, _Arms(law), environment=Environment.floor(-1.0), body_contacts=True,
        record_every=5,
    )  # fmt: skip
    return _measured(arms, rec, grip)


def _measured(arms: Mechanism, rec: Recording, grip: float) -> Carrying:
    """What the hands did to the object in a run."""
    between = rec.body_contacts
    assert between is not None
    pressing, rubbing = np.zeros((len(rec.time), 2)), np.zeros((len(rec.time), 2))
    for column, pair in enumerate(between.pairs):
        if "object" in pair:
            hand = 0 if "left2" in pair else 1
            normal = between.normal_force[:, column]
            pressing[:, hand] = normal
            rubbing[:, hand] = np.sqrt(np.maximum(np.sum(between.force[:, column] ** 2, axis=1) - normal**2, 0.0))
    hands = [
        (body_poses(arms, rec.q[:, :4])[:, arms.body_names.index(body)] @ np.array([*point, 1.0]))[:, :2]
        for body, point in GRIPS
    ]
    return Carrying(
        grip=grip,
        time=rec.time,
        height=rec.q[:, 6],
        beside=np.linalg.norm(rec.q[:, 4:6] - 0.5 * (hands[0] + hands[1]), axis=1),
        pressing=pressing,
        rubbing=rubbing,
    )
