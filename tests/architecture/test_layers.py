"""A module imports only from lines below its own, never across its own line; heavy packages load when first used."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from architecture.layers import (
    LINES,
    NOT_FOR_LINES_2_TO_7,
    SAME_LINE_ALLOWED,
    TOP_FILES,
    imports_of,
    part_of,
    source_files,
)

# Packages that only some users install or that take long to load.
LOADED_WHEN_USED = {
    "casadi", "coal", "dask", "example_robot_data", "flint", "h5py", "llvmlite", "matplotlib", "mcap", "mujoco",
    "numba", "pinocchio", "pydrake", "scipy", "sympy", "viser", "torch", "xarray", "zarr",
}  # fmt: skip


def test_every_part_has_a_line() -> None:
    unknown = {part_of(path) for path in source_files()} - set(LINES) - TOP_FILES
    assert not unknown, f"give {sorted(unknown)} a line in tests/architecture/layers.py and docs/architecture.md"


def test_imports_go_down_only() -> None:
    upward = []
    for path in source_files():
        for entry in imports_of(path):
            if entry.part in TOP_FILES or entry.part == entry.imported:
                continue
            if entry.imported in TOP_FILES or entry.imported not in LINES:
                # Parts below take names from the part that owns them; lines 8 and 9 are users of the whole library.
                if LINES[entry.part] < 8:
                    upward.append(f"{entry.where}: {entry.part} imports the whole package")
                continue
            below = LINES[entry.imported] < LINES[entry.part]
            if not below and (entry.part, entry.imported) not in SAME_LINE_ALLOWED:
                upward.append(f"{entry.where}: {entry.part} imports {entry.imported}")
    assert not upward, "\n".join(upward)


def test_algorithms_do_not_read_files_or_draw_samples() -> None:
    wrong = [
        f"{entry.where}: {entry.part} imports {entry.imported}"
        for path in source_files()
        for entry in imports_of(path)
        if entry.imported in NOT_FOR_LINES_2_TO_7
        and entry.part != entry.imported
        and 2 <= LINES.get(entry.part, 9) <= 7
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("module", ["setsu", "setsu.command_line"])
def test_import_loads_no_heavy_package(module: str) -> None:
    script = f"import sys, json, {module}; print(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    heavy = set(json.loads(finished.stdout)) & LOADED_WHEN_USED
    assert not heavy, f"import {module} loads {sorted(heavy)}; import them inside the function that uses them"


def test_no_pinocchio_like_peer_in_the_library() -> None:
    """Only the benchmarks and the maps to other engines look at them; the library stands on its own."""
    peers = {"pinocchio", "pydrake", "casadi", "example_robot_data"}
    for path in source_files():
        if part_of(path) in {"benchmarks", "interop"}:
            continue
        text = path.read_text(encoding="utf-8")
        found = [peer for peer in peers if f"import {peer}" in text or f"from {peer}" in text]
        assert not found, f"{path} imports {found}"
