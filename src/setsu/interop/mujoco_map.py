"""States of a MuJoCo model of the same machine."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import require_mechanism
from setsu.dynamics.numbers import finite_array
from setsu.dynamics.wrenches import moved
from setsu.errors import InputError, nearest_names
from setsu.interop.agreement import require_same_poses
from setsu.interop.joint_blocks import Ball, Block, FreeBody, Plain
from setsu.interop.state_map import StateMap
from setsu.mechanism import Free, Mechanism, Spherical
from setsu.model_files.mjcf_bodies import MjcfNames, name_all

__all__ = ["mujoco"]

Floats = NDArray[np.float64]


def mujoco(mechanism: Mechanism, mjmodel: Any) -> StateMap:
    """Return the map between a mechanism and a `mujoco.MjModel` of the same machine, joints matched by name.

    Joints without a name have the one that `load` gives them. A single free joint meets the mechanism's floating base
    whatever its name; joints of the model that the mechanism does not have stay at qpos0.

    Raises:
        InputError: a joint of the mechanism is not in the model or is of another type, or bodies are not where the
            model has them (by name).
    """
    require_mechanism(mechanism, "interop.mujoco")
    if not (hasattr(mjmodel, "jnt_qposadr") and hasattr(mjmodel, "body_ipos")):
        raise InputError(f"interop.mujoco: expected a mujoco.MjModel, got {mjmodel!r:.80}")
    mj, m, model = import_module("mujoco"), mechanism, mjmodel
    names = name_all(model)
    numbers = [_number(m, model, names, k) for k in range(m.n_bodies)]
    blocks = tuple(_block(m, model, k, number) for k, number in enumerate(numbers))
    carriers = _carriers(m, names)

    def to_wrench(poses: Floats, wrench: Floats) -> Floats:
        result = np.zeros((*np.broadcast_shapes(poses.shape[:-3], wrench.shape[:-2]), model.nbody, 6))
        for k, body in enumerate(_own_bodies(m, names, carriers)):
            if body is None:
                if wrench[..., k, :].any():
                    raise InputError(
                        f'MuJoCo wrench_to: "{m.body_names[k]}" carries no body of the MuJoCo model; expected no wrench'
                    )
                continue
            place = _center(m, model, names, poses, body)
            result[..., body, :] += moved(wrench[..., k, :], place - poses[..., k, :3, 3])
        return result

    def from_wrench(poses: Floats, wrench: Floats) -> Floats:
        given = finite_array(wrench, (model.nbody, 6), "MuJoCo wrench_from: wrench")
        result = np.zeros((*np.broadcast_shapes(poses.shape[:-3], given.shape[:-2]), m.n_bodies, 6))
        for body, carrier in carriers.items():
            if carrier >= 0:
                place = _center(m, model, names, poses, body)
                result[..., carrier, :] += moved(given[..., body, :], poses[..., carrier, :3, 3] - place)
        return result

    by_place = sorted(range(m.n_bodies), key=lambda k: numbers[k])
    made = StateMap(
        m, "MuJoCo", tuple(m.joint_names[k] for k in by_place), model.nq, model.nv, blocks,
        np.array(model.qpos0), to_wrench, from_wrench,
    )  # fmt: skip
    data = mj.MjData(model)
    named = {name: number for number, name in enumerate(names.bodies)}

    def peer_poses(q: Floats) -> Floats:
        data.qpos[:] = q
        mj.mj_kinematics(model, data)
        poses = made.mechanism.frames
        found = []
        for name in m.body_names:
            nearest = _nearest_body(m, named, name)
            if nearest is None:  # between two joints of one MuJoCo body
                found.append(np.full((4, 4), np.nan))
                continue
            body, frame = nearest
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = data.xmat[body].reshape(3, 3), data.xpos[body]
            found.append(T @ np.linalg.inv(poses[frame].pose.matrix))
        return np.array(found).reshape(-1, 4, 4)

    require_same_poses(made, peer_poses)
    return made


def _number(m: Mechanism, model: Any, names: MjcfNames, k: int) -> int:
    name = m.joint_names[k]
    if name in names.joints:
        return names.joints.index(name)
    free = np.flatnonzero(np.asarray(model.jnt_type) == 0)
    if isinstance(m.moving[k].joint, Free) and len(free) == 1:
        return int(free[0])
    raise InputError(
        f'interop.mujoco: joint "{name}" of {m.name} is not in the model{nearest_names(name, names.joints)}'
    )


_SIZES = {0: (7, 6), 1: (4, 3), 2: (1, 1), 3: (1, 1)}
_KINDS = ("free", "ball", "slide", "hinge")


def _block(m: Mechanism, model: Any, k: int, number: int) -> Block:
    own, kind = m.moving[k].joint, int(model.jnt_type[number])
    nq, nv = _SIZES[kind]
    q, v = int(model.jnt_qposadr[number]), int(model.jnt_dofadr[number])
    where = m.q_slices[k], m.v_slices[k], slice(q, q + nq), slice(v, v + nv)
    if isinstance(own, Free) and kind == 0:
        return FreeBody(*where, scalar_first=True, world_linear=True)
    if isinstance(own, Spherical) and kind == 1:
        return Ball(*where, scalar_first=True)
    if own.nq == own.nv == nq:
        return Plain(*where)
    raise InputError(
        f'interop.mujoco: joint "{own.name}" is {type(own).__name__} here and a {_KINDS[kind]} joint in the model; '
        "expected the same joint"
    )


def _carriers(m: Mechanism, names: MjcfNames) -> dict[int, int]:
    """MuJoCo's bodies that exist here, by number, and the moving body that carries each (-1: the world)."""
    return {number: m.frames[name].body for number, name in enumerate(names.bodies) if number and name in m.frames}


def _own_bodies(m: Mechanism, names: MjcfNames, carriers: dict[int, int]) -> list[int | None]:
    """For each moving body the MuJoCo body of its name, or else the first one it carries."""
    numbers = {name: number for number, name in enumerate(names.bodies)}
    first: dict[int, int] = {}
    for number, carrier in carriers.items():
        first.setdefault(carrier, number)
    return [numbers.get(name, first.get(k)) for k, name in enumerate(m.body_names)]


def _nearest_body(m: Mechanism, numbers: dict[str, int], name: str) -> tuple[int, str] | None:
    """The MuJoCo body, and its frame here, that shows where a moving body is."""
    if name in numbers:
        return numbers[name], name
    index = m.body_names.index(name)
    for other, frame in m.frames.items():
        if frame.body == index and other in numbers:
            return numbers[other], other
    return None


def _center(m: Mechanism, model: Any, names: MjcfNames, poses: Floats, body: int) -> Floats:
    """Centre of mass of a MuJoCo body, where `xfrc_applied` acts, world axes."""
    frame = m.frames[names.bodies[body]]
    T = frame.pose.matrix
    point = T[:3, :3] @ np.asarray(model.body_ipos[body]) + T[:3, 3]
    if frame.body < 0:
        return point
    return poses[..., frame.body, :3, :3] @ point + poses[..., frame.body, :3, 3]
