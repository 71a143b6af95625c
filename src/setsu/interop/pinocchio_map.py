"""States of a Pinocchio model of the same machine."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import require_mechanism
from setsu.dynamics.numbers import finite_array
from setsu.errors import InputError, nearest_names
from setsu.interop.agreement import require_same_poses
from setsu.interop.joint_blocks import Ball, Block, Circle, FreeBody, Plain, PlanarBody
from setsu.interop.state_map import StateMap
from setsu.mechanism import Free, Mechanism, Planar, Spherical

__all__ = ["pinocchio"]

Floats = NDArray[np.float64]


def pinocchio(mechanism: Mechanism, model: Any) -> StateMap:
    """Return the map between a mechanism and a `pinocchio.Model` of the same machine, joints matched by name.

    Args:
        mechanism: loaded from the same file, or built alike.
        model: may have joints that the mechanism holds fixed; they stay at their neutral coordinates. A free-flyer
            ("root_joint") meets the mechanism's floating base whatever its name.

    Raises:
        InputError: a joint of the mechanism is not in the model or is of another type, or bodies are not where the
            model has them (by name).
    """
    require_mechanism(mechanism, "interop.pinocchio")
    if not (hasattr(model, "joints") and hasattr(model, "getJointId")):
        raise InputError(f"interop.pinocchio: expected a pinocchio.Model, got {model!r:.80}")
    pin, m = import_module("pinocchio"), mechanism
    numbers = [_number(m, model, k) for k in range(m.n_bodies)]
    blocks = tuple(_block(m, model, k, number) for k, number in enumerate(numbers))

    def to_wrench(poses: Floats, wrench: Floats) -> Floats:
        local = np.einsum("...bji,...bkj->...bki", poses[..., :3, :3], wrench.reshape(*wrench.shape[:-1], 2, 3))
        result = np.zeros((*local.shape[:-3], model.njoints, 6))
        result[..., numbers, :] = local.reshape(*local.shape[:-2], 6)
        return result

    def from_wrench(poses: Floats, wrench: Floats) -> Floats:
        given = finite_array(wrench, (model.njoints, 6), "Pinocchio wrench_from: wrench")
        others = np.delete(given, [0, *numbers], axis=-2)
        if others.any():
            raise InputError("Pinocchio wrench_from: expected no wrench on joints that the mechanism does not have")
        world = np.einsum(
            "...bij,...bkj->...bki", poses[..., :3, :3], given[..., numbers, :].reshape(*given.shape[:-2], -1, 2, 3)
        )
        return world.reshape(*world.shape[:-2], 6)

    by_place = sorted(range(m.n_bodies), key=lambda k: numbers[k])
    made = StateMap(
        m, "Pinocchio", tuple(m.joint_names[k] for k in by_place), model.nq, model.nv, blocks,
        np.array(pin.neutral(model)), to_wrench, from_wrench,
    )  # fmt: skip
    data = model.createData()

    def peer_poses(q: Floats) -> Floats:
        pin.forwardKinematics(model, data, q)
        return np.array([data.oMi[number].homogeneous for number in numbers]).reshape(-1, 4, 4)

    require_same_poses(made, peer_poses)
    return made


def _number(m: Mechanism, model: Any, k: int) -> int:
    name = m.joint_names[k]
    if model.existJointName(name):
        return int(model.getJointId(name))
    free = [n for n in range(1, model.njoints) if model.joints[n].shortname() == "JointModelFreeFlyer"]
    if isinstance(m.moving[k].joint, Free) and len(free) == 1:
        return free[0]
    raise InputError(
        f'interop.pinocchio: joint "{name}" of {m.name} is not in the model{nearest_names(name, list(model.names))}'
    )


def _block(m: Mechanism, model: Any, k: int, number: int) -> Block:
    joint, own = model.joints[number], m.moving[k].joint
    where = (
        m.q_slices[k],
        m.v_slices[k],
        slice(joint.idx_q, joint.idx_q + joint.nq),
        slice(joint.idx_v, joint.idx_v + joint.nv),
    )
    kind = joint.shortname()
    if joint.nv == own.nv:
        if isinstance(own, Free) and kind == "JointModelFreeFlyer":
            return FreeBody(*where)
        if isinstance(own, Spherical) and kind == "JointModelSpherical":
            return Ball(*where)
        if isinstance(own, Planar) and kind == "JointModelPlanar":
            return PlanarBody(*where)
        if own.nv == 1 and joint.nq == 2:
            return Circle(*where)
        if own.nq == joint.nq == own.nv and "Spherical" not in kind:
            return Plain(*where)
    raise InputError(
        f'interop.pinocchio: joint "{own.name}" is {type(own).__name__} with {own.nq} coordinates, {own.nv} velocities '
        f"here, {kind} with {joint.nq} and {joint.nv} in the model; expected the same joint"
    )
