"""Parameters of a mechanism from measured motions: exciting motions, estimates with σ, real bodies."""

from setsu.identification.alarms import KINDS, Alarm
from setsu.identification.excitation import ExcitationTrajectory, excitation_trajectory
from setsu.identification.fit import Fit, Further, Validation
from setsu.identification.identify import identify, identify_motion, validate_motion
from setsu.identification.motion import MeasuredMotion, hold_still
from setsu.identification.motion_log import read_log
from setsu.identification.payload import IdentifiedPayload, Payload
from setsu.identification.physically_consistent import PhysicallyConsistent
from setsu.identification.pseudo_inertia import pseudo_inertia
from setsu.identification.recursive import RecursiveFit
from setsu.identification.with_parameters import with_parameters

__all__ = [
    "KINDS",
    "Alarm",
    "ExcitationTrajectory",
    "Fit",
    "Further",
    "IdentifiedPayload",
    "MeasuredMotion",
    "Payload",
    "PhysicallyConsistent",
    "RecursiveFit",
    "Validation",
    "excitation_trajectory",
    "hold_still",
    "identify",
    "identify_motion",
    "pseudo_inertia",
    "read_log",
    "validate_motion",
    "with_parameters",
]
