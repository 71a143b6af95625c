"""Equality constraints of a compiled MJCF model: connect and weld become loops, joint and tendon become couplings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.mechanism.builder import MechanismBuilder
from setsu.mechanism.joints import Fixed, Spherical
from setsu.model_files.mjcf_bodies import MjcfNames
from setsu.model_files.mjcf_lines import Lines
from setsu.model_files.mjcf_shapes import mjcf_placement
from setsu.model_files.mujoco_package import mujoco_package
from setsu.model_files.reading import Reading, free_name
from setsu.spatial import placement

__all__ = ["add_equalities"]


def add_equalities(
    builder: MechanismBuilder, model: Any, names: MjcfNames, tendons: set[int], lines: Lines, reading: Reading
) -> None:
    """Add every active equality; what cannot be carried over is noted as missing."""
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
        if not given:
            reading.notes.name("equality", index, name)
        line = lines.of(tag, given or "") or lines.first(tag)
        if kind in (kinds.mjEQ_JOINT, kinds.mjEQ_TENDON):
            _add_coupling(builder, model, index, name, names, tendons, line, reading)
        elif kind in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD):
            body_a, body_b, T_a, T_b = _ends(model, index, kind == kinds.mjEQ_WELD)
            if body_a == body_b:
                reading.notes.ignore(f"equality/{tag} of a body with itself")
                continue
            joint = Fixed() if kind == kinds.mjEQ_WELD else Spherical()
            builder.add_loop(name, names.bodies[body_a], names.bodies[body_b], joint, T_a, T_b)
        else:
            reading.notes.lose(f'equality "{name}" of type {tag} is left out', line)


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
    builder: MechanismBuilder,
    model: Any,
    index: int,
    name: str,
    names: MjcfNames,
    tendons: set[int],
    line: int,
    reading: Reading,
) -> None:
    """MuJoCo: y - y0 = c0 + c1 (x - x0) + ... + c4 (x - x0)⁴, x and y joint coordinates or lengths of fixed tendons."""
    by_joint = int(model.eq_type[index]) == mujoco_package().mjtEq.mjEQ_JOINT
    first, second = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
    sums: list[tuple[dict[str, float], float]] = []
    for number in (first, second):
        if number < 0:
            continue
        if by_joint:
            sums.append(({names.joints[number]: 1.0}, float(model.qpos0[model.jnt_qposadr[number]])))
            continue
        terms = fixed_tendon(model, number, names) if number in tendons else None
        if terms is None:
            what = f'equality "{name}": the tendon "{names.tendons[number]}" is no sum of joint coordinates'
            reading.notes.lose(f"{what}; the equality is left out", line)
            return
        sums.append((terms, float(model.tendon_length0[number])))
    if second == first:
        reading.notes.ignore("equality of a joint or tendon with itself", line)
        return
    numbers = [float(entry) for entry in model.eq_data[index][:5]]
    (left, y0), (right, x0) = sums[0], sums[1] if len(sums) > 1 else ({}, 0.0)
    shared = set(left) & set(right)
    if not right or (not any(numbers[2:]) and shared):
        c0, c1 = (numbers[0], numbers[1]) if right else (numbers[0], 0.0)
        factors = {joint: left.get(joint, 0.0) - c1 * right.get(joint, 0.0) for joint in {**left, **right}}
        builder.add_coupling(name, factors, -(y0 + c0) + c1 * x0)
    elif shared:
        what = f'equality "{name}": both tendons run over {", ".join(sorted(shared))}, with a polynomial between them'
        reading.notes.lose(f"{what}; the equality is left out", line)
        return
    else:
        builder.add_coupling(name, left, -y0, polynomial=numbers, argument=right, reference=x0)
    reading.notes.couplings.append(f"{_text(left, y0, numbers, right, x0)} (equality)")


def fixed_tendon(model: Any, tendon: int, names: MjcfNames) -> dict[str, float] | None:
    """Joints and coefficients of a fixed tendon; None for a spatial one."""
    wrap = mujoco_package().mjtWrap
    terms: dict[str, float] = {}
    first = int(model.tendon_adr[tendon])
    for place in range(first, first + int(model.tendon_num[tendon])):
        if int(model.wrap_type[place]) != wrap.mjWRAP_JOINT:
            return None
        joint = names.joints[int(model.wrap_objid[place])]
        terms[joint] = terms.get(joint, 0.0) + float(model.wrap_prm[place])
    return terms


def _text(left: dict[str, float], y0: float, numbers: list[float], right: dict[str, float], x0: float) -> str:
    """The relation as a line of the report."""

    def words(terms: dict[str, float]) -> str:
        return " + ".join(joint if factor == 1.0 else f"{factor:g} x {joint}" for joint, factor in terms.items())

    if not right:
        return f"{words(left)} = {y0 + numbers[0]:g}"
    if not any(numbers[2:]):
        inner = words(right) if len(right) == 1 and next(iter(right.values())) == 1.0 else f"({words(right)})"
        return f"{words(left)} = {numbers[1]:g} x {inner} {y0 + numbers[0] - numbers[1] * x0:+g}"
    return f"{words(left)} - {y0:g} = polynomial {' '.join(f'{c:g}' for c in numbers)} of {words(right)} - {x0:g}"
