"""`setsu simulate SCENARIO`: run a scenario file."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setsu.command_line.output import INTERRUPTED, ProgressBar, console, print_json
from setsu.errors import InputError

if TYPE_CHECKING:
    from setsu.scenario import Prepared
    from setsu.simulation import Recording

__all__ = ["simulate"]

_MOST_EVENTS = 12


def simulate(
    scenario: Path,
    /,
    *,
    out: Path | None = None,
    plots: Path | None = None,
    keyframe: str | None = None,
    json: bool = False,
) -> int:
    """Run a scenario file: a model, where it starts, what drives it, what it touches, how long.

    Ctrl-C ends the run and keeps what was recorded until then. Exit code 1: the run could not go on; 130: interrupted.

    Parameters
    ----------
    scenario
        TOML file; the page "Scenarios" of the documentation lists its tables.
    out
        Recording to write, .nc (NetCDF), .npz or .mcap (ROS 2 tools, viewers); else the one named in the scenario, if
        any.
    plots
        Folder for the plots named in the scenario; else beside the recording.
    keyframe
        Start with the state of this name in the model file, whatever the scenario says.
    json
        Print JSON instead of tables.
    """
    from msgspec.structs import replace

    from setsu.scenario import load, prepare, run
    from setsu.simulation import SimulationStopped

    given = load(scenario)
    if keyframe is not None:
        given = replace(given, start=replace(given.start, keyframe=keyframe, seed=None))
    ready = prepare(given)
    target = _target(ready, out)
    if plots is not None:
        _make_folder(plots)
    elif ready.scenario.output.plots and target is None:
        where = ready.scenario.origin.where(("output", "plots"))
        raise InputError(f"{where}: output.plots: nowhere to draw them; expected output.recording, --out or --plots")
    stopped, code, begin = "", 0, time.perf_counter()
    duration = ready.scenario.simulation.duration
    with _Interruptions() as interrupted, ProgressBar("simulating", total=duration, unit="simulated s") as progress:
        try:
            recording = run(ready, progress=progress, stop=lambda: interrupted.flag)
        except SimulationStopped as problem:
            recording, stopped = problem.recording, str(problem)
            code = INTERRUPTED if interrupted.flag else 1
    seconds = time.perf_counter() - begin
    written = [] if target is None else [recording.save(target)]
    written += _plots(ready, recording, plots, target)
    data = _as_data(ready, recording, seconds, stopped, written)
    if json:
        print_json(data)
    else:
        _show(data)
    if stopped:
        print(f"setsu: {stopped}; kept what was done until {recording.time[-1]:g} s", file=sys.stderr)
    return code


class _Interruptions:
    """Turns the first Ctrl-C into a flag; a second one ends the program."""

    flag = False

    def __enter__(self) -> _Interruptions:
        try:
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        except ValueError:  # not the main thread: nobody sends it signals
            self._before = None
        return self

    def _interrupt(self, number: int, frame: object) -> None:
        if self.flag:
            raise KeyboardInterrupt
        self.flag = True

    def __exit__(self, *problem: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)


def _target(ready: Prepared, out: Path | None) -> Path | None:
    """Where the recording goes; refused before the run when it cannot go there."""
    given = ready.scenario.output.recording
    target = out if out is not None else None if given is None else ready.scenario.origin.folder / given
    if target is not None:
        if target.suffix not in (".nc", ".npz", ".mcap"):
            raise InputError(f"simulate: expected a recording ending in .nc, .npz or .mcap, got {str(target)!r}")
        if not target.parent.is_dir():
            raise InputError(f"simulate: expected a folder that exists for {target}")
        if target.is_dir() or not os.access(target if target.exists() else target.parent, os.W_OK):
            raise InputError(f"simulate: expected a file that can be written, got {target}")
    return target


def _plots(ready: Prepared, recording: Recording, folder: Path | None, target: Path | None) -> list[Path]:
    names = ready.scenario.output.plots
    if not names or (folder is None and target is None):
        return []
    place = folder if folder is not None else target.parent if target is not None else Path()
    stem = target.stem if target is not None else Path(ready.scenario.origin.name).stem
    written = []
    for name in names:
        path = place / f"{stem}_{name}.png"
        recording.plot(name).savefig(path, dpi=120)
        written.append(path)
    return written


def _make_folder(place: Path) -> None:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"simulate --plots: cannot make the folder {place} ({problem.strerror})") from None


def _as_data(ready: Prepared, rec: Recording, seconds: float, stopped: str, written: list[Path]) -> dict[str, Any]:
    import numpy as np

    s = ready.scenario.simulation
    largest = lambda values: np.abs(values).max(axis=0).tolist()  # noqa: E731
    return {
        "title": ready.scenario.title,
        "mechanism": rec.name,
        "simulated": float(rec.time[-1]),
        "duration": s.duration,
        "step": s.step,
        "integrator": rec.integrator,
        "recorded_states": len(rec),
        "seconds": seconds,
        "stopped": stopped,
        "velocities": [
            {"name": name, "largest_speed": speed, "largest_torque": torque, "final_speed": final}
            for name, speed, torque, final in zip(
                rec.velocity_names, largest(rec.v), largest(rec.torque), rec.v[-1].tolist(), strict=True
            )
        ],
        "final_q": dict(zip(rec.coordinate_names, rec.q[-1].tolist(), strict=True)),
        "contacts": [
            {"name": name, "largest_normal_force": float(force)}
            for name, force in zip(rec.contact_names, largest(rec.normal_force), strict=True)
        ],
        "body_contacts": [
            {"name": " - ".join(pair), "largest_normal_force": float(force)}
            for pair, force in zip(between.pairs, largest(between.normal_force), strict=True)
        ]
        if (between := rec.body_contacts) is not None
        else [],
        "unconverged_states": 0 if rec.contact_log is None else int(rec.contact_log.unconverged.sum()),
        "energy": {"start": float(rec.energy[0]), "end": float(rec.energy[-1])},
        "ledger": {key: float(value[-1]) for key, value in vars(rec.ledger).items()},
        "largest_constraint_error": float(rec.constraint_error.max()),
        "events": [{"time": e.time, "kind": e.kind, "name": e.name, "energy_lost": e.energy_lost} for e in rec.events],
        "warnings": list(ready.warnings),
        "written": [str(path) for path in written],
    }


def _show(data: dict[str, Any]) -> None:
    from rich.table import Table

    rate = data["simulated"] / max(data["seconds"], 1e-9)
    print(f"{data['title'] or data['mechanism']}: {data['mechanism']}")
    print(
        f"{data['simulated']:g} of {data['duration']:g} s simulated in {data['seconds']:.3g} s ({rate:.3g} × real "
        f"time), {data['integrator']}, step {data['step']:g} s, {data['recorded_states']} states recorded"
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("velocity", overflow="fold")
    for head in ("largest speed", "final speed", "largest torque"):
        table.add_column(head, justify="right")
    for row in data["velocities"]:
        table.add_row(
            row["name"], f"{row['largest_speed']:.5g}", f"{row['final_speed']:.5g}", f"{row['largest_torque']:.5g}"
        )
    console().print(table)
    everything = [*data["contacts"], *data["body_contacts"]]
    pressed = [contact for contact in everything if contact["largest_normal_force"] > 0.0]
    for contact in pressed:
        print(f"contact {contact['name']}: normal force up to {contact['largest_normal_force']:.5g} N")
    if len(everything) > len(pressed):
        print(f"{len(everything) - len(pressed)} of {len(everything)} contacts never pressed")
    if data["unconverged_states"]:
        print(f"contact forces not converged to 1e-10 before {data['unconverged_states']} recorded states")
    energy, ledger = data["energy"], data["ledger"]
    print(f"energy {energy['start']:.6g} J → {energy['end']:.6g} J")
    if any(ledger.values()):
        print("  " + ", ".join(f"{key.replace('_', ' ')} {value:+.3g} J" for key, value in ledger.items() if value))
    print(f"largest violation of a constraint {data['largest_constraint_error']:.1e}")
    for event in data["events"][:_MOST_EVENTS]:
        print(f"  t = {event['time']:.6g} s: {event['kind']} {event['name']}")
    if len(data["events"]) > _MOST_EVENTS:
        print(f"  and {len(data['events']) - _MOST_EVENTS} more events")
    for warning in data["warnings"]:
        print(f"warning: {warning}")
    for path in data["written"]:
        print("written:", path)
