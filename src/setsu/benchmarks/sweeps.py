"""The study of sweeps: many runs of an arm through setsu.sweep, beside a Python loop over MuJoCo's single steps.

    measure_sweep(quick=True)

Both take the same arm from the same random states through the same second in steps of a millisecond, semi-implicit.
Ours is timed as a user meets it: processes started, parameters sampled, summaries made, results on disk. MuJoCo is
timed on the first runs of the study, its best run counting; final states are compared before times are. On a machine
that others use too, wall time says little: the processor time of the work itself is measured beside it, both engines in
turn in one process, the least of many blocks counting; ours holds sampling, summaries and the store too.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.benchmarks.machine import Machine, describe_machine
from setsu.mechanism import Mechanism, Revolute
from setsu.sample_mechanisms import seven_joint_arm
from setsu.spatial import quaternion_from_rotation

__all__ = ["SWEEP", "SweepStudy", "measure_sweep", "sweep_as_json", "sweep_tables", "write_sweep_json"]

SWEEP = "sweep"
GOAL = 50.0
RUNS, QUICK_RUNS = 100_000, 10_000
DURATION, STEP = 1.0, 1e-3
CHUNK = 5000
_PEER_RUNS, _QUICK_PEER_RUNS = 30, 8
_LARGEST_DIFFERENCE = 1e-6
"""Between the final states of the engines (rad, rad/s): rounding of another order, over a thousand steps."""

Floats = NDArray[np.float64]
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class SweepStudy:
    """What was measured: wall seconds of the whole sweep and per run; of one run as a loop over `mj_step`.

    steady_seconds: between the first chunk and the last, without the start of the processes. difference: largest one
    between final states of the engines (rad, rad/s). ratio: how many times faster the sweep is, per run.
    processor_nanoseconds: of one core, per run and step.
    """

    machine: Machine
    versions: dict[str, str]
    runs: int
    steps: int
    jobs: int
    seconds: float
    steady_seconds_per_run: float
    seconds_per_run: float
    peer_runs: int
    peer_seconds_per_run: float
    peer_microseconds_per_step: float
    difference: float
    ratio: float
    steady_ratio: float
    processor_nanoseconds: float
    peer_processor_nanoseconds: float
    goal: float = GOAL

    @property
    def processor_ratio(self) -> float:
        """Processor time of the peer over ours, per run and step, on one core each."""
        return self.peer_processor_nanoseconds / self.processor_nanoseconds

    @property
    def agrees(self) -> bool:
        """Whether both engines end in the same states."""
        return self.difference < _LARGEST_DIFFERENCE


def measure_sweep(
    *, quick: bool = False, runs: int | None = None, progress: Progress = lambda text, part: None
) -> SweepStudy:
    """Run the study: 100,000 runs, in quick mode 10,000.

    Raises:
        InputError: MuJoCo is not installed.
    """
    try:
        mujoco: Any = import_module("mujoco")
    except ImportError:
        raise setsu.InputError("bench sweep: needs mujoco, which setsu[mjcf] installs") from None
    machine = describe_machine()
    n = runs or (QUICK_RUNS if quick else RUNS)
    moments: list[tuple[float, float]] = []

    def report(text: str, part: float) -> None:
        moments.append((time.perf_counter(), part))
        progress(text, 0.8 * part)

    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        data = setsu.sweep(_study(n), Path(folder) / "study.zarr", progress=report)
        seconds = time.perf_counter() - begin
        data = data.load()
    peer_runs = min(n, _QUICK_PEER_RUNS if quick else _PEER_RUNS)
    progress("MuJoCo", 0.8)
    peer_seconds, difference = _peer(mujoco, data, peer_runs)
    # The first chunks carry the start of the processes; what lies behind them is the work itself.
    chunks = moments[1:]
    first = min(len(chunks) - 1, _jobs())
    span, share = chunks[-1][0] - chunks[first][0], chunks[-1][1] - chunks[first][1]
    steady = span / (share * n) if share > 0.0 else seconds / n
    progress("processor time", 0.9)
    ours, theirs = _processor_times(mujoco, min(n, 4 * CHUNK), blocks=3 if quick else 6)
    progress("done", 1.0)
    return SweepStudy(
        machine,
        {"Setsu": setsu.__version__, "MuJoCo": mujoco.__version__},
        n,
        round(DURATION / STEP),
        _jobs(),
        seconds,
        steady,
        seconds / n,
        peer_runs,
        peer_seconds,
        peer_seconds / (DURATION / STEP) * 1e6,
        difference,
        peer_seconds / (seconds / n),
        peer_seconds / steady,
        ours,
        theirs,
    )


def _processor_times(mujoco: Any, runs: int, blocks: int) -> tuple[float, float]:
    """Processor nanoseconds per run and step of a sweep of some chunks in this process and of `mj_step`, in turn."""
    steps = round(DURATION / STEP)
    model = mujoco.MjModel.from_xml_string(_mjcf(seven_joint_arm()))
    state = mujoco.MjData(model)
    ours = theirs = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        for block in range(blocks + 1):  # the first also compiles
            begin = time.process_time()
            setsu.sweep(_study(runs), Path(folder) / f"{block}.zarr", jobs=1)
            middle = time.process_time()
            mujoco.mj_resetData(model, state)
            state.qvel[:] = 0.5
            for _ in range(5 * steps):
                mujoco.mj_step(model, state)
            end = time.process_time()
            ours, theirs = min(ours, (middle - begin) / runs / steps), min(theirs, (end - middle) / (5 * steps))
    return ours * 1e9, theirs * 1e9


def _jobs() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _study(runs: int) -> dict[str, Any]:
    """Random angles and speeds of all joints, no torque, joint damping off: the engines treat it differently."""
    joints = seven_joint_arm().joint_names
    return {
        "scenario": {
            "model": {"sample": "seven_joint_arm", "joints": {name: {"damping": 0.0} for name in joints}},
            "simulation": {"duration": DURATION, "step": STEP, "integrator": "semi_implicit", "record_every": 50},
        },
        "sampling": "random",
        "runs": runs,
        "chunk": CHUNK,
        "parameters": [
            {"path": f"start.{kind}.{name}", "low": -1.0, "high": 1.0} for kind in ("q", "v") for name in joints
        ],
    }


def _peer(mujoco: Any, data: Any, runs: int) -> tuple[float, float]:
    """Seconds of the fastest run as a Python loop over `mj_step`, and the largest difference of final states."""
    m = seven_joint_arm()
    model = mujoco.MjModel.from_xml_string(_mjcf(m))
    state = mujoco.MjData(model)
    steps, best, difference = round(DURATION / STEP), float("inf"), 0.0
    starts = [
        np.array([float(data[f"start.{kind}.{name}"][run]) for kind in ("q", "v") for name in m.joint_names])
        for run in range(runs)
    ]
    for run, start in enumerate(starts):
        begin = time.perf_counter()
        mujoco.mj_resetData(model, state)
        state.qpos[:], state.qvel[:] = start[: m.nv], start[m.nv :]
        for _ in range(steps):
            mujoco.mj_step(model, state)
        best = min(best, time.perf_counter() - begin)
        ends = ((state.qpos, data["final_q"][run]), (state.qvel, data["final_v"][run]))
        difference = max(difference, *(float(np.abs(theirs - ours.values).max()) for theirs, ours in ends))
    return best, difference


def _mjcf(m: Mechanism) -> str:
    """The arm as MJCF: a chain of bodies with hinges, no geometry, no damping."""
    opened, closing = [], 0
    for body in m.moving:
        assert isinstance(body.joint, Revolute)
        x, y, z, w = quaternion_from_rotation(body.pose.matrix[:3, :3])
        xx, xy, xz, yy, yz, zz = body.inertia
        opened.append(
            f'<body pos="{_text(body.pose.translation)}" quat="{_text((w, x, y, z))}">'
            f'<joint type="hinge" axis="{_text(body.joint.axis)}" armature="{_text(body.joint.armature)}"/>'
            f'<inertial pos="{_text(body.center_of_mass)}" mass="{body.mass!r}" '
            f'fullinertia="{_text((xx, yy, zz, xy, xz, yz))}"/>'
        )
        closing += 1
    return (
        '<mujoco><compiler angle="radian"/>'
        f'<option timestep="{STEP!r}" integrator="Euler" gravity="{_text(m.gravity)}"/>'
        f"<worldbody>{''.join(opened)}{'</body>' * closing}</worldbody></mujoco>"
    )


def _text(numbers: Any) -> str:
    return " ".join(repr(float(x)) for x in np.atleast_1d(np.asarray(numbers, dtype=np.float64)))


# Reports -----------------------------------------------------------------------------------------------------------


def sweep_as_json(study: SweepStudy) -> dict[str, Any]:
    """Everything in the study as plain data."""
    more = {"agrees": study.agrees, "met": study.ratio >= study.goal, "processor_ratio": study.processor_ratio}
    return {**asdict(study), **more}


def write_sweep_json(study: SweepStudy, path: Path) -> None:
    """Write the study to a file."""
    import msgspec

    path.write_bytes(msgspec.json.format(msgspec.json.encode(sweep_as_json(study)), indent=1))


def sweep_tables(study: SweepStudy) -> Any:
    """The table and remarks, to print with rich."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table()
    table.add_column("way")
    for title in ("runs", "per run", "per run and step"):
        table.add_column(title, justify="right")
    rows = (
        (f"setsu.sweep, {study.jobs} processes, all included", study.runs, study.seconds_per_run),
        ("the same, after the processes have started", study.runs, study.steady_seconds_per_run),
        ("Python loop over MuJoCo's mj_step", study.peer_runs, study.peer_seconds_per_run),
    )
    for name, runs, seconds in rows:
        table.add_row(name, str(runs), f"{seconds * 1e6:.4g} µs", f"{seconds / study.steps * 1e9:.4g} ns")
    verdict = "met" if study.ratio >= study.goal else "missed"
    lines = [
        f"{study.runs} runs of {DURATION:g} s in {study.seconds:.3g} s: {study.ratio:.3g} times as fast as the loop "
        f"over single steps ({study.steady_ratio:.3g} after the start); goal {study.goal:g}: {verdict}",
        f"processor time of one core, per run and step: {study.processor_nanoseconds:.3g} ns, MuJoCo "
        f"{study.peer_processor_nanoseconds:.4g} ns: {study.processor_ratio:.3g} times, on {study.jobs} cores "
        f"{study.jobs * study.processor_ratio:.3g} times",
        f"largest difference between final states: {study.difference:.1e}" + ("" if study.agrees else "  DISAGREES"),
    ]
    if study.machine.busy:
        lines.append(
            f"before the run {study.machine.load:.1f} of {study.machine.cores} cores were busy with other programs: "
            "expect the sweep, which uses all of them, to be slower than it is"
        )
    heads = [str(study.machine), ", ".join(f"{k} {v}" for k, v in study.versions.items())]
    return Group(*map(Text, heads), Text(), table, *map(Text, lines))
