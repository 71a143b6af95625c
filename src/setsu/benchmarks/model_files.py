"""Load every model file of a folder and compare with MuJoCo (MJCF) or Pinocchio (URDF) at random states.

Per file: whether it loads, how many warnings, what is not in the model, and the worst relative difference of mass
matrix, bias force, passive force, actuator force and acceleration: of the largest number, or of M v² for bias and
passive forces where all of them are smaller. A difference beyond the tolerance that nothing missing accounts for is a
silent difference: an actuator that was left out accounts for actuator forces and accelerations, not for mass or bias.
Fragments that the other engine does not read by themselves are counted apart.
"""

from __future__ import annotations

import dataclasses
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.errors import SetsuError
from setsu.mechanism import Free, Mechanism
from setsu.mechanism.reductions import without_joint_extras
from setsu.model_files.mjcf_actuators import state_maps
from setsu.model_files.mjcf_bodies import name_all
from setsu.model_files.mujoco_package import mujoco_package

__all__ = ["Comparison", "FragmentError", "compare_mjcf", "compare_urdf", "main"]

TOLERANCE = 1e-10
Floats = NDArray[np.float64]


class FragmentError(Exception):
    """The other engine does not read a file by itself: part of another one, or faulty."""


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What one file gave: worst relative differences by quantity, warnings, what is missing."""

    mechanism: Mechanism
    warnings: tuple[str, ...]
    worst: dict[str, float]

    @property
    def is_silent(self) -> bool:
        """Whether a difference came without a word."""
        told = _accounted_for(self.mechanism.missing)
        return any(value > TOLERANCE for key, value in self.worst.items() if key not in told)


def _accounted_for(missing: Sequence[str]) -> set[str]:
    """Return the quantities that what is not in the model may change, by the first word of each text."""
    found: set[str] = set()
    for text in missing:
        what = text.partition(": ")[2] if text.startswith("line ") else text
        match what.split(" ", 1)[0].rstrip(":"):
            case "actuator":
                found |= {"actuator", "acceleration"}
            case "tendon" if "armature" in what:
                found |= {"mass", "bias", "acceleration"}
            case "tendon" if "limits" not in what:
                found |= {"passive", "actuator", "acceleration"}
            case "body" | "joint":
                found |= {"passive", "actuator", "acceleration"}
            case "flex" | "plugin" | "plasticity":
                found |= {"passive", "actuator", "acceleration"}
    return found


def _relative(ours: Floats, theirs: Floats, scale: float = 0.0) -> float:
    size = max(np.abs(ours).max(initial=0.0), np.abs(theirs).max(initial=0.0), scale, 1e-12)
    return float(np.abs(ours - theirs).max(initial=0.0) / size)


def _loaded(path: Path) -> tuple[Mechanism, tuple[str, ...]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mechanism = setsu.load(path)
    return mechanism, tuple(str(warning.message) for warning in caught)


def compare_mjcf(path: Path, states: int = 3, seed: int = 0) -> Comparison:
    """Compare an MJCF file with MuJoCo: mass matrix, qfrc_bias, qfrc_passive, qfrc_actuator and qacc_smooth.

    Raises:
        FragmentError: MuJoCo does not read the file by itself.
    """
    mujoco = mujoco_package()
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise FragmentError(str(error)) from None
    mechanism, told = _loaded(path)
    m = setsu.with_drives(mechanism, coulomb=np.zeros(mechanism.nv))
    rigid = without_joint_extras(m)
    to_q, to_v = state_maps(model, name_all(model))
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    used = {actuator.name for actuator in m.actuators}
    names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, k) or f"actuator{k + 1}" for k in range(model.nu)]
    driven = [k for k, name in enumerate(names) if name in used]
    worst: dict[str, float] = dict.fromkeys(("mass", "bias", "passive", "actuator", "acceleration"), 0.0)
    for _ in range(states):
        qpos = _random_qpos(model, rng)
        data.qpos[:], data.qvel[:], data.ctrl[:] = qpos, rng.normal(size=model.nv), rng.normal(size=model.nu)
        mujoco.mj_forward(model, data)
        q, v = to_q(qpos), to_v(qpos, data.qvel)

        def ours(force: Any, qpos: Any = qpos) -> Floats:
            return to_v(qpos, force)

        turn = np.stack([ours(row) for row in np.eye(model.nv)], axis=1) if model.nv else np.zeros((0, 0))
        mass = np.zeros((model.nv, model.nv))
        try:
            mujoco.mj_fullM(model, mass, data.qM)
        except (TypeError, AttributeError):
            mujoco.mj_fullM(model, data, mass)  # its order of arguments in later versions
        # A free joint's acceleration is that of its velocity in body axes.
        turning = np.zeros(m.nv)
        for body, where in zip(m.moving, m.v_slices, strict=True):
            if isinstance(body.joint, Free):
                turning[where.start : where.start + 3] = np.cross(v[where][3:], v[where][:3])
        zero = np.zeros(m.nv)
        passive = setsu.inverse_dynamics(rigid, q, v, zero) - setsu.inverse_dynamics(m, q, v, zero)
        torque = setsu.actuator_torque(m, q, v, data.ctrl[driven])
        motion = float(np.abs(mass).max(initial=0.0) * np.abs(v).max(initial=0.0) ** 2)
        found = {
            "mass": (setsu.mass_matrix(m, q), turn @ mass @ turn.T, 0.0),
            "bias": (setsu.inverse_dynamics(rigid, q, v, -turning), ours(data.qfrc_bias), motion),
            "passive": (passive, ours(data.qfrc_passive), motion),
            "actuator": (torque, ours(data.qfrc_actuator), 0.0),
            "acceleration": (setsu.forward_dynamics(m, q, v, torque), ours(data.qacc_smooth) - turning, 0.0),
        }
        for key, (one, other, scale) in found.items():
            worst[key] = max(worst[key], _relative(one, other, scale))
    return Comparison(mechanism, told, worst)


def _random_qpos(model: Any, rng: np.random.Generator) -> Floats:
    mujoco = mujoco_package()
    qpos = model.qpos0.copy()
    for joint in range(model.njnt):
        at, kind = int(model.jnt_qposadr[joint]), int(model.jnt_type[joint])
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            qpos[at : at + 3] += rng.normal(size=3)
        if kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
            first = at + (3 if kind == mujoco.mjtJoint.mjJNT_FREE else 0)
            quaternion = rng.normal(size=4)
            qpos[first : first + 4] = quaternion / np.linalg.norm(quaternion)
        else:
            qpos[at] += 0.3 * rng.normal()
    return qpos


def compare_urdf(path: Path, states: int = 3, seed: int = 0) -> Comparison:
    """Compare a URDF with Pinocchio: mass matrix, bias force and acceleration of the tree, friction left out.

    Raises:
        FragmentError: Pinocchio does not read the file.
        InputError: a joint that the two do not have in common.
    """
    pinocchio: Any = import_module("pinocchio")
    mechanism, told = _loaded(path)
    m = setsu.with_drives(mechanism, coulomb=np.zeros(mechanism.nv), damping=np.zeros(mechanism.nv))
    try:
        model = pinocchio.buildModelFromUrdf(str(path))
    except (ValueError, RuntimeError) as error:
        raise FragmentError(str(error)) from None
    # Of the same layer: asked for when it is needed.
    data, there = model.createData(), import_module("setsu.interop").pinocchio(m, model)
    rng = np.random.default_rng(seed)
    worst: dict[str, float] = dict.fromkeys(("mass", "bias", "acceleration"), 0.0)
    for _ in range(states):
        q, v, tau = m.random_configuration(rng), rng.normal(size=m.nv), rng.normal(size=m.nv)
        peer_q, peer_v, still = there.q_to(q), there.v_to(q, v), there.a_to(q, v, np.zeros(m.nv))
        turn = np.array([there.v_to(q, row) for row in np.eye(m.nv)]).reshape(m.nv, model.nv).T
        model.armature = np.abs(turn) @ m.armature
        mass = np.array(pinocchio.crba(model, data, peer_q))
        mass = turn.T @ (np.triu(mass) + np.triu(mass, 1).T) @ turn
        bias = there.tau_from(peer_q, pinocchio.rnea(model, data, peer_q, peer_v, still) - model.armature * still)
        motion = np.array(pinocchio.aba(model, data, peer_q, peer_v, there.tau_to(q, tau)))
        scale = float(np.abs(mass).max(initial=0.0) * np.abs(v).max(initial=0.0) ** 2)
        found = {
            "mass": (setsu.mass_matrix(m, q), mass, 0.0),
            "bias": (setsu.bias_torque(m, q, v), bias, scale),
        }
        if np.isfinite(motion).all():
            moved = there.a_from(peer_q, peer_v, motion)
            found["acceleration"] = (setsu.forward_dynamics(m, q, v, tau), moved, 0.0)
        else:  # a massless body behind the last joint of a chain: nothing determines how it moves
            worst.pop("acceleration", None)
        for key, (one, other, size) in found.items():
            worst[key] = max(worst[key], _relative(one, other, size))
    return Comparison(mechanism, told, worst)


def main(arguments: Sequence[str]) -> int:
    """Print a line per file; the exit code is 1 when a difference came without a word."""
    if not arguments:
        print("usage: python benchmarks/model_files.py FOLDER_OR_FILE ...", file=sys.stderr)
        return 2
    files: list[Path] = []
    for argument in map(Path, arguments):
        found = [argument] if argument.is_file() else [*argument.rglob("*.xml"), *argument.rglob("*.urdf")]
        files += sorted(found)
    silent = fragments = refused = incomplete = 0
    for path in files:
        try:
            result = compare_urdf(path) if path.suffix == ".urdf" else compare_mjcf(path)
        except FragmentError as error:
            fragments += 1
            print(f"{path}: a fragment: {' '.join(str(error).split())[:160]}")
            continue
        except (SetsuError, ValueError) as error:
            refused += 1
            print(f"{path}: does not load: {' '.join(str(error).split())[:160]}")
            continue
        numbers = ", ".join(f"{key} {value:.0e}" for key, value in result.worst.items())
        missing = f", {len(result.mechanism.missing)} not in the model" if result.mechanism.missing else ""
        silent += result.is_silent
        incomplete += bool(result.mechanism.missing)
        mark = "  SILENT" if result.is_silent else ""
        print(f"{path}: loads, {len(result.warnings)} warnings{missing}; {numbers}{mark}", flush=True)
    print(
        f"{len(files)} files: {len(files) - fragments - refused} load, {incomplete} of them with something not in the "
        f"model, {refused} do not load, {fragments} are fragments; {silent} silent differences"
    )
    return 1 if silent else 0
