"""Write a mechanism as URDF: a bare link "world", one link per body; loops as <loop> of URDF+, gears as <mimic>."""

from __future__ import annotations

import math
from typing import Any

from setsu.errors import InputError
from setsu.mechanism.elements import WORLD, Body, Coupling, Loop, Pose, Shape
from setsu.mechanism.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute, own_options
from setsu.mechanism.loop_constraints import LoopConstraint
from setsu.mechanism.record import Mechanism
from setsu.mechanism.xml_writing import Losses, Node, numbers, roll_pitch_yaw, written_limit

__all__ = ["to_urdf"]

_TYPES: dict[type[Joint], str] = {
    Revolute: "revolute",
    Prismatic: "prismatic",
    Fixed: "fixed",
    Free: "floating",
    Planar: "planar",
}
_TAGS = {"second_axis": "axis2"}
_USUAL_GRAVITY = (0.0, 0.0, -9.81)


def to_urdf(mechanism: Mechanism, path: str = "text") -> str:
    """Return the URDF of a mechanism; a ModelWarning names what URDF cannot hold.

    Raises:
        InputError: a joint in the tree of a type URDF does not have; a name that its readers refuse.
    """
    losses = Losses(path)
    named = [*mechanism.bodies, *(body.joint for body in mechanism.bodies), *mechanism.loops]
    for name in (part.name for part in named):
        if not name.isprintable() or name != name.strip():
            raise InputError(f"{path}: {name!r}: URDF has printable names without outer blanks; save as .toml")
    for body in mechanism.bodies:
        if type(body.joint) not in _TYPES:
            raise InputError(
                f'{path}: joint "{body.joint.name}": URDF has no {type(body.joint).__name__} joints; '
                "save as .xml (MJCF) or .toml"
            )
    robot = Node("robot", {"name": mechanism.name})
    robot.add("link", name=WORLD)
    mimics = _mimics(mechanism, losses)
    for body in mechanism.bodies:
        _link(robot, body, losses)
        _joint(robot, body, mimics.get(body.joint.name), mechanism.independent, losses)
    if mechanism.loops:
        robot.children.append("loops in the form of URDF+ (ROAM-Lab-ND/generalized_rbda): not part of URDF 1.0")
    for loop in mechanism.loops:
        _loop(robot, loop, losses)
    _name_the_rest(mechanism, losses)
    losses.warn()
    return f'<?xml version="1.0"?>\n{robot.text()}'


def _origin(node: Node, pose: Pose) -> None:
    node.add("origin", xyz=numbers(pose.translation), rpy=numbers(roll_pitch_yaw(pose.rotation)))


def _link(robot: Node, body: Body, losses: Losses) -> None:
    link = robot.add("link", name=body.name)
    if body.mass or any(body.inertia):
        inertial = link.add("inertial")
        inertial.add("origin", xyz=numbers(body.center_of_mass), rpy="0 0 0")
        inertial.add("mass", value=numbers(body.mass))
        keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        inertial.add("inertia", **{key: numbers(value) for key, value in zip(keys, body.inertia, strict=True)})
    for tag, shapes in (("visual", body.visuals), ("collision", body.collisions)):
        for shape in shapes:
            if shape.kind == "ellipsoid":
                losses.add(f'{tag} ellipsoid of body "{body.name}"')
            else:
                _shape(link.add(tag), shape, body.name)
    if body.gravity_compensation:
        losses.add(f'gravity compensation of body "{body.name}"')


def _shape(node: Node, shape: Shape, body: str) -> None:
    _origin(node, shape.pose)
    geometry = node.add("geometry")
    match shape.kind:
        case "box":
            geometry.add("box", size=numbers(shape.size))
        case "sphere":
            geometry.add("sphere", radius=numbers(shape.size[0]))
        case "mesh":
            geometry.add("mesh", filename=shape.mesh, scale=numbers(shape.size))
        case kind:
            geometry.add(kind, radius=numbers(shape.size[0]), length=numbers(shape.size[1]))
    if shape.color and node.tag == "visual":
        rgba = (*shape.color, 1.0)[:4]
        node.add("material", name=f"{body}_{abs(hash(rgba)) % 10**6}").add("color", rgba=numbers(rgba))


def _joint(
    robot: Node, body: Body, mimic: tuple[str, float, float] | None, independent: tuple[str, ...], losses: Losses
) -> None:
    joint: Any = body.joint
    kind = _TYPES[type(joint)]
    limited = joint.nv == 1 and (math.isfinite(joint.lower[0]) or math.isfinite(joint.upper[0]))
    if kind == "revolute" and not limited:
        kind = "continuous"
    node = robot.add("joint", name=joint.name, type=kind)
    if joint.name in independent:
        node.attributes["independent"] = "true"
    _origin(node, body.pose)
    node.add("parent", link=body.parent)
    node.add("child", link=body.name)
    if kind in ("fixed", "floating"):
        if joint.nv and any(any(values) for values in (joint.damping, joint.coulomb, joint.armature, joint.stiffness)):
            losses.add(f'friction, drive or spring of joint "{joint.name}"')
        return
    node.add("axis", xyz=numbers(joint.axis))
    limits = {"effort": joint.effort_limit[0], "velocity": joint.velocity_limit[0]}
    if kind in ("revolute", "prismatic"):
        limits |= {"lower": joint.lower[0], "upper": joint.upper[0]}
    # Readers ask for effort and velocity, want <limit> of revolute and prismatic joints, and take absent ends for 0.
    if joint.nv == 1 and (kind != "continuous" or any(map(math.isfinite, limits.values()))):
        node.add("limit", **{key: numbers(written_limit(value)) for key, value in limits.items()})
    dynamics = {"damping": joint.damping, "friction": joint.coulomb, "armature": joint.armature}
    if any(any(values) for values in dynamics.values()):
        if any(len(set(values)) > 1 for values in dynamics.values()):
            losses.add(f'friction and drives of joint "{joint.name}" that differ by axis: the first is written')
        node.add("dynamics", **{key: numbers(values[0]) for key, values in dynamics.items()})
    if any(joint.stiffness):
        losses.add(f'spring of joint "{joint.name}"')
    if joint.has_bearing:
        losses.add(f'bearing friction of joint "{joint.name}"')
    if mimic is not None:
        node.add("mimic", joint=mimic[0], multiplier=numbers(mimic[1]), offset=numbers(mimic[2]))


def _mimics(m: Mechanism, losses: Losses) -> dict[str, tuple[str, float, float]]:
    """Joint -> (joint it follows, multiplier, offset) of the couplings between two joints."""
    found: dict[str, tuple[str, float, float]] = {}
    for coupling in m.couplings:
        name = _follower(coupling, found)
        if name is None:
            losses.add(f'coupling "{coupling.name}"')
            continue
        factors = dict(coupling.factors)
        (other,) = (joint for joint in factors if joint != name)
        found[name] = (other, -factors[other] / factors[name], -coupling.offset / factors[name])
    return found


def _follower(coupling: Coupling, taken: dict[str, Any]) -> str | None:
    """Which joint of a linear coupling of two can follow the other; the first where both can."""
    if coupling.polynomial or len(coupling.factors) != 2:
        return None
    names = [joint for joint, _ in coupling.factors]
    for name, other in (names, reversed(names)):
        if name not in taken and taken.get(other, ("",))[0] != name:
            return name
    return None


def _loop(robot: Node, loop: Loop, losses: Losses) -> None:
    joint: Any = loop.joint
    if isinstance(joint, LoopConstraint):
        losses.add(f'loop "{loop.name}": URDF+ has no {type(joint).__name__} that closes loops')
        return
    node = robot.add("loop", name=loop.name, type=joint.file_names[0])
    _origin(node.add("predecessor", link=loop.body_a), loop.pose_a)
    _origin(node.add("successor", link=loop.body_b), loop.pose_b)
    if joint.has_axis:
        node.add("axis", xyz=numbers(joint.axis))
    for key in own_options(type(joint)):
        value = getattr(joint, key)
        node.add(_TAGS.get(key, key), **{"value" if isinstance(value, float) else "xyz": numbers(value)})
    if any(any(getattr(joint, key)) for key in ("damping", "coulomb", "armature", "stiffness", "bearing_friction")):
        losses.add(f'friction, drive or spring of loop "{loop.name}"')


def _name_the_rest(m: Mechanism, losses: Losses) -> None:
    """Name elements that URDF has no room for."""
    if m.gravity != _USUAL_GRAVITY:
        losses.add(f"gravity {m.gravity}: give it to load()")
    for kind, elements in (("spring", m.springs), ("tendon", m.tendons), ("site", m.sites), ("actuator", m.actuators)):
        for element in elements:
            losses.add(f'{kind} "{element.name}"')
    losses.found += [f'keyframe "{key.name}"' for key in m.keys]
    if m.fluid is not None:
        losses.add("the fluid")
    if m.contact_points:
        losses.add(f"{len(m.contact_points)} contact points")
    if m.excluded:
        losses.add(f"{len(m.excluded)} pairs of bodies that never touch: an SRDF beside a URDF holds them")
    masked = [body.name for body in m.bodies if any((s.contype, s.conaffinity) != (1, 1) for s in body.collisions)]
    if masked:
        losses.add(f"contype and conaffinity of the shapes of {', '.join(masked[:5])}")
    if any(shape.material is not None for body in m.bodies for shape in body.collisions):
        losses.add("friction of collision shapes")
    if m.reference and tuple(m.reference) != tuple(m.neutral().tolist()):
        losses.add("the reference configuration")
