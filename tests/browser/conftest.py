"""A studio per test and one Chromium per process; screenshots go to tests/browser/artefacts, which git ignores."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from setsu.studio import open_studio
from setsu.studio.application import Studio

ARTEFACTS = Path(__file__).parent / "artefacts"
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--use-gl=angle", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]  # fmt: skip


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium; a missing one fails the tests."""
    program = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
    assert program is not None, "install chromium: the studio is tested in a real browser"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def studio() -> Iterator[Studio]:
    """A studio without a mechanism."""
    running = open_studio()
    yield running
    running.close()


@pytest.fixture
def page(chromium: Browser, studio: Studio) -> Iterator[Page]:
    """The studio's page; a script error on it or a request to anywhere else fails the test."""
    context = chromium.new_context(viewport={"width": 1400, "height": 900}, accept_downloads=True)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: _note_foreign(request.url, studio, faults))
    page.goto(studio.address)
    page.wait_for_selector("text=No mechanism yet", timeout=30_000)
    yield page
    context.close()
    assert not faults, "\n".join(faults)


@pytest.fixture
def screenshot(page: Page) -> Callable[[str], None]:
    """Write a picture of the page under a name."""

    def take(name: str) -> None:
        ARTEFACTS.mkdir(exist_ok=True)
        close = page.locator(".mantine-Notification-closeButton")
        while close.count():
            close.first.click()
            page.wait_for_timeout(300)
        page.wait_for_timeout(400)
        page.screenshot(path=ARTEFACTS / f"{name}.png")

    return take


def _note_foreign(url: str, studio: Studio, faults: list[str]) -> None:
    own = studio.address.partition("?")[0]
    if not url.startswith((own, "data:", "blob:")):
        faults.append(f"the page asked for {url}")
