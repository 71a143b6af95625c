"""Other engines and frameworks: maps of states and wrenches both ways, functions with derivatives for JAX, PyTorch."""

from setsu.interop import jax, torch
from setsu.interop.mujoco_map import mujoco
from setsu.interop.pinocchio_map import pinocchio
from setsu.interop.state_map import StateMap

__all__ = ["StateMap", "jax", "mujoco", "pinocchio", "torch"]
