"""Mechanisms changed by `dataclasses.replace` are checked as those of the builder are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import setsu


def mechanism() -> setsu.Mechanism:
    """Two links with a spring, a coupling, a contact point and a site."""
    b = setsu.MechanismBuilder("pair")
    for name, parent, joint in (("first", "world", "j"), ("second", "first", "k")):
        b.add_body(
            name, parent, setsu.Revolute((0, 0, 1), joint), mass=1.0, center_of_mass=(1, 0, 0), inertia=np.eye(3)
        )
    b.add_spring("spring", "first", (0, 0, 0), "world", (0, 0, 1), 10.0, 1.0)
    b.add_coupling("gear", {"j": 1.0, "k": -2.0})
    b.add_contact_points("second", [(0, 0, 0)])
    b.add_site("tip", "second")
    return b.build()


NONSENSE: list[tuple[str, dict[str, Any]]] = [
    *(("bodies", {key: value}) for key, value in (
        ("mass", -1.0), ("mass", np.nan), ("center_of_mass", (1.0, np.nan, 0.0)), ("inertia", (1.0, 1.0, 1.0)),
        ("gravity_compensation", np.inf), ("parent", "nobody"), ("name", "second"), ("pose", 2.0 * np.eye(4)),
    )),
    *(("springs", {key: value}) for key, value in (
        ("stiffness", -1.0), ("rest_length", np.nan), ("damping", -1.0), ("body_a", "nobody"), ("point_a", (1.0, 2.0)),
    )),
    *(("couplings", {key: value}) for key, value in (
        ("factors", (("j", np.nan),)), ("factors", (("nobody", 1.0),)), ("offset", np.inf),
    )),
    *(("contact_points", {key: value}) for key, value in (
        ("radius", -1.0), ("body", "nobody"), ("position", (np.nan, 0.0, 0.0)),
    )),
    ("sites", {"body": "nobody"}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "change"), NONSENSE, ids=lambda part: part if isinstance(part, str) else str(part))
def test_what_the_builder_refuses_is_refused(kind: str, change: dict[str, Any]) -> None:
    m = mechanism()
    elements = getattr(m, kind)
    with pytest.raises(setsu.InputError):
        replace(m, **{kind: (replace(elements[0], **change), *elements[1:])})


def test_gravity_is_three_numbers() -> None:
    for gravity in ((0.0, 0.0), (0.0, 0.0, np.nan)):
        with pytest.raises(setsu.InputError, match="gravity"):
            replace(mechanism(), gravity=gravity)


def test_a_pose_is_a_rotation_and_a_shape_takes_a_placement() -> None:
    for rotation in ((2.0, 0, 0, 0, 1, 0, 0, 0, 1), (1.0, 0, 0, 0, 1, 0, 0, 0, -1), (1.0, 0, 0), (np.nan,) * 9):
        with pytest.raises(setsu.InputError, match="rotation"):
            setsu.Pose(rotation)
    placed = setsu.placement((1.0, 2.0, 3.0), rpy=(0.1, 0.2, 0.3))
    assert np.array_equal(setsu.Shape("sphere", (0.1,), pose=placed).pose.matrix, placed)
    with pytest.raises(setsu.InputError, match="Shape sphere pose"):
        setsu.Shape("sphere", (0.1,), pose=np.eye(3))
