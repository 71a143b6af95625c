"""Random spatial four-bars and seven-bars, and the rank of their energies by an implementation of its own.

The reference shares nothing with `setsu.minimum_parameters`: the loop is one closed chain of hinges and slides, the
loop joint included, a ball joint is three hinges, positions and velocities are products of 4x4 matrices in mpmath
numbers of 120 digits, and the rank is that of an elimination with complete pivots.

    A_1 D_1(q_1) A_2 D_2(q_2) ... A_n D_n(q_n) = 1                                           closure, at q = 0 as well
    T = ½ m |v|² + mc · (v x ω) + ½ ωᵀ I ω,  V = -g · (m p + R mc)                           energies of a body

Families: RSCR, RSSR, RCCC, 7R with random placements; spherical four-bars (axes through one point); Bennett's linkage
(equal opposite sides, a / sin α = b / sin β), which moves only because its lengths and angles fit.

    python tests/unit/minimum_parameters/spatial_loops.py       writes benchmarks/parameters/spatial_loops.md
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import mpmath as mp
import numpy as np

import setsu

__all__ = [
    "FAMILIES",
    "Linkage",
    "Outcome",
    "faults_of_the_study",
    "high_precision_rank",
    "random_linkage",
    "run_study",
    "study",
    "table",
    "write_study",
]

FAMILIES = ("RSCR", "RSSR", "RCCC", "7R", "spherical", "Bennett")
NEVER_REFUSED = ("RSCR", "RSSR", "RCCC")
"""Families that close for any geometry: a refusal of one of these is a fault."""

LARGEST_TORQUE_ERROR = 1e-11
STUDY = Path(__file__).parents[3] / "benchmarks" / "parameters" / "spatial_loops.md"
DIGITS = 120
_GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True)
class Linkage:
    """Joint letters (R, C, S) around the loop, and the placement (mpmath 4x4) in front of each joint, about its z."""

    family: str
    joints: str
    placements: tuple[mp.matrix, ...]

    def mechanism(self) -> setsu.Mechanism:
        """All bodies but the frame; the last joint closes the loop."""
        builder = setsu.MechanismBuilder(self.family, gravity=_GRAVITY)
        kinds = {"R": setsu.Revolute, "C": setsu.Cylindrical}
        parent = "world"
        for k, letter in enumerate(self.joints[:-1]):
            joint = setsu.Spherical(f"j{k}") if letter == "S" else kinds[letter]((0, 0, 1), f"j{k}")
            builder.add_body(f"b{k}", parent, joint, _floats(self.placements[k]), mass=1.0, inertia=np.eye(3))
            parent = f"b{k}"
        last = setsu.Spherical() if self.joints[-1] == "S" else kinds[self.joints[-1]]((0, 0, 1))
        builder.add_loop("closure", parent, "world", last, _floats(self.placements[-1]), np.eye(4))
        return builder.build()


def random_linkage(family: str, seed: int) -> Linkage:
    """Return a linkage that is closed at q = 0."""
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    with mp.workdps(DIGITS):
        if family == "Bennett":
            return Linkage(family, "RRRR", _bennett(rng))
        joints = {"7R": "RRRRRRR", "spherical": "RRRR"}.get(family, family)
        placements, total, shift = [], mp.eye(4), mp.mpf(0)
        for _ in joints[:-1]:
            A = _random_turn(rng)
            if family != "spherical":
                A[0, 3], A[1, 3], A[2, 3] = (mp.mpf(float(x)) for x in rng.uniform(-0.6, 0.6, 3))
            else:
                # All axes pass through one point; every other linkage has its origins elsewhere on the axes.
                new = mp.mpf(float(rng.uniform(-0.5, 0.5)) * (seed % 2))
                A, shift = _along(-shift) * A * _along(new), new
            placements.append(A)
            total = total * A
        placements.append(mp.inverse(total))
        return Linkage(family, joints, tuple(placements))


def _along(distance: mp.mpf | float) -> mp.matrix:
    A = mp.eye(4)
    A[2, 3] = mp.mpf(distance)
    return A


def _random_turn(rng: np.random.Generator) -> mp.matrix:
    x, y, z, w = (mp.mpf(float(e)) for e in rng.standard_normal(4))
    s = 2 / (x * x + y * y + z * z + w * w)
    return mp.matrix(
        [
            [1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y), 0],
            [s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x), 0],
            [s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y), 0],
            [0, 0, 0, 1],
        ]
    )


def _bennett(rng: np.random.Generator) -> tuple[mp.matrix, ...]:
    alpha, beta = (mp.mpf(float(x)) for x in sorted(rng.uniform(0.4, 2.6, 2)))
    a = mp.mpf(float(rng.uniform(0.3, 0.8)))
    b = a * mp.sin(beta) / mp.sin(alpha)
    first = mp.mpf(float(rng.uniform(0.6, 1.6)))
    ratio = mp.sin((beta + alpha) / 2) / mp.sin((beta - alpha) / 2)
    second = 2 * mp.atan(ratio / mp.tan(first / 2))
    angles = (first, second, -first, -second)
    sides = ((a, alpha), (b, beta), (a, alpha), (b, beta))
    hinges = [_dh(mp.mpf(0), side, twist) for side, twist in sides]
    # D_1(θ1) H_1 D_2(θ2) H_2 ... = 1; angles at closure go into the placements.
    turns = [_dh(angle, mp.mpf(0), mp.mpf(0)) for angle in angles]
    chain = mp.eye(4)
    for turn, hinge in zip(turns, hinges, strict=True):
        chain = chain * turn * hinge
    assert max(abs(x) for x in (chain - mp.eye(4))) < mp.mpf(10) ** (10 - DIGITS)
    # Placement k: what stands between hinge k-1 and hinge k at closure.
    return tuple(hinges[k - 1] * turns[k] for k in range(4))


def _dh(theta: mp.mpf, side: mp.mpf, twist: mp.mpf) -> mp.matrix:
    c, s, C, S = mp.cos(theta), mp.sin(theta), mp.cos(twist), mp.sin(twist)
    return mp.matrix([[c, -s * C, s * S, side * c], [s, c * C, -c * S, side * s], [0, S, C, 0], [0, 0, 0, 1]])


def _floats(A: mp.matrix) -> np.ndarray:
    return np.array([[float(A[i, j]) for j in range(4)] for i in range(4)])


class _Reference:
    """The closed chain of hinges and slides, in floats for walking and in mpmath numbers for the rows."""

    def __init__(self, linkage: Linkage) -> None:
        single: list[tuple[str, int]] = []  # (what, axis) of every coordinate
        owner: list[int] = []  # coordinates before which a placement stands, by joint
        for k, letter in enumerate(linkage.joints):
            parts = {"R": [("turn", 2)], "C": [("turn", 2), ("slide", 2)], "S": [("turn", 2), ("turn", 1), ("turn", 0)]}
            single += parts[letter]
            owner += [k] * len(parts[letter])
        self.single, self.owner = single, owner
        self.placements = linkage.placements
        self.n_bodies = len(linkage.joints) - 1
        self.float_placements = [_floats(A) for A in linkage.placements]

    def chain(self, q: list, exact: bool) -> tuple[list, list]:
        """Poses of the bodies, and the screw (point, axis, what) of every coordinate; the last pose is the gap."""
        eye = mp.eye(4) if exact else np.eye(4)
        T, poses, screws = eye, [], []
        for k in range(len(self.placements)):
            T = T @ self.float_placements[k] if not exact else T * self.placements[k]
            for d, (what, axis) in enumerate(self.single):
                if self.owner[d] == k:
                    screws.append(([T[i, 3] for i in range(3)], [T[i, axis] for i in range(3)], what))
                    D = _joint(what, axis, q[d], exact)
                    T = T * D if exact else T @ D
            poses.append(T)
        return poses, screws

    def gap(self, pose) -> list:
        return [pose[0, 3], pose[1, 3], pose[2, 3], pose[2, 1], pose[0, 2], pose[1, 0]]

    def columns(self, poses, screws) -> list[list]:
        """Motion of the chain's end, at the world's origin, by every coordinate."""
        end = [poses[-1][i, 3] for i in range(3)]
        result = []
        for point, axis, what in screws:
            if what == "turn":
                result.append([*_cross(axis, [e - p for e, p in zip(end, point, strict=True)]), *axis])
            else:
                result.append([*axis, *[0 * e for e in axis]])
        return result


def _joint(what: str, axis: int, q, exact: bool):
    D = mp.eye(4) if exact else np.eye(4)
    if what == "slide":
        D[axis, 3] = q
        return D
    c, s = (mp.cos(q), mp.sin(q)) if exact else (np.cos(q), np.sin(q))
    i, j = (axis + 1) % 3, (axis + 2) % 3
    D[i, i], D[j, j], D[i, j], D[j, i] = c, c, -s, s
    return D


def _cross(a, b) -> list:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _walk(reference: _Reference, count: int, seed: int) -> tuple[list[np.ndarray], int]:
    """Return closed coordinates of the branch of q = 0, and the rank of the closure."""
    rng = np.random.default_rng(seed)
    q = np.zeros(len(reference.single))

    def jacobian(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        poses, screws = reference.chain(list(q), exact=False)
        return np.array(reference.columns(poses, screws)).T, np.array(reference.gap(poses[-1]))

    G, _ = jacobian(q)
    s = np.linalg.svd(G, compute_uv=False)
    rank = int((s > 1e-9 * s[0]).sum())
    least = s[rank - 1]
    heading, points = rng.standard_normal(len(q)), []
    for _ in range(60 * count):
        G, _ = jacobian(q)
        null = np.linalg.svd(G)[2][rank:]
        heading = null.T @ (null @ (heading + 0.3 * rng.standard_normal(len(q)) * np.linalg.norm(heading)))
        heading /= np.linalg.norm(heading)
        new = q + 0.3 * (0.4 + rng.uniform()) * heading
        for _ in range(12):
            G, gap = jacobian(new)
            new = new - np.linalg.lstsq(G, gap, rcond=1e-9)[0]
        G, gap = jacobian(new)
        s = np.linalg.svd(G, compute_uv=False)
        if np.abs(gap).max() < 1e-13 and s[rank - 1] > 0.2 * least and np.linalg.norm(new - q) < 1.0:
            q = new
            points.append(q)
            if len(points) == count:
                return points, rank
        else:
            heading = -heading
    raise AssertionError("the reference found too few closed states")


def high_precision_rank(linkage: Linkage, count: int, seed: int = 0) -> tuple[int, float, float]:
    """Return the rank of the energies' rows, the last pivot kept and the largest entry left."""
    with mp.workdps(DIGITS):
        reference = _Reference(linkage)
        points, rank = _walk(reference, count, seed)
        rng = np.random.default_rng(seed + 1)
        kinetic, potential = [], []
        for q in points:
            T, V = _energies(reference, *_exact_state(reference, q, rank, rng))
            kinetic.append(T)
            potential.append(V)
        rows = kinetic + [[a - b for a, b in zip(V, potential[0], strict=True)] for V in potential[1:]]
        return _rank(rows)


def _exact_state(reference: _Reference, q: np.ndarray, rank: int, rng: np.random.Generator) -> tuple[list, list, list]:
    state = [mp.mpf(float(x)) for x in q]
    for _ in range(6):
        poses, screws = reference.chain(state, exact=True)
        columns, gap = reference.columns(poses, screws), reference.gap(poses[-1])
        rows, dependent = _pivots(np.array([[float(x) for x in column] for column in columns]).T, rank)
        left = mp.matrix([[columns[d][i] for d in dependent] for i in rows])
        change = mp.lu_solve(left, mp.matrix([[-gap[i]] for i in rows]))
        for k, d in enumerate(dependent):
            state[d] += change[k]
    poses, screws = reference.chain(state, exact=True)
    columns = reference.columns(poses, screws)
    assert max(abs(x) for x in reference.gap(poses[-1])) < mp.mpf(10) ** (20 - DIGITS)
    rates = [mp.mpf(float(x)) for x in rng.standard_normal(len(state))]
    free = [d for d in range(len(state)) if d not in dependent]
    left = mp.matrix([[columns[d][i] for d in dependent] for i in rows])
    right = mp.matrix([[-mp.fsum(columns[d][i] * rates[d] for d in free)] for i in rows])
    solved = mp.lu_solve(left, right)
    for k, d in enumerate(dependent):
        rates[d] = solved[k]
    return poses, screws, rates


def _pivots(A: np.ndarray, rank: int) -> tuple[list[int], list[int]]:
    A, rows, columns = A.copy(), [], []
    for _ in range(rank):
        i, j = np.unravel_index(np.argmax(np.abs(A)), A.shape)
        rows.append(int(i))
        columns.append(int(j))
        A = A - np.outer(A[:, j], A[i] / A[i, j])
        A[i], A[:, j] = 0, 0
    return rows, columns


def _energies(reference: _Reference, poses: list, screws: list, rates: list) -> tuple[list, list]:
    """Rows over m, mc (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz of every body."""
    T_row, V_row = [], []
    w, v = [mp.mpf(0)] * 3, [mp.mpf(0)] * 3  # of the body, v at the world's origin
    d = 0
    for k in range(reference.n_bodies):
        while d < len(screws) and reference.owner[d] == k:
            point, axis, what = screws[d]
            if what == "turn":
                w = [a + rates[d] * b for a, b in zip(w, axis, strict=True)]
                v = [a + rates[d] * b for a, b in zip(v, _cross(point, axis), strict=True)]
            else:
                v = [a + rates[d] * b for a, b in zip(v, axis, strict=True)]
            d += 1
        pose = poses[k]
        R = [[pose[i, j] for j in range(3)] for i in range(3)]
        p = [pose[i, 3] for i in range(3)]
        moved = [a + b for a, b in zip(v, _cross(w, p), strict=True)]
        u = [mp.fsum(R[i][j] * moved[i] for i in range(3)) for j in range(3)]
        o = [mp.fsum(R[i][j] * w[i] for i in range(3)) for j in range(3)]
        T_row += [mp.fsum(x * x for x in u) / 2, *_cross(u, o)]
        T_row += [o[0] * o[0] / 2, o[0] * o[1], o[1] * o[1] / 2, o[0] * o[2], o[1] * o[2], o[2] * o[2] / 2]
        V_row += [p[2], R[2][0], R[2][1], R[2][2], *[mp.mpf(0)] * 6]
    return T_row, V_row


def _rank(rows: list[list]) -> tuple[int, float, float]:
    A = np.array(rows, dtype=object)
    kept = float("inf")
    for rank in range(min(A.shape) + 1):
        if rank == min(A.shape):
            return rank, kept, 0.0
        sizes = np.abs(A)
        i, j = np.unravel_index(int(np.argmax(sizes)), A.shape)
        if sizes[i, j] < mp.mpf(10) ** (-DIGITS // 2 - 20):
            return rank, kept, float(sizes[i, j])
        kept = float(sizes[i, j])
        pivot = A[i] / A[i, j]
        A = A - np.outer(A[:, j], pivot)
        A[i] = mp.mpf(0)
        A[:, j] = mp.mpf(0)
    raise AssertionError


@dataclass(frozen=True)
class Outcome:
    """One line of the study. count is None when the analysis refused, with the reason."""

    family: str
    seed: int
    count: int | None
    rank: int
    torque_error: float
    method: str
    seconds: float
    reason: str = ""


def study(family: str, seed: int) -> Outcome:
    """Analyse one linkage both ways."""
    linkage = random_linkage(family, seed)
    m = linkage.mechanism()
    states = {"7R": 48, "RSSR": 34}.get(family, 30)
    rank, kept, left = high_precision_rank(linkage, states)
    assert kept > 1e20 * left, "the reference itself has no gap"
    start = time.process_time()
    try:
        found = setsu.minimum_parameters(m, q=m.neutral())
    except setsu.InputError as error:
        return Outcome(family, seed, None, rank, 0.0, "refused", time.process_time() - start, str(error))
    seconds = time.process_time() - start
    return Outcome(family, seed, found.count, rank, found.torque_error(seed=3), found.method, seconds)


def run_study(loops: int = 200) -> Iterator[Outcome]:
    """Families take turns, so that a study that is cut short is one of all families."""
    for number in range(loops):
        yield study(FAMILIES[number % len(FAMILIES)], number // len(FAMILIES))


def faults_of_the_study(outcomes: list[Outcome]) -> list[str]:
    """Return what contradicts the claim: no silent failure, few refusals, each with a reason, none of some families."""
    refused = [o for o in outcomes if o.count is None]
    faults = [f"wrong count: {o}" for o in outcomes if o.count is not None and o.count != o.rank]
    faults += [f"torque error: {o}" for o in outcomes if o.count is not None and not _small(o)]
    faults += [f"refused: {o}" for o in refused if o.family in NEVER_REFUSED or not o.reason]
    if len(refused) > 0.05 * len(outcomes):
        faults.append(f"{len(refused)} of {len(outcomes)} refused")
    return faults


def _small(outcome: Outcome) -> bool:
    return outcome.torque_error < LARGEST_TORQUE_ERROR


def table(outcomes: list[Outcome]) -> str:
    """The study as two Markdown tables: families, then every loop."""
    lines = [
        "| family | loops | count = high-precision rank | counts | refused | largest torque error | median s |",
        "|---|---|---|---|---|---|---|",
    ]
    for family in FAMILIES:
        those = [o for o in outcomes if o.family == family]
        if not those:
            continue
        right = sum(o.count == o.rank for o in those)
        counts = ", ".join(map(str, sorted({o.count for o in those if o.count is not None})))
        refused = sum(o.count is None for o in those)
        worst = max(o.torque_error for o in those)
        seconds = np.median([o.seconds for o in those])
        lines.append(f"| {family} | {len(those)} | {right} | {counts} | {refused} | {worst:.1e} | {seconds:.1f} |")
    lines += [
        "",
        "| family | seed | count | high-precision rank | torque error | method | s |",
        "|---|---|---|---|---|---|---|",
    ]
    for o in outcomes:
        count = "refused" if o.count is None else o.count
        lines.append(
            f"| {o.family} | {o.seed} | {count} | {o.rank} | {o.torque_error:.1e} | {o.method} | {o.seconds:.1f} |"
        )
    lines += ["", *(f"{o.family} {o.seed} refused: {o.reason}" for o in outcomes if o.count is None)]
    return "\n".join(lines).rstrip()


def write_study(outcomes: list[Outcome], path: Path = STUDY) -> None:
    """Write the tables with what made them."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        "# Minimum parameters of random spatial loops\n\n"
        "Written by `python tests/unit/minimum_parameters/spatial_loops.py`, which ends with exit code 1 when a count "
        "is not the\nrank of an independent computation with 120 digits, a torque error is above 1e-11, more than 5 % "
        "are refused, or one of\nRSCR, RSSR, RCCC is. Times are processor seconds of `setsu.minimum_parameters`.\n\n"
        + table(outcomes)
        + "\n",
        encoding="utf-8",
    )


def main() -> int:
    """Run the whole study; the file grows as it goes."""
    outcomes: list[Outcome] = []
    for outcome in run_study():
        outcomes.append(outcome)
        print(f"{len(outcomes):3d}  {outcome}", flush=True)
        write_study(outcomes)
    faults = faults_of_the_study(outcomes)
    print("\n".join(faults) or f"{len(outcomes)} loops, no fault")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
