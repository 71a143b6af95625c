"""Well-known serial arms by their Denavit-Hartenberg tables, for counts of parameters and operations.

Geometry is that of the maker or of the textbook named below; lengths are rounded to 0.1 mm. Masses and inertias are
drawn once (seeded) and without symmetry, so that no minimum parameter vanishes by chance: these arms are for counting
and for trying methods, not for predicting a real arm's torques.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from setsu.mechanism import Mechanism, MechanismBuilder, Prismatic, Revolute
from setsu.spatial import modified_dh

__all__ = ["iiwa", "panda_arm", "rx90", "scara", "stanford_arm", "ur10"]

Gravity = tuple[float, float, float]

_DOWN: Gravity = (0.0, 0.0, -9.81)
_RIGHT = math.pi / 2
_SEED = 1


def scara(*, gravity: Gravity = _DOWN) -> Mechanism:
    """Return a SCARA arm: two parallel turns, a slide and a turn along them (the usual textbook geometry).

    >>> scara().nv
    4
    """
    return _arm("SCARA", [(0, 0, 0), (0, 0.3, 0), (0, 0.25, 0, "slide"), (0, 0, 0)], gravity)


def rx90(*, gravity: Gravity = _DOWN) -> Mechanism:
    """Return the Stäubli RX-90: elbow arm with a wrist whose axes meet, D3 = RL4 = 0.45 m.

    Source: W. Khalil, E. Dombre, "Modeling, Identification and Control of Robots", 2002, chapter 3; the axes turned as
    those of the PUMA 560, which changes signs of angles only.

    >>> rx90().nv
    6
    """
    rows = [(0, 0, 0), (-_RIGHT, 0, 0), (0, 0.45, 0), (_RIGHT, 0, 0.45), (-_RIGHT, 0, 0), (_RIGHT, 0, 0)]
    return _arm("RX-90", rows, gravity)


def stanford_arm(*, gravity: Gravity = _DOWN) -> Mechanism:
    """Return Scheinman's Stanford arm: two turns, a slide, a wrist whose axes meet.

    Source: R. Paul, "Robot Manipulators", 1981, chapter 2; the shoulder offset rounded to 0.15 m.

    >>> stanford_arm().nv
    6
    """
    rows = [(0, 0, 0), (-_RIGHT, 0, 0.15), (_RIGHT, 0, 0.4, "slide"), (0, 0, 0), (-_RIGHT, 0, 0), (_RIGHT, 0, 0)]
    return _arm("Stanford arm", rows, gravity)


def ur10(*, gravity: Gravity = _DOWN) -> Mechanism:
    """Return the Universal Robots UR10: three parallel axes in the middle.

    Source: Universal Robots, "DH parameters for calculations of kinematics and dynamics", UR10, in modified form.

    >>> ur10().nv
    6
    """
    rows = [(0, 0, 0.1273), (_RIGHT, 0, 0), (0, -0.612, 0), (0, -0.5723, 0.1639), (_RIGHT, 0, 0.1157),
            (-_RIGHT, 0, 0.0922)]  # fmt: skip
    return _arm("UR10", rows, gravity)


def panda_arm(*, gravity: Gravity = _DOWN) -> Mechanism:
    """Return the Franka Emika Panda without its hand.

    Source: Franka Emika, "Robot and interface specifications: Denavit-Hartenberg parameters" (modified form), the
    flange counted to the last link.

    >>> panda_arm().nv
    7
    """
    rows = [(0, 0, 0.333), (-_RIGHT, 0, 0), (_RIGHT, 0, 0.316), (_RIGHT, 0.0825, 0), (-_RIGHT, -0.0825, 0.384),
            (_RIGHT, 0, 0), (_RIGHT, 0.088, 0.107)]  # fmt: skip
    return _arm("Panda", rows, gravity)


def iiwa(*, gravity: Gravity = _DOWN) -> Mechanism:
    """Return the KUKA LBR iiwa 7 R800: seven axes, each across the one before.

    Source: KUKA, "LBR iiwa 7 R800 specification", main dimensions 340, 400, 400 and 126 mm.

    >>> iiwa().nv
    7
    """
    rows = [(0, 0, 0.34), (-_RIGHT, 0, 0), (_RIGHT, 0, 0.4), (_RIGHT, 0, 0), (-_RIGHT, 0, 0.4), (-_RIGHT, 0, 0),
            (_RIGHT, 0, 0.126)]  # fmt: skip
    return _arm("LBR iiwa", rows, gravity)


def _arm(name: str, rows: Sequence[tuple], gravity: Gravity) -> Mechanism:
    """Make an arm of modified Denavit-Hartenberg rows: alpha, a, d, and "slide" for a prismatic joint."""
    rng = np.random.default_rng(_SEED)
    builder = MechanismBuilder(name, gravity=gravity)
    parent = "world"
    for index, (alpha, a, d, *slide) in enumerate(rows, start=1):
        joint = (Prismatic if slide else Revolute)((0, 0, 1), f"joint{index}")
        builder.add_body(
            f"link{index}",
            parent,
            joint,
            placement=modified_dh(alpha, a, 0.0, d),
            mass=float(rng.uniform(0.5, 2.0)),
            center_of_mass=0.1 * rng.standard_normal(3),
            inertia=np.diag([0.05, 0.06, 0.07]),
        )
        parent = f"link{index}"
    return builder.build()
