"""Kinetic and potential energy.

| symbol | meaning | frame |
|---|---|---|
| v_origin, w | velocity of the link origin, angular velocity | world |
| m, s, E | mass, first moment, second moments about the link origin | world |
| total | energy of the subtree (J) | |

    T = ½ m v² + v · (w x s) + ½ w · I w                                      (1)
    V = -g · (m x + s) + ½ stiffness (q - rest)² + force_elements.py (4), (6) (2)
    T += ½ armature v²                                                        (3)

Cost O(N).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from setsu.kernels.force_elements import ENERGY_FIELDS, element_energy, joint_coordinate, start_coordinates
from setsu.kernels.joint_forces import as_tuple, quaternion_spring_energy
from setsu.kernels.kinematics import outward_pose, outward_velocity, start_pose, start_velocity
from setsu.kernels.program import Array, Kernel, Loop
from setsu.kernels.vectors import Scalar, add, cross, dot, inertia_times, rotate, rotate_back, scale
from setsu.mechanism.tables import Kind

__all__ = ["kinetic_energy", "mechanical_energy", "potential_energy"]


def _start(world: Any) -> None:
    world.total = 0.0


def _kinetic(link: Any) -> None:
    link.total = _kinetic_energy(link)


def _potential(link: Any) -> None:
    link.total = _potential_energy(link)


def _both(link: Any) -> None:
    link.total = _kinetic_energy(link) + _potential_energy(link)


def _kinetic_energy(link: Any) -> Scalar:
    v, w = rotate_back(link.R, link.v_origin), rotate_back(link.R, link.w)
    energy = 0.5 * link.mass * dot(v, v) + dot(v, cross(w, link.moment))  # (1)
    energy = energy + 0.5 * dot(w, inertia_times(link.second_moment, w))
    for armature, rate in zip(as_tuple(link.armature), as_tuple(link.v), strict=True):
        energy = energy + 0.5 * armature * (rate * rate)  # (3)
    return energy


def _potential_energy(link: Any) -> Scalar:
    energy = -dot(link.gravity, add(scale(link.x, link.mass), rotate(link.R, link.moment)))  # (2)
    if link.kind in (Kind.REVOLUTE, Kind.PRISMATIC, Kind.HELICAL):
        stretch = link.q - link.spring_rest
        energy = energy + 0.5 * link.stiffness * (stretch * stretch)
    else:
        energy = energy + quaternion_spring_energy(link)
    return energy


def _coordinate(link: Any) -> None:
    link.coordinate = joint_coordinate(link)


def _gather(link: Any) -> None:
    link.parent.total = link.parent.total + link.total


def _give(world: Any) -> None:
    world.energy = world.total


_ENERGY = (Array("energy", "total"),)
_GATHER = Loop("links_down", (_gather,))
_ELEMENTS = element_energy()


def kinetic_energy() -> Kernel:
    """Kinetic energy of bodies and drives."""
    return _of_motion("kinetic_energy", _kinetic)


def potential_energy() -> Kernel:
    """Potential energy of masses and springs, zero at the world origin and at slack springs; lifts count negative."""
    return Kernel(
        name="potential_energy",
        inputs=(Array("q", "q"),),
        outputs=_ENERGY,
        phases=(
            start_pose,
            _start,
            start_coordinates,
            Loop("links", (outward_pose, _potential, _coordinate)),
            _GATHER,
            *_ELEMENTS,
            _give,
        ),
        link_fields={"R": 9, "x": 3, "total": 1, **ENERGY_FIELDS},
    )


def mechanical_energy() -> Kernel:
    """Both together, in one sweep."""
    return _of_motion("mechanical_energy", _both, *_ELEMENTS)


def _of_motion(name: str, of_link: Callable[[Any], None], *more: Loop) -> Kernel:
    links = Loop("links", (outward_pose, outward_velocity, of_link, _coordinate))
    return Kernel(
        name=name,
        inputs=(Array("q", "q"), Array("v", "v")),
        outputs=_ENERGY,
        phases=(start_pose, start_velocity, _start, start_coordinates, links, _GATHER, *more, _give),
        link_fields={"R": 9, "x": 3, "w": 3, "v_origin": 3, "total": 1, **ENERGY_FIELDS},
    )
