"""What a generated function is called and what its arrays mean, in names and comments that compilers take."""

from __future__ import annotations

import re

from setsu.code_generation.c_source import Signature
from setsu.code_generation.programs import TracedFunction
from setsu.mechanism import Mechanism

__all__ = ["TITLES", "identifier", "one_line", "signature_of"]

TITLES = {
    "inverse_dynamics": "Joint torques for a motion",
    "forward_dynamics": "Joint accelerations under torques",
    "constrained_dynamics": "Joint accelerations under torques, loops and couplings closed",
    "mass_matrix": "Mass matrix, row by row",
    "bias_torque": "Joint torques at zero acceleration",
    "gravity_torque": "Joint torques that hold against gravity",
    "coriolis_matrix": "Coriolis matrix, row by row",
    "regressor": "Regressor: torques as a linear function of the inertial parameters, row by row",
    "frame_jacobian": "Jacobian of a frame at a point of a body, velocity of the point first, row by row",
    "point_jacobian": "Jacobian of a point of a body, row by row",
    "inverse_dynamics_derivatives": "Derivatives of the joint torques, row by row",
    "forward_dynamics_derivatives": "Derivatives of the joint accelerations, row by row",
    "constrained_dynamics_derivatives": "Derivatives of the joint accelerations, loops closed, row by row",
    "body_poses": "4x4 placements of the bodies in the world, row by row",
    "kinetic_energy": "Kinetic energy",
    "potential_energy": "Potential energy",
    "center_of_mass": "Centre of mass",
    "momentum": "Linear momentum, and angular momentum about the centre of mass",
}
_MEANINGS = {
    "q": "coordinates, rad or m (quaternions x y z w)",
    "v": "velocities, rad/s or m/s",
    "a": "accelerations, rad/s² or m/s²",
    "tau": "torques or forces, N m or N",
    "M": "mass matrix, kg m² or kg",
    "C": "Coriolis matrix",
    "Y": "regressor",
    "J": "Jacobian, world axes",
    "J6": "Jacobian, world axes",
    "point": "m, in the frame of the body",
    "dq": "derivatives by coordinates",
    "dv": "derivatives by velocities",
    "da": "derivatives by accelerations",
    "dtau": "derivatives by torques",
    "poses": "placements",
    "energy": "J",
    "center": "m, world axes",
    "result": "kg m/s and kg m²/s, world axes",
}


def signature_of(m: Mechanism, function: str, traced: TracedFunction, single: bool) -> Signature:
    """Return the signature of a traced function of the library."""

    def entry(name: str, length: int) -> tuple[str, int, str]:
        named = traced.actuated if name in ("q", "v", "a", "tau") else ()
        return name, length, _MEANINGS[name] + (f"; of {one_line(', '.join(named))}" if named else "")

    return Signature(
        name=identifier(f"{m.name}_{function}"),
        title=f"{TITLES[function]}: {one_line(m.name)}{traced.remark}",
        inputs=tuple(entry(name, length) for name, length in traced.inputs),
        outputs=tuple(entry(name, len(values)) for name, values in traced.trace.outputs.items()),
        single=single,
    )


def identifier(text: str) -> str:
    """Return a name that C, C++ and Python take."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower()
    return name if name and not name[0].isdigit() else f"m_{name}"


def one_line(text: str) -> str:
    """A name as it may stand in a comment; no trigraphs either, which old compilers read there too."""
    return re.sub(r"[^ -~]|\*/|/\*|\"|\\|\?(?=\?)", "_", text)
