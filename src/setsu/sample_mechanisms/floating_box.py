"""A box that moves freely and may touch the ground with its corners."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from setsu.mechanism import Free, Material, Mechanism, MechanismBuilder, Shape
from setsu.sample_mechanisms.solid_inertias import box_inertia
from setsu.spatial import finite_vector

__all__ = ["floating_box"]


def floating_box(
    size: Sequence[float] = (0.4, 0.3, 0.2), mass: float = 6.0, material: Material | None = None
) -> Mechanism:
    """Return a uniform box (edges in m, mass in kg) on a free joint, with its eight corners as contact points.

    >>> floating_box().nq
    7
    """
    x, y, z = finite_vector(size, 3, "floating_box size").tolist()
    shape = Shape("box", (x, y, z))
    corners = list(itertools.product((-0.5 * x, 0.5 * x), (-0.5 * y, 0.5 * y), (-0.5 * z, 0.5 * z)))
    builder = MechanismBuilder("floating box")
    builder.add_body(
        "box",
        joint=Free(name="free"),
        mass=mass,
        inertia=box_inertia(mass, x, y, z),
        visuals=[shape],
        collisions=[shape],
    )
    return builder.add_contact_points("box", corners, material).build()
