"""Minimum dynamic parameters: the fewest combinations of inertial parameters that joint torques depend on."""

from setsu.minimum_parameters.analysis import minimum_parameters
from setsu.minimum_parameters.record import MinimumParameters

__all__ = ["MinimumParameters", "minimum_parameters"]
