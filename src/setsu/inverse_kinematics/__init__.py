"""Inverse kinematics: postures that reach targets, and velocities that follow them, within limits and closed loops."""

from setsu.inverse_kinematics.positions import InverseKinematics, damped_step, inverse_kinematics
from setsu.inverse_kinematics.tasks import FrameTarget
from setsu.inverse_kinematics.velocities import VelocityInverseKinematics, velocity_inverse_kinematics

__all__ = [
    "FrameTarget",
    "InverseKinematics",
    "VelocityInverseKinematics",
    "damped_step",
    "inverse_kinematics",
    "velocity_inverse_kinematics",
]
