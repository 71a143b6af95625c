"""Simulation: motion of a mechanism over time, with constraints held to rounding, events, and an energy ledger."""

from setsu.simulation.consistent_velocity import consistent_velocity
from setsu.simulation.events import CloseLoop, EventReport, OpenLoop
from setsu.simulation.joint_servo import JointServo
from setsu.simulation.recording import EnergyLedger, Recording, SimulationStopped
from setsu.simulation.simulate import simulate

__all__ = [
    "CloseLoop",
    "EnergyLedger",
    "EventReport",
    "JointServo",
    "OpenLoop",
    "Recording",
    "SimulationStopped",
    "consistent_velocity",
    "simulate",
]
