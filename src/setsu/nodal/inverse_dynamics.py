"""Inverse dynamics from the forces at the nodes of all links at once: element dynamics of isobe2003.

| symbol | meaning | frame |
|---|---|---|
| node | each point of a link | |
| P_j | force and moment of link j at its centroid, forces of its children, what it exerts | world |
| L, T | member lengths; moments about joint axes (member_lengths.py) | |

    P by the scheme (kernels/nodal_central.py, nodal_newmark.py, link_forces.py), plus what is exerted (exerted.py)
    (1)  (3)
    tau = L T(q) P, plus armature, friction and springs of the joints                                  (2)  (2), (4)-(6)
    closed mechanisms: shared among the actuators by virtual work (closed_loops.py)                    (3)  (5)

A force that the mechanism shall exert goes into P directly, without a Jacobian. A change of structure in mid-motion is
a change of these data. No loop over time steps or nodes, but in Newmark's recurrence without average.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import fast_function, require_mechanism
from setsu.errors import InputError, nearest_names
from setsu.mechanism import Mechanism
from setsu.nodal.closed_loops import share_among_actuators
from setsu.nodal.exerted import Exertion, Grasp, HeldObject, TipForce, cross, grasp, held_forces, link_point, turn
from setsu.nodal.link_forces import centroids, torques_of_forces
from setsu.nodal.member_lengths import carried_bodies, parent_bodies
from setsu.nodal.motion import ByDifferences, ByNewmark, ByRates, SeenMotion, spring_torques
from setsu.nodal.newmark import Recurrence
from setsu.nodal.samples import checked_rows, checked_time, stencils
from setsu.nodal.smoothing import checked_smoothing, smoothed

__all__ = ["SCHEMES", "Tips", "checked_objects", "checked_tips", "exerted_wrenches", "nodal_forces",
           "nodal_inverse_dynamics"]  # fmt: skip

Floats = NDArray[np.float64]
Tips = Mapping[str, TipForce | Sequence[TipForce]]
Rows = slice | NDArray[np.int64]
SCHEMES = ("central", "newmark", "given")
_WHERE = "nodal_inverse_dynamics"


def nodal_inverse_dynamics(
    mechanism: Mechanism,
    time: ArrayLike,
    q: ArrayLike,
    scheme: str = "central",
    tip_forces: Tips | None = None,
    *,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    average: bool = True,
    smoothing: int = 0,
    held_objects: Sequence[HeldObject] = (),
    actuated: Sequence[str] | None = None,
) -> Floats:
    """Return the joint torques (T, nv) of a sampled motion.

    Args:
        time: (T,), s, increasing, at least 4 samples; steps may be uneven.
        q: coordinates (T, nq) at these times.
        scheme: "central" (differences of second order), "newmark" (the paper's, β = ¼, γ = ½), "given" (v and a hold
            velocities and accelerations).
        tip_forces: by body name, what the mechanism shall exert there: a TipForce, or several.
        v, a: (T, nv), needed by "given"; "newmark" without average starts from their first rows, or finds its start
            from the first 8 samples.
        average: whether "newmark" takes the 1-2-1 average of neighbouring accelerations, which removes the undamped
        mode
            of the recurrence; that average is the central difference. False: the plain recurrence, even steps only.
        smoothing: half-width n of a filter for noisy samples (a cubic through 2n + 1 of them); 0 for none.
        held_objects: HeldObject records: what hands carry and squeeze, each in its own time.
        actuated: joints with an actuator; loops then carry what the others cannot, and several actuators share with
            the least sum of squares. Without it every joint is driven and loops are cut.

    >>> import numpy as np, setsu
    >>> m = setsu.sample_mechanisms.planar_arm(2)
    >>> t = np.linspace(0.0, 1.0, 101)
    >>> setsu.nodal_inverse_dynamics(m, t, np.stack([np.sin(t), t**2], axis=1)).shape
    (101, 2)
    """
    motion = _Sampled.read(mechanism, time, q, scheme, v, a, average, smoothing)
    tips, objects = checked_tips(mechanism, tip_forces, len(motion.time)), checked_objects(held_objects)
    torque = np.empty((len(motion.time), mechanism.nv))
    for rows, seen in motion.parts():
        torque[rows] = seen.torques()
        wrenches = motion.exerted(rows, seen, tips, objects)
        if mechanism.has_force_elements:
            pull = spring_torques(mechanism, seen)
            wrenches = pull if wrenches is None else wrenches + pull
        if wrenches is not None:
            torque[rows] += torques_of_forces(mechanism, seen.q, seen.poses[..., :3, 3], wrenches)
    if actuated is None:
        return torque
    return share_among_actuators(mechanism, motion.q, torque, actuated)


def nodal_forces(
    mechanism: Mechanism,
    time: ArrayLike,
    q: ArrayLike,
    scheme: str = "central",
    tip_forces: Tips | None = None,
    *,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    average: bool = True,
    smoothing: int = 0,
    held_objects: Sequence[HeldObject] = (),
) -> Floats:
    """Return P (T, .) of a sampled motion: per link its force (3) and moment (3) at the centroid, then the forces (3)
    that each of its children carries; world axes, N and N m, in the order of `member_length_matrix(mechanism).spans`.

    With L = member_length_matrix(mechanism), L.matrix @ L.transformation(q[k]) @ P[k] is the torque of sample k less
    armature, joint friction and springs; with smoothing, at the smoothed coordinates. Arguments as in
    nodal_inverse_dynamics.

    >>> import numpy as np, setsu
    >>> m = setsu.sample_mechanisms.planar_arm(2)
    >>> t = np.linspace(0.0, 1.0, 101)
    >>> q = np.stack([np.sin(t), t**2], axis=1)
    >>> L, P = setsu.member_length_matrix(m), setsu.nodal_forces(m, t, q)
    >>> tau = L.matrix @ L.transformation(q[50]) @ P[50]
    >>> bool(np.abs(tau - setsu.nodal_inverse_dynamics(m, t, q)[50]).max() < 1e-12)
    True
    """
    motion = _Sampled.read(mechanism, time, q, scheme, v, a, average, smoothing, "nodal_forces")
    tips, objects = checked_tips(mechanism, tip_forces, len(motion.time)), checked_objects(held_objects)
    n, parents = mechanism.n_bodies, parent_bodies(mechanism)
    carried = carried_bodies(mechanism).astype(np.float64)
    arm = centroids(mechanism)
    columns = [[(j, None), *((j, int(c)) for c in np.flatnonzero(parents == j))] for j in range(n)]
    P = np.empty((len(motion.time), sum(6 + 3 * (len(own) - 1) for own in columns)))
    for rows, seen in motion.parts():
        wrenches = seen.forces()
        exerted = motion.exerted(rows, seen, tips, objects)
        if exerted is not None:
            wrenches = wrenches + exerted
        force = wrenches[..., :3]
        reach = turn(seen.poses[..., :3, :3], np.broadcast_to(arm, force.shape))
        moment = wrenches[..., 3:] - cross(reach, force)
        Q = carried @ force
        parts = []
        for j, own in enumerate(columns):
            parts += [force[:, j], moment[:, j], *(Q[:, child] for _, child in own[1:])]
        P[rows] = np.concatenate(parts, axis=1)
    return P


@dataclass(frozen=True)
class _Sampled:
    """A checked motion and the scheme that looks at it."""

    m: Mechanism
    time: Floats
    step: float | None
    q: Floats
    scheme: str
    v: Floats | None
    a: Floats | None
    smoothing: int
    where: str

    @classmethod
    def read(
        cls,
        m: Mechanism,
        time: ArrayLike,
        q: ArrayLike,
        scheme: str,
        v: ArrayLike | None,
        a: ArrayLike | None,
        average: bool,
        smoothing: int,
        where: str = _WHERE,
    ) -> _Sampled:
        """Check everything before any work is done."""
        require_mechanism(m, where)
        if scheme not in SCHEMES:
            raise InputError(f"{where}: unknown scheme {scheme!r}{nearest_names(scheme, SCHEMES)}")
        t, h = checked_time(time, where)
        rows = checked_rows(q, len(t), m.nq, "q", where)
        half = checked_smoothing(smoothing, where)
        rates = [None if x is None else checked_rows(x, len(t), m.nv, name, where) for x, name in ((v, "v"), (a, "a"))]
        if scheme == "given" and (rates[0] is None or rates[1] is None):
            raise InputError(f'{where}: scheme "given" needs v and a, (T, nv) each')
        if scheme == "given" and half:
            raise InputError(
                f'{where}: smoothing finds velocities and accelerations itself; expected no scheme "given"'
            )
        plain = scheme == "newmark" and not average
        if half and scheme != "central":
            raise InputError(f'{where}: smoothing has a scheme of its own; expected "central", got {scheme!r}')
        if h is None and (plain or half):
            what = "newmark without average" if plain else "smoothing"
            uneven = np.diff(t)
            raise InputError(
                f"{where}: {what} needs even steps, got {uneven.min():g} to {uneven.max():g} s; expected even samples, "
                'or scheme "central" without smoothing'
            )
        if half and len(t) < 2 * half + 1:
            raise InputError(f"{where}: smoothing: a half-width of {half} needs {2 * half + 1} samples, got {len(t)}")
        # Averaged Newmark is the central difference, newmark.py (4).
        kind = "smoothed" if half else "plain newmark" if plain else "central" if scheme == "newmark" else scheme
        return cls(m, t, h, rows, kind, rates[0], rates[1], half, where)

    def parts(self) -> list[tuple[Rows, SeenMotion]]:
        """All samples, in groups that the scheme treats alike: their rows, and how it sees them."""
        every = slice(0, len(self.time))
        if self.scheme == "given" and self.v is not None and self.a is not None:
            return [(every, ByRates(self.m, self.q, self.v, self.a))]
        if self.scheme == "smoothed" and self.step is not None:
            last = len(self.time) - 1
            found = smoothed(self.m, self.q, self.step, self.smoothing, np.arange(last + 1), last)
            return [(every, ByRates(self.m, *found))]
        if self.scheme == "plain newmark":
            return [(every, self._recurrence())]
        return [(group.rows, ByDifferences(self.m, self.q, group)) for group in stencils(self.time, self.step)]

    def _recurrence(self) -> ByNewmark:
        if self.step is None:
            raise InputError(f"{self.where}: newmark without average needs even steps")
        run = Recurrence(self.m, self.step, self.where)
        start = [None if x is None else x[0] for x in (self.v, self.a)]
        seen = [run.start(self.q, *start), *(run.advance(row) for row in self.q[1:])]
        names = ("found_torques", "found_forces", "rates", "speeds", "curves")
        return ByNewmark(self.m, self.q, *(np.concatenate([getattr(one, name) for one in seen]) for name in names))

    def exerted(
        self, rows: Rows, seen: SeenMotion, tips: list[Exertion], objects: tuple[HeldObject, ...]
    ) -> Floats | None:
        """Wrenches (R, n, 6) of all that the links exert at some samples; None where they exert nothing."""
        made = [_at_rows(tip, rows, len(seen.q)) for tip in tips]
        for thing in objects:
            held = (self.time >= thing.during[0]) & (self.time < thing.during[1])
            if not held.any():
                grasp(self.m, thing, fast_function(self.m, "body_poses")(self.q[0]))
                continue
            first = fast_function(self.m, "body_poses")(self.q[int(np.argmax(held))])
            squeeze = np.asarray(thing.grip_force, dtype=np.float64)
            if squeeze.shape not in ((), (len(self.time),)) or not np.isfinite(squeeze).all():
                raise InputError(
                    f"{self.where}: held object: grip_force: expected a finite number or {len(self.time)} of them, "
                    f"got shape {squeeze.shape}"
                )
            squeezes = np.broadcast_to(squeeze, self.time.shape)[rows]
            sits: Grasp = grasp(self.m, thing, first)
            made += held_forces(self.m, thing, held[rows], squeezes, seen.points(), sits)
        return exerted_wrenches(self.m, seen, made) if made else None


def _at_rows(tip: Exertion, rows: Rows, count: int) -> Exertion:
    parts = {
        name: np.broadcast_to(part if part.ndim == 1 else part[rows], (count, 3))
        for name, part in (("force", tip.force), ("moment", tip.moment))
    }
    return replace(tip, **parts)


def exerted_wrenches(m: Mechanism, seen: SeenMotion, made: Sequence[Exertion]) -> Floats:
    """Wrenches (R, n, 6) at the links' origins of forces and moments at their points."""
    wrenches = np.zeros((len(seen.q), m.n_bodies, 6))
    for each in made:
        body = each.point.body
        arm = turn(seen.poses[:, body, :3, :3], np.broadcast_to(each.point.local, each.force.shape))
        wrenches[:, body, :3] += each.force
        wrenches[:, body, 3:] += each.moment + cross(arm, each.force)
    return wrenches


def checked_tips(m: Mechanism, tip_forces: Tips | None, samples: int, where: str = _WHERE) -> list[Exertion]:
    """The tip forces as points of moving links with forces and moments, (3,) or (T, 3)."""
    found = []
    for body, given in (tip_forces or {}).items():
        for exerted in [given] if isinstance(given, TipForce) else _listed(given, body, where):
            point = link_point(m, body, exerted.point, "tip force")
            parts = []
            for name in ("force", "moment"):
                part = np.asarray(getattr(exerted, name), dtype=np.float64)
                if part.shape not in ((3,), (samples, 3)) or not np.isfinite(part).all():
                    raise InputError(
                        f'{where}: tip force on "{body}": {name}: expected finite numbers of shape (3,) or '
                        f"({samples}, 3), got shape {part.shape}"
                    )
                parts.append(part)
            found.append(Exertion(point, *parts))
    return found


def _listed(given: object, body: str, where: str) -> list[TipForce]:
    listed: list[TipForce] = []
    for each in list(given) if isinstance(given, list | tuple) else [given]:
        if not isinstance(each, TipForce):
            raise InputError(f'{where}: tip force on "{body}": expected a TipForce, or several, got {each!r:.80}')
        listed.append(each)
    return listed


def checked_objects(held_objects: Sequence[HeldObject], where: str = _WHERE) -> tuple[HeldObject, ...]:
    """The held objects, each a HeldObject."""
    for thing in held_objects:
        if not isinstance(thing, HeldObject):
            raise InputError(f"{where}: held_objects: expected HeldObject records, got {thing!r:.80}")
    return tuple(held_objects)
