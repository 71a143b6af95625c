"""Wrenches on frames by name, as rows of the moving bodies that carry them.

A wrench [f, n] at the origin of a frame, world axes, acts on the declared body of that name. Its moving body feels

    [f, n + d x f]   at the body's origin, d from there to the frame's origin, world axes                (1)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.dynamics.catalogue import native_function
from setsu.dynamics.numbers import finite_array
from setsu.errors import InputError
from setsu.mechanism import WORLD, Mechanism

__all__ = ["Attached", "ExternalWrenches", "attached_by_name", "body_rows", "moved"]

Floats = NDArray[np.float64]
ExternalWrenches = ArrayLike | Mapping[str, ArrayLike]
"""(..., n_bodies, 6), or frame name -> (..., 6)."""


@dataclass(frozen=True)
class Attached:
    """A wrench (..., 6), world axes, at a point (..., 3) of the world, on a declared body."""

    body: str
    wrench: Floats
    point: Floats


def moved(wrench: Floats, step: Floats) -> Floats:
    """Return wrenches (..., 6) about points further by `step` (..., 3)."""
    force = wrench[..., :3]
    return np.concatenate(np.broadcast_arrays(force, wrench[..., 3:] - np.cross(step, force)), axis=-1)


def poses_for(mechanism: Mechanism, function: str, q: ArrayLike) -> Floats:
    """Return the placements of all moving bodies (..., n_bodies, 4, 4); errors name the function."""
    poses = native_function(mechanism, "body_poses")
    poses.arguments.renamed(function).take((q,))
    return poses.fast(q)


def body_rows(mechanism: Mechanism, function: str, q: ArrayLike, external: Any) -> Any:
    """Return external wrenches in the form kernels take: as given, or rows of bodies of a dict by frame name (1)."""
    if not isinstance(external, Mapping):
        return external
    attached = attached_by_name(mechanism, function, q, external)
    poses = poses_for(mechanism, function, q)
    return rows_of(mechanism, attached, poses)


def rows_of(mechanism: Mechanism, attached: list[Attached], poses: Floats) -> Floats | None:
    """Return what attached wrenches do to the moving bodies at their origins (..., n_bodies, 6), None for nothing."""
    if not attached:
        return None
    batch = np.broadcast_shapes(poses.shape[:-3], *(one.wrench.shape[:-1] for one in attached))
    rows = np.zeros((*batch, mechanism.n_bodies, 6))
    for one in attached:
        carrier = mechanism.frame(one.body).body
        if carrier >= 0:
            rows[..., carrier, :] += moved(one.wrench, poses[..., carrier, :3, 3] - one.point)
    return rows


def attached_by_name(
    mechanism: Mechanism, function: str, q: ArrayLike, external: Mapping[str, ArrayLike]
) -> list[Attached]:
    """Return the wrenches of a dict frame name -> (..., 6), each on the declared body that has the frame."""
    poses = poses_for(mechanism, function, q)
    found = []
    for name, given in external.items():
        frame = mechanism.frame(name)
        if name == WORLD:
            raise InputError(f'{function}: external_wrenches: expected names of frames that a body has, got "world"')
        wrench = finite_array(given, (6,), f'{function}: external_wrenches["{name}"]')
        try:
            np.broadcast_shapes(wrench.shape[:-1], poses.shape[:-3])
        except ValueError:
            raise InputError(
                f'{function}: external_wrenches["{name}"]: leading axes {wrench.shape[:-1]} do not broadcast against '
                f"those of q, {poses.shape[:-3]}"
            ) from None
        found.append(Attached(mechanism.declared_body(name), wrench, frame_origin(poses, frame)))
    return found


def frame_origin(poses: Floats, frame: Any) -> Floats:
    """Return the origin of a frame in the world (..., 3) for placements of the moving bodies."""
    T = frame.pose.matrix
    if frame.body < 0:
        return T[:3, 3]
    return poses[..., frame.body, :3, :3] @ T[:3, 3] + poses[..., frame.body, :3, 3]
