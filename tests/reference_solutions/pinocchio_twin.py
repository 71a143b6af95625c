"""The same robot in Setsu and in Pinocchio, and the way to carry states and results from one to the other.

Both load the same URDF; joints are matched by name, since their orders differ. A Pinocchio joint with a circle in its
coordinates (continuous joints) holds cos and sin where Setsu holds the angle.
"""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin

import setsu

ROBOTS = next(
    folder / "share" / "example-robot-data" / "robots"
    for folder in Path(pin.__file__).parents
    if (folder / "share" / "example-robot-data").is_dir()
)


class PinocchioTwin:
    """A mechanism and Pinocchio's model of the same file."""

    def __init__(self, file: str, floating: bool, armature: float = 0.0) -> None:
        path = ROBOTS / file
        with warnings.catch_warnings():
            # A third of the files hold inertias that no body can have; both programs compute with them as they are.
            warnings.simplefilter("ignore", setsu.ModelWarning)
            loaded = setsu.load(path, floating_base=floating)
        self.mechanism = _with_armature(loaded, armature) if armature else loaded
        self.model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))
        self.model.armature = np.full(self.model.nv, armature)
        self.data = self.model.createData()
        self.joints = [self.model.getJointId(name) for name in self.mechanism.joint_names]
        joints = [self.model.joints[number] for number in self.joints]
        self.columns = [joint.idx_v + k for joint in joints for k in range(joint.nv)]

    def configuration(self, q: np.ndarray) -> np.ndarray:
        """Setsu's coordinates as Pinocchio has them."""
        result = pin.neutral(self.model)
        for number, where in zip(self.joints, self.mechanism.q_slices, strict=True):
            joint, own = self.model.joints[number], q[where]
            if joint.nq == 2 and joint.nv == 1:
                own = np.array([np.cos(own[0]), np.sin(own[0])])
            result[joint.idx_q : joint.idx_q + joint.nq] = own
        return result

    def velocity(self, v: np.ndarray) -> np.ndarray:
        """Velocities, accelerations or torques in Pinocchio's order."""
        result = np.zeros(self.model.nv)
        result[self.columns] = v
        return result

    def vector(self, x: np.ndarray) -> np.ndarray:
        """Pinocchio's (..., nv) in Setsu's order."""
        return np.asarray(x)[..., self.columns]

    def matrix(self, M: np.ndarray) -> np.ndarray:
        """Pinocchio's (nv, nv) in Setsu's order."""
        return np.asarray(M)[np.ix_(self.columns, self.columns)]

    def states(self, count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Draw q (count, nq), v, a, tau (count, nv)."""
        rng = np.random.default_rng(seed)
        q = np.array([self.mechanism.random_configuration(rng) for _ in range(count)])
        v, a, tau = rng.standard_normal((3, count, self.mechanism.nv))
        return q, v, a, tau

    def model_difference(self, q: np.ndarray) -> float:
        """How far the poses of the two models differ, of the largest entry: what was read from the file differs."""
        pin.forwardKinematics(self.model, self.data, self.configuration(q))
        theirs = np.array([self.data.oMi[number].homogeneous for number in self.joints])
        return relative_error(setsu.body_poses(self.mechanism, q), theirs)

    def friction(self, v: np.ndarray) -> np.ndarray:
        """Joint friction, which Setsu's torques contain and Pinocchio's do not."""
        return self.mechanism.damping * v + self.mechanism.coulomb * np.sign(v)


def _with_armature(mechanism: setsu.Mechanism, armature: float) -> setsu.Mechanism:
    bodies = tuple(
        dataclasses.replace(body, joint=dataclasses.replace(body.joint, armature=armature)) if body.joint.nv else body
        for body in mechanism.bodies
    )
    return dataclasses.replace(mechanism, bodies=bodies)


def relative_error(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Largest difference over the largest entry of the reference; NaN when either has one."""
    ours = np.asarray(ours)
    theirs = np.reshape(theirs, ours.shape) if not ours.size else np.asarray(theirs)
    if ours.shape != theirs.shape:
        raise AssertionError(f"shapes {ours.shape} and {theirs.shape}")
    if not ours.size:
        return 0.0
    largest = np.abs(theirs).max()
    return float(np.abs(ours - theirs).max() / (largest if largest > 0.0 else 1.0))
