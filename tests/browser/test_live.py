"""Live runs in Chromium: time goes on, pauses, steps; a body follows the handle that the mouse drags."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from browser.stranger import wait_until
from playwright.sync_api import Page

import setsu
from setsu.studio.application import Studio

pytestmark = pytest.mark.slow


def live_time(page: Page) -> float:
    """The time that the page shows, s; -1 without any."""
    shown = page.get_by_text(re.compile(r"live, t = "))
    if shown.count() == 0:
        return -1.0
    found = re.search(r"t = ([\d.]+) s", shown.first.inner_text())
    return float(found[1]) if found else -1.0


def on_screen(studio: Studio, page: Page, place: np.ndarray) -> tuple[float, float]:
    """Pixel of a place in the world."""
    camera = next(iter(studio.server.get_clients().values())).camera
    box = page.locator("canvas").first.bounding_box()
    assert box is not None
    eye, target, up = (np.asarray(x, dtype=float) for x in (camera.position, camera.look_at, camera.up_direction))
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    d = place - eye
    scale = box["height"] / (2.0 * np.tan(camera.fov / 2.0) * (d @ forward))
    x = box["x"] + box["width"] / 2.0 + scale * (d @ right)
    y = box["y"] + box["height"] / 2.0 - scale * (d @ np.cross(right, forward))
    return float(x), float(y)


def test_a_live_run_pauses_steps_and_feels_the_mouse(
    page: Page, shown_studio: Studio, screenshot: Callable[[str], None]
) -> None:
    studio = shown_studio
    studio.open_mechanism(setsu.sample_mechanisms.pendulum())
    page.get_by_role("tab", name="Live", exact=True).click()
    page.get_by_role("button", name="Go live").click()
    wait_until(lambda: live_time(page) > 0.2, pause=page.wait_for_timeout)
    page.get_by_text("Pause", exact=True).last.click()
    wait_until(lambda: not studio.live._going.is_set(), pause=page.wait_for_timeout)
    page.wait_for_timeout(500)
    sim = studio.live.simulator
    assert sim is not None
    paused = sim.time
    page.wait_for_timeout(500)
    assert sim.time == paused
    page.get_by_text("Step", exact=True).last.click()
    assert wait_until(lambda: sim.time > paused, pause=page.wait_for_timeout)
    assert sim.time == pytest.approx(paused + sim.settings.step, abs=1e-12)

    # The same motion as without a page.
    again = setsu.Simulator(sim.mechanism, sim.settings.step)
    again.reset(studio.live._prepare().q0, studio.live._prepare().v0)
    again.step(steps=round(sim.time / sim.settings.step))
    np.testing.assert_allclose(sim.q, again.q, atol=1e-9)

    studio.live.body.value = sim.mechanism.body_names[0]
    studio.live._choose()
    page.wait_for_timeout(800)
    begun = np.array(studio.live.handle.position)
    screenshot("live_handle")
    # The arrow along x begins at the handle: grasp it in its middle and drag it along.
    reach = 0.35 * (studio.scene.radius if studio.scene else 1.0)
    start, ahead = (np.array(on_screen(studio, page, begun + np.array([k * reach, 0.0, 0.0]))) for k in (0.6, 1.6))
    page.mouse.move(*start)
    page.wait_for_timeout(300)
    page.mouse.down()
    for k in range(1, 11):
        page.mouse.move(*(start + 0.1 * k * (ahead - start)))
        page.wait_for_timeout(50)
    page.mouse.up()
    assert wait_until(lambda: np.linalg.norm(studio.live.handle.position - begun) > 0.02, pause=page.wait_for_timeout)
    page.get_by_text("Go on", exact=True).last.click()
    started = sim.time
    assert wait_until(lambda: sim.time > started + 3.0, pause=page.wait_for_timeout)
    screenshot("live_pulled")
    # The bob hangs between the weight and the spring, whose force along its circle is that of the weight.
    m, target = sim.mechanism, np.array(studio.live.handle.position)
    place = studio.live._point(sim.q)[0]
    k = m.total_mass * (2.0 * np.pi * float(studio.live.stiffness.value)) ** 2
    along = setsu.point_jacobian(m, sim.q, m.body_names[0], m.moving[0].center_of_mass)[:, 0]
    assert abs(sim.q[0]) > 0.01
    assert k * (target - place) @ along == pytest.approx(setsu.gravity_torque(m, sim.q)[0], rel=1e-3)
    page.get_by_role("button", name="End").click()
    page.get_by_text(re.compile("ended at t")).wait_for()
    assert not studio.live.is_live
