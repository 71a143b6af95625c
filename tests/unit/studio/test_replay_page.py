"""The exported page carries every force that the 3D view draws."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
from typing import Any

import numpy as np

import setsu
from setsu.studio.geometry import look_of
from setsu.studio.replay_page import replay_page


def _arm_with_a_tool() -> setsu.Mechanism:
    """An arm on a mount with a tool at its end: two welds."""
    b = setsu.MechanismBuilder("arm", gravity=(0, 0, -9.81))
    b.add_body("mount", "world", setsu.Fixed("bolts"), mass=2.0)
    b.add_body("link", "mount", setsu.Revolute((0, 1, 0), "shoulder"), mass=1.0, center_of_mass=(0.2, 0, 0))
    b.add_body("tool", "link", setsu.Fixed("flange"), placement=setsu.placement((0.4, 0, 0)), mass=0.5)
    return b.build()


def _data(page: str) -> dict[str, Any]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found.group(1))


def _array(text: str, *shape: int) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype="<f4").reshape(shape)


def test_welds_and_a_chosen_frame_have_arrows() -> None:
    m = _arm_with_a_tool()
    run = setsu.simulate(m, [0.3], [0.0], duration=0.1)
    data = _data(replay_page(m, run, look_of(m), frame="link"))
    assert data["arrowNames"] == ["shoulder", "at mount", "at tool", "at link"]
    forces = _array(data["forces"], len(run.time), 4, 3) * data["forcesPerMetre"]
    for k, name in ((1, "mount"), (2, "tool"), (3, "link")):
        expected = run.wrench_at(name, axes="world")[:, :3]
        np.testing.assert_allclose(forces[:, k], expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    places = _array(data["arrowPlaces"], len(run.time), 4, 3)
    tool = setsu.frame_pose(m, run.q, "tool")[:, :3, 3]
    np.testing.assert_allclose(places[:, 2], tool, atol=1e-6)


def test_a_weld_that_a_recording_cannot_tell_of_is_named() -> None:
    m = _arm_with_a_tool()
    contact = setsu.SurfaceContact("tool", (0.0, 0.0, 0.0), setsu.Plane((0, 0, 1), -1.0))
    run = setsu.simulate(m, [0.3], [0.0], duration=0.05, contacts=[contact])
    assert "No arrow" not in replay_page(m, run, look_of(m), [contact])
    # As read from a file, which does not hold the surfaces.
    read = dataclasses.replace(run, surface_contacts=())
    page = replay_page(m, read, look_of(m), [contact])
    assert "No arrow at tool: wrench_at: the recording comes from a file" in page
    assert "at tool" not in _data(page)["arrowNames"]
