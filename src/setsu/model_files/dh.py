"""Serial arms from Denavit-Hartenberg tables, modified (Craig, Khalil) and classic."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.elementary import matmul
from setsu.errors import InputError
from setsu.mechanism.builder import MechanismBuilder
from setsu.mechanism.elements import Pose
from setsu.mechanism.inertia import symmetric_inertia
from setsu.mechanism.joints import Fixed, Joint, Prismatic, Revolute
from setsu.mechanism.record import Mechanism
from setsu.named_numbers import named
from setsu.spatial import classic_dh, finite_vector, modified_dh

__all__ = ["DHRow", "from_dh"]

JOINTS: dict[str, type[Joint]] = {"revolute": Revolute, "prismatic": Prismatic, "fixed": Fixed}


@dataclass(frozen=True)
class DHRow:
    """One row of a Denavit-Hartenberg table with the link it moves.

    Args:
        a: distance along x (m). alpha: twist about x (rad).
        d: offset along z (m). theta: angle about z (rad).
            The joint coordinate adds to theta (revolute) or to d (prismatic).
        joint: "revolute", "prismatic", "fixed", or a joint about z such as Revolute(damping=0.1).
        name: name of the link; "link1", "link2", ... when empty.
        mass: kg. center_of_mass: m, in the row's frame. inertia: about the center of mass, axes of the row's frame,
            kg m², (3, 3); None is a point mass.
    """

    a: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    joint: str | Joint = "revolute"
    name: str = ""
    mass: float = 0.0
    center_of_mass: ArrayLike = (0.0, 0.0, 0.0)
    inertia: ArrayLike | None = None


def from_dh(
    rows: Sequence[DHRow | Sequence[float]],
    convention: str = "modified",
    *,
    name: str = "arm",
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    base: ArrayLike | None = None,
    tool: ArrayLike | None = None,
) -> Mechanism:
    """Return the serial arm of a Denavit-Hartenberg table.

    Args:
        rows: one DHRow per joint, or four numbers for a massless revolute link in the order of the placement
            functions: alpha, a, theta, d ("modified") or theta, d, a, alpha ("classic").
        convention: "modified": frame i is Rx(alpha) Tx(a) Rz(theta) Tz(d) from frame i-1 and joint i turns about z of
            frame i. "classic": Rz(theta) Tz(d) Tx(a) Rx(alpha), and joint i turns about z of frame i-1.
        name: name of the mechanism.
        gravity: m/s², (3,).
        base: placement of frame 0 in the world, 4x4.
        tool: placement of a frame "tool" in the last row's frame, 4x4.

    In the classic convention a joint axis does not pass through the origin of its link's frame: the body is then
    placed on the axis (Rz(theta) Tz(d) from the frame before), and the row's own frame is the frame f"{name}_frame".
    Mass, center of mass and inertia are given in the row's frame in either convention.

    >>> two_link = from_dh([DHRow(mass=1.0, center_of_mass=(0.5, 0, 0)), DHRow(a=1.0, mass=1.0)])
    >>> two_link.body_names
    ('link1', 'link2')
    """
    if convention not in ("modified", "classic"):
        raise InputError(f'from_dh convention: expected "modified" or "classic", got {convention!r}')
    try:
        table = list(rows)
    except TypeError:
        raise InputError(f"from_dh rows: expected a list of DHRow or of four numbers each, got {rows!r}") from None
    if not table:
        raise InputError("from_dh rows: expected at least one row, got none")
    builder = MechanismBuilder(name, gravity)
    parent, before = "world", _matrix(base, "from_dh base")
    for index, given in enumerate(table, start=1):
        row = _row(given, index, convention)
        joint = _joint(row, index)
        if convention == "modified":
            on_axis, to_frame = modified_dh(row.alpha, row.a, row.theta, row.d), np.eye(4)
        else:
            on_axis, to_frame = classic_dh(row.theta, row.d, 0.0, 0.0), classic_dh(0.0, 0.0, row.a, row.alpha)
        center = finite_vector(row.center_of_mass, 3, f"from_dh row {index} center_of_mass")
        inertia = symmetric_inertia(row.inertia, f"from_dh row {index} inertia")
        R = to_frame[:3, :3]
        builder.add_body(
            row.name,
            parent,
            joint,
            matmul(before, on_axis),
            row.mass,
            matmul(R, center) + to_frame[:3, 3],
            matmul(R, inertia, R.T),
        )
        if convention == "classic":
            builder.add_body(f"{row.name}_frame", row.name, Fixed(), to_frame)
        parent, before = row.name, to_frame
    if tool is not None:
        builder.add_body("tool", parent, Fixed(), matmul(before, _matrix(tool, "from_dh tool")))
    return builder.build()


def _row(given: DHRow | Sequence[float], index: int, convention: str) -> DHRow:
    """Turn four numbers into a row, check the numbers, and give the link a name."""
    if not isinstance(given, DHRow):
        numbers = finite_vector(given, 4, f"from_dh row {index}").tolist()
        first, second, third, fourth = (named(x, y) for x, y in zip(numbers, given, strict=True))
        if convention == "modified":
            given = DHRow(alpha=first, a=second, theta=third, d=fourth)
        else:
            given = DHRow(theta=first, d=second, a=third, alpha=fourth)
    finite_vector((given.a, given.alpha, given.d, given.theta), 4, f"from_dh row {index} a, alpha, d, theta")
    return given if given.name else dataclasses.replace(given, name=f"link{index}")


def _joint(row: DHRow, index: int) -> Joint:
    """Return the joint of a row, named "joint1", "joint2", ... when it has no name."""
    if isinstance(row.joint, str) and row.joint in JOINTS:
        return JOINTS[row.joint](name=f"joint{index}")
    if isinstance(row.joint, tuple(JOINTS.values())) and row.joint.axis == (0.0, 0.0, 1.0):
        return row.joint if row.joint.name else dataclasses.replace(row.joint, name=f"joint{index}")
    expected = 'expected "revolute", "prismatic", "fixed" or such a joint about z'
    raise InputError(f"from_dh row {index} joint: {expected}, got {row.joint!r}")


def _matrix(value: ArrayLike | None, what: str) -> NDArray[np.float64]:
    return Pose.of(value, what).matrix
