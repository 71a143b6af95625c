"""Dynamics of mechanisms: the public functions. Pure; any leading batch axes; checks before work."""

from setsu.dynamics.actuators import actuator_torque
from setsu.dynamics.compiled import CompiledFunctions, compile
from setsu.dynamics.configuration_derivatives import (
    DifferenceDerivatives,
    IntegrateDerivatives,
    difference_derivatives,
    integrate_derivatives,
)
from setsu.dynamics.configurations import difference, distance, integrate, interpolate, normalize
from setsu.dynamics.derivatives import (
    ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives,
    forward_dynamics_derivatives,
    forward_dynamics_parameter_derivatives,
    inverse_dynamics_derivatives,
)
from setsu.dynamics.energy import (
    center_of_mass,
    center_of_mass_acceleration,
    center_of_mass_jacobian,
    center_of_mass_velocity,
    centroidal_matrix,
    kinetic_energy,
    momentum,
    momentum_rate,
    potential_energy,
    subtree_centers_of_mass,
    subtree_masses,
)
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
from setsu.dynamics.kinematics import body_accelerations, body_poses, body_velocities
from setsu.dynamics.parameters import (
    EnergyRegressor,
    energy_regressor,
    inertial_parameters,
    kinematic_regressor,
    regressor,
)
from setsu.dynamics.terms import AllTerms, all_terms, static_torque, static_torque_derivatives
from setsu.dynamics.wrench_at import wrench_at

__all__ = [
    "AllTerms",
    "CompiledFunctions",
    "DifferenceDerivatives",
    "EnergyRegressor",
    "ForwardDynamicsDerivatives",
    "IntegrateDerivatives",
    "InverseDynamicsDerivatives",
    "actuator_torque",
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
    "compile",
    "coriolis_matrix",
    "difference",
    "difference_derivatives",
    "distance",
    "energy_regressor",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_dynamics_parameter_derivatives",
    "frame_acceleration",
    "frame_jacobian",
    "frame_jacobian_rate",
    "frame_pose",
    "frame_velocity",
    "gravity_torque",
    "inertial_parameters",
    "integrate",
    "integrate_derivatives",
    "interpolate",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "joint_wrenches",
    "kinematic_regressor",
    "kinetic_energy",
    "mass_matrix",
    "momentum",
    "momentum_rate",
    "normalize",
    "point_jacobian",
    "point_jacobian_rate",
    "potential_energy",
    "regressor",
    "static_torque",
    "static_torque_derivatives",
    "subtree_centers_of_mass",
    "subtree_masses",
    "wrench_at",
]
