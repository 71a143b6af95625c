"""The layers of docs/architecture.md as data, and a reader of the imports that have to obey them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "setsu"

LINES: dict[str, int] = {
    "elementary": 0,
    "errors": 0,
    "interruption": 0,
    "noise": 0,
    "lie_groups": 0,
    "named_numbers": 0,
    "public_names": 0,
    "spatial": 0,
    "viewers": 0,
    "citations": 1,
    "mechanism": 1,
    "kernels": 2,
    "symbolic": 2,
    "message_logs": 2,
    "model_files": 2,
    "sample_mechanisms": 2,
    "native": 3,
    "dynamics": 4,
    "constraints": 5,
    "nodal": 5,
    "contact": 6,
    "inverse_kinematics": 6,
    "minimum_parameters": 6,
    "simulation": 7,
    "control": 7,
    "code_generation": 7,
    "identification": 7,
    "studio": 8,
    "reproduce": 8,
    "scenario": 8,
    "sweep": 8,
    "checks": 8,
    "benchmarks": 8,
    "interop": 8,
    "learning": 8,
    "warming": 8,
    "command_line": 9,
}

# Pairs on one line that may see each other: placements use the errors and named numbers; what runs many scenarios, or
# shows one, reads them.
SAME_LINE_ALLOWED = {
    ("spatial", "elementary"),
    ("noise", "elementary"),
    ("named_numbers", "elementary"),
    ("spatial", "errors"),
    ("named_numbers", "errors"),
    ("lie_groups", "errors"),
    ("viewers", "errors"),
    ("spatial", "named_numbers"),
    ("sweep", "scenario"),
    ("studio", "scenario"),
}

# Files at the top of the package, which gather the public names or start the command line.
TOP_FILES = {"__init__", "__main__"}

# Reading files and drawing samples is for users and for lines 8 and 9; the algorithms take a mechanism.
NOT_FOR_LINES_2_TO_7 = {"model_files", "sample_mechanisms"}


@dataclass(frozen=True)
class Import:
    """One import of a setsu module: the part that imports, the part imported, and where."""

    part: str
    imported: str
    where: str


def part_of(path: Path) -> str:
    """Name of the layer a source file belongs to: its folder, or the file itself at the top of the package."""
    relative = path.relative_to(SOURCE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def source_files() -> list[Path]:
    """Every Python file of the package."""
    return sorted(SOURCE.rglob("*.py"))


@cache
def imports_of(path: Path) -> list[Import]:
    """All imports of setsu parts in a file, those inside functions and for type checking too."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [f"{_absolute(node, path)}.{alias.name}" for alias in node.names]
        else:
            continue
        for module in modules:
            words = module.split(".")
            if words[0] == "setsu":
                where = f"{path.relative_to(SOURCE.parent)}:{node.lineno}"
                found.append(Import(part_of(path), words[1] if len(words) > 1 else "__init__", where))
    return found


def _absolute(node: ast.ImportFrom, path: Path) -> str:
    """The module an import statement names, with leading dots resolved."""
    if node.level == 0:
        return node.module or ""
    package = ["setsu", *path.relative_to(SOURCE).parts[:-1]]
    base = package[: len(package) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])
