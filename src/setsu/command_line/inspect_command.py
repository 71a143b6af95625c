"""`setsu inspect FILE`: what a model file holds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from setsu.command_line.model_argument import load_model
from setsu.command_line.output import console, folded, print_json

if TYPE_CHECKING:
    from setsu.mechanism import Mechanism
    from setsu.model_files import LoadReport

__all__ = ["inspect"]


def inspect(
    file: Path,
    /,
    *,
    floating_base: bool = False,
    package: Annotated[tuple[Path, ...], Parameter(negative=())] = (),
    json: bool = False,
) -> int:
    """Show what a model file holds: bodies, joints, frames, loops, and what was ignored in the file.

    Parameters
    ----------
    file
        URDF, MJCF (.xml) or native (.toml) file.
    floating_base
        Put a free joint under the root link (URDF).
    package
        Folder that holds the packages of package:// mesh names; may be given several times.
    json
        Print JSON instead of tables.
    """
    mechanism, report = load_model(file, floating_base, package, quiet=True)
    if json:
        print_json(_as_data(mechanism, report))
    else:
        width = console().width
        print(mechanism.summary(width))
        print()
        print(folded(f"load report: {report}", width))
    return 0


def _as_data(mechanism: Mechanism, report: LoadReport) -> dict[str, Any]:
    """The mechanism's structure as plain data."""
    return {
        "name": mechanism.name,
        "nq": mechanism.nq,
        "nv": mechanism.nv,
        "total_mass": mechanism.total_mass,
        "gravity": mechanism.gravity,
        "bodies": [
            {
                "name": body.name,
                "parent": body.parent,
                "joint": body.joint.name,
                "joint_type": type(body.joint).__name__,
                "mass": body.mass,
                "center_of_mass": body.center_of_mass,
                "inertia": body.inertia_matrix.tolist(),
                "carried_by": mechanism.body_names[frame.body]
                if (frame := mechanism.frame(body.name)).body >= 0
                else "world",
            }
            for body in mechanism.bodies
        ],
        "loops": [
            {"name": loop.name, "joint_type": type(loop.joint).__name__, "body_a": loop.body_a, "body_b": loop.body_b}
            for loop in mechanism.loops
        ],
        "couplings": [
            {
                "name": coupling.name,
                "factors": dict(coupling.factors),
                "offset": coupling.offset,
                "polynomial": coupling.polynomial,
                "argument": dict(coupling.argument),
                "reference": coupling.reference,
            }
            for coupling in mechanism.couplings
        ],
        "springs": [asdict(spring) for spring in mechanism.springs],
        "tendons": [asdict(tendon) for tendon in mechanism.tendons],
        "fluid": None if mechanism.fluid is None else asdict(mechanism.fluid),
        "sites": [{"name": site.name, "body": site.body} for site in mechanism.sites],
        "actuators": [asdict(actuator) for actuator in mechanism.actuators],
        "keyframes": [asdict(key) for key in mechanism.keys],
        "missing": mechanism.missing,
        "contact_points": [asdict(point) for point in mechanism.contact_points],
        "load_report": asdict(report),
    }
