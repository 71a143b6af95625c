"""Geoms of a compiled MJCF model as shapes; MuJoCo sizes are half lengths, ours are lengths."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.mechanism.elements import Material, Pose, Shape
from setsu.model_files.mujoco_package import mujoco_package
from setsu.model_files.report import Notes
from setsu.spatial import inverse_placement, placement

__all__ = ["mjcf_placement", "shapes_of_body"]

# MuJoCo's viewer shows the geom groups below this one; by convention the others hold collision shapes.
FIRST_HIDDEN_GROUP = 3
_BITS = 2**32 - 1
# MuJoCo's defaults: number of directions of a contact; friction of sliding, turning (m) and rolling (m).
_CONDIM, _FRICTION = 3, (1.0, 0.005, 0.0001)


def mjcf_placement(position: NDArray[np.float64], quaternion: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the 4x4 placement of a position (m) and a MuJoCo quaternion w x y z; right angles come out exact."""
    w, x, y, z = quaternion.tolist()
    T = placement(position, quaternion=(x, y, z, w))
    rounded = np.round(T[:3, :3])
    if np.abs(T[:3, :3] - rounded).max() < 1e-12:
        T[:3, :3] = rounded
    return T


def shapes_of_body(
    model: Any, body: int, folder: str, mesh_folder: str, notes: Notes
) -> tuple[list[Shape], list[Shape]]:
    """Return the visual and the collision shapes of a body, in its frame."""
    visuals: list[Shape] = []
    collisions: list[Shape] = []
    lost: set[str] = set()
    first = int(model.body_geomadr[body])
    for geom in range(first, first + int(model.body_geomnum[body])):
        shape = _shape(model, geom, folder, mesh_folder, notes)
        if shape is None:
            if model.geom_contype[geom] or model.geom_conaffinity[geom]:
                lost.add(mujoco_package().mjtGeom(int(model.geom_type[geom])).name.removeprefix("mjGEOM_").lower())
            continue
        if model.geom_group[geom] < FIRST_HIDDEN_GROUP:
            visuals.append(shape)
        if model.geom_contype[geom] or model.geom_conaffinity[geom]:
            bits = (int(model.geom_contype[geom]) & _BITS, int(model.geom_conaffinity[geom]) & _BITS)
            material = _material(model, geom)
            collisions.append(dataclasses.replace(shape, contype=bits[0], conaffinity=bits[1], material=material))
    for kind in sorted(lost):
        notes.doubt(
            f'body "{model.body(body).name}": shapes of type {kind} that touch others in the file touch nothing here; '
            "meshes in their place would"
        )
    return visuals, collisions


def _material(model: Any, geom: int) -> Material | None:
    """Friction of a geom; None where the file says nothing of it: MuJoCo's own defaults.

    torsional counts from condim 4 on, rolling with condim 6; condim 1 has no friction.
    """
    condim, friction = int(model.geom_condim[geom]), tuple(float(entry) for entry in model.geom_friction[geom])
    if condim == _CONDIM and friction == _FRICTION:
        return None
    slide = friction[0] if condim > 1 else 0.0
    return Material(slide, slide, 0.0, friction[1] if condim >= 4 else 0.0, friction[2] if condim >= 6 else 0.0)


def _shape(model: Any, geom: int, folder: str, mesh_folder: str, notes: Notes) -> Shape | None:
    mujoco = mujoco_package()
    kinds = mujoco.mjtGeom
    kind = int(model.geom_type[geom])
    a, b, c = (float(entry) for entry in model.geom_size[geom])
    T = mjcf_placement(model.geom_pos[geom], model.geom_quat[geom])
    material = int(model.geom_matid[geom])
    color = model.mat_rgba[material] if material >= 0 else model.geom_rgba[geom]
    rgba = tuple(float(entry) for entry in color)
    where = "geom pose"
    if kind == kinds.mjGEOM_SPHERE:
        return Shape("sphere", (a,), Pose.of(T, where), color=rgba)
    if kind == kinds.mjGEOM_CAPSULE:
        return Shape("capsule", (a, 2 * b), Pose.of(T, where), color=rgba)
    if kind == kinds.mjGEOM_CYLINDER:
        return Shape("cylinder", (a, 2 * b), Pose.of(T, where), color=rgba)
    if kind == kinds.mjGEOM_ELLIPSOID:
        return Shape("ellipsoid", (a, b, c), Pose.of(T, where), color=rgba)
    if kind == kinds.mjGEOM_BOX:
        return Shape("box", (2 * a, 2 * b, 2 * c), Pose.of(T, where), color=rgba)
    if kind == kinds.mjGEOM_MESH:
        mesh = int(model.geom_dataid[geom])
        path = _path(model, int(model.mesh_pathadr[mesh]))
        if path:
            # MuJoCo moves a mesh to its own center and axes; this undoes it, so that the file's frame is placed.
            moved = mjcf_placement(model.mesh_pos[mesh], model.mesh_quat[mesh])
            scale = tuple(float(entry) for entry in model.mesh_scale[mesh])
            file = os.path.normpath(os.path.join(folder, mesh_folder, path))
            return Shape("mesh", scale, Pose.of(T @ inverse_placement(moved), where), file, rgba)
        notes.ignore("geom of a mesh without file")
        return None
    name = kinds(kind).name.removeprefix("mjGEOM_").lower()
    notes.ignore(f"geom of type {name}")
    return None


def _path(model: Any, address: int) -> str:
    if address < 0:
        return ""
    return bytes(model.paths)[address:].split(b"\0", 1)[0].decode("utf-8", "replace")
