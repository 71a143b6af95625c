"""Constraints: points on surfaces, loops closed by any joint, couplings; motion and forces under all of them."""

from setsu.constraints.assembly import ClosingError, close_loops, loop_error
from setsu.constraints.compiled import compile
from setsu.constraints.constrained_dynamics import ConstrainedDynamics, constrained_dynamics
from setsu.constraints.constrained_dynamics_derivatives import (
    ConstrainedDynamicsDerivatives,
    constrained_dynamics_derivatives,
)
from setsu.constraints.constrained_inverse_dynamics import ConstrainedInverseDynamics, constrained_inverse_dynamics
from setsu.constraints.contact import SurfaceContact
from setsu.constraints.freedom import ConstraintReport, constraint_report, degrees_of_freedom, independent_coordinates
from setsu.constraints.impulse_dynamics import ImpulseDynamics, impulse_dynamics
from setsu.constraints.impulse_dynamics_derivatives import (
    ImpulseDynamicsDerivatives,
    impulse_dynamics_derivatives,
)
from setsu.constraints.prescribed import Prescribed
from setsu.constraints.surfaces import Cylinder, ImplicitSurface, Plane, Sphere, Surface
from setsu.constraints.system import ConstraintRows, ConstraintSystem, constraint_system

__all__ = [
    "ClosingError",
    "ConstrainedDynamics",
    "ConstrainedDynamicsDerivatives",
    "ConstrainedInverseDynamics",
    "ConstraintReport",
    "ConstraintRows",
    "ConstraintSystem",
    "Cylinder",
    "ImplicitSurface",
    "ImpulseDynamics",
    "ImpulseDynamicsDerivatives",
    "Plane",
    "Prescribed",
    "Sphere",
    "Surface",
    "SurfaceContact",
    "close_loops",
    "compile",
    "constrained_dynamics",
    "constrained_dynamics_derivatives",
    "constrained_inverse_dynamics",
    "constraint_report",
    "constraint_system",
    "degrees_of_freedom",
    "impulse_dynamics",
    "impulse_dynamics_derivatives",
    "independent_coordinates",
    "loop_error",
]
