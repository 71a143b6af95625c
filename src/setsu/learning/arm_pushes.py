"""A task: the ball tip of an arm moves along a wall and presses on it with a set force."""

from __future__ import annotations

import numpy as np

from setsu.contact import Environment, Polygon
from setsu.dynamics import gravity_torque, point_jacobian
from setsu.learning.task import Floats, Task, TaskState
from setsu.mechanism import Material, Mechanism, MechanismBuilder, Revolute
from setsu.sample_mechanisms.solid_inertias import box_inertia
from setsu.spatial import placement

__all__ = ["arm_pushes_along_wall"]

_LINK, _RADIUS, _WALL = 0.5, 0.02, 0.7  # m
_LENGTHS = (_LINK, 0.4, 0.2)  # m
_LIMIT = 20.0  # N m
_FORCE, _SPEED, _REACH = 10.0, 0.15, 0.25  # N, m/s, m: press, go along, from -reach to reach


def _arm() -> Mechanism:
    """Three links in the horizontal plane: the tip's place leaves one freedom to the elbow."""
    b = MechanismBuilder("wall arm")
    parent, at = "world", 0.0
    for k, length in enumerate(_LENGTHS, start=1):
        b.add_body(
            f"link{k}",
            parent=parent,
            joint=Revolute((0, 0, 1), f"joint{k}", damping=0.2, armature=0.02),
            placement=placement(translation=(at, 0.0, 0.0)),
            mass=2.0 * length,
            center_of_mass=(0.5 * length, 0.0, 0.0),
            inertia=box_inertia(2.0 * length, length, 0.04, 0.04),
        )
        parent, at = f"link{k}", length
    rubber = Material(static_friction=0.2, kinetic_friction=0.2)
    b.add_contact_points("link3", (_LENGTHS[-1], 0.0, 0.0), rubber, radius=_RADIUS)
    return b.build()


def arm_pushes_along_wall() -> Task:
    """Return the task: press with 10 N on the wall x = 0.7 m and go along it at 0.15 m/s, for 3 s.

    Actions are the torques of three joints, as parts of 20 N m. Reward per control period of 10 ms: speed along the
    wall as a part of what is asked, at most 1, less the squares of the force's error (in parts) and of the effort. An
    episode ends where the tip is more than 5 cm off the wall. The script: Jacobian transpose, with gravity.
    """
    m = _arm()
    tip, lengths = (_LENGTHS[-1], 0.0, 0.0), np.array(_LENGTHS)
    wall = Polygon([(_WALL, -2, -1), (_WALL, -2, 1), (_WALL, 2, 1), (_WALL, 2, -1)], "wall")

    last: list[tuple[TaskState, Floats, Floats]] = []

    def tip_of(s: TaskState) -> tuple[Floats, Floats]:
        """Where the tip is and how it moves (N, 2): the links are vectors in the plane. Kept for the last state."""
        if last and last[0][0] is s:
            return last[0][1:]
        turn = s.q.cumsum(axis=1)
        across, up = np.cos(turn) * lengths, np.sin(turn) * lengths
        rate = s.v.cumsum(axis=1)
        # Sums, not products of matrices: the same bits for one world and for many.
        place, velocity = np.empty((len(turn), 2)), np.empty((len(turn), 2))
        across.sum(axis=1, out=place[:, 0])
        up.sum(axis=1, out=place[:, 1])
        np.negative((up * rate).sum(axis=1), out=velocity[:, 0])
        (across * rate).sum(axis=1, out=velocity[:, 1])
        last[:] = [(s, place, velocity)]
        return place, velocity

    def start(generator: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        """The tip on the wall at y = -0.25 m or so, the last link straight ahead."""
        y = -_REACH + 0.02 * generator.standard_normal(n)
        x = np.full(n, _WALL - _RADIUS - 0.2)
        far = np.hypot(x, y)
        bend = np.arccos((_LINK**2 + 0.4**2 - far**2) / (2.0 * _LINK * 0.4))
        first = np.arctan2(y, x) - np.arccos((_LINK**2 + far**2 - 0.4**2) / (2.0 * _LINK * far))
        second = np.pi - bend
        return np.stack([first, second, -first - second], axis=1), np.zeros((n, 3))

    def pressing(s: TaskState) -> Floats:
        return -s.contact_force[:, 0, 0]

    def observe(s: TaskState) -> Floats:
        return np.concatenate([s.q, s.v, *tip_of(s), pressing(s)[:, None]], axis=1)

    def reward(s: TaskState) -> Floats:
        along = np.minimum(tip_of(s)[1][:, 1] / _SPEED, 1.0)
        wrong = (pressing(s) - _FORCE) / _FORCE
        return along - np.minimum(wrong * wrong, 4.0) - (0.05 / 3.0) * np.square(s.action).sum(axis=1)

    def script(s: TaskState) -> Floats:
        J = point_jacobian(m, s.q, "link3", tip)[:, :2]
        x, dx = tip_of(s)
        goal = -_REACH + _SPEED * s.time
        # Friction holds back the way along.
        force = np.stack([_FORCE - 5.0 * dx[:, 0], 400.0 * (goal - x[:, 1]) + 40.0 * (_SPEED - dx[:, 1]) + 2.0], axis=1)
        # The last link stays straight ahead.
        turn = s.q.sum(axis=1, keepdims=True) * -20.0 - 2.0 * s.v.sum(axis=1, keepdims=True)
        torque = np.einsum("nij,ni->nj", J, force) + turn + gravity_torque(m, s.q)
        return np.clip(torque / _LIMIT, -1.0, 1.0)

    return Task(
        name="arm pushes along a wall",
        mechanism=m,
        n_actions=3,
        torque=lambda q, v, action: _LIMIT * action,
        start=start,
        observe=observe,
        reward=reward,
        terminated=lambda s: _WALL - _RADIUS - tip_of(s)[0][:, 0] > 0.05,
        script=script,
        duration=3.0,
        feels_forces=True,
        options={"environment": Environment([wall])},
    )
