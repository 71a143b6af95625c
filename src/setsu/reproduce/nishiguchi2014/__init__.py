"""nishiguchi2014: a hand on a surface with friction, all internal forces, by an extended Newton-Euler method."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from setsu.errors import InputError
from setsu.reproduce.nishiguchi2014.arms import MOTIONS, PAPER_INERTIA, TRUE_ROD, Run, run_motion
from setsu.reproduce.nishiguchi2014.figures import figures
from setsu.reproduce.nishiguchi2014.tables import tables
from setsu.reproduce.report import Report

__all__ = ["run"]


def run(out: Path, progress: Callable[[str, float], None]) -> Report:
    """Simulate the paper's motions with its own inertia and with a thin rod's; draw figures into `out`."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("reproduce needs matplotlib for the figures: pip install setsu[plots]") from None
    jobs = [(key, inertia) for key in MOTIONS for inertia in (PAPER_INERTIA, TRUE_ROD)]
    seconds = sum(MOTIONS[key].duration for key, _ in jobs)
    runs: dict[float, dict[str, Run]] = {PAPER_INERTIA: {}, TRUE_ROD: {}}
    done = 0.0
    for key, inertia in jobs:

        def part(text: str, share: float, key: str = key, before: float = done) -> None:
            progress(f"{key}, {text}", 0.95 * (before + share * MOTIONS[key].duration) / seconds)

        runs[inertia][key] = run_motion(MOTIONS[key], inertia, part)
        done += MOTIONS[key].duration
    paper, rod = runs[PAPER_INERTIA], runs[TRUE_ROD]
    progress("figures", 0.96)
    return Report(
        key="nishiguchi2014",
        title="nishiguchi2014: constrained motion by an extended Newton-Euler method",
        source="Expression of constrained motion of a manipulator whose hand is held on a surface, with friction "
        "f_t = K f_n and all forces between links; two and three links, RK4 with h = 0.01 s.",
        tables=tables(paper, rod),
        figures=figures(paper, rod, out),
        notes=_notes(paper),
    )


def _notes(paper: dict[str, Run]) -> tuple[str, ...]:
    quiet = {key: _first_quiet(paper[key]) for key in ("2-link", "3-link")}
    worst = max(float(np.abs(each.hand[:, 2]).max()) for each in paper.values())
    return (
        "Inertia. The printed digits need a centroidal inertia of m l²/3, the value of a thin rod about its end, "
        "evidently taken for the centroidal one. A true rod has m l²/12; its results stand beside the others.",
        f"Constraint. The hand leaves the plane z = 0 by at most {worst:.0e} m in any of the runs: positions and "
        "velocities are projected onto the surface in every stage of every step.",
        "Friction. The paper's f_t = K f_n has no state of rest: in Figs 3, 4 and 6 the hand sticks for a while, and "
        "a plain RK4 then chatters and drifts by centimetres. Here friction holds the hand up to K f_n, and the "
        "instants at which it sticks and slips are located.",
        f"Rest. All joint rates fall below 0.001 rad/s first at {quiet['2-link']:.2f} s (2-link) and "
        f"{quiet['3-link']:.2f} s (3-link).",
        "Reading of the equations. (4), (5), (7), (8) use the accelerations of joints and centroids, (5) the angular "
        "acceleration; columns j > i of (23) are zero; (29) is the rate of the hand's Jacobian; (33) needs the real "
        "sliding direction. Angle q1 of Fig. 7 counts from the horizontal; the third angle π/2 is missing in Fig. 12.",
    )


def _first_quiet(each: Run) -> float:
    """First time after the start at which the arm, having moved, is slower than 0.001 rad/s in every joint."""
    fast = np.abs(each.recording.v).max(axis=1) >= 0.001
    moved = int(np.argmax(fast))
    return float(each.recording.time[moved + int(np.argmax(~fast[moved:]))])
