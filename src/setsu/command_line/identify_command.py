"""`setsu identify FILE LOG`: parameters of a mechanism from a measured motion."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from setsu.command_line.model_argument import load_model
from setsu.command_line.output import ProgressBar, console, print_json
from setsu.errors import InputError

if TYPE_CHECKING:
    from setsu.identification import Alarm, Fit, Payload, Validation

__all__ = ["identify"]


def identify(
    file: Path,
    log: Annotated[list[Path], Parameter(negative=())],
    /,
    *,
    validate: Path | None = None,
    friction: str = "coulomb+viscous",
    drive_inertia: Annotated[bool, Parameter(negative="--no-drive-inertia")] = True,
    lock: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    knot_distance: float | None = None,
    delay: Annotated[bool, Parameter(negative=())] = False,
    drive_gains: Annotated[bool, Parameter(negative=())] = False,
    payload: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    loss: str = "squares",
    accept: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    out: Path | None = None,
    floating_base: bool = False,
    package: Annotated[tuple[Path, ...], Parameter(negative=())] = (),
    json: bool = False,
) -> int:
    """Identify inertias, drive inertias and friction from logs of motions.

    Exit code 1 when the data raise an alarm: units, limits, velocity, sign, swapped columns, outliers, delay, friction
    shape, inconsistent, unexplained.

    Parameters
    ----------
    file
        URDF, MJCF (.xml) or native (.toml) file: geometry, and first guesses of the parameters.
    log
        Measured motions, one file or several: .csv, .parquet or .nc with the columns t, q1..., v1... (if measured),
        tau1...; in a .csv the header may be missing; .mcap with ROS 2 joint states.
    validate
        Log of another motion, to see how well its torques are predicted.
    friction
        Terms to identify, joined by +: viscous, coulomb, offset, stribeck; or none. coulomb+viscous when not given.
    drive_inertia
        Identify the inertia of the drives, which is done unless this is off.
    lock
        Joint that stands still, held where the log says; NAME=VALUE for one that has no columns in the log. May be
        given several times.
    knot_distance
        Distance of the knots of the smoothing splines in seconds; chosen by the data when not given.
    delay
        Identify by how much torques lag behind coordinates.
    drive_gains
        The tau columns are signals of the drives, such as currents: identify torque per signal. Needs a payload.
    payload
        What the mechanism carries in a log: LOG=BODY for an unknown one, LOG=BODY:MASS for one of known mass in kg,
        LOG being the number of the log from 1. May be given several times.
    loss
        squares, or huber, which makes less of outliers; squares when not given.
    accept
        Kind of alarm that becomes a note, for example delay or "swapped columns". May be given several times.
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
    motions = [read_log(mechanism, path) for path in (*log, *([validate] if validate is not None else []))]
    if standing := [word for word in lock if "=" not in word]:
        mechanism, motions = hold_still(mechanism, standing, motions)
    unseen = motions.pop() if validate is not None else None
    for number, carried in _payloads(payload, len(motions)).items():
        motions[number] = replace(motions[number], payload=carried)
    with ProgressBar("identifying") as progress:
        progress("parameters", 0.0)
        fit = identify_motion(
            mechanism, motions, friction, drive_inertia=drive_inertia, knot_distance=knot_distance, delay=delay,
            drive_gains=drive_gains, loss=loss, accept=accept,
        )  # fmt: skip
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
    return 1 if fit.alarms else 0


def _payloads(words: tuple[str, ...], count: int) -> dict[int, Payload]:
    """Take apart "2=link6:3.5": the number of a log, the body that carries, perhaps a mass."""
    from setsu.identification import Payload

    result = {}
    for word in words:
        number, equals, rest = word.partition("=")
        body, colon, mass = rest.partition(":")
        if not (equals and body and number.isdigit() and 1 <= int(number) <= count):
            raise InputError(f"identify --payload {word}: expected LOG=BODY or LOG=BODY:MASS, LOG from 1 to {count}")
        try:
            result[int(number) - 1] = Payload(body, mass=float(mass) if colon else None)
        except ValueError:
            raise InputError(f"identify --payload {word}: expected a mass in kg behind :, got {mass!r}") from None
    return result


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
    joints.add_column("joint", overflow="fold")
    heads = ["R²", "R² of left out fifths", "R² of real bodies", "σ of the residual"]
    heads += ["R² unseen log"] if validation else []
    for head in heads:
        joints.add_column(head, justify="right")
    for j, name in enumerate(fit.model.rows):
        cells = [f"{fit.r2[j]:.5f}", f"{fit.r2_unseen[j]:.5f}", f"{fit.r2_consistent[j]:.5f}", f"{fit.noise[j]:.4g}"]
        joints.add_row(name, *cells, *([f"{validation.r2[j]:.5f}"] if validation else []))
    screen.print(joints)
    for alarm in fit.alarms:
        screen.print(f"ALARM {alarm}", markup=False, style="bold red")
    for alarm in fit.notes:
        screen.print(f"note: {alarm}", markup=False, style="yellow")
    table = Table()
    table.add_column("base parameter (SI)", overflow="fold")
    for head in ("identified", "±σ", "model", "consistent"):
        table.add_column(head, justify="right")
    for k, name in enumerate(fit.names):
        numbers = (fit.parameters[k], fit.std[k], fit.prior[k], fit.physically_consistent.base_parameters[k])
        table.add_row(name, *(f"{number:.4g}" for number in numbers), style=None if fit.essential[k] else "dim")
    screen.print(table)
    for name, value, std in zip(fit.further.names, fit.further.values, fit.further.std, strict=True):
        screen.print(f"{name} = {value:.6g} ± {std:.2g}", markup=False)
    for found in fit.payloads:
        for name, value, std in zip(found.names, found.values, found.std, strict=True):
            screen.print(f"{name} = {value:.6g} ± {std:.2g}", markup=False)
    consistent = fit.physically_consistent
    screen.print(
        f"bodies that can exist: every pseudo-inertia positive definite; base parameters moved by "
        f"{consistent.deviation:.2g} σ"
        if consistent
        else "bodies that can exist: NOT found",
    )


def _alarm(alarm: Alarm) -> dict[str, Any]:
    return {"kind": alarm.kind, "message": alarm.message, "evidence": dict(alarm.evidence)}


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
                "r2_consistent": float(fit.r2_consistent[j]),
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
        "further": {
            name: {"value": float(value), "std": float(std)}
            for name, value, std in zip(fit.further.names, fit.further.values, fit.further.std, strict=True)
        },
        "payloads": [
            {
                "name": name,
                "value": float(value),
                "std": float(std),
            }
            for found in fit.payloads
            for name, value, std in zip(found.names, found.values, found.std, strict=True)
        ],
        "alarms": [_alarm(alarm) for alarm in fit.alarms],
        "notes": [_alarm(alarm) for alarm in fit.notes],
        "physically_consistent": bool(consistent),
        "bodies": {
            name: values.tolist()
            for name, values in zip(fit.model.mechanism.body_names, consistent.parameters.reshape(-1, 10), strict=True)
        },
        "files": [str(path) for path in written],
    }
