"""Closed-loop robots as people write them down: a step of theirs beside MuJoCo's, from files of the Menagerie.

    measure_robots(Path("mujoco_menagerie"), quick=True)

Both engines read the same MJCF, without contacts, and take classical Runge-Kutta steps of 1 ms from the closed pose
nearest to the file's own, under gravity, springs and dampers, with actuators at zero. A ring of links that floats is
made here: its long chain is what articulated-body methods are made for, and a factored mass matrix is not.
"""

from __future__ import annotations

import math
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import setsu
from setsu.errors import InputError, ModelWarning

__all__ = ["RING", "ROBOT_FILES", "RobotRow", "measure_robots", "ring_text"]

ROBOT_FILES = {
    "Robotiq 2F85": "robotiq_2f85/2f85.xml",
    "Cassie": "agility_cassie/cassie.xml",
    "SoftFoot": "iit_softfoot/softfoot.xml",
}
RING = 200
"""Links of the ring."""
_STEP = 1e-3


@dataclass(frozen=True)
class RobotRow:
    """Velocities and kept rows of a mechanism, and microseconds of a step of ours and of MuJoCo's methods."""

    subject: str
    velocities: int
    loops: int
    ours: float
    mujoco_rk4: float
    mujoco_euler: float
    mujoco_implicitfast: float
    goal: float = 1.0

    @property
    def ratio(self) -> float:
        """MuJoCo's time with the same integrator over ours."""
        return self.mujoco_rk4 / self.ours


def measure_robots(folder: Path, *, quick: bool = False) -> tuple[RobotRow, ...]:
    """Measure the robots of a copy of MuJoCo's Menagerie, and the ring; InputError where a file is missing."""
    for name, file in ROBOT_FILES.items():
        if not (folder / file).is_file():
            raise InputError(f"bench --models: {folder} has no {file} ({name}); expected a copy of MuJoCo's Menagerie")
    rounds = 3 if quick else 10
    with tempfile.TemporaryDirectory() as place:
        ring = Path(place) / "ring.xml"
        ring.write_text(ring_text(RING))
        files = {**{name: folder / file for name, file in ROBOT_FILES.items()}, f"ring of {RING}": ring}
        return tuple(_row(name, file, rounds) for name, file in files.items())


def ring_text(links: int) -> str:
    """Return the MJCF of a ring of links with hinges, 1 m in radius, that floats."""
    length, turn = 2.0 * math.pi / links, 360.0 / links
    inertia = 0.1 * length * length / 12.0 + 1e-6
    parts = ["<mujoco><worldbody>"]
    for k in range(links):
        pose = "" if k == 0 else f' pos="{length!r} 0 0" euler="0 0 {turn!r}"'
        joint = '<freejoint name="free"/>' if k == 0 else f'<joint name="hinge{k}" axis="0 0 1"/>'
        parts.append(
            f'<body name="link{k}"{pose}>{joint}<inertial pos="{length / 2!r} 0 0" mass="0.1" '
            f'diaginertia="1e-5 {inertia!r} {inertia!r}"/>'
        )
    parts.append("</body>" * links)
    parts.append(f'</worldbody><equality><connect body1="link{links - 1}" body2="link0" anchor="{length!r} 0 0"/>')
    return "".join([*parts, "</equality></mujoco>"])


def _row(name: str, file: Path, rounds: int) -> RobotRow:
    with warnings.catch_warnings():
        # What a file leaves open is said by `setsu inspect`; here its steps are timed.
        warnings.simplefilter("ignore", ModelWarning)
        m = setsu.load(file)
        sim = setsu.Simulator(m, step=_STEP, integrator="rk4")
        q = setsu.close_loops(m, m.neutral())
        sim.reset(q, np.zeros(m.nv))
    steps = 20
    runs: list[Callable[[], Any]] = [lambda: sim.step(steps=steps), *_mujoco_runs(file, steps)]
    best = [math.inf] * len(runs)
    # In turn, so that a busy machine is busy for all of them.
    for _ in range(rounds + 1):
        for k, run in enumerate(runs):
            began = time.perf_counter()
            run()
            best[k] = min(best[k], 1e6 * (time.perf_counter() - began) / steps)
    return RobotRow(name, m.nv, len(m.loops) + len(m.couplings), *best)


def _mujoco_runs(file: Path, steps: int) -> Iterator[Callable[[], Any]]:
    """Calls of some steps with each of MuJoCo's integrators: RK4, Euler, implicitfast."""
    mujoco: Any = import_module("mujoco")
    kinds = mujoco.mjtIntegrator
    for kind in (kinds.mjINT_RK4, kinds.mjINT_EULER, kinds.mjINT_IMPLICITFAST):
        model = mujoco.MjModel.from_xml_path(str(file))
        model.opt.timestep, model.opt.integrator = _STEP, kind
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        data = mujoco.MjData(model)
        if model.nkey:
            mujoco.mj_resetDataKeyframe(model, data, 0)
        data.ctrl[:] = 0.0
        yield lambda model=model, data=data: mujoco.mj_step(model, data, steps)
