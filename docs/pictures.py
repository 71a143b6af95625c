"""`python docs/pictures.py`: the pictures of the gallery, each made by running its example.

An example leaves what it computed in its variables: a recording `run`, or states `q` of a mechanism with their forces.
The page that the studio exports shows them; Chromium takes the picture. Needs the extra `dev`.
"""

from __future__ import annotations

import io
import os
import runpy
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import setsu
from setsu.studio.geometry import look_of
from setsu.studio.picture import BROWSER_ARGUMENTS, find_browser
from setsu.studio.replay_page import replay_page

ROOT = Path(__file__).resolve().parents[1]
SIZE = {"width": 720, "height": 800}


class Picture(NamedTuple):
    """One picture: the example, what of it is shown, and when (part of the run)."""

    example: str
    recording: Callable[[dict[str, Any]], setsu.Recording]
    moment: float
    forces: bool = True
    nearer: int = 300  # how far the wheel of the mouse turns


def _run(found: dict[str, Any]) -> setsu.Recording:
    return found["run"]


def _delta(found: dict[str, Any]) -> setsu.Recording:
    """The example's motion, held up by its torques: a short run from one of its states."""
    robot, k = found["robot"], 40
    return setsu.simulate(robot, found["q"][k], found["v"][k], 0.02, 1e-3, torque=found["result"].torque[k])


def _stewart(found: dict[str, Any]) -> setsu.Recording:
    machine = found["machine"]
    return setsu.simulate(machine, found["q"], np.zeros(machine.nv), 0.02, 1e-3, torque=found["holding"].torque)


PICTURES = (
    Picture("12_delta_robot", _delta, 0.0),
    Picture("13_stewart_platform", _stewart, 0.0),
    Picture("14_excavator_boom", _run, 0.6),
    Picture("15_jansen_leg", _run, 0.5, nearer=100),
    Picture("23_humanoid_walks", _run, 0.45),
    Picture("24_humanoid_falls", _run, 0.55, forces=False),
    Picture("30_dominoes", _run, 0.4, forces=False, nearer=500),
    Picture("31_quadruped", _run, 1.0, nearer=150),
    Picture("36_wheel_on_a_heightfield", _run, 0.5, forces=False, nearer=300),
    Picture("37_conveyor", _run, 0.5, nearer=300),
    Picture("49_bin", _run, 1.0, forces=False, nearer=500),
)


def take(picture: Picture, page: Any, folder: Path) -> None:
    """Run an example and write its picture."""
    from PIL import Image

    before = Path.cwd()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        try:
            recording = picture.recording(runpy.run_path(str(ROOT / "examples" / f"{picture.example}.py")))
            file = Path(scratch) / "page.html"
            assert recording.mechanism is not None
            file.write_text(replay_page(recording.mechanism, recording, look_of(recording.mechanism)), encoding="utf-8")
            page.goto(file.as_uri())
            page.wait_for_timeout(500)
            page.evaluate(f"""() => {{
                const time = document.getElementById("time");
                time.value = {picture.moment}; time.oninput({{target: time}});
                const forces = document.getElementById("forces");
                if (forces.checked !== {str(picture.forces).lower()}) forces.click();
            }}""")
            page.mouse.move(SIZE["width"] / 2, SIZE["height"] / 2)
            page.mouse.wheel(0, -picture.nearer)
            page.wait_for_timeout(500)
            shot = page.locator("canvas").first.screenshot()
        finally:
            os.chdir(before)
    image = Image.open(io.BytesIO(shot)).convert("RGB")
    image = image.resize((480, round(480 * image.height / image.width)), Image.Resampling.LANCZOS)
    # 128 colours: a fraction of the size, for a repository that keeps its pictures.
    image.quantize(128, dither=Image.Dither.NONE).save(folder / f"{picture.example}.png", optimize=True)


def main(words: list[str]) -> int:
    """Write all pictures, or those of the examples named."""
    from playwright.sync_api import sync_playwright

    folder = ROOT / "docs" / "gallery"
    folder.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=list(BROWSER_ARGUMENTS))
        page = browser.new_page(viewport=SIZE)
        for picture in PICTURES:
            if not words or picture.example in words:
                print(picture.example, flush=True)
                take(picture, page, folder)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
