"""Tables and work space of the compiled search (compiled_search.py), and the way into it."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints import constraint_system
from setsu.constraints.row_tables import bound_kernels, row_state, row_tables
from setsu.dynamics.catalogue import native_function
from setsu.dynamics.parameters import inertial_parameters
from setsu.inverse_kinematics.tasks import CENTER_OF_MASS, Tasks
from setsu.mechanism import Mechanism

__all__ = ["CompiledSearch"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_MOST = 32  # candidates
_KEPT = 32  # constants of tasks, with a mechanism


class _Constants(NamedTuple):
    """Tasks (k of frames) and limits. coordinate (nv,): that a velocity is the rate of, or -1."""

    body: Ints  # (k,) -1 for the world
    point: Floats  # (k, 3) in the body
    rotation: Floats  # (k, 9) of the frame in the body
    has_position: Ints
    has_rotation: Ints
    has_center: Ints  # (1,)
    n_rows: Ints  # (1,) of tasks
    weight: Floats  # (rows,)
    last: Ints  # (n_bodies,) last velocity of each body
    parent: Ints  # (nv,)
    mass: Floats  # (n_bodies,)
    center: Floats  # (n_bodies, 3)
    total: Floats  # (1,) mass
    held: Ints  # (nv,)
    held_coordinate: Ints  # (nq,)
    coordinate: Ints
    lower: Floats
    upper: Floats


class _Work(NamedTuple):
    q: Floats
    trial: Floats
    step: Floats
    plain: Floats
    e: Floats
    J: Floats
    Jt: Floats
    rest: Floats
    H: Floats
    g: Floats
    free: Ints
    order: Ints
    distance: Floats
    integrate: Ints


class _Given(NamedTuple):
    """Starts of problems, wanted places and rotations of frames (k, count, ...), what is known of the problems.

    patience: an attempt ends when the error fell by less than a factor in so many rounds; rounds; tolerance; how many
    candidates are tried. own: (1,) whether starts are candidates too. plain: errors of tasks in the best postures.
    """

    start: Floats
    row: Ints
    candidates: Floats
    own: Ints
    position: Floats
    rotation: Floats
    center: Floats
    patience: Floats
    best: Floats
    best_cost: Floats
    plain: Floats
    done: Ints
    rounds: Ints


class _Space:
    """What does not depend on tasks, kept with a mechanism: kinematics and rows of loops."""

    def __init__(self, m: Mechanism) -> None:
        from setsu.native.workspace import Workspace

        system = constraint_system(m)
        self.tables, self.state = row_tables(system), row_state(system)
        self.kernels, self.kept = bound_kernels(system, self.state)
        self.workspaces = tuple(map(Workspace, (self.tables, self.state, self.kernels)))
        p = inertial_parameters(m).reshape(-1, 10)
        self.mass = np.ascontiguousarray(p[:, 0])
        self.center = p[:, 1:4] / np.maximum(self.mass, 1e-300)[:, None]
        self.total = np.array([max(float(self.mass.sum()), 1e-300)])
        self.last = np.array([where.stop - 1 for where in m.v_slices], dtype=np.int64)
        self.parent = np.array(m.tables.dof_parent, dtype=np.int64)
        self.trial, self.step = np.zeros(m.nq), np.zeros(m.nv)
        self.integrate = native_function(m, "integrate").bind([self.state.q, self.step], [self.trial])
        self.asked: dict[Any, tuple[Any, ...]] = {}
        self.drawn: dict[Any, Floats] = {}
        # Compiled code runs without Python's own lock, and its work space is one.
        self.lock = threading.Lock()


class CompiledSearch:
    """The search of the problems of one call; best, plain, done, rounds: (count, ...) what is known of them.

    held (nv,): velocities that stay. coordinate (nv,), lower, upper (nv,): limits of coordinates that are numbers.
    """

    def __init__(self, tasks: Tasks, held: Any, coordinate: Ints, lower: Floats, upper: Floats) -> None:
        m, count = tasks.mechanism, tasks.count
        space = m.__dict__.get("_search_space")
        if space is None:
            space = m.__dict__.setdefault("_search_space", _Space(m))
        self._space, self.drawn = space, space.drawn
        frames = [task for name, task in zip(tasks.names, tasks.tasks, strict=True) if name != CENTER_OF_MASS]
        center = [task for name, task in zip(tasks.names, tasks.tasks, strict=True) if name == CENTER_OF_MASS]
        parts = [(f.frame, f.position is None, f.rotation is None, f.point.tobytes()) for f in frames]
        weights = tuple(task.weights.tobytes() for task in tasks.tasks)
        key = (*parts, bool(center), weights, held.tobytes(), lower.tobytes(), upper.tobytes())
        if key not in space.asked:
            if len(space.asked) >= _KEPT:
                space.asked.clear()
            space.asked[key] = _workspaces(space, tasks, frames, bool(center), held, coordinate, lower, upper)
        self._workspaces: tuple[Any, ...] = space.asked[key]
        none, turns = np.zeros((count, 3)), np.zeros((count, 3, 3))
        places = [none if task.position is None else task.position for task in frames]
        rotations = [turns if task.rotation is None else task.rotation for task in frames]
        self._position = np.array(places).reshape(len(frames), count, 3)
        self._rotation = np.array(rotations).reshape(len(frames), count, 9)
        self._center = np.ascontiguousarray(center[0].position) if center else none
        self.best = np.repeat(m.neutral()[None], count, axis=0)
        self.best_cost = np.full(count, np.inf)
        self.plain = np.full((count, tasks.n_rows), np.inf)
        self.done = np.zeros(count, dtype=np.int64)
        self.rounds = np.zeros(count, dtype=np.int64)

    def run(
        self,
        rows: Any,
        patience: tuple[float, int],
        rounds: int,
        tolerance: float,
        starts: Floats | None = None,
        candidates: Floats | None = None,
        tried: int = 0,
    ) -> None:
        """Search for the problems `rows` (n,) from `starts` (n, nq), or from the nearest `tried` of `candidates`
        (k, nq) and of the problem's start if there is one."""
        from setsu.inverse_kinematics.compiled_search import search
        from setsu.native.workspace import Workspace

        none = np.zeros((0, self.best.shape[1]))
        given = _Given(
            start=none if starts is None else np.ascontiguousarray(starts),
            row=np.ascontiguousarray(rows, dtype=np.int64),
            candidates=none if candidates is None else candidates[:_MOST],
            own=np.array([starts is not None], dtype=np.int64),
            position=self._position,
            rotation=self._rotation,
            center=self._center,
            patience=np.array([patience[0], patience[1], rounds, tolerance, tried]),
            best=self.best,
            best_cost=self.best_cost,
            plain=self.plain,
            done=self.done,
            rounds=self.rounds,
        )
        arguments: Any = (*self._workspaces, Workspace(given))
        with self._space.lock:
            search(*arguments)


def _workspaces(
    space: _Space,
    tasks: Tasks,
    frames: list[Any],
    center: bool,
    held: Any,
    coordinate: Ints,
    lower: Floats,
    upper: Floats,
) -> tuple[Any, ...]:
    """Constants of some tasks and work space for them."""
    from setsu.native.workspace import Workspace

    m = tasks.mechanism
    nv, rows = m.nv, tasks.n_rows + len(space.tables.held)
    poses = [m.frame(task.frame) for task in frames]
    points = [(pose.pose.matrix @ [*task.point, 1.0])[:3] for pose, task in zip(poses, frames, strict=True)]
    held_coordinate = np.zeros(m.nq, dtype=np.int64)
    for where_q, where_v in zip(m.q_slices, m.v_slices, strict=True):
        held_coordinate[where_q] = bool(held[where_v].any())
    constants = _Constants(
        body=np.array([pose.body for pose in poses], dtype=np.int64),
        point=np.array(points).reshape(-1, 3),
        rotation=np.array([pose.pose.matrix[:3, :3].ravel() for pose in poses]).reshape(-1, 9),
        has_position=np.array([task.position is not None for task in frames], dtype=np.int64),
        has_rotation=np.array([task.rotation is not None for task in frames], dtype=np.int64),
        has_center=np.array([center], dtype=np.int64),
        n_rows=np.array([tasks.n_rows], dtype=np.int64),
        weight=np.concatenate([task.weights for task in tasks.tasks]),
        last=space.last,
        parent=space.parent,
        mass=space.mass,
        center=space.center,
        total=space.total,
        held=held.astype(np.int64),
        held_coordinate=held_coordinate,
        coordinate=coordinate,
        lower=lower,
        upper=upper,
    )
    work = _Work(
        q=np.zeros(m.nq),
        trial=space.trial,
        step=space.step,
        plain=np.zeros(tasks.n_rows),
        e=np.zeros(rows),
        J=np.zeros((rows, nv)),
        Jt=np.zeros((nv, rows)),
        rest=np.zeros(rows),
        H=np.zeros((nv, nv)),
        g=np.zeros(nv),
        free=np.zeros(nv, dtype=np.int64),
        order=np.zeros(_MOST + 1, dtype=np.int64),
        distance=np.zeros(_MOST + 1),
        integrate=space.integrate.handle,
    )
    return (*space.workspaces, Workspace(constants), Workspace(work))
