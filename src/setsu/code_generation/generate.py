"""`setsu.generate`: choose a function, trace it for a mechanism, print it in a language."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from setsu.code_generation.c_source import Signature, c_header, c_source, c_test
from setsu.code_generation.casadi_source import source_for_casadi
from setsu.code_generation.programs import TracedFunction, traced_function, traced_unit
from setsu.code_generation.python_source import python_source
from setsu.code_generation.signatures import TITLES, identifier, one_line, signature_of
from setsu.constraints.held_motion import refuse_unheld
from setsu.constraints.system import constraint_system
from setsu.dynamics import mass_matrix
from setsu.dynamics.bearings import refuse_bearings
from setsu.dynamics.catalogue import require_mechanism
from setsu.errors import InputError, ModelWarning, nearest_names
from setsu.mechanism import Mechanism
from setsu.mechanism.velocity_names import coordinate_names, position_names
from setsu.spatial import file_path
from setsu.symbolic import OperationCount

if TYPE_CHECKING:
    from setsu.code_generation.fmu import FmuFiles

__all__ = ["GeneratedCode", "generate"]

Floats = NDArray[np.float64]

_LANGUAGES = ("c", "cpp", "python", "fmu", "casadi")
_FMI_VERSIONS = ("2.0", "3.0")
_PRECISIONS = ("double", "single")
_TEST_TOLERANCE = 1e-11
_SINGLE_ROUNDING = 80.0


@dataclass(frozen=True)
class GeneratedCode:
    """Generated source: one function of one mechanism, or for C++ a class of several.

    name: of the function or class and of the files. source, header: text (header empty but for C; source is all of a
    C++ header). test: text of a program that checks the function on a few states (empty for Python and CasADi).
    operations: arithmetic operations per call, of all methods of a class. unit: the files of a Functional Mock-up Unit,
    for that language only. build: CMakeLists.txt, for C++ only.
    """

    name: str
    language: str
    source: str
    header: str
    test: str
    operations: OperationCount
    unit: FmuFiles | None = None
    build: str = ""

    def write(self, folder: str | Path) -> list[Path]:
        """Write the files into a folder, made if need be, and return their paths."""
        ending = {"c": ".c", "cpp": ".hpp", "python": ".py", "fmu": ".c", "casadi": ".c"}[self.language]
        test = f"{self.name}_test.{'cpp' if self.language == 'cpp' else 'c'}"
        texts = {f"{self.name}{ending}": self.source, f"{self.name}.h": self.header, test: self.test}
        texts["CMakeLists.txt"] = self.build
        contents = {name: text.encode() for name, text in texts.items() if text}
        if self.unit is not None:
            contents = {f"{self.name}.fmu": self.unit.archive()}
        target = file_path(folder, "write: folder")
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
    function: str | Sequence[str],
    language: str = "c",
    *,
    fmi_version: str = "2.0",
    precision: str = "double",
    actuated: Sequence[str] | None = None,
    body: str | None = None,
    frames: Sequence[str] = (),
    joint_stops: bool = False,
    progress: Callable[[str, float], None] = lambda text, part: None,
) -> GeneratedCode:
    """Return source code of a function of the library for this mechanism alone.

    Args:
        function: for example "inverse_dynamics", "mass_matrix", "forward_dynamics", "regressor". With loops or
            couplings accelerations are those of "constrained_dynamics", under that name; "forward_dynamics", which
            leaves loops open as a function of the library, is an alias of it here, with a ModelWarning that says so.
            For C++ also several of them.
        language: "c" (C99), "cpp": a C++17 header with a class of the functions, of frames and, where there are loops,
            of the passive joints' motion (docs/generated_code.md), "python", "casadi": C with derivatives of first and
            second order for `casadi.external` (docs/optimisation_and_learning.md), or "fmu": a Functional Mock-up Unit
            for co-simulation around "forward_dynamics" or "constrained_dynamics", torques in, coordinates and
            velocities out; `write` puts NAME.fmu into a folder.
        fmi_version: of the unit, "2.0" or "3.0".
        precision: "double", or "single" for C and C++ with floats throughout, for processors that have hardware for
            these only.
        actuated: for mechanisms with loops or couplings, the joints that drive them, in the order of the arguments; as
            many as there are degrees of freedom, the first independent joints when not given.
        body: for Jacobians, the body the point belongs to.
        frames: for C++, frames whose poses and Jacobians become methods: bodies, links behind fixed joints, sites.
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
    if language not in _LANGUAGES:
        raise InputError(f"generate: no language {language!r}{nearest_names(language, _LANGUAGES)}")
    if precision not in _PRECISIONS:
        raise InputError(f"generate: precision: expected {' or '.join(_PRECISIONS)}, got {precision!r}")
    if precision == "single" and language not in ("c", "cpp"):
        raise InputError(f'generate: precision "single" is for C and C++, got the language {language!r}')
    if fmi_version not in _FMI_VERSIONS:
        raise InputError(f"generate: fmi_version: expected {' or '.join(_FMI_VERSIONS)}, got {fmi_version!r}")
    if fmi_version != _FMI_VERSIONS[0] and language != "fmu":
        raise InputError(f"generate: fmi_version is for the language 'fmu', got {language!r}")
    if mechanism.nv == 0:
        raise InputError(f"generate: {mechanism.name} has no moving joint")
    if joint_stops:
        _refuse_joint_stops(mechanism)
    if language == "cpp":
        return _class(mechanism, function, actuated, body, frames, precision == "single", progress)
    if not isinstance(function, str):
        raise InputError(f"generate: function: {language} has one function a file, got {function!r}")
    if frames:
        raise InputError(f'generate: frames are for C++, got the language {language!r}; expected body="..." there')
    program = _checked_program(mechanism, function)
    if language == "fmu" and program != "forward_dynamics":
        raise InputError(
            f'generate: an FMU is made of "forward_dynamics" or, with loops, "constrained_dynamics", got {function!r}'
        )
    if language == "fmu":
        _refuse_dry_friction(mechanism)
    _warn_of_name(mechanism, function)
    closed = None
    if language == "fmu" and (mechanism.loops or mechanism.couplings):
        traced, closed = traced_unit(mechanism, actuated)
    else:
        traced = traced_function(mechanism, program, actuated, body, progress)
    signature = signature_of(mechanism, function, traced, precision == "single")
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


def _checked_program(m: Mechanism, function: str) -> str:
    """The program a function is made of; refuses what has none."""
    if function not in TITLES:
        raise InputError(f"generate: no function {function!r}{nearest_names(str(function), TITLES)}")
    # The program of accelerations is one, loops closed where there are any; only its name differs.
    program = function.replace("constrained_dynamics", "forward_dynamics")
    if program.startswith(("inverse_dynamics", "forward_dynamics")):
        refuse_bearings(m, f"generate {function}")
    if program.startswith("forward_dynamics"):
        refuse_unheld(constraint_system(m), f"generate {function}", m.random_configuration(0))
    return program


def _class(
    m: Mechanism,
    functions: str | Sequence[str],
    actuated: Sequence[str] | None,
    body: str | None,
    frames: Sequence[str],
    single: bool,
    progress: Callable[[str, float], None],
) -> GeneratedCode:
    """A C++ class of several functions."""
    from setsu.code_generation.cpp_class import Method, frame_methods, joint_motion
    from setsu.code_generation.cpp_source import CppClass, cmake_lists, cpp_header, cpp_test

    listed = [functions] if isinstance(functions, str) else list(functions)
    if len(set(listed)) != len(listed):
        raise InputError(f"generate: a function is named twice in {listed}")
    if body is not None:
        raise InputError(f'generate: body: C++ classes name frames, expected frames=["{body}"]')
    methods = []
    for function in listed:
        if str(function).endswith("jacobian"):
            raise InputError(f'generate: {function}: C++ classes have Jacobians of frames, expected frames=["..."]')
        program = _checked_program(m, function)
        _warn_of_name(m, function)
        traced = traced_function(m, program, actuated, None, progress)
        signature = replace(signature_of(m, function, traced, single), name=function)
        states, results = traced.test_vectors()
        tolerance = _test_tolerance(traced, program, signature, states)
        methods.append(Method(signature, traced.trace, states, results, tolerance))
    tolerance = _SINGLE_ROUNDING * float(np.finfo(np.float32).eps) if single else _TEST_TOLERANCE
    methods += frame_methods(m, frames, actuated, single, tolerance)
    motion = joint_motion(m, actuated) if m.loops or m.couplings else None
    if motion is None and not methods:
        raise InputError("generate: a C++ class needs functions or frames, got none")
    made = CppClass(
        name=f"{identifier(m.name)}_model",
        title=f"Dynamics of {one_line(m.name)}",
        coordinates=tuple(map(one_line, position_names(m))),
        velocities=tuple(map(one_line, coordinate_names(m))),
        methods=tuple(methods),
        motion=motion,
        single=single,
    )
    counts = [method.trace.operations for method in methods]
    operations = OperationCount(*(sum(getattr(c, kind) for c in counts) for kind in ("add", "mul", "func")))
    return GeneratedCode(
        made.name, "cpp", cpp_header(made), "", cpp_test(made), operations, build=cmake_lists(made.name)
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
