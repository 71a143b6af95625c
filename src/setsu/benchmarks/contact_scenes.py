"""Scenes of many bodies in contact, beside MuJoCo: rounds, steps that did not converge, time per step.

| scene | what |
|---|---|
| dominoes n | boxes of 20 x 100 x 200 mm, 0.2 kg, 0.1 m apart; the first is pushed over at 6 rad/s; friction 0.4 |
| bin n | balls, boxes and capsules of 30 to 60 mm, 0.1 to 0.5 kg, dropped at random into a bin; friction 0.5 |
| pyramid n | boxes of 0.1 m and 1 kg on each other, base 9 for 45, 14 for 105; friction 0.5 |
| balls n | balls of radius 40 mm and 0.2 kg dropped in layers into a bin; friction 0.3 |
| card house | seven cards of 2 x 60 x 90 mm, 5 g: two tents, a roof, a tent on it; friction 0.9 |

Everything is made from sizes, friction and a seed. 2 s in steps of 1 ms, detection and solve included; processor time.
MuJoCo has the same bodies, its Newton solver, implicitfast, and the faster of its two friction cones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.benchmarks.timing import processor_seconds

__all__ = ["SCENES", "BodiesScene", "SceneRow", "make_scene_of_bodies", "measure_scenes", "scene_table"]

Floats = NDArray[np.float64]

STEP, SECONDS = 1e-3, 2.0
SCENES = (
    "dominoes 15", "dominoes 30", "bin 50", "bin 200", "pyramid 45", "pyramid 105", "balls 666", "card house",
)  # fmt: skip


@dataclass(frozen=True)
class SceneRow:
    """One scene: most and mean rounds of a step, steps not converged, largest residual, µs per step, depth (m)."""

    scene: str
    bodies: int
    steps: int
    most_rounds: int
    mean_rounds: float
    unconverged: int
    residual: float
    depth: float
    ours: float
    mujoco: float | None

    @property
    def ratio(self) -> float | None:
        """Our time over MuJoCo's."""
        return None if self.mujoco is None else self.ours / self.mujoco


@dataclass(frozen=True)
class _Body:
    kind: str  # box: lengths; sphere: radius; capsule: radius, length of the straight part
    size: tuple[float, ...]
    mass: float
    position: tuple[float, float, float]
    quaternion: tuple[float, float, float, float]  # x y z w
    spin: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def moments(self) -> Floats:
        """Principal moments of inertia, kg m²."""
        m = self.mass
        if self.kind == "box":
            x, y, z = self.size
            return m / 12.0 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
        r = self.size[0]
        if self.kind == "sphere":
            return np.full(3, 0.4 * m * r * r)
        length = self.size[1]
        cylinder = m * length / (length + 4.0 * r / 3.0)
        ball = m - cylinder
        across = cylinder * (length**2 / 12.0 + r * r / 4.0)
        across += ball * (0.4 * r * r + length**2 / 4.0 + 3.0 * length * r / 8.0)
        return np.array([across, across, 0.5 * cylinder * r * r + 0.4 * ball * r * r])


@dataclass(frozen=True)
class BodiesScene:
    """Free bodies, friction, and the half width of a bin around them (m, 0: a floor only)."""

    name: str
    bodies: tuple[_Body, ...]
    friction: float
    bin: float = 0.0

    def mechanism(self) -> tuple[setsu.Mechanism, setsu.Environment, Floats, Floats]:
        """The scene for setsu: mechanism, environment, configuration, velocity."""
        b, material = setsu.MechanismBuilder("scene"), setsu.Material(self.friction, self.friction)
        q, v = [], []
        for k, body in enumerate(self.bodies):
            b.add_body(
                f"body{k}",
                joint=setsu.Free(name=f"free{k}"),
                mass=body.mass,
                inertia=np.diag(body.moments),
                collisions=[setsu.Shape(body.kind, body.size)],
            )
            half = 0.5 * np.array(body.size)
            if body.kind == "box":
                b.add_contact_points(f"body{k}", list(itertools.product(*((-h, h) for h in half))), material)
            elif body.kind == "sphere":
                b.add_contact_points(f"body{k}", [(0.0, 0.0, 0.0)], material, radius=body.size[0])
            else:
                ends = [(0.0, 0.0, -half[1]), (0.0, 0.0, half[1])]
                b.add_contact_points(f"body{k}", ends, material, radius=body.size[0])
            q.append([*body.position, *body.quaternion])
            v.append([0.0, 0.0, 0.0, *body.spin])
        ground, w, high = setsu.Environment.floor(), self.bin, 20.0
        if w:
            walls = []
            for x, y in ((1, 0), (0, 1), (-1, 0), (0, -1)):
                # Corners go around counter-clockwise as seen from inside.
                corners = [
                    (w * x - s * w * y, w * y + s * w * x, z) for s, z in ((1, 0), (-1, 0), (-1, high), (1, high))
                ]
                walls.append(setsu.Polygon(corners))
            ground = ground + setsu.Environment(walls)
        return b.build(), ground, np.concatenate(q), np.concatenate(v)

    def mjcf(self, cone: str) -> str:
        """The same for MuJoCo."""
        friction = f'friction="{self.friction} 0.005 0.0001"'
        geoms = [f'<geom type="plane" size="0 0 1" {friction}/>']
        if self.bin:
            for x, y in ((1, 0), (0, 1), (-1, 0), (0, -1)):
                axis = f"{-x} {-y} 0"
                geoms.append(
                    f'<geom type="plane" size="0 0 1" pos="{self.bin * x} {self.bin * y} 0" zaxis="{axis}" {friction}/>'
                )
        for body in self.bodies:
            half = " ".join(repr(0.5 * s) for s in body.size)
            size = (
                half
                if body.kind == "box"
                else " ".join(repr(s * f) for s, f in zip(body.size, (1.0, 0.5), strict=False))
            )
            x, y, z, w = body.quaternion
            geoms.append(
                f'<body pos="{" ".join(map(repr, body.position))}" quat="{w} {x} {y} {z}"><freejoint/>'
                f'<geom type="{body.kind}" size="{size}" mass="{body.mass}" {friction}/></body>'
            )
        return (
            f'<mujoco><option timestep="{STEP}" integrator="implicitfast" cone="{cone}"/><size memory="200M"/>'
            f"<worldbody>{''.join(geoms)}</worldbody></mujoco>"
        )


_UPRIGHT = (0.0, 0.0, 0.0, 1.0)


def make_scene_of_bodies(name: str, seed: int = 0) -> BodiesScene:
    """Return a scene of SCENES by name, or of another number of bodies; seed: of what is random in it."""
    kind, _, number = name.partition(" ")
    if kind == "card":
        return BodiesScene(name, tuple(_cards()), 0.9)
    n = int(number)
    if kind == "dominoes":
        first = (0.0, 6.0, 0.0)
        bodies = [
            _Body("box", (0.02, 0.1, 0.2), 0.2, (0.1 * k, 0.0, 0.1), _UPRIGHT, first if k == 0 else (0.0, 0.0, 0.0))
            for k in range(n)
        ]
        return BodiesScene(name, tuple(bodies), 0.4)
    if kind == "pyramid":
        rows = round((np.sqrt(8 * n + 1) - 1) / 2)
        bodies = [
            _Body("box", (0.1, 0.1, 0.1), 1.0, (0.11 * (k - 0.5 * (rows - row - 1)), 0.0, 0.05 + 0.1 * row), _UPRIGHT)
            for row in range(rows)
            for k in range(rows - row)
        ]
        return BodiesScene(name, tuple(bodies), 0.5)
    rng = np.random.default_rng(seed)
    if kind == "balls":
        pitch, across = 0.09, 9
        bodies = [
            _Body("sphere", (0.04,), 0.2, (x, y, z), _UPRIGHT) for x, y, z in _grid(rng, n, pitch, across, 0.06, 0.002)
        ]
        return BodiesScene(name, tuple(bodies), 0.3, 0.5 * pitch * across)
    across = 4 if n <= 50 else 6
    pitch, bodies = 0.13, []
    for k, (x, y, z) in enumerate(_grid(rng, n, pitch, across, 0.1, 0.01)):
        a, mass = rng.uniform(0.03, 0.06, 3), float(rng.uniform(0.1, 0.5))
        kind_of, size = (("sphere", (0.5 * a[0],)), ("box", tuple(a)), ("capsule", (0.4 * a[0], a[1])))[k % 3]
        turn = rng.normal(size=4)
        turn /= np.linalg.norm(turn)
        i, j, k, w = map(float, turn)
        bodies.append(_Body(kind_of, tuple(map(float, size)), mass, (x, y, z), (i, j, k, w)))
    return BodiesScene(name, tuple(bodies), 0.5, 0.5 * pitch * across)


def _grid(rng: np.random.Generator, n: int, pitch: float, across: int, lowest: float, scatter: float):
    """Places in layers, each moved a little at random."""
    for k in range(n):
        layer, place = divmod(k, across * across)
        row, column = divmod(place, across)
        centre = pitch * np.array([row - 0.5 * (across - 1), column - 0.5 * (across - 1), 0.0])
        x, y, z = centre + [0.0, 0.0, lowest + pitch * layer] + scatter * rng.uniform(-1.0, 1.0, 3)
        yield float(x), float(y), float(z)


def _cards() -> list[_Body]:
    """Seven cards: tents of two that lean on each other, 20 degrees from upright, a roof, a tent on it."""
    thick, wide, long = 0.002, 0.06, 0.09
    angle = np.radians(20.0)
    c, s = np.cos(angle), np.sin(angle)
    gap = 1e-4
    # Highest corner of a card that leans towards +x stands at its middle + ½ (long s + thick c): just short of x = 0.
    middle, high = 0.5 * (long * s + thick * c) + 0.5 * gap, 0.5 * (long * c + thick * s)
    top = 2.0 * high

    def tent(x: float, z: float) -> list[_Body]:
        return [
            _Body(
                "box", (thick, wide, long), 0.005, (float(x + side * middle), 0.0, float(z + high)),
                (0.0, float(-side * np.sin(0.5 * angle)), 0.0, float(np.cos(0.5 * angle))),
            )
            for side in (-1.0, 1.0)
        ]  # fmt: skip

    apart = 0.045
    roof = _Body("box", (0.13, wide, thick), 0.005, (0.0, 0.0, float(top + 0.5 * thick + gap)), _UPRIGHT)
    return [*tent(-apart, 0.0), *tent(apart, 0.0), roof, *tent(0.0, top + thick + 2.0 * gap)]


def measure_scenes(names: tuple[str, ...] = SCENES, seconds: float = SECONDS) -> list[SceneRow]:
    """Measure ours and MuJoCo's, in turn."""
    return [_measure(make_scene_of_bodies(name), seconds) for name in names]


def _measure(scene: BodiesScene, seconds: float) -> SceneRow:
    m, ground, q, v = scene.mechanism()
    steps = round(seconds / STEP)
    sim = setsu.Simulator(m, step=STEP, environment=ground, body_contacts=True)
    sim.reset(q, v)
    ours = processor_seconds(lambda: sim.step(steps=steps)) / steps
    sim.reset(q, v)
    log = sim.run(seconds).contact_log
    assert log is not None
    return SceneRow(
        scene.name,
        len(scene.bodies),
        steps,
        int(log.rounds.max()),
        float(log.rounds.mean()),
        int(log.unconverged.sum()),
        float(log.residual.max()),
        float(log.depth.max()),
        1e6 * ours,
        _mujoco_time(scene, v, steps),
    )


def _mujoco_time(scene: BodiesScene, v: Floats, steps: int) -> float | None:
    """µs per step with the faster friction cone; None where the package is missing."""
    try:
        mujoco: Any = import_module("mujoco")
    except ImportError:
        return None
    best = float("inf")
    for cone in ("pyramidal", "elliptic"):
        model = mujoco.MjModel.from_xml_string(scene.mjcf(cone))
        data = mujoco.MjData(model)
        data.qvel[:] = v
        mujoco.mj_forward(model, data)
        best = min(best, processor_seconds(lambda model=model, data=data: mujoco.mj_step(model, data, steps)) / steps)
    return 1e6 * best


def scene_table(rows: Iterable[SceneRow]) -> Any:
    """Return rows as a table to print."""
    from rich.table import Table

    table = Table(title="Scenes of many bodies, one step of 1 ms", title_justify="left", box=None)
    heads = ("scene", "bodies", "most rounds", "mean", "not converged", "residual", "depth mm", "setsu us", "MuJoCo us")
    for head in (*heads, "setsu / MuJoCo"):
        table.add_column(head, justify="left" if head == "scene" else "right")
    for row in rows:
        theirs = ["-", "-"] if row.mujoco is None or row.ratio is None else [f"{row.mujoco:.0f}", f"{row.ratio:.2f}"]
        table.add_row(
            row.scene,
            str(row.bodies),
            str(row.most_rounds),
            f"{row.mean_rounds:.2f}",
            f"{row.unconverged} of {row.steps}",
            f"{row.residual:.0e}",
            f"{1e3 * row.depth:.4f}",
            f"{row.ours:.0f}",
            *theirs,
        )
    return table


def _main() -> None:
    """Measure the scenes named on the command line, or all, and print them one by one."""
    import sys

    from rich.console import Console

    for name in sys.argv[1:] or SCENES:
        Console(width=120).print(scene_table(measure_scenes((name,))))


if __name__ == "__main__":
    _main()
