"""SDF into a mechanism: links and joints as a graph; joints beyond a spanning tree close loops.

Of the joints to a link the first in the file holds it in the tree; the others close loops. A model without a joint to
the world floats. Joint frames away from the origin of the child link get a massless carrier, so that every link keeps
its own frame. Source: sdformat.org, specification 1.4 to 1.12, and the proposals on pose and frame semantics.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from setsu.errors import InputError
from setsu.mechanism.builder import MechanismBuilder
from setsu.mechanism.elements import WORLD
from setsu.mechanism.joints import Fixed, Free, Joint, Prismatic, Revolute
from setsu.mechanism.record import Mechanism
from setsu.model_files.fields import Problems, name_of
from setsu.model_files.meshes import MeshFinder
from setsu.model_files.reading import Reading, free_name
from setsu.model_files.report import LoadReport, Notes
from setsu.model_files.sdf_fields import child_flag, child_numbers, read_pose
from setsu.model_files.sdf_frames import MODEL, FrameGraph, Matrix
from setsu.model_files.sdf_joints import Gearbox, SdfJoint, read_joint
from setsu.model_files.sdf_links import SdfLink, read_link
from setsu.model_files.xml_tree import Element
from setsu.spatial import inverse_placement, placement, quaternion_from_rotation

__all__ = ["mechanism_from_sdf"]

ANCHOR_TOLERANCE = 1e-12
DEFAULT_GRAVITY = (0.0, 0.0, -9.81)


def mechanism_from_sdf(
    root: Element,
    path: str,
    *,
    gravity: ArrayLike | None = None,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    repair: bool = False,
    snap_angles: bool = True,
) -> tuple[Mechanism, LoadReport]:
    """Make a mechanism of a parsed SDF document with one model; ModelFileError with every problem."""
    notes = Notes(path, "SDF")
    reading = Reading(Problems(path), notes, MeshFinder(path, package_dirs), repair, snap_angles)
    root.get("version")
    model, own_gravity = _only_model(root, reading)
    reading.problems.check()
    content = _Model(reading)
    content.read(model, "", np.eye(4), "")
    content.resolve()
    name = name_of(model, reading.problems)
    reading.problems.check()
    base, _ = read_pose(model, reading)
    reference: list[float] = []
    builder = MechanismBuilder(name, own_gravity if gravity is None else gravity)
    builder.warns_of_inertias = False
    try:
        reference = content.build(builder, base, child_flag(model, "static", reading))
    except InputError as error:
        reading.problems.add(model.line, str(error))
    reading.problems.check()
    notes.ignore_unread(root)
    mechanism = dataclasses.replace(builder.build(), reference=tuple(reference), missing=tuple(notes.missing))
    return mechanism, notes.finish()


def _only_model(root: Element, reading: Reading) -> tuple[Element, tuple[float, ...]]:
    """The one <model> of the document, in a <world> or not, and the world's gravity."""
    gravity: tuple[float, ...] = DEFAULT_GRAVITY
    models = list(root.take("model"))
    for world in root.take("world"):
        models += world.take("model")
        gravity = tuple(child_numbers(world, "gravity", 3, reading, DEFAULT_GRAVITY))
        for tag in ("include", "joint"):
            for element in world.take(tag):
                reading.problems.add(element.line, f"<{tag}> in a <world>: expected one complete <model>")
    if len(models) != 1:
        names = ", ".join(model.attributes.get("name", "?") for model in models[:6])
        got = f"got {len(models)} models ({names})" if models else "got no <model>"
        reading.problems.add(root.line, f"{got}, expected one")
    return (models[0] if models else root), gravity


class _Model:
    """Links, joints and frames of a model and the models inside it; names inside are "model::name"."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.frames = FrameGraph(reading)
        self.links: dict[str, SdfLink] = {}
        self.joints: list[SdfJoint] = []
        self.gears: list[Gearbox] = []
        self.sites: list[tuple[str, int]] = []
        self.canonical = ""

    def read(self, model: Element, scope: str, _pose: Matrix, own_frame: str) -> None:
        """Read one model; `scope` stands before its names, `own_frame` is its __model__ in the graph."""
        reading = self.reading
        inside = own_frame or MODEL

        def named(name: str) -> str:
            return inside if name in ("", MODEL) else name if name == "world" else scope + name

        if model.get("placement_frame"):
            reading.problems.add(model.line, "placement_frame of a model, expected a <pose> of the model itself")
        for tag in ("include", "gripper"):
            for element in model.take(tag):
                if tag == "include":
                    reading.problems.add(element.line, "<include>, expected the included model itself in the file")
        self.canonical = self.canonical or (scope + (model.get("canonical_link") or "") if not scope else "")
        for element in model.take("link"):
            name = scope + name_of(element, reading.problems)
            T, relative = read_pose(element, reading)
            self.frames.add(name, T, named(relative), element.line, name)
            self.links[name] = read_link(element, name, reading)
        for element in model.take("frame"):
            name = scope + name_of(element, reading.problems)
            T, relative = read_pose(element, reading)
            attached = element.get("attached_to") or ""
            carrier = named(attached) if attached else inside
            self.frames.add(name, T, named(relative) if relative else carrier, element.line, carrier)
            self.sites.append((name, element.line))
        for element in model.take("joint"):
            found = read_joint(element, scope, named, reading)
            if isinstance(found, Gearbox):
                self.gears.append(found)
            elif found is not None:
                self.joints.append(found)
                self.frames.add(found.name, found.pose, found.relative_to or found.child, element.line, found.child)
        for element in model.take("model"):
            name = scope + name_of(element, reading.problems)
            T, relative = read_pose(element, reading)
            first = next((link for link in element.children if link.tag == "link"), None)
            carrier = f"{name}::{first.attributes.get('name', '')}" if first is not None else inside
            self.frames.add(name, T, named(relative), element.line, carrier)
            self.read(element, f"{name}::", T, name)

    def resolve(self) -> None:
        """Find the poses of all frames and the links that joints hold."""
        for name in self.links:
            self.frames.pose(name, self.links[name].line)
        for joint in self.joints:
            self.frames.pose(joint.name, joint.line)
            joint.parent_link = self.frames.carrier(joint.parent, joint.line)
            joint.child_link = self.frames.carrier(joint.child, joint.line)
            joint.axes = tuple(
                self.frames.pose(axis.expressed_in or joint.name, joint.line)[:3, :3] @ np.array(axis.xyz)
                for axis in joint.given_axes
            )
            if joint.child_link == WORLD:
                self.reading.problems.add(joint.line, f'joint "{joint.name}": the child is the world')
            if joint.parent_link == joint.child_link:
                self.reading.problems.add(joint.line, f'joint "{joint.name}" joins "{joint.child_link}" with itself')
        for gear in self.gears:
            gear.bodies = tuple(self.frames.carrier(name, gear.line) for name in gear.given_bodies)
            gear.axes = tuple(
                self.frames.pose(axis.expressed_in or gear.child, gear.line)[:3, :3] @ np.array(axis.xyz)
                for axis in gear.given_axes
            )

    def build(self, builder: MechanismBuilder, base: Matrix, is_static: bool) -> list[float]:
        """Add everything to the builder; `base` is the model in the world. Returns the configuration drawn."""
        tree = self._spanning_tree()
        reference: list[float] = []
        joint_names = {joint.name for joint in self.joints}
        taken = {*self.links}
        placed: dict[str, str] = {}
        loops = [joint for joint in self.joints if joint not in tree.values()]
        for name in self._order(tree):
            link, joint = self.links[name], tree.get(name)
            T = self.frames.known[name]
            content = {
                "mass": link.mass,
                "center_of_mass": link.center_of_mass,
                "inertia": link.inertia,
                "visuals": link.visuals,
                "collisions": link.collisions,
            }
            if joint is None:
                if is_static:
                    root: Joint = Fixed(name=free_name(f"{name}_world", joint_names))
                    builder.add_body(name, WORLD, root, base @ T, **content)
                else:
                    root = Free(name=free_name("root_joint", joint_names))
                    builder.add_body(name, WORLD, root, None, **content)
                    drawn = base @ T
                    reference += [*drawn[:3, 3].tolist(), *quaternion_from_rotation(drawn[:3, :3]).tolist()]
                joint_names.add(root.name)
                continue
            parent = joint.parent_link
            T_parent = inverse_placement(base) if parent == WORLD else self.frames.known[parent]
            made, anchor = joint.made(T[:3, :3].T), (inverse_placement(T) @ self.frames.known[joint.name])[:3, 3]
            anchor = _nearest_anchor(made, anchor)
            at = inverse_placement(T_parent) @ T
            reference += [0.0] * made.nq if made.nq == made.nv else [0.0] * (made.nq - 1) + [1.0]
            if not anchor.any():
                builder.add_body(name, parent, made, at, **content)
            else:
                carrier = free_name(f"{name}_{made.name}", taken)
                taken.add(carrier)
                builder.add_body(carrier, parent, made, at @ placement(anchor))
                fixed = Fixed(name=free_name(f"{name}_fixed", joint_names))
                joint_names.add(fixed.name)
                builder.add_body(name, carrier, fixed, placement(-anchor), **content)
            placed[joint.name] = name
        for joint in loops:
            self._add_loop(builder, joint, base)
        for name, line in self.sites:
            carrier = self.frames.carrier(name, line)
            T_carrier = inverse_placement(base) if carrier in (WORLD, MODEL) else self.frames.known[carrier]
            body = WORLD if carrier in (WORLD, MODEL) else carrier
            builder.add_site(name, body, inverse_placement(T_carrier) @ self.frames.pose(name, line))
        self._add_mimics(builder)
        for gear in self.gears:
            self._add_gear(builder, gear, tree)
        return reference

    def _add_loop(self, builder: MechanismBuilder, joint: SdfJoint, base: Matrix) -> None:
        """A joint beyond the tree, at its frame on both links."""
        T = self.frames.known[joint.name]
        ends = [
            inverse_placement(inverse_placement(base) if link == WORLD else self.frames.known[link]) @ T
            for link in (joint.parent_link, joint.child_link)
        ]
        builder.add_loop(joint.name, joint.parent_link, joint.child_link, joint.made(T[:3, :3].T), *ends)

    def _spanning_tree(self) -> dict[str, SdfJoint]:
        """The joint that holds each link: the first one to it in the file that closes no ring of parents."""
        tree: dict[str, SdfJoint] = {}
        for joint in self.joints:
            link = joint.parent_link
            while link in tree and link != joint.child_link:
                link = tree[link].parent_link
            if joint.child_link not in tree and joint.child_link != self.canonical and link != joint.child_link:
                tree[joint.child_link] = joint
        return tree

    def _order(self, tree: dict[str, SdfJoint]) -> list[str]:
        """Links, parents first, in the order of the file."""
        below: dict[str, list[str]] = {}
        for name in self.links:
            below.setdefault(tree[name].parent_link if name in tree else "", []).append(name)
        roots = [*below.get(WORLD, []), *below.get("", [])]
        ordered, waiting = [], list(reversed(roots))
        while waiting:
            name = waiting.pop()
            ordered.append(name)
            waiting.extend(reversed(below.get(name, [])))
        return ordered

    def _add_mimics(self, builder: MechanismBuilder) -> None:
        for joint in self.joints:
            for leader, multiplier, offset, reference in joint.mimics:
                builder.add_coupling(
                    f"{joint.name}_mimic", {joint.name: 1.0, leader: -multiplier}, multiplier * reference - offset
                )
                self.reading.notes.couplings.append(f"{joint.name} = {multiplier:g} x {leader} (mimic)")

    def _add_gear(self, builder: MechanismBuilder, gear: Gearbox, tree: dict[str, SdfJoint]) -> None:
        """theta_2 = -ratio theta_1, the angles of child and parent against the reference body."""
        reference, parent, child = gear.bodies
        factors: dict[str, float] = {}
        for link, axis, weight in ((parent, gear.axes[0], gear.ratio), (child, gear.axes[1], 1.0)):
            for joint, sign in _way(reference, link, tree):
                made = joint.made(np.eye(3))
                if isinstance(made, Fixed):
                    continue
                along = float(joint.axes[0] @ axis) / float(np.linalg.norm(joint.axes[0]) * np.linalg.norm(axis))
                if not isinstance(made, Revolute) or abs(abs(along) - 1.0) > 1e-6:
                    self.reading.problems.add(
                        gear.line,
                        f'gearbox "{gear.name}": joint "{joint.name}" between "{reference}" and "{link}" does not turn '
                        "about the gearbox's axis, expected parallel revolute joints",
                    )
                    return
                factors[joint.name] = factors.get(joint.name, 0.0) + weight * sign * round(along)
        builder.add_coupling(gear.name, factors)
        self.reading.notes.couplings.append(f"{child} = {-gear.ratio:g} x {parent} against {reference} (gearbox)")


def _way(start: str, end: str, tree: dict[str, SdfJoint]) -> list[tuple[SdfJoint, float]]:
    """Joints from one link to another through the tree; -1 where the way goes up."""

    def up(link: str) -> list[SdfJoint]:
        joints = []
        while link in tree:
            joints.append(tree[link])
            link = tree[link].parent_link
        return joints

    rising, falling = up(start), up(end)
    return [(joint, -1.0) for joint in rising if joint not in falling] + [
        (joint, 1.0) for joint in falling if joint not in rising
    ]


def _nearest_anchor(joint: Joint, anchor: Any) -> Any:
    """Where the joint's frame has to be on the child link: nowhere in particular along its axis or for a slide."""
    if isinstance(joint, (Fixed, Prismatic)):
        return np.zeros(3)
    if isinstance(joint, Revolute):
        axis = np.array(joint.axis)
        anchor = anchor - axis * float(axis @ anchor)
    return anchor if np.abs(anchor).max() > ANCHOR_TOLERANCE else np.zeros(3)
