"""Minimum dynamic parameters: the fewest combinations of inertial parameters that joint torques depend on."""

from setsu.minimum_parameters.function import minimum_parameters
from setsu.minimum_parameters.record import MinimumParameters
from setsu.minimum_parameters.serial_equivalence import SerialEquivalence, serial_equivalence

__all__ = ["MinimumParameters", "SerialEquivalence", "minimum_parameters", "serial_equivalence"]
