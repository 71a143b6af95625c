"""Equality constraints of a compiled MJCF model: connect and weld become loops, joint becomes a coupling."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.mechanism.builder import MechanismBuilder
from setsu.mechanism.joints import Fixed, Spherical
from setsu.model_files.mjcf_bodies import MjcfNames
from setsu.model_files.mjcf_shapes import mjcf_placement
from setsu.model_files.mujoco_package import mujoco_package
from setsu.model_files.reading import Reading, free_name
from setsu.spatial import placement

__all__ = ["add_equalities"]


def add_equalities(builder: MechanismBuilder, model: Any, names: MjcfNames, reading: Reading) -> None:
    """Add every active equality; what cannot be carried over is noted."""
    mujoco = mujoco_package()
    kinds = mujoco.mjtEq
    taken = {*names.bodies, *names.joints}
    for index in range(model.neq):
        kind = kinds(int(model.eq_type[index]))
        tag = kind.name.removeprefix("mjEQ_").lower()
        if not model.eq_active0[index]:
            reading.notes.ignore(f"equality/{tag} that is not active")
            continue
        given = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_EQUALITY, index)
        name = free_name(given or f"{tag}{index + 1}", taken)
        taken.add(name)
        if kind == kinds.mjEQ_JOINT:
            _add_coupling(builder, model, index, name, names, reading)
        elif kind in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD):
            body_a, body_b, T_a, T_b = _ends(model, index, kind == kinds.mjEQ_WELD)
            if body_a == body_b:
                reading.notes.ignore(f"equality/{tag} of a body with itself")
                continue
            joint = Fixed() if kind == kinds.mjEQ_WELD else Spherical()
            builder.add_loop(name, names.bodies[body_a], names.bodies[body_b], joint, T_a, T_b)
        else:
            reading.notes.ignore(f"equality/{tag}")


def _ends(model: Any, index: int, is_weld: bool) -> tuple[int, int, NDArray[np.float64], NDArray[np.float64]]:
    """Return both bodies of a connect or weld and the frames on them that it holds together."""
    mujoco = mujoco_package()
    first, second = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
    if int(model.eq_objtype[index]) == mujoco.mjtObj.mjOBJ_SITE:
        frames = [mjcf_placement(model.site_pos[site], model.site_quat[site]) for site in (first, second)]
        return int(model.site_bodyid[first]), int(model.site_bodyid[second]), frames[0], frames[1]
    data = model.eq_data[index]
    if is_weld:
        # data: anchor on body 2 (3), anchor on body 1 (3), rotation of body 2 seen from body 1 (w x y z).
        return first, second, mjcf_placement(data[3:6], data[6:10]), placement(data[0:3])
    return first, second, placement(data[0:3]), placement(data[3:6])


def _add_coupling(
    builder: MechanismBuilder, model: Any, index: int, name: str, names: MjcfNames, reading: Reading
) -> None:
    """MuJoCo: y - y0 = c0 + c1 (x - x0) + c2 (x - x0)² + ...; the linear part is kept."""
    first, second = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
    c0, c1, *higher = (float(entry) for entry in model.eq_data[index][:5])
    y0 = float(model.qpos0[model.jnt_qposadr[first]])
    factors = {names.joints[first]: 1.0}
    offset = -(y0 + c0)
    text = f"{names.joints[first]} = {y0 + c0:g}"
    if second >= 0:
        x0 = float(model.qpos0[model.jnt_qposadr[second]])
        if second == first:
            reading.notes.ignore("equality/joint of a joint with itself")
            return
        factors[names.joints[second]] = -c1
        offset += c1 * x0
        text = f"{names.joints[first]} = {c1:g} x {names.joints[second]} {-offset:+g}"
        if any(higher):
            terms = " ".join(f"{entry:g}" for entry in higher)
            reading.notes.doubt(f'equality "{name}": polynomial terms of order 2 and up ({terms}) are ignored')
    builder.add_coupling(name, factors, offset)
    reading.notes.couplings.append(f"{text} (equality)")
