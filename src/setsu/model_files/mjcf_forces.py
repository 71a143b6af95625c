"""What exerts force in a compiled MJCF model besides joints: gravity compensation, tendons, the fluid."""

from __future__ import annotations

from typing import Any

import numpy as np

from setsu.mechanism.builder import MechanismBuilder
from setsu.mechanism.elements import Pose
from setsu.mechanism.force_elements import Fluid, FluidBox, Segment
from setsu.model_files.mjcf_bodies import MjcfNames, Switches
from setsu.model_files.mjcf_lines import Lines
from setsu.model_files.mjcf_shapes import mjcf_placement
from setsu.model_files.mujoco_package import mujoco_package
from setsu.model_files.reading import Reading

__all__ = ["add_fluid", "add_tendons", "compensation_is_actuated"]

# MuJoCo's smallest mass: lighter bodies feel no fluid.
LEAST_MASS = 1e-15


def compensation_is_actuated(model: Any, names: MjcfNames, lines: Lines, reading: Reading) -> bool:
    """Return whether the joints' actuators hold the weight that the bodies' `gravcomp` takes away."""
    moved: set[int] = set()
    for body in np.flatnonzero(model.body_gravcomp).tolist():
        while body > 0:
            first = int(model.body_jntadr[body])
            moved.update(range(first, first + int(model.body_jntnum[body])) if first >= 0 else ())
            body = int(model.body_parentid[body])
    flagged = {joint for joint in moved if model.jnt_actgravcomp[joint]}
    if not flagged:
        return False
    if flagged != moved:
        others = ", ".join(f'"{names.joints[joint]}"' for joint in sorted(moved - flagged)[:5])
        name = names.joints[min(flagged)]
        reading.notes.lose(
            f'joint "{name}" actuatorgravcomp: the force limits of its actuators do not hold for the compensation, '
            f"since joints that carry the same bodies are not flagged ({others})",
            lines.of("joint", name),
        )
        return False
    return True


def add_tendons(
    builder: MechanismBuilder, model: Any, names: MjcfNames, switches: Switches, lines: Lines, reading: Reading
) -> set[int]:
    """Add every tendon that is a sum of joint coordinates or of straight lines; return the numbers of these."""
    used: set[int] = set()
    driven = {int(target[0]) for kind, target in zip(model.actuator_trntype, model.actuator_trnid, strict=True)
              if int(kind) == mujoco_package().mjtTrn.mjTRN_TENDON}  # fmt: skip
    for index in range(model.ntendon):
        name = names.tendons[index]
        stiffness = float(model.tendon_stiffness[index]) if switches.springs else 0.0
        damping = float(model.tendon_damping[index]) if switches.dampers else 0.0
        limited = bool(model.tendon_limited[index])
        line = lines.of("spatial", name) or lines.of("fixed", name)
        joints, segments, problem = _path(model, index, names)
        if problem:
            if stiffness or damping or limited or index in driven:
                reading.notes.lose(f'tendon "{name}": it {problem}, and is left out with all its forces', line)
            continue
        _lose_parts(model, index, name, limited, line, reading)
        lower, upper = model.tendon_range[index].tolist() if limited else (-np.inf, np.inf)
        rest = tuple(model.tendon_lengthspring[index].tolist())
        builder.add_tendon(
            name, joints, segments, stiffness=stiffness, rest=rest, damping=damping, lower=lower, upper=upper
        )
        used.add(index)
    return used


def _lose_parts(model: Any, index: int, name: str, limited: bool, line: int, reading: Reading) -> None:
    """Note what a tendon has and ours does not."""
    for field, what in (
        ("tendon_armature", "armature"),
        ("tendon_frictionloss", "frictionloss"),
        ("tendon_actfrclimited", "actuatorfrcrange"),
        ("tendon_stiffnesspoly", "stiffness of higher order"),
        ("tendon_dampingpoly", "damping of higher order"),
    ):
        if hasattr(model, field) and np.any(getattr(model, field)[index]):
            reading.notes.lose(f'tendon "{name}": its {what} is not used', line)
    if limited:
        low, high = model.tendon_range[index].tolist()
        reading.notes.lose(f'tendon "{name}": its limits {low:g} to {high:g} are kept as data and not enforced', line)


def _path(model: Any, index: int, names: MjcfNames) -> tuple[dict[str, float], list[Segment], str]:
    """Return the joints and the segments of a tendon, or why there are none."""
    kinds = mujoco_package().mjtWrap
    joints: dict[str, float] = {}
    segments: list[Segment] = []
    first = int(model.tendon_adr[index])
    divisor, last = 1.0, -1
    for wrap in range(first, first + int(model.tendon_num[index])):
        kind, target = kinds(int(model.wrap_type[wrap])), int(model.wrap_objid[wrap])
        number = float(model.wrap_prm[wrap])
        if kind == kinds.mjWRAP_JOINT:
            joints[names.joints[target]] = joints.get(names.joints[target], 0.0) + number
        elif kind == kinds.mjWRAP_PULLEY:
            divisor, last = number, -1
        elif kind == kinds.mjWRAP_SITE:
            if last >= 0:
                ends = [
                    (names.bodies[int(model.site_bodyid[site])], tuple(model.site_pos[site].tolist()))
                    for site in (last, target)
                ]
                segments.append(Segment(*ends[0], *ends[1], 1.0 / divisor))
            last = target
        else:
            return {}, [], f"wraps around a geom ({kind.name.removeprefix('mjWRAP_').lower()})"
    joints = {joint: number for joint, number in joints.items() if number}
    return joints, segments, "" if joints or segments else "has no path"


def add_fluid(builder: MechanismBuilder, model: Any, names: MjcfNames, lines: Lines, reading: Reading) -> None:
    """Let the file's medium act on the box of each body's inertia."""
    density, viscosity = float(model.opt.density), float(model.opt.viscosity)
    if not density and not viscosity:
        return
    boxes: list[FluidBox] = []
    for body in range(1, model.nbody):
        mass = float(model.body_mass[body])
        if mass < LEAST_MASS:
            continue
        first = int(model.body_geomadr[body])
        geoms = slice(first, first + int(model.body_geomnum[body])) if first >= 0 else slice(0, 0)
        if np.any(model.geom_fluid[geoms, 0] > 0):
            name = names.bodies[body]
            reading.notes.lose(
                f'body "{name}": fluidshape="ellipsoid" of its geoms is not used', lines.of("body", name)
            )
            continue
        a, b, c = model.body_inertia[body].tolist()
        edges = [max(LEAST_MASS, 0.5 * value) for value in (b + c - a, a + c - b, a + b - c)]
        x, y, z = (float(np.sqrt(value / mass * 12.0)) for value in edges)
        frame = mjcf_placement(model.body_ipos[body], model.body_iquat[body])
        boxes.append(FluidBox(names.bodies[body], (x, y, z), Pose.of(frame, "fluid box")))
    wind = tuple(model.opt.wind.tolist())
    builder.set_fluid(Fluid(density, viscosity, wind, tuple(boxes)))
