"""A task: a biped with closed legs keeps standing while its start is disturbed."""

from __future__ import annotations

import numpy as np

from setsu.contact import Environment
from setsu.learning.task import Floats, Task, TaskState
from setsu.sample_mechanisms.closed_leg_biped import ANKLE, closed_leg_biped, closed_leg_biped_posture
from setsu.simulation.joint_servo import JointServo

__all__ = ["biped_stands"]

_KP, _KD = 400.0, 15.0  # N m/rad, N m s/rad
_RANGE = 0.3  # rad, how far an action moves a joint's target
_FALLEN = 0.6  # of the height of the trunk at the start
_DRIVEN = ("roll", "pitch", "crank", "ankle_pitch", "ankle_roll")


def biped_stands(disturbance: float = 0.02) -> Task:
    """Return the task: stand for 5 s. Actions are targets of the ten driven joints, 0.3 rad around the posture.

    disturbance: m/s, standard deviation of the trunk's velocity at the start. Reward per control period of 10 ms: 1 for
    the height, less the trunk's tilt, speed and effort. An episode ends where the trunk is below 60 % of its height.
    The script answers the trunk's pitch and roll, and their rates, by the ankles.
    """
    m = closed_leg_biped()
    posture = closed_leg_biped_posture(m)
    names = [name.partition("_")[2] for name in m.joint_names]
    places = {name: part.start for name, part in zip(m.joint_names, m.v_slices, strict=True)}
    driven = np.array([places[name] for name, part in zip(m.joint_names, names, strict=True) if part in _DRIVEN])
    coordinates = driven + m.nq - m.nv  # behind the free joint every velocity has one coordinate
    gains = np.zeros(m.nv)
    gains[driven] = _KP
    servo = JointServo(kp=gains, kd=gains * (_KD / _KP), position=posture[m.nq - m.nv :])
    pitch = np.array(
        [k for k, d in enumerate(driven) if d in (places["left_ankle_pitch"], places["right_ankle_pitch"])]
    )
    roll = np.array([k for k, d in enumerate(driven) if d in (places["left_ankle_roll"], places["right_ankle_roll"])])

    def torque(q: Floats, v: Floats, action: Floats) -> Floats:
        # The servo holds the posture; an action shifts what it holds.
        tau = np.zeros_like(v)
        tau[:, driven] = _KP * _RANGE * action
        return tau

    def start(generator: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        v = np.zeros((n, m.nv))
        v[:, :2] = disturbance * generator.standard_normal((n, 2))
        # Soles stay on the floor: legs turn under the trunk, about the ankles.
        height = posture[2] - ANKLE
        for side in ("left", "right"):
            v[:, places[f"{side}_pitch"]] = v[:, 0] / height
            v[:, places[f"{side}_crank"]] = v[:, 0] / height
            v[:, places[f"{side}_ankle_pitch"]] = -v[:, 0] / height
            v[:, places[f"{side}_roll"]] = -v[:, 1] / height
            v[:, places[f"{side}_ankle_roll"]] = v[:, 1] / height
        return np.tile(posture, (n, 1)), v

    last: list[tuple[TaskState, tuple[Floats, Floats, Floats]]] = []

    def tilt(s: TaskState) -> tuple[Floats, Floats, Floats]:
        """Roll and pitch of the trunk (small angles), and cosine of its tilt. Kept for the last state."""
        if last and last[0][0] is s:
            return last[0][1]
        x, y, z, w = s.q[:, 3:7].T
        found = 2.0 * (w * x + y * z), 2.0 * (w * y - x * z), 1.0 - 2.0 * (x * x + y * y)
        last[:] = [(s, found)]
        return found

    def observe(s: TaskState) -> Floats:
        about_x, about_y, upright = tilt(s)
        joints = s.q[:, coordinates] - posture[coordinates]
        seen = np.stack([s.q[:, 2], about_x, about_y, upright], axis=1)
        return np.concatenate([seen, joints, s.v[:, :6], s.v[:, driven]], axis=1)

    def reward(s: TaskState) -> Floats:
        about_x, about_y, _ = tilt(s)
        speed = np.square(s.v[:, :2]).sum(axis=1)
        effort = np.square(s.action).sum(axis=1) / len(driven)
        return s.q[:, 2] / posture[2] - about_x**2 - about_y**2 - 0.1 * speed - 0.01 * effort

    def script(s: TaskState) -> Floats:
        about_x, about_y, _ = tilt(s)
        action = np.zeros((len(s.q), len(driven)))
        ahead, left = s.q[:, 0], s.q[:, 1]
        action[:, pitch] = (0.3 * about_y + 0.5 * ahead + 0.1 * s.v[:, 0])[:, None] / _RANGE
        action[:, roll] = (0.3 * about_x - 0.5 * left - 0.1 * s.v[:, 1])[:, None] / _RANGE
        return np.clip(action, -1.0, 1.0)

    return Task(
        name="biped stands",
        mechanism=m,
        n_actions=len(driven),
        torque=torque,
        start=start,
        observe=observe,
        reward=reward,
        terminated=lambda s: s.q[:, 2] < _FALLEN * posture[2],
        script=script,
        options={"environment": Environment.floor(), "torque": servo},
    )
