"""Links and joints of a URDF as a tree: names, parents, roots, cycles and mimics are checked, links ordered."""

from __future__ import annotations

from collections.abc import Sequence

from setsu.errors import nearest_names
from setsu.model_files.fields import Problems
from setsu.model_files.reading import Reading
from setsu.model_files.urdf_joints import UrdfJoint
from setsu.model_files.urdf_links import UrdfLink

__all__ = ["order_links"]


def order_links(
    links: Sequence[UrdfLink], joints: Sequence[UrdfJoint], reading: Reading
) -> list[tuple[UrdfLink, UrdfJoint | None]]:
    """Return every link with the joint above it (None for the root), depth first, children in document order.

    Whatever keeps the links from being one tree is added to the problems.
    """
    problems = reading.problems
    by_name = _unique(links, "link", problems)
    _check_mimics(_unique(joints, "joint", problems), reading)
    above: dict[str, UrdfJoint] = {}
    below: dict[str, list[UrdfJoint]] = {name: [] for name in by_name}
    for joint in joints:
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link and link not in by_name:
                hint = nearest_names(link, by_name)
                problems.add(joint.line, f'joint "{joint.name}": unknown {end} link "{link}"{hint}')
        if joint.child in above:
            first = above[joint.child]
            problems.add(
                joint.line,
                f'link "{joint.child}" is the child of joint "{joint.name}" and of "{first.name}" (line {first.line}), '
                "expected one parent",
            )
        elif joint.child in by_name and joint.parent in by_name:
            above[joint.child] = joint
            below[joint.parent].append(joint)
    children = {joint.child for joint in joints}
    roots = [link for link in by_name.values() if link.name not in children]
    if len(roots) > 1:
        named = ", ".join(f'"{root.name}" (line {root.line})' for root in roots[:6])
        problems.add(roots[1].line, f"got {len(roots)} root links, {named}, expected one link without a parent")
    ordered = _depth_first(roots[:1], by_name, above, below)
    _check_cycles(by_name, above, problems)
    return ordered


def _unique(items: Sequence, kind: str, problems: Problems) -> dict:
    """Index by name; a second use of a name is a problem."""
    found: dict = {}
    for item in items:
        if item.name in found:
            first = found[item.name].line
            problems.add(item.line, f'{kind} "{item.name}": the name is taken in line {first}, expected unique names')
        elif item.name:
            found[item.name] = item
    return found


def _depth_first(
    roots: Sequence[UrdfLink],
    by_name: dict[str, UrdfLink],
    above: dict[str, UrdfJoint],
    below: dict[str, list[UrdfJoint]],
) -> list[tuple[UrdfLink, UrdfJoint | None]]:
    ordered = []
    waiting = list(roots)
    while waiting:
        link = waiting.pop()
        ordered.append((link, above.get(link.name)))
        waiting.extend(by_name[joint.child] for joint in reversed(below[link.name]))
    return ordered


def _check_cycles(by_name: dict[str, UrdfLink], above: dict[str, UrdfJoint], problems: Problems) -> None:
    """Follow the parents of every link; a walk that meets itself is a cycle."""
    clear: set[str] = set()
    for start in by_name:
        walk: dict[str, None] = {}
        name = start
        while name not in clear and name not in walk and name in above:
            walk[name] = None
            name = above[name].parent
        if name in walk:
            names = list(walk)
            cycle = [*reversed(names[names.index(name) :])]
            shown = " -> ".join(f'"{link}"' for link in [*cycle[-1:], *cycle][:8])
            problems.add(above[name].line, f"links form a cycle: {shown}, expected a tree; close loops after loading")
        clear.update(walk)


def _check_mimics(joints: dict[str, UrdfJoint], reading: Reading) -> None:
    """A mimicked joint must have one coordinate; no joint may mimic itself, directly or in a ring.

    A mimicked joint that does not exist is only doubtful: published robots have such leftovers.
    """
    problems = reading.problems
    targets: dict[str, str] = {}
    for joint in joints.values():
        if joint.mimic is None or not joint.mimic.joint:
            continue
        target = joints.get(joint.mimic.joint)
        what = f'joint "{joint.name}": mimic of'
        if target is None:
            hint = nearest_names(joint.mimic.joint, joints)
            doubt = f'{what} unknown joint "{joint.mimic.joint}"{hint}; it stays independent'
            reading.notes.doubt(f"line {joint.mimic.line}: {doubt}")
        elif target.joint.nv != 1:
            kind = type(target.joint).__name__.lower()
            problems.add(joint.mimic.line, f'{what} {kind} joint "{target.name}", expected a joint of one coordinate')
        else:
            targets[joint.name] = target.name
    clear: set[str] = set()
    for start in targets:
        walk: dict[str, None] = {}
        name = start
        while name in targets and name not in walk and name not in clear:
            walk[name] = None
            name = targets[name]
        if name in walk:
            mimic = joints[name].mimic
            names = list(walk)
            ring = " -> ".join(f'"{entry}"' for entry in [*names[names.index(name) :], name][:8])
            problems.add(mimic.line if mimic else 0, f"joints mimic each other in a ring: {ring}")
        clear.update(walk)
