"""Run and stop buttons, progress, and the thread behind them: the page stays alive while a run goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from setsu import scenario as scenarios
from setsu.errors import InputError
from setsu.scenario import Prepared
from setsu.simulation import Recording, SimulationStopped
from setsu.studio.readout import box, reported

__all__ = ["RunPanel"]

TELL_EVERY = 0.1
"""Seconds: ten times a second is enough to see, and slow runs and fast ones cost the page the same."""

Ended = Callable[["RunPanel", Prepared, Recording | None, str, str], None]


class RunPanel:
    """Widgets of one mechanism's runs inside the current container.

    prepare: gives what is to be run when Run is pressed. ended(panel, prepared, recording, kind, text): called from
    the run's thread when it is over; kind "good", "info" (stopped) or "error", text in words. carefully: calls a
    function and tells what goes wrong in the page.
    """

    def __init__(
        self, gui: Any, prepare: Callable[[], Prepared], ended: Ended, carefully: Callable[[Callable[[], Any]], None]
    ) -> None:
        self._prepare, self._ended = prepare, ended
        self._stop = threading.Event()
        self._left = False
        self._thread: threading.Thread | None = None
        self.run_button = gui.add_button("Run", color="green")
        self.stop_button = gui.add_button("Stop", color="red", visible=False)
        self.progress = gui.add_progress_bar(0.0, visible=False)
        self.text = gui.add_html("")
        self.run_button.on_click(lambda event: carefully(self.start))
        self.stop_button.on_click(lambda event: self._stop.set())

    def start(self) -> None:
        """Run what `prepare` gives, in the background."""
        if self._thread is not None and self._thread.is_alive():
            raise InputError("a run is under way: stop it first")
        prepared = self._prepare()
        self._stop.clear()
        self.progress.value = 0.0
        self.run_button.disabled, self.stop_button.visible, self.progress.visible = True, True, True
        self.text.content = box("info", "preparing: the first run of a kind compiles its code")
        self._thread = threading.Thread(target=self._run, args=(prepared,), daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait until the run under way has ended."""
        if self._thread is not None:
            self._thread.join(seconds)

    def leave(self) -> None:
        """End a run unseen: its mechanism is no longer shown."""
        self._left = True
        self._stop.set()

    def _run(self, prepared: Prepared) -> None:
        last = [0.0]

        def progress(text: str, part: float) -> None:
            if not self._left and (time.monotonic() - last[0] >= TELL_EVERY or part >= 1.0):
                last[0] = time.monotonic()
                self.progress.value = 100.0 * part
                self.text.content = box("info", f"simulating, {text}")

        try:
            recording, kind, text = scenarios.run(prepared, progress, self._stop.is_set), "good", ""
        except SimulationStopped as problem:
            recording, kind = problem.recording, "info" if self._stop.is_set() else "error"
            text = f"{problem}\n"
        except Exception as problem:
            recording, kind, text = None, "error", reported(problem)
        if self._left:
            return
        self.run_button.disabled, self.stop_button.visible, self.progress.visible = False, False, False
        self.text.content = ""
        if recording is not None:
            text += f"{len(recording)} states until t = {recording.time[-1]:.4g} s, {_counted(len(recording.events))}"
        self._ended(self, prepared, recording, kind, text)


def _counted(events: int) -> str:
    return "1 event" if events == 1 else f"{events} events"
