"""Torques of the actuated joints of a closed mechanism from those of the tree that is left when its loops are cut.

    τ_tree   torques of the cut mechanism, as if every joint were driven
    J, P     motion of one half of a loop joint seen from the other by joint velocities; what the joint holds of it
    G        rows P J of all loops, and the factors of couplings: G v = 0 for every possible motion        (1)
    N        projection onto these motions, 1 - G⁺ G                                                        (2)
    N E u = N τ_tree  with E the columns of the actuated joints: virtual work, u of least norm              (3)

The reactions τ_tree - E u = Gᵀ λ are what passes through the cut loops: isobe2003's tip forces, found instead of given.
Batched over time steps. Refuses motions that need force where nobody drives, and loop joints with drives or friction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics.catalogue import native_function
from setsu.errors import InputError
from setsu.mechanism import Joint, LoopConstraint, Mechanism
from setsu.mechanism.joint_motion import direction
from setsu.spatial import listed

__all__ = ["share_among_actuators"]

Floats = NDArray[np.float64]

# Relative size below which a direction counts as zero, and force left over that counts as a demand.
_RANK, _DEMAND = 1e-9, 1e-8


def share_among_actuators(m: Mechanism, q: Floats, tree_torque: Floats, actuated: Sequence[str]) -> Floats:
    """Return torques (T, nv), zero at joints that are not actuated (3)."""
    driven = [m.v_slices[m.joint_index(name)] for name in _listed(actuated)]
    columns = sorted({k for span in driven for k in range(span.start, span.stop)})
    G = _rows(m, q)
    N = np.eye(m.nv) - np.linalg.pinv(G, rcond=_RANK) @ G  # (2)
    wanted = (N @ tree_torque[..., None])[..., 0]
    NE = N[..., columns]
    u = (np.linalg.pinv(NE, rcond=_RANK) @ wanted[..., None])[..., 0]
    left = np.linalg.norm(wanted - (NE @ u[..., None])[..., 0], axis=-1)
    if (left > _DEMAND * np.maximum(np.linalg.norm(tree_torque, axis=-1), 1e-12)).any():
        at = int(np.argmax(left))
        raise InputError(
            f"nodal_inverse_dynamics: actuated: {', '.join(_listed(actuated))} cannot produce this motion of {m.name}: "
            f"sample {at} leaves {left[at]:.3g} N m or N undriven; expected at least as many actuators as freedoms"
        )
    torque = np.zeros_like(tree_torque)
    torque[:, columns] = u
    return torque


def _listed(actuated: Sequence[str]) -> list[str]:
    what = "nodal_inverse_dynamics: actuated"
    return [actuated] if isinstance(actuated, str) else listed(actuated, what, "joint names")


def _rows(m: Mechanism, q: Floats) -> Floats:
    """G (T, k, nv) (1)."""
    parts = []
    if m.loops:
        placement, _, J, _ = native_function(m, "loop_kinematics")(q, np.zeros((len(q), m.nv)))
        for k, loop in enumerate(m.loops):
            parts.append(_held(loop.joint, placement[:, k, :3, :3]) @ J[:, k])
    for coupling in m.couplings:
        if coupling.polynomial:
            raise InputError(
                f'nodal_inverse_dynamics: coupling "{coupling.name}" is a polynomial; expected linear couplings'
            )
        row = np.zeros(m.nv)
        for name, factor in coupling.factors:
            row[m.v_slices[m.joint_index(name)].start] = factor
        parts.append(np.broadcast_to(row, (len(q), 1, m.nv)))
    return np.concatenate(parts, axis=1) if parts else np.zeros((len(q), 0, m.nv))


def _held(joint: Joint, R: Floats) -> Floats:
    """Projection (T, 6, 6) onto the relative motions a loop joint does not allow; R: its rotation (T, 3, 3)."""
    if isinstance(joint, LoopConstraint):
        raise InputError(
            f'nodal_inverse_dynamics: loop "{joint.name}" is closed by {type(joint).__name__}; expected a joint, or '
            "use setsu.constrained_inverse_dynamics"
        )
    if any(np.any(getattr(joint, key)) for key in ("damping", "coulomb", "armature", "stiffness")):
        raise InputError(
            f'nodal_inverse_dynamics: loop joint "{joint.name}" has friction, a spring or a drive of its own; '
            "expected plain loop joints, or use setsu.constrained_inverse_dynamics"
        )
    samples = len(R)
    free = _free(joint, R)
    if not free:
        return np.broadcast_to(np.eye(6), (samples, 6, 6))
    F = np.stack([np.broadcast_to(column, (samples, 6)) for column in free], axis=-1)
    return np.eye(6) - F @ np.linalg.pinv(F)


def _free(joint: Joint, R: Floats) -> list[Floats]:
    """Motions (linear, angular) a loop joint allows, in the axes of its first half, (6,) or (T, 6) each."""
    none, pitch, found = np.zeros(3), getattr(joint, "pitch", 0.0), []
    for kind, letter in joint.motions:
        if kind == "ball":
            found += [np.concatenate([none, unit]) for unit in np.eye(3)]
            continue
        axis = direction(joint, letter)
        if letter == "second":
            axis = R @ axis
        still = np.zeros_like(axis)
        travel = {"turn": still, "travel": axis, "screw": pitch * axis}[kind]
        found.append(np.concatenate([travel, still if kind == "travel" else axis], axis=-1))
    return found
