"""nishiguchi2014: a hand on a surface with friction, all internal forces, by an extended Newton-Euler method."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from setsu.errors import InputError
from setsu.reproduce.nishiguchi2014.arms import MOTIONS, PAPER_INERTIA, TRUE_ROD, run_motion
from setsu.reproduce.nishiguchi2014.figures import figures
from setsu.reproduce.nishiguchi2014.paper_method import run_by_paper
from setsu.reproduce.nishiguchi2014.tables import Runs, tables
from setsu.reproduce.report import Report

__all__ = ["run"]


def run(out: Path, progress: Callable[[str, float], None]) -> Report:
    """Simulate the paper's motions by the default and by its own method, and as thin rods; draw figures into `out`."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("reproduce needs matplotlib for the figures: pip install setsu[plots]") from None
    runs: dict[str, Runs] = {}
    total = sum(motion.duration for motion in MOTIONS.values())
    done = 0.0
    for key, motion in MOTIONS.items():

        def part(
            text: str, share: float, key: str = key, before: float = done, length: float = motion.duration
        ) -> None:
            progress(f"{key}, {text}", 0.85 * (before + share * length) / total)

        by_default = run_motion(motion, PAPER_INERTIA, lambda text, share: part(text, 0.2 * share))
        part("by the paper's method", 0.2)
        by_paper = run_by_paper(motion, PAPER_INERTIA)
        runs[key] = (
            by_default,
            by_paper,
            run_motion(motion, TRUE_ROD, lambda text, share: part(text, 0.8 + 0.2 * share)),
        )
        done += motion.duration
    progress("figures", 0.86)
    return Report(
        key="nishiguchi2014",
        title="nishiguchi2014: constrained motion by an extended Newton-Euler method",
        source="Expression of constrained motion of a manipulator whose hand is held on a surface, with friction "
        "f_t = K f_n and all forces between links; two and three links, RK4 with h = 0.01 s.",
        tables=tables(runs),
        figures=figures(runs, out),
        notes=_notes(runs),
    )


def _notes(runs: dict[str, Runs]) -> tuple[str, ...]:
    quiet = {key: [each.quiet for each in runs[key][:2]] for key in ("2-link", "3-link")}
    return (
        "Inertia. The printed digits need a centroidal inertia of m l²/3, the value of a thin rod about its end, "
        "evidently taken for the centroidal one. A true rod has m l²/12; its results stand beside the others.",
        "Two methods. Computed: the default of simulate, which keeps the hand on the surface by projection in every "
        "stage and lets friction hold it up to K f_n, with the instants of sticking and slipping located. Paper's "
        "method: forward dynamics out of repeated inverse dynamics, (30)-(35), plain Runge-Kutta, f_t = K f_n at any "
        "speed; where the hand should stick its friction changes sign from step to step, and nothing takes back drift.",
        f"Rest. All joint rates fall below 0.001 rad/s first at {quiet['2-link'][0]:.2f} s (2-link) and "
        f"{quiet['3-link'][0]:.2f} s (3-link); by the paper's method at {quiet['2-link'][1]:.2f} s and "
        f"{quiet['3-link'][1]:.2f} s.",
        "Reading of the equations. (4), (5), (7), (8) use the accelerations of joints and centroids, (5) the angular "
        "acceleration; columns j > i of (23) are zero; (29) is the rate of the hand's Jacobian; (33) needs the real "
        "sliding direction. Angle q1 of Fig. 7 counts from the horizontal; the third angle π/2 is missing in Fig. 12.",
        "Several contacts. The paper leaves several constraints at once to later work: "
        "examples/39_two_frictional_contacts.py slides an arm on two surfaces with friction, with the same balances.",
    )
