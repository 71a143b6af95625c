"""Closed mechanisms that multibody programs are commonly compared on; q = 0 closes every one of them.

They follow problems of the IFToMM library of computational benchmarks, with gravity along -z: N four-bars in a row,
which pass through singular positions, Bricard's over-constrained linkage, and a slider-crank in space.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from setsu.elementary import length, matmul
from setsu.errors import InputError
from setsu.mechanism import Mechanism, MechanismBuilder, Prismatic, Revolute, Spherical, Universal
from setsu.spatial import placement

__all__ = ["bricard", "n_four_bar", "spatial_slider_crank"]


def n_four_bar(n: int = 2, *, length: float = 1.0, mass: float = 1.0) -> Mechanism:
    """Return n four-bar windows in a row: n + 1 cranks on the ground, n couplers between their ends (m, kg, thin rods).

    Joints crank0, coupler1, crank1 ... turn z towards x; loops pin1, pin2 ... tie each coupler to the next crank. At
    q = 0 the cranks stand upright. One degree of freedom, and n more where all rods lie on one line.

    >>> n_four_bar(3).nv
    7
    """
    if n < 1:
        raise InputError(f"n_four_bar n: expected at least 1, got {n}")
    axis, up, along = (0.0, 1.0, 0.0), (0.0, 0.0, length), (length, 0.0, 0.0)
    builder = MechanismBuilder(f"{n} four-bars in a row")
    for k in range(n + 1):
        _add_rod(builder, f"crank{k}", "world", Revolute(axis, f"crank{k}"), (k * length, 0.0, 0.0), up, mass)
        if k < n:
            coupler = f"coupler{k + 1}"
            _add_rod(builder, coupler, f"crank{k}", Revolute(axis, coupler), up, along, mass)
    for k in range(1, n + 1):
        builder.add_loop(f"pin{k}", f"coupler{k}", f"crank{k}", Revolute(axis), placement(along), placement(up))
    return builder.build()


def bricard(length: float = 1.0, mass: float = 1.0) -> Mechanism:
    """Return Bricard's linkage: five thin rods (m, kg) and the ground along six edges of a cube, six revolute joints.

    Each axis is normal to its two rods. Counting freedoms says it cannot move, but one of the five rows of loop "hinge"
    is redundant: one degree of freedom. Joints rod1 .. rod5; at q = 0 the rods lie on the cube's edges.

    >>> bricard().nv
    5
    """
    # Corners and axes along the way round the cube, each axis normal to the edges that meet there.
    corners = [(0, 0, 0), (1, 0, 0), (1, 0, -1), (1, -1, -1), (0, -1, -1), (0, -1, 0)]
    edges = [length * (np.array(end) - start) for start, end in pairwise(corners)]
    axes = [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)]
    builder = MechanismBuilder("Bricard linkage")
    parent, offset = "world", np.zeros(3)
    for k, edge in enumerate(edges, start=1):
        _add_rod(builder, f"rod{k}", parent, Revolute(axes[k - 1], f"rod{k}"), offset, edge, mass)
        parent, offset = f"rod{k}", edge
    corner = placement(length * np.array(corners[-1], dtype=np.float64))
    builder.add_loop("hinge", parent, "world", Revolute(axes[-1]), placement(offset), corner)
    return builder.build()


def spatial_slider_crank() -> Mechanism:
    """Return a slider-crank in space: crank of 0.08 m about x, rod of 0.3 m, slider along x: one degree of freedom.

    The crank turns about a line 0.1 m beside and 0.12 m above the slider's; a ball joint ties the rod to it, loop
    "cross", a universal joint, ties the slider to the rod. At q = 0 the crank stands upright and the slider is 0.2 m
    from the crank's plane.

    >>> spatial_slider_crank().joint_names
    ('crank', 'rod', 'slider')
    """
    crank_end, slider = np.array([0.0, 0.0, 0.08]), np.array([0.2, 0.0, 0.0])
    rod = slider - (np.array([0.0, 0.1, 0.12]) + crank_end)
    direction = rod / length(rod)
    builder = MechanismBuilder("spatial slider-crank")
    builder.add_body(
        "crank",
        joint=Revolute((1, 0, 0), "crank"),
        placement=placement((0, 0.1, 0.12)),
        mass=0.12,
        center_of_mass=0.5 * crank_end,
        inertia=np.diag([1e-4, 1e-4, 1e-5]),
    )
    along = np.outer(direction, direction)
    builder.add_body(
        "rod",
        "crank",
        Spherical(name="rod"),
        placement=placement(crank_end),
        mass=0.5,
        center_of_mass=0.5 * rod,
        inertia=4e-3 * (np.eye(3) - along) + 4e-4 * along,
    )
    builder.add_body(
        "slider", joint=Prismatic((1, 0, 0), "slider"), placement=placement(slider), mass=2.0, inertia=1e-4 * np.eye(3)
    )
    across = np.cross((0.0, 0.0, 1.0), direction)
    builder.add_loop(
        "cross", "slider", "rod", Universal((0, 0, 1), second_axis=across.tolist()), placement_b=placement(rod)
    )
    return builder.build()


def _add_rod(
    builder: MechanismBuilder, name: str, parent: str, joint: Revolute, start: ArrayLike, span: ArrayLike, mass: float
) -> None:
    """Add a thin rod along `span` (m) whose frame is parallel to its parent's at q = 0."""
    line = np.asarray(span, dtype=np.float64)
    inertia = mass / 12.0 * (float(matmul(line, line)) * np.eye(3) - np.outer(line, line))
    builder.add_body(name, parent, joint, placement(start), mass, 0.5 * line, inertia)
