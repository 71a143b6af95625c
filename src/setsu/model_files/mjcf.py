"""MJCF into a mechanism: MuJoCo compiles the file (defaults, includes, inertias from geoms), we read the result."""

from __future__ import annotations

import dataclasses
import os
import re
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from setsu.errors import InputError, ModelFileError
from setsu.mechanism.builder import MechanismBuilder
from setsu.mechanism.record import Mechanism
from setsu.model_files.contact_filters import add_excludes
from setsu.model_files.fields import LARGEST_NUMBER, Problems
from setsu.model_files.meshes import MeshFinder
from setsu.model_files.mjcf_actuators import add_actuators, add_keyframes
from setsu.model_files.mjcf_bodies import Switches, add_bodies, add_sites, name_all
from setsu.model_files.mjcf_equalities import add_equalities
from setsu.model_files.mjcf_forces import add_fluid, add_tendons, compensation_is_actuated
from setsu.model_files.mjcf_limits import check_before_compiling
from setsu.model_files.mjcf_lines import Lines
from setsu.model_files.mujoco_package import mujoco_package
from setsu.model_files.reading import Reading
from setsu.model_files.report import LoadReport, Notes
from setsu.model_files.xml_tree import Element

__all__ = ["mechanism_from_mjcf"]

# What has no counterpart in a mechanism: field of the compiled model -> element that makes it.
IGNORED_COUNTS = {
    "nsensor": "sensor",
    "ncam": "camera",
    "nlight": "light",
    "nskin": "skin",
}
# The same, but it moves or pushes something.
LOST_COUNTS = {"nflex": "flex", "nplugin": "plugin", "nplastic": "plasticity of joints or tendons"}
READ_ARRAYS = (
    "body_pos", "body_quat", "body_mass", "body_inertia", "body_ipos", "body_iquat", "jnt_pos", "jnt_axis", "jnt_range",
    "dof_armature", "dof_damping", "dof_frictionloss", "jnt_stiffness", "qpos0", "qpos_spring", "eq_data", "geom_pos",
    "geom_quat", "geom_size", "site_pos", "site_quat", "actuator_gear",
    "actuator_armature", "actuator_damping", "mesh_pos", "mesh_quat", "mesh_scale",
)  # fmt: skip


def mechanism_from_mjcf(
    root: Element, path: str, *, gravity: ArrayLike | None = None, repair: bool = False, text: str | None = None
) -> tuple[Mechanism, LoadReport]:
    """Make a mechanism of an MJCF file; `root` is its parsed document, which is checked before MuJoCo reads the file.

    text: the model itself where there is no file; `path` then only says where relative names of meshes begin.

    Needs the package `mujoco` (pip install "setsu[mjcf]").
    """
    notes = Notes(path, "MJCF")
    reading = Reading(Problems(path), notes, MeshFinder(path), repair)
    check_before_compiling(root, path)
    model, name, mesh_folder = _compile(path, text, notes)
    flags = _disabled(model)
    own_gravity = [0.0, 0.0, 0.0] if "gravity" in flags else model.opt.gravity.tolist()
    builder = MechanismBuilder(name, own_gravity if gravity is None else gravity)
    builder.warns_of_inertias = False
    lines = Lines(root)
    switches = Switches("spring" not in flags, "damper" not in flags, not flags & {"frictionloss", "constraint"})
    names = name_all(model)
    notes.given_names |= names.given
    try:
        reference = add_bodies(builder, model, names, switches, mesh_folder, lines, reading)
        add_sites(builder, model, names)
        tendons = add_tendons(builder, model, names, switches, lines, reading)
        if "equality" not in flags and "constraint" not in flags:
            add_equalities(builder, model, names, tendons, lines, reading)
        if switches.others:
            add_fluid(builder, model, names, lines, reading)
        add_excludes(builder, model, names, lines, reading)
        actuators = add_actuators(builder, model, names, tendons, flags, lines, reading)
        add_keyframes(builder, model, names, actuators, notes)
        mechanism = builder.build()
    except InputError as error:
        raise ModelFileError(path, [f"{path}: {error}"]) from None
    notes.reference_configuration = tuple(reference)
    notes.actuators += mechanism.actuators
    _note_the_rest(model, lines, notes)
    mechanism = dataclasses.replace(
        mechanism,
        reference=tuple(reference),
        compensation_by_actuators=compensation_is_actuated(model, names, lines, reading),
    )
    mechanism = dataclasses.replace(mechanism, missing=tuple(notes.missing))
    notes.notes += [f'<flag {flag}="disable">: taken over' for flag in sorted(flags & _FLAGS_WITH_EFFECT)]
    return mechanism, notes.finish()


_FLAGS_WITH_EFFECT = {"gravity", "spring", "damper", "frictionloss", "equality", "constraint", "actuation"}
_FLAGS_LOST = {
    "contact": "shapes touch in runs with an environment or body_contacts",
    "limit": "limits of joints are kept, and hold in runs with joint_stops=True",
    "filterparent": "bodies that a joint connects do not touch",
}


def _compile(path: str, text: str | None, notes: Notes) -> tuple[Any, str, str]:
    """Return MuJoCo's compiled model, its name and the folder of its meshes; its warnings become ours."""
    mujoco = mujoco_package()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            # A relative path would be joined to the folder of the meshes a second time.
            if text is None:
                spec = mujoco.MjSpec.from_file(os.path.abspath(path))
            else:
                spec = mujoco.MjSpec.from_string(text)
                spec.modelfiledir = os.path.dirname(os.path.abspath(path))
            model = spec.compile()
        for warning in caught:
            notes.doubt(f"MuJoCo: {' '.join(str(warning.message).split())[:300]}")
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


def _note_the_rest(model: Any, lines: Lines, notes: Notes) -> None:
    """List what the file has and a mechanism does not."""
    for field, what in IGNORED_COUNTS.items():
        count = int(getattr(model, field, 0))
        if count:
            notes.ignore(what, lines.first(what.rpartition("/")[2]), count)
    for field, what in LOST_COUNTS.items():
        count = int(getattr(model, field, 0))
        if count:
            notes.lose(f"{what}: {count} of them are left out", lines.first(what))
    if int(model.body_geomnum[0]):
        notes.ignore("worldbody/geom", lines.first("geom"), int(model.body_geomnum[0]))
    for flag, what in _FLAGS_LOST.items():
        if flag in _disabled(model):
            notes.lose(f'<flag {flag}="disable"> is not used: {what}', lines.first("flag"))
    if model.opt.enableflags & int(mujoco_package().mjtEnableBit.mjENBL_OVERRIDE):
        notes.lose('<flag override="enable"> is not used: geoms rub by their own friction', lines.first("flag"))
    mocap = int(np.count_nonzero(np.asarray(model.body_mocapid) >= 0))
    if mocap:
        notes.notes.append(f"{mocap} mocap bodies are fixed where the file puts them")
