"""What a run with an environment begins with: options that fit, a start outside the ground and within the limits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.contact import Environment
from setsu.contact.deep_start import deep_point, shallow_depth
from setsu.contact.scene import Scene
from setsu.dynamics.catalogue import native_function
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.simulation.contact_reset import BEYOND_START
from setsu.simulation.joint_stops import JointStops
from setsu.simulation.setting_up import Settings

__all__ = ["StartCheck", "begin_at_stops", "finder_of_contacts", "refuse_contact_run"]

Floats = NDArray[np.float64]

BODY_CONTACTS = ("compiled", "coal")
# m: a point may start this deep inside the environment, no deeper.
_DEEPEST_START = 1e-3
# m: what a step leaves inside (contact/step.py).
_INSIDE = 1e-8


def refuse_contact_run(m: Mechanism, settings: Settings) -> None:
    """InputError for what a run with an environment cannot do."""
    solver = settings.contact_solver
    if settings.joint_stops and solver != "default":
        raise InputError(f"simulate: joint_stops need contact_solver='default'; {solver} knows points only")
    materials = [point.material for point in m.contact_points]
    materials += [p.material for p in settings.environment.polygons if p.material] if settings.environment else []
    if solver != "default" and any(x.torsional or x.rolling or x.stiffness for x in materials):
        raise InputError(f"simulate: torsional, rolling, stiffness of materials: {solver} knows none of them")
    moving = [p.name for p in settings.environment.polygons if any(p.velocity)] if settings.environment else []
    if solver != "default" and moving:
        raise InputError(f'simulate: polygon "{moving[0]}" has a velocity, which {solver} does not know')
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


class StartCheck:
    """Whether contact points begin outside the ground: what of that does not depend on the state is found once."""

    def __init__(self, environment: Environment, scene: Scene, names: tuple[str, ...]) -> None:
        points = scene.points
        # What is soft may rest inside.
        rigid = np.isinf(points["stiffness"]) & np.isinf(scene.polygons["stiffness"]).all()
        moving = np.flatnonzero((points["body"] >= 0) & rigid)
        self._environment, self._names = environment, [names[k] for k in moving]
        self._body, self._radius = points["body"][moving], points["radius"][moving]
        self._position = np.concatenate([points["position"][moving], np.ones((len(moving), 1))], axis=1)[:, :, None]
        self._normal, self._offset = scene.polygons["normal"].T.copy(), scene.polygons["offset"].copy()

    def depth(self, poses: Floats) -> float:
        """How deep (m) points are inside the environment, for poses of all bodies; InputError when that is too deep."""
        places = (poses[self._body, :3] @ self._position)[:, :, 0]
        lowest = (places @ self._normal - self._offset).min(axis=1, initial=np.inf) - self._radius
        if (lowest >= -_INSIDE).all():
            return 0.0
        if lowest.min() < -_DEEPEST_START:
            deep = deep_point(self._environment, places, self._radius, _DEEPEST_START)
            if deep is not None:
                raise InputError(
                    f"simulate: contact point {self._names[deep.point]} starts {deep.depth:.3g} m "
                    f'inside polygon "{deep.polygon.name}"; expected at most {_DEEPEST_START:g} m '
                    "(lift the mechanism at t = 0)"
                )
        return shallow_depth(self._environment, places, self._radius, _DEEPEST_START)


def begin_at_stops(m: Mechanism, stops: JointStops, scene: Scene, q: Floats, place: Floats, rows: Floats) -> None:
    """Refuse joints beyond their limits, and find the levers of stops of joints that close loops.

    Those of the tree's joints have theirs (contact_reset.py). place (f,), rows (f, nv): of the free axes of joints that
    close loops.
    """
    gaps = stops.gaps(q, place)
    worst = int(gaps.argmin())
    if gaps[worst] < -BEYOND_START:
        raise InputError(
            f"simulate: q0 is {-gaps[worst]:.6g} (m or rad) beyond the {stops.names[worst]}; expected a state within "
            "the limits"
        )
    closing = np.flatnonzero(stops.axis >= 0)
    if m.total_mass > 0.0 and len(closing):
        M = native_function(m, "mass_matrix").fast(q)
        for k in closing:
            row = rows[stops.axis[k]]
            scene.stops["lever"][k] = np.sqrt(1.0 / (row @ np.linalg.solve(M, row)) / m.total_mass)
