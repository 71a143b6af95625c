"""Reinforcement learning: tasks over batched simulators, as environments of Gymnasium.

task = setsu.learning.biped_stands()
env = setsu.learning.SimulatorEnv(task)
many = setsu.learning.SimulatorVectorEnv(task, 16)
"""

from setsu.learning.arm_pushes import arm_pushes_along_wall
from setsu.learning.biped_stands import biped_stands
from setsu.learning.environment import SimulatorEnv, SimulatorVectorEnv
from setsu.learning.task import Task, TaskState

__all__ = ["SimulatorEnv", "SimulatorVectorEnv", "Task", "TaskState", "arm_pushes_along_wall", "biped_stands"]
