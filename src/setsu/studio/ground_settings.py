"""What the contact points of a mechanism may touch, as widgets: the file's environment, a floor, a slope; friction."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from setsu.contact import Environment
from setsu.mechanism import Mechanism
from setsu.scenario import Prepared
from setsu.studio.setting_texts import FROM_FILE

__all__ = ["GroundSettings"]

FLOOR, SLOPE, NOTHING = "floor", "slope", "nothing"

# Label and entry of a contact point's material.
COEFFICIENTS = (
    ("Static friction", "static_friction"), ("Kinetic friction", "kinetic_friction"), ("Restitution", "restitution"),
)  # fmt: skip


class GroundSettings:
    """Widgets for the environment and the material of contact points inside the current container.

    given: the scenario file, ready to run. changed: called when another ground is chosen.
    """

    def __init__(
        self, gui: Any, mechanism: Mechanism, given: Prepared | None, changed: Callable[[], None] = lambda: None
    ) -> None:
        self._of_file: Environment | None = None if given is None else given.options.get("environment")
        has_world = self._of_file is not None
        kinds = [*([FROM_FILE] if has_world else []), FLOOR, SLOPE, NOTHING]
        first = FLOOR if given is None else FROM_FILE if has_world else NOTHING
        self.kind = gui.add_dropdown("Ground", kinds, initial_value=first)
        self.height = gui.add_number("Height (m)", 0.0, min=-1e3, max=1e3, step=0.01)
        self.slope = gui.add_number("Falls to +x (rad)", 0.2, min=-1.5, max=1.5, step=0.01)
        material = mechanism.contact_points[0].material
        self._coefficients = {
            name: gui.add_number(label, float(getattr(material, name)), min=0.0, max=10.0, step=0.05)
            for label, name in COEFFICIENTS
        }
        self._shown = {name: widget.value for name, widget in self._coefficients.items()}
        self.kind.on_update(lambda _: self._arrange())
        for widget in (self.kind, self.height, self.slope):
            widget.on_update(lambda _: changed())
        self._arrange()

    @property
    def environment(self) -> Environment | None:
        """What the widgets say can be touched."""
        if self.kind.value in (FROM_FILE, NOTHING):
            return self._of_file if self.kind.value == FROM_FILE else None
        return Environment.slope(self._angle, height=float(self.height.value), name="floor")

    def put_into(self, data: dict[str, Any]) -> None:
        """Set the environment of a scenario; the file's own stays as it is."""
        if self.kind.value == FROM_FILE:
            return
        data.pop("environment", None)
        if self.kind.value != NOTHING:
            data["environment"] = {"floor": True, "height": float(self.height.value), "slope": self._angle}

    def with_material(self, mechanism: Mechanism) -> Mechanism:
        """Return the mechanism with the coefficients that were changed, in all its contact points."""
        changed = {
            name: float(widget.value)
            for name, widget in self._coefficients.items()
            if widget.value != self._shown[name]
        }
        if not changed:
            return mechanism
        points = [
            dataclasses.replace(point, material=dataclasses.replace(point.material, **changed))
            for point in mechanism.contact_points
        ]
        return dataclasses.replace(mechanism, contact_points=tuple(points))

    @property
    def _angle(self) -> float:
        return float(self.slope.value) if self.kind.value == SLOPE else 0.0

    def _arrange(self) -> None:
        """Show only the widgets that matter for the choice made."""
        self.height.visible = self.kind.value in (FLOOR, SLOPE)
        self.slope.visible = self.kind.value == SLOPE
        for widget in self._coefficients.values():
            widget.visible = self.kind.value != NOTHING
