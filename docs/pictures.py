"""`python docs/pictures.py`: the pictures of the gallery, each made by running its example; `... studio`: of its page.

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


def _panda(studio: Any) -> None:
    """A Panda with its forces, of example-robot-data."""
    import pinocchio

    from setsu.studio.uploads import open_file

    roots = (folder / "share" / "example-robot-data" / "robots" for folder in Path(pinocchio.__file__).parents)
    robots = next(root for root in roots if root.is_dir())
    studio.open(open_file(robots / "panda_description" / "urdf" / "panda.urdf", (robots,)))
    studio._pose_by_hand("", np.array([0.4, 0.3, 0.2, -1.6, 0.1, 2.0, 0.6, 0.02, 0.02]))
    studio._pose_button("Fit view")
    assert studio.scene is not None
    studio.scene.set_visible("moments", False)
    studio.scene.set_visible("values", True)


def _ghosts(studio: Any) -> None:
    """Seven runs of an arm."""
    from setsu.studio.uploads import Opened

    arm = setsu.sample_mechanisms.planar_arm(3)
    starts = np.linspace([0.9, 0.3, 0.2], [2.1, -0.3, -0.2], 7)
    studio.open(Opened(arm, setsu.simulate(arm, starts, np.zeros((7, 3)), duration=0.6, step=2e-3)))
    for layer in ("forces", "moments"):
        studio.scene.set_visible(layer, False)
    studio.replay.go_to(0.3)
    studio._pose_button("Fit view")


STUDIO_PICTURES = {"studio_forces": _panda, "studio_ghosts": _ghosts}


def take_studio(browser: Any, folder: Path) -> None:
    """Write the pictures of the page on the studio."""
    from setsu.studio import open_studio
    from setsu.studio.picture import save_small

    for name, prepare in STUDIO_PICTURES.items():
        studio = open_studio()
        page = browser.new_page(viewport={"width": 1400, "height": 700})
        page.set_default_timeout(120_000)
        page.goto(studio.address)
        page.wait_for_selector("text=No mechanism yet")
        page.add_style_tag(content=".mantine-Notifications-root { display: none }")
        page.wait_for_timeout(2000)
        prepare(studio)
        page.wait_for_timeout(6000)
        box = page.locator("canvas").first.bounding_box()
        save_small(page.screenshot(clip=box), folder / f"{name}.png")
        page.close()
        studio.close()


def main(words: list[str]) -> int:
    """Write all pictures, or those of the examples named."""
    from playwright.sync_api import sync_playwright

    if words == ["studio"]:
        from setsu.studio.picture import take_picture

        take_picture(ROOT / "examples" / "models" / "arm.urdf", ROOT / "docs" / "studio.png")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_browser(), args=list(BROWSER_ARGUMENTS))
            take_studio(browser, ROOT / "docs")
            browser.close()
        return 0
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
