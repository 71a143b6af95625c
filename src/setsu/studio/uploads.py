"""Files given to the studio, from the disk or through the browser: read by the library's strict readers, and no others.

An uploaded file is bytes and a name from a stranger. The name gives the ending and nothing else; the bytes go into a
fresh folder of their own and are read by a second process with limits of time and memory (convert.py), so that a crash
there is a message here; an MJCF or SDF file may name no other files, because their readers would open them.
"""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from setsu.errors import InputError, ModelWarning, SetsuError
from setsu.mechanism import Free, Mechanism, with_contact_points
from setsu.model_files import load as load_model
from setsu.model_files import load_with_report
from setsu.scenario import Prepared, load, parse, prepare
from setsu.simulation import Recording
from setsu.studio.convert import is_scenario, remarks_of

__all__ = ["ENDINGS", "LARGEST_UPLOAD", "MODEL_ENDINGS", "RECORDING_ENDINGS", "Opened", "open_file", "open_upload"]

LARGEST_UPLOAD = 32 * 2**20
MODEL_ENDINGS = (".urdf", ".xml", ".mjcf", ".sdf", ".toml")
RECORDING_ENDINGS = (".nc", ".npz")
ENDINGS = (*MODEL_ENDINGS, *RECORDING_ENDINGS)
CONVERSION_SECONDS = 30.0
READER = (sys.executable, "-m", "setsu.studio.convert")
"""The process that reads what a stranger sent."""

MOST_CONTACT_POINTS = 200
"""Contact points found in collision meshes before only the outermost of each body are kept."""

OUTWARD = 40
"""Directions in which a body's outermost contact points are looked for."""

MOST_JOINTS = 400
"""The studio's limit on moving bodies: beyond it sliders and arrows cannot be read."""


@dataclass(frozen=True)
class Opened:
    """What a file held: a mechanism, with its recorded motion or its scenario when there is one.

    mesh_folders: where its meshes may be read from. remarks: what was ignored or doubtful, in words.
    """

    mechanism: Mechanism
    recording: Recording | None = None
    mesh_folders: tuple[Path, ...] = ()
    remarks: tuple[str, ...] = ()
    prepared: Prepared | None = None


def open_file(
    path: Path, packages: tuple[Path, ...] = (), model: Path | None = None, floating_base: bool = False
) -> Opened:
    """Read a model file or a recording from the disk; `model` gives the mechanism of a recording written without it.

    floating_base: put a free joint under the root link (URDF). A robot that floats and has no contact points gets
    those of its collision shapes, so that it can stand.

    Raises:
        ModelFileError, InputError: with what is wrong.
    """
    if path.suffix.lower() in RECORDING_ENDINGS:
        return _from_recording(
            Recording.load(path), str(path), None if model is None else open_file(model, packages, None, floating_base)
        )
    if is_scenario(path):
        return _from_scenario(prepare(load(path)), str(path), packages)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        mechanism, report = load_with_report(path, package_dirs=packages, floating_base=floating_base)
    return _checked(
        Opened(_able_to_stand(mechanism), None, mesh_folders(path, packages), remarks_of(report)), str(path)
    )


def open_upload(name: str, content: bytes) -> Opened:
    """Read what a browser sent.

    Raises:
        ModelFileError, InputError: with what is wrong, in terms of the uploaded name.
    """
    shown = _shown_name(name)
    ending = Path(shown).suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"{shown}: expected a file that ends in {', '.join(ENDINGS)}")
    if len(content) > LARGEST_UPLOAD:
        raise InputError(f"{shown}: {len(content)} bytes, expected at most {LARGEST_UPLOAD}")
    if not content.strip():
        raise InputError(f"{shown}: the file is empty")
    with tempfile.TemporaryDirectory(prefix="setsu_studio_") as folder:
        path = Path(folder) / f"upload{ending}"
        path.write_bytes(content)
        try:
            return _read_upload(path, shown)
        except SetsuError as problem:
            raise InputError(_in_terms_of(shown, path, str(problem))) from None


def mesh_folders(model: Path, packages: tuple[Path, ...] = ()) -> tuple[Path, ...]:
    """Folders meshes may be read from: the model's own, mesh folders beside it, its package, and the packages given."""
    folder = Path(os.path.realpath(model)).parent
    found = [folder]
    if folder.name in ("urdf", "robots", "xml", "mjcf", "sdf", "model", "models"):
        # robot/urdf/arm.urdf has its meshes in robot/meshes; whatever else lies there is none of its business.
        beside = [folder.parent / name for name in ("meshes", "mesh", "assets")]
        found += [place for place in beside if place == Path(os.path.realpath(place))]
    package = next((place for place in (folder, *folder.parents) if (place / "package.xml").is_file()), None)
    if package is not None:
        found.append(package)
    return (*found, *(Path(os.path.realpath(place)) for place in packages))


def _read_upload(path: Path, shown: str) -> Opened:
    """Let a second process read the file, and take what it wrote."""
    made = path.with_name("converted")
    _convert(path, made, shown)
    if path.suffix in RECORDING_ENDINGS:
        return _from_recording(Recording.load(made.with_suffix(".npz")), shown, None)
    found = msgspec.json.decode(made.with_suffix(".json").read_bytes())
    if "scenario" in found:
        return _from_scenario(prepare(parse(found["scenario"], name=shown)), shown, ())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        mechanism = load_model(made.with_suffix(".toml"))
    return _checked(Opened(_able_to_stand(mechanism), None, (), tuple(found["remarks"])), shown)


def _from_scenario(prepared: Prepared, shown: str, packages: tuple[Path, ...]) -> Opened:
    model = prepared.scenario.model
    folders: tuple[Path, ...] = ()
    if model.file is not None:
        origin = prepared.scenario.origin.folder
        folders = mesh_folders(origin / model.file, (*packages, *(origin / place for place in model.package_folders)))
    return _checked(Opened(prepared.mechanism, None, folders, prepared.warnings, prepared), shown)


def _from_recording(recording: Recording, shown: str, model: Opened | None) -> Opened:
    mechanism = model.mechanism if model is not None else recording.mechanism
    if mechanism is None:
        raise InputError(f"{shown}: this recording does not hold its mechanism; give the model file with --model")
    if recording.body_names != mechanism.body_names or recording.q.shape[-1] != mechanism.nq:
        raise InputError(
            f"{shown}: recorded with bodies {', '.join(recording.body_names[:4])}..., "
            f"the model {mechanism.name} has {', '.join(mechanism.body_names[:4])}..."
        )
    return _checked(Opened(mechanism, recording, () if model is None else model.mesh_folders), shown)


def _checked(opened: Opened, shown: str) -> Opened:
    mechanism = opened.mechanism
    if mechanism.nv == 0:
        raise InputError(f"{shown}: {mechanism.name} has no moving joint, expected at least one")
    if mechanism.n_bodies > MOST_JOINTS:
        raise InputError(f"{shown}: {mechanism.n_bodies} moving bodies, the studio shows at most {MOST_JOINTS}")
    return opened


def _able_to_stand(mechanism: Mechanism) -> Mechanism:
    """The mechanism with contact points from its collision shapes if it floats and has none."""
    if mechanism.contact_points or not any(isinstance(body.joint, Free) for body in mechanism.moving):
        return mechanism
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        try:
            return _thinned(with_contact_points(mechanism))
        except SetsuError:
            return mechanism  # its shapes cannot be read: it is shown, and the run says why nothing touches


def _thinned(mechanism: Mechanism) -> Mechanism:
    """The mechanism with the outermost contact points of each body: meshes have tens of thousands."""
    points = mechanism.contact_points
    if len(points) <= MOST_CONTACT_POINTS:
        return mechanism
    k = np.arange(OUTWARD)
    z, turn = 1.0 - (2.0 * k + 1.0) / OUTWARD, k * np.pi * (3.0 - np.sqrt(5.0))
    outward = np.stack([np.sqrt(1.0 - z * z) * np.cos(turn), np.sqrt(1.0 - z * z) * np.sin(turn), z])
    kept: set[int] = set()
    for body in {point.body for point in points}:
        own = [number for number, point in enumerate(points) if point.body == body]
        reach = np.array([points[n].position for n in own]) @ outward + np.array([[points[n].radius] for n in own])
        kept |= {own[row] for row in reach.argmax(axis=0).tolist()}
    return dataclasses.replace(mechanism, contact_points=tuple(points[n] for n in sorted(kept)))


def _convert(source: Path, target: Path, shown: str) -> None:
    """Let a second process read `source` and write what it found in a format of our own."""
    words = [*READER, str(source), str(target)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=CONVERSION_SECONDS)
    except subprocess.TimeoutExpired:
        raise InputError(f"{shown}: reading took longer than {CONVERSION_SECONDS:g} s and was stopped") from None
    if done.returncode == 2:
        raise InputError(done.stderr.strip() or f"{shown}: cannot be read")
    if done.returncode:
        raise InputError(f"{shown}: the reader of this format gave up (exit code {done.returncode})")


def _shown_name(name: str) -> str:
    """The last part of an uploaded name, printable and short."""
    last = re.split(r"[\\/]", name)[-1]
    clean = "".join(letter for letter in last if letter.isprintable())
    return clean[-80:] or "(no name)"


def _in_terms_of(shown: str, path: Path, message: str) -> str:
    """Replace the path of our own copy by the name the user knows."""
    message = message.replace(str(path), shown).replace(path.name, shown)
    return message.replace(str(path.parent), "")
