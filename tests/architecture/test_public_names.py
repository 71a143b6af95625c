"""What type checkers, `__all__` and the lazy loader say about public names is one and the same."""

from __future__ import annotations

import ast
import subprocess
import sys

from architecture.layers import LINES, SOURCE

import setsu
from setsu.public_names import HOMES, PARTS


def declared_for_type_checkers() -> dict[str, str]:
    """Names imported under `if TYPE_CHECKING` in the package's own file, with their modules."""
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    return {
        alias.name: node.module or ""
        for block in blocks
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_the_three_lists_agree() -> None:
    declared = declared_for_type_checkers()
    modules = {name for name, home in declared.items() if home == "setsu"}
    assert {name: home for name, home in declared.items() if name not in modules} == HOMES
    assert modules <= PARTS
    assert set(setsu.__all__) == {*HOMES, *modules, "__version__"}


def test_every_public_name_loads_and_is_listed() -> None:
    for name in setsu.__all__:
        assert getattr(setsu, name) is not None
        assert name in dir(setsu)


def test_every_part_can_be_reached_from_the_package() -> None:
    assert set(LINES) - set(HOMES) - {"public_names", "viewers", "interruption"} == PARTS


def test_a_function_keeps_its_name_against_the_part_it_lives_in() -> None:
    """Python binds a part to the package when it is loaded; the public function has to win, in any order."""
    script = (
        "import setsu, setsu.sweep.function, setsu.minimum_parameters.function; "
        "assert callable(setsu.sweep) and callable(setsu.minimum_parameters); "
        "import setsu.sweep, setsu.minimum_parameters; "
        "assert callable(setsu.sweep) and callable(setsu.minimum_parameters)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_importing_the_package_loads_nothing_else() -> None:
    script = "import sys, setsu; sys.exit('numpy' in sys.modules or 'setsu.mechanism' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
