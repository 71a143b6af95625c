"""Nodal (parallel) inverse dynamics: forces at the nodes of all links at once, torques by the member-length matrix."""

from setsu.nodal.exerted import HeldObject, TipForce
from setsu.nodal.inverse_dynamics import nodal_inverse_dynamics
from setsu.nodal.member_lengths import MemberLengthMatrix, member_length_matrix

__all__ = ["HeldObject", "MemberLengthMatrix", "TipForce", "member_length_matrix", "nodal_inverse_dynamics"]
