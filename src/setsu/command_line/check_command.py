"""`setsu check FILE`: a certificate of a model."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from setsu.command_line.model_argument import load_model
from setsu.command_line.output import ProgressBar, console, print_json
from setsu.command_line.urdf_repair import write_repaired_urdf
from setsu.errors import InputError

if TYPE_CHECKING:
    from setsu.checks import Certificate, Speed
    from setsu.model_files import LoadReport

__all__ = ["check"]


def check(
    file: Path,
    /,
    *,
    repair: Path | None = None,
    seed: int = 0,
    floating_base: bool = False,
    package: Annotated[tuple[Path, ...], Parameter(negative=())] = (),
    json: bool = False,
) -> int:
    """Certify a model: masses, inertias with the inequality they violate, and every law evaluated on it.

    Exit code 1 when an inertia is impossible, a law fails, or the file has elements that move, close or push something
    and that the model does not have.

    Parameters
    ----------
    file
        URDF, MJCF (.xml) or native (.toml) file.
    repair
        Replace impossible inertias by the nearest possible ones, write the model to this file (.toml, or .urdf when
        the model is a URDF), and certify that.
    seed
        Seed of the states the laws are evaluated at; 0 when not given.
    floating_base
        Put a free joint under the root link (URDF).
    package
        Folder that holds the packages of package:// mesh names; may be given several times.
    json
        Print JSON instead of tables.
    """
    from setsu.checks import certify, measure_speed

    if seed < 0:
        raise InputError(f"check --seed: expected a whole number that is not negative, got {seed}")
    if repair is not None:
        _check_target(file, repair)
    mechanism, report = load_model(file, floating_base, package, repair=repair is not None, quiet=True)
    with ProgressBar("checking") as progress:
        certificate = certify(mechanism, seed=seed, progress=progress)
    # A model whose states make numbers that are not finite has no speed worth telling.
    speeds = measure_speed(mechanism, seed=seed) if all(result.passed for result in certificate.results) else ()
    if repair is not None and repair.suffix == ".urdf":
        write_repaired_urdf(file, repair, report.repaired)
    elif repair is not None:
        mechanism.save(repair)
    if json:
        print_json({**_as_data(certificate, report, seed), "speed": [asdict(speed) for speed in speeds]})
    else:
        _print(certificate, report, seed, speeds)
        if repair is not None:
            print(f"written: {repair} ({len(report.repaired)} inertias repaired)")
        elif certificate.inertia_problems:
            print(
                f"repair the inertias with: setsu check {file} --repair OUT{file.suffix if _is_urdf(file) else '.toml'}"
            )
    return 0 if certificate.passed else 1


def _is_urdf(file: Path) -> bool:
    return file.suffix == ".urdf"


def _check_target(file: Path, repair: Path) -> None:
    """Refuse a target that cannot be written before any work is done."""
    allowed = (".toml", ".urdf") if _is_urdf(file) else (".toml",)
    if repair.suffix not in allowed:
        raise InputError(f"check --repair: expected a file name ending in {' or '.join(allowed)}, got {repair}")
    if not repair.parent.is_dir():
        raise InputError(f"check --repair: expected a file in a folder that exists, got {repair}")
    if repair.exists() and file.exists() and repair.samefile(file):
        raise InputError(f"check --repair: expected another file than the model itself, got {repair}")


def _as_data(certificate: Certificate, report: LoadReport, seed: int) -> dict[str, Any]:
    data = asdict(certificate)
    data["results"] = [{**asdict(result), "passed": result.passed} for result in certificate.results]
    return {"passed": certificate.passed, "seed": seed, **data, "load_report": asdict(report)}


def _print(certificate: Certificate, report: LoadReport, seed: int, speeds: tuple[Speed, ...]) -> None:
    from rich.table import Table
    from rich.text import Text

    screen = console()
    screen.print(
        f"{certificate.name}: nv = {certificate.nv}, {certificate.total_mass:.6g} kg, "
        f"condition number of the mass matrix {certificate.condition_number:.1e}, seed {seed}",
        markup=False,
    )
    screen.print()
    table = Table()
    for title in ("check", "law"):
        table.add_column(title, overflow="fold")
    for title in ("worst error", "tolerance"):
        table.add_column(title, justify="right")
    table.add_column("")
    for result in certificate.results:
        verdict = Text("holds", style="green") if result.passed else Text("FAILS", style="bold red")
        table.add_row(result.name, result.law, f"{result.worst:.1e}", f"{result.tolerance:.1e}", verdict)
    screen.print(table)
    for result in certificate.results:
        if result.detail:
            screen.print(f"{result.name}: {result.detail}", style="red", markup=False)
    for problem in certificate.inertia_problems:
        screen.print(f"non-physical inertia: {problem}", style="yellow", markup=False)
    # The inertias stand above already.
    screen.print(f"load report: {replace(report, inertia_problems=(), missing=())}", markup=False, soft_wrap=True)
    for text in certificate.left_out:
        screen.print(f"left out: {text}", markup=False)
    for speed in speeds:
        screen.print(
            f"{speed.function}: {1e6 * speed.single:.2f} µs a call, {1e9 * speed.batch:.0f} ns a state in a batch",
            markup=False,
        )
    for text in certificate.missing:
        screen.print(f"not in the model: {text}", style="yellow", markup=False, soft_wrap=True)
    screen.print(certificate.verdict, style="bold green" if certificate.passed else "bold red")
