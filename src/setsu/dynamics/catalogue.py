"""Which kernel computes what, and the native function of a mechanism for it, made once and kept with the mechanism."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

from setsu.dynamics.massless import massless_motion, massless_velocities, refuse_massless
from setsu.errors import InputError, ModelWarning
from setsu.kernels import configuration, derivatives, energy, frames, jacobians, kinematics, momentum
from setsu.kernels.articulated_body import articulated_body
from setsu.kernels.composite_body import mass_matrix
from setsu.kernels.composite_body_link import forward_dynamics_composite_link, mass_matrix_link
from setsu.kernels.coriolis import coriolis_matrix
from setsu.kernels.energy_regressor import energy_regressor
from setsu.kernels.force_elements import element_power, spring_wrenches, with_force_elements
from setsu.kernels.forward_dynamics_composite import forward_dynamics_composite
from setsu.kernels.interpreter import exceeds_operations
from setsu.kernels.loop_closures import loop_kinematics
from setsu.kernels.motion_columns import motion_columns
from setsu.kernels.newton_euler_link import bias_torque, gravity_torque, inverse_dynamics_link, joint_wrenches
from setsu.kernels.newton_euler_world import inverse_dynamics_world
from setsu.kernels.nodal_central import nodal_central, nodal_weighted
from setsu.kernels.nodal_newmark import nodal_newmark
from setsu.kernels.program import Kernel
from setsu.kernels.regressor import regressor
from setsu.kernels.world_state import world_poses, world_poses_and_mass, world_rates
from setsu.mechanism import Mechanism
from setsu.native.function import NativeFunction
from setsu.native.inverse_dynamics_program import inverse_dynamics_program
from setsu.native.linear_coordinates import tree_drives
from setsu.native.specialised import Trace
from setsu.native.unrolled import can_unroll

__all__ = [
    "KERNELS",
    "PROGRAMS",
    "STRAIGHT_KERNELS",
    "fast_function",
    "native_function",
    "require_mass",
    "require_mechanism",
    "unrolled_function",
]

# Kernels by name; a second word names a variant.
KERNELS: dict[str, Callable[[], Kernel]] = {
    "body_poses": kinematics.body_poses,
    "joint_axes": kinematics.joint_axes,
    "poses_and_axes": kinematics.poses_and_axes,
    "body_velocities": kinematics.body_velocities,
    "body_accelerations": kinematics.body_accelerations,
    "frame_pose": frames.frame_pose,
    "frame_velocity": frames.frame_velocity,
    "frame_velocity local": partial(frames.frame_velocity, local=True),
    "frame_acceleration": frames.frame_acceleration,
    "frame_acceleration local": partial(frames.frame_acceleration, local=True),
    "frame_jacobian": jacobians.frame_jacobian,
    "frame_jacobian local": partial(jacobians.frame_jacobian, local=True),
    "frame_jacobian_rate": jacobians.frame_jacobian_rate,
    "frame_jacobian_rate local": partial(jacobians.frame_jacobian_rate, local=True),
    "point_jacobian": jacobians.point_jacobian,
    "point_jacobian_rate": jacobians.point_jacobian_rate,
    "inverse_dynamics": inverse_dynamics_link,
    "inverse_dynamics external": partial(inverse_dynamics_link, external=True),
    "inverse_dynamics world": inverse_dynamics_world,
    "inverse_dynamics world external": partial(inverse_dynamics_world, external=True),
    "forward_dynamics": articulated_body,
    "forward_dynamics external": partial(articulated_body, external=True),
    "forward_dynamics composite": forward_dynamics_composite,
    "forward_dynamics composite external": partial(forward_dynamics_composite, external=True),
    "mass_matrix": mass_matrix,
    "bias_torque": bias_torque,
    "bias_torque external": partial(bias_torque, external=True),
    "gravity_torque": gravity_torque,
    "coriolis_matrix": coriolis_matrix,
    "joint_wrenches": joint_wrenches,
    "joint_wrenches external": partial(joint_wrenches, external=True),
    "joint_wrenches world": partial(joint_wrenches, world_axes=True),
    "joint_wrenches world external": partial(joint_wrenches, external=True, world_axes=True),
    "regressor": regressor,
    "inverse_dynamics_derivatives": derivatives.inverse_dynamics_derivatives,
    "forward_dynamics_derivatives": derivatives.forward_dynamics_derivatives,
    "kinetic_energy": energy.kinetic_energy,
    "potential_energy": energy.potential_energy,
    "mechanical_energy": energy.mechanical_energy,
    "center_of_mass": momentum.center_of_mass,
    "centroidal_matrix": momentum.centroidal_matrix,
    "momentum": momentum.momentum,
    "momentum_rate": momentum.momentum_rate,
    "subtree_moments": momentum.subtree_moments,
    "energy_regressor": energy_regressor,
    "integrate": configuration.integrate,
    "difference": configuration.difference,
    "nodal_central": nodal_central,
    "nodal_central forces": partial(nodal_central, forces=True),
    "nodal_weighted": nodal_weighted,
    "nodal_weighted forces": partial(nodal_weighted, forces=True),
    "nodal_newmark": nodal_newmark,
    "spring_wrenches": spring_wrenches,
    "element_power": element_power,
    "loop_kinematics": loop_kinematics,
    "motion_columns": motion_columns,
    "world_poses": world_poses,
    "world_poses_and_mass": world_poses_and_mass,
    "world_rates": world_rates,
}

# The same for mechanisms with force elements (springs between points, tendons, pushes); where wrenches are given too,
# they come as "applied".
for _name in [name for name in KERNELS if name.endswith("external")]:
    _kernel = KERNELS[_name]
    KERNELS[f"{_name} springs"] = lambda kernel=_kernel: with_force_elements(kernel(), applied=True)
    KERNELS[f"{_name.removesuffix(' external')} springs"] = lambda kernel=_kernel: with_force_elements(kernel())

KERNELS["inverse_dynamics_derivatives springs"] = partial(derivatives.inverse_dynamics_derivatives, springs=True)
KERNELS["forward_dynamics_derivatives springs"] = partial(derivatives.forward_dynamics_derivatives, springs=True)

# Where another kernel needs fewer operations once the mechanism's constants are folded in.
STRAIGHT_KERNELS: dict[str, Callable[[], Kernel]] = {
    "inverse_dynamics external": partial(inverse_dynamics_link, external=True, specialised=True),
    "mass_matrix": mass_matrix_link,
    "forward_dynamics": forward_dynamics_composite_link,
}

# Where code for one mechanism comes from the program that `setsu.generate` prints, and not from a traced kernel.
PROGRAMS = ("inverse_dynamics", "bias_torque")

# Beyond about this many operations straight-line code gains little over loops, while LLVM takes long to make it.
_LARGEST_STRAIGHT = 24_000


def _shapes(m: Mechanism) -> dict[str, tuple[int, ...]]:
    """Public shapes of arrays that are not flat vectors, by the names kernels give them."""
    square, n_loops = (m.nv, m.nv), len(m.loops)
    return {
        "poses": (m.n_bodies, 4, 4),
        "velocities": (m.n_bodies, 6),
        "accelerations": (m.n_bodies, 6),
        "external": (m.n_bodies, 6),
        "wrenches": (m.n_bodies, 6),
        "J": (3, m.nv),
        "dJ": (3, m.nv),
        "J6": (6, m.nv),
        "dJ6": (6, m.nv),
        "pose": (4, 4),
        "loop_J": (n_loops, 6, m.nv),
        "placement": (n_loops, 4, 4),
        "twist": (n_loops, 6),
        "columns": (6, m.nv),
        "directions": (9, m.nv),
        "bias": (n_loops, 6),
        **dict.fromkeys(("motion", "by_q", "by_q_twice", "by_v"), (6, m.nv)),
        **dict.fromkeys(("body_V", "body_A"), (m.n_bodies, 6)),
        "applied": (m.n_bodies, 6),
        "A": (6, m.nv),
        "moments": (m.n_bodies, 3),
        "kinetic": (m.n_bodies, 10),
        "potential": (m.n_bodies, 10),
        "Y": (m.nv, 10 * m.n_bodies),
        "energy": (),
        "power": (),
        **dict.fromkeys(("M", "C", "dq", "dv", "da", "dtau"), square),
    }


class _WrittenFunction(NativeFunction):
    """Code for one mechanism made of its inverse-dynamics program."""

    @cached_property
    def trace(self) -> Trace:
        """The program, with the kernel's arguments and result."""
        tables, bias = self.tables, self.name == "bias_torque"
        program = inverse_dynamics_program(tables, tables.regrouped, tree_drives(tables), bias=bias, shortest=False)
        return Trace(program.graph, {"tau": program.torques})


def require_mechanism(mechanism: Any, function: str) -> None:
    """Raise an InputError unless `mechanism` is one."""
    if not isinstance(mechanism, Mechanism):
        raise InputError(
            f"{function}: expected a Mechanism (from setsu.load or MechanismBuilder), got {mechanism!r:.80}"
        )


def unrolled_function(mechanism: Mechanism, name: str) -> NativeFunction | None:
    """Return the loops of a kernel unrolled for a mechanism, with their bits (native/unrolled.py); None: too long."""
    kernel = KERNELS[name]()
    if not can_unroll(kernel) or exceeds_operations(kernel, mechanism.tables, _LARGEST_STRAIGHT):
        return None
    return NativeFunction(kernel, mechanism, name=name.split()[0], shapes=_shapes(mechanism), unrolled=True)


def native_function(mechanism: Mechanism, name: str, *, specialised: bool = False, target: int = -1) -> NativeFunction:
    """Return the native function of a kernel for a mechanism.

    specialised: code for this mechanism alone, unless it would be too long; then the generic code.
    """
    try:
        functions = mechanism.__dict__["_functions"]
    except KeyError:
        functions = mechanism.__dict__.setdefault("_functions", {})
    except AttributeError:
        require_mechanism(mechanism, name.split()[0])
        raise
    function = functions.get((name, specialised, target))
    if function is None:
        require_mechanism(mechanism, name.split()[0])
        kernel = (STRAIGHT_KERNELS.get(name, KERNELS[name]) if specialised else KERNELS[name])()
        if specialised and exceeds_operations(kernel, mechanism.tables, _LARGEST_STRAIGHT):
            return native_function(mechanism, name, target=target)
        with_wrenches = name.replace(" springs", " external springs") if "springs" in name else f"{name} external"
        made = _WrittenFunction if specialised and name in PROGRAMS else NativeFunction
        function = functions[name, specialised, target] = made(
            kernel,
            mechanism,
            name=name.split()[0],
            shapes=_shapes(mechanism),
            specialised=specialised,
            target=target,
            with_wrenches=partial(_taking_wrenches, mechanism, with_wrenches, specialised)
            if with_wrenches in KERNELS
            else None,
        )
        if name.startswith("forward_dynamics"):
            function.arguments.explain = partial(_idle_state, mechanism)
    return function


def _taking_wrenches(mechanism: Mechanism, name: str, specialised: bool) -> Callable[..., Any]:
    """The function with external wrenches as one more argument: rows of bodies, or a dict by frame name."""
    from setsu.dynamics.wrenches import body_rows  # which asks this module for poses

    function = native_function(mechanism, name, specialised=specialised)

    def call(*args: Any) -> Any:
        *state, external = args
        return function(*state, body_rows(mechanism, function.name, state[0], external))

    return call


def _idle_state(mechanism: Mechanism, q: Any) -> str:
    """Say which joints move no mass in the first of some configurations (n, nq) where any do; else nothing."""
    for matrix in native_function(mechanism, "mass_matrix")(q):
        massless = massless_velocities(matrix)
        if massless:
            return massless_motion(mechanism, massless, " in this configuration")
    return ""


def require_mass(mechanism: Mechanism, function: str) -> None:
    """Raise an InputError when some motion of a mechanism without its loops moves no mass in any configuration."""
    refuse_massless(mechanism, function, native_function(mechanism, "mass_matrix"))


def warn_of_loops(mechanism: Mechanism, function: str) -> None:
    """Warn, once per mechanism, that forward dynamics moves it as if its loops and couplings were open."""
    if (mechanism.loops or mechanism.couplings) and not mechanism.__dict__.get("_warned_of_loops"):
        mechanism.__dict__["_warned_of_loops"] = True
        warnings.warn(
            f"{function}: {mechanism.name} has loops or couplings, which this function leaves open; "
            "setsu.constrained_dynamics closes them",
            ModelWarning,
            stacklevel=4,
        )


def fast_function(mechanism: Mechanism, name: str) -> Callable[..., Any]:
    """Return the quickest callable of a kernel for a mechanism."""
    try:
        return mechanism.__dict__["_fast_functions"][name]
    except (KeyError, AttributeError):
        function = native_function(mechanism, name).fast
        if name.startswith("forward_dynamics"):
            require_mass(mechanism, name.split()[0])
            warn_of_loops(mechanism, name.split()[0])
        mechanism.__dict__.setdefault("_fast_functions", {})[name] = function
        return function
