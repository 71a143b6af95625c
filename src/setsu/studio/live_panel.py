"""A run that is computed while it is watched: pause, single steps, slow motion, and a body pulled with the mouse.

The mechanism is stepped by `setsu.Simulator` in a thread of its own, as many steps a picture as the clock says; a
computation that is too slow drops time and not pictures. A pulled body hangs on a spring whose other end is a handle in
the 3D view:

    F = k (handle - point) - 2 √(k M) v_point,  k = M (2π f)²                 (1)  M: mass of all, f: of the slider
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import body_poses, body_velocities
from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.scenario import Prepared
from setsu.scenario.running import make_simulator
from setsu.simulation.recording import Recording
from setsu.simulation.simulator import Simulator
from setsu.studio.readout import box, reported

__all__ = ["LivePanel"]

Floats = NDArray[np.float64]

SPEEDS = {"1/100": 0.01, "1/20": 0.05, "1/10": 0.1, "1/4": 0.25, "1/2": 0.5, "1": 1.0}
FRAMES_PER_SECOND = 25.0
_NOBODY = "nothing"
_LONGEST = 0.1  # s of computation between two pictures


class LivePanel:
    """Widgets of one mechanism's live runs inside the current container.

    world: viser's scene, for the handle. prepare: gives what is to be run. show(recording): draws a state.
    carefully: calls a function and tells what goes wrong in the page.
    """

    def __init__(
        self,
        gui: Any,
        world: Any,
        mechanism: Mechanism,
        radius: float,
        prepare: Callable[[], Prepared],
        show: Callable[[Recording], None],
        carefully: Callable[[Callable[[], Any]], None],
    ) -> None:
        self._mechanism, self._prepare, self._show, self._carefully = mechanism, prepare, show, carefully
        self._leave, self._going = threading.Event(), threading.Event()
        self._single = 0
        self._thread: threading.Thread | None = None
        self.simulator: Simulator | None = None
        self.go_button = gui.add_button("Go live", color="green")
        self.end_button = gui.add_button("End", color="red", visible=False)
        self.buttons = gui.add_button_group("Time", ("Pause", "Go on", "Step"))
        self.speed = gui.add_dropdown("Speed (x)", tuple(SPEEDS), initial_value="1")
        self.body = gui.add_dropdown("Pull body", (_NOBODY, *mechanism.body_names))
        self.stiffness = gui.add_slider("Spring (Hz)", min=0.2, max=5.0, step=0.1, initial_value=1.0)
        self.text = gui.add_html("")
        self.handle = world.add_transform_controls(
            "/live/handle", scale=0.35 * radius, disable_rotations=True, visible=False, depth_test=False
        )
        self.go_button.on_click(lambda event: carefully(self.start))
        self.end_button.on_click(lambda event: self.end())
        self.buttons.on_click(lambda event: self.press(self.buttons.value))
        self.body.on_update(lambda event: carefully(self._choose))

    # What a person does ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin a run from the start of the scenario, in the background."""
        if self.is_live:
            raise InputError("a live run is under way: end it first")
        prepared = self._prepare()
        self._leave.clear()
        self._going.set()
        self._single = 0
        self.go_button.visible, self.end_button.visible = False, True
        self.text.content = box("info", "preparing: the first run of a kind compiles its code")
        self._thread = threading.Thread(target=self._run, args=(prepared,), name="setsu live run", daemon=True)
        self._thread.start()

    @property
    def is_live(self) -> bool:
        """Whether a run is under way."""
        return self._thread is not None and self._thread.is_alive()

    def press(self, choice: str) -> None:
        """Pause, go on, or take one step and pause."""
        if choice == "Go on":
            self._going.set()
            return
        self._going.clear()
        self._single += choice == "Step"

    def end(self, seconds: float = 10.0) -> None:
        """End the run; what it shows stays."""
        self._leave.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def remove(self) -> None:
        """End the run unseen and take the handle away: its mechanism is no longer shown."""
        self._leave.set()
        self.handle.remove()

    def _choose(self) -> None:
        """Lay the handle where the chosen body is."""
        chosen = self.body.value != _NOBODY
        if chosen and self.simulator is not None:
            self.handle.position = self._point(self.simulator.q)[0]
        self.handle.visible = chosen and self.is_live

    # The run ---------------------------------------------------------------------------------------------------------

    def _run(self, prepared: Prepared) -> None:
        try:
            self.simulator = make_simulator(prepared)
            self._carefully(self._choose)
            self._step_on(self.simulator)
            kind, text = "info", f"ended at t = {self.simulator.time:.4g} s"
        except Exception as problem:  # whatever it is, the page says so
            kind, text = "error", reported(problem)
        self.text.content = box(kind, text)
        self.go_button.visible, self.end_button.visible, self.handle.visible = True, False, False

    def _step_on(self, sim: Simulator) -> None:
        step, last, owed = sim.settings.step, time.monotonic(), 0.0
        self._picture(sim)
        while not self._leave.wait(1.0 / FRAMES_PER_SECOND):
            now = time.monotonic()
            if self._going.is_set():
                owed += (now - last) * SPEEDS[self.speed.value]
                steps = int(owed / step)
            else:
                steps, owed, self._single = self._single, 0.0, 0
            last, taken = now, 0
            while taken < steps and time.monotonic() - now < _LONGEST and not self._leave.is_set():
                self._pull(sim)
                sim.step()
                taken += 1
            # What cannot be computed in time is dropped, so that a person's pull is answered at once.
            owed = owed - steps * step if taken == steps else 0.0
            if taken:
                self._picture(sim)

    def _picture(self, sim: Simulator) -> None:
        self._carefully(lambda: self._show(sim.snapshot()))
        self.text.content = box("info", f"live, t = {sim.time:.4f} s, energy {float(sim.energy):.5g} J")

    def _point(self, q: Floats) -> tuple[Floats, int, Floats]:
        """Where the pulled point is (3,) m, its body, and where on it: at the centre of mass."""
        m, number = self._mechanism, self._mechanism.body_names.index(self.body.value)
        pose, point = body_poses(m, q)[number], np.asarray(m.moving[number].center_of_mass, dtype=np.float64)
        return pose[:3, :3] @ point + pose[:3, 3], number, point

    def _pull(self, sim: Simulator) -> None:
        """Push the chosen body towards the handle (1)."""
        if self.body.value == _NOBODY:
            return
        m, q, v = self._mechanism, sim.q, sim.v
        place, number, point = self._point(q)
        twist = body_velocities(m, q, v)[number]
        arm = place - body_poses(m, q)[number, :3, 3]
        velocity = twist[:3] + np.cross(twist[3:], arm)
        k = m.total_mass * (2.0 * math.pi * float(self.stiffness.value)) ** 2
        force = k * (np.asarray(self.handle.position) - place) - 2.0 * math.sqrt(k * m.total_mass) * velocity
        sim.push(self.body.value, force, point)
