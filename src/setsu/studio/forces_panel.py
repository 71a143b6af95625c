"""The tab Forces: what the arrows show and how, the numbers behind them, the mass matrix."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

from setsu.dynamics import mass_matrix
from setsu.mechanism import Mechanism
from setsu.mechanism.velocity_names import coordinate_names
from setsu.studio.readout import box, forces_table, matrix_picture, summary_table
from setsu.studio.scene import LINK_OPACITY, Scene
from setsu.studio.state import Moment

__all__ = ["ForcesPanel"]

NO_FRAME = "none"


class ForcesPanel:
    """Widgets of the tab inside the current container.

    scene: gives the scene shown, None without a mechanism. refresh: called when another load at rest is chosen.
    changed: called when arrows changed. carefully: calls a function and tells what goes wrong in the page.
    """

    def __init__(
        self,
        gui: Any,
        scene: Callable[[], Scene | None],
        refresh: Callable[[], None],
        changed: Callable[[], None],
        carefully: Callable[[Callable[[], Any]], None],
    ) -> None:
        self._scene, self._changed = scene, changed
        self._load = gui.add_dropdown("At rest, show", ("held still by its torques", "let go: no torque"))
        self._length = gui.add_slider("Arrow length (10^x)", min=-2.0, max=2.0, step=0.05, initial_value=0.0)
        self.opacity = gui.add_slider("Opacity of links", min=0.05, max=1.0, step=0.05, initial_value=LINK_OPACITY)
        self.frame = gui.add_dropdown("Wrench at frame", (NO_FRAME,))
        self._scale_text = gui.add_html("")
        self._summary = gui.add_html(box("info", "Numbers appear with a mechanism."))
        self._table, self._matrix = gui.add_html(""), gui.add_html("")
        self._load.on_update(lambda event: carefully(refresh))
        self._length.on_update(lambda event: carefully(self._scale))
        self.opacity.on_update(lambda event: carefully(self._fade))
        self.frame.on_update(lambda event: carefully(self._choose_frame))

    @property
    def let_go(self) -> bool:
        """Whether the forces at rest are those of the instant in which all torques vanish."""
        return self._load.value.startswith("let go")

    def open(self, mechanism: Mechanism, scene: Scene) -> None:
        """Take another mechanism."""
        self.frame.options = (NO_FRAME, *mechanism.frame_names)
        self.frame.value = NO_FRAME
        scene.arrows.factor = 10.0 ** float(self._length.value)
        scene.link_opacity = float(self.opacity.value)

    def show(self, mechanism: Mechanism, moment: Moment) -> None:
        """Show the numbers of a moment."""
        self._summary.content = summary_table(mechanism, moment)
        self._table.content = forces_table(mechanism, moment)
        self._matrix.content = matrix_picture(mass_matrix(mechanism, moment.q), coordinate_names(mechanism))
        self.show_scale()

    def show_scale(self) -> None:
        """Say what a metre of arrow stands for, and which arrow is missing."""
        scene = self._scene()
        if scene is None:
            return
        force, moment = scene.arrows.newton_per_metre
        text = f"1 m of arrow is {force:.3g} N, of double arrow {moment:.3g} N m"
        unknown = scene.arrows.unknown_welds
        for name, reason in list(unknown.items())[:1]:
            others = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
            text += html.escape(f"; no arrow at {name}{others}: {reason}")
        self._scale_text.content = f'<div style="font:11px system-ui;color:#6b737c;padding:0 14px 6px">{text}</div>'

    def _scale(self) -> None:
        if (scene := self._scene()) is not None:
            scene.set_arrow_factor(10.0 ** float(self._length.value))
            self._changed()

    def _fade(self) -> None:
        if (scene := self._scene()) is not None:
            scene.set_link_opacity(float(self.opacity.value))

    def _choose_frame(self) -> None:
        if (scene := self._scene()) is not None:
            scene.set_frame("" if self.frame.value == NO_FRAME else self.frame.value)
            self._changed()
