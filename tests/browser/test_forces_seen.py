"""Arrows are seen, whatever stands before them: pixels that change when one arrow is left out, counted in Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser.conftest import ARTEFACTS, PATIENCE
from browser.stranger import wait_until
from playwright.sync_api import Browser, Page

from setsu.studio.application import Studio
from setsu.studio.uploads import open_file

pytestmark = pytest.mark.slow

ROBOTS = {
    "panda": "panda_description/urdf/panda.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "cassie": "cassie_description/robots/cassie.sdf",
}

# Keeps the scene, the renderer and the camera of viser's page for the counting below.
WATCH = """
window.__THREE_DEVTOOLS__ = new EventTarget();
window.seen = {};
window.__THREE_DEVTOOLS__.addEventListener("observe", ({ detail: scene }) => {
  if (!scene.isScene) return;
  scene.onBeforeRender = (renderer, self, camera, target) => {
    let arrows = [];
    scene.traverse((o) => { if (o.isInstancedMesh2) arrows.push(o); });
    if (arrows.length) window.seen = { scene, renderer, camera, arrows };
  };
});
"""

# Every arrow in a flat colour of its own; per arrow its pixels alone in an empty scene, and among all that is drawn.
COUNT = """() => {
  const { scene, renderer, camera, arrows } = window.seen, gl = renderer.getContext();
  const width = gl.drawingBufferWidth, height = gl.drawingBufferHeight, shadows = renderer.shadowMap.autoUpdate;
  const drawn = (mesh) => { for (let o = mesh; o; o = o.parent) if (!o.visible) return false; return true; };
  const meshes = arrows.filter(drawn), others = [];
  let Flat = null;
  scene.traverse((o) => {
    if (o.material && o.material.type === "MeshBasicMaterial") Flat = o.material.constructor;
    if (o.isMesh && !o.isInstancedMesh2 && o.visible) others.push(o);
  });
  const light = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const levels = [0, 64, 128, 191, 255], palette = [];
  for (const r of levels) for (const g of levels) for (const b of levels)
    if (new Set([r, g, b]).size > 1) palette.push([r, g, b]);
  // Shafts and heads of one kind follow each other; a moment is two arrows.
  const ids = [];
  for (let i = 0; i + 1 < meshes.length; i += 2)
    for (let k = 0, per = i ? 2 : 1; k < meshes[i].instancesCount; k += per)
      ids.push({ pair: [meshes[i], meshes[i + 1]], of: per === 2 ? [k, k + 1] : [k],
                 color: palette[(37 * ids.length) % palette.length] });
  if (ids.length > palette.length) throw new Error("more arrows than colours");
  const before = meshes.map((mesh) => mesh.material);
  meshes.forEach((mesh) => { mesh.material = new Flat({ toneMapped: false }); });
  const color = arrows[0].material.color.clone();
  for (const { pair, of, color: [r, g, b] } of ids) for (const mesh of pair) for (const k of of)
    mesh.setColorAt(k, color.setRGB(...[r, g, b].map((c) => light(c / 255))));
  const show = (id, shown) => { for (const mesh of id.pair) for (const k of id.of) mesh.setVisibilityAt(k, shown); };
  const counts = () => {
    renderer.setRenderTarget(null);
    renderer.render(scene, camera);
    const pixels = new Uint8Array(4 * width * height), found = new Map();
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    const key = (c) => { const near = levels.findIndex((l) => Math.abs(l - c) < 5); return near; };
    for (let k = 0; k < pixels.length; k += 4) {
      const r = key(pixels[k]), g = key(pixels[k + 1]), b = key(pixels[k + 2]);
      if (r >= 0 && g >= 0 && b >= 0 && !(r === g && g === b)) { const name = `${levels[r]},${levels[g]},${levels[b]}`;
        found.set(name, (found.get(name) || 0) + 1); }
    }
    return (id) => found.get(id.color.join()) || 0;
  };
  renderer.shadowMap.autoUpdate = false;
  others.forEach((o) => { o.visible = false; });
  ids.forEach((id) => show(id, false));
  const alone = ids.map((id) => { show(id, true); const n = counts()(id); show(id, false); return n; });
  others.forEach((o) => { o.visible = true; });
  ids.forEach((id) => show(id, true));
  const among = counts();
  const result = ids.map((id, k) => [alone[k], among(id)]);
  meshes.forEach((mesh, k) => { mesh.material = before[k]; });
  renderer.shadowMap.autoUpdate = shadows;
  return result;
}"""


@pytest.fixture(scope="module")
def watched(chromium: Browser) -> Iterator[tuple[Studio, Page]]:
    """A studio and its page, with three.js in view."""
    from setsu.studio import open_studio

    studio = open_studio()
    context = chromium.new_context(viewport={"width": 1400, "height": 640})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.add_init_script(WATCH)
    page.goto(studio.address)
    page.wait_for_selector("text=No mechanism yet")
    assert wait_until(lambda: len(studio.server.get_clients()) > 0, pause=page.wait_for_timeout)
    page.add_style_tag(content=".mantine-Notifications-root { display: none }")
    yield studio, page
    context.close()
    studio.close()


def share_seen(studio: Studio, page: Page, file: Path, name: str) -> float:
    """Open a robot in a random pose; return the part of its arrows above 5 % of the largest that is seen.

    Seen is an arrow with a third of the pixels that it has alone in an empty scene.
    """
    studio.open(open_file(file, (file.parents[2],)))
    m = studio.mechanism
    assert m is not None
    studio._pose_button("Random", np.random.default_rng(20))
    assert studio.scene is not None
    arrows = studio.scene.arrows.drawn
    # A moment is two arrows; each arrow is a shaft and a head.
    count = sum(2 if ": moment " in arrow.text else 1 for arrow in arrows)
    drawn = "(window.seen.arrows || []).reduce((n, mesh) => n + mesh.instancesCount, 0)"
    page.wait_for_function(f"() => {drawn} === {2 * count}")
    page.wait_for_timeout(1000)
    page.screenshot(path=ARTEFACTS / f"forces_{name}.png")
    counted = page.evaluate(COUNT)
    assert len(counted) == len(arrows)
    seen = []
    for kind in (": force ", ": moment "):
        largest = max((arrow.length for arrow in arrows if kind in arrow.text), default=0.0)
        for arrow, (alone, among) in zip(arrows, counted, strict=True):
            if kind in arrow.text and arrow.length > 0.05 * largest:
                assert alone > 5, f"{arrow.text}: {alone} pixels alone"
                seen.append(3 * among >= alone)
    assert len(seen) >= 4
    return float(np.mean(seen))


def robot_file(name: str) -> Path:
    """A robot of example-robot-data."""
    import pinocchio

    roots = (folder / "share" / "example-robot-data" / "robots" for folder in Path(pinocchio.__file__).parents)
    return next(root for root in roots if root.is_dir()) / ROBOTS[name]


@pytest.mark.parametrize(
    "name",
    ["panda", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("talos", "anymal", "g1", "cassie"))],
)
def test_nine_of_ten_arrows_are_seen(watched: tuple[Studio, Page], name: str) -> None:
    assert share_seen(*watched, robot_file(name), name) >= 0.9
