"""The time of a recording: a slider to scrub, play and pause, speed, and the plots whose cursor follows it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from setsu.mechanism import Mechanism
from setsu.simulation import Recording
from setsu.studio.plots import Plot, cursor_style, legend_html, plot_svg
from setsu.studio.readout import box
from setsu.studio.recorded_plots import GROUPS, plots_of

__all__ = ["KEEP_GHOST", "PlotPanel", "ReplayPanel"]

SPEEDS = {"1/20": 0.05, "1/10": 0.1, "1/4": 0.25, "1/2": 0.5, "1": 1.0, "2": 2.0, "5": 5.0}
FRAMES_PER_SECOND = 25.0
KEEP_GHOST = "Keep this run"


class ReplayPanel:
    """Widgets for one recording inside the current container; `show(index)` is called when the time changes.

    ghosts(choice): called when somebody keeps the run as a ghost, or removes all ghosts.
    """

    def __init__(
        self, gui: Any, recording: Recording, show: Callable[[int], None], ghosts: Callable[[str], None]
    ) -> None:
        self._recording, self._show = recording, show
        end = float(recording.time[-1])
        step = max(round(end / 2000.0, 6), 1e-6)
        self.slider = gui.add_slider("Time (s)", min=0.0, max=max(end, 2 * step), step=step, initial_value=0.0)
        self.buttons = gui.add_button_group("Replay", ("Play", "Pause", "Start"))
        self.speed = gui.add_dropdown("Speed (x)", tuple(SPEEDS), initial_value="1")
        self.ghosts = gui.add_button_group("Ghosts", (KEEP_GHOST, "Remove all"))
        self.ghosts.on_click(lambda event: ghosts(self.ghosts.value))
        self.slider.on_update(self._scrubbed)
        self.buttons.on_click(self._pressed)
        self._playing = threading.Event()
        self._closed = threading.Event()
        threading.Thread(target=self._play, name="setsu replay", daemon=True).start()

    @property
    def index(self) -> int:
        """Which recorded state is shown."""
        return self.index_at(float(self.slider.value))

    def index_at(self, moment: float) -> int:
        """Return the last recorded state not after a time (s)."""
        return int(np.clip(np.searchsorted(self._recording.time, moment + 1e-9, side="right") - 1, 0, None))

    def go_to(self, moment: float) -> None:
        """Show a time (s)."""
        self.slider.value = min(max(moment, 0.0), self.slider.max)
        self._show(self.index)

    def play(self) -> None:
        """Run the time at the chosen speed until the end."""
        self._playing.set()

    def pause(self) -> None:
        """Stand still."""
        self._playing.clear()

    def close(self) -> None:
        """End the thread that moves the time."""
        self._closed.set()
        self._playing.set()

    def remove(self) -> None:
        """End the thread and take the widgets away."""
        self.close()
        for widget in (self.slider, self.buttons, self.speed, self.ghosts):
            widget.remove()

    def _scrubbed(self, event: Any) -> None:
        if event.client is not None:
            self._playing.clear()
            self._show(self.index)

    def _pressed(self, event: Any) -> None:
        if self.buttons.value == "Play":
            self.play()
        else:
            self.pause()
            if self.buttons.value == "Start":
                self.go_to(0.0)

    def _play(self) -> None:
        end = float(self._recording.time[-1])
        while self._playing.wait() and not self._closed.is_set():
            now = float(self.slider.value)
            now = 0.0 if now >= end - 1e-9 else now
            last = time.monotonic()
            while self._playing.is_set() and not self._closed.is_set():
                self.go_to(now)
                if now >= end:
                    self._playing.clear()
                    break
                time.sleep(1.0 / FRAMES_PER_SECOND)
                # By the clock and not by frames, so that a slow browser drops pictures and not time.
                moment = time.monotonic()
                now = min(now + (moment - last) * SPEEDS[self.speed.value], end)
                last = moment


class PlotPanel:
    """A panel of plots beside the 3D view."""

    def __init__(self, gui: Any) -> None:
        self._gui = gui
        panel = gui.add_panel()
        self._tabs = {name: panel.add_tab(name) for name in GROUPS}
        panel.dock_left()
        panel.set_width(430)
        self._handles: list[Any] = []
        self._legends: list[tuple[Any, Plot]] = []
        self._cursors: list[Any] = []
        self.clear()

    def clear(self, text: str = "Curves appear here after a run or with a recording.") -> None:
        """Show that there is nothing to plot."""
        self._remove()
        for tab in self._tabs.values():
            with tab:
                self._handles.append(self._gui.add_html(box("info", text)))

    def set_recording(self, mechanism: Mechanism, recording: Recording) -> None:
        """Draw the plots of a recording."""
        groups = plots_of(mechanism, recording)
        self._remove()
        for name, tab in self._tabs.items():
            with tab:
                # A tab that was never on top is not part of the page, so that each carries the cursor.
                self._cursors.append(self._gui.add_html(cursor_style(0.0)))
                for plot in groups[name]:
                    self._handles.append(self._gui.add_html(plot_svg(recording.time, plot)))
                    legend = self._gui.add_html(legend_html(plot, 0))
                    self._legends.append((legend, plot))
        self._handles += [*self._cursors, *(legend for legend, _ in self._legends)]

    def set_time(self, recording: Recording, index: int) -> None:
        """Move the cursor and the numbers beside the curves to a recorded state."""
        start, end = float(recording.time[0]), float(recording.time[-1])
        style = cursor_style((float(recording.time[index]) - start) / max(end - start, 1e-12))
        for cursor in self._cursors:
            cursor.content = style
        for legend, plot in self._legends:
            legend.content = legend_html(plot, index)

    def _remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles, self._legends, self._cursors = [], [], []
