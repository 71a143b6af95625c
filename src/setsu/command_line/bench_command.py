"""`setsu bench`: speed beside other engines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from setsu.command_line.output import ProgressBar, console, print_json
from setsu.errors import InputError, nearest_names

__all__ = ["bench"]


def bench(
    *,
    quick: bool = False,
    only: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    out: Path = Path("out/bench"),
    json: bool = False,
) -> int:
    """Measure this library beside Pinocchio, MuJoCo, Drake and CasADi, as far as they are installed.

    Every engine reads the same file and the same states; numbers are compared before they are timed. Writes
    dynamics.json and, with matplotlib, plots of cost against the number of joints. Exit code 1: engines disagree.

    Parameters
    ----------
    quick
        Fewer rounds and sizes: about a minute.
    only
        Measure only this: two_link, ur5, panda, anymal, talos, chain, tree or startup; may be given several times.
    out
        Folder for JSON and plots.
    json
        Print JSON instead of tables.
    """
    from setsu.benchmarks import ROBOTS, SERIES, STARTUP, as_json, measure, tables, write_json, write_plots

    known = (*ROBOTS, *SERIES, STARTUP)
    for name in only:
        if name not in known:
            raise InputError(f"bench --only: unknown name {name!r}{nearest_names(name, known)}")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"bench --out: cannot make the folder {out} ({problem.strerror})") from None
    with ProgressBar("measuring") as progress:
        study = measure(only or known, quick=quick, progress=progress)
    write_json(study, out / "dynamics.json")
    try:
        plots = write_plots(study, out)
    except ImportError:
        plots = None
    if json:
        print_json(as_json(study))
    else:
        console().print(tables(study))
        print("written:", out / "dynamics.json", *(plots or ()))
        if plots is None:
            print("no plots: matplotlib is missing, which setsu[plots] installs")
    return 1 if study.disagreements else 0
