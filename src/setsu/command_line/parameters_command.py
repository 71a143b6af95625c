"""`setsu parameters FILE`: the minimum dynamic parameters of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from setsu.command_line.model_argument import load_model
from setsu.command_line.output import console
from setsu.errors import InputError

if TYPE_CHECKING:
    from setsu.minimum_parameters import MinimumParameters

__all__ = ["parameters"]

_HOW = {
    "identity": "exact, proved as an identity of functions",
    "points": "exact, joint by joint and from points modulo primes",
    "field": "exact, from points on the closed loops modulo primes",
    "extended": "by a rank in extended precision, at closed states",
    "numeric": "by numeric rank at random states",
}


def parameters(
    file: Path,
    /,
    *,
    numeric: bool = False,
    latex: bool = False,
    json: bool = False,
    floating_base: bool = False,
    package: Annotated[tuple[Path, ...], Parameter(negative=())] = (),
) -> int:
    """Print the minimum dynamic parameters: the fewest combinations of inertial parameters that torques depend on.

    M mass, MSx MSy MSz mass times centre of mass, Ixx ... Izz inertia about the body origin; the body after the
    underscore. Loops and mimic joints are taken into account.

    Parameters
    ----------
    file
        URDF, MJCF (.xml) or native (.toml) file.
    numeric
        Use floating-point ranks in place of exact algebra.
    latex
        Print the list as a LaTeX array.
    json
        Print JSON.
    floating_base
        Put a free joint under the root link (URDF).
    package
        Folder that holds the packages of package:// mesh names; may be given several times.
    """
    from setsu.minimum_parameters import minimum_parameters

    if latex and json:
        raise InputError("parameters: expected one of --latex and --json, got both")
    mechanism, _ = load_model(file, floating_base, package)
    found = minimum_parameters(mechanism, exact=not numeric)
    if latex:
        print(found.to_latex())
    elif json:
        print(found.to_json())
    else:
        _show(found)
    return 0


def _show(found: MinimumParameters) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="right")
    table.add_column("combination", overflow="fold")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    for number, (name, kept, value) in enumerate(
        zip(found.names, found.independent_names, found.values, strict=True), start=1
    ):
        table.add_row(str(number), name, f"{value:.6g}", _unit(kept))
    out = console()
    name = found.mechanism.name
    print(f"{name}: {found.count} minimum parameters of {found.matrix.shape[1]} ({_HOW[found.method]})")
    print()
    out.print(table, markup=False)
    if found.without_effect:
        print()
        out.print(f"without effect: {', '.join(found.without_effect)}", markup=False)


def _unit(name: str) -> str:
    return "kg" if name.startswith("M_") else "kg m" if name.startswith("MS") else "kg m²"
