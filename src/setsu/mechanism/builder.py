"""Build a mechanism body by body; every argument is checked where it is given."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from setsu.errors import InputError, ModelWarning, nearest_names
from setsu.mechanism.actuators import Actuator, Keyframe, require_actuator
from setsu.mechanism.builder_constraints import ConstraintMethods
from setsu.mechanism.checks import checked_name, finite_number, require_order, six_moments, vector3
from setsu.mechanism.element_checks import checked_fluid, checked_segment, checked_shapes, per_axis, two_joints
from setsu.mechanism.elements import WORLD, Body, ContactPoint, Coupling, Loop, Material, Pose, Shape, Site, Spring
from setsu.mechanism.force_elements import Fluid, Segment, Tendon
from setsu.mechanism.inertia import inertia_report
from setsu.mechanism.joints import Fixed, Free, Joint
from setsu.mechanism.loop_constraints import LoopConstraint
from setsu.mechanism.record import Mechanism
from setsu.spatial import finite_vector, listed

__all__ = ["MechanismBuilder"]

_DEFAULT_GRAVITY = (0.0, 0.0, -9.81)


class MechanismBuilder(ConstraintMethods):
    """Collects bodies, loops, couplings, springs and contact points; `build()` gives the frozen mechanism.

    Args:
        name: name of the mechanism.
        gravity: acceleration of free fall in the world frame, m/s².

    Every `add_...` method returns the builder, so calls may be chained. Parents are added before their children.

    >>> from setsu.mechanism import Revolute
    >>> builder = MechanismBuilder("pendulum")
    >>> builder.add_body("rod", joint=Revolute((0, 1, 0)), mass=1.0, center_of_mass=(0, 0, -0.5)).build()
    Mechanism('pendulum', bodies=1, nq=1, nv=1, loops=0)
    """

    warns_of_inertias = True  # readers of files do so themselves, with lines

    def __init__(self, name: str, gravity: ArrayLike = _DEFAULT_GRAVITY) -> None:
        self._name = checked_name(name, "mechanism name")
        self._gravity = vector3(gravity, f'mechanism "{name}" gravity')
        self._bodies: dict[str, Body] = {}
        # The names of loop joints share one list with those of body joints: either may be named as actuated.
        self._joint_owner: dict[str, tuple[str, str]] = {}
        self._loops: dict[str, Loop] = {}
        self._couplings: dict[str, Coupling] = {}
        self._springs: dict[str, Spring] = {}
        self._contact_points: list[ContactPoint] = []
        self._sites: dict[str, Site] = {}
        self._tendons: dict[str, Tendon] = {}
        self._fluid: Fluid | None = None
        self._actuators: dict[str, Actuator] = {}
        self._keys: dict[str, Keyframe] = {}
        self._excluded: dict[tuple[str, str], None] = {}
        self._kept: dict[str, Any] = {}

    @classmethod
    def of(cls, mechanism: Mechanism) -> MechanismBuilder:
        """Return a builder that holds what a mechanism has, to go on from there."""
        builder = cls(mechanism.name, mechanism.gravity)
        builder._bodies = {body.name: body for body in mechanism.bodies}
        owners = [("body", body.name, body.joint.name) for body in mechanism.bodies]
        owners += [("loop", loop.name, loop.joint.name) for loop in mechanism.loops]
        builder._joint_owner = {joint: (kind, owner) for kind, owner, joint in owners}
        builder._loops = {loop.name: loop for loop in mechanism.loops}
        builder._couplings = {coupling.name: coupling for coupling in mechanism.couplings}
        builder._springs = {spring.name: spring for spring in mechanism.springs}
        builder._contact_points = list(mechanism.contact_points)
        builder._sites = {site.name: site for site in mechanism.sites}
        builder._tendons = {tendon.name: tendon for tendon in mechanism.tendons}
        builder._fluid = mechanism.fluid
        builder._actuators = {actuator.name: actuator for actuator in mechanism.actuators}
        builder._keys = {key.name: key for key in mechanism.keys}
        builder._kept = {
            key: getattr(mechanism, key) for key in ("reference", "independent", "compensation_by_actuators", "missing")
        }
        builder._excluded = dict.fromkeys(mechanism.excluded)
        return builder

    def add_body(
        self,
        name: str,
        parent: str = WORLD,
        joint: Joint | None = None,
        placement: ArrayLike | Pose | None = None,
        mass: float = 0.0,
        center_of_mass: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        visuals: Iterable[Shape] = (),
        collisions: Iterable[Shape] = (),
        gravity_compensation: float = 0.0,
    ) -> MechanismBuilder:
        """Add a body and the joint that ties it to its parent.

        Args:
            name: name of the body, unique; "world" is taken.
            parent: a body added before, or "world".
            joint: any joint type; Fixed() when not given. A joint without a name is called f"{name}_joint".
            placement: joint frame in the parent's body frame, 4x4; the identity when not given.
            mass: kg.
            center_of_mass: in the body frame, m, (3,).
            inertia: about the center of mass in body axes, kg m², (3, 3); None is a point mass.
            visuals, collisions: shapes on the body.
            gravity_compensation: part of the body's weight that a force at its center of mass holds up (1: all of it).

        An inertia no real body can have is kept as given, with a ModelWarning that names the violated inequality.
        """
        what = f'body "{name}"'
        checked_name(name, "body name")
        if name == WORLD:
            raise InputError('body name: "world" is the fixed frame every mechanism has; choose another name')
        if name in self._bodies:
            raise InputError(f'{what}: a body of this name was added before to mechanism "{self._name}"')
        self._check_body(parent, f"{what} parent")
        joint = Fixed() if joint is None else joint
        if not isinstance(joint, Joint) or type(joint) is Joint or isinstance(joint, LoopConstraint):
            raise InputError(f"{what} joint: expected a joint such as Revolute((0, 0, 1)), got {joint!r}")
        if not joint.name:
            joint = joint.named(f"{name}_joint")
        body = Body(
            name=name,
            parent=parent,
            joint=joint,
            pose=Pose.of(placement, f"{what} placement"),
            mass=finite_number(mass, f"{what} mass", minimum=0.0),
            center_of_mass=vector3(center_of_mass, f"{what} center_of_mass"),
            inertia=six_moments(inertia, f"{what} inertia"),
            visuals=checked_shapes(visuals, f"{what} visuals"),
            collisions=checked_shapes(collisions, f"{what} collisions"),
            gravity_compensation=finite_number(gravity_compensation, f"{what} gravity_compensation"),
        )
        self._claim_joint_name(joint.name, "body", name)
        if any(body.inertia):
            report = inertia_report(body.mass, body.center_of_mass, body.inertia_matrix, name)
            if not report.valid and self.warns_of_inertias:
                warnings.warn(f"non-physical inertia of {report}", ModelWarning, stacklevel=2)
        self._bodies[name] = body
        return self

    def add_loop(
        self,
        name: str,
        body_a: str,
        body_b: str,
        joint: Joint,
        placement_a: ArrayLike | Pose | None = None,
        placement_b: ArrayLike | Pose | None = None,
    ) -> MechanismBuilder:
        """Close a loop by a joint between two bodies.

        Args:
            name: name of the loop, unique; its joint carries the same name unless it has one.
            body_a, body_b: bodies added before, or "world"; the joint moves body_b relative to body_a.
            joint: any type but Free, which would close nothing; Fixed() welds the bodies.
            placement_a, placement_b: joint frame on either body, 4x4; they coincide at joint coordinate 0.
        """
        what = f'loop "{name}"'
        self._check_new(name, self._loops, "loop")
        self._check_body(body_a, f"{what} body_a")
        self._check_body(body_b, f"{what} body_b")
        if body_a == body_b:
            raise InputError(f'{what}: expected two different bodies, got "{body_a}" twice')
        if not isinstance(joint, Joint) or type(joint) is Joint or isinstance(joint, Free):
            raise InputError(f"{what} joint: expected a joint type that holds something (not Free), got {joint!r}")
        if joint.nq != joint.nv and any(joint.stiffness):  # type: ignore[arg-type]
            raise InputError(
                f"{what} joint stiffness: a Spherical joint that closes a loop has no spring; use add_spring"
            )
        if not joint.name:
            joint = joint.named(name)
        pose_a = Pose.of(placement_a, f"{what} placement_a")
        pose_b = Pose.of(placement_b, f"{what} placement_b")
        self._claim_joint_name(joint.name, "loop", name)
        self._loops[name] = Loop(name, body_a, body_b, joint, pose_a, pose_b)
        return self

    def add_coupling(
        self,
        name: str,
        factors: Mapping[str, float] | Iterable[str],
        offset: float = 0.0,
        *,
        polynomial: Iterable[float] | None = None,
        argument: Mapping[str, float] | None = None,
        reference: float = 0.0,
    ) -> MechanismBuilder:
        """Tie joint coordinates together: the sum of factor x coordinate, plus offset, is zero.

        Args:
            name: name of the coupling, unique.
            factors: joint name -> factor; joints of one coordinate added before. A factor of zero leaves its joint out.
            offset: constant term, in the unit of factor x coordinate.
            polynomial: c0, c1, ... of y = Σ c_k (x - x0)^k - offset. `factors` then names y and x, as two names or as
                {y: 1, x: ±1}; or, with `argument`, any sum of coordinates that takes the place of y.
            argument: joint name -> factor: the sum that takes the place of x.
            reference: x0.
        """
        what = f'coupling "{name}"'
        self._check_new(name, self._couplings, "coupling")
        if polynomial is None:
            if argument is not None or reference != 0.0:
                raise InputError(f"{what}: argument and reference belong to a polynomial; give polynomial=")
            kept = self._terms(factors, what)
            self._couplings[name] = Coupling(name, kept, finite_number(offset, f"{what} offset"))
            return self
        if argument is None:
            y, x = two_joints(factors, what)
            factors, argument = {y: 1.0}, {x: 1.0}
        numbers = [finite_number(c, f"{what} polynomial") for c in listed(polynomial, f"{what} polynomial", "numbers")]
        while numbers and numbers[-1] == 0.0:
            numbers.pop()
        kept, inside = self._terms(factors, what), self._terms(argument, f"{what} argument")
        if set(dict(kept)) & set(dict(inside)):
            raise InputError(f"{what}: expected different joints outside and inside the polynomial, got {argument!r}")
        shift, x0 = finite_number(offset, f"{what} offset"), finite_number(reference, f"{what} reference")
        if len(numbers) > 2:
            self._couplings[name] = Coupling(name, kept, shift, tuple(numbers), inside, x0)
            return self
        # A line after all.
        c0, c1 = [*numbers, 0.0, 0.0][:2]
        linear = tuple((joint, -c1 * factor) for joint, factor in inside if c1 != 0.0)
        self._couplings[name] = Coupling(name, (*kept, *linear), shift - c0 + c1 * x0)
        return self

    def _terms(self, factors: Any, what: str) -> tuple[tuple[str, float], ...]:
        """Joints and factors of a sum of coordinates, those with factor zero left out."""
        if not isinstance(factors, Mapping):
            raise InputError(f"{what}: expected a mapping of joint name to factor, got {factors!r}")
        kept: list[tuple[str, float]] = []
        for joint_name, factor in factors.items():
            joint = self._body_joint(joint_name, what)
            if joint.nv != 1:
                raise InputError(
                    f'{what}: expected joints of one coordinate, got "{joint_name}", '
                    f"a {type(joint).__name__} joint with {joint.nv}"
                )
            number = finite_number(factor, f'{what} factor of joint "{joint_name}"')
            if number != 0.0:
                kept.append((joint_name, number))
        if not kept:
            raise InputError(f"{what}: expected at least one joint with a factor other than 0, got {dict(factors)!r}")
        return tuple(kept)

    def add_spring(
        self,
        name: str,
        body_a: str,
        point_a: ArrayLike,
        body_b: str,
        point_b: ArrayLike,
        stiffness: float,
        rest_length: float = 0.0,
        damping: float = 0.0,
    ) -> MechanismBuilder:
        """Stretch a spring with a damper between a point on one body and a point on another.

        Args:
            name: name of the spring, unique.
            body_a, body_b: bodies added before, or "world".
            point_a, point_b: where it is fastened, in the frame of its body, m, (3,).
            stiffness: N/m. rest_length: m. damping: N s/m, along the line between the points.
        """
        what = f'spring "{name}"'
        self._check_new(name, self._springs, "spring")
        self._check_body(body_a, f"{what} body_a")
        self._check_body(body_b, f"{what} body_b")
        if body_a == body_b:
            raise InputError(f'{what}: expected two different bodies, got "{body_a}" twice')
        self._springs[name] = Spring(
            name,
            body_a,
            vector3(point_a, f"{what} point_a"),
            body_b,
            vector3(point_b, f"{what} point_b"),
            finite_number(stiffness, f"{what} stiffness", minimum=0.0),
            finite_number(rest_length, f"{what} rest_length", minimum=0.0),
            finite_number(damping, f"{what} damping", minimum=0.0),
        )
        return self

    def add_joint_spring(
        self, joint: str, stiffness: float, rest: float = 0.0, damping: float = 0.0
    ) -> MechanismBuilder:
        """Put a spring and damper beside the drive of a one-coordinate joint, in parallel with what it has.

        Args:
            joint: name of a joint added before.
            stiffness: N/m or N m/rad. rest: coordinate at which it is slack. damping: N s/m or N m s/rad.
        """
        what = f'spring of joint "{joint}"'
        old = self._body_joint(joint, what)
        if old.nv != 1:
            raise InputError(f"{what}: expected a joint of one coordinate, got a {type(old).__name__} joint")
        stiffness = finite_number(stiffness, f"{what} stiffness", minimum=0.0)
        rest = finite_number(rest, f"{what} rest")
        (old_stiffness,), (old_rest,), (old_damping,) = per_axis(old.stiffness, old.spring_rest, old.damping)
        total = old_stiffness + stiffness
        joint_now = dataclasses.replace(
            old,
            stiffness=total,
            spring_rest=(old_stiffness * old_rest + stiffness * rest) / total if total else old_rest,
            damping=old_damping + finite_number(damping, f"{what} damping", minimum=0.0),
        )
        body = self._bodies[self._joint_owner[joint][1]]
        self._bodies[body.name] = dataclasses.replace(body, joint=joint_now)
        return self

    def add_tendon(
        self,
        name: str,
        joints: Mapping[str, float] | None = None,
        segments: Iterable[Segment] = (),
        *,
        stiffness: float = 0.0,
        rest: float | tuple[float, float] = 0.0,
        damping: float = 0.0,
        lower: float = -np.inf,
        upper: float = np.inf,
    ) -> MechanismBuilder:
        """Add a length of joint coordinates and straight segments, with a spring and a damper along it (see `Tendon`).

        Args:
            joints: joint name -> coefficient; joints of one coordinate. segments: `Segment` records, m.
            stiffness: N/m (N m/rad where joints turn). rest: slack length, or (shortest, longest) of a slack range.
            damping: N s/m. lower, upper: limits of the length, kept as data; nothing enforces them.
        """
        what = f'tendon "{name}"'
        self._check_new(name, self._tendons, "tendon")
        pieces = []
        for k, piece in enumerate(segments):
            if not isinstance(piece, Segment):
                raise InputError(f"{what} segment {k}: expected a Segment, got {piece!r}")
            self._check_body(piece.body_a, f"{what} segment {k} body_a")
            self._check_body(piece.body_b, f"{what} segment {k} body_b")
            pieces.append(checked_segment(piece, f"{what} segment {k}"))
        terms = self._terms(joints, what) if joints else ()
        if not terms and not pieces:
            raise InputError(f"{what}: expected joints or segments, got neither")
        shortest, longest = rest if isinstance(rest, (tuple, list)) else (rest, rest)
        slack = (finite_number(shortest, f"{what} rest"), finite_number(longest, f"{what} rest"))
        if slack[0] > slack[1]:
            raise InputError(f"{what} rest: expected shortest <= longest, got {slack}")
        require_order(lower, upper, what)
        self._tendons[name] = Tendon(
            name,
            terms,
            tuple(pieces),
            finite_number(stiffness, f"{what} stiffness", minimum=0.0),
            slack,
            finite_number(damping, f"{what} damping", minimum=0.0),
            float(lower),
            float(upper),
        )
        return self

    def add_site(self, name: str, body: str, placement: ArrayLike | Pose | None = None) -> MechanismBuilder:
        """Add a named frame on a body (or the world): its placement in the body's frame, 4x4."""
        self._check_new(name, self._sites, "site")
        self._check_body(body, f'site "{name}" body')
        self._sites[name] = Site(name, body, Pose.of(placement, f'site "{name}" placement'))
        return self

    def set_fluid(self, fluid: Fluid | None) -> MechanismBuilder:
        """Let the bodies move through a medium (see `Fluid`); None takes it away."""
        for box in () if fluid is None else fluid.boxes:
            self._check_body(box.body, "fluid box body")
        self._fluid = None if fluid is None else checked_fluid(fluid)
        return self

    def add_actuator(self, actuator: Actuator) -> MechanismBuilder:
        """Add an `Actuator`; the joint, tendon or site it drives was added before."""
        require_actuator(actuator)
        self._check_new(actuator.name, self._actuators, "actuator")
        what = f'actuator "{actuator.name}"'
        targets = [name for name in (actuator.joint, actuator.tendon, actuator.site) if name]
        if len(targets) != 1:
            raise InputError(f"{what}: expected one joint, tendon or site, got {targets}")
        expected = 1
        if actuator.joint:
            expected = self._body_joint(actuator.joint, what).nv
        elif actuator.site:
            expected = 6
        known = self._tendons if actuator.tendon else self._sites
        if not actuator.joint and targets[0] not in known:
            raise InputError(f"{what}: unknown {targets[0]!r}{nearest_names(targets[0], known)}")
        if len(actuator.gear) != expected:
            raise InputError(f"{what} gear: expected {expected} numbers, got {len(actuator.gear)}")
        self._actuators[actuator.name] = actuator
        return self

    def add_keyframe(
        self, name: str, q: ArrayLike, v: ArrayLike | None = None, control: ArrayLike | None = None
    ) -> MechanismBuilder:
        """Keep a state by name: q (nq,), v (nv,) and control (n_actuators,), zero when not given."""
        what = f'keyframe "{name}"'
        self._check_new(name, self._keys, "keyframe")
        joints = [body.joint for body in self._bodies.values()]
        sizes = (sum(j.nq for j in joints), sum(j.nv for j in joints), len(self._actuators))
        parts = [
            tuple(finite_vector(np.zeros(size) if value is None else value, size, f"{what} {key}").tolist())
            for key, value, size in zip(("q", "v", "control"), (q, v, control), sizes, strict=True)
        ]
        self._keys[name] = Keyframe(name, *parts)
        return self

    def add_contact_points(
        self, body: str, points: ArrayLike, material: Material | None = None, radius: float = 0.0
    ) -> MechanismBuilder:
        """Add points of a body that may touch the environment.

        Args:
            body: a body added before.
            points: positions in the body frame, m, (n, 3), or one point (3,).
            material: friction and restitution; Material() when not given.
            radius: m; above 0 each point is a ball of that radius.
        """
        what = f'contact points of body "{body}"'
        self._check_body(body, "contact points body")
        if body == WORLD:
            raise InputError("contact points: expected a body of the mechanism, got the world; use an Environment")
        material = Material() if material is None else material
        if not isinstance(material, Material):
            raise InputError(f"{what} material: expected a Material, got {material!r}")
        size = finite_number(radius, f"{what} radius", minimum=0.0)
        try:
            rows: list[Any] = list(points)  # type: ignore[arg-type]
        except TypeError:
            raise InputError(f"{what}: expected positions of 3 numbers each, got {points!r}") from None
        if len(rows) == 3 and all(np.ndim(entry) == 0 for entry in rows):
            rows = [rows]
        new = [
            ContactPoint(body, vector3(row, f"{what}, point {index}"), material, size) for index, row in enumerate(rows)
        ]
        self._contact_points.extend(new)
        return self

    def exclude_contact(self, body_a: str, body_b: str) -> MechanismBuilder:
        """Let two bodies never touch each other, whatever their collision shapes."""
        for body in (body_a, body_b):
            self._check_body(body, "exclude_contact")
        if WORLD in (body_a, body_b) or body_a == body_b:
            raise InputError(f"exclude_contact: expected two different bodies, got {body_a!r} and {body_b!r}")
        if (body_b, body_a) not in self._excluded:
            self._excluded[body_a, body_b] = None
        return self

    def build(self) -> Mechanism:
        """Return the frozen mechanism of everything added so far; the builder may go on to be used."""
        return Mechanism(
            name=self._name,
            gravity=self._gravity,
            bodies=tuple(self._bodies.values()),
            loops=tuple(self._loops.values()),
            couplings=tuple(self._couplings.values()),
            springs=tuple(self._springs.values()),
            contact_points=tuple(self._contact_points),
            sites=tuple(self._sites.values()),
            tendons=tuple(self._tendons.values()),
            fluid=self._fluid,
            actuators=tuple(self._actuators.values()),
            keys=tuple(self._keys.values()),
            excluded=tuple(self._excluded),
            **self._kept,
        )

    def _check_body(self, name: str, what: str) -> None:
        if name != WORLD and (not isinstance(name, str) or name not in self._bodies):
            known = [WORLD, *self._bodies]
            raise InputError(f"{what}: expected a body added before, got {name!r}{nearest_names(name, known)}")

    def _check_new(self, name: str, known: Mapping[str, object], kind: str) -> None:
        checked_name(name, f"{kind} name")
        if name in known:
            raise InputError(f'{kind} "{name}": a {kind} of this name was added before to mechanism "{self._name}"')

    def _claim_joint_name(self, joint: str, kind: str, name: str) -> None:
        what = f'{kind} "{name}"'
        checked_name(joint, f"{what} joint name")
        if joint in self._joint_owner:
            other_kind, other = self._joint_owner[joint]
            raise InputError(
                f'{what} joint: the name "{joint}" is taken by the joint of {other_kind} "{other}"; choose another'
            )
        self._joint_owner[joint] = (kind, name)

    def _body_joint(self, joint: str, what: str) -> Joint:
        kind, owner = self._joint_owner.get(joint, ("", "")) if isinstance(joint, str) else ("", "")
        if kind != "body":
            known = [body.joint.name for body in self._bodies.values()]
            raise InputError(f"{what}: expected the joint of a body, got {joint!r}{nearest_names(joint, known)}")
        return self._bodies[owner].joint
