"""Closed mechanisms with known motions: problems of the IFToMM library of computational benchmarks.

| problem | start | what is hard |
|---|---|---|
| N four-bars in a row | cranks upright, coupler joints at 1 m/s | all rods on one line twice a turn: the rank drops |
| Bricard's linkage | at rest, rods along a cube's edges | one row is redundant in every position |
| slider-crank in space | crank upright at 6 rad/s | ball joint, universal joint, short periods |
| open chain | Bricard's rods without the joint that closes them, at rest | nothing is closed: what a step costs alone |
| stiff governor | shaft at 2π rad/s | damped within 0.1 ms where coupling rods would close loops |

The reference of the first and the third comes without any constrained dynamics: with one degree of freedom the motion
follows from a scalar equation (see loops_reference).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.benchmarks.engines import NotMeasuredError
from setsu.benchmarks.loops_reference import crank_reference, four_bar_reference, refined_reference, world_points
from setsu.mechanism import Joint, Mechanism, MechanismBuilder, Prismatic, Revolute, Spherical, Universal
from setsu.sample_mechanisms import bricard, flyball_governor, n_four_bar, spatial_slider_crank
from setsu.spatial import placement

__all__ = [
    "SAMPLING",
    "Motion",
    "Problem",
    "bricard_problem",
    "four_bar_problem",
    "governor_problem",
    "loop_offsets",
    "motion_of_states",
    "open_chain_problem",
    "slider_crank_problem",
]

Floats = NDArray[np.float64]
Points = tuple[tuple[str, tuple[float, float, float]], ...]

SAMPLING = 0.01
"""Time (s) between the states that are compared."""
RUNAWAY = 1e6


@dataclass(frozen=True)
class Motion:
    """A computed motion at multiples of SAMPLING: points (T, n, 3) in m, energy (T,) in J.

    constraint_error: largest violation of a loop (m or rad), None where an engine does not tell; steps: how many were
    taken; seconds: time for all of them.
    """

    points: Floats
    energy: Floats
    constraint_error: float | None
    steps: int
    seconds: float

    @property
    def seconds_per_step(self) -> float:
        """Time per step (s)."""
        return self.seconds / self.steps


@dataclass(frozen=True)
class Problem:
    """A mechanism, its start, and the points whose motion is compared.

    `tree` is the same mechanism cut at joints that other engines can close by points, with its own start and points;
    `reference(duration)` returns points (T, n, 3) and an estimate of their own error (m). conserves: its energy stays.
    """

    name: str
    mechanism: Mechanism
    velocity: Floats
    points: Points
    tree: Mechanism
    tree_velocity: Floats
    tree_points: Points
    reference: Callable[[float], tuple[Floats, float]]
    conserves: bool = True


def four_bar_problem(n: int = 2) -> Problem:
    """N four-bars in a row: n + 1 cranks and n couplers, unit rods of 1 kg, coupler joints at 1 m/s."""
    m = n_four_bar(n)
    # Couplers stay level while the cranks turn: all rates are equal but for the sign.
    v = np.array([1.0 if name.startswith("crank") else -1.0 for name in m.joint_names])
    points = _rod_ends(m)
    return Problem(
        f"{n} four-bars", m, v, points, m, v, points,
        lambda duration: four_bar_reference(m, n, points, duration, SAMPLING),
    )  # fmt: skip


def bricard_problem() -> Problem:
    """Bricard's linkage from rest: five unit rods of 1 kg."""
    m = bricard()
    v, points = np.zeros(m.nv), _rod_ends(m)
    return Problem(
        "Bricard", m, v, points, m, v, points,
        lambda duration: refined_reference(m, v, points, duration, SAMPLING),
    )  # fmt: skip


def open_chain_problem() -> Problem:
    """Bricard's rods hanging from the world, not closed to a loop."""
    m = replace(bricard(), name="open chain", loops=())
    v, points = np.zeros(m.nv), _rod_ends(m)
    return Problem(
        "open chain", m, v, points, m, v, points,
        lambda duration: refined_reference(m, v, points, duration, SAMPLING),
    )  # fmt: skip


def slider_crank_problem() -> Problem:
    """Slider-crank in space, crank at 6 rad/s; for other engines cut at the ball joint, which is a point."""
    m = spatial_slider_crank()
    crank, rod, slider = m.moving
    start = np.zeros(m.nv)
    start[0] = 6.0
    v = setsu.consistent_velocity(m, m.neutral(), start, fixed=["crank"])
    across = m.loops[0].joint
    assert isinstance(across, Universal)
    builder = MechanismBuilder("slider-crank cut at the ball", gravity=m.gravity)
    for body, kind in ((crank, Revolute), (slider, Prismatic)):
        joint = kind(body.joint.axis, body.name)
        builder.add_body(
            body.name, "world", joint, body.pose.matrix, body.mass, body.center_of_mass, body.inertia_matrix
        )
    far_end = np.array(m.loops[0].pose_b.translation)
    joint = Universal(across.axis, "rod", second_axis=across.second_axis)
    center = np.array(rod.center_of_mass) - far_end
    builder.add_body("rod", "slider", joint, None, rod.mass, center, rod.inertia_matrix)
    builder.add_loop("ball", "crank", "rod", Spherical(), rod.pose.matrix, placement(-far_end))
    tree = builder.build()
    tree_start = np.zeros(tree.nv)
    tree_start[0] = 6.0
    tree_v = setsu.consistent_velocity(tree, tree.neutral(), tree_start, fixed=["crank"])
    origin, crank_end = (0.0, 0.0, 0.0), rod.pose.translation
    points = (("crank", crank_end), ("slider", origin))
    return Problem(
        "slider-crank", m, v, points, tree, tree_v, points,
        lambda duration: crank_reference(tree, tree_v, points, duration, SAMPLING),
    )  # fmt: skip


def governor_problem() -> Problem:
    """IFToMM's stiff flyball governor, of which the library compares the slider's height."""
    m = flyball_governor()
    v = np.zeros(m.nv)
    v[0] = 2.0 * np.pi
    points: Points = (("slider", (0.0, 0.0, 0.0)),)
    # Explicit steps, short enough for the dampers.
    return Problem(
        "stiff governor", m, v, points, m, v, points,
        lambda duration: refined_reference(m, v, points, duration, SAMPLING, 2e-5), conserves=False,
    )  # fmt: skip


def motion_of_states(m: Mechanism, points: Points, q: Floats, v: Floats, steps: int, seconds: float) -> Motion:
    """The motion of recorded states q (T, nq), v (T, nv); NotMeasuredError when they ran away."""
    # Written so that NaN counts as beyond.
    beyond = ~((np.abs(q) < RUNAWAY).all(axis=1) & (np.abs(v) < RUNAWAY).all(axis=1))
    if beyond.any():
        raise NotMeasuredError(f"the motion grows without bound, seen at t = {SAMPLING * int(beyond.argmax()):.2f} s")
    points_moved = world_points(m, points, setsu.body_poses(m, q))
    energy = setsu.kinetic_energy(m, q, v) + setsu.potential_energy(m, q)
    error = float(np.abs(setsu.loop_error(m, q)).max()) if m.loops else None
    return Motion(points_moved, energy, error, steps, seconds)


def loop_offsets(joint: Joint) -> list[Floats]:
    """Points (m) in the frame of a loop joint that hold it together."""
    if isinstance(joint, Spherical):
        return [np.zeros(3)]
    assert isinstance(joint, Revolute)
    return [0.5 * np.array(joint.axis), -0.5 * np.array(joint.axis)]


def _rod_ends(m: Mechanism) -> Points:
    """The far end of every thin rod: twice its center of mass."""
    return tuple((body.name, tuple(2.0 * x for x in body.center_of_mass)) for body in m.moving)  # type: ignore[misc]
