"""Change a mechanism: lock joints, cut out a part, merge another one, add a payload, change gravity, repair inertias.

Every function returns a new mechanism and leaves its argument as it is. Loops, couplings, springs and contact points
are carried along; what would lose one of its bodies is refused, or dropped with a ModelWarning when asked to.
`reroot` has a file of its own.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from setsu.elementary import matmul
from setsu.errors import InputError, ModelWarning
from setsu.mechanism.checks import finite_number, six_moments, vector3
from setsu.mechanism.elements import WORLD, Body, Coupling, Loop, Pose, Spring, Vector3
from setsu.mechanism.inertia import inertia_report, repair_inertia
from setsu.mechanism.joint_motion import joint_placement
from setsu.mechanism.joints import Fixed, Free, Joint
from setsu.mechanism.record import Mechanism
from setsu.spatial import finite_vector, inertia_about_origin

__all__ = ["RepairedMechanism", "extract", "lock_joints", "merge", "repaired", "with_gravity", "with_payload"]

_COUPLING_TOLERANCE = 1e-9

Element = TypeVar("Element", Loop, Coupling, Spring)


def lock_joints(
    mechanism: Mechanism, joints: Mapping[str, ArrayLike] | Iterable[str], q: ArrayLike | None = None
) -> Mechanism:
    """Return the mechanism with some joints held still: their bodies become frames of the bodies they hang on.

    Args:
        joints: joint name -> coordinates to lock it at (a number, or nq numbers), or only names.
        q: configuration that names alone are locked at, (nq,); neutral when not given.

    A locked joint leaves the couplings it is in, as part of their offset. A coupling of locked joints only is dropped
    when it holds, and refused when it does not. Loops stay, also those that the lock makes redundant.

    >>> from setsu.sample_mechanisms import planar_arm
    >>> lock_joints(planar_arm(3), {"joint2": 0.5}).joint_names
    ('joint1', 'joint3')
    """
    values = _lock_values(mechanism, joints, q)
    bodies = tuple(_locked(body, values) for body in mechanism.bodies)
    couplings = tuple(
        coupling for old in mechanism.couplings if (coupling := _locked_coupling(old, values)) is not None
    )
    return dataclasses.replace(mechanism, bodies=bodies, couplings=couplings)


def _lock_values(
    mechanism: Mechanism, joints: Mapping[str, ArrayLike] | Iterable[str], q: ArrayLike | None
) -> dict[str, np.ndarray]:
    if isinstance(joints, str):
        raise InputError(f"lock_joints: expected a list of joint names or a mapping, got the text {joints!r}")
    everywhere = mechanism.neutral() if q is None else finite_vector(q, mechanism.nq, "lock_joints q")
    values: dict[str, np.ndarray] = {}
    for name in joints:
        index = mechanism.joint_index(name)
        nq = mechanism.moving[index].joint.nq
        given = joints[name] if isinstance(joints, Mapping) else everywhere[mechanism.q_slices[index]]
        values[name] = finite_vector(np.atleast_1d(np.asarray(given)), nq, f'lock_joints, joint "{name}"')
    return values


def _locked(body: Body, values: Mapping[str, np.ndarray]) -> Body:
    if body.joint.name not in values or isinstance(body.joint, Fixed):
        return body
    matrix = matmul(body.pose.matrix, joint_placement(body.joint, values[body.joint.name]))
    return dataclasses.replace(body, joint=Fixed(name=body.joint.name), pose=Pose.of(matrix, f'body "{body.name}"'))


def _locked_coupling(coupling: Coupling, values: Mapping[str, np.ndarray]) -> Coupling | None:
    free = tuple((joint, factor) for joint, factor in coupling.factors if joint not in values)
    terms = [factor * float(values[joint][0]) for joint, factor in coupling.factors if joint in values]
    offset = coupling.offset + sum(terms)
    if free:
        return dataclasses.replace(coupling, factors=free, offset=offset)
    if abs(offset) > _COUPLING_TOLERANCE * max(1.0, *map(abs, terms)):
        raise InputError(
            f'lock_joints: coupling "{coupling.name}" does not hold with its joints locked there: '
            f"expected the sum of its terms to be 0, got {offset}"
        )
    return None


def extract(
    mechanism: Mechanism,
    root: str,
    *,
    base: Literal["fixed", "floating", "joint"] = "fixed",
    placement: ArrayLike | None = None,
    without: Iterable[str] = (),
    drop: bool = False,
) -> Mechanism:
    """Return the part of a mechanism that hangs on a body, the body included.

    Args:
        root: the body to begin with.
        base: how the root meets the world: "fixed", "floating" (a Free joint) or "joint" (the joint it has).
        placement: of the root, or of its joint, in the world, 4x4; the identity when not given.
        without: bodies to leave out, with all that hangs on them.
        drop: leave out loops, couplings, springs and contact points that reach outside the part, with a ModelWarning
            that lists them; otherwise they are an InputError.

    >>> from setsu.sample_mechanisms import planar_arm
    >>> extract(planar_arm(3), "link2").body_names
    ('link3',)
    """
    if root == WORLD:
        raise InputError("extract: expected a body of the mechanism, got the world; use `without` to cut parts away")
    mechanism.frame(root)
    cut = set(without)
    for name in cut:
        mechanism.frame(name)
    if root in cut:
        raise InputError(f'extract: "{root}" is the root and cannot be left out')
    kept: dict[str, Body] = {}
    for body in mechanism.bodies:
        if body.name == root:
            kept[root] = _based(body, base, Pose.of(placement, "extract placement"))
        elif body.parent in kept and body.name not in cut:
            kept[body.name] = body
    joints = {body.joint.name for body in kept.values()}
    lost: list[str] = []
    result = Mechanism(
        name=f"{mechanism.name} from {root}",
        gravity=mechanism.gravity,
        bodies=tuple(kept.values()),
        loops=_inside(mechanism.loops, lambda loop: (loop.body_a, loop.body_b), kept.keys(), "loop", lost),
        couplings=_inside(
            mechanism.couplings, lambda coupling: [joint for joint, _ in coupling.factors], joints, "coupling", lost
        ),
        springs=_inside(mechanism.springs, lambda spring: (spring.body_a, spring.body_b), kept.keys(), "spring", lost),
        contact_points=tuple(point for point in mechanism.contact_points if point.body in kept),
    )
    if lost and not drop:
        raise InputError(f'extract "{root}": give drop=True to leave out {"; ".join(lost)}')
    if lost:
        warnings.warn(f'extract "{root}": left out {"; ".join(lost)}', ModelWarning, stacklevel=2)
    return result


def _based(body: Body, base: str, pose: Pose) -> Body:
    if base == "joint":
        return dataclasses.replace(body, parent=WORLD, pose=pose)
    if base not in ("fixed", "floating"):
        raise InputError(f'extract base: expected "fixed", "floating" or "joint", got {base!r}')
    joint = Fixed(name=body.joint.name) if base == "fixed" else Free(name=body.joint.name)
    return dataclasses.replace(body, parent=WORLD, joint=joint, pose=pose)


def _inside(
    elements: tuple[Element, ...],
    names_of: Callable[[Element], Iterable[str]],
    known: Set[str],
    kind: str,
    lost: list[str],
) -> tuple[Element, ...]:
    """Elements whose names are all known; those with only some known are put on the list of the lost."""
    result = []
    for element in elements:
        names = list(names_of(element))
        missing = [name for name in names if name not in known]
        if not missing:
            result.append(element)
        elif len(missing) < len(names):
            lost.append(f'{kind} "{element.name}" (it reaches {", ".join(missing)})')
    return tuple(result)


def merge(
    mechanism: Mechanism,
    other: Mechanism,
    *,
    parent: str = WORLD,
    placement: ArrayLike | None = None,
    prefix: str = "",
) -> Mechanism:
    """Return a mechanism with another one fastened to one of its bodies.

    Args:
        other: what is added; everything in it that stood in the world stands on `parent` now, loops and springs too.
        parent: body (or "world") of `mechanism`.
        placement: of the other's world in the parent's frame, 4x4; the identity when not given.
        prefix: put before every name of `other`, which must not meet a name of `mechanism`.

    Name and gravity are those of the first mechanism.

    >>> from setsu.sample_mechanisms import pendulum, planar_arm
    >>> merge(planar_arm(2), pendulum(), parent="tip", prefix="tool_").body_names
    ('link1', 'link2', 'tool_bob1')
    """
    mechanism.frame(parent)
    mount = Pose.of(placement, "merge placement").matrix

    def renamed(body: str) -> str:
        return parent if body == WORLD else prefix + body

    def moved(body: str, pose: Pose) -> Pose:
        return Pose.of(matmul(mount, pose.matrix), f'merge, body "{body}"') if body == WORLD else pose

    def moved_point(body: str, point: Vector3) -> Vector3:
        return vector3(matmul(mount[:3, :3], point) + mount[:3, 3], "merge, spring point") if body == WORLD else point

    def joint(element: Body | Loop) -> Joint:
        return dataclasses.replace(element.joint, name=prefix + element.joint.name)

    replace = dataclasses.replace
    result = replace(
        mechanism,
        bodies=mechanism.bodies
        + tuple(
            replace(x, name=prefix + x.name, parent=renamed(x.parent), joint=joint(x), pose=moved(x.parent, x.pose))
            for x in other.bodies
        ),
        loops=mechanism.loops
        + tuple(
            replace(
                x,
                name=prefix + x.name,
                body_a=renamed(x.body_a),
                body_b=renamed(x.body_b),
                joint=joint(x),
                pose_a=moved(x.body_a, x.pose_a),
                pose_b=moved(x.body_b, x.pose_b),
            )
            for x in other.loops
        ),
        couplings=mechanism.couplings
        + tuple(
            replace(x, name=prefix + x.name, factors=tuple((prefix + name, factor) for name, factor in x.factors))
            for x in other.couplings
        ),
        springs=mechanism.springs
        + tuple(
            replace(
                x,
                name=prefix + x.name,
                body_a=renamed(x.body_a),
                body_b=renamed(x.body_b),
                point_a=moved_point(x.body_a, x.point_a),
                point_b=moved_point(x.body_b, x.point_b),
            )
            for x in other.springs
        ),
        contact_points=mechanism.contact_points + tuple(replace(x, body=prefix + x.body) for x in other.contact_points),
    )
    _refuse_repeated_names(result)
    return result


def _refuse_repeated_names(mechanism: Mechanism) -> None:
    joints = [element.joint.name for element in (*mechanism.bodies, *mechanism.loops)]
    named = {
        "body": [WORLD, *(body.name for body in mechanism.bodies)],
        "joint": joints,
        "loop": [loop.name for loop in mechanism.loops],
        "coupling": [coupling.name for coupling in mechanism.couplings],
        "spring": [spring.name for spring in mechanism.springs],
    }
    for kind, names in named.items():
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise InputError(f"merge: both mechanisms have a {kind} of the name {', '.join(repeated)}; give a prefix")


def with_payload(
    mechanism: Mechanism,
    body: str,
    mass: float,
    center_of_mass: ArrayLike = (0.0, 0.0, 0.0),
    inertia: ArrayLike | None = None,
) -> Mechanism:
    """Return the mechanism with a load fastened to a body.

    Args:
        body: name of the body, or of a frame fixed to one.
        mass: of the load, kg.
        center_of_mass: of the load in the body's frame, m, (3,).
        inertia: of the load about its center of mass, in axes parallel to the body's, kg m², (3, 3); None is a point.

    >>> from setsu.sample_mechanisms import planar_arm
    >>> with_payload(planar_arm(2), "tip", 3.0).total_mass
    5.0
    """
    if body == WORLD:
        raise InputError("with_payload: expected a body of the mechanism, got the world")
    mechanism.frame(body)
    load_mass = finite_number(mass, "with_payload mass", minimum=0.0)
    load_center = np.array(vector3(center_of_mass, "with_payload center_of_mass"))
    load = Body("load", WORLD, Fixed(), inertia=six_moments(inertia, "with_payload inertia")).inertia_matrix

    def loaded(old: Body) -> Body:
        center, total = np.array(old.center_of_mass), old.mass + load_mass
        together = (old.mass * center + load_mass * load_center) / total if total > 0.0 else center
        own = inertia_about_origin(old.mass, center - together, old.inertia_matrix)
        added = inertia_about_origin(load_mass, load_center - together, load)
        return dataclasses.replace(
            old,
            mass=total,
            center_of_mass=vector3(together, "with_payload center of mass"),
            inertia=six_moments(own + added, "with_payload inertia"),
        )

    bodies = tuple(loaded(old) if old.name == body else old for old in mechanism.bodies)
    return dataclasses.replace(mechanism, bodies=bodies)


def with_gravity(mechanism: Mechanism, gravity: ArrayLike) -> Mechanism:
    """Return the mechanism under another gravity: acceleration of free fall in the world frame, m/s², (3,)."""
    return dataclasses.replace(mechanism, gravity=vector3(gravity, "with_gravity gravity"))


@dataclass(frozen=True)
class RepairedMechanism:
    """A mechanism with physically consistent inertias, and one line per body that had to change."""

    mechanism: Mechanism
    changes: tuple[str, ...]


def repaired(mechanism: Mechanism) -> RepairedMechanism:
    """Replace every inertia that no real body can have by the nearest that one can (see `inertia`).

    >>> from setsu.sample_mechanisms import puma560
    >>> repaired(puma560()).changes
    ()
    """
    bodies: list[Body] = []
    changes: list[str] = []
    for body in mechanism.bodies:
        report = inertia_report(body.mass, body.center_of_mass, body.inertia_matrix, body.name)
        if report.valid:
            bodies.append(body)
            continue
        inertia = repair_inertia(body.mass, body.center_of_mass, body.inertia_matrix)
        bodies.append(dataclasses.replace(body, inertia=six_moments(inertia, f'body "{body.name}" inertia')))
        before = ", ".join(f"{moment:.6g}" for moment in report.principal_moments)
        after = ", ".join(f"{moment:.6g}" for moment in np.linalg.eigvalsh(inertia))
        changes.append(f"{report}; principal moments {before} became {after} kg m²")
    return RepairedMechanism(dataclasses.replace(mechanism, bodies=tuple(bodies)), tuple(changes))
