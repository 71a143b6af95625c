"""Constraints: points on surfaces, loops closed by any joint, couplings; motion and forces under all of them."""

from setsu.constraints.constrained_dynamics import ConstrainedDynamics, constrained_dynamics
from setsu.constraints.contact import SurfaceContact
from setsu.constraints.surfaces import Cylinder, ImplicitSurface, Plane, Sphere, Surface
from setsu.constraints.system import ConstraintRows, ConstraintSystem, constraint_system

__all__ = [
    "ConstrainedDynamics",
    "ConstraintRows",
    "ConstraintSystem",
    "Cylinder",
    "ImplicitSurface",
    "Plane",
    "Sphere",
    "Surface",
    "SurfaceContact",
    "constrained_dynamics",
    "constraint_system",
]
