"""Setsu (節): dynamics of robots and multibody systems. Torques, motions, every internal force, generated code.

>>> import setsu
>>> m = setsu.sample_mechanisms.planar_arm(2)
>>> setsu.inverse_dynamics(m, [0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).shape
(2,)

Every name here is loaded from its part when it is first used (public_names.py tells which), so that importing the
package costs next to nothing, and a program pays only for the parts it calls.
"""

import sys as _sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING
from typing import Any as _Any

from setsu.public_names import HOMES as _HOMES
from setsu.public_names import PARTS as _PARTS
from setsu.viewers import register_viewer as _register_viewer

if TYPE_CHECKING:
    from setsu import contact, control, sample_mechanisms, scenario
    from setsu.citations import Citation, citation
    from setsu.code_generation import GeneratedCode, generate
    from setsu.constraints import (
        ClosingError,
        ConstrainedDynamics,
        ConstrainedDynamicsDerivatives,
        ConstrainedInverseDynamics,
        ConstraintReport,
        Cylinder,
        ImplicitSurface,
        ImpulseDynamics,
        ImpulseDynamicsDerivatives,
        Plane,
        Prescribed,
        Sphere,
        SurfaceContact,
        close_loops,
        compile,
        constrained_dynamics,
        constrained_dynamics_derivatives,
        constrained_inverse_dynamics,
        constraint_report,
        degrees_of_freedom,
        impulse_dynamics,
        impulse_dynamics_derivatives,
        independent_coordinates,
        loop_error,
    )
    from setsu.contact import Environment, Polygon, with_convex_parts
    from setsu.dynamics import (
        AllTerms,
        CompiledFunctions,
        DifferenceDerivatives,
        EnergyRegressor,
        ForwardDynamicsDerivatives,
        FrameAccelerationDerivatives,
        FrameVelocityDerivatives,
        IntegrateDerivatives,
        InverseDynamicsDerivatives,
        MomentumDerivatives,
        actuator_torque,
        all_terms,
        bias_torque,
        body_accelerations,
        body_poses,
        body_velocities,
        center_of_mass,
        center_of_mass_acceleration,
        center_of_mass_jacobian,
        center_of_mass_velocity,
        centroidal_matrix,
        coriolis_matrix,
        difference,
        difference_derivatives,
        distance,
        energy_regressor,
        forward_dynamics,
        forward_dynamics_derivatives,
        forward_dynamics_parameter_derivatives,
        frame_acceleration,
        frame_acceleration_derivatives,
        frame_jacobian,
        frame_jacobian_derivatives,
        frame_jacobian_rate,
        frame_pose,
        frame_velocity,
        frame_velocity_derivatives,
        gravity_torque,
        inertial_parameters,
        integrate,
        integrate_derivatives,
        interpolate,
        inverse_dynamics,
        inverse_dynamics_derivatives,
        joint_wrenches,
        kinematic_regressor,
        kinetic_energy,
        mass_matrix,
        momentum,
        momentum_derivatives,
        momentum_rate,
        normalize,
        point_jacobian,
        point_jacobian_rate,
        potential_energy,
        regressor,
        static_torque,
        static_torque_derivatives,
        subtree_centers_of_mass,
        subtree_masses,
        wrench_at,
    )
    from setsu.errors import CacheWarning, InputError, ModelFileError, ModelWarning, SetsuError
    from setsu.identification import (
        Alarm,
        ExcitationTrajectory,
        Fit,
        MeasuredMotion,
        Payload,
        PhysicallyConsistent,
        RecursiveFit,
        Validation,
        excitation_trajectory,
        identify,
        pseudo_inertia,
        read_log,
        with_parameters,
    )
    from setsu.inverse_kinematics import (
        FrameTarget,
        InverseKinematics,
        VelocityInverseKinematics,
        inverse_kinematics,
        velocity_inverse_kinematics,
    )
    from setsu.lie_groups import (
        pose_exp,
        pose_exp_jacobian,
        pose_log,
        pose_log_jacobian,
        rotation_exp,
        rotation_exp_jacobian,
        rotation_log,
        rotation_log_jacobian,
    )
    from setsu.mechanism import (
        Actuator,
        Body,
        ContactPoint,
        Coupling,
        Cylindrical,
        Fixed,
        Fluid,
        FluidBox,
        Free,
        Helical,
        InertiaReport,
        Joint,
        Keyframe,
        Loop,
        Material,
        Mechanism,
        MechanismBuilder,
        MovedCut,
        Planar,
        Pose,
        Prismatic,
        RepairedMechanism,
        RerootedMechanism,
        Revolute,
        Segment,
        Shape,
        Site,
        Spherical,
        Spring,
        Tendon,
        Universal,
        add_coupling,
        add_loop,
        extract,
        inertia_report,
        lock_joints,
        merge,
        move_cut,
        repair_inertia,
        repaired,
        reroot,
        with_contact_points,
        with_drives,
        with_gravity,
        with_payload,
    )
    from setsu.minimum_parameters import (
        MinimumParameters,
        SerialEquivalence,
        minimum_parameters,
        serial_equivalence,
    )
    from setsu.model_files import DHRow, LoadReport, excluded_pairs, from_dh, load, load_with_report
    from setsu.named_numbers import NamedNumber, symbol
    from setsu.native.threads import get_threads, set_threads
    from setsu.nodal import (
        HeldObject,
        MemberLengthMatrix,
        NodalStepper,
        TipForce,
        member_length_matrix,
        nodal_forces,
        nodal_inverse_dynamics,
    )
    from setsu.simulation import (
        CloseLoop,
        EnergyLedger,
        EventReport,
        JointServo,
        OpenLoop,
        Recording,
        SimulationStopped,
        consistent_velocity,
        simulate,
    )
    from setsu.simulation.simulator import Simulator
    from setsu.spatial import classic_dh, modified_dh, placement
    from setsu.sweep import sweep

__version__ = "0.2.0"

__all__ = [
    "Actuator",
    "Alarm",
    "AllTerms",
    "Body",
    "CacheWarning",
    "Citation",
    "CloseLoop",
    "ClosingError",
    "CompiledFunctions",
    "ConstrainedDynamics",
    "ConstrainedDynamicsDerivatives",
    "ConstrainedInverseDynamics",
    "ConstraintReport",
    "ContactPoint",
    "Coupling",
    "Cylinder",
    "Cylindrical",
    "DHRow",
    "DifferenceDerivatives",
    "EnergyLedger",
    "EnergyRegressor",
    "Environment",
    "EventReport",
    "ExcitationTrajectory",
    "Fit",
    "Fixed",
    "Fluid",
    "FluidBox",
    "ForwardDynamicsDerivatives",
    "FrameAccelerationDerivatives",
    "FrameTarget",
    "FrameVelocityDerivatives",
    "Free",
    "GeneratedCode",
    "HeldObject",
    "Helical",
    "ImplicitSurface",
    "ImpulseDynamics",
    "ImpulseDynamicsDerivatives",
    "InertiaReport",
    "InputError",
    "IntegrateDerivatives",
    "InverseDynamicsDerivatives",
    "InverseKinematics",
    "Joint",
    "JointServo",
    "Keyframe",
    "LoadReport",
    "Loop",
    "Material",
    "MeasuredMotion",
    "Mechanism",
    "MechanismBuilder",
    "MemberLengthMatrix",
    "MinimumParameters",
    "ModelFileError",
    "ModelWarning",
    "MomentumDerivatives",
    "MovedCut",
    "NamedNumber",
    "NodalStepper",
    "OpenLoop",
    "Payload",
    "PhysicallyConsistent",
    "Planar",
    "Plane",
    "Polygon",
    "Pose",
    "Prescribed",
    "Prismatic",
    "Recording",
    "RecursiveFit",
    "RepairedMechanism",
    "RerootedMechanism",
    "Revolute",
    "Segment",
    "SerialEquivalence",
    "SetsuError",
    "Shape",
    "SimulationStopped",
    "Simulator",
    "Site",
    "Sphere",
    "Spherical",
    "Spring",
    "SurfaceContact",
    "Tendon",
    "TipForce",
    "Universal",
    "Validation",
    "VelocityInverseKinematics",
    "__version__",
    "actuator_torque",
    "add_coupling",
    "add_loop",
    "all_terms",
    "bias_torque",
    "body_accelerations",
    "body_poses",
    "body_velocities",
    "center_of_mass",
    "center_of_mass_acceleration",
    "center_of_mass_jacobian",
    "center_of_mass_velocity",
    "centroidal_matrix",
    "citation",
    "classic_dh",
    "close_loops",
    "compile",
    "consistent_velocity",
    "constrained_dynamics",
    "constrained_dynamics_derivatives",
    "constrained_inverse_dynamics",
    "constraint_report",
    "contact",
    "control",
    "coriolis_matrix",
    "degrees_of_freedom",
    "difference",
    "difference_derivatives",
    "distance",
    "energy_regressor",
    "excitation_trajectory",
    "excluded_pairs",
    "extract",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_dynamics_parameter_derivatives",
    "frame_acceleration",
    "frame_acceleration_derivatives",
    "frame_jacobian",
    "frame_jacobian_derivatives",
    "frame_jacobian_rate",
    "frame_pose",
    "frame_velocity",
    "frame_velocity_derivatives",
    "from_dh",
    "generate",
    "get_threads",
    "gravity_torque",
    "identify",
    "impulse_dynamics",
    "impulse_dynamics_derivatives",
    "independent_coordinates",
    "inertia_report",
    "inertial_parameters",
    "integrate",
    "integrate_derivatives",
    "interpolate",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_kinematics",
    "joint_wrenches",
    "kinematic_regressor",
    "kinetic_energy",
    "load",
    "load_with_report",
    "lock_joints",
    "loop_error",
    "mass_matrix",
    "member_length_matrix",
    "merge",
    "minimum_parameters",
    "modified_dh",
    "momentum",
    "momentum_derivatives",
    "momentum_rate",
    "move_cut",
    "nodal_forces",
    "nodal_inverse_dynamics",
    "normalize",
    "placement",
    "point_jacobian",
    "point_jacobian_rate",
    "pose_exp",
    "pose_exp_jacobian",
    "pose_log",
    "pose_log_jacobian",
    "potential_energy",
    "pseudo_inertia",
    "read_log",
    "regressor",
    "repair_inertia",
    "repaired",
    "reroot",
    "rotation_exp",
    "rotation_exp_jacobian",
    "rotation_log",
    "rotation_log_jacobian",
    "sample_mechanisms",
    "scenario",
    "serial_equivalence",
    "set_threads",
    "simulate",
    "static_torque",
    "static_torque_derivatives",
    "subtree_centers_of_mass",
    "subtree_masses",
    "sweep",
    "symbol",
    "velocity_inverse_kinematics",
    "with_contact_points",
    "with_convex_parts",
    "with_drives",
    "with_gravity",
    "with_parameters",
    "with_payload",
    "wrench_at",
]


def __getattr__(name: str) -> object:
    """Load a public name, or a part of the package, when it is first used."""
    if name in _HOMES:
        value = getattr(_import_module(_HOMES[name]), name)
    elif name in _PARTS:
        value = _import_module(f"setsu.{name}")
    else:
        raise AttributeError(f"module 'setsu' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(_ModuleType):
    """This package, in which a function keeps its name against the part it lives in: `sweep`, `minimum_parameters`.

    Python binds a part to the package when the part is loaded, whoever loads it.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, _ModuleType)):
            super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package


def _show_in_studio(recording: "Recording", **options: _Any) -> _Any:
    """Open the studio, which loads its viewer only now: simulation itself knows nothing of it."""
    from setsu.studio import show

    return show(recording, **options)


_register_viewer(_show_in_studio)
