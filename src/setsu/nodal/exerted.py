"""What a mechanism exerts on its surroundings: forces and moments at tips, and objects held by any number of hands.

| symbol | meaning | unit |
|---|---|---|
| p_i, F_i, M_i | grip points, force and moment of each hand on the object | m, N, N m |
| m, c, I | mass of the object, place of its centroid, inertia about it | kg, m, kg m² |
| W, H | what moves the object: m (c'' - g), I α + ω x I ω | N, N m |
| s_i, f_g | share of each hand, force with which all squeeze | -, N |

    one hand:   F = W, M = H, at the centroid, which moves with the hand                              (1)
    squeeze:    f_g (p̄ - p_i) / mean |p̄ - p_j|, which adds up to no force and no moment               (2)
    two hands, u the line between them, l its length:
      along u:  F1 = s W + f_g u,   F2 = (1 - s) W - f_g u          isobe2003's shares                (3)
      across u: F1 = (1 - c) W - I (p2 - p1)''/l²,  F2 = c W + I (p2 - p1)''/l²   moments about the centroid    (4)
    more hands: F_i = s_i (λ + μ x (p_i - c)) with Σ F_i = W, Σ (p_i - c) x F_i = H                   (5)
    with moments: F_i = s_i W,  M_i = s_i H - (p_i - c) x F_i                                         (6)

(5) has the least Σ |F_i|²/s_i. The forces go into P as they are, without a Jacobian. Without moments grips hold like
ball joints. Rates of an object between three or more hands are those that fit the points of all hands best.
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

__all__ = [
    "Exertion",
    "Grasp",
    "HeldObject",
    "LinkPoint",
    "PointMotion",
    "TipForce",
    "cross",
    "grasp",
    "held_forces",
    "link_point",
    "turn",
]

Floats = NDArray[np.float64]

# A held object is rigid: its grips may not move apart by more than this share of their distance.
_RIGID = 1e-6


@dataclass(frozen=True)
class TipForce:
    """A force, and a moment, that the mechanism exerts on its surroundings at a point of a body.

    point: in the body's frame, m. force: world axes, N, (3,) or (T, 3). moment: world axes, N m, likewise.
    """

    point: ArrayLike
    force: ArrayLike
    moment: ArrayLike = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class HeldObject:
    """An object in one hand, or between two or more that squeeze it.

    Args:
        mass: kg.
        grips: pairs (body, point in its frame, m).
        inertia: about the centroid, kg m²: a number (the same about every axis; across the line between two grips), or
            (3, 3) in the axes of the first gripping body at the first sample at which the object is held.
        center: of mass. Two grips: a number, the place on the way from the first (0) to the second (1). Else (3,), from
            the first grip, m, in the axes of the first gripping body when the object is first held; by default the
            grip of one hand, the middle of the grips of several.
        share: part of the load that the first of two hands takes along the line, or one number for each hand.
        grip_force: what the hands press towards each other, N, a number or (T,); negative pulls.
        during: times (s) from, and up to but without, which it is held; always by default.
        moments: whether hands of several exert moments too: each then carries its share of the whole load.

    >>> HeldObject(0.2, [("link2", (0.3, 0, 0)), ("link4", (0.3, 0, 0))], grip_force=0.5).share
    0.5
    """

    mass: float
    grips: Sequence[tuple[str, ArrayLike]]
    inertia: ArrayLike = 0.0
    center: ArrayLike | None = None
    share: float | Sequence[float] = 0.5
    grip_force: ArrayLike = 0.0
    during: tuple[float, float] = (-np.inf, np.inf)
    moments: bool = False

    def __post_init__(self) -> None:
        finite_number(self.mass, "HeldObject mass", minimum=0.0)
        if len(self.grips) < 1:
            raise InputError("HeldObject grips: expected at least one pair (body, point), got none")
        inertia = np.asarray(self.inertia, dtype=np.float64)
        if inertia.shape not in ((), (3, 3)) or not np.isfinite(inertia).all():
            raise InputError(f"HeldObject inertia: expected a finite number or (3, 3), got shape {inertia.shape}")
        if inertia.ndim == 0:
            finite_number(float(inertia), "HeldObject inertia", minimum=0.0)
        elif (
            np.abs(inertia - inertia.T).max() > 1e-9 * np.abs(inertia).max() or np.linalg.eigvalsh(inertia)[0] < -1e-12
        ):
            raise InputError("HeldObject inertia: expected a symmetric matrix without negative moments")
        if inertia.ndim and len(self.grips) == 2 and not self.moments:
            raise InputError(
                "HeldObject inertia: two grips without moments leave the turn about their line open; expected a "
                "number, the moment across the line, or moments=True"
            )
        self.checked_center()
        self.shares()
        start, end = self.during
        if not start < end:
            raise InputError(f"HeldObject during: expected a start before the end, got {self.during!r}")

    def checked_center(self) -> float | Floats | None:
        """The centroid: a number on the line of two grips, a vector from the first grip, or None for the default."""
        if self.center is None:
            return 0.5 if len(self.grips) == 2 else None
        if len(self.grips) == 2 and np.ndim(self.center) == 0:
            return finite_number(float(np.asarray(self.center)), "HeldObject center")
        return finite_vector(self.center, 3, "HeldObject center")

    def shares(self) -> Floats:
        """Shares of the hands, which add up to 1."""
        count = len(self.grips)
        if np.ndim(self.share) == 0:
            first = finite_number(float(np.asarray(self.share)), "HeldObject share")
            return np.array([first, 1.0 - first]) if count == 2 else np.full(count, 1.0 / count)
        shares = np.array(self.share, dtype=np.float64)
        if shares.shape != (count,) or not (shares > 0.0).all() or abs(shares.sum() - 1.0) > 1e-9:
            raise InputError(
                f"HeldObject share: expected {count} positive numbers that add up to 1, got {self.share!r}"
            )
        return shares


@dataclass(frozen=True)
class LinkPoint:
    """A point fixed on a moving link: its index, and its place there (3,), m."""

    body: int
    local: Floats


@dataclass(frozen=True)
class PointMotion:
    """How points and links move at R instants, as a scheme sees it.

    position, velocity, acceleration: (R, 3) of a point. rotation, curve: rotation (R, 3, 3) of a link, by its index,
    and its second derivative.
    """

    position: Callable[[LinkPoint], Floats]
    velocity: Callable[[LinkPoint], Floats]
    acceleration: Callable[[LinkPoint], Floats]
    rotation: Callable[[int], Floats]
    curve: Callable[[int], Floats]


@dataclass(frozen=True)
class Grasp:
    """How an object sits in its hands: grip points; the turn (3, 3) from the first gripping body's axes to its link's;
    and, when it was first held, the world axes (3, 3) of that body and the places (n, 3) of the grips.
    """

    points: tuple[LinkPoint, ...]
    mount: Floats
    axes: Floats
    places: Floats


@dataclass(frozen=True)
class Exertion:
    """A force and a moment (R, 3) that a link exerts at one of its points."""

    point: LinkPoint
    force: Floats
    moment: Floats


def link_point(m: Mechanism, body: str, point: ArrayLike, what: str) -> LinkPoint:
    """Return the point of a declared body as one of the moving link that carries it."""
    frame = m.frame(body)
    if frame.body < 0:
        raise InputError(f'nodal_inverse_dynamics: {what} on "{body}", which does not move')
    place = finite_vector(point, 3, f'{what} on "{body}": point')
    return LinkPoint(frame.body, frame.pose.matrix[:3, :3] @ place + np.array(frame.pose.translation))


def turn(R: Floats, x: Floats) -> Floats:
    """R x, term by term: the same digits for one instant and for many."""
    return R[..., 0] * x[..., 0, None] + R[..., 1] * x[..., 1, None] + R[..., 2] * x[..., 2, None]


def cross(a: Floats, b: Floats) -> Floats:
    """Vector product (..., 3) of vectors that broadcast."""
    made = np.empty(np.broadcast_shapes(a.shape, b.shape))
    made[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    made[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    made[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return made


def grasp(m: Mechanism, thing: HeldObject, pose: Floats) -> Grasp:
    """How hands hold an object at poses (n_bodies, 4, 4)."""
    points = tuple(link_point(m, body, place, "held object") for body, place in thing.grips)
    mount = m.frame(thing.grips[0][0]).pose.matrix[:3, :3]
    places = np.stack([turn(pose[point.body, :3, :3], point.local) + pose[point.body, :3, 3] for point in points])
    return Grasp(points, mount, pose[points[0].body, :3, :3] @ mount, places)


def held_forces(
    m: Mechanism, thing: HeldObject, held: NDArray[np.bool_], squeeze: Floats, motion: PointMotion, sits: Grasp
) -> list[Exertion]:
    """Forces and moments (R, 3) of each hand on the object, zero while it is not held (1)-(6).

    held (R,): whether it is. squeeze: grip force (R,). sits: how it was grasped.
    """
    points, gravity = sits.points, np.array(m.gravity)
    if len(points) == 1:
        made = [_load(thing, motion, sits, gravity)]
    else:
        places = np.stack([motion.position(point) for point in points], axis=1)
        _check_rigid(places, held, thing, sits)
        inward = places.mean(axis=1)[:, None] - places
        size = np.sqrt(np.sum(inward**2, axis=2)).mean(axis=1)
        grip = (squeeze / np.where(size > 0.0, size, 1.0))[:, None, None] * inward  # (2)
        if thing.moments:
            forces, moments = _shared(thing, places, motion, sits, gravity)
        else:
            accelerated = np.stack([motion.acceleration(point) for point in points], axis=1)
            if len(points) == 2:
                forces = _two_hands(thing, places, accelerated, gravity)
            else:
                forces = _ball_grips(thing, places, accelerated, motion, sits, gravity)
            moments = np.zeros_like(forces)
        made = [Exertion(point, forces[:, i] + grip[:, i], moments[:, i]) for i, point in enumerate(points)]
    mask = held[:, None].astype(np.float64)
    return [Exertion(each.point, mask * each.force, mask * each.moment) for each in made]


def _load(thing: HeldObject, motion: PointMotion, sits: Grasp, gravity: Floats) -> Exertion:
    """(1): the object is a part of the first hand's link; its points are nodes like those of links."""
    grip, center = sits.points[0], thing.checked_center()
    if isinstance(center, float):
        offset = center * (sits.mount @ sits.axes.T @ (sits.places[1] - sits.places[0]))
    elif center is None:
        offset = sits.mount @ sits.axes.T @ (sits.places.mean(axis=0) - sits.places[0])
    else:
        offset = sits.mount @ center
    centroid = LinkPoint(grip.body, grip.local + offset)
    force = thing.mass * (motion.acceleration(centroid) - gravity)
    inertia = _inertia_matrix(thing, sits.mount)
    S = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    R, D = motion.rotation(grip.body), motion.curve(grip.body)
    moment = np.zeros_like(force)
    for k in range(3):
        moment = moment + cross(R[..., k], turn(D, np.broadcast_to(S[:, k], force.shape)))
    return Exertion(centroid, force, moment)


def _shared(
    thing: HeldObject, places: Floats, motion: PointMotion, sits: Grasp, gravity: Floats
) -> tuple[Floats, Floats]:
    """(6)"""
    whole = _load(thing, motion, sits, gravity)
    levers = places - motion.position(whole.point)[:, None]
    shares = thing.shares()[None, :, None]
    forces = shares * whole.force[:, None]
    return forces, shares * whole.moment[:, None] - cross(levers, forces)


def _inertia_matrix(thing: HeldObject, axes: Floats) -> Floats:
    """Inertia in the axes that `axes` lead into."""
    inertia = np.asarray(thing.inertia, dtype=np.float64)
    return float(inertia) * np.eye(3) if inertia.ndim == 0 else axes @ inertia @ axes.T


def _two_hands(thing: HeldObject, places: Floats, accelerated: Floats, gravity: Floats) -> Floats:
    """(3), (4)"""
    apart = places[:, 1] - places[:, 0]
    length = np.sqrt(np.sum(apart**2, axis=1))
    length = np.where(length > 0.0, length, 1.0)
    u = apart / length[:, None]
    center = thing.checked_center()
    if not isinstance(center, float):
        raise InputError(
            "HeldObject center: two grips without moments need a number, the place on the line between them"
        )
    first, last = accelerated[:, 0], accelerated[:, 1]
    W = thing.mass * ((1.0 - center) * first + center * last - gravity)
    along = np.sum(W * u, axis=1)[:, None] * u
    across, bend = W - along, last - first
    inertia = float(np.asarray(thing.inertia))
    bend = (inertia / length**2)[:, None] * (bend - np.sum(bend * u, axis=1)[:, None] * u)
    share = float(thing.shares()[0])
    return np.stack(
        [share * along + (1.0 - center) * across - bend, (1.0 - share) * along + center * across + bend], axis=1
    )


def _ball_grips(
    thing: HeldObject, places: Floats, accelerated: Floats, motion: PointMotion, sits: Grasp, gravity: Floats
) -> Floats:
    """(5)"""
    middle = places.mean(axis=1)
    arms = places - middle[:, None]
    velocities = np.stack([motion.velocity(point) for point in sits.points], axis=1)
    spin = _fit_turning(arms, velocities - velocities.mean(axis=1)[:, None], thing)
    around = cross(spin[:, None], cross(spin[:, None], arms))
    turning = _fit_turning(arms, accelerated - accelerated.mean(axis=1)[:, None] - around, thing)
    since = _fit_rotation(sits.places - sits.places.mean(axis=0), arms)
    center = thing.checked_center()
    start = sits.places.mean(axis=0) if center is None else sits.places[0] + sits.axes @ np.asarray(center)
    offset = turn(since, np.broadcast_to(start - sits.places.mean(axis=0), middle.shape))
    acceleration = accelerated.mean(axis=1) + cross(turning, offset) + cross(spin, cross(spin, offset))
    W = thing.mass * (acceleration - gravity)
    inertia = np.broadcast_to(_inertia_matrix(thing, sits.axes), since.shape)
    back = np.swapaxes(since, -1, -2)
    momentum = turn(since, turn(inertia, turn(back, spin)))
    H = turn(since, turn(inertia, turn(back, turning))) + cross(spin, momentum)
    return _balanced(arms - offset[:, None], thing.shares(), W, H, thing)


def _fit_turning(arms: Floats, rates: Floats, thing: HeldObject) -> Floats:
    """The turning w (R, 3) with w x arms nearest to rates, (R, n, 3) each."""
    outer = np.sum(arms[..., :, None] * arms[..., None, :], axis=1)
    square = (outer[:, 0, 0] + outer[:, 1, 1] + outer[:, 2, 2])[:, None, None] * np.eye(3) - outer
    _check_spread(square, thing)
    return np.linalg.solve(square, np.sum(cross(arms, rates), axis=1)[..., None])[..., 0]


def _fit_rotation(before: Floats, after: Floats) -> Floats:
    """Rotations (R, 3, 3) that bring points (n, 3) nearest to points (R, n, 3)."""
    U, _, V = np.linalg.svd(np.sum(after[..., :, None] * before[None, :, None, :], axis=1))
    sign = np.linalg.det(U @ V)
    U[:, :, 2] *= sign[:, None]
    return U @ V


def _balanced(levers: Floats, shares: Floats, W: Floats, H: Floats, thing: HeldObject) -> Floats:
    """Forces (R, n, 3) of least Σ |F|²/s with the sum W and the moment H (5)."""
    count = len(shares)
    A = np.zeros((len(W), 6, 3 * count))
    for i in range(count):
        x, y, z = levers[:, i].T
        A[:, :3, 3 * i : 3 * i + 3] = np.eye(3)
        zero = np.zeros_like(x)
        A[:, 3:, 3 * i : 3 * i + 3] = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=1).reshape(-1, 3, 3)
    weighted = A * np.repeat(shares, 3)
    square = weighted @ np.swapaxes(A, -1, -2)
    _check_spread(square[:, 3:, 3:], thing)
    multipliers = np.linalg.solve(square, np.concatenate([W, H], axis=1)[..., None])
    return (np.swapaxes(weighted, -1, -2) @ multipliers)[..., 0].reshape(len(W), count, 3)


def _check_spread(square: Floats, thing: HeldObject) -> None:
    sizes = np.linalg.eigvalsh(square)
    if (sizes[:, 0] <= 1e-12 * np.maximum(sizes[:, -1], 1e-300)).any():
        names = ", ".join(f'"{body}"' for body, _ in thing.grips)
        raise InputError(
            f"nodal_inverse_dynamics: held object: the grips on {names} lie on one line, about which nobody turns the "
            "object; expected three that do not, or moments=True"
        )


def _check_rigid(places: Floats, held: NDArray[np.bool_], thing: HeldObject, sits: Grasp) -> None:
    """Refuse grips that do not hold one rigid object."""
    count = places.shape[1]
    if not held.any():
        return
    for i in range(count):
        for j in range(i + 1, count):
            length = np.sqrt(np.sum((places[held, j] - places[held, i]) ** 2, axis=1))
            first = float(np.linalg.norm(sits.places[j] - sits.places[i]))
            least, most = min(float(length.min()), first), max(float(length.max()), first)
            if least <= 0.0 or most - least > _RIGID * most:
                raise InputError(
                    f'nodal_inverse_dynamics: held object: expected grips on "{thing.grips[i][0]}" and '
                    f'"{thing.grips[j][0]}" that keep their distance, got {least:.6g} to {most:.6g} m'
                )
