"""Files given to the studio, from the disk or through the browser: read by the library's strict readers, and no others.

An uploaded file is bytes and a name from a stranger. The name gives the ending and nothing else; the bytes go into a
fresh folder of their own. Text formats (URDF, native TOML) are read by our own readers. Formats that other libraries
read (MJCF by MuJoCo, recordings by HDF5) are converted by a second process with a time limit, so that a crash there is
a message here; an MJCF file may then name no other files, because MuJoCo would open them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path

from setsu.errors import InputError, ModelWarning, SetsuError
from setsu.mechanism import Mechanism
from setsu.model_files import load_with_report
from setsu.model_files.xml_tree import Element, parse_xml
from setsu.scenario import Prepared, load, parse, prepare
from setsu.simulation import Recording

__all__ = ["ENDINGS", "LARGEST_UPLOAD", "MODEL_ENDINGS", "RECORDING_ENDINGS", "Opened", "open_file", "open_upload"]

LARGEST_UPLOAD = 32 * 2**20
MODEL_ENDINGS = (".urdf", ".xml", ".mjcf", ".toml")
RECORDING_ENDINGS = (".nc", ".npz")
ENDINGS = (*MODEL_ENDINGS, *RECORDING_ENDINGS)
CONVERSION_SECONDS = 30.0
MOST_JOINTS = 400
"""The studio's limit on moving bodies: beyond it sliders and arrows cannot be read."""

_LARGEST_UNPACKED = 16 * LARGEST_UPLOAD
_URDF_ROOT = re.compile(rb"<\s*robot[\s>]")


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


def open_file(path: Path, packages: tuple[Path, ...] = (), model: Path | None = None) -> Opened:
    """Read a model file or a recording from the disk; `model` gives the mechanism of a recording written without it.

    Raises:
        ModelFileError, InputError: with what is wrong.
    """
    if path.suffix.lower() in RECORDING_ENDINGS:
        return _from_recording(Recording.load(path), str(path), None if model is None else open_file(model, packages))
    if _is_scenario(path):
        return _from_scenario(prepare(load(path)), str(path), packages)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        mechanism, report = load_with_report(path, package_dirs=packages)
    return _checked(Opened(mechanism, None, mesh_folders(path, packages), _remarks(report)), str(path))


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
            return _read_upload(path, content, shown)
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


def _read_upload(path: Path, content: bytes, shown: str) -> Opened:
    ending = path.suffix
    if ending in RECORDING_ENDINGS:
        if ending == ".npz":
            _check_archive(path, shown)
        _convert(path, path.with_name("converted.npz"), shown)
        return _from_recording(Recording.load(path.with_name("converted.npz")), shown, None)
    if ending in (".xml", ".mjcf"):
        root = parse_xml(content, str(path))
        if root.tag == "mujoco":
            _refuse_other_files(root, shown)
            _convert(path, path.with_name("converted.toml"), shown)
            path = path.with_name("converted.toml")
    if path.name == "upload.toml" and _is_scenario(path):
        scenario = parse(content.decode("utf-8"), path.parent, shown)
        if scenario.model.file is not None or scenario.model.package_folders:
            raise InputError(
                f"{shown}: the scenario names the model file {scenario.model.file!r}; an upload is one file. "
                "Start `setsu studio FILE` to open a scenario with its folder"
            )
        return _from_scenario(prepare(scenario), shown, ())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        mechanism, report = load_with_report(path)
    return _checked(Opened(mechanism, None, (), _remarks(report)), shown)


def _is_scenario(path: Path) -> bool:
    """Whether a TOML file is a scenario: it has a table `model` or `simulation`, as no mechanism has."""
    if path.suffix.lower() != ".toml":
        return False
    try:
        keys = tomllib.loads(path.read_text(encoding="utf-8")).keys()
    except (OSError, ValueError, RecursionError):
        return False  # the reader of mechanisms says what is wrong with it
    if "scenario" in keys:
        raise InputError(f"{path}: a study of many runs, expected one mechanism or scenario; see setsu sweep")
    return bool({"model", "simulation"} & keys)


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
    if recording.body_names != mechanism.body_names or recording.q.shape[1:] != (mechanism.nq,):
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


def _remarks(report: object) -> tuple[str, ...]:
    lines = [line.strip() for line in str(report).splitlines()]
    return tuple(line for line in lines[1:] if line and line != "nothing to report")[:12]


def _refuse_other_files(root: Element, shown: str) -> None:
    waiting = [root]
    while waiting:
        element = waiting.pop()
        names = [key for key in element.attributes if key.startswith("file") or key.endswith("dir")]
        if element.tag == "include" or names or element.tag in ("plugin", "extension"):
            raise InputError(
                f"{shown}: line {element.line}: <{element.tag}> names another file; an upload is one file. "
                "Start `setsu studio FILE` to open a model with its folder"
            )
        waiting.extend(element.children)


def _check_archive(path: Path, shown: str) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError) as problem:
        raise InputError(f"{shown}: no recording ({problem})") from None
    if size > _LARGEST_UNPACKED:
        raise InputError(f"{shown}: {size} bytes unpacked, expected at most {_LARGEST_UNPACKED}")


def _convert(source: Path, target: Path, shown: str) -> None:
    """Let a second process read `source` and write what it found in a format of our own."""
    words = [sys.executable, "-m", "setsu.studio.convert", str(source), str(target)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=CONVERSION_SECONDS)
    except subprocess.TimeoutExpired:
        raise InputError(f"{shown}: reading took longer than {CONVERSION_SECONDS:g} s and was stopped") from None
    if done.returncode == 2:
        raise InputError(done.stderr.strip() or f"{shown}: cannot be read")
    if done.returncode or not target.is_file():
        raise InputError(f"{shown}: the reader of this format gave up (exit code {done.returncode})")


def _shown_name(name: str) -> str:
    """The last part of an uploaded name, printable and short."""
    last = re.split(r"[\\/]", name)[-1]
    clean = "".join(letter for letter in last if letter.isprintable())
    return clean[-80:] or "(no name)"


def _in_terms_of(shown: str, path: Path, message: str) -> str:
    """Replace the path of our own copy by the name the user knows."""
    for own in (path, path.with_name("converted.toml"), path.with_name("converted.npz")):
        message = message.replace(str(own), shown)
    return message.replace(str(path.parent), "")
