"""Where two convex shapes meet: against coal, closed forms and symmetries, in generic and in degenerate positions."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from unit.contact.convex_geometry import (
    HOME,
    Placement,
    TwoShapes,
    coal,
    coal_shape,
    outside,
    rotation,
    support,
    turn,
    write_box_mesh,
)

import setsu
from setsu.contact.hull_faces import hull_faces

pytestmark = pytest.mark.thin(3)

PRIMITIVES = {
    "box": setsu.Shape("box", (0.3, 0.2, 0.1)),
    "sphere": setsu.Shape("sphere", (0.1,)),
    "capsule": setsu.Shape("capsule", (0.06, 0.2)),
    "cylinder": setsu.Shape("cylinder", (0.1, 0.2)),
    "ellipsoid": setsu.Shape("ellipsoid", (0.12, 0.1, 0.07)),
}
KINDS = (*PRIMITIVES, "mesh")
PAIRS = list(itertools.combinations_with_replacement(KINDS, 2))
MARGIN = 1e-3


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, setsu.Shape]:
    # An uneven solid: coal makes its hull of any corners that a file gives.
    path = tmp_path_factory.mktemp("mesh") / "stone.obj"
    corners = np.random.default_rng(4).normal(size=(40, 3))
    corners *= np.array([[0.15, 0.1, 0.08]]) / np.linalg.norm(corners, axis=1)[:, None]
    lines = [f"v {x:.9f} {y:.9f} {z:.9f}" for x, y, z in corners] + [f"f 1 {k} {k + 1}" for k in range(2, 40)]
    path.write_text("\n".join(lines) + "\n")
    return {**PRIMITIVES, "mesh": setsu.Shape("mesh", (1.0, 1.0, 1.0), mesh=str(path))}


def _poses(rng: np.random.Generator, size: float) -> tuple[Placement, Placement]:
    way = rng.normal(size=3)
    way *= rng.uniform(0.0, 1.1 * size) / np.linalg.norm(way)
    place = rng.normal(size=3)
    return (rotation(rng), place), (rotation(rng), place + way)


def _near(rng: np.random.Generator, two: TwoShapes, gap: float) -> tuple[Placement, Placement]:
    """Random poses in which the shapes are `gap` apart."""
    A, (R, p) = _poses(rng, two.size)
    for _ in range(3):
        met = two.meet(A, (R, p))
        p = p + (gap - met.gap) * met.normal
    return A, (R, p)


@pytest.mark.thin(2)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_distance_and_depth_are_those_of_coal(first: str, second: str, shapes: dict[str, setsu.Shape]) -> None:
    # The signed distance is the largest separation along any direction: no direction, of coal's neither, may beat ours.
    two, rng = TwoShapes(shapes[first], shapes[second]), np.random.default_rng(7)
    bent, unlike = bool({"cylinder", "ellipsoid"} & {first, second}), 0
    for _ in range(200):
        A, B = _poses(rng, two.size)
        met = two.meet(A, B)
        distance, normal = two.by_coal(A, B)
        assert np.linalg.norm(met.normal) == pytest.approx(1.0, abs=1e-12)
        assert two.separation(A, B, met.normal) == pytest.approx(
            met.gap, abs=1e-9
        )  # not rounding: tolerance of the search
        assert met.gap >= two.separation(A, B, normal) - 1e-9
        if not bent or distance > 0.0:  # coal's depth of cylinders is often too large, or none at all
            assert met.gap == pytest.approx(distance, rel=1e-6, abs=1e-8)
            unlike += np.linalg.norm(met.normal - normal) > 1e-4
    assert unlike <= 2  # two ways out of the same length


@pytest.mark.parametrize("margin", [1e-3, 10.0])
def test_a_sphere_and_a_cylinder_meet_as_the_closed_form_says(margin: float) -> None:
    two, rng = TwoShapes(PRIMITIVES["cylinder"], PRIMITIVES["sphere"]), np.random.default_rng(8)
    for _ in range(300):
        R, place = rotation(rng), rng.uniform(-0.25, 0.25, 3)
        gap = outside(PRIMITIVES["cylinder"], R, np.zeros(3), place) - 0.1
        met = two.meet((R, np.zeros(3)), (np.eye(3), place), margin)
        if gap > margin:
            assert len(met.points) == 0
            continue
        assert met.gap == pytest.approx(gap, abs=1e-9)  # not rounding: tolerance of the search
        # Directions around a bent surface are known to the square root of rounding.
        assert met.points == pytest.approx((place - (0.1 + 0.5 * gap) * met.normal)[None], abs=1e-5)


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations_with_replacement(PRIMITIVES, 2)))
@pytest.mark.parametrize("gap", [5e-4, 1e-9, -1e-6, -3e-4])
def test_points_lie_half_way_between_both_surfaces(first: str, second: str, gap: float) -> None:
    two, rng = TwoShapes(PRIMITIVES[first], PRIMITIVES[second]), np.random.default_rng(9)
    for _ in range(60):
        A, B = _near(rng, two, gap)
        met = two.meet(A, B, MARGIN)
        assert met.gap == pytest.approx(gap, abs=1e-9)  # not rounding: tolerance of the search
        assert met.gaps.min() == pytest.approx(gap, abs=2e-9)  # not rounding: tolerance of the search
        assert met.gaps.max() <= MARGIN
        assert len(met.points) <= 8
        for kind, (R, p), side in ((first, A, -0.5), (second, B, 0.5)):
            # The upper end of a leaning capsule is taken to be its radius below its axis, along the normal.
            lean = R[:, 2] @ met.normal
            inexact = 0.06 * (1.0 / np.sqrt(1.0 - lean**2) - 1.0) if kind == "capsule" and len(met.points) > 1 else 0.0
            for point, own in zip(met.points, met.gaps, strict=True):
                assert abs(outside(PRIMITIVES[kind], R, p, point + side * own * met.normal)) < 1e-8 + inexact


def test_faces_of_boxes_meet_in_the_polygon_that_coal_finds() -> None:
    two, rng = TwoShapes(PRIMITIVES["box"], setsu.Shape("box", (0.2, 0.15, 0.1))), np.random.default_rng(10)
    a, b = (coal_shape(shape) for shape in two.shapes)
    request, patch_request = coal.CollisionRequest(), coal.ContactPatchRequest()
    request.security_margin = MARGIN
    patch_request.setPatchTolerance(1e-3)
    for _ in range(100):
        world = rotation(rng)
        way = np.array([*rng.uniform(-0.15, 0.15, 2), 0.1 + rng.uniform(-1e-5, 1e-5)])
        A: Placement = (world, rng.normal(size=3))
        B: Placement = (world @ turn(2, rng.uniform(0.0, 6.0)), A[1] + world @ way)
        met = two.meet(A, B, MARGIN)
        TA, TB, result = coal.Transform3s(*A), coal.Transform3s(*B), coal.CollisionResult()
        coal.collide(a, TA, b, TB, request, result)
        patches = coal.ContactPatchResult(patch_request)
        coal.computeContactPatch(a, TA, b, TB, result, patch_request, patches)
        patch = patches.getContactPatch(0)
        corners = np.array([np.asarray(patch.getPoint(k)).ravel() for k in range(patch.size())])
        apart = np.linalg.norm(corners[:, None] - met.points, axis=2)
        assert apart.min(axis=0).max() < 1e-6
        assert apart.min(axis=1).max() < 1e-6
        assert met.normal == pytest.approx(world[:, 2], abs=1e-12)
        assert met.gaps == pytest.approx(np.full(len(met.gaps), way[2] - 0.1), abs=1e-12)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_swapping_the_shapes_and_moving_the_world_change_nothing(
    first: str, second: str, shapes: dict[str, setsu.Shape]
) -> None:
    two, swapped = TwoShapes(shapes[first], shapes[second]), TwoShapes(shapes[second], shapes[first])
    rng = np.random.default_rng(11)
    for _ in range(40):
        A, B = _near(rng, two, rng.uniform(-1e-4, 5e-4))
        met, other = two.meet(A, B, MARGIN), swapped.meet(B, A, MARGIN)
        W, shift = rotation(rng), 10.0 * rng.normal(size=3)
        moved = two.meet((W @ A[0], W @ A[1] + shift), (W @ B[0], W @ B[1] + shift), MARGIN)
        for again, normal, points in (
            (other, -other.normal, other.points),
            (moved, W.T @ moved.normal, (moved.points - shift) @ W),
        ):
            assert again.gap == pytest.approx(met.gap, abs=1e-10)  # not rounding: tolerance of the search
            assert normal == pytest.approx(met.normal, abs=1e-5)
            apart = np.linalg.norm(points[:, None] - met.points, axis=2)
            assert max(apart.min(axis=0).max(), apart.min(axis=1).max()) < 1e-5 * two.size


# Degenerate positions ------------------------------------------------------------------------------------------------


def test_boxes_stacked_exactly_meet_in_four_corners() -> None:
    box = setsu.Shape("box", (0.1, 0.1, 0.1))
    met = TwoShapes(box, box).meet(HOME, (np.eye(3), np.array([0.0, 0.0, 0.1])), MARGIN)
    assert met.normal == pytest.approx([0.0, 0.0, 1.0], abs=1e-12)
    corners = sorted(met.points.round(9).tolist())
    assert corners == [[x, y, 0.05] for x, y in itertools.product((-0.05, 0.05), repeat=2)]


def test_edges_that_all_but_coincide_give_no_corners_in_between() -> None:
    # The second box is shifted along x and turned by rounding: still four corners, at every step the same.
    box = setsu.Shape("box", (0.1, 0.1, 0.1))
    two = TwoShapes(box, box)
    for angle in (0.0, 1e-15, -1e-12, 3e-10):
        met = two.meet(HOME, (turn(2, angle), np.array([0.02, 0.0, 0.1])), MARGIN)
        assert len(met.points) == 4


def test_an_edge_on_a_face_and_edges_across_each_other() -> None:
    box = setsu.Shape("box", (0.2, 0.2, 0.2))
    two = TwoShapes(box, box)
    high = 0.1 + 0.1 * np.sqrt(2.0)
    on_face = two.meet(HOME, (turn(0, np.pi / 4), np.array([0.05, 0.0, high])), MARGIN)
    assert sorted(on_face.points.round(9).tolist()) == [[-0.05, 0.0, 0.1], [0.1, 0.0, 0.1]]
    across = two.meet(
        (turn(1, np.pi / 4), np.zeros(3)), (turn(0, np.pi / 4), np.array([0.01, 0.02, 0.2 * np.sqrt(2.0)])), MARGIN
    )
    assert across.points == pytest.approx(np.array([[0.0, 0.02, 0.1 * np.sqrt(2.0)]]), abs=1e-9)
    assert across.normal == pytest.approx([0.0, 0.0, 1.0], abs=1e-9)


def test_shapes_around_the_same_center_come_apart_the_shortest_way() -> None:
    rng = np.random.default_rng(12)
    depth = {"box": 0.1, "sphere": 0.2, "capsule": 0.12, "cylinder": 0.2, "ellipsoid": 0.14}
    for kind, shape in PRIMITIVES.items():
        R = rotation(rng)
        met = TwoShapes(shape, shape).meet((R, np.ones(3)), (R, np.ones(3)))
        assert met.gap == pytest.approx(-depth[kind], abs=1e-9)
        assert 1 <= len(met.points) <= 8
        assert np.isfinite(met.points).all()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("box", (1.0, 1.0, 1e-4)), ("box", (1.0, 1.0, 1e-4))),
        (("box", (1.0, 1e-4, 1e-4)), ("box", (1.0, 1.0, 0.0))),
        (("box", (1.0, 1.0, 0.0)), ("box", (1.0, 1.0, 0.0))),
        (("box", (100.0, 100.0, 100.0)), ("box", (0.01, 0.01, 0.01))),
        (("box", (100.0, 100.0, 100.0)), ("cylinder", (0.01, 0.01))),
        (("cylinder", (100.0, 100.0)), ("cylinder", (0.01, 0.01))),
        (("cylinder", (1e-4, 1.0)), ("cylinder", (1e-4, 1.0))),
        (("cylinder", (1.0, 0.0)), ("cylinder", (1.0, 0.0))),
        (("cylinder", (0.0, 1.0)), ("capsule", (0.1, 0.0))),
        (("sphere", (0.0,)), ("sphere", (0.0,))),
        (("ellipsoid", (1.0, 1e-3, 1.0)), ("ellipsoid", (1e-3, 1.0, 1e-3))),
        (("ellipsoid", (0.1, 0.1, 0.0)), ("ellipsoid", (0.0, 0.0, 0.0))),
    ],
    ids=str,
)
def test_thin_tiny_and_flat_shapes_give_numbers_that_hold(
    first: tuple[str, tuple[float, ...]], second: tuple[str, tuple[float, ...]]
) -> None:
    # Parallel, crossed and generic, from the same center to touching: the gap is the separation along the normal.
    two, rng = TwoShapes(setsu.Shape(*first), setsu.Shape(*second)), np.random.default_rng(13)
    for k in range(60):
        R, way = rotation(rng), rng.normal(size=3)
        turned = (R, R @ turn(0, np.pi / 2), R @ turn(0, 1e-9), rotation(rng))[k % 4]
        way = R[:, 2] if k % 3 == 0 else way / np.linalg.norm(way)
        A: Placement = (R, rng.normal(size=3))
        reach = support(two.shapes[0], *HOME, R.T @ way) + support(two.shapes[1], turned, np.zeros(3), -way)
        B: Placement = (turned, A[1] + (0.0, 0.5, 1.0)[k % 3] * reach * way)
        met = two.meet(A, B, margin=1e3)
        assert np.isfinite(met.points).all()
        assert np.isfinite(met.gaps).all()
        assert 1 <= len(met.points) <= 8
        assert two.separation(A, B, met.normal) == pytest.approx(met.gap, abs=1e-8 * two.size)
        for n in (way, -way, R[:, 0], turned[:, 1], turned[:, 2]):
            assert met.gap >= two.separation(A, B, n) - 1e-8 * two.size


# Meshes --------------------------------------------------------------------------------------------------------------


def test_triangles_of_one_plane_make_one_face() -> None:
    corners = np.array(list(itertools.product((0.0, 1.0), (0.0, 2.0), (0.0, 3.0))))
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = np.array([part for a, b, c, d in quads for part in ((a, b, c), (d, c, a))])  # the second the other way
    hull = hull_faces(corners, triangles)
    assert sorted(len(loop) for loop, _ in hull.faces) == [4] * 6
    for loop, normal in hull.faces:
        a, b, c = corners[loop[:3]]
        turned = np.cross(b - a, c - b)
        assert turned / np.linalg.norm(turned) == pytest.approx(normal)
        assert normal @ (a - corners.mean(axis=0)) > 0.0
    assert all(len(fan) == 3 for fan in hull.fans)


def test_a_mesh_of_a_box_meets_like_the_box(tmp_path: Path) -> None:
    write_box_mesh(tmp_path / "box.stl", (0.3, 0.2, 0.1))
    mesh = setsu.Shape("mesh", (1.0, 1.0, 1.0), mesh=str(tmp_path / "box.stl"))
    box, other, rng = PRIMITIVES["box"], PRIMITIVES["cylinder"], np.random.default_rng(14)
    two, same = TwoShapes(box, other), TwoShapes(mesh, other)
    for _ in range(40):
        A, B = _near(rng, two, rng.uniform(-1e-4, 5e-4))
        met, again = two.meet(A, B, MARGIN), same.meet(A, B, MARGIN)
        assert again.gap == pytest.approx(met.gap, abs=1e-8)  # not rounding: the file keeps seven digits
        apart = np.linalg.norm(again.points[:, None] - met.points, axis=2)
        assert max(apart.min(axis=0).max(), apart.min(axis=1).max()) < 1e-5
