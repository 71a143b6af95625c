"""Bodies and joints of a compiled MJCF model into a mechanism builder.

MuJoCo lets a body have several joints, each about its own anchor. Here every joint moves one body: a body with
several joints becomes a chain, massless but for the last. A hinge that does not pass through the origin of its body
moves a massless carrier at the anchor, and the body is fixed to the carrier, so that every body keeps MuJoCo's frame.

A coordinate q here is MuJoCo's qpos (its `ref` is folded into the placement); quaternions are x y z w instead of
w x y z; a free joint's q is the pose in the world, and its linear velocity is in body axes, MuJoCo's in world axes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.mechanism.builder import MechanismBuilder
from setsu.mechanism.elements import WORLD
from setsu.mechanism.joints import Fixed, Free, Joint, Prismatic, Revolute, Spherical
from setsu.mechanism.xml_writing import FARTHEST
from setsu.model_files.mjcf_lines import Lines
from setsu.model_files.mjcf_shapes import mjcf_placement, shapes_of_body
from setsu.model_files.mujoco_package import mujoco_package
from setsu.model_files.reading import Reading, checked_inertia, free_name
from setsu.spatial import axis_angle_rotation, placement

__all__ = ["MjcfNames", "Switches", "add_bodies", "add_sites", "joint_order", "name_all"]

ANCHOR_TOLERANCE = 1e-12


@dataclass(frozen=True)
class MjcfNames:
    """Names by MuJoCo's numbers; what has none in the file gets one: `given`, by kind and number."""

    bodies: list[str]
    joints: list[str]
    sites: list[str]
    tendons: list[str]
    given: dict[str, dict[int, str]]


@dataclass(frozen=True)
class Switches:
    """Which passive forces the file's <flag> element leaves on."""

    springs: bool
    dampers: bool
    dry_friction: bool

    @property
    def others(self) -> bool:
        """Whether gravity is compensated and the fluid acts: MuJoCo ends both with springs and dampers together."""
        return self.springs or self.dampers


def name_all(model: Any) -> MjcfNames:
    """Collect the names of bodies and joints, and make the missing ones."""
    mujoco = mujoco_package()
    bodies = [WORLD]
    given = {_name(model, mujoco.mjtObj.mjOBJ_BODY, index) for index in range(model.nbody)}
    for index in range(1, model.nbody):
        own = _name(model, mujoco.mjtObj.mjOBJ_BODY, index)
        bodies.append(own or free_name(f"body{index}", given))
    joints: list[str] = []
    given = {_name(model, mujoco.mjtObj.mjOBJ_JOINT, index) for index in range(model.njnt)}
    for index in range(model.njnt):
        own = _name(model, mujoco.mjtObj.mjOBJ_JOINT, index)
        joints.append(own or free_name(f"{bodies[model.jnt_bodyid[index]]}_joint", given))
        given.add(joints[-1])
    sites = _numbered(model, mujoco.mjtObj.mjOBJ_SITE, model.nsite, "site")
    tendons = _numbered(model, mujoco.mjtObj.mjOBJ_TENDON, model.ntendon, "tendon")
    kinds = mujoco.mjtObj
    made = {"body": bodies, "joint": joints, "site": sites, "tendon": tendons}
    given = {
        kind: {k: name for k, name in enumerate(made[kind]) if not _name(model, number, k)}
        for kind, number in (
            ("body", kinds.mjOBJ_BODY),
            ("joint", kinds.mjOBJ_JOINT),
            ("site", kinds.mjOBJ_SITE),
            ("tendon", kinds.mjOBJ_TENDON),
        )
    }
    return MjcfNames(bodies, joints, sites, tendons, {kind: found for kind, found in given.items() if found})


def _numbered(model: Any, kind: Any, count: int, stem: str) -> list[str]:
    """Names of one kind of element; those without get a number."""
    given = {_name(model, kind, index) for index in range(count)}
    return [_name(model, kind, index) or free_name(f"{stem}{index + 1}", given) for index in range(count)]


def add_bodies(
    builder: MechanismBuilder,
    model: Any,
    names: MjcfNames,
    switches: Switches,
    mesh_folder: str,
    lines: Lines,
    reading: Reading,
) -> list[float]:
    """Add every body and return the file's reference configuration (qpos0) in the order of this mechanism."""
    reference: list[float] = []
    taken = set(names.bodies)
    joint_names = set(names.joints)
    folder = str(reading.meshes.folder)
    for body in range(1, model.nbody):
        name = names.bodies[body]
        parent = names.bodies[model.body_parentid[body]]
        # The joint frame to come, in the frame of `parent`; `origin` is where the running frame sits in body axes.
        T = mjcf_placement(model.body_pos[body], model.body_quat[body])
        origin = np.zeros(3)
        visuals, collisions = shapes_of_body(model, body, folder, mesh_folder, reading.notes)
        rotation = mjcf_placement(np.zeros(3), model.body_iquat[body])[:3, :3]
        inertia = rotation @ np.diag(model.body_inertia[body]) @ rotation.T
        center, mass = model.body_ipos[body].copy(), float(model.body_mass[body])
        content = {
            "mass": mass,
            "center_of_mass": center,
            "inertia": checked_inertia(name, mass, center, inertia, reading, lines.of("body", name)),
            "visuals": visuals,
            "collisions": collisions,
            "gravity_compensation": float(model.body_gravcomp[body]) if switches.others else 0.0,
        }
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        for index in range(first, first + count):
            joint, anchor, at_zero, start = _joint(model, index, names.joints[index], switches, lines, reading)
            reference += start
            if isinstance(joint, Free):
                T = np.eye(4)
            T = T @ placement(anchor - origin) @ at_zero
            origin = anchor
            if index == first + count - 1 and not origin.any():
                builder.add_body(name, parent, joint, T, **content)
                break
            carrier = free_name(f"{name}_{joint.name}", taken)
            taken.add(carrier)
            builder.add_body(carrier, parent, joint, T)
            parent, T = carrier, np.eye(4)
        else:
            fixed = Fixed(name=free_name(f"{name}_fixed", joint_names))
            joint_names.add(fixed.name)
            builder.add_body(name, parent, fixed, T @ placement(-origin), **content)
    return reference


def joint_order(model: Any) -> list[int]:
    """MuJoCo's joints in the order of the mechanism: body by body."""
    return [
        joint
        for body in range(1, model.nbody)
        for joint in range(int(model.body_jntadr[body]), int(model.body_jntadr[body]) + int(model.body_jntnum[body]))
    ]


def add_sites(builder: MechanismBuilder, model: Any, names: MjcfNames) -> None:
    """Add every site as a frame of its body."""
    for index, name in enumerate(names.sites):
        pose = mjcf_placement(model.site_pos[index], model.site_quat[index])
        builder.add_site(name, names.bodies[int(model.site_bodyid[index])], pose)


def _joint(
    model: Any, index: int, name: str, switches: Switches, lines: Lines, reading: Reading
) -> tuple[Joint, NDArray[np.float64], NDArray[np.float64], list[float]]:
    """Return the joint, its anchor in body axes, the placement that makes q MuJoCo's qpos, and the joint's qpos0."""
    mujoco = mujoco_package()
    kind = int(model.jnt_type[index])
    velocity = int(model.jnt_dofadr[index])
    position = int(model.jnt_qposadr[index])
    size = {mujoco.mjtJoint.mjJNT_FREE: 6, mujoco.mjtJoint.mjJNT_BALL: 3}.get(mujoco.mjtJoint(kind), 1)
    where = slice(velocity, velocity + size)
    options: dict[str, Any] = {
        "name": name,
        "armature": (model.dof_armature[where] + _from_actuators(model, index, "actuator_armature")).tolist(),
        "damping": 0.0,
        "coulomb": model.dof_frictionloss[where].tolist() if switches.dry_friction else 0.0,
    }
    for field, part, key in (("dof_dampingpoly", where, "damping"), ("jnt_stiffnesspoly", index, "stiffness")):
        # Fields that came with MuJoCo 3.5.
        if hasattr(model, field) and np.any(getattr(model, field)[part]):
            reading.notes.lose(f'joint "{name}": {key} of higher order is not used', lines.of("joint", name))
    if switches.dampers:
        options["damping"] = (model.dof_damping[where] + _from_actuators(model, index, "actuator_damping")).tolist()
    stiffness = float(model.jnt_stiffness[index]) if switches.springs else 0.0
    if size > 1:
        if model.jnt_limited[index]:
            low, high = np.degrees(model.jnt_range[index]).tolist()
            what = f'joint "{name}": the range {low:g} to {high:g} degrees of a ball joint is not used'
            reading.notes.lose(what, lines.of("joint", name))
        if stiffness:
            rest = model.qpos_spring[position : position + size + 1]
            w, x, y, z = rest[-4:].tolist()
            options |= {"stiffness": stiffness, "spring_rest": [*rest[:-4].tolist(), *_rotation_vector(w, x, y, z)]}
        start = model.qpos0[position : position + size + 1].tolist()
        start = [*start[:-4], *start[-3:], start[-4]]
        if size == 6:
            for key in ("armature", "frictionloss"):
                if getattr(model, f"dof_{key}")[velocity]:
                    what = f'joint "{name}": the {key} of a free joint acts along axes of its body, not of the world'
                    reading.notes.lose(what, lines.of("joint", name))
            return Free(**options), np.zeros(3), np.eye(4), start
        return Spherical(**options), model.jnt_pos[index].copy(), np.eye(4), start

    axis = model.jnt_axis[index].copy()
    reference = float(model.qpos0[position])
    options |= {"stiffness": stiffness, "spring_rest": float(model.qpos_spring[position]), "axis": axis}
    if model.jnt_limited[index]:
        ends = zip(("lower", "upper"), model.jnt_range[index].tolist(), strict=True)
        options |= {key: end for key, end in ends if abs(end) < FARTHEST}
    if model.jnt_actfrclimited[index]:
        low, high = model.jnt_actfrcrange[index].tolist()
        options["effort_limit"] = max(abs(low), abs(high))
        if low != -high:
            what = f'joint "{name}": actuatorfrcrange {low:g} to {high:g} is taken as ±{options["effort_limit"]:g}'
            reading.notes.lose(what, lines.of("joint", name))
    if kind == mujoco.mjtJoint.mjJNT_SLIDE:
        return Prismatic(**options), np.zeros(3), placement(-reference * axis), [reference]
    # The anchor may slide along the axis: its point nearest to the body's origin is often the origin itself.
    anchor = model.jnt_pos[index] - axis * float(axis @ model.jnt_pos[index])
    if np.abs(anchor).max() < ANCHOR_TOLERANCE:
        anchor = np.zeros(3)
    at_zero = np.eye(4)
    if reference != 0.0:
        at_zero[:3, :3] = axis_angle_rotation(axis, -reference)
    return Revolute(**options), anchor, at_zero, [reference]


def _rotation_vector(w: float, x: float, y: float, z: float) -> list[float]:
    """Rotation vector of a quaternion, rad; the short way round."""
    sine = math.sqrt(x * x + y * y + z * z)
    if sine == 0.0:
        return [0.0, 0.0, 0.0]
    factor = 2.0 * math.atan2(math.copysign(sine, w), abs(w)) / sine
    return [factor * x, factor * y, factor * z]


def _from_actuators(model: Any, joint: int, field: str) -> float:
    """Return what the actuators of a hinge or slide add to its armature or damping: gear² times their own."""
    mujoco = mujoco_package()
    if not hasattr(model, field) or int(model.jnt_type[joint]) in (
        mujoco.mjtJoint.mjJNT_FREE,
        mujoco.mjtJoint.mjJNT_BALL,
    ):
        return 0.0
    by_joint = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    values = np.ravel(getattr(model, field))
    return sum(
        float(gear[0]) ** 2 * float(value)
        for kind, target, gear, value in zip(
            model.actuator_trntype, model.actuator_trnid, model.actuator_gear, values, strict=True
        )
        if int(kind) in by_joint and target[0] == joint
    )


def _name(model: Any, kind: Any, index: int) -> str:
    mujoco = mujoco_package()
    return mujoco.mj_id2name(model, kind, index) or ""
