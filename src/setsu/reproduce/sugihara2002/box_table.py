"""A free box against laws of mechanics: what every contact solver should pass, and which rows one fails.

A box of 1 kg in steps of 1 ms; every exact value is a closed form. `box_rows(solver)` computes all rows for a solver.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.reproduce.report import Expected, at_most, equal

__all__ = ["BoxRow", "box_rows"]

Floats = NDArray[np.float64]
G = 9.81
STEP = 1e-3
FLAT, TALL = (0.2, 0.2, 0.1), (0.1, 0.2, 0.2)
UPRIGHT = (0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True)
class BoxRow:
    """One demand: a computed value and what it is held against."""

    name: str
    unit: str
    expected: Expected
    computed: float

    @property
    def passes(self) -> bool:
        """Whether the computed value keeps the relation."""
        return self.expected.holds(self.computed)


def box_rows(solver: str = "default", progress: Callable[[str, float], None] | None = None) -> list[BoxRow]:
    """Compute every row of the table with a contact solver."""
    parts = (_rest, _drop, _bounce, _slide, _incline, _push, _topple, _edge, _throws)
    rows: list[BoxRow] = []
    for number, part in enumerate(parts):
        if progress is not None:
            progress(part.__name__.strip("_"), number / len(parts))
        rows.extend(part(solver))
    return rows


def _box(size: tuple[float, float, float], static: float, kinetic: float, restitution: float = 0.0) -> setsu.Mechanism:
    return setsu.sample_mechanisms.floating_box(size, 1.0, setsu.Material(static, kinetic, restitution))


def _run(
    solver: str, m: setsu.Mechanism, q: tuple, v: tuple, seconds: float, ground: setsu.Environment | None = None, **more
) -> setsu.Recording:
    ground = setsu.Environment.floor() if ground is None else ground
    return setsu.simulate(m, q, v, seconds, STEP, environment=ground, contact_solver=solver, **more)


def _turned(angle: float) -> tuple[tuple[float, ...], Floats]:
    """Quaternion and matrix of a turn about y."""
    c, s = math.cos(angle), math.sin(angle)
    quaternion = (0.0, math.sin(0.5 * angle), 0.0, math.cos(0.5 * angle))
    return quaternion, np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def _tilt(run: setsu.Recording) -> float:
    """Largest turn of the box away from its start, degrees."""
    return float(np.degrees(2.0 * np.arccos(np.minimum(1.0, np.abs(run.q[:, 3:] @ run.q[0, 3:])))).max())


def _corner(run: setsu.Recording, m: setsu.Mechanism, point: tuple[float, float, float]) -> Floats:
    poses = setsu.body_poses(m, run.q)[:, 0]
    return poses[:, :3, :3] @ np.array(point) + poses[:, :3, 3]


def _rest(solver: str) -> list[BoxRow]:
    run = _run(solver, _box(FLAT, 0.5, 0.3), (0, 0, 0.05, *UPRIGHT), (0,) * 6, 2.0)
    forces = run.normal_force[:, run.normal_force[-1] > 0.0]
    worst = float(np.abs(forces / (0.25 * G) - 1.0).max()) if forces.shape[1] == 4 else math.inf
    return [
        BoxRow("rest: sum of forces over m g", "-", equal(1.0, 1e-6), float(run.normal_force.sum(axis=1).mean() / G)),
        BoxRow("rest: share of each corner, off m g/4", "-", at_most(1e-6), worst),
        BoxRow("rest: creep in 2 s", "m", at_most(1e-6), float(np.abs(run.q[:, :3] - run.q[0, :3]).max())),
    ]


def _drop(solver: str) -> list[BoxRow]:
    run = _run(solver, _box(FLAT, 0.5, 0.3), (0, 0, 0.15, *UPRIGHT), (0,) * 6, 0.3)
    touched = np.flatnonzero(run.normal_force.sum(axis=1) > 0.0)
    time = float(run.time[touched[0]]) if len(touched) else math.inf
    return [
        BoxRow("drop from 0.1 m: landing", "s", equal(math.sqrt(0.2 / G), STEP), time),
        BoxRow("drop from 0.1 m: penetration", "m", at_most(1e-4), max(0.0, float((0.05 - run.q[:, 2]).max()))),
    ]


def _bounce(solver: str) -> list[BoxRow]:
    rows = []
    speed = math.sqrt(2.0 * G * 0.2)
    for e in (0.5, 0.8, 1.0):
        run = _run(solver, _box(FLAT, 0.5, 0.3, e), (0, 0, 0.25, *UPRIGHT), (0,) * 6, speed / G * (1.0 + 1.9 * e))
        first = np.flatnonzero(run.normal_force.sum(axis=1) > 0.0)
        apex = float(run.q[first[0] + 3 :, 2].max() - 0.05) if len(first) else math.inf
        exact = e * e * 0.2
        rows.append(
            BoxRow(f"bounce from 0.2 m, e = {e}: apex", "m", equal(exact, min(0.02 * exact, speed * STEP)), apex)
        )
    return rows


def _slide(solver: str) -> list[BoxRow]:
    rows = []
    for size in (FLAT, (0.1, 0.1, 0.15)):
        run = _run(solver, _box(size, 0.3, 0.3), (0, 0, 0.5 * size[2], *UPRIGHT), (1, 0, 0, 0, 0, 0), 0.6)
        way, name = 1.0 / (2.0 * 0.3 * G), f"slide of box {size[0]} x {size[2]} m at 1 m/s"
        stopped = np.flatnonzero(np.abs(run.v[:, 0]) < 1e-6)
        time = float(run.time[stopped[0]]) if len(stopped) else math.inf
        rows += [
            BoxRow(f"{name}: way", "m", equal(way, 0.005 * way), float(run.q[-1, 0])),
            BoxRow(f"{name}: time", "s", equal(2.0 * way, 0.005 * 2.0 * way), time),
            BoxRow(f"{name}: tilt", "deg", at_most(0.01), _tilt(run)),
        ]
    return rows


def _incline(solver: str) -> list[BoxRow]:
    rows = []
    for degrees, kick, part in ((26, 0.0, 0.0), (27, 0.0, 0.002), (20, 0.5, 0.003), (14, 0.5, 0.003)):
        a = math.radians(degrees)
        quaternion, R = _turned(a)
        start = (*(R @ (0.0, 0.0, 0.05)), *quaternion)
        run = _run(solver, _box(FLAT, 0.5, 0.3), start, (kick, 0, 0, 0, 0, 0), 1.0, setsu.Environment.slope(a))
        pull = G * (math.sin(a) - 0.3 * math.cos(a))
        exact = 0.0 if not part else (kick + 0.5 * pull if pull > 0.0 else kick * kick / (-2.0 * pull))
        way = float((run.q[-1, :3] - run.q[0, :3]) @ R[:, 0])
        what = f"kicked {kick} m/s" if kick else "from rest"
        rows.append(BoxRow(f"incline {degrees} deg, {what}: way in 1 s", "m", equal(exact, part * exact or 1e-6), way))
    return rows


def _push(solver: str) -> list[BoxRow]:
    rows, (a, _, c), height = [], TALL, 0.15
    m = _box(TALL, 1.0, 1.0)
    for part, tips in ((0.98, 0.0), (1.02, 1.0)):
        force = part * G * a / (2.0 * height)

        def push(t: float, q: Floats, v: Floats, force: float = force) -> Floats:
            f = setsu.body_poses(m, q)[0, :3, :3].T @ np.array([force, 0.0, 0.0])
            return np.concatenate([f, np.cross([0.0, 0.0, height - 0.5 * c], f)])

        run = _run(solver, m, (0, 0, 0.5 * c, *UPRIGHT), (0,) * 6, 1.0, torque=push)
        rows.append(BoxRow(f"push with {part} of the tipping force: tips", "-", equal(tips), float(_tilt(run) > 20.0)))
    return rows


def _topple(solver: str) -> list[BoxRow]:
    a, _, c = TALL
    m = _box(TALL, 5.0, 5.0)
    start = math.atan2(a, c) + math.radians(5.0)
    quaternion, R = _turned(start)
    pivot = (0.5 * a, 0.0, -0.5 * c)
    run = _run(solver, m, (*(-R @ pivot), *quaternion), (0,) * 6, 0.6)
    landed = np.flatnonzero(_corner(run, m, (0.5 * a, 0.0, 0.5 * c))[:, 2] < 1e-5)
    end = int(landed[0]) if len(landed) else len(run.time) - 1
    slip = np.abs(_corner(run, m, pivot)[:end] - _corner(run, m, pivot)[0]).max()
    return [
        BoxRow("topple 5 deg past balance: time", "s", equal(0.40182, 0.01 * 0.40182), float(run.time[end])),
        BoxRow("topple: slip of the pivot", "m", at_most(1e-4), float(slip)),
    ]


def _edge(solver: str) -> list[BoxRow]:
    rows = []
    quaternion, R = _turned(math.radians(30.0))
    x, _, z = R @ (0.1, 0.0, -0.05)
    inertia = (0.2**2 + 0.1**2) / 12.0
    for e in (0.0, 0.5, 1.0):
        m = setsu.with_gravity(_box(FLAT, 0.0, 0.0, e), (0.0, 0.0, 0.0))
        run = _run(solver, m, (0, 0, 0.01 - z, *quaternion), (*(R.T @ (0.0, 0.0, -1.0)), 0, 0, 0), 0.05)
        exact = (1.0 + e) / (1.0 + x * x / inertia)
        impulse = float(run.contact_force[:, :, 2].sum() * STEP)
        rows.append(BoxRow(f"edge impact at 30 deg, e = {e}: impulse", "N s", equal(exact, 0.005 * exact), impulse))
    return rows


def _throws(solver: str) -> list[BoxRow]:
    gain, speed = 0.0, 0.0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        quaternion = rng.normal(size=4)
        start = (0, 0, 0.5, *(quaternion / np.linalg.norm(quaternion)))
        v = (*rng.normal(size=3), *(5.0 * rng.normal(size=3)))
        run = _run(solver, _box((0.2, 0.15, 0.1), 0.5, 0.3, 0.3), start, v, 3.0)
        gain = max(gain, float(np.diff(run.energy).max() / run.energy[0]))
        speed = max(speed, float(np.abs(run.v[-1]).max()))
    return [
        BoxRow("random throws: gain of energy in a step, over E0", "-", at_most(1e-9), max(0.0, gain)),
        BoxRow("random throws: speed after 3 s", "m/s, rad/s", at_most(1e-6), speed),
    ]
