"""The studio as a person meets it, in Chromium: load, move, run, stop, scrub, export; words for what is wrong."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser.stranger import wait_until
from playwright.sync_api import Browser, Locator, Page

import setsu
from setsu import scenario
from setsu.studio.application import Studio
from setsu.studio.uploads import Opened, open_file

ROOT = Path(__file__).resolve().parents[2]
ARM = ROOT / "examples" / "models" / "arm.urdf"
ARTEFACTS = Path(__file__).parent / "artefacts"

Screenshot = Callable[[str], None]

pytestmark = pytest.mark.slow


def field(page: Page, label: str) -> Locator:
    """The text field beside a label."""
    return page.locator(f"xpath=//*[normalize-space(text())='{label}']/ancestor::*[.//input][1]//input").last


def enter(page: Page, label: str, value: str) -> None:
    """Type into the field beside a label."""
    box = field(page, label)
    box.fill(value)
    box.press("Enter")


def tab(page: Page, name: str) -> None:
    """Bring a tab to the front."""
    page.get_by_role("tab", name=name, exact=True).click()


def choose_file(page: Page, file: Any) -> None:
    """Choose a file as the dialogue behind the button does, which forgets the last one first."""
    page.locator("input[type=file]").evaluate("(input) => { input.value = ''; }")
    page.locator("input[type=file]").set_input_files(file)


def open_arm(page: Page) -> None:
    """Upload the example arm through the page."""
    choose_file(page, ARM)
    page.get_by_text("arm: 6 moving bodies").wait_for()


def torque_shown(page: Page, joint: str) -> float:
    """The torque in the table of the tab Forces."""
    row = page.locator(".setsu-forces tr", has=page.get_by_text(joint, exact=True))
    return float(row.locator("td").nth(2).inner_text())


def test_an_empty_studio_says_what_to_do(chromium: Browser, studio: Studio) -> None:
    page = chromium.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(120_000)
    page.goto(studio.address)
    page.get_by_text("No mechanism yet").wait_for()
    assert page.title() == "Setsu studio"
    assert page.get_by_text("Drop a file anywhere on this page").is_visible()
    tab(page, "Scenario")
    assert page.get_by_text("Open a mechanism to set up a run.").is_visible()
    tab(page, "Export")
    page.get_by_role("button", name="Recording (NetCDF)").click()
    page.get_by_text("there is no run to export yet").wait_for()
    page.screenshot(path=ARTEFACTS / "1_empty.png")
    page.close()


def test_load_move_run_scrub_and_read(page: Page, shown_studio: Studio, screenshot: Screenshot) -> None:
    arm = setsu.load(ARM)
    open_arm(page)
    screenshot("2_pose")
    tab(page, "Forces")
    assert torque_shown(page, "elbow") == pytest.approx(setsu.gravity_torque(arm, np.zeros(6))[2], abs=1e-3)

    tab(page, "Pose")
    enter(page, "elbow (rad)", "0.8")
    q = np.array([0.0, 0.0, 0.8, 0.0, 0.0, 0.0])
    tab(page, "Forces")
    assert wait_until(lambda: abs(torque_shown(page, "elbow") - setsu.gravity_torque(arm, q)[2]) < 1e-3)
    screenshot("3_forces")

    tab(page, "Scenario")
    enter(page, "Duration (s)", "0.5")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("251 states until t = 0.5 s").wait_for()
    screenshot("4_scenario_after_run")
    recording = shown_studio.recording
    assert recording is not None
    np.testing.assert_allclose(recording.q[0], q, atol=1e-12)

    enter(page, "Time (s)", "0.3")
    index = int(np.searchsorted(recording.time, 0.3 + 1e-9) - 1)
    shown = f"elbow {recording.q[index, 2]:.4g}"
    page.get_by_text(shown).first.wait_for()
    cursor = "getComputedStyle(document.documentElement).getPropertyValue('--setsu-cursor')"
    # The text goes first, the cursor of the plots follows.
    assert wait_until(lambda: abs(float(page.evaluate(cursor)) - 0.6) < 1e-6)
    for name in ("Joint wrenches", "Contact", "Energy"):
        tab(page, name)
        screenshot(f"5_plots_{name.lower().replace(' ', '_')}")
    tab(page, "Energy")
    assert page.locator("svg[aria-label='Energy (J)']").is_visible()


def test_play_moves_the_time_to_the_end(page: Page, shown_studio: Studio) -> None:
    pendulum = setsu.sample_mechanisms.pendulum()
    recording = setsu.simulate(pendulum, [1.0], [0.0], duration=0.4, step=0.01)
    shown_studio.open_mechanism(pendulum)
    shown_studio.set_recording(recording)
    page.get_by_role("button", name="Play").click()
    assert shown_studio.replay is not None
    replay = shown_studio.replay
    assert wait_until(lambda: replay.index == len(recording) - 1)
    # The slider moves first, the mechanism follows.
    assert wait_until(lambda: shown_studio.pose.q == pytest.approx(recording.q[-1]))


def test_a_run_can_be_stopped_and_keeps_what_is_done(page: Page, shown_studio: Studio, screenshot: Screenshot) -> None:
    open_arm(page)
    tab(page, "Scenario")
    # Fifty million steps: compiled code would be done with fewer before a hand reaches the button.
    enter(page, "Duration (s)", "10000")
    enter(page, "Step (ms)", "0.2")
    enter(page, "Record every", "1000")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("simulating, t =").wait_for()
    screenshot("6_run_under_way")
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("the run was stopped").wait_for()
    assert shown_studio.recording is not None
    assert 0.0 < shown_studio.recording.time[-1] < 10000.0


def test_a_bad_file_is_explained_and_the_old_mechanism_stays(
    page: Page, shown_studio: Studio, screenshot: Screenshot
) -> None:
    open_arm(page)
    bad = ARM.read_text().replace('<mass value="8.4"/>', '<mass value="heavy"/>').replace("wrist_2", "wrist_1")
    choose_file(page, {"name": "my<b>arm.urdf", "mimeType": "text/xml", "buffer": bad.encode()})
    page.get_by_text("heavy").wait_for()
    text = page.locator(".setsu-error").inner_text()
    assert "my<b>arm.urdf:14" in text
    assert "problems" in text
    assert shown_studio.mechanism is not None
    screenshot("7_bad_file")


def test_a_dropped_file_is_opened(page: Page) -> None:
    content = base64.b64encode(ARM.read_bytes()).decode()
    page.evaluate(
        """(content) => {
            const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
            const files = new DataTransfer();
            files.items.add(new File([bytes], "dropped.urdf"));
            dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
        }""",
        content,
    )
    page.get_by_text("arm: 6 moving bodies").wait_for()


def test_loops_stay_closed_while_a_slider_moves(page: Page, shown_studio: Studio, screenshot: Screenshot) -> None:
    shown_studio.open_mechanism(setsu.sample_mechanisms.four_bar())
    page.get_by_text("four-bar linkage").first.wait_for()
    tab(page, "Pose")
    enter(page, "crank (rad)", "0.7")
    assert wait_until(lambda: abs(shown_studio.pose.q[0] - 0.7) < 1e-9)
    assert np.abs(setsu.loop_error(setsu.sample_mechanisms.four_bar(), shown_studio.pose.q)).max() < 1e-9
    page.get_by_text("Show", exact=True).click()
    chosen = ("Body frames", "Centres of mass", "Inertia ellipsoids", "Names")
    for name in chosen:
        field(page, name).click()
    page.wait_for_timeout(500)
    screenshot("8_layers_of_a_four_bar")
    for name in chosen:
        field(page, name).click()
    page.get_by_text("Show", exact=True).click()


def test_a_contact_is_drawn_and_its_forces_plotted(page: Page, shown_studio: Studio, screenshot: Screenshot) -> None:
    shown_studio.open_mechanism(setsu.sample_mechanisms.planar_arm(2))
    shown_studio.scenario.surface.value = "plane"
    shown_studio.scenario.direction.value = (0.0, 0.0, 1.0)
    shown_studio.scenario.duration.value = 0.2
    shown_studio.pose.set_pose(np.array([0.4, -0.9]))
    tab(page, "Scenario")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("101 states until t = 0.2 s").wait_for()
    tab(page, "Contact")
    assert page.locator("svg[aria-label='Normal force (N)']").is_visible()
    screenshot("9_contact")


def test_exports_hold_the_run(
    page: Page, shown_studio: Studio, chromium: Browser, tmp_path: Path, screenshot: Screenshot
) -> None:
    arm = setsu.sample_mechanisms.planar_arm(3)
    recording = setsu.simulate(arm, [0.3, 0.4, 0.5], np.zeros(3), duration=0.3, step=0.01)
    shown_studio.open_mechanism(arm)
    shown_studio.set_recording(recording)
    tab(page, "Export")
    files = {}
    for name in ("Replay as one HTML page", "Picture (PNG)", "Recording (NetCDF)", "Recording (MCAP)"):
        with page.expect_download() as download:
            page.get_by_role("button", name=name).click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        files[path.suffix] = path
    screenshot("10_export")
    assert files[".png"].read_bytes().startswith(b"\x89PNG")
    back = setsu.Recording.load(files[".nc"])
    np.testing.assert_array_equal(back.q, recording.q)
    assert back.mechanism == arm
    _check_mcap(files[".mcap"], recording)
    _check_page(files[".html"], chromium, recording)


def _check_mcap(path: Path, recording: setsu.Recording) -> None:
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        states = [message for *_, message in reader.iter_decoded_messages(topics=["/joint_states"])]
    assert list(states[0].name) == list(recording.joint_names)
    np.testing.assert_array_equal([state.position for state in states], recording.q)


def _check_page(path: Path, chromium: Browser, recording: setsu.Recording) -> None:
    """The page works from the disk without any request, draws something, and its numbers follow its slider."""
    context = chromium.new_context(viewport={"width": 1400, "height": 900}, offline=True)
    page = context.new_page()
    asked: list[str] = []
    faults: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(path.as_uri())
    page.locator("#time").evaluate("(slider) => { slider.value = 1; slider.dispatchEvent(new Event('input')); }")
    shown = page.locator(".legend").first.locator("b").first.inner_text()
    assert float(shown) == pytest.approx(recording.q[-1, 0], rel=1e-3)
    colors = page.evaluate(
        """() => { const view = document.getElementById("view"), gl = view.getContext("webgl2");
            const pixels = new Uint8Array(4 * view.width * view.height);
            gl.readPixels(0, 0, view.width, view.height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
            const seen = new Set();
            for (let k = 0; k < pixels.length; k += 4) seen.add(pixels.slice(k, k + 3).join());
            return seen.size; }"""
    )
    page.screenshot(path=ARTEFACTS / "11_replay_page.png")
    context.close()
    assert asked == [path.as_uri()]
    assert not faults
    assert colors > 50
    assert not re.search(r'(src|href)="https?:', path.read_text())


def test_a_scenario_run_in_the_page_is_the_scenario_of_the_file(
    page: Page, shown_studio: Studio, screenshot: Screenshot
) -> None:
    path = ROOT / "examples" / "scenarios" / "dropped_box.toml"
    # First, so that the page does not wait for a compiler.
    expected = scenario.run(scenario.load(path))
    shown_studio.open(open_file(path))
    tab(page, "Scenario")
    # The page shows the file's velocities, and showing them changes none of the settings.
    page.get_by_text("free = 0.5 0.0 0.0 0.0 1.0 0.0").wait_for()
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("101 states until t = 1 s").wait_for()
    assert shown_studio.recording is not None
    for name in ("time", "q", "v", "acceleration", "contact_force"):
        np.testing.assert_array_equal(getattr(shown_studio.recording, name), getattr(expected, name))
    tab(page, "Contact")
    enter(page, "Time (s)", "0.5")
    screenshot("12_slope")


def test_polygons_can_be_hidden(page: Page, shown_studio: Studio, screenshot: Screenshot) -> None:
    stairs = setsu.Environment.floor() + setsu.Environment.stairs(3, 0.1, 0.2, 0.8, (0.3, 0.0, 0.0))
    box = setsu.sample_mechanisms.floating_box()
    start, moving = [0.0, 0.0, 0.6, 0.0, 0.0, 0.0, 1.0], [1.2, 0.0, 0.0, 0.0, 0.0, 0.0]
    recording = setsu.simulate(box, start, moving, duration=0.5, step=2e-3, environment=stairs)
    shown_studio.open(Opened(box, recording))
    assert shown_studio.replay is not None
    shown_studio.replay.go_to(0.4)
    tab(page, "Pose")
    page.get_by_text("Show", exact=True).click()
    screenshot("13_stairs")
    assert shown_studio.scene is not None
    drawn = shown_studio.scene._layers["ground"]
    assert len(drawn) == len(stairs.polygons) + 1  # and their edges
    field(page, "Ground polygons").click()
    assert wait_until(lambda: not any(handle.visible for handle in drawn), pause=page.wait_for_timeout)
    assert all(handle.visible for handle in shown_studio.scene._layers["normals"])
    field(page, "Ground polygons").click()
    page.get_by_text("Show", exact=True).click()


@pytest.mark.nightly
def test_a_walk_is_replayed_from_its_file(
    page: Page, shown_studio: Studio, tmp_path: Path, screenshot: Screenshot
) -> None:
    from setsu.control.humanoid import Biped, Walk, plan_walk

    robot = setsu.sample_mechanisms.hoap1_like()
    motion = plan_walk(Biped(robot), Walk(steps=2, stride=0.03, step_time=0.6, double_support=0.15, height=0.225))
    servo = setsu.JointServo(300.0, 4.0, motion.position, motion.velocity, motion.feed_forward)
    recording = setsu.simulate(
        robot, motion.q[0], np.zeros(robot.nv), duration=2.4, torque=servo, environment=setsu.Environment.floor(),
        record_every=10,
    )  # fmt: skip
    choose_file(page, recording.save(tmp_path / "walk.nc"))
    page.get_by_text("hoap1-like humanoid: 21 moving bodies").wait_for()
    tab(page, "Contact")
    tab(page, "Forces")
    enter(page, "Time (s)", "1.5")
    # Only the corners of the soles touch; the zero moment point is under one foot.
    page.get_by_text("8 of 176 points touch something in this run").first.wait_for()
    assert page.locator("svg[aria-label='Zero moment point at z = 0 (m)']").is_visible()
    assert shown_studio.recording is not None
    assert shown_studio.recording.environment == setsu.Environment.floor()
    screenshot("14_walk")
