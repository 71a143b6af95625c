"""Motions of bipeds: walking, jumping, landing; from footsteps to joint angles and torques.

>>> import setsu
>>> from setsu.control.humanoid import Biped, Walk, plan_walk
>>> biped = Biped(setsu.sample_mechanisms.hoap1_like())
>>> motion = plan_walk(biped, Walk(steps=2))
"""

from setsu.control.humanoid.biped import Biped
from setsu.control.humanoid.jumping import Jump, plan_jump
from setsu.control.humanoid.landing import Landing
from setsu.control.humanoid.motion import Motion, zero_moment_point
from setsu.control.humanoid.preview_control import PreviewController
from setsu.control.humanoid.stabilising import Stabiliser
from setsu.control.humanoid.walking import plan_walk, standing_posture
from setsu.control.humanoid.whole_body_kinematics import solve_postures
from setsu.control.humanoid.zero_moment_point_plan import FootstepPlan, Walk, plan_footsteps

__all__ = [
    "Biped",
    "FootstepPlan",
    "Jump",
    "Landing",
    "Motion",
    "PreviewController",
    "Stabiliser",
    "Walk",
    "plan_footsteps",
    "plan_jump",
    "plan_walk",
    "solve_postures",
    "standing_posture",
    "zero_moment_point",
]
