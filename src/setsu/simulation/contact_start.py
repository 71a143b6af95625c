"""What a run with an environment begins with: options that fit, a start outside the ground and within the limits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.contact import Environment
from setsu.contact.deep_start import deep_point, shallow_depth
from setsu.contact.scene import Scene
from setsu.dynamics import mass_matrix
from setsu.errors import InputError, nearest_names
from setsu.mechanism import Mechanism
from setsu.simulation.joint_stops import JointStops
from setsu.simulation.setting_up import Settings

__all__ = ["CONTACT_SOLVERS", "begin_at_stops", "finder_of_contacts", "refuse_contact_run", "start_depth"]

Floats = NDArray[np.float64]

CONTACT_SOLVERS = ("default", "sugihara2002")
BODY_CONTACTS = ("compiled", "coal")
# m: a point may start this deep inside the environment, no deeper; m or rad: a joint this far beyond its limit.
_DEEPEST_START, _BEYOND_START = 1e-3, 1e-6


def refuse_contact_run(m: Mechanism, settings: Settings) -> None:
    """InputError for what a run with an environment cannot do."""
    solver = settings.contact_solver
    if solver not in CONTACT_SOLVERS:
        raise InputError(f"simulate: contact_solver: unknown {solver!r}{nearest_names(str(solver), CONTACT_SOLVERS)}")
    if settings.joint_stops and solver != "default":
        raise InputError(f"simulate: joint_stops need contact_solver='default'; {solver} knows points only")
    materials = [point.material for point in m.contact_points]
    materials += [p.material for p in settings.environment.polygons if p.material] if settings.environment else []
    if solver != "default" and any(x.torsional or x.rolling or x.stiffness for x in materials):
        raise InputError(f"simulate: torsional, rolling, stiffness of materials: {solver} knows none of them")
    stops = JointStops(m, settings.joint_stops, loops=True)
    if (stops.axis >= 0).any():
        name = stops.names[int(np.argmax(stops.axis >= 0))]
        raise InputError(
            f"simulate: joint_stops: the {name}, a joint that closes a loop, cannot be combined with an environment; "
            "expected limits in joints of the tree (setsu.move_cut moves the cut)"
        )
    for contact in settings.contacts:
        if contact.friction or not contact.bilateral:
            raise InputError(
                f'simulate: contact "{contact.name}": with an environment expected bilateral=True and friction=0; '
                "points that may lift off or rub are contact points of the mechanism"
            )


def finder_of_contacts(body_contacts: object) -> str:
    """Who looks for contacts between bodies: "" for nobody."""
    if isinstance(body_contacts, bool | np.bool_):
        return BODY_CONTACTS[0] if body_contacts else ""
    if not isinstance(body_contacts, str) or body_contacts not in BODY_CONTACTS:
        known = " or ".join(f'"{word}"' for word in BODY_CONTACTS)
        raise InputError(f"simulate: body_contacts: expected True, False, {known}, got {body_contacts!r:.80}")
    return body_contacts


def start_depth(environment: Environment, scene: Scene, poses: Floats, names: tuple[str, ...]) -> float:
    """How deep (m) points start inside the environment; InputError when that is too deep."""
    points = scene.points
    # What is soft may rest inside.
    rigid = np.isinf(points["stiffness"]) & np.isinf(scene.polygons["stiffness"]).all()
    moving = np.flatnonzero((points["body"] >= 0) & rigid)
    T = poses[points["body"][moving]]
    places = np.einsum("nij,nj->ni", T[:, :3, :3], points["position"][moving]) + T[:, :3, 3]
    radii = points["radius"][moving]
    gaps = places @ scene.polygons["normal"].T - scene.polygons["offset"] - radii[:, None]
    lowest = float(gaps.min(initial=0.0))
    if lowest >= 0.0:
        return 0.0
    deep = deep_point(environment, places, radii, _DEEPEST_START) if lowest < -_DEEPEST_START else None
    if deep is not None:
        raise InputError(
            f"simulate: contact point {names[moving[deep.point]]} starts {deep.depth:.3g} m "
            f'inside polygon "{deep.polygon.name}"; expected at most {_DEEPEST_START:g} m '
            "(lift the mechanism at t = 0)"
        )
    return shallow_depth(environment, places, radii, _DEEPEST_START)


def begin_at_stops(m: Mechanism, stops: JointStops, scene: Scene, q: Floats) -> None:
    """Refuse joints beyond their limits, and find the levers of the stops (contact/joint_stops.py)."""
    for gap, name in zip(stops.gaps(q), stops.names, strict=True):
        if gap < -_BEYOND_START:
            raise InputError(
                f"simulate: q0 is {-gap:.6g} (m or rad) beyond the {name}; expected a state within the limits"
            )
    if m.total_mass > 0.0:
        inertia = np.diag(mass_matrix(m, q))[stops.velocity]
        scene.stops["lever"] = np.sqrt(inertia / m.total_mass)
