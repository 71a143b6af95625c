"""Setsu (節): dynamics of link systems. Torques, motions, every internal force, generated code.

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
        ConstrainedInverseDynamics,
        ConstraintReport,
        Cylinder,
        ImplicitSurface,
        Plane,
        Sphere,
        SurfaceContact,
        close_loops,
        compile,
        constrained_dynamics,
        constrained_inverse_dynamics,
        constraint_report,
        degrees_of_freedom,
        independent_coordinates,
        loop_error,
    )
    from setsu.contact import Environment, Polygon
    from setsu.dynamics import (
        CompiledFunctions,
        ForwardDynamicsDerivatives,
        InverseDynamicsDerivatives,
        bias_torque,
        body_accelerations,
        body_poses,
        body_velocities,
        center_of_mass,
        centroidal_matrix,
        coriolis_matrix,
        difference,
        forward_dynamics,
        forward_dynamics_derivatives,
        frame_jacobian,
        gravity_torque,
        inertial_parameters,
        integrate,
        inverse_dynamics,
        inverse_dynamics_derivatives,
        joint_wrenches,
        kinetic_energy,
        mass_matrix,
        momentum,
        point_jacobian,
        point_jacobian_rate,
        potential_energy,
        regressor,
    )
    from setsu.errors import InputError, ModelFileError, ModelWarning, SetsuError
    from setsu.identification import (
        ExcitationTrajectory,
        Fit,
        MeasuredMotion,
        PhysicallyConsistent,
        Validation,
        excitation_trajectory,
        identify,
        pseudo_inertia,
        read_log,
        with_parameters,
    )
    from setsu.mechanism import (
        Body,
        ContactPoint,
        Coupling,
        Cylindrical,
        Fixed,
        Free,
        Helical,
        InertiaReport,
        Joint,
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
        Shape,
        Spherical,
        Spring,
        Universal,
        extract,
        inertia_report,
        lock_joints,
        merge,
        move_cut,
        repair_inertia,
        repaired,
        reroot,
        with_contact_points,
        with_gravity,
        with_payload,
    )
    from setsu.minimum_parameters import (
        MinimumParameters,
        SerialEquivalence,
        minimum_parameters,
        serial_equivalence,
    )
    from setsu.model_files import DHRow, LoadReport, from_dh, load, load_with_report
    from setsu.named_numbers import NamedNumber, symbol
    from setsu.native.threads import get_threads, set_threads
    from setsu.nodal import HeldObject, MemberLengthMatrix, TipForce, member_length_matrix, nodal_inverse_dynamics
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
    from setsu.spatial import classic_dh, modified_dh, placement
    from setsu.sweep import sweep

__version__ = "0.1.0"

__all__ = [
    "Body",
    "Citation",
    "CloseLoop",
    "ClosingError",
    "CompiledFunctions",
    "ConstrainedDynamics",
    "ConstrainedInverseDynamics",
    "ConstraintReport",
    "ContactPoint",
    "Coupling",
    "Cylinder",
    "Cylindrical",
    "DHRow",
    "EnergyLedger",
    "Environment",
    "EventReport",
    "ExcitationTrajectory",
    "Fit",
    "Fixed",
    "ForwardDynamicsDerivatives",
    "Free",
    "GeneratedCode",
    "HeldObject",
    "Helical",
    "ImplicitSurface",
    "InertiaReport",
    "InputError",
    "InverseDynamicsDerivatives",
    "Joint",
    "JointServo",
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
    "MovedCut",
    "NamedNumber",
    "OpenLoop",
    "PhysicallyConsistent",
    "Planar",
    "Plane",
    "Polygon",
    "Pose",
    "Prismatic",
    "Recording",
    "RepairedMechanism",
    "RerootedMechanism",
    "Revolute",
    "SerialEquivalence",
    "SetsuError",
    "Shape",
    "SimulationStopped",
    "Sphere",
    "Spherical",
    "Spring",
    "SurfaceContact",
    "TipForce",
    "Universal",
    "Validation",
    "__version__",
    "bias_torque",
    "body_accelerations",
    "body_poses",
    "body_velocities",
    "center_of_mass",
    "centroidal_matrix",
    "citation",
    "classic_dh",
    "close_loops",
    "compile",
    "consistent_velocity",
    "constrained_dynamics",
    "constrained_inverse_dynamics",
    "constraint_report",
    "contact",
    "control",
    "coriolis_matrix",
    "degrees_of_freedom",
    "difference",
    "excitation_trajectory",
    "extract",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "frame_jacobian",
    "from_dh",
    "generate",
    "get_threads",
    "gravity_torque",
    "identify",
    "independent_coordinates",
    "inertia_report",
    "inertial_parameters",
    "integrate",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "joint_wrenches",
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
    "move_cut",
    "nodal_inverse_dynamics",
    "placement",
    "point_jacobian",
    "point_jacobian_rate",
    "potential_energy",
    "pseudo_inertia",
    "read_log",
    "regressor",
    "repair_inertia",
    "repaired",
    "reroot",
    "sample_mechanisms",
    "scenario",
    "serial_equivalence",
    "set_threads",
    "simulate",
    "sweep",
    "symbol",
    "with_contact_points",
    "with_gravity",
    "with_parameters",
    "with_payload",
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
