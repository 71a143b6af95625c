"""sugihara2002: rigid contact at many points of a floating multibody system; a humanoid walks, falls and jumps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from setsu.errors import InputError
from setsu.reproduce.report import Deviation, Report, Row, Table

if TYPE_CHECKING:
    from setsu.reproduce.sugihara2002.box_table import BoxRow

__all__ = ["PARTS", "SOLVERS", "compute_part", "run"]

SOLVERS = ("default", "sugihara2002")
"""The contact solvers whose results stand side by side: the library's and the paper's, in its corrected reading."""

_REASONS = (
    (
        ("penetration", "deepest"),
        "The paper's method: targets are velocities, eq. (11), so what a point has sunk in when it is found stays.",
    ),
    (
        ("incline",),
        "The paper's method: forces are solved first and held against the cones one by one afterwards, step 8, so that "
        "a corner slips although all four together could hold.",
    ),
    (
        ("",),
        "The paper's method: points are dropped and slip one after another, which is not one solution of all laws.",
    ),
)
"""Words in a row's name, and why the paper's method misses such rows; the last fits all."""


PARTS = {
    f"{name}, {solver}": share
    for name, share in (("walk", 0.29), ("jump", 0.1), ("fall", 0.06), ("box", 0.05))
    for solver in SOLVERS
}
"""What can be computed by itself, and which share of the whole it takes."""


def compute_part(name: str, progress: Callable[[str, float], None]) -> Any:
    """Return one of PARTS: rows of the box, or a motion of the humanoid."""
    from setsu.reproduce.sugihara2002 import humanoid_runs
    from setsu.reproduce.sugihara2002.box_table import box_rows

    what, solver = name.split(", ")
    return box_rows(solver, progress) if what == "box" else getattr(humanoid_runs, what)(progress, solver)


def run(out: Path, progress: Callable[[str, float], None], done: Mapping[str, Any] = MappingProxyType({})) -> Report:
    """Simulate a box by the rules of mechanics and the paper's three motions of a humanoid; draw figures into `out`.

    done: parts that are there already, by name.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("reproduce needs matplotlib for the figures: pip install setsu[plots]") from None
    from setsu.reproduce.sugihara2002 import humanoid_figures, humanoid_tables
    from setsu.reproduce.sugihara2002.method_figures import method_figures

    found = dict(done)
    before = 0.0
    for name, share in PARTS.items():
        if name not in found:

            def report(text: str, part: float, name: str = name, before: float = before, share: float = share) -> None:
                progress(f"{name}, {text}", 0.95 * (before + share * part))

            found[name] = compute_part(name, report)
        before += share
    runs = {name: [found[f"{name}, {solver}"] for solver in SOLVERS] for name in ("walk", "fall", "jump")}
    walked, fallen, jumped = (runs[name][0] for name in ("walk", "fall", "jump"))
    tables = (
        _box_table(*(found[f"box, {solver}"] for solver in SOLVERS)),
        humanoid_tables.walk_table(*runs["walk"]),
        humanoid_tables.fall_table(*runs["fall"]),
        humanoid_tables.jump_table(*runs["jump"]),
    )
    progress("figures", 0.95)
    return Report(
        key="sugihara2002",
        title="sugihara2002: contact forces of a multibody system by a multipoint rigid contact model",
        source="Collision and contact of a floating multibody system with its environment, as rigid contact of points "
        "with polygons; a humanoid with 26 degrees of freedom walks, falls and jumps in steps of 1 ms. The paper shows "
        "snapshots and no numbers: laws and plans take the place of print.",
        tables=(*tables, humanoid_tables.computing_table(runs), _failures_of_the_paper(tables)),
        figures=(
            *method_figures(out),
            *humanoid_figures.walk_figures(walked, out),
            *humanoid_figures.fall_figures(fallen, out),
            *humanoid_figures.jump_figures(jumped, out),
        ),
        notes=(
            "Two solvers. Numbers computed are those of the default solver; the paper's method is its loop of dropping "
            "and adding points, in the corrected reading. What it does not reach has a table of its own at the end.",
            "Humanoid. The paper's robot is HOAP-1, of which no table of links is public. Ours has its height (48 cm), "
            "mass (6 kg) and joints (20 driven, 6 free); limbs follow what is published of its sisters.",
            "Walk. Footsteps, a zero-moment point in the middle of the standing sole, preview control of a linear "
            "inverted pendulum, whole-body postures, joint servos (300 N m/rad, 4 N m s/rad, implicit in time) with "
            "the planned torques fed forward.",
            "Fall. All drives off; joints have damping. By the default method they end at their stops and links touch "
            "each other; the paper's method knows neither.",
            "Reading. (6): the two cases are swapped, σ = v_t/|v_t| where v_t ≠ 0. (11), a separating point: target "
            "0. (12) when stuck: target 0, as printed it creeps at up to ε. (19): least norm when singular, no rows "
            "picked by hand. (21), (23): σ = 0 when stuck would erase static friction, the whole tangential vector "
            "is kept. (26), (27): the sign is -μ_k f_ν σ, from rest along the tentative f_t. Step 6: dropped points "
            "are checked again. Step 8: a slipping point enters the solve as f_ν (ν - μ_k σ), then everything is "
            "solved again. ε exceeds μ_k g Δt. The printed size of K_i is a slip: K_iᵀ = ∂p_i/∂q.",
            "Jump. The plan leaves the floor without angular momentum; hips answer the measured tilt in the air.",
        ),
    )


def _box_table(ours: list[BoxRow], paper: list[BoxRow]) -> Table:
    """A free box against closed forms, by both solvers."""
    rows = (
        Row(one.name, one.unit, one.expected, one.computed, others=(two.computed,))
        for one, two in zip(ours, paper, strict=True)
    )
    return Table("A free box of 1 kg: exact beside computed", tuple(rows), ("the paper's method",), "exact")


def _failures_of_the_paper(tables: tuple[Table, ...]) -> Table:
    """The rows which the paper's method does not reach, each with the reason."""
    failed = []
    for table in tables:
        for row in table.rows:
            if row.expected is None or not row.others or row.others[0] is None or row.expected.holds(row.others[0]):
                continue
            reason = next(text for words, text in _REASONS if any(word in row.quantity for word in words))
            name = f"{table.title.split(':')[0].split(' (')[0]}: {row.quantity}"
            failed.append(Row(name, row.unit, row.expected, row.others[0], Deviation(reason, math.inf)))
    return Table("Rows which the paper's own method does not reach", tuple(failed), expected_name="expected")
