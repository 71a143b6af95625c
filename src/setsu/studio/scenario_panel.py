"""The run's settings as widgets, and from them the record a scenario file gives: both are run by the same code."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu import scenario as scenarios
from setsu.constraints import Cylinder, Plane, Sphere
from setsu.dynamics import body_poses, mass_matrix
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.scenario.reading import as_data

__all__ = ["ScenarioPanel"]

Floats = NDArray[np.float64]

NO_TORQUE, HOLD, CONSTANT, FORMULA, FROM_FILE = (
    "none: joints are free",
    "hold the start pose",
    "constant values",
    "formulas in t",
    "from the scenario file",
)
NO_CONTACT = "none"
SURFACES = ("plane", "sphere", "cylinder", "implicit")
INTEGRATORS = ("rk4", "semi_implicit", "rk8", "adaptive", "radau")


class ScenarioPanel:
    """Widgets of one mechanism's scenario inside the current container; `scenario(q)` is what they say."""

    def __init__(self, gui: Any, mechanism: Mechanism, given: Any = None) -> None:
        self._mechanism, self._given = mechanism, given
        settings = given.simulation if given is not None else scenarios.Simulation(duration=3.0, step=2e-3)
        frames = [name for name, frame in mechanism.frames.items() if frame.body >= 0]
        with gui.add_folder("Torque or controller"):
            kinds = [*([FROM_FILE] if given is not None else []), NO_TORQUE, HOLD, CONSTANT, FORMULA]
            self.torque = gui.add_dropdown("Torque", kinds)
            self.stiffness = gui.add_number("Natural freq. (Hz)", 2.0, min=0.0, max=1e3, step=0.1)
            self.damping = gui.add_number("Damping ratio", 0.7, min=0.0, max=1e3, step=0.05)
            self.gravity = gui.add_checkbox("Carry gravity", True)
            example = "\n".join(f"{name} = 0.0" for name in _single(mechanism)[:3])
            self.values = gui.add_text("joint = value", example, multiline=True)
        with gui.add_folder("Contact"):
            kinds = [*([FROM_FILE] if given is not None and given.contacts else []), NO_CONTACT, *SURFACES]
            self.surface = gui.add_dropdown("Surface", kinds)
            self.body = gui.add_dropdown("Body", frames, initial_value=frames[-1])
            self.point = gui.add_vector3("Point (m)", (0.0, 0.0, 0.0), step=0.01)
            self.direction = gui.add_vector3("Normal", (0.0, 0.0, 1.0), step=0.1)
            self.place = gui.add_vector3("Centre (m)", (0.0, 0.0, -1.0), step=0.1)
            self.expression = gui.add_text("C(x, y, z) = 0", "z")
            self.friction = gui.add_number("Friction coeff.", 0.3, min=0.0, max=10.0, step=0.05)
            self.bilateral = gui.add_checkbox("Hold for ever (pulls too)", False)
            self.floor = gui.add_checkbox("Floor z = 0 under contact points", bool(mechanism.contact_points))
        with gui.add_folder("Start and time"):
            self.velocities = gui.add_text("Velocities (SI)", " ".join(["0"] * min(mechanism.nv, 12)))
            self.duration = gui.add_number("Duration (s)", float(settings.duration), min=1e-3, max=1e4, step=0.1)
            self.step = gui.add_number("Step (ms)", 1e3 * settings.step, min=1e-3, max=1e3, step=0.1)
            self.integrator = gui.add_dropdown("Integrator", INTEGRATORS, initial_value=settings.integrator)
            self.every = gui.add_number("Record every", settings.record_every, min=1, max=100000, step=1)
            self.stops = gui.add_checkbox("Joint stops", settings.joint_stops)
        for widget in (self.torque, self.surface):
            widget.on_update(lambda _: self._arrange())
        self._arrange()

    def scenario(self, q: Floats) -> Any:
        """Return the scenario record that starts from a configuration (nq,).

        Raises:
            InputError, ModelFileError: a widget holds what no scenario may say.
        """
        data: dict[str, Any] = as_data(self._given) if self._given is not None else {"model": {}}
        data.pop("output", None)
        m = self._mechanism
        data["start"] = {
            "q": {body.joint.name: _entry(q[where]) for body, where in zip(m.moving, m.q_slices, strict=True)},
            "v": {body.joint.name: _entry(v) for body, v in zip(m.moving, self._velocities(), strict=True)},
        }
        data["simulation"] = {
            **data.get("simulation", {}),
            "duration": float(self.duration.value),
            "step": float(self.step.value) / 1e3,
            "integrator": self.integrator.value,
            "record_every": int(self.every.value),
            "joint_stops": bool(self.stops.value),
        }
        if self.torque.value != FROM_FILE:
            data["torque"] = self._torque(q)
        if self.surface.value != FROM_FILE:
            data["contacts"] = self._contacts(q)
            if m.contact_points and self.floor.value:
                data["environment"] = {"floor": True}
            else:
                data.pop("environment", None)
        return scenarios.parse(data, name="the tab Scenario")

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
        self.floor.visible = bool(self._mechanism.contact_points)

    def _torque(self, q: Floats) -> dict[str, Any]:
        if self.torque.value == NO_TORQUE:
            return {"kind": "none"}
        if self.torque.value == HOLD:
            m = self._mechanism
            inertia = np.diag(mass_matrix(m, q))
            rate = 2.0 * np.pi * float(self.stiffness.value)
            single = [(b.joint.name, inertia[w.start]) for b, w in zip(m.moving, m.v_slices, strict=True)
                      if b.joint.nq == 1]  # fmt: skip
            return {
                "kind": "joint_feedback",
                "stiffness": {name: float(part * rate**2) for name, part in single},
                "damping": {name: float(2.0 * self.damping.value * rate * part) for name, part in single},
                "gravity_compensation": bool(self.gravity.value),
            }
        pairs = dict(self._pairs())
        if self.torque.value == CONSTANT:
            return {"kind": "constant", "values": {name: _number(text, name) for name, text in pairs.items()}}
        return {"kind": "expression", "values": pairs}

    def _pairs(self) -> list[tuple[str, str]]:
        pairs = []
        for number, line in enumerate(self.values.value.splitlines(), 1):
            if line.strip():
                name, found, text = line.partition("=")
                if not found:
                    raise InputError(f"torque, line {number}: got {line.strip()[:60]!r}, expected joint = value")
                pairs.append((name.strip(), text.strip()))
        return pairs

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

    def _velocities(self) -> list[Floats]:
        words = re.split(r"[\s,;]+", self.velocities.value.strip())
        numbers = [_number(word, "velocities") for word in words if word]
        m = self._mechanism
        if len(numbers) > m.nv:
            raise InputError(f"velocities: got {len(numbers)} numbers, expected at most {m.nv}")
        # Joints without a number start at rest.
        v = np.array(numbers + [0.0] * (m.nv - len(numbers)))
        return [v[where] for where in m.v_slices]


def _single(m: Mechanism) -> list[str]:
    return [body.joint.name for body in m.moving if body.joint.nq == 1]


def _entry(values: Floats) -> Any:
    return float(values[0]) if len(values) == 1 else tuple(values.tolist())


def _number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{what}: expected a number, got {text[:60]!r}") from None
    if not np.isfinite(value):
        raise InputError(f"{what}: expected a finite number, got {text[:60]!r}")
    return value
