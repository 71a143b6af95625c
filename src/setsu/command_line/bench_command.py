"""`setsu bench`: speed beside other engines."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from setsu.command_line.output import INTERRUPTED, ProgressBar, console, print_json
from setsu.errors import InputError, nearest_names

__all__ = ["bench"]


def bench(
    *,
    quick: bool = False,
    only: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    models: Path | None = None,
    out: Path = Path("out/bench"),
    json: bool = False,
) -> int:
    """Measure this library beside Pinocchio, MuJoCo, Drake, CasADi and Exudyn, as far as they are installed.

    Every engine reads the same file and the same states; numbers are compared before they are timed. Writes
    dynamics.json and, with matplotlib, plots of cost against the number of joints. Exit code 1: engines disagree, or
    startup measured Numba instead of shipped code; 130: interrupted by Ctrl-C, after which what was measured is kept.
    Closed loops are a study of their own, loops: errors of known motions, orders, cost against the number of loops.
    So are contact, a humanoid's steps beside MuJoCo; nodal, nodal inverse dynamics beside our own Newton-Euler; and
    sweep, 100,000 runs of an arm beside a loop over MuJoCo's single steps; and inverse_kinematics, success and time on
    random poses beside Pink and mink; simulator, one world driven from Python or not, and rollout, many at once, beside
    MuJoCo; control_laws, one call of each law beside Pinocchio in Python, and arms that press on walls at 1 kHz;
    learning, learning environments beside Gymnasium's own; and derivatives, through loops beside Pinocchio and
    through contact beside MuJoCo's finite differences.

    Parameters
    ----------
    quick
        Fewer rounds and sizes: about a minute.
    only
        Measure only this: two_link, ur5, panda, anymal, talos, chain, tree, startup, contact, loops, nodal, sweep,
        inverse_kinematics, simulator, rollout, control_laws, learning or derivatives; may be given several times.
        Without it, all but the last ten.
    models
        Copy of MuJoCo's Menagerie: loops times its closed-loop robots too.
    out
        Folder for JSON and plots.
    json
        Print JSON instead of tables.
    """
    from setsu.benchmarks import ROBOTS, SERIES, STARTUP

    known, apart = (*ROBOTS, *SERIES, STARTUP), tuple(_APART)
    for name in only:
        if name not in (*known, *apart):
            raise InputError(f"bench --only: unknown name {name!r}{nearest_names(name, (*known, *apart))}")
    if models is not None and "loops" not in only:
        raise InputError("bench --models: robots with closed loops are part of one study; expected --only loops too")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"bench --out: cannot make the folder {out} ({problem.strerror})") from None
    names = tuple(name for name in only or known if name not in apart)
    measures = {**_APART, "loops": partial(_loops, models=models)}
    studies: dict[str, Callable[[], _Outcome]] = {
        **({"dynamics": lambda: _dynamics(names, quick, out)} if names else {}),
        **{name: lambda measure=measure: measure(quick, out) for name, measure in measures.items() if name in only},
    }
    outcomes: dict[str, _Outcome] = {}
    lost = ""
    for name, study in studies.items():
        try:
            outcomes[name] = study()
        except KeyboardInterrupt:
            lost = name
        if lost or outcomes[name].interrupted:
            break
    if json:
        parts = {name: outcome.data for name, outcome in outcomes.items()}
        print_json(next(iter(parts.values())) if len(parts) == 1 else parts)
    else:
        for name, outcome in outcomes.items():
            console().print(outcome.tables)
            print("written:", out / f"{name}.json", *(outcome.plots or ()))
            if outcome.plots is None:
                print("no plots: matplotlib is missing, which setsu[plots] installs")
    if lost or any(outcome.interrupted for outcome in outcomes.values()):
        kept = ", ".join(str(out / f"{name}.json") for name in outcomes) or "nothing"
        print(f"setsu: interrupted{f' in {lost}' if lost else ''}; kept: {kept}", file=sys.stderr)
        return INTERRUPTED
    return max(outcome.code for outcome in outcomes.values())


@dataclass(frozen=True)
class _Outcome:
    """A finished study: as plain data and as tables, its plots (None without matplotlib), its exit code.

    interrupted: by Ctrl-C; the data hold what was measured before.
    """

    data: dict[str, Any]
    tables: object
    plots: list[Path] | None
    code: int = 0
    interrupted: bool = False


def _dynamics(names: tuple[str, ...], quick: bool, out: Path) -> _Outcome:
    from setsu.benchmarks import as_json, measure, tables, write_json, write_plots

    with ProgressBar("measuring") as progress:
        study = measure(names, quick=quick, progress=progress)
    write_json(study, out / "dynamics.json")
    plots = [] if study.interrupted else _if_possible(lambda: write_plots(study, out))
    failed = study.disagreements or any(entry.fallback for entry in study.startup)
    return _Outcome(as_json(study), tables(study), plots, 1 if failed else 0, study.interrupted)


def _contact(quick: bool, out: Path) -> _Outcome:
    from setsu.benchmarks import (
        contact_as_json,
        contact_tables,
        measure_contact,
        write_contact_json,
        write_contact_plots,
    )

    with ProgressBar("measuring") as progress:
        study = measure_contact(quick=quick, progress=progress)
    write_contact_json(study, out / "contact.json")
    plots = _if_possible(lambda: write_contact_plots(study, out))
    return _Outcome(contact_as_json(study), contact_tables(study), plots)


def _loops(quick: bool, out: Path, models: Path | None = None) -> _Outcome:
    from setsu.benchmarks import loop_tables, loops_as_json, measure_loops, write_loop_plots, write_loops_json

    with ProgressBar("measuring") as progress:
        study = measure_loops(quick=quick, models=models, progress=progress)
    write_loops_json(study, out / "loops.json")
    return _Outcome(loops_as_json(study), loop_tables(study), _if_possible(lambda: write_loop_plots(study, out)))


def _nodal(quick: bool, out: Path) -> _Outcome:
    from setsu.benchmarks import measure_nodal, nodal_as_json, nodal_tables, write_nodal_json, write_nodal_plots

    with ProgressBar("measuring") as progress:
        study = measure_nodal(quick=quick, progress=progress)
    write_nodal_json(study, out / "nodal.json")
    return _Outcome(nodal_as_json(study), nodal_tables(study), _if_possible(lambda: write_nodal_plots(study, out)))


def _sweep(quick: bool, out: Path) -> _Outcome:
    from setsu.benchmarks import measure_sweep, sweep_as_json, sweep_tables, write_sweep_json

    with ProgressBar("measuring") as progress:
        study = measure_sweep(quick=quick, progress=progress)
    write_sweep_json(study, out / "sweep.json")
    return _Outcome(sweep_as_json(study), sweep_tables(study), [], 0 if study.agrees else 1)


def _inverse_kinematics(quick: bool, out: Path) -> _Outcome:
    from setsu.benchmarks import (
        inverse_kinematics_as_json,
        inverse_kinematics_tables,
        measure_inverse_kinematics,
        write_inverse_kinematics_json,
    )

    with ProgressBar("measuring") as progress:
        study = measure_inverse_kinematics(quick=quick, progress=progress)
    write_inverse_kinematics_json(study, out / "inverse_kinematics.json")
    return _Outcome(inverse_kinematics_as_json(study), inverse_kinematics_tables(study), [])


def _control_laws(quick: bool, out: Path) -> _Outcome:
    from setsu.benchmarks import control_laws

    with ProgressBar("measuring") as progress:
        study = control_laws.measure_control_laws(quick=quick, progress=progress)
    control_laws.write_control_laws_json(study, out / "control_laws.json")
    return _Outcome(control_laws.control_laws_as_json(study), control_laws.control_laws_tables(study), [])


def _stepping(name: str) -> Callable[[bool, Path], _Outcome]:
    def measure(quick: bool, out: Path) -> _Outcome:
        from setsu.benchmarks import simulator, stepping_report

        study_of = {
            stepping_report.SIMULATOR: simulator.measure_simulator,
            stepping_report.ROLLOUT: simulator.measure_rollout,
        }
        with ProgressBar("measuring") as progress:
            study = study_of[name](quick=quick, progress=progress)
        stepping_report.write_stepping_json(study, out / f"{name}.json")
        return _Outcome(stepping_report.stepping_as_json(study), stepping_report.stepping_tables(study), [])

    return measure


def _if_possible(write: Callable[[], list[Path]]) -> list[Path] | None:
    """Write plots where matplotlib is installed."""
    try:
        return write()
    except ImportError:
        return None


def _learning(quick: bool, out: Path) -> _Outcome:
    from setsu.benchmarks import learning

    with ProgressBar("measuring") as progress:
        study = learning.measure_learning(quick=quick, progress=progress)
    learning.write_learning_json(study, out / "learning.json")
    return _Outcome(learning.learning_as_json(study), learning.learning_tables(study), [])


def _derivatives(quick: bool, out: Path) -> _Outcome:
    from setsu.benchmarks import derivatives

    with ProgressBar("measuring") as progress:
        study = derivatives.measure_derivatives(quick=quick, progress=progress)
    derivatives.write_derivatives_json(study, out / "derivatives.json")
    code = 0 if study.agrees else 1
    return _Outcome(derivatives.derivatives_as_json(study), derivatives.derivatives_tables(study), [], code)


_APART: dict[str, Callable[[bool, Path], _Outcome]] = {
    "contact": _contact,
    "loops": _loops,
    "nodal": _nodal,
    "sweep": _sweep,
    "inverse_kinematics": _inverse_kinematics,
    "simulator": _stepping("simulator"),
    "rollout": _stepping("rollout"),
    "control_laws": _control_laws,
    "learning": _learning,
    "derivatives": _derivatives,
}
"""Studies that run only where they are asked for."""
