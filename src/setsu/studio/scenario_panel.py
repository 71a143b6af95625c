"""The run's settings as widgets, and from them the record a scenario file gives: both are run by the same code.

A panel that was opened with a scenario file says what the file says, bit by bit, but for the widgets that somebody
changed: numbers that a page shows are rounded, and a file may say what no widget shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from setsu import scenario as scenarios
from setsu.constraints import Cylinder, Plane, Sphere
from setsu.dynamics import body_poses
from setsu.mechanism import Mechanism
from setsu.scenario import Prepared, Scenario
from setsu.scenario.reading import as_data
from setsu.scenario.schema import Integrator
from setsu.studio.geometry import is_floating
from setsu.studio.ground_settings import GroundSettings
from setsu.studio.hold_gains import hold_gains
from setsu.studio.setting_texts import FROM_FILE, named_numbers, named_texts, number_in

__all__ = ["PRESENT_POSE", "ScenarioPanel"]

Floats = NDArray[np.float64]

NO_TORQUE, HOLD, CONSTANT, FORMULA = (
    "none: joints are free",
    "hold the start pose",
    "constant values",
    "formulas in t",
)
NO_CONTACT = "none"
PRESENT_POSE = "the pose shown"
SURFACES = ("plane", "sphere", "cylinder", "implicit")
INTEGRATORS: tuple[str, ...] = get_args(Integrator)


class ScenarioPanel:
    """Widgets of one mechanism's scenario inside the current container; `prepared(q)` is what they say.

    given: the scenario file the mechanism came from, ready to run. ground_changed: called when another is chosen.
    """

    def __init__(
        self,
        gui: Any,
        mechanism: Mechanism,
        given: Prepared | None = None,
        ground_changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._mechanism, self._opened = mechanism, given
        self._given = None if given is None else given.scenario
        stops = bool(np.isfinite(np.concatenate([mechanism.lower, mechanism.upper])).any())
        default = scenarios.Simulation(duration=3.0, step=2e-3, joint_stops=stops)
        settings = default if self._given is None else self._given.simulation
        from_file = [] if self._given is None else [FROM_FILE]
        frames = [name for name, frame in mechanism.frames.items() if frame.body >= 0]
        with gui.add_folder("Torque or controller"):
            kinds = [*from_file, *((HOLD, NO_TORQUE) if _has_drives(mechanism) else (NO_TORQUE, HOLD))]
            self.torque = gui.add_dropdown("Torque", [*kinds, CONSTANT, FORMULA])
            stiff = 12.0 if is_floating(mechanism) else 2.0  # legs carry the robot
            self.stiffness = gui.add_number("Natural freq. (Hz)", stiff, min=0.0, max=1e3, step=0.1)
            self.damping = gui.add_number("Damping ratio", 0.7, min=0.0, max=1e3, step=0.05)
            self.gravity = gui.add_checkbox("Carry gravity", True)
            example = "\n".join(f"{name} = 0.0" for name in _single(mechanism)[:3])
            self.values = gui.add_text("joint = value", example, multiline=True)
        with gui.add_folder("Contact"):
            kinds = from_file if self._given is not None and self._given.contacts else []
            self.surface = gui.add_dropdown("Surface", [*kinds, NO_CONTACT, *SURFACES])
            self.body = gui.add_dropdown("Body", frames, initial_value=frames[-1])
            self.point = gui.add_vector3("Point (m)", (0.0, 0.0, 0.0), step=0.01)
            self.direction = gui.add_vector3("Normal", (0.0, 0.0, 1.0), step=0.1)
            self.place = gui.add_vector3("Centre (m)", (0.0, 0.0, -1.0), step=0.1)
            self.expression = gui.add_text("C(x, y, z) = 0", "z")
            self.friction = gui.add_number("Friction coeff.", 0.3, min=0.0, max=10.0, step=0.05)
            self.bilateral = gui.add_checkbox("Bilateral (may pull)", False)
        self.ground = None
        if mechanism.contact_points:
            with gui.add_folder("Ground under contact points"):
                self.ground = GroundSettings(gui, mechanism, given, ground_changed)
        with gui.add_folder("Start and time"):
            self.start = gui.add_dropdown("Start from", [*from_file, PRESENT_POSE], visible=bool(from_file))
            self._velocities_shown = _moving(mechanism, np.zeros(mechanism.nv) if given is None else given.v0)
            text = "\n".join(f"{name} = {' '.join(map(repr, row))}" for name, row in self._velocities_shown.items())
            self.velocities = gui.add_text(
                "Velocities (SI)", text, multiline=True,
                hint="rad/s or m/s, one joint per line: joint = value, or several values. The others start at rest.",
            )  # fmt: skip
            self.duration = gui.add_number("Duration (s)", float(settings.duration), min=1e-3, max=1e4, step=0.1)
            self.step = gui.add_number("Step (ms)", 1e3 * settings.step, min=1e-3, max=1e3, step=0.1)
            self.integrator = gui.add_dropdown("Integrator", INTEGRATORS, initial_value=settings.integrator)
            self.every = gui.add_number("Record every", settings.record_every, min=1, max=100000, step=1)
            self.stops = gui.add_checkbox("Joint stops", settings.joint_stops)
        self._shown = {
            name: getattr(self, name).value
            for name in ("velocities", "duration", "step", "integrator", "every", "stops")
        }
        for widget in (self.torque, self.surface):
            widget.on_update(lambda _: self._arrange())
        self._arrange()

    def pose_was_moved(self) -> None:
        """Start from the pose shown from now on: somebody moved a joint."""
        self.start.value = PRESENT_POSE

    def prepared(self, q: Floats) -> Prepared:
        """Return what is to be run; q (nq,): the pose shown.

        Raises:
            InputError, ModelFileError: a widget holds what no scenario may say.
        """
        mechanism = self._mechanism if self.ground is None else self.ground.with_material(self._mechanism)
        return scenarios.prepare(self.scenario(q), mechanism)

    def scenario(self, q: Floats) -> Scenario:
        """Return the scenario record; q (nq,): the pose shown.

        Raises:
            InputError, ModelFileError: a widget holds what no scenario may say.
        """
        data: dict[str, Any] = {"model": {}} if self._given is None else as_data(self._given)
        data.pop("output", None)
        if self.start.value != FROM_FILE or self._changed("velocities"):
            data["start"] = self._start(q)
        data["simulation"] = {**data.get("simulation", {}), **self._simulation()}
        if self.torque.value != FROM_FILE:
            data["torque"] = self._torque(q)
        if self.surface.value != FROM_FILE:
            data["contacts"] = self._contacts(q)
        if self.ground is not None:
            self.ground.put_into(data)
        return scenarios.parse(data, name="the tab Scenario")

    def _changed(self, name: str) -> bool:
        """Whether a widget shows something else than it began with."""
        return getattr(self, name).value != self._shown[name]

    def _start(self, q: Floats) -> dict[str, Any]:
        m = self._mechanism
        if self.start.value == FROM_FILE and self._opened is not None:
            q = self._opened.q0
        given = named_numbers(self.velocities.value, "velocities")
        known = {} if self._given is None else as_data(self._given).get("start", {})
        start: dict[str, Any] = {
            "q": {body.joint.name: _entry(q[where].tolist()) for body, where in zip(m.moving, m.q_slices, strict=True)},
            "v": {name: _entry(row) for name, row in given.items()},
        }
        if m.loops or m.couplings:
            # The other joints follow those whose velocity was typed.
            typed = [name for name, row in given.items() if row != self._velocities_shown.get(name, [0.0] * len(row))]
            start |= {"close_loops": True, "fixed": typed or known.get("fixed", [])}
        return start

    def _simulation(self) -> dict[str, Any]:
        """The settings of the run; with a file, those that were changed."""
        settings = {
            "duration": ("duration", float(self.duration.value)),
            "step": ("step", float(self.step.value) / 1e3),
            "integrator": ("integrator", self.integrator.value),
            "record_every": ("every", int(self.every.value)),
            "joint_stops": ("stops", bool(self.stops.value)),
        }
        return {key: value for key, (name, value) in settings.items() if self._given is None or self._changed(name)}

    def _arrange(self) -> None:
        """Show only the widgets that matter for the choices made."""
        for widget in (self.stiffness, self.damping, self.gravity):
            widget.visible = self.torque.value == HOLD
        self.values.visible = self.torque.value in (CONSTANT, FORMULA)
        kind = self.surface.value
        for widget in (self.body, self.point, self.friction, self.bilateral):
            widget.visible = kind in SURFACES
        self.direction.visible = kind in ("plane", "cylinder")
        self.direction.label = "Axis" if kind == "cylinder" else "Normal"
        self.place.visible = kind in ("sphere", "cylinder")
        self.expression.visible = kind == "implicit"

    def _torque(self, q: Floats) -> dict[str, Any]:
        if self.torque.value == NO_TORQUE:
            return {"kind": "none"}
        if self.torque.value == HOLD:
            m = self._mechanism
            stiffness, damping = hold_gains(
                m, q, float(self.stiffness.value), float(self.damping.value), float(self.step.value) / 1e3
            )
            single = [(b.joint.name, w.start) for b, w in zip(m.moving, m.v_slices, strict=True) if b.joint.nq == 1]
            return {
                "kind": "joint_feedback",
                "stiffness": {name: float(stiffness[place]) for name, place in single},
                "damping": {name: float(damping[place]) for name, place in single},
                "gravity_compensation": bool(self.gravity.value),
            }
        pairs = named_texts(self.values.value, "torque")
        if self.torque.value == CONSTANT:
            return {"kind": "constant", "values": {name: number_in(text, name) for name, text in pairs.items()}}
        return {"kind": "expression", "values": pairs}

    def _contacts(self, q: Floats) -> list[dict[str, Any]]:
        kind = self.surface.value
        if kind == NO_CONTACT:
            return []
        m = self._mechanism
        frame = m.frame(self.body.value)
        pose = body_poses(m, q)[frame.body] @ frame.pose.matrix
        point = np.array(self.point.value, dtype=np.float64)
        place = pose[:3, :3] @ point + pose[:3, 3]
        direction = tuple(float(entry) for entry in self.direction.value)
        center = tuple(float(entry) for entry in self.place.value)
        # The surface is laid through the point's place at the start: its offset or radius follows.
        if kind == "plane":
            surface = {"kind": kind, "normal": direction, "offset": float(Plane(direction, 0.0).value(place))}
        elif kind == "sphere":
            surface = {"kind": kind, "center": center, "radius": float(Sphere(center, 1e-9).value(place)) + 1e-9}
        elif kind == "cylinder":
            radius = float(Cylinder(center, direction, 1e-9).value(place)) + 1e-9
            surface = {"kind": kind, "point": center, "axis": direction, "radius": radius}
        else:
            surface = {"kind": kind, "expression": self.expression.value}
        return [
            {
                "body": self.body.value,
                "point": tuple(point.tolist()),
                "surface": surface,
                "friction": float(self.friction.value),
                "bilateral": bool(self.bilateral.value),
            }
        ]


def _has_drives(m: Mechanism) -> bool:
    """Whether something drives the joints: a robot, which holds its pose unless somebody switches that off."""
    return bool(m.actuators) or bool(np.isfinite(m.effort_limit).any())


def _single(m: Mechanism) -> list[str]:
    return [body.joint.name for body in m.moving if body.joint.nq == 1]


def _moving(m: Mechanism, v: Floats) -> dict[str, list[float]]:
    """Velocities by joint, of those that move; of the first three where none does, as an example to edit."""
    rows = {body.joint.name: v[where].tolist() for body, where in zip(m.moving, m.v_slices, strict=True)}
    return {name: row for name, row in rows.items() if any(row)} or dict(list(rows.items())[:3])


def _entry(values: list[float]) -> Any:
    return values[0] if len(values) == 1 else tuple(values)
