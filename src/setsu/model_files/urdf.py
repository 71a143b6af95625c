"""URDF into a mechanism: a strict reader that keeps line numbers and reports all problems of a file at once."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

from numpy.typing import ArrayLike

from setsu.errors import InputError
from setsu.mechanism.builder import MechanismBuilder
from setsu.mechanism.elements import WORLD
from setsu.mechanism.joints import Fixed, Free
from setsu.mechanism.record import Mechanism
from setsu.model_files.fields import Problems, name_of
from setsu.model_files.meshes import MeshFinder
from setsu.model_files.reading import Reading, free_name
from setsu.model_files.report import LoadReport, Notes
from setsu.model_files.urdf_joints import UrdfJoint, read_joint
from setsu.model_files.urdf_links import UrdfLink, read_link, read_materials
from setsu.model_files.urdf_loops import add_closures, read_closures, refuse_unknown_topology
from setsu.model_files.urdf_tree import order_links
from setsu.model_files.xml_tree import Element

__all__ = ["mechanism_from_urdf"]

OrderedLinks = list[tuple[UrdfLink, UrdfJoint | None]]


def mechanism_from_urdf(
    robot: Element,
    path: str,
    *,
    floating_base: bool = False,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    repair: bool = False,
    snap_angles: bool = True,
) -> tuple[Mechanism, LoadReport]:
    """Make a mechanism of a parsed URDF; ModelFileError with every problem when it is not a tree of valid links.

    The root link is fixed to the world by a joint "world_fixed", or free by "root_joint" with `floating_base`. A bare
    root link called "world" is the world itself.
    """
    notes = Notes(path, "URDF")
    reading = Reading(Problems(path), notes, MeshFinder(path, package_dirs), repair, snap_angles)
    problems = reading.problems
    if robot.tag != "robot":
        problems.add(robot.line, f"root element <{robot.tag[:40]}>, expected <robot>")
        problems.check()
    name = name_of(robot, problems)
    colors = read_materials(robot, reading)
    links = [read_link(element, colors, reading) for element in robot.take("link")]
    joints = [read_joint(element, reading) for element in robot.take("joint")]
    closures = read_closures(robot, reading)
    refuse_unknown_topology(robot, reading)
    if not links:
        problems.add(robot.line, f'robot "{name}": got no <link>, expected at least one')
    for what, line in robot.unused():
        if "xacro:" in what and not _is_cosmetic(what):
            problems.add(
                line,
                f"<{what}>: an unexpanded xacro element, expected plain URDF; expand it with `xacro file > out.urdf`, "
                'or load the .xacro file itself (pip install "setsu[xacro]")',
            )
    notes.ignore_unread(robot)
    ordered = order_links(links, joints, reading)
    problems.check()

    builder = MechanismBuilder(name, gravity)
    builder.warns_of_inertias = False
    names = _add_bodies(builder, ordered, floating_base, reading)
    problems.check()
    _add_couplings(builder, ordered, reading)
    add_closures(builder, closures, {link.name: joint for link, joint in ordered if joint is not None}, names, reading)
    problems.check()
    notes.notes += [f'link "{old}" is called "{new}" here' for old, new in names.items() if new not in (old, WORLD)]
    mechanism = dataclasses.replace(
        builder.build(),
        independent=tuple(joint.name for joint in joints if joint.is_independent),
        missing=tuple(notes.missing),
    )
    return mechanism, notes.finish()


def _is_cosmetic(what: str) -> bool:
    """Whether something nobody read belongs to the looks of a link."""
    return any(part.split("[")[0] in ("visual", "collision", "material") for part in what.split("/")[:-1])


def _add_bodies(
    builder: MechanismBuilder, ordered: OrderedLinks, floating_base: bool, reading: Reading
) -> dict[str, str]:
    """Add a body per link and return link name -> body name."""
    names = {link.name: link.name for link, _ in ordered}
    joint_names = {joint.name for _, joint in ordered if joint is not None}
    root = ordered[0][0]
    if WORLD in names:
        # A frame to hang the robot on is the mechanism's own world; a link with substance must stay a body.
        is_frame = root.name == WORLD and root.is_bare and not floating_base
        names[WORLD] = WORLD if is_frame else free_name("world_link", set(names))
    for link, above in ordered:
        if names[link.name] == WORLD:
            continue
        if above is not None:
            parent, joint, placement = names[above.parent], above.joint, above.placement
        else:
            parent, placement = WORLD, None
            joint = Free(name=free_name("root_joint", joint_names)) if floating_base else None
            joint = joint or Fixed(name=free_name("world_fixed", joint_names))
        try:
            builder.add_body(
                names[link.name], parent, joint, placement, link.mass, link.center_of_mass, link.inertia,
                visuals=link.visuals, collisions=link.collisions,
            )  # fmt: skip
        except InputError as error:
            reading.problems.add(link.line, str(error))
            break
    return names


def _add_couplings(builder: MechanismBuilder, ordered: OrderedLinks, reading: Reading) -> None:
    """Turn every mimic into a coupling: coordinate - multiplier x mimicked coordinate - offset = 0."""
    known = {joint.name for _, joint in ordered if joint is not None}
    for _, joint in ordered:
        if joint is None or joint.mimic is None or joint.mimic.joint not in known:
            continue
        mimic = joint.mimic
        try:
            builder.add_coupling(
                f"{joint.name}_mimic", {joint.name: 1.0, mimic.joint: -mimic.multiplier}, offset=-mimic.offset
            )
        except InputError as error:
            reading.problems.add(mimic.line, str(error))
        text = f"{joint.name} = {mimic.multiplier:g} x {mimic.joint} {mimic.offset:+g} (mimic)"
        reading.notes.couplings.append(text)
