"""Inverse dynamics by Newmark's recurrence on the points of all links, one sample after another.

| symbol | meaning | unit | frame |
|---|---|---|---|
| q0, q | coordinates at the sample before and at this one | | |
| rates, curves | first, second derivatives of rotation and origin of each link, (bodies, 12) | 1/s, m/s; /s | world |
| v, a | of the joints | | |
| rate | 1 / step | 1/s | |

    v_{k+1} = 2 (u_{k+1} - u_k)/h - v_k,   a_{k+1} = 2 (v_{k+1} - v_k)/h - a_k      (1)  isobe2003 (3), β = ¼, γ = ½
    forces and torques from a_{k+1} as in nodal_central.py                                  (2)

(1) is the trapezoidal rule read backwards: an error e of the start stays in v as ±e and grows in a as ±4 k e/h. The
state comes in and goes out, so that a controller may call this once a sample, without delay. Cost O(N).
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.configuration import joint_step
from setsu.kernels.joint_forces import as_scalar_or_tuple, as_tuple
from setsu.kernels.nodal_central import FORCES, TORQUE, carry_force, give_force, joint_torque, point_forces, pose_at
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import IDENTITY, ZERO, sub

__all__ = ["nodal_newmark"]


def _start(world: Any) -> None:
    world.R0 = world.R = IDENTITY
    world.x0 = world.x = world.f = world.n = ZERO


def _outward(link: Any) -> None:
    """Poses at both samples, the derivatives of this one (1), and the force the link's points need (2)."""
    R0, x0 = pose_at(link, link.parent.R0, link.parent.x0, link.q0)
    R, x = pose_at(link, link.parent.R, link.parent.x, link.q)
    link.R0, link.x0, link.R, link.x = R0, x0, R, x
    new_rates, new_curves = _newmark((*R0, *x0), (*R, *x), link.rates, link.curves, link.rate)
    link.new_rates, link.new_curves = new_rates, new_curves
    point_forces(link, R, new_curves[:9], sub(new_curves[9:], link.gravity))


def _newmark(u0: tuple, u: tuple, v: tuple, a: tuple, rate: Any) -> tuple[tuple, tuple]:
    """(1)"""
    twice = 2.0 * rate
    new_v = tuple(twice * (after - before) - old for before, after, old in zip(u0, u, v, strict=True))
    return new_v, tuple(twice * (after - before) - old for before, after, old in zip(v, new_v, a, strict=True))


def _inward(link: Any) -> None:
    """The joint's own derivatives (1), its torque, and what the parent has to carry."""
    step = as_tuple(joint_step(link.kind, link.q0, link.q))
    v, a = _newmark((0.0,) * len(step), step, as_tuple(link.v), as_tuple(link.a), link.rate)
    link.new_v, link.new_a = as_scalar_or_tuple(v), as_scalar_or_tuple(a)
    joint_torque(link, v, a)
    carry_force(link)


def nodal_newmark() -> Kernel:
    """Joint torques, forces of the links' points, and the state at a sample from the state at the one before."""
    return Kernel(
        name="nodal_newmark",
        inputs=(
            Array("q0", "q"), Array("q", "q"), Array("rates", "body", 12), Array("curves", "body", 12),
            Array("v", "v"), Array("a", "v"), Array("rate", "total"),
        ),
        outputs=(
            TORQUE, FORCES, Array("new_rates", "body", 12), Array("new_curves", "body", 12),
            Array("new_v", "v"), Array("new_a", "v"),
        ),
        phases=(_start, Loop("links", (_outward, give_force)), Loop("links_down", (_inward,))),
        link_fields={"R0": 9, "x0": 3, "R": 9, "x": 3, "f": 3, "n": 3},
    )  # fmt: skip
