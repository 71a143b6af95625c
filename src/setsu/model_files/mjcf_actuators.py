"""Actuators and keyframes of a compiled MJCF model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from setsu.mechanism.actuators import Actuator
from setsu.mechanism.builder import MechanismBuilder
from setsu.model_files.mjcf_bodies import MjcfNames, joint_order
from setsu.model_files.mjcf_lines import Lines
from setsu.model_files.mujoco_package import mujoco_package
from setsu.model_files.reading import Reading, free_name
from setsu.model_files.report import Notes
from setsu.spatial import placement

__all__ = ["add_actuators", "add_keyframes"]

TAGS = ("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion", "plugin")


def add_actuators(
    builder: MechanismBuilder,
    model: Any,
    names: MjcfNames,
    tendons: set[int],
    flags: set[str],
    lines: Lines,
    reading: Reading,
) -> list[int]:
    """Add every actuator whose force is affine in its control; return MuJoCo's numbers of these."""
    mujoco = mujoco_package()
    if "actuation" in flags:
        return []
    taken: set[str] = set()
    used: list[int] = []
    for index in range(len(model.actuator_trntype)):
        given = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, index)
        name = given or free_name(f"actuator{index + 1}", taken)
        taken.add(name)
        if not given:
            reading.notes.name("actuator", index, name)
        line = next((found for tag in TAGS if (found := lines.of(tag, name))), 0)
        if (
            model.opt.disableactuator & (1 << int(model.actuator_group[index]))
            and int(model.actuator_group[index]) < 31
        ):
            reading.notes.ignore("actuator of a disabled group", line)
            continue
        problem = _why_not(model, index)
        target, more = ({}, "") if problem else _target(model, index, names, tendons)
        if problem or more:
            reading.notes.lose(f'actuator "{name}": {problem or more}; it is left out', line)
            continue
        gain, bias = model.actuator_gainprm[index], model.actuator_biasprm[index]
        affine_gain = int(model.actuator_gaintype[index]) == mujoco.mjtGain.mjGAIN_AFFINE
        affine_bias = int(model.actuator_biastype[index]) == mujoco.mjtBias.mjBIAS_AFFINE
        clamped = bool(model.actuator_ctrllimited[index]) and "clampctrl" not in flags
        builder.add_actuator(
            Actuator(
                name,
                **target,
                gain=_three(gain[:3] if affine_gain else [gain[0], 0.0, 0.0]),
                bias=_three(bias[:3] if affine_bias else np.zeros(3)),
                control_range=_range(model.actuator_ctrlrange[index], clamped),
                force_range=_range(model.actuator_forcerange[index], bool(model.actuator_forcelimited[index])),
            )
        )
        used.append(index)
    return used


def _three(values: Any) -> tuple[float, float, float]:
    a, b, c = (float(value) for value in values)
    return (a, b, c)


def _range(values: Any, is_limited: bool) -> tuple[float, float]:
    return (float(values[0]), float(values[1])) if is_limited else (-np.inf, np.inf)


def _why_not(model: Any, index: int) -> str:
    """Return what keeps an actuator's force from being affine in its control, or nothing."""
    mujoco = mujoco_package()
    dynamics = mujoco.mjtDyn(int(model.actuator_dyntype[index]))
    if dynamics != mujoco.mjtDyn.mjDYN_NONE:
        return f'dyntype="{dynamics.name.removeprefix("mjDYN_").lower()}" has a state of its own'
    gain = mujoco.mjtGain(int(model.actuator_gaintype[index]))
    if gain not in (mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtGain.mjGAIN_AFFINE):
        return f'gaintype="{gain.name.removeprefix("mjGAIN_").lower()}" is not affine'
    bias = mujoco.mjtBias(int(model.actuator_biastype[index]))
    if bias not in (mujoco.mjtBias.mjBIAS_NONE, mujoco.mjtBias.mjBIAS_AFFINE):
        return f'biastype="{bias.name.removeprefix("mjBIAS_").lower()}" is not affine'
    # Fields of later versions of MuJoCo.
    for field, usual, what in (
        ("actuator_ctrlnum", 1, "several controls"),
        ("actuator_outnum", 1, "several outputs"),
        ("actuator_delay", 0, "a delay"),
        ("actuator_dampingpoly", 0, "damping of higher order"),
    ):
        if hasattr(model, field) and np.any(np.asarray(getattr(model, field))[index] != usual):
            return f"it has {what}"
    return ""


def _target(model: Any, index: int, names: MjcfNames, tendons: set[int]) -> tuple[dict[str, Any], str]:
    """Return joint, tendon or site with the gear, or why the transmission is not used."""
    mujoco = mujoco_package()
    kinds, joint_kinds = mujoco.mjtTrn, mujoco.mjtJoint
    kind = kinds(int(model.actuator_trntype[index]))
    number, second = (int(entry) for entry in model.actuator_trnid[index][:2])
    gear = tuple(float(ratio) for ratio in model.actuator_gear[index])
    if kind in (kinds.mjTRN_JOINT, kinds.mjTRN_JOINTINPARENT):
        width = {joint_kinds.mjJNT_FREE: 6, joint_kinds.mjJNT_BALL: 3}.get(joint_kinds(int(model.jnt_type[number])), 1)
        in_parent = kind == kinds.mjTRN_JOINTINPARENT and width > 1
        return {"joint": names.joints[number], "gear": gear[:width], "in_parent": in_parent}, ""
    if kind == kinds.mjTRN_TENDON:
        if number not in tendons:
            return {}, f'its tendon "{names.tendons[number]}" is not in the model'
        lost = [key for key in ("armature", "damping") if np.any(getattr(model, f"actuator_{key}", np.zeros(1))[index])]
        if lost:
            return {}, f"its {' and '.join(lost)} acts along a tendon"
        return {"tendon": names.tendons[number], "gear": gear[:1]}, ""
    if kind == kinds.mjTRN_SITE and second < 0:
        return {"site": names.sites[number], "gear": gear}, ""
    what = "a site with refsite" if kind == kinds.mjTRN_SITE else kind.name.removeprefix("mjTRN_").lower()
    return {}, f"transmission by {what}"


def add_keyframes(builder: MechanismBuilder, model: Any, names: MjcfNames, actuators: list[int], notes: Notes) -> None:
    """Add every <key>: its qpos, qvel and ctrl in our order."""
    mujoco = mujoco_package()
    to_q, to_v = state_maps(model, names)
    taken: set[str] = set()
    for index in range(model.nkey):
        given = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_KEY, index)
        name = free_name(given or f"key{index + 1}", taken)
        taken.add(name)
        if not given:
            notes.name("key", index, name)
        qpos = model.key_qpos[index]
        builder.add_keyframe(name, to_q(qpos), to_v(qpos, model.key_qvel[index]), model.key_ctrl[index][actuators])


def state_maps(model: Any, names: MjcfNames) -> tuple[Callable[[Any], np.ndarray], Callable[[Any, Any], np.ndarray]]:
    """Return functions from qpos to q and from qpos, qvel to v: quaternions x y z w, free velocities in body axes."""
    mujoco = mujoco_package()
    order = joint_order(model)
    free, ball = mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL

    def to_q(qpos: Any) -> np.ndarray:
        parts: list[float] = []
        for joint in order:
            at, kind = int(model.jnt_qposadr[joint]), int(model.jnt_type[joint])
            values = [float(entry) for entry in qpos[at : at + (7 if kind == free else 4 if kind == ball else 1)]]
            if kind in (free, ball):
                length = float(np.linalg.norm(values[-4:])) or 1.0
                w, x, y, z = (entry / length for entry in values[-4:])
                values = [*values[:-4], x, y, z, w]
            parts += values
        return np.array(parts)

    def to_v(qpos: Any, qvel: Any) -> np.ndarray:
        parts: list[float] = []
        for joint in order:
            at, kind = int(model.jnt_dofadr[joint]), int(model.jnt_type[joint])
            values = [float(entry) for entry in qvel[at : at + (6 if kind == free else 3 if kind == ball else 1)]]
            if kind == free:
                start = int(model.jnt_qposadr[joint])
                w, x, y, z = (float(entry) for entry in qpos[start + 3 : start + 7])
                R = placement(quaternion=(x, y, z, w))[:3, :3]
                values[:3] = (R.T @ np.array(values[:3])).tolist()
            parts += values
        return np.array(parts)

    return to_q, to_v
