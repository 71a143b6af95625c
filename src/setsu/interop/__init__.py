"""Other engines and frameworks: exact maps of states and wrenches both ways, and functions with derivatives for JAX and PyTorch."""

from setsu.interop import jax, torch
from setsu.interop.mujoco_map import mujoco
from setsu.interop.pinocchio_map import pinocchio
from setsu.interop.state_map import StateMap

__all__ = ["StateMap", "jax", "mujoco", "pinocchio", "torch"]
