"""Which rows of loops and couplings hold a mechanism, and which only repeat others: judged once per mechanism.

A planar linkage written down in space has rows that move nothing; a Bennett or Sarrus linkage has rows that depend on
the others wherever it is closed; rounded axes make such rows a little different from zero. What counts as zero cannot
be read off one state: near a change point rows that matter fade. So rows are compared over several configurations, made
from a fixed seed, and the result is kept with the mechanism. Compiled steps, batches and single states all use it.

| symbol | meaning |
|---|---|
| R_l | rows of loop l on its path: translations over its longest lever, turns over √(joints), travel in levers |
| u, σ | left singular vectors and values of [R_l(q_1) … R_l(q_4)] / 2 at random configurations, open or not |
| rank | of all live rows of loops that share velocities, at closed configurations reached by hops along the loops |

    σ <= 1e-10                  dead: u·R_l is rounding everywhere, as out of the plane of a planar loop           (1)
    1e-10 < σ <= 1e-4           weak: left out if, held, it stops its loop, which moves without it; else live      (2)
    rank = rows somewhere       all live rows are kept; where their rank is smaller, the configuration is singular (3)
    rank < rows everywhere      over-constrained: the rows with the largest mean log remaining norm are kept       (4)

For each combination that is left out, one row is left out: the one with the largest part in it, so that rows of the
file are kept as they are. (2) is for axes that are parallel but for rounding (π/2 as 1.5708); a planar loop on
eccentrics of 10 µm has combinations as weak, and moves with them. In (4) combinations below 1e-9 at every sample
depend exactly; weaker ones than 1e-4 are judged by (2).

Cost: the paths of all loops, and singular values of the live rows that hang together; once per mechanism.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.loop_joints import loop_paths
from setsu.constraints.loop_motion import LoopPoses, loop_poses
from setsu.constraints.prescribed import DrivenCoupling
from setsu.constraints.ranks import EXACT, WEAK
from setsu.constraints.stacked import Floats, cross, length_of, times, transposed_times
from setsu.constraints.system import ConstraintSystem, constraint_system
from setsu.dynamics import integrate
from setsu.dynamics.catalogue import native_function
from setsu.elementary import matmul
from setsu.errors import InputError, ModelWarning

__all__ = [
    "LEFT_OPEN",
    "Redundancy",
    "redundancy",
    "refuse_locked",
    "typical_pivots",
    "warn_of_left_out",
]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_SEED, _CONFIGURATIONS = 2014, 4
_DEAD = 1e-10
LEFT_OPEN = 1e-9
"""Error (m or rad) of a row that is left out above which a warning says so."""
_TILTED = 1e-2
_HOPS, _HOP, _ROUNDS, _RESTARTS = 6, 0.25, 25, 8
_CLOSED, _NEARLY_CLOSED = 1e-10, 1e-3
_MOST_DENSE = 600  # rows that hang together, up to which singular values are looked at


@dataclass(frozen=True)
class Redundancy:
    """The judgement on the rows of loops and couplings (n).

    kept: (n,) rows that hold the mechanism; they are independent but at singular configurations.
    live: (n,) kept rows and those that depend on them at closed configurations only.
    locked: why loops that move but for small tilts of their axes are stuck, or "".
    length: (n,) what an error is small against: the longest lever of its loop (m), or 1 for turns and couplings.
    closed: a closed configuration (nq,) that was looked at, or None.
    """

    kept: Bools
    live: Bools
    locked: str
    length: Floats
    closed: Floats | None

    @property
    def rank(self) -> int:
        """Number of independent rows in general."""
        return int(self.kept.sum())


def redundancy(system: ConstraintSystem) -> Redundancy:
    """Return the judgement on a mechanism's rows of loops and couplings, made once and kept with the mechanism.

    >>> import setsu
    >>> system = constraint_system(setsu.sample_mechanisms.four_bar())
    >>> int(redundancy(system).kept.sum()), system.n_held
    (2, 5)
    """
    kept = system.mechanism.__dict__
    if "_redundancy" not in kept:
        if not system.n_held:
            none = np.zeros(0, dtype=bool)
            return Redundancy(none, none, "", np.zeros(0), system.mechanism.neutral())
        own = system if not system.contacts else constraint_system(system.mechanism)
        kept["_redundancy"] = _with_drives(own) or _Judge(own).judgement()
    return kept["_redundancy"]


def _with_drives(system: ConstraintSystem) -> Redundancy | None:
    """The judgement on the mechanism without drives, whose rows are kept; None where there are none.

    With them it may not move at all, which would say nothing about its loops.
    """
    m = system.mechanism
    own = tuple(coupling for coupling in m.couplings if not isinstance(coupling, DrivenCoupling))
    drives = len(m.couplings) - len(own)
    if not drives:
        return None
    judged = redundancy(constraint_system(replace(m, couplings=own)))
    held = np.ones(drives, dtype=bool)
    return Redundancy(
        np.append(judged.kept, held), np.append(judged.live, held), judged.locked,
        np.append(judged.length, np.ones(drives)), judged.closed,
    )  # fmt: skip


def random_configurations(system: ConstraintSystem, count: int, size: float = 1.0) -> Floats:
    """Return configurations (count, nq) about `size` rad away from the neutral one; loops are open there."""
    m = system.mechanism
    spread = size * np.random.default_rng(_SEED).standard_normal((count, m.nv))
    spread *= np.where(system.travels, 0.3 * system.length, 1.0)
    return integrate(m, np.tile(m.neutral(), (count, 1)), spread, 1.0)


def typical_pivots(
    system: ConstraintSystem, count: int, rows_and_mass: Callable[[Floats], tuple[Floats, Floats]]
) -> Floats:
    """Return the pivots (count,) of G M⁻¹ Gᵀ for rows in an order of elimination, the least over random configurations.

    rows_and_mass: G (count, nv) and M (nv, nv), which may be overwritten, at coordinates (nq,).
    Against them, and not against the rows of the present state, a pivot is small: rows fade at singular configurations.
    """
    m = system.mechanism
    if not count:
        return np.zeros(0)
    found = np.full(count, np.inf)
    for q in random_configurations(system, 3 if m.nv <= _MOST_DENSE else 1):
        G, M = rows_and_mass(q)
        if m.nv > _MOST_DENSE:
            found = np.minimum(found, 1e-2 * (G * G / np.diagonal(M)).sum(axis=1))
            continue
        try:
            L = np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            # Parts without mass, which the rows hold: compiled_factor.py adds the same.
            L = np.linalg.cholesky(M + np.trace(M) / np.sum(G * G) * (G.T @ G) + 1e-14 * np.trace(M) * np.eye(m.nv))
        R = np.linalg.qr(np.linalg.solve(L, G.T), mode="r")
        pivots = np.zeros(count)
        pivots[: len(R)] = np.diagonal(R) ** 2
        found = np.minimum(found, pivots)
    return np.maximum(found, 1e-12 * max(float(found.max()), 1e-300))


def refuse_locked(system: ConstraintSystem, function: str) -> None:
    """Raise an InputError for loops that small tilts of their axes keep from moving."""
    locked = redundancy(system).locked if system.n_held else ""
    if locked:
        raise InputError(f"{function}: {system.mechanism.name}: {locked}")


def warn_of_left_out(system: ConstraintSystem, error: Floats, function: str, stacklevel: int = 3) -> None:
    """Warn of rows that are left out as redundant and are open all the same, at errors (n,) of one configuration."""
    if not system.n_held:
        return
    left = np.where(redundancy(system).kept, 0.0, np.abs(error[: system.n_held]))
    worst = int(np.argmax(left))
    if left[worst] > LEFT_OPEN:
        warnings.warn(
            f"{function}: {system.mechanism.name} is over-constrained, and its redundant constraints do not fit: "
            f"{system.names[worst]} stays open by {left[worst]:.3g} (m or rad) while the others are closed; it is left "
            "out, as joint axes that are parallel but for rounding ask for",
            ModelWarning,
            stacklevel=stacklevel + 1,
        )


class _Judge:
    """Rows of all loops and couplings at any configurations, scaled, and what they say."""

    def __init__(self, system: ConstraintSystem) -> None:
        self.system, m, t = system, system.mechanism, system.loops
        self.rng = np.random.default_rng(_SEED)
        self.travels = system.travels
        paths = loop_paths(m, t)
        n_loops = len(t.names)
        starts = np.searchsorted(t.row_loop, np.arange(n_loops + 1))
        self.rows = [np.arange(starts[k], starts[k + 1]) for k in range(n_loops)]
        self.paths = [path for path, _ in paths]
        self.signs = [sign for _, sign in paths]
        first = system.n_loop_rows
        self.rows += [np.array([first + c]) for c in range(len(m.couplings))]
        self.paths += [np.flatnonzero(row) for row in system.coupling_jacobian]
        sizes: dict[tuple[bool, int, int], list[int]] = {}
        for g, (rows, path) in enumerate(zip(self.rows, self.paths, strict=True)):
            sizes.setdefault((g < n_loops, len(rows), len(path)), []).append(g)
        self.alike = [  # groups, their rows (alike, n), their paths (alike, p): loops, or couplings, of equal sizes
            (np.array(groups), np.array([self.rows[g] for g in groups]), np.array([self.paths[g] for g in groups]))
            for groups in sizes.values()
        ]
        start = m.neutral()
        spread = self.rng.standard_normal((_CONFIGURATIONS, m.nv)) * np.where(self.travels, 0.3 * system.length, 1.0)
        self.open = integrate(m, np.tile(start, (_CONFIGURATIONS, 1)), spread, 1.0)
        self._open_columns = self._columns(self.open)
        self.lever = self._levers()
        self.column = np.ones(m.nv)
        for lever, path in zip(self.lever, self.paths, strict=False):
            self.column[path] = np.where(self.travels[path], np.maximum(lever, self.column[path]), 1.0)
        translates = np.abs(t.row_wrench[:, :3]).max(axis=-1, initial=0.0) > 0.0
        joints = np.sqrt([max(len(path), 1) for path in self.paths[:n_loops]])
        unit = np.where(translates, self.lever[t.row_loop], joints[t.row_loop]) if n_loops else np.zeros(0)
        couplings = np.linalg.norm(system.coupling_jacobian * self.column, axis=-1)
        self.unit = np.concatenate([unit, np.where(couplings > 0.0, couplings, 1.0)])
        turns = np.where(translates, self.lever[t.row_loop], 1.0) if n_loops else np.zeros(0)
        self.length = np.concatenate([turns, np.ones(len(couplings))])

    # Rows ----------------------------------------------------------------------------------------------------------

    def _columns(self, q: Floats) -> tuple[LoopPoses, list[Floats]]:
        """Geometry of the loops, and of those that are alike the motions (S, alike, path, 6) of b against a."""
        system, t = self.system, self.system.loops
        poses, directions = native_function(system.mechanism, "world_poses").fast(q)
        world = np.broadcast_to(np.eye(4), (len(q), 1, 4, 4))
        poses = np.concatenate([poses, world], axis=1)
        ends = loop_poses(t, poses)
        pins = poses[:, t.body_b][..., :3, 3] + ends.arm_b
        columns = []
        for loops, _, paths in self.alike:
            if loops[0] >= len(self.signs):
                break  # couplings
            signs = np.array([self.signs[loop] for loop in loops])
            moved = np.moveaxis(directions[:, :, paths], 1, -1)
            turn = moved[..., 3:6]
            linear = moved[..., :3] + cross(turn, pins[:, loops, None] - moved[..., 6:])
            columns.append(signs[..., None] * np.concatenate([linear, turn], axis=-1))
        return ends, columns

    def _levers(self) -> Floats:
        """The longest lever of each loop (m): its travel per turn of a joint, or the mechanism's length."""
        _, columns = self._open_columns
        levers = np.ones(len(self.signs))
        for (loops, _, paths), column in zip(self.alike, columns, strict=False):
            lengths = np.where(self.travels[paths], 0.0, length_of(column[..., :3]))
            levers[loops] = lengths.max(axis=(0, 2), initial=0.0)
        return np.where(levers > 0.0, levers, self.system.length)

    def at(self, q: Floats) -> list[Floats]:
        """Scaled rows (S, rows, path) of every loop and coupling at configurations (S, nq)."""
        result: list[Floats] = [np.zeros(0)] * len(self.rows)
        for (groups, _, _), block in zip(self.alike, self._blocks(q), strict=True):
            for k, group in enumerate(groups.tolist()):
                result[group] = block[:, k]
        return result

    def _blocks(self, q: Floats) -> list[Floats]:
        """The same of those that are alike, (S, alike, rows, path)."""
        ends, columns = self._open_columns if q is self.open else self._columns(q)
        halves = ends.wrench.reshape(*ends.wrench.shape[:-1], 2, 3, 1)
        turned = matmul(ends.rotation_a[:, self.system.loops.row_loop][:, :, None], halves)
        wrench = turned.reshape(ends.wrench.shape)
        blocks = [
            wrench[:, rows] @ np.swapaxes(column, 2, 3)
            for (_, rows, _), column in zip(self.alike, columns, strict=False)
        ]
        if len(blocks) < len(self.alike):
            couplings = self.system.couplings.jacobian_at(q)
            for _, rows, paths in self.alike[len(blocks) :]:
                blocks.append(couplings[:, rows - self.system.n_loop_rows, paths][:, :, None])
        return [
            block * self.column[paths][:, None] / self.unit[rows][..., None]
            for (_, rows, paths), block in zip(self.alike, blocks, strict=True)
        ]

    def _stacked(self, parts: list[Floats], rows: Ints, columns: Ints, groups: list[int]) -> Floats:
        """Chosen rows of some groups as one array (S, rows, columns)."""
        place = np.full(len(self.unit), -1)
        place[rows] = np.arange(len(rows))
        where = np.full(self.system.mechanism.nv, -1)
        where[columns] = np.arange(len(columns))
        result = np.zeros((len(parts[0]), len(rows), len(columns)))
        for g in groups:
            own = np.flatnonzero(place[self.rows[g]] >= 0)
            result[:, place[self.rows[g][own]][:, None], where[self.paths[g]]] = parts[g][:, own]
        return result

    # Judgement -----------------------------------------------------------------------------------------------------

    def judgement(self) -> Redundancy:
        """Go through (1) to (4)."""
        n = len(self.unit)
        live, weak = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
        for dead, left in self._weak_rows():
            live[dead] = False  # (1)
            weak[left] = True
        weak &= live
        components = self._components()
        near = self._nearly_closed(live & ~weak)
        if weak.any() and near is not None:
            parts = self.at(self._hops(near, live & ~weak)[-1:])
            for groups in components:
                self._leave_out_weak(groups, parts, live, weak)  # (2)
        kept, locked = live.copy(), []
        samples = near[None] if near is not None else None
        for groups in components:
            rows = np.concatenate([self.rows[g] for g in groups])
            rows = np.sort(rows[live[rows]])
            columns = np.unique(np.concatenate([self.paths[g] for g in groups]))
            if samples is None or not len(rows) or len(rows) > _MOST_DENSE:
                continue
            G = self._stacked(self.at(samples[:1]), rows, columns, groups)
            s = np.linalg.svd(G[0], compute_uv=False)
            if len(rows) <= len(columns) and s[-1] > WEAK * s[0]:
                continue  # (3) already here
            if len(samples) == 1:
                samples = self._hops(samples[0], live)
            G = self._stacked(self.at(samples), rows, columns, groups)
            out, reason = self._dependent(G, rows, columns, groups)  # (3), (4)
            kept[out] = False
            if reason:
                locked.append(reason)
        return Redundancy(kept, live, "; ".join(locked), self.length, near)

    def _weak_rows(self) -> Iterator[tuple[Ints, Ints]]:
        """Dead rows, and those and weak ones, of loops and couplings that are alike."""
        for (_, rows, _), block in zip(self.alike, self._blocks(self.open), strict=True):
            samples, count, n, _ = block.shape
            stacked = np.moveaxis(block, 0, 2).reshape(count, n, -1)
            U, s, _ = np.linalg.svd(stacked / np.sqrt(samples))
            s = np.concatenate([s, np.zeros((len(s), n - s.shape[1]))], axis=1)
            yield _owned(rows, U, s <= _DEAD), _owned(rows, U, s <= WEAK)

    def _components(self) -> list[list[int]]:
        """Loops and couplings that share velocities, directly or through others."""
        leader = list(range(len(self.rows)))

        def top(g: int) -> int:
            while leader[g] != g:
                leader[g] = leader[leader[g]]
                g = leader[g]
            return g

        owner: dict[int, int] = {}
        for g, path in enumerate(self.paths):
            for d in path.tolist():
                leader[top(g)] = top(owner.setdefault(d, g))
        found: dict[int, list[int]] = {}
        for g in range(len(self.rows)):
            found.setdefault(top(g), []).append(g)
        return list(found.values())

    def _leave_out_weak(self, groups: list[int], parts: list[Floats], live: Bools, weak: Bools) -> None:
        """Rule (2) for the loops of a component at one configuration."""
        rows = np.concatenate([self.rows[g] for g in groups])
        if not weak[rows].any():
            return
        columns = np.unique(np.concatenate([self.paths[g] for g in groups]))
        where = np.full(self.system.mechanism.nv, -1)
        where[columns] = np.arange(len(columns))
        with_weak = self._stacked(parts, np.sort(rows[live[rows]]), columns, groups)[0]
        without = self._stacked(parts, np.sort(rows[live[rows] & ~weak[rows]]), columns, groups)[0]
        stuck, free = _motions(with_weak, _DEAD), _motions(without, WEAK)
        for g in groups:
            own = self.rows[g][weak[self.rows[g]]]
            path = where[self.paths[g]]
            if len(own) and _moves(free[:, path]) and not _moves(stuck[:, path]):
                live[own] = False

    def _dependent(self, G: Floats, rows: Ints, columns: Ints, groups: list[int]) -> tuple[Ints, str]:
        """Rows to leave out of G (S, rows, columns) at closed configurations, and why nothing moves, or ""."""
        s = np.linalg.svd(G, compute_uv=False)
        s = np.concatenate([s / s[:, :1], np.zeros((len(s), max(len(rows) - s.shape[1], 0)))], axis=1)
        strong, exact = (int((s > limit).sum(axis=1).max()) for limit in (WEAK, EXACT))
        if strong == len(rows):
            return rows[:0], ""  # (3)
        rank = strong if exact > strong and exact >= len(columns) > strong else exact
        reason = ""
        tilted = int((s > _TILTED).sum(axis=1).max())
        if rank >= len(columns) > tilted and len(rows) > rank:
            names = ", ".join(f'"{self.system.loops.names[g]}"' for g in groups if g < len(self.lever))
            joints = self.system.mechanism.moving
            bodies = sorted({int(b) for b in self._bodies_of(columns)})
            axes = ", ".join(joints[b].joint.name for b in bodies[:12])
            reason = (
                f"loops {names} are stuck: the axes of {axes} are out of line by about {float(s[0, tilted]):.2g} rad, "
                "more than rounding, and leave no motion; expected axes that are parallel, or a loop joint that gives "
                "way (Cylindrical, Spherical)"
            )
        return np.setdiff1d(rows, rows[_best_rows(G, rank)]), reason

    def _bodies_of(self, columns: Ints) -> Ints:
        ends = np.array([where.stop for where in self.system.mechanism.v_slices])
        return np.searchsorted(ends, columns, side="right")

    # Closed configurations -----------------------------------------------------------------------------------------

    def _nearly_closed(self, live: Bools) -> Floats | None:
        """A closed configuration (nq,): the neutral one, or one found near it; None where none was found."""
        m = self.system.mechanism
        start = m.neutral()
        if self._error(start[None], live)[0].max(initial=0.0) <= _NEARLY_CLOSED or m.nv > _MOST_DENSE:
            return start
        spread = self.rng.standard_normal((_RESTARTS, m.nv)) * self.column * 0.3
        spread[0] = 0.0
        q, left = self._closed(integrate(m, np.tile(start, (_RESTARTS, 1)), spread, 1.0), live, 100)
        return q[int(np.argmin(left))] if left.min() < _NEARLY_CLOSED else None

    def _error(self, q: Floats, live: Bools) -> Floats:
        """Sizes of the live rows' scaled errors, (S, rows)."""
        return np.abs(self.system.position_error(q)[:, live] / self.unit[live])

    def _closed(self, q: Floats, live: Bools, rounds: int) -> tuple[Floats, Floats]:
        """Gauss-Newton steps along the strong singular values; configurations (S, nq) and what is left (S,)."""
        m, left = self.system.mechanism, np.zeros(len(q))
        for _ in range(rounds):
            G, e = self.system.placed_jacobian_and_error(q)
            U, s, Vt = np.linalg.svd(G[:, live] * self.column / self.unit[live, None], full_matrices=False)
            along = transposed_times(U, e[:, live] / self.unit[live])
            strong = s > 1e-3 * s[:, :1]
            left = np.abs(np.where(strong, along, 0.0)).max(axis=1, initial=0.0)
            if (left < _CLOSED).all():
                break
            x = -transposed_times(Vt, np.where(strong, along / np.where(strong, s, 1.0), 0.0))
            x *= np.minimum(1.0, 0.3 / np.maximum(np.abs(x).max(axis=1, keepdims=True), 1e-300))
            q = integrate(m, q, x * self.column, 1.0)
        return q, left

    def _hops(self, start: Floats, live: Bools) -> Floats:
        """Closed configurations (S, nq) along a way of random hops that the loops allow, the start first."""
        m = self.system.mechanism
        q, left = self._closed(start[None], live, _ROUNDS)
        if left[0] > _CLOSED:
            return start[None]
        found = [q[0]]
        for hop in _HOP * 0.5 ** np.repeat(np.arange(3), _HOPS):
            G, _ = self.system.placed_jacobian_and_error(found[-1][None])
            free = _motions(G[0, live] * self.column / self.unit[live, None], 1e-3)
            wish = self.rng.standard_normal(m.nv)
            x = times(free.T, times(free, wish))
            size = float(np.abs(x).max(initial=0.0))
            if size < 1e-9:
                break
            q, left = self._closed(integrate(m, found[-1][None], x * self.column * (hop / size), 1.0), live, _ROUNDS)
            if left[0] < _CLOSED:
                found.append(q[0])
            if len(found) > _HOPS:
                break
        return np.array(found)


def _owned(rows: Ints, U: Floats, chosen: Bools) -> Ints:
    """Of rows (groups, n) those that have the largest parts in chosen columns (groups, n) of U: one for each."""
    left, found = U * chosen[:, None, :], []
    count, group = chosen.sum(axis=1), np.arange(len(rows))
    for k in range(int(count.max(initial=0))):
        size = np.linalg.norm(left, axis=2)
        # Of equals the last: rows named first are kept.
        largest = (size > (1.0 - 1e-6) * size.max(axis=1, keepdims=True)) | (size == 0.0).all(axis=1)[:, None]
        row = rows.shape[1] - 1 - np.argmax(largest[:, ::-1], axis=1)
        found.append(rows[group, row][count > k])
        direction = left[group, row] / np.maximum(size[group, row], 1e-300)[:, None]
        left = left - times(left, direction)[..., None] * direction[:, None, :]
    return np.concatenate([rows[:0, 0], *found])


def _motions(rows: Floats, tolerance: float) -> Floats:
    """Orthonormal motions (free, columns) that rows (n, columns) leave."""
    if not len(rows):
        return np.eye(rows.shape[1])
    _, s, Vt = np.linalg.svd(rows)
    return Vt[int(np.sum(s > tolerance * max(float(s[0]), 1e-300))) :]


def _moves(motions: Floats) -> bool:
    return bool(np.abs(motions).max(initial=0.0) > 1e-6)


def _best_rows(G: Floats, rank: int) -> list[int]:
    """The `rank` rows of G (S, n, columns) whose mean log remaining norm over the samples is largest, one by one."""
    left, chosen = G.copy(), []
    for _ in range(rank):
        size = np.linalg.norm(left, axis=-1)
        score = np.log(np.maximum(size, 1e-12)).mean(axis=0)
        score[chosen] = -np.inf
        row = int(np.flatnonzero(score > score.max() - 1e-6)[0])
        chosen.append(row)
        direction = left[:, row] / np.maximum(size[:, row, None], 1e-300)
        left = left - times(left, direction)[..., None] * direction[:, None]
    return chosen
