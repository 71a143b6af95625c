"""The arms of nishiguchi2014 and the motions the paper shows.

Links in the y-z plane, joint axes +x, q = 0 straight up, so that a link points along (0, -sin θ, cos θ); the hand is
held on the plane z = 0, the height of the base joint. RK4 with h = 0.01 s, forces solved anew in every stage.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import cos, pi, sin

import numpy as np
from numpy.typing import NDArray

from setsu.constraints import Plane, SurfaceContact
from setsu.dynamics import body_accelerations, body_poses, body_velocities, joint_wrenches
from setsu.errors import ModelWarning
from setsu.mechanism import Mechanism, MechanismBuilder, Revolute
from setsu.simulation import simulate
from setsu.spatial import placement

__all__ = [
    "LENGTH",
    "MASS",
    "MOTIONS",
    "PAPER_INERTIA",
    "STEP",
    "TRUE_ROD",
    "Motion",
    "Run",
    "arm",
    "describe",
    "run_motion",
]

Floats = NDArray[np.float64]

MASS, LENGTH, DAMPING, GRAVITY, STEP = 1.0, 0.5, 3.0, 9.8, 0.01

PAPER_INERTIA = 1.0 / 3.0
"""Centroidal inertia over m l² that reproduces the printed digits: the value of a rod about its end."""
TRUE_ROD = 1.0 / 12.0
"""Centroidal inertia over m l² of a thin uniform rod."""


@dataclass(frozen=True)
class Motion:
    """A motion of the paper: number of links, friction K, start (rad), duration (s), torque (N m)."""

    links: int
    friction: float
    start: tuple[float, ...]
    duration: float
    torque: tuple[float, ...] | Callable[[float, Floats, Floats], tuple[float, ...]]

    def drive(self, t: float, q: Floats, v: Floats) -> Floats:
        """Torques (links,) at a time."""
        return np.array(self.torque(t, q, v) if callable(self.torque) else self.torque)


def _sines(t: float, q: Floats, v: Floats) -> tuple[float, ...]:
    return (3 * sin(pi * t / 3),) * 2


def _turning(t: float, q: Floats, v: Floats) -> tuple[float, ...]:
    return (-3 * cos(2 * pi * t), -3 * sin(2 * pi * t), 3 * cos(2 * pi * t))


_TWO, _THREE = (-pi / 6, -2 * pi / 3), (-pi / 6, -pi / 3, -pi / 3)

MOTIONS: dict[str, Motion] = {
    "figure 3": Motion(2, 0.2, _TWO, 10.0, (-3.0, 3.0)),
    "figure 4": Motion(2, 0.2, _TWO, 10.0, _sines),
    "figure 5": Motion(3, 0.2, _THREE, 10.0, (3.0, 3.0, 3.0)),
    "figure 6": Motion(3, 0.2, _THREE, 10.0, _turning),
    "2-link": Motion(2, 0.01, (-7 * pi / 12, pi / 6), 40.0, (0.0, -MASS * GRAVITY * LENGTH / 4)),
    "3-link": Motion(3, 0.01, (-0.05, -pi / 2 + 0.05, -pi / 2 + 0.05), 30.0, (0.0, 0.0, 0.0)),
}


def arm(links: int, inertia: float = PAPER_INERTIA) -> Mechanism:
    """Return the paper's arm; inertia: centroidal, over m l²."""
    builder = MechanismBuilder(f"{links}-link manipulator", gravity=(0.0, 0.0, -GRAVITY))
    parent, place = "world", placement()
    for index in range(1, links + 1):
        builder.add_body(
            f"link{index}",
            parent,
            Revolute((1, 0, 0), f"q{index}", damping=DAMPING),
            placement=place,
            mass=MASS,
            center_of_mass=(0, 0, LENGTH / 2),
            inertia=inertia * MASS * LENGTH**2 * np.eye(3),
        )
        parent, place = f"link{index}", placement((0, 0, LENGTH))
    with warnings.catch_warnings():
        # About the rod's own axis nothing turns, so any value serves; the paper's inertia is not one of a rod anyway.
        warnings.simplefilter("ignore", ModelWarning)
        return builder.build()


@dataclass(frozen=True)
class Run:
    """A recorded motion and what the paper prints of it, (T, links, 3) or (T,), world axes.

    time (T,), q, v, torque (T, links). events: instants at which the hand sticks, slips or turns, by kind and time.
    forces: by the parent on each link, N. centroid: accelerations of the centres of mass, m/s². friction: f_t along y,
    N. hand: position (T, 3), m. joints: positions of all joints and the hand, (T, links + 1, 3).
    """

    mechanism: Mechanism
    time: Floats
    q: Floats
    v: Floats
    torque: Floats
    forces: Floats
    centroid: Floats
    friction: Floats
    normal: Floats
    hand: Floats
    joints: Floats
    events: tuple[tuple[str, float], ...] = ()

    def at(self, time: float) -> int:
        """Index of a recorded time (s)."""
        return int(np.argmin(np.abs(self.time - time)))

    @property
    def quiet(self) -> float:
        """First time after the start at which the arm, having moved, is slower than 0.001 rad/s in every joint."""
        fast = np.abs(self.v).max(axis=1) >= 0.001
        moved = int(np.argmax(fast))
        slow = np.flatnonzero(~fast[moved:])
        return float(self.time[moved + slow[0]]) if slow.size else float(self.time[-1])


def run_motion(
    motion: Motion, inertia: float, progress: Callable[[str, float], None], duration: float | None = None
) -> Run:
    """Simulate a motion of the paper."""
    m = arm(motion.links, inertia)
    hand = SurfaceContact(f"link{motion.links}", (0, 0, LENGTH), Plane((0, 0, 1), 0.0), motion.friction, name="hand")
    recording = simulate(
        m, motion.start, np.zeros(motion.links), duration or motion.duration, STEP,
        torque=motion.torque, contacts=[hand], progress=progress,
    )  # fmt: skip
    made = describe(
        m, recording.time, recording.q, recording.v, recording.acceleration, recording.torque,
        recording.normal_force[:, 0], recording.friction_force[:, 0],
    )  # fmt: skip
    events = tuple((event.kind, event.time) for event in recording.events if event.kind in ("stick", "slip", "turn"))
    return replace(made, events=events)


def describe(
    m: Mechanism, time: Floats, q: Floats, v: Floats, a: Floats, torque: Floats, normal: Floats, friction: Floats
) -> Run:
    """Return all that the paper prints of a motion with accelerations a and forces of the floor on the hand (T, 3)."""
    n = m.n_bodies
    poses = body_poses(m, q)
    R, origin = poses[..., :3, :3], poses[..., :3, 3]
    arms = R @ np.array([0.0, 0.0, LENGTH / 2])
    w, dw = body_velocities(m, q, v)[..., 3:], body_accelerations(m, q, v, a)
    tip = origin[:, -1] + 2.0 * arms[:, -1]
    push = friction + normal[:, None] * np.array([0.0, 0.0, 1.0])
    external = np.zeros((len(time), n, 6))
    external[:, -1, :3], external[:, -1, 3:] = push, np.cross(2.0 * arms[:, -1], push)
    return Run(
        mechanism=m,
        time=time,
        q=q,
        v=v,
        torque=torque,
        forces=joint_wrenches(m, q, v, a, external, frame="world")[..., :3],
        centroid=dw[..., :3] + np.cross(dw[..., 3:], arms) + np.cross(w, np.cross(w, arms)),
        friction=friction[:, 1],
        normal=normal,
        hand=tip,
        joints=np.concatenate([origin, tip[:, None]], axis=1),
    )
