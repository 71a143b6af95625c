"""The methods of a C++ class of one mechanism: functions of the library, frames by name, and joints that loops carry.

Loops that close linearly: functions take the driven joints, `joint_motion` is q = D u + b, v = D du, a = D ddu.
Others: functions take all joints, `joint_motion` finds them from the driven ones by Newton steps (nonlinear_loops (8))
from the configuration before, then v and a by (3) there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from setsu.code_generation.c_source import Signature
from setsu.code_generation.closed_functions import tree_state
from setsu.code_generation.closed_mechanism import actuated_rates, full_state, linear_drives
from setsu.code_generation.loop_rows import total
from setsu.code_generation.nonlinear_loops import closed_states, closing_trace, following_trace
from setsu.code_generation.programs import TracedFunction, traced_function
from setsu.code_generation.signatures import identifier, one_line
from setsu.constraints.system import constraint_system
from setsu.dynamics import frame_jacobian, frame_pose, integrate
from setsu.errors import InputError, nearest_names
from setsu.mechanism import Free, Mechanism, Spherical
from setsu.mechanism.velocity_names import coordinate_names, position_names
from setsu.minimum_parameters.assembly_branch import free_velocities, reference_configuration
from setsu.native.specialised import Trace
from setsu.symbolic import Graph
from setsu.symbolic.substitution import substituted, taken_over

__all__ = ["JointMotion", "Method", "frame_methods", "joint_motion"]

Floats = NDArray[np.float64]

_STATES = 8
_ROUNDING = 1e-11
# A guess as far from the solution as a robot's joints move between two samples of a controller, rad or m.
_NEARBY = 1e-3


@dataclass(frozen=True)
class Method:
    """A function with its program, states (count, length) per argument, and results there."""

    signature: Signature
    trace: Trace
    states: list[Floats]
    results: list[Floats]
    tolerance: float = _ROUNDING


@dataclass(frozen=True)
class JointMotion:
    """How all joints follow the driven ones.

    follow: driven q, v, a to all of them where loops close linearly, else q, v_driven, a_driven to v_all, a_all.
    closer: one Newton step q to q_next; None where loops close linearly. places: of the driven coordinates in q.
    names: of the driven coordinates and rates. start: a closed configuration (nq,). quaternions: where they start in q.
    driven, guess, expected: test vectors: q, v, a of the driven joints, q to start at, q, v, a of all.
    """

    follow: Trace
    closer: Trace | None
    places: tuple[int, ...]
    names: tuple[tuple[str, ...], tuple[str, ...]]
    start: Floats
    quaternions: tuple[int, ...]
    driven: list[Floats]
    guess: Floats
    expected: list[Floats]
    tolerance: float


def frame_methods(
    m: Mechanism, frames: Sequence[str], actuated: Sequence[str] | None, single: bool, tolerance: float
) -> list[Method]:
    """Return pose (4x4) and Jacobian of each frame at its origin, in world axes."""
    if isinstance(frames, str):
        frames = (frames,)
    unknown = [frame for frame in frames if frame not in m.frames]
    if unknown:
        raise InputError(f"generate: frames: no frame {unknown[0]!r} in {m.name}{nearest_names(unknown[0], m.frames)}")
    names = [identifier(frame) for frame in frames]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError(f"generate: frames: two of {', '.join(frames)} would both be called {sorted(twice)[0]} in C++")
    methods: list[Method] = []
    poses = traced_function(m, "body_poses", actuated, None) if frames else None
    for frame, name in zip(frames, names, strict=True):
        assert poses is not None
        jacobian = _at_origin(traced_function(m, "closed_frame_jacobian", actuated, frame))
        pose = _pose(poses, m, frame)
        of = one_line(f"{frame} of {m.name}")
        for ending, title, traced, oracle in (
            ("pose", f"4x4 placement of {of}, row by row", pose, _pose_oracle(m, frame)),
            ("jacobian", f"Jacobian of {of} at its origin, velocity first, row by row", jacobian,
             _jacobian_oracle(m, frame, actuated)),
        ):  # fmt: skip
            columns = ", a column per driven joint" if ending == "jacobian" and (m.loops or m.couplings) else ""
            ((output, values),) = traced.trace.outputs.items()
            signature = Signature(
                name=f"{name}_{ending}",
                title=title + columns,
                inputs=(("q", traced.inputs[0][1], "coordinates, rad or m (quaternions x y z w)"),),
                outputs=((output, len(values), "world axes"),),
                single=single,
            )
            states, results = replace(traced, library=None if traced.actuated else oracle).test_vectors()
            methods.append(Method(signature, traced.trace, states, results, tolerance))
    return methods


def _at_origin(traced: TracedFunction) -> TracedFunction:
    ((output, values),) = traced.trace.outputs.items()
    fixed = substituted(traced.trace.graph, values, {("point", k): 0.0 for k in range(3)})
    inputs = tuple(entry for entry in traced.inputs if entry[0] != "point")
    return replace(traced, inputs=inputs, trace=Trace(traced.trace.graph, {output: fixed}), library=None)


def _pose(poses: TracedFunction, m: Mechanism, name: str) -> TracedFunction:
    """Placement of a frame: that of its body times the frame's own."""
    frame, graph = m.frame(name), Graph()
    inputs = {("q", k): graph.input(("q", k)) for k in range(poses.inputs[0][1])}
    ((_, values),) = poses.trace.outputs.items()
    body = taken_over(graph, poses.trace.graph, values[16 * frame.body : 16 * frame.body + 16], inputs)
    T = frame.pose.matrix.tolist()
    found = [total(body[4 * i + k] * T[k][j] for k in range(4)) for i in range(4) for j in range(4)]
    return replace(poses, trace=Trace(graph, {"T": found}), library=None)


def _pose_oracle(m: Mechanism, frame: str) -> Callable[[Floats], Floats]:
    return lambda q: frame_pose(m, q, frame)


def _jacobian_oracle(m: Mechanism, frame: str, actuated: Sequence[str] | None) -> Callable[[Floats], Floats]:
    """The Jacobian by the library; with loops along motions that keep them closed, by singular values."""
    if not (m.loops or m.couplings):
        return lambda q: frame_jacobian(m, q, frame)
    rates, system = actuated_rates(m, actuated), constraint_system(m)

    def closed(q: Floats) -> Floats:
        found = []
        for one in q:
            N = free_velocities(system, one)[0]
            found.append(frame_jacobian(m, one, frame) @ N @ np.linalg.inv(N[rates]))
        return np.array(found)

    return closed


def joint_motion(m: Mechanism, actuated: Sequence[str] | None) -> JointMotion:
    """Return how the joints of a mechanism with loops or couplings follow the driven ones."""
    rates = actuated_rates(m, actuated)
    start = reference_configuration(m, None, "generate")
    drives = linear_drives(m, start, rates)
    places = _driven_coordinates(m, rates)
    all_q, all_v = position_names(m), coordinate_names(m)
    names = tuple(one_line(all_q[k]) for k in places), tuple(one_line(all_v[k]) for k in rates)
    turning = [
        s.stop - 4 for body, s in zip(m.moving, m.q_slices, strict=True) if isinstance(body.joint, Spherical | Free)
    ]
    rng = np.random.default_rng(0)
    if drives is not None:
        graph = Graph()
        q, v, a = tree_state(m, drives, graph)
        driven = [rng.uniform(-1.0, 1.0, (_STATES, len(part))) for part in (places, rates, rates)]
        follow = Trace(graph, {"q_all": q, "v_all": v, "a_all": a})
        guess = np.tile(start, (_STATES, 1))
        expected = full_state(m, drives, *driven)
        return JointMotion(
            follow, None, tuple(drives.q), names, start, tuple(turning), driven, guess, expected, _ROUNDING
        )
    expected = closed_states(m, start)(_STATES, 0)
    q, v, a = expected
    driven = [q[:, places], v[:, rates], a[:, rates]]
    guess = integrate(m, q, rng.uniform(-1.0, 1.0, v.shape), _NEARBY)
    system, others = constraint_system(m), [d for d in range(m.nv) if d not in rates]
    condition = max(np.linalg.cond(system.linearise(*state).jacobian[:, others]) for state in zip(q, v, strict=True))
    step = closing_trace(m, rates, start)
    return JointMotion(
        follow=following_trace(m, rates, start),
        closer=Trace(step.graph, {"q_next": step.outputs["q_next"]}),
        places=tuple(places),
        names=names,
        start=start,
        quaternions=tuple(turning),
        driven=driven,
        guess=guess,
        expected=expected,
        # The normal equations (1) square the condition of G_d.
        tolerance=max(_ROUNDING, 100.0 * float(np.finfo(float).eps) * float(condition) ** 2),
    )


def _driven_coordinates(m: Mechanism, rates: list[int]) -> list[int]:
    """Places in q of the driven joints, in the order of the rates."""
    places: list[int] = []
    for d in rates:
        body = next(k for k, part in enumerate(m.v_slices) if part.start <= d < part.stop)
        of_v, of_q = m.v_slices[body], m.q_slices[body]
        joint = m.moving[body].joint
        if joint.nq == joint.nv:
            places.append(of_q.start + d - of_v.start)
        elif d == of_v.start:
            places += range(of_q.start, of_q.stop)
        if joint.nq != joint.nv and not set(range(of_v.start, of_v.stop)) <= set(rates):
            raise InputError(
                f"generate: actuated: {joint.name} of {m.name} has a quaternion: it is driven as a whole or not at all"
            )
    return places
