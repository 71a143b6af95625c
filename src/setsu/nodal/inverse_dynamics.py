"""Inverse dynamics from the forces at the nodes of all links at once: element dynamics of isobe2003.

| symbol | meaning | frame |
|---|---|---|
| node j | centroid of link j with the rotation of the link, or each of its points | |
| P_j | force and moment of link j, forces of its children, what it exerts: all that acts on it | world |
| T_j, L_j | into the axes of the link; member lengths (member_lengths.py) | |

    P_j by the scheme (link_forces.py, kernels/nodal_central.py), plus what is exerted (exerted.py)   (1)  isobe2003 (3)
    tau_i = Σ_{j carried by joint i} L_j T_j P_j, plus armature, friction and springs of the joint     (2)  (2), (4)-(6)
    closed mechanisms: shared among the actuators by virtual work (closed_loops.py)                    (3)  (5)

A force that the mechanism shall exert goes into P directly, without a Jacobian. A change of structure in mid-motion is
a change of these data. No loop over time steps or nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import fast_function, require_mechanism
from setsu.dynamics.springs import spring_wrenches
from setsu.errors import InputError, nearest_names
from setsu.mechanism import Mechanism
from setsu.nodal.closed_loops import share_among_actuators
from setsu.nodal.exerted import HeldObject, LinkPoint, TipForce, exert, held_forces, link_point, position
from setsu.nodal.link_forces import central_rates, central_torques, moving_torques, torques_of_forces
from setsu.nodal.time_schemes import central_second, newmark

__all__ = ["nodal_inverse_dynamics"]

Floats = NDArray[np.float64]
_SCHEMES = ("central", "newmark", "given")
_FEWEST_SAMPLES = 4


def nodal_inverse_dynamics(
    mechanism: Mechanism,
    time: ArrayLike,
    q: ArrayLike,
    scheme: str = "central",
    tip_forces: Mapping[str, TipForce] | None = None,
    *,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    beta: float = 0.25,
    gamma: float = 0.5,
    held_objects: Sequence[HeldObject] = (),
    actuated: Sequence[str] | None = None,
) -> Floats:
    """Return the joint torques (T, nv) of a sampled motion.

    Args:
        time: (T,), s, evenly spaced, at least 4 samples.
        q: coordinates (T, nq) at these times.
        scheme: "central" (differences of second order), "newmark" (the paper's, with beta and gamma, starting with the
            first rows of v and a, at rest by default), "given" (v and a hold velocities and accelerations).
        tip_forces: by body name, what the mechanism shall exert there.
        v, a: (T, nv), needed by "given".
        held_objects: HeldObject records: what hands carry and squeeze, each in its own time.
        actuated: joints with an actuator; loops then carry what the others cannot, and several actuators share with
            the least sum of squares. Without it every joint is driven and loops are cut.

    >>> import numpy as np, setsu
    >>> m = setsu.sample_mechanisms.planar_arm(2)
    >>> t = np.linspace(0.0, 1.0, 101)
    >>> setsu.nodal_inverse_dynamics(m, t, np.stack([np.sin(t), t**2], axis=1)).shape
    (101, 2)
    """
    require_mechanism(mechanism, "nodal_inverse_dynamics")
    if scheme not in _SCHEMES:
        raise InputError(f"nodal_inverse_dynamics: unknown scheme {scheme!r}{nearest_names(scheme, _SCHEMES)}")
    t, h = _checked_time(time)
    q = _rows(q, len(t), mechanism.nq, "q")
    motion = _Motion(mechanism, q, h, scheme, v, a, beta, gamma)
    torque = motion.torques()
    exerted = _checked_tips(mechanism, tip_forces or {}, len(t))
    for thing in held_objects:
        if not isinstance(thing, HeldObject):
            raise InputError(f"nodal_inverse_dynamics: held_objects: expected HeldObject records, got {thing!r:.80}")
        exerted += held_forces(mechanism, thing, t, motion.poses, motion.acceleration_of)
    if exerted or mechanism.has_force_elements:
        torque += _exerted_torques(mechanism, q, motion, exerted)
    return torque if actuated is None else share_among_actuators(mechanism, q, torque, actuated)


class _Motion:
    """The motion of a mechanism as a scheme sees it."""

    def __init__(
        self,
        m: Mechanism,
        q: Floats,
        h: float,
        scheme: str,
        v: ArrayLike | None,
        a: ArrayLike | None,
        beta: float,
        gamma: float,
    ) -> None:
        self.m, self.q, self.h, self.scheme = m, q, h, scheme
        self.newmark_step = None
        if scheme == "given":
            if v is None or a is None:
                raise InputError('nodal_inverse_dynamics: scheme "given" needs v and a, (T, nv) each')
            self._given = _rows(v, len(q), m.nv, "v"), _rows(a, len(q), m.nv, "a")
        elif scheme == "newmark":
            if not (0.0 < beta <= 0.5 and 0.0 <= gamma <= 1.0):
                raise InputError(
                    f"nodal_inverse_dynamics: expected 0 < beta <= 0.5, 0 <= gamma <= 1, got {beta}, {gamma}"
                )
            self.newmark_step = (h, beta, gamma)
            start = [
                np.zeros(m.nv) if x is None else _rows(x, len(q), m.nv, name)[0] for x, name in ((v, "v"), (a, "a"))
            ]
            steps = fast_function(m, "difference")(q[:-1], q[1:])
            self._given = newmark(steps, *self.newmark_step, *start)

    @cached_property
    def poses(self) -> Floats:
        """Placements of the links, (T, n, 4, 4)."""
        return fast_function(self.m, "body_poses")(self.q)

    @property
    def rates(self) -> Floats:
        """Joint velocities (T, nv)."""
        return central_rates(self.m, self.q, self.h) if self.scheme == "central" else self._given[0]

    def torques(self) -> Floats:
        """Torques (T, nv) of the motion alone."""
        if self.scheme == "central":
            return central_torques(self.m, self.q, self.h)
        return moving_torques(self.m, self.q, *self._given, self.newmark_step)

    def acceleration_of(self, point: LinkPoint) -> Floats:
        """Accelerations (T, 3) of a point of a link."""
        if self.scheme == "central":
            return central_second(position(point, self.poses), self.h)
        if self.newmark_step is None:
            return self._point_state(point, slice(None))[1]
        v0, a0 = (part[0] for part in self._point_state(point, slice(0, 1)))
        return newmark(np.diff(position(point, self.poses), axis=0), *self.newmark_step, v0, a0)[1]

    def _point_state(self, point: LinkPoint, rows: slice) -> tuple[Floats, Floats]:
        """Velocity and acceleration of a point by the joint motion of some samples."""
        q, v, a = (part[rows] for part in (self.q, *self._given))
        V = fast_function(self.m, "body_velocities")(q, v)[:, point.body]
        A = fast_function(self.m, "body_accelerations")(q, v, a)[:, point.body]
        arm = self.poses[rows, point.body, :3, :3] @ point.local
        turning = np.cross(V[:, 3:], arm)
        return V[:, :3] + turning, A[:, :3] + np.cross(A[:, 3:], arm) + np.cross(V[:, 3:], turning)


def _checked_tips(m: Mechanism, tip_forces: Mapping[str, Any], samples: int) -> list[tuple[LinkPoint, Floats]]:
    """The tip forces as points of moving links and forces, (3,) or (T, 3)."""
    found = []
    for body, exerted in tip_forces.items():
        if not isinstance(exerted, TipForce):
            raise InputError(f'nodal_inverse_dynamics: tip force on "{body}": expected a TipForce, got {exerted!r:.80}')
        point = link_point(m, body, exerted.point, "tip force")
        push = np.asarray(exerted.force, dtype=np.float64)
        if push.shape not in ((3,), (samples, 3)) or not np.isfinite(push).all():
            raise InputError(
                f'nodal_inverse_dynamics: tip force on "{body}": expected finite numbers of shape (3,) or '
                f"({samples}, 3), got shape {push.shape}"
            )
        found.append((point, push))
    return found


def _exerted_torques(m: Mechanism, q: Floats, motion: _Motion, exerted: list[tuple[LinkPoint, Floats]]) -> Floats:
    """Torques (T, nv) of what the links exert and of the springs between points."""
    force, moment = np.zeros((2, len(q), m.n_bodies, 3))
    if m.has_force_elements:
        pull = spring_wrenches(m, q, motion.rates)
        force, moment = -pull[..., :3], -pull[..., 3:]
    for point, push in exerted:
        exert(point, push, motion.poses, force, moment)
    return torques_of_forces(m, q, motion.poses[..., :3, 3], force, moment)


def _checked_time(time: ArrayLike) -> tuple[Floats, float]:
    try:
        t = np.asarray(time, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"nodal_inverse_dynamics: time: expected numbers, got {time!r:.80}") from None
    if t.ndim != 1 or len(t) < _FEWEST_SAMPLES:
        raise InputError(
            f"nodal_inverse_dynamics: time: expected at least {_FEWEST_SAMPLES} samples, got shape {t.shape}"
        )
    if not np.isfinite(t).all():
        raise InputError(f"nodal_inverse_dynamics: time[{int(np.argmin(np.isfinite(t)))}] is not finite")
    steps = np.diff(t)
    h = float((t[-1] - t[0]) / (len(t) - 1))
    worst = int(np.argmax(np.abs(steps - h)))
    if h <= 0.0 or abs(steps[worst] - h) > 1e-6 * h:
        raise InputError(
            f"nodal_inverse_dynamics: time: expected even steps of {h:g} s, got {steps[worst]:g} s after sample {worst}"
        )
    return t, h


def _rows(value: ArrayLike, samples: int, width: int, name: str) -> Floats:
    try:
        rows = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"nodal_inverse_dynamics: {name}: expected numbers, got {type(value).__name__}") from None
    if rows.shape != (samples, width):
        raise InputError(f"nodal_inverse_dynamics: {name}: expected shape ({samples}, {width}), got {rows.shape}")
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0].tolist()
        raise InputError(
            f"nodal_inverse_dynamics: {name}[{row}, {column}] is {rows[row, column]}, expected finite numbers"
        )
    return rows
