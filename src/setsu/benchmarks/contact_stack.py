"""Five boxes that stand on each other: one step with contacts between bodies, beside MuJoCo.

Boxes of 0.1 m and 1 kg, friction 0.5, in a little zigzag, steps of 1 ms, detection and solve included, nothing
recorded.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.benchmarks.timing import processor_seconds
from setsu.contact.scene import N_CONTACTS

__all__ = ["StackRow", "measure_stack"]

Floats = NDArray[np.float64]

STEP, STEPS, BOXES, EDGE = 1e-3, 300, 5, 0.1


@dataclass(frozen=True)
class StackRow:
    """Microseconds per step and largest depth (m) of a stack, ours by both ways to find contacts and MuJoCo's.

    coal, mujoco: None where the package is missing. contacts: between bodies and with the floor, in the last step.
    """

    boxes: int
    contacts: int
    ours: float
    coal: float | None
    mujoco: float | None
    our_depth: float
    mujoco_depth: float | None

    @property
    def ratio(self) -> float | None:
        """MuJoCo's time over ours."""
        return None if self.mujoco is None else self.mujoco / self.ours


def measure_stack(rounds: int) -> StackRow:
    """Measure, the least of several rounds taken in turn."""
    m, q = _stack()
    try:
        _run(m, q, "coal").step()
        by_coal = True
    except setsu.InputError:
        by_coal = False
    try:
        peer: _MujocoStack | None = _MujocoStack(q)
    except ImportError:
        peer = None
    ours = coal = theirs = float("inf")
    _run(m, q, "compiled").step(steps=STEPS)  # compiles
    for _ in range(rounds):
        ours = min(ours, _time_of(_run(m, q, "compiled")))
        if by_coal:
            coal = min(coal, _time_of(_run(m, q, "coal")))
        if peer is not None:
            peer.begin()
            theirs = min(theirs, processor_seconds(peer.steps) / STEPS)
    sim = _run(m, q, "compiled")
    kept = sim.run(STEP * STEPS)
    world: Any = sim._blocks[0]
    assert kept.contact_log is not None
    return StackRow(
        BOXES,
        int(world.problem.counts[N_CONTACTS]),
        1e6 * ours,
        1e6 * coal if by_coal else None,
        None if peer is None else 1e6 * theirs,
        float(kept.contact_log.depth.max()),
        None if peer is None else peer.deepest(),
    )


def _stack() -> tuple[setsu.Mechanism, Floats]:
    b = setsu.MechanismBuilder("stack")
    shape, half = setsu.Shape("box", (EDGE, EDGE, EDGE)), 0.5 * EDGE
    q = []
    for k in range(BOXES):
        b.add_body(
            f"box{k}", joint=setsu.Free(name=f"free{k}"), mass=1.0, inertia=np.eye(3) * EDGE**2 / 6, collisions=[shape]
        )
        b.add_contact_points(f"box{k}", list(itertools.product((-half, half), repeat=3)), setsu.Material(0.5, 0.5))
        q.append([0.01 * (-1) ** k, 0.0, EDGE * (0.5 + k), 0.0, 0.0, 0.0, 1.0])
    return b.build(), np.concatenate(q)


def _run(m: setsu.Mechanism, q: Floats, finder: str) -> setsu.Simulator:
    sim = setsu.Simulator(m, STEP, environment=setsu.Environment.floor(), body_contacts=finder)
    sim.reset(q, np.zeros(m.nv))
    return sim


def _time_of(sim: setsu.Simulator) -> float:
    return processor_seconds(lambda: sim.step(steps=STEPS)) / STEPS


class _MujocoStack:
    """The same boxes in MuJoCo."""

    def __init__(self, q: Floats) -> None:
        # Its names are made at run time: annotations do not know them.
        mujoco: Any = import_module("mujoco")
        boxes = "".join(
            f'<body pos="{x} {y} {z}"><freejoint/><geom type="box" size="{0.5 * EDGE} {0.5 * EDGE} {0.5 * EDGE}" '
            'mass="1" friction="0.5 0.005 0.0001"/></body>'
            for x, y, z in q.reshape(BOXES, 7)[:, :3]
        )
        self._mujoco = mujoco
        self._model = mujoco.MjModel.from_xml_string(
            f'<mujoco><option timestep="{STEP}" integrator="implicitfast"/><worldbody>'
            f'<geom type="plane" size="0 0 1" friction="0.5 0.005 0.0001"/>{boxes}</worldbody></mujoco>'
        )
        self._data = mujoco.MjData(self._model)

    def begin(self) -> None:
        """Back to the beginning."""
        self._mujoco.mj_resetData(self._model, self._data)
        self._mujoco.mj_forward(self._model, self._data)

    def steps(self) -> None:
        """All steps, in MuJoCo's own loop."""
        self._mujoco.mj_step(self._model, self._data, STEPS)

    def deepest(self) -> float:
        """Largest penetration of all steps (m)."""
        self.begin()
        depth = 0.0
        for _ in range(STEPS):
            self._mujoco.mj_step(self._model, self._data, 1)
            depth = max(depth, -min((contact.dist for contact in self._data.contact), default=0.0))
        return depth
