"""Mechanisms: bodies, joints, loops, couplings, springs and contact points, and the frozen record they make."""

from setsu.mechanism.actuators import Actuator, Keyframe
from setsu.mechanism.additions import add_coupling, add_loop, with_drives
from setsu.mechanism.builder import MechanismBuilder
from setsu.mechanism.collision_points import with_contact_points
from setsu.mechanism.cuts import MovedCut, move_cut
from setsu.mechanism.elements import WORLD, Body, ContactPoint, Coupling, Loop, Material, Pose, Shape, Site, Spring
from setsu.mechanism.force_elements import Fluid, FluidBox, Segment, Tendon
from setsu.mechanism.inertia import InertiaReport, inertia_report, repair_inertia
from setsu.mechanism.joints import (
    JOINT_TYPES,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from setsu.mechanism.loop_constraints import LOOP_CONSTRAINT_TYPES, Distance, LoopConstraint, PointOnCurve, Rolling
from setsu.mechanism.merging import merge
from setsu.mechanism.record import Frame, Mechanism
from setsu.mechanism.reroot import RerootedMechanism, reroot
from setsu.mechanism.surgery import (
    RepairedMechanism,
    extract,
    lock_joints,
    repaired,
    with_gravity,
    with_payload,
)

__all__ = [
    "JOINT_TYPES",
    "LOOP_CONSTRAINT_TYPES",
    "WORLD",
    "Actuator",
    "Body",
    "ContactPoint",
    "Coupling",
    "Cylindrical",
    "Distance",
    "Fixed",
    "Fluid",
    "FluidBox",
    "Frame",
    "Free",
    "Helical",
    "InertiaReport",
    "Joint",
    "Keyframe",
    "Loop",
    "LoopConstraint",
    "Material",
    "Mechanism",
    "MechanismBuilder",
    "MovedCut",
    "Planar",
    "PointOnCurve",
    "Pose",
    "Prismatic",
    "RepairedMechanism",
    "RerootedMechanism",
    "Revolute",
    "Rolling",
    "Segment",
    "Shape",
    "Site",
    "Spherical",
    "Spring",
    "Tendon",
    "Universal",
    "add_coupling",
    "add_loop",
    "extract",
    "inertia_report",
    "lock_joints",
    "merge",
    "move_cut",
    "repair_inertia",
    "repaired",
    "reroot",
    "with_contact_points",
    "with_drives",
    "with_gravity",
    "with_payload",
]
