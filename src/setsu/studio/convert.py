"""`python -m setsu.studio.convert SOURCE TARGET`: read an uploaded file, write what it holds in a form of our own.

    models (URDF, MJCF, SDF, native)  →  TARGET.toml, native, and TARGET.json with the remarks of the reader
    scenarios                         →  TARGET.json, the checked record
    recordings                        →  TARGET.npz

Runs in a process of its own with limits of memory and time, because the bytes come from a stranger: a reader that
crashes, hangs or takes all memory ends this process and not the studio. Exit code 2 with the message for bad input.
"""

from __future__ import annotations

import sys
import tomllib
import warnings
import zipfile
from pathlib import Path
from typing import Any

from setsu.errors import InputError, SetsuError

__all__ = ["LARGEST_UNPACKED", "is_scenario", "main", "remarks_of"]

LARGEST_UNPACKED = 512 * 2**20
_MOST_MEMORY = 8 * 2**30
"""Bytes of address space: MuJoCo and LLVM reserve some that they do not use."""


def main(words: list[str]) -> int:
    """Convert; return the exit code."""
    source, target = Path(words[0]), Path(words[1])
    _limit_memory()
    warnings.simplefilter("ignore")
    try:
        _convert(source, target)
    except SetsuError as problem:
        print(problem, file=sys.stderr)
        return 2
    return 0


def _convert(source: Path, target: Path) -> None:
    if source.suffix in (".nc", ".npz"):
        from setsu.simulation import Recording

        _check_archive(source)
        Recording.load(source).save(target.with_suffix(".npz"))
        return
    import msgspec

    if is_scenario(source):
        from setsu.scenario import parse, prepare
        from setsu.scenario.reading import as_data

        scenario = parse(source.read_text(encoding="utf-8"), source.parent, source.name)
        if scenario.model.file is not None or scenario.model.package_folders:
            raise InputError(
                f"{source}: the scenario names the model file {scenario.model.file!r}; an upload is one file. "
                "Start `setsu studio FILE` to open a scenario with its folder"
            )
        prepare(scenario)
        target.with_suffix(".json").write_bytes(msgspec.json.encode({"scenario": as_data(scenario)}))
        return
    from setsu.model_files import load_with_report
    from setsu.model_files.xml_tree import parse_xml

    if source.suffix in (".xml", ".mjcf", ".sdf"):
        root = parse_xml(source.read_bytes(), str(source))
        if root.tag in ("mujoco", "sdf"):
            _refuse_other_files(root, source)
    mechanism, report = load_with_report(source)
    mechanism.save(target.with_suffix(".toml"))
    target.with_suffix(".json").write_bytes(msgspec.json.encode({"remarks": remarks_of(report)}))


def is_scenario(path: Path) -> bool:
    """Return whether a TOML file is a scenario: it has a table `model` or `simulation`, as no mechanism has.

    Raises:
        InputError: it is a study of many runs.
    """
    if path.suffix.lower() != ".toml":
        return False
    try:
        keys = tomllib.loads(path.read_text(encoding="utf-8")).keys()
    except (OSError, ValueError, RecursionError):
        return False  # the reader of mechanisms says what is wrong with it
    if "scenario" in keys:
        raise InputError(f"{path}: a study of many runs, expected one mechanism or scenario; see setsu sweep")
    return bool({"model", "simulation"} & keys)


def remarks_of(report: object) -> tuple[str, ...]:
    """Return what a load report says beyond its first line."""
    lines = [line.strip() for line in str(report).splitlines()]
    return tuple(line for line in lines[1:] if line and line != "nothing to report")[:12]


def _refuse_other_files(root: Any, source: Path) -> None:
    """Refuse MJCF and SDF that name other files: their readers would open them."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        names = [key for key in element.attributes if key.startswith("file") or key.endswith("dir")]
        if element.tag == "include" or names or (element.tag in ("plugin", "extension") and root.tag == "mujoco"):
            raise InputError(
                f"{source}: line {element.line}: <{element.tag}> names another file; an upload is one file. "
                "Start `setsu studio FILE` to open a model with its folder"
            )
        waiting.extend(element.children)


def _check_archive(path: Path) -> None:
    if path.suffix != ".npz":
        return
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError) as problem:
        raise InputError(f"{path}: no recording ({problem})") from None
    if size > LARGEST_UNPACKED:
        raise InputError(f"{path}: {size} bytes unpacked, expected at most {LARGEST_UNPACKED}")


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Windows; the limit of time holds there too
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = _MOST_MEMORY if hard == resource.RLIM_INFINITY else min(_MOST_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
