"""Write a mechanism as MJCF: nested bodies, loops as connect and weld between sites, couplings as equalities.

Every number is a MuJoCo default turned off or written out, so that MuJoCo and `load` compute the same dynamics. Joints
of several axes become several joints of one body: slides before hinges, as MuJoCo moves them one after the other. A
massless body that carries one other body becomes a further joint of that one: MuJoCo has no massless moving bodies.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from setsu.errors import InputError
from setsu.mechanism.elements import WORLD, Body, Coupling, Loop, Pose, Shape
from setsu.mechanism.joint_motion import direction
from setsu.mechanism.joints import Fixed, Free, Joint, Revolute, Spherical
from setsu.mechanism.record import Mechanism
from setsu.mechanism.xml_writing import Losses, Node, numbers, written_limit
from setsu.spatial import inverse_placement, quaternion_from_rotation, rotation_from_quaternion

__all__ = ["to_mjcf"]

_MESH_ENDINGS = (".stl", ".obj", ".msh")
_HIGHEST_ORDER = 4


def to_mjcf(mechanism: Mechanism, path: str = "text") -> str:
    """Return the MJCF of a mechanism; a ModelWarning names what it cannot hold.

    Raises:
        InputError: a joint MJCF cannot express (Helical, Free below another body); a moving body whose inertia MuJoCo
            refuses (none, or A + B < C).
    """
    return _Writer(mechanism, path).text()


class _Writer:
    def __init__(self, mechanism: Mechanism, path: str) -> None:
        self.m, self.path, self.losses = mechanism, path, Losses(path)
        self.root = Node("mujoco", {"model": mechanism.name})
        self.bodies: dict[str, Node] = {}
        self.meshes: dict[tuple[str, tuple[float, ...]], str] = {}
        self.sites = {site.name for site in mechanism.sites}
        # Bodies that become joints of the one they carry: (node of the parent, pose there, joints with their poses).
        self.folded: dict[str, tuple[Node, Any, list[tuple[Any, Any]]]] = {}
        self._check_inertias()

    def text(self) -> str:
        m = self.m
        self.root.add("compiler", angle="radian", autolimits="false", inertiafromgeom="false", fusestatic="false")
        option = self.root.add("option", gravity=numbers(m.gravity))
        if m.fluid is not None:
            option.attributes |= {
                "density": numbers(m.fluid.density),
                "viscosity": numbers(m.fluid.viscosity),
                "wind": numbers(m.fluid.wind),
            }
            self.losses.add("the boxes of the fluid: MuJoCo makes them of the inertias")
        self.assets = self.root.add("asset")
        self.bodies[WORLD] = self.root.add("worldbody")
        for body in m.bodies:
            self._body(body)
        for site in m.sites:
            self.bodies[site.body].add("site", name=site.name, **_pose(site.pose))
        contact = self.root.add("contact")
        for first, second in m.excluded:
            if first in self.bodies and second in self.bodies:  # those folded into others have no shapes
                contact.add("exclude", body1=first, body2=second)
        self._equalities()
        self._tendons()
        self._actuators()
        self._keys()
        for loop in m.loops:
            if any(any(getattr(loop.joint, key)) for key in ("damping", "coulomb", "armature", "stiffness")):
                self.losses.add(f'friction, drive or spring of loop "{loop.name}"')
        if m.contact_points:
            self.losses.add(f"{len(m.contact_points)} contact points")
        self.losses.warn()
        kept = ("worldbody", "compiler", "option")
        self.root.children = [
            node for node in self.root.children if isinstance(node, str) or node.tag in kept or node.children
        ]
        return self.root.text()

    def _check_inertias(self) -> None:
        """Refuse what MuJoCo would: a moving body without inertia, or with one no body can have."""
        whole: dict[str, list[Body]] = {}
        for body in self.m.bodies:
            carrier = self.m.frames[body.name].body
            if carrier >= 0:
                whole.setdefault(self.m.body_names[carrier], []).append(body)
        problems = []
        for name, parts in whole.items():
            for part in parts:
                a, b, c = np.linalg.eigvalsh(part.inertia_matrix).tolist()
                if part.mass and (a < 0.0 or a + b < c * (1.0 - 1e-12)):
                    problems.append(f'body "{part.name}" has an inertia no body can have')
            bare = not any(part.mass and np.linalg.eigvalsh(part.inertia_matrix)[0] > 1e-15 for part in parts)
            if bare and self._child_to_fold_into(parts) is None:
                problems.append(f'body "{name}" has no inertia')
        if problems:
            more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
            raise InputError(
                f"{self.path}: MuJoCo refuses such models: {'; '.join(problems[:5])}{more}; "
                "give them inertia or save as .toml"
            )

    def _child_to_fold_into(self, parts: list[Body]) -> Body | None:
        """The one body that a bare body carries."""
        (body, *others) = parts
        children = [child for child in self.m.bodies if child.parent == body.name]
        named = {end for loop in self.m.loops for end in (loop.body_a, loop.body_b)}
        named |= {end for spring in self.m.springs for end in (spring.body_a, spring.body_b)}
        named |= {end for x in self.m.tendons for piece in x.segments for end in (piece.body_a, piece.body_b)}
        named |= {site.body for site in self.m.sites}
        bare = not (body.mass or any(body.inertia) or body.visuals or body.collisions or body.name in named)
        single = bool(body.joint.nv) and _single_axes(body.joint) is not None
        if not bare or not single or len(children) != 1 or len(others) > 1:
            return None
        return None if isinstance(children[0].joint, (Free, Spherical)) else children[0]

    def _fold(self, body: Body) -> bool:
        """Keep a bare body as a joint of the one it carries, if it is one."""
        if isinstance(body.joint, Fixed) or self._child_to_fold_into([body]) is None:
            return False
        node, T, joints = self._place(body)
        self.folded[body.name] = (node, T, [*joints, (body.joint, np.eye(4))])
        return True

    def _place(self, body: Body) -> tuple[Node, Any, list[tuple[Any, Any]]]:
        """Parent's node, pose of a body there, and the joints folded into it, each with its pose in the body."""
        if body.parent not in self.folded:
            return self.bodies[body.parent], body.pose.matrix, []
        node, T, joints = self.folded[body.parent]
        back = inverse_placement(body.pose.matrix)
        return node, T @ body.pose.matrix, [(joint, back @ at) for joint, at in joints]

    def _body(self, body: Body) -> None:
        if self._fold(body):
            return
        joint: Any = body.joint
        pose = body.pose
        parent, T, before = self._place(body)
        if isinstance(joint, Free):
            if body.parent != WORLD:
                raise InputError(f'{self.path}: joint "{joint.name}": MJCF has free joints below the world only')
            if pose != Pose():
                self.losses.add(f'the placement of free joint "{joint.name}": its coordinates are those in the world')
            index = self.m.joint_index(joint.name)
            drawn = self.m.reference_configuration()[self.m.q_slices[index]]
            where = {"pos": numbers(drawn[:3]), "quat": numbers([drawn[6], *drawn[3:6]])}
        else:
            where = _pose(pose if not before else Pose.of(T, f'body "{body.name}"'))
        node = parent.add("body", name=body.name, **where)
        self.bodies[body.name] = node
        if body.gravity_compensation:
            node.attributes["gravcomp"] = numbers(body.gravity_compensation)
        self._inertial(node, body)
        for folded, at in before:
            self._joints(node, folded, at)
        self._joints(node, joint)
        for shapes, group in ((body.visuals, 2), (body.collisions, 3)):
            for shape in shapes:
                self._geom(node, shape, group)

    def _inertial(self, node: Node, body: Body) -> None:
        if not body.mass and not any(body.inertia):
            return
        moments, axes = np.linalg.eigh(body.inertia_matrix)
        if not np.any(body.inertia_matrix - np.diag(np.diag(body.inertia_matrix))):
            moments, axes = np.diag(body.inertia_matrix), np.eye(3)
        if np.linalg.det(axes) < 0.0:
            axes = axes * np.array([1.0, 1.0, -1.0])
        a, b, c = sorted(moments)
        if a + b < c:
            # A flat body off by rounding: MuJoCo compares without a tolerance.
            moments = np.where(moments == c, (a + b) * (1.0 - 1e-15), moments)
        x, y, z, w = quaternion_from_rotation(axes).tolist()
        node.add(
            "inertial",
            pos=numbers(body.center_of_mass),
            quat=numbers((w, x, y, z)),
            mass=numbers(body.mass),
            diaginertia=numbers(moments),
        )

    def _joints(self, node: Node, joint: Any, at: Any = None) -> None:
        if isinstance(joint, Fixed):
            return
        if isinstance(joint, Free):
            made = node.add("joint", name=joint.name, type="free")
            self._quaternion_options(made, joint)
            return
        if isinstance(joint, Spherical):
            self._quaternion_options(node.add("joint", name=joint.name, type="ball"), joint)
            return
        parts = _single_axes(joint)
        if parts is None:
            raise InputError(
                f'{self.path}: joint "{joint.name}": MJCF has no {type(joint).__name__} joints; save as .toml'
            )
        names = [joint.name] if len(parts) == 1 else [f"{joint.name}[{k}]" for k in range(len(parts))]
        for k, (kind, axis) in enumerate(parts):
            made = node.add("joint", name=names[k], type=kind)
            if at is not None:
                axis = at[:3, :3] @ np.array(axis)
                made.attributes["pos"] = numbers(at[:3, 3])
            made.attributes["axis"] = numbers(axis)
            for key, values in (
                ("damping", joint.damping),
                ("armature", joint.armature),
                ("frictionloss", joint.coulomb),
                ("stiffness", joint.stiffness),
                ("springref", joint.spring_rest),
            ):
                if values[k]:
                    made.attributes[key] = numbers(values[k])
            low, high = joint.lower[k], joint.upper[k]
            if math.isfinite(low) or math.isfinite(high):
                made.attributes |= {"limited": "true", "range": numbers((written_limit(low), written_limit(high)))}
            effort = joint.effort_limit[k]
            if math.isfinite(effort) and effort > 0.0:
                made.attributes |= {"actuatorfrclimited": "true", "actuatorfrcrange": numbers((-effort, effort))}
            if self.m.compensation_by_actuators:
                made.attributes["actuatorgravcomp"] = "true"
        if joint.has_bearing:
            self.losses.add(f'bearing friction of joint "{joint.name}"')

    def _quaternion_options(self, node: Node, joint: Any) -> None:
        for key, values in (
            ("damping", joint.damping),
            ("armature", joint.armature),
            ("frictionloss", joint.coulomb),
            ("stiffness", joint.stiffness),
        ):
            if len(set(values)) > 1:
                self.losses.add(f'{key} of joint "{joint.name}" that differs by axis')
            elif any(values):
                node.attributes[key] = numbers(values[0])
        if any(math.isfinite(effort) for effort in joint.effort_limit):
            self.losses.add(f'effort limit of joint "{joint.name}": MuJoCo has it for hinges and slides')
        if any(joint.stiffness) and any(joint.spring_rest):
            self.losses.add(f'the rest of the spring of joint "{joint.name}": MuJoCo takes the drawn configuration')
        if self.m.compensation_by_actuators:
            node.attributes["actuatorgravcomp"] = "true"

    def _friction(self, shape: Shape, group: int) -> dict[str, str]:
        """Attributes for the material of a collision shape."""
        material = shape.material if group == 3 else None
        if material is None:
            return {}
        if material.static_friction != material.kinetic_friction:
            self.losses.add("static friction of shapes: MuJoCo has one coefficient, written is the kinetic one")
        if material.restitution or material.stiffness is not None:
            self.losses.add("restitution, stiffness and damping of shapes")
        turning = (material.torsional, material.rolling)
        condim = 6 if material.rolling else 4 if material.torsional else 3 if material.kinetic_friction else 1
        return {"friction": numbers((material.kinetic_friction, *turning)), "condim": str(condim)}

    def _geom(self, node: Node, shape: Shape, group: int) -> None:
        bits = (shape.contype, shape.conaffinity) if group == 3 else (0, 0)
        touch = {key: str(value) for key, value in zip(("contype", "conaffinity"), bits, strict=True) if value != 1}
        common = {"group": str(group), **touch, **_pose(shape.pose), **self._friction(shape, group)}
        if shape.color:
            common["rgba"] = numbers((*shape.color, 1.0)[:4])
        match shape.kind:
            case "box":
                node.add("geom", type="box", size=numbers([edge / 2 for edge in shape.size]), **common)
            case "sphere" | "ellipsoid":
                node.add("geom", type=shape.kind, size=numbers(shape.size), **common)
            case "mesh":
                name = self._mesh(shape)
                if name:
                    node.add("geom", type="mesh", mesh=name, **common)
            case kind:
                node.add("geom", type=kind, size=numbers((shape.size[0], shape.size[1] / 2)), **common)

    def _mesh(self, shape: Shape) -> str:
        if not shape.mesh.lower().endswith(_MESH_ENDINGS) or not os.path.isfile(shape.mesh):
            self.losses.add(f"mesh {shape.mesh}")
            return ""
        key = (shape.mesh, shape.size)
        if key not in self.meshes:
            self.meshes[key] = f"mesh{len(self.meshes) + 1}"
            file = os.path.abspath(shape.mesh)
            self.assets.add("mesh", name=self.meshes[key], file=file, scale=numbers(shape.size), inertia="shell")
        return self.meshes[key]

    def _site(self, wanted: str, body: str, pose: Pose) -> str:
        name = wanted
        while name in self.sites:
            name += "_"
        self.sites.add(name)
        self.bodies[body].add("site", name=name, **_pose(pose))
        return name

    def _equalities(self) -> None:
        equality = self.root.add("equality")
        for loop in self.m.loops:
            self._loop(equality, loop)
        for coupling in self.m.couplings:
            self._coupling(equality, coupling)

    def _loop(self, equality: Node, loop: Loop) -> None:
        if isinstance(loop.joint, (Fixed, Spherical)):
            ends = [
                self._site(f"{loop.name}_{end}", body, pose)
                for end, body, pose in (("a", loop.body_a, loop.pose_a), ("b", loop.body_b, loop.pose_b))
            ]
            tag = "weld" if isinstance(loop.joint, Fixed) else "connect"
            equality.add(tag, name=loop.name, site1=ends[0], site2=ends[1])
            return
        if not isinstance(loop.joint, Revolute):
            self.losses.add(f'loop "{loop.name}": MJCF has no {type(loop.joint).__name__} joints that close loops')
            return
        # Two points of the axis held together: one row more than a hinge needs.
        for k, along in enumerate((0.0, 0.1)):
            shift = np.eye(4)
            shift[:3, 3] = along * np.array(loop.joint.axis)
            ends = [
                self._site(f"{loop.name}_{end}{k}", body, Pose.of(pose.matrix @ shift, "loop"))
                for end, body, pose in (("a", loop.body_a, loop.pose_a), ("b", loop.body_b, loop.pose_b))
            ]
            equality.add("connect", name=loop.name if k == 0 else f"{loop.name}_{k}", site1=ends[0], site2=ends[1])

    def _coupling(self, equality: Node, coupling: Coupling) -> None:
        """y = P(x - x0) - offset, of two joints or of two sums of coordinates, which are fixed tendons."""
        polynomial, left, right = coupling.polynomial, dict(coupling.factors), dict(coupling.argument)
        if not polynomial and len(left) == 2:
            y, x = left
            if left[y] == 0.0:
                y, x = x, y
            left, right, offset = {y: 1.0}, {x: 1.0}, coupling.offset / dict(coupling.factors)[y]
            polynomial = (0.0, -dict(coupling.factors)[x] / dict(coupling.factors)[y])
        else:
            offset = coupling.offset
        c = _about_zero(polynomial, coupling.reference)
        if len(c) > _HIGHEST_ORDER + 1:
            self.losses.add(f'coupling "{coupling.name}" of order {len(c) - 1}')
            return
        c += [0.0] * (_HIGHEST_ORDER + 1 - len(c))
        c[0] -= offset
        sides = [(end, terms) for end, terms in (("y", left), ("x", right)) if terms]
        if all(list(terms.values()) == [1.0] for _, terms in sides):
            kind, names = "joint", [next(iter(terms)) for _, terms in sides]
        else:
            kind, names = "tendon", [self._fixed_tendon(coupling.name, end, terms) for end, terms in sides]
        attributes = {f"{kind}{k + 1}": name for k, name in enumerate(names)}
        equality.add(kind, name=coupling.name, **attributes, polycoef=numbers(c))

    def _fixed_tendon(self, name: str, end: str, terms: dict[str, float]) -> str:
        tendon = self._tendon_node().add("fixed", name=f"{name}_{end}")
        for joint, factor in terms.items():
            tendon.add("joint", joint=joint, coef=numbers(factor))
        return f"{name}_{end}"

    def _tendon_node(self) -> Node:
        for node in self.root.children:
            if isinstance(node, Node) and node.tag == "tendon":
                return node
        return self.root.add("tendon")

    def _tendons(self) -> None:
        for spring in self.m.springs:
            node = self._tendon_node().add("spatial", name=spring.name)
            self._path(node, [((spring.body_a, spring.point_a, spring.body_b, spring.point_b), 1.0)], spring.name)
            rest = (spring.rest_length, spring.rest_length)
            self._spring(node, spring.stiffness, rest, spring.damping)
        for tendon in self.m.tendons:
            if tendon.joints and tendon.segments:
                self.losses.add(f'tendon "{tendon.name}", which has joints and segments')
                continue
            node = self._tendon_node().add("fixed" if tendon.joints else "spatial", name=tendon.name)
            for joint, factor in tendon.joints:
                node.add("joint", joint=joint, coef=numbers(factor))
            pieces = [((x.body_a, x.point_a, x.body_b, x.point_b), x.factor) for x in tendon.segments]
            self._path(node, pieces, tendon.name)
            self._spring(node, tendon.stiffness, tendon.rest, tendon.damping)
            if math.isfinite(tendon.lower) and math.isfinite(tendon.upper):
                node.attributes |= {"limited": "true", "range": numbers((tendon.lower, tendon.upper))}

    def _spring(self, node: Node, stiffness: float, rest: tuple[float, float], damping: float) -> None:
        for key, value in (("stiffness", stiffness), ("damping", damping)):
            if value:
                node.attributes[key] = numbers(value)
        if stiffness:
            node.attributes["springlength"] = numbers(rest)

    def _path(self, node: Node, pieces: list[tuple[tuple, float]], name: str) -> None:
        last, factor = None, 1.0
        for k, ((body_a, point_a, body_b, point_b), weight) in enumerate(pieces):
            if last != (body_a, point_a) or weight != factor:
                if k or weight != 1.0:
                    node.add("pulley", divisor=numbers(1.0 / weight))
                start = self._site(f"{name}_{k}a", body_a, Pose(translation=point_a))
                node.add("site", site=start)
            node.add("site", site=self._site(f"{name}_{k}b", body_b, Pose(translation=point_b)))
            last, factor = (body_b, point_b), weight

    def _actuators(self) -> None:
        section = self.root.add("actuator")
        for actuator in self.m.actuators:
            key = "jointinparent" if actuator.in_parent else "joint"
            target = {key: actuator.joint, "tendon": actuator.tendon, "site": actuator.site}
            node = section.add("general", name=actuator.name, **{k: v for k, v in target.items() if v})
            node.attributes |= {
                "gear": numbers([*actuator.gear, *(0.0,) * (6 - len(actuator.gear))]),
                "gaintype": "affine",
                "gainprm": numbers(actuator.gain),
                "biastype": "affine",
                "biasprm": numbers(actuator.bias),
            }
            for key, (low, high) in (("ctrl", actuator.control_range), ("force", actuator.force_range)):
                if math.isfinite(low) and math.isfinite(high):
                    node.attributes |= {f"{key}limited": "true", f"{key}range": numbers((low, high))}

    def _keys(self) -> None:
        section = self.root.add("keyframe")
        reference = self.m.reference
        for key in self.m.keys:
            qpos, qvel = self._state(key.q, key.v)
            node = section.add("key", name=key.name, qpos=numbers(qpos), qvel=numbers(qvel))
            if key.controls:
                node.attributes["ctrl"] = numbers(key.controls)
        if reference and any(
            any(reference[where])
            for body, where in zip(self.m.moving, self.m.q_slices, strict=True)
            if not isinstance(body.joint, (Free, Spherical))
        ):
            self.losses.add("the reference configuration of the joints, which MJCF would fold into the placements")

    def _state(self, q: Any, v: Any) -> tuple[list[float], list[float]]:
        qpos, qvel = [], []
        for body, at, rate in zip(self.m.moving, self.m.q_slices, self.m.v_slices, strict=True):
            values, rates = q[at].tolist(), v[rate].tolist()
            if isinstance(body.joint, (Free, Spherical)):
                values = [*values[:-4], values[-1], *values[-4:-1]]
            if isinstance(body.joint, Free):
                R = rotation_from_quaternion(q[at][3:])
                rates[:3] = (R @ np.array(rates[:3])).tolist()
            qpos += values
            qvel += rates
        return qpos, qvel


def _pose(pose: Pose) -> dict[str, str]:
    where = {}
    if any(pose.translation):
        where["pos"] = numbers(pose.translation)
    if pose.rotation != Pose().rotation:
        x, y, z, w = quaternion_from_rotation(np.reshape(pose.rotation, (3, 3))).tolist()
        where["quat"] = numbers((w, x, y, z))
    return where


def _single_axes(joint: Joint) -> list[tuple[str, Any]] | None:
    """MuJoCo's joints for one of ours, in order: type and axis."""
    types = {"turn": "hinge", "travel": "slide"}
    if any(kind not in types for kind, _ in joint.motions):
        return None
    return [(types[kind], direction(joint, letter)) for kind, letter in joint.motions]


def _about_zero(polynomial: tuple[float, ...], reference: float) -> list[float]:
    """Coefficients of P(x - reference) in powers of x."""
    found = [0.0]
    for coefficient in reversed(polynomial):
        shifted = [0.0, *found]
        for k, value in enumerate(found):
            shifted[k] -= reference * value
        shifted[0] += coefficient
        found = shifted
    while len(found) > 1 and found[-1] == 0.0:
        found.pop()
    return found
