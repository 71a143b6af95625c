"""Load-dependent friction in the joints of loops, beside that of the tree's joints (dynamics/bearings.py)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from setsu.constraints.stacked import Floats, times
from setsu.constraints.system import ConstraintSystem, Linearisation
from setsu.dynamics.bearings import across, bearing_factors, bearing_limits, settle_friction

__all__ = ["all_bearing_friction", "all_bearing_limits", "settled_bearing_friction"]


def all_bearing_friction(
    system: ConstraintSystem, rows: Linearisation, v: Floats, joint_wrenches: Floats, loop_wrench: Floats
) -> Floats:
    """Return the resistance of all bearings (..., nv + f): velocities of the tree, then free axes of loop joints.

    joint_wrenches: body axes, (..., n_bodies, 6). loop_wrench: at the loop joints, world axes, (..., n_loops, 6).
    """
    rates = np.concatenate([v, rows.motion.free_rate], axis=-1)
    return np.sign(rates) * all_bearing_limits(system, rows, joint_wrenches, loop_wrench)


def all_bearing_limits(
    system: ConstraintSystem, rows: Linearisation, joint_wrenches: Floats, loop_wrench: Floats
) -> Floats:
    """Return the most all bearings resist with (..., nv + f), of wrenches as in `all_bearing_friction`."""
    t = system.loops
    tree = bearing_limits(system.mechanism, joint_wrenches)
    factor, preload, axis = bearing_factors([loop.joint for loop in system.mechanism.loops])
    turned = times(rows.loop_poses.rotation_a[..., t.free_loop, :, :], axis)
    load = across(loop_wrench[..., t.free_loop, :3], turned) + preload
    return np.concatenate([tree, factor * load], axis=-1)


def settled_bearing_friction(
    system: ConstraintSystem, function: str, friction_of: Callable[[Floats], Floats], batch: tuple[int, ...]
) -> tuple[Floats, Floats]:
    """Return the friction that repeats itself (settle_friction), of the tree (..., nv) and of loop axes (..., f)."""
    nv, f = system.mechanism.nv, len(system.loops.free_loop)
    friction = settle_friction(system.mechanism, function, friction_of, (*batch, nv + f))
    return friction[..., :nv], friction[..., nv:]
