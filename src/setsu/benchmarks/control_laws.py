"""The study of control laws: microseconds of one call beside Pinocchio in Python, and forces on walls at 1 kHz.

    measure_control_laws(quick=True)

Latency: each law as `law.compile(arm)` and as the plain Python call, beside the same law written in Python with
Pinocchio and NumPy; torques are compared before they are timed. Walls: an arm presses on a rigid and on a compliant
wall by an operational-space law with integral force feedback, sampled at 1 kHz, acting 2 ms later, force noise of 1 %,
with a model whose masses are 20 % too large, right, or 20 % too small.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu import control
from setsu.benchmarks.machine import Machine, describe_machine
from setsu.benchmarks.subjects import plain_urdf
from setsu.benchmarks.timing import Timed, nanoseconds_per_state, processor_seconds

__all__ = [
    "CONTROL_LAWS",
    "ControlLawStudy",
    "LatencyRow",
    "WallRow",
    "control_laws_as_json",
    "control_laws_tables",
    "measure_control_laws",
    "write_control_laws_json",
]

CONTROL_LAWS = "control_laws"
FORCE = 20.0  # N
PERIOD, DELAY, STEP = 1e-3, 2e-3, 1e-3  # s
STIFFNESS, DAMPING = 2e4, 500.0  # N/m, N s/m, of the compliant wall
_TIP = 0.1  # m, of the tool

Floats = NDArray[np.float64]
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class LatencyRow:
    """Microseconds of one call of a law: as code, in Python with our functions, in Python with Pinocchio."""

    arm: str
    law: str
    compiled: float
    python: float
    pinocchio: float | None

    @property
    def ratio(self) -> float | None:
        """Pinocchio's time over that of the code."""
        return None if self.pinocchio is None else self.pinocchio / self.compiled


@dataclass(frozen=True)
class WallRow:
    """One arm on one wall: mean force from 0.5 to 1 s (N), share of records without contact, µs of processor a step."""

    arm: str
    wall: str
    masses: float
    mean_force: float
    lost: float
    step: float

    @property
    def met(self) -> bool:
        """Whether the mean force is right to 1 %, contact is never lost, and a step takes at most 0.1 ms."""
        return abs(self.mean_force - FORCE) <= 0.01 * FORCE and self.lost == 0.0 and self.step <= 100.0


@dataclass(frozen=True)
class ControlLawStudy:
    """Everything a run found out."""

    machine: Machine
    latency: tuple[LatencyRow, ...]
    walls: tuple[WallRow, ...]


@dataclass(frozen=True)
class _Arm:
    name: str
    mechanism: setsu.Mechanism
    q: Floats

    @property
    def tool(self) -> str:
        return self.mechanism.body_names[-1]


def _arms() -> list[_Arm]:
    samples = setsu.sample_mechanisms
    return [
        _Arm("UR10", samples.ur10(), np.array([0.3, -1.2, 1.6, -0.4, 1.2, 0.1])),
        _Arm("Panda", samples.panda_arm(), np.array([0.1, 0.3, -0.2, -1.8, 0.2, 2.0, 0.5])),
        _Arm("iiwa", samples.iiwa(), np.array([0.1, 0.6, -0.2, -1.4, 0.2, 1.0, 0.5])),
    ]


def measure_control_laws(*, quick: bool = False, progress: Progress = lambda text, part: None) -> ControlLawStudy:
    """Time the laws of three arms, and let each press on two walls with three models (quick: one arm, right masses)."""
    arms = _arms()[:1] if quick else _arms()
    latency: list[LatencyRow] = []
    walls: list[WallRow] = []
    for k, arm in enumerate(arms):
        progress(f"{arm.name}, laws", k / len(arms))
        latency += _latency(arm, 5 if quick else 25)
        for wall in ("rigid", "compliant"):
            for masses in (0.0,) if quick else (-0.2, 0.0, 0.2):
                progress(f"{arm.name}, {wall} wall", (k + 0.5) / len(arms))
                walls.append(_press(arm, wall, masses))
    progress("done", 1.0)
    return ControlLawStudy(describe_machine(), tuple(latency), tuple(walls))


# Latency -------------------------------------------------------------------------------------------------------------


def _latency(arm: _Arm, rounds: int) -> list[LatencyRow]:
    m, q = arm.mechanism, arm.q
    v = 0.1 * np.arange(1.0, m.nv + 1.0)
    T = setsu.frame_pose(m, q + 0.05, arm.tool)
    laws: dict[str, control.Controller] = {
        "operational space, 6-D": control.OperationalSpace(
            m, arm.tool, T, 400.0, 40.0, posture=q, posture_gain=25.0, posture_damping=10.0
        ),
        "computed torque": control.ComputedTorque(m, q + 0.05, 400.0, 40.0),
        "joint impedance": control.JointImpedance(m, q + 0.05, 200.0, 20.0),
        "gravity compensation": control.GravityCompensation(m),
    }
    peers = _pinocchio_laws(arm, T)
    rows = []
    for name, law in laws.items():
        fast, peer = law.compile(m), peers.get(name)
        expected = law(0.0, q, v)
        for other in (fast, peer):
            if other is not None:
                np.testing.assert_allclose(other(0.0, q, v), expected, rtol=0.0, atol=1e-8 * np.abs(expected).max())
        ways = [way for way in (fast, law, peer) if way is not None]
        times = nanoseconds_per_state([Timed(lambda way=way: way(0.0, q, v)) for way in ways], rounds)
        compiled, python, *rest = (round(t / 1e3, 2) for t in times)
        rows.append(LatencyRow(arm.name, name, compiled, python, rest[0] if rest else None))
    return rows


def _pinocchio_laws(arm: _Arm, T: Floats) -> dict[str, Callable[[float, Floats, Floats], Floats]]:
    """The same laws as a user of Pinocchio writes them in Python; none where it is not installed."""
    try:
        pin: Any = import_module("pinocchio")
    except ImportError:
        return {}
    m, q_r = arm.mechanism, arm.q
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)
        path = Path(folder) / "arm.urdf"
        m.save(path)
        model = pin.buildModelFromXML(plain_urdf(path.read_text(encoding="utf-8")))
    data, frame, still = model.createData(), model.getFrameId(arm.tool), np.zeros(m.nv)
    axes, goal = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED, q_r + 0.05

    def operational_space(t: float, q: Floats, v: Floats) -> Floats:
        pin.forwardKinematics(model, data, q, v, still)
        pin.updateFramePlacement(model, data, frame)
        pin.computeJointJacobians(model, data, q)
        J = pin.getFrameJacobian(model, data, frame, axes)
        drift = pin.getFrameClassicalAcceleration(model, data, frame, axes).vector
        M = pin.crba(model, data, q)
        bias = pin.nonLinearEffects(model, data, q, v)
        pose = data.oMf[frame]
        R = T[:3, :3] @ pose.rotation.T
        sine = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        e = np.concatenate([T[:3, 3] - pose.translation, sine / np.sqrt(0.25 * (1.0 + np.trace(R)))])
        through = np.linalg.solve(M, J.T)
        mass = np.linalg.inv(J @ through)
        r = M @ (25.0 * (q_r - q) - 10.0 * v)
        return J.T @ (mass @ (400.0 * e - 40.0 * (J @ v) - drift - through.T @ r)) + r + bias

    return {
        "operational space, 6-D": operational_space,
        "computed torque": lambda t, q, v: pin.rnea(model, data, q, v, 400.0 * (goal - q) - 40.0 * v).copy(),
        "joint impedance": lambda t, q, v: 200.0 * (goal - q) - 20.0 * v + pin.nonLinearEffects(model, data, q, v),
        "gravity compensation": lambda t, q, v: pin.computeGeneralizedGravity(model, data, q).copy(),
    }


# Walls ---------------------------------------------------------------------------------------------------------------


def _press(arm: _Arm, wall: str, masses: float) -> WallRow:
    """Press on a horizontal wall below the tool for a second."""
    m, q, nv = arm.mechanism, arm.q, arm.mechanism.nv
    T = setsu.frame_pose(m, q, arm.tool)
    tip = (T[:3, :3].T @ np.array([0.0, 0.0, -_TIP])).tolist()
    height = float(T[2, 3]) - _TIP
    surface = setsu.SurfaceContact(arm.tool, tip, setsu.Plane((0, 0, 1), height), friction=0.2)
    if wall == "rigid":
        real = m
        options: dict[str, Any] = {"contacts": [surface]}
        sensor = control.ForceSensor(real, [surface], noise=0.01 * FORCE, seed=1)
        feedback: Any = (control.SurfacePress, FORCE, 40.0)
    else:
        soft = setsu.Material(0.2, 0.2, stiffness=STIFFNESS, damping=DAMPING)
        real = setsu.MechanismBuilder.of(m).add_contact_points(arm.tool, [tip], material=soft).build()
        square = np.array([[-2.0, -2.0], [2.0, -2.0], [2.0, 2.0], [-2.0, 2.0]])
        floor = setsu.Polygon(np.column_stack([square, np.full(4, height)]), material=soft)
        options = {"environment": setsu.Environment([floor])}
        sensor = control.ForceSensor(real, body=arm.tool, noise=0.01 * FORCE, seed=1)
        feedback = (control.PointForce, (0.0, 0.0, -FORCE), (0.0, 0.0, 40.0))
    model = control.mismatched(real, masses)
    directions = feedback[0](model, surface) if wall == "rigid" else feedback[0](model, arm.tool, tip)
    law = control.OperationalSpace(
        model, arm.tool, T, 400.0, 40.0, force_axes=("z",), wrench=(0.0, 0.0, -FORCE, 0.0, 0.0, 0.0), posture=q,
        posture_gain=25.0, posture_damping=10.0,
    ) + control.ForceFeedback(directions, feedback[1], sensor, 0.0, feedback[2])  # fmt: skip
    sampled = law.sampled(
        PERIOD, delay=DELAY, position_noise=1e-6, velocity_noise=1e-5, seed=2, sensor=sensor,
        initial=law.laws[0](0.0, q, np.zeros(nv)),
    )  # fmt: skip
    sim = setsu.Simulator(real, STEP, torque=sampled, **options)
    sim.reset(q, np.zeros(nv))
    steps = round(1.0 / STEP)
    kept = sim.save()
    sim.step(steps=2)
    sim.restore(kept)
    spent = processor_seconds(lambda: sim.step(steps=steps))
    sim.restore(kept)
    run = sim.run(1.0)
    force = run.normal_force[:, 0] if wall == "rigid" else _pressing(run)
    return WallRow(
        arm.name, wall, masses, float(force[steps // 2 :].mean()), float(np.mean(force[steps // 20 :] <= 0.0)),
        round(1e6 * spent / steps, 1),
    )  # fmt: skip


def _pressing(run: setsu.Recording) -> Floats:
    """Force down on the floor (N) at each record."""
    return np.asarray(run.contact_force)[..., 2].reshape(len(run.time), -1).sum(axis=1)


# Report --------------------------------------------------------------------------------------------------------------


def control_laws_as_json(study: ControlLawStudy) -> dict[str, Any]:
    """Everything in the study as plain data."""
    return {
        "machine": asdict(study.machine),
        "latency": [{**asdict(row), "ratio": row.ratio} for row in study.latency],
        "walls": [{**asdict(row), "met": row.met} for row in study.walls],
    }


def write_control_laws_json(study: ControlLawStudy, path: Path) -> None:
    """Write the study to a file."""
    import msgspec

    path.write_bytes(msgspec.json.format(msgspec.json.encode(control_laws_as_json(study)), indent=1))


def control_laws_tables(study: ControlLawStudy) -> Any:
    """The tables, to print with rich."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    latency = Table(title="µs of one call")
    for title in ("arm", "law", "compiled", "Python", "Pinocchio in Python", "ratio"):
        latency.add_column(title, justify="left" if title in ("arm", "law") else "right")
    for row in study.latency:
        peer = ("-", "-") if row.pinocchio is None else (f"{row.pinocchio:.1f}", f"{row.ratio:.1f}")
        latency.add_row(row.arm, row.law, f"{row.compiled:.1f}", f"{row.python:.1f}", *peer)
    walls = Table(title=f"{FORCE:g} N on a wall at 1 kHz, 2 ms late, 1 % noise")
    for title in ("arm", "wall", "masses", "mean force", "contact lost", "µs per step", "goal"):
        walls.add_column(title, justify="left" if title in ("arm", "wall") else "right")
    for entry in study.walls:
        walls.add_row(
            entry.arm, entry.wall, f"{100 * entry.masses:+.0f} %", f"{entry.mean_force:.3f} N",
            f"{100 * entry.lost:.1f} %", f"{entry.step:.1f}", "met" if entry.met else "missed",
        )  # fmt: skip
    heads = [str(study.machine)]
    if study.machine.busy:
        heads.append(f"{study.machine.load:.1f} of {study.machine.cores} cores were busy with other programs")
    return Group(*map(Text, heads), latency, walls)
