"""The study of inverse kinematics: success and time on random reachable poses, beside Pink, mink and TRAC-IK.

    measure_inverse_kinematics(quick=True)

Targets are poses of the tool at random postures within limits (closed ones for machines with loops). Success means
1e-6 m and 1e-6 rad, within limits, loops closed to 1e-10. Every solver iterates to that tolerance, and begins again
from random postures where it does not get there, at most RESTARTS times. Pink and mink take full Gauss-Newton steps
(dt = 1, damping that grows with the error) within joint limits, their QPs solved by daqp. Loops are closed by ours and
by mink, whose `EqualityConstraintTask` is given the loops of the MJCF that Setsu writes, on the machine whose joints
all have one coordinate there too; Pink and TRAC-IK do not close them. TRAC-IK restarts by itself for up to a second.
Times are processor times.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from rich.console import Group
from rich.table import Table
from rich.text import Text

import setsu
from setsu.benchmarks.goals import Goal
from setsu.benchmarks.machine import Machine, describe_machine
from setsu.benchmarks.subjects import robot
from setsu.spatial import quaternion_from_rotation

__all__ = [
    "INVERSE_KINEMATICS",
    "InverseKinematicsRow",
    "InverseKinematicsStudy",
    "inverse_kinematics_as_json",
    "inverse_kinematics_goals",
    "inverse_kinematics_tables",
    "measure_inverse_kinematics",
    "write_inverse_kinematics_json",
]

INVERSE_KINEMATICS = "inverse_kinematics"
TOLERANCE = 1e-6
# Of each component, so that vectors are within the tolerance whoever stops by it.
COMPONENT = TOLERANCE / np.sqrt(3.0)
RESTARTS = 60
_LIMIT = 1e-8  # rad or m: TRAC-IK keeps limits to single precision
_ATTEMPTS_WITH_LOOPS = 5
ROUNDS = 100  # of Pink and mink in one attempt
_FEW = 50  # poses of machines with loops by others, which take seconds where they fail

Floats = NDArray[np.float64]
Progress = Callable[[str, float], None]
Solver = Callable[[Floats, np.random.Generator], Floats]


@dataclass(frozen=True)
class _Subject:
    name: str
    mechanism: setsu.Mechanism
    frame: str
    urdf: str = ""
    fixed: tuple[str, ...] = ()


@dataclass(frozen=True)
class InverseKinematicsRow:
    """Milliseconds per pose and share of poses reached, of one solver on one machine."""

    machine: str
    solver: str
    poses: int
    success: float
    milliseconds: float


@dataclass(frozen=True)
class InverseKinematicsStudy:
    """Everything a run found out; missing: solvers that are not installed."""

    machine: Machine
    rows: tuple[InverseKinematicsRow, ...]
    missing: tuple[str, ...]


def measure_inverse_kinematics(
    *, quick: bool = False, progress: Progress = lambda text, part: None
) -> InverseKinematicsStudy:
    """Solve 1,000 poses (quick: 100) on each machine by each solver."""
    count = 100 if quick else 1000
    subjects, rows, missing = _subjects(), [], set()
    for number, subject in enumerate(subjects):
        m = subject.mechanism
        poses = setsu.frame_pose(m, _postures(m, count, subject.fixed), subject.frame)
        progress(f"{subject.name}, setsu", number / len(subjects))
        options: Any = {"tolerance": COMPONENT, "restarts": RESTARTS, "fixed": subject.fixed}
        setsu.inverse_kinematics(m, {subject.frame: poses[:20]}, **options)  # code is made
        began = process_time()
        together = setsu.inverse_kinematics(m, {subject.frame: poses}, **options)
        rows.append(_row(subject, "setsu, one call", poses, together.q, process_time() - began))
        solvers: dict[str, Callable[[], Solver]] = {"setsu, pose by pose": lambda s=subject: _setsu(s)}
        if subject.urdf:
            solvers |= {
                "Pink": lambda s=subject: _pink(s),
                "mink": lambda s=subject: _mink(s),
                "TRAC-IK": lambda s=subject: _trac_ik(s),
            }
        elif all(body.joint.nv == 1 for body in m.moving):
            solvers |= {"mink": lambda s=subject: _mink_with_loops(s)}
        for name, make in solvers.items():
            progress(f"{subject.name}, {name}", number / len(subjects))
            try:
                solve = make()
            except ImportError:
                missing.add(name)
                continue
            rng = np.random.default_rng(1)
            some = poses if name.startswith("setsu") or subject.urdf else poses[:_FEW]
            solve(some[0], rng)
            began = process_time()
            q = np.array([solve(pose, rng) for pose in some])
            rows.append(_row(subject, name, some, q, process_time() - began))
    progress("done", 1.0)
    return InverseKinematicsStudy(describe_machine(), tuple(rows), tuple(sorted(missing)))


def _row(subject: _Subject, solver: str, poses: Floats, q: Floats, seconds: float) -> InverseKinematicsRow:
    """Judge postures by our own kinematics, whoever found them."""
    m = subject.mechanism
    T = setsu.frame_pose(m, q, subject.frame)
    turn = setsu.rotation_log(np.swapaxes(T[:, :3, :3], 1, 2) @ poses[:, :3, :3])
    near = np.linalg.norm(T[:, :3, 3] - poses[:, :3, 3], axis=1) <= TOLERANCE
    near &= np.linalg.norm(turn, axis=1) <= TOLERANCE
    if m.loops or m.couplings:
        near &= np.abs(setsu.loop_error(m, q)).max(axis=1, initial=0.0) < 1e-10
    for body, where_q, where_v in zip(m.moving, m.q_slices, m.v_slices, strict=True):
        if body.joint.nq == body.joint.nv:
            near &= (q[:, where_q] >= m.lower[where_v] - _LIMIT).all(axis=1)
            near &= (q[:, where_q] <= m.upper[where_v] + _LIMIT).all(axis=1)
    return InverseKinematicsRow(subject.name, solver, len(q), float(near.mean()), round(1e3 * seconds / len(q), 3))


def _postures(m: setsu.Mechanism, count: int, fixed: tuple[str, ...] = ()) -> Floats:
    """Random postures within limits; of machines with loops, closed ones about the reference."""
    rng = np.random.default_rng(20_261)
    if not m.loops:
        return np.array([m.random_configuration(rng) for _ in range(count)])
    home, found = setsu.close_loops(m, m.reference_configuration()), np.zeros((0, m.nq))
    while len(found) < count:
        shift = 0.3 * rng.standard_normal((count, m.nv))
        for name in fixed:
            shift[:, m.v_slices[m.joint_index(name)]] = 0.0
        # The world is where it is: what is left of the problem is to close the loops.
        near = setsu.integrate(m, home, shift, 1.0)
        closed = setsu.inverse_kinematics(m, {"world": np.eye(4)}, near, fixed=fixed, restarts=0)
        found = np.concatenate([found, closed.q[closed.converged]])
    return found[:count]


def _subjects() -> list[_Subject]:
    """Panda and UR10 where their files are installed, a Stewart platform, a delta robot, a linkage leg and a biped."""
    found = []
    for name, frame in (("panda", "panda_hand"), ("ur10", "tool0")):
        subject = robot(name)
        if subject is None:
            continue
        with TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore", setsu.ModelWarning)
            path = Path(folder) / f"{name}.urdf"
            path.write_text(subject.urdf, encoding="utf-8")
            m = setsu.load(path)
        if frame not in m.frame_names:
            frame = m.frame_names[-1]
        found.append(_Subject(name, m, frame, subject.urdf))
    samples = setsu.sample_mechanisms
    for name, m in (
        ("Stewart platform", samples.stewart_platform()),
        ("delta robot", samples.delta_robot()),
        ("Jansen leg", samples.jansen_leg()),
    ):
        found.append(_Subject(name, m, m.body_names[0] if "platform" in name else m.body_names[-1]))
    biped = samples.closed_leg_biped()
    found.append(_Subject("closed-leg biped", biped, "left_foot", fixed=("free",)))  # its trunk stays
    return found


def _setsu(subject: _Subject) -> Solver:
    m, frame = subject.mechanism, subject.frame
    options: Any = {"tolerance": COMPONENT, "restarts": RESTARTS, "fixed": subject.fixed}
    return lambda pose, rng: setsu.inverse_kinematics(m, {frame: pose}, **options).q


def _random(m: setsu.Mechanism, rng: np.random.Generator) -> Floats:
    return m.random_configuration(rng)


def _pink(subject: _Subject) -> Solver:
    """Pink on a Pinocchio model of the same file."""
    pin, pink = import_module("pinocchio"), import_module("pink")
    pinocchio_map = import_module("setsu.interop").pinocchio
    limits = import_module("pink.limits")
    import_module("daqp")
    model = pin.buildModelFromXML(subject.urdf)
    data, there = model.createData(), pinocchio_map(subject.mechanism, model)
    task = pink.tasks.FrameTask(subject.frame, position_cost=1.0, orientation_cost=1.0, lm_damping=1e-2)
    bounds = [limits.ConfigurationLimit(model, config_limit_gain=1.0)]
    configuration = pink.Configuration(model, data, np.array(pin.neutral(model)))

    def solve(pose: Floats, rng: np.random.Generator) -> Floats:
        task.set_target(pin.SE3(pose))
        q = there.q_to(np.clip(subject.mechanism.neutral(), subject.mechanism.lower, subject.mechanism.upper))
        for _ in range(RESTARTS + 1):
            configuration.update(q)
            for _ in range(ROUNDS):
                if np.abs(task.compute_error(configuration)).max() <= COMPONENT:
                    return there.q_from(configuration.q)
                velocity = pink.solve_ik(
                    configuration, [task], 1.0, solver="daqp", limits=bounds, damping=1e-12, safety_break=False
                )
                configuration.integrate_inplace(velocity, 1.0)
            q = there.q_to(_random(subject.mechanism, rng))
        return there.q_from(configuration.q)

    return solve


def _mink(subject: _Subject) -> Solver:
    """mink on a MuJoCo model of the same file."""
    mujoco, mink = import_module("mujoco"), import_module("mink")
    mujoco_map = import_module("setsu.interop").mujoco
    import_module("daqp")
    spec = mujoco.MjSpec.from_string(subject.urdf)
    spec.compiler.fusestatic, spec.compiler.boundmass, spec.compiler.boundinertia = False, 1e-6, 1e-9
    spec.compiler.balanceinertia = True
    model = spec.compile()
    there = mujoco_map(subject.mechanism, model)
    task = mink.FrameTask(subject.frame, "body", position_cost=1.0, orientation_cost=1.0, lm_damping=1e-2)
    bounds = [mink.ConfigurationLimit(model, gain=1.0)]
    configuration = mink.Configuration(model)

    def solve(pose: Floats, rng: np.random.Generator) -> Floats:
        task.set_target(mink.SE3.from_matrix(pose))
        q = there.q_to(np.clip(subject.mechanism.neutral(), subject.mechanism.lower, subject.mechanism.upper))
        for _ in range(RESTARTS + 1):
            configuration.update(q)
            for _ in range(ROUNDS):
                if np.abs(task.compute_error(configuration)).max() <= COMPONENT:
                    return there.q_from(configuration.q)
                velocity = mink.solve_ik(
                    configuration, [task], 1.0, solver="daqp", damping=1e-12, limits=bounds, safety_break=False
                )
                configuration.integrate_inplace(velocity, 1.0)
            q = there.q_to(_random(subject.mechanism, rng))
        return there.q_from(configuration.q)

    return solve


def _mink_with_loops(subject: _Subject) -> Solver:
    """mink on the MJCF of a mechanism with loops, which it closes as a task of weight 10 like ours."""
    mujoco, mink = import_module("mujoco"), import_module("mink")
    mujoco_map = import_module("setsu.interop").mujoco
    import_module("daqp")
    m = _with_inertia(subject.mechanism)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", setsu.ModelWarning)
        path = Path(folder) / "machine.xml"
        m.save(path)
        model = mujoco.MjModel.from_xml_path(str(path))
    there = mujoco_map(m, model)
    task = mink.FrameTask(subject.frame, "body", position_cost=1.0, orientation_cost=1.0, lm_damping=1e-2)
    loops = mink.EqualityConstraintTask(model, cost=10.0)
    bounds = [mink.ConfigurationLimit(model, gain=1.0)]
    configuration = mink.Configuration(model)
    home = setsu.close_loops(m, m.reference_configuration())

    def solve(pose: Floats, rng: np.random.Generator) -> Floats:
        task.set_target(mink.SE3.from_matrix(pose))
        q = home
        for _ in range(_ATTEMPTS_WITH_LOOPS):
            configuration.update(there.q_to(q))
            for _ in range(ROUNDS):
                apart = np.abs(task.compute_error(configuration)).max()
                if apart <= COMPONENT and np.abs(loops.compute_error(configuration)).max() <= 1e-11:
                    break
                velocity = mink.solve_ik(
                    configuration, [task, loops], 1.0, solver="daqp", damping=1e-12, limits=bounds, safety_break=False
                )
                configuration.integrate_inplace(velocity, 1.0)
            else:
                q = setsu.integrate(m, home, 0.3 * rng.standard_normal(m.nv), 1.0)
                continue
            break
        return there.q_from(configuration.q)

    return solve


def _with_inertia(m: setsu.Mechanism) -> setsu.Mechanism:
    """The same kinematics with bodies that MuJoCo takes: it refuses rods without inertia."""
    builder = setsu.MechanismBuilder(m.name)
    for body in m.bodies:
        inertia = 1e-2 * np.eye(3)
        builder.add_body(body.name, body.parent, body.joint, body.pose.matrix, 1.0, (0.0, 0.0, 0.0), inertia)
    for loop in m.loops:
        builder.add_loop(loop.name, loop.body_a, loop.body_b, loop.joint, loop.pose_a.matrix, loop.pose_b.matrix)
    return builder.build()


def _trac_ik(subject: _Subject) -> Solver:
    """TRAC-IK on the same file, with its own restarts."""
    pytracik = import_module("pytracik")
    m = subject.mechanism
    children = {joint.attrib["link"] for joint in ElementTree.fromstring(subject.urdf).iter("child")}
    links = [link.attrib["name"] for link in ElementTree.fromstring(subject.urdf).findall("link")]
    root = next(name for name in links if name not in children)
    solver = pytracik.TRAC_IK(root, subject.frame, subject.urdf, 1.0, COMPONENT, pytracik.SolveType.Speed)
    count = pytracik.get_num_joints(solver)
    start = np.clip(m.neutral(), m.lower, m.upper)

    def solve(pose: Floats, rng: np.random.Generator) -> Floats:
        x, y, z, w = quaternion_from_rotation(pose[:3, :3])
        found = np.array(pytracik.ik(solver, start[:count], *pose[:3, 3], x, y, z, w))
        return np.concatenate([found[-count:], start[count:]])

    return solve


def inverse_kinematics_goals(study: InverseKinematicsStudy) -> list[Goal]:
    """Return the goals: success of ours on every machine, time of one pose beside the faster of the others."""
    goals = []
    for name in dict.fromkeys(row.machine for row in study.rows):
        rows = {row.solver: row for row in study.rows if row.machine == name}
        ours = rows["setsu, pose by pose"]
        goals.append(Goal(f"{name}: poses reached", 0.999, min(ours.success, rows["setsu, one call"].success)))
        others = [row.milliseconds for solver, row in rows.items() if not solver.startswith("setsu")]
        if others:
            goals.append(Goal(f"{name}: time of the faster other solver / ours", 1.0, min(others) / ours.milliseconds))
    return goals


def inverse_kinematics_as_json(study: InverseKinematicsStudy) -> dict[str, Any]:
    """Everything in the study and the goals, as plain lists and dictionaries."""
    return {
        "machine": asdict(study.machine),
        "rows": [asdict(row) for row in study.rows],
        "missing": list(study.missing),
        "goals": [{**asdict(goal), "met": goal.met} for goal in inverse_kinematics_goals(study)],
    }


def write_inverse_kinematics_json(study: InverseKinematicsStudy, path: Path) -> None:
    """Write the study to a file."""
    import msgspec

    path.write_bytes(msgspec.json.format(msgspec.json.encode(inverse_kinematics_as_json(study)), indent=1))


def inverse_kinematics_tables(study: InverseKinematicsStudy) -> Group:
    """The tables, to print with rich."""
    table = Table()
    for title in ("machine", "solver", "poses", "reached", "time per pose"):
        table.add_column(title, justify="left" if title in ("machine", "solver") else "right")
    for row in study.rows:
        table.add_row(
            row.machine, row.solver, str(row.poses), f"{100 * row.success:.1f} %", f"{row.milliseconds:.2f} ms"
        )
    lines = [
        f"goal: {goal.what} ≥ {goal.wanted:g}: {goal.reached:.3g}, {'met' if goal.met else 'missed'}"
        for goal in inverse_kinematics_goals(study)
    ]
    if study.missing:
        lines.append(f"not installed: {', '.join(study.missing)}")
    if study.machine.busy:
        lines.append(
            f"{study.machine.load:.1f} of {study.machine.cores} cores were busy: times are worse than they are"
        )
    title = Text("inverse kinematics to 1e-6 m and rad, restarts included")
    return Group(Text(str(study.machine)), title, table, *map(Text, lines))
