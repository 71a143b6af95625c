"""sugihara2002: rigid contact at many points of a floating link system; a humanoid walks, falls and jumps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from setsu.errors import InputError
from setsu.reproduce.report import Report

__all__ = ["run"]


def run(out: Path, progress: Callable[[str, float], None]) -> Report:
    """Simulate the paper's three motions of a humanoid; draw figures into `out`."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("reproduce needs matplotlib for the figures: pip install setsu[plots]") from None
    from setsu.reproduce.sugihara2002 import humanoid_figures, humanoid_runs, humanoid_tables

    walked = humanoid_runs.walk(lambda text, part: progress(f"walk, {text}", 0.4 * part))
    fallen = humanoid_runs.fall(lambda text, part: progress(f"fall, {text}", 0.4 + 0.4 * part))
    jumped = humanoid_runs.jump(lambda text, part: progress(f"jump, {text}", 0.8 + 0.15 * part))
    progress("figures", 0.95)
    return Report(
        key="sugihara2002",
        title="sugihara2002: contact forces of a link system by a multipoint rigid contact model",
        source="Collision and contact of a floating link system with its environment, as rigid contact of points with "
        "polygons; a humanoid with 26 degrees of freedom walks, falls and jumps in steps of 1 ms. The paper shows "
        "snapshots and no numbers: laws and plans take the place of print.",
        tables=(
            humanoid_tables.walk_table(walked),
            humanoid_tables.fall_table(fallen),
            humanoid_tables.jump_table(jumped),
        ),
        figures=(
            *humanoid_figures.walk_figures(walked, out),
            *humanoid_figures.fall_figures(fallen, out),
            *humanoid_figures.jump_figures(jumped, out),
        ),
        notes=(
            "Humanoid. The paper's robot is HOAP-1, of which no table of links is public. Ours has its height (48 cm), "
            "mass (6 kg) and joints (20 driven, 6 free); limbs follow what is published of its sisters.",
            "Walk. Footsteps, a zero-moment point in the middle of the standing sole, preview control of a linear "
            "inverted pendulum, whole-body postures, joint servos (300 N m/rad, 4 N m s/rad, implicit in time) with "
            "the planned torques fed forward.",
            "Fall. All drives off; joints have damping, no stops, and links pass through each other.",
            "Jump. The plan leaves the floor without angular momentum; hips answer the measured tilt in the air.",
        ),
    )
