"""MJCF into a mechanism: MuJoCo compiles the file (defaults, includes, inertias from geoms), we read the result."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from setsu.errors import InputError, ModelFileError
from setsu.mechanism.builder import MechanismBuilder
from setsu.mechanism.record import Mechanism
from setsu.model_files.fields import LARGEST_NUMBER, Problems
from setsu.model_files.meshes import MeshFinder
from setsu.model_files.mjcf_bodies import Switches, add_bodies, add_sites, name_all
from setsu.model_files.mjcf_equalities import add_equalities
from setsu.model_files.mjcf_limits import check_before_compiling
from setsu.model_files.mujoco_package import mujoco_package
from setsu.model_files.reading import Reading
from setsu.model_files.report import Actuator, LoadReport, Notes
from setsu.model_files.xml_tree import Element

__all__ = ["mechanism_from_mjcf"]

# What has no counterpart in a mechanism: field of the compiled model -> element that makes it.
IGNORED_COUNTS = {
    "ntendon": "tendon",
    "nsensor": "sensor",
    "ncam": "camera",
    "nlight": "light",
    "nkey": "key",
    "npair": "contact/pair",
    "nexclude": "contact/exclude",
    "nflex": "flex",
    "nskin": "skin",
    "nplugin": "plugin",
    "nplastic": "joint or tendon plasticity",
}
READ_ARRAYS = (
    "body_pos", "body_quat", "body_mass", "body_inertia", "body_ipos", "body_iquat", "jnt_pos", "jnt_axis", "jnt_range",
    "dof_armature", "dof_damping", "dof_frictionloss", "jnt_stiffness", "qpos0", "qpos_spring", "eq_data", "geom_pos",
    "geom_quat", "geom_size", "site_pos", "site_quat", "actuator_gear",
    "actuator_armature", "actuator_damping", "mesh_pos", "mesh_quat", "mesh_scale",
)  # fmt: skip


def mechanism_from_mjcf(
    root: Element, path: str, *, gravity: ArrayLike | None = None, repair: bool = False
) -> tuple[Mechanism, LoadReport]:
    """Make a mechanism of an MJCF file; `root` is its parsed document, which is checked before MuJoCo reads the file.

    Needs the package `mujoco` (pip install "setsu[mjcf]").
    """
    notes = Notes(path, "MJCF")
    reading = Reading(Problems(path), notes, MeshFinder(path), repair)
    check_before_compiling(root, path)
    model, name, mesh_folder = _compile(path)
    flags = _disabled(model)
    own_gravity = [0.0, 0.0, 0.0] if "gravity" in flags else model.opt.gravity.tolist()
    builder = MechanismBuilder(name, own_gravity if gravity is None else gravity)
    switches = Switches("spring" not in flags, "damper" not in flags, "frictionloss" not in flags)
    names = name_all(model)
    try:
        reference = add_bodies(builder, model, names, switches, mesh_folder, reading)
        if "equality" not in flags and "constraint" not in flags:
            add_equalities(builder, model, names, reading)
        add_sites(builder, model, names)
        mechanism = builder.build()
    except InputError as error:
        raise ModelFileError(path, [f"{path}: {error}"]) from None
    notes.reference_configuration = tuple(reference)
    _note_the_rest(model, root, names.joints, notes)
    notes.notes += [f'<flag {flag}="disable">: taken over' for flag in sorted(flags & _FLAGS_WITH_EFFECT)]
    return mechanism, notes.finish()


_FLAGS_WITH_EFFECT = {"gravity", "spring", "damper", "frictionloss", "equality", "constraint"}


def _compile(path: str) -> tuple[Any, str, str]:
    """Return MuJoCo's compiled model, its name and the folder of its meshes."""
    mujoco = mujoco_package()
    try:
        spec = mujoco.MjSpec.from_file(path)
        model = spec.compile()
        name, mesh_folder = spec.modelname or "mujoco", spec.compiler.meshdir or spec.meshdir or ""
    except Exception as error:  # MuJoCo raises ValueError, FatalError, TypeError and others for bad files
        text = " ".join(str(error).split()) or type(error).__name__
        line = re.search(r"[Ll]ine (?:number=)?(\d+)", text)
        where = f"{path}:{line.group(1)}" if line else path
        raise ModelFileError(path, [f"{where}: MuJoCo cannot compile the model: {text[:500]}"]) from None
    for key in READ_ARRAYS:
        values = np.asarray(getattr(model, key, ()))
        if not np.isfinite(values).all() or (values.size and np.abs(values).max() > LARGEST_NUMBER):
            what = f"MuJoCo compiled {key} to {values.ravel()[:6].tolist()}..., expected finite numbers"
            raise ModelFileError(path, [f"{path}: {what} up to {LARGEST_NUMBER:g}"])
    return model, name, mesh_folder


def _disabled(model: Any) -> set[str]:
    """Return the names of what the file switches off in <option><flag .../>."""
    mujoco = mujoco_package()
    bits = {key: int(bit) for key, bit in mujoco.mjtDisableBit.__members__.items() if key.startswith("mjDSBL_")}
    return {key.removeprefix("mjDSBL_").lower() for key, bit in bits.items() if model.opt.disableflags & bit}


def _note_the_rest(model: Any, root: Element, joint_names: list[str], notes: Notes) -> None:
    """List what the file has and a mechanism does not."""
    mujoco = mujoco_package()
    for field, what in IGNORED_COUNTS.items():
        count = int(getattr(model, field, 0))
        if count:
            notes.ignore(what, _first_line(root, what.rpartition("/")[2]), count)
    if int(model.body_geomnum[0]):
        notes.ignore("worldbody/geom", _first_line(root, "geom"), int(model.body_geomnum[0]))
    compensated = int(np.count_nonzero(model.body_gravcomp))
    if compensated:
        notes.ignore("body/@gravcomp", 0, compensated)
    mocap = int(np.count_nonzero(np.asarray(model.body_mocapid) >= 0))
    if mocap:
        notes.notes.append(f"{mocap} mocap bodies are fixed where the file puts them")
    for key in ("density", "viscosity"):
        if getattr(model.opt, key):
            notes.ignore(f"option/@{key}")
    kinds = mujoco.mjtTrn
    for index in range(len(model.actuator_trntype)):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, index) or f"actuator{index + 1}"
        kind = int(model.actuator_trntype[index])
        number = int(model.actuator_trnid[index][0])
        if kind in (kinds.mjTRN_JOINT, kinds.mjTRN_JOINTINPARENT):
            target = f'joint "{joint_names[number]}"'
        else:
            target = f"{kinds(kind).name.removeprefix('mjTRN_').lower()} {number}"
        notes.actuators.append(Actuator(name, target, tuple(float(ratio) for ratio in model.actuator_gear[index])))


def _first_line(root: Element, tag: str) -> int:
    """The line of the first element with this tag, 0 when it comes from an included file."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if element.tag == tag:
            return element.line
        waiting.extend(reversed(element.children))
    return 0
