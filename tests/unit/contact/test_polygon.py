"""Polygons that are none are refused by name; planes and edges are those of their corners."""

from __future__ import annotations

import numpy as np
import pytest

import setsu

SQUARE = [(0, 0, 1), (2, 0, 1), (2, 1, 1), (0, 1, 1)]


def test_plane_and_edges_contain_the_corners() -> None:
    polygon = setsu.Polygon(SQUARE, "table")
    assert polygon.normal.tolist() == [0.0, 0.0, 1.0]
    assert polygon.offset == 1.0
    inside = polygon.edge_planes[:, :3] @ np.array([1.0, 0.5, 1.0]) - polygon.edge_planes[:, 3]
    assert (inside < 0.0).all()


@pytest.mark.parametrize(
    ("corners", "words"),
    [
        ([(0, 0, 0), (1, 0, 0)], "at least 3 corners"),
        ([(0, 0, 0), (1, 0, 0), (1, 1, 0.1), (0, 1, 0)], "off the plane"),
        ([(0, 0, 0), (1, 1, 0), (1, 0, 0), (0, 1, 0)], "table"),
        ([(0, 0, 0), (2, 0, 0), (2, 2, 0), (1, 0.5, 0), (0, 2, 0)], "turns back at corner 3"),
        ([(np.cos(k * 4 * np.pi / 5), np.sin(k * 4 * np.pi / 5), 0) for k in range(5)], "goes around 2 times"),
        ([(0, 0, 0), (1, 0, 0), (np.nan, 1, 0)], "corner 2"),
        ([(0, 0, 0), (1, 0, 0), (1, 0, 0), (0, 1, 0)], "same point"),
        ("corners", "expected corners"),
    ],
)
def test_what_is_no_convex_polygon_is_refused_by_name(corners: object, words: str) -> None:
    with pytest.raises(setsu.InputError, match=words) as caught:
        setsu.Polygon(corners, "table")  # type: ignore[arg-type]
    assert '"table"' in str(caught.value)


def test_environments_add_up_and_face_outward() -> None:
    box = setsu.Environment.box((1.0, 2.0, 3.0), (0.5, 0.0, 0.0))
    center = np.array([0.5, 0.0, 0.0])
    assert all(polygon.normal @ center < polygon.offset for polygon in box.polygons)
    assert len((box + setsu.Environment.floor()).polygons) == 7
    stairs = setsu.Environment.stairs(3, 0.02, 0.1)
    assert [p.normal.round(12).tolist() for p in stairs.polygons[:2]] == [[-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    with pytest.raises(setsu.InputError, match="expected a Polygon"):
        setsu.Environment([1])  # type: ignore[list-item]
