"""What a mechanism exerts on its surroundings: forces at tips, and objects held by one or two hands.

| symbol | meaning | unit |
|---|---|---|
| p1, p2, l, u | grip points, their distance, direction from the first to the second | m, m, - |
| m, c, I | mass of the object, place of its centroid between the grips, inertia across the line | kg, -, kg m² |
| r, f_g | share of the first hand along the line, force with which both squeeze | -, N |

    W = m ((1 - c) p1'' + c p2'' - g)                          what moves the object                  (1)
    along u:   F1 = r W + f_g u,   F2 = (1 - r) W - f_g u      isobe2003's shares                     (2)
    across u:  F1 = (1 - c) W - I (p2 - p1)''/l²,  F2 = c W + I (p2 - p1)''/l²   moments about the centroid    (3)
    one hand:  F1 = m (p1'' - g)                                                                      (4)

The forces go into P as they are, without a Jacobian. Grips hold like ball joints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.errors import InputError
from setsu.mechanism import Mechanism
from setsu.mechanism.checks import finite_number
from setsu.spatial import finite_vector

__all__ = ["HeldObject", "LinkPoint", "TipForce", "exert", "held_forces", "link_point"]

Floats = NDArray[np.float64]
Accelerations = Callable[["LinkPoint"], Floats]

# A held object is rigid: its grips may not move apart by more than this share of their distance.
_RIGID = 1e-6


@dataclass(frozen=True)
class TipForce:
    """A force that the mechanism exerts on its surroundings at a point of a body.

    point: in the body's frame, m. force: world axes, N, (3,) or (T, 3).
    """

    point: ArrayLike
    force: ArrayLike


@dataclass(frozen=True)
class HeldObject:
    """An object in one hand, or between two hands that squeeze it.

    Args:
        mass: kg.
        grips: one or two pairs (body, point in its frame, m).
        inertia: about the centroid, across the line between two grips, kg m².
        center: where the centroid is on the way from the first grip (0) to the second (1).
        share: part r of the weight and inertia force along that line that the first hand takes.
        grip_force: what each hand presses towards the other, N, a number or (T,); negative pulls.
        during: times (s) from, and up to but without, which it is held; for ever by default.

    >>> HeldObject(0.2, [("link2", (0.3, 0, 0)), ("link4", (0.3, 0, 0))], grip_force=0.5).share
    0.5
    """

    mass: float
    grips: Sequence[tuple[str, ArrayLike]]
    inertia: float = 0.0
    center: float = 0.5
    share: float = 0.5
    grip_force: ArrayLike = 0.0
    during: tuple[float, float] = (-np.inf, np.inf)

    def __post_init__(self) -> None:
        finite_number(self.mass, "HeldObject mass", minimum=0.0)
        finite_number(self.inertia, "HeldObject inertia", minimum=0.0)
        for key in ("center", "share"):
            finite_number(getattr(self, key), f"HeldObject {key}")
        if len(self.grips) not in (1, 2):
            raise InputError(f"HeldObject grips: expected one or two pairs (body, point), got {len(self.grips)}")
        start, end = self.during
        if not start < end:
            raise InputError(f"HeldObject during: expected a start before the end, got {self.during!r}")


@dataclass(frozen=True)
class LinkPoint:
    """A point fixed on a moving link: its index, and its place there (3,), m."""

    body: int
    local: Floats


def link_point(m: Mechanism, body: str, point: ArrayLike, what: str) -> LinkPoint:
    """Return the point of a declared body as one of the moving link that carries it."""
    frame = m.frame(body)
    if frame.body < 0:
        raise InputError(f'nodal_inverse_dynamics: {what} on "{body}", which does not move')
    place = finite_vector(point, 3, f'{what} on "{body}": point')
    return LinkPoint(frame.body, frame.pose.matrix[:3, :3] @ place + np.array(frame.pose.translation))


def exert(point: LinkPoint, push: Floats, poses: Floats, force: Floats, moment: Floats) -> None:
    """Add a force (3,) or (T, 3) to what the link of a point has to carry, (T, n, 3) each."""
    force[:, point.body] += push
    moment[:, point.body] += np.cross(poses[:, point.body, :3, :3] @ point.local, push)


def held_forces(
    m: Mechanism, thing: HeldObject, time: Floats, poses: Floats, second: Accelerations
) -> list[tuple[LinkPoint, Floats]]:
    """Forces (T, 3) of each hand on the object, zero while it is not held (1)-(4)."""
    held = (time >= thing.during[0]) & (time < thing.during[1])
    points = [link_point(m, body, place, "held object") for body, place in thing.grips]
    gravity = np.array(m.gravity)
    if len(points) == 1:
        return [(points[0], held[:, None] * thing.mass * (second(points[0]) - gravity))]
    squeeze = np.asarray(thing.grip_force, dtype=np.float64)
    if squeeze.shape not in ((), (len(time),)) or not np.isfinite(squeeze).all():
        raise InputError(
            f"nodal_inverse_dynamics: held object: grip_force: expected a finite number or {len(time)} of them, "
            f"got shape {squeeze.shape}"
        )
    apart = position(points[1], poses) - position(points[0], poses)
    u, length = _line(apart, held, thing)
    first, last = (second(point) for point in points)
    W = thing.mass * ((1.0 - thing.center) * first + thing.center * last - gravity)
    along = np.sum(W * u, axis=1)[:, None] * u
    across, bend = W - along, last - first
    bend = (thing.inertia / length**2)[:, None] * (bend - np.sum(bend * u, axis=1)[:, None] * u)
    grip = (squeeze * np.ones(len(time)))[:, None] * u
    F1 = thing.share * along + grip + (1.0 - thing.center) * across - bend
    F2 = (1.0 - thing.share) * along - grip + thing.center * across + bend
    return [(points[0], held[:, None] * F1), (points[1], held[:, None] * F2)]


def position(point: LinkPoint, poses: Floats) -> Floats:
    """Positions (T, 3) of a point, m."""
    return poses[:, point.body, :3, :3] @ point.local + poses[:, point.body, :3, 3]


def _line(apart: Floats, held: NDArray[np.bool_], thing: HeldObject) -> tuple[Floats, Floats]:
    """Direction and distance between the grips; refuses grips that do not hold one rigid object."""
    length = np.linalg.norm(apart, axis=1)
    if held.any():
        names = " and ".join(f'"{body}"' for body, _ in thing.grips)
        least, most = float(length[held].min()), float(length[held].max())
        if least <= 0.0 or most - least > _RIGID * most:
            raise InputError(
                f"nodal_inverse_dynamics: held object: expected grips on {names} that keep their distance, "
                f"got {least:.6g} to {most:.6g} m"
            )
    safe = np.where(length > 0.0, length, 1.0)
    return apart / safe[:, None], safe
