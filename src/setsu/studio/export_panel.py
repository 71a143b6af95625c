"""Buttons that hand out what the studio shows: a replay as one HTML page, a picture, NetCDF, MCAP."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setsu.errors import InputError
from setsu.simulation.recording_mcap import mcap_bytes
from setsu.studio.replay_page import replay_page

if TYPE_CHECKING:
    from setsu.studio.application import Studio

__all__ = ["ExportPanel"]

PICTURE_SECONDS = 20.0


class ExportPanel:
    """Four buttons inside the current container; each sends a file to the browser that pressed it."""

    def __init__(self, gui: Any, studio: Studio, carefully: Callable[[Callable[[], Any]], None]) -> None:
        self._studio = studio
        for label, action in (
            ("Replay as one HTML page", self._page),
            ("Recording (NetCDF)", self._netcdf),
            ("Recording (MCAP)", self._mcap),
        ):
            gui.add_button(label).on_click(lambda event, action=action: carefully(lambda: action(event.client)))
        gui.add_button("Picture (PNG)").on_click(lambda event: self._picture(event.client, carefully))
        gui.add_html(
            '<div style="font:12px/1.5 system-ui;color:#6b737c;padding:4px 12px">The page holds the 3D replay and the '
            "plots and needs no network. NetCDF keeps every bit and opens here again. MCAP opens in log viewers.</div>"
        )

    def _page(self, client: Any) -> None:
        recording = self._recording()
        assert self._studio.opened is not None
        assert self._studio.scene is not None
        scene, contacts = self._studio.scene, self._studio.contacts
        page = replay_page(self._studio.opened.mechanism, recording, scene.look, contacts, scene.arrows.frame).encode()
        client.send_file_download(f"{self._name()}_replay.html", page, save_immediately=True)

    def _picture(self, client: Any, carefully: Callable[[Callable[[], Any]], None]) -> None:
        # Without the studio's lock: the picture comes from the browser, which may be waiting for the studio.
        try:
            picture, problem = picture_of(client), ""
        except Exception as caught:  # viser raises what its transport raises when a browser goes away or hangs
            picture, problem = b"", f"the browser gave no picture ({type(caught).__name__}: {caught})"

        def hand_out() -> None:
            if problem:
                raise InputError(problem)
            client.send_file_download(f"{self._name()}.png", picture, save_immediately=True)

        carefully(hand_out)

    def _netcdf(self, client: Any) -> None:
        recording = self._recording()
        with tempfile.TemporaryDirectory(prefix="setsu_studio_") as folder:
            path = recording.save(Path(folder) / "run.nc")
            client.send_file_download(f"{self._name()}.nc", path.read_bytes(), save_immediately=True)

    def _mcap(self, client: Any) -> None:
        recording = self._recording()
        assert self._studio.opened is not None
        data = mcap_bytes(recording, self._studio.opened.mechanism)
        client.send_file_download(f"{self._name()}.mcap", data, save_immediately=True)

    def _recording(self) -> Any:
        if self._studio.recording is None:
            raise InputError("there is no run to export yet: press Run in the tab Scenario, or open a recording")
        return self._studio.recording

    def _name(self) -> str:
        mechanism = self._studio.mechanism
        return re.sub(r"\W+", "_", mechanism.name if mechanism is not None else "studio").strip("_")[:40] or "run"


def picture_of(client: Any) -> bytes:
    """Return what a browser's 3D view shows as a PNG file, on white."""
    import imageio.v3 as pictures
    import numpy as np

    camera = client.camera
    pixels = client.get_render(
        camera.image_height, camera.image_width, transport_format="png", timeout=PICTURE_SECONDS
    ).astype(np.float64)
    if pixels.shape[-1] == 4:
        alpha = pixels[..., 3:] / 255.0
        pixels = pixels[..., :3] * alpha + 255.0 * (1.0 - alpha)
    return pictures.imwrite("<bytes>", np.round(pixels).astype(np.uint8), extension=".png")
