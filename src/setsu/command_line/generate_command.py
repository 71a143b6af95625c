"""`setsu generate FILE FUNCTION`: source code of one function of a mechanism."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from setsu.command_line.model_argument import load_model
from setsu.command_line.output import ProgressBar, print_json
from setsu.errors import InputError

__all__ = ["generate"]


def generate(
    file: Path,
    /,
    *function: str,
    language: str = "c",
    fmi_version: str = "2.0",
    precision: str = "double",
    actuated: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    body: str | None = None,
    frame: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    out: Path | None = None,
    floating_base: bool = False,
    package: Annotated[tuple[Path, ...], Parameter(negative=())] = (),
    json: bool = False,
) -> int:
    """Write source code of one function for this mechanism alone.

    Parameters
    ----------
    file
        URDF, MJCF (.xml) or native (.toml) file.
    function
        Function of the library by name, for example inverse_dynamics, mass_matrix, forward_dynamics, regressor;
        inverse_dynamics when not given; forward_dynamics for an FMU, constrained_dynamics where there are loops. For
        C++ several may be given; inverse_dynamics and gravity_torque when none is.
    language
        c (C99: source, header, self-test), cpp (a C++17 header with a class, self-test, CMake target), python, casadi
        (C with derivatives for casadi.external), or fmu (a Functional Mock-up Unit of one of these two).
    fmi_version
        Version of the Functional Mock-up Interface: 2.0 or 3.0; 2.0 when not given.
    precision
        Of generated C and C++: double, or single for processors with floats only; double when not given.
    actuated
        Joint that drives a mechanism with loops or couplings; given several times, in the order of the arguments.
    body
        Body of a Jacobian.
    frame
        For C++, frame whose pose and Jacobian become methods; may be given several times.
    out
        Folder for the files; without it the source is printed.
    floating_base
        Put a free joint under the root link (URDF).
    package
        Folder that holds the packages of package:// mesh names; may be given several times.
    json
        Print what was made as JSON.
    """
    from setsu.code_generation import generate as generate_code

    if language == "fmu" and out is None:
        raise InputError("generate: an FMU is a file: say where it shall go with --out FOLDER")
    mechanism, _ = load_model(file, floating_base, package)
    moving = "constrained_dynamics" if mechanism.loops or mechanism.couplings else "forward_dynamics"
    given = {"fmu": moving, "cpp": ("inverse_dynamics", "gravity_torque")}.get(language, "inverse_dynamics")
    chosen = function[0] if len(function) == 1 else function or given
    with ProgressBar("generating") as progress:
        code = generate_code(
            mechanism,
            chosen,
            language,
            fmi_version=fmi_version,
            precision=precision,
            actuated=list(actuated) or None,
            body=body,
            frames=frame,
            progress=progress,
        )
    paths = code.write(out) if out is not None else []
    count = code.operations
    if json:
        operations = {"add": count.add, "mul": count.mul, "func": count.func, "total": count.total}
        print_json({"name": code.name, "operations": operations, "files": [str(path) for path in paths]})
    elif out is None:
        print(code.source, end="")
    else:
        print(f"{code.name}: {count.total} operations ({count.add} add, {count.mul} mul, {count.func} functions)")
        print("written: " + ", ".join(str(path) for path in paths))
    return 0
