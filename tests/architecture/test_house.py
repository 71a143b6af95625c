"""Files stay one subject long, every public module says what it is, and the promised extras exist."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from architecture.layers import SOURCE, source_files

ROOT = Path(__file__).resolve().parents[2]


def test_every_module_has_a_docstring() -> None:
    silent = [
        str(path) for path in source_files() if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not silent, "\n".join(silent)


def test_files_are_one_subject_long() -> None:
    long = {
        str(path.relative_to(SOURCE)): len(path.read_text(encoding="utf-8").splitlines()) for path in source_files()
    }
    long = {name: lines for name, lines in long.items() if lines > 500}
    assert not long, f"split by subject: {long}"


def test_nothing_is_left_open_in_the_source() -> None:
    words = ("TODO", "FIXME", "XXX", "NotImplementedError")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in source_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if any(word in line for word in words)
    ]
    assert not found, "\n".join(found)


def test_promised_extras_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    promised = {"mjcf", "geometry", "studio", "plots", "data", "cluster", "symbolic", "all", "dev", "bench"}
    assert promised <= set(project["optional-dependencies"])
    assert project["scripts"]["setsu"] == "setsu.command_line:main"


def test_every_package_for_development_has_a_version_of_its_own() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.split(r"[\[<>=!~; ]", word)[0].lower().replace("_", "-") for word in wanted} - {"setsu"}
    locked = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8").lower()
    missing = [name for name in names if f"\n{name}==" not in f"\n{locked}"]
    assert not missing, f"make requirements-dev.txt again (CONTRIBUTING.md): {missing}"


def test_the_two_commands_of_the_readme_exist() -> None:
    """README, CI and the bootstrap speak of the same commands."""
    told = subprocess.run([sys.executable, str(ROOT / "run.py")], capture_output=True, text=True, check=True).stdout
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in ("python3 run.py demo", "python3 run.py test"):
        assert command in told
        assert command in readme
    continuous = ROOT / ".ci" / "run"
    assert "python3 run.py test" in continuous.read_text(encoding="utf-8")
    assert os.access(continuous, os.X_OK)


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    missing = [page for page in pages if f": {page}\n" not in navigation]
    assert not missing


def test_every_algorithm_shown_in_the_docs_exists() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        for module in re.findall(r"^::: setsu\.([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            path = SOURCE / module.replace(".", "/")
            # A function with the name of its file is shown by both names.
            found = path.is_dir() or path.with_suffix(".py").is_file() or path.parent.with_suffix(".py").is_file()
            assert found, f"{page.name}: setsu.{module}"
