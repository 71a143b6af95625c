"""The three motions of the paper's Figs 4-6, simulated with a humanoid of the size of HOAP-1: walk, fall, jump."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.contact import Environment
from setsu.control.humanoid import Biped, Jump, Landing, Motion, Walk, plan_jump, plan_walk, standing_posture
from setsu.control.humanoid.balance import (
    contact_positions,
    ground_zero_moment_point,
    momentum_error,
    support_margin,
    tilt,
)
from setsu.dynamics import center_of_mass, momentum
from setsu.sample_mechanisms import hoap1_like
from setsu.simulation import JointServo, Recording, simulate

__all__ = ["FALL_SECONDS", "WALK", "HumanoidRun", "fall", "flight", "jump", "walk"]

Floats = NDArray[np.float64]
Progress = Callable[[str, float], None]

WALK = Walk()
JUMP = Jump(settling=0.9)
FALL_SECONDS = 2.0

_STEP = 1e-3
_STIFFNESS, _DAMPING = 300.0, 4.0
_PUSH = 0.4
# A point nearer to the floor than this counts as touching it, m.
_TOUCHING = 1e-5


@dataclass(frozen=True, eq=False)
class HumanoidRun:
    """A run and what is measured on it; the first axis is time.

    positions (T, n, 3) m: of all contact points; force (T, 3) N: sum of all contact forces; zmp (T, 2) m and margin
    (T,) m: NaN without support; tilt (T,) rad; com (T, 3) m; speed (T, 3) m/s: of the centre of mass;
    momentum_error (T,), in weights. motion: the plan, if there is one. seconds: processor time of one step.
    """

    biped: Biped
    recording: Recording
    motion: Motion | None
    positions: Floats
    force: Floats
    zmp: Floats
    margin: Floats
    tilt: Floats
    com: Floats
    speed: Floats
    momentum_error: Floats
    seconds: float

    @property
    def beyond(self) -> float:
        """How far a joint ever was beyond its limits, rad; 0 if none was."""
        m = self.biped.mechanism
        where, single = self.biped.single_coordinates
        q = self.recording.q[:, where]
        return max(0.0, float((m.lower[single] - q).max()), float((q - m.upper[single]).max()))

    @property
    def depth(self) -> float:
        """How far the deepest point ever was below the floor, m; 0 if none was."""
        return max(0.0, -float(self.positions[..., 2].min()))


def walk(progress: Progress, solver: str = "default") -> HumanoidRun:
    """Return ten steps ahead, every joint following the plan by a servo with the plan's torques fed forward."""
    biped = Biped(hoap1_like())
    motion = plan_walk(biped, WALK)
    servo = JointServo(_STIFFNESS, _DAMPING, motion.position, motion.velocity, motion.feed_forward)
    return _simulated(
        biped, motion.q[0], np.zeros(biped.mechanism.nv), motion, servo, motion.time[-1], progress, solver
    )


def fall(progress: Progress, solver: str = "default") -> HumanoidRun:
    """Return a fall: drives off, pushed ahead from standing.

    By the default solver joints end at their stops and links touch each other; the paper's method knows neither.
    """
    biped = Biped(hoap1_like())
    v = np.zeros(biped.mechanism.nv)
    v[0] = _PUSH
    # Links on both sides of a joint with two axes lie in each other's way at angles the joint's own stops allow.
    close = [("foot", "shank"), ("pelvis", "thigh")]
    excluded = [(f"{side}_{a}", f"{side}_{b}") for side in ("left", "right") for a, b in close]
    options = {"joint_stops": True, "body_contacts": True, "exclude": excluded} if solver == "default" else {}
    return _simulated(biped, standing_posture(biped), v, None, None, FALL_SECONDS, progress, solver, options)


def jump(progress: Progress, solver: str = "default") -> HumanoidRun:
    """Return a jump on the spot, landing included."""
    biped = Biped(hoap1_like())
    motion = plan_jump(biped, JUMP)
    servo = JointServo(_STIFFNESS, _DAMPING, Landing(motion).position, motion.velocity, motion.feed_forward)
    return _simulated(
        biped, motion.q[0], np.zeros(biped.mechanism.nv), motion, servo, motion.time[-1], progress, solver
    )


def flight(run: HumanoidRun) -> tuple[int, int]:
    """Return the first and the last row of the longest time without any contact force."""
    free = np.concatenate([[False], ~run.force.any(axis=1), [False]])
    edges = np.flatnonzero(free[1:] != free[:-1]).reshape(-1, 2)
    begin, end = edges[np.argmax(edges[:, 1] - edges[:, 0])] if len(edges) else (0, 0)
    return int(begin), int(end)


def _simulated(
    biped: Biped,
    q: Floats,
    v: Floats,
    motion: Motion | None,
    servo: JointServo | None,
    duration: float,
    progress: Progress,
    solver: str,
    options: dict[str, Any] | None = None,
) -> HumanoidRun:
    m = biped.mechanism
    floor = Environment.floor()
    start = process_time()
    rec = simulate(
        m, q, v, float(duration), _STEP, servo, environment=floor, contact_solver=solver, progress=progress,
        **(options or {}),
    )  # fmt: skip
    seconds = (process_time() - start) / (len(rec.time) - 1)
    positions, forces = contact_positions(m, rec.q), rec.contact_force
    zmp = ground_zero_moment_point(positions, forces)
    return HumanoidRun(
        biped=biped,
        recording=rec,
        motion=motion,
        positions=positions,
        force=forces.sum(axis=1),
        zmp=zmp,
        margin=support_margin(zmp, positions[..., :2], positions[..., 2] < _TOUCHING),
        tilt=tilt(biped, rec.q),
        com=center_of_mass(m, rec.q),
        speed=momentum(m, rec.q, rec.v)[:, :3] / m.total_mass,
        momentum_error=momentum_error(biped, rec.q, rec.v, rec.acceleration, positions, forces),
        seconds=seconds,
    )
