"""A recording as one HTML page: 3D replay, arrows and plots, without network, server or further files.

The page is a template of ours with the data inside; it draws with WebGL 2 directly. At most MOST_FRAMES states are
kept, evenly spaced, so that a long run stays a page of a few megabytes.
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.constraints import SurfaceContact
from setsu.dynamics import body_poses
from setsu.errors import InputError
from setsu.mechanism import Free, Mechanism
from setsu.simulation import Recording
from setsu.studio.colors import LOOP, WELD, contact_color, hex_color, joint_color
from setsu.studio.geometry import Look, is_floating, size_of
from setsu.studio.plots import Plot, plot_svg
from setsu.studio.polygon_meshes import drawn_corners, fan_of_triangles
from setsu.studio.recorded_plots import plots_of
from setsu.studio.state import place_of, recorded_contact_positions, welds_of
from setsu.studio.surface_meshes import surface_mesh

__all__ = ["MOST_FRAMES", "replay_page"]

MOST_FRAMES = 900
_ARROW_PART = 0.5

Floats = NDArray[np.float64]


def replay_page(
    mechanism: Mechanism, recording: Recording, look: Look, contacts: Sequence[SurfaceContact] = (), frame: str = ""
) -> str:
    """Return the page's text; frame: one whose wrench is drawn beside those of joints, loops, welds and contacts."""
    kept = np.unique(np.linspace(0, len(recording.time) - 1, min(MOST_FRAMES, len(recording.time))).round().astype(int))
    center, radius = size_of(mechanism)
    # The robot where it starts, not the path it takes: the camera goes along with what floats.
    middle, reach = size_of(mechanism, recording.q[0])
    poses = body_poses(mechanism, recording.q[kept])
    groups = plots_of(mechanism, recording)
    arrows, remarks = _arrows(mechanism, recording, kept, poses, contacts, frame)
    data: dict[str, Any] = {
        "center": center.tolist(),
        "radius": radius,
        "viewCenter": middle.tolist(),
        "viewRadius": reach,
        "follow": _floating_body(mechanism),
        "time": _floats(recording.time[kept]),
        "bodies": mechanism.n_bodies,
        "poses": _floats(poses[:, :, :3, :]),
        "meshes": [
            {
                "body": mesh.body,
                "color": [part / 255 for part in mesh.color],
                "opacity": mesh.opacity,
                "vertices": _floats(mesh.vertices),
                "faces": _packed(mesh.faces.astype("<u4")),
            }
            for mesh in look.meshes
        ],
        "surfaces": [
            *(_packed_mesh(*surface_mesh(contact.surface, center, 1.6 * radius)) for contact in contacts),
            *_ground(recording, center, radius),
        ],
        **_drawn(arrows, radius),
        "curves": [
            [{"values": _floats(curve.values[kept])} for curve in plot.curves]
            for plots in groups.values()
            for plot in plots
        ],
    }
    template = resources.files("setsu.studio").joinpath("replay_page.html").read_text(encoding="utf-8")
    text = json.dumps(data).replace("<", "\\u003c")
    return (
        template.replace("{{title}}", html.escape(f"{recording.name}, {recording.time[-1]:.3g} s"))
        .replace("{{plots}}", remarks + "".join(_group(recording, name, plots) for name, plots in groups.items()))
        .replace("{{data}}", text)
    )


def _floating_body(m: Mechanism) -> int:
    """The body a camera goes along with; -1 where the mechanism is fixed to the world."""
    return next(k for k, body in enumerate(m.moving) if isinstance(body.joint, Free)) if is_floating(m) else -1


@dataclass
class _Arrows:
    """Arrows over time: places (frames, n, 3) m and wrenches (frames, n, 6), a color and a name for each of the n."""

    places: list[Floats]
    wrenches: list[Floats]
    colors: list[tuple[int, int, int]]
    names: list[str]

    def add(self, name: str, color: tuple[int, int, int], place: Floats, wrench: Floats) -> None:
        """One more, at (frames, 3)."""
        self.places.append(place[:, None])
        self.wrenches.append(wrench[:, None])
        self.colors.append(color)
        self.names.append(name)


def _arrows(
    m: Mechanism,
    rec: Recording,
    kept: NDArray[np.int64],
    poses: Floats,
    contacts: Sequence[SurfaceContact],
    frame: str,
) -> tuple[_Arrows, str]:
    """Return the arrows of joints, loops, welds, a frame and contacts, and remarks on those that cannot be known."""
    arrows = _Arrows(
        [poses[:, :, :3, 3]],
        [rec.joint_wrenches[kept]],
        [joint_color(index) for index in range(m.n_bodies)],
        list(m.joint_names),
    )
    for number, loop in enumerate(m.loops):
        place = _path(m, poses, loop.body_b, loop.pose_b.translation)
        arrows.add(f"loop {loop.name}", LOOP, place, rec.loop_wrench[kept, number])
    remarks = []
    asked = [*welds_of(m), *([frame] if frame and frame not in welds_of(m) else [])]
    for name in asked:
        try:
            arrows.add(f"at {name}", WELD, _path(m, poses, name), rec.wrench_at(name, axes="world")[kept])
        except InputError as problem:
            remarks.append(f"<p><em>No arrow at {html.escape(name)}: {html.escape(str(problem))}</em></p>")
    points = np.array(
        [recorded_contact_positions(m, rec, k, pose, contacts) for k, pose in zip(kept, poses, strict=True)]
    )
    if points.shape[1]:
        # Points that never touch would make the page many times as large.
        for k in np.flatnonzero(rec.contact_force.any(axis=(0, 2))).tolist():
            force = rec.contact_force[kept, k]
            wrench = np.concatenate([force, np.zeros_like(force)], axis=-1)
            arrows.add(rec.contact_names[k], contact_color(k), points[:, k], wrench)
    return arrows, "".join(remarks)


def _path(m: Mechanism, poses: Floats, name: str, point: Sequence[float] = (0.0, 0.0, 0.0)) -> Floats:
    """Where a point of a body or frame is in all states, (frames, 3) m, world."""
    return np.array([place_of(m, pose, name, point) for pose in poses])


def _drawn(arrows: _Arrows, radius: float) -> dict[str, Any]:
    """Places and vectors of forces and moments (frames, arrows, 3); the 0.95 quantile is half a radius long."""
    wrench = np.concatenate(arrows.wrenches, axis=1)
    result: dict[str, Any] = {
        "arrowColors": [[part / 255 for part in color] for color in arrows.colors],
        "arrowNames": arrows.names,
        "arrowPlaces": _floats(np.concatenate(arrows.places, axis=1)),
    }
    for key, part in (("forces", wrench[..., :3]), ("moments", wrench[..., 3:])):
        typical = float(np.quantile(np.linalg.norm(part, axis=-1), 0.95))
        scale = _ARROW_PART * radius / typical if typical > 1e-9 else 0.0
        result[key] = _floats(part * scale)
        result[f"{key}PerMetre"] = 1.0 / scale if scale else 0.0
    return result


def _ground(recording: Recording, center: Floats, radius: float) -> list[dict[str, Any]]:
    polygons = recording.environment.polygons if recording.environment is not None else ()
    corners = [drawn_corners(polygon, center, 3.0 * radius) for polygon in polygons]
    return [_packed_mesh(drawn, fan_of_triangles(len(drawn))) for drawn in corners]


def _packed_mesh(vertices: Floats, faces: NDArray[np.int64]) -> dict[str, Any]:
    return {"vertices": _floats(vertices), "faces": _packed(faces.astype("<u4"))}


def _group(recording: Recording, name: str, plots: list[Plot]) -> str:
    parts = []
    for plot in plots:
        legend = "".join(
            f'<span><i style="border-top:2.5px {"dashed" if curve.dashed else "solid"} {hex_color(curve.color)}"></i>'
            f"{html.escape(curve.label)} <b></b></span>"
            for curve in plot.curves
        )
        remark = f"<em>{html.escape(plot.remark)}</em>" if plot.remark and plot.curves else ""
        parts.append(
            f'<figure>{plot_svg(recording.time, plot)}<figcaption class="legend">{legend}{remark}</figcaption>'
        )
        parts.append("</figure>")
    return f"<details{' open' if name in ('Motion', 'Joint wrenches') else ''}><summary>{name}</summary>" + (
        "".join(parts) + "</details>"
    )


def _floats(values: Any) -> str:
    return _packed(np.asarray(values, dtype="<f4"))


def _packed(values: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
