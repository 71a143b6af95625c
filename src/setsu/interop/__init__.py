"""States, torques and wrenches of other engines: exact maps both ways, joint by joint, by name."""

from setsu.interop.mujoco_map import mujoco
from setsu.interop.pinocchio_map import pinocchio
from setsu.interop.state_map import StateMap

__all__ = ["StateMap", "mujoco", "pinocchio"]
