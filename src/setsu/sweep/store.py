"""The Zarr store of a sweep: made at once, filled chunk by chunk by whoever computed it, complete when all are marked.

    out.zarr/
      <parameter>/  (run)               values of the parameters, written when the store is made
      final_q/      (run, coordinate)   results, one Zarr chunk per chunk of runs
      ...
      .setsu/study.json                 the study: another one is refused
      .setsu/done/000017                chunk 17 is complete

A chunk is marked only after all its arrays are written, so that a run killed at any moment leaves marked chunks, which
are right, and unmarked ones, which are computed again. Nothing in the store depends on who wrote it or when: the bytes
are those of a run without interruption. Zarr format 2, which every reader of Zarr knows.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import InputError

__all__ = ["DONE", "ERROR_LENGTH", "FAILED", "Store", "Variable", "make_or_open"]

DONE, FAILED = 1, 2
"""Entries of `status`; 0 is a run that was not computed yet."""

ERROR_LENGTH = 240
_DESCRIPTION = "study.json"


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
        done = {name for name in os.listdir(self.path / ".setsu" / "done") if name.isdigit()}
        return [index for index in range(self.n_chunks) if _marker(index) not in done]

    def write(self, index: int, results: Mapping[str, NDArray[Any]]) -> None:
        """Write the results of a chunk and mark it."""
        rows = self.rows(index)
        made = (self.path / ".zgroup").stat()
        arrays = _opened(str(self.path), tuple(results), made.st_ino, made.st_mtime_ns)
        for name, values in results.items():
            arrays[name][rows] = values
        folder = self.path / ".setsu" / "done"
        (folder / _marker(index)).touch()

    def tidy(self) -> None:
        """Remove half-written files that a killed process left behind."""
        for path in self.path.rglob("*.partial"):
            path.unlink(missing_ok=True)


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
        (aside / ".setsu" / "done").mkdir(parents=True)
        (aside / ".setsu" / _DESCRIPTION).write_text(text, encoding="utf-8")
        aside.rename(path)
    except OSError as problem:
        raise InputError(f"sweep: cannot write {path} ({problem.strerror or problem})") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return store


def _check_same(path: Path, text: str) -> None:
    try:
        there = (path / ".setsu" / _DESCRIPTION).read_text(encoding="utf-8")
    except OSError:
        raise InputError(f"sweep: {path} exists and is no store of a sweep; choose another place") from None
    if there != text:
        old, new = json.loads(there), json.loads(text)
        different = [key for key in sorted({*old, *new}) if old.get(key) != new.get(key)]
        raise InputError(
            f"sweep: {path} holds another study (different: {', '.join(different)}); choose another place or remove it"
        )


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
