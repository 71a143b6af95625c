"""A studio per test and one Chromium per process; screenshots go to tests/browser/artefacts, which git ignores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser.stranger import wait_until
from playwright.sync_api import Browser, Page, sync_playwright

from setsu.studio import open_studio
from setsu.studio.application import Studio
from setsu.studio.picture import BROWSER_ARGUMENTS, find_browser

ARTEFACTS = Path(__file__).parent / "artefacts"
PATIENCE = 120_000.0
"""Milliseconds until the page must have answered: software rendering on a busy machine is slow."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium; a missing one fails the tests."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=list(BROWSER_ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def studio() -> Iterator[Studio]:
    """A studio without a mechanism."""
    running = open_studio()
    yield running
    running.close()


@pytest.fixture(scope="module")
def shown_studio() -> Iterator[Studio]:
    """The studio behind `page`; one for a module, since software rendering makes opening a page slow."""
    running = open_studio()
    yield running
    running.close()


@pytest.fixture(scope="module")
def page(chromium: Browser, shown_studio: Studio) -> Iterator[Page]:
    """The studio's page; a script error on it or a request to anywhere else fails the tests."""
    context = chromium.new_context(viewport={"width": 1400, "height": 900}, accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: _note_foreign(request.url, shown_studio, faults))
    page.goto(shown_studio.address)
    page.wait_for_selector("text=No mechanism yet")
    # viser takes a page for connected when it has told its camera.
    assert wait_until(lambda: len(shown_studio.server.get_clients()) > 0, pause=page.wait_for_timeout)
    # viser tells of software rendering in a box that would cover the pictures.
    page.add_style_tag(content=".mantine-Notifications-root { display: none }")
    yield page
    context.close()
    assert not faults, "\n".join(faults)


@pytest.fixture
def screenshot(page: Page) -> Callable[[str], None]:
    """Write a picture of the page under a name."""

    def take(name: str) -> None:
        ARTEFACTS.mkdir(exist_ok=True)
        page.wait_for_timeout(400)
        page.screenshot(path=ARTEFACTS / f"{name}.png")

    return take


def _note_foreign(url: str, studio: Studio, faults: list[str]) -> None:
    own = studio.address.partition("?")[0]
    if not url.startswith((own, "data:", "blob:")):
        faults.append(f"the page asked for {url}")
