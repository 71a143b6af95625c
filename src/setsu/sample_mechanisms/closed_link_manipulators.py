"""The closed-link manipulators of kawasaki1995, with named lengths, in its modified Denavit-Hartenberg frames.

Bodies are called link1, link2, ..., link2p for the paper's 2'. Masses and inertias are made up (the paper keeps them as
letters), different for every link, so that nothing cancels by chance.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from setsu.errors import InputError
from setsu.mechanism import Mechanism, MechanismBuilder, Revolute
from setsu.named_numbers import NamedNumber, symbol
from setsu.spatial import modified_dh, placement

__all__ = ["six_joint_parallelogram_arm", "two_joint_parallelogram"]

_RIGHT = math.pi / 2
_Z = (0.0, 0.0, 1.0)


def two_joint_parallelogram(
    a2: float = 0.5, a2p: float = 0.3, *, vertical: bool = False, named: bool = True
) -> Mechanism:
    """Return example 1 (Fig. 2): links 1 and 1' on one axis, links 2 and 2' pinned together; lengths in m.

    Link 1 carries link 2 at distance a2; link 1' carries link 2' at distance a2'. The pin 3' ties the point
    (a2, 0, 0) of link 2' to the point (-a2', 0, 0) of link 2: a parallelogram. Driven: joints 1 and 1'.
    vertical: gravity in the plane of motion instead of normal to it. named: keep a2 and a2p as names.

    >>> two_joint_parallelogram().body_names
    ('link1', 'link2', 'link1p', 'link2p')
    """
    _positive("two_joint_parallelogram", a2=a2, a2p=a2p)
    a, b = (_named(name, value, named) for name, value in (("a2", a2), ("a2p", a2p)))
    builder = MechanismBuilder("two-joint parallelogram", gravity=(0.0, -9.81, 0.0) if vertical else (0.0, 0.0, -9.81))
    _add(builder, "1", "world", modified_dh(0.0, 0.0, 0.0, 0.0))
    _add(builder, "2", "link1", modified_dh(0.0, a, 0.0, 0.0))
    _add(builder, "1p", "world", modified_dh(0.0, 0.0, 0.0, 0.0))
    _add(builder, "2p", "link1p", modified_dh(0.0, b, 0.0, 0.0))
    builder.add_loop("joint3p", "link2p", "link2", Revolute(_Z), placement((a, 0, 0)), placement((-b, 0, 0)))
    return builder.build()


def six_joint_parallelogram_arm(
    a2: float = 0.15,
    a3: float = 0.7,
    a3p: float = 0.4,
    a4: float = 0.1,
    r4: float = 0.6,
    *,
    named: bool = True,
    cut: str = "4p",
    gravity: ArrayLike = (0.0, 0.0, -9.81),
) -> Mechanism:
    """Return example 3 (Fig. 6): a six-joint arm whose joint 3 is driven through a parallelogram; lengths in m.

    Rows (antecedent, alpha, d, r): 1 (0, 0, 0, 0), 2 (1, -90°, a2, 0), 3 (2, 0, a3, 0), 4 (3, -90°, a4, r4),
    5 (4, 90°, 0, 0), 6 (5, -90°, 0, 0), 2' (1, -90°, a2, 0), 3' (2', 0, a3', 0); the pin 4' at (a3, 0, 0) on link 3'
    and (-a3', 0, 0) on link 3. Driven: 1, 2, 2', 4, 5, 6. It closes as θ2' = θ2 + θ3 + π, θ3' = -θ3 - π.

    named: keep the lengths that are not zero as names. cut: which joint of the loop is cut, "4p" or "3p"; cut at 3',
    link 3' hangs on link 3 and its frame sits at the pin 4'.

    >>> six_joint_parallelogram_arm().n_bodies
    8
    """
    _positive("six_joint_parallelogram_arm", a3=a3, a3p=a3p)
    if cut not in ("4p", "3p"):
        raise InputError(f'six_joint_parallelogram_arm cut: expected "4p" or "3p", got {cut!r}')
    lengths = {"a2": a2, "a3": a3, "a3p": a3p, "a4": a4, "r4": r4}
    A2, A3, A3p, A4, R4 = (_named(name, value, named) for name, value in lengths.items())
    builder = MechanismBuilder("six-joint parallelogram arm", gravity=gravity)
    _add(builder, "1", "world", modified_dh(0.0, 0.0, 0.0, 0.0))
    _add(builder, "2", "link1", modified_dh(-_RIGHT, A2, 0.0, 0.0))
    _add(builder, "3", "link2", modified_dh(0.0, A3, 0.0, 0.0))
    _add(builder, "4", "link3", modified_dh(-_RIGHT, A4, 0.0, R4))
    _add(builder, "5", "link4", modified_dh(_RIGHT, 0.0, 0.0, 0.0))
    _add(builder, "6", "link5", modified_dh(-_RIGHT, 0.0, 0.0, 0.0))
    _add(builder, "2p", "link1", modified_dh(-_RIGHT, A2, 0.0, 0.0))
    if cut == "4p":
        _add(builder, "3p", "link2p", modified_dh(0.0, A3p, 0.0, 0.0))
        builder.add_loop("joint4p", "link3p", "link3", Revolute(_Z), placement((A3, 0, 0)), placement((-A3p, 0, 0)))
    else:
        _add(builder, "3p", "link3", placement((-A3p, 0, 0)))
        builder.add_loop("pin3p", "link2p", "link3p", Revolute(_Z), placement((A3p, 0, 0)), placement((-A3, 0, 0)))
    return builder.build()


def _positive(function: str, **lengths: float) -> None:
    for name, value in lengths.items():
        if not value > 0.0:
            raise InputError(f"{function} {name}: expected a length above 0 m, got {value}")


def _named(name: str, value: float, named: bool) -> float:
    """The length as a name; zero stays zero, and what has a name already keeps it."""
    return symbol(name, value) if named and value != 0.0 and not isinstance(value, NamedNumber) else value


def _add(builder: MechanismBuilder, number: str, parent: str, where: ArrayLike) -> None:
    seed = sum(map(ord, number))
    center = (0.2, 0.01 * (seed % 7), 0.015 * (seed % 5))
    moments = (0.02 + 0.001 * (seed % 3), 0.05, 0.055)
    builder.add_body(
        f"link{number}",
        parent,
        Revolute(_Z, f"joint{number}"),
        where,
        mass=1.0 + 0.1 * (seed % 11),
        center_of_mass=center,
        inertia=np.diag(moments),
    )
