"""Nodal (parallel) inverse dynamics: forces at the nodes of all links at once, torques by the member-length matrix."""

from setsu.nodal.exerted import HeldObject, TipForce
from setsu.nodal.inverse_dynamics import nodal_forces, nodal_inverse_dynamics
from setsu.nodal.member_lengths import MemberLengthMatrix, member_length_matrix
from setsu.nodal.stepper import NodalStepper

__all__ = [
    "HeldObject",
    "MemberLengthMatrix",
    "NodalStepper",
    "TipForce",
    "member_length_matrix",
    "nodal_forces",
    "nodal_inverse_dynamics",
]
