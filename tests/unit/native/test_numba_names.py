"""The private names of Numba that we build on are there, and two files alone know Numba."""

from __future__ import annotations

import importlib.metadata
import tomllib
from pathlib import Path

import pytest
from numba.core import codegen, compiler, registry, types
from numba.core.typing import templates
from numba.core.typing.typeof import typeof_impl

import setsu

PACKAGE = Path(setsu.__file__).parent
WAY_OUT = (
    "Numba {version} changed {name}. Read its release notes, adapt numba_lowering.py and numba_lanes.py in "
    "src/setsu/native (no other file uses Numba), run `python -m setsu.warming.refresh all` and the tests, then raise "
    "the cap in pyproject.toml; or lower the cap, so that this version is not installed: users of shipped code need "
    "no Numba at all."
)
LIBRARY = (
    "_optimize_functions",
    "finalize",
    "_raise_if_finalized",
    "_get_module_for_linking",
    "get_pointer_to_function",
)


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        *((codegen.JITCodeLibrary, name) for name in LIBRARY),
        (registry.cpu_target.target_context.codegen(), "_library_class"),
        (registry.cpu_target.target_context.codegen(), "_data_layout"),
        (codegen.JITCodeLibrary(registry.cpu_target.target_context.codegen(), "probe"), "_final_module"),
        (codegen.JITCodeLibrary(registry.cpu_target.target_context.codegen(), "probe"), "_linking_libraries"),
        (codegen.JITCodeLibrary(registry.cpu_target.target_context.codegen(), "probe"), "_finalized"),
        (compiler, "Compiler"),
        (types, "Dispatcher"),
        (templates, "make_intrinsic_template"),
        (typeof_impl, "register"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_private_names_are_as_expected(owner: object, name: str) -> None:
    version = importlib.metadata.version("numba")
    assert hasattr(owner, name), WAY_OUT.format(version=version, name=name)


def test_two_files_use_numba() -> None:
    """Benchmarks measure Numba's own code beside ours."""
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(line.strip().startswith(("import numba", "from numba")) for line in path.read_text().splitlines())
    }
    assert users == {"native/numba_lowering.py", "native/numba_lanes.py", "benchmarks/contact_methods.py"}


def test_numba_is_capped_to_versions_that_were_tested() -> None:
    project = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text())["project"]
    (wanted,) = (entry for entry in project["dependencies"] if entry.startswith("numba"))
    assert "<" in wanted
    major, minor = importlib.metadata.version("numba").split(".")[:2]
    assert (int(major), int(minor)) < tuple(int(part) for part in wanted.split("<")[1].split("."))


def test_production_code_uses_no_mocks() -> None:
    assert not [path for path in PACKAGE.rglob("*.py") if "unittest" in path.read_text()]
