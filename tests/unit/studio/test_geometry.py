"""What is drawn: inertias as ellipsoids, surfaces where C = 0, meshes from allowed folders only."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import trimesh

import setsu
from setsu.constraints.surfaces import Surface
from setsu.studio.geometry import ellipsoid_of, look_of, size_of
from setsu.studio.surface_meshes import CELLS, surface_mesh
from setsu.studio.uploads import mesh_folders


def test_the_ellipsoid_has_the_inertia_of_the_body() -> None:
    """A uniform ellipsoid with half axes a has I_k = m/5 (a_i² + a_j²)."""
    for body in setsu.sample_mechanisms.puma560().bodies:
        if not any(body.inertia) or body.mass == 0.0:
            continue
        half, axes = ellipsoid_of(body)
        if half.min() < 2e-3 * half.max():
            continue  # not an inertia of a real body: drawn flat
        moments = body.mass / 5.0 * (np.sum(half**2) - half**2)
        np.testing.assert_allclose(axes @ np.diag(moments) @ axes.T, body.inertia_matrix, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("surface", "curvature"),
    [
        (setsu.Plane((0.0, 1.0, 1.0), 0.2), 0.0),
        (setsu.Sphere((0.1, 0.0, 0.0), 0.5), 2.0),
        (setsu.Cylinder((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.4), 2.5),
        (setsu.ImplicitSurface("x**2 + y**2 - z"), 2.0),
    ],
)
def test_surface_meshes_lie_on_their_surface(surface: Surface, curvature: float) -> None:
    """Linear interpolation along an edge of length e is off by at most e²/8 times the second derivative of C.

    The longest edges are the diagonals of cells, e = sqrt(3) h; the gradient of C is at least 1 here. Near a zero of C
    the second derivative may be a little larger than on it: one part in ten is allowed for.
    """
    vertices, faces = surface_mesh(surface, np.zeros(3), 1.0)
    assert len(faces) > 100
    distance, _, _, _ = surface.frame(vertices)
    assert np.abs(distance).max() < 1.1 * 3.0 / 8.0 * (2.0 / CELLS) ** 2 * curvature + 1e-9


def test_a_surface_far_away_has_no_triangles() -> None:
    vertices, faces = surface_mesh(setsu.Plane((0.0, 0.0, 1.0), 50.0), np.zeros(3), 1.0)
    assert len(vertices) == len(faces) == 0


def test_bodies_without_shapes_are_drawn_from_their_numbers() -> None:
    for make in (setsu.sample_mechanisms.four_bar, setsu.sample_mechanisms.stewart_platform):
        mechanism = make()
        look = look_of(mechanism)
        assert {mesh.body for mesh in look.meshes} >= set(range(mechanism.n_bodies))
        assert sum(len(mesh.faces) for mesh in look.meshes) < 3000 * max(1, mechanism.n_bodies // 6)
        assert all(np.isfinite(mesh.vertices).all() for mesh in look.meshes)
        _, radius = size_of(mechanism)
        assert 0.1 < radius < 10.0


def test_meshes_are_read_inside_the_models_folder_only(tmp_path: Path) -> None:
    model, outside = tmp_path / "robot", tmp_path / "secret"
    for folder in (model, outside):
        folder.mkdir()
        trimesh.creation.box(extents=(1.0, 2.0, 3.0)).export(folder / "part.stl")
    (model / "link.stl").symlink_to(outside / "part.stl")
    for mesh, is_read in ((model / "part.stl", True), (outside / "part.stl", False), (model / "link.stl", False)):
        arm = setsu.sample_mechanisms.pendulum()
        shape = setsu.Shape("mesh", (1.0, 1.0, 1.0), mesh=str(mesh))
        shown = dataclasses.replace(arm, bodies=(dataclasses.replace(arm.bodies[0], visuals=(shape,)),))
        look = look_of(shown, mesh_folders(model / "robot.urdf"))
        extent = np.ptp(np.vstack([mesh.vertices for mesh in look.meshes]), axis=0)
        assert (np.allclose(extent, (1.0, 2.0, 3.0))) == is_read
        assert bool(look.remarks) != is_read
    assert "outside the model's folder" in look.remarks[0]


def test_a_broken_mesh_is_a_remark_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "broken.stl").write_bytes(b"solid nothing\n" + bytes(200))
    arm = setsu.sample_mechanisms.pendulum()
    shape = setsu.Shape("mesh", (1.0, 1.0, 1.0), mesh=str(tmp_path / "broken.stl"))
    shown = dataclasses.replace(arm, bodies=(dataclasses.replace(arm.bodies[0], visuals=(shape,)),))
    look = look_of(shown, (tmp_path,))
    assert look.meshes
    assert "broken.stl" in look.remarks[0]
