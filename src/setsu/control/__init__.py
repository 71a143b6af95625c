"""Controllers: small callables (t, q, v) -> torque that add up, and what real ones suffer from.

law = FeedForward.from_motion(model, time, q) + JointFeedback(model, target, 50.0, 5.0)
setsu.simulate(arm, q0, v0, 2.0, torque=law.sampled(0.001, delay=0.002))
"""

from setsu.control import humanoid
from setsu.control.compensation import Actuators, FrictionCompensation, GravityCompensation, JointImpedance
from setsu.control.computed_torque import ComputedTorque
from setsu.control.controller import Controller, Limited, Sum
from setsu.control.feed_forward import FeedForward
from setsu.control.force_directions import PointForce, Squeeze, SurfacePress
from setsu.control.force_feedback import ForceFeedback, ForceSensor
from setsu.control.hybrid import HybridControl
from setsu.control.impedance import Impedance, PoseImpedance
from setsu.control.joint_feedback import JointFeedback
from setsu.control.law import law
from setsu.control.mismatch import mismatched
from setsu.control.operational_space import OperationalSpace
from setsu.control.pose_targets import pose_error
from setsu.control.sampled import Sampled
from setsu.control.targets import SampledMotion
from setsu.symbolic.tracing import where

__all__ = [
    "Actuators",
    "ComputedTorque",
    "Controller",
    "FeedForward",
    "ForceFeedback",
    "ForceSensor",
    "FrictionCompensation",
    "GravityCompensation",
    "HybridControl",
    "Impedance",
    "JointFeedback",
    "JointImpedance",
    "Limited",
    "OperationalSpace",
    "PointForce",
    "PoseImpedance",
    "Sampled",
    "SampledMotion",
    "Squeeze",
    "Sum",
    "SurfacePress",
    "humanoid",
    "law",
    "mismatched",
    "pose_error",
    "where",
]
