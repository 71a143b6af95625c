"""What must not matter: how the world is turned, and by how many fixed joints a body is held together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import setsu
from setsu.checks.result import CheckResult, compare, rounding_tolerance
from setsu.checks.states import draw_states
from setsu.mechanism import Body, Fixed, Mechanism, Pose
from setsu.spatial import placement, rotation_from_quaternion

__all__ = ["check_split_bodies", "check_turned_world"]

WORLD = "world"


def check_turned_world(m: Mechanism, *, seed: int = 0, samples: int = 5) -> CheckResult:
    """Check that torques stay the same when the world with its gravity and all that stands on it is turned."""
    R = rotation_from_quaternion(np.random.default_rng(seed).standard_normal(4))
    T = placement((0.0, 0.0, 0.0), rotation=R)
    bodies = tuple(
        replace(body, pose=Pose.of(T @ body.pose.matrix, body.name)) if body.parent == WORLD else body
        for body in m.bodies
    )
    springs = tuple(
        replace(
            spring,
            point_a=_turned(R, spring.point_a) if spring.body_a == WORLD else spring.point_a,
            point_b=_turned(R, spring.point_b) if spring.body_b == WORLD else spring.point_b,
        )
        for spring in m.springs
    )
    tendons = tuple(
        replace(
            tendon,
            segments=tuple(
                replace(
                    piece,
                    point_a=_turned(R, piece.point_a) if piece.body_a == WORLD else piece.point_a,
                    point_b=_turned(R, piece.point_b) if piece.body_b == WORLD else piece.point_b,
                )
                for piece in tendon.segments
            ),
        )
        for tendon in m.tendons
    )
    fluid = replace(m.fluid, wind=_turned(R, m.fluid.wind)) if m.fluid is not None else None
    turned = replace(
        m,
        bodies=bodies,
        springs=springs,
        tendons=tendons,
        fluid=fluid,
        gravity=_turned(R, m.gravity),
        loops=(),
        contact_points=(),
    )
    return _same_torques(m, turned, "turned world", "ID in a turned world = ID", seed, samples)


def check_split_bodies(m: Mechanism, *, seed: int = 0, samples: int = 5) -> CheckResult:
    """Check that torques stay the same when every body gives its mass to a second one fixed to it."""
    bodies: list[Body] = []
    for body in m.bodies:
        bodies.append(replace(body, mass=0.0, center_of_mass=(0.0, 0.0, 0.0), inertia=(0.0,) * 6))
        half = Body(
            f"{body.name} (mass)", body.name, Fixed(name=f"{body.name} (held)"), mass=body.mass,
            center_of_mass=body.center_of_mass, inertia=body.inertia,
        )  # fmt: skip
        bodies.append(half)
    split = replace(m, bodies=tuple(bodies), loops=(), contact_points=())
    return _same_torques(m, split, "split bodies", "ID of split bodies = ID of whole ones", seed, samples)


def _same_torques(m: Mechanism, other: Mechanism, name: str, law: str, seed: int, samples: int) -> CheckResult:
    s = draw_states(m, seed, samples)
    expected = setsu.inverse_dynamics(m, s.q, s.v, s.a)
    found = setsu.inverse_dynamics(other, s.q, s.v, s.a)
    return compare(name, law, found, expected, [expected], 10.0 * rounding_tolerance(m.nv))


def _turned(R: NDArray[np.float64], point: tuple[float, float, float]) -> tuple[float, float, float]:
    x, y, z = (R @ np.array(point)).tolist()
    return (x, y, z)
