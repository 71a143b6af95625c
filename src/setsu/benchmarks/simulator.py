"""The studies of stepping: one world driven from Python or not, and many at once, beside MuJoCo.

    measure_simulator(quick=True)
    measure_rollout(quick=True)

Both engines get the same bodies, drive inertia, couplings and loops (MuJoCo closes loops by its soft equality
constraints), steps of 1 ms. Arms and linkages: RK4 on both sides. Robots on the floor: our time-stepping, MuJoCo's
implicitfast. Times are processor times, the least of several rounds taken in turn; those on two threads are wall times.
Many arms are timed after 2^18 steps of one of them: what it takes to make code for them is not counted.

Laws: gravity compensation and joint feedback. "law at every stage" is a Python function on both sides (`mjcb_control`);
the peer of "law without Python" is MuJoCo's own: `gravcomp` of every body and affine actuators.
"""

from __future__ import annotations

import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.benchmarks.engines.mujoco_contact import MujocoHumanoid
from setsu.benchmarks.machine import describe_machine
from setsu.benchmarks.stepping_report import (
    ROLLOUT,
    SIMULATOR,
    OverheadRow,
    ResetRow,
    SteppingRow,
    SteppingStudy,
    ThreadsRow,
    TogetherRow,
)
from setsu.benchmarks.subjects import robot_file
from setsu.benchmarks.timing import processor_seconds
from setsu.sample_mechanisms.closed_leg_biped import closed_leg_biped_posture

__all__ = ["measure_rollout", "measure_simulator", "standing"]

STEP = 1e-3
STIFFNESS, DAMPING = 20.0, 2.0
_THIN = 1e-6  # kg m², what a thin rod gets about its line
_WARM = 1 << 18  # steps of one world after which many trees go on in code made for them

Floats = NDArray[np.float64]
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class _Subject:
    """A mechanism at a start, with its floor or none, and MuJoCo's model and state of it."""

    name: str
    mechanism: setsu.Mechanism
    q: Floats
    v: Floats
    environment: setsu.Environment | None
    model: Any
    data: Any
    qpos: Floats

    @property
    def options(self) -> dict[str, Any]:
        return {} if self.environment is None else {"environment": self.environment}

    def simulator(self, torque: Any = None, **options: Any) -> setsu.Simulator:
        sim = setsu.Simulator(self.mechanism, STEP, torque=torque, **self.options, **options)
        count = options.get("count")
        sim.reset(*((self.q, self.v) if count is None else (np.tile(self.q, (count, 1)), np.tile(self.v, (count, 1)))))
        return sim

    def begin(self, mujoco: Any) -> None:
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = self.qpos, self.v
        mujoco.mj_forward(self.model, self.data)


def _mujoco(study: str) -> Any:
    try:
        mujoco: Any = import_module("mujoco")
        import_module("mujoco.rollout")
        return mujoco
    except ImportError:
        raise setsu.InputError(f"bench {study}: needs mujoco, which setsu[mjcf] installs") from None


def _subjects(mujoco: Any) -> list[_Subject]:
    found = [
        _of_tree(mujoco, "PUMA 560", _with_masses(setsu.sample_mechanisms.puma560()), np.full(6, 0.3)),
        _of_tree(mujoco, "four-bar", four := _with_masses(setsu.sample_mechanisms.four_bar()), four.neutral()),
    ]
    if (file := robot_file("panda")) is not None:
        panda = setsu.load(file)
        found.insert(1, _of_tree(mujoco, "Panda, coupled fingers", panda, _inside(panda)))
    quadruped = setsu.sample_mechanisms.quadruped()
    found.append(
        _on_floor(mujoco, "quadruped on the floor", quadruped, standing(quadruped, {"pitch": 0.6, "knee": -1.2}))
    )
    humanoid = setsu.sample_mechanisms.hoap1_like()
    bent = {"hip_pitch": -0.4, "knee": 0.8, "ankle_pitch": -0.4}
    found.append(_on_floor(mujoco, "humanoid on the floor", humanoid, standing(humanoid, bent)))
    return found


def _closed_legs(mujoco: Any) -> _Subject:
    m = setsu.sample_mechanisms.closed_leg_biped()
    return _on_floor(mujoco, "closed-leg biped on the floor", m, closed_leg_biped_posture(m))


def _with_masses(m: setsu.Mechanism) -> setsu.Mechanism:
    """Thin rods and links known by one moment of inertia alone, as solids MuJoCo takes; the same in both engines."""

    def solid(body: Any) -> Any:
        xx, xy, xz, yy, yz, zz = body.inertia
        if not body.mass:
            largest = max(xx, yy, zz)
            return replace(body, mass=1e-3, inertia=(largest, 0.0, 0.0, largest, 0.0, largest))
        return replace(body, inertia=(xx + _THIN, xy, xz, yy + _THIN, yz, zz + _THIN))

    return replace(m, bodies=tuple(map(solid, m.bodies)))


def _inside(m: setsu.Mechanism) -> Floats:
    low, high = np.maximum(m.lower, -1.0), np.minimum(m.upper, 1.0)
    return setsu.close_loops(m, low + 0.4 * (high - low))


def standing(m: setsu.Mechanism, angles: dict[str, float]) -> Floats:
    """The joints bent by name, the lowest contact points on the floor."""
    q = m.neutral()
    for name, place in zip(m.joint_names, m.q_slices, strict=True):
        for part, angle in angles.items():
            if name.endswith(part):
                q[place] = angle
    q[2] -= _lowest(m, q)
    return q


def _lowest(m: setsu.Mechanism, q: Floats) -> float:
    poses = setsu.body_poses(m, q)
    heights = []
    for point in m.contact_points:
        frame = m.frame(point.body)
        T = poses[frame.body] @ frame.pose.matrix
        heights.append(float(T[2, :3] @ np.asarray(point.position) + T[2, 3]) - point.radius)
    return min(heights)


def _of_tree(mujoco: Any, name: str, m: setsu.Mechanism, q: Floats) -> _Subject:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", setsu.ModelWarning)  # pictures are left out
            m.save(path)
        spec = mujoco.MjSpec.from_file(str(path))
    for joint in m.joint_names:
        actuator = spec.add_actuator(target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
    for body in spec.bodies[1:]:
        body.gravcomp = 1.0
    model = spec.compile()
    model.opt.timestep, model.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_RK4
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    model.body_gravcomp[:] = 0.0
    return _Subject(name, m, q, np.zeros(m.nv), None, model, mujoco.MjData(model), q)


def _on_floor(mujoco: Any, name: str, m: setsu.Mechanism, q: Floats) -> _Subject:
    twin: Any = MujocoHumanoid(m, q)
    x, y, z, w = q[3:7]
    qpos = np.concatenate([q[:3], [w, x, y, z], q[7:]])
    for joint, place in zip(m.joint_names[1:], m.q_slices[1:], strict=True):  # MuJoCo goes through the tree depth first
        qpos[twin.model.joint(joint).qposadr[0]] = q[place][0]
    twin.model.actuator_gainprm[:] = twin.model.actuator_biasprm[:] = 0.0
    return _Subject(name, m, q, np.zeros(m.nv), setsu.Environment.floor(), twin.model, twin.data, qpos)


# One world ---------------------------------------------------------------------------------------------------------


def measure_simulator(*, quick: bool = False, progress: Progress = lambda text, part: None) -> SteppingStudy:
    """Measure one world: bare, under a torque held from Python, a law in Python, a law without Python.

    Raises:
        InputError: MuJoCo is not installed.
    """
    mujoco = _mujoco(SIMULATOR)
    machine, rounds, steps = describe_machine(), 5 if quick else 20, 100 if quick else 300
    rows: list[SteppingRow] = []
    subjects = _subjects(mujoco)
    for number, subject in enumerate(subjects):
        for way, prepare in _WAYS.items():
            progress(f"{subject.name}: {way}", (number + len(rows) % len(_WAYS) / len(_WAYS)) / len(subjects))
            ours, theirs = prepare(mujoco, subject, steps)
            ours()  # compiles
            best = [float("inf")] * 2
            for _ in range(rounds):
                for k, work in enumerate((ours, theirs)):
                    best[k] = min(best[k], work())
            rows.append(SteppingRow(subject.name, way, 1e6 * best[0] / steps, 1e6 * best[1] / steps, goal=1.0))
    overheads = tuple(_overhead(subject, steps, rounds) for subject in subjects)
    robots = [subject for subject in subjects if subject.environment is not None]
    resets = tuple(_resets(subject, rounds, options) for subject in robots for options in _OF_RESETS)
    together = tuple(_together(subject, 50 * steps, rounds) for subject in subjects)
    progress("done", 1.0)
    return SteppingStudy(SIMULATOR, machine, _versions(mujoco), tuple(rows), together, overheads, resets)


def _overhead(s: _Subject, steps: int, rounds: int) -> OverheadRow:
    """The same steps under the same torque, one by one and at once."""
    torque, sim, best = _pull(s), s.simulator(), [float("inf")] * 2

    def one_by_one() -> None:
        for _ in range(steps):
            sim.step(torque)

    for _ in range(rounds):
        for k, work in enumerate((one_by_one, lambda: sim.step(torque, steps))):
            sim.reset(s.q, s.v)
            sim.step()
            best[k] = min(best[k], processor_seconds(work))
    return OverheadRow(s.name, *(1e6 * seconds / steps for seconds in best))


_OF_RESETS: tuple[dict[str, Any], ...] = ({}, {"joint_stops": True}, {"body_contacts": True})


def _resets(s: _Subject, rounds: int, options: dict[str, Any], worlds: int = 64) -> ResetRow:
    """`reset` of one world, as often as there are many, and of these at once."""
    one, many = s.simulator(**options), s.simulator(count=worlds, **options)
    q, v = np.tile(s.q, (worlds, 1)), np.tile(s.v, (worlds, 1))
    best = [float("inf")] * 2
    for _ in range(4 * rounds):
        one.step()
        best[0] = min(best[0], processor_seconds(lambda: [one.reset(s.q, s.v) for _ in range(worlds)]) / worlds)
        many.step()
        best[1] = min(best[1], processor_seconds(lambda: many.reset(q, v)) / worlds)
    name = ", ".join([s.name, *(option.replace("_", " ") for option in options)])
    return ResetRow(name, *(1e6 * seconds for seconds in best))


def _together(s: _Subject, steps: int, rounds: int) -> TogetherRow:
    """One run of so many steps, and two at once."""
    torque, best = np.zeros(s.mechanism.nv), [float("inf")] * 2
    sims = [s.simulator() for _ in range(2)]
    for _ in range(rounds):
        for count in (1, 2):
            for sim in sims:
                sim.reset(s.q, s.v)
            threads = [threading.Thread(target=sim.step, args=(torque, steps)) for sim in sims[:count]]
            begin = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            best[count - 1] = min(best[count - 1], time.perf_counter() - begin)
    return TogetherRow(s.name, *best)


Work = Callable[[], float]


def _bare(mujoco: Any, s: _Subject, steps: int) -> tuple[Work, Work]:
    sim = s.simulator()

    def ours() -> float:
        sim.reset(s.q, s.v)
        sim.step()
        return processor_seconds(lambda: sim.step(steps=steps))

    def theirs() -> float:
        s.begin(mujoco)
        return processor_seconds(lambda: mujoco.mj_step(s.model, s.data, steps))

    return ours, theirs


def _pull(s: _Subject) -> Floats:
    """A torque at all joints but a free base, N m."""
    torque = np.full(s.mechanism.nv, 0.1)
    torque[: s.mechanism.nv - len(s.mechanism.joint_names) + 1] *= 0.0 if s.environment is not None else 1.0
    return torque


def _held(mujoco: Any, s: _Subject, steps: int) -> tuple[Work, Work]:
    torque, sim = _pull(s), s.simulator()

    def ours() -> float:
        sim.reset(s.q, s.v)
        sim.step()

        def work() -> None:
            for _ in range(steps):
                sim.step(torque)

        return processor_seconds(work)

    def theirs() -> float:
        s.begin(mujoco)
        model, data, step = s.model, s.data, mujoco.mj_step

        def work() -> None:
            for _ in range(steps):
                data.qfrc_applied[:] = torque
                step(model, data)

        return processor_seconds(work)

    return ours, theirs


def _law(s: _Subject) -> Callable[[Any, Any, Any], Any]:
    """Gravity compensation and feedback of all joints but a free base."""
    m, q0 = s.mechanism, s.q
    free = 6 if s.environment is not None else 0
    mask = np.where(np.arange(m.nv) < free, 0.0, 1.0)

    def law(t: Any, q: Any, v: Any) -> Any:
        return mask * (setsu.gravity_torque(m, q) + STIFFNESS * setsu.difference(m, q, q0) - DAMPING * v)

    return law


def _python_law(mujoco: Any, s: _Subject, steps: int) -> tuple[Work, Work]:
    law, free = _law(s), 6 if s.environment is not None else 0

    sim = s.simulator(law)

    def ours() -> float:
        sim.reset(s.q, s.v)
        sim.step()
        return processor_seconds(lambda: sim.step(steps=steps))

    rest = s.qpos[-(s.mechanism.nv - free) :]

    def callback(model: Any, data: Any) -> None:
        pull = STIFFNESS * (rest - data.qpos[-len(rest) :]) - DAMPING * data.qvel[free:]
        data.qfrc_applied[free:] = data.qfrc_bias[free:] + pull

    def theirs() -> float:
        s.begin(mujoco)
        mujoco.set_mjcb_control(callback)
        try:
            return processor_seconds(lambda: mujoco.mj_step(s.model, s.data, steps))
        finally:
            mujoco.set_mjcb_control(None)

    return ours, theirs


def _compiled_law(mujoco: Any, s: _Subject, steps: int) -> tuple[Work, Work]:
    law, free = setsu.control.law(_law(s)), 6 if s.environment is not None else 0
    rest = s.qpos[-(s.mechanism.nv - free) :]

    sim = s.simulator(law)

    def ours() -> float:
        sim.reset(s.q, s.v)
        sim.step()
        return processor_seconds(lambda: sim.step(steps=steps))

    def theirs() -> float:
        model = s.model
        s.begin(mujoco)
        model.actuator_gainprm[:, 0], model.actuator_biasprm[:, 1] = STIFFNESS, -STIFFNESS
        model.actuator_biasprm[:, 2] = -DAMPING
        model.body_gravcomp[1:] = 1.0 if s.environment is None else 0.0
        s.data.ctrl[:] = rest[: model.nu]
        try:
            return processor_seconds(lambda: mujoco.mj_step(model, s.data, steps))
        finally:
            model.actuator_gainprm[:] = model.actuator_biasprm[:] = 0.0
            model.body_gravcomp[:] = 0.0

    return ours, theirs


_WAYS: dict[str, Callable[[Any, _Subject, int], tuple[Work, Work]]] = {
    "bare": _bare,
    "torque held from Python": _held,
    "law at every stage": _python_law,
    "law without Python": _compiled_law,
}


# Many worlds -------------------------------------------------------------------------------------------------------


def measure_rollout(*, quick: bool = False, progress: Progress = lambda text, part: None) -> SteppingStudy:
    """Measure many worlds at once beside `mujoco.rollout`, on one and two threads.

    Raises:
        InputError: MuJoCo is not installed.
    """
    mujoco = _mujoco(ROLLOUT)
    machine, rounds = describe_machine(), 3 if quick else 8
    rows: list[SteppingRow] = []
    walls: list[float] = []
    subjects = [s for s in _subjects(mujoco) if "Panda" not in s.name] + [_closed_legs(mujoco)]
    for number, subject in enumerate(subjects):
        for worlds in (256,) if quick else (256, 4096):
            # The steps of a round shrink with the number of worlds: a round takes about a second.
            steps = max(5, (20 if subject.environment is not None else 50) * 256 // worlds)
            for threads in (1, 2):
                progress(f"{subject.name}: {worlds} worlds, {threads} threads", number / len(subjects))
                best = _rollout(mujoco, subject, worlds, threads, steps, rounds)
                goal = 1.5 if subject.environment is not None else 20.0
                ours, theirs, wall = (1e6 * seconds / steps / worlds for seconds in best)
                walls.append(wall)
                rows.append(SteppingRow(subject.name, "many worlds", ours, theirs, goal, worlds, threads))
    progress("done", 1.0)
    pairs = zip(rows[::2], walls[::2], walls[1::2], strict=True)
    scaling = tuple(ThreadsRow(row.subject, row.worlds, one, two) for row, one, two in pairs)
    return SteppingStudy(ROLLOUT, machine, _versions(mujoco), tuple(rows), threads=scaling)


def _rollout(mujoco: Any, s: _Subject, worlds: int, threads: int, steps: int, rounds: int) -> list[float]:
    """Seconds of so many steps of all worlds, ours, MuJoCo's (of the processor on one thread), and ours by the wall."""
    s.begin(mujoco)
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.zeros(mujoco.mj_stateSize(s.model, full))
    mujoco.mj_getState(s.model, s.data, state, full)
    states = np.tile(state, (worlds, 1))
    pool = mujoco.rollout.Rollout(nthread=threads if threads > 1 else 0)
    datas = [mujoco.MjData(s.model) for _ in range(threads)]
    sim = s.simulator(count=worlds, threads=threads)
    sim.step(steps=1 if s.environment is not None else -(-_WARM // worlds))
    best = [float("inf")] * 3
    now = time.process_time if threads == 1 else time.perf_counter
    try:
        for _ in range(rounds):
            sim.reset(np.tile(s.q, (worlds, 1)), np.tile(s.v, (worlds, 1)))
            begin, wall = now(), time.perf_counter()
            sim.step(steps=steps)
            middle, wall = now(), time.perf_counter() - wall
            pool.rollout(s.model, datas, states, nstep=steps)
            best = [*map(min, best, (middle - begin, now() - middle, wall))]
    finally:
        pool.close()
    return best


def _versions(mujoco: Any) -> dict[str, str]:
    return {"Setsu": setsu.__version__, "MuJoCo": mujoco.__version__}
