"""The Zarr store of a sweep: made at once, filled chunk by chunk by whoever computed it, complete when all are marked.

    out.zarr/
      <parameter>/  (run)               values of the parameters, written when the store is made
      final_q/      (run, coordinate)   results, one Zarr chunk per chunk of runs
      ...
      .setsu/study.json                 the study: another one is refused
      .setsu/made.json                  checksums of the files that were written when the store was made
      .setsu/done/000017                chunk 17 is complete: checksums of its files

A chunk is marked only after all its arrays are written, so that a run killed at any moment leaves marked chunks, which
are right, and unmarked ones, which are computed again. Nothing in the store depends on who wrote it or when: the bytes
are those of a run without interruption. Zarr format 2, which every reader of Zarr knows.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError

__all__ = ["DONE", "ERROR_LENGTH", "FAILED", "Store", "Variable", "faults", "make_or_open", "open_store"]

DONE, FAILED = 1, 2
"""Entries of `status`; 0 is a run that was not computed yet."""

ERROR_LENGTH = 240
_DESCRIPTION, _MADE = "study.json", "made.json"
_ABSENT = "absent"


@dataclass(frozen=True)
class Variable:
    """A result: axes after `run`, unit, type, what stands where nothing was computed."""

    axes: tuple[str, ...] = ()
    unit: str = ""
    dtype: str = "<f8"
    fill: Any = np.nan


@dataclass(frozen=True)
class Store:
    """A store on disk: its folder, number of runs, runs per chunk."""

    path: Path
    runs: int
    chunk: int

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return -(-self.runs // self.chunk)

    def rows(self, index: int) -> slice:
        """Runs of a chunk."""
        return slice(index * self.chunk, min(self.runs, (index + 1) * self.chunk))

    def missing(self) -> list[int]:
        """Chunks that are not complete yet."""
        try:
            done = {name for name in os.listdir(self.path / ".setsu" / "done") if name.isdigit()}
        except OSError as problem:
            raise _broken(self.path, f".setsu/done: {problem.strerror or problem}") from None
        return [index for index in range(self.n_chunks) if _marker(index) not in done]

    def write(self, index: int, results: Mapping[str, NDArray[Any]]) -> None:
        """Write the results of a chunk and mark it."""
        rows = self.rows(index)
        made = (self.path / ".zgroup").stat()
        arrays = _opened(str(self.path), tuple(results), made.st_ino, made.st_mtime_ns)
        for name, values in results.items():
            arrays[name][rows] = values
        names = [f"{name}/{'.'.join([str(index), *'0' * (values.ndim - 1)])}" for name, values in results.items()]
        folder = self.path / ".setsu" / "done"
        # Moved into place: a marker that exists is whole.
        aside = folder.parent / f"{_marker(index)}.{os.getpid()}.partial"
        aside.write_text(json.dumps({name: _checksum(self.path / name) for name in names}), encoding="utf-8")
        aside.replace(folder / _marker(index))

    def tidy(self) -> None:
        """Remove half-written files that a killed process left behind."""
        for path in self.path.rglob("*.partial"):
            path.unlink(missing_ok=True)


def open_store(path: Path) -> Store:
    """Return the store at `path`, whatever study it holds.

    Raises:
        InputError: there is none, or it is broken.
    """
    description = _description_of(path)
    try:
        entry = json.loads((path / "status" / ".zarray").read_text(encoding="utf-8"))
        return Store(path, int(entry["shape"][0]), int(description["chunk"]))
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise _broken(path, f"status/.zarray cannot be read ({problem})") from None


def faults(store: Store) -> list[tuple[int | None, str]]:
    """Return what is damaged in a store: chunk (None: no chunk of results) and file with what is wrong.

    Every file is read and compared with the checksum from when it was written. Chunks that are not complete are no
    fault: `store.missing()` has them.
    """
    found: list[tuple[int | None, str]] = [(None, text) for text in _differences(store.path, _made(store.path))]
    missing = set(store.missing())
    for index in range(store.n_chunks):
        if index in missing:
            continue
        marker = store.path / ".setsu" / "done" / _marker(index)
        try:
            sums = {str(name): str(text) for name, text in json.loads(marker.read_text(encoding="utf-8")).items()}
        except (OSError, ValueError, AttributeError):
            found.append((index, f".setsu/done/{marker.name}: cannot be read"))
            continue
        found += [(index, text) for text in _differences(store.path, sums)]
    return found


def _differences(path: Path, sums: Mapping[str, str]) -> list[str]:
    texts = []
    for name, expected in sums.items():
        now = _checksum(path / name)
        if now != expected:
            texts.append(f"{name}: {'missing' if now == _ABSENT else 'its checksum is not that of what was written'}")
    return texts


def _checksum(path: Path) -> str:
    """SHA-256 of a file; Zarr leaves out chunks that hold nothing but the fill value."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return _ABSENT


def _made(path: Path) -> dict[str, str]:
    """Checksums of what was written when a store was made."""
    try:
        sums = json.loads((path / ".setsu" / _MADE).read_text(encoding="utf-8"))
        return {str(name): str(text) for name, text in sums.items()}
    except (OSError, ValueError, AttributeError) as problem:
        raise _broken(path, f".setsu/{_MADE} cannot be read ({problem})") from None


def _broken(path: Path, reason: str) -> InputError:
    return InputError(
        f"sweep: the store {path} is broken: {reason}; put it back from a copy, or remove the store and run "
        "the sweep again"
    )


@lru_cache(maxsize=4)
def _opened(path: str, names: tuple[str, ...], file: int, time: int) -> dict[str, Any]:
    """Arrays of a store, kept open: opening takes as long as writing. Another store at this path is another file."""
    import zarr

    group = zarr.open_group(path, mode="r+", zarr_format=2, use_consolidated=False)
    return {name: group[name] for name in names}


def make_or_open(
    path: Path,
    description: Mapping[str, Any],
    runs: int,
    chunk: int,
    parameters: Mapping[str, tuple[NDArray[np.float64], Mapping[str, Any]]],
    axes: Mapping[str, tuple[str, ...]],
    variables: Mapping[str, Variable],
    attributes: Mapping[str, Any],
) -> Store:
    """Return the store at `path`: a new one, or the one there if it holds the same study.

    Raises:
        InputError: something else is there.
    """
    store = Store(path, runs, chunk)
    text = json.dumps(description, sort_keys=True, indent=1)
    if path.exists():
        _check_same(path, text)
        return store
    if not path.parent.is_dir():
        raise InputError(f"sweep: expected a folder that exists for the store, got {path}")
    # Made aside and moved into place: a store that exists is whole.
    aside = path.with_name(f".{path.name}.{os.getpid()}.new")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        _make(aside, runs, chunk, parameters, axes, variables, attributes)
        names = sorted(file.relative_to(aside).as_posix() for file in aside.rglob("*") if file.is_file())
        (aside / ".setsu" / "done").mkdir(parents=True)
        (aside / ".setsu" / _DESCRIPTION).write_text(text, encoding="utf-8")
        (aside / ".setsu" / _MADE).write_text(json.dumps({name: _checksum(aside / name) for name in names}))
        aside.rename(path)
    except OSError as problem:
        raise InputError(f"sweep: cannot write {path} ({problem.strerror or problem})") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return store


def _description_of(path: Path) -> dict[str, Any]:
    """The study that a store holds."""
    try:
        there = json.loads((path / ".setsu" / _DESCRIPTION).read_text(encoding="utf-8"))
    except OSError:
        raise InputError(f"sweep: {path} exists and is no store of a sweep; choose another place") from None
    except ValueError as problem:
        raise _broken(path, f".setsu/{_DESCRIPTION} cannot be read ({problem})") from None
    if not isinstance(there, dict):
        raise _broken(path, f".setsu/{_DESCRIPTION} holds no study")
    return there


def _check_same(path: Path, text: str) -> None:
    """Refuse a store of another study, or one whose arrays are not those it was made with."""
    there, here = _description_of(path), json.loads(text)
    if there != here:
        different = list(_changes(there, here))
        # The mechanisms follow from the rest: they are named when nothing else explains why they differ.
        others = [words for words in different if not words.startswith("mechanisms")]
        shown = (others or ["the model file has another content"])[:4]
        more = f" and {len(others) - 4} more" if len(others) > 4 else ""
        raise InputError(
            f"sweep: {path} holds another study (different: {', '.join(shown)}{more}); choose another place or "
            "remove it"
        )
    # Metadata only: reading all results is for `sweep --verify`.
    made = {name: text for name, text in _made(path).items() if name.endswith((".zarray", ".zgroup"))}
    if damaged := _differences(path, made):
        raise _broken(path, damaged[0])


def _changes(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Name what differs between two descriptions, each as "place (old there, new here)"."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from _changes(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _changes(before, after, f"{path}.{index}")
    elif old != new:
        short = lambda value: "nothing" if value is None else json.dumps(value)[:40]  # noqa: E731
        yield f"{path} ({short(old)} there, {short(new)} here)"


def _make(
    path: Path,
    runs: int,
    chunk: int,
    parameters: Mapping[str, tuple[NDArray[np.float64], Mapping[str, Any]]],
    axes: Mapping[str, tuple[str, ...]],
    variables: Mapping[str, Variable],
    attributes: Mapping[str, Any],
) -> None:
    import zarr

    group = zarr.open_group(str(path), mode="w", zarr_format=2)
    group.attrs.update(dict(attributes))
    for axis, names in axes.items():
        labels = np.array(names, dtype="<U64") if names else np.zeros(0, dtype="<U64")
        entry = group.create_array(axis, shape=labels.shape, chunks=(max(1, len(names)),), dtype="<U64", fill_value="")
        entry.attrs["_ARRAY_DIMENSIONS"] = [axis]
        if names:
            entry[:] = labels
    for name, (values, about) in parameters.items():
        entry = group.create_array(name, shape=(runs,), chunks=(chunk,), dtype="<f8", fill_value=np.nan)
        entry.attrs.update({"_ARRAY_DIMENSIONS": ["run"], **about})
        entry[:] = values
    lengths = {axis: len(names) for axis, names in axes.items()}
    for name, variable in variables.items():
        inner = tuple(lengths[axis] for axis in variable.axes)
        entry = group.create_array(
            name,
            shape=(runs, *inner),
            chunks=(chunk, *(max(1, length) for length in inner)),
            dtype=variable.dtype,
            fill_value=variable.fill,
        )
        unit = {"units": variable.unit} if variable.unit else {}
        entry.attrs.update({"_ARRAY_DIMENSIONS": ["run", *variable.axes], **unit})
    zarr.consolidate_metadata(str(path), zarr_format=2)


def _marker(index: int) -> str:
    return f"{index:06d}"
