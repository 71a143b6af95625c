"""Scenario files: one simulation as text. Model, start, torques, contacts, events, integrator, outputs.

from setsu import scenario
recording = scenario.run(scenario.load("swing.toml"))
"""

from setsu.scenario.preparation import Prepared, prepare
from setsu.scenario.reading import load, parse, with_values
from setsu.scenario.running import run
from setsu.scenario.schema import (
    ActuatorTorque,
    BodyChange,
    CloseLoopEvent,
    ConstantTorque,
    Contact,
    ExpressionTorque,
    JointChange,
    JointFeedbackTorque,
    MaterialChange,
    Model,
    NoTorque,
    OpenLoopEvent,
    Output,
    Payload,
    Scenario,
    Simulation,
    SpringChange,
    Start,
    World,
)

__all__ = [
    "ActuatorTorque",
    "BodyChange",
    "CloseLoopEvent",
    "ConstantTorque",
    "Contact",
    "ExpressionTorque",
    "JointChange",
    "JointFeedbackTorque",
    "MaterialChange",
    "Model",
    "NoTorque",
    "OpenLoopEvent",
    "Output",
    "Payload",
    "Prepared",
    "Scenario",
    "Simulation",
    "SpringChange",
    "Start",
    "World",
    "load",
    "parse",
    "prepare",
    "run",
    "with_values",
]
