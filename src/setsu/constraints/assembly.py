"""Closing the loops: the nearest configuration that satisfies every loop and coupling.

    e(q) position errors, G their derivative, S scales (rows to length one, travel to angle)
    far away    (Gᵀ G + μ D) x = -Gᵀ e,  q ← q ⊕ x      Levenberg-Marquardt; Gᵀ e is the exact gradient of ½|e|²   (1)
    closed      x = -G⁺ e + (1 - G⁺ G) (q0 ⊖ q)         Newton on the loops, sliding along them towards the start  (2)

q ⊕ x is `integrate`: quaternions stay quaternions. Fixed joints have no column; coordinates at a limit lose theirs when
a step would leave it. When (1) ends in a local minimum of |e| it begins again from random places near the start.
Of several ways to assemble, (1) and (2) may end in one that is not the nearest: a nearer one lies within a ball around
the start, and is looked for from the other side of the start and from random places in that ball.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from setsu.constraints.redundancy import redundancy, warn_of_left_out
from setsu.constraints.stacked import Floats, times, transposed_times
from setsu.constraints.states import checked_arrays, velocity_indices
from setsu.constraints.system import ConstraintSystem, constraint_system
from setsu.dynamics import body_poses, difference, integrate
from setsu.errors import InputError
from setsu.mechanism import WORLD, Mechanism
from setsu.mechanism.checks import finite_number

__all__ = ["ClosingError", "assembly_modes", "close_loops", "loop_error", "opening"]

_TOLERANCE = 1e-13
_ROUNDS = 200
_RESTARTS, _AT_ONCE = 24, 4
_SLIDES = 60
_LONGEST_STEP, _SHORTEST_STEP = 0.3, 1e-11
_LOOKS = 8
_NEAR = 0.05
_LAST_ROUNDS = 40
_LARGEST_LEFT_OUT = 1e-3  # lengths of the mechanism or rad, of a redundant row
_SAME_POSES = 1e-6  # of the entries of poses, lengths over that of the mechanism
_FEW = 12  # coordinates that a message shows
_SOME = 5  # joints that a message names
_UNIT = 1e-12  # by which a quaternion of length one may miss it


class ClosingError(InputError):
    """Loops that cannot be closed; `configuration` (nq,) is the best one found, `error` (n,) its position errors."""

    def __init__(self, message: str, configuration: Floats, error: Floats) -> None:
        self.configuration, self.error = configuration, error
        super().__init__(message)


def loop_error(mechanism: Mechanism, q: ArrayLike) -> Floats:
    """Return how far each row of the loops, then each coupling, is from closed, (..., n), m or rad.

    Args:
        q: coordinates (..., nq).

    The names of the rows are `constraint_system(mechanism).names`.

    >>> import setsu
    >>> m = setsu.sample_mechanisms.four_bar()
    >>> float(abs(setsu.loop_error(m, m.neutral())).max()) < 1e-12
    True
    """
    system = constraint_system(mechanism)
    (configuration,), _ = checked_arrays("loop_error", mechanism, [("q", q, (mechanism.nq,))])
    return system.position_error(configuration)


def close_loops(
    mechanism: Mechanism,
    q: ArrayLike | None = None,
    fixed: Sequence[str] = (),
    *,
    respect_limits: bool = True,
    seed: int = 0,
    keyframe: str | None = None,
    tolerance: float | None = None,
) -> Floats:
    """Return the nearest configuration (..., nq) that satisfies every loop and coupling.

    Args:
        q: a rough guess (..., nq); of several ways to assemble, the one near the guess is found. When not given, the
            configuration the model file draws.
        fixed: joints that keep their coordinates.
        respect_limits: stay within the joints' limits.
        seed: of the random places where closing begins again when it got stuck; the same for every row of a batch.
        keyframe: name of a keyframe of the mechanism to take as the guess instead of q.
        tolerance: error (m or rad) with which a loop counts as closed; without it, rounding.

    Constraints that only repeat others (redundancy.py) need not fit to the last digit: what stays open of them while
    the others are closed is reported by a ModelWarning above 1e-9, and refused above 1e-3.

    Raises:
        ClosingError: an InputError that says which loop stays open, by how many mm and degrees, with the best
            configuration attached.

    >>> import setsu
    >>> m = setsu.sample_mechanisms.four_bar()
    >>> q = setsu.close_loops(m, [0.3, 0.0, 0.0], fixed=["crank"])
    >>> float(q[0]), float(abs(setsu.loop_error(m, q)).max()) < 1e-12
    (0.3, True)
    """
    system = constraint_system(mechanism)
    m = mechanism
    if keyframe is not None:
        if q is not None:
            raise InputError("close_loops: expected q or a keyframe, got both")
        q = m.keyframe(keyframe).q
    elif q is None:
        q = m.reference_configuration()
    (guess,), batch = checked_arrays("close_loops", m, [("q", q, (m.nq,))])
    # Quaternions of another length stand for the same turn; those of length one keep their bits.
    unit = integrate(m, guess, np.zeros(m.nv), 1.0)
    guess = np.where(np.abs(unit - guess) > _UNIT * (1.0 + np.abs(guess)), unit, guess)
    held = velocity_indices(m, fixed, "close_loops: fixed")
    if not system.n_rows:
        return guess.copy()
    if tolerance is not None:
        tolerance = finite_number(tolerance, "close_loops: tolerance", minimum=0.0)
    search = _Search(system, held, respect_limits, tolerance)
    start = search.within_limits(guess.reshape(-1, m.nq))
    result, closed = search.close(start)
    for trials in np.split(np.arange(_RESTARTS), _RESTARTS // _AT_ONCE):
        left = np.flatnonzero(~closed)
        if not left.size:
            break
        # Several places at once, the nearest first; of those that close, the first counts.
        spread = 0.3 * 1.15 ** trials[:, None, None] * search.step_units * search.free
        draws = np.array([np.random.default_rng([seed, trial]).standard_normal(m.nv) for trial in trials])
        moved = (spread * np.repeat(draws[:, None], len(left), axis=1)).reshape(-1, m.nv)
        tried, good = search.close(
            search.within_limits(integrate(m, np.tile(start[left], (len(trials), 1)), moved, 1.0))
        )
        tried, good = tried.reshape(len(trials), len(left), m.nq), good.reshape(len(trials), len(left))
        gap = np.where(good, -1.0, search.gap(tried))
        chosen = np.argmin(gap, axis=0), np.arange(len(left))
        better = gap[chosen] < search.gap(result[left])
        result[left[better]] = tried[chosen][better]
        closed[left] = good.any(axis=0)
    unfit = np.abs(system.position_error(result) / system.row_units).max(axis=-1, initial=0.0) > _LARGEST_LEFT_OUT
    closed &= ~unfit | (tolerance is not None and tolerance > _LARGEST_LEFT_OUT)
    if not closed.all():
        state = int(np.argmin(closed))
        _refuse(system, result[state], batch, state, search.limits_in_the_way(guess.reshape(-1, m.nq)[state]))
    result = search.look_around(start, search.slide_towards(start, result), seed)
    result = search.polish(search.move_nearer(start, result))
    error = system.position_error(result)
    worst = int(np.argmax(np.where(search.judged.kept, 0.0, np.abs(error)).max(axis=-1, initial=0.0)))
    warn_of_left_out(system, error[worst], "close_loops", 2)
    return result.reshape(*batch, m.nq)


def assembly_modes(system: ConstraintSystem, q: Floats, fixed: list[int], starts: int, seed: int) -> Floats:
    """Return the closed configurations (k, nq) found around random starts, q (nq,) first, no two of the same poses.

    fixed: velocities whose coordinates stay those of q; where the others follow from them, the ways are isolated.
    """
    m = system.mechanism
    search = _Search(system, fixed, respect_limits=True, tolerance=None)
    rng = np.random.default_rng(seed)
    # Anywhere: half a turn and half a length of the mechanism, in every coordinate that may move.
    moved = rng.uniform(-np.pi, np.pi, (starts, m.nv)) * search.step_units * search.free
    tried, closed = search.close(search.within_limits(integrate(m, np.tile(q, (starts, 1)), moved, 1.0)))
    found = np.concatenate([q[None], tried[closed]])
    poses = body_poses(m, found)
    poses[..., :3, 3] /= system.length
    distinct: list[int] = []
    for k in range(len(found)):
        if all(np.abs(poses[k] - poses[other]).max() > _SAME_POSES for other in distinct):
            distinct.append(k)
    return found[distinct]


class _Search:
    """Closing many states at once."""

    def __init__(
        self, system: ConstraintSystem, fixed: list[int], respect_limits: bool, tolerance: float | None
    ) -> None:
        m = self.mechanism = system.mechanism
        self.system, self.judged = system, redundancy(system)
        self._kept_of_live = self.judged.kept[self.judged.live]
        self.free = np.ones(m.nv)
        self.free[fixed] = 0.0
        # Travel counts in lengths of the mechanism, so that metres and radians weigh alike.
        self.step_units = system.velocity_units
        self.error_units = system.row_units
        self.curved = _curved(m)
        rounding = _TOLERANCE * max(1, m.nv)
        live_units = system.row_units[self.judged.live]
        self._tolerance = np.full(len(live_units), rounding) if tolerance is None else tolerance / live_units
        self._tolerance = np.where(self._kept_of_live, np.maximum(self._tolerance, rounding), _LARGEST_LEFT_OUT)
        self.limited = respect_limits and bool(np.isfinite(m.lower).any() or np.isfinite(m.upper).any())
        self.plain_q = [
            k for b, w in zip(m.moving, m.q_slices, strict=True) if b.joint.nq == b.joint.nv for k in _range(w)
        ]
        self.plain_v = [
            k for b, w in zip(m.moving, m.v_slices, strict=True) if b.joint.nq == b.joint.nv for k in _range(w)
        ]

    def close(self, q: Floats, held: np.ndarray | None = None) -> tuple[Floats, np.ndarray]:
        """Levenberg-Marquardt from (N, nq); the configurations reached and whether they are closed, (N,).

        held: (N, nv), coordinates that stay where they are.
        """
        q = q.copy()
        moves = np.ones((len(q), self.mechanism.nv)) if held is None else np.where(held, 0.0, 1.0)
        damping = np.full(len(q), 1e-3)
        G, e = self._scaled(q, moves)
        cost = np.sum(e * e, axis=-1)
        for _ in range(_ROUNDS):
            working = ~self._is_closed(e) & (damping < 1e12)
            if not self._kept_of_live.all():
                # Redundant rows may not fit quite: near by, the kept ones go on alone.
                working &= np.abs(e).max(axis=-1, initial=0.0) > 0.1 * _LARGEST_LEFT_OUT
            if not working.any():
                break
            x = self._step(q[working], G[working], e[working], damping[working])
            tried = self.within_limits(integrate(self.mechanism, q[working], x * self.step_units * self.free, 1.0))
            new_G, new_e = self._scaled(tried, moves[working])
            new_cost = np.sum(new_e * new_e, axis=-1)
            better = new_cost < cost[working]
            indices = np.flatnonzero(working)
            damping[indices] = np.where(better, np.maximum(0.1 * damping[working], 1e-15), 8.0 * damping[working])
            # A step too short to matter ends in a place that does not close.
            damping[indices[np.abs(x).max(axis=-1, initial=0.0) < _SHORTEST_STEP]] = np.inf
            accepted = indices[better]
            q[accepted], G[accepted], e[accepted], cost[accepted] = (
                tried[better], new_G[better], new_e[better], new_cost[better],
            )  # fmt: skip
        return self._closed_by_kept_rows(q, moves, self._is_closed(e))

    def _closed_by_kept_rows(self, q: Floats, moves: Floats, closed: np.ndarray) -> tuple[Floats, np.ndarray]:
        """Close the kept rows alone where redundant ones that do not quite fit have kept (1) from it."""
        if self._kept_of_live.all():
            return q, closed
        for _ in range(_LAST_ROUNDS):
            G, e = self._scaled(q, moves)
            closed = self._is_closed(e)
            near = np.flatnonzero(~closed & (np.abs(e).max(axis=-1, initial=0.0) < _LARGEST_LEFT_OUT))
            if not near.size:
                break
            G, e = G[near][:, self._kept_of_live], e[near][:, self._kept_of_live]
            x = _damped(G, e, np.zeros(len(near)), self.curved)
            q[near] = self.within_limits(integrate(self.mechanism, q[near], x * self.step_units * self.free, 1.0))
        return q, closed

    def slide_towards(self, start: Floats, q: Floats) -> Floats:
        """Move closed configurations along the loops towards the start while that shortens the way; (2)."""
        m = self.mechanism
        distance = self._distance(start, q)
        pace = np.ones(len(q))
        for _ in range(_SLIDES):
            working = (pace > 1e-3) & (distance > 0.0)
            if not working.any():
                break
            step = pace[working, None] * self._along(start[working], q[working])
            tried, closed = self._closed_within_limits(integrate(m, q[working], step * self.step_units, 1.0))
            new_distance = self._distance(start[working], tried)
            better = closed & (new_distance < distance[working] * (1.0 - 1e-12))
            indices = np.flatnonzero(working)
            pace[indices] = np.where(better, np.minimum(1.0, 2.0 * pace[working]), 0.25 * pace[working])
            q[indices[better]], distance[indices[better]] = tried[better], new_distance[better]
            small = np.abs(step).max(axis=-1, initial=0.0) < 1e-12
            pace[indices[small]] = 0.0
        return q

    def _along(self, start: Floats, q: Floats) -> Floats:
        """The part of the way from q to the start that the loops allow, (N, nv) without units; (2)."""
        G = self._scaled(q)[0][:, self._kept_of_live]
        wish = difference(self.mechanism, q, start) / self.step_units * self.free
        inverse = np.asarray(np.linalg.pinv(G, rcond=1e-10), dtype=np.float64)
        return wish - times(inverse, times(G, wish))

    def move_nearer(self, start: Floats, q: Floats) -> Floats:
        """Repeat (2) while what the loops still allow of the way becomes shorter: the distance itself is flat there."""
        if self.limited:
            return q
        along = self._along(start, q)
        left = np.linalg.norm(along, axis=-1)
        for _ in range(_SLIDES):
            working = np.flatnonzero(left > 1e-12)
            if not working.size:
                break
            tried, closed = self.close(integrate(self.mechanism, q[working], along[working] * self.step_units, 1.0))
            new = self._along(start[working], tried)
            new_left = np.linalg.norm(new, axis=-1)
            better = closed & (new_left < 0.9 * left[working])
            left[working[~better]] = 0.0
            taken = working[better]
            q[taken], along[taken], left[taken] = tried[better], new[better], new_left[better]
        return q

    def _closed_within_limits(self, q: Floats) -> tuple[Floats, np.ndarray]:
        """Clip and close; coordinates that ran into a limit stay there if the others can close the loops."""
        clipped = self.within_limits(q)
        if not self.limited:
            return self.close(clipped)
        at = np.zeros((len(q), self.mechanism.nv), dtype=bool)
        at[:, self.plain_v] = clipped[:, self.plain_q] != q[:, self.plain_q]
        tried, closed = self.close(clipped, at)
        left = np.flatnonzero(~closed)
        if left.size:
            tried[left], closed[left] = self.close(clipped[left])
        return tried, closed

    def look_around(self, start: Floats, q: Floats, seed: int) -> Floats:
        """Replace closed configurations by nearer ones of another way to assemble, where there are."""
        m = self.mechanism
        distance = self._distance(start, q)
        for look in range(_LOOKS):
            far = np.flatnonzero(distance > _NEAR)
            if not far.size:
                break
            if look == 0:
                way = -difference(m, start[far], q[far]) / self.step_units
            else:
                rng = np.random.default_rng([seed, _RESTARTS + look])
                way = np.tile(rng.standard_normal(m.nv) * self.free, (len(far), 1))
                length = np.maximum(np.linalg.norm(way, axis=-1), np.finfo(np.float64).tiny)
                way *= (rng.uniform(0.3, 1.0) * distance[far] / length)[:, None]
            tried, closed = self.close(self.within_limits(integrate(m, start[far], way * self.step_units, 1.0)))
            # Only those on another side than before can slide to another place.
            other = np.flatnonzero(closed & (np.linalg.norm(difference(m, q[far], tried), axis=-1) > 1e-6))
            if not other.size:
                continue
            where, moved = far[other], self.slide_towards(start[far[other]], tried[other])
            reached = self._distance(start[where], moved)
            nearer = reached < (1.0 - 1e-6) * distance[where]
            q[where[nearer]], distance[where[nearer]] = moved[nearer], reached[nearer]
        return q

    def polish(self, q: Floats) -> Floats:
        """One more Newton step, kept where it brings the error closer to rounding."""
        G, e = self._scaled(q)
        x = _damped(G[:, self._kept_of_live], e[:, self._kept_of_live], np.zeros(len(q)), self.curved)
        tried = self.within_limits(integrate(self.mechanism, q, x * self.step_units * self.free, 1.0))
        better = self.size_of_error(tried) < self.size_of_error(q)
        return np.where(better[:, None], tried, q)

    def within_limits(self, q: Floats) -> Floats:
        """Clip coordinates to their limits."""
        if not self.limited:
            return q
        m = self.mechanism
        q = q.copy()
        clipped = np.clip(q[:, self.plain_q], m.lower[self.plain_v], m.upper[self.plain_v])
        q[:, self.plain_q] = np.where(self.free[self.plain_v] > 0.0, clipped, q[:, self.plain_q])
        return q

    def limits_in_the_way(self, guess: Floats) -> list[str]:
        """Joints whose limits the nearest closed configuration leaves; none when it does not close without them."""
        if not self.limited:
            return []
        freely = copy.copy(self)
        freely.limited = False
        (q,), (closed,) = freely.close(guess[None])
        outside = np.abs(self.within_limits(q[None])[0] - q) > _SHORTEST_STEP
        m = self.mechanism
        return [m.joint_names[k] for k, where in enumerate(m.q_slices) if closed and outside[where].any()]

    def size_of_error(self, q: Floats) -> Floats:
        """Largest error of each configuration's kept rows, in lengths of the mechanism or rad."""
        kept = self.judged.kept
        return np.abs(self.system.position_error(q)[:, kept] / self.error_units[kept]).max(axis=-1, initial=0.0)

    def gap(self, q: Floats) -> Floats:
        """How far each configuration is from closed, whatever the axes of the loops' rows: |e| of (1)."""
        live = self.judged.live
        return np.linalg.norm((self.system.position_error(q) / self.error_units)[..., live], axis=-1)

    def _is_closed(self, e: Floats) -> np.ndarray:
        return np.asarray((np.abs(e) <= self._tolerance).all(axis=-1))

    def _scaled(self, q: Floats, moves: Floats | None = None) -> tuple[Floats, Floats]:
        """Live rows (N, n, nv) without the columns of fixed joints, or of those that do not move, and errors (N, n),
        free of units."""
        live = self.judged.live
        G, e = self.system.placed_jacobian_and_error(q)
        G = G[:, live] * (self.step_units * self.free) / self.error_units[live, None]
        return G if moves is None else G * moves[:, None, :], e[:, live] / self.error_units[live]

    def _step(self, q: Floats, G: Floats, e: Floats, damping: Floats) -> Floats:
        """One damped step (N, nv); coordinates that would leave their limits are taken out once and it is repeated."""
        x = _damped(G, e, damping, self.curved)
        if not self.limited:
            return x
        m = self.mechanism
        at = np.zeros(x.shape, dtype=bool)
        at[:, self.plain_v] = (
            (q[:, self.plain_q] <= m.lower[self.plain_v]) & (x[:, self.plain_v] < 0.0)
        ) | ((q[:, self.plain_q] >= m.upper[self.plain_v]) & (x[:, self.plain_v] > 0.0))  # fmt: skip
        return _damped(G * ~at[:, None, :], e, damping, self.curved) if at.any() else x

    def _distance(self, start: Floats, q: Floats) -> Floats:
        return np.linalg.norm(difference(self.mechanism, start, q) / self.step_units, axis=-1)


def _curved(m: Mechanism) -> Floats:
    """(nv,), 1 for coordinates that loops or polynomials depend on; the others, such as rotors, enter linearly."""
    weights = np.zeros(m.nv)
    for loop in m.loops:
        ways = [_moved_by(m, body) for body in (loop.body_a, loop.body_b)]
        for joint in ways[0] ^ ways[1]:
            weights[m.v_slices[m.joint_index(joint)]] = 1.0
    for coupling in m.couplings:
        for joint in coupling.joints if coupling.polynomial else ():
            weights[m.v_slices[m.joint_index(joint)]] = 1.0
    return weights


def _moved_by(m: Mechanism, body: str) -> set[str]:
    """Joints that move a body."""
    joints = set()
    while body != WORLD:
        one = m.bodies_by_name[body]
        if one.joint.nv:
            joints.add(one.joint.name)
        body = one.parent
    return joints


def _damped(G: Floats, e: Floats, damping: Floats, weights: Floats) -> Floats:
    """Solve (1) through the small side: x = -Gᵀ(G Gᵀ + μ)⁻¹ e, with singular values instead of the squared matrix.

    weights: (nv,), 1 for coordinates whose steps stay short.
    """
    U, s, Vt = np.linalg.svd(G, full_matrices=False)
    mu = damping * np.maximum(np.sum(e * e, axis=-1), 1e-30)
    cut = 1e-12 * s[..., :1]
    filtered = np.where(s > cut, s / (s * s + mu[..., None] + np.finfo(np.float64).tiny), 0.0)
    x = -transposed_times(Vt, filtered * transposed_times(U, e))
    # Short steps stay in the valley the guess lies in: the way of assembly the user meant.
    longest = np.abs(x * weights).max(axis=-1)
    return x * np.minimum(1.0, _LONGEST_STEP / np.maximum(longest, _LONGEST_STEP))[..., None]


def _refuse(system: ConstraintSystem, q: Floats, batch: tuple[int, ...], state: int, limits: list[str]) -> None:
    """Say which loops and couplings stay open, the widest first, and by how much."""
    error = system.position_error(q)
    where = f" in state {[int(i) for i in np.unravel_index(state, batch)]}" if batch else ""
    size = np.abs(error) / system.row_units
    names = [f'loop "{system.loops.names[k]}"' for k in system.loops.row_loop]
    names += [f'coupling "{coupling.name}"' for coupling in system.mechanism.couplings]
    widest: dict[str, int] = {}
    for row in np.argsort(-size):
        if size[row] > 1e-3 * size.max():
            widest.setdefault(names[row], int(row))
    gaps = [f"{name} stays {opening(system, error, row)}" for name, row in widest.items()]
    way_out = "expected lengths, fixed joints and limits that let it close"
    if limits:
        more = f" and {len(limits) - _SOME} more" if len(limits) > _SOME else ""
        way_out = f"it closes outside the limits of {', '.join(limits[:_SOME])}{more}: respect_limits=False"
    raise ClosingError(
        f"close_loops: {system.mechanism.name} cannot be closed{where}: {', '.join(gaps)} at best, {_place(q)}; "
        f"{way_out}",
        q,
        error,
    )


def _place(q: Floats) -> str:
    """The best configuration in words; a long one is left to the attribute of the error."""
    if len(q) > _FEW:
        return "in the configuration that the error holds"
    return f"at q = [{', '.join(f'{number + 0.0:.4g}' for number in np.round(q, 6))}]"


def opening(system: ConstraintSystem, error: Floats, row: int) -> str:
    """Return how far the loop or coupling of a row is from closed: 'open by 3 mm and 0 degrees', or 'off by 0.1'."""
    t = system.loops
    if row >= system.n_loop_rows:
        return f"off by {abs(error[row]):.6g}"
    rows = t.row_loop == t.row_loop[row]
    turning = np.abs(t.row_wrench[:, :3]).max(axis=-1) == 0.0
    own = error[: system.n_loop_rows]
    gap, angle = (float(np.linalg.norm(own[rows & side])) for side in (~turning, turning))
    return f"open by {1e3 * gap:.4g} mm and {np.degrees(angle):.4g} degrees"


def _range(where: slice) -> range:
    return range(where.start, where.stop)
