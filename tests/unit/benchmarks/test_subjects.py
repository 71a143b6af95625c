"""Every engine gets the same file: shapes and friction out, structure and inertias kept."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from setsu.benchmarks.subjects import ROBOTS, chain, robot, tree


@pytest.mark.parametrize("name", ROBOTS)
def test_robots_are_reduced_to_their_dynamics(name: str) -> None:
    subject = robot(name)
    assert subject is not None
    root = ElementTree.fromstring(subject.urdf)
    tags = {element.tag for element in root.iter()}
    assert tags <= {
        "robot",
        "link",
        "joint",
        "inertial",
        "inertia",
        "mass",
        "origin",
        "parent",
        "child",
        "axis",
        "limit",
    }
    assert all(joint.get("type") in ("revolute", "prismatic", "fixed") for joint in root.findall("joint"))


@pytest.mark.parametrize(("make", "parent_of_last"), [(chain, "link5"), (tree, "link2")])
def test_series_have_the_promised_shape(make, parent_of_last: str) -> None:
    root = ElementTree.fromstring(make(7).urdf)
    joints = root.findall("joint")
    assert len(joints) == 7
    last = joints[-1].find("parent")
    assert last is not None
    assert last.get("link") == parent_of_last
