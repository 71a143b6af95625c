"""`setsu identify FILE LOG`: parameters of a mechanism from a measured motion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from setsu.command_line.model_argument import load_model
from setsu.command_line.output import ProgressBar, console, print_json
from setsu.errors import InputError

if TYPE_CHECKING:
    from setsu.identification import Fit, Validation

__all__ = ["identify"]


def identify(
    file: Path,
    log: Path,
    /,
    *,
    validate: Path | None = None,
    friction: str = "coulomb+viscous",
    drive_inertia: Annotated[bool, Parameter(negative="--no-drive-inertia")] = True,
    lock: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    knot_distance: float | None = None,
    out: Path | None = None,
    floating_base: bool = False,
    package: Annotated[tuple[Path, ...], Parameter(negative=())] = (),
    json: bool = False,
) -> int:
    """Identify inertias, drive inertias and friction from a log of a motion.

    Parameters
    ----------
    file
        URDF, MJCF (.xml) or native (.toml) file: geometry, and first guesses of the parameters.
    log
        Measured motion: .csv, .parquet or .nc with the columns t, q1..., v1... (if measured), tau1...; in a .csv the
        header may be missing.
    validate
        Log of another motion, to see how well its torques are predicted.
    friction
        Terms to identify, joined by +: viscous, coulomb, offset; or none. coulomb+viscous when not given.
    drive_inertia
        Identify the inertia of the drives, which is done when not told otherwise.
    lock
        Joint that stands still, held where the log says; NAME=VALUE for one that has no columns in the log. May be
        given several times.
    knot_distance
        Distance of the knots of the smoothing splines in seconds; chosen by the data when not given.
    out
        Folder for the report (report.html and PNG files) and the identified model (identified.toml).
    floating_base
        Put a free joint under the root link (URDF); the log then has 7 more q and 6 more v and tau.
    package
        Folder that holds the packages of package:// mesh names; may be given several times.
    json
        Print JSON instead of tables.
    """
    from setsu.identification import hold_still, identify_motion, read_log, validate_motion
    from setsu.mechanism import lock_joints

    mechanism, _ = load_model(file, floating_base, package)
    mechanism = lock_joints(mechanism, _placed(lock))
    motions = [read_log(mechanism, path) for path in (log, *([validate] if validate is not None else []))]
    if standing := [word for word in lock if "=" not in word]:
        mechanism, motions = hold_still(mechanism, standing, motions)
    motion, unseen = motions[0], motions[1] if validate is not None else None
    with ProgressBar("identifying") as progress:
        progress("parameters", 0.0)
        fit = identify_motion(mechanism, motion, friction, drive_inertia=drive_inertia, knot_distance=knot_distance)
        progress("validation", 0.6)
        validation = validate_motion(fit, unseen) if unseen is not None else None
        progress("report", 0.7)
        written = []
        if out is not None:
            written.append(fit.save_report(out, validation))
            fit.physically_consistent.to_mechanism().save(out / "identified.toml")
            written.append(out / "identified.toml")
    if json:
        print_json(_as_data(fit, validation, written))
    else:
        _show(fit, validation)
        if written:
            print("written: " + ", ".join(str(path) for path in written))
    return 0


# Below this share of explained variance something is wrong with the log or the model, not with a few parameters.
_POOR = 0.5


def _placed(lock: tuple[str, ...]) -> dict[str, float]:
    """Joints that were given with a place to hold them at."""
    places = {}
    for name, equals, text in (word.partition("=") for word in lock):
        if equals:
            try:
                places[name] = float(text)
            except ValueError:
                raise InputError(f"identify --lock {name}: expected a number behind =, got {text!r}") from None
    return places


def _show(fit: Fit, validation: Validation | None) -> None:
    from rich.table import Table

    screen = console()
    kept = int(fit.essential.sum())
    screen.print(
        f"{fit.model.mechanism.name}: {len(fit.names)} base parameters ({kept} essential) from "
        f"{len(fit.motion.time)} samples; condition number "
        f"{fit.condition_number:.3g}, spline knots {fit.motion.knot_distance:.3g} s apart",
        markup=False,
    )
    screen.print()
    joints = Table()
    joints.add_column("joint")
    heads = ["R²", "R² of left out fifths", "σ of the residual", *(["R² of the unseen log"] if validation else [])]
    for head in heads:
        joints.add_column(head, justify="right")
    for j, name in enumerate(fit.model.rows):
        cells = [f"{fit.r2[j]:.5f}", f"{fit.r2_unseen[j]:.5f}", f"{fit.noise[j]:.4g}"]
        joints.add_row(name, *cells, *([f"{validation.r2[j]:.5f}"] if validation else []))
    screen.print(joints)
    poor = [name for name, r2 in zip(fit.model.rows, fit.r2_unseen, strict=True) if r2 < _POOR]
    if poor:
        screen.print(
            f"little of the torque of {', '.join(poor)} is explained: check the units (rad, s, N m), the order and the "
            "signs of the columns, and whether the model is that of this robot",
            markup=False,
            style="yellow",
        )
    table = Table()
    table.add_column("base parameter (SI)", overflow="ellipsis", no_wrap=True, max_width=44)
    for head in ("identified", "±σ", "model", "consistent"):
        table.add_column(head, justify="right")
    for k, name in enumerate(fit.model.labels):
        numbers = (fit.parameters[k], fit.std[k], fit.prior[k], fit.physically_consistent.base_parameters[k])
        table.add_row(name, *(f"{number:.4g}" for number in numbers), style=None if fit.essential[k] else "dim")
    screen.print(table)
    consistent = fit.physically_consistent
    screen.print(
        f"bodies that can exist: every pseudo-inertia positive definite; base parameters moved by "
        f"{consistent.deviation:.2g} σ"
        if consistent
        else "bodies that can exist: NOT found",
    )


def _as_data(fit: Fit, validation: Validation | None, written: list[Path]) -> dict[str, Any]:
    consistent = fit.physically_consistent
    return {
        "mechanism": fit.model.mechanism.name,
        "log": fit.source,
        "samples": len(fit.motion.time),
        "condition_number": fit.condition_number,
        "joints": [
            {
                "name": name,
                "r2": float(fit.r2[j]),
                "r2_unseen": float(fit.r2_unseen[j]),
                "noise": float(fit.noise[j]),
                "validation_r2": float(validation.r2[j]) if validation is not None else None,
            }
            for j, name in enumerate(fit.model.rows)
        ],
        "parameters": [
            {
                "name": name,
                "value": float(fit.parameters[k]),
                "std": float(fit.std[k]),
                "model": float(fit.prior[k]),
                "essential": bool(fit.essential[k]),
                "consistent": float(consistent.base_parameters[k]),
            }
            for k, name in enumerate(fit.names)
        ],
        "physically_consistent": bool(consistent),
        "bodies": {
            name: values.tolist()
            for name, values in zip(fit.model.mechanism.body_names, consistent.parameters.reshape(-1, 10), strict=True)
        },
        "files": [str(path) for path in written],
    }
