"""Dynamics of mechanisms: the public functions. Pure; any leading batch axes; checks before work."""

from setsu.dynamics.compiled import CompiledFunctions, compile
from setsu.dynamics.derivatives import (
    ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
)
from setsu.dynamics.energy import center_of_mass, centroidal_matrix, kinetic_energy, momentum, potential_energy
from setsu.dynamics.equations import (
    bias_torque,
    coriolis_matrix,
    forward_dynamics,
    gravity_torque,
    inverse_dynamics,
    joint_wrenches,
    mass_matrix,
)
from setsu.dynamics.frames import (
    frame_acceleration,
    frame_jacobian,
    frame_jacobian_rate,
    frame_pose,
    frame_velocity,
    point_jacobian,
    point_jacobian_rate,
)
from setsu.dynamics.kinematics import (
    body_accelerations,
    body_poses,
    body_velocities,
    difference,
    integrate,
)
from setsu.dynamics.parameters import inertial_parameters, regressor
from setsu.dynamics.wrench_at import wrench_at

__all__ = [
    "CompiledFunctions",
    "ForwardDynamicsDerivatives",
    "InverseDynamicsDerivatives",
    "bias_torque",
    "body_accelerations",
    "body_poses",
    "body_velocities",
    "center_of_mass",
    "centroidal_matrix",
    "compile",
    "coriolis_matrix",
    "difference",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "frame_acceleration",
    "frame_jacobian",
    "frame_jacobian_rate",
    "frame_pose",
    "frame_velocity",
    "gravity_torque",
    "inertial_parameters",
    "integrate",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "joint_wrenches",
    "kinetic_energy",
    "mass_matrix",
    "momentum",
    "point_jacobian",
    "point_jacobian_rate",
    "potential_energy",
    "regressor",
    "wrench_at",
]
