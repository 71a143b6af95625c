"""Change a mechanism: lock joints, cut out a part, merge another one, add a payload, change gravity, repair inertias.

Every function returns a new mechanism and leaves its argument as it is. Loops, couplings, springs, tendons, contact
points, sites, actuators and keyframes are carried along; what would lose a body or joint, or mean something else, is
refused or dropped by name with a ModelWarning. `reroot`, `move_cut` and `merge` have files of their own.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from setsu.elementary import matmul
from setsu.errors import InputError, ModelWarning
from setsu.mechanism.carried import (
    Dropped,
    independent_left,
    kept_actuators,
    kept_fluid,
    locked_tendons,
    moved_keys,
    projected_state,
)
from setsu.mechanism.checks import finite_number, six_moments, vector3
from setsu.mechanism.elements import WORLD, Body, Coupling, Loop, Pose, Spring
from setsu.mechanism.force_elements import Tendon
from setsu.mechanism.inertia import inertia_report, repair_inertia
from setsu.mechanism.joint_motion import joint_placement
from setsu.mechanism.joints import Fixed, Free
from setsu.mechanism.record import Mechanism
from setsu.mechanism.reroot import FreshNames, body_state
from setsu.spatial import finite_vector, inertia_about_origin, inverse_placement, listed, quaternion_from_rotation

__all__ = ["RepairedMechanism", "extract", "lock_joints", "repaired", "with_gravity", "with_payload"]

_COUPLING_TOLERANCE = 1e-9
_UNIT_TOLERANCE = 1e-6
# Keyframes are printed with some six to nine digits.
_SAME_PLACE = 1e-6

Element = TypeVar("Element", Loop, Coupling, Spring, Tendon)


def lock_joints(
    mechanism: Mechanism, joints: Mapping[str, ArrayLike] | Iterable[str], q: ArrayLike | None = None
) -> Mechanism:
    """Return the mechanism with some joints held still: their bodies become frames of the bodies they hang on.

    Args:
        joints: joint name -> coordinates to lock it at (a number, or nq numbers), or only names.
        q: configuration that names alone are locked at, (nq,); neutral when not given.

    A locked joint leaves the couplings and tendons it is in, as part of their offset and length. A coupling of locked
    joints only is dropped when it holds, and refused when it does not. Loops stay, also those that the lock makes
    redundant. Actuators of locked joints and keyframes with these joints elsewhere are left out with a ModelWarning.

    >>> from setsu.sample_mechanisms import planar_arm
    >>> lock_joints(planar_arm(3), {"joint2": 0.5}).joint_names
    ('joint1', 'joint3')
    """
    values = _lock_values(mechanism, joints, q)
    bodies = tuple(_locked(body, values) for body in mechanism.bodies)
    couplings = tuple(
        coupling for old in mechanism.couplings if (coupling := _locked_coupling(old, values)) is not None
    )
    dropped = Dropped("lock_joints")
    tendons, shifts = locked_tendons(mechanism.tendons, values, dropped)
    result = dataclasses.replace(
        mechanism, bodies=bodies, couplings=couplings, tendons=tendons, actuators=(), keys=(), reference=()
    )
    result = dataclasses.replace(result, independent=independent_left(mechanism, result))
    sites = {site.name for site in mechanism.sites}
    joints, kept = set(result.joint_names), {tendon.name for tendon in tendons}
    actuators = kept_actuators(mechanism, joints, kept, sites, dropped, shifts)

    def state(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray] | str:
        for name, value in values.items():
            at = q[mechanism.q_slices[mechanism.joint_index(name)]]
            if np.abs(at - value).max(initial=0.0) > _SAME_PLACE and np.abs(at + value).max(initial=0.0) > _SAME_PLACE:
                return f"joint {name} is locked elsewhere"
        return projected_state(mechanism, result, q, v)

    keys = moved_keys(dataclasses.replace(mechanism, reference=()), actuators, state, dropped)
    if mechanism.reference:
        reference = projected_state(mechanism, result, mechanism.reference_configuration(), np.zeros(mechanism.nv))[0]
        keys["reference"] = tuple(reference.tolist())
    dropped.warn()
    return dataclasses.replace(result, actuators=actuators, **keys)


def _lock_values(
    mechanism: Mechanism, joints: Mapping[str, ArrayLike] | Iterable[str], q: ArrayLike | None
) -> dict[str, np.ndarray]:
    if isinstance(joints, str):
        raise InputError(f"lock_joints: expected a list of joint names or a mapping, got the text {joints!r}")
    everywhere = mechanism.neutral() if q is None else finite_vector(q, mechanism.nq, "lock_joints q")
    values: dict[str, np.ndarray] = {}
    for name in listed(joints, "lock_joints", "joint names, or a mapping"):
        index = mechanism.joint_index(name)
        nq = mechanism.moving[index].joint.nq
        given = joints[name] if isinstance(joints, Mapping) else everywhere[mechanism.q_slices[index]]
        values[name] = finite_vector(np.atleast_1d(np.asarray(given)), nq, f'lock_joints, joint "{name}"')
        if nq != mechanism.moving[index].joint.nv:
            length = float(np.linalg.norm(values[name][-4:]))
            if abs(length - 1.0) > _UNIT_TOLERANCE:
                raise InputError(
                    f'lock_joints, joint "{name}": expected a quaternion x y z w of length 1 within '
                    f"{_UNIT_TOLERANCE:g}, got {values[name][-4:].tolist()} of length {length:.9g}"
                )
    return values


def _locked(body: Body, values: Mapping[str, np.ndarray]) -> Body:
    if body.joint.name not in values or isinstance(body.joint, Fixed):
        return body
    matrix = matmul(body.pose.matrix, joint_placement(body.joint, values[body.joint.name]))
    return dataclasses.replace(body, joint=Fixed(name=body.joint.name), pose=Pose.of(matrix, f'body "{body.name}"'))


def _locked_coupling(coupling: Coupling, values: Mapping[str, np.ndarray]) -> Coupling | None:
    coupling = coupling.with_argument_at({name: float(value[0]) for name, value in values.items()})
    free = tuple((joint, factor) for joint, factor in coupling.factors if joint not in values)
    terms = [factor * float(values[joint][0]) for joint, factor in coupling.factors if joint in values]
    offset = coupling.offset + sum(terms)
    if free or coupling.argument:
        return dataclasses.replace(coupling, factors=free, offset=offset)
    if abs(offset) > _COUPLING_TOLERANCE * max(1.0, abs(coupling.offset), *map(abs, terms)):
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
        base: how the root meets the world: "fixed", "floating" (a Free joint) or "joint" (the joint it has). A joint
            that is replaced takes its couplings, tendons and actuators with it, and gives its name away.
        placement: of the root, or of its joint, in the world, 4x4; the identity when not given.
        without: bodies to leave out, with all that hangs on them.
        drop: leave out loops, couplings, springs and tendons that reach outside the part, with a ModelWarning that
            lists them; otherwise they are an InputError.

    Actuators of joints and sites outside are left out with a ModelWarning. Keyframes are carried; a floating base is
    then where they have the root in the world.

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
            fresh = FreshNames(mechanism)
            kept[root] = _based(body, base, Pose.of(placement, "extract placement"), fresh)
        elif body.parent in kept and body.name not in cut:
            kept[body.name] = body
    joints = {body.joint.name for body in kept.values()}
    lost: list[str] = []
    tendons = _inside(mechanism.tendons, _reached, {*kept, *joints}, "tendon", lost)
    sites = tuple(site for site in mechanism.sites if site.body in kept)
    result = Mechanism(
        name=f"{mechanism.name} from {root}",
        gravity=mechanism.gravity,
        bodies=tuple(kept.values()),
        loops=_inside(mechanism.loops, lambda loop: (loop.body_a, loop.body_b), kept.keys(), "loop", lost),
        couplings=_inside(mechanism.couplings, lambda coupling: coupling.joints, joints, "coupling", lost),
        springs=_inside(mechanism.springs, lambda spring: (spring.body_a, spring.body_b), kept.keys(), "spring", lost),
        contact_points=tuple(point for point in mechanism.contact_points if point.body in kept),
        sites=sites,
        tendons=tendons,
        fluid=kept_fluid(mechanism.fluid, kept.keys()),
        compensation_by_actuators=mechanism.compensation_by_actuators,
        missing=mechanism.missing,
        excluded=tuple(pair for pair in mechanism.excluded if kept.keys() >= {*pair}),
    )
    if lost and not drop:
        raise InputError(f'extract "{root}": give drop=True to leave out {"; ".join(lost)}')
    dropped = Dropped(f'extract "{root}"')
    dropped.texts += lost
    kept_names = {tendon.name for tendon in tendons}, {site.name for site in sites}
    inside = _drives_inside(mechanism, kept.keys())
    actuators = kept_actuators(inside, set(result.joint_names), *kept_names, dropped)
    keys = moved_keys(mechanism, actuators, partial(_part_state, mechanism, result, root), dropped)
    dropped.warn()
    independent = independent_left(mechanism, result)
    return dataclasses.replace(result, actuators=actuators, independent=independent, **keys)


def _drives_inside(mechanism: Mechanism, bodies: Set[str]) -> Mechanism:
    """The mechanism with only those actuators that drive something on or between these bodies."""
    joints = {mechanism.bodies_by_name[name].joint.name for name in bodies}
    sites = {site.name for site in mechanism.sites if site.body in bodies}
    tendons = {tendon.name for tendon in mechanism.tendons if {*_reached(tendon)} & {*bodies, *joints}}
    return dataclasses.replace(
        mechanism,
        actuators=tuple(
            one for one in mechanism.actuators if one.joint in joints or one.site in sites or one.tendon in tendons
        ),
    )


def _part_state(old: Mechanism, new: Mechanism, root: str, q: np.ndarray, v: np.ndarray) -> tuple:
    """State of an extracted part; a new floating base is where the old mechanism has the root in the world."""
    new_q, new_v = projected_state(old, new, q, v)
    base = new.bodies_by_name[root]
    if isinstance(base.joint, Free) and base.joint.name not in old.joint_names:
        index = new.joint_index(base.joint.name)
        T, velocity = body_state(old, root, q, v)
        T = inverse_placement(base.pose.matrix) @ T
        new_q[new.q_slices[index]] = [*T[:3, 3], *quaternion_from_rotation(T[:3, :3])]
        new_v[new.v_slices[index]] = velocity
    return new_q, new_v


def _reached(tendon: Tendon) -> list[str]:
    """Names of the bodies and joints a tendon needs."""
    ends = [body for segment in tendon.segments for body in (segment.body_a, segment.body_b)]
    return [*ends, *(joint for joint, _ in tendon.joints)]


def _based(body: Body, base: str, pose: Pose, names: FreshNames) -> Body:
    if base == "joint":
        return dataclasses.replace(body, parent=WORLD, pose=pose)
    if base not in ("fixed", "floating"):
        raise InputError(f'extract base: expected "fixed", "floating" or "joint", got {base!r}')
    # Whoever asks for the old joint by name must not find another one in its place.
    kind = Fixed if base == "fixed" else Free
    name = body.joint.name if isinstance(body.joint, kind) else names.joint(f"{body.name}_root")
    return dataclasses.replace(body, parent=WORLD, joint=kind(name=name), pose=pose)


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


def with_payload(
    mechanism: Mechanism,
    body: str,
    mass: float,
    center_of_mass: ArrayLike = (0.0, 0.0, 0.0),
    inertia: ArrayLike | None = None,
) -> Mechanism:
    """Return the mechanism with a load fastened to a body.

    Args:
        body: name of the body, or of a link or site fixed to one.
        mass: of the load, kg.
        center_of_mass: of the load in the frame of that name, m, (3,).
        inertia: of the load about its center of mass, in axes parallel to the frame's, kg m², (3, 3); None is a point.

    >>> from setsu.sample_mechanisms import planar_arm
    >>> with_payload(planar_arm(2), "tip", 3.0).total_mass
    5.0
    """
    if body == WORLD:
        raise InputError("with_payload: expected a body of the mechanism, got the world")
    declared = mechanism.declared_body(body)
    if declared == WORLD:
        raise InputError(f'with_payload: expected a frame of a body, got site "{body}" of the world')
    load_mass = finite_number(mass, "with_payload mass", minimum=0.0)
    load_center = np.array(vector3(center_of_mass, "with_payload center_of_mass"))
    load = Body("load", WORLD, Fixed(), inertia=six_moments(inertia, "with_payload inertia")).inertia_matrix
    # A site has its own place on the body.
    T = inverse_placement(mechanism.frame(declared).pose.matrix) @ mechanism.frame(body).pose.matrix
    if body != declared:
        load_center, load = T[:3, :3] @ load_center + T[:3, 3], T[:3, :3] @ load @ T[:3, :3].T
    if mechanism.bodies_by_name[declared].gravity_compensation and load_mass:
        warnings.warn(
            f'with_payload: the gravity compensation of body "{declared}" holds up its part of the load too',
            ModelWarning,
            stacklevel=2,
        )

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

    bodies = tuple(loaded(old) if old.name == declared else old for old in mechanism.bodies)
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
