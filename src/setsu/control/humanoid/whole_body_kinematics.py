"""Postures of a biped whose centre of mass, torso and feet are where they are wanted, for all instants at once.

Inverse kinematics (setsu.inverse_kinematics) with four tasks in world axes: the centre of mass, the rotation of the
torso, and pose of either sole; the free joint and the legs move, other limbs keep the biped's posture. Joint limits are
for the plans to check, which name the sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.control.humanoid.biped import Biped
from setsu.dynamics import center_of_mass_jacobian, frame_jacobian
from setsu.errors import InputError
from setsu.inverse_kinematics import FrameTarget, inverse_kinematics

__all__ = ["posture_jacobian", "solve_postures"]

Floats = NDArray[np.float64]

_TOLERANCE = 1e-11
_COARSE = 20


def solve_postures(
    biped: Biped,
    com: ArrayLike,
    feet: ArrayLike,
    torso: ArrayLike | None = None,
    start: ArrayLike | None = None,
    soles: ArrayLike | None = None,
) -> Floats:
    """Return coordinates (T, nq) with the wanted centre of mass, torso and soles; arms keep the biped's posture.

    Args:
        com: wanted centre of mass (T, 3), m. feet: wanted middles of the left and right sole (T, 2, 3), m.
        soles: wanted rotations of the soles (T, 2, 3, 3); level and ahead when not given.
        torso: wanted rotation of the torso (T, 3, 3); upright when not given.
        start: coordinates to begin from, (nq,) or (T, nq); the biped's posture when not given.

    Raises:
        InputError: a wanted place is out of reach.
    """
    com, feet = np.asarray(com, dtype=np.float64), np.asarray(feet, dtype=np.float64)
    if com.ndim != 2 or com.shape[1:] != (3,) or not len(com) or feet.shape != (len(com), 2, 3):
        raise InputError(f"solve_postures: expected com (T, 3) and feet (T, 2, 3), got {com.shape} and {feet.shape}")
    if not (np.isfinite(com).all() and np.isfinite(feet).all()):
        raise InputError("solve_postures: expected finite places of centre of mass and feet")
    torso = np.eye(3) if torso is None else np.asarray(torso, dtype=np.float64)
    if torso.shape not in ((3, 3), (len(com), 3, 3)) or not np.isfinite(torso).all():
        raise InputError(f"solve_postures: torso: expected finite rotations (T, 3, 3), got shape {torso.shape}")
    torso = np.broadcast_to(torso, (len(com), 3, 3))
    soles = np.broadcast_to(np.eye(3) if soles is None else np.asarray(soles, dtype=np.float64), (len(com), 2, 3, 3))
    everything = np.arange(len(com))
    if start is None:
        # Neighbours are good first guesses: solve some samples, and begin all others from the nearest of them.
        some = np.unique(np.append(everything[::_COARSE], everything[-1]))
        known = _solved(biped, np.tile(biped.start, (len(some), 1)), com, feet, torso, soles, some)
        start = known[np.clip(np.round(everything / _COARSE).astype(int), 0, len(some) - 1)]
    begin, shape = np.asarray(start, dtype=np.float64), (len(com), biped.mechanism.nq)
    if begin.shape not in (shape, shape[1:]) or not np.isfinite(begin).all():
        raise InputError(f"solve_postures: start: expected finite coordinates {shape}, got shape {begin.shape}")
    return _solved(biped, np.array(np.broadcast_to(begin, shape)), com, feet, torso, soles, everything)


def _solved(
    biped: Biped,
    q: Floats,
    all_com: Floats,
    all_feet: Floats,
    all_torso: Floats,
    all_soles: Floats,
    samples: NDArray[np.intp],
) -> Floats:
    """Return the solution for some samples, begun from q (samples, nq)."""
    m = biped.mechanism
    com, feet, torso = all_com[samples], all_feet[samples], all_torso[samples]
    targets = {biped.torso: FrameTarget(rotation=torso)}
    for side, foot in enumerate(biped.feet):
        targets[foot] = FrameTarget(feet[:, side], all_soles[samples, side], point=biped.sole_centers[side])
    moving = {int(k) for k in biped.leg_velocities}
    fixed = [name for name, where in zip(m.joint_names, m.v_slices, strict=True) if where.start not in moving]
    found = inverse_kinematics(
        m, targets, q, limits=False, center_of_mass=com, fixed=fixed, tolerance=_TOLERANCE, restarts=0
    )
    if found.converged.all():
        return found.q
    worst = int(np.argmax(found.error))
    raise InputError(
        f"solve_postures: sample {samples[worst]}: centre of mass {com[worst].round(4).tolist()} over soles at "
        f"{feet[worst].round(4).tolist()} is out of reach, missed by {found.error[worst]:.2g} (m, rad)"
    )


def posture_jacobian(biped: Biped, q: Floats) -> Floats:
    """Return how centre of mass (3), rotation of the torso (3) and either sole (6) move, (T, 18, nv), world axes."""
    m = biped.mechanism
    rows = [center_of_mass_jacobian(m, q), frame_jacobian(m, q, biped.torso)[:, 3:]]
    rows += [frame_jacobian(m, q, foot, center) for foot, center in zip(biped.feet, biped.sole_centers, strict=True)]
    return np.concatenate(rows, axis=1)
