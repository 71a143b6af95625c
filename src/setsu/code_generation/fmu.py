"""A mechanism as a Functional Mock-up Unit for co-simulation, FMI 2.0 or 3.0: torques in, coordinates, velocities out.

The unit is a zip file with its description, C99 sources (the generated forward dynamics, a loop over the stages of
rkn4 around it, by the tableau that `simulate` goes by, and the functions of the standard) and a binary for this
platform, made with the system's C compiler.
Inputs are held constant during a communication step; inside, steps are at most `inner_step` long. In a mechanism with
loops or couplings the driven joints are integrated and the others follow them, closed at every stage (closed_unit.py).
"""

from __future__ import annotations

import io
import os
import platform
import shutil
import subprocess
import tempfile
import uuid
import zipfile
from dataclasses import dataclass
from importlib import resources
from typing import Any

from setsu.code_generation.c_source import Signature, c_header, c_source
from setsu.code_generation.closed_unit import ClosedUnit
from setsu.code_generation.fmu_description import build_description, model_description, variables_of
from setsu.errors import InputError
from setsu.kernels.tableaus import RKN4
from setsu.mechanism import Free, Mechanism, Spherical
from setsu.spatial import file_path

__all__ = ["FmuFiles", "fmu_files"]

INNER_STEP = 1e-3
_FLAGS = ("-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")
# Zip files keep the time of their entries; a fixed one makes equal units equal files.
_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class FmuFiles:
    """The files of a unit by their path inside the zip."""

    files: dict[str, bytes]

    def archive(self) -> bytes:
        """Return the zip file."""
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in self.files.items():
                archive.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED)
        return data.getvalue()


def fmu_files(
    m: Mechanism, signature: Signature, source: str, header: str, version: str, closed: ClosedUnit | None = None
) -> FmuFiles:
    """Return the unit of a mechanism, compiled for this platform.

    signature, source, header: of its generated forward dynamics. closed: what mechanisms with loops need besides.
    """
    guid = "{" + str(uuid.uuid5(uuid.NAMESPACE_OID, f"setsu fmi {version} {m.digest} {closed and closed.rates}")) + "}"
    interface = f"fmi{version[0]}"
    texts = {
        f"{signature.name}.c": source,
        f"{signature.name}.h": header,
        "model.h": _model_header(m, signature, guid, closed),
        **{name: _packaged(name) for name in ("motion.c", "motion.h", f"{interface}_types.h")},
        f"{interface}_cosimulation.c": _packaged(f"{interface}_cosimulation.c"),
    }
    if closed is not None:
        closing = _closing_signature(m, signature)
        texts |= {
            f"{closing.name}.c": c_source(closing, closed.closing),
            f"{closing.name}.h": c_header(closing, closed.closing.operations),
        }
    sources = [name for name in texts if name.endswith(".c")]
    rates = range(m.nv) if closed is None else closed.rates
    variables = variables_of(m, INNER_STEP, rates, _start(m, closed))
    description = model_description(version, m.name, signature.name, guid, variables, sources)
    files = {"modelDescription.xml": description.encode()}
    files.update({f"sources/{name}": text.encode() for name, text in texts.items()})
    if version == "3.0":
        files["sources/buildDescription.xml"] = build_description(signature.name, sources).encode()
    folder, ending = _platform(version)
    files[f"binaries/{folder}/{signature.name}{ending}"] = _compiled(texts, sources, m.name)
    return FmuFiles(files)


def _start(m: Mechanism, closed: ClosedUnit | None) -> list[float]:
    """Coordinates at the start unless others are set."""
    return (m.neutral() if closed is None else closed.start).tolist()


def _closing_signature(m: Mechanism, forward: Signature) -> Signature:
    """Of the function that lets the other joints follow the driven ones."""
    state = [("q", m.nq, "coordinates"), ("v", m.nv, "velocities")]
    return Signature(
        name=f"{forward.name.removesuffix('_forward_dynamics').removesuffix('_constrained_dynamics')}_follow",
        title="State in which the other joints are one step closer to where the driven ones demand them",
        inputs=tuple(state),
        outputs=tuple((f"{name}_next", length, meaning) for name, length, meaning in state),
    )


def _model_header(m: Mechanism, signature: Signature, guid: str, closed: ClosedUnit | None) -> str:
    """Sizes and joints of the mechanism, as the Runge-Kutta loop wants them."""
    kinds = {Spherical: 1, Free: 2}
    joints = [
        f"    {{{kinds.get(type(body.joint), 0)}, {in_q.start}, {in_v.start}, {body.joint.nv}}},"
        for body, in_q, in_v in zip(m.moving, m.q_slices, m.v_slices, strict=True)
    ]
    follow = [] if closed is None else [_closing_signature(m, signature).name]
    drives = m.nv if closed is None else len(closed.rates)
    lines = [
        "/* The mechanism of this unit: sizes, joints (kind, first coordinate, first velocity, velocities). */",
        "#ifndef SETSU_MODEL_H", "#define SETSU_MODEL_H", "",
        f'#include "{signature.name}.h"', *(f'#include "{name}.h"' for name in follow), "",
        f'#define SETSU_GUID "{guid}"',
        f"#define SETSU_NQ {m.nq}", f"#define SETSU_NV {m.nv}", f"#define SETSU_DRIVES {drives}",
        f"#define SETSU_JOINTS {m.n_bodies}",
        f"#define SETSU_INNER_STEP {INNER_STEP!r}",
        f"#define SETSU_FORWARD_DYNAMICS {signature.name}",
        *(f"#define SETSU_FOLLOW {name}" for name in follow), "",
        "static const struct { int kind, q, v, count; } setsu_joints[SETSU_JOINTS] = {", *joints, "};",
        f"static const double setsu_start[SETSU_NQ] = {_braced(_start(m, closed))};", "",
        *_tableau(), "",
        "#endif", "",
    ]  # fmt: skip
    return "\n".join(lines)


def _tableau() -> list[str]:
    """Coefficients of the integrator."""
    square = "[SETSU_STAGES][SETSU_STAGES]"
    return [
        f"/* The integrator, of order {RKN4.order}: weights of the stages. */",
        f"#define SETSU_STAGES {len(RKN4.b)}",
        f"static const double setsu_A{square} = {_braced(RKN4.A.tolist())};",
        f"static const double setsu_E{square} = {_braced(RKN4.shifts.tolist())};",
        f"static const double setsu_b[SETSU_STAGES] = {_braced(RKN4.b.tolist())};",
    ]


def _braced(values: Any) -> str:
    """Numbers, or rows of them, as C writes them."""
    return f"{{{', '.join(map(_braced, values))}}}" if isinstance(values, list) else repr(values)


def _packaged(name: str) -> str:
    return (resources.files("setsu.code_generation") / "fmu_c" / name).read_text(encoding="utf-8")


def _platform(version: str) -> tuple[str, str]:
    """Folder and ending of the binary, as the standard names them."""
    system = {"Linux": "linux", "Darwin": "darwin", "Windows": "windows"}.get(platform.system(), "")
    machine = {"x86_64": "x86_64", "amd64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}.get(
        platform.machine().lower(), ""
    )
    if not (system and machine):
        raise InputError(f"generate: FMU: no name for the platform {platform.system()} {platform.machine()} in FMI")
    ending = {"linux": ".so", "darwin": ".dylib", "windows": ".dll"}[system]
    if version == "2.0" and machine == "x86_64":
        return {"linux": "linux64", "darwin": "darwin64", "windows": "win64"}[system], ending
    return f"{machine}-{system}", ending


def _compiler() -> str:
    candidates = [os.environ.get("CC", ""), "cc", "gcc", "clang"]
    found = next((path for name in candidates if name and (path := shutil.which(name))), None)
    if found is None:
        raise InputError(
            "generate: an FMU needs a C compiler for its binary and none was found (cc, gcc, clang); "
            "install one or name it in the environment variable CC"
        )
    return found


def _compiled(texts: dict[str, str], sources: list[str], name: str) -> bytes:
    compiler = _compiler()
    with tempfile.TemporaryDirectory(prefix="setsu_fmu_") as folder:
        place = file_path(folder, "write: folder")
        for file, text in texts.items():
            (place / file).write_text(text, encoding="utf-8")
        command = [compiler, *_FLAGS, *sources, "-o", "unit.so", "-lm"]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True)
        if done.returncode != 0:
            raise InputError(f"generate: {compiler} could not compile the FMU of {name}:\n{done.stderr[:2000]}")
        return (place / "unit.so").read_bytes()
