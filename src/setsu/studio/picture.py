"""`python -m setsu.studio.picture OUT.png`: the studio after a run, photographed in a headless Chromium.

Makes the pictures of the README and of the documentation; needs playwright and Chromium (extra `dev`).
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from setsu.errors import InputError
from setsu.studio import open_studio
from setsu.studio.scenario_panel import NO_TORQUE
from setsu.studio.uploads import open_file

__all__ = ["BROWSER_ARGUMENTS", "find_browser", "main", "save_small", "take_picture"]

BROWSER_ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--use-gl=angle", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)  # fmt: skip
PATIENCE = 120_000.0


def find_browser() -> str:
    """Return the path of Chromium; InputError when there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    raise InputError("a picture of the studio needs Chromium (Debian: apt install chromium)")


def take_picture(model: Path, out: Path, moment: float = 0.42) -> None:
    """Run a model for two seconds from a raised pose, go to a time (s), and write a PNG of 1400 x 900 pixels."""
    from playwright.sync_api import sync_playwright

    studio = open_studio()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_browser(), args=list(BROWSER_ARGUMENTS))
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.set_default_timeout(PATIENCE)
            studio.open(open_file(model))
            page.goto(studio.address)
            page.get_by_text("moving bodies").wait_for()
            page.add_style_tag(content=".mantine-Notifications-root { display: none }")
            start = studio.pose.q.copy()
            start[1], start[2] = -0.5, 0.9
            studio.pose.set_pose(start)
            studio.scenario.duration.value = 2.0
            studio.scenario.torque.value = NO_TORQUE
            studio.start_run()
            studio.wait_for_run(PATIENCE / 1e3)
            assert studio.replay is not None
            studio.replay.go_to(moment)
            page.get_by_role("tab", name="Joint wrenches").click()
            page.get_by_role("tab", name="Forces").click()
            page.locator("svg[aria-label='Joint forces, size (N)']").wait_for()
            page.wait_for_timeout(3000)
            picture = page.screenshot()
            browser.close()
    finally:
        studio.close()
    save_small(picture, out)


def save_small(picture: bytes, out: Path) -> None:
    """Write a PNG with 256 colours: a third of the size, for a repository that keeps its pictures."""
    from PIL import Image

    # Colours by how far they spread and not by how many pixels have them: arrows are few pixels.
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(out, optimize=True)


def main(words: list[str]) -> int:
    """Write the picture; return the exit code."""
    model = Path(words[1]) if len(words) > 1 else Path("examples/models/arm.urdf")
    take_picture(model, Path(words[0]) if words else Path("studio.png"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
