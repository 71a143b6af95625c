"""`setsu.generate`: choose a function, trace it for a mechanism, print it in a language."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from setsu.code_generation.c_source import Signature, c_header, c_source, c_test
from setsu.code_generation.casadi_source import source_for_casadi
from setsu.code_generation.programs import TracedFunction, traced_function, traced_unit
from setsu.code_generation.python_source import python_source
from setsu.constraints.massless import refuse_unheld
from setsu.dynamics import mass_matrix
from setsu.dynamics.bearings import refuse_bearings
from setsu.dynamics.catalogue import require_mechanism
from setsu.errors import InputError, ModelWarning, nearest_names
from setsu.mechanism import Mechanism
from setsu.symbolic import OperationCount

if TYPE_CHECKING:
    from setsu.code_generation.fmu import FmuFiles

__all__ = ["GeneratedCode", "generate"]

Floats = NDArray[np.float64]

_TITLES = {
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
_LANGUAGES = ("c", "python", "fmu", "casadi")
_FMI_VERSIONS = ("2.0", "3.0")
_PRECISIONS = ("double", "single")
_TEST_TOLERANCE = 1e-11
_SINGLE_ROUNDING = 80.0


@dataclass(frozen=True)
class GeneratedCode:
    """Generated source: one function of one mechanism.

    name: of the function and of the files. source, header: text (header empty for Python and CasADi). test: text of a
    program that checks the function on a few states (empty for these). operations: arithmetic operations per call.
    unit: the files of a Functional Mock-up Unit, for that language only.
    """

    name: str
    language: str
    source: str
    header: str
    test: str
    operations: OperationCount
    unit: FmuFiles | None = None

    def write(self, folder: str | Path) -> list[Path]:
        """Write the files into a folder, made if need be, and return their paths."""
        ending = {"c": ".c", "python": ".py", "fmu": ".c", "casadi": ".c"}[self.language]
        texts = {f"{self.name}{ending}": self.source, f"{self.name}.h": self.header, f"{self.name}_test.c": self.test}
        contents = {name: text.encode() for name, text in texts.items() if text}
        if self.unit is not None:
            contents = {f"{self.name}.fmu": self.unit.archive()}
        target = Path(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
            paths = []
            for name, content in contents.items():
                (target / name).write_bytes(content)
                paths.append(target / name)
        except OSError as problem:
            raise InputError(f"write: cannot write into {target}: {problem.strerror}") from None
        return paths


def generate(
    mechanism: Mechanism,
    function: str,
    language: str = "c",
    *,
    fmi_version: str = "2.0",
    precision: str = "double",
    actuated: Sequence[str] | None = None,
    body: str | None = None,
    joint_stops: bool = False,
    progress: Callable[[str, float], None] = lambda text, part: None,
) -> GeneratedCode:
    """Return source code of a function of the library for this mechanism alone.

    Args:
        function: for example "inverse_dynamics", "mass_matrix", "forward_dynamics", "regressor". With loops or
            couplings accelerations are those of "constrained_dynamics", under that name; "forward_dynamics", which
            leaves loops open as a function of the library, is an alias of it here, with a ModelWarning that says so.
        language: "c" (C99), "python", "casadi": C with derivatives of first and second order for `casadi.external`
            (docs/optimisation_and_learning.md), or "fmu": a Functional Mock-up Unit for co-simulation around
            "forward_dynamics" or "constrained_dynamics", torques in, coordinates and velocities out; `write` puts
            NAME.fmu into a folder.
        fmi_version: of the unit, "2.0" or "3.0".
        precision: "double", or "single" for C with floats throughout, for processors that have hardware for these only.
        actuated: for mechanisms with loops or couplings, the joints that drive them, in the order of the arguments; as
            many as there are degrees of freedom, the first independent joints when not given.
        body: for Jacobians, the body the point belongs to.
        joint_stops: as of `simulate`; refused: nothing here stops joints at their limits.
        progress: called with what is being done and the part of the search for few operations that is done.

    Inverse dynamics is written with the minimum parameters and as few operations as were found. Where loops close
    linearly (parallelograms, couplings), arguments and results are those of the actuated joints alone; for other loops
    see `docs/generated_code.md`.

    >>> import setsu
    >>> code = setsu.generate(setsu.sample_mechanisms.planar_arm(2), "inverse_dynamics")
    >>> "void two_link_arm_inverse_dynamics(" in code.source or code.name in code.source
    True
    """
    require_mechanism(mechanism, "generate")
    if function not in _TITLES:
        raise InputError(f"generate: no function {function!r}{nearest_names(function, _TITLES)}")
    # The program of accelerations is one, loops closed where there are any; only its name differs.
    program = function.replace("constrained_dynamics", "forward_dynamics")
    if program.startswith(("inverse_dynamics", "forward_dynamics")):
        refuse_bearings(mechanism, f"generate {function}")
    if language not in _LANGUAGES:
        raise InputError(f"generate: no language {language!r}{nearest_names(language, _LANGUAGES)}")
    if language == "fmu" and program != "forward_dynamics":
        raise InputError(
            f'generate: an FMU is made of "forward_dynamics" or, with loops, "constrained_dynamics", got {function!r}'
        )
    if joint_stops:
        _refuse_joint_stops(mechanism)
    if language == "fmu":
        _refuse_dry_friction(mechanism)
    if precision not in _PRECISIONS:
        raise InputError(f"generate: precision: expected {' or '.join(_PRECISIONS)}, got {precision!r}")
    if precision == "single" and language != "c":
        raise InputError(f'generate: precision "single" is for C, got the language {language!r}')
    if fmi_version not in _FMI_VERSIONS:
        raise InputError(f"generate: fmi_version: expected {' or '.join(_FMI_VERSIONS)}, got {fmi_version!r}")
    if mechanism.nv == 0:
        raise InputError(f"generate: {mechanism.name} has no moving joint")
    if program.startswith("forward_dynamics"):
        refuse_unheld(mechanism, f"generate {function}", mechanism.random_configuration(0))
    _warn_of_name(mechanism, function)
    closed = None
    if language == "fmu" and (mechanism.loops or mechanism.couplings):
        traced, closed = traced_unit(mechanism, actuated)
    else:
        traced = traced_function(mechanism, program, actuated, body, progress)
    signature = _signature(mechanism, function, traced, precision == "single")
    trace = traced.trace
    if language == "python":
        return GeneratedCode(signature.name, language, python_source(signature, trace), "", "", trace.operations)
    if language == "casadi":
        text, operations, exact = source_for_casadi(signature, trace, mechanism.nv)
        if not exact:
            warnings.warn(
                f"generate: second derivatives of {signature.name} would be too long as straight-line code and are left"
                " out; IPOPT needs hessian_approximation limited-memory",
                ModelWarning,
                stacklevel=2,
            )
        return GeneratedCode(signature.name, language, text, "", "", operations)
    states, results = traced.test_vectors()
    source, header = c_source(signature, trace), c_header(signature, trace.operations)
    unit = None
    if language == "fmu":
        # Compiling and packing need modules that nothing else here does.
        from setsu.code_generation.fmu import fmu_files

        unit = fmu_files(mechanism, signature, source, header, fmi_version, closed)
    return GeneratedCode(
        name=signature.name,
        language=language,
        source=source,
        header=header,
        test=c_test(signature, states, results, _test_tolerance(traced, program, signature, states)),
        operations=trace.operations,
        unit=unit,
    )


def _warn_of_name(m: Mechanism, function: str) -> None:
    """Say what the name of a function means here that the library's function of that name does not do."""
    if function.startswith("forward_dynamics") and (m.loops or m.couplings):
        closed = function.replace("forward_dynamics", "constrained_dynamics")
        warnings.warn(
            f'generate: "{function}" of {m.name} closes its loops and couplings, which setsu.forward_dynamics leaves '
            f'open; it is an alias of "{closed}"',
            ModelWarning,
            stacklevel=3,
        )


def _refuse_joint_stops(m: Mechanism) -> None:
    """Generated code has no impacts: joints that `simulate` stops would go on."""
    joints = [body.joint for body in m.moving] + [loop.joint for loop in m.loops]
    limited = [j.name for j in joints if np.isfinite([*np.atleast_1d(j.lower), *np.atleast_1d(j.upper)]).any()]
    named = f", and {m.name} has limits in {', '.join(limited[:5])}{' ...' if len(limited) > 5 else ''}"
    raise InputError(
        f"generate: joint_stops: generated code and FMUs do not stop joints at their limits{named if limited else ''}; "
        "expected False, as in simulate without joint_stops"
    )


def _refuse_dry_friction(m: Mechanism) -> None:
    """A unit's integrator cannot hold a joint still: what `simulate` keeps in place would creep there."""
    joints = [body.joint for body in m.moving] + [loop.joint for loop in m.loops]
    rubbing = [joint.name for joint in joints if np.any(np.asarray(joint.coulomb) > 0.0)]
    if rubbing:
        raise InputError(
            f"generate: an FMU cannot hold joints by dry friction as simulate does, and {m.name} has some: coulomb of "
            f"{', '.join(rubbing[:5])}{' ...' if len(rubbing) > 5 else ''}; set it to 0 "
            "(setsu.with_parameters) or use damping"
        )


def _test_tolerance(traced: TracedFunction, function: str, signature: Signature, states: list[Floats]) -> float:
    """Rounding allowed in the self-test, relative to the largest result: c κ(M) ε in single precision."""
    if not signature.single:
        return _TEST_TOLERANCE
    condition = 1.0
    if function.startswith("forward_dynamics"):
        q = states[0]
        if q.shape[-1] == traced.mechanism.nq:
            condition = float(np.linalg.cond(mass_matrix(traced.mechanism, q)).max())
    return _SINGLE_ROUNDING * float(np.finfo(np.float32).eps) * condition


def _signature(m: Mechanism, function: str, traced: TracedFunction, single: bool) -> Signature:
    def entry(name: str, length: int) -> tuple[str, int, str]:
        named = traced.actuated if name in ("q", "v", "a", "tau") else ()
        return name, length, _MEANINGS[name] + (f"; of {_one_line(', '.join(named))}" if named else "")

    return Signature(
        name=_identifier(f"{m.name}_{function}"),
        title=f"{_TITLES[function]}: {_one_line(m.name)}{traced.remark}",
        inputs=tuple(entry(name, length) for name, length in traced.inputs),
        outputs=tuple(entry(name, len(values)) for name, values in traced.trace.outputs.items()),
        single=single,
    )


def _identifier(text: str) -> str:
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower()
    return name if name and not name[0].isdigit() else f"m_{name}"


def _one_line(text: str) -> str:
    """A name as it may stand in a comment; no trigraphs either, which old compilers read there too."""
    return re.sub(r"[^ -~]|\*/|/\*|\"|\\|\?(?=\?)", "_", text)
