"""The 3D view under the mouse, in Chromium: arrows say whose they are, a frame follows, two browsers, a phone."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from browser.conftest import ARTEFACTS, PATIENCE
from browser.stranger import wait_until
from browser.test_live import on_screen
from PIL import Image
from playwright.sync_api import Browser, Page

import setsu
from setsu.studio.application import Studio
from setsu.studio.geometry import look_of
from setsu.studio.replay_page import replay_page

pytestmark = pytest.mark.slow


def test_the_arrow_under_the_mouse_says_whose_it_is(
    page: Page, shown_studio: Studio, screenshot: Callable[[str], None]
) -> None:
    arm = setsu.sample_mechanisms.puma560()
    shown_studio.open_mechanism(arm)
    shown_studio._pose_by_hand("", np.array([0.3, -0.6, 0.5, 0.2, 0.7, 0.1]))
    shown_studio._pose_button("Fit view")
    page.wait_for_timeout(1500)
    assert shown_studio.scene is not None
    largest = max(shown_studio.scene.arrows.drawn, key=lambda arrow: arrow.length * (": force" in arrow.text))
    tip = page.locator(".setsu-tip")

    def shown() -> bool:
        page.mouse.move(*on_screen(shown_studio, page, 0.3 * largest.start + 0.7 * largest.end))
        return tip.is_visible() and largest.text in tip.inner_text()

    assert wait_until(shown, pause=page.wait_for_timeout)
    screenshot("15_arrow_under_the_mouse")
    page.mouse.move(460.0, 860.0)  # a corner of the 3D view
    assert wait_until(lambda: not tip.is_visible(), pause=page.wait_for_timeout)
    # The same as labels at all arrows.
    shown_studio.scene.set_visible("values", True)
    screenshot("16_values_at_arrows")
    shown_studio.scene.set_visible("values", False)


@pytest.mark.nightly
def test_a_frame_follows_the_handle(page: Page, shown_studio: Studio, screenshot: Callable[[str], None]) -> None:
    studio, arm = shown_studio, setsu.sample_mechanisms.puma560()
    studio.open_mechanism(arm)
    studio._pose_by_hand("", np.array([0.3, -0.6, 0.5, 0.2, 0.7, 0.1]))
    studio._pose_button("Fit view")
    name = arm.body_names[-1]
    studio.drag.frame.value = name
    studio.drag._choose()
    camera = next(iter(studio.server.get_clients().values())).camera
    assert wait_until(lambda: np.allclose(camera.look_at, studio._ball[0], atol=1e-3), pause=page.wait_for_timeout)
    page.wait_for_timeout(1500)
    begun = np.array(studio.drag.handle.position)
    screenshot("17_handle_of_a_frame")
    assert studio.scene is not None
    R = setsu.frame_pose(arm, studio.pose.q, name)[:3, :3]
    reach = 0.4 * studio.scene.radius
    # The arrow that is seen best from the side is grasped in its middle.
    ends = [np.array(on_screen(studio, page, begun + reach * R[:, k])) for k in range(3)]
    origin = np.array(on_screen(studio, page, begun))
    along = R[:, int(np.argmax([np.linalg.norm(end - origin) for end in ends]))]

    def moved() -> np.ndarray:
        return setsu.frame_pose(arm, studio.pose.q, name)[:3, 3] - begun

    def dragged() -> bool:
        """Pull once more: a busy machine may draw too late for the mouse to meet the arrow."""
        at = np.array(studio.drag.handle.position)
        start, ahead = (np.array(on_screen(studio, page, at + k * reach * along)) for k in (0.6, 1.0))
        page.mouse.move(*start)
        page.wait_for_timeout(600)
        page.mouse.down()
        for k in range(1, 6):
            page.mouse.move(*(start + 0.2 * k * (ahead - start)))
            page.wait_for_timeout(200)
        page.mouse.up()
        page.wait_for_timeout(600)
        return bool(np.linalg.norm(moved()) > 0.02)

    assert wait_until(dragged, pause=page.wait_for_timeout)
    page.wait_for_timeout(500)
    screenshot("18_frame_dragged")
    assert moved() @ along > 0.9 * np.linalg.norm(moved())


@pytest.mark.nightly
def test_two_browsers_show_one_studio(page: Page, shown_studio: Studio, chromium: Browser) -> None:
    studio = shown_studio
    studio.open_mechanism(setsu.sample_mechanisms.planar_arm(3))
    context = chromium.new_context(viewport={"width": 1200, "height": 700})
    second = context.new_page()
    second.set_default_timeout(PATIENCE)
    second.goto(studio.address)
    second.get_by_text("3 moving bodies").first.wait_for()
    assert wait_until(lambda: len(studio.server.get_clients()) == 2, pause=page.wait_for_timeout)
    for where in (page, second):
        where.get_by_role("tab", name="Pose", exact=True).click()
    slider = "xpath=//*[normalize-space(text())='joint2 (rad)']/ancestor::*[.//input][1]//input"
    for writer, reader, value in ((page, second, "0.7"), (second, page, "-0.4")):
        field = writer.locator(slider).last
        field.fill(value)
        field.press("Enter")
        assert wait_until(lambda value=value: abs(studio.pose.q[1] - float(value)) < 1e-9, pause=page.wait_for_timeout)
        assert wait_until(
            lambda reader=reader, value=value: float(reader.locator(slider).last.input_value()) == float(value),
            pause=page.wait_for_timeout,
        )
    # One leaves, the other goes on.
    context.close()
    assert wait_until(lambda: len(studio.server.get_clients()) == 1, pause=page.wait_for_timeout)
    studio.pose.set_pose(np.array([0.1, 0.2, 0.3]))
    assert wait_until(lambda: float(page.locator(slider).last.input_value()) == 0.2, pause=page.wait_for_timeout)


@pytest.mark.nightly
def test_a_phone_shows_robot_and_play_button(
    page: Page, shown_studio: Studio, chromium: Browser, tmp_path: Path
) -> None:
    arm = setsu.sample_mechanisms.puma560()
    run = setsu.simulate(arm, [0.3, -0.6, 0.5, 0.2, 0.7, 0.1], np.zeros(6), duration=0.3, step=0.01)
    shown_studio.open_mechanism(arm)
    shown_studio.set_recording(run)
    shown_studio._pose_button("Fit view")
    context = chromium.new_context(viewport={"width": 420, "height": 800}, has_touch=True)
    phone = context.new_page()
    phone.set_default_timeout(PATIENCE)
    phone.goto(shown_studio.address)
    phone.get_by_role("button", name="Play").first.wait_for()
    phone.add_style_tag(content=".mantine-Notifications-root { display: none }")
    phone.wait_for_timeout(2500)
    phone.screenshot(path=ARTEFACTS / "19_phone.png")
    _is_within(phone, phone.get_by_role("button", name="Play").first.bounding_box())
    phone.get_by_role("button", name="Play").first.click()
    replay = shown_studio.replay
    assert replay is not None
    assert wait_until(lambda: replay.index > 0, pause=phone.wait_for_timeout)
    seen = _coloured(phone)[: 800 * 54 // 100]
    assert seen.sum() > 1000
    # Not cut off at the sides.
    assert not seen[:, :4].any()
    assert not seen[:, -4:].any()
    # The exported page too.
    file = tmp_path / "page.html"
    file.write_text(replay_page(arm, run, look_of(arm)), encoding="utf-8")
    phone.goto(file.as_uri())
    phone.wait_for_timeout(500)
    phone.screenshot(path=ARTEFACTS / "20_phone_page.png")
    _is_within(phone, phone.locator("#play").bounding_box())
    assert phone.evaluate("document.documentElement.scrollWidth") <= 420
    seen = _coloured(phone)[40:400]
    assert seen.sum() > 1000
    assert not seen[:, :4].any()
    assert not seen[:, -4:].any()
    context.close()


def _is_within(phone: Page, box: dict[str, float] | None) -> None:
    """The whole box is on the screen."""
    assert box is not None
    assert box["x"] >= 0
    assert box["y"] >= 0
    assert box["x"] + box["width"] <= 420
    assert box["y"] + box["height"] <= 800


def _coloured(phone: Page) -> np.ndarray:
    """Pixels that are neither background nor grid, which are grey."""
    pixels = np.array(Image.open(io.BytesIO(phone.screenshot())).convert("RGB"), dtype=int)
    return np.ptp(pixels, axis=2) > 20
