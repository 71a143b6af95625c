"""The leg of Theo Jansen's beach animals: a crank turns, the foot walks."""

from __future__ import annotations

import numpy as np

from setsu.mechanism import Mechanism, MechanismBuilder, Revolute
from setsu.sample_mechanisms.joined_rods import joined_rods
from setsu.sample_mechanisms.planar_geometry import Point, meeting_point
from setsu.spatial import placement

__all__ = ["jansen_leg"]

# Theo Jansen's "holy numbers": the lengths of the bars, in his letters. a and l place the fixed pivot: a behind and l
# below the crank's axis.
_BARS = {"a": 38.0, "b": 41.5, "c": 39.3, "d": 40.1, "e": 55.8, "f": 39.4, "g": 36.7, "h": 65.7, "i": 49.0, "j": 50.0,
         "k": 61.9, "l": 7.8, "m": 15.0}  # fmt: skip
_AXIS = (0.0, -1.0, 0.0)
_MASS_PER_LENGTH = 0.5


def jansen_leg(unit: float = 0.01) -> Mechanism:
    """Return a leg of thin rods (0.5 kg/m) in the x-z plane, his bar lengths times `unit` (m): one degree of freedom.

    The crank turns about the origin, x towards z, and points along x at q = 0; every frame is then parallel to the
    world's. Bodies crank (m), top_rod (j), bottom_rod (k), shoulder (triangle b, d, e), thigh (c), link (f), shin
    (triangle g, h, i) and frame foot; loops top_pin, knee_pin, ankle_pin.

    >>> jansen_leg().joint_names
    ('crank', 'top_rod', 'bottom_rod', 'shoulder', 'link', 'thigh', 'shin')
    """
    bar = {letter: unit * length for letter, length in _BARS.items()}
    what = "jansen_leg"
    axle: Point = (0.0, 0.0)
    pivot: Point = (-bar["a"], -bar["l"])
    crank: Point = (bar["m"], 0.0)
    top = meeting_point(pivot, bar["b"], crank, bar["j"], what)
    back = meeting_point(pivot, bar["d"], top, bar["e"], what)
    knee = meeting_point(crank, bar["k"], pivot, bar["c"], what)
    ankle = meeting_point(knee, bar["g"], back, bar["f"], what)
    foot = meeting_point(knee, bar["i"], ankle, bar["h"], what)

    builder = MechanismBuilder("Theo Jansen leg")
    _add(builder, "crank", "world", axle, axle, [(axle, crank)])
    _add(builder, "top_rod", "crank", axle, crank, [(crank, top)])
    _add(builder, "bottom_rod", "crank", axle, crank, [(crank, knee)])
    _add(builder, "shoulder", "world", axle, pivot, [(pivot, top), (pivot, back), (top, back)])
    _add(builder, "link", "shoulder", pivot, back, [(back, ankle)])
    _add(builder, "thigh", "world", axle, pivot, [(pivot, knee)])
    _add(builder, "shin", "thigh", pivot, knee, [(knee, ankle), (ankle, foot), (knee, foot)])
    builder.add_body("foot", "shin", placement=placement(_offset(knee, foot)))
    for name, point, body_a, origin_a, body_b, origin_b in (
        ("top_pin", top, "top_rod", crank, "shoulder", pivot),
        ("knee_pin", knee, "bottom_rod", crank, "thigh", pivot),
        ("ankle_pin", ankle, "link", back, "shin", knee),
    ):
        place_a, place_b = placement(_offset(origin_a, point)), placement(_offset(origin_b, point))
        builder.add_loop(name, body_a, body_b, Revolute(_AXIS), place_a, place_b)
    return builder.build()


def _add(
    builder: MechanismBuilder,
    name: str,
    parent: str,
    parent_origin: Point,
    origin: Point,
    bars: list[tuple[Point, Point]],
) -> None:
    """Add a body made of bars (x, z in the world at q = 0) that turns about its origin."""
    segments = [(_offset(origin, start), _offset(origin, end)) for start, end in bars]
    properties = joined_rods(segments, _MASS_PER_LENGTH)
    builder.add_body(
        name, parent, Revolute(_AXIS, name), placement(_offset(parent_origin, origin)), *properties
    )  # fmt: skip


def _offset(origin: Point, point: Point) -> np.ndarray:
    return np.array([point[0] - origin[0], 0.0, point[1] - origin[1]])
