"""The studio: one server, one mechanism, its pose, its forces, its scenario, its recorded run.

Everything a browser asks for runs under one lock and inside `_carefully`: what goes wrong is reported in words in the
page, and the studio goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu import sample_mechanisms
from setsu.constraints import SurfaceContact, close_loops
from setsu.errors import InputError
from setsu.mechanism import Free, Mechanism
from setsu.scenario import Prepared
from setsu.simulation import Recording
from setsu.studio.drag_panel import DragPanel
from setsu.studio.export_panel import ExportPanel
from setsu.studio.forces_panel import ForcesPanel
from setsu.studio.geometry import is_floating, size_of, standing
from setsu.studio.ghosts import MOST_GHOSTS, Ghosts
from setsu.studio.live_panel import LivePanel
from setsu.studio.pose_panel import PosePanel
from setsu.studio.readout import box, reported
from setsu.studio.replay_panel import KEEP_GHOST, PlotPanel, ReplayPanel
from setsu.studio.run_panel import RunPanel
from setsu.studio.scenario_panel import ScenarioPanel
from setsu.studio.scene import LAYERS, Scene, add_ground, add_light
from setsu.studio.server import open_server
from setsu.studio.state import Moment, moment_at_rest, moment_of_recording
from setsu.studio.uploads import ENDINGS, LARGEST_UPLOAD, Opened, open_upload

__all__ = ["Studio"]

Floats = NDArray[np.float64]

SAMPLES = (
    "four_bar", "puma560", "seven_joint_arm", "planar_arm", "slider_crank", "five_bar", "delta_robot",
    "stewart_platform", "excavator_boom", "jansen_leg", "floating_box",
)  # fmt: skip
CHOOSE = "choose ..."
EMPTY = (
    "No mechanism yet.\n\nDrop a file anywhere on this page, open one with the button above, or choose a sample. "
    f"The studio reads {', '.join(ENDINGS)}."
)


_VIEW_FROM = np.array([0.62, -0.68, 0.4])


class Studio:
    """A running studio; `address` is what a browser opens.

    >>> studio = Studio()                        # doctest: +SKIP
    >>> studio.open_mechanism(setsu.load("robot.urdf"))   # doctest: +SKIP
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.server = open_server(host, port)
        self.server.refused_upload = self._refused_upload
        self._lock = threading.RLock()
        self.opened: Opened | None = None
        self.recording: Recording | None = None
        self.contacts: tuple[SurfaceContact, ...] = ()
        self.scene: Scene | None = None
        self._replay: ReplayPanel | None = None
        self._folders: list[Any] = []
        self._build()
        self.server.on_client_connect(lambda client: self._carefully(lambda: self._aim(client)))

    @property
    def address(self) -> str:
        """The address to open, token included."""
        return self.server.address

    @property
    def mechanism(self) -> Mechanism | None:
        """The mechanism shown, None before one is opened."""
        return None if self.opened is None else self.opened.mechanism

    def close(self) -> None:
        """Stop a run, the replay and the server."""
        if self.opened is not None:
            self.runs.leave()
            self.live.end()
        if self._replay is not None:
            self._replay.close()
        self.server.stop()

    # What is shown ---------------------------------------------------------------------------------------------------

    def open_mechanism(self, mechanism: Mechanism, mesh_folders: Sequence[Path] = ()) -> None:
        """Show a mechanism; mesh files are read only inside `mesh_folders`."""
        self.open(Opened(mechanism, None, tuple(mesh_folders)))

    def open(self, opened: Opened) -> None:
        """Show what a file held."""
        with self._lock:
            if self.opened is not None:
                self.runs.leave()
                self.live.remove()
                self.drag.remove()
            m = opened.mechanism
            self.opened, self.recording, self.contacts = opened, None, ()
            self._forget_replay()
            self.plots.clear()
            for folder in self._folders:
                folder.remove()
            self._folders = []
            self.scene = Scene(self.server.scene, self.server.atomic, m, opened.mesh_folders)
            self.ghosts = Ghosts(self.server.scene, self.server.atomic, m, self.scene.look)
            self.forces.open(m, self.scene)
            for key, _, _ in LAYERS:
                self.scene.set_visible(key, bool(self._layers[key].value))
            self._add_panels(opened)
            if opened.recording is not None:
                q = opened.recording.q.reshape(-1, m.nq)[0]
            else:
                q = self._closed_start(m) if opened.prepared is None else opened.prepared.q0
            self._look_at(*size_of(m, q))
            self.pose.set_pose(q)
            self._show(moment_at_rest(m, q, let_go=self.forces.let_go))
            if opened.prepared is not None:
                self.contacts = opened.prepared.contacts
                self.scene.set_contacts(self.contacts)
            self._show_ground()
            bodies = "1 moving body" if m.n_bodies == 1 else f"{m.n_bodies} moving bodies"
            text = f"{m.name}: {bodies}, {m.nv} {'velocity' if m.nv == 1 else 'velocities'}, {m.total_mass:.4g} kg"
            text += f", {len(m.loops)} loop{'s' if len(m.loops) > 1 else ''}" if m.loops else ""
            remarks = [*opened.remarks, *self.scene.look.remarks]
            self._say("good", "\n".join([text, *(f"- {remark}" for remark in remarks)]))
            if opened.recording is not None:
                self.set_recording(opened.recording)

    def set_recording(self, recording: Recording, contacts: Sequence[SurfaceContact] = ()) -> None:
        """Replay a recording of the mechanism shown."""
        with self._lock:
            assert self.opened is not None
            assert self.scene is not None
            if recording.one is not None:
                # A batch: the first run is the one shown, the others are its ghosts.
                count = len(recording.q)
                self.ghosts.set_runs([recording[k] for k in range(1, min(count, MOST_GHOSTS + 1))])
                if count > MOST_GHOSTS + 1:
                    self._say("info", f"{count} runs: the first is shown, {MOST_GHOSTS} of the others are ghosts")
                recording = recording[0]
            self.recording, self.contacts = recording, tuple(contacts) or recording.surface_contacts
            self._through = cache(partial(recording.wrench_at, axes="world"))
            self.scene.set_contacts(self.contacts)
            self.scene.set_environment(recording.environment)
            self._forget_replay()
            self.plots.set_recording(self.opened.mechanism, recording)
            with self._replay_folder:
                self._replay = ReplayPanel(self.server.gui, recording, self._show_recorded, self._ghost_button)
            self._replay_folder.visible = True
            self._show_recorded(0)

    def _ghost_button(self, choice: str) -> None:
        """Keep the run shown as a ghost beside the next ones, or remove all ghosts."""

        def change() -> None:
            if self.recording is not None:
                self.ghosts.set_runs([*self.ghosts.runs, self.recording] if choice == KEEP_GHOST else [])
                self.ghosts.show(0.0 if self._replay is None else float(self._replay.slider.value))

        self._carefully(change)

    @property
    def replay(self) -> ReplayPanel | None:
        """The time of the recording shown; None without one."""
        return self._replay

    # Panels ----------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        gui = self.server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, control_width="large", brand_color=(38, 92, 140))
        # White light alone, not viser's picture of a warehouse: arrows then have the colours of their curves.
        self.server.scene.configure_environment_map(None)
        add_light(self.server.scene)
        add_ground(self.server.scene, "/ground", 1.0, np.zeros(3))
        self._look_at(np.array([0.0, 0.0, 0.3]), 1.0)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(390)
        self._upload = gui.add_upload_button("Open a file (or drop one anywhere)", mime_type=",".join(ENDINGS))
        self._upload.on_upload(lambda event: self._uploaded(event.target.value))
        sample = gui.add_dropdown("Sample", (CHOOSE, *SAMPLES))
        sample.on_update(lambda event: self._carefully(lambda: self._chosen(sample.value)))
        self.message = gui.add_html(box("info", EMPTY))
        # Not shown: what the page's script needs to say whose arrow is under the mouse.
        self._arrow_data = gui.add_html("")
        self._replay_folder = gui.add_folder("Replay", visible=False)
        tabs = gui.add_tab_group()
        self._pose_tab, self._force_tab = tabs.add_tab("Pose"), tabs.add_tab("Forces")
        self._scenario_tab, self._live_tab = tabs.add_tab("Scenario"), tabs.add_tab("Live")
        self._export_tab = tabs.add_tab("Export")
        with self._pose_tab, gui.add_folder("Show", expand_by_default=False):
            self._layers = {key: gui.add_checkbox(label, shown) for key, label, shown in LAYERS}
            for key, widget in self._layers.items():
                widget.on_update(lambda event, key=key: self._carefully(lambda: self._toggle(key)))
        with self._force_tab:
            self.forces = ForcesPanel(gui, lambda: self.scene, self._refresh, self._arrows_changed, self._carefully)
        with self._scenario_tab:
            self._no_scenario = gui.add_html(box("info", "Open a mechanism to set up a run."))
        with self._export_tab:
            ExportPanel(gui, self, self._carefully)
        self.plots = PlotPanel(gui)

    def _add_panels(self, opened: Opened) -> None:
        gui, m = self.server.gui, opened.mechanism
        assert self.scene is not None
        self._no_scenario.visible = False
        with self._pose_tab:
            folder = gui.add_folder("Joints")
            self._folders.append(folder)
            with folder:
                reset = gui.add_button_group("Pose", ("Neutral", "Random", "Fit view"))
                reset.on_click(lambda event: self._carefully(lambda: self._pose_button(reset.value)))
                if m.keys:
                    self._keyframe = gui.add_dropdown("Keyframe of the file", (CHOOSE, *m.keyframes))
                    self._keyframe.on_update(lambda event: self._carefully(self._keyframe_chosen))
                self.drag = DragPanel(
                    gui, self.server.scene, m, self.scene.radius, lambda q: self._pose_by_hand("", q), self._carefully
                )
                self.pose = PosePanel(gui, m, self.scene.radius, lambda name, q: self._carefully(
                    lambda: self._pose_by_hand(name, q)))  # fmt: skip
        with self._scenario_tab:
            folder = gui.add_folder("Scenario")
            self._folders.append(folder)
            with folder:
                self.runs = RunPanel(gui, self._prepared, self._run_ended, self._carefully)
                self.scenario = ScenarioPanel(gui, m, opened.prepared, lambda: self._carefully(self._show_ground))
        with self._live_tab:
            folder = gui.add_folder("Live run")
            self._folders.append(folder)
            with folder:
                self.live = LivePanel(
                    gui, self.server.scene, m, self.scene.radius, self._prepared, self._show_live, self._carefully
                )

    # What a person does ----------------------------------------------------------------------------------------------

    def _uploaded(self, file: Any) -> None:
        self._carefully(lambda: self.open(open_upload(file.name, file.content)))

    def _refused_upload(self, name: str, size: int) -> None:
        self._say("error", f"{name[:80]}: {size} bytes, expected at most {LARGEST_UPLOAD}")

    def _chosen(self, name: str) -> None:
        if name != CHOOSE:
            make = getattr(sample_mechanisms, name)
            self.open_mechanism(make(3) if name == "planar_arm" else make())

    def _toggle(self, key: str) -> None:
        if self.scene is not None:
            self.scene.set_visible(key, bool(self._layers[key].value))
            self._arrows_changed()

    def _pose_button(self, choice: str, random: np.random.Generator | None = None) -> None:
        m = self._present()
        if choice == "Fit view":
            self._look_at(*size_of(m, self.pose.q))
            return
        if choice == "Neutral":
            q = self._closed_start(m)
        else:
            q = self._random_pose(m, np.random.default_rng() if random is None else random)
        self._pose_by_hand("", q)

    def _random_pose(self, m: Mechanism, random: np.random.Generator) -> Floats:
        q = m.random_configuration(random)
        if is_floating(m):
            # The joints move, the robot stays upright where it is.
            root = next(k for k, body in enumerate(m.moving) if isinstance(body.joint, Free))
            q[m.q_slices[root]] = self._closed_start(m)[m.q_slices[root]]
        q = close_loops(m, q) if m.loops or m.couplings else q
        return q if self.scene is None else standing(m, self.scene.look, q)

    def _keyframe_chosen(self) -> None:
        if self._keyframe.value != CHOOSE:
            self._pose_by_hand("", self._present().keyframe(self._keyframe.value).q)

    def _pose_by_hand(self, joint: str, q: Floats) -> None:
        self._pose_changed(joint, q)
        self.scenario.pose_was_moved()

    def _pose_changed(self, joint: str, q: Floats) -> None:
        """Move to a pose; loops and couplings close around the joint that was moved."""
        m = self._present()
        self._pause()
        if m.loops or m.couplings:
            try:
                q = close_loops(m, q, fixed=[joint] if joint else [])
            except InputError:
                self.pose.set_pose(self.pose.q)
                raise
        self.pose.set_pose(q)
        self._show(moment_at_rest(m, q, let_go=self.forces.let_go))

    def _refresh(self) -> None:
        if self.opened is not None:
            self._pose_changed("", self.pose.q)

    def _show_ground(self) -> None:
        """Draw what the tab Scenario says can be touched."""
        if self.scene is not None:
            ground = self.scenario.ground
            self.scene.set_environment(None if ground is None else ground.environment)

    # Runs ------------------------------------------------------------------------------------------------------------

    def start_run(self) -> None:
        """Run the scenario of the panel in the background."""
        self._present()
        self.runs.start()

    def wait_for_run(self, seconds: float = 60.0) -> None:
        """Wait until the run under way has ended."""
        self.runs.wait(seconds)

    def _prepared(self) -> Prepared:
        self._pause()
        return self.scenario.prepared(self.pose.q)

    def _run_ended(
        self, panel: RunPanel, prepared: Prepared, recording: Recording | None, kind: str, text: str
    ) -> None:
        def take() -> None:
            if panel is not self.runs:
                return
            if recording is not None and len(recording) > 1:
                self.set_recording(recording, prepared.contacts)
            self._say(kind, text)

        # Only the result is taken in under the lock, so that a person can go on moving joints during the run.
        self._carefully(take)

    # Helpers ---------------------------------------------------------------------------------------------------------

    def _present(self) -> Mechanism:
        if self.opened is None:
            raise InputError("there is no mechanism yet: open a file or choose a sample")
        return self.opened.mechanism

    def _closed_start(self, m: Mechanism) -> Floats:
        # A keyframe "home" is where the file means the robot to start, else what it draws.
        drawn = m.keyframes["home"].q if "home" in m.keyframes else m.reference_configuration()
        q = np.clip(drawn, m.lower, m.upper) if m.nq == m.nv else drawn
        q = close_loops(m, q) if m.loops or m.couplings else q
        # A keyframe of the file says where it stands; a robot that floats is put on the ground.
        return q if "home" in m.keyframes or self.scene is None else standing(m, self.scene.look, q)

    def _show(self, moment: Moment) -> None:
        assert self.scene is not None
        m = self._present()
        self.scene.show(moment)
        self.drag.set_pose(moment.q)
        self.forces.show(m, moment)
        self._arrow_data.content = self.scene.arrows.page_data

    def _show_recorded(self, index: int) -> None:
        with self._lock:
            recording = self.recording
            if recording is None or self.opened is None:
                return
            index = min(index, len(recording) - 1)
            self._show(moment_of_recording(self.opened.mechanism, recording, index, self.contacts, self._through))
            self.ghosts.show(float(recording.time[index]))
            self.pose.set_pose(recording.q[index])
            self.plots.set_time(recording, index)

    def _show_live(self, present: Recording) -> None:
        """Show the state of a live run."""
        m = self._present()
        self._show(moment_of_recording(m, present, -1, self.contacts))
        self.pose.set_pose(present.q[-1])

    def _arrows_changed(self) -> None:
        assert self.scene is not None
        self._arrow_data.content = self.scene.arrows.page_data
        self.forces.show_scale()

    def _look_at(self, target: Floats, radius: float) -> None:
        """Turn every camera to a ball."""
        self._ball = (target, radius)
        camera = self.server.initial_camera
        camera.up, camera.look_at = (0.0, 0.0, 1.0), tuple(target)
        camera.position = tuple(target + 2.5 * radius * _VIEW_FROM)
        camera.near, camera.far = 0.01 * radius, 200.0 * radius
        for client in self.server.get_clients().values():
            self._aim(client)

    def _aim(self, client: Any) -> None:
        """Turn one camera; a narrow picture needs more distance."""
        target, radius = self._ball
        distance = 2.5 * radius * max(1.0, 0.62 / float(client.camera.aspect))
        # In this order: viser carries the target along when it moves the camera.
        client.camera.position = target + distance * _VIEW_FROM
        client.camera.look_at = target

    def _forget_replay(self) -> None:
        if self._replay is not None:
            self._replay.remove()
        self._replay = None
        self._replay_folder.visible = False

    def _pause(self) -> None:
        if self._replay is not None:
            self._replay.pause()

    def _say(self, kind: str, text: str) -> None:
        self.message.content = box(kind, text)

    def _carefully(self, action: Callable[[], Any]) -> None:
        """Do something a browser asked for; what goes wrong becomes a message."""
        try:
            with self._lock:
                action()
        except Exception as problem:  # whatever it is, the studio stays up
            self._say("error", reported(problem))
