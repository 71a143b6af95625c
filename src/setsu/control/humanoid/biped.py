"""Which bodies of a mechanism are the torso and the feet of a biped, and where its soles are."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics import body_poses
from setsu.dynamics.catalogue import require_mechanism
from setsu.errors import InputError
from setsu.mechanism import Free, Mechanism

__all__ = ["Biped"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Biped:
    """A floating mechanism with a torso and two feet.

    Args:
        mechanism: its first joint is Free and carries the torso; x ahead, y left, z up.
        torso: body that is kept upright.
        feet: the bodies of the left and of the right foot; the lowest contact points of each are its sole.
        posture: coordinates (nq,) with the knees bent the right way; limbs other than legs keep it. When not given,
            the neutral one, with joints at an end of their range there (knees, elbows) bent by a quarter of it.

    >>> import setsu
    >>> from setsu.control.humanoid import Biped
    >>> Biped(setsu.sample_mechanisms.hoap1_like()).soles.shape
    (2, 4, 3)
    """

    mechanism: Mechanism
    torso: str = "torso"
    feet: tuple[str, str] = ("left_foot", "right_foot")
    posture: ArrayLike | None = None
    soles: Floats = field(init=False)
    """Corners of the left and the right sole in the frame of the foot (2, 4, 3), m, around the sole."""
    start: Floats = field(init=False)
    """The posture (nq,) from which others are sought."""

    def __post_init__(self) -> None:
        m = self.mechanism
        require_mechanism(m, "Biped")
        if not m.bodies or not isinstance(m.moving[0].joint, Free) or any(b.parent == "world" for b in m.moving[1:]):
            raise InputError(f"Biped: expected a mechanism whose only joint to the world is Free, got {m!r}")
        if isinstance(self.feet, str) or len(self.feet) != 2 or self.feet[0] == self.feet[1]:
            raise InputError(f"Biped feet: expected the names of two different bodies, got {self.feet!r}")
        for name in (self.torso, *self.feet):
            m.frame(name)
        q = _bent_posture(m) if self.posture is None else np.array(self.posture, dtype=np.float64)
        if q.shape != (m.nq,) or not np.isfinite(q).all():
            raise InputError(f"Biped posture: expected {m.nq} finite numbers, got {self.posture!r:.80}")
        object.__setattr__(self, "start", q)
        object.__setattr__(self, "soles", np.array([_sole(m, foot) for foot in self.feet]))

    @cached_property
    def sole_centers(self) -> Floats:
        """Middle of the left and the right sole in the frame of the foot (2, 3), m."""
        return self.soles.mean(axis=1)

    @cached_property
    def leg_velocities(self) -> NDArray[np.intp]:
        """Indices of the velocities of the free joint and of all joints between the torso and the feet."""
        m = self.mechanism
        parents = {body.name: body.parent for body in m.bodies}
        on_the_way = set()
        for name in self.feet:
            while name != "world":
                on_the_way.add(name)
                name = parents[name]
        chosen = [range(s.start, s.stop) for b, s in zip(m.moving, m.v_slices, strict=True) if b.name in on_the_way]
        return np.concatenate([np.array(entries, dtype=np.intp) for entries in chosen])

    @cached_property
    def legs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Indices of the velocities of the joints of the left and of the right leg, from the torso on."""
        m = self.mechanism
        parents, slices = (
            {body.name: body.parent for body in m.bodies},
            dict(zip(m.body_names, m.v_slices, strict=True)),
        )
        found: list[NDArray[np.intp]] = []
        for foot in self.feet:
            leg: list[int] = []
            name = foot
            while name not in ("world", self.torso):
                leg = [*range(slices[name].start, slices[name].stop), *leg] if name in slices else leg
                name = parents[name]
            found.append(np.array(leg, dtype=np.intp))
        return found[0], found[1]

    @cached_property
    def single_coordinates(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where the coordinates of joints that have as many as velocities stand in q, and those velocities in v."""
        m = self.mechanism
        pairs = [
            (slice_q, slice_v)
            for body, slice_q, slice_v in zip(m.moving, m.q_slices, m.v_slices, strict=True)
            if body.joint.nq == body.joint.nv
        ]
        q, v = ([entry for pair in pairs for entry in range(pair[i].start, pair[i].stop)] for i in (0, 1))
        return np.array(q, dtype=np.intp), np.array(v, dtype=np.intp)

    @cached_property
    def weight(self) -> float:
        """Weight, N."""
        return float(self.mechanism.total_mass * np.linalg.norm(self.mechanism.gravity))

    def pose_of(self, q: ArrayLike, body: str) -> Floats:
        """Return the placement of a body, also one behind a fixed joint, in the world (..., 4, 4)."""
        frame = self.mechanism.frame(body)
        return body_poses(self.mechanism, q)[..., frame.body, :, :] @ frame.pose.matrix

    def require_limits(self, q: Floats, what: str) -> None:
        """Refuse coordinates (T, nq) that take a joint beyond its limits, naming joint, angle and sample."""
        m = self.mechanism
        for body, slice_q, slice_v in zip(m.moving, m.q_slices, m.v_slices, strict=True):
            if body.joint.nq != body.joint.nv:
                continue
            low, high, values = m.lower[slice_v], m.upper[slice_v], q[:, slice_q]
            beyond = np.maximum(low - values, values - high).max(axis=1)
            worst = int(np.argmax(beyond))
            if beyond[worst] > 1e-9:
                raise InputError(
                    f'{what}: sample {worst} takes joint "{body.joint.name}" to {values[worst].round(4).tolist()}; '
                    f"expected {low.tolist()} to {high.tolist()}"
                )

    def sole_corners(self, q: ArrayLike) -> Floats:
        """Return the corners of both soles in the world (..., 2, 4, 3), m."""
        T = np.stack([self.pose_of(q, foot) for foot in self.feet], axis=-3)
        return self.soles @ np.swapaxes(T[..., :3, :3], -1, -2) + T[..., None, :3, 3]


def _bent_posture(m: Mechanism) -> Floats:
    """The neutral posture with joints at an end of their range bent by a quarter of it."""
    q = m.neutral()
    for body, slice_q, slice_v in zip(m.moving, m.q_slices, m.v_slices, strict=True):
        low, high = m.lower[slice_v], m.upper[slice_v]
        if body.joint.nq == 1 and np.isfinite(high - low) and q[slice_q] in (low, high):
            q[slice_q] += 0.25 * (high - low) * (1.0 if q[slice_q] == low else -1.0)
    return q


def _sole(m: Mechanism, foot: str) -> Floats:
    """The four lowest contact points of a foot at the neutral posture, counted around, in the frame of the foot."""
    points = np.array([point.position for point in m.contact_points if point.body == foot]).reshape(-1, 3)
    if len(points) < 4:
        raise InputError(f'Biped: expected at least four contact points on "{foot}", got {len(points)}')
    frame = m.frame(foot)
    R = (body_poses(m, m.neutral())[frame.body] @ frame.pose.matrix)[:3, :3]
    heights = points @ R[2]
    lowest = points[np.argsort(heights, kind="stable")[:4]]
    if np.ptp(lowest @ R[2]) > 1e-9:
        raise InputError(f'Biped: expected the four lowest contact points of "{foot}" in one plane, got {lowest}')
    middle = lowest.mean(axis=0)
    angles = np.arctan2((lowest - middle) @ R[1], (lowest - middle) @ R[0])
    return lowest[np.argsort(angles)]
