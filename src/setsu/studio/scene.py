"""The 3D view: links, frames, centres of mass, inertias, loops, springs, contacts, ground, and forces as arrows.

Links hang under one node per moving body, so that a new moment moves those nodes and the arrows, and nothing else is
sent. Names from files are not used as node names without their slashes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import viser.transforms as transforms
from numpy.typing import NDArray

from setsu.constraints import Plane, SurfaceContact
from setsu.constraints.surfaces import Surface
from setsu.contact import Environment
from setsu.mechanism import Mechanism
from setsu.spatial import axis_to_z_rotation
from setsu.studio.colors import GROUND, LOOP, SURFACE, contact_color, joint_color, paler
from setsu.studio.force_arrows import ForceArrows
from setsu.studio.geometry import Look, arrows_mesh, ellipsoid_of, is_floating, look_of, lowest_point, size_of
from setsu.studio.polygon_meshes import drawn_corners, fan_of_triangles, foot_on_plane, plane_axes
from setsu.studio.state import Moment, place_of
from setsu.studio.surface_meshes import surface_mesh

__all__ = ["LAYERS", "Scene", "add_ground", "add_light"]

Floats = NDArray[np.float64]

GROUND_BELOW = -2e-3
"""Height of the ground that is drawn for want of one, in sizes of the mechanism: a little below floors at z = 0."""

# Key, label, shown at first.
LAYERS = (
    ("links", "Links", True),
    ("frames", "Body frames", False),
    ("masses", "Centres of mass", False),
    ("inertias", "Inertia ellipsoids", False),
    ("loops", "Loops and springs", True),
    ("contacts", "Contact points", True),
    ("surfaces", "Surfaces of contacts", True),
    ("ground", "Ground polygons", True),
    ("normals", "Normals of the ground", True),
    ("names", "Names", False),
    ("forces", "Joint forces (arrows)", True),
    ("moments", "Joint moments (double arrows)", True),
    ("welds", "Forces and moments through welds and mounts", False),
    ("values", "Values at arrows", False),
)
ARROW_LAYERS = ("forces", "moments", "welds")

MOST_BALLS = 200
"""Contact points drawn as balls; more are dots, one node per body."""

LINK_OPACITY = 0.35
"""How opaque links are while forces are shown, unless somebody says otherwise."""


class Scene:
    """Draws one mechanism in a viser scene; `show` moves it to a moment."""

    def __init__(
        self, scene: Any, atomic: Callable[[], Any], mechanism: Mechanism, mesh_folders: Sequence[Path] = ()
    ) -> None:
        self._scene, self._atomic, self.mechanism = scene, atomic, mechanism
        self.center, self.radius = size_of(mechanism)
        self.look: Look = look_of(mechanism, mesh_folders)
        self.visible = {key: shown for key, _, shown in LAYERS}
        self._layers: dict[str, list[Any]] = {key: [] for key in self.visible}
        self._moment: Moment | None = None
        self._bodies: list[Any] = []
        self._build()
        self.arrows = ForceArrows(scene, mechanism, self.radius)
        self.link_opacity = LINK_OPACITY
        self._contacts: list[tuple[str, Any]] = []
        self._ground: list[tuple[str, Any]] = []
        self._tables: list[Any] = []
        self._floors: list[Any] = []

    def set_visible(self, layer: str, visible: bool) -> None:
        """Show or hide a layer (see LAYERS)."""
        self.visible[layer] = visible
        with self._atomic():
            for handle in self._layers[layer]:
                handle.visible = visible
            if layer in (*ARROW_LAYERS, "values") and self._moment is not None:
                self.arrows.show(self._moment, self.visible)
            self._set_opacities()

    def set_link_opacity(self, opacity: float) -> None:
        """Set how opaque (0 to 1) links are while something is shown that lies inside them."""
        self.link_opacity = opacity
        with self._atomic():
            self._set_opacities()

    def _set_opacities(self) -> None:
        """Links are looked through while arrows, centres of mass or ellipsoids are shown, which lie inside them."""
        inside = any(self.visible[layer] for layer in (*ARROW_LAYERS, "masses", "inertias"))
        for handle, mesh in zip(self._layers["links"], self.look.meshes, strict=True):
            opacity = self.link_opacity * mesh.opacity if inside else mesh.opacity
            handle.opacity = None if opacity >= 1.0 else opacity

    def set_arrow_factor(self, factor: float) -> None:
        """Make arrows this many times as long as chosen for the mechanism's own weight."""
        self.arrows.factor = factor
        if self._moment is not None:
            self.show(self._moment)

    def set_frame(self, frame: str) -> None:
        """Draw the wrench at a frame too; "" for none."""
        self.arrows.frame = frame
        if self._moment is not None:
            self.show(self._moment)

    def show(self, moment: Moment) -> None:
        """Move to a moment."""
        self._moment = moment
        rotations = transforms.SO3.from_matrix(moment.poses[:, :3, :3]).wxyz
        with self._atomic():
            for node, wxyz, pose in zip(self._bodies, rotations, moment.poses, strict=True):
                node.wxyz, node.position = wxyz, pose[:3, 3]
            self._show_loops(moment)
            self.arrows.show(moment, self.visible)

    def set_contacts(self, contacts: Sequence[SurfaceContact]) -> None:
        """Draw the surfaces of contacts and their points; replaces those drawn before."""
        drawn: list[tuple[str, Any]] = []
        self._forget(self._contacts)
        self._tables = [contact.surface for contact in contacts if _is_level(contact.surface)]
        for number, contact in enumerate(contacts):
            name = f"/surfaces/{number:02d}"
            if _is_level(contact.surface):
                drawn.append(("surfaces", self._plane(name, contact.surface.normal, contact.surface.offset)))
            else:
                vertices, faces = surface_mesh(contact.surface, self.center, 1.6 * self.radius)
                if len(faces):
                    # Curved ones are seen through their own far side, which flickers; no body is inside them.
                    opacity = 0.45 if isinstance(contact.surface, Plane) else None
                    drawn.append(("surfaces", self._sheet(name, vertices, faces, opacity, "surfaces")))
            frame = self.mechanism.frame(contact.body)
            place = frame.pose.matrix[:3, :3] @ np.array(contact.point) + frame.pose.matrix[:3, 3]
            name = f"{self._node(frame.body)}/contact{number:02d}"
            drawn.append(("contacts", self._ball(name, place, 0.02, contact_color(number), "contacts")))
        self._contacts = self._kept(drawn)
        self._show_grid()

    def set_environment(self, environment: Environment | None) -> None:
        """Draw the polygons that can be touched, with an arrow on that side; replaces those drawn before."""
        drawn: list[tuple[str, Any]] = []
        self._forget(self._ground)
        arrows, edges, length = [], [], 0.15 * self.radius
        polygons = environment.polygons if environment is not None else ()
        for number, polygon in enumerate(polygons):
            corners = drawn_corners(polygon, self.center, 3.0 * self.radius)
            name, place = f"/polygons/{number:03d}", corners.mean(axis=0)
            if polygon.unbounded:
                drawn.append(("ground", self._plane(name, polygon.normal, polygon.offset)))
                # Beside the mechanism, which stands in the middle.
                place = 0.75 * place + 0.25 * corners[0]
            else:
                faces = fan_of_triangles(len(corners))
                drawn.append(("ground", self._sheet(name, corners, faces, 0.3, "ground")))
                edges.append(np.stack([corners, np.roll(corners, -1, axis=0)], axis=1))
            arrows.append([place, place + length * polygon.normal])
        self._floors = [polygon for polygon in polygons if polygon.unbounded]
        if edges:
            drawn.append(("ground", self._scene.add_line_segments(
                "/polygons/edges", np.concatenate(edges), SURFACE, visible=self.visible["ground"], thickness=1.5,
                thickness_units="screen",
            )))  # fmt: skip
        if arrows:
            vertices, faces = arrows_mesh(np.array(arrows), 0.004 * self.radius, 0.012 * self.radius)
            drawn.append(("normals", self._scene.add_mesh_simple(
                "/polygons/normals", vertices, faces, color=paler(SURFACE, 0.2), cast_shadow=False,
                visible=self.visible["normals"],
            )))  # fmt: skip
        self._ground = self._kept(drawn)
        self._show_grid()

    def _build(self) -> None:
        m, scene = self.mechanism, self._scene
        scene.reset()
        size = self.radius
        add_light(scene)
        # Under a robot that hangs from its base, too.
        low = 0.0 if is_floating(m) else min(0.0, lowest_point(m, self.look, m.reference_configuration()))
        self._grid = add_ground(scene, "/ground", size, np.array([0.0, 0.0, low + GROUND_BELOW * size]))
        scene.add_frame("/mechanism", show_axes=False)
        scene.add_frame(
            "/mechanism/world", axes_length=0.12 * size, axes_radius=0.004 * size, origin_radius=0.006 * size
        )
        for index in range(m.n_bodies):
            self._bodies.append(scene.add_frame(self._node(index), show_axes=False))
        for number, mesh in enumerate(self.look.meshes):
            self._keep("links", scene.add_mesh_simple(
                f"{self._node(mesh.body)}/links/{number:03d}", mesh.vertices, mesh.faces, color=mesh.color,
                opacity=None if mesh.opacity >= 1.0 else mesh.opacity, side="double",
            ))  # fmt: skip
        for index in range(m.n_bodies):
            node = self._node(index)
            self._keep("frames", scene.add_frame(
                f"{node}/frame", axes_length=0.12 * size, axes_radius=0.005 * size, origin_radius=0.008 * size,
                visible=self.visible["frames"],
            ))  # fmt: skip
            self._keep("names", scene.add_label(
                f"{node}/name", m.body_names[index], font_screen_scale=0.8, visible=self.visible["names"],
            ))  # fmt: skip
        for number, body in enumerate(m.bodies):
            if body.mass > 0.0:
                self._add_inertia(number)
        self._add_loops()
        self._add_contact_points()

    def _add_contact_points(self) -> None:
        """Balls, or dots where there are too many of them to be told apart."""
        m = self.mechanism
        dots: dict[int, list[tuple[Floats, int]]] = {}
        for number, point in enumerate(m.contact_points):
            frame = m.frame(point.body)
            place = frame.pose.matrix[:3, :3] @ np.array(point.position) + frame.pose.matrix[:3, 3]
            if len(m.contact_points) > MOST_BALLS:
                dots.setdefault(frame.body, []).append((place, number))
                continue
            name, part = f"{self._node(frame.body)}/touch{number:03d}", max(0.012, point.radius / self.radius)
            self._keep("contacts", self._ball(name, place, part, contact_color(number), "contacts"))
        for body, found in dots.items():
            self._keep("contacts", self._scene.add_point_cloud(
                f"{self._node(body)}/touch", np.array([place for place, _ in found]),
                np.array([contact_color(number) for _, number in found]), point_size=0.008 * self.radius,
                point_shape="circle", visible=self.visible["contacts"],
            ))  # fmt: skip

    def _add_inertia(self, number: int) -> None:
        body = self.mechanism.bodies[number]
        frame = self.mechanism.frame(body.name)
        if frame.body < 0:
            return
        T, node = frame.pose.matrix, self._node(frame.body)
        center = T[:3, :3] @ np.array(body.center_of_mass) + T[:3, 3]
        self._keep("masses", self._ball(f"{node}/mass{number:03d}", center, 0.018, (40, 40, 45), "masses"))
        if any(body.inertia):
            half, axes = ellipsoid_of(body)
            wxyz = transforms.SO3.from_matrix(T[:3, :3] @ axes).wxyz
            x, y, z = (float(entry) for entry in np.minimum(half, 2.0 * self.radius))
            self._keep("inertias", self._scene.add_icosphere(
                f"{node}/inertia{number:03d}", 1.0, color=joint_color(frame.body), opacity=0.4, scale=(x, y, z),
                wxyz=wxyz, position=center, cast_shadow=False, visible=self.visible["inertias"],
            ))  # fmt: skip

    def _add_loops(self) -> None:
        m = self.mechanism
        for number, loop in enumerate(m.loops):
            for key, name, pose in (("a", loop.body_a, loop.pose_a), ("b", loop.body_b, loop.pose_b)):
                frame = m.frame(name)
                T = frame.pose.matrix @ pose.matrix
                node = f"{self._node(frame.body)}/loop{number:02d}{key}"
                self._keep("loops", self._ball(node, T[:3, 3], 0.022 if key == "a" else 0.026, LOOP, "loops"))
                if key == "a" and loop.joint.has_axis:
                    x, y, z = T[:3, :3] @ np.array(loop.joint.axis)
                    wxyz = transforms.SO3.from_matrix(axis_to_z_rotation((float(x), float(y), float(z)))).wxyz
                    self._keep("loops", self._scene.add_cylinder(
                        f"{node}_axis", radius=0.006 * self.radius, height=0.2 * self.radius, color=LOOP, wxyz=wxyz,
                        position=T[:3, 3], visible=self.visible["loops"],
                    ))  # fmt: skip
        self._springs = None
        if m.springs:
            self._springs = self._scene.add_line_segments(
                "/mechanism/springs", np.zeros((len(m.springs), 2, 3)), (90, 90, 90), visible=self.visible["loops"]
            )
            self._keep("loops", self._springs)

    def _show_loops(self, moment: Moment) -> None:
        if self._springs is None:
            return
        m, poses = self.mechanism, moment.poses
        ends = [
            [place_of(m, poses, spring.body_a, spring.point_a), place_of(m, poses, spring.body_b, spring.point_b)]
            for spring in m.springs
        ]
        self._springs.points = np.array(ends, dtype=np.float32)

    def _node(self, body: int) -> str:
        if body < 0:
            return "/mechanism/world"
        name = re.sub(r"[^\w.-]+", "_", self.mechanism.body_names[body])[:40]
        return f"/mechanism/{body:03d}_{name}"

    def _ball(self, name: str, place: Floats, part: float, color: tuple[int, int, int], layer: str) -> Any:
        return self._scene.add_icosphere(
            name, part * self.radius, color=color, position=place, cast_shadow=False, visible=self.visible[layer]
        )

    def _plane(self, name: str, normal: Any, offset: float) -> Any:
        """A grid on the plane normal·r = offset, below the mechanism."""
        n = np.array(normal, dtype=np.float64)
        place = foot_on_plane(n, offset, self.center)
        wxyz = transforms.SO3.from_matrix(plane_axes(n)).wxyz
        return add_ground(self._scene, name, self.radius, place, wxyz, tint=0.3)

    def _show_grid(self) -> None:
        """Show the ground that is drawn for want of one, unless there is one."""
        self._grid.visible = not (self._tables or self._floors)

    def _sheet(self, name: str, vertices: Floats, faces: Any, opacity: float | None, layer: str) -> Any:
        return self._scene.add_mesh_simple(
            name, vertices, faces, color=paler(SURFACE, 0.4), opacity=opacity, side="double", cast_shadow=False,
            receive_shadow=False, visible=self.visible[layer],
        )  # fmt: skip

    def _keep(self, layer: str, handle: Any) -> None:
        self._layers[layer].append(handle)

    def _kept(self, drawn: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        for layer, handle in drawn:
            self._keep(layer, handle)
        return drawn

    def _forget(self, drawn: list[tuple[str, Any]]) -> None:
        for layer, handle in drawn:
            self._layers[layer].remove(handle)
            handle.remove()
        drawn.clear()


def _is_level(surface: Surface) -> TypeGuard[Plane]:
    """Whether a surface is a plane that lies rather than stands."""
    return isinstance(surface, Plane) and abs(surface.normal[2]) > 0.8


def add_light(scene: Any) -> None:
    """Add white light from all sides."""
    scene.add_light_hemisphere("/light", sky_color=(255, 255, 255), ground_color=(200, 200, 205), intensity=1.8)


def add_ground(
    scene: Any, name: str, size: float, place: Floats, wxyz: Any = (1.0, 0.0, 0.0, 0.0), tint: float = 0.0
) -> Any:
    """Add a grid around a mechanism of this size (m); place (3,) m and wxyz: where its plane is; tint: its opacity."""
    whole = 10.0 ** np.floor(np.log10(size))
    cell = whole / (2.0 if size < 3.0 * whole else 1.0)
    return scene.add_grid(
        name, 40.0 * cell, 40.0 * cell, cell_size=cell, section_size=5.0 * cell, cell_color=(228, 231, 235),
        section_color=GROUND, fade_distance=14.0 * size, shadow_opacity=0.18, plane_color=SURFACE, plane_opacity=tint,
        position=place, wxyz=wxyz,
    )  # fmt: skip
